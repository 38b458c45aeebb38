// Moments from a worker; in this thread, in slices, where a page may have no worker.
//
// A page in a file has its modules as data: URLs in an import map, which workers do not have. So
// the worker is a blob: the engine's modules one after the other, without their imports.

import { Moments } from "./moments.js";

const ORDER = ["rational", "vectors", "attention", "run", "transformer", "rnn", "neural_gpu", "network", "prompt", "timeline", "proof", "moments", "worker"];

function startWorker() {
  const map = JSON.parse(document.querySelector('script[type="importmap"]').textContent).imports;
  const sources = ORDER.map((name) => {
    const bytes = Uint8Array.from(atob(map[`netwright/engine/${name}.js`].split(",")[1]), (c) => c.charCodeAt(0));
    return new TextDecoder().decode(bytes).replace(/^import .*$/gm, "").replace(/^export /gm, "");
  });
  const url = URL.createObjectURL(new Blob([sources.join("\n")], { type: "text/javascript" }));
  const worker = new Worker(url);
  URL.revokeObjectURL(url);
  return worker;
}

class RemoteMoments {
  constructor(worker, given) {
    Object.assign(this, { worker, given, waiting: new Map(), asked: 0, own: null });
    worker.onmessage = ({ data: { id, done, moment, error } }) => {
      const request = this.waiting.get(id);
      if (!request) return;
      if (done !== undefined) return void (request.stopped() || request.progress(done));
      this.waiting.delete(id);
      if (error) request.reject(new Error(error));
      else request.resolve(moment);
    };
    // A worker that cannot start leaves its requests to this thread.
    worker.onerror = () => {
      this.own = new Moments(...given);
      for (const { t, progress, stopped, resolve, reject } of this.waiting.values()) this.own.at(t, progress, stopped).then(resolve, reject);
      this.waiting.clear();
    };
    worker.postMessage({ open: given });
  }

  at(t, progress, stopped) {
    if (this.own) return this.own.at(t, progress, stopped);
    const id = (this.asked += 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { t, progress, stopped, resolve, reject });
      this.worker.postMessage({ id, t });
    });
  }

  stop() { this.worker.postMessage({ stop: true }); }
  close() { this.worker.terminate(); }
}

export function openMoments(...given) {
  try {
    if (globalThis.Worker && globalThis.document) return new RemoteMoments(startWorker(), given);
  } catch { /* a browser that refuses it */ }
  return Object.assign(new Moments(...given), { stop() {}, close() {} });
}
