// Small parts that every page uses: icons, buttons, badges, and the states in between.

import { fill, h, s } from '../dom.js';

const PATHS = {
  home: 'M3 11 12 4l9 7v9h-6v-6H9v6H3z',
  jobs: 'M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  collections: 'M3 7l9-4 9 4-9 4zM3 12l9 4 9-4M3 17l9 4 9-4',
  ledger: 'M5 3h14v18H5zM9 8h6M9 12h6M9 16h3',
  nodes: 'M4 4h16v6H4zM4 14h16v6H4zM8 7v.5M8 17v.5',
  notices: 'M6 16v-5a6 6 0 0 1 12 0v5l2 2H4zM10 21h4',
  audit: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6zM9 12l2 2 4-4',
  settings: 'M4 7h10M18 7h2M4 12h2M10 12h10M4 17h8M16 17h4M14 5v4M6 10v4M12 15v4',
  run: 'M7 4l13 8-13 8z',
  pause: 'M8 5v14M16 5v14',
  enable: 'M12 3v9M6.5 6.5a8 8 0 1 0 11 0',
  delete: 'M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14M10 11v6M14 11v6',
  edit: 'M4 20l1-5L16 4l4 4L9 19zM14 6l4 4',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5',
  plus: 'M12 5v14M5 12h14',
  check: 'M4 12l5 6L20 6',
  cross: 'M5 5l14 14M19 5L5 19',
  warn: 'M12 3l10 18H2zM12 10v5M12 18v.5',
  late: 'M12 7v5l4 3M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  skip: 'M5 5l9 7-9 7zM18 5v14',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M19 5l-1.5 1.5M6.5 17.5 5 19',
  help: 'M9 9a3 3 0 1 1 4 3c-1 .6-1 1-1 2M12 18v.5M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z',
  up: 'M6 15l6-6 6 6',
  down: 'M6 9l6 6 6-6',
  right: 'M9 5l7 7-7 7',
};

/** A picture that says nothing to those who do not see it. */
export function icon(name) {
  return s('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' }, s('path', { d: PATHS[name] ?? '' }));
}

/** A button; with `icon` alone it needs a `title`, which is its name. */
export function button(text, { icon: picture, title, kind = '', ...attributes } = {}) {
  const label = text ? null : title;
  return h(
    'button',
    { type: 'button', class: `button ${kind} ${text ? '' : 'bare'}`.trim(), title, 'aria-label': label, ...attributes },
    picture && icon(picture),
    text && h('span', {}, text),
  );
}

export function link(text, href, attributes = {}) {
  return h('a', { href, ...attributes }, text);
}

const STATES = {
  enabled: ['good', 'check', 'Enabled'],
  disabled: ['quiet', 'pause', 'Disabled'],
  suspended: ['quiet', 'pause', 'Suspended'],
  paused: ['quiet', 'pause', 'Paused'],
  completed: ['done', 'check', 'Completed'],
  faulted: ['bad', 'cross', 'Faulted'],
  failed: ['bad', 'cross', 'Failed'],
  postponed: ['late', 'late', 'Postponed'],
  ran: ['good', 'check', 'Ran'],
  ranLate: ['late', 'late', 'Ran late'],
  skipped: ['quiet', 'skip', 'Skipped'],
  missed: ['bad', 'warn', 'Missed'],
  running: ['live', 'run', 'Running'],
  done: ['good', 'check', 'Done'],
  denied: ['bad', 'cross', 'Denied'],
  refused: ['bad', 'warn', 'Refused'],
  pending: ['live', 'run', 'On the way'],
  delivered: ['good', 'check', 'Delivered'],
  off: ['quiet', 'pause', 'Switched off'],
  alive: ['good', 'check', 'Alive'],
  lost: ['bad', 'cross', 'Lost'],
};

/** A state with a colour, a sign and a word: never a colour alone. */
export function badge(state) {
  const key = state in STATES ? state : String(state ?? '').replace(/^./, (letter) => letter.toLowerCase());
  const [kind, picture, text] = STATES[key] ?? ['quiet', 'help', String(state)];
  return h('span', { class: `badge ${kind}` }, icon(picture), text);
}

