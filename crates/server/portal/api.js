// The API: requests, their faults, and the ids of resources.

const SCHEDULER = 'api-version=2016-03-01';
const MANAGER = 'api-version=2021-04-01';

/** An answer that is an error, or no answer at all (status 0). */
export class Fault extends Error {
  constructor(status, code, message, details = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** Who is signed in, as `session.js` found out: what changes need, whether they may make anything anywhere, and what to do where somebody has to sign in. */
export const session = { csrf: null, mayWrite: true, signInAgain: () => {} };

/** Sends a request; answers `{status, body, etag}` or throws a Fault. */
export async function call(method, path, { body, etag, isNew, signal, keepalive } = {}) {
  const headers = { accept: 'application/json', 'x-punctual-portal': '1' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (etag) headers['if-match'] = etag;
  if (isNew) headers['if-none-match'] = '*';
  if (session.csrf && method !== 'GET') headers['x-punctual-csrf'] = session.csrf;
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      keepalive,
      cache: 'no-store',
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Fault(0, 'Unreachable', 'The server cannot be reached.');
  }
  const text = await response.text();
  let answer = null;
  try {
    answer = text ? JSON.parse(text) : null;
  } catch {
    // A proxy may answer with a page; the status says enough.
  }
  if (!response.ok) {
    const {
      code = 'Error',
      message = `The server answered with status ${response.status}.`,
      details,
    } = answer?.error ?? {};
    if (response.status === 401 && path !== '/api/session') session.signInAgain();
    throw new Fault(response.status, code, message, details ?? []);
  }
  return { status: response.status, body: answer, etag: response.headers.get('etag') };
}

/** The body of a GET. */
export async function get(path, options) {
  return (await call('GET', path, options)).body;
}

/** A query string of what is set. */
export function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return given.length ? `?${new URLSearchParams(given)}` : '';
}

const ID =
  /^\/subscriptions\/([^/]+)(?:\/resourceGroups\/([^/]+)(?:\/providers\/[^/]+\/jobCollections\/([^/]+)(?:\/jobs\/([^/]+))?)?)?/i;

/** The names in an id. They are found by their place: a collection may be called `jobs`. */
export function namesOf(id) {
  const [, subscription, group, collection, job] = ID.exec(String(id)) ?? [];
  return { subscription, group, collection, job };
}

/** The id of a collection or, with a job's name, of a job. */
export function idOf({ subscription, group, collection, job }) {
  const base = `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Scheduler/jobCollections`;
  return job === undefined ? `${base}/${collection}` : `${base}/${collection}/jobs/${job}`;
}

const encoded = (id) => id.split('/').map(encodeURIComponent).join('/');

/** The URL of a resource of the scheduler, or of something below it. */
export function scheduler(id, below = '', parameters = {}) {
  const more = query(parameters).slice(1);
  return `${encoded(id)}${below}?${SCHEDULER}${more ? `&${more}` : ''}`;
}

/** The URL of something of the resource manager. */
export function manager(id) {
  return `${encoded(id)}?${MANAGER}`;
}

/** Where the portal shows a resource. */
export function pageOf(id, tab) {
  const { subscription, group, collection, job } = namesOf(id);
  const names = job === undefined ? [subscription, group, collection] : [subscription, group, collection, job];
  const path = names.map(encodeURIComponent).join('/');
  const kind = job === undefined ? 'collection' : 'job';
  return `/ui/${kind}/${path}${tab ? `/${tab}` : ''}`;
}

/** All entries of a list, page after page, at most so many. */
export async function all(path, { most = 5000, signal } = {}) {
  const found = [];
  let next = path;
  while (next && found.length < most) {
    const page = await get(next, { signal });
    found.push(...page.value);
    next = page.nextLink ? localPart(page.nextLink) : null;
  }
  return found;
}

/** The path and query of a link, which a proxy may have given another host. */
export function localPart(link) {
  const url = new URL(link, location.origin);
  return url.pathname + url.search;
}

export async function subscriptions(options) {
  const found = await all(manager('/subscriptions'), options);
  return found.map((one) => one.subscriptionId);
}

/** The collections of every subscription. */
export async function collections(options) {
  const found = [];
  for (const subscription of await subscriptions(options)) {
    found.push(
      ...(await all(scheduler(`/subscriptions/${subscription}/providers/Microsoft.Scheduler/jobCollections`), options)),
    );
  }
  return found;
}

/** What can be done with a job or a collection. */
export const actions = {
  run: (id) => call('POST', scheduler(id, '/run')),
  enable: (id) => call('PATCH', scheduler(id), { body: { properties: { state: 'Enabled' } } }),
  disable: (id) => call('PATCH', scheduler(id), { body: { properties: { state: 'Disabled' } } }),
  delete: (id, options) => call('DELETE', scheduler(id), options),
  enableCollection: (id) => call('POST', scheduler(id, '/enable')),
  disableCollection: (id) => call('POST', scheduler(id, '/disable')),
};
