// The state of the page, kept in the URL alone. `t` is the time that all views show.

const listeners = new Set();
const served = location.protocol.startsWith("http") && !globalThis.site; // a static site is as a file
const state = { machine: "palindrome", t: 1 };

// Call `listener(state, changed)` now and at every change.
export function watch(listener) {
  listeners.add(listener);
}

export function get(name) {
  return name === undefined ? state : state[name];
}

// Change some names; `undefined` removes a name.
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

const VIEW = ["t", "part", "theme", "big", "zoom", "break", "bits", "beside"];

// Whether a name identifies the run: all do but the time and the view, so options need no list.
export const isSubject = (name) => !VIEW.includes(name);

const filtered = (keep) => Object.fromEntries(Object.entries(state).filter(([name]) => keep(name)));

export const subject = () => filtered(isSubject);

// The change that removes the subject, the part of a moment and what is broken, for another one.
export const forgotten = () =>
  Object.fromEntries(["part", "break", "bits", "beside", ...Object.keys(subject())].map((name) => [name, undefined]));

// What the address of a file has; a file that has a network adds the machine.
export const inFragment = [...VIEW];

let pending = null;

function writeURL(replace) {
  // Browsers allow a hundred changes in half a minute, and none in a frame.
  clearTimeout(pending);
  pending = setTimeout(() => {
    try {
      const here = filtered((name) => inFragment.includes(name));
      const url = served ? `?${new URLSearchParams(state)}` : `#${new URLSearchParams(here)}`;
      if (replace) history.replaceState(null, "", url);
      else history.pushState(null, "", url);
    } catch { /* a page in a sandboxed frame has no address of its own */ }
  }, replace ? 300 : 0);
}
