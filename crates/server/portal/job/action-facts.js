// What an action does, to be read: the tab Action settings.

import { h } from '../dom.js';
import { facts } from '../parts/basics.js';
import { absolute, words } from '../time.js';

/** The card of an action, and of its error actions below. */
export function actionFacts(action, title = 'Action', depth = 0) {
  return [
    h(
      'section',
      { class: 'card' },
      h('h2', {}, title),
      facts([
        ['Type', TYPES[action.type] ?? action.type],
        ...details(action),
        ['Retries', retries(action.retryPolicy)],
      ]),
      body(action),
    ),
    action.errorAction
      ? actionFacts(
          action.errorAction,
          depth ? 'Error action of the error action' : 'Error action, when all retries have failed',
          depth + 1,
        )
      : depth === 0 && h('p', { class: 'faint' }, 'There is no error action.'),
  ];
}

const TYPES = {
  Http: 'HTTP',
  Https: 'HTTPS',
  StorageQueue: 'Storage queue',
  ServiceBusQueue: 'Service Bus queue',
  ServiceBusTopic: 'Service Bus topic',
};

function details(action) {
  if (action.request) {
    const { method, uri, headers = {}, authentication } = action.request;
    return [
      ['Request', h('code', { class: 'breakable' }, `${method} ${uri}`)],
      Object.keys(headers).length > 0 && [
        'Headers',
        h(
          'ul',
          { class: 'code-list' },
          Object.entries(headers).map(([name, value]) =>
            h('li', {}, h('code', { class: 'breakable' }, `${name}: ${value}`)),
          ),
        ),
      ],
      ['Authentication', authentication ? authenticated(authentication) : 'none'],
    ];
  }
  if (action.queueMessage) {
    const { storageAccount, queueName, delivery } = action.queueMessage;
    return [
      ['Storage account', storageAccount],
      ['Queue', queueName],
      ['Form', delivery ?? 'envelope'],
      ['Token', 'stored, never shown'],
    ];
  }
  const message = action.serviceBusQueueMessage ?? action.serviceBusTopicMessage;
  if (message) {
    const list = (given) =>
      Object.keys(given ?? {}).length > 0 &&
      h(
        'ul',
        { class: 'code-list' },
        Object.entries(given).map(([name, value]) =>
          h('li', {}, h('code', { class: 'breakable' }, `${name}: ${value}`)),
        ),
      );
    return [
      ['Namespace', message.namespace],
      message.queueName ? ['Queue', message.queueName] : ['Topic', message.topicPath],
      ['Transport', message.transportType ?? 'netMessaging'],
      ['Key', message.authentication?.sasKeyName],
      list(message.brokeredMessageProperties) && ['Properties', list(message.brokeredMessageProperties)],
      list(message.customMessageProperties) && ['Custom properties', list(message.customMessageProperties)],
    ];
  }
  return [];
}

function authenticated(given) {
  if (given.type === 'Basic') return `Basic, as ${given.username}`;
  if (given.type === 'ActiveDirectoryOAuth')
    return `OAuth, client ${given.clientId} of ${given.tenant} for ${given.audience}`;
  if (given.type === 'ClientCertificate')
    return [
      'Client certificate ',
      h('code', { class: 'breakable' }, given.certificateSubjectName ?? ''),
      ', until ',
      absolute(given.certificateExpiration, { seconds: false }),
    ];
  if (given.type === 'Hmac')
    return `Signature, ${given.secretCount === 1 ? 'one secret' : `${given.secretCount} secrets`}`;
  return given.type;
}

function retries(policy) {
  if (!policy) return 'as the plan says: 4 at 30 s (Free: 1 h)';
  if (policy.retryType === 'none') return 'none';
  return `${policy.retryCount ?? 4} at ${words(policy.retryInterval ?? 'PT30S')}`;
}

function body(action) {
  const text =
    action.request?.body ??
    (action.queueMessage ?? action.serviceBusQueueMessage ?? action.serviceBusTopicMessage)?.message;
  return text
    ? [h('h3', {}, action.request ? 'Body' : 'Message'), h('pre', { class: 'code', tabindex: '0' }, text)]
    : null;
}
