// The shell: navigation, theme, shortcuts, the state of the connection, and the page that the address names.

import { fill, h } from './dom.js';
import { connect, retry, watch } from './live.js';
import { button, empty, icon, link, loading, say } from './parts/basics.js';
import { ask, toast } from './parts/dialogs.js';
import { address, go, start } from './router.js';
import { enter, leaveButton } from './session.js';
import { startTicking } from './time.js';

/** From the first segment of an address to its page. */
const PAGES = {
  home: () => import('./pages/home.js'),
  jobs: () => import('./pages/jobs.js'),
  collections: () => import('./pages/collections.js'),
  collection: () => import('./pages/collection.js'),
  job: () => import('./pages/job.js'),
  'new-job': () => import('./pages/editor.js'),
  edit: () => import('./pages/editor.js'),
  ledger: () => import('./pages/ledger.js'),
  notices: () => import('./pages/notices.js'),
  nodes: () => import('./pages/nodes.js'),
  audit: () => import('./pages/audit.js'),
  settings: () => import('./pages/settings.js'),
};
const NAVIGATION = [
  ['home', 'Home', '/'],
  ['jobs', 'Jobs', '/ui/jobs'],
  ['collections', 'Collections', '/ui/collections'],
  ['ledger', 'Ledger', '/ui/ledger'],
  ['notices', 'Notices', '/ui/notices'],
  ['nodes', 'Nodes', '/ui/nodes'],
  ['audit', 'Audit', '/ui/audit'],
  ['settings', 'Settings', '/ui/settings'],
];
/** Which entry of the navigation a page belongs to. */
const BELONGS = { collection: 'collections', job: 'jobs', 'new-job': 'jobs', edit: 'jobs' };

let leave = null;
let showing = 0;

async function show() {
  const { segments, query } = address();
  const name = segments[0] ?? 'home';
  const mine = (showing += 1);
  leave?.();
  leave = null;
  const main = document.getElementById('main');
  const place = h('div', { class: 'page' });
  fill(main, place);
  fill(place, loading(4));
  for (const entry of document.querySelectorAll('#nav a')) {
    if (entry.dataset.page === (BELONGS[name] ?? name)) entry.setAttribute('aria-current', 'page');
    else entry.removeAttribute('aria-current');
  }
  if (!Object.hasOwn(PAGES, name)) {
    document.title = 'Not here · Punctual';
    fill(place, empty('There is no such page', `/${segments.join('/')}`, link('Go home', '/', { class: 'button' })));
    return;
  }
  try {
    const page = await PAGES[name]();
    if (mine !== showing) return;
    const made = page.show(place, { name, segments: segments.slice(1), query });
    document.title = `${made.title} · Punctual`;
    leave = made.leave ?? null;
    say(made.title);
    if (mine > 1) main.focus({ preventScroll: true });
    scrollTo(0, 0);
  } catch (error) {
    console.error(error);
    fill(
      place,
      empty('The page could not be loaded', error.message, button('Load again', { onclick: () => location.reload() })),
    );
  }
}

function toggleTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
  const next = dark ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem('theme', next);
  } catch {
    // Then it holds until the page is loaded again.
  }
  say(`${next} theme`);
}

const SHORTCUTS = [
  ['/', 'search jobs'],
  ['n', 'new job'],
  ['g h', 'home'],
  ['g j', 'jobs'],
  ['g c', 'collections'],
  ['g l', 'ledger'],
  ['g o', 'notices'],
  ['g n', 'nodes'],
  ['g a', 'audit'],
  ['g s', 'settings'],
  ['?', 'this help'],
  ['Esc', 'close what is open'],
];

function help() {
  ask(
    'Keyboard',
    h(
      'dl',
      { class: 'keys' },
      SHORTCUTS.map(([keys, text]) =>
        h(
          'div',
          {},
          h(
            'dt',
            {},
            keys.split(' ').map((key) => h('kbd', {}, key)),
          ),
          h('dd', {}, text),
        ),
      ),
    ),
    [{ text: 'Close', kind: 'primary' }],
  );
}

let prefix = '';

function shortcut(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (event.target.closest?.('input, textarea, select, [contenteditable]')) return;
  const keys = prefix + event.key;
  prefix = '';
  const places = {
    gh: '/',
    gj: '/ui/jobs',
    gc: '/ui/collections',
    gl: '/ui/ledger',
    go: '/ui/notices',
    gn: '/ui/nodes',
    ga: '/ui/audit',
    gs: '/ui/settings',
    n: '/ui/new-job',
  };
  if (event.key === 'g') prefix = 'g';
  else if (places[keys]) go(places[keys]);
  else if (keys === '?') help();
  else if (keys === '/') {
    const search = document.querySelector('input[type=search]');
    if (search) search.focus();
    else go('/ui/jobs?focus=search');
  } else return;
  event.preventDefault();
}

function connection(state) {
  const place = document.getElementById('lost');
  const light = document.getElementById('light');
  light.dataset.state = state;
  light.textContent = { live: 'Live', connecting: 'Connecting', lost: 'Offline' }[state];
  light.title = {
    live: 'What happens is shown at once',
    connecting: 'Connecting to the server',
    lost: 'The connection is lost; trying again',
  }[state];
  place.hidden = state !== 'lost';
  if (state === 'lost')
    fill(
      place,
      icon('warn'),
      h('span', {}, 'Connection lost. What is shown may be old; trying again.'),
      button('Try now', { kind: 'small', onclick: retry }),
    );
}

document
  .getElementById('nav')
  .append(...NAVIGATION.map(([page, text, href]) => h('a', { href, data: { page } }, icon(page), h('span', {}, text))));
document
  .getElementById('tools')
  .append(
    h('span', { id: 'light', class: 'light' }),
    link([icon('plus'), h('span', {}, 'New job')], '/ui/new-job', { class: 'button primary' }),
    button('', { icon: 'sun', title: 'Light or dark', onclick: toggleTheme }),
    button('', { icon: 'help', title: 'Keyboard shortcuts', onclick: help }),
    leaveButton(),
  );
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  document.getElementById('main').focus();
});
addEventListener('keydown', shortcut);
addEventListener('unhandledrejection', (event) => {
  if (event.reason?.name !== 'AbortError') toast(String(event.reason?.message ?? event.reason), { kind: 'bad' });
});
enter(() => {
  watch(connection);
  connect();
  startTicking();
  start(show);
});
