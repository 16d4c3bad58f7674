// Notices: which jobs are in trouble, who was told, and the rules that say so.

import { call, get, namesOf, pageOf, session } from '../api.js';
import { h, fill, throttle } from '../dom.js';
import { clearFaults, showFaults } from '../job/faults.js';
import { listen } from '../live.js';
import { badge, button, empty, head, icon, into, link, many } from '../parts/basics.js';
import { ask, askForm, report, toast } from '../parts/dialogs.js';
import { placesOf, ruleForm, troubleOf } from '../parts/rule-form.js';
import { ticking } from '../time.js';

/** What is over is shown for so many; the jobs of notices have all. */
const OVER = 50;
/** Somebody looks after rules and notices every ten seconds; so do we. */
const EVERY = 10_000;

export function show(place) {
  const abort = new AbortController();
  const body = h('div', { class: 'stack' });
  const made = () => session.mayWrite && button('New rule', { icon: 'plus', onclick: () => edit() });
  fill(place, head('Notices', { actions: [made()] }), body);

  const load = async () => {
    const ask = (path) => get(path, { signal: abort.signal });
    const [rules, notices] = await Promise.all([ask('/api/notifications'), ask('/api/notices')]);
    return draw(rules.value, notices.value);
  };
  const reload = () => into(body, load, { quiet: true });

  function draw(rules, notices) {
    if (!rules.length && !notices.length) {
      return empty(
        'Nobody is told yet',
        'A rule says whom to tell when a job fails for good, has not succeeded for some time or runs late, and when that is over.',
        made() || h('span', { class: 'faint' }, 'Rules are made by those who may write jobs.'),
      );
    }
    const raised = notices.filter(({ state }) => state === 'raised');
    const over = notices.filter(({ state }) => state === 'recovered');
    return [
      verdict(raised, rules),
      raised.length > 0 && card('In trouble now', noticeTable('Jobs in trouble, the latest first', raised)),
      card(
        'Rules',
        rules.length ? ruleTable(rules) : h('p', { class: 'faint inset' }, 'There is no rule that you may see.'),
      ),
      over.length > 0 && card('Over', noticeTable('Trouble that is over, the latest first', over.slice(0, OVER))),
    ];
  }

  function ruleTable(rules) {
    return table(
      'Rules, by name',
      ['Rule', 'In trouble', 'Which jobs', 'Who is told', ''],
      rules.map((rule) => [
        h('th', { scope: 'row' }, h('span', { class: 'name' }, rule.name)),
        cell('In trouble', troubleOf(rule)),
        cell('Which jobs', [
          places(rule),
          rule.watchesNothing &&
            h('span', { class: 'sub late' }, icon('warn'), 'watches nothing: no job has these names'),
        ]),
        cell('Who is told', h('code', { class: 'breakable' }, rule.uri)),
        h('td', { class: 'right nowrap acts' }, acts(rule)),
      ]),
    );
  }

  function acts(rule) {
    if (rule.source === 'settings') return h('span', { class: 'faint' }, 'in the file of settings');
    if (!rule.mayChange) return null;
    return [
      button('', { icon: 'edit', kind: 'small', title: `Edit ${rule.name}`, onclick: () => edit(rule.name) }),
      button('', { icon: 'delete', kind: 'small', title: `Delete ${rule.name}`, onclick: () => remove(rule.name) }),
    ];
  }

  /** A dialog for a new rule or, with a name, for that one. */
  async function edit(name) {
    const at = (rule) => `/api/notifications/${encodeURIComponent(rule)}`;
    let answer = null;
    try {
      if (name) answer = await call('GET', at(name));
    } catch (error) {
      report(error);
      return;
    }
    const form = ruleForm(answer?.body);
    const saved = await askForm(name ? `Edit ${name}` : 'New rule', form.element, {
      saveText: name ? 'Save' : 'Create',
      wide: true,
      save: async () => {
        const rule = form.read();
        clearFaults(form.element);
        // A rule without a name has no address; the server would not find it.
        if (!rule.name)
          return refuse(form, [{ target: 'name', message: 'name: missing; allowed: letters, digits, - and _' }]);
        const given = { body: rule.body, etag: answer?.etag, isNew: !name };
        return call('PUT', at(rule.name), given).catch((error) => refuse(form, error.details, error));
      },
    });
    if (!saved) return;
    toast(`The rule ${saved.body.name} is ${name ? 'changed' : 'made'}; it holds within ten seconds`, { lasts: 4000 });
    reload();
  }

  async function remove(name) {
    const sure = await ask(
      `Delete the rule ${name}?`,
      [h('p', {}, 'Nobody is told by it any more, not even that trouble is over.')],
      [{ text: 'Cancel' }, { text: 'Delete', kind: 'danger', value: true }],
    );
    if (!sure) return;
    try {
      await call('DELETE', `/api/notifications/${encodeURIComponent(name)}`);
      toast(`The rule ${name} is deleted`, { lasts: 2500 });
    } catch (error) {
      report(error);
    }
    reload();
  }

  into(body, load, { rows: 4 });
  const isBusy = () =>
    body.matches(':hover') || body.contains(document.activeElement) || document.querySelector('dialog[open]');
  const live = throttle(2000, () => isBusy() || reload());
  const unlisten = listen((kind) => ['change', 'reconnected'].includes(kind) && live());
  const timer = setInterval(() => document.hidden || live(), EVERY);
  return {
    title: 'Notices',
    leave: () => {
      abort.abort();
      unlisten();
      live.cancel();
      clearInterval(timer);
    },
  };
}

