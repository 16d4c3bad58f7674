'use strict';
// The life of a job, by clicking and by keys: from nothing to a job that runs, fails, is changed, switched off and deleted.

const assert = require('node:assert/strict');
const { after, before, test } = require('node:test');
const { client, startBrowser, startServer, startTarget, until } = require('./world.js');

let server, target, browser;

before(async () => {
  [server, target, browser] = await Promise.all([startServer(), startTarget(), startBrowser()]);
});
after(async () => {
  await browser?.stop();
  target?.stop();
  await server?.stop();
});

/** A step of a journey: those after it need it, so the first that fails ends it. */
async function step(name, walk) {
  try {
    await walk();
  } catch (error) {
    error.message = `${name}: ${error.message}`;
    throw error;
  }
}

const first = { subscription: 'default', group: 'default', collection: 'jobs', job: 'hello' };

test('a newcomer makes a job by clicking, and sees it live', async () => {
  const page = await browser.page(server.url);
  const api = client(server.url);
  await page.goto('/');
  await page.getByRole('main').getByText('Nothing is scheduled yet').waitFor();
  await page.evaluate(() => {
    window.sameDocument = true;
  });

  await step('a collection and a job, without knowing what a collection is', async () => {
    await page.getByRole('main').getByRole('link', { name: 'New job' }).click();
    await page.getByLabel('Name', { exact: true }).first().fill('hello');
    await page.getByLabel('Address').fill(`${target.url}/hello`);
    await page.getByLabel('Retries', { exact: true }).selectOption('fixed');
    await page.getByLabel('How often').fill('1');
    await page.getByLabel('Time between').fill('PT15S');
    await page.getByRole('radio', { name: 'Minutes' }).check();
    await page.getByLabel('Only in hours, as a list').fill('');
    await page.getByLabel('Only at minutes, as a list').fill('');
    await page.getByLabel(/^Starts/).fill('');
    const preview = page.getByRole('complementary', { name: 'When it will run' });
    await preview
      .getByText(/every minute/i)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { level: 1, name: 'hello' }).waitFor();
  });

  await step('its first run appears without a reload', async () => {
    await page.locator('.badge', { hasText: 'Completed' }).first().waitFor();
    assert.ok(target.calls.some(({ path }) => path === '/hello'));
    assert.equal(await page.evaluate(() => window.sameDocument), true);
  });

  await step('all of a run can be read and copied', async () => {
    await page.getByRole('link', { name: 'History' }).click();
    await page
      .getByRole('button', { name: /^Details of the attempt/ })
      .first()
      .click();
    await page.locator('.details:not([hidden]) pre').getByText('thank you').waitFor();
    await page.locator('.details:not([hidden])').getByRole('button', { name: 'Copy the message' }).click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /thank you/);
  });

  await step('the target breaks: the failure and the retry appear', async () => {
    target.status = 500;
    const known = (await api.history(first)).length;
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('cell', { name: 'Failed' }).first().waitFor();
    await page.getByRole('cell', { name: 'Retry 1' }).first().waitFor();
    assert.ok((await api.history(first)).length >= known + 2);
    await page.getByLabel('Outcome').selectOption('Completed');
    await page.getByRole('cell', { name: 'Failed' }).first().waitFor({ state: 'detached' });
    target.status = 200;
  });

  await step('home knows', async () => {
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Home' }).click();
    await page
      .locator('.verdict.bad')
      .getByText(/faulted in the last hour/)
      .waitFor();
    await page.getByRole('heading', { name: 'Did not run' }).waitFor();
    await page.locator('.card', { hasText: 'Did not run' }).getByText('Faulted').first().waitFor();
    await page.getByRole('link', { name: 'All of them, and why' }).click();
    await page
      .getByRole('cell', { name: /attempt/i })
      .first()
      .waitFor();
  });

  await step('another schedule', async () => {
    await page.goto('/ui/job/default/default/jobs/hello');
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByRole('radio', { name: 'Weeks' }).check();
    await page.getByRole('group', { name: 'Days of the week' }).getByRole('checkbox', { name: 'Fri' }).check();
    await page.getByLabel('At hours, as a list').fill('18');
    await page.getByLabel('At minutes, as a list').fill('30');
    await page
      .getByRole('complementary')
      .getByText(/every Friday at 18:30/i)
      .waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Schedule' }).click();
    await page.getByRole('heading', { name: /every Friday at 18:30/i }).waitFor();
    const { body } = await api.read(first);
    assert.deepEqual(body.properties.recurrence.schedule, { minutes: [30], hours: [18], weekDays: ['friday'] });
    assert.equal(body.properties.action.retryPolicy.retryInterval, 'PT15S');
  });

  await step('off and on', async () => {
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.locator('.head').getByText('Disabled', { exact: true }).waitFor();
    assert.equal((await api.read(first)).body.properties.state, 'disabled');
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.locator('.head').getByText('Enabled', { exact: true }).waitFor();
  });

  await step('deleted, and taken back', async () => {
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('hello is deleted').waitFor();
    await page.getByText('No jobs yet').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    // It is back without a reload.
    await page.getByRole('link', { name: 'hello' }).waitFor();
    await page.goto('/ui/jobs');
    await page.getByRole('link', { name: 'hello' }).waitFor();
    assert.equal((await api.read(first)).status, 200);
  });

  await step('deleted, and carried out when the portal is left', async () => {
    await page.getByRole('button', { name: 'Delete hello' }).click();
    await page.getByText('hello is deleted').waitFor();
    assert.equal((await api.read(first)).status, 200);
    await page.goto('about:blank');
    await until('the job is gone', async () => (await api.read(first)).status === 404);
  });
  assert.deepEqual(page.wrong, []);
});

