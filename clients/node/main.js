// npm azure-arm-scheduler 1.2.0-preview: everything that it can do, done against a server, and compared.
//
// `main.js URL CASES SUBSCRIPTION MANY`: `MANY` is the number of collections in the subscription `many`. The report is one
// line of JSON for every check; `scripts/check-clients` reads it.
'use strict';

const assert = require('node:assert/strict');
const { setTimeout: sleep } = require('node:timers/promises');
const { Builder } = require('./builder');
const { Cases, differences, merged } = require('./cases');
const example = require('./example');

const GROUP = 'Group';
const COLLECTION = 'JobCollectionDefinition';
const JOB = 'JobDefinition';
const ENTRY = 'JobHistoryDefinition';
// Milliseconds. A run by hand begins at once; a machine may be busy.
const LONGEST_RUN = 120_000;
// Fields that no operation takes or gives: the pages of a list, which are arrays; descriptions of filters, which are texts;
// bases of others; what is answered of a client certificate, which is refused.
const NOBODY_USES = [
  /^Job(Collection|History|)ListResult\./,
  /^Job(State|History)Filter\./,
  /^(HttpAuthentication|ServiceBusMessage)\./,
  /^ClientCertAuthentication\.certificate/,
];

const [url, path, subscription, many] = process.argv.slice(2);
const cases = new Cases(path);
const client = example.connect(url, subscription);
const { jobCollections, jobs } = client;
const builder = new Builder(client);

async function check(operation, name, body) {
  let fault = null;
  try {
    await body();
  } catch (error) {
    fault = error instanceof assert.AssertionError ? error.message : error.stack;
  }
  console.log(JSON.stringify({ operation, check: name, fault }));
}

function compare(expected, found) {
  assert.equal(differences(expected, found).join('; '), '');
}

/** A model that says what the body says, and nothing else. */
function built(kind, body) {
  const model = builder.build(kind, body);
  compare(cases.plain(body), cases.plain(builder.json(kind, model)));
  return model;
}

/** A model as JSON, apart from what the server alone says. */
function read(kind, model) {
  builder.count(kind, model);
  const { id, type, name, ...found } = builder.json(kind, model);
  if (found.properties) delete found.properties.status;
  return cases.plain(found);
}

/** The client's error, with the status, the code and the message of the answer. */
async function refused(status, code, says, call) {
  const error = await call().then(
    () => assert.fail('nothing was thrown'),
    (error) => error,
  );
  if (error.statusCode === undefined) throw error;
  assert.deepEqual([error.statusCode, error.code, error.body.code], [status, code, code], error.message);
  assert.ok(error.message.includes(says) && error.body.message === error.message, error.message);
}

/** All of a list: the first page, and those that its links lead to. */
async function all(first, next) {
  const found = [];
  for (let page = await first; page; page = page.nextLink ? await next(page.nextLink) : null) found.push(...page);
  return found;
}

const listed = (home, query) => all(jobs.list(GROUP, home, query), (link) => jobs.listNext(link));
const history = async (name, query) => {
  const found = await all(jobs.listJobHistory(GROUP, 'jobs', name, query), (link) => jobs.listJobHistoryNext(link));
  found.forEach((one) => builder.count(ENTRY, one));
  return found;
};
const nameOf = (job) => job.name.split('/')[1];

async function writeCollections() {
  for (const [name, one] of Object.entries(cases.collections)) {
    const expected = cases.expected(one);
    await check('collection put', name, async () => {
      const put = await jobCollections.createOrUpdate(GROUP, name, built(COLLECTION, one.body));
      compare(expected, read(COLLECTION, put));
      assert.equal(put.name, name);
      assert.equal(put.type, 'Microsoft.Scheduler/jobCollections');
      assert.ok(put.id.endsWith(`/resourceGroups/${GROUP}/providers/${put.type}/${name}`), put.id);
    });
    await check('collection get', name, async () => {
      compare(expected, read(COLLECTION, await jobCollections.get(GROUP, name)));
    });
  }
}

async function patchCollection() {
  const { of, body } = cases.collectionPatch;
  const expected = merged(cases.expected(cases.collections[of]), cases.expected({ body }));
  await check('collection patch', of, async () => {
    compare(expected, read(COLLECTION, await jobCollections.patch(GROUP, of, built(COLLECTION, body))));
    compare(expected, read(COLLECTION, await jobCollections.get(GROUP, of)));
  });
}

