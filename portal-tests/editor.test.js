'use strict';
// The editor: the form and the JSON are one, faults stand at their fields, secrets stay, and two editors do not overwrite
// each other.

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { client, startBrowser, startServer, startTarget, until } = require('./world.js');

let server, target, browser, api;
const place = { subscription: 's', group: 'g', collection: 'c' };

before(async () => {
  [server, target, browser] = await Promise.all([startServer(), startTarget(), startBrowser()]);
  api = client(server.url);
  await api.collection(place, { properties: { sku: { name: 'Standard' } } });
});
after(async () => {
  await browser?.stop();
  target?.stop();
  await server?.stop();
});

const weekly = () => ({
  properties: {
    startTime: '2027-01-01T00:00:00Z',
    action: {
      type: 'Http',
      request: {
        method: 'POST',
        uri: `${target.url}/a`,
        headers: { 'X-One': '1' },
        body: 'b',
        authentication: { type: 'Basic', username: 'clerk', password: 'a secret' },
      },
      errorAction: { type: 'Http', request: { method: 'GET', uri: `${target.url}/error` } },
    },
    recurrence: {
      frequency: 'week',
      timeZone: 'Europe/Paris',
      schedule: { weekDays: ['monday'], hours: [9], minutes: [7] },
    },
    overlap: 'queue',
    catchUp: { policy: 'all', max: 7 },
  },
});

const open = async (page, job) => {
  await page.goto(`/ui/edit/s/g/c/${job}`);
  await page.getByRole('heading', { level: 1, name: job }).waitFor();
};

test('a job that is opened and saved with one change keeps everything else, and its secret', async () => {
  const names = { ...place, job: 'kept' };
  await api.job(names, weekly());
  const old = (await api.read(names)).body;
  const page = await browser.page(server.url);
  await open(page, 'kept');
  await page.getByLabel('At hours, as a list').fill('17');
  await page
    .getByRole('complementary')
    .getByText(/17:07 Europe\/Paris/)
    .waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('link', { name: 'Duplicate' }).waitFor();
  const now = (await api.read(names)).body;
  old.properties.recurrence.schedule.hours = [17];
  delete old.properties.status;
  delete now.properties.status;
  assert.deepEqual(now, old);
  await api.run(names);
  await until('it was called', () => target.calls.length > 0);
  assert.equal(target.calls.at(-1).headers.authorization, `Basic ${Buffer.from('clerk:a secret').toString('base64')}`);
  assert.deepEqual(page.wrong, []);
});

test('form and JSON show the same draft, both ways', async () => {
  await api.job({ ...place, job: 'both' }, weekly());
  const page = await browser.page(server.url);
  await open(page, 'both');
  await page.getByLabel('Body').first().fill('from the form');
  await page.getByRole('tab', { name: 'JSON' }).click();
  const input = page.getByLabel('The job as JSON');
  const draft = JSON.parse(await input.inputValue());
  assert.equal(draft.properties.action.request.body, 'from the form');
  assert.equal(draft.properties.status, undefined);
  draft.properties.recurrence = { cron: '15 4 * * SAT', timeZone: 'Asia/Tokyo' };
  await input.fill(JSON.stringify(draft));
  await page
    .getByRole('complementary')
    .getByText(/Saturday at 04:15 Asia\/Tokyo/)
    .waitFor();
  await input.fill('{"properties": ');
  await page.getByText(/^Not right yet/).waitFor();
  assert.ok(await page.getByRole('button', { name: 'Save' }).isDisabled());
  await input.fill(JSON.stringify(draft));
  await page.getByRole('tab', { name: 'Form' }).click();
  assert.equal(await page.getByLabel('Expression').inputValue(), '15 4 * * SAT');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('link', { name: 'Duplicate' }).waitFor();
  const { properties } = (await api.read({ ...place, job: 'both' })).body;
  assert.deepEqual(properties.recurrence, { cron: '15 4 * * SAT', timeZone: 'Asia/Tokyo' });
  assert.equal(properties.overlap, 'queue');
  assert.deepEqual(page.wrong, []);
});

