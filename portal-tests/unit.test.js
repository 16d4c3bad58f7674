'use strict';
// The modules of the portal that need no page.

const assert = require('node:assert/strict');
const { test } = require('node:test');

const load = (name) => import(`${process.env.PORTAL}/${name}`);

test('names are found in ids by their place', async () => {
  const { idOf, namesOf, pageOf, scheduler } = await load('api.js');
  const names = { subscription: 'resourceGroups', group: 'jobs', collection: 'jobs', job: 'jobCollections' };
  assert.deepEqual(namesOf(idOf(names)), names);
  assert.deepEqual(namesOf(idOf({ ...names, job: undefined })), { ...names, job: undefined });
  assert.deepEqual(namesOf('/SUBSCRIPTIONS/s'), {
    subscription: 's',
    group: undefined,
    collection: undefined,
    job: undefined,
  });
  assert.equal(namesOf('nonsense').subscription, undefined);
  assert.equal(pageOf(idOf(names), 'history'), '/ui/job/resourceGroups/jobs/jobs/jobCollections/history');
  assert.ok(scheduler(idOf({ ...names, group: 'a b(1)' })).includes('/resourceGroups/a%20b(1)/'));
});

test('a member is set, and removed with what it leaves empty', async () => {
  const { at, put } = await load('job/draft.js');
  const draft = { properties: { recurrence: { frequency: 'day', unknown: { kept: true } } } };
  put(draft, 'properties.recurrence.schedule.hours', [9]);
  assert.deepEqual(at(draft, 'properties.recurrence.schedule'), { hours: [9] });
  put(draft, 'properties.recurrence.schedule.hours', []);
  assert.deepEqual(draft, { properties: { recurrence: { frequency: 'day', unknown: { kept: true } } } });
  put(draft, 'properties.nothing.here', '');
  assert.equal(at(draft, 'properties.nothing'), undefined);
  put(draft, 'properties.recurrence.interval', 0);
  assert.equal(at(draft, 'properties.recurrence.interval'), 0);
});

test('a patch turns one document into the other', async () => {
  const { isSame, patchOf } = await load('job/draft.js');
  const before = { a: 1, b: { c: [1, 2], d: 'x', e: { f: 1 } }, g: 'gone' };
  const after = { a: 1, b: { c: [2], d: 'x', e: {} }, h: null };
  assert.deepEqual(patchOf(before, after), { b: { c: [2], e: { f: null } }, g: null, h: null });
  assert.deepEqual(patchOf(before, before), {});
  assert.ok(isSame({ a: 1, b: 2 }, { b: 2, a: 1 }));
  // As the server merges it.
  const merge = (target, patch) => {
    const made = { ...target };
    for (const [name, value] of Object.entries(patch)) {
      if (value === null) delete made[name];
      else made[name] = typeof value === 'object' && !Array.isArray(value) ? merge(made[name] ?? {}, value) : value;
    }
    return made;
  };
  const wanted = { action: { type: 'StorageQueue', queueMessage: { queueName: 'q' } } };
  const had = {
    action: { type: 'Http', request: { uri: 'u', headers: { a: '1' } } },
    recurrence: { frequency: 'day' },
  };
  assert.deepEqual(merge(had, patchOf(had, wanted)), wanted);
});

test('what the form does not know survives every change of mode', async () => {
  const { changeMode, modeOf } = await load('job/draft.js');
  const draft = {
    other: 1,
    properties: {
      strange: [1],
      recurrence: {
        frequency: 'month',
        interval: 30,
        timeZone: 'Europe/Paris',
        odd: { deep: 1 },
        count: 5,
        schedule: { monthDays: [-1], hours: [9], other: 7 },
      },
    },
  };
  changeMode(draft, 'week');
  assert.equal(modeOf(draft), 'week');
  assert.deepEqual(draft.properties.recurrence, {
    frequency: 'week',
    interval: 30,
    timeZone: 'Europe/Paris',
    odd: { deep: 1 },
    count: 5,
    schedule: { hours: [9], other: 7 },
  });
  changeMode(draft, 'cron');
  assert.deepEqual(draft.properties.recurrence, {
    cron: '0 9 * * MON-FRI',
    timeZone: 'Europe/Paris',
    odd: { deep: 1 },
    count: 5,
  });
  changeMode(draft, 'month');
  assert.equal(draft.properties.recurrence.cron, undefined);
  changeMode(draft, 'once');
  assert.deepEqual(draft, { other: 1, properties: { strange: [1] } });
  assert.equal(modeOf(draft), 'once');
  changeMode(draft, 'year');
  assert.deepEqual(draft.properties.recurrence, { frequency: 'year', interval: 1 });
});