async function listCollections() {
  const lists = {
    'collections of a group': ({ jobCollections }, group) =>
      all(jobCollections.listByResourceGroup(group), (link) => jobCollections.listByResourceGroupNext(link)),
    'collections of a subscription': ({ jobCollections }) =>
      all(jobCollections.listBySubscription(), (link) => jobCollections.listBySubscriptionNext(link)),
  };
  for (const [operation, list] of Object.entries(lists)) {
    await check(operation, 'those written', async () => {
      const found = await list(client, GROUP);
      assert.deepEqual(found.map((one) => one.name), Object.keys(cases.collections).sort());
      for (const one of found) {
        compare(read(COLLECTION, await jobCollections.get(GROUP, one.name)), read(COLLECTION, one));
      }
    });
    await check(operation, 'of more than one page', async () => {
      const found = await list(example.connect(url, 'many'), 'many');
      const names = [...Array(Number(many)).keys()].map((number) => `c${String(number).padStart(4, '0')}`);
      assert.deepEqual(found.map((one) => one.name), names);
    });
  }
}

async function switchCollection() {
  // Those that begin do not wait for an end; with this server there is nothing to wait for.
  for (const [operation, method, state] of [
    ['disable', 'disable', 'Disabled'],
    ['enable', 'enable', 'Enabled'],
    ['disable', 'beginDisable', 'Disabled'],
    ['enable', 'beginEnable', 'Enabled'],
  ]) {
    await check(`collection ${operation}`, method, async () => {
      await jobCollections[method](GROUP, 'standard');
      assert.equal((await jobCollections.get(GROUP, 'standard')).properties.state, state);
    });
  }
}

async function writeJobs() {
  await jobCollections.createOrUpdate(GROUP, 'jobs', { location: 'West US', properties: { sku: { name: 'P20Premium' } } });
  for (const [name, one] of Object.entries(cases.jobs)) {
    const expected = cases.expected(one);
    await check('job put', name, async () => {
      const put = await jobs.createOrUpdate(GROUP, 'jobs', name, built(JOB, one.body));
      compare(expected, read(JOB, put));
      assert.equal(put.name, `jobs/${name}`);
      assert.equal(put.type, 'Microsoft.Scheduler/jobCollections/jobs');
      assert.ok(put.id.endsWith(`/jobCollections/jobs/jobs/${name}`), put.id);
      assert.equal(put.properties.status === undefined, expected.properties.state === 'disabled');
    });
    await check('job get', name, async () => compare(expected, read(JOB, await jobs.get(GROUP, 'jobs', name))));
  }
}

async function rewriteJobs() {
  const { jobAgain: again, jobPatch: patch } = cases;
  await check('job put again', again.of, async () => {
    const put = await jobs.createOrUpdate(GROUP, 'jobs', again.of, built(JOB, again.body));
    compare(cases.expected(again), read(JOB, put));
    compare(cases.expected(again), read(JOB, await jobs.get(GROUP, 'jobs', again.of)));
  });
  await check('job patch', patch.of, async () => {
    const expected = merged(cases.expected(cases.jobs[patch.of]), cases.expected(patch));
    compare(expected, read(JOB, await jobs.patch(GROUP, 'jobs', patch.of, built(JOB, patch.body))));
    compare(expected, read(JOB, await jobs.get(GROUP, 'jobs', patch.of)));
  });
}

async function listJobs() {
  const names = async (query) => (await listed('jobs', query)).map(nameOf);
  const written = Object.keys(cases.jobs).sort();
  await check('jobs', 'all', async () => {
    assert.deepEqual(await names(), written);
    for (const one of await listed('jobs')) {
      compare(read(JOB, await jobs.get(GROUP, 'jobs', nameOf(one))), read(JOB, one));
    }
  });
  await check('jobs', 'in pages of 3', async () => assert.deepEqual(await names({ top: 3 }), written));
  await check('jobs', 'without the first 5', async () => assert.deepEqual(await names({ skip: 5 }), written.slice(5)));
  await check('jobs', 'disabled ones', async () => {
    const disabled = ['http-disabled', cases.jobPatch.of].sort();
    assert.deepEqual(await names({ filter: 'state eq Disabled' }), disabled);
    assert.deepEqual(await names({ filter: "state eq 'disabled'", top: 1 }), disabled);
  });
}

