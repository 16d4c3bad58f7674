// From entries of the history to runs: one for each expected time, with its attempts. Pure; tested by itself.

/** Runs, oldest first, of entries in any order. */
export function runsOf(entries) {
  const runs = new Map();
  for (const { properties } of entries) {
    const run = runs.get(properties.expectedExecutionTime) ?? {
      expected: properties.expectedExecutionTime,
      attempts: [],
    };
    run.attempts.push({
      start: properties.startTime,
      end: properties.endTime,
      retry: properties.retryCount,
      error: properties.actionName === 'ErrorAction',
      status: (properties.status ?? 'completed').toLowerCase(),
    });
    runs.set(run.expected, run);
  }
  const byTime = (a, b) => Date.parse(a) - Date.parse(b);
  for (const run of runs.values()) run.attempts.sort((a, b) => byTime(a.start, b.start));
  return [...runs.values()].sort((a, b) => byTime(a.expected, b.expected));
}

/** Lateness and duration in milliseconds, of each run that began. */
export function measures(runs) {
  return runs.map(({ expected, attempts }) => {
    const first = attempts.find((one) => one.status !== 'postponed') ?? attempts[0];
    return {
      at: expected,
      lateness: Math.max(0, Date.parse(first.start) - Date.parse(expected)),
      duration: Math.max(0, Date.parse(first.end) - Date.parse(first.start)),
    };
  });
}