/** Shows what is wrong at the fields; throws what no field is to blame for. */
function refuse(form, details, error) {
  const { placed } = showFaults(form.element, details, { focus: true });
  if (error?.status === 412) throw new Error('There is such a rule already, or somebody has changed it meanwhile.');
  if (!placed || placed < details.length) throw error;
  throw new Error(`Nothing was saved: ${many(placed, 'field needs', 'fields need')} another look.`);
}

function verdict(raised, rules) {
  const jobs = new Set(raised.map(({ job }) => job.toLowerCase())).size;
  const waiting = raised.filter(({ delivery }) => delivery === 'pending').length;
  const failed = raised.filter(({ delivery }) => delivery === 'failed').length;
  const told = [
    failed && `${many(failed, 'notice')} could not be delivered`,
    waiting && `${many(waiting, 'notice is', 'notices are')} on the way`,
  ].filter(Boolean);
  const text = told.length
    ? `${told.join(', ')}.`
    : jobs
      ? 'Everybody who should be told was told.'
      : `${many(rules.length, 'rule watches', 'rules watch')}.`;
  return h(
    'section',
    { class: `verdict ${jobs ? 'bad' : 'good'}` },
    h('span', { class: 'sign' }, icon(jobs ? 'warn' : 'check')),
    h(
      'div',
      {},
      h(
        'p',
        { class: 'sentence' },
        jobs ? `${many(jobs, 'job is', 'jobs are')} in trouble` : 'No job that is watched is in trouble',
      ),
      h('p', { class: 'more' }, text),
    ),
  );
}

const card = (title, content) =>
  h('section', { class: 'card flush' }, h('div', { class: 'card-head' }, h('h2', {}, title)), content);

const cell = (label, ...content) => h('td', { data: { label } }, content);

function table(caption, heads, rows) {
  return h(
    'table',
    { class: 'list notices' },
    h('caption', { class: 'hidden' }, caption),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        heads.map((text) =>
          text ? h('th', { scope: 'col' }, text) : h('td', {}, h('span', { class: 'hidden' }, 'Actions')),
        ),
      ),
    ),
    h(
      'tbody',
      {},
      rows.map((cells) => h('tr', {}, cells)),
    ),
  );
}

function noticeTable(caption, notices) {
  return table(
    caption,
    ['Job', 'Since', 'Why', 'Rule', 'Told'],
    notices.map((notice) => [
      h('th', { scope: 'row' }, jobLink(notice.job)),
      cell('Since', ticking(notice.time)),
      cell('Why', h('span', { class: 'breakable' }, notice.message)),
      cell('Rule', h('span', {}, notice.notification)),
      cell(
        'Told',
        h('div', {}, badge(notice.delivery)),
        h('div', { class: 'sub breakable' }, notice.to),
        notice.triedAt && h('div', { class: 'sub' }, ticking(notice.triedAt)),
        notice.failures > 0 && h('div', { class: 'sub' }, many(notice.failures, 'try in vain', 'tries in vain')),
      ),
    ]),
  );
}

const jobLink = (id) => {
  const { collection, job } = namesOf(id);
  return [link(job, pageOf(id), { class: 'name' }), h('span', { class: 'sub' }, collection)];
};

function places(rule) {
  const found = placesOf(rule);
  if (!found.length) return h('span', { class: 'faint' }, 'all jobs');
  return found.map(([word, name]) => h('div', {}, h('span', { class: 'faint' }, `${word} `), name));
}
