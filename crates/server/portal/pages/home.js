// Home: is everything all right? Then what runs, what comes, and what did not run.

import { get, namesOf, pageOf } from '../api.js';
import { fill, h, throttle } from '../dom.js';
import { listen } from '../live.js';
import { badge, count, icon, into, link, many, say } from '../parts/basics.js';
import { report } from '../parts/dialogs.js';
import { bars, lines } from '../parts/plots.js';
import { waitingCard } from '../parts/waiting.js';
import { absolute, duration, learnClock, now, ticking } from '../time.js';
import { verdict } from '../verdict.js';

const SPANS = [
  ['hour', 'Hour'],
  ['day', 'Day'],
  ['week', 'Week'],
];
const SIGNS = { good: 'check', late: 'late', bad: 'cross', quiet: 'pause' };
/** A certificate that ends within so many days is worth a banner. */
const SOON = 30;

export function show(place, { query }) {
  let span = SPANS.some(([name]) => name === query.get('span')) ? query.get('span') : 'hour';
  let told = '';
  const abort = new AbortController();
  const banner = h('div', { class: 'stack' });
  const clock = h('div', { class: 'stack' });
  const body = h('div', { class: 'stack' });
  fill(place, h('h1', { class: 'hidden' }, 'Home'), clock, banner, body);

  const load = async () => {
    const [overview, waiting] = await Promise.all([
      get(`/api/overview?span=${span}`, { signal: abort.signal }),
      get('/api/waiting', { signal: abort.signal }),
    ]);
    learnClock(overview.now);
    fill(
      clock,
      overview.warnings.map(({ message }) => h('div', { class: 'banner' }, icon('warn'), h('p', {}, message))),
    );
    const { title } = verdict(overview);
    // Once for each change: what is drawn anew every second must not be read out every second.
    if (title !== told) say(title);
    told = title;
    return draw(overview, waiting, span, choose);
  };
  const choose = (next) => {
    span = next;
    history.replaceState(null, '', span === 'hour' ? '/' : `/?span=${span}`);
    into(body, load, { quiet: true, failed: report });
  };
  into(body, load, { rows: 6 });
  const reload = throttle(1000, () => into(body, load, { quiet: true }));
  const unlisten = listen(reload);
  const timer = setInterval(() => document.hidden || reload(), 30_000);
  certificates(banner, abort.signal);
  return {
    title: 'Home',
    leave: () => {
      abort.abort();
      unlisten();
      reload.cancel();
      clearInterval(timer);
    },
  };
}

function draw(overview, waiting, span, choose) {
  const { totals, jobs } = overview;
  const said = verdict(overview);
  const isNew = said.kind === 'quiet' && jobs.enabled + jobs.disabled + jobs.completed + jobs.faulted === 0;
  const top = h(
    'section',
    { class: `verdict ${said.kind}` },
    h('span', { class: 'sign' }, icon(SIGNS[said.kind])),
    h('div', {}, h('p', { class: 'sentence' }, said.title), h('p', { class: 'more' }, said.text)),
    isNew
      ? link([icon('plus'), 'New job'], '/ui/new-job', { class: 'button primary' })
      : h(
          'div',
          { class: 'segments', role: 'group', 'aria-label': 'Time' },
          SPANS.map(([name, text]) =>
            h(
              'button',
              {
                type: 'button',
                'aria-pressed': String(name === span),
                onclick: () => choose(name),
              },
              text,
            ),
          ),
        ),
  );
  if (isNew) return top;
  return [
    top,
    h(
      'div',
      { class: 'tiles' },
      tile('Running now', count(overview.running), overview.running ? 'live' : ''),
      overview.buckets.length > 0 &&
        tile(
          'Lateness',
          totals.latenessP50 === null ? '–' : duration(totals.latenessP50),
          '',
          totals.latenessP99 === null ? 'nothing ran' : `p99 ${duration(totals.latenessP99)}`,
        ),
      overview.buckets.length > 0 &&
        tile(
          'Did not run',
          count(totals.faulted + totals.missed),
          totals.faulted + totals.missed ? 'bad' : '',
          `${count(totals.faulted)} faulted, ${count(totals.missed)} missed`,
        ),
      // How many attempts failed is known for the whole server alone.
      totals.failedAttempts !== null &&
        tile('Failed attempts', count(totals.failedAttempts), '', many(totals.skipped, 'run skipped', 'runs skipped')),
      tile(
        'Jobs',
        link(count(jobs.enabled + jobs.disabled + jobs.completed + jobs.faulted), '/ui/jobs'),
        '',
        `${count(jobs.enabled)} enabled in ${many(overview.collections, 'collection')}`,
      ),
    ),
    overview.countedSince &&
      h(
        'p',
        { class: 'remark' },
        icon('warn'),
        overview.buckets.length > 0
          ? h(
              'span',
              {},
              'Your part of the server has more runs than are counted here: these are all since ',
              absolute(overview.countedSince),
              '. ',
            )
          : h('span', {}, 'Your part of the server has more runs than are counted here. '),
        link('The ledger has every one', '/ui/ledger'),
      ),
    overview.buckets.length > 0 &&
      h(
        'div',
        { class: 'columns' },
        h('section', { class: 'card' }, h('h2', {}, 'Runs'), bars(overview)),
        h(
          'section',
          { class: 'card' },
          h('h2', {}, 'Lateness'),
          lines(
            overview.buckets,
            [
              ['latenessP50', 'accent', 'p50'],
              ['latenessP99', 'late', 'p99'],
            ],
            {
              span,
              label: `Lateness over the last ${span}: p50 ${totals.latenessP50 ?? 'none'} ms, p99 ${totals.latenessP99 ?? 'none'} ms`,
            },
          ),
        ),
      ),
    waitingCard(waiting),
    h(
      'div',
      { class: 'columns three' },
      h('section', { class: 'card' }, h('h2', {}, 'Running now'), running(overview.runningNow)),
      h('section', { class: 'card' }, h('h2', {}, 'Next'), next(overview.next)),
      h('section', { class: 'card' }, h('h2', {}, 'Did not run'), notRun(overview.notRun)),
    ),
    h(
      'p',
      { class: 'foot faint' },
      `Punctual ${overview.version}, up for ${duration(now() - Date.parse(overview.startedAt))}`,
    ),
  ];
}