async function runJobs() {
  for (const [name, entries, failures] of [['completes', 1, 0], ['fails', 2, 2]]) {
    await check('job run', name, async () => {
      await jobs.createOrUpdate(GROUP, 'jobs', name, built(JOB, cases.runs[name].body));
      for (const runs of [1, 2]) {
        await jobs.run(GROUP, 'jobs', name);
        await waitForHistory(name, runs * entries);
      }
      const job = await jobs.get(GROUP, 'jobs', name);
      builder.count(JOB, job);
      const { executionCount, failureCount, faultedCount, lastExecutionTime, nextExecutionTime } = job.properties.status;
      assert.deepEqual([executionCount, failureCount, faultedCount], [2, failures, failures]);
      assert.ok(lastExecutionTime instanceof Date && nextExecutionTime instanceof Date);
    });
  }
}

async function waitForHistory(name, entries) {
  const deadline = performance.now() + LONGEST_RUN;
  while ((await history(name)).length < entries) {
    assert.ok(performance.now() < deadline, `no ${entries} entries after ${LONGEST_RUN} ms`);
    await sleep(50);
  }
}

async function readHistory() {
  // An entry without a status completed.
  const said = (found) => found.map(({ properties: { actionName, status = 'completed' } }) => `${actionName} ${status}`);
  const [completed, failed, handled] = ['MainAction completed', 'MainAction failed', 'ErrorAction completed'];
  await check('history', 'of a job that completes', async () => {
    const found = await history('completes');
    assert.deepEqual(said(found), [completed, completed]);
    const newest = found[0].properties;
    assert.deepEqual([newest.repeatCount, newest.retryCount], [2, 0]);
    assert.ok(newest.expectedExecutionTime <= newest.startTime && newest.startTime <= newest.endTime);
    assert.ok(newest.message.includes('hello'), newest.message);
    assert.ok(found[0].name.startsWith('jobs/completes/'), found[0].name);
  });
  await check('history', 'of a job that fails', async () => {
    assert.deepEqual(said(await history('fails')), [handled, failed, handled, failed]);
  });
  await check('history', 'in pages of 1', async () => {
    const ids = (await history('fails')).map((one) => one.id);
    assert.deepEqual((await history('fails', { top: 1 })).map((one) => one.id), ids);
    assert.deepEqual((await history('fails', { skip: 3 })).map((one) => one.id), ids.slice(3));
  });
  await check('history', 'filtered', async () => {
    const filtered = async (filter) => said(await history('fails', { filter }));
    assert.deepEqual(await filtered('status eq Failed'), [failed, failed]);
    assert.deepEqual(await filtered("status eq 'Completed'"), [handled, handled]);
    assert.deepEqual(await filtered('actionName eq ErrorAction and status eq Completed'), [handled, handled]);
    assert.deepEqual(await filtered('status eq Failed and actionName eq ErrorAction'), []);
    // A `Date` counts milliseconds; the entry began within that one.
    const since = (await history('fails'))[1].properties.startTime.toISOString();
    assert.deepEqual(await filtered(`startTime ge ${since}`), [handled, failed]);
  });
}

