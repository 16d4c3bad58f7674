// Is everything all right? One sentence, from the counts of a time. No page, no request: it is tested by itself.

const SPANS = { hour: 'the last hour', day: 'the last 24 hours', week: 'the last 7 days' };

const several = (number, one, more) => `${number.toLocaleString('en-US')} ${number === 1 ? one : more}`;

/** `{kind: good | late | bad | quiet, title, text}` of an overview. Nothing is well while the server warns of its clock. */
export function verdict(overview) {
  const said = judged(overview);
  if (!overview.warnings?.length || said.kind === 'bad') return said;
  return { kind: 'late', title: 'The clock is not right', text: said.text };
}

function judged({ jobs, totals, span, buckets, countedSince = null, running = 0, off = { jobs: 0 } }) {
  const within = countedSince ? 'the time that is counted' : (SPANS[span] ?? 'this time');
  const known = jobs.enabled + jobs.disabled + jobs.completed + jobs.faulted;
  if (known === 0)
    return { kind: 'quiet', title: 'Nothing is scheduled yet', text: 'Make a first job: it takes a minute.' };
  // Whoever sees part of a server has it counted run by run, up to a bound; nothing is said of what was not counted.
  if (countedSince && !buckets?.length)
    return {
      kind: 'quiet',
      title: 'More ran than is counted',
      text: `${several(jobs.enabled, 'job is', 'jobs are')} enabled in your part of the server; the ledger tells how they ran.`,
    };
  const isPausing = off.jobs > 0 || off.more;
  const pausing =
    off.jobs > 0
      ? `${off.more ? 'At least ' : ''}${several(off.jobs, 'job is', 'jobs are')} off and skipped runs`
      : 'Many jobs are off, and some may have skipped runs';
  const too = isPausing ? ` ${pausing}.` : '';
  const lost = totals.faulted + totals.missed;
  const ran = totals.ran + totals.ranLate;
  const on = `${several(ran, 'run', 'runs')} in ${within}`;
  if (lost > 0) {
    const parts = [];
    if (totals.faulted) parts.push(`${several(totals.faulted, 'run', 'runs')} faulted`);
    if (totals.missed) parts.push(`${several(totals.missed, 'run was', 'runs were')} missed`);
    return {
      kind: 'bad',
      title: `${parts.join(' and ')} in ${within}`,
      text: `${several(ran, 'other ran', 'others ran')}.${too}`,
    };
  }
  if (totals.ranLate > 0) {
    return {
      kind: 'late',
      title: isPausing
        ? `${several(totals.ranLate, 'run was', 'runs were')} late`
        : `Everything ran, but ${several(totals.ranLate, 'run was', 'runs were')} late`,
      text: `${on}.${too}`,
    };
  }
  if (isPausing)
    return {
      kind: 'quiet',
      title: pausing,
      text: ran > 0 ? `Everything else ran on time: ${on}.` : `Nothing ran in ${within}.`,
    };
  if (ran > 0 && totals.failedAttempts > 0) {
    return {
      kind: 'good',
      title: 'Everything ran on time',
      text: `${on}; ${several(totals.failedAttempts, 'attempt', 'attempts')} failed and ${totals.failedAttempts === 1 ? 'was' : 'were'} repeated.`,
    };
  }
  if (ran > 0) return { kind: 'good', title: 'Everything ran on time', text: `${on}.` };
  if (running > 0)
    return { kind: 'good', title: 'All quiet', text: `${several(running, 'call is', 'calls are')} under way.` };
  if (totals.skipped > 0)
    return {
      kind: 'quiet',
      title: `Nothing ran in ${within}`,
      text: `${several(totals.skipped, 'run was', 'runs were')} skipped on purpose.`,
    };
  if (jobs.enabled === 0) return { kind: 'quiet', title: 'No job is enabled', text: 'So nothing will run.' };
  return { kind: 'good', title: 'All is well', text: `Nothing was due in ${within}.` };
}
