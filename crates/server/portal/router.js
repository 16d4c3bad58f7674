// Addresses: which page a path names, and going from one to the next without loading.

let show = () => {};
let guard = null;
let current = '';

/** Starts listening; `shown` is told every address. */
export function start(shown) {
  show = shown;
  current = location.pathname + location.search;
  addEventListener('popstate', () => {
    if (!mayLeave()) {
      history.pushState(null, '', current);
      return;
    }
    current = location.pathname + location.search;
    show();
  });
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = event.target.closest?.('a[href]');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.hash && link.pathname === location.pathname) return;
    if (link.pathname !== '/' && !link.pathname.startsWith('/ui/')) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
  addEventListener('beforeunload', (event) => {
    if (guard?.()) event.preventDefault();
  });
  show();
}

/** Goes to an address. */
export function go(address, { replace = false } = {}) {
  if (!mayLeave()) return;
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  current = address;
  show();
}

/** Changes the query without showing the page anew. */
export function rewrite(parameters) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value)).toString();
  current = location.pathname + (query ? `?${query}` : '');
  history.replaceState(null, '', current);
}

/** While `unsaved` says true, leaving asks first. */
export function guardLeaving(unsaved) {
  guard = unsaved;
}

function mayLeave() {
  if (guard?.() && !confirm('There are changes that are not saved. Leave all the same?')) return false;
  guard = null;
  return true;
}

/** The segments of the path and the query. */
export function address() {
  const segments = location.pathname.split('/').filter(Boolean).map(decode);
  return { segments: segments[0] === 'ui' ? segments.slice(1) : segments, query: new URLSearchParams(location.search) };
}

function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
