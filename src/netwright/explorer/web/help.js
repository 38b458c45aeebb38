// The legend, and dark or light.

import { element } from "./format.js";

export function openDialog(...content) {
  const dialog = document.getElementById("dialog");
  dialog.querySelector("div").replaceChildren(...content);
  if (!dialog.open) dialog.showModal();
}

export function closeDialog() {
  document.getElementById("dialog").close();
}

const KEYS = [
  ["← →", "one token back or on; with Shift, ten"], ["Page Up, Page Down", "a thousand"],
  ["Home, End", "the first, the last"], ["Space", "play, pause"],
  [". and ,", "inside a token: its next part, the one before"], ["Esc", "the whole token again"], ["?", "this"],
];

export function showHelp() {
  openDialog(
    element("h2", {}, "What is shown"),
    element("p", {}, "One number rules: t, the network's time. On a Transformer it is the token whose input is y of t − 1 and whose output is y of t: a token is one vector, which the decoder writes and then reads, and each step of the machine is one token (two where the head stays). Hard attention selects the tokens with the greatest score and takes the mean of their values; nearly always it is one token. All numbers of the table, the scores and the sentence are read off the network's own vectors, exactly, at any t. The tape, the cells' last visits and the diagrams are the machine's own run."),
    element("p", {}, "Green chips: that vector is, number for number, the value that the proof of the theorem gives, or shows the machine's state and symbol; or a part of the certificate, which was checked for every input. Point at one to read what it says. In the diagram time goes to the right and cells downwards; the orange line is the head. Attention to the last visit of a cell is a horizontal line: from the cell that the head goes to back to where its path last crossed that row. The square is the token that comes second. Layers 1, 2 and 3 have a solid, a dashed and a double line. Before the machine starts, the tape is what the network reads. Below the cells of the tape is when each was visited last. States such as q_init, q_read and q_rewind are the construction's own: the proof takes a machine that starts left of its input, walks over it once and back, and only then works. So an input of n symbols takes 2n + 3 tokens before step 1. A network that reads a prompt or its input first has no such states."),
    element("p", {}, "In the table, colour is what a layer adds, struck out what it cancels; −8790/t is exact, and pointing at a number shows it as a fraction."),
    element("h2", {}, "Keys"),
    element("dl", {}, ...KEYS.flatMap(([key, what]) => [element("dt", {}, key), element("dd", {}, what)])),
  );
}

const prefersDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

export function setTheme(theme) {
  document.documentElement.dataset.theme = theme ?? (prefersDark() ? "dark" : "light");
}

export const nextTheme = () => (document.documentElement.dataset.theme === "dark" ? "light" : "dark");
