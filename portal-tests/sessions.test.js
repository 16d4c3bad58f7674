'use strict';
// A server that asks who calls: signing in, being sent away, signing out.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { startBrowser, startServer } = require('./world.js');

let server, browser, token, folder;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'punctual-guarded-'));
  const settings = path.join(folder, 'punctual.toml');
  fs.writeFileSync(settings, '[auth]\nenabled = true\n');
  const data = path.join(folder, 'data');
  const create = (name, ...more) =>
    execFileSync(process.env.BINARY, ['token', 'create', name, '--offline', '--data', data, ...more], {
      encoding: 'utf8',
    }).trim();
  token = create('ann');
  server = await startServer(['--config', settings], { data });
  browser = await startBrowser();
});

after(async () => {
  await browser?.stop();
  await server?.stop();
  fs.rmSync(folder, { recursive: true, force: true });
});

test('somebody signs in, works and signs out', async () => {
  // The browser writes refusals to the console by itself.
  const page = await browser.page(server.url, { expected: [/40[13]/] });
  const context = page.context();
  await page.goto('/ui/audit?days=any');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByLabel('Token').fill('pt_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').filter({ hasText: 'not accepted' }).waitFor();
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  // On with the page that was asked for.
  await page.getByRole('heading', { name: 'Audit' }).waitFor();
  await page.locator('table tbody tr', { hasText: 'signIn' }).first().waitFor();
  const cookies = await context.cookies();
  assert.equal(cookies.length, 1);
  assert.deepEqual([cookies[0].httpOnly, cookies[0].sameSite], [true, 'Strict']);
  assert.equal(await page.evaluate(() => document.cookie), '');
  // A change, which needs more than the cookie.
  await page.goto('/ui/collections');
  const made = await page.evaluate(async () => {
    const { call } = await import(document.querySelector('link[href$="/api.js"]').href);
    const path = '/subscriptions/s/resourceGroups/g?api-version=2020-06-01';
    const plain = await fetch(path, { method: 'PUT', body: '{"location":"x"}' });
    return [plain.status, (await call('PUT', path, { body: { location: 'x' } })).status];
  });
  assert.deepEqual(made, [403, 201]);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.deepEqual(await context.cookies(), []);
  assert.deepEqual(page.wrong, []);
  await context.close();
});

test('whoever was signed out elsewhere signs in again', async () => {
  const page = await browser.page(server.url, { expected: [/401/] });
  const context = page.context();
  await page.goto('/ui/settings');
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Settings' }).waitFor();
  await context.clearCookies();
  await page.getByRole('link', { name: 'Jobs' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor();
  assert.deepEqual(page.wrong, []);
  await context.close();
});
