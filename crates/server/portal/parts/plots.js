// Plots: bars of what ran, lines of lateness, a timeline of runs, a year of days. SVG, drawn once for each change.

import { h, s } from '../dom.js';
import { duration, stamp, utc } from '../time.js';
import { many } from './basics.js';

const FATES = [
  ['ran', 'ran'],
  ['ranLate', 'late'],
  ['faulted', 'bad'],
  ['missed', 'missed'],
  ['skipped', 'quiet'],
];
const NAMES = { ran: 'ran', ranLate: 'ran late', faulted: 'faulted', missed: 'missed', skipped: 'skipped' };

const clock = (at, span) =>
  span === 'week' ? stamp(at, { seconds: false }).slice(5) : stamp(at, { seconds: false }).slice(11);

/** What ran, stacked, one bar for each bucket. */
export function bars(overview) {
  const { buckets, span } = overview;
  const [width, height, foot] = [600, 120, 16];
  const most = Math.max(1, ...buckets.map((bucket) => FATES.reduce((sum, [name]) => sum + bucket[name], 0)));
  const step = width / buckets.length;
  const drawn = buckets.map((bucket, at) => {
    let y = height;
    const parts = FATES.filter(([name]) => bucket[name] > 0).map(([name, kind]) => {
      // One of a thousand must be seen as well.
      const tall = Math.max(2, (bucket[name] / most) * (height - 8));
      y -= tall;
      return s('rect', { x: at * step + 0.5, y, width: Math.max(1, step - 1), height: tall, class: `fate ${kind}` });
    });
    const said = FATES.filter(([name]) => bucket[name] > 0).map(([name]) => `${bucket[name]} ${NAMES[name]}`);
    const title = `${stamp(bucket.at, { seconds: false })}: ${said.join(', ') || 'nothing was due'}`;
    return s(
      'g',
      { class: 'bucket' },
      s('rect', { x: at * step, y: 0, width: step, height, class: 'hover' }),
      parts,
      s('title', {}, title),
    );
  });
  const total = overview.totals;
  const label = `Runs of the last ${span}: ${FATES.map(([name]) => `${total[name]} ${NAMES[name]}`).join(', ')}.`;
  return h(
    'figure',
    { class: 'plot' },
    s(
      'svg',
      { viewBox: `0 0 ${width} ${height + foot}`, role: 'img', 'aria-label': label, preserveAspectRatio: 'none' },
      s('line', { x1: 0, x2: width, y1: height, y2: height, class: 'axis' }),
      drawn,
    ),
    ticks(buckets, span),
    h('figcaption', {}, legend()),
  );
}

function ticks(buckets, span) {
  const at = [0, 0.25, 0.5, 0.75].map((part) => buckets[Math.floor(part * buckets.length)]?.at).filter(Boolean);
  return h(
    'div',
    { class: 'ticks', 'aria-hidden': 'true' },
    at.map((one) => h('span', {}, clock(one, span))),
    h('span', {}, 'now'),
  );
}

function legend() {
  return h(
    'ul',
    { class: 'legend' },
    FATES.map(([name, kind]) => h('li', {}, h('i', { class: `fate ${kind}` }), NAMES[name])),
  );
}

