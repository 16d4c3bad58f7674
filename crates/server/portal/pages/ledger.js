// The ledger: what did not run, and why, for any time.

import { collections, get, localPart, namesOf, pageOf, query } from '../api.js';
import { fill, h } from '../dom.js';
import { badge, button, count, empty, head, icon, into, link, many } from '../parts/basics.js';
import { report, toast } from '../parts/dialogs.js';
import { choice, field, text } from '../parts/fields.js';
import { rewrite } from '../router.js';
import { absolute, duration, now, ticking } from '../time.js';
import { csv } from '../csv.js';

const STATES = [
  ['notRun', 'Did not run'],
  ['faulted', 'Faulted'],
  ['missed', 'Missed'],
  ['skipped', 'Skipped'],
  ['ranLate', 'Ran late'],
  ['ran', 'Ran'],
  ['all', 'Everything'],
];
const TIMES = [
  ['1h', 'Last hour'],
  ['12h', 'Last 12 hours'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['all', 'Any time'],
  ['own', 'From … to …'],
];
const TOP = 100;
/** The most entries of a download. */
const MOST = 50_000;

export function show(place, { query: asked }) {
  const abort = new AbortController();
  const state = choice(STATES, asked.get('state') ?? 'notRun', { onchange: () => change() });
  const time = choice(TIMES, asked.get('time') ?? (asked.get('from') || asked.get('to') ? 'own' : '24h'), {
    onchange: () => {
      range.hidden = time.value !== 'own';
      change();
    },
  });
  const from = text({ type: 'datetime-local', value: asked.get('from') ?? '', onchange: () => change() });
  const to = text({ type: 'datetime-local', value: asked.get('to') ?? '', onchange: () => change() });
  const range = h('div', { class: 'row tight', hidden: time.value !== 'own' }, field('From', from), field('To', to));
  const where = h('select', {
    onchange: () => {
      settle();
      change();
    },
  });
  const names = h('datalist', { id: 'jobs-there' });
  const job = text({ value: asked.get('job') ?? '', list: 'jobs-there', onchange: () => change() });
  places([]);
  const body = h('div', { class: 'stack' });
  let entries = [];
  let next = null;
  let moreOff = false;

  fill(
    place,
    head('Ledger', {
      actions: [
        button('CSV', { title: 'Download as CSV', onclick: () => download('csv') }),
        button('JSON', { title: 'Download as JSON', onclick: () => download('json') }),
      ],
    }),
    h('p', { class: 'lead' }, 'Every due instant of every job ends here in exactly one state, with the reason.'),
    h(
      'form',
      {
        class: 'filters labelled',
        onsubmit: (event) => {
          event.preventDefault();
          change();
        },
      },
      field('What', state),
      field('When', time),
      range,
      field('Where', where),
      field('Job', job),
      names,
    ),
    body,
  );

  const parameters = () => {
    const span = /^(\d+)([hd])$/.exec(time.value);
    const iso = (input) => (input.value ? new Date(input.value).toISOString() : '');
    const since = span
      ? new Date(now() - Number(span[1]) * (span[2] === 'h' ? 3_600_000 : 86_400_000)).toISOString()
      : '';
    const { subscription, group, collection } = namesOf(where.value);
    const only = collection ? { resourceGroup: group, jobCollection: collection, job: job.value.trim() } : {};
    return {
      state: state.value === 'all' ? '' : state.value,
      from: time.value === 'own' ? iso(from) : since,
      to: time.value === 'own' ? iso(to) : '',
      subscription,
      ...only,
    };
  };

  const load = async () => {
    const page = await get(`/api/ledger${query({ ...parameters(), top: TOP })}`, { signal: abort.signal });
    entries = page.value;
    next = page.nextLink ? localPart(page.nextLink) : null;
    moreOff = page.moreOff === true;
    return draw();
  };

  function draw() {
    if (!entries.length && moreOff)
      return empty('Too many jobs are off', 'Choose a collection to see what its jobs have skipped.');
    if (!entries.length)
      return state.value === 'notRun'
        ? empty('Nothing is missing', 'Everything that was due in this time ran.')
        : empty('Nothing here', 'No occurrence of this kind in this time.');
    return [
      moreOff &&
        h(
          'p',
          { class: 'remark' },
          icon('warn'),
          'More jobs are off than are looked at here. Choose a collection to see what its jobs have skipped.',
        ),
      h(
        'table',
        { class: 'list ledger' },
        h('caption', { class: 'hidden' }, 'Ledger'),
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            ['State', 'Due', 'Job', 'Why', 'Late by'].map((words) =>
              h('th', { scope: 'col', class: words === 'Late by' ? 'right wide-only' : '' }, words),
            ),
          ),
        ),
        h('tbody', {}, entries.map(row)),
      ),
      h(
        'div',
        { class: 'pager' },
        h('span', { class: 'number faint' }, `${many(entries.length, 'entry', 'entries')}${next ? ' so far' : ''}`),
        next && button('More', { onclick: more }),
      ),
    ];
  }

  function row(entry) {
    const names = namesOf(entry.job);
    const late = entry.startTime ? Date.parse(entry.startTime) - Date.parse(entry.dueTime) : null;
    return h(
      'tr',
      {},
      h('td', {}, badge(entry.state)),
      h(
        'td',
        { class: 'nowrap' },
        absolute(entry.dueTime),
        entry.until
          ? h(
              'span',
              { class: 'sub' },
              'to ',
              absolute(entry.until),
              `, ${count(entry.occurrences)} ${entry.ongoing ? 'so far' : 'in all'}`,
            )
          : h('span', { class: 'sub' }, ticking(entry.dueTime)),
      ),
      h(
        'td',
        {},
        link(names.job, pageOf(entry.job), { class: 'name' }),
        h('span', { class: 'sub' }, `${names.group} / ${names.collection}`),
      ),
      h(
        'td',
        { class: 'message' },
        entry.message ?? (entry.state === 'ran' ? 'on time' : ''),
        entry.ongoing && h('span', { class: 'sub' }, 'still going on'),
      ),
      h('td', { class: 'right number wide-only' }, late === null ? '–' : duration(Math.max(0, late))),
    );
  }

  async function more() {
    try {
      const page = await get(next, { signal: abort.signal });
      entries = [...entries, ...page.value];
      next = page.nextLink ? localPart(page.nextLink) : null;
      fill(body, draw());
    } catch (error) {
      report(error);
    }
  }

  async function download(kind) {
    try {
      const found = [];
      let page = `/api/ledger${query({ ...parameters(), top: 500 })}`;
      while (page && found.length < MOST) {
        const answer = await get(page, { signal: abort.signal });
        found.push(...answer.value);
        page = answer.nextLink ? localPart(answer.nextLink) : null;
      }
      const written = kind === 'csv' ? csv(found) : JSON.stringify(found, null, 2);
      const url = URL.createObjectURL(
        new Blob([written], { type: kind === 'csv' ? 'text/csv;charset=utf-8' : 'application/json' }),
      );
      const anchor = h('a', { href: url, download: `ledger.${kind}` });
      anchor.click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
      toast(
        `${many(found.length, 'entry', 'entries')} downloaded${page ? `; there are more than ${count(MOST)}, narrow the time` : ''}`,
      );
    } catch (error) {
      report(error);
    }
  }

  function change() {
    rewrite({
      state: state.value,
      time: time.value,
      from: time.value === 'own' ? from.value : '',
      to: time.value === 'own' ? to.value : '',
      where: where.value,
      job: job.disabled ? '' : job.value.trim(),
    });
    into(body, load, { quiet: false, rows: 6 });
  }

  /** The choices of a place; the one that the address names is among them before the others are known. */
  function places(found) {
    const chosen = where.value || (asked.get('where') ?? '');
    const known = [...new Set(found.map(({ id }) => `/subscriptions/${namesOf(id).subscription}`))].map((id) => [
      id,
      `all of ${namesOf(id).subscription}`,
    ]);
    const all = [
      ['', 'Everywhere'],
      ...known,
      ...found.map(({ id }) => [id, ((of) => `${of.collection} (${of.subscription} / ${of.group})`)(namesOf(id))]),
    ];
    if (chosen && !all.some(([id]) => id === chosen))
      all.push([chosen, namesOf(chosen).collection ?? namesOf(chosen).subscription ?? chosen]);
    fill(
      where,
      all.map(([id, words]) => h('option', { value: id }, words)),
    );
    where.value = chosen;
    settle();
  }

  /** A job is one of a collection. */
  function settle() {
    job.disabled = !namesOf(where.value).collection;
    job.placeholder = job.disabled ? 'choose a collection first' : 'any';
    fill(names);
    if (job.disabled) return;
    get(`/api/jobs${query({ collection: where.value, top: 1000 })}`, { signal: abort.signal })
      .then((page) =>
        fill(
          names,
          page.value.map((one) => h('option', { value: one.name })),
        ),
      )
      .catch(() => {});
  }

  collections({ signal: abort.signal }).then(places, () => {});
  into(body, load, { rows: 6 });
  return { title: 'Ledger', leave: () => abort.abort() };
}
