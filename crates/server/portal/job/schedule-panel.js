// When a job runs: the sentence, what comes next, and the year. The tab Schedule shows a job as it is stored.

import { call, get, pageOf, query } from '../api.js';
import { h } from '../dom.js';
import { icon, into, link, standing } from '../parts/basics.js';
import { year } from '../parts/plots.js';
import { localZone, now, stamp, ticking, utc } from '../time.js';

/** Why nothing is to come. */
const NOTHING = {
  enabled: 'Nothing is to come.',
  paused: 'Its job collection is disabled: nothing is to come.',
};

export function schedulePanel(place, first, { id, signal }) {
  const load = (job) => async () => {
    const { startTime, recurrence, state } = job.properties;
    const [preview, upcoming] = await Promise.all([
      call('POST', '/api/preview', { body: { properties: { startTime, recurrence } }, signal }).then(
        ({ body }) => body,
        (error) => {
          if (error.status === 400) return null;
          throw error;
        },
      ),
      get(`/api/upcoming${query({ job: id, count: 10 })}`, { signal }),
    ]);
    return h(
      'section',
      { class: 'card' },
      h(
        'div',
        { class: 'card-head' },
        h('h2', {}, preview?.sentence ?? 'It does not run any more.'),
        state !== 'completed' &&
          state !== 'faulted' &&
          link([icon('edit'), 'Edit'], pageOf(id).replace('/ui/job/', '/ui/edit/')),
      ),
      previewParts(
        { ...preview, timeZone: preview?.timeZone ?? 'UTC', occurrences: upcoming.occurrences },
        { nothing: NOTHING[standing(upcoming.status)] ?? `The job is ${state}: nothing is to come.` },
      ),
    );
  };
  into(place, load(first), { rows: 6 });
  return { update: (job) => into(place, load(job), { quiet: true }) };
}

/** The parts of a preview below its sentence. */
export function previewParts(preview, { nothing = 'It never runs.' } = {}) {
  const zone = preview.timeZone ?? 'UTC';
  const isElsewhere = zone !== localZone();
  const remarks = (preview.remarks ?? []).map((text) => h('p', { class: 'remark' }, icon('help'), h('span', {}, text)));
  const list = preview.occurrences ?? [];
  return [
    remarks,
    list.length === 0
      ? h('p', { class: 'faint' }, nothing)
      : h(
          'table',
          { class: 'list compact' },
          h('caption', { class: 'hidden' }, 'What comes next'),
          h(
            'thead',
            {},
            h(
              'tr',
              {},
              h('th', { scope: 'col' }, zone),
              isElsewhere && h('th', { scope: 'col', class: 'wide-only' }, 'Here'),
              h('th', { scope: 'col', class: 'right' }, 'Distance'),
            ),
          ),
          h(
            'tbody',
            {},
            list.map((one) =>
              h(
                'tr',
                { title: utc(one.at) },
                h(
                  'td',
                  { class: 'number nowrap' },
                  weekday(one.local),
                  ' ',
                  one.local ?? stamp(one.at, { zone }),
                  h('span', { class: 'faint' }, ` ${one.offset ?? ''}`),
                  one.clockChange &&
                    h(
                      'span',
                      { class: 'badge late', title: `The clock goes ${one.clockChange} that day` },
                      icon('late'),
                      `clock ${one.clockChange}`,
                    ),
                ),
                isElsewhere && h('td', { class: 'number nowrap wide-only' }, stamp(one.at)),
                h('td', { class: 'right nowrap' }, ticking(one.at)),
              ),
            ),
          ),
        ),
    preview.days &&
      h('div', {}, h('h3', {}, 'The next year'), year(preview.days, preview.clockChanges ?? [], today(zone))),
  ];
}

const today = (zone) => stamp(new Date(now()).toISOString(), { zone }).slice(0, 10);

function weekday(local) {
  const at = Date.parse(`${String(local ?? '').slice(0, 10)}T00:00:00Z`);
  return Number.isNaN(at) ? '' : ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][new Date(at).getUTCDay()];
}
