// An independent checker of certificates: it reads a file, and checks every obligation by itself.

import { Refusal, parse } from "./json.js";
import { CERTIFICATE, KIND, SHAPES, list, require, text } from "./schema.js";
import { Transformer } from "./transformer.js";
import { PointerTransformer } from "./pointer_transformer.js";
import { UniversalRules } from "./universal_rules.js";
import { UniversalText } from "./universal_text.js";
import { readRNN } from "./rnn.js";
import { NeuralGPU } from "./neural_gpu.js";

const CHECKERS = {
  transformer: (written) => new Transformer(written),
  "pointer-transformer": (written) => new PointerTransformer(written),
  "universal-transformer": (written) => new UniversalRules(written),
  "universal-text": (written) => new UniversalText(written),
  rnn: readRNN,
  "neural-gpu": (written) => new NeuralGPU(written),
};

// A Transformer from which parts are left out has this obligation alone.
function* leftOut(without) {
  yield ["parts: every residual connection and attention", [`${without.join(", ")} left out`].values()];
}

// The universal network of 16 coordinates, which has a block x, is Python's alone to check.
function isSmall(on, written) {
  const [main] = [written.get("layouts")].flat();
  return on === "universal-transformer" && (written.has("dead") || (Array.isArray(main) && main.includes("x")));
}

function* read(bytes, report) {
  let content;
  try {
    content = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal("this is no netwright certificate: not UTF-8 text");
  }
  const whole = yield* parse(content);
  if (!(whole instanceof Map) || !whole.has("kind")) throw new Refusal("this is no netwright certificate: not an object with a kind");
  if (whole.get("kind") !== KIND) throw new Refusal(`this file is of another kind; this page reads "${KIND}"`);
  require(CERTIFICATE, whole, "");
  report.on = whole.get("on");
  const written = whole.get("network"), network = written.get("network"), without = network instanceof Map && network.get("without");
  if (Object.hasOwn(SHAPES, report.on) && Array.isArray(without) && without.length) {
    require(list(text), without, "network.without");
    return leftOut(without);
  }
  if (!Object.hasOwn(CHECKERS, report.on) || isSmall(report.on, written)) return null;
  yield;
  require(SHAPES[report.on], written, "network");
  yield;
  report.machine = written.get("given") ?? null;
  return CHECKERS[report.on](written).obligations();
}

// A generator that pauses between cases and returns the report: its verdict is "holds", "fails",
// "refused" with a reason, or "unchecked".
export function* checking(bytes, report = {}) {
  Object.assign(report, { verdict: null, on: null, machine: null, obligations: [], reason: null });
  try {
    const obligations = yield* read(bytes, report);
    if (obligations === null) {
      report.verdict = "unchecked";
      report.reason = `this page does not check certificates of ${report.on === "universal-transformer" ? "universal networks of 16 coordinates" : `kind ${report.on}`}; netwright certify --check does`;
      return report;
    }
    for (let next = obligations.next(); !next.done;) {
      const [name, cases] = next.value, result = { name, cases: 0, failure: null };
      for (const holds of cases) {
        result.cases += 1;
        if (holds !== true) {
          result.failure = holds || "it does not hold";
          break;
        }
        yield;
      }
      report.obligations.push(result);
      next = obligations.next(result.failure);
    }
    report.verdict = report.obligations.every((each) => each.failure === null) ? "holds" : "fails";
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    report.verdict = "refused";
    report.reason = error.message;
  }
  return report;
}

// The whole check at once.
export function check(bytes) {
  const steps = checking(bytes);
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}
