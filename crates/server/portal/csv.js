// The ledger as CSV. Pure; tested by itself.

const COLUMNS = [
  'job',
  'state',
  'dueTime',
  'until',
  'occurrences',
  'reason',
  'message',
  'startTime',
  'endTime',
  'cause',
  'executionTag',
];

/** One cell. A text that a spreadsheet would take for a formula is marked as text. */
function cell(value) {
  if (value === undefined || value === null) return '';
  const text = String(value);
  const safe = /^[=+\-@\t\r]/.test(text) && typeof value !== 'number' ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A table with a head, lines ended as RFC 4180 has them. */
export function csv(entries) {
  return (
    [COLUMNS, ...entries.map((entry) => COLUMNS.map((name) => entry[name]))]
      .map((row) => row.map(cell).join(','))
      .join('\r\n') + '\r\n'
  );
}
