// The controller: the URL says what is shown, the source provides it, the views draw it.

import * as store from "./store.js";
import { openSource, Trouble } from "./source.js";
import { drawTape, say } from "./tape.js";
import { Picture } from "./picture.js";
import { Overview } from "./overview.js";
import { drawStream } from "./stream.js";
import { drawLemmas } from "./lemmas.js";
import { drawRule } from "./rule.js";
import { Transport } from "./transport.js";
import { Choice, showDemos } from "./choice.js";
import { showHelp, setTheme, nextTheme } from "./help.js";
import { number, steps } from "./format.js";

const $ = (id) => document.getElementById(id);
const ITSELF = ["machine", "input", "word", "kind", "score", "base", "blanks"];
let source, run = null, shown = null, direction = 1;

function trouble(error) {
  if (error && !(error instanceof Trouble)) console.error(error);
  $("trouble").textContent = error ? error.message : "";
  $("trouble").hidden = !error;
}

function progress(done) {
  const what = source?.only ? "the diagram" : "the network's own run";
  $("busy").textContent = done === null ? "" : `${what}: ${Math.floor(100 * done)} %`;
  $("stop").hidden = done === null;
}

async function loadRun() {
  try {
    const found = await source.run();
    if (!found) return;
    run = found;
    trouble(null);
  } catch (error) {
    run = null;
    document.body.classList.add("empty");
    document.body.classList.remove("loading");
    $("about").textContent = "";
    return trouble(error);
  }
  document.body.classList.remove("empty");
  document.title = `${run.name || "a machine"} · netwright`;
  const end = run.outcome === "no answer" ? "its vectors stop showing a machine"
    : run.ended ? `${run.outcome} after ${steps(run.steps)}`
      : `does not halt within ${steps(run.steps)}, which are shown${run.cut ? "; its tape becomes too long for more" : ""}`;
  const changes = run.changes.length ? ` Changed: ${run.changes.join(", ")}.` : "";
  const trust = run.trust.startsWith("no") ? ` ${run.trust[0].toUpperCase()}${run.trust.slice(1)}.` : "";
  $("about").textContent =
    `${run.about ? `${run.about.replace(/\.?$/, ".")} ` : ""}` +
    `${run.statement}: ${run.kind}, dimension ${run.dimension}; ${end}.${changes}${trust}`;
  choice.show(run);
  transport.show(run);
  overview.show(run, source);
  picture.show(run, source);
  if (store.get("t") > run.last) store.set({ t: run.last }); // which loads that moment
  else await loadMoment();
}

async function loadMoment() {
  if (!run) return;
  const t = Math.min(store.get("t"), run.last);
  overview.mark(t);
  transport.mark(t);
  try {
    const moment = await source.moment(t, direction);
    // If a newer request was made meanwhile, its answer is drawn instead of this one.
    if (!moment || moment.t !== Math.min(store.get("t"), run.last)) return;
    trouble(null);
    shown = moment;
    document.body.classList.remove("loading");
    draw();
  } catch (error) {
    trouble(error);
  }
}

function draw() {
  if (!shown || !run) return;
  drawTape($("tape"), run, shown);
  say($("sentence"), run, shown);
  drawLemmas($("lemmas"), run, shown, source);
  drawStream(run, shown);
  drawRule(run, shown);
  picture.draw(shown);
  document.body.dataset.shown = shown.t;
}

function go(t) {
  if (!run) return;
  const goal = Math.max(run.from ?? 1, Math.min(run.to ?? run.last, t));
  direction = goal < store.get("t") ? -1 : 1;
  store.set({ t: goal });
}

const picture = new Picture($("picture"), go);
const overview = new Overview($("overview"), go);
const transport = new Transport(go, () => shown?.t === store.get("t"));
const choice = new Choice();

store.watch((state, changed) => {
  if (changed.has("theme")) { setTheme(state.theme); overview.draw(); }
  if (ITSELF.some((name) => changed.has(name))) {
    document.body.classList.add("loading");
    loadRun();
  }
  else if (changed.has("t")) loadMoment();
  else if (changed.has("zoom")) overview.load();
  else draw();
});

addEventListener("resize", () => { overview.resize(); draw(); });
addEventListener("popstate", () => location.reload());
$("stop").addEventListener("click", () => {
  source.stop();
  transport.stop();
  progress(null);
  if (shown) store.set({ t: shown.t });
});
$("theme").addEventListener("click", () => store.set({ theme: nextTheme() }));
$("help-button").addEventListener("click", () => showHelp());
$("demos-button").addEventListener("click", async () => showDemos(await source.demos(), source));

// The checker of certificates is loaded when it is used.
const showChecker = async (file) => (await import("./checker/panel.js")).showChecker(file);
$("check-button").addEventListener("click", () => showChecker());
for (const type of ["dragover", "drop"]) {
  addEventListener(type, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    if (type === "drop") showChecker(event.dataTransfer.files[0]);
  });
}

(async () => {
  try {
    source = await openSource(progress);
    store.readURL(source.recorded?.query);
    setTheme(store.get("theme"));
    if (store.get("big")) document.body.classList.add("big");
    document.body.classList.toggle("file", Boolean(source.only));
    choice.offer(await source.machines());
    await loadRun();
  } catch (error) {
    trouble(error);
  }
})();
