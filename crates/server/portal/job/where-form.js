// Where a new job goes: its name, and a collection that is there or is made on the way.

import { call, idOf, namesOf, scheduler } from '../api.js';
import { fill, h } from '../dom.js';
import { collectionForm } from '../parts/collection-form.js';
import { choice, field, text } from '../parts/fields.js';

/** What somebody gets who has nothing yet. */
const FIRST = { subscription: 'default', group: 'default', name: 'jobs' };
const NEW = 'new';

/** `{element, settle, fault}`: `settle` makes the collection where it is new, and answers the job's id. */
export function whereForm({ known, collection, proposed }) {
  const name = text({ value: proposed, required: true, placeholder: 'nightly-report', autofocus: true });
  const nameField = field('Name', name, { path: 'name', hint: 'Letters, digits, - _ .' });
  const places = known.map(({ id }) => [
    id,
    ((names) => `${names.collection} (${names.subscription} / ${names.group})`)(namesOf(id)),
  ]);
  const chosen =
    known.find(({ id }) => id.toLowerCase() === collection?.toLowerCase())?.id ?? (known.length ? known[0].id : NEW);
  const inner = h('div', {});
  let made = null;
  const draw = () => {
    made = select.value === NEW ? collectionForm({ ...FIRST, name: known.length ? '' : FIRST.name }) : null;
    if (made && !known.length) {
      // Nobody needs to understand subscriptions before the first job.
      fill(
        inner,
        h('p', { class: 'hint' }, 'The first collection is made with it: "jobs", on the plan Standard.'),
        h('details', {}, h('summary', {}, 'Change that'), made.element),
      );
    } else fill(inner, made && h('div', { class: 'nested' }, made.element));
  };
  const select = choice([...places, [NEW, known.length ? 'A new collection …' : 'A first collection']], chosen, {
    onchange: draw,
  });
  draw();
  const element = h(
    'div',
    { class: 'form' },
    h('div', { class: 'pair' }, nameField, field('Collection', select)),
    inner,
  );

  return {
    element,
    fault: (error) => {
      const place = nameField.querySelector('.fault');
      place.textContent = error.message;
      place.hidden = false;
      nameField.classList.add('faulty');
      name.setAttribute('aria-invalid', 'true');
      name.focus();
    },
    settle: async () => {
      if (!name.value.trim()) throw Object.assign(new Error('A job needs a name.'), { field: 'name' });
      let target = select.value;
      if (made) {
        const { names, body } = made.read();
        if (!names.collection) throw new Error('The new collection needs a name.');
        target = idOf(names);
        try {
          await call('PUT', scheduler(target), { body, isNew: true });
        } catch (error) {
          // One of that name is there: then it is that one, as it is.
          if (error.status !== 412) throw error;
        }
      }
      return idOf({ ...namesOf(target), job: name.value.trim() });
    },
  };
}
