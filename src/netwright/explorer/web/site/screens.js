// The eight screens of the walk: title, words, question and answer, and what draws the picture.

import { element, number, steps } from "../format.js";
import { cased, fit, paint, scale } from "../diagram.js";
import { unfold } from "../source.js";
import { coordinates, weightsOf } from "../engine/twin.js";
import { SIDES, blocks, card, letterOf, numbers, ruleTable, said, spaceTime, stepper } from "./figures.js";
import { ANY, address, beaver, palindrome, typed } from "./runs.js";

const START = 12; // the token at which the machine begins, once the network has walked over its input
const EXAMPLE = `; Adds 1 to a binary number.
; state, reads, writes, moves (l or r), new state
find 0 0 r find
find 1 1 r find
find _ _ l add
add 1 0 l add
add 0 1 r done
add _ 1 r done`;

// A picture with a slider over the tokens of palindrome.
const overTokens = (first, at, figure, name = "token", from = 0) => async (place, { t, keep, isWanted, onStop }) => {
  const shown = await palindrome();
  if (!isWanted()) return;
  onStop(stepper(place, { first, last: shown.run.last, at: t ?? at, name, from, keep, draw: (picture, now) => picture.replaceChildren(...figure(shown, now)) }));
};

// The tape as cells, the head's lit.
function tapeOf({ run, moments }, t) {
  const { tape, head } = moments[t], cells = [];
  for (let cell = -1; cell <= run.input.length; cell++) {
    const letter = tape.cells[cell - tape.first];
    cells.push(element("span", { class: cell === head ? "cell head" : "cell" }, element("b", {}, letter === run.machine.blank ? "" : letter)));
  }
  return element("div", { class: "tape", role: "img", "aria-label": `The tape: ${cells.map((cell) => `${cell.className === "cell head" ? "head on " : ""}${cell.textContent || "empty"}`).join(", ")}` }, ...cells);
}

const does = ({ symbol: read, write }, blank) => (write === read ? read === blank ? "leave it empty" : `leave the ${read}` : write === blank ? `erase the ${read}` : `write ${write}`);
const ruleOf = (run, { rule }) => {
  const show = (letter) => letterOf(letter, run.machine.blank);
  return rule.next === null ? `In state ${rule.state}, reading ${show(rule.symbol)}: there is no rule. The machine stops.`
    : `In state ${rule.state}, reading ${show(rule.symbol)}: ${does(rule, run.machine.blank)}, move ${SIDES[rule.move]}, go into the state ${rule.next}.`;
};
const line = (...words) => element("p", { class: "said", role: "status" }, ...words);

function machine(shown, t) {
  const { run, moments } = shown, own = new Set(run.machine.states.filter((_, n) => run.machine.given[n]));
  const rules = run.machine.rules.filter(([state]) => own.has(state)), { rule } = moments[t];
  const end = t === run.last ? ` That is the last step: accept means yes, ${run.input.join("")} reads the same backwards.` : "";
  return [tapeOf(shown, t), line(element("b", {}, `State: ${rule.state}. `), ruleOf(run, moments[t]), end), ruleTable(rules, run.machine.blank, rule)];
}

function tokens({ run, moments }, t) {
  const cards = [];
  for (let n = 1; n <= t; n++) cards.push(card(n, said(run, moments[n]), run.machine.blank, n === t ? "now" : n < START ? "early" : ""));
  const words = t < START ? "The network is still walking over its input, to the end and back." : `Token ${t} is the machine after ${steps(t - START)}.`;
  return [element("ol", { class: "tokens", "aria-label": `Tokens 1 to ${t}` }, ...cards), line(words, ` Its ${run.dimension} numbers (those that are lit stand for the state, the letter and the move):`), numbers(run, moments[t - 1] ?? moments[t], t > 1 ? "y" : "decoder.1.input")];
}

