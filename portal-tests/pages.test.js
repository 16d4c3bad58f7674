'use strict';
// Every page, light and dark, wide and narrow: accessible, inside its policy, and asking nobody else.

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { accessible, client, startBrowser, startServer, startTarget, until } = require('./world.js');

/** The most bytes of the first page, as they travel. */
const FIRST_PAGE = 100 * 1024;

let server, target, browser, api;
const place = { subscription: 's', group: 'g', collection: 'c' };

/** Each page, and what shows that it is there. */
const PAGES = [
  ['home', '/', '.verdict .sentence'],
  ['home of a week', '/?span=week', '.plot'],
  ['jobs', '/ui/jobs', 'table.jobs tbody tr'],
  ['no job found', '/ui/jobs?search=nobody', '.empty'],
  ['collections', '/ui/collections', 'table tbody tr'],
  ['collection', '/ui/collection/s/g/c', 'table.jobs tbody tr'],
  ['job', '/ui/job/s/g/c/fails', '.timeline'],
  ['properties', '/ui/job/s/g/c/fails/properties', 'pre'],
  ['action', '/ui/job/s/g/c/fails/action', '.facts'],
  ['schedule', '/ui/job/s/g/c/daily/schedule', '.year'],
  ['history', '/ui/job/s/g/c/fails/history', 'table.history tbody tr'],
  ['new job', '/ui/new-job', '.preview .year'],
  ['edit', '/ui/edit/s/g/c/daily', '.preview .year'],
  ['ledger', '/ui/ledger?state=all', 'table.ledger tbody tr'],
  ['audit', '/ui/audit?days=any', 'table.list tbody tr'],
  ['notices', '/ui/notices', '.empty'],
  ['nodes', '/ui/nodes', '.empty'],
  ['settings', '/ui/settings', '.card .facts'],
  ['no such page', '/ui/nothing', '.empty'],
];

before(async () => {
  [server, target, browser] = await Promise.all([startServer(), startTarget(), startBrowser()]);
  api = client(server.url);
  await api.collection(place, { tags: { team: 'billing' }, properties: { sku: { name: 'Standard' } } });
  await api.job(
    { ...place, job: 'daily' },
    {
      properties: {
        startTime: '2026-01-01T00:00:00Z',
        action: { type: 'Http', request: { method: 'GET', uri: `${target.url}/daily` } },
        recurrence: { frequency: 'day', timeZone: 'Europe/Paris', schedule: { hours: [2], minutes: [30] } },
      },
    },
  );
  await api.job(
    { ...place, job: 'off' },
    {
      properties: {
        state: 'Disabled',
        action: { type: 'Http', request: { method: 'GET', uri: `${target.url}/off` } },
        recurrence: { frequency: 'day' },
      },
    },
  );
  target.status = 500;
  await api.job(
    { ...place, job: 'fails' },
    {
      properties: {
        startTime: '2026-01-01T00:00:00Z',
        action: {
          type: 'Http',
          request: { method: 'POST', uri: `${target.url}/fails`, headers: { 'X-One': 'two' }, body: 'text' },
          retryPolicy: { retryType: 'none' },
          errorAction: { type: 'Http', request: { method: 'GET', uri: `${target.url}/error` } },
        },
        recurrence: { frequency: 'week' },
      },
    },
  );
  await api.run({ ...place, job: 'fails' });
  await until('the failure is written', async () => (await api.history({ ...place, job: 'fails' })).length >= 2);
});
after(async () => {
  await browser?.stop();
  target?.stop();
  await server?.stop();
});

for (const [scheme, width] of [
  ['light', 1280],
  ['dark', 1280],
  ['light', 360],
  ['dark', 360],
]) {
  test(`every page, ${scheme}, ${width} pixels wide`, async (t) => {
    for (const [name, path, sign] of PAGES) {
      await t.test(name, async () => {
        const page = await browser.page(server.url, { scheme, width, height: 780 });
        await page.goto(path);
        await page.locator(sign).first().waitFor();
        await page.locator('#light[data-state=live]').waitFor();
        await accessible(page);
        assert.deepEqual(page.wrong, []);
        await page.context().close();
      });
    }
  });
}

