'use strict';
// Client certificates: chosen in the editor as a file, refused where they do not open, and announced before they expire.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { accessible, client, startBrowser, startServer } = require('./world.js');

const PASSWORD = 'open sesame';
const place = { subscription: 's', group: 'g', collection: 'c' };
let server, browser, api, folder;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'punctual-portal-'));
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
  api = client(server.url);
  await api.collection(place, { properties: { sku: { name: 'Standard' } } });
});
after(async () => {
  await browser?.stop();
  await server?.stop();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** A PKCS #12 file as OpenSSL exports it, for so many days. */
function make(name, days) {
  const openssl = (...words) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe', encoding: 'utf8' });
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', `${name}.key`];
  openssl('req', '-x509', ...key, '-days', String(days), '-subj', `/O=Example/CN=${name}`, '-out', `${name}.pem`);
  const files = ['-inkey', `${name}.key`, '-in', `${name}.pem`, '-out', `${name}.pfx`];
  openssl('pkcs12', '-export', ...files, '-passout', `pass:${PASSWORD}`);
  const thumbprint = openssl('x509', '-in', `${name}.pem`, '-noout', '-fingerprint', '-sha1');
  return {
    file: path.join(folder, `${name}.pfx`),
    thumbprint: thumbprint.trim().split('=')[1].replaceAll(':', ''),
  };
}

/** A job that shows a certificate to whom it calls. */
const job = (file) => ({
  properties: {
    startTime: '2028-01-01T00:00:00Z',
    action: {
      type: 'Https',
      request: {
        method: 'GET',
        uri: 'https://127.0.0.1:1/',
        authentication: {
          type: 'ClientCertificate',
          pfx: fs.readFileSync(file).toString('base64'),
          password: PASSWORD,
        },
      },
    },
    recurrence: { frequency: 'day' },
  },
});

test('a certificate is chosen as a file, and its faults stand at their fields', async () => {
  const { file, thumbprint } = make('caller', 400);
  const names = { ...place, job: 'certified' };
  const page = await browser.page(server.url, { expected: [/status of 400/] });
  await page.goto('/ui/new-job');
  await page.getByLabel('Name', { exact: true }).first().fill('certified');
  await page.getByLabel('Address').fill('https://127.0.0.1:1/');
  await page.getByLabel('Authentication').selectOption('ClientCertificate');
  const fault = (member) => page.locator(`[data-path="properties.action.request.authentication.${member}"] > .fault`);
  const create = page.getByRole('button', { name: 'Create' });

  await create.click();
  await fault('pfx')
    .getByText(/missing/)
    .waitFor();
  const other = path.join(folder, 'letter.pfx');
  fs.writeFileSync(other, 'this is a letter');
  await page.getByLabel('PKCS #12 file').setInputFiles(other);
  await create.click();
  await fault('pfx')
    .getByText(/no PKCS #12 file/)
    .waitFor();
  assert.equal(await page.getByLabel('PKCS #12 file').getAttribute('aria-invalid'), 'true');

  await page.getByLabel('PKCS #12 file').setInputFiles(file);
  await page.getByText(/^caller\.pfx, \d+ bytes$/).waitFor();
  await page.getByLabel('Its password').fill('open barley');
  await create.click();
  await fault('password')
    .getByText(/does not open/)
    .waitFor();
  assert.equal(await page.getByLabel('Its password').getAttribute('aria-invalid'), 'true');
  assert.ok(await fault('pfx').isHidden(), 'the file is right');
  await accessible(page);
  assert.equal((await api.read(names)).status, 404);

  await page.getByLabel('Its password').fill(PASSWORD);
  await create.click();
  await page.getByRole('heading', { level: 1, name: 'certified' }).waitFor();
  const { authentication } = (await api.read(names)).body.properties.action.request;
  assert.equal(authentication.certificateThumbprint, thumbprint);
  assert.deepEqual([authentication.pfx, authentication.password], [undefined, undefined]);
  await page.getByRole('link', { name: 'Action settings' }).click();
  await page.getByText(/CN=caller/).waitFor();
  assert.deepEqual(page.wrong, []);
});

test('a certificate that is not chosen anew is kept, and another takes its place', async () => {
  const [first, second] = [make('first', 400), make('second', 400)];
  const names = { ...place, job: 'renewed' };
  await api.job(names, job(first.file));
  const thumbprint = async () =>
    (await api.read(names)).body.properties.action.request.authentication.certificateThumbprint;
  const page = await browser.page(server.url);
  const edit = async (change) => {
    await page.goto('/ui/edit/s/g/c/renewed');
    await page.getByText(/CN=/).waitFor();
    await change();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Duplicate' }).waitFor();
  };
  await edit(() => page.getByLabel('Address').fill('https://127.0.0.1:1/elsewhere'));
  assert.equal(await thumbprint(), first.thumbprint);
  await edit(async () => {
    await page.getByLabel('PKCS #12 file').setInputFiles(second.file);
    await page.getByText(/^second\.pfx/).waitFor();
    await page.getByLabel('Its password').fill(PASSWORD);
  });
  assert.equal(await thumbprint(), second.thumbprint);
  assert.deepEqual(page.wrong, []);
});

test('certificates that expire soon are announced at home and marked in the settings', async () => {
  const page = await browser.page(server.url);
  await api.job({ ...place, job: 'long' }, job(make('long', 400).file));
  await page.goto('/');
  await page.locator('.verdict').waitFor();
  await page.goto('/ui/settings');
  await page.getByRole('row', { name: /CN=long/ }).waitFor();
  assert.equal(await page.locator('.badge', { hasText: 'soon' }).count(), 0);

  await api.job({ ...place, job: 'short' }, job(make('short', 20).file));
  await api.job({ ...place, job: 'shorter' }, job(make('shorter', 10).file));
  await page.goto('/');
  const banner = page.locator('.banner');
  await banner.getByText(/2 client certificates expire within 30 days/).waitFor();
  assert.equal(await banner.getByRole('link', { name: 'shorter' }).getAttribute('href'), '/ui/job/s/g/c/shorter');
  await accessible(page);
  await banner.getByRole('link', { name: 'All certificates' }).click();
  const rows = page.getByRole('table', { name: /Client certificates/ }).locator('tbody tr');
  await rows.first().waitFor();
  const texts = await rows.allTextContents();
  assert.match(texts[0], /soon.*shorter.*CN=shorter/);
  assert.match(texts[1], /soon.*short.*CN=short/);
  assert.ok(
    texts.slice(2).every((text) => !text.includes('soon')),
    texts.join('\n'),
  );
  await accessible(page);
  assert.deepEqual(page.wrong, []);
});
