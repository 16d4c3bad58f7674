// Times for people: relative ones that tick, absolute ones in a zone, durations.

import { h } from './dom.js';

/** How far the server's clock is ahead of this one, in milliseconds. */
let ahead = 0;

export function learnClock(serverNow) {
  const distance = Date.parse(serverNow) - Date.now();
  // Below a second it is the way of the answer, not the clocks.
  ahead = Math.abs(distance) < 1000 ? 0 : distance;
}

export const now = () => Date.now() + ahead;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration in at most two units: `1 h 5 min`. */
export function duration(milliseconds) {
  const value = Math.abs(milliseconds);
  if (value < 1) return '0 ms';
  if (value < SECOND) return `${Math.round(value)} ms`;
  if (value < 10 * SECOND) return `${(value / SECOND).toFixed(1)} s`;
  if (value < MINUTE) return `${Math.round(value / SECOND)} s`;
  const two = (large, unit, small, smaller) => {
    const many = Math.floor(value / large);
    const rest = Math.floor((value % large) / small);
    return rest ? `${many} ${unit} ${rest} ${smaller}` : `${many} ${unit}`;
  };
  if (value < HOUR) return two(MINUTE, 'min', SECOND, 's');
  if (value < DAY) return two(HOUR, 'h', MINUTE, 'min');
  return two(DAY, value < 2 * DAY ? 'day' : 'days', HOUR, 'h');
}

/** `in 5 min`, `12 s ago`. */
export function relative(instant, from = now()) {
  const distance = Date.parse(instant) - from;
  const value = Math.abs(distance);
  if (value < SECOND) return 'now';
  let text;
  if (value < MINUTE) text = `${Math.floor(value / SECOND)} s`;
  else if (value < HOUR) text = `${Math.floor(value / MINUTE)} min`;
  else if (value < DAY) {
    const minutes = Math.floor((value % HOUR) / MINUTE);
    text =
      minutes && value < 6 * HOUR ? `${Math.floor(value / HOUR)} h ${minutes} min` : `${Math.floor(value / HOUR)} h`;
  } else {
    const days = Math.floor(value / DAY);
    text = days === 1 ? '1 day' : `${days} days`;
  }
  return distance > 0 ? `in ${text}` : `${text} ago`;
}

const formats = new Map();

function format(zone, seconds) {
  const key = `${zone}|${seconds}`;
  if (!formats.has(key)) {
    const options = {
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: seconds ? '2-digit' : undefined,
      hourCycle: 'h23',
      timeZone: zone,
    };
    let made;
    try {
      made = new Intl.DateTimeFormat('en-CA', options);
    } catch {
      // A zone by its Windows name: the server knows those, browsers do not.
      made = new Intl.DateTimeFormat('en-CA', { ...options, timeZone: undefined });
    }
    formats.set(key, made);
  }
  return formats.get(key);
}

/** `2027-03-01 12:30:05` in a zone, by default the browser's. */
export function stamp(instant, { zone, seconds = true } = {}) {
  const at = Date.parse(instant);
  if (Number.isNaN(at)) return String(instant ?? '');
  const parts = Object.fromEntries(
    format(zone, seconds)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  const time = seconds ? `${parts.hour}:${parts.minute}:${parts.second}` : `${parts.hour}:${parts.minute}`;
  return `${parts.year}-${parts.month}-${parts.day} ${time}`;
}

export const utc = (instant) => `${new Date(instant).toISOString().replace(/\.000Z$/, 'Z')} (UTC)`;

export const localZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

/** A relative time that ticks; the tooltip has the local one and UTC. */
export function ticking(instant, { otherwise = '–' } = {}) {
  if (!instant) return h('span', { class: 'faint' }, otherwise);
  const title = `${stamp(instant)} local\n${utc(instant)}`;
  return h('time', { datetime: instant, title, data: { tick: instant } }, relative(instant));
}

/** An absolute time with UTC in the tooltip. */
export function absolute(instant, options = {}) {
  if (!instant) return h('span', { class: 'faint' }, options.otherwise ?? '–');
  return h('time', { datetime: instant, title: utc(instant), class: 'number' }, stamp(instant, options));
}

/** Keeps every ticking time right. */
export function startTicking() {
  setInterval(() => {
    if (document.hidden) return;
    for (const element of document.querySelectorAll('time[data-tick]')) {
      const text = relative(element.dataset.tick);
      if (element.textContent !== text) element.textContent = text;
    }
  }, SECOND);
}

/** An ISO 8601 duration or `d.hh:mm:ss`, in words; what is neither stays as it is. */
export function words(text) {
  const iso = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/.exec(text);
  const clock = /^(?:(\d+)\.)?(\d\d):(\d\d):(\d\d)$/.exec(text);
  const found = iso ?? clock;
  if (!found) return text;
  const [days, hours, minutes, seconds] = found.slice(1).map((part) => Number(part ?? 0));
  const total = days * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND;
  return total ? duration(total).replace('.0 s', ' s') : '0 s';
}
