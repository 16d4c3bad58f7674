'use strict';
// Jobs that are off now are no "all is well": on Home, in the ledger, in lists and on their own page.

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { client, startBrowser, startServer, startTarget, until } = require('./world.js');

let server, target, browser, api;
const place = { subscription: 's', group: 'g', collection: 'c' };
const held = { ...place, collection: 'b' };

const minutely = (state) => ({
  properties: {
    state,
    action: { type: 'Http', request: { method: 'GET', uri: `${target.url}/a` } },
    recurrence: { frequency: 'minute' },
  },
});

before(async () => {
  [server, target, browser] = await Promise.all([startServer(), startTarget(), startBrowser()]);
  api = client(server.url);
  await api.collection(place);
  await api.collection(held, { properties: { state: 'Disabled' } });
  // Both were due when they were written.
  await api.job({ ...place, job: 'off' }, minutely('Disabled'));
  await api.job({ ...held, job: 'waiting' }, minutely('Enabled'));
});
after(async () => {
  await browser?.stop();
  target?.stop();
  await server?.stop();
});

test('home and ledger answer for what is off', async () => {
  const page = await browser.page(server.url);
  await page.goto('/');
  await page.locator('.verdict .sentence').getByText('2 jobs are off and skipped runs').waitFor();
  await page.goto('/ui/ledger');
  const row = (name) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  await row('off').getByText('The job is disabled.').waitFor();
  await row('off').getByText('still going on').waitFor();
  await row('waiting').getByText('The job collection is disabled.').waitFor();
  assert.equal(await page.getByText('Nothing is missing').count(), 0);
  assert.deepEqual(page.wrong, []);
});

test('a ledger of a job that does not exist says so', async () => {
  const page = await browser.page(server.url, { expected: [/status of 404/] });
  const where = encodeURIComponent('/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c');
  await page.goto(`/ui/ledger?where=${where}&job=nosuch`);
  await page.getByText("Job 'nosuch' cannot be found.").waitFor();
  assert.equal(await page.getByText('Nothing is missing').count(), 0);
  assert.deepEqual(page.wrong, []);
});

test('a job in a disabled collection is paused, and says by which', async () => {
  const page = await browser.page(server.url);
  await page.goto('/ui/jobs');
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'waiting', exact: true }) });
  await row.getByText('Paused').waitFor();
  await row.getByText('b is disabled').waitFor();
  await page.goto('/ui/job/s/g/b/waiting');
  await page.getByRole('heading', { level: 1 }).getByText('Paused').waitFor();
  await page.getByText('The collection b is disabled.').waitFor();
  assert.deepEqual(page.wrong, []);
});

test('a disabled job keeps its counters', async () => {
  const names = { ...place, job: 'counted' };
  const once = minutely('Enabled');
  once.properties.startTime = new Date(Date.now() + 86_400_000).toISOString();
  await api.job(names, once);
  await api.run(names);
  await until('it has run', async () => (await api.history(names)).length > 0);
  await api.call(
    'PATCH',
    '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/counted?api-version=2016-03-01',
    { properties: { state: 'Disabled' } },
  );
  const page = await browser.page(server.url);
  await page.goto('/ui/job/s/g/c/counted');
  const tile = (name) => page.locator('.tile').filter({ hasText: name });
  await tile('Runs').locator('.value').getByText('1', { exact: true }).waitFor();
  assert.equal(await tile('Last run').getByText('never').count(), 0);
  assert.deepEqual(page.wrong, []);
});
