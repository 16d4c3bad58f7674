'use strict';
// The pictures of the documentation: the real portal over a server that has worked for a day.
//
// The day takes minutes. libfaketime tells the server another time of day, which is put forward from one due instant to
// shortly before the next; across each instant the time runs as it always does, so lateness is what it really was. At the
// end it is the present, and the pictures are taken.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { client, sql, startBrowser, startServer, startTarget, until } = require('./world.js');

/** The most bytes of a picture. */
const LARGEST = 200 * 1024;
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** So long before it is due the server learns of an occurrence: enough to claim it. */
const AHEAD = 500;
/** And so long after it retries that are as old have begun, too. */
const AFTER = 400;

const [, , folder] = process.argv;

const place = { subscription: 'contoso', group: 'production', collection: 'billing' };

/** The time of day that a server is told. */
class TimeOfDay {
  constructor() {
    this.file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'punctual-time-')), 'offset');
    this.offset = 0;
  }

  get settings() {
    return {
      LD_PRELOAD: process.env.LIBFAKETIME,
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: '1',
      // What is slept is slept: only the time of day is another.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
      // Who looks at the clock often sees it put forward.
      PUNCTUAL_ENGINE_LONGEST_NAP: '50ms',
    };
  }

  now() {
    return Date.now() + this.offset;
  }

  set(instant) {
    this.offset = instant === undefined ? 0 : instant - Date.now();
    const sign = this.offset < 0 ? '-' : '+';
    // It is read at any moment, so it is never half written.
    fs.writeFileSync(`${this.file}.new`, `${sign}${(Math.abs(this.offset) / SECOND).toFixed(3)}\n`);
    fs.renameSync(`${this.file}.new`, this.file);
  }

  forget() {
    fs.rmSync(path.dirname(this.file), { recursive: true, force: true });
  }
}

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
    'refresh-exchange-rates': job(
      { ...http('/rates'), retryPolicy: { retryType: 'none' } },
      { frequency: 'minute', interval: 15 },
    ),
    'check-shop-front': job(http('/shop'), { frequency: 'minute', interval: 15 }),
    'import-orders': job(http('/orders/import'), { frequency: 'minute', interval: 15 }),
    'send-queued-mail': job(http('/mail/send'), { frequency: 'minute', interval: 15 }),
    'build-the-quarterly-report': job(http('/reports'), {
      frequency: 'month',
      interval: 3,
      schedule: { monthDays: [1], hours: [4], minutes: [0] },
    }),
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

/**
 * Lets the server live until an instant: the time is put before each step, and goes on until all that is due has run. Where
 * something fails, executions wait for their retries, as many as `waiting`.
 */
async function live(api, time, to, step, { waiting = 0, each = () => {} } = {}) {
  for (let due = Math.ceil(time.now() / step) * step; due <= Math.min(to, Date.now()); due += step) {
    each(due);
    if (due - AHEAD > time.now()) time.set(due - AHEAD);
    await until('all that is due has run', async () => {
      const { running, next } = (await api.call('GET', '/api/overview?span=hour')).body;
      const { executions } = (await api.call('GET', '/readyz')).body;
      const isClaimed = next.every(({ at }) => Date.parse(at) > due);
      return time.now() > due + AFTER && isClaimed && running === 0 && executions <= waiting;
    });
  }
}

