// Moments in a worker: the page stays free while a far one is computed, in slices.
//
//   { open: [data, word, view, machine] }   a network; drops the one before
//   { id, t }                               asks for a moment, and drops requests before it
//   { stop: true }                          drops all requests
//
// Answers: { id, done }, the fraction done; { id, moment }; { id, error }. A dropped one gets null.

import { Moments } from "./moments.js";

let moments = null, newest = 0, failure = null;

self.onmessage = async ({ data: { open, id, t, stop } }) => {
  const mine = (newest = stop || open ? 0 : id);
  if (stop) return;
  try {
    if (open) moments = new Moments(...open);
    else if (failure) throw failure;
    else {
      const moment = await moments.at(t, (done) => self.postMessage({ id, done }), () => newest !== mine);
      self.postMessage({ id, moment });
    }
  } catch (error) {
    if (open) failure = error; // which every request is answered with
    self.postMessage({ id, error: error.message });
  }
};
