// A laboratory in a worker; in this thread, in slices, where a page may have no worker.
//
// A page in a file has its modules as data: URLs in an import map, which workers do not have. So
// its worker is a blob: the engine's modules one after the other, without their imports.

import { Lab } from "./lab.js";

export const MOST = 100_000; // the last time that the page computes
const ORDER = ["rational", "vectors", "attention", "run", "transformer", "heads", "rnn", "neural_gpu", "network", "prompt", "timeline", "proof", "moments", "twin", "lab", "worker"];

function startWorker() {
  const map = document.querySelector('script[type="importmap"]');
  if (!map) return new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  const { imports } = JSON.parse(map.textContent);
  const sources = ORDER.map((name) => {
    const source = decodeURIComponent(imports[`netwright/engine/${name}.js`].split(",")[1]);
    return source.replace(/^import .*$/gm, "").replace(/^export /gm, "");
  });
  const url = URL.createObjectURL(new Blob([sources.join("\n")], { type: "text/javascript" }));
  const worker = new Worker(url);
  URL.revokeObjectURL(url);
  return worker;
}

class RemoteLab {
  constructor(worker, given) {
    Object.assign(this, { worker, waiting: new Map(), asked: 0, own: null });
    worker.onmessage = ({ data: { id, done, found, error } }) => {
      const request = this.waiting.get(id);
      if (!request) return;
      if (done !== undefined) return void request.progress(done);
      this.waiting.delete(id);
      if (error) request.reject(new Error(error));
      else request.resolve(found);
    };
    // A worker that cannot start leaves its questions to this thread.
    worker.onerror = () => {
      this.own = new Lab(...given);
      for (const { question, progress, resolve, reject } of this.waiting.values()) this.own.ask(...question, progress).then(resolve, reject);
      this.waiting.clear();
    };
    worker.postMessage({ open: given });
  }

  ask(name, given, progress) {
    if (this.own) return this.own.ask(name, given, progress);
    const id = (this.asked += 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { question: [name, given], progress, resolve, reject });
      this.worker.postMessage({ id, name, given });
    });
  }

  stop() { this.own ? this.own.stop() : this.worker.postMessage({ stop: true }); }
  close() {
    this.worker.terminate();
    for (const { resolve } of this.waiting.values()) resolve(null);
    this.waiting.clear();
  }
}

export function openLab(...given) {
  try {
    if (globalThis.Worker && globalThis.document) return new RemoteLab(startWorker(), given);
  } catch { /* a browser that refuses it */ }
  return new Lab(...given);
}