async function refuse() {
  const missing = [404, 'ResourceNotFound', 'nowhere'];
  const noJob = [404, 'NotFound', 'nobody'];
  const anyJob = built(JOB, cases.jobs['http-get'].body);
  const anyCollection = built(COLLECTION, cases.collectionPatch.body);
  for (const [what, expected, call] of [
    ['collection get', missing, () => jobCollections.get(GROUP, 'nowhere')],
    ['collection patch', missing, () => jobCollections.patch(GROUP, 'nowhere', anyCollection)],
    ['collection enable', missing, () => jobCollections.enable(GROUP, 'nowhere')],
    ['collection disable', missing, () => jobCollections.disable(GROUP, 'nowhere')],
    ['collection delete', missing, () => jobCollections.deleteMethod(GROUP, 'nowhere')],
    ['jobs', missing, () => jobs.list(GROUP, 'nowhere')],
    ['job put', missing, () => jobs.createOrUpdate(GROUP, 'nowhere', 'nobody', anyJob)],
    ['job get', noJob, () => jobs.get(GROUP, 'jobs', 'nobody')],
    ['job patch', noJob, () => jobs.patch(GROUP, 'jobs', 'nobody', anyJob)],
    ['job run', noJob, () => jobs.run(GROUP, 'jobs', 'nobody')],
    ['job delete', noJob, () => jobs.deleteMethod(GROUP, 'jobs', 'nobody')],
    ['history', noJob, () => jobs.listJobHistory(GROUP, 'jobs', 'nobody')],
  ]) {
    await check('404', what, () => refused(...expected, call));
  }

  for (const [name, { says, body }] of Object.entries(cases.refused)) {
    await check('400', name, () =>
      refused(400, 'BadRequest', says, () => jobs.createOrUpdate(GROUP, 'jobs', name, built(JOB, body))),
    );
  }
  await check('400', 'an unknown filter', () =>
    refused(400, 'BadRequest', '$filter', () => jobs.list(GROUP, 'jobs', { filter: 'name eq x' })),
  );

  await check('409', 'a recurrence that is too fast', () => {
    const job = built(JOB, cases.tooFast.body);
    return refused(409, 'Conflict', '3 minutes', () => jobs.createOrUpdate(GROUP, 'standard', 'fast', job));
  });
  await check('409', 'a second job where one is allowed', async () => {
    await jobs.createOrUpdate(GROUP, 'for-one-job', 'first', anyJob);
    await refused(409, 'Conflict', 'quota', () => jobs.createOrUpdate(GROUP, 'for-one-job', 'second', anyJob));
  });
  await check('409', 'a second free collection', () => {
    const free = built(COLLECTION, cases.collections.free.body);
    return refused(409, 'Conflict', 'free', () => jobCollections.createOrUpdate(GROUP, 'free-2', free));
  });

  const changed = async (etag, put) => {
    const known = await etag();
    await put({ customHeaders: { 'If-Match': known } });
    assert.notEqual(await etag(), known);
    await refused(412, 'PreconditionFailed', '', () => put({ customHeaders: { 'If-Match': known } }));
  };
  await check('412', 'a job that somebody changed', () =>
    changed(
      async () => (await jobs.getWithHttpOperationResponse(GROUP, 'jobs', 'http-get')).response.headers.etag,
      (options) => jobs.createOrUpdate(GROUP, 'jobs', 'http-get', anyJob, options),
    ),
  );
  await check('412', 'a collection that somebody changed', () =>
    changed(
      async () => (await jobCollections.getWithHttpOperationResponse(GROUP, 'standard')).response.headers.etag,
      (options) => jobCollections.patch(GROUP, 'standard', anyCollection, options),
    ),
  );
}

async function deleteAll() {
  for (const name of [...Object.keys(cases.jobs), ...Object.keys(cases.runs)]) {
    await check('job delete', name, async () => {
      await jobs.deleteMethod(GROUP, 'jobs', name);
      await refused(404, 'NotFound', name, () => jobs.get(GROUP, 'jobs', name));
    });
  }
  await check('jobs', 'none', async () => assert.deepEqual(await listed('jobs'), []));
  for (const name of [...Object.keys(cases.collections), 'jobs']) {
    await check('collection delete', name, async () => {
      await jobCollections[name === 'jobs' ? 'beginDeleteMethod' : 'deleteMethod'](GROUP, name);
      await refused(404, 'ResourceNotFound', name, () => jobCollections.get(GROUP, name));
    });
  }
}

async function main() {
  await writeCollections();
  await patchCollection();
  await listCollections();
  await switchCollection();
  await writeJobs();
  await rewriteJobs();
  await listJobs();
  await runJobs();
  await readHistory();
  await refuse();
  await deleteAll();
  await check('example', 'first job', async () => {
    assert.equal((await example.firstJob(client, `${url}/api/echo`)).name, 'first/hello');
  });
  // A field that nobody wrote or read was not compared either.
  await check('every field', 'of every model', async () => {
    assert.deepEqual(builder.unused().filter((field) => !NOBODY_USES.some((known) => known.test(field))), []);
  });
}

main();