test('a time of day does not become a limit, nor a limit a time of day', async () => {
  const { changeMode, fresh } = await load('job/draft.js');
  const through = (...modes) => {
    const draft = fresh('UTC', Date.UTC(2027, 0, 1));
    for (const mode of modes) changeMode(draft, mode);
    return draft.properties.recurrence.schedule;
  };
  const morning = { hours: [9], minutes: [0] };
  assert.deepEqual(through('minute'), undefined);
  assert.deepEqual(through('week', 'hour'), undefined);
  assert.deepEqual(through('hour', 'minute'), undefined);
  assert.deepEqual(through('week'), morning);
  assert.deepEqual(through('minute', 'day'), morning);
  assert.deepEqual(through('minute', 'cron', 'hour'), undefined);
  const limited = { properties: { recurrence: { frequency: 'hour', schedule: { hours: [9, 10], minutes: [15] } } } };
  changeMode(limited, 'minute');
  assert.deepEqual(limited.properties.recurrence.schedule, { hours: [9, 10] });
  changeMode(limited, 'day');
  assert.deepEqual(limited.properties.recurrence.schedule, morning);
});

test('a draft has nothing that only the server says, a duplicate no certificate', async () => {
  const { draftOf, duplicate, fresh } = await load('job/draft.js');
  const authentication = { type: 'ClientCertificate', certificateThumbprint: 'AB' };
  const job = {
    id: 'x',
    properties: {
      state: 'disabled',
      status: { executionCount: 1 },
      action: { type: 'Https', request: { uri: 'u', authentication } },
    },
  };
  assert.deepEqual(Object.keys(draftOf(job).properties), ['state', 'action']);
  assert.deepEqual(duplicate(job), {
    properties: { action: { type: 'Https', request: { uri: 'u', authentication: { type: 'ClientCertificate' } } } },
  });
  assert.equal(job.properties.status.executionCount, 1);
  assert.equal(fresh('UTC', Date.UTC(2027, 0, 1, 12, 30, 45)).properties.startTime, '2027-01-01T12:30:00Z');
});

test('lists of numbers are read as people write them', async () => {
  const { numbers } = await load('job/draft.js');
  assert.deepEqual(numbers('0, 15,30'), [0, 15, 30]);
  assert.deepEqual(numbers('9-12 -1'), [9, 10, 11, 12, -1]);
  assert.deepEqual(numbers(''), []);
  assert.deepEqual(numbers('5 5'), [5]);
  assert.equal(numbers('noon'), null);
  assert.equal(numbers('1-'), null);
});

test('wall clocks and instants', async () => {
  const { instantOf, knowsZone, wallOf } = await load('job/wall.js');
  for (const [wall, zone, instant] of [
    ['2027-01-01T09:00:00', 'UTC', '2027-01-01T09:00:00Z'],
    ['2027-01-01T09:00', 'Europe/Berlin', '2027-01-01T08:00:00Z'],
    ['2027-07-01T09:00:00', 'Europe/Berlin', '2027-07-01T07:00:00Z'],
    // In the gap: later by its length; in the fold: the first time.
    ['2027-03-28T02:30:00', 'Europe/Berlin', '2027-03-28T01:30:00Z'],
    ['2027-10-31T02:30:00', 'Europe/Berlin', '2027-10-31T00:30:00Z'],
    ['2027-03-28T03:30:00', 'Europe/Berlin', '2027-03-28T01:30:00Z'],
    ['2027-10-31T03:30:00', 'Europe/Berlin', '2027-10-31T02:30:00Z'],
    ['2027-01-01T00:00:00', 'Pacific/Kiritimati', '2026-12-31T10:00:00Z'],
  ])
    assert.equal(instantOf(wall, zone), instant, `${wall} ${zone}`);
  assert.equal(wallOf('2027-07-01T07:00:00Z', 'Europe/Berlin'), '2027-07-01T09:00:00');
  assert.equal(wallOf('2027-07-01T07:00:00', 'Europe/Berlin'), '2027-07-01T09:00:00');
  assert.equal(instantOf('nonsense', 'UTC'), undefined);
  assert.ok(knowsZone('Europe/Paris') && !knowsZone('Romance Standard Time'));
});

