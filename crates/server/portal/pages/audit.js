// The audit: who did what, when, from where, and what it changed.

import { get, localPart, namesOf, pageOf, query } from '../api.js';
import { fill, h } from '../dom.js';
import { badge, button, empty, head, icon, into, link } from '../parts/basics.js';
import { choice, field, text } from '../parts/fields.js';
import { rewrite } from '../router.js';
import { absolute, now } from '../time.js';

const VERDICTS = [
  ['', 'Everything'],
  ['done', 'Done'],
  ['denied', 'Denied'],
  ['refused', 'Refused'],
];
const TIMES = [
  ['1', 'Last 24 hours'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
  ['', 'Any time'],
];
const TOP = 100;
const DAY = 86_400_000;

export function show(place, { query: asked }) {
  const abort = new AbortController();
  const change = () => {
    rewrite({
      verdict: verdict.value,
      days: days.value === '7' ? '' : days.value || 'any',
      search: search.value.trim(),
    });
    into(body, load);
  };
  const verdict = choice(VERDICTS, asked.get('verdict') ?? '', { onchange: () => change() });
  const days = choice(TIMES, asked.get('days') === 'any' ? '' : (asked.get('days') ?? '7'), {
    onchange: () => change(),
  });
  const search = text({ type: 'search', value: asked.get('search') ?? '', onchange: () => change() });
  const body = h('div', { class: 'stack' });
  const verified = h('div', { class: 'stack' });
  const verify = async () => {
    const { whole, chains } = await get('/api/audit/verify', { signal: abort.signal });
    return h('p', { class: whole ? '' : 'remark' }, whole ? null : icon('warn'), verification(whole, chains));
  };
  let entries = [];
  let next = null;

  const load = async () => {
    const from = days.value ? new Date(now() - Number(days.value) * DAY).toISOString() : '';
    const parameters = { verdict: verdict.value, from, search: search.value.trim(), top: TOP };
    const page = await get(`/api/audit${query(parameters)}`, { signal: abort.signal });
    entries = page.value;
    next = page.nextLink ? localPart(page.nextLink) : null;
    return draw();
  };

  const more = async () => {
    const page = await get(next, { signal: abort.signal });
    entries.push(...page.value);
    next = page.nextLink ? localPart(page.nextLink) : null;
    fill(body, draw());
  };

  function draw() {
    if (!entries.length) return empty('Nothing here', 'Nothing like that was noted in this time.');
    return [
      // On a phone it is the table that is moved, not the page.
      h(
        'div',
        { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Audit' },
        h(
          'table',
          { class: 'list' },
          h('caption', { class: 'hidden' }, 'Audit, newest first'),
          h(
            'thead',
            {},
            h(
              'tr',
              {},
              ['When', 'Who', 'What', 'Verdict', 'With what'].map((words) => h('th', { scope: 'col' }, words)),
            ),
          ),
          h('tbody', {}, entries.map(row)),
        ),
      ),
      next && h('p', { class: 'row center' }, button('More', { onclick: more })),
    ];
  }

  fill(
    place,
    head('Audit'),
    h(
      'p',
      { class: 'lead' },
      'Every change, every sign-in and everything that was denied, in an order that cannot be changed unseen.',
    ),
    h(
      'form',
      {
        class: 'filters labelled',
        onsubmit: (event) => {
          event.preventDefault();
          change();
        },
      },
      field('Verdict', verdict),
      field('When', days),
      field('Search', search),
    ),
    h('p', {}, button('Verify', { onclick: () => into(verified, verify) })),
    verified,
    body,
  );
  into(body, load);
  return { title: 'Audit', leave: () => abort.abort() };
}

/** What a walk along all chains has found, in one sentence or two. */
export function verification(whole, chains) {
  const sum = (value) => chains.reduce((total, chain) => total + value(chain), 0).toLocaleString('en-US');
  if (!whole) {
    const { chain, broken } = chains.find((one) => one.broken);
    return `The audit was changed. Chain ${chain}: ${broken}.`;
  }
  if (!chains.length) return 'Nothing was noted yet.';
  const kept = `All ${sum(({ entries }) => entries)} entries are as they were written.`;
  const removed = sum((chain) => chain.removed?.last ?? 0);
  return removed === '0' ? kept : `${kept} Retention has removed ${removed} older ones.`;
}

function row(entry) {
  const { collection } = namesOf(entry.target);
  const target = collection
    ? link(entry.target.replace(/^.*\/jobCollections\//i, ''), pageOf(entry.target))
    : h('code', { class: 'breakable' }, entry.target || '–');
  return h(
    'tr',
    {},
    h('td', { class: 'number' }, absolute(entry.at)),
    h('td', { title: entry.who }, entry.name, entry.from && h('div', { class: 'faint' }, `from ${entry.from}`)),
    h('td', {}, h('code', {}, entry.act)),
    h('td', {}, badge(entry.verdict)),
    // On a line of its own: a link within other words would have to look less like them.
    h('td', {}, h('div', {}, target), told(entry.detail)),
  );
}

/** What changed, to be opened. */
function told(detail) {
  if (!detail || detail.created || Object.keys(detail).length === 0)
    return detail?.created ? h('div', { class: 'faint' }, 'new') : null;
  const { changes } = detail;
  const summary = changes ? `${changes.length} ${changes.length === 1 ? 'member' : 'members'} changed` : 'Details';
  return h('details', {}, h('summary', {}, summary), h('pre', {}, JSON.stringify(changes ?? detail, null, 2)));
}
