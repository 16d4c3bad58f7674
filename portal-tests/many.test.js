'use strict';
// More than ten thousand jobs: found, sorted, turned over page by page, and changed many at a time.

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { client, startBrowser, startServer, until } = require('./world.js');

const COLLECTIONS = 11;
const EACH = 1000;

let server, browser, api;

before(async () => {
  [server, browser] = await Promise.all([startServer(), startBrowser()]);
  api = client(server.url);
  const resources = [];
  for (let at = 0; at < COLLECTIONS; at += 1) {
    const collection = `c${String(at).padStart(2, '0')}`;
    resources.push({
      type: 'Microsoft.Scheduler/jobCollections',
      apiVersion: '2016-03-01',
      name: collection,
      location: 'Local',
      properties: { sku: { name: 'P20Premium' } },
    });
    for (let number = 0; number < EACH; number += 1) {
      resources.push({
        type: 'Microsoft.Scheduler/jobCollections/jobs',
        apiVersion: '2016-03-01',
        name: `${collection}/job-${String(at * EACH + number).padStart(5, '0')}`,
        dependsOn: [`[resourceId('Microsoft.Scheduler/jobCollections', '${collection}')]`],
        properties: {
          startTime: '2027-10-01T00:00:00Z',
          action: { type: 'Http', request: { method: 'GET', uri: 'http://127.0.0.1:1/' } },
          recurrence: { frequency: 'day' },
        },
      });
    }
  }
  const { status, body } = await api.call('POST', '/api/import?subscription=s&group=g', {
    $schema: 'https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#',
    contentVersion: '1.0.0.0',
    resources,
  });
  assert.equal(status, 200, JSON.stringify(body).slice(0, 500));
});
after(async () => {
  await browser?.stop();
  await server?.stop();
});

test('a list of ten thousand jobs is used like one of ten', async () => {
  const page = await browser.page(server.url);
  await page.goto('/ui/jobs');
  await page.getByText('1–50 of 11 000').or(page.getByText('1–50 of 11\u202f000')).waitFor();
  assert.equal(await page.locator('table.jobs tbody tr').count(), 50);
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('button', { name: 'Next' }).click();
  await page.getByRole('link', { name: 'job-00050' }).waitFor();
  await page.getByLabel('Search jobs').fill('job-07777');
  await page.getByRole('link', { name: 'job-07777' }).waitFor();
  await page.getByText('1 in all').waitFor();
  await page.getByLabel('Search jobs').fill('');
  await page.getByRole('button', { name: 'Job', exact: true }).click();
  await page.getByRole('link', { name: 'job-10999' }).waitFor();
  // The address says it all.
  await page.reload();
  await page.getByRole('link', { name: 'job-10999' }).waitFor();
  assert.deepEqual(page.wrong, []);
});

test('many are switched off at once, and those that fail are named', async () => {
  const page = await browser.page(server.url, { expected: [/status of 404/] });
  await page.goto('/ui/jobs?search=job-001');
  await page.getByRole('link', { name: 'job-00100' }).waitFor();
  await page.getByLabel('Choose all on this page').check();
  await page.getByRole('button', { name: 'Choose all 100' }).click();
  await page.getByText('100 chosen').waitFor();
  // One of them goes while they are chosen.
  assert.equal(
    (
      await api.call(
        'DELETE',
        '/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c00/jobs/job-00123?api-version=2016-03-01',
      )
    ).status,
    200,
  );
  await page.getByRole('group', { name: 'Chosen jobs' }).getByRole('button', { name: 'Disable' }).click();
  const dialog = page.getByRole('dialog', { name: 'Disable 100 jobs' });
  await dialog.getByText('99 jobs done, 1 failed.').waitFor();
  await dialog.getByText('job-00123').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByLabel('State').selectOption('disabled');
  await page.getByText('1–50 of 99').waitFor();
  const { body } = await api.call('GET', '/api/jobs?state=disabled&top=1');
  assert.equal(body.total, 99);
  assert.deepEqual(page.wrong, []);
});

test('many are deleted at once', async () => {
  const page = await browser.page(server.url);
  await page.goto('/ui/jobs?search=job-0100');
  await page.getByRole('link', { name: 'job-01000' }).waitFor();
  await page.getByLabel('Choose all on this page').check();
  await page.getByRole('group', { name: 'Chosen jobs' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('10 jobs are deleted').waitFor();
  const left = async () => (await api.call('GET', '/api/jobs?search=job-0100&top=1')).body.total;
  assert.equal(await left(), 10);
  await until('they are gone', async () => (await left()) === 0);
  await page.getByText('No job matches').waitFor();
  assert.deepEqual(page.wrong, []);
});
