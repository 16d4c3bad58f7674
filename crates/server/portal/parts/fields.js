// Fields: an input with its label, hint and place for a fault, and inputs for lists and pairs.

import { fill, freshId, h } from '../dom.js';
import { button } from './basics.js';

/** A label, an input and what is said about it. `path` is where a fault of the API finds it. */
export function field(label, control, { hint, path, wide } = {}) {
  const input = control.matches?.('input, select, textarea')
    ? control
    : control.querySelector?.('input, select, textarea');
  if (input && !input.id) input.id = freshId('field');
  const note = hint ? h('p', { class: 'hint', id: freshId('hint') }, hint) : null;
  const fault = h('p', { class: 'fault', id: freshId('fault'), hidden: true });
  if (input) input.setAttribute('aria-describedby', [note?.id, fault.id].filter(Boolean).join(' '));
  return h(
    'div',
    { class: `field${wide ? ' wide' : ''}`, data: path ? { path } : {} },
    h('label', { for: input?.id }, label),
    control,
    note,
    fault,
  );
}

export function text(attributes = {}) {
  return h('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', ...attributes });
}

export function area(attributes = {}) {
  return h('textarea', { rows: 4, spellcheck: 'false', ...attributes });
}

/** A select. A value that is not among the choices is added, so that it is kept. */
export function choice(choices, value, attributes = {}) {
  const known = choices.some(([one]) => String(one) === String(value ?? ''));
  const list = known ? choices : [...choices, [value, String(value)]];
  return h(
    'select',
    { value: value ?? '', ...attributes },
    list.map(([one, words]) => h('option', { value: one }, words)),
  );
}

/** Boxes to tick, as a grid of small cells. `changed` gets the list of values. */
export function cells(label, values, chosen, changed, { columns, kind = '' } = {}) {
  const set = new Set(chosen.map(String));
  const grid = h(
    'div',
    { class: `cells ${kind}`, role: 'group', 'aria-label': label },
    values.map(([value, words, title]) => {
      const box = h('input', {
        type: 'checkbox',
        checked: set.has(String(value)),
        onchange: () => {
          if (box.checked) set.add(String(value));
          else set.delete(String(value));
          changed(values.map(([one]) => one).filter((one) => set.has(String(one))));
        },
      });
      return h('label', { title }, box, h('span', {}, words));
    }),
  );
  if (columns) grid.style.setProperty('--columns', columns);
  return grid;
}

/** Names with values: headers, tags, properties. */
export function pairs(given, { name, value, add, changed = () => {} }) {
  const list = h('div', { class: 'pairs' });
  const read = () => {
    const found = {};
    for (const row of list.children) {
      const [key, content] = row.querySelectorAll('input');
      if (key.value.trim()) found[key.value.trim()] = content.value;
    }
    return found;
  };
  const row = (key, content) => {
    const element = h(
      'div',
      { class: 'row tight' },
      text({ value: key, placeholder: name, 'aria-label': name, oninput: () => changed(read()) }),
      text({
        value: content,
        placeholder: value,
        'aria-label': key ? `${value} of ${key}` : value,
        oninput: () => changed(read()),
      }),
      button('', {
        icon: 'cross',
        kind: 'small',
        title: `Remove ${key || 'this'}`,
        onclick: () => {
          element.remove();
          changed(read());
        },
      }),
    );
    return element;
  };
  fill(
    list,
    Object.entries(given).map(([key, content]) => row(key, content ?? '')),
  );
  const element = h(
    'div',
    {},
    list,
    button(add, {
      kind: 'small',
      icon: 'plus',
      onclick: () => {
        list.append(row('', ''));
        list.lastElementChild.querySelector('input').focus();
      },
    }),
  );
  return { element, read };
}
