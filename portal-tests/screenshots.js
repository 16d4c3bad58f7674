'use strict';
// The pictures of the documentation: the real portal over a server with lively data.

const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { client, startBrowser, startServer, startTarget, until } = require('./world.js');

/** The most bytes of a picture. */
const LARGEST = 200 * 1024;

const [, , folder] = process.argv;

const place = { subscription: 'contoso', group: 'production', collection: 'billing' };

/** Jobs as a small company has them. */
function jobs(url) {
  const http = (where, more = {}) => ({ type: 'Http', request: { method: 'POST', uri: `${url}${where}`, ...more } });
  const job = (action, recurrence, more = {}) => ({
    properties: { startTime: '2026-01-01T00:00:00Z', action, recurrence, ...more },
  });
  return {
    'capture-payments': job(http('/payments/capture'), { frequency: 'minute', interval: 1 }),
    'sync-stock': job(
      { ...http('/stock/sync'), retryPolicy: { retryType: 'fixed', retryInterval: 'PT15S', retryCount: 2 } },
      { frequency: 'minute', interval: 1 },
    ),
    'refresh-exchange-rates': job(http('/rates'), { frequency: 'minute', interval: 5 }),
    'invoices-on-the-last-workday': job(
      http('/invoices', { headers: { 'Content-Type': 'application/json' }, body: '{"kind": "monthly"}' }),
      {
        frequency: 'month',
        timeZone: 'Europe/Berlin',
        schedule: { monthlyOccurrences: [{ day: 'friday', occurrence: -1 }], hours: [17], minutes: [30] },
      },
    ),
    'remind-of-open-invoices': job(
      http('/reminders'),
      {
        frequency: 'week',
        timeZone: 'Europe/Berlin',
        schedule: { weekDays: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'], hours: [9], minutes: [0] },
      },
      { overlap: 'skip' },
    ),
    'nightly-backup': job(http('/backup'), { cron: '30 2 * * *', timeZone: 'Europe/Berlin' }),
    'close-the-books': job(http('/books/close'), {
      frequency: 'year',
      schedule: { months: [1], monthDays: [2], hours: [6], minutes: [0] },
    }),
    'old-newsletter': job(http('/newsletter'), { frequency: 'week' }, { state: 'Disabled' }),
    'push-to-warehouse': job(
      {
        ...http('/warehouse'),
        retryPolicy: { retryType: 'fixed', retryInterval: 'PT15S', retryCount: 1 },
        errorAction: http('/alert'),
      },
      { frequency: 'hour', interval: 1 },
    ),
  };
}

async function main() {
  const [server, target, browser] = await Promise.all([startServer(), startTarget(), startBrowser()]);
  const api = client(server.url);
  await api.collection(place, {
    location: 'West Europe',
    tags: { team: 'finance' },
    properties: { sku: { name: 'Standard' } },
  });
  await api.collection(
    { ...place, group: 'staging', collection: 'trials' },
    { location: 'West Europe', properties: { sku: { name: 'Free' } } },
  );
  const all = jobs(target.url);
  for (const [name, body] of Object.entries(all)) await api.job({ ...place, job: name }, body);
  await api.job({ ...place, group: 'staging', collection: 'trials', job: 'hello' }, all['nightly-backup']);

  // The company at work: now and then a target is away.
  const deadline = Date.now() + Number(process.env.MINUTES ?? 10) * 60_000;
  const frequent = ['capture-payments', 'sync-stock', 'refresh-exchange-rates'];
  for (let round = 0; Date.now() < deadline || round < 20; round += 1) {
    if (round % 15 === 10) target.failing.add('/stock/sync');
    else if (round % 15 === 12) target.failing.delete('/stock/sync');
    const name = frequent[round % frequent.length];
    const known = (await api.history({ ...place, job: name })).length;
    await api.run({ ...place, job: name });
    await until(`${name} has run`, async () => (await api.history({ ...place, job: name })).length > known);
    if (Date.now() < deadline) await sleep(4000 + ((round * 7919) % 5000));
  }
  target.failing.add('/warehouse');
  target.body = 'closed for stocktaking';
  await api.run({ ...place, job: 'push-to-warehouse' });
  const lost = async () => (await api.call('GET', '/api/overview?span=hour')).body.totals.faulted;
  await until('the retries are used up', async () => (await lost()) > 0, 60_000);

  const job = '/ui/job/contoso/production/billing';
  const pictures = [
    ['home', '/', '.plot', { height: 860 }],
    ['home-dark', '/', '.plot', { scheme: 'dark', height: 860 }],
    ['jobs', '/ui/jobs', 'table.jobs tbody tr', { height: 760 }],
    ['job', `${job}/sync-stock`, '.timeline', { height: 860 }],
    ['history', `${job}/push-to-warehouse/history`, 'table.history tbody tr', { height: 760, open: true }],
    ['schedule', `${job}/remind-of-open-invoices/schedule`, '.year', { height: 860 }],
    [
      'editor',
      `/ui/edit/contoso/production/billing/invoices-on-the-last-workday`,
      '.preview .year',
      { height: 1000, at: '#schedule' },
    ],
    [
      'editor-dark',
      `/ui/edit/contoso/production/billing/invoices-on-the-last-workday`,
      '.preview .year',
      { height: 900, scheme: 'dark' },
    ],
    ['collections', '/ui/collections', 'table tbody tr', { height: 480 }],
    ['ledger', '/ui/ledger?state=all', 'table.ledger tbody tr', { height: 700 }],
    ['settings', '/ui/settings', '.card .facts', { height: 900 }],
    ['phone', '/ui/jobs', 'table.jobs tbody tr', { width: 390, height: 800 }],
  ];
  fs.mkdirSync(folder, { recursive: true });
  for (const [name, where, sign, { scheme, width, height, open, at }] of pictures) {
    const page = await browser.page(server.url, { scheme, width, height });
    await page.goto(where);
    await page.locator(sign).first().waitFor();
    await page.locator('#light[data-state=live]').waitFor();
    if (open)
      await page
        .getByRole('button', { name: /^Details/ })
        .nth(1)
        .click();
    if (at) await page.locator(at).evaluate((element) => element.scrollIntoView({ block: 'start' }));
    await page.evaluate(() => document.activeElement?.blur());
    await page.mouse.move(0, 0);
    const file = path.join(folder, `portal-${name}.png`);
    const picture = await page.screenshot({ path: file });
    if (picture.length > LARGEST) throw new Error(`${file} has ${picture.length} bytes; allowed: ${LARGEST}`);
    if (page.wrong.length) throw new Error(`${where}: ${page.wrong.join('\n')}`);
    console.log(`${file}: ${picture.length} bytes`);
    await page.context().close();
  }
  await browser.stop();
  target.stop();
  await server.stop();
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