test('the same without a pointer', async () => {
  const page = await browser.page(server.url);
  const api = client(server.url);
  await api.collection({ ...first, collection: 'jobs' }, { properties: { sku: { name: 'Standard' } } });
  /** Presses Tab until something with this name has the focus. */
  const tabTo = async (name, key = 'Tab') => {
    for (let pressed = 0; pressed < 200; pressed += 1) {
      await page.keyboard.press(key);
      const focused = await page.evaluate(() => {
        const element = document.activeElement;
        const label = element.labels?.[0]?.textContent ?? '';
        return {
          name: element.getAttribute('aria-label') ?? (label || element.textContent || ''),
          visible: getComputedStyle(element).outlineStyle,
        };
      });
      if (focused.name.trim().match(name)) return;
    }
    throw new Error(`Tab does not lead to ${name}`);
  };
  await page.goto('/');
  await page.getByRole('main').locator('.verdict').waitFor();
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  await page.keyboard.press('n');
  await page.getByRole('heading', { level: 1, name: 'New job' }).waitFor();
  await tabTo(/^Name$/);
  await page.keyboard.type('by-keys');
  await tabTo(/^Address$/);
  await page.keyboard.type(`${target.url}/keys`);
  await tabTo(/^Days$/);
  await page.keyboard.press('ArrowRight');
  await page
    .getByRole('complementary')
    .getByText(/week|Every/)
    .first()
    .waitFor();
  await tabTo(/^Mon$/);
  await page.keyboard.press('Space');
  await page
    .getByRole('complementary')
    .getByText(/^Every Monday/)
    .waitFor();
  await tabTo(/^Create$/, 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'by-keys' }).waitFor();

  await tabTo(/^Run now$/);
  await page.keyboard.press('Enter');
  await page.locator('.badge', { hasText: 'Completed' }).first().waitFor();
  await tabTo(/^History$/);
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: 'Completed' }).first().waitFor();
  await tabTo(/^Details of the attempt/);
  await page.keyboard.press('Enter');
  await page.locator('.details:not([hidden]) pre').waitFor();

  await page.keyboard.press('g');
  await page.keyboard.press('j');
  await page.getByRole('link', { name: 'by-keys' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('by-k');
  await tabTo(/^Disable by-keys$/);
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: 'Disabled' }).waitFor();
  await tabTo(/^Delete by-keys$/);
  await page.keyboard.press('Enter');
  await page.getByText('by-keys is deleted').waitFor();
  await tabTo(/^Undo$/);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'by-keys' }).waitFor();
  assert.equal((await api.read({ ...first, job: 'by-keys' })).status, 200);
  assert.deepEqual(page.wrong, []);
});
