// The controller: the URL says what is shown, the source provides it, the views draw it.

import * as store from "./store.js";
import { openSource, Trouble } from "./source.js";
import { drawTape, drawText, say } from "./tape.js";
import { Picture } from "./picture.js";
import { Overview } from "./overview.js";
import { drawStream } from "./stream.js";
import { drawFigures } from "./figures.js";
import { drawLemmas, loadObligations } from "./lemmas.js";
import { drawRule } from "./rule.js";
import { Transport } from "./transport.js";
import { showSave } from "./save.js";
import { Choice, showDemos } from "./choice.js";
import { showHelp, setTheme, nextTheme } from "./help.js";
import { element, number, steps } from "./format.js";

const $ = (id) => document.getElementById(id);
const SOON = 60; // ms that the network's vectors have before the machine's own run is shown
let source, known = null, broken = null, run = null, shown = null, whole = null, direction = 1; // `whole`: with vectors

function trouble(error) {
  if (error && !(error instanceof Trouble)) console.error(error);
  $("trouble").textContent = error ? error.message : "";
  $("trouble").hidden = !error;
}

// The nearest time that there is; if it was asked for in words, say that it is another one.
function nearest(t, say = true) {
  const first = run.from ?? 1, last = run.to ?? run.last, found = Math.max(first, Math.min(last, t));
  const here = `t = ${number(first)} to ${number(last)}`;
  $("note").textContent = found === t || !say ? ""
    : run.from ? `This file has ${here} of ${number(run.last)}; netwright explore shows all of them.`
      : `There is no t = ${number(t)}: this run has ${here}.`;
  return found;
}

function progress(done) {
  const what = source?.working ?? (source?.only ? "the diagram" : "the network's own run");
  $("busy").textContent = done === null ? "" : `${what}: ${Math.floor(100 * done)} %`;
  $("stop").hidden = done === null;
}

async function loadRun() {
  run = shown = whole = null;
  try {
    const found = await source.run();
    if (!found) return;
    run = found;
    trouble(null);
  } catch (error) {
    document.body.classList.add("empty");
    document.body.classList.remove("loading");
    $("about").textContent = "";
    return trouble(error);
  }
  document.body.classList.remove("empty");
  document.title = `${run.name || "a machine"} · netwright`;
  const end = run.outcome === "no answer" ? "its vectors stop showing a machine"
    : run.ended ? `${run.outcome} after ${steps(run.steps)}`
      : `does not halt within ${steps(run.steps)}, which are shown${run.cut ? `; ${run.cut}` : ""}`;
  const changes = run.changes.length ? ` Changed: ${run.changes.join(", ")}.` : "";
  const trust = run.trust.startsWith("no") ? ` ${run.trust[0].toUpperCase()}${run.trust.slice(1)}.` : "";
  $("about").textContent =
    `${run.about ? `${run.about.replace(/\.?$/, ".")} ` : ""}` +
    `${run.statement}: ${run.kind}, dimension ${run.dimension}; ${end}.${changes}${trust}`;
  choice.show(run);
  transport.show(run);
  overview.show(run, source);
  picture.show(run, source);
  broken?.show(run, source, known);
  const asked = store.get("t"), t = nearest(asked);
  if (t !== asked) store.set({ t }); // which loads that moment
  else await loadMoment();
}

async function loadMoment() {
  if (!run) return;
  const t = store.get("t"), mine = run;
  // If a newer request was made meanwhile, its answer is drawn instead of this one.
  const isWanted = (moment) => moment && mine === run && t === store.get("t");
  const show = (moment) => {
    trouble(null);
    shown = moment;
    document.body.classList.remove("loading");
    draw();
  };
  overview.mark(t);
  transport.mark(t);
  let arrived = run.changes.length > 0; // a changed network's run is not the machine's
  const early = setTimeout(async () => {
    const found = arrived ? null : await source.configuration?.(t).catch(() => null);
    if (isWanted(found) && !arrived) show(found);
  }, SOON);
  try {
    const moment = await source.moment(t, direction);
    arrived = true;
    if (isWanted(moment)) show(moment);
  } catch (error) {
    trouble(error);
  } finally {
    clearTimeout(early);
  }
}

