// The list of jobs: search, filter, sort, pages, and what can be done with one or with many. Two pages show it.

import { actions, get, namesOf, pageOf, query } from '../api.js';
import { debounce, fill, h, throttle } from '../dom.js';
import { listen } from '../live.js';
import { address, rewrite } from '../router.js';
import { ticking } from '../time.js';
import { badge, button, count, empty, icon, into, link, many, say, standing } from './basics.js';
import { ask, deleteLater, isHeld, report, toast, watchHeld } from './dialogs.js';
import { bulk, pager, sortable } from './lists.js';

const TOP = 50;
/** The most jobs that are chosen at once: more than anybody should delete by one click. */
const MOST = 20_000;
const STATES = [
  ['', 'All states'],
  ['enabled', 'Enabled'],
  ['disabled', 'Disabled'],
  ['completed', 'Completed'],
  ['faulted', 'Faulted'],
];

/** The list in an element; answers `{reload, leave}`. */
export function jobTable(place, { collection } = {}) {
  const asked = address().query;
  const view = {
    search: asked.get('search') ?? '',
    state: asked.get('state') ?? '',
    sort: asked.get('sort') ?? 'name',
    order: asked.get('order') ?? 'asc',
    skip: Math.max(0, Number.parseInt(asked.get('skip') ?? '0', 10) || 0),
  };
  let abort = new AbortController();
  let shown = [];
  let total = 0;
  const chosen = new Set();

  const search = h('input', {
    type: 'search',
    placeholder: 'Search jobs',
    'aria-label': 'Search jobs',
    value: view.search,
    autocomplete: 'off',
    spellcheck: 'false',
    oninput: debounce(200, () => change({ search: search.value.trim(), skip: 0 })),
  });
  const state = h(
    'select',
    { 'aria-label': 'State', value: view.state, onchange: () => change({ state: state.value, skip: 0 }) },
    STATES.map(([value, text]) => h('option', { value }, text)),
  );
  state.value = view.state;
  const bar = h('div', { class: 'bulk', role: 'group', 'aria-label': 'Chosen jobs', hidden: true });
  const body = h('div', { class: 'stack' });
  place.classList.add('stack');
  fill(
    place,
    h('div', { class: 'filters' }, h('label', { class: 'searchbox' }, icon('search'), search), state),
    bar,
    body,
  );

  const parameters = (more = {}) => query({ ...view, skip: view.skip || '', top: TOP, collection, ...more });

  const load = async () => {
    const page = await get(`/api/jobs${parameters()}`, { signal: abort.signal });
    shown = page.value.filter((job) => !isHeld(job.id));
    // What is about to be deleted is not counted either.
    total = page.total - (page.value.length - shown.length);
    // The last page may have vanished under us.
    if (!page.value.length && view.skip > 0 && total > 0) {
      view.skip = Math.floor((total - 1) / TOP) * TOP;
      return load();
    }
    return draw(page.value.length);
  };
  const reload = (failed) => into(body, load, { quiet: true, failed }).then(drawBar);

  function change(changes) {
    Object.assign(view, changes);
    chosen.clear();
    abort.abort();
    abort = new AbortController();
    rewrite({
      ...view,
      sort: view.sort === 'name' ? '' : view.sort,
      order: view.order === 'asc' ? '' : view.order,
      skip: view.skip ? String(view.skip) : '',
    });
    return reload(report).then(() => say(many(total, 'job')));
  }

  function draw(loaded) {
    if (!total) {
      return view.search || view.state
        ? empty(
            'No job matches',
            null,
            button('Show all', {
              onclick: () => {
                search.value = '';
                state.value = '';
                change({ search: '', state: '', skip: 0 });
              },
            }),
          )
        : empty('No jobs yet', 'A job calls an address or sends a message, once or again and again.', newJob());
    }
    const all = h('input', {
      type: 'checkbox',
      'aria-label': 'Choose all on this page',
      checked: shown.length > 0 && shown.every((job) => chosen.has(job.id)),
      onchange: () => {
        for (const job of shown) all.checked ? chosen.add(job.id) : chosen.delete(job.id);
        fill(body, draw(loaded));
        drawBar();
      },
    });
    const sorting = { sort: view.sort, order: view.order, onsort: (sort, order) => change({ sort, order, skip: 0 }) };
    return [
      h(
        'table',
        { class: 'list jobs' },
        h('caption', { class: 'hidden' }, 'Jobs'),
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            h('td', { class: 'tick' }, all),
            sortable('Job', 'name', sorting),
            sortable('State', 'state', sorting),
            h('th', { scope: 'col', class: 'wide-only' }, 'What it does'),
            h('th', { scope: 'col', class: 'wide-only' }, 'When'),
            sortable('Next', 'next', sorting),
            sortable('Last', 'last', { ...sorting, class: 'wide-only' }),
            sortable('Failures', 'failures', { ...sorting, class: 'right' }),
            h('td', { class: 'right' }, h('span', { class: 'hidden' }, 'Actions')),
          ),
        ),
        h('tbody', {}, shown.map(row)),
      ),
      pager({
        skip: view.skip,
        shown: loaded,
        total,
        top: TOP,
        go: (skip) => change({ skip }).then(() => body.scrollIntoView({ block: 'start' })),
      }),
    ];
  }

  function newJob() {
    return link([icon('plus'), 'New job'], `/ui/new-job${query({ collection })}`, { class: 'button primary' });
  }

  function row(job) {
    const names = namesOf(job.id);
    // What cannot be read can only be deleted or written anew.
    const isFinal = job.unreadable || job.state === 'completed' || job.state === 'faulted';
    const tick = h('input', {
      type: 'checkbox',
      'aria-label': `Choose ${names.job}`,
      checked: chosen.has(job.id),
      onchange: () => {
        if (tick.checked) chosen.add(job.id);
        else chosen.delete(job.id);
        drawBar();
      },
    });
    return h(
      'tr',
      { data: { id: job.id } },
      h('td', { class: 'tick' }, tick),
      h(
        'th',
        { scope: 'row' },
        link(names.job, pageOf(job.id), { class: 'name' }),
        !collection && h('span', { class: 'sub' }, `${names.group} / ${names.collection}`),
      ),
      h(
        'td',
        { data: { label: 'State' }, title: job.unreadable },
        badge(job.unreadable ? 'unreadable' : standing(job)),
        !job.unreadable && standing(job) === 'paused' && h('span', { class: 'sub' }, `${names.collection} is disabled`),
      ),
      h('td', { class: 'wide-only target', title: job.target }, h('code', {}, job.target ?? job.action ?? '–')),
      h(
        'td',
        { class: 'wide-only when', title: job.recurrence },
        h('span', {}, job.recurrence ?? (job.unreadable ? '–' : 'Once')),
      ),
      h(
        'td',
        { data: { label: 'Next' }, class: 'nowrap' },
        job.nextExecutionTime ? ticking(job.nextExecutionTime) : h('span', { class: 'faint' }, '–'),
      ),
      h('td', { class: 'wide-only nowrap' }, ticking(job.lastExecutionTime, { otherwise: 'never' })),
      h(
        'td',
        {
          class: 'right number',
          data: { label: 'Failures' },
          title: `${count(job.executionCount)} runs, ${count(job.failureCount)} failed attempts, ${count(job.faultedCount)} faulted`,
        },
        job.failureCount
          ? h('span', { class: 'count-bad' }, count(job.failureCount))
          : h('span', { class: 'faint' }, '0'),
        h('span', { class: 'faint' }, ` / ${count(job.executionCount)}`),
      ),
      h(
        'td',
        { class: 'right nowrap acts' },
        !isFinal &&
          button('', {
            icon: 'run',
            title: `Run ${names.job} now`,
            kind: 'small',
            onclick: () => act(() => actions.run(job.id), `${names.job} runs`),
          }),
        !isFinal &&
          (job.state === 'disabled'
            ? button('', {
                icon: 'enable',
                title: `Enable ${names.job}`,
                kind: 'small',
                onclick: () => act(() => actions.enable(job.id), `${names.job} is enabled`),
              })
            : button('', {
                icon: 'pause',
                title: `Disable ${names.job}`,
                kind: 'small',
                onclick: () => act(() => actions.disable(job.id), `${names.job} is disabled`),
              })),
        button('', { icon: 'delete', title: `Delete ${names.job}`, kind: 'small', onclick: () => remove([job.id]) }),
      ),
    );
  }

  async function act(action, done) {
    try {
      await action();
      toast(done, { lasts: 2500 });
      reload();
    } catch (error) {
      report(error);
    }
  }

  function remove(ids) {
    for (const id of ids) chosen.delete(id);
    const text = ids.length === 1 ? `${namesOf(ids[0]).job} is deleted` : `${many(ids.length, 'job')} are deleted`;
    deleteLater(ids, text, removeNow);
  }

  function drawBar() {
    bar.hidden = chosen.size === 0;
    if (bar.hidden) return;
    const ids = [...chosen];
    const each = (title, action) =>
      button(title, {
        kind: 'small',
        onclick: async () => {
          const { done } = await bulk(`${title} ${many(ids.length, 'job')}`, ids, action, (id) => namesOf(id).job);
          toast(`${title}: ${many(done, 'job')} done`, { lasts: 3000 });
          chosen.clear();
          reload();
        },
      });
    fill(
      bar,
      h('b', { class: 'number' }, `${count(chosen.size)} chosen`),
      each('Run now', actions.run),
      each('Enable', actions.enable),
      each('Disable', actions.disable),
      button('Delete', { kind: 'small danger', onclick: () => removeMany(ids) }),
      chosen.size < total && button(`Choose all ${count(total)}`, { kind: 'small', onclick: chooseAll }),
      button('None', {
        kind: 'small',
        onclick: () => {
          chosen.clear();
          reload();
        },
      }),
    );
  }

  async function removeMany(ids) {
    const sure =
      ids.length <= 10 ||
      (await ask(`Delete ${many(ids.length, 'job')}?`, h('p', {}, 'Their history goes with them.'), [
        { text: 'Cancel' },
        { text: 'Delete', kind: 'danger', value: true },
      ]));
    if (sure) remove(ids);
  }

  async function chooseAll() {
    if (total > MOST) {
      toast(`At most ${count(MOST)} jobs can be chosen; narrow the search.`, { kind: 'bad' });
      return;
    }
    try {
      for (let skip = 0; skip < total; skip += 500) {
        const page = await get(`/api/jobs${parameters({ skip: skip || '', top: 500 })}`, { signal: abort.signal });
        for (const job of page.value) chosen.add(job.id);
        if (!page.value.length) break;
        skip += page.value.length - 500;
      }
      await reload();
    } catch (error) {
      report(error);
    }
  }

  into(body, load, { rows: 8 }).then(() => {
    if (asked.get('focus') === 'search') search.focus();
  });
  // Nobody's place is taken while the pointer or the keyboard is at work in a row.
  const live = throttle(2000, () => {
    if (!body.contains(document.activeElement) && !body.matches(':hover')) reload();
  });
  const unlisten = listen((kind) => kind !== 'pulse' && live());
  const unwatch = watchHeld(() => reload());
  return {
    reload,
    leave: () => {
      abort.abort();
      unlisten();
      unwatch();
      live.cancel();
    },
  };
}

/** Carries out deletions: when the portal is left, all at once and without waiting. */
export async function removeNow(ids, { keepalive }) {
  if (keepalive) {
    for (const id of ids) actions.delete(id, { keepalive: true }).catch(() => {});
    return;
  }
  // Gone already is as good as deleted.
  const action = (id) =>
    actions.delete(id).catch((error) => {
      if (error.status !== 404) throw error;
    });
  if (ids.length > 1) await bulk(`Delete ${many(ids.length, 'job')}`, ids, action, (id) => namesOf(id).job);
  else await action(ids[0]).catch((error) => report(error, namesOf(ids[0]).job));
}
