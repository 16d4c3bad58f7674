'use strict';
// Who waits for whom: Home shows it while calls wait, and nothing of it otherwise.

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { accessible, client, startBrowser, startServer, startTarget, until } = require('./world.js');

let server, target, browser, api;
const place = { subscription: 's', group: 'g' };

const once = (path) => ({
  properties: { action: { type: 'Http', request: { method: 'GET', uri: `${target.url}${path}` } } },
});

before(async () => {
  [server, target, browser] = await Promise.all([
    startServer([], { PUNCTUAL_ENGINE_CALLS_PER_TARGET: '1', PUNCTUAL_HTTP_TIMEOUT: '600s' }),
    startTarget(),
    startBrowser(),
  ]);
  api = client(server.url);
  for (const collection of ['payroll', 'web']) await api.collection({ ...place, collection });
});
after(async () => {
  await browser?.stop();
  target?.stop();
  // One call hangs: a stop would wait for it.
  await server?.kill();
});

test('home names the calls that wait, what they wait for, and who holds the places', async () => {
  const page = await browser.page(server.url);
  await api.job({ ...place, collection: 'payroll', job: 'first' }, once('/first'));
  await page.goto('/');
  await page.locator('.verdict .sentence').waitFor();
  assert.equal(await page.getByRole('heading', { name: /for a place/ }).count(), 0);

  target.held.add('/hangs');
  await api.job({ ...place, collection: 'payroll', job: 'hangs' }, once('/hangs'));
  const waiting = async () => (await api.call('GET', '/api/waiting')).body;
  await until('a call hangs', async () => (await waiting()).running === 1);
  await api.job({ ...place, collection: 'web', job: 'waits' }, once('/waits'));
  await until('another waits', async () => (await waiting()).waiting === 1);

  const host = new URL(target.url).host;
  for (const [scheme, width] of [
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ]) {
    const shown = await browser.page(server.url, { scheme, width });
    await shown.goto('/');
    await shown.getByRole('heading', { name: '1 call waits for a place' }).waitFor();
    const card = shown.locator('.card.waiting');
    await card.getByRole('link', { name: 'web' }).waitFor();
    await card.getByText(host).waitFor();
    await card.getByText('The places at this target are taken: 1 call of payroll.').waitFor();
    await accessible(shown);
    assert.deepEqual(shown.wrong, []);
    await shown.context().close();
  }
  assert.deepEqual(page.wrong, []);
});
