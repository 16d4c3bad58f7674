'use strict';
// Nodes: a server on its own store says so; two on one database are seen, and seen to go.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const { after, before, test } = require('node:test');
const { accessible, sql, startBrowser, startServer, until } = require('./world.js');

const POSTGRES = process.env.PUNCTUAL_TEST_POSTGRES;
const skip = POSTGRES ? false : 'PUNCTUAL_TEST_POSTGRES names no server; see scripts/with-postgres';

let browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser?.stop());

test('a server on its own store has no nodes, and says how to have some', async () => {
  const server = await startServer();
  const page = await browser.page(server.url);
  await page.goto('/');
  await page.getByText('Nothing is scheduled yet').first().waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('n');
  await page.getByRole('heading', { level: 1, name: 'Nodes' }).waitFor();
  await page.getByRole('heading', { name: 'One server, on a store of its own' }).waitFor();
  await page.getByRole('button', { name: 'Copy the command' }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^punctual serve --database postgres:/);
  const current = page.getByRole('navigation', { name: 'Main' }).locator('[aria-current=page]');
  assert.equal(await current.textContent(), 'Nodes');
  await page.goto('/ui/settings');
  await page.getByText('Data folder').waitFor();
  assert.equal(await page.getByText('Database', { exact: true }).count(), 0);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
  await server.stop();
});

test('two nodes on one database are shown, and the one that dies goes', { skip }, async () => {
  const schema = `portal_${process.pid}`;
  sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE; CREATE SCHEMA ${schema}`);
  const mark = POSTGRES.includes('?') ? '&' : '?';
  const PUNCTUAL_DATABASE = `${POSTGRES}${mark}options=-c%20search_path%3D${schema}`;
  const PUNCTUAL_SECRETS_KEY = execFileSync(process.env.BINARY, ['keys', 'generate'], { encoding: 'utf8' }).trim();
  const node = (name) => startServer([], { PUNCTUAL_DATABASE, PUNCTUAL_SECRETS_KEY, PUNCTUAL_NODE: name });
  const [east, west] = [await node('east'), await node('west')];
  for (const [scheme, width] of [
    ['light', 1280],
    ['dark', 1280],
    ['light', 360],
    ['dark', 360],
  ]) {
    const page = await browser.page(east.url, { scheme, width });
    await page.goto('/ui/nodes');
    await page.getByRole('row', { name: /east/ }).waitFor();
    await accessible(page);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  }

  const page = await browser.page(east.url);
  await page.goto('/ui/settings');
  await page.getByText('Database', { exact: true }).waitFor();
  assert.equal(await page.getByText('Data folder').count(), 0);
  await page.getByRole('link', { name: 'all nodes' }).click();
  await page.getByText('All 2 nodes are alive').first().waitFor();
  const row = (name) => page.getByRole('row', { name: new RegExp(`^${name}`) });
  for (const name of ['east', 'west']) {
    await row(name).getByText('Alive').waitFor();
    assert.match(await row(name).locator('[data-label=Lease]').textContent(), /^[0-3]\.\d s$/);
    assert.match(await row(name).locator('[data-label=Epoch]').textContent(), /^\d+$/);
  }
  assert.equal(await row('east').getByText('answers this page').count(), 1);
  assert.equal(await row('west').getByText('answers this page').count(), 0);
  await page.evaluate(() => {
    window.sameDocument = true;
  });
  await west.kill();
  await page.getByText('One node is alive').first().waitFor();
  await until('west is gone', async () => (await row('west').count()) === 0);
  assert.equal(await page.evaluate(() => window.sameDocument), true);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
  await east.stop();
  sql(`DROP SCHEMA ${schema} CASCADE`);
});
