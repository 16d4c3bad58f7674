// The editor: a job as a form and as JSON, with what it will do beside it.

import { call, collections, get, idOf, namesOf, pageOf, scheduler } from '../api.js';
import { debounce, fill, h } from '../dom.js';
import { actionForm } from '../job/action-form.js';
import { at, draftOf, duplicate, fresh, isSame, patchOf, put, copy } from '../job/draft.js';
import { recurrenceForm } from '../job/recurrence-form.js';
import { previewParts } from '../job/schedule-panel.js';
import { button, failure, head, into, link, say } from '../parts/basics.js';
import { ask, report, toast } from '../parts/dialogs.js';
import { choice, field, text } from '../parts/fields.js';
import { innerTabs } from '../parts/lists.js';
import { go, guardLeaving } from '../router.js';
import { localZone, now } from '../time.js';
import { clearFaults, showFaults } from '../job/faults.js';
import { whereForm } from '../job/where-form.js';

export function show(place, { name, segments, query }) {
  const abort = new AbortController();
  const id =
    name === 'edit'
      ? idOf({ subscription: segments[0], group: segments[1], collection: segments[2], job: segments[3] })
      : null;
  into(
    place,
    async () => {
      if (id) {
        const { body, etag } = await call('GET', scheduler(id), { signal: abort.signal });
        return editor({ id, stored: body, etag, abort });
      }
      const from = query.get('from');
      const [known, template] = await Promise.all([
        collections({ signal: abort.signal }),
        from ? get(scheduler(from), { signal: abort.signal }) : null,
      ]);
      const draft = template ? duplicate(template) : fresh(localZone(), now());
      return editor({
        draft,
        known,
        collection: query.get('collection') ?? (from && idOf({ ...namesOf(from), job: undefined })),
        proposed: from ? `${namesOf(from).job}-copy` : '',
        abort,
      });
    },
    { rows: 8 },
  );
  return {
    title: id ? `Edit ${segments[3]}` : 'New job',
    leave: () => {
      abort.abort();
      guardLeaving(null);
    },
  };
}

