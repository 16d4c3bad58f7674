// When a job runs, by clicking. Writes into the draft; what a choice brings along is drawn anew.

import { fill, h } from '../dom.js';
import { button } from '../parts/basics.js';
import { cells, choice, field, text } from '../parts/fields.js';
import { localZone } from '../time.js';
import { at, changeMode, listOf, modeOf, numbers, put } from './draft.js';
import { instantOf, knowsZone, wallOf } from './wall.js';

const MODES = [
  ['once', 'Once'],
  ['minute', 'Minutes'],
  ['hour', 'Hours'],
  ['day', 'Days'],
  ['week', 'Weeks'],
  ['month', 'Months'],
  ['year', 'Years'],
  ['cron', 'Cron'],
];
const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const NTH = [
  ['1', 'first'],
  ['2', 'second'],
  ['3', 'third'],
  ['4', 'fourth'],
  ['5', 'fifth'],
  ['-1', 'last'],
  ['-2', 'second to last'],
  ['-3', 'third to last'],
  ['', 'every'],
];
const BASE = 'properties.recurrence';
const title = (word) => word.replace(/^./, (letter) => letter.toUpperCase());
const two = (number) => String(number).padStart(2, '0');

/** The form in an element; `changed` is called after every change. */
export function recurrenceForm(place, draft, changed) {
  const set = (path, value) => {
    put(draft, path, value);
    changed();
  };
  const redraw = () => draw();
  const zone = () => at(draft, `${BASE}.timeZone`) ?? 'UTC';

  function draw() {
    const mode = modeOf(draft);
    const modes = h(
      'div',
      { class: 'segments wrap', role: 'radiogroup', 'aria-label': 'How it repeats' },
      MODES.map(([name, words]) =>
        h(
          'label',
          {},
          h('input', {
            type: 'radio',
            name: 'mode',
            value: name,
            checked: name === mode,
            onchange: () => {
              changeMode(draft, name);
              redraw();
              place.querySelector('input[name=mode]:checked')?.focus();
              changed();
            },
          }),
          h('span', {}, words),
        ),
      ),
    );
    fill(
      place,
      modes,
      mode === 'once'
        ? once()
        : [mode === 'cron' ? cron() : [interval(mode), schedule(mode)], zoneField(), ending(mode), clockChanges()],
    );
  }

  function once() {
    return moment('Run at', 'properties.startTime', 'Empty: at once.');
  }

  function cron() {
    return field(
      'Expression',
      text({
        value: at(draft, `${BASE}.cron`) ?? '',
        class: 'code-input',
        placeholder: '*/5 8-18 * * MON-FRI',
        oninput: (event) => set(`${BASE}.cron`, event.target.value),
      }),
      { path: `${BASE}.cron`, hint: 'Minute, hour, day of month, month, day of week. Also L, 5#2, 5L, @daily.' },
    );
  }

  function interval(mode) {
    if (mode === 'year') return null;
    const unit = () => (input.value === '1' ? mode : `${mode}s`);
    const input = text({
      type: 'number',
      min: 1,
      value: at(draft, `${BASE}.interval`) ?? 1,
      class: 'short',
      oninput: () => {
        set(`${BASE}.interval`, input.value === '' ? undefined : Number(input.value));
        word.textContent = unit();
      },
    });
    const word = h('span', {}, unit());
    return field('Every', h('div', { class: 'row tight' }, input, word), {
      path: `${BASE}.interval`,
    });
  }

  function schedule(mode) {
    const daily = !['minute', 'hour'].includes(mode);
    return [
      mode === 'week' && weekDays(),
      mode === 'year' &&
        list(
          'In',
          'months',
          MONTHS.map((words, month) => [month + 1, words]),
          { columns: 6 },
        ),
      (mode === 'month' || mode === 'year') && monthDays(),
      list(
        daily ? 'At hours' : 'Only in hours',
        'hours',
        Array.from({ length: 24 }, (_, hour) => [hour, two(hour)]),
        { columns: 12, typed: true },
      ),
      list(
        daily ? 'At minutes' : 'Only at minutes',
        'minutes',
        Array.from({ length: 12 }, (_, step) => [step * 5, two(step * 5)]),
        {
          columns: 12,
          typed: true,
          hint: daily ? 'Minutes without hours: in every hour.' : null,
        },
      ),
    ];
  }

  function weekDays() {
    const chosen = listOf(at(draft, `${BASE}.schedule.weekDays`)).map((day) => String(day).toLowerCase());
    return group(
      'On',
      `${BASE}.schedule.weekDays`,
      cells(
        'Days of the week',
        DAYS.map((day) => [day, title(day.slice(0, 3)), title(day)]),
        chosen,
        (days) => set(`${BASE}.schedule.weekDays`, days),
        { columns: 7 },
      ),
    );
  }

  function monthDays() {
    const days = [
      ...Array.from({ length: 31 }, (_, day) => [day + 1, String(day + 1)]),
      [-1, 'last'],
      [-2, '2nd last'],
      [-3, '3rd last'],
    ];
    return [
      list('On days', 'monthDays', days, {
        columns: 8,
        typed: true,
        example: '1, 15, -1',
        hint: 'Negative ones count from the end: -1 is the last day.',
      }),
      occurrences(),
    ];
  }

  /** "the last Friday": as many as wanted. */
  function occurrences() {
    const path = `${BASE}.schedule.monthlyOccurrences`;
    const read = () => listOf(at(draft, path));
    const rows = read().map((one, index) => {
      const change = (changes) => {
        const next = read().map((old, other) => (other === index ? { ...old, ...changes } : old));
        for (const entry of next) if (entry.occurrence === undefined) delete entry.occurrence;
        set(path, next);
      };
      return h(
        'div',
        { class: 'row tight', data: { path: `${path}[${index}]` } },
        choice(NTH, one.occurrence === undefined ? '' : String(one.occurrence), {
          'aria-label': 'Which',
          onchange: (event) =>
            change({ occurrence: event.target.value === '' ? undefined : Number(event.target.value) }),
        }),
        choice(
          DAYS.map((day) => [day, title(day)]),
          String(one.day ?? 'monday').toLowerCase(),
          { 'aria-label': 'Day', onchange: (event) => change({ day: event.target.value }) },
        ),
        button('', {
          icon: 'cross',
          kind: 'small',
          title: 'Remove',
          onclick: () => {
            set(
              path,
              read().filter((_, other) => other !== index),
            );
            redraw();
          },
        }),
      );
    });
    return group(
      'On weekdays',
      path,
      h(
        'div',
        { class: 'pairs' },
        rows,
        button('Add a weekday, such as the last Friday', {
          kind: 'small',
          icon: 'plus',
          onclick: () => {
            set(path, [...read(), { day: 'friday', occurrence: -1 }]);
            redraw();
          },
        }),
      ),
      'With days as well: a day that is both, such as Friday the 13th.',
    );
  }

  /** Cells to tick, and the same list to type. */
  function list(label, name, values, { columns, typed = false, example = '0, 15, 30', hint } = {}) {
    const path = `${BASE}.schedule.${name}`;
    const chosen = listOf(at(draft, path));
    const input =
      typed &&
      text({
        value: chosen.join(', '),
        'aria-label': `${label}, as a list`,
        placeholder: `such as ${example}`,
        class: 'code-input',
        oninput: () => {
          const found = numbers(input.value);
          input.setAttribute('aria-invalid', String(found === null));
          if (found === null) return;
          set(path, found);
          fill(grid, boxes());
        },
      });
    const boxes = () => {
      const now = listOf(at(draft, path));
      return cells(
        label,
        values,
        now,
        (ticked) => {
          // What was typed and has no cell is kept.
          const others = listOf(at(draft, path)).filter((value) => !values.some(([one]) => one === value));
          const next = [...ticked, ...others].sort((a, b) => (a < 0 ? 1000 - a : a) - (b < 0 ? 1000 - b : b));
          set(path, next);
          if (input) input.value = next.join(', ');
        },
        { columns, kind: 'small' },
      );
    };
    const grid = h('div', {}, boxes());
    return group(label, path, [grid, input], hint);
  }

  function zoneField() {
    const names = h(
      'datalist',
      { id: 'zones' },
      (Intl.supportedValuesOf?.('timeZone') ?? []).map((name) => h('option', { value: name })),
    );
    const input = text({
      value: at(draft, `${BASE}.timeZone`) ?? '',
      list: 'zones',
      placeholder: 'UTC',
      onchange: () => {
        set(`${BASE}.timeZone`, input.value.trim() || undefined);
        redraw();
      },
      oninput: () => set(`${BASE}.timeZone`, input.value.trim() || undefined),
    });
    const mine = localZone();
    return field(
      'Time zone',
      h(
        'div',
        { class: 'row tight' },
        input,
        names,
        zone() !== mine &&
          button(`Use ${mine}`, {
            kind: 'small',
            onclick: () => {
              set(`${BASE}.timeZone`, mine === 'UTC' ? undefined : mine);
              redraw();
            },
          }),
      ),
      { path: `${BASE}.timeZone` },
    );
  }

  function ending(mode) {
    const count = text({
      type: 'number',
      min: 1,
      value: at(draft, `${BASE}.count`) ?? '',
      placeholder: 'no limit',
      oninput: () => set(`${BASE}.count`, count.value === '' ? undefined : Number(count.value)),
    });
    return [
      h(
        'div',
        { class: 'pair' },
        moment(
          'Starts',
          'properties.startTime',
          mode === 'cron' ? 'Empty: from now on.' : 'Empty: it also runs at once.',
        ),
        moment('Ends', `${BASE}.endTime`, 'Empty: never.'),
      ),
      h('div', { class: 'pair' }, field('After so many runs', count, { path: `${BASE}.count` })),
    ];
  }

  function clockChanges() {
    if (zone() === 'UTC' && !at(draft, `${BASE}.dst`)) return null;
    return h(
      'div',
      { class: 'pair' },
      field(
        'When the clock jumps over a run',
        choice(
          [
            ['', 'it runs later (shift)'],
            ['skip', 'it does not run (skip)'],
          ],
          at(draft, `${BASE}.dst.gap`) === 'shift' ? '' : (at(draft, `${BASE}.dst.gap`) ?? ''),
          { onchange: (event) => set(`${BASE}.dst.gap`, event.target.value || undefined) },
        ),
        { path: `${BASE}.dst.gap` },
      ),
      field(
        'When a time comes twice',
        choice(
          [
            ['', 'it runs the first time'],
            ['last', 'it runs the second time'],
            ['both', 'it runs both times'],
          ],
          at(draft, `${BASE}.dst.fold`) === 'first' ? '' : (at(draft, `${BASE}.dst.fold`) ?? ''),
          { onchange: (event) => set(`${BASE}.dst.fold`, event.target.value || undefined) },
        ),
        { path: `${BASE}.dst.fold` },
      ),
    );
  }

  /** An instant, on the wall clock of the job's zone. */
  function moment(label, path, hint) {
    const known = knowsZone(zone()) ? zone() : 'UTC';
    const value = at(draft, path);
    const input = text({
      type: 'datetime-local',
      step: 1,
      value: value ? wallOf(String(value), known) : '',
      onchange: () => set(path, input.value ? instantOf(input.value, known) : undefined),
    });
    return field(`${label} (${known})`, input, { path, hint });
  }

  draw();
  return { redraw };
}

function group(label, path, content, hint) {
  return h(
    'fieldset',
    { class: 'field', data: { path } },
    h('legend', {}, label),
    content,
    hint && h('p', { class: 'hint' }, hint),
    h('p', { class: 'fault', hidden: true }),
  );
}
