// Settings: how the server is set up, to be read. What changes them is the configuration file.

import { get, namesOf, pageOf } from '../api.js';
import { fill, h } from '../dom.js';
import { facts, head, into, link } from '../parts/basics.js';
import { absolute, now, ticking } from '../time.js';

export function show(place) {
  const abort = new AbortController();
  const body = h('div', { class: 'stack' });
  fill(
    place,
    head('Settings'),
    h(
      'p',
      { class: 'lead' },
      'To be read here; changed in the configuration file. ',
      h('code', {}, 'punctual config'),
      ' names every setting.',
    ),
    body,
  );
  into(body, async () => draw(await get('/api/settings', { signal: abort.signal })), { rows: 6 });
  return { title: 'Settings', leave: () => abort.abort() };
}

function draw(settings) {
  const { version, listen, data, database, node, plans = [], certificates = [], egress, ...rest } = settings;
  return [
    h(
      'section',
      { class: 'card' },
      h('h2', {}, 'Server'),
      facts([
        ['Version', version],
        ['Listens on', h('code', {}, listen)],
        data && ['Data folder', h('code', { class: 'breakable' }, data)],
        database && ['Database', h('code', { class: 'breakable' }, database)],
        node && ['Node', [h('code', { class: 'breakable' }, node), ' ', link('all nodes', '/ui/nodes')]],
      ]),
    ),
    h(
      'section',
      { class: 'card' },
      h('h2', {}, 'Client certificates'),
      certificates.length ? certificateTable(certificates) : h('p', { class: 'faint' }, 'No job uses one.'),
    ),
    h('section', { class: 'card' }, h('h2', {}, 'Plans'), planTable(plans)),
    h('section', { class: 'card' }, h('h2', {}, 'What calls may reach'), reach(egress)),
    h(
      'div',
      { class: 'columns' },
      Object.entries(rest)
        .filter(([, value]) => value && typeof value === 'object' && !Array.isArray(value))
        .map(([name, value]) => h('section', { class: 'card' }, h('h2', {}, words(name)), facts(flat(value)))),
    ),
  ];
}

/** The egress policy in words: what is always refused, then what the operator has set. */
function reach({ allow, deny, lift }) {
  const lifted = new Set(lift);
  const refused = [
    !lifted.has('link-local') && 'link-local addresses',
    !lifted.has('metadata') && 'the metadata addresses of clouds',
    !lifted.has('redirects-inwards') && 'redirects from public to other addresses',
  ].filter(Boolean);
  const entries = (list) => h('code', { class: 'breakable' }, list.join(', '));
  return facts(
    [
      ['Allowed', allow.length ? entries(allow) : 'everything that is not refused'],
      ['Refused', deny.length ? entries(deny) : 'nothing by the operator'],
      refused.length && ['Always refused', new Intl.ListFormat('en').format(refused)],
    ].filter(Boolean),
  );
}

function certificateTable(list) {
  return h(
    'table',
    { class: 'list' },
    h('caption', { class: 'hidden' }, 'Client certificates, soonest first'),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ['Expires', 'Job', 'Subject', 'Thumbprint'].map((text) =>
          h('th', { scope: 'col', class: text === 'Thumbprint' ? 'wide-only' : '' }, text),
        ),
      ),
    ),
    h(
      'tbody',
      {},
      list.map((one) => {
        const left = Date.parse(one.expiration) - now();
        return h(
          'tr',
          {},
          h(
            'td',
            { class: 'nowrap' },
            absolute(one.expiration, { seconds: false }),
            h('span', { class: 'sub' }, ticking(one.expiration)),
            left < 30 * 86_400_000 &&
              h('span', { class: `badge ${left < 0 ? 'bad' : 'late'}` }, left < 0 ? 'expired' : 'soon'),
          ),
          h('td', {}, link(namesOf(one.id).job ?? one.id, pageOf(one.id), { class: 'name' })),
          h('td', {}, one.subject),
          h('td', { class: 'wide-only' }, h('code', { class: 'breakable' }, one.thumbprint)),
        );
      }),
    ),
  );
}

function planTable(plans) {
  if (!plans.length) return h('p', { class: 'faint' }, 'The server does not say.');
  const columns = [...new Set(plans.flatMap((plan) => Object.keys(plan)))].filter((name) => name !== 'name');
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Plans' },
    h(
      'table',
      { class: 'list' },
      h('caption', { class: 'hidden' }, 'Plans'),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', { scope: 'col' }, 'Plan'),
          columns.map((name) => h('th', { scope: 'col' }, words(name))),
        ),
      ),
      h(
        'tbody',
        {},
        plans.map((plan) =>
          h(
            'tr',
            {},
            h('th', { scope: 'row' }, plan.name),
            columns.map((name) => h('td', { class: 'number' }, shown(plan[name]))),
          ),
        ),
      ),
    ),
  );
}

/** `callsPerTarget` as `Calls per target`. */
const words = (name) =>
  name
    .replace(/[-_]/g, ' ')
    .replace(/([a-z0-9])([A-Z])/g, (_, end, start) => `${end} ${start.toLowerCase()}`)
    .replace(/^(api|uri|http)$/, (all) => all.toUpperCase())
    .replace(/^./, (letter) => letter.toUpperCase());

function shown(value) {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.length ? value.map((one) => shown(one)).join(', ') : 'none';
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, one]) => `${words(name)} ${shown(one)}`)
      .join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'number' ? value.toLocaleString('en-US') : String(value);
}

function flat(table) {
  return Object.entries(table).map(([name, value]) => [words(name), shown(value)]);
}
