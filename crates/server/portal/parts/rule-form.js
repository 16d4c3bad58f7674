// A rule of notices as a form: which trouble, of which jobs, and whom to tell.

import { h } from '../dom.js';
import { choice, field, pairs, text } from './fields.js';

/** Which trouble, by its name in the API: in the list of choices, and as the sentence of a rule. */
const TROUBLES = {
  faulted: { choice: 'its last run failed for good', sentence: () => 'failed for good' },
  'no-success-for': { choice: 'it has not succeeded for', sentence: (after) => `no success for ${after}` },
  late: { choice: 'its last run began later than', sentence: (after) => `began later than ${after}` },
};

/** What a rule watches for, in words. */
export const troubleOf = ({ when, after }) => TROUBLES[when]?.sentence(after) ?? when;

/** The parts that say which jobs: member, label, and how they are told together. */
const PLACES = [
  ['subscription', 'Subscription'],
  ['resourceGroup', 'Resource group'],
  ['collection', 'Collection'],
  ['job', 'Job'],
];

/** Which jobs a rule is about, as pairs of a word and a name; none means all. */
export const placesOf = (rule) =>
  PLACES.filter(([member]) => rule[member] !== undefined).map(([member, label]) => [label.toLowerCase(), rule[member]]);

/** `{element, read}`; with a rule its name is fixed. */
export function ruleForm(rule) {
  const name = text({ value: rule?.name ?? '', required: true, autofocus: true });
  const after = text({ value: rule?.after ?? '', placeholder: '1h', 'aria-label': 'How long' });
  const when = choice(
    Object.entries(TROUBLES).map(([key, words]) => [key, words.choice]),
    rule?.when ?? 'faulted',
    { onchange: () => settle() },
  );
  const places = PLACES.map(([member, label]) => [
    member,
    label,
    text({ value: rule?.[member] ?? '', placeholder: 'any' }),
  ]);
  const uri = text({ value: rule?.uri ?? '', type: 'url', placeholder: 'https://hooks.example.com/…', required: true });
  const headers = pairs(rule?.headers ?? {}, { name: 'Header', value: 'Value', add: 'Add a header' });
  const afterField = field('How long', after, { path: 'after', hint: 'A number and ms, s, m, h or d.' });
  const settle = () => {
    afterField.hidden = when.value === 'faulted';
  };
  settle();

  const element = h(
    'div',
    { class: 'form' },
    !rule && field('Name', name, { path: 'name', hint: 'Letters, digits, - and _. Notices carry it.' }),
    h('div', { class: 'pair' }, field('A job is in trouble when', when, { path: 'when' }), afterField),
    h(
      'fieldset',
      {},
      h('legend', {}, 'Which jobs'),
      h(
        'div',
        { class: 'pair' },
        places.map(([member, label, input]) => field(label, input, { path: member })),
      ),
    ),
    field('Whom to tell', uri, {
      path: 'uri',
      hint: 'Gets a POST with JSON when trouble begins, and when it is over.',
    }),
    h(
      'fieldset',
      { data: { path: 'headers' } },
      h('legend', {}, 'Headers'),
      headers.element,
      h('p', { class: 'fault', hidden: true }),
    ),
  );
  const given = (input) => input.value.trim() || undefined;
  return {
    element,
    read: () => ({
      name: rule?.name ?? name.value.trim(),
      body: {
        when: when.value,
        after: when.value === 'faulted' ? undefined : given(after),
        ...Object.fromEntries(places.map(([member, , input]) => [member, given(input)])),
        uri: given(uri),
        headers: headers.read(),
      },
    }),
  };
}
