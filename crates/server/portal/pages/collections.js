// The collections of all subscriptions, and making one.

import { actions, call, collections, get, idOf, manager, namesOf, pageOf, query, scheduler } from '../api.js';
import { fill, h, throttle } from '../dom.js';
import { collectionForm } from '../parts/collection-form.js';
import { badge, button, count, empty, head, icon, into, link, many } from '../parts/basics.js';
import { ask, askForm, report, toast } from '../parts/dialogs.js';
import { listen } from '../live.js';
import { go } from '../router.js';

/** For so many collections the jobs are counted, one request each. */
const COUNTED = 60;
/** The most that are drawn; the search narrows them down. */
const DRAWN = 300;

export function show(place) {
  const abort = new AbortController();
  const body = h('div', { class: 'stack' });
  const search = h('input', {
    type: 'search',
    placeholder: 'Search collections',
    'aria-label': 'Search collections',
    autocomplete: 'off',
    oninput: () => fill(body, draw()),
  });
  let found = [];
  fill(
    place,
    head('Collections', { actions: [button('New collection', { icon: 'plus', onclick: () => make() })] }),
    h('div', { class: 'filters' }, h('label', { class: 'searchbox' }, icon('search'), search)),
    body,
  );

  const load = async () => {
    found = await collections({ signal: abort.signal });
    return draw();
  };
  const reload = () => into(body, load, { quiet: true });

  function draw() {
    if (!found.length) {
      return empty(
        'No collections yet',
        'A collection holds jobs under common limits. The first job makes one by itself.',
        link([icon('plus'), 'New job'], '/ui/new-job', { class: 'button primary' }),
        button('New collection', { onclick: () => make() }),
      );
    }
    const wanted = search.value.trim().toLowerCase();
    const matching = found.filter(({ id }) => id.toLowerCase().includes(wanted));
    if (!matching.length) return empty('No collection matches');
    const bySubscription = new Map();
    for (const one of matching.slice(0, DRAWN)) {
      const { subscription, group } = namesOf(one.id);
      const groups = bySubscription.get(subscription) ?? new Map();
      groups.set(group, [...(groups.get(group) ?? []), one]);
      bySubscription.set(subscription, groups);
    }
    let counted = 0;
    return [
      [...bySubscription].map(([subscription, groups]) =>
        h(
          'section',
          { class: 'card flush' },
          h(
            'div',
            { class: 'card-head' },
            h('h2', {}, h('span', { class: 'faint' }, 'Subscription '), subscription),
            link('Export as a template', `/api/export${query({ subscription })}`, { download: `${subscription}.json` }),
          ),
          [...groups].map(([group, list]) => [
            h(
              'div',
              { class: 'group' },
              h('h3', {}, h('span', { class: 'faint' }, 'Resource group '), group),
              button('', {
                icon: 'delete',
                kind: 'small',
                title: `Delete the group ${group}`,
                onclick: () => removeGroup(subscription, group, list),
              }),
            ),
            h(
              'table',
              { class: 'list collections' },
              h('caption', { class: 'hidden' }, `Collections of ${group}`),
              // The same widths in every group; the heads are there for those who do not see.
              h(
                'colgroup',
                {},
                ['', 'state', 'plan wide-only', 'place wide-only', 'jobs', 'acts'].map((kind) =>
                  h('col', { class: kind }),
                ),
              ),
              h(
                'thead',
                { class: 'hidden' },
                h(
                  'tr',
                  {},
                  ['Collection', 'State', 'Plan', 'Place', 'Jobs'].map((text) =>
                    h('th', { scope: 'col', class: ['Plan', 'Place'].includes(text) ? 'wide-only' : null }, text),
                  ),
                  h('td', {}, 'Actions'),
                ),
              ),
              h(
                'tbody',
                {},
                list.map((one) => row(one, (counted += 1) <= COUNTED)),
              ),
            ),
          ]),
        ),
      ),
      matching.length > DRAWN &&
        h('p', { class: 'faint' }, `${count(matching.length - DRAWN)} more; narrow the search.`),
    ];
  }

  function row(one, isCounted) {
    const { collection } = namesOf(one.id);
    const { sku, state, quota } = one.properties;
    const jobs = h('span', { class: 'number faint' }, isCounted ? '…' : '');
    if (isCounted) {
      get(`/api/jobs${query({ collection: one.id, top: 1 })}`, { signal: abort.signal })
        .then((page) =>
          fill(jobs, many(page.total, 'job'), quota?.maxJobCount ? ` of ${count(quota.maxJobCount)}` : ''),
        )
        .catch(() => fill(jobs, ''));
    }
    const is = state === 'Enabled';
    return h(
      'tr',
      {},
      h(
        'th',
        { scope: 'row' },
        link(collection, pageOf(one.id), { class: 'name' }),
        Object.entries(one.tags ?? {}).map(([name, value]) => h('span', { class: 'tag' }, `${name}: ${value}`)),
      ),
      h('td', {}, badge(state)),
      h('td', { class: 'nowrap wide-only' }, sku.name),
      h('td', { class: 'nowrap wide-only' }, one.location),
      h('td', { class: 'right' }, jobs),
      h(
        'td',
        { class: 'right nowrap acts' },
        button('', {
          icon: is ? 'pause' : 'enable',
          kind: 'small',
          title: `${is ? 'Disable' : 'Enable'} ${collection}`,
          onclick: () =>
            act(
              () => (is ? actions.disableCollection : actions.enableCollection)(one.id),
              `${collection} is ${is ? 'disabled' : 'enabled'}`,
            ),
        }),
        button('', { icon: 'edit', kind: 'small', title: `Edit ${collection}`, onclick: () => edit(one) }),
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

  async function make() {
    const form = collectionForm({ known: found });
    const id = await askForm('New collection', form.element, {
      saveText: 'Create',
      save: async () => {
        const { names, body: written } = form.read();
        const made = idOf(names);
        // Somebody else's collection is not to be replaced.
        if (found.some((one) => one.id.toLowerCase() === made.toLowerCase()))
          throw new Error(`The collection ${names.collection} is there already.`);
        await call('PUT', scheduler(made), { body: written });
        return made;
      },
    });
    if (id) go(pageOf(id));
  }

  async function edit(one) {
    if (await editCollection(one.id)) reload();
  }

  async function removeGroup(subscription, group, list) {
    const sure = await ask(
      `Delete the group ${group}?`,
      [
        h(
          'p',
          {},
          `${many(list.length, 'collection')} with all jobs and their history go with it. This cannot be taken back.`,
        ),
      ],
      [{ text: 'Cancel' }, { text: 'Delete', kind: 'danger', value: true }],
    );
    if (sure)
      act(
        () => call('DELETE', manager(`/subscriptions/${subscription}/resourceGroups/${group}`)),
        `The group ${group} is deleted`,
      );
  }

  into(body, load, { rows: 5 });
  const live = throttle(
    3000,
    () =>
      body.matches(':hover') ||
      body.contains(document.activeElement) ||
      document.querySelector('dialog[open]') ||
      reload(),
  );
  const unlisten = listen((kind) => ['change', 'reconnected'].includes(kind) && live());
  return {
    title: 'Collections',
    leave: () => {
      abort.abort();
      unlisten();
      live.cancel();
    },
  };
}

/** A dialog to change a collection; answers whether it was changed. */
export async function editCollection(id) {
  let answer;
  try {
    answer = await call('GET', scheduler(id));
  } catch (error) {
    report(error);
    return false;
  }
  const form = collectionForm({ collection: answer.body });
  return askForm(`Edit ${namesOf(id).collection}`, form.element, {
    save: async () => {
      await call('PATCH', scheduler(id), { body: form.patch(), etag: answer.etag });
      return true;
    },
  });
}
