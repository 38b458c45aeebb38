"""How much noise and how much training an exported GPT-2 bears.

    python -P benchmarks/robustness.py [SEED]

It needs `netwright[hf]`; without `-P` the benchmark beside it would be taken for `transformers`.
binary-increment, context 64, float32, loaded by transformers. *Noise*:
a normal number of some size is added to every weight. *Fine-tuning*: Adam with batches of 32 words
of up to 9 letters; the loss is that of the next token, over the whole text with its prompt or over
the run alone. Each number is a share of runs that are right in every token: on words of up to 9
letters that were held out, and on longer ones. For an older version, set PYTHONPATH to its `src`.
"""

import platform
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from copy import deepcopy
from importlib.metadata import version
from itertools import product
from typing import Any

import torch
from transformers import AutoModelForCausalLM

import netwright
from netwright.kind.language_model.text import Start, machine_text

CONTEXT, LONGEST, LONGER = 64, 9, 11
"""The run of 11 letters has at most 62 tokens with its prompt."""
BATCH, HELD_OUT, SAMPLE = 32, 200, 400
NOISE = (1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2)
DRAWS = 5
RATES, STEPS = (1e-5, 1e-4), (0, 1, 10, 50, 200)
UNREAD = -100
"""A label that the loss leaves out."""

Text = tuple[list[int], int]
"""The tokens of a prompt and its run, and how many the prompt has."""


def texts(network: Any, words: Sequence[tuple[str, ...]]) -> list[Text]:
    """The texts of the runs on some words."""
    vocabulary = network.compiled.vocabulary
    prompts = [(start, start.prompt(vocabulary)) for start in map(Start, words)]
    return [([*p, *machine_text(vocabulary, start)], len(p)) for start, p in prompts]


def batch(chosen: Sequence[Text], whole: bool) -> tuple[Any, Any]:
    """Texts, padded on the right, and the labels of the tokens that are to be predicted."""
    width = max(len(tokens) for tokens, _ in chosen)
    ids = torch.zeros(len(chosen), width, dtype=torch.long)
    labels = torch.full_like(ids, UNREAD)
    for n, (tokens, prompt) in enumerate(chosen):
        first = 0 if whole else prompt
        ids[n, : len(tokens)] = torch.tensor(tokens)
        labels[n, first : len(tokens)] = torch.tensor(tokens[first:])
    return ids, labels


def share(model: Any, chosen: Sequence[Text]) -> float:
    """The share of texts whose run has no wrong token: then `generate` writes it, too."""
    right = 0
    for start in range(0, len(chosen), 100):
        ids, labels = batch(chosen[start : start + 100], whole=False)
        with torch.no_grad():
            best, wanted = model(ids).logits[:, :-1].argmax(dim=-1), labels[:, 1:]
        right += int(((best == wanted) | (wanted == UNREAD)).all(dim=1).sum())
    return right / len(chosen)


def tuned(
    model: Any, training: Sequence[Text], rate: float, whole: bool, draw: random.Random
) -> Iterator[int]:
    """Yield the number of steps of Adam that were taken, at those where to look."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(STEPS[-1] + 1):
        if step in STEPS:
            yield step
        ids, labels = batch(draw.sample(training, BATCH), whole)
        optimizer.zero_grad()
        model(ids, labels=labels).loss.backward()
        optimizer.step()


def main(seed: int) -> None:
    network = netwright.compile("binary-increment", to="language-model", context=CONTEXT)
    words = [word for n in range(1, LONGEST + 1) for word in product("01", repeat=n)]
    longer = [w for n in range(LONGEST + 1, LONGER + 1) for w in product("01", repeat=n)]
    draw = random.Random(seed)
    draw.shuffle(words)
    held_out, training = texts(network, words[:HELD_OUT]), texts(network, words[HELD_OUT:])
    tests = held_out, texts(network, draw.sample(longer, SAMPLE))
    with tempfile.TemporaryDirectory() as place:
        network.export("gpt2", f"{place}/model", dtype="float32")
        given = AutoModelForCausalLM.from_pretrained(f"{place}/model")
    used = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    print(f"{used}, {platform.machine()}, seed {seed}; {len(training)} words to train on,")
    print(" and ".join(map(str, map(len, tests))), "to test: held out / longer\n", flush=True)

    torch.manual_seed(seed)
    print("| noise | held out | longer |\n|---|---|---|")
    for size in NOISE:
        found = []
        for _ in range(DRAWS):
            model = deepcopy(given)
            with torch.no_grad():
                for weight in model.parameters():
                    weight += size * torch.randn_like(weight)
            found.append([share(model, each) for each in tests])
        shares = [sum(column) / DRAWS for column in zip(*found, strict=True)]
        print(f"| {size:.0e} | {shares[0]:.1%} | {shares[1]:.1%} |", flush=True)

    print("\n| loss | Adam at |", " | ".join(f"{step} steps" for step in STEPS), "|")
    print("|---" * (2 + len(STEPS)) + "|")
    for over_all in (True, False):
        for rate in RATES:
            row, model = [], deepcopy(given)
            for _ in tuned(model, training, rate, over_all, random.Random(seed)):
                row.append(" / ".join(f"{share(model, each):.1%}" for each in tests))
            what = "whole text" if over_all else "run alone"
            print(f"| {what} | {rate:.0e} |", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
