'use strict';
// Texts that want to be more than text are shown as they are, on every page.

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { client, startBrowser, startServer, startTarget, until } = require('./world.js');

const SCRIPT = '<script>window.hacked = 1</script>';
const IMAGE = '"><img src=x onerror="window.hacked = 1">';
const LINK = 'javascript:window.hacked=1';
const TURNED = '\u202egnp.exe\u202c שלום';
const LONG = 'x'.repeat(5000);
const NAME = `n${'-very-long'.repeat(9)}`;

let server, target, browser, api;
// Names are plain by the rules of the API, so here they are only as long as they may be.
const place = { subscription: `s${NAME}`, group: 'g(1)', collection: NAME };

before(async () => {
  [server, target, browser] = await Promise.all([startServer(), startTarget(), startBrowser()]);
  api = client(server.url);
  await api.collection(place, {
    tags: { [IMAGE]: SCRIPT, long: 'y'.repeat(200) },
    properties: { sku: { name: 'Standard' } },
  });
  target.body = `${SCRIPT} ${IMAGE} ${TURNED} ${LONG}`;
  target.status = 500;
  await api.job(
    { ...place, job: NAME },
    {
      properties: {
        startTime: '2026-01-01T00:00:00Z',
        action: {
          type: 'Http',
          request: {
            method: 'POST',
            uri: `${target.url}/?q=${encodeURIComponent(SCRIPT)}`,
            headers: { 'X-Evil': IMAGE },
            body: `${SCRIPT}${IMAGE}${TURNED}${LONG}`,
          },
          retryPolicy: { retryType: 'none' },
        },
        recurrence: { frequency: 'month' },
      },
    },
  );
  await api.run({ ...place, job: NAME });
  await until('the failure is written', async () => (await api.history({ ...place, job: NAME })).length > 0);
});
after(async () => {
  await browser?.stop();
  target?.stop();
  await server?.stop();
});

const job = () => `${place.subscription}/${place.group}/${NAME}/${NAME}`;

for (const width of [1280, 360]) {
  test(`hostile texts are texts, ${width} pixels wide`, async (t) => {
    for (const [path, sign, shown] of [
      ['/', '.plain a', NAME],
      ['/ui/jobs', 'table.jobs tbody tr', NAME],
      [`/ui/jobs?search=${encodeURIComponent(IMAGE)}`, '.empty', null],
      ['/ui/collections', '.tag', SCRIPT],
      [`/ui/collection/${place.subscription}/${place.group}/${NAME}`, '.tag', IMAGE],
      [`/ui/job/${job()}`, '.timeline', NAME],
      [`/ui/job/${job()}/properties`, 'pre', SCRIPT],
      [`/ui/job/${job()}/action`, 'pre', TURNED],
      [`/ui/job/${job()}/history`, 'table.history tbody tr', SCRIPT],
      [`/ui/edit/${job()}`, '.preview .sentence', null],
      [
        `/ui/new-job?from=${encodeURIComponent(`/subscriptions/${place.subscription}/resourceGroups/${place.group}/providers/Microsoft.Scheduler/jobCollections/${NAME}/jobs/${NAME}`)}`,
        '.preview .sentence',
        null,
      ],
      ['/ui/ledger', 'table.ledger tbody tr', NAME],
      [
        `/ui/ledger?job=${encodeURIComponent(IMAGE)}&where=${encodeURIComponent(`/subscriptions/${place.subscription}/resourceGroups/${place.group}/providers/Microsoft.Scheduler/jobCollections/${NAME}`)}`,
        '.failure',
        IMAGE,
      ],
      [`/ui/${encodeURIComponent(IMAGE)}`, '.empty', IMAGE],
      [`/ui/job/a/b/${encodeURIComponent(IMAGE)}/c`, '.failure', null],
      ['/ui/%E0%A4%A', '.empty', null],
    ]) {
      await t.test(path.slice(0, 60), async () => {
        const page = await browser.page(server.url, { width, expected: [/status of 40[04]/] });
        await page.goto(path);
        await page.locator(sign).first().waitFor();
        // The choices of a list have the same text, and are never visible.
        if (shown && width > 1000) await page.getByText(shown).and(page.locator(':not(option)')).first().waitFor();
        assert.equal(await page.evaluate(() => window.hacked), undefined);
        assert.equal(await page.locator('main img, main script').count(), 0);
        const scrolls = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.ok(scrolls <= 0, `it scrolls sideways by ${scrolls} pixels`);
        assert.deepEqual(page.wrong, []);
        await page.context().close();
      });
    }
  });
}

test('an address that is a script is never a link', async () => {
  await api.job(
    { ...place, job: 'link' },
    {
      properties: {
        startTime: '2026-01-01T00:00:00Z',
        action: { type: 'Http', request: { method: 'GET', uri: `${target.url}/#${LINK}` } },
        recurrence: { frequency: 'month' },
      },
    },
  );
  const page = await browser.page(server.url);
  await page.goto(`/ui/job/${place.subscription}/${place.group}/${NAME}/link/action`);
  await page.locator('.facts').first().waitFor();
  const links = await page.locator('a').evaluateAll((all) => all.map((link) => link.protocol));
  assert.deepEqual([...new Set(links)], ['http:']);
  assert.deepEqual(page.wrong, []);
});

test('all of a long message is there when a run is opened', async () => {
  const page = await browser.page(server.url);
  await page.goto(`/ui/job/${job()}/history`);
  await page
    .getByRole('button', { name: /^Details/ })
    .first()
    .click();
  const [entry] = await api.history({ ...place, job: NAME });
  assert.equal(await page.locator('.details:not([hidden]) pre').textContent(), entry.properties.message);
  assert.deepEqual(page.wrong, []);
});