// The inputs of layer 1's detectors: each adds the numbers that its weights select, and its bias.
function detectors({ network }, run, moment) {
  const { written, maps } = network, [, path] = maps.find(([name]) => name === "decoder.1.O.1");
  const map = path.reduce((node, key) => node[key], written.network), names = coordinates(written.layouts[map.output]);
  const value = (text) => { const [top, bottom = 1] = text.split("/"); return top / bottom; };
  const sums = new Array(names.length).fill(0), entries = new Map(moment.vectors["decoder.1.a"].entries);
  for (const [column, text] of map.bias) sums[column] += value(text);
  for (const [row, column, text] of map.weights) sums[column] += value(entries.get(row) ?? "0") * value(text);
  return new Map(names.map((name, n) => [name, sums[n]]));
}

function layer1(shown, t) {
  const { run, moments } = shown, { states, symbols, blank } = run.machine, sums = detectors(shown, run, moments[t]);
  const head = element("tr", {}, element("td", {}), ...symbols.map((letter) => element("th", { scope: "col" }, letterOf(letter, blank))));
  const rows = states.map((state) => element("tr", {}, element("th", { scope: "row" }, state), ...symbols.map((letter) => {
    const sum = sums.get(`qs['${state}', '${letter}']`);
    return element("td", { class: sum > 0 ? "lit" : "" }, `${sum}`.replace("-", "−"));
  })));
  const { state, symbol: read } = said(run, moments[t]), { q2, s2, x2 } = blocks(run, moments[t], "decoder.1.z");
  const move = { 1: "R", "-1": "L" }[x2?.[0][1]];
  return [line(`Token ${t} comes in: `, element("b", {}, `state ${state}, reads ${letterOf(read, blank)}`), "."),
    element("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": "The detectors" }, element("table", { class: "detectors" }, element("thead", {}, head), element("tbody", {}, ...rows))),
    line("Layer 1 adds: ", element("b", {}, `new state ${q2?.[0][0] ?? "none"}, write ${s2 ? letterOf(s2[0][0], blank) : "nothing"}, move ${SIDES[move] ?? "nowhere"}`), ".")];
}

function layer2({ run, moments }, t) {
  const moves = [];
  for (let n = 1; n <= t; n++) moves.push(blocks(run, moments[n], "decoder.1.z").x2[0][1]);
  const total = moves.reduce((sum, move) => sum + Number(move), 0), mean = blocks(run, moments[t], "decoder.2.p").x4?.[0][1] ?? "0";
  const marks = moves.map((move, n) => element("li", { class: Number(move) > 0 ? "right" : "left" }, element("small", {}, `${n + 1}`), Number(move) > 0 ? "+1" : "−1"));
  return [element("ol", { class: "moves", "aria-label": `The moves of tokens 1 to ${t}` }, ...marks),
    line(`The sum of these ${t} numbers is ${total}. Layer 2 adds their mean to token ${t}: ${total} divided by ${t}, `, element("b", {}, minus(mean)), "."),
    line("So the head goes to ", element("b", {}, `place ${total}`), ":"),
    tapePlaces(run, moments[t], total)];
}

// The tape with its places, counted from where the head began; the place that the head goes to is lit.
function tapePlaces(run, { tape }, place) {
  const cells = [];
  for (let cell = -1; cell <= run.input.length; cell++) {
    const letter = tape.cells[cell - tape.first];
    cells.push(element("span", { class: cell + 1 === place ? "cell next" : "cell" }, element("b", {}, letter === run.machine.blank ? "" : letter), element("small", {}, `${cell + 1}`)));
  }
  return element("div", { class: "tape", role: "img", "aria-label": `Places 0 to ${run.input.length + 1}; the head goes to place ${place}` }, ...cells);
}

