// One job: how it is doing, and in tabs what it is, what it does, when, and what it has done.

import { actions, call, get, idOf, namesOf, pageOf, query, scheduler } from '../api.js';
import { fill, h, throttle } from '../dom.js';
import { listen } from '../live.js';
import { badge, button, copyButton, count, facts, head, icon, into, link, standing } from '../parts/basics.js';
import { deleteLater, report, toast } from '../parts/dialogs.js';
import { removeNow } from '../parts/job-table.js';
import { tabs } from '../parts/lists.js';
import { go } from '../router.js';
import { absolute } from '../time.js';
import { actionFacts } from '../job/action-facts.js';
import { historyList } from '../job/history.js';
import { overview } from '../job/overview.js';
import { schedulePanel } from '../job/schedule-panel.js';

const TABS = [
  ['overview', 'Overview'],
  ['properties', 'Properties'],
  ['action', 'Action settings'],
  ['schedule', 'Schedule'],
  ['history', 'History'],
];

export function show(place, { segments }) {
  const [subscription, group, collection, name, asked] = segments;
  const id = idOf({ subscription, group, collection, job: name });
  const tab = TABS.some(([one]) => one === asked) ? asked : 'overview';
  const abort = new AbortController();
  const top = h('div', { class: 'stack' });
  const body = h('div', { class: 'tab-body stack' });
  const bar = tabs(
    'Job',
    TABS.map(([one, text]) => [one, text, pageOf(id, one === 'overview' ? undefined : one)]),
    tab,
  );
  fill(place, top, bar, body);
  let part = null;
  let job = null;

  const load = async () => {
    const [answer, upcoming] = await Promise.all([
      call('GET', scheduler(id), { signal: abort.signal }),
      get(`/api/upcoming${query({ job: id, count: 1 })}`, { signal: abort.signal }),
    ]);
    // Azure's answer has no counters of a disabled job, and does not know whether the collection is on.
    job = { ...answer.body, standing: upcoming.status };
    const context = { id, signal: abort.signal, runAgain: () => act(() => actions.run(id), 'It runs') };
    part ??= PARTS[tab](body, job, context);
    bar.hidden = false;
    const isFinal = ['completed', 'faulted'].includes(job.properties.state);
    const isOff = job.properties.state === 'disabled';
    return head(name, {
      above: [link(collection, pageOf(idOf({ subscription, group, collection }))), ` in ${subscription} / ${group}`],
      beside: badge(standing(job.standing)),
      actions: [
        !isFinal &&
          button('Run now', { icon: 'run', kind: 'primary', onclick: () => act(() => actions.run(id), 'It runs') }),
        !isFinal &&
          button(isOff ? 'Enable' : 'Disable', {
            icon: isOff ? 'enable' : 'pause',
            onclick: () => act(() => (isOff ? actions.enable : actions.disable)(id), isOff ? 'Enabled' : 'Disabled'),
          }),
        !isFinal && link([icon('edit'), 'Edit'], pageOf(id).replace('/ui/job/', '/ui/edit/'), { class: 'button' }),
        link([icon('copy'), 'Duplicate'], `/ui/new-job${query({ from: id })}`, { class: 'button' }),
        button('Delete', { icon: 'delete', kind: 'danger', onclick: remove }),
      ],
    });
  };

  async function act(action, done) {
    try {
      await action();
      toast(done, { lasts: 2500 });
      reload();
    } catch (error) {
      report(error);
    }
  }

  function remove() {
    deleteLater([id], `${name} is deleted`, removeNow);
    go(pageOf(idOf({ subscription, group, collection })));
  }

  const reload = async () => {
    if (await into(top, load, { quiet: true })) part?.update?.(job);
  };
  const live = throttle(700, reload);
  const unlisten = listen((kind, data) => {
    if (kind === 'pulse' || (data.id && data.id.toLowerCase() !== id.toLowerCase())) return;
    live();
  });
  into(top, load, {
    rows: 1,
    // Without a job there is nothing that they could show.
    failed: () => {
      bar.hidden = true;
    },
  });
  return {
    title: `${name} · ${TABS.find(([one]) => one === tab)[1]}`,
    leave: () => {
      abort.abort();
      unlisten();
      live.cancel();
    },
  };
}

const PARTS = {
  overview,
  history: historyList,
  schedule: schedulePanel,
  properties: (place, first, { id }) => {
    const update = (job) => {
      const { standing: stands, ...resource } = job;
      const { properties } = resource;
      const names = namesOf(id);
      const document = JSON.stringify(resource, null, 2);
      fill(
        place,
        h(
          'section',
          { class: 'card' },
          facts([
            ['Name', names.job],
            ['Collection', link(names.collection, pageOf(idOf({ ...names, job: undefined })))],
            ['Resource group', names.group],
            ['Subscription', names.subscription],
            ['State', badge(standing(stands))],
            ['Start', absolute(properties.startTime, { otherwise: 'at once' })],
            ['After an outage', catchUp(properties.catchUp)],
            [
              'When runs overlap',
              { skip: 'the later is skipped', queue: 'the later waits' }[properties.overlap] ?? 'both run',
            ],
            [
              'Resource id',
              h('span', { class: 'row tight' }, h('code', { class: 'breakable' }, id), copyButton(id, 'Copy the id')),
            ],
          ]),
        ),
        h(
          'section',
          { class: 'card' },
          h('div', { class: 'card-head' }, h('h2', {}, 'As JSON'), copyButton(document, 'Copy the JSON')),
          h('pre', { class: 'code', tabindex: '0' }, document),
        ),
      );
    };
    update(first);
    return { update };
  },
  action: (place, first) => {
    const update = (job) => fill(place, actionFacts(job.properties.action));
    update(first);
    return { update };
  },
};

function catchUp(given) {
  const policy = typeof given === 'string' ? given : given?.policy;
  if (policy === 'none') return 'what was missed is left out';
  if (policy === 'all') return `the latest ${count(given.max ?? 10)} are made up for`;
  return 'the latest one runs';
}
