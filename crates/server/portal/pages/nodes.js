// Nodes: who shares the store, who lives, and what each holds.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { badge, copyButton, count, empty, head, icon, into, many, say } from '../parts/basics.js';
import { ticking } from '../time.js';

/** How often the server is asked, in milliseconds: leases are renewed once a second, and no event tells of it. */
const INTERVAL = 1000;
/** Clocks that are further apart than this are worth a word; nodes warn in their logs, too. */
const APART = 500;
const MORE = 'punctual serve --database postgres://user:password@host/database';

export function show(place) {
  const abort = new AbortController();
  const body = h('div', { class: 'stack' });
  let told = '';
  fill(place, head('Nodes'), body);
  const load = async () => {
    const { value } = await get('/api/nodes', { signal: abort.signal });
    if (!value.length) return alone();
    const { title, kind, text } = standing(value);
    // Once for each change: what is drawn anew every second must not be read out every second.
    if (title !== told) say(title);
    told = title;
    return [verdict(kind, title, text), remarks(value), table(value)];
  };
  // One question at a time, however slow the answers are.
  let timer = null;
  let options = { rows: 4 };
  const again = async () => {
    if (!document.hidden) {
      await into(body, load, options);
      options = { quiet: true };
    }
    if (!abort.signal.aborted) timer = setTimeout(again, INTERVAL);
  };
  again();
  return {
    title: 'Nodes',
    leave: () => {
      abort.abort();
      clearTimeout(timer);
    },
  };
}

/** `a`, `a and b`, `a, b and c`. */
const named = (nodes) => new Intl.ListFormat('en-GB').format(nodes.map(({ name }) => name));

/** What is to be said of all nodes. */
export function standing(nodes) {
  const lost = nodes.filter(({ state }) => state === 'lost');
  const claims = nodes.reduce((sum, node) => sum + node.claims, 0);
  const held = `Each serves the whole API and runs jobs; ${many(claims, 'execution is', 'executions are')} claimed.`;
  if (lost.length)
    return {
      kind: 'late',
      title: `${count(nodes.length - lost.length)} of ${many(nodes.length, 'node')} alive`,
      text: `The ${lost.length === 1 ? 'lease' : 'leases'} of ${named(lost)} ${lost.length === 1 ? 'has' : 'have'} run out; the others take over what was claimed there.`,
    };
  if (nodes.length === 1)
    return {
      kind: 'good',
      title: 'One node is alive',
      text: `${many(claims, 'execution is', 'executions are')} claimed. Another that is started with the same database shares the work.`,
    };
  return { kind: 'good', title: `All ${count(nodes.length)} nodes are alive`, text: held };
}

function verdict(kind, title, text) {
  return h(
    'section',
    { class: `verdict ${kind}` },
    h('span', { class: 'sign' }, icon(kind === 'good' ? 'check' : 'warn')),
    h('div', {}, h('p', { class: 'sentence' }, title), h('p', { class: 'more' }, text)),
  );
}

/** What is not wrong, but should not stay so. */
export function remarks(nodes) {
  const versions = [...new Set(nodes.map(({ version }) => version))].sort();
  const wrong = nodes.filter(({ clockOffsetMilliseconds }) => Math.abs(clockOffsetMilliseconds) > APART);
  const texts = [
    versions.length > 1 &&
      `The versions ${versions.join(' and ')} run beside each other: fine while nodes are replaced one by one.`,
    wrong.length &&
      `The ${wrong.length === 1 ? 'clock' : 'clocks'} of ${named(wrong)} ${wrong.length === 1 ? 'is' : 'are'} more than half a second from the database's. Nodes correct themselves; other programs on that machine do not.`,
  ];
  return texts.filter(Boolean).map((text) => h('p', { class: 'remark' }, icon('warn'), text));
}

const COLUMNS = ['Node', 'State', 'Lease', 'Claims', 'Clock', 'Epoch', 'Version', 'Started'];
const NUMBERS = new Set(['Lease', 'Claims', 'Clock', 'Epoch']);

function table(nodes) {
  const head = COLUMNS.map((text) => h('th', { scope: 'col', class: NUMBERS.has(text) ? 'right' : '' }, text));
  return h(
    'table',
    { class: 'list nodes' },
    h('caption', { class: 'hidden' }, 'Nodes, by name'),
    h('thead', {}, h('tr', {}, head)),
    h('tbody', {}, nodes.map(row)),
  );
}

function row(node) {
  const number = (label, text, more) => h('td', { class: `right number ${more ?? ''}`, data: { label } }, text);
  const clock = node.clockOffsetMilliseconds;
  return h(
    'tr',
    {},
    h(
      'th',
      { scope: 'row' },
      h('span', { class: 'name' }, node.name),
      node.answers && h('span', { class: 'sub' }, 'answers this page'),
    ),
    h('td', { data: { label: 'State' } }, badge(node.state)),
    number('Lease', node.state === 'lost' ? 'run out' : `${(node.leaseMilliseconds / 1000).toFixed(1)} s`),
    number('Claims', count(node.claims)),
    number('Clock', offset(clock), Math.abs(clock) > APART ? 'count-bad' : ''),
    number('Epoch', count(node.epoch)),
    h('td', { data: { label: 'Version' } }, node.version),
    h('td', { data: { label: 'Started' }, class: 'nowrap' }, ticking(node.startedAt)),
  );
}

/** How far the database's clock is ahead of the node's: `+12 ms`, `−3 ms`, `0 ms`. */
export const offset = (milliseconds) =>
  `${milliseconds > 0 ? '+' : milliseconds < 0 ? '−' : ''}${count(Math.abs(milliseconds))} ms`;

/** The embedded store has no nodes: that is how most servers are, and nothing is missing. */
function alone() {
  return empty(
    'One server, on a store of its own',
    'This server keeps its jobs in the embedded store, which no other can share; for most that is enough. To have more, start each with the same PostgreSQL database and the same keys. Every one of them is then a node, and they share the work:',
    h('code', { class: 'breakable' }, MORE),
    copyButton(MORE, 'Copy the command'),
  );
}