test('every part of a recurrence can be clicked together', async () => {
  const page = await browser.page(server.url);
  await page.goto('/ui/new-job');
  await page.getByLabel('Name', { exact: true }).first().fill('clicked');
  await page.getByLabel('Address').fill(`${target.url}/c`);
  await page.getByRole('radio', { name: 'Months' }).check();
  await page.getByLabel('Every', { exact: true }).fill('3');
  await page.getByRole('button', { name: /Add a weekday/ }).click();
  await page.getByLabel('Which').selectOption('2');
  await page.getByLabel('Day', { exact: true }).selectOption('tuesday');
  await page.getByRole('group', { name: 'At hours' }).getByRole('checkbox', { name: '06' }).check();
  await page.getByRole('group', { name: 'At minutes' }).getByRole('checkbox', { name: '45' }).check();
  await page.getByLabel('Time zone').fill('America/New_York');
  await page.getByLabel('Time zone').press('Tab');
  await page.getByLabel('After so many runs').fill('12');
  await page.getByLabel('When a time comes twice').selectOption('both');
  await page.getByLabel(/^Starts/).fill('2027-02-01T00:00');
  await page.getByLabel(/^Starts/).press('Tab');
  await page.getByLabel('After an outage').selectOption('all');
  await page.getByLabel('How many at most').fill('4');
  await page
    .getByRole('complementary')
    .getByText(/second Tuesday/)
    .waitFor();
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: 'Duplicate' }).waitFor();
  const { properties } = (await api.read({ ...place, job: 'clicked' })).body;
  assert.deepEqual(properties.recurrence, {
    frequency: 'month',
    count: 12,
    interval: 3,
    timeZone: 'America/New_York',
    dst: { fold: 'both' },
    schedule: { minutes: [0, 45], hours: [6, 9], monthlyOccurrences: [{ day: 'tuesday', occurrence: 2 }] },
  });
  assert.equal(properties.startTime, '2027-02-01T05:00:00Z');
  assert.deepEqual(properties.catchUp, { policy: 'all', max: 4 });
  assert.deepEqual(page.wrong, []);
});

const SECONDS = { minute: 60, hour: 3600, day: 86_400, week: 7 * 86_400 };

/** How far apart runs are, in a unit of the calendar: some days have an hour less. */
function apart(frequency, from, to) {
  if (frequency !== 'month') return Math.round((to - from) / 1000 / SECONDS[frequency]);
  const months = (at) => at.getUTCFullYear() * 12 + at.getUTCMonth();
  return months(to) - months(from);
}

test('every frequency runs as often as its button says', async () => {
  for (const [frequency, button] of [
    ['minute', 'Minutes'],
    ['hour', 'Hours'],
    ['day', 'Days'],
    ['week', 'Weeks'],
    ['month', 'Months'],
  ])
    for (const every of [1, 2]) {
      const name = `${frequency}-${every}`;
      const page = await browser.page(server.url);
      await page.goto('/ui/new-job');
      await page.getByLabel('Name', { exact: true }).first().fill(name);
      await page.getByLabel('Address').fill(`${target.url}/f`);
      // On the first of a month, since not every month has a 31st.
      await page.getByLabel(/^Starts/).fill('2027-02-01T00:00');
      await page.getByLabel(/^Starts/).press('Tab');
      // There and back: what another button left behind must not count.
      for (const other of ['Minutes', 'Days', button]) await page.getByRole('radio', { name: other }).check();
      await page.getByLabel('Every', { exact: true }).fill(String(every));
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('link', { name: 'Duplicate' }).waitFor();
      const { id } = (await api.read({ ...place, job: name })).body;
      const upcoming = await (await fetch(`${server.url}/api/upcoming?job=${encodeURIComponent(id)}&count=10`)).json();
      const runs = upcoming.occurrences.map(({ at }) => new Date(at));
      assert.equal(runs.length, 10, name);
      for (const [i, at] of runs.slice(1).entries()) assert.equal(apart(frequency, runs[i], at), every, name);
      assert.deepEqual(page.wrong, []);
      await page.close();
    }
});

test('faults stand at their fields, and nothing is lost', async () => {
  const page = await browser.page(server.url, { expected: [/status of 400/] });
  await page.goto('/ui/new-job');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('A job needs a name.').waitFor();
  await page.getByLabel('Name', { exact: true }).first().fill('faulty');
  await page.getByLabel('Address').fill('nowhere');
  await page.getByLabel('At minutes, as a list').fill('75');
  await page.getByRole('complementary').getByText('This cannot run yet').waitFor();
  await page.locator('fieldset[data-path="properties.recurrence.schedule.minutes"] .fault').getByText(/75/).waitFor();
  await page.getByRole('button', { name: 'Create' }).click();
  const address = page.locator('[data-path="properties.action.request.uri"]');
  await address
    .locator('.fault')
    .getByText(/nowhere/)
    .waitFor();
  assert.equal(await page.getByLabel('Address').getAttribute('aria-invalid'), 'true');
  assert.equal((await api.read({ ...place, job: 'faulty' })).status, 404);
  await page.getByLabel('Address').fill(`${target.url}/f`);
  await page.getByLabel('At minutes, as a list').fill('5');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { level: 1, name: 'faulty' }).waitFor();
  assert.deepEqual(page.wrong, []);
});

test('a name that is taken is not overwritten', async () => {
  const names = { ...place, job: 'taken' };
  await api.job(names, weekly());
  const page = await browser.page(server.url, { expected: [/status of 412/] });
  await page.goto('/ui/new-job');
  await page.getByLabel('Name', { exact: true }).first().fill('taken');
  await page.getByLabel('Address').fill(`${target.url}/mine`);
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText(/A job of this name is there already/).waitFor();
  assert.equal((await api.read(names)).body.properties.action.request.uri, `${target.url}/a`);
  assert.deepEqual(page.wrong, []);
});

