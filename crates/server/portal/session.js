// Signing in, where the server asks who calls. What the browser keeps is a cookie that no script can read; the word that
// changes need comes with the answer of `/api/session`.

import { call, get, session } from './api.js';
import { fill, h } from './dom.js';
import { button } from './parts/basics.js';
import { field, text } from './parts/fields.js';

let place = null;

/** Calls `begin` once somebody is signed in, or at once where nobody has to be. */
export async function enter(begin) {
  let found;
  try {
    found = await get('/api/session');
  } catch {
    // Whether it can be reached is shown elsewhere, and the pages try again by themselves.
    found = { required: false, signedIn: true };
  }
  if (found.signedIn) {
    take(found);
    begin();
  } else ask(begin, found.issuer);
  // Whoever was signed out meanwhile signs in, and goes on where they were.
  session.signInAgain = () => place === null && ask(() => location.reload(), found.issuer);
}

// What the server says in the address where a sign-in with the issuer came to nothing.
const FAILED = {
  refused: 'You were not signed in. Whoever sees the audit of this server can tell you why.',
  unavailable: 'You were not signed in: the issuer cannot be asked at the moment. Try again.',
};

const WRITERS = ['Owner', 'Contributor'];

function take({ required, csrf, name, roles }) {
  session.csrf = csrf;
  session.mayWrite = roles?.some(({ role }) => WRITERS.includes(role)) ?? true;
  const leave = document.getElementById('leave');
  leave.hidden = !required;
  leave.title = `Signed in as ${name}`;
}

/** The button that signs out; not to be seen where nobody is signed in. */
export function leaveButton() {
  return button('Sign out', {
    id: 'leave',
    hidden: true,
    onclick: async () => {
      await call('DELETE', '/api/session');
      location.assign('/');
    },
  });
}

function ask(done, issuer) {
  const token = text({ type: 'password', autocomplete: 'current-password', required: true });
  const failed = FAILED[new URLSearchParams(location.search).get('sign-in')];
  const said = h('p', { class: 'fault', role: 'alert', hidden: !failed }, failed ?? '');
  const page = encodeURIComponent(location.pathname + location.search);
  const elsewhere =
    issuer && h('p', {}, h('a', { class: 'button', href: `/api/session/oidc?page=${page}` }, `Sign in with ${issuer}`));
  const send = button('Sign in', { kind: 'primary', type: 'submit' });
  const form = h(
    'form',
    {
      class: 'stack',
      onsubmit: async (event) => {
        event.preventDefault();
        said.hidden = true;
        send.disabled = true;
        try {
          take((await call('POST', '/api/session', { body: { token: token.value.trim() } })).body);
          place = null;
          done();
        } catch (error) {
          said.textContent = error.message;
          said.hidden = false;
          token.select();
        }
        send.disabled = false;
      },
    },
    field('Token', token, { hint: 'One that `punctual token create` has made, for you or by you.' }),
    said,
    h('p', { class: 'row' }, send),
  );
  place = h('div', { class: 'page' }, h('h1', {}, 'Sign in'), h('section', { class: 'card' }, elsewhere, form));
  document.title = 'Sign in · Punctual';
  fill(document.getElementById('main'), place);
  token.focus();
}