function layer3(shown, t) {
  const { run, moments } = shown, { attention, next } = moments[t];
  const { winner, cell, second, score, second_score } = attention, found = cell === next && winner < t || cell === next && winner === t && moments[t].head === next;
  const s4 = blocks(run, moments[t], "decoder.3.p").s4?.[0][0];
  const words = found
    ? [`Token ${t} goes to place ${next + 1} and asks who was there last. It was `, element("b", {}, `token ${winner}`), `, ${t - winner} tokens ago, and it wrote `, element("b", {}, letterOf(s4, run.machine.blank)), ". So this is what the next token reads."]
    : [`Token ${t} goes to place ${next + 1}. Nobody was there before: the token that answers was on place ${cell + 1}, so its answer is not used. The cell still has its letter of the input, or is empty.`];
  const scores = second === null ? "" : `Scores: token ${winner} has ${minus(score)}, the highest, as it is the closest to 0; token ${second}, the second, has ${minus(second_score)}.`;
  return [spaceTime(run, moments, t, found ? [next, winner] : null), line(...words), element("p", { class: "quiet" }, scores)];
}

const minus = (text) => `${text}`.replace("-", "−");

const BREAKS = [
  ["nothing", null],
  ["layer 3: an a that was written comes back with the wrong sign", ["weight", "decoder.3.V", "s2[a]", "s4[a]"]],
  ["layer 2: every move counts the other way round", ["weight", "decoder.2.V", "x2", "x4"]],
  ["layer 1: the detector of (start, a) moves the wrong way", ["weight", "decoder.1.O.2", "qs['start', 'a']", "x2"]],
];

// The network and its twin, token by token.
async function breaking(place, { t, keep, isWanted, onStop }) {
  const shown = await palindrome(), { run, moments, source } = shown;
  if (!isWanted()) return;
  const choose = element("select", { "aria-label": "The weight whose sign is changed" }, ...BREAKS.map(([name], n) => element("option", { value: n }, name)));
  const picture = element("div", {}), ends = (state) => state && !run.machine.rules.some(([from]) => from === state);
  const draw = async () => {
    const change = BREAKS[choose.value][1], cards = [], chosen = choose.value;
    let wrong = null, answer = null; // the first wrong token; the token in a state without rules
    for (let n = 1; n <= run.last; n++) {
      const right = said(run, moments[n]);
      let found = right;
      if (change) {
        const twin = await source.own.ask("momentOfTwin", [{ breaks: [change] }, n], () => {});
        if (!twin || chosen !== choose.value || !isWanted()) return;
        found = said(run, unfold(twin, run));
      }
      const same = JSON.stringify(found) === JSON.stringify(right);
      if (!same) wrong ??= n;
      if (ends(found.state)) answer ??= [n, found.state];
      cards.push(card(n, found, run.machine.blank, same ? (n < START ? "early" : "") : "wrong"));
    }
    const words = !change ? "All 26 tokens are right. The last one's rule leads to accept."
      : wrong ? `Of ${number(weightsOf(source.data).length)} weights that are not 0, one has another sign. Token ${wrong} is the first that is wrong. ${answer ? `At token ${answer[0]} it stops, with the answer ${answer[1]}. ` : ""}Where no rule is found, no state comes out, and so it stays.` : "Every token is still right.";
    picture.replaceChildren(element("ol", { class: "tokens", "aria-label": "The tokens of the changed network" }, ...cards), line(words));
    document.body.dataset.broken = `${chosen} ${wrong ?? ""}`;
    keep(Number(chosen) || null);
  };
  choose.value = `${BREAKS[t] ? t : 0}`;
  choose.addEventListener("change", draw);
  place.replaceChildren(element("p", {}, element("label", {}, "change the sign of one weight: ", choose)), picture);
  onStop(() => {});
  await draw();
}