test('dialogs and messages are accessible, too', async () => {
  const page = await browser.page(server.url);
  await page.goto('/ui/collections');
  await page.getByRole('button', { name: 'New collection' }).click();
  await page.getByRole('dialog', { name: 'New collection' }).waitFor();
  await accessible(page);
  await page.getByLabel('Name', { exact: true }).fill('second');
  await page.getByLabel('Plan').selectOption('P20Premium');
  await page.getByLabel('Most jobs').fill('7');
  await page.getByRole('button', { name: 'Add a tag' }).click();
  await page.getByLabel('Tag', { exact: true }).fill('floor');
  await page.getByLabel('Value', { exact: true }).fill('3');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { level: 1, name: 'second' }).waitFor();
  const made = (await api.read({ subscription: 's', group: 'default', collection: 'second' })).body;
  assert.deepEqual(
    [made.properties.sku.name, made.properties.quota.maxJobCount, made.tags],
    ['P20Premium', 7, { floor: '3' }],
  );
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('button', { name: 'Remove floor' }).click();
  await page.getByLabel('Most jobs').fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const changed = (await api.read({ subscription: 's', group: 'default', collection: 'second' })).body;
  assert.deepEqual([changed.properties.quota?.maxJobCount, changed.tags ?? {}], [undefined, {}]);
  assert.deepEqual(page.wrong, []);
});

test('a job that is not there has no tabs, and one that comes has', async () => {
  const page = await browser.page(server.url, { expected: [/status of (404|503)/] });
  await page.goto('/ui/job/s/g/c/nobody');
  await page.getByRole('heading', { name: 'This is not here' }).waitFor();
  await page.getByRole('navigation', { name: 'Job' }).waitFor({ state: 'hidden' });
  // The server is too busy at first.
  await page.route('**/jobs/daily?*', (route) => route.fulfill({ status: 503, json: {} }));
  await page.goto('/ui/job/s/g/c/daily');
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  await page.unroute('**/jobs/daily?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('navigation', { name: 'Job' }).waitFor();
  await page.getByText('Next run').waitFor();
  assert.deepEqual(page.wrong, []);
});

test('the theme can be chosen, and is kept', async () => {
  const page = await browser.page(server.url);
  await page.goto('/');
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole('button', { name: 'Light or dark' }).click();
  assert.notEqual(await paper(), light);
  await page.reload();
  assert.notEqual(await paper(), light);
  assert.deepEqual(page.wrong, []);
});

test('the first page is small', async (t) => {
  const page = await browser.page(server.url);
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  let bytes = 0;
  const seen = new Map();
  session.on('Network.responseReceived', ({ requestId, response }) => seen.set(requestId, response.url));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (seen.has(requestId)) bytes += encodedDataLength;
  });
  await page.goto('/');
  await page.locator('.verdict .sentence').waitFor();
  const { ready, shown } = await page.evaluate(() => ({
    ready: Math.round(performance.getEntriesByType('navigation')[0].domInteractive),
    shown: Math.round(performance.now()),
  }));
  assert.ok(bytes > 5000, `only ${bytes} bytes were seen`);
  assert.ok(bytes <= FIRST_PAGE, `${bytes} bytes`);
  t.diagnostic(
    `first page: ${bytes} bytes in ${seen.size} requests, interactive after ${ready} ms, verdict shown after ${shown} ms at the latest`,
  );
});

test('a connection that is lost is told, and taken up again', async () => {
  const page = await browser.page(server.url, { expected: [/ERR_FAILED.*api\/events/] });
  await page.goto('/ui/jobs');
  await page.locator('#light[data-state=live]').waitFor();
  await page.route('**/api/events', (route) => route.abort());
  await page.reload();
  await page.getByText(/Connection lost/).waitFor();
  await page.unroute('**/api/events');
  await page.getByRole('button', { name: 'Try now' }).click();
  await page.locator('#light[data-state=live]').waitFor();
  await page.getByText(/Connection lost/).waitFor({ state: 'hidden' });
  assert.deepEqual(page.wrong, []);
});

test('a page of another origin cannot change anything', async () => {
  const http = require('node:http');
  const { once } = require('node:events');
  const stranger = http.createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>stranger</h1>'),
  );
  stranger.listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  const page = await browser.page(`http://127.0.0.1:${stranger.address().port}`);
  await page.goto('/');
  const run = `${server.url}/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c/jobs/daily/run?api-version=2016-03-01`;
  const known = target.calls.filter(({ path }) => path === '/daily').length;
  const answered = new Promise((resolve) =>
    page.on('response', (response) => response.url() === run && resolve(response.status())),
  );
  // A simple request, for which browsers do not ask beforehand.
  await page.evaluate((url) => fetch(url, { method: 'POST', mode: 'no-cors' }).catch(() => {}), run);
  assert.equal(await answered, 403);
  assert.equal(target.calls.filter(({ path }) => path === '/daily').length, known);
  await page.context().close();
  stranger.close();
  stranger.closeAllConnections();
});
