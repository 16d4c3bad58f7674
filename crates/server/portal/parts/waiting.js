// Calls that wait: whose, since when, for what, and whose calls hold their places.

import { namesOf, pageOf } from '../api.js';
import { h } from '../dom.js';
import { ticking } from '../time.js';
import { count, link, many } from './basics.js';

const REASONS = {
  pool: 'All places for calls are taken',
  target: 'The places at this target are taken',
  collection: 'The places of this collection are taken',
  share: 'Few places for calls are left, and this collection has its share',
};

/** The card; nothing where no call waits. */
export function waitingCard({ waiting, limits, running, queues, moreQueues, others }) {
  if (!waiting) return null;
  const hidden = [
    moreQueues && many(moreQueues, 'more queue'),
    others.waiting && `${many(others.waiting, 'call')} of collections that you do not see`,
  ].filter(Boolean);
  return h(
    'section',
    { class: 'card waiting' },
    h('h2', {}, `${many(waiting, 'call waits', 'calls wait')} for a place`),
    h('p', { class: 'faint' }, `${count(running)} of at most ${many(limits.calls, 'call')} are under way.`),
    queues.length > 0 && h('ul', { class: 'plain' }, queues.map(entry)),
    hidden.length > 0 && h('p', { class: 'faint' }, `Not shown: ${hidden.join(' and ')}.`),
  );
}

function entry({ collection, target, waiting, since, waitsFor, heldBy }) {
  return h(
    'li',
    {},
    h(
      'div',
      {},
      link(namesOf(collection).collection, pageOf(collection), { class: 'name' }),
      h('span', { class: 'sub' }, 'calls ', h('code', {}, target)),
      h('span', { class: 'sub' }, `${REASONS[waitsFor]}${heldBy.length ? `: ${held(heldBy)}` : ''}.`),
    ),
    h('span', { class: 'end' }, `${count(waiting)} waiting, due `, ticking(since)),
  );
}

/** `90 calls of payroll, 3 of other collections`. */
export function held(holders) {
  const parts = holders.map(({ collection, calls }, at) => {
    const of = collection === null ? 'collections that you do not see' : namesOf(collection).collection;
    return `${at ? count(calls) : many(calls, 'call')} of ${of}`;
  });
  return parts.join(', ');
}
