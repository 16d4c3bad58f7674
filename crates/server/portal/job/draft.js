// A job being edited is its JSON and nothing else: the form reads and writes members of it, so what the form does not
// know stays as it was. Here is all of that that needs no page. Tested by itself.

/** Objects that mean nothing when they are empty. */
const HOLLOW = new Set([
  'schedule',
  'dst',
  'headers',
  'brokeredMessageProperties',
  'customMessageProperties',
  'recurrence',
]);

export const copy = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/** The member at a path such as `properties.action.request.uri`. */
export function at(document, path) {
  return path
    .split('.')
    .reduce((value, name) => (value === null || typeof value !== 'object' ? undefined : value[name]), document);
}

/** Sets the member at a path; with nothing (undefined, an empty text, list or object) it is removed. */
export function put(document, path, value) {
  const names = path.split('.');
  const last = names.pop();
  const trail = [document];
  for (const name of names) {
    const above = trail.at(-1);
    if (above[name] === null || typeof above[name] !== 'object' || Array.isArray(above[name])) {
      if (isNothing(value)) return;
      above[name] = {};
    }
    trail.push(above[name]);
  }
  if (!isNothing(value)) {
    trail.at(-1)[last] = value;
    return;
  }
  delete trail.at(-1)[last];
  for (let depth = names.length; depth > 0; depth -= 1) {
    if (Object.keys(trail[depth]).length || !HOLLOW.has(names[depth - 1])) break;
    delete trail[depth - 1][names[depth - 1]];
  }
}

function isNothing(value) {
  if (value === undefined || value === '') return true;
  if (value === null || typeof value !== 'object') return false;
  return Object.keys(value).length === 0;
}

/** What a PATCH must say to turn one document into another: members that are gone are null, lists are replaced. */
export function patchOf(before, after) {
  const patch = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[name], after[name]];
    if (now === undefined) patch[name] = null;
    else if (isObject(old) && isObject(now)) {
      const inner = patchOf(old, now);
      if (Object.keys(inner).length) patch[name] = inner;
    } else if (JSON.stringify(old) !== JSON.stringify(now)) patch[name] = now;
  }
  return patch;
}

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

/** Whether two documents say the same, in any order of their members. */
export const isSame = (one, other) => Object.keys(patchOf(one, other)).length === 0;

/** A job of the API as a draft: without what only the server says. */
export function draftOf(job) {
  const { status, ...properties } = copy(job.properties);
  return { properties };
}

/** The times of day of a job for somebody who begins. */
const MORNING = { hours: [9], minutes: [0] };

/** A job for somebody who begins. It starts in the present, so that a schedule does not also run at once. */
export function fresh(zone, present) {
  const recurrence = { frequency: 'day', interval: 1, schedule: copy(MORNING) };
  if (zone && zone !== 'UTC') recurrence.timeZone = zone;
  const startTime = new Date(Math.floor(present / 60_000) * 60_000).toISOString().replace('.000Z', 'Z');
  return { properties: { startTime, action: { type: 'Http', request: { method: 'GET', uri: '' } }, recurrence } };
}

/** A copy under another name: secrets are not in it, and neither is what it has counted. */
export function duplicate(job) {
  const draft = draftOf(job);
  delete draft.properties.state;
  const clean = (action) => {
    const authentication = action?.request?.authentication;
    if (authentication)
      for (const name of Object.keys(authentication))
        if (name.startsWith('certificate') || name === 'secretCount') delete authentication[name];
    if (action?.errorAction) clean(action.errorAction);
  };
  clean(draft.properties.action);
  return draft;
}

/** How a job repeats: once, cron, or a frequency. */
export function modeOf(draft) {
  const recurrence = draft.properties?.recurrence;
  if (!recurrence) return 'once';
  if (recurrence.cron !== undefined) return 'cron';
  return String(recurrence.frequency ?? 'day').toLowerCase();
}

/** Which elements of a schedule go with which frequency. */
const FITS = {
  weekDays: ['week'],
  monthDays: ['month', 'year'],
  monthlyOccurrences: ['month', 'year'],
  months: ['year'],
};
const LARGEST = { minute: 1000, hour: 1000, day: 548, week: 78, month: 18, year: 1 };

/** Frequencies within a day: hours and minutes limit when these run; for the others they are the times of day. */
const WITHIN_A_DAY = ['minute', 'hour'];

/** Turns to another way of repeating, and leaves out what does not go with it. */
export function changeMode(draft, mode) {
  const { properties } = draft;
  const before = modeOf(draft);
  if (mode === 'once') {
    delete properties.recurrence;
    return;
  }
  const recurrence = (properties.recurrence ??= {});
  if (mode === 'cron') {
    for (const name of ['frequency', 'interval', 'schedule']) delete recurrence[name];
    recurrence.cron ??= '0 9 * * MON-FRI';
    return;
  }
  delete recurrence.cron;
  recurrence.frequency = mode;
  recurrence.interval = Math.min(recurrence.interval ?? 1, LARGEST[mode] ?? 1);
  for (const [name, modes] of Object.entries(FITS))
    if (!modes.includes(mode)) put(draft, `properties.recurrence.schedule.${name}`, undefined);
  changeTimes(draft, before, mode);
}

/** A time of day that became a limit, or the other way round, would be a job that runs when nobody meant it to. */
function changeTimes(draft, before, mode) {
  const set = (name, value) => put(draft, `properties.recurrence.schedule.${name}`, value);
  const isLimit = WITHIN_A_DAY.includes(mode);
  if (isLimit !== WITHIN_A_DAY.includes(before)) {
    const times = isLimit ? {} : MORNING;
    const wasTimed = !['once', 'cron'].includes(before);
    for (const name of ['hours', 'minutes']) if (wasTimed) set(name, copy(times[name]));
  } else if (mode === 'minute') set('minutes', undefined);
}

/** Numbers out of `0, 15, 30` and `9-17`; null where something is no number. */
export function numbers(text) {
  const found = [];
  for (const part of text.split(/[\s,;]+/).filter(Boolean)) {
    const range = /^(\d+)-(\d+)$/.exec(part);
    if (range && Number(range[1]) <= Number(range[2]) && Number(range[2]) - Number(range[1]) < 100) {
      for (let value = Number(range[1]); value <= Number(range[2]); value += 1) found.push(value);
    } else if (/^-?\d+$/.test(part)) found.push(Number(part));
    else return null;
  }
  return [...new Set(found)];
}

/** A list that may be one value, as the API allows. */
export const listOf = (value) => (value === undefined || value === null ? [] : Array.isArray(value) ? value : [value]);
