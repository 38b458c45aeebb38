// The laboratory in a worker: the page stays free while something far is computed.
//
//   { open: [data, word, machine, last] }   a network; drops the one before
//   { id, name, given }                     a question
//   { stop: true }                          drops all questions
//
// Answers: { id, done }, the fraction done; { id, found }; { id, error }.

import { Lab } from "./lab.js";

let lab = null;

self.onmessage = async ({ data: { open, id, name, given, stop } }) => {
  try {
    if (stop) lab?.stop();
    else if (open) lab = new Lab(...open);
    else self.postMessage({ id, found: await lab.ask(name, given, (done) => self.postMessage({ id, done })) });
  } catch (error) {
    self.postMessage({ id, error: error.message });
  }
};
