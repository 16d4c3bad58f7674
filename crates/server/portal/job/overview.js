// The first tab of a job: counters, the countdown, the timeline, and plots of the latest runs.

import { get, namesOf, pageOf, query, scheduler } from '../api.js';
import { fill, h } from '../dom.js';
import { badge, count, into, link, standing } from '../parts/basics.js';
import { lines, timeline } from '../parts/plots.js';
import { absolute, localZone, now, ticking } from '../time.js';
import { measures, runsOf } from './runs.js';
import { knowsZone } from './wall.js';

/** How many attempts are looked at. */
const LOOKED_AT = 100;

export function overview(place, first, { id, signal }) {
  const counters = h('div', { class: 'tiles' });
  const sentence = h('p', { class: 'lead' });
  const body = h('div', { class: 'stack' });
  fill(place, sentence, counters, body);

  const draw = (job) => {
    const zone = job.properties.recurrence?.timeZone;
    const status = job.standing;
    const isPaused = standing(status) === 'paused';
    const { collection } = namesOf(id);
    fill(
      counters,
      tile(
        'Next run',
        status.nextExecutionTime ? ticking(status.nextExecutionTime) : '–',
        status.nextExecutionTime
          ? moments(status.nextExecutionTime, zone)
          : isPaused
            ? `The collection ${collection} is disabled.`
            : status.state === 'enabled'
              ? 'none'
              : `the job is ${status.state}`,
      ),
      tile(
        'Last run',
        ticking(status.lastExecutionTime, { otherwise: 'never' }),
        status.lastExecutionTime && moments(status.lastExecutionTime, zone),
      ),
      tile('Runs', count(status.executionCount)),
      tile('Failed attempts', count(status.failureCount), null, status.failureCount ? 'late' : ''),
      tile('Faulted', count(status.faultedCount), 'retries used up', status.faultedCount ? 'bad' : ''),
    );
  };

  const load = async () => {
    const [history, upcoming] = await Promise.all([
      get(scheduler(id, '/history', { $top: LOOKED_AT }), { signal }),
      get(`/api/upcoming${query({ job: id, count: 3 })}`, { signal }),
    ]);
    const runs = runsOf(history.value);
    const measured = measures(runs);
    return [
      h(
        'section',
        { class: 'card' },
        h('h2', {}, 'Timeline'),
        timeline(runs.slice(-15), upcoming.occurrences.map(({ at }) => at).slice(0, 3), now()) ??
          h('p', { class: 'faint' }, 'It has not run yet.'),
        h(
          'ul',
          { class: 'legend' },
          h('li', {}, h('i', { class: 'mark expected' }), 'expected'),
          h('li', {}, h('i', { class: 'fate ran' }), 'completed'),
          h('li', {}, h('i', { class: 'fate bad' }), 'failed'),
          h('li', {}, h('i', { class: 'mark coming' }), 'to come'),
        ),
      ),
      measured.length > 0 &&
        h(
          'div',
          { class: 'columns' },
          h(
            'section',
            { class: 'card' },
            h('h2', {}, 'Lateness'),
            lines(measured, [['lateness', 'accent', 'from due to started']], {
              label: `Lateness of the latest ${measured.length} runs`,
            }),
          ),
          h(
            'section',
            { class: 'card' },
            h('h2', {}, 'Duration'),
            lines(measured, [['duration', 'late', 'first attempt']], {
              label: `Duration of the latest ${measured.length} runs`,
            }),
          ),
        ),
      h(
        'section',
        { class: 'card' },
        h(
          'div',
          { class: 'card-head' },
          h('h2', {}, 'Latest attempts'),
          h(
            'span',
            { class: 'row' },
            link(
              'What became of every occurrence',
              `/ui/ledger${query({ where: id.replace(/\/jobs\/[^/]+$/, ''), job: namesOf(id).job, state: 'all', time: '7d' })}`,
            ),
            link('All attempts', pageOf(id, 'history')),
          ),
        ),
        latest(history.value.slice(0, 5)),
      ),
    ];
  };
  const tell = async (job) => {
    const { startTime, recurrence } = job.properties;
    if (!recurrence) {
      fill(sentence, startTime ? ['Once, at ', absolute(startTime)] : 'Once, at once');
      return;
    }
    try {
      const list = await get(
        `/api/jobs${query({ search: id.split('/').at(-1), collection: id.replace(/\/jobs\/[^/]+$/, ''), top: 20 })}`,
        { signal },
      );
      fill(sentence, list.value.find((one) => one.id === id)?.recurrence ?? '');
    } catch {
      // The tab Schedule tells it as well, and what is wrong.
    }
  };
  draw(first);
  tell(first);
  into(body, load, { rows: 4 });
  return {
    update: (job) => {
      draw(job);
      into(body, load, { quiet: true });
    },
  };
}

/** An instant here and, where that is another, in the job's zone. */
function moments(instant, zone) {
  if (!zone || zone === localZone() || !knowsZone(zone)) return absolute(instant);
  return [absolute(instant, { zone }), ` ${zone}`, h('br'), absolute(instant), ' here'];
}

function tile(name, value, more, kind = '') {
  return h(
    'div',
    { class: `tile ${kind}` },
    h('span', { class: 'name' }, name),
    h('span', { class: 'value number' }, value),
    more && h('span', { class: 'more' }, more),
  );
}

function latest(entries) {
  if (!entries.length) return h('p', { class: 'faint' }, 'None yet.');
  return h(
    'ul',
    { class: 'plain' },
    entries.map(({ properties }) =>
      h(
        'li',
        {},
        badge(properties.status ?? 'completed'),
        h('span', { class: 'clip' }, properties.message),
        h('span', { class: 'end' }, ticking(properties.startTime)),
      ),
    ),
  );
}