function editor({ id, stored, etag, draft: given, known = [], collection, proposed = '', abort }) {
  let before = stored ? draftOf(stored) : null;
  const draft = stored ? copy(before) : given;
  const untouched = copy(draft);
  let saved = false;
  // Whether the JSON that is being typed cannot be read.
  let wrong = false;
  guardLeaving(() => !saved && !isSame(untouched, draft));

  const aside = h('aside', { class: 'preview', 'aria-label': 'When it will run' });
  const faults = h('div', {});
  const where = id ? null : whereForm({ known, collection, proposed });
  const save = button(id ? 'Save' : 'Create', { kind: 'primary', type: 'submit' });

  let asked = 0;
  let told = '';
  const preview = async () => {
    const mine = (asked += 1);
    const { startTime, recurrence } = draft.properties ?? {};
    try {
      const { body } = await call('POST', '/api/preview', {
        body: { properties: { startTime, recurrence } },
        signal: abort.signal,
      });
      if (mine !== asked) return;
      clearFaults(form, (path) => path.startsWith('properties.recurrence') || path === 'properties.startTime');
      if (body.sentence !== told) say(body.sentence);
      told = body.sentence;
      fill(aside, h('p', { class: 'sentence' }, body.sentence), previewParts(body));
    } catch (error) {
      if (error.name === 'AbortError' || mine !== asked) return;
      if (error.status !== 400) {
        fill(aside, failure(error, preview));
        return;
      }
      clearFaults(form, (path) => path.startsWith('properties.recurrence') || path === 'properties.startTime');
      showFaults(form, error.details);
      fill(
        aside,
        h('p', { class: 'sentence' }, 'This cannot run yet'),
        h(
          'ul',
          { class: 'report' },
          (error.details.length ? error.details : [error]).map((one) => h('li', {}, one.message)),
        ),
      );
    }
  };
  const soon = debounce(250, preview);
  const changed = () => soon();

  const tabs = innerTabs(
    'Form or JSON',
    [
      ['form', 'Form'],
      ['json', 'JSON'],
    ],
    (which) => {
      if (which === 'json') return jsonView();
      if (wrong) {
        toast('The JSON has a mistake; mend it first.', { kind: 'bad' });
        return false;
      }
      return formView();
    },
  );

  function formView() {
    const action = h('div', {});
    const schedule = h('div', {});
    actionForm(action, draft, changed, { stored: id ?? undefined });
    recurrenceForm(schedule, draft, changed);
    return [
      h('section', { class: 'card', id: 'action' }, h('h2', {}, 'What it does'), action),
      h('section', { class: 'card', id: 'schedule' }, h('h2', {}, 'When'), schedule),
      h('section', { class: 'card', id: 'more' }, h('h2', {}, 'If things go wrong'), behaviour()),
    ];
  }

  function behaviour() {
    const policy = at(draft, 'properties.catchUp');
    const chosen = typeof policy === 'string' ? policy : (policy?.policy ?? 'last');
    const most = text({
      type: 'number',
      min: 1,
      max: 1000,
      value: policy?.max ?? 10,
      oninput: () => set('properties.catchUp', { policy: 'all', max: Number(most.value) || 1 }),
    });
    const set = (path, value) => {
      put(draft, path, value);
      changed();
    };
    const limit = field('How many at most', most, { path: 'properties.catchUp.max' });
    limit.hidden = chosen !== 'all';
    const catchUp = choice(
      [
        ['last', 'run the latest that was missed'],
        ['none', 'leave out what was missed'],
        ['all', 'make up for them'],
      ],
      chosen,
      {
        onchange: () => {
          limit.hidden = catchUp.value !== 'all';
          set(
            'properties.catchUp',
            catchUp.value === 'last'
              ? undefined
              : catchUp.value === 'all'
                ? { policy: 'all', max: Number(most.value) || 10 }
                : catchUp.value,
          );
        },
      },
    );
    const overlap = choice(
      [
        ['allow', 'both run'],
        ['skip', 'the later is skipped'],
        ['queue', 'the later waits'],
      ],
      String(at(draft, 'properties.overlap') ?? 'allow').toLowerCase(),
      { onchange: () => set('properties.overlap', overlap.value === 'allow' ? undefined : overlap.value) },
    );
    const state = choice(
      [
        ['enabled', 'Enabled'],
        ['disabled', 'Disabled'],
      ],
      String(at(draft, 'properties.state') ?? 'enabled').toLowerCase(),
      { onchange: () => set('properties.state', state.value === 'enabled' && !id ? undefined : state.value) },
    );
    return [
      h('div', { class: 'pair' }, field('After an outage', catchUp, { path: 'properties.catchUp' }), limit),
      h(
        'div',
        { class: 'pair' },
        field('When runs overlap', overlap, { path: 'properties.overlap' }),
        field('State', state, { path: 'properties.state' }),
      ),
    ];
  }

  function jsonView() {
    const message = h('p', { class: 'fault', role: 'alert', hidden: true });
    const input = h('textarea', {
      class: 'json',
      rows: 28,
      spellcheck: 'false',
      'aria-label': 'The job as JSON',
      oninput: () => {
        try {
          const read = JSON.parse(input.value);
          if (
            read === null ||
            typeof read !== 'object' ||
            read.properties === null ||
            typeof read.properties !== 'object'
          )
            throw new Error('a job is an object with "properties"');
          for (const key of Object.keys(draft)) delete draft[key];
          Object.assign(draft, read);
          wrong = false;
          message.hidden = true;
          changed();
        } catch (error) {
          wrong = true;
          message.textContent = `Not right yet: ${error.message}`;
          message.hidden = false;
        }
        save.disabled = wrong;
      },
    });
    input.value = JSON.stringify(draft, null, 2);
    return h(
      'section',
      { class: 'card' },
      h(
        'p',
        { class: 'hint' },
        'The same job. What the form does not know is kept. Secrets are never shown; those that are stored stay.',
      ),
      input,
      message,
    );
  }

  const form = h(
    'form',
    {
      class: 'editor',
      novalidate: true,
      onsubmit: (event) => {
        event.preventDefault();
        store();
      },
    },
    head(id ? namesOf(id).job : 'New job', {
      above: id ? [link(namesOf(id).collection, pageOf(idOf({ ...namesOf(id), job: undefined }))), ' / edit'] : null,
      actions: [link('Cancel', id ? pageOf(id) : '/ui/jobs', { class: 'button' }), save],
    }),
    faults,
    h(
      'div',
      { class: 'editor-columns' },
      h(
        'div',
        {},
        where && h('section', { class: 'card' }, h('h2', {}, 'Name and place'), where.element),
        tabs.list,
        tabs.panel,
      ),
      aside,
    ),
  );

  async function store({ overwrite = false } = {}) {
    if (wrong) return;
    save.disabled = true;
    clearFaults(form);
    fill(faults);
    try {
      const target = id ?? (await where.settle());
      const result = id
        ? await call('PATCH', scheduler(id), { body: patchOf(before, draft), etag: overwrite ? undefined : etag })
        : await call('PUT', scheduler(target), { body: draft, isNew: true });
      saved = true;
      guardLeaving(null);
      toast(id ? 'Saved' : `${namesOf(target).job} is created`, { lasts: 3000 });
      go(pageOf(result.body?.id ?? target));
    } catch (error) {
      if (error.status === 412) await collide();
      else if (error.field) {
        where.fault(error);
      } else {
        const { placed } = showFaults(form, error.details ?? [], { focus: true });
        fill(
          faults,
          h(
            'div',
            { class: 'failure', role: 'alert' },
            h('h2', {}, id ? 'Not saved' : 'Not created'),
            error.details?.length
              ? h(
                  'ul',
                  {},
                  error.details.map((one) => h('li', {}, h('code', {}, one.target), ': ', one.message)),
                )
              : h('p', {}, error.message),
          ),
        );
        if (!placed) faults.scrollIntoView({ block: 'nearest' });
        if (error.status === undefined) console.error(error);
      }
    }
    save.disabled = false;
  }

  /** Somebody else was faster. */
  async function collide() {
    if (!id) {
      where.fault(new Error('A job of this name is there already; choose another name.'));
      return;
    }
    const choiceMade = await ask(
      'Somebody else has changed this job',
      h('p', {}, 'It was saved elsewhere since you opened it. Your changes are still here.'),
      [
        { text: 'Keep editing' },
        { text: 'Show me theirs', value: 'theirs' },
        { text: 'Save mine over theirs', value: 'mine', kind: 'danger' },
      ],
    );
    try {
      if (choiceMade === 'mine') await store({ overwrite: true });
      else if (choiceMade === 'theirs') {
        const { body, etag: newer } = await call('GET', scheduler(id));
        before = draftOf(body);
        etag = newer;
        for (const key of Object.keys(draft)) delete draft[key];
        Object.assign(draft, copy(before));
        for (const key of Object.keys(untouched)) delete untouched[key];
        Object.assign(untouched, copy(before));
        tabs.choose('form', false);
        changed();
      }
    } catch (error) {
      report(error);
    }
  }

  preview();
  return form;
}