test('one sentence says whether all is well', async () => {
  const { verdict } = await load('verdict.js');
  const none = { ran: 0, ranLate: 0, faulted: 0, skipped: 0, missed: 0, failedAttempts: 0 };
  const jobs = { enabled: 3, disabled: 0, completed: 0, faulted: 0 };
  const say = (totals, more = {}) => verdict({ jobs, span: 'hour', totals: { ...none, ...totals }, ...more });
  assert.deepEqual([say({ ran: 12 }).kind, say({ ran: 12 }).title], ['good', 'Everything ran on time']);
  assert.match(say({ ran: 1, failedAttempts: 2 }).text, /1 run in the last hour; 2 attempts failed and were repeated/);
  assert.deepEqual(
    [say({ ran: 5, ranLate: 1 }).kind, say({ ran: 5, ranLate: 1 }).title],
    ['late', 'Everything ran, but 1 run was late'],
  );
  assert.equal(
    say({ ran: 5, ranLate: 2, faulted: 1, missed: 3 }).title,
    '1 run faulted and 3 runs were missed in the last hour',
  );
  assert.equal(say({ faulted: 1 }).kind, 'bad');
  assert.equal(say({ faulted: 1 }, { partial: true }).title, '1 run faulted in the last hour');
  const since = '2027-01-01T00:00:00Z';
  assert.equal(
    say({ faulted: 1 }, { countedSince: since, buckets: [{}] }).title,
    '1 run faulted in the time that is counted',
  );
  assert.equal(say({}, { countedSince: since, buckets: [] }).title, 'More ran than is counted');
  assert.equal(say({ skipped: 4 }).kind, 'quiet');
  const off = { off: { jobs: 2, more: false } };
  assert.deepEqual(
    [say({ ran: 12 }, off).kind, say({ ran: 12 }, off).title],
    ['quiet', '2 jobs are off and skipped runs'],
  );
  assert.equal(say({ ran: 12 }, off).text, 'Everything else ran on time: 12 runs in the last hour.');
  assert.equal(say({}, off).title, '2 jobs are off and skipped runs');
  assert.equal(say({ ran: 5, ranLate: 1 }, off).title, '1 run was late');
  assert.match(say({ faulted: 1 }, { off: { jobs: 1, more: false } }).text, /1 job is off and skipped runs/);
  assert.equal(say({ ran: 1 }, { off: { jobs: 9, more: true } }).title, 'At least 9 jobs are off and skipped runs');
  assert.match(say({ ran: 1 }, { off: { jobs: 0, more: true } }).title, /some may have skipped runs$/);
  assert.equal(say({}).title, 'All is well');
  assert.equal(say({}, { jobs: { enabled: 0, disabled: 2, completed: 0, faulted: 0 } }).title, 'No job is enabled');
  assert.equal(
    say({}, { jobs: { enabled: 0, disabled: 0, completed: 0, faulted: 0 } }).title,
    'Nothing is scheduled yet',
  );
});

test('entries of the history become runs', async () => {
  const { measures, runsOf } = await load('job/runs.js');
  const entry = (expected, start, more) => ({
    properties: {
      expectedExecutionTime: `2027-01-01T00:${expected}:00Z`,
      startTime: `2027-01-01T00:${start}Z`,
      endTime: `2027-01-01T00:${start}.500Z`,
      retryCount: 0,
      actionName: 'MainAction',
      ...more,
    },
  });
  const runs = runsOf([
    entry('02', '02:01', {}),
    entry('01', '01:32', { actionName: 'ErrorAction' }),
    entry('01', '01:31', { retryCount: 1, status: 'failed' }),
    entry('01', '01:01', { status: 'failed' }),
  ]);
  assert.deepEqual(
    runs.map((run) => run.attempts.map(({ status, error, retry }) => [status, error, retry])),
    [
      [
        ['failed', false, 0],
        ['failed', false, 1],
        ['completed', true, 0],
      ],
      [['completed', false, 0]],
    ],
  );
  assert.deepEqual(
    measures(runs).map(({ lateness, duration }) => [lateness, duration]),
    [
      [1000, 500],
      [1000, 500],
    ],
  );
});