test('two who edit one job: the second is asked', async () => {
  const names = { ...place, job: 'contested' };
  await api.job(names, weekly());
  const page = await browser.page(server.url, { expected: [/status of 412/] });
  await open(page, 'contested');
  await page.getByLabel('Body').first().fill('mine');
  const theirs = weekly();
  theirs.properties.action.request.body = 'theirs';
  await api.job(names, theirs);
  await page.getByRole('button', { name: 'Save' }).click();
  const dialog = page.getByRole('dialog', { name: 'Somebody else has changed this job' });
  await dialog.getByRole('button', { name: 'Keep editing' }).click();
  assert.equal((await api.read(names)).body.properties.action.request.body, 'theirs');
  await page.getByRole('button', { name: 'Save' }).click();
  await dialog.getByRole('button', { name: 'Show me theirs' }).click();
  await page.waitForFunction(() => document.querySelector('textarea').value === 'theirs');
  await page.getByLabel('Body').first().fill('mine again');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('link', { name: 'Duplicate' }).waitFor();
  assert.equal((await api.read(names)).body.properties.action.request.body, 'mine again');
  assert.deepEqual(page.wrong, []);
});

test('changes that are not saved are not lost by a click', async () => {
  await api.job({ ...place, job: 'unsaved' }, weekly());
  const page = await browser.page(server.url);
  const asked = [];
  let answer = false;
  page.on('dialog', (dialog) => {
    asked.push(dialog.message());
    return answer ? dialog.accept() : dialog.dismiss();
  });
  await open(page, 'unsaved');
  await page.getByLabel('Body').first().fill('changed');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Jobs' }).click();
  assert.equal(asked.length, 1);
  assert.equal(await page.getByLabel('Body').first().inputValue(), 'changed');
  answer = true;
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Jobs' }).click();
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
  assert.equal(asked.length, 2);
  assert.deepEqual(page.wrong, []);
});

test('a test call is one call and leaves no trace', async () => {
  const names = { ...place, job: 'tried' };
  await api.job(names, weekly());
  const page = await browser.page(server.url);
  await open(page, 'tried');
  await page.getByLabel('Address').first().fill(`${target.url}/only-a-test`);
  await page.getByRole('button', { name: 'Send a test call now' }).first().click();
  await page.locator('.test-result').first().getByText('thank you').waitFor();
  const calls = target.calls.filter(({ path }) => path === '/only-a-test');
  assert.equal(calls.length, 1);
  // The secret came from the job that is stored.
  assert.equal(calls[0].headers.authorization, `Basic ${Buffer.from('clerk:a secret').toString('base64')}`);
  assert.deepEqual(await api.history(names), []);
  assert.deepEqual(page.wrong, []);
});

test('actions of every type can be written', async () => {
  const page = await browser.page(server.url);
  const start = async (name, type) => {
    await page.goto('/ui/new-job');
    await page.getByLabel('Name', { exact: true }).first().fill(name);
    await page.getByLabel('Action', { exact: true }).selectOption(type);
  };
  const finish = async (name) => {
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('link', { name: 'Duplicate' }).waitFor();
    await page.getByRole('link', { name: 'Action settings' }).click();
    await page.locator('.facts').first().waitFor();
    return (await api.read({ ...place, job: name })).body.properties.action;
  };
  await start('signed', 'Http');
  await page.getByLabel('Address').fill(`${target.url}/signed`);
  await page.getByLabel('Authentication').selectOption('Hmac');
  await page.getByRole('button', { name: 'Make one' }).click();
  assert.deepEqual((await finish('signed')).request.authentication, { type: 'Hmac', secretCount: 1 });
  await start('queue', 'StorageQueue');
  await page.getByLabel('Storage account').fill('orders');
  await page.getByLabel('Queue', { exact: true }).fill('nightly');
  await page.getByLabel('SAS token').fill('?sv=2019-02-02&sp=a&sig=x');
  await page.getByLabel('Message', { exact: true }).fill('make the report');
  assert.deepEqual(await finish('queue'), {
    type: 'StorageQueue',
    queueMessage: { storageAccount: 'orders', queueName: 'nightly', message: 'make the report' },
  });
  for (const [type, member, label, field] of [
    ['ServiceBusQueue', 'serviceBusQueueMessage', 'Queue', 'queueName'],
    ['ServiceBusTopic', 'serviceBusTopicMessage', 'Topic', 'topicPath'],
  ]) {
    await start(type, type);
    await page.getByLabel('Namespace').fill('shop');
    await page.getByLabel(label, { exact: true }).fill('orders');
    await page.getByLabel('Key name').fill('sender');
    await page.getByLabel('Key', { exact: true }).fill('c2VjcmV0');
    await page.getByLabel('Message', { exact: true }).fill('hello');
    await page.getByRole('button', { name: 'Add a property' }).click();
    await page.getByLabel('Property').first().fill('label');
    await page.getByLabel('Value', { exact: true }).first().fill('nightly');
    assert.deepEqual(await finish(type), {
      type,
      [member]: {
        namespace: 'shop',
        [field]: 'orders',
        transportType: 'amqp',
        authentication: { type: 'sharedAccessKey', sasKeyName: 'sender' },
        message: 'hello',
        brokeredMessageProperties: { label: 'nightly' },
      },
    });
  }
  assert.deepEqual(page.wrong, []);
});
