// The walk: eight screens for somebody who knows neither Turing machines nor Transformers. Each has
// one idea, one picture that the network in this page computes, and one question with its answer.

import { element } from "../format.js";
import { nextTheme, setTheme } from "../help.js";
import { Trouble } from "../source.js";
import { SCREENS } from "./screens.js";
import { address } from "./runs.js";

const $ = (id) => document.getElementById(id);
const asked = new URLSearchParams(location.hash.slice(1));
const state = { screen: Math.max(1, Math.min(SCREENS.length, Number(asked.get("screen")) || 1)), t: Number(asked.get("t")) || null };
let drawn = null; // what the screen shows, so that only the newest is drawn

function trouble(error) {
  if (!(error instanceof Trouble)) console.error(error);
  $("trouble").textContent = error.message;
  $("trouble").hidden = false;
}

// Keep the screen and the token in the address.
export function keep(t) {
  state.t = t;
  try {
    history.replaceState(null, "", `#${new URLSearchParams({ screen: state.screen, ...(t ? { t } : {}), ...(asked.has("theme") ? { theme: asked.get("theme") } : {}) })}`);
  } catch { /* a page in a sandboxed frame has no address of its own */ }
}

async function show(screen, t = null) {
  state.screen = screen;
  drawn?.stop?.();
  const { title, words, question, answer, draw } = SCREENS[screen - 1], mine = (drawn = {});
  document.title = `${screen}. ${title} · netwright`;
  $("title").replaceChildren(element("small", {}, `${screen} of ${SCREENS.length} `), title);
  $("words").replaceChildren(...words.map((text) => element("p", {}, ...marked(text))));
  $("figure").replaceChildren(element("p", { class: "quiet" }, "The network is being loaded …"));
  $("question").open = false;
  $("question").querySelector("summary").replaceChildren(element("b", {}, "Question. "), question, element("span", { class: "reveal" }, "Show the answer"));
  $("question").querySelector("p").replaceChildren(...marked(answer));
  $("before").disabled = screen === 1;
  $("after").hidden = screen === SCREENS.length;
  $("screens").replaceChildren(...SCREENS.map((each, n) => element("li", {}, element("button", {
    "aria-current": n + 1 === screen ? "step" : false, "aria-label": `${n + 1}: ${each.title}`, title: each.title, onclick: () => go(n + 1),
  }, `${n + 1}`))));
  keep(t);
  document.body.dataset.shown = "";
  try {
    await draw($("figure"), { t, keep, isWanted: () => mine === drawn, onStop: (stop) => { mine.stop = stop; } });
    if (mine === drawn) document.body.dataset.shown = screen;
  } catch (error) {
    if (mine === drawn) trouble(error);
  }
}

// Words between asterisks are set in bold.
const marked = (text) => text.split("*").map((part, n) => (n % 2 ? element("b", {}, part) : part));

function go(screen) {
  show(screen);
  $("title").focus();
  scrollTo(0, 0);
}

$("before").addEventListener("click", () => go(state.screen - 1));
$("after").addEventListener("click", () => go(state.screen + 1));
$("theme").addEventListener("click", () => {
  const theme = nextTheme();
  setTheme(theme);
  asked.set("theme", theme);
  keep(state.t);
  show(state.screen, state.t);
});
$("to-gallery").hidden = !globalThis.site;
$("to-page").href = address({ machine: "palindrome", t: 18 });
setTheme(asked.get("theme") ?? undefined);
show(state.screen, state.t);