function draw() {
  if (!shown || !run) return;
  drawTape($("tape"), run, shown);
  say($("sentence"), run, shown);
  drawText($("text"), shown);
  drawLemmas($("lemmas"), run, shown, source);
  if (shown.vectors) loadObligations(run, source, draw);
  drawFigures($("figures"), run, shown);
  drawStream(run, shown);
  drawRule(run, shown);
  picture.draw(shown).then(() => overview.load());
  document.body.dataset.pictured = shown.t;
  if (!shown.vectors) return;
  whole = shown;
  broken?.draw(whole);
  document.body.dataset.shown = shown.t;
}

// Go to a time; `typed` if a number was written, and not a key pressed at the end of the run.
function go(t, typed = false) {
  if (!run) return;
  const goal = nearest(t, typed || Boolean(run.from));
  direction = goal < store.get("t") ? -1 : 1;
  store.set({ t: goal });
}

const picture = new Picture($("picture"), go);
const overview = new Overview($("overview"), go);
const transport = new Transport(go, () => shown?.vectors && shown.t === store.get("t"));
const choice = new Choice();
$("breaking").addEventListener("toggle", () => $("breaking").open && broken?.open());

store.watch((state, changed) => {
  if (changed.has("big")) setBig();
  if (changed.has("theme")) { setTheme(state.theme); overview.draw(); broken?.paint(); }
  if ([...changed].some(store.isSubject)) {
    document.body.classList.add("loading");
    loadRun();
  }
  else if (changed.has("break") || changed.has("bits")) broken?.changed();
  else if (changed.has("beside")) whole && broken?.draw(whole);
  else if (changed.has("t")) loadMoment();
  else if (changed.has("zoom")) overview.load();
  else draw();
});

// Larger, for a projector; what is drawn to a size is drawn again.
function setBig() {
  const big = Boolean(store.get("big"));
  document.body.classList.toggle("big", big);
  $("big-button").setAttribute("aria-pressed", big);
  wide = 0;
  if (run) resize();
}

// A frame in a notebook has no size at first, and a page may get another one at any time.
let wide = 0;
function resize() {
  overview.resize();
  picture.resize();
  broken?.paint();
  draw();
}
new ResizeObserver(([{ contentRect }]) => {
  if (contentRect.width === wide) return;
  wide = contentRect.width;
  resize();
}).observe($("tape"));
addEventListener("popstate", () => location.reload());
$("stop").addEventListener("click", () => {
  source.stop();
  transport.stop();
  progress(null);
  if (whole) store.set({ t: whole.t });
});
$("theme").addEventListener("click", () => store.set({ theme: nextTheme() }));
$("help-button").addEventListener("click", () => showHelp());
$("edit-button").addEventListener("click", () => source.edit());
$("save-button").addEventListener("click", () => whole && showSave(run, whole.t));
$("big-button").addEventListener("click", () => store.set({ big: store.get("big") ? undefined : "1" }));
$("demos-button").addEventListener("click", async () => showDemos(await source.demos()));

// The checker of certificates is loaded when it is used; a file of recorded moments does not have it.
const showChecker = async (file) => (await import("./checker/panel.js")).showChecker(file);
$("check-button").addEventListener("click", () => showChecker());
for (const type of ["dragover", "drop"]) {
  addEventListener(type, (event) => {
    if ($("check-button").hidden || !event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    if (type === "drop") showChecker(event.dataTransfer.files[0]);
  });
}

(async () => {
  try {
    source = await openSource(progress);
    store.readURL(source.recorded?.query);
    setTheme(store.get("theme"));
    setBig();
    document.body.classList.toggle("file", Boolean(source.only) && !source.library);
    document.body.classList.toggle("site", Boolean(source.library));
    $("more").hidden = Boolean(source.only && !source.library); // a file has neither
    $("more").append(...(source.library ? [element("a", { href: "index.html" }, "Gallery"), " "] : []), element("a", { href: "walk.html" }, "Walk"));
    $("edit-button").hidden = !source.edit;
    $("check-button").hidden = Boolean(source.recorded?.moments);
    if (source.lab) broken = new (await import("./engine/break.js")).Break((t) => go(t), trouble); // a recorded file has none
    if (broken) picture.allScores = (t) => broken.showScores(t).catch(trouble);
    source.redraw = (twin) => picture.twin(twin);
    source.machines().then((found) => {
      if (!(known = found)) return;
      choice.offer(known);
      if (run) broken?.offerKinds(known);
    }, trouble);
    await loadRun();
    if (globalThis.site?.edit && !location.hash.includes("machine=")) source.edit(); // the playground
  } catch (error) {
    trouble(error);
  }
})();
