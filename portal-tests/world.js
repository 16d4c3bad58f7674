'use strict';
// The world of a test: the real binary on a free port, a real target that can be broken, and a browser that notes everything
// that must not happen.

const assert = require('node:assert/strict');
const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { chromium } = require('playwright-core');

const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
];
/** The longest that a condition may take to come true, in milliseconds: far more than it needs. */
const PATIENCE = 120_000;

/** Waits for a condition. */
async function until(what, condition, patience = PATIENCE) {
  const deadline = performance.now() + patience;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`after ${patience} ms still not so: ${what}`);
    await sleep(50);
  }
}

/** A server that runs until `stop`; `settings` are variables of its environment, `data` names its folder. */
async function startServer(more = [], { data = 'punctual-data', ...settings } = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'punctual-portal-'));
  const log = fs.openSync(path.join(folder, 'log'), 'w');
  // What the reader's machine adds to the environment must not decide what the server does.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PUNCTUAL_')));
  const child = spawn(process.env.BINARY, ['serve', '--listen', '127.0.0.1:0', '--data', data, ...more], {
    stdio: ['ignore', 'pipe', log],
    cwd: folder,
    env: { ...env, ...settings },
  });
  const said = await new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (piece) => {
      text += piece;
      if (text.includes('\n')) resolve(text);
    });
    child.on('exit', (status) =>
      reject(new Error(`the server ended with ${status}: ${fs.readFileSync(path.join(folder, 'log'), 'utf8')}`)),
    );
  });
  const url = / serves (http:\/\/\S+)/.exec(said)[1];
  const ended = once(child, 'exit');
  return {
    url,
    /** As a power cut would. */
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
      fs.rmSync(folder, { recursive: true, force: true });
    },
    stop: async () => {
      child.kill('SIGTERM');
      const [status] = await ended;
      const wrong = fs
        .readFileSync(path.join(folder, 'log'), 'utf8')
        .split('\n')
        .filter((line) => / ERROR |panicked/.test(line));
      fs.rmSync(folder, { recursive: true, force: true });
      if (status !== 0 || wrong.length)
        throw new Error(`the server ended with ${status}; its log: ${wrong.join('\n')}`);
    },
  };
}

/** A target: answers with `status` and `body`, with 503 where it is `failing`, not at all where it is `held`; it keeps what it was asked. */
async function startTarget() {
  const target = { status: 200, body: 'thank you', calls: [], failing: new Set(), held: new Set() };
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      target.calls.push({ method: request.method, path: request.url, headers: request.headers, body });
      if (target.held.has(request.url)) return;
      response.writeHead(target.failing.has(request.url) ? 503 : target.status, {
        'content-type': 'text/plain; charset=utf-8',
      });
      response.end(target.body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  target.url = `http://127.0.0.1:${server.address().port}`;
  target.stop = () => {
    server.close();
    server.closeAllConnections();
  };
  return target;
}

/** Runs SQL on the PostgreSQL server that the environment names. */
function sql(text) {
  const beside = path.join(process.env.TEST_POSTGRES_BIN ?? '', 'psql');
  const psql = fs.existsSync(beside) ? beside : 'psql';
  const quiet = ['--quiet', '--no-psqlrc', '--set=ON_ERROR_STOP=1'];
  execFileSync(psql, [...quiet, `--command=${text}`, process.env.PUNCTUAL_TEST_POSTGRES], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

/** A browser; `page()` opens one that notes what must not happen, such as a request to anybody but us and `others`. */
async function startBrowser() {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
  return {
    stop: () => browser.close(),
    page: async (url, { width = 1280, height = 800, scheme = 'light', expected = [], others = [] } = {}) => {
      const context = await browser.newContext({
        baseURL: url,
        viewport: { width, height },
        colorScheme: scheme,
        reducedMotion: 'reduce',
        timezoneId: 'Europe/Berlin',
        locale: 'en-GB',
        ignoreHTTPSErrors: others.length > 0,
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE);
      const wrong = [];
      const origin = new URL(url).origin;
      page.on('console', (message) => {
        if (!['error', 'warning'].includes(message.type())) return;
        const text = `${message.text()} ${message.location().url ?? ''}`;
        // A refusal that a test asks for is written to the console by the browser itself.
        if (!expected.some((known) => known.test(text))) wrong.push(`console: ${text}`);
      });
      page.on('pageerror', (error) => wrong.push(`error: ${error.stack}`));
      page.on('request', (request) => {
        const asked = new URL(request.url());
        if (asked.protocol.startsWith('http') && ![origin, ...others].includes(asked.origin))
          wrong.push(`request to ${asked.origin}`);
      });
      await context.addInitScript(() => {
        addEventListener('securitypolicyviolation', (event) =>
          console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
        );
      });
      // Whoever leaves a page amid its loading breaks the loading off, which is then an error of the test's own making.
      for (const way of ['goto', 'reload']) {
        const leave = page[way].bind(page);
        page[way] = async (...rest) => {
          await page.locator('.loading').first().waitFor({ state: 'hidden' });
          return leave(...rest);
        };
      }
      page.wrong = wrong;
      page.expected = expected;
      return page;
    },
  };
}

/** Whoever cannot see or cannot point can use the page, and nobody has to scroll sideways. */
async function accessible(page) {
  const scrolls = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  assert.ok(scrolls <= 0, `it scrolls sideways by ${scrolls} pixels`);
  // The policy of the page does not let a script of somebody else in; the debugger may bring it.
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: AXE });
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  assert.deepEqual(
    grave.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map((node) => node.html)]),
    [],
  );
}

/** The API, as a client that is no browser uses it. */
function client(url) {
  const call = async (method, where, body) => {
    const response = await fetch(url + where, {
      method,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: text ? JSON.parse(text) : null };
  };
  const base = (names) =>
    `/subscriptions/${names.subscription ?? 's'}/resourceGroups/${names.group ?? 'g'}/providers/Microsoft.Scheduler/jobCollections/${names.collection}`;
  const version = 'api-version=2016-03-01';
  const done = async (method, where, body) => {
    const answer = await call(method, where, body);
    if (answer.status >= 300) throw new Error(`${method} ${where}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  return {
    call,
    collection: (names, body = {}) => done('PUT', `${base(names)}?${version}`, { location: 'Local', ...body }),
    job: (names, body) => done('PUT', `${base(names)}/jobs/${names.job}?${version}`, body),
    read: (names) => call('GET', `${base(names)}${names.job ? `/jobs/${names.job}` : ''}?${version}`),
    run: (names) => done('POST', `${base(names)}/jobs/${names.job}/run?${version}`),
    history: async (names) => (await done('GET', `${base(names)}/jobs/${names.job}/history?${version}`)).value,
  };
}

module.exports = { accessible, client, sql, startBrowser, startServer, startTarget, until };