function tile(name, value, kind, more) {
  return h(
    'div',
    { class: `tile ${kind ?? ''}` },
    h('span', { class: 'name' }, name),
    h('span', { class: 'value number' }, value),
    more && h('span', { class: 'more' }, more),
  );
}

const jobLink = (id) =>
  link([h('span', { class: 'faint' }, `${namesOf(id).collection} / `), namesOf(id).job], pageOf(id), { class: 'clip' });

function running(list) {
  if (!list.length) return h('p', { class: 'faint' }, 'No call is under way.');
  return h(
    'ul',
    { class: 'plain' },
    list.map((one) =>
      h(
        'li',
        {},
        jobLink(one.id),
        h(
          'span',
          { class: 'end' },
          one.errorAction ? 'error action, ' : one.attempt > 1 ? `attempt ${one.attempt}, ` : '',
          'began ',
          ticking(one.startedAt),
        ),
      ),
    ),
  );
}

function next(list) {
  if (!list.length) return h('p', { class: 'faint' }, 'Nothing is to come.');
  return h(
    'ul',
    { class: 'plain' },
    list.map((one) => h('li', {}, jobLink(one.id), h('span', { class: 'end' }, ticking(one.at)))),
  );
}

function notRun(list) {
  if (!list.length) return h('p', { class: 'faint' }, 'Nothing is missing.');
  return [
    h(
      'ul',
      { class: 'plain' },
      list.map((entry) =>
        h(
          'li',
          { title: entry.message },
          badge(entry.state),
          jobLink(entry.job),
          h(
            'span',
            { class: 'end' },
            entry.occurrences ? `${count(entry.occurrences)} × ` : '',
            ticking(entry.dueTime),
          ),
        ),
      ),
    ),
    h('p', {}, link('All of them, and why', '/ui/ledger?state=notRun')),
  ];
}

/** A banner for certificates that end soon. */
async function certificates(place, signal) {
  let settings;
  try {
    settings = await get('/api/settings', { signal });
  } catch {
    // The banner is an extra; what is wrong with the server is told by everything else.
    return;
  }
  const soon = (settings.certificates ?? []).filter(
    ({ expiration }) => Date.parse(expiration) - now() < SOON * 86_400_000,
  );
  if (!soon.length) return;
  const ended = soon.filter(({ expiration }) => Date.parse(expiration) < now()).length;
  fill(
    place,
    h(
      'div',
      { class: 'banner' },
      icon('warn'),
      h(
        'p',
        {},
        h('b', {}, ended ? `${many(ended, 'client certificate has', 'client certificates have')} expired. ` : ''),
        soon.length > ended
          ? `${many(soon.length - ended, 'client certificate expires', 'client certificates expire')} within ${SOON} days. `
          : '',
        'First: ',
        link(namesOf(soon[0].id).job ?? soon[0].subject, pageOf(soon[0].id)),
        ' on ',
        absolute(soon[0].expiration, { seconds: false }),
        '. ',
      ),
      link('All certificates', '/ui/settings'),
    ),
  );
}
