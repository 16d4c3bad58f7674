// One collection: what it is, and its jobs.

import { actions, get, idOf, query, scheduler } from '../api.js';
import { fill, h } from '../dom.js';
import { badge, button, count, facts, head, icon, into, link } from '../parts/basics.js';
import { ask, report, toast } from '../parts/dialogs.js';
import { jobTable } from '../parts/job-table.js';
import { go } from '../router.js';
import { editCollection } from './collections.js';

export function show(place, { segments }) {
  const [subscription, group, collection] = segments;
  const id = idOf({ subscription, group, collection });
  const abort = new AbortController();
  const top = h('div', { class: 'stack' });
  const list = h('div', {});
  fill(place, top, list);

  const load = async () => {
    const found = await get(scheduler(id), { signal: abort.signal });
    const { sku, state, quota } = found.properties;
    const is = state === 'Enabled';
    return [
      head(collection, {
        above: [link('Collections', '/ui/collections'), ` / ${subscription} / ${group}`],
        beside: badge(state),
        actions: [
          link([icon('plus'), 'New job here'], `/ui/new-job${query({ collection: id })}`, { class: 'button' }),
          button(is ? 'Disable' : 'Enable', {
            icon: is ? 'pause' : 'enable',
            onclick: () =>
              act(
                () => (is ? actions.disableCollection : actions.enableCollection)(id),
                is ? 'Disabled: none of its jobs runs' : 'Enabled',
              ),
          }),
          button('Edit', { icon: 'edit', onclick: async () => (await editCollection(id)) && reload() }),
          button('Delete', { icon: 'delete', kind: 'danger', onclick: remove }),
        ],
      }),
      facts([
        ['Plan', sku.name],
        ['Place', found.location],
        ['Most jobs', quota?.maxJobCount === undefined ? 'as the plan allows' : count(quota.maxJobCount)],
        [
          'Not faster than',
          quota?.maxRecurrence
            ? `every ${quota.maxRecurrence.interval} ${quota.maxRecurrence.frequency}`
            : 'as the plan allows',
        ],
        found.tags &&
          Object.keys(found.tags).length > 0 && [
            'Tags',
            Object.entries(found.tags).map(([name, value]) => h('span', { class: 'tag' }, `${name}: ${value}`)),
          ],
      ]),
    ];
  };
  const reload = () => into(top, load, { quiet: true });

  async function act(action, done) {
    try {
      await action();
      toast(done, { lasts: 2500 });
      reload();
    } catch (error) {
      report(error);
    }
  }

  async function remove() {
    const typed = h('input', { type: 'text', 'aria-label': 'Name of the collection', autocomplete: 'off' });
    const sure = await ask(
      `Delete ${collection}?`,
      [
        h('p', {}, 'All its jobs and their history go with it. This cannot be taken back. Type its name to go on:'),
        typed,
      ],
      [{ text: 'Cancel' }, { text: 'Delete', kind: 'danger', value: () => typed.value.trim() === collection }],
    );
    if (sure === null || sure === undefined) return;
    if (!sure) {
      toast('That is not its name; nothing was deleted.', { kind: 'bad' });
      return;
    }
    try {
      await actions.delete(id);
      toast(`${collection} is deleted`);
      go('/ui/collections');
    } catch (error) {
      report(error);
    }
  }

  let jobs = null;
  into(top, load, { rows: 2 }).then((isThere) => {
    if (isThere) jobs = jobTable(list, { collection: id });
  });
  return {
    title: collection,
    leave: () => {
      abort.abort();
      jobs?.leave();
    },
  };
}
