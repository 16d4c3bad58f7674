// Who calls: the authentication of an HTTP action. A part of the form of an action, which hands over its own ways to read,
// write and draw fields.

import { h } from '../dom.js';
import { button } from '../parts/basics.js';
import { area, choice, field } from '../parts/fields.js';

const LOGINS = [
  ['', 'None'],
  ['Basic', 'Basic: user and password'],
  ['ClientCertificate', 'Client certificate'],
  ['ActiveDirectoryOAuth', 'OAuth of Active Directory'],
  ['Hmac', 'Signature (HMAC)'],
];

/** The fields of `authentication`, in the action at `base`. */
export function authenticationForm({ base, get, set, input, secret, redraw }) {
  function authentication() {
    const type = get('request.authentication.type') ?? '';
    const types = choice(LOGINS, type, {
      onchange: () => {
        set('request.authentication', types.value ? { type: types.value } : undefined);
        redraw();
      },
    });
    return [
      field('Authentication', types, {
        path: `${base}.request.authentication`,
        hint: 'Not in collections of the plan Free.',
      }),
      type === 'Basic' &&
        h(
          'div',
          { class: 'pair' },
          input('User', 'request.authentication.username'),
          secret('Password', 'request.authentication.password'),
        ),
      type === 'ClientCertificate' && certificate(),
      type === 'Hmac' && signature(),
      type === 'ActiveDirectoryOAuth' && [
        h(
          'div',
          { class: 'pair' },
          input('Tenant', 'request.authentication.tenant'),
          input('Audience', 'request.authentication.audience'),
        ),
        h(
          'div',
          { class: 'pair' },
          input('Client id', 'request.authentication.clientId'),
          secret('Secret', 'request.authentication.secret'),
        ),
      ],
    ];
  }

  function certificate() {
    const told = h(
      'span',
      { class: 'hint' },
      get('request.authentication.pfx')
        ? 'a file is chosen'
        : (get('request.authentication.certificateSubjectName') ?? ''),
    );
    const file = h('input', {
      type: 'file',
      accept: '.pfx,.p12',
      onchange: async () => {
        if (!file.files[0]) return;
        const bytes = new Uint8Array(await file.files[0].arrayBuffer());
        let binary = '';
        for (const byte of bytes) binary += String.fromCharCode(byte);
        set('request.authentication.pfx', btoa(binary));
        told.textContent = `${file.files[0].name}, ${bytes.length} bytes`;
      },
    });
    return h(
      'div',
      { class: 'pair' },
      field('PKCS #12 file', h('div', {}, file, told), { path: `${base}.request.authentication.pfx` }),
      secret('Its password', 'request.authentication.password'),
    );
  }

  /** Up to four secrets, one on each line: the first signs from now on, the others are on their way out. */
  function signature() {
    const count = get('request.authentication.secretCount');
    const input = area({
      rows: 2,
      value: (get('request.authentication.secrets') ?? []).join('\n'),
      placeholder: count ? `${count} stored; empty keeps them` : 'whsec_…',
      class: 'code-input',
      oninput: () => set('request.authentication.secrets', input.value.split(/\s+/).filter(Boolean)),
    });
    const make = button('Make one', {
      kind: 'small',
      onclick: () => {
        const bytes = crypto.getRandomValues(new Uint8Array(32));
        input.value = [
          `whsec_${btoa(String.fromCharCode(...bytes))}`,
          ...input.value.split(/\s+/).filter(Boolean),
        ].join('\n');
        input.dispatchEvent(new Event('input'));
      },
    });
    return field('Secrets, one on each line', h('div', {}, input, make), {
      path: `${base}.request.authentication.secrets`,
      hint: 'whsec_ and the Base64 of 24 to 64 bytes. Copy it for the called side now: it is not shown again.',
    });
  }

  return authentication();
}