// A space-time diagram on a canvas; `mark` draws over it.
async function diagram(canvas, source, run, part, mark = () => {}) {
  const { lead } = run, columns = Math.min(canvas.clientWidth || 300, part.to - part.from);
  const found = await source.machine.diagram({ ...part, columns, rows: Math.min(150, part.last - part.first + 1 || 150), lead });
  if (!found) return null;
  const draw = () => {
    const { context, width, height } = fit(canvas);
    paint(context, found, width, height);
    mark(context, scale(found, width, height), width, height);
  };
  draw();
  return found;
}

async function universal(place, { isWanted, onStop }) {
  const { source, run, network, far } = await beaver(), { attention } = far;
  if (!isWanted()) return;
  onStop(() => source.machine.stop());
  const count = weightsOf(network).filter(({ name }) => name !== "seed" && name !== "embedding").length;
  const rules = network.machine.delta, all = element("canvas", { role: "img", "aria-label": `The whole run, ${number(run.last)} tokens` });
  const near = element("canvas", { role: "img", "aria-label": `Around token ${number(far.t)}, with a line back to token ${number(attention.winner)}` });
  const status = element("p", { class: "quiet", role: "status" }, "The machine runs 47 million steps in this page, for the picture …");
  place.replaceChildren(
    line(`Token ${number(far.t)}: ${ruleOf(run, far)} `, element("b", {}, `It looks back ${number(far.t - attention.winner)} tokens, to token ${number(attention.winner)}`), ", the last one on the cell that it goes to."),
    all, near, status,
    line("The network has ", element("b", {}, `${count} weights`), `, and its prompt has these ${rules.length} rules:`),
    ruleTable(rules, network.machine.blank, far.rule));
  const from = attention.winner - 300, to = far.t + 300;
  source.machine.progress = (done) => { if (done !== null && isWanted()) status.textContent = `The machine runs in this page, for the picture: ${Math.floor(100 * done)} %`; };
  const [first, last] = run.cells;
  await diagram(all, source, run, { from: run.lead, to: run.last + 1, first, last }, (context, at, width, height) => {
    context.beginPath();
    context.moveTo(at.x(far.t), 0);
    context.lineTo(at.x(far.t), height);
    cased(context, "--layer-3", 3);
  });
  if (!isWanted()) return;
  await diagram(near, source, run, { from, to, fit: 1 }, (context, at) => {
    context.beginPath();
    context.moveTo(at.x(far.t + 1), at.y(attention.cell) + at.perCell / 2);
    context.lineTo(at.x(attention.winner), at.y(attention.cell) + at.perCell / 2);
    cased(context, "--layer-3", 3);
  });
  status.textContent = `Time goes to the right, cells downwards. Dark cells have a 1, light ones are empty; the orange line is the head. Above: the whole run, with a line at token ${number(far.t)}. Below: tokens ${number(from)} to ${number(to)}, and the look back as a line.`;
}

async function own(place, { isWanted, onStop }) {
  const rules = element("textarea", { rows: 9, spellcheck: "false", "aria-label": "The rules of your machine" });
  const input = element("input", { size: 14, spellcheck: "false", value: "1011", "aria-label": "The input" });
  const result = element("div", {});
  rules.value = EXAMPLE;
  const run = async () => {
    const text = rules.value, word = input.value;
    let found;
    try {
      found = await typed(text, word);
    } catch (error) {
      return result.replaceChildren(element("p", { class: "faults", role: "alert" }, error.message));
    }
    if (!isWanted()) return undefined;
    const { source, run } = found, last = run.to ?? run.last, moment = await source.moment(last);
    if (!isWanted() || !moment) return undefined;
    const { rule } = moment, cells = moment.tape.cells.with(moment.head - moment.tape.first, rule?.write ?? moment.tape.cells[moment.head - moment.tape.first]), blank = run.machine.blank, ends = [cells.findIndex((c) => c !== blank), cells.findLastIndex((c) => c !== blank)];
    const canvas = element("canvas", { role: "img", "aria-label": `The run, ${number(last)} tokens` });
    onStop(() => source.machine.stop());
    result.replaceChildren(
      line(run.ended ? `The network writes ${number(last)} tokens; at the last one the machine has ${run.outcome === "halted" ? "stopped" : run.outcome} after ${number(run.steps)} steps.` : `The network goes on writing: no end within ${number(last)} tokens.`,
        ` On the tape: ${ends[0] < 0 ? "nothing" : cells.slice(ends[0], ends[1] + 1).map((c) => letterOf(c, blank)).join("")}.`),
      canvas, element("p", { class: "quiet" }, "Time goes to the right, cells downwards; each shade is a letter, and the orange line is the head. It begins with the walk over the input, to its end and back."), element("p", {}, element("a", { href: address({ machine: text, input: word, kind: ANY, t: 1 }), ...(globalThis.site ? {} : { hidden: true }) }, "See every number of it in the explorer")));
    const [first, final] = run.cells;
    await diagram(canvas, source, run, { from: run.lead, to: last + 1, first, last: final });
    document.body.dataset.ran = `${run.outcome} ${run.steps}`;
    return undefined;
  };
  place.replaceChildren(rules, element("p", { class: "row" }, element("label", {}, "input ", input), element("button", { onclick: run }, "Run it")), result);
  await run();
}

