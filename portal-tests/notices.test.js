'use strict';
// Notices: rules are made, changed and deleted, trouble is seen with who was told of it, and readers see what they may.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { accessible, client, startBrowser, startServer, startTarget, until } = require('./world.js');

let server, browser, target, api;

before(async () => {
  target = await startTarget();
  server = await startServer();
  browser = await startBrowser();
  api = client(server.url);
});

after(async () => {
  await browser?.stop();
  await server?.stop();
  target?.stop();
});

const row = (page, name) => page.locator('table.notices tbody tr', { hasText: name });

test('a rule is made, a job fails, somebody is told, and it is seen', async () => {
  const page = await browser.page(server.url, { expected: [/400|412/] });
  await page.goto('/');
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  await page.getByRole('heading', { name: 'Nobody is told yet' }).waitFor();
  await accessible(page);

  // What is wrong is told at the fields.
  await page.getByRole('button', { name: 'New rule' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New rule' });
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.locator('.field.faulty', { hasText: 'name: missing' }).waitFor();
  await dialog.getByLabel('Name').fill('ops');
  await dialog.getByLabel('A job is in trouble when').selectOption('late');
  await dialog.getByLabel('How long').fill('soon');
  await dialog.getByLabel('Whom to tell').fill('ftp://nowhere');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.locator('.field.faulty[data-path=after]', { hasText: 'soon' }).waitFor();
  await dialog.locator('.field.faulty[data-path=uri]', { hasText: 'https://' }).waitFor();
  assert.equal(await dialog.locator('.field.faulty').count(), 2, 'the name is right now');
  await dialog.getByText('2 fields need another look').waitFor();
  await accessible(page);

  await dialog.getByLabel('A job is in trouble when').selectOption('faulted');
  await dialog.getByLabel('How long').waitFor({ state: 'hidden' });
  await dialog.getByLabel('Collection').fill('c');
  await dialog.getByLabel('Whom to tell').fill(`${target.url}/hook`);
  await dialog.getByRole('button', { name: 'Add a header' }).click();
  await dialog.getByLabel('Header').fill('X-Team');
  await dialog.getByLabel('Value').fill('ops');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await row(page, 'ops').waitFor();
  await page.getByText('No job that is watched is in trouble').waitFor();
  assert.deepEqual((await api.call('GET', '/api/notifications')).body.value, [
    {
      name: 'ops',
      when: 'faulted',
      collection: 'c',
      uri: `${target.url}/hook`,
      source: 'stored',
      headers: { 'X-Team': 'ops' },
      mayChange: true,
      watchesNothing: true,
    },
  ]);
  // The collection is not there yet, or its name is wrong: that shows.
  await row(page, 'ops').getByText('watches nothing').waitFor();

  // Another of the same name is not made in its place.
  await page.getByRole('button', { name: 'New rule' }).click();
  await dialog.getByLabel('Name').fill('OPS');
  await dialog.getByLabel('Whom to tell').fill(`${target.url}/other`);
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('There is such a rule already').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();

  // Trouble.
  target.failing.add('/j');
  await api.collection({ collection: 'c' });
  await api.job(
    { collection: 'c', job: 'nightly' },
    {
      properties: {
        action: {
          type: 'Http',
          request: { uri: `${target.url}/j`, method: 'GET' },
          retryPolicy: { retryType: 'None' },
        },
      },
    },
  );
  await until('the webhook is told', () => target.calls.some((call) => call.path === '/hook'));
  const told = target.calls.find((call) => call.path === '/hook');
  assert.deepEqual([JSON.parse(told.body).jobName, told.headers['x-team']], ['nightly', 'ops']);
  await page.mouse.move(0, 0);
  await page.getByText('1 job is in trouble').waitFor();
  const trouble = row(page, 'nightly');
  await trouble.getByText('Delivered').waitFor();
  await trouble.getByText(target.url, { exact: false }).waitFor();
  await accessible(page);
  for (const [width, scheme] of [
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ]) {
    const other = await browser.page(server.url, { width, scheme });
    await other.goto('/ui/notices');
    await row(other, 'nightly').waitFor();
    await accessible(other);
    await other.context().close();
  }

  // It is changed, and deleted.
  await row(page, 'failed for good').getByRole('button', { name: 'Edit ops' }).click();
  const edit = page.getByRole('dialog', { name: 'Edit ops' });
  assert.equal(await edit.getByLabel('Whom to tell').inputValue(), `${target.url}/hook`);
  await edit.getByLabel('Job', { exact: true }).fill('other');
  await edit.getByRole('button', { name: 'Save' }).click();
  await row(page, 'other').waitFor();
  await page.getByRole('button', { name: 'Delete ops' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await until('it is gone', async () => (await api.call('GET', '/api/notifications')).body.value.length === 0);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test('a reader sees rules and may not change them', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'punctual-notices-'));
  const settings = path.join(folder, 'punctual.toml');
  const rule = (name, where) =>
    `[[notifications]]\nname = "${name}"\nwhen = "faulted"\n${where}uri = "https://hooks.example.com/secret"\n`;
  const here = 'subscription = "s"\nresource-group = "g"\ncollection = "c"\n';
  fs.writeFileSync(settings, `${rule('ours', here)}${rule('theirs', '')}[auth]\nenabled = true\n`);
  const data = path.join(folder, 'data');
  const scope = '/subscriptions/s';
  const token = execFileSync(
    process.env.BINARY,
    ['token', 'create', 'ann', '--offline', '--data', data, '--role', 'reader', '--scope', scope],
    { encoding: 'utf8' },
  ).trim();
  const guarded = await startServer(['--config', settings], { data });
  try {
    const page = await browser.page(guarded.url, { expected: [/401/] });
    await page.goto('/ui/notices');
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await row(page, 'ours').getByText('in the file of settings').waitFor();
    assert.equal(await row(page, 'theirs').count(), 0, 'it is about jobs that are not theirs to see');
    assert.equal(await page.getByRole('button', { name: 'New rule' }).count(), 0);
    const text = await page.locator('main').innerText();
    assert.ok(text.includes('https://hooks.example.com') && !text.includes('secret'), text);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  } finally {
    await guarded.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
