// A collection as a form: its names, plan, limits, place and tags.

import { namesOf } from '../api.js';
import { h } from '../dom.js';
import { choice, field, pairs, text } from './fields.js';

const PLANS = [
  ['Free', 'Free: 5 jobs, hourly'],
  ['Standard', 'Standard: 50 jobs, every minute'],
  ['P10Premium', 'P10 Premium: 50 jobs, many collections'],
  ['P20Premium', 'P20 Premium: 1,000 jobs, every minute'],
];
const FREQUENCIES = [
  ['', 'as the plan allows'],
  ['minute', 'minutes'],
  ['hour', 'hours'],
  ['day', 'days'],
  ['week', 'weeks'],
  ['month', 'months'],
];

/** `{element, read, patch}`; with a collection its names are fixed. */
export function collectionForm({
  collection,
  known = [],
  subscription = 'default',
  group = 'default',
  name = '',
} = {}) {
  const names = collection
    ? namesOf(collection.id)
    : { subscription: namesOf(known[0]?.id ?? '').subscription ?? subscription, group, collection: name };
  const quota = collection?.properties.quota ?? {};
  const inputs = {
    collection: text({ value: names.collection, required: true, autofocus: true }),
    subscription: text({ value: names.subscription, required: true }),
    group: text({ value: names.group, required: true }),
    plan: choice(PLANS, collection?.properties.sku.name ?? 'Standard'),
    location: text({ value: collection?.location ?? 'Local' }),
    jobs: text({ type: 'number', min: 1, value: quota.maxJobCount ?? '', placeholder: 'as the plan allows' }),
    frequency: choice(FREQUENCIES, quota.maxRecurrence?.frequency ?? ''),
    interval: text({
      type: 'number',
      min: 1,
      value: quota.maxRecurrence?.interval ?? '',
      placeholder: '1',
      'aria-label': 'Interval',
    }),
  };
  const tags = pairs(collection?.tags ?? {}, { name: 'Tag', value: 'Value', add: 'Add a tag' });

  const element = h(
    'div',
    { class: 'form' },
    !collection && [
      field('Name', inputs.collection, { hint: 'Letters, digits, - _ .' }),
      h('div', { class: 'pair' }, field('Subscription', inputs.subscription), field('Resource group', inputs.group)),
    ],
    field('Plan', inputs.plan),
    field('Place', inputs.location, { hint: 'Only shown; a region of Azure or Local.' }),
    h(
      'div',
      { class: 'pair' },
      field('Most jobs', inputs.jobs),
      field('Not faster than every', h('div', { class: 'row tight' }, inputs.interval, inputs.frequency)),
    ),
    h('fieldset', {}, h('legend', {}, 'Tags'), tags.element),
  );

  const number = (input) => (input.value === '' ? null : Number(input.value));
  const content = () => ({
    location: inputs.location.value.trim() || 'Local',
    tags: tags.read(),
    properties: {
      sku: { name: inputs.plan.value },
      quota: {
        maxJobCount: number(inputs.jobs),
        maxRecurrence: inputs.frequency.value
          ? { frequency: inputs.frequency.value, interval: number(inputs.interval) ?? 1 }
          : null,
      },
    },
  });
  return {
    element,
    read: () => ({
      names: {
        subscription: inputs.subscription.value.trim(),
        group: inputs.group.value.trim(),
        collection: inputs.collection.value.trim(),
      },
      body: content(),
    }),
    /** What a PATCH needs: tags that are gone are null. */
    patch: () => {
      const body = content();
      for (const name of Object.keys(collection.tags ?? {})) if (!(name in body.tags)) body.tags[name] = null;
      return body;
    },
  };
}
