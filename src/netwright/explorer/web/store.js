// The state of the page: what is in the URL, and nothing else. `t` rules.

const listeners = new Set();
const served = location.protocol.startsWith("http");
const state = { machine: "palindrome", t: 1 };

// Call `listener(state, changed)` now and whenever something changes.
export function watch(listener) {
  listeners.add(listener);
}

export function get(name) {
  return name === undefined ? state : state[name];
}

// Change some of it; `undefined` takes a name away.
export function set(changes, { replace = true } = {}) {
  const changed = new Set();
  for (const [name, value] of Object.entries(changes)) {
    if (state[name] === value) continue;
    changed.add(name);
    if (value === undefined) delete state[name];
    else state[name] = value;
  }
  if (!changed.size) return;
  writeURL(replace);
  for (const listener of listeners) listener(state, changed);
}

export function readURL(defaults = {}) {
  Object.assign(state, defaults);
  for (const [name, value] of new URLSearchParams(served ? location.search : location.hash.slice(1))) state[name] = value;
  state.t = Math.max(1, Math.floor(Number(state.t)) || 1);
}

// What a question to the server is about: all but where and how we look.
export function subject() {
  const { t, part, theme, big, zoom, ...rest } = state;
  return rest;
}

let pending = null;

function writeURL(replace) {
  // Browsers allow a hundred changes in half a minute; and in a frame none at all.
  clearTimeout(pending);
  pending = setTimeout(() => {
    try {
      const { t, part, theme, big } = state;
      const here = Object.fromEntries(Object.entries({ t, part, theme, big }).filter(([, value]) => value !== undefined));
      const url = served ? `?${new URLSearchParams(state)}` : `#${new URLSearchParams(here)}`;
      if (replace) history.replaceState(null, "", url);
      else history.pushState(null, "", url);
    } catch { /* a page in a sandboxed frame has no address of its own */ }
  }, replace ? 300 : 0);
}
