// What happens at the moment: one stream of events for all pages.
//
// Browsers open few connections to one host, and a stream holds one. A tab that nobody looks at lets go of its own, and
// takes it up again, with everything it shows loaded anew, when somebody does.

const listeners = new Set();
const watchers = new Set();
let state = 'connecting';
let abort = null;
let wait = 500;
let timer = null;
/** The server says something every 15 seconds, if only that it is there. */
const SILENCE = 40_000;
const LONGEST_WAIT = 10_000;

/** Calls with every event `(kind, data)`; answers a function that ends it. */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls with the state of the connection, now and at each change: connecting, live, lost. */
export function watch(watcher) {
  watchers.add(watcher);
  watcher(state);
  return () => watchers.delete(watcher);
}

function become(next) {
  if (state === next) return;
  state = next;
  for (const watcher of watchers) watcher(state);
}

function tell(kind, data) {
  for (const listener of [...listeners]) listener(kind, data);
}

export function connect() {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) close();
    else open();
  });
  if (!document.hidden) open();
}

/** Tries again at once. */
export function retry() {
  wait = 500;
  close();
  open();
}

function close() {
  clearTimeout(timer);
  abort?.abort();
  abort = null;
}

async function open() {
  if (abort) return;
  const mine = new AbortController();
  abort = mine;
  let watchdog;
  const feed = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => mine.abort(), SILENCE);
  };
  try {
    feed();
    const response = await fetch('/api/events', {
      signal: mine.signal,
      headers: { accept: 'text/event-stream' },
      cache: 'no-store',
    });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const again = state === 'lost';
    wait = 500;
    become('live');
    // What happened in between was not told.
    if (again) tell('reconnected', {});
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const read = reading();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      feed();
      read(value);
    }
  } catch {
    // Whatever the reason, the answer is to try again.
  }
  clearTimeout(watchdog);
  if (abort !== mine) return;
  abort = null;
  if (document.hidden) return;
  become('lost');
  timer = setTimeout(open, wait);
  wait = Math.min(wait * 2, LONGEST_WAIT);
}

/** Takes pieces of the stream as they come, and tells each event when it is whole. */
export function reading(told = tell) {
  let rest = '';
  let kind = 'message';
  let data = [];
  return (piece) => {
    rest += piece;
    const lines = rest.split('\n');
    rest = lines.pop();
    for (const line of lines.map((one) => one.replace(/\r$/, ''))) {
      if (line === '') {
        if (data.length) {
          let value = null;
          try {
            value = JSON.parse(data.join('\n'));
          } catch {
            // Not for us.
          }
          if (value !== null) told(kind, value);
        }
        kind = 'message';
        data = [];
      } else if (line.startsWith('event:')) kind = line.slice(6).trim();
      else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
    }
  };
}
