// What a job does, as a form: one for every type of action, its retries, and its error action.

import { call } from '../api.js';
import { fill, h } from '../dom.js';
import { badge, button } from '../parts/basics.js';
import { area, choice, field, pairs, text } from '../parts/fields.js';
import { duration } from '../time.js';
import { authenticationForm } from './authentication-form.js';
import { at, copy, put } from './draft.js';

const TYPES = [
  ['Http', 'Call an address (HTTP or HTTPS)'],
  ['StorageQueue', 'Put a message into a storage queue'],
  ['ServiceBusQueue', 'Send to a Service Bus queue'],
  ['ServiceBusTopic', 'Send to a Service Bus topic'],
];
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'].map((name) => [name, name]);
const BROKERED = [
  'label',
  'messageId',
  'correlationId',
  'contentType',
  'sessionId',
  'replyTo',
  'replyToSessionId',
  'to',
  'timeToLive',
  'scheduledEnqueueTimeUtc',
  'partitionKey',
  'viaPartitionKey',
];
/** The most error actions, each in the one before. */
const DEEPEST = 3;

/** The form of the action at `base`. `stored` is the job whose secrets are kept, where there is one. */
export function actionForm(place, draft, changed, { base = 'properties.action', stored, depth = 0 } = {}) {
  const get = (name) => at(draft, `${base}.${name}`);
  const set = (name, value) => {
    put(draft, `${base}.${name}`, value);
    changed();
  };
  const input = (label, name, { kind = text, hint, ...attributes } = {}) =>
    field(label, kind({ value: get(name) ?? '', ...attributes, oninput: (event) => set(name, event.target.value) }), {
      path: `${base}.${name}`,
      hint,
    });
  const secret = (label, name, hint) =>
    input(label, name, {
      type: 'password',
      autocomplete: 'new-password',
      placeholder: stored ? 'stored; empty keeps it' : '',
      hint,
    });

  function draw() {
    const type = get('type') === 'Https' ? 'Http' : (get('type') ?? 'Http');
    const types = choice(TYPES, type, {
      onchange: () => {
        changeType(types.value);
        draw();
        changed();
      },
    });
    fill(
      place,
      field('Action', types, { path: `${base}.type` }),
      type === 'Http' && http(),
      type === 'StorageQueue' && storageQueue(),
      type === 'ServiceBusQueue' && serviceBus('serviceBusQueueMessage', 'Queue', 'queueName'),
      type === 'ServiceBusTopic' && serviceBus('serviceBusTopicMessage', 'Topic', 'topicPath'),
      test(),
      retries(),
      errorAction(),
    );
  }

  function changeType(type) {
    const members = {
      Http: 'request',
      StorageQueue: 'queueMessage',
      ServiceBusQueue: 'serviceBusQueueMessage',
      ServiceBusTopic: 'serviceBusTopicMessage',
    };
    for (const [name, member] of Object.entries(members)) if (name !== type) put(draft, `${base}.${member}`, undefined);
    put(draft, `${base}.type`, type);
    const action = at(draft, base);
    action[members[type]] ??= {
      Http: { method: 'GET', uri: '' },
      StorageQueue: { storageAccount: '', queueName: '', message: '' },
    }[type] ?? {
      namespace: '',
      transportType: 'amqp',
      authentication: { type: 'sharedAccessKey', sasKeyName: '' },
      message: '',
    };
  }

  function http() {
    const uri = text({
      type: 'url',
      value: get('request.uri') ?? '',
      placeholder: 'https://example.org/hook',
      required: true,
      oninput: () => {
        put(draft, `${base}.type`, /^https:/i.test(uri.value.trim()) ? 'Https' : 'Http');
        const request = at(draft, `${base}.request`) ?? {};
        put(draft, `${base}.request`, { ...request, uri: uri.value.trim() });
        changed();
      },
    });
    const headers = pairs(get('request.headers') ?? {}, {
      name: 'Header',
      value: 'Value',
      add: 'Add a header',
      changed: (found) => set('request.headers', found),
    });
    return [
      h(
        'div',
        { class: 'method' },
        field(
          'Method',
          choice(METHODS, get('request.method') ?? 'GET', {
            onchange: (event) => {
              set('request.method', event.target.value);
              draw();
            },
          }),
          { path: `${base}.request.method` },
        ),
        field('Address', uri, { path: `${base}.request.uri` }),
      ),
      h(
        'fieldset',
        { class: 'field', data: { path: `${base}.request.headers` } },
        h('legend', {}, 'Headers'),
        headers.element,
        h('p', { class: 'fault', hidden: true }),
      ),
      !['GET', 'HEAD'].includes(get('request.method') ?? 'GET') || get('request.body')
        ? input('Body', 'request.body', { kind: area })
        : null,
      authenticationForm({ base, get, set, input, secret, redraw: draw }),
    ];
  }

  function storageQueue() {
    const forms = [
      ['', 'in an XML envelope, as Azure did'],
      ['raw', 'as it is'],
      ['base64', 'in Base64'],
    ];
    return [
      h(
        'div',
        { class: 'pair' },
        input('Storage account', 'queueMessage.storageAccount'),
        input('Queue', 'queueMessage.queueName'),
      ),
      secret('SAS token', 'queueMessage.sasToken', 'With the right to add messages (sp=a).'),
      input('Message', 'queueMessage.message', { kind: area }),
      field(
        'How it lies in the queue',
        choice(forms, get('queueMessage.delivery') === 'envelope' ? '' : (get('queueMessage.delivery') ?? ''), {
          onchange: (event) => set('queueMessage.delivery', event.target.value || undefined),
        }),
        { path: `${base}.queueMessage.delivery` },
      ),
    ];
  }

  function serviceBus(member, label, name) {
    const brokered = pairs(
      Object.fromEntries(
        Object.entries(get(`${member}.brokeredMessageProperties`) ?? {}).map(([key, value]) => [key, String(value)]),
      ),
      {
        name: 'Property',
        value: 'Value',
        add: 'Add a property',
        changed: (found) =>
          set(
            `${member}.brokeredMessageProperties`,
            Object.fromEntries(
              Object.entries(found).map(([key, value]) => [key, key === 'forcePersistence' ? value === 'true' : value]),
            ),
          ),
      },
    );
    const custom = pairs(get(`${member}.customMessageProperties`) ?? {}, {
      name: 'Property',
      value: 'Value',
      add: 'Add a custom property',
      changed: (found) => set(`${member}.customMessageProperties`, found),
    });
    return [
      h('div', { class: 'pair' }, input('Namespace', `${member}.namespace`), input(label, `${member}.${name}`)),
      field(
        'Transport',
        choice(
          [
            ['netMessaging', 'REST (NetMessaging)'],
            ['amqp', 'AMQP 1.0'],
          ],
          String(get(`${member}.transportType`) ?? 'netMessaging').replace(/^AMQP$/, 'amqp'),
          { onchange: (event) => set(`${member}.transportType`, event.target.value) },
        ),
        { path: `${base}.${member}.transportType` },
      ),
      h(
        'div',
        { class: 'pair' },
        input('Key name', `${member}.authentication.sasKeyName`),
        secret('Key', `${member}.authentication.sasKey`),
      ),
      input('Message', `${member}.message`, { kind: area }),
      h(
        'fieldset',
        { class: 'field', data: { path: `${base}.${member}.brokeredMessageProperties` } },
        h('legend', {}, 'Message properties'),
        brokered.element,
        h('p', { class: 'hint' }, `Such as ${BROKERED.slice(0, 5).join(', ')}.`),
        h('p', { class: 'fault', hidden: true }),
      ),
      h(
        'fieldset',
        { class: 'field', data: { path: `${base}.${member}.customMessageProperties` } },
        h('legend', {}, 'Custom properties'),
        custom.element,
        h('p', { class: 'fault', hidden: true }),
      ),
    ];
  }

  /** One call now, outside of any job. */
  function test() {
    const result = h('div', { class: 'test-result', role: 'status' });
    const send = button('Send a test call now', {
      icon: 'run',
      onclick: async () => {
        send.disabled = true;
        fill(result, h('span', { class: 'faint' }, 'Calling …'));
        try {
          const { retryPolicy, errorAction: other, ...action } = copy(at(draft, base));
          const { body } = await call('POST', '/api/test-call', {
            body: { action, job: depth === 0 ? stored : undefined },
          });
          fill(
            result,
            badge(body.success ? 'completed' : 'failed'),
            h('span', { class: 'faint' }, ` ${duration(body.durationMs)}`),
            h('pre', { class: 'code', tabindex: '0' }, body.message || '(no message)'),
          );
        } catch (error) {
          fill(result, h('p', { class: 'fault' }, error.message));
        }
        send.disabled = false;
      },
    });
    return h(
      'div',
      { class: 'field' },
      h('p', {}, send, h('span', { class: 'hint inline' }, 'Not in the history, not in the ledger.')),
      result,
    );
  }

  function retries() {
    const policy = get('retryPolicy.retryType');
    const types = choice(
      [
        ['', depth ? 'As the action' : 'As the plan says: 4 times, 30 s apart (Free: 1 h)'],
        ['fixed', 'Of its own'],
        ['none', 'None'],
      ],
      policy ? String(policy).toLowerCase() : '',
      {
        onchange: () => {
          set(
            'retryPolicy',
            types.value === 'fixed'
              ? { retryType: 'fixed', retryInterval: 'PT30S', retryCount: 4 }
              : types.value
                ? { retryType: 'none' }
                : undefined,
          );
          draw();
        },
      },
    );
    const often = text({
      type: 'number',
      min: 0,
      max: 20,
      value: get('retryPolicy.retryCount') ?? 4,
      oninput: () => set('retryPolicy.retryCount', often.value === '' ? undefined : Number(often.value)),
    });
    return [
      field('Retries', types, { path: `${base}.retryPolicy.retryType` }),
      types.value === 'fixed' &&
        h(
          'div',
          { class: 'pair' },
          field('How often', often, { path: `${base}.retryPolicy.retryCount` }),
          input('Time between', 'retryPolicy.retryInterval', {
            hint: 'PT30S, PT5M, PT1H, or 00:05:00.',
            class: 'code-input',
          }),
        ),
    ];
  }

  function errorAction() {
    if (depth >= DEEPEST) return null;
    const inner = h('div', { class: 'nested' });
    const box = h('input', {
      type: 'checkbox',
      checked: Boolean(get('errorAction')),
      onchange: () => {
        set('errorAction', box.checked ? { type: 'Http', request: { method: 'POST', uri: '' } } : undefined);
        draw();
      },
    });
    if (box.checked) actionForm(inner, draft, changed, { base: `${base}.errorAction`, stored, depth: depth + 1 });
    return h(
      'div',
      { class: 'field', data: { path: `${base}.errorAction` } },
      h(
        'label',
        { class: 'check' },
        box,
        h('span', {}, depth ? 'An error action for this one, too' : 'Do something else when all retries have failed'),
      ),
      box.checked && inner,
    );
  }

  draw();
}
