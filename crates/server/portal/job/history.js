// The history of a job: every attempt, with filters and pages, and all of one when it is opened.

import { get, scheduler } from '../api.js';
import { fill, freshId, h } from '../dom.js';
import { badge, button, copyButton, empty, facts, icon, into } from '../parts/basics.js';
import { pager } from '../parts/lists.js';
import { choice } from '../parts/fields.js';
import { absolute, duration, ticking, utc } from '../time.js';

const TOP = 50;
const STATUSES = [
  ['', 'All outcomes'],
  ['Completed', 'Completed'],
  ['Failed', 'Failed'],
  ['Postponed', 'Postponed'],
];
const NAMES = [
  ['', 'Both actions'],
  ['MainAction', 'Action'],
  ['ErrorAction', 'Error action'],
];
const TIMES = [
  ['', 'Any time'],
  ['3600', 'Last hour'],
  ['86400', 'Last 24 hours'],
  ['604800', 'Last 7 days'],
];

export function historyList(place, first, { id, signal, runAgain }) {
  let skip = 0;
  const open = new Set();
  const status = choice(STATUSES, '', { 'aria-label': 'Outcome', onchange: () => change() });
  const action = choice(NAMES, '', { 'aria-label': 'Action', onchange: () => change() });
  const since = choice(TIMES, '', { 'aria-label': 'Time', onchange: () => change() });
  const body = h('div', { class: 'stack' });
  fill(place, h('div', { class: 'filters' }, status, action, since), body);

  const filter = () =>
    [
      status.value && `status eq '${status.value}'`,
      action.value && `actionName eq '${action.value}'`,
      since.value && `startTime ge ${new Date(Date.now() - Number(since.value) * 1000).toISOString()}`,
    ]
      .filter(Boolean)
      .join(' and ');

  const load = async () => {
    const page = await get(scheduler(id, '/history', { $top: TOP, $skip: skip || '', $filter: filter() }), { signal });
    if (!page.value.length && !skip) {
      return filter()
        ? empty('No attempt matches')
        : empty(
            'It has not run yet',
            'Every attempt of every run will be here.',
            button('Run now', { icon: 'run', onclick: runAgain }),
          );
    }
    const total = page.nextLink ? undefined : skip + page.value.length;
    return [
      h(
        'table',
        { class: 'list history' },
        h('caption', { class: 'hidden' }, 'History'),
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            h('td', { class: 'tick' }, h('span', { class: 'hidden' }, 'Details')),
            ['Outcome', 'Started', 'Late by', 'Took', 'Attempt', 'Message'].map((text) =>
              h(
                'th',
                { scope: 'col', class: { 'Late by': 'wide-only right', Took: 'right', Attempt: 'wide-only' }[text] },
                text,
              ),
            ),
          ),
        ),
        h('tbody', {}, page.value.flatMap(rows)),
      ),
      pager({
        skip,
        shown: page.value.length,
        total,
        top: TOP,
        go: (next) => {
          skip = next;
          into(body, load, { quiet: true });
        },
      }),
    ];
  };

  function rows(entry) {
    const { name, properties: of } = entry;
    const late = Date.parse(of.startTime) - Date.parse(of.expectedExecutionTime);
    const took = Date.parse(of.endTime) - Date.parse(of.startTime);
    const which = of.actionName === 'ErrorAction' ? 'Error action' : of.retryCount ? `Retry ${of.retryCount}` : 'First';
    const key = freshId('run');
    const details = h(
      'tr',
      { id: key, class: 'details', hidden: !open.has(name) },
      h(
        'td',
        { colspan: 7 },
        facts([
          ['Expected', absolute(of.expectedExecutionTime)],
          ['Started', absolute(of.startTime)],
          ['Ended', absolute(of.endTime)],
          ['UTC', utc(of.startTime)],
          ['Action', which],
          ['Run', `no. ${of.repeatCount}`],
        ]),
        h(
          'div',
          { class: 'card-head' },
          h('h3', {}, 'Message'),
          h(
            'span',
            { class: 'row tight' },
            copyButton(of.message, 'Copy the message'),
            button('Run again', { kind: 'small', icon: 'run', onclick: runAgain }),
          ),
        ),
        h('pre', { class: 'code', tabindex: '0' }, of.message || '(empty)'),
      ),
    );
    const toggle = h(
      'button',
      {
        type: 'button',
        class: 'expander',
        'aria-expanded': String(open.has(name)),
        'aria-controls': key,
        'aria-label': `Details of the attempt at ${of.startTime}`,
        onclick: () => {
          details.hidden = !details.hidden;
          toggle.setAttribute('aria-expanded', String(!details.hidden));
          if (details.hidden) open.delete(name);
          else open.add(name);
        },
      },
      icon('right'),
    );
    const row = h(
      'tr',
      {
        class: 'opens',
        onclick: (event) => {
          if (!event.target.closest('button, a') && !getSelection()?.toString()) toggle.click();
        },
      },
      h('td', { class: 'tick' }, toggle),
      h('td', {}, badge(of.status ?? 'completed')),
      h('td', { class: 'nowrap' }, absolute(of.startTime), h('span', { class: 'sub' }, ticking(of.startTime))),
      h('td', { class: 'wide-only right number' }, late < 0 ? '–' : duration(late)),
      h('td', { class: 'right number' }, duration(took)),
      h('td', { class: 'wide-only' }, which),
      h('td', { class: 'message' }, of.message),
    );
    return [row, details];
  }

  function change() {
    skip = 0;
    into(body, load, { quiet: true });
  }
  into(body, load, { rows: 6 });
  return {
    // Whoever reads an older page, or is about to press something, keeps it.
    update: () => {
      if (skip === 0 && !body.contains(document.activeElement)) into(body, load, { quiet: true });
    },
  };
}