test('the ledger as CSV: quotes, lines, and no formulas', async () => {
  const { csv } = await load('csv.js');
  const [head, row, end] = csv([
    { job: '/a', state: 'missed', occurrences: 3, message: 'said "no",\nthen =1', reason: '=HYPERLINK("x")' },
  ]).split(/\r\n/);
  assert.ok(head.startsWith('job,state,dueTime'));
  assert.equal(row, '/a,missed,,,3,"\'=HYPERLINK(""x"")","said ""no"",\nthen =1",,,,');
  assert.equal(end, '');
});

test('a stream of events in any pieces', async () => {
  globalThis.document = { addEventListener() {}, hidden: true };
  const { reading } = await load('live.js');
  const text =
    ': hello\n\nevent: attempt\ndata: {"a":\ndata: 1}\n\ndata: no json\n\nevent: pulse\r\ndata: {"running":2}\r\n\r\n';
  for (const size of [1, 2, 7, text.length]) {
    const told = [];
    const read = reading((kind, data) => told.push([kind, data]));
    for (let at = 0; at < text.length; at += size) read(text.slice(at, at + size));
    assert.deepEqual(
      told,
      [
        ['attempt', { a: 1 }],
        ['pulse', { running: 2 }],
      ],
      `pieces of ${size}`,
    );
  }
  delete globalThis.document;
});

test('durations and distances in words', async () => {
  globalThis.document = { createElement: () => ({}) };
  const { duration, relative, words } = await load('time.js');
  assert.deepEqual([0, 12, 1500, 59_000, 65_000, 3_600_000, 90_000_000].map(duration), [
    '0 ms',
    '12 ms',
    '1.5 s',
    '59 s',
    '1 min 5 s',
    '1 h',
    '1 day 1 h',
  ]);
  const from = Date.UTC(2027, 0, 1);
  const at = (milliseconds) => relative(new Date(from + milliseconds).toISOString(), from);
  assert.deepEqual([0, 5000, -65_000, 3_660_000, 86_400_000 * 2].map(at), [
    'now',
    'in 5 s',
    '1 min ago',
    'in 1 h 1 min',
    'in 2 days',
  ]);
  assert.deepEqual(['PT30S', '00:05:00', '1.00:00:00', 'P1DT2H', 'soon'].map(words), [
    '30 s',
    '5 min',
    '1 day',
    '1 day 2 h',
    'soon',
  ]);
  delete globalThis.document;
});

test('what is said of nodes', async () => {
  const { offset, standing } = await load('pages/nodes.js');
  const node = (name, state, claims) => ({ name, state, claims });
  const [a, b] = [node('a', 'alive', 1), node('b', 'alive', 4)];
  assert.equal(standing([a]).title, 'One node is alive');
  assert.match(standing([a]).text, /^1 execution is claimed\./);
  assert.equal(standing([a, b]).title, 'All 2 nodes are alive');
  assert.match(standing([a, b]).text, /; 5 executions are claimed\.$/);
  const lost = standing([a, node('b', 'lost', 4), node('c', 'lost', 0)]);
  assert.deepEqual([lost.kind, lost.title], ['late', '1 of 3 nodes alive']);
  assert.match(lost.text, /^The leases of b and c have run out/);
  assert.match(standing([a, node('b', 'lost', 4)]).text, /^The lease of b has run out/);
  assert.deepEqual([12, -1200, 0].map(offset), ['+12 ms', '−1\u202f200 ms', '0 ms']);
});

test('nothing is well while the clock is wrong', async () => {
  const { verdict } = await load('verdict.js');
  const totals = { ran: 3, ranLate: 0, faulted: 0, skipped: 0, missed: 0, failedAttempts: 0 };
  const jobs = { enabled: 3, disabled: 0, completed: 0, faulted: 0 };
  const warnings = [{ code: 'clockBehind', message: 'The clock is 2 days behind.', seconds: 172_800 }];
  const said = verdict({ jobs, span: 'hour', totals, warnings });
  assert.deepEqual([said.kind, said.title], ['late', 'The clock is not right']);
  assert.equal(verdict({ jobs, span: 'hour', totals: { ...totals, faulted: 1 }, warnings }).kind, 'bad');
});
