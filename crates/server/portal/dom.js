// Elements. All text goes through text nodes; nothing here or anywhere else reads HTML from a string.

const SVG = 'http://www.w3.org/2000/svg';
const PROPERTIES = new Set([
  'value',
  'checked',
  'disabled',
  'hidden',
  'indeterminate',
  'open',
  'selected',
  'multiple',
  'required',
]);

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || (value === false && !PROPERTIES.has(name))) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (name === 'data') Object.assign(element.dataset, value);
    else if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** An HTML element: `h('p', {class: 'note', onclick}, 'text', other)`. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  // A select knows its value only when its options are there.
  const { value, ...rest } = attributes ?? {};
  build(element, rest, children);
  if (value !== undefined && value !== null) {
    if (PROPERTIES.has('value') && 'value' in element && tag !== 'li' && tag !== 'option') element.value = value;
    else element.setAttribute('value', value);
  }
  return element;
}

/** An SVG element. */
export function s(tag, attributes, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

/** Replaces what is in an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

let counter = 0;

/** A fresh id, for labels and descriptions. */
export function freshId(prefix = 'x') {
  counter += 1;
  return `${prefix}-${counter}`;
}

/** Calls only when nobody has called for a while. */
export function debounce(milliseconds, action) {
  let timer;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds, ...given);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Calls at once, then at most once in so many milliseconds; the last call is never lost. */
export function throttle(milliseconds, action) {
  let timer = null;
  let again = false;
  const run = () => {
    again = false;
    action();
    timer = setTimeout(() => {
      timer = null;
      if (again) run();
    }, milliseconds);
  };
  const call = () => {
    if (timer === null) run();
    else again = true;
  };
  call.cancel = () => {
    clearTimeout(timer);
    timer = null;
    again = false;
  };
  return call;
}