/** Lines over buckets of equal length; gaps where there is nothing. The scale is logarithmic: 2 ms and 20 s both count. */
export function lines(buckets, series, { span, label }) {
  const [width, height, top] = [600, 90, 6];
  const values = buckets.flatMap((bucket) =>
    series.map(([name]) => bucket[name]).filter((value) => value !== null && value !== undefined),
  );
  if (!values.length) return h('p', { class: 'faint' }, 'Nothing ran in this time.');
  const scale = (value) => Math.log10(1 + value);
  const most = Math.max(scale(100), ...values.map(scale));
  const x = (at) => ((at + 0.5) * width) / buckets.length;
  const y = (value) => height - (scale(value) / most) * (height - top);
  const drawn = series.map(([name, kind]) => {
    let path = '';
    let pen = 'M';
    buckets.forEach((bucket, at) => {
      const value = bucket[name];
      if (value === null || value === undefined) pen = 'M';
      else {
        path += `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = 'L';
      }
    });
    // Few points are seen better as points, and so are those that stand alone.
    const has = (at) => buckets[at]?.[name] !== null && buckets[at]?.[name] !== undefined;
    const points = buckets
      .map((bucket, at) =>
        has(at) && (buckets.length <= 40 || (!has(at - 1) && !has(at + 1)))
          ? `M${x(at).toFixed(1)} ${y(bucket[name]).toFixed(1)}h0.01`
          : '',
      )
      .join('');
    return [s('path', { d: path, class: `line ${kind}` }), s('path', { d: points, class: `line points ${kind}` })];
  });
  const marks = [1, 10, 100, 1000, 10_000, 60_000].filter((mark) => scale(mark) < most && scale(mark) > most * 0.15);
  const grid = marks.map((mark) =>
    s('g', {}, s('line', { x1: 0, x2: width, y1: y(mark), y2: y(mark), class: 'grid' })),
  );
  const hover = buckets.map((bucket, at) => {
    const said = series
      .filter(([name]) => bucket[name] !== null && bucket[name] !== undefined)
      .map(([name, , text]) => `${text} ${duration(bucket[name])}`);
    return s(
      'g',
      { class: 'bucket' },
      s('rect', { x: (at * width) / buckets.length, y: 0, width: width / buckets.length, height, class: 'hover' }),
      s('title', {}, `${stamp(bucket.at, { seconds: false })}: ${said.join(', ') || 'nothing ran'}`),
    );
  });
  const scaleWords = h(
    'div',
    { class: 'scale', 'aria-hidden': 'true' },
    marks.map((mark) => {
      const word = h('span', {}, duration(mark).replace('.0', ''));
      word.style.setProperty('--at', `${(y(mark) / height) * 100}%`);
      return word;
    }),
  );
  return h(
    'figure',
    { class: 'plot' },
    h(
      'div',
      { class: 'scaled' },
      s(
        'svg',
        { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label, preserveAspectRatio: 'none' },
        grid,
        s('line', { x1: 0, x2: width, y1: height, y2: height, class: 'axis' }),
        drawn,
        hover,
      ),
      scaleWords,
    ),
    span && ticks(buckets, span),
    h(
      'figcaption',
      {},
      h(
        'ul',
        { class: 'legend' },
        series.map(([, kind, text]) => h('li', {}, h('i', { class: `line ${kind}` }), text)),
      ),
    ),
  );
}

/** Runs in a row: when each was expected, when its attempts happened, and what comes. */
export function timeline(runs, coming, present) {
  const times = [
    ...runs.flatMap((run) => [run.expected, ...run.attempts.flatMap((one) => [one.start, one.end])]),
    ...coming,
  ].map((at) => Date.parse(at));
  if (!times.length) return null;
  const [width, height, middle] = [900, 64, 34];
  let from = Math.min(present, ...times);
  let to = Math.max(present, ...times);
  const room = Math.max((to - from) * 0.03, 1000);
  from -= room;
  to += room;
  const x = (at) => ((Date.parse(at) - from) / (to - from)) * width;
  const drawn = runs.map((run) => {
    const words = run.attempts.map(
      (one) =>
        `${one.error ? 'error action' : `attempt ${one.retry + 1}`} ${one.status} at ${stamp(one.start)}, ${duration(Date.parse(one.end) - Date.parse(one.start))}`,
    );
    return s(
      'g',
      {},
      s('line', { x1: x(run.expected), x2: x(run.expected), y1: middle - 22, y2: middle + 10, class: 'expected' }),
      run.attempts.map((one) =>
        s('rect', {
          x: x(one.start) - 1.5,
          width: Math.max(3, x(one.end) - x(one.start)),
          y: one.error ? middle + 2 : middle - 12,
          height: one.error ? 8 : 12,
          rx: 1.5,
          class: `fate ${one.status === 'completed' ? 'ran' : one.status === 'failed' ? 'bad' : 'late'}`,
        }),
      ),
      s('title', {}, [`Expected ${stamp(run.expected)}`, ...words].join('\n')),
    );
  });
  const next = coming.map((at) =>
    s(
      'g',
      {},
      ['coming', 'coming inner'].map((kind) => s('path', { d: `M${x(at)} ${middle}h0.01`, class: kind })),
      s('title', {}, `Next: ${stamp(at)}\n${utc(at)}`),
    ),
  );
  const now = ((present - from) / (to - from)) * width;
  const label = `Timeline: ${many(runs.length, 'run')} in the past, ${coming.length} to come.`;
  return h(
    'figure',
    { class: 'plot timeline' },
    s(
      'svg',
      { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label, preserveAspectRatio: 'none' },
      s('line', { x1: 0, x2: width, y1: middle, y2: middle, class: 'axis' }),
      s('line', { x1: now, x2: now, y1: 4, y2: height - 8, class: 'now' }),
      drawn,
      next,
    ),
    h(
      'div',
      { class: 'ticks', 'aria-hidden': 'true' },
      h('span', {}, stamp(new Date(from).toISOString(), { seconds: false })),
      h('span', {}, stamp(new Date(to).toISOString(), { seconds: false })),
    ),
  );
}

const DAY = 86_400_000;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A year of days, as many columns as it has weeks. */
export function year(days, clockChanges, today) {
  const counts = new Map(days.map(({ date, count }) => [date, count]));
  const changes = new Map(clockChanges.map(({ date, kind }) => [date, kind]));
  const most = Math.max(1, ...counts.values());
  const first = Date.parse(`${today}T00:00:00Z`);
  // Monday is the first row.
  const lead = (new Date(first).getUTCDay() + 6) % 7;
  const [cell, left, top] = [12, 26, 16];
  const squares = [];
  const months = [];
  for (let at = 0; at < 366; at += 1) {
    const date = new Date(first + at * DAY).toISOString().slice(0, 10);
    const column = Math.floor((at + lead) / 7);
    const row = (at + lead) % 7;
    const runs = counts.get(date) ?? 0;
    const level = runs === 0 ? 0 : Math.min(4, Math.ceil((Math.log(1 + runs) / Math.log(1 + most)) * 4));
    const change = changes.get(date);
    const title = `${date}: ${runs ? many(runs, 'run') : 'no run'}${change ? `; the clock goes ${change}` : ''}`;
    squares.push(
      s(
        'rect',
        {
          x: left + column * cell,
          y: top + row * cell,
          width: cell - 2,
          height: cell - 2,
          rx: 2,
          class: `day level-${level}${change ? ' change' : ''}`,
        },
        s('title', {}, title),
      ),
    );
    if (date.endsWith('-01'))
      months.push(s('text', { x: left + column * cell, y: 10, class: 'word' }, MONTHS[Number(date.slice(5, 7)) - 1]));
  }
  const rows = [
    ['Mon', 0],
    ['Wed', 2],
    ['Fri', 4],
  ].map(([word, row]) => s('text', { x: 0, y: top + row * cell + 9, class: 'word' }, word));
  const total = days.reduce((sum, { count }) => sum + count, 0);
  const width = left + 54 * cell;
  return h(
    'div',
    { class: 'year', tabindex: '0', role: 'group', 'aria-label': 'The next year, day by day' },
    s(
      'svg',
      {
        viewBox: `0 0 ${width} ${top + 7 * cell}`,
        role: 'img',
        'aria-label': `The next year: ${many(total, 'run')} on ${many(days.length, 'day')}.`,
      },
      months,
      rows,
      squares,
    ),
  );
}
