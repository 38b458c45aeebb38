// The laboratory in a worker: the page stays free while something far is computed.
//
//   { open: [data, word, machine, last] }   a network; drops the one before
//   { id, name, given }                     a question
//   { stop: true }                          drops all questions
//
// Answers: { id, done }, the fraction done; { id, found }; { id, error }.

import { Lab } from "./lab.js";

let lab = null, failure = null;

self.onmessage = async ({ data: { open, id, name, given, stop } }) => {
  try {
    if (stop) lab?.stop();
    else if (open) lab = new Lab(...open);
    else if (failure) throw failure;
    else self.postMessage({ id, found: await lab.ask(name, given, (done) => self.postMessage({ id, done })) });
  } catch (error) {
    if (open) failure = error; // which every question is answered with
    else self.postMessage({ id, error: error.message });
  }
};
