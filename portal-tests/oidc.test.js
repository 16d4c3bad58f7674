'use strict';
// Signing in at an issuer: a small one that does what real ones do, with TLS, keys, codes that are good for once, and PKCE.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const https = require('node:https');
const os = require('node:os');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { startBrowser, startServer } = require('./world.js');

const CLIENT = 'punctual portal';
const SECRET = 's3cr3t & more';

let server, browser, issuer, folder;

/** A certificate for localhost, of an authority of its own. */
function certify() {
  const run = (...args) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  run('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=ca');
  run('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'key.pem', '-out', 'request.pem', '-subj', '/CN=localhost');
  fs.writeFileSync(path.join(folder, 'names'), 'subjectAltName=DNS:localhost\n');
  run(
    ...['x509', '-req', '-in', 'request.pem', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
    ...['-extfile', 'names', '-out', 'certificate.pem'],
  );
}

async function startIssuer() {
  const { privateKey, publicKey } = crypto.generateKeyPairSync('rsa', { modulusLength: 2048 });
  const codes = new Map();
  const read = (name) => fs.readFileSync(path.join(folder, name));
  const hash = (text) => crypto.createHash('sha256').update(text).digest('base64url');
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const found = { signedIn: 0 };

  const exchange = (form) => {
    const code = codes.get(form.get('code'));
    codes.delete(form.get('code'));
    const isRight =
      code &&
      form.get('grant_type') === 'authorization_code' &&
      form.get('client_id') === CLIENT &&
      form.get('client_secret') === SECRET &&
      form.get('redirect_uri') === code.redirect_uri &&
      hash(form.get('code_verifier')) === code.code_challenge;
    if (!isRight) return null;
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: found.url, aud: CLIENT, sub: 's-1', oid: 'o-1', preferred_username: 'ann@x.test' };
    const body = { ...claims, nonce: code.nonce, iat: now, exp: now + 300 };
    const signed = `${encode({ alg: 'RS256', kid: 'k1', typ: 'JWT' })}.${encode(body)}`;
    found.signedIn += 1;
    return {
      token_type: 'Bearer',
      id_token: `${signed}.${crypto.sign('sha256', signed, privateKey).toString('base64url')}`,
    };
  };

  const answer = (request, form) => {
    const { pathname, searchParams } = new URL(request.url, found.url);
    if (pathname === '/.well-known/openid-configuration')
      return {
        issuer: found.url,
        jwks_uri: `${found.url}/keys`,
        authorization_endpoint: `${found.url}/authorize`,
        token_endpoint: `${found.url}/token`,
      };
    if (pathname === '/keys') return { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1', use: 'sig' }] };
    if (pathname === '/token') return exchange(form);
    // Where people type their password, and somebody did.
    const code = crypto.randomUUID();
    codes.set(code, Object.fromEntries(searchParams));
    return `${searchParams.get('redirect_uri')}?code=${code}&state=${searchParams.get('state')}`;
  };

  const listener = https.createServer({ key: read('key.pem'), cert: read('certificate.pem') }, (request, response) => {
    let text = '';
    request.on('data', (part) => (text += part));
    request.on('end', () => {
      const told = answer(request, new URLSearchParams(text));
      if (typeof told === 'string') {
        // A person takes a moment, and goes on by a link.
        response.writeHead(200, { 'content-type': 'text/html' });
        response.end(
          `<!doctype html><title>Issuer</title><a href="${told.replaceAll('&', '&amp;')}">Yes, it is me</a>`,
        );
        return;
      }
      response.writeHead(told ? 200 : 400, { 'content-type': 'application/json' });
      response.end(JSON.stringify(told ?? { error: 'invalid_grant' }));
    });
  });
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  found.url = `https://localhost:${listener.address().port}`;
  found.stop = () => listener.close();
  return found;
}

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'punctual-oidc-'));
  certify();
  issuer = await startIssuer();
  const settings = path.join(folder, 'punctual.toml');
  fs.writeFileSync(path.join(folder, 'secret'), `${SECRET}\n`);
  fs.writeFileSync(
    settings,
    `[auth]
enabled = true
owners = ["user:o-1"]
[auth.oidc]
issuer = "${issuer.url}"
client-id = "${CLIENT}"
client-secret-file = "${path.join(folder, 'secret')}"
[tls]
ca-file = "${path.join(folder, 'ca.pem')}"
`,
  );
  server = await startServer(['--config', settings], { data: path.join(folder, 'data') });
  browser = await startBrowser();
});

after(async () => {
  await browser?.stop();
  await server?.stop();
  issuer?.stop();
  fs.rmSync(folder, { recursive: true, force: true });
});

test('somebody signs in at the issuer and goes on where they were', async () => {
  const page = await browser.page(server.url, { expected: [/401/], others: [issuer.url] });
  const context = page.context();
  await page.goto('/ui/audit?days=any');
  await page.getByRole('link', { name: /Sign in with localhost/ }).click();
  await page.getByRole('link', { name: 'Yes, it is me' }).click();
  await page.getByRole('heading', { name: 'Audit' }).waitFor();
  assert.match(page.url(), /\/ui\/audit\?days=any$/);
  await page.locator('table tbody tr', { hasText: 'ann@x.test' }).first().waitFor();
  assert.equal(issuer.signedIn, 1);
  const cookies = (await context.cookies()).map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]);
  assert.deepEqual(cookies, [['punctual', true, 'Strict']]);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.deepEqual(await context.cookies(), []);
  assert.deepEqual(page.wrong, []);
  await context.close();
});

test('whoever comes with the answer to another sign-in is told that it came to nothing', async () => {
  const page = await browser.page(server.url, { expected: [/401/], others: [issuer.url] });
  await page.goto('/api/session/oidc/callback?code=stolen&state=another');
  await page.getByRole('alert').filter({ hasText: 'You were not signed in' }).waitFor();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});
