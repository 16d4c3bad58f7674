// Wall clocks: from an instant to what a clock of a zone shows, and back. Pure; tested by itself.

function shown(instant, zone) {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(instant);
  const of = Object.fromEntries(parts.map(({ type, value }) => [type, value]));
  return `${of.year}-${of.month}-${of.day}T${of.hour}:${of.minute}:${of.second}`;
}

/** Whether the browser knows a zone by this name; the server knows more. */
export function knowsZone(zone) {
  try {
    shown(0, zone);
    return true;
  } catch {
    return false;
  }
}

/** `2027-03-01T12:30:00` in a zone. */
export function wallOf(instant, zone) {
  const at = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(instant) || !/T/.test(instant) ? instant : `${instant}Z`);
  return Number.isNaN(at) ? '' : shown(at, zone);
}

/** The instant at which a zone's clock shows this; in a gap, as much later as the gap is long. */
export function instantOf(wall, zone) {
  const wanted = Date.parse(`${wall.length === 16 ? `${wall}:00` : wall}Z`);
  if (Number.isNaN(wanted)) return undefined;
  const offsetAt = (instant) => Date.parse(`${shown(instant, zone)}Z`) - instant;
  // The offset a day before is the one that a gap or a fold starts from.
  const before = wanted - offsetAt(wanted - 86_400_000);
  const after = wanted - offsetAt(wanted + 86_400_000);
  const isRight = (instant) => instant + offsetAt(instant) === wanted;
  const instant = isRight(before) ? before : isRight(after) ? after : before;
  return new Date(instant).toISOString().replace('.000Z', 'Z');
}
