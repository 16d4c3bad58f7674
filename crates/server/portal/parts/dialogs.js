// Messages, questions, and deletions that can be taken back.

import { h } from '../dom.js';
import { button, say } from './basics.js';

/** How long a deletion can be taken back. */
const HELD = 7000;

/** A message in the corner; errors stay until they are closed. */
export function toast(text, { kind = 'info', action, lasts = kind === 'bad' ? 0 : 5000 } = {}) {
  const close = () => {
    clearTimeout(timer);
    element.remove();
  };
  const element = h(
    'div',
    { class: `toast ${kind}`, role: kind === 'bad' ? 'alert' : 'status' },
    h('span', {}, text),
    action &&
      button(action.text, {
        kind: 'small',
        onclick: () => {
          close();
          action.do();
        },
      }),
    button('', { icon: 'cross', title: 'Close', kind: 'small', onclick: close }),
  );
  document.getElementById('toasts').append(element);
  let timer = lasts ? setTimeout(close, lasts) : undefined;
  if (lasts) {
    // Whoever reaches for it gets it.
    element.addEventListener('pointerenter', () => clearTimeout(timer));
    element.addEventListener('pointerleave', () => {
      timer = setTimeout(close, lasts);
    });
  }
  return close;
}

export function report(error, what = '') {
  if (error.name === 'AbortError') return;
  toast(what ? `${what}: ${error.message}` : error.message, { kind: 'bad' });
}

/** A dialog; answers what its buttons are worth, null when it was closed. */
export function ask(title, content, choices) {
  return new Promise((resolve) => {
    let answer = null;
    const dialog = h('dialog', { 'aria-label': title });
    const buttons = choices.map(({ text, value, kind }) =>
      button(text, {
        kind,
        onclick: () => {
          answer = typeof value === 'function' ? value() : value;
          dialog.close();
        },
      }),
    );
    dialog.append(h('h2', {}, title), h('div', { class: 'content' }, content), h('div', { class: 'row end' }, buttons));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(answer);
    });
    dialog.addEventListener('click', (event) => {
      if (event.target === dialog) dialog.close();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A dialog with a form; `save` may throw, and then it stays open with the message. */
export function askForm(title, content, { saveText = 'Save', save, wide = false }) {
  return new Promise((resolve) => {
    let answer = null;
    const fault = h('p', { class: 'fault', role: 'alert', hidden: true });
    const submit = button(saveText, { kind: 'primary', type: 'submit' });
    const form = h(
      'form',
      {
        method: 'dialog',
        novalidate: true,
        onsubmit: async (event) => {
          event.preventDefault();
          submit.disabled = true;
          fault.hidden = true;
          try {
            answer = await save();
            dialog.close();
          } catch (error) {
            fault.textContent = error.message;
            fault.hidden = false;
          }
          submit.disabled = false;
        },
      },
      h('h2', {}, title),
      h('div', { class: 'content' }, content),
      fault,
      h('div', { class: 'row end' }, button('Cancel', { onclick: () => dialog.close() }), submit),
    );
    const dialog = h('dialog', { 'aria-label': title, class: wide ? 'wide' : '' }, form);
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const held = new Map();

/** Whether something is about to be deleted. */
export const isHeld = (id) => [...held.values()].some((one) => one.ids.has(id));

/** More than so many requests at once are not sure to leave with the page. */
const SAFE_TO_LEAVE = 100;

/** Lists hear by this that something is held back, was taken back, or is gone. */
const changed = () => document.dispatchEvent(new Event('held'));

/** Calls at each change of what is held back; answers a function that ends it. */
export function watchHeld(watcher) {
  document.addEventListener('held', watcher);
  return () => document.removeEventListener('held', watcher);
}

/** Deletes, but not yet: for some seconds it can be taken back. Leaving the portal carries it out. */
export function deleteLater(ids, text, carryOut) {
  const key = Symbol(text);
  const finish = async (leaving) => {
    if (!held.delete(key)) return;
    clearTimeout(timer);
    close();
    await carryOut([...ids], { keepalive: leaving });
    if (!leaving) changed();
  };
  const timer = setTimeout(() => finish(false), HELD);
  held.set(key, { ids: new Set(ids), finish });
  const close = toast(text, {
    lasts: 0,
    action: {
      text: 'Undo',
      do: () => {
        if (!held.delete(key)) return;
        clearTimeout(timer);
        say('Nothing was deleted');
        changed();
      },
    },
  });
  changed();
}

addEventListener('beforeunload', (event) => {
  const waiting = [...held.values()].reduce((sum, { ids }) => sum + ids.size, 0);
  if (waiting > SAFE_TO_LEAVE) event.preventDefault();
});
addEventListener('pagehide', () => {
  for (const { finish } of [...held.values()]) finish(true);
});