export const SCREENS = [
  {
    title: "A machine with a tape",
    words: ["This walk shows how a neural network is built, number by number, so that it computes as a machine does. First the machine.",
      "A *Turing machine* is a computer of the simplest kind. It has a *tape*: a row of cells, each with a letter in it or empty. Its *head* is on one cell, the lit one. And it keeps one word in mind, its *state*.",
      "A table of *rules* says all that it does: in this state, reading this letter, write a letter, move one cell to the left or right, go into this state. That is one step. The rule that applies now is lit.",
      "This machine finds out whether a word reads the same backwards. It ends in the state accept for yes, reject for no. Press “Step” and watch."],
    question: "At first it erases the a on the left, and its state becomes have-a. What is that good for?",
    answer: "The head sees only one cell at a time. The state have-a is how the machine remembers what it erased, while it walks to the other end. There it looks for another a. If it finds one, both ends are equal, and it goes on with what is left: bb.",
    draw: overTokens(START, START, machine, "steps made:", START),
  },
  {
    title: "A network has no tape",
    words: ["Now a neural network does the same. It is a *Transformer*, as in a chatbot: it reads all that it has written so far, writes one thing more, and begins again. What it writes one at a time are *tokens*.",
      "Here a token is a list of 45 numbers, most of them 0. They say three things: the state, the letter that is read, and the move that led there. The rest, all 0, is room for what the network will add. Each step of the machine is one token.",
      "But 11 tokens come first, the dashed ones. The network is given its word one letter at a time: token 2 reads the first, token 3 the second. So it begins with a walk over the word, to its end and back, in states of its own (q_init, q_read, q_rewind). Then every letter is in one of its tokens."],
    question: "A token names only the one letter that is read. Where is the rest of the tape?",
    answer: "In the tokens before. What is in a cell was written there at some step, and that step has its token. So to know what is in a cell, the network has to find the token that was on it last. The next three screens show how: three layers, one after the other, and each adds something to the token.",
    draw: overTokens(1, 16, tokens),
  },
  {
    title: "Layer 1: which rule?",
    words: ["A token goes through three layers; then the next token comes out. The first layer knows the rules. It has a *detector* for each state and each letter: 33 of them, the numbers in the table.",
      "A detector counts 1 if the state is its own, 1 more if the letter is its own, and takes 1 away. What is below 0 counts as 0.",
      "So just one detector has a 1. It is multiplied by numbers that say what its rule does: the new state, the letter to write, the move. Such numbers, which never change, are the *weights* of a network."],
    question: "Why does a detector take 1 away?",
    answer: "With the right state but another letter it would have 1, too. Less 1, that is 0. Only where both are right it is 1 + 1 − 1 = 1. And where neither is right, it is −1, which counts as 0.",
    draw: overTokens(1, 18, layer1),
  },
  {
    title: "Layer 2: where is the head?",
    words: ["No token says where the head is. But layer 1 has added a move to each: +1 to the right, −1 to the left. The sum of all moves so far is how far the head is from where it began.",
      "The second layer looks at all tokens so far. Looking at other tokens is called *attention*, and it is what Transformers are known for. Attention cannot add up, but it can take the *mean*: the sum, divided by how many there are. As each token has its number, the network knows how many there are, and that is as good.",
      "Place 0 is the empty cell left of the word, where the head began."],
    question: "At token 10 the mean is 0. Where does the head go?",
    answer: "As many moves to the right as to the left: it goes back to where it began, place 0, left of the word. Move the slider to 10 and see.",
    draw: overTokens(1, 18, layer2),
  },
  {
    title: "Layer 3: who was there last?",
    words: ["Now the place is known. The third layer asks all tokens so far: *who was last on the place that I go to?*",
      "For that, each token gets a score, computed from its place and its number. The last one on that place has the highest score, and *the highest takes all*: this token alone is asked, and answers with the letter that it wrote.",
      "In the picture time goes to the right. Each column is the tape at one token, the head's cell is lit, and the line leads back to the token that is asked."],
    question: "Token 18 goes to place 2. Tokens 3 and 9 were there, too. Why is token 13 asked?",
    answer: "It was there last. What tokens 3 and 9 left in that cell was read by token 13, which then wrote there itself. Only the newest counts, and so the score is made to be highest for the newest.",
    draw: overTokens(1, 18, layer3),
  },
  {
    title: "Now break it",
    words: ["That was the whole network. No weight in it was learned from examples. Each was computed, and each has one job.",
      "So what happens if one of them is wrong? Choose one: its sign changes, + to − or − to +, and the network runs again, here in your browser. The tokens that come out wrong are marked."],
    question: "Choose the one in layer 3. That weight is wrong from the beginning. Why are the first tokens right all the same?",
    answer: "The weight is used only when a token looks back to a place where an a was written. Token 6 is the first that does: it goes back to place 4. Until then the weight does no harm; then token 7 gets no letter, finds no rule, and all is lost.",
    draw: breaking,
  },
  {
    title: "The same weights, every machine",
    words: ["So far the rules were in the weights of layer 1: another machine has other weights. But rules can also be in the *prompt*, the text that a network reads before it writes. Then layer 1 looks up the rule in the prompt, much as layer 3 looks up a letter, and the weights are the same for all machines.",
      "Here such a network runs the *busy beaver*: of all machines with 5 states and 2 letters (empty is one of them) that stop at all, none takes more steps. It takes 47,176,870. The upright line in the picture is at token 23,456,789.",
      "This token was computed beforehand by the same network; in this page the network runs up to token 100,000. Z is the end: it has no rule."],
    question: "What changes in this network if it is to test words, as on the screens before?",
    answer: "The prompt alone: the rules of the other machine, then the word. Not one of the weights.",
    draw: universal,
  },
  {
    title: "Your own machine",
    words: ["The network of the last screen runs your machine, too: your rules are its prompt. It runs here, and nothing is sent anywhere.",
      "A line is a rule: state, letter that is read, letter to write, l or r for left or right, new state. An empty cell is _ and a line that begins with ; is a remark. The machine begins in the state of the first rule, on the first letter of the input, and stops where there is no rule.",
      "Change a rule, or the input, and run it. Can you make it take 1 away?"],
    question: "Can you write a machine that never stops? What will the network do?",
    answer: "One line is enough: *a _ _ r a*, with no input. The network writes tokens for ever, as the machine runs for ever; this page stops it at 100,000. No method can tell for every machine whether it will stop, as Turing proved in 1936. So none can tell it for this network.",
    draw: own,
  },
];