/** The state of a job: one that could run, but whose collection is off, is paused. */
export function standing({ state, collectionEnabled }) {
  return state === 'enabled' && collectionEnabled === false ? 'paused' : state;
}

/** While something is being loaded. */
export function loading(rows = 3) {
  const bars = Array.from({ length: rows }, () => h('div', { class: 'bar' }));
  return h('div', { class: 'loading', 'aria-busy': 'true' }, h('span', { class: 'hidden' }, 'Loading …'), bars);
}

/** Where there is nothing yet. */
export function empty(title, text, ...actions) {
  return h(
    'div',
    { class: 'empty' },
    h('h2', {}, title),
    text && h('p', {}, text),
    actions.length > 0 && h('p', { class: 'row center' }, actions),
  );
}

/** What went wrong, and a way to try again. */
export function failure(fault, retry) {
  const missing = fault.status === 404;
  return h(
    'div',
    { class: 'failure', role: 'alert' },
    h('h2', {}, missing ? 'This is not here' : 'That did not work'),
    h('p', {}, fault.message),
    retry && !missing && button('Try again', { onclick: retry }),
  );
}

/** Fills an element with what `load` brings, with its states in between. Keeps what is shown while it is loaded anew. */
export async function into(element, load, { quiet = false, rows, failed } = {}) {
  if (!quiet) fill(element, loading(rows));
  try {
    const shown = await load();
    const back = focusKept(element);
    if (shown !== undefined) fill(element, shown);
    back();
    return true;
  } catch (error) {
    if (error.name === 'AbortError') return false;
    if (error.status === undefined) console.error(error);
    failed?.(error);
    // A reload that fails leaves what was there: the connection's state is shown elsewhere.
    if (!quiet || error.status === 404)
      fill(
        element,
        failure(error, () => into(element, load)),
      );
    return false;
  }
}

const FOCUSABLE = 'a[href], button, input, select, textarea, [tabindex]';

/** What is drawn anew loses the focus; this gives it back to what is the same, or else stands in the same place. */
function focusKept(element) {
  const focused = document.activeElement;
  if (!element.contains(focused)) return () => {};
  const nameOf = (one) =>
    `${one.tagName} ${one.getAttribute('href') ?? ''} ${one.getAttribute('aria-label') ?? one.textContent}`;
  const all = () => [...element.querySelectorAll(FOCUSABLE)];
  const [name, place] = [nameOf(focused), all().indexOf(focused)];
  return () => {
    const now = all();
    (now.find((one) => nameOf(one) === name) ?? now[place])?.focus({ preventScroll: true });
  };
}

/** A definition list. */
export function facts(pairs) {
  return h(
    'dl',
    { class: 'facts' },
    pairs
      .filter(Boolean)
      .map(([name, value]) =>
        h('div', {}, h('dt', {}, name), h('dd', {}, value ?? h('span', { class: 'faint' }, '–'))),
      ),
  );
}

/** A button that copies a text. */
export function copyButton(text, title = 'Copy') {
  const made = button('', {
    icon: 'copy',
    title,
    kind: 'small',
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        say('Copied');
        made.classList.add('copied');
        setTimeout(() => made.classList.remove('copied'), 1200);
      } catch {
        say('The browser does not allow copying');
      }
    },
  });
  return made;
}

/** Tells those who do not see the page. */
export function say(text) {
  const place = document.getElementById('said');
  place.textContent = '';
  requestAnimationFrame(() => {
    place.textContent = text;
  });
}

/** A number with thin spaces: `12 345`. */
export const count = (number) =>
  Number(number ?? 0)
    .toLocaleString('en-US')
    .replaceAll(',', '\u202f');

/** `1 job`, `2 jobs`. */
export const many = (number, one, several = `${one}s`) => `${count(number)} ${Number(number) === 1 ? one : several}`;

/** A head of a page: title, what belongs to it, and its actions. */
export function head(title, { above, beside, actions } = {}) {
  return h(
    'div',
    { class: 'head' },
    h('div', { class: 'title' }, above && h('p', { class: 'above' }, above), h('h1', {}, h('span', {}, title), beside)),
    actions && h('div', { class: 'row' }, actions),
  );
}