async function main() {
  const time = new TimeOfDay();
  const began = Date.now() - 24 * HOUR;
  time.set(began);
  const [server, target, browser] = await Promise.all([startServer([], time.settings), startTarget(), startBrowser()]);
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
  const add = (names) => Promise.all(names.map((name) => api.job({ ...place, job: name }, all[name])));
  const frequent = ['capture-payments', 'sync-stock'];
  await add(Object.keys(all).filter((name) => !frequent.includes(name)));
  await api.job({ ...place, group: 'staging', collection: 'trials', job: 'hello' }, all['nightly-backup']);

  // A day with a target that is away at night, then a lively hour: an interface that stumbles, and a stocktaking. While
  // something fails, its retries are due too, a quarter of a minute apart.
  const lively = Math.floor(Date.now() / MINUTE) * MINUTE - 65 * MINUTE;
  const at = (minutes) => lively + minutes * MINUTE;
  await live(api, time, lively, 15 * MINUTE, {
    each: (due) => {
      const hours = (Date.now() - due) / HOUR;
      if (hours < 9 && hours > 7.5) target.failing.add('/rates');
      else target.failing.delete('/rates');
    },
  });
  await add(frequent);
  const slowly = { waiting: 3 };
  // Fails for so many minutes, and then no more.
  const stumble = async (from, minutes) => {
    await live(api, time, at(from), MINUTE);
    target.failing.add('/stock/sync');
    await live(api, time, at(from + minutes), 15 * SECOND, slowly);
    target.failing.delete('/stock/sync');
    await live(api, time, at(from + minutes + 1.25), 15 * SECOND, slowly);
  };
  await stumble(20, 1.75);
  await live(api, time, at(45), MINUTE);
  target.failing.add('/warehouse');
  target.body = 'closed for stocktaking';
  const asked = () => target.calls.filter(({ path: where }) => where === '/warehouse').length;
  const known = asked();
  await api.run({ ...place, job: 'push-to-warehouse' });
  await until('the warehouse is asked', () => asked() > known);
  await live(api, time, at(47), 15 * SECOND, slowly);
  target.failing.delete('/warehouse');
  target.body = 'thank you';
  await stumble(60, 1.25);
  await live(api, time, Infinity, MINUTE);
  const { missed, ranLate } = (await api.call('GET', '/api/overview?span=day')).body.totals;
  if (missed || ranLate) throw new Error(`the machine was too busy: ${missed} runs missed, ${ranLate} late; try again`);
  time.set();
  target.held.add('/reports');
  await api.run({ ...place, job: 'build-the-quarterly-report' });
  await until('the report is being built', () => target.calls.some(({ path: where }) => where === '/reports'));

  const job = '/ui/job/contoso/production/billing';
  const editor = '/ui/edit/contoso/production/billing/invoices-on-the-last-workday';
  const shoot = camera(browser, server.url);
  await shoot('home', '/', '.plot', { height: 900 });
  await shoot('home-dark', '/?span=day', '.plot', { scheme: 'dark', height: 900 });
  await shoot('jobs', '/ui/jobs', 'table.jobs tbody tr', { height: 700 });
  await shoot('collections', '/ui/collections', 'table tbody tr', { height: 420 });
  await shoot('collection', '/ui/collection/contoso/production/billing', 'table.jobs tbody tr', { height: 640 });
  await shoot('job', `${job}/sync-stock`, '.timeline', { height: 860 });
  await shoot('action', `${job}/push-to-warehouse/action`, '.facts', { height: 560 });
  await shoot('history', `${job}/push-to-warehouse/history`, 'table.history tbody tr', {
    height: 760,
    before: (page) =>
      page
        .getByRole('button', { name: /^Details/ })
        .nth(1)
        .click(),
  });
  await shoot('schedule', `${job}/remind-of-open-invoices/schedule`, '.year', { height: 860 });
  await shoot('editor', editor, '.preview .year', { height: 1000, at: '#schedule' });
  await shoot('editor-dark', editor, '.preview .year', { height: 900, scheme: 'dark' });
  await shoot('ledger', '/ui/ledger', 'table.ledger tbody tr', { height: 700 });
  await shoot('settings', '/ui/settings', '.card .facts', { height: 900 });
  await shoot('phone', '/ui/jobs', 'table.jobs tbody tr', { width: 390, height: 800 });
  target.stop();
  await server.stop();
  time.forget();
  if (process.env.PUNCTUAL_TEST_POSTGRES) await nodes(browser);
  else console.log('no picture of nodes: PUNCTUAL_TEST_POSTGRES names no server; see scripts/with-postgres');
  await browser.stop();
}

/** Three nodes with calls under way. */
async function nodes(browser) {
  const schema = `pictures_${process.pid}`;
  sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE; CREATE SCHEMA ${schema}`);
  const { PUNCTUAL_TEST_POSTGRES: url, BINARY } = process.env;
  const settings = {
    PUNCTUAL_DATABASE: `${url}${url.includes('?') ? '&' : '?'}options=-c%20search_path%3D${schema}`,
    PUNCTUAL_SECRETS_KEY: execFileSync(BINARY, ['keys', 'generate'], { encoding: 'utf8' }).trim(),
  };
  const servers = [];
  for (const name of ['amsterdam-1', 'amsterdam-2', 'dublin-1'])
    servers.push(await startServer([], { ...settings, PUNCTUAL_NODE: name }));
  const target = await startTarget();
  target.held.add('/');
  const api = client(servers[0].url);
  await api.collection(place, { properties: { sku: { name: 'Standard' } } });
  const action = { type: 'Http', request: { method: 'GET', uri: `${target.url}/` } };
  for (let n = 0; n < 12; n += 1) await api.job({ ...place, job: `held-${n}` }, { properties: { action } });
  const claims = async () => (await api.call('GET', '/api/nodes')).body.value.reduce((sum, one) => sum + one.claims, 0);
  await until('all calls are under way', async () => target.calls.length === 12 && (await claims()) === 12);
  await camera(browser, servers[0].url)('nodes', '/ui/nodes', 'table.nodes tbody tr', { height: 420 });
  target.stop();
  await Promise.all(servers.map((server) => server.stop()));
  sql(`DROP SCHEMA ${schema} CASCADE`);
}

/** Takes pictures of a server's pages: `sign` shows that all is there, `before` is done then. */
function camera(browser, url) {
  return async (name, where, sign, { scheme, width, height, at, before } = {}) => {
    const page = await browser.page(url, { scheme, width, height });
    await page.goto(where);
    await page.locator(sign).first().waitFor();
    await page.locator('#light[data-state=live]').waitFor();
    await before?.(page);
    if (at) await page.locator(at).evaluate((element) => element.scrollIntoView({ block: 'start' }));
    await page.evaluate(() => document.activeElement?.blur());
    await page.mouse.move(0, 0);
    const file = path.join(folder, `portal-${name}.png`);
    const picture = await page.screenshot({ path: file });
    if (picture.length > LARGEST) throw new Error(`${file} has ${picture.length} bytes; allowed: ${LARGEST}`);
    if (page.wrong.length) throw new Error(`${where}: ${page.wrong.join('\n')}`);
    console.log(`${file}: ${picture.length} bytes`);
    await page.context().close();
  };
}

fs.mkdirSync(folder, { recursive: true });
main().catch((error) => {
  console.error(error);
  process.exit(1);
});
