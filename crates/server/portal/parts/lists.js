// Lists in pages: heads that sort, pages that turn, and doing one thing to many.

import { fill, h } from '../dom.js';
import { button, count, icon, many } from './basics.js';
import { ask } from './dialogs.js';

/** A head that sorts. */
export function sortable(text, key, { sort, order, onsort, ...attributes }) {
  const is = sort === key;
  const next = is && order === 'asc' ? 'desc' : 'asc';
  return h(
    'th',
    { scope: 'col', 'aria-sort': is ? (order === 'asc' ? 'ascending' : 'descending') : 'none', ...attributes },
    h(
      'button',
      { type: 'button', class: 'sort', onclick: () => onsort(key, next) },
      text,
      is && icon(order === 'asc' ? 'up' : 'down'),
    ),
  );
}

/** Where we are in a list, and the way on. */
export function pager({ skip, shown, total, top, go }) {
  if (total !== undefined && total <= shown && skip === 0)
    return h('p', { class: 'pager faint' }, count(total), ' in all');
  const last = skip + shown;
  return h(
    'nav',
    { class: 'pager', 'aria-label': 'Pages' },
    button('Previous', { disabled: skip === 0, onclick: () => go(Math.max(0, skip - top)) }),
    h(
      'span',
      { class: 'number' },
      `${count(shown ? skip + 1 : 0)}–${count(last)}${total === undefined ? '' : ` of ${count(total)}`}`,
    ),
    button('Next', { disabled: total === undefined ? shown < top : last >= total, onclick: () => go(skip + top) }),
  );
}

/** Does something to each, some at a time, with progress; then tells what failed. */
export async function bulk(title, ids, action, nameOf) {
  const progress = h('progress', { max: ids.length, 'aria-label': title });
  progress.value = 0;
  const words = h('p', { class: 'number' }, `0 of ${count(ids.length)}`);
  let stopped = false;
  const stop = button('Stop', {
    onclick: () => {
      stopped = true;
      stop.disabled = true;
    },
  });
  const dialog = h(
    'dialog',
    { 'aria-label': title },
    h('h2', {}, title),
    h('div', { class: 'content' }, progress, words),
    h('div', { class: 'row end' }, stop),
  );
  dialog.addEventListener('cancel', (event) => event.preventDefault());
  document.body.append(dialog);
  // What is over at once needs no dialog.
  const patience = setTimeout(() => dialog.showModal(), 400);
  const failed = [];
  let done = 0;
  const waiting = [...ids];
  const work = async () => {
    while (waiting.length && !stopped) {
      const id = waiting.shift();
      try {
        await action(id);
      } catch (error) {
        failed.push([id, error.message]);
      }
      done += 1;
      progress.value = done;
      words.textContent = `${count(done)} of ${count(ids.length)}`;
    }
  };
  await Promise.all(Array.from({ length: Math.min(6, ids.length) }, work));
  clearTimeout(patience);
  dialog.close();
  dialog.remove();
  if (failed.length || stopped) {
    const succeeded = done - failed.length;
    const list = h(
      'ul',
      { class: 'report' },
      failed.slice(0, 200).map(([id, message]) => h('li', {}, h('b', {}, nameOf(id)), ': ', message)),
    );
    await ask(
      title,
      [
        h(
          'p',
          {},
          `${many(succeeded, 'job')} done, ${count(failed.length)} failed${waiting.length ? `, ${count(waiting.length)} not tried` : ''}.`,
        ),
        failed.length > 0 && list,
        failed.length > 200 && h('p', {}, `… and ${count(failed.length - 200)} more.`),
      ],
      [{ text: 'Close', kind: 'primary' }],
    );
  }
  return { done: done - failed.length, failed };
}

/** Tabs of a page, each with an address of its own. */
export function tabs(label, entries, chosen) {
  return h(
    'nav',
    { class: 'tabs', 'aria-label': label },
    entries.map(([name, text, href]) => h('a', { href, 'aria-current': name === chosen ? 'page' : null }, text)),
  );
}

/** Tabs within a page: the arrow keys go from one to the next. */
export function innerTabs(label, entries, show) {
  const panel = h('div', { role: 'tabpanel', id: 'panel', tabindex: '0' });
  const list = h('div', { role: 'tablist', class: 'tabs', 'aria-label': label });
  const choose = (name, focus) => {
    const made = show(name);
    if (made === false) return;
    for (const tab of list.children) {
      const is = tab.dataset.name === name;
      tab.setAttribute('aria-selected', String(is));
      tab.tabIndex = is ? 0 : -1;
      if (is) {
        panel.setAttribute('aria-labelledby', tab.id);
        if (focus) tab.focus();
      }
    }
    fill(panel, made);
  };
  for (const [name, text] of entries) {
    list.append(
      h(
        'button',
        {
          type: 'button',
          role: 'tab',
          id: `tab-${name}`,
          'aria-controls': 'panel',
          data: { name },
          onclick: () => choose(name, false),
        },
        text,
      ),
    );
  }
  list.addEventListener('keydown', (event) => {
    const names = entries.map(([name]) => name);
    const at = names.indexOf(document.activeElement?.dataset.name);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    choose(names[(next + names.length) % names.length], true);
  });
  choose(entries[0][0], false);
  return { list, panel, choose };
}
