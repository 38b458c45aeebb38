"""What a runtime computes of a universal model, beside the intervals that are proved for it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tests.certificates.float_streams import Proved

from netwright.certificates.language_model.checker import Model
from netwright.certificates.language_model.classes import Key
from netwright.certificates.language_model.universal import Universal
from netwright.kind.language_model.universal import UniversalModel, universal_text
from netwright.machine.turing_machine import TuringMachine


def universal_of(model: UniversalModel) -> Model:
    """The checkpoint that is written of it."""
    weights = model.weights()
    tokens = {text: n for n, text in enumerate(model.network.vocabulary)}
    return Model(weights.tensors, tokens, weights.blocks, weights.heads, 1e-5, model.context)


def argument_of(model: UniversalModel) -> Universal:
    return Universal(model.vocabulary.states, model.vocabulary.symbols)


def text_of(model: UniversalModel, machine: TuringMachine, word: Sequence[str]) -> list[int]:
    """A prompt with the machine's own run, up to the end of the context."""
    prompt, run = universal_text(machine, word, model.vocabulary)
    return [*prompt, *islice(run, model.context - len(prompt))]


def refused_of(tokens: Sequence[int], model: UniversalModel, place: int) -> list[int]:
    """A prompt with an unknown word in the place of another, up to `<run>`, and its end."""
    number = model.vocabulary.number
    prompt = [*tokens[: tokens.index(number["<run>"])]]
    prompt[1 + place % (len(prompt) - 1)] = number["<unk>"]
    return [*prompt, number["<run>"], number["<halt>"]]


class ProvedUniversal(Proved):
    """The intervals of a universal model in a format."""

    def classes(self, tokens: Sequence[int]) -> Iterator[tuple[int, Key, dict[str, int]]]:
        """The class of each token, and its variables as numbers, by what the text says."""
        texts, about = [self.texts[token] for token in tokens], self.argument
        assert isinstance(about, Universal)
        sorts = about.prompt_words
        rules: dict[str, list[str]] = {}
        unknown = "<unk>" in texts
        for i, text in enumerate(texts):
            parts, before = text.split(":"), texts[i - 1] if i else ""
            known = {"T": i, "A": i - 1, "N": i - 3}
            if unknown:
                sort = sorts.get(text)
                sort = f"action {parts[1]}" if sort == "action" else sort
                others = {
                    "<bos>": ("word", "bos"),
                    "<unk>": ("<unk>",),
                    "<run>": ("<run>", "<unk>"),
                }
                if (key := ("word", sort) if sort else others.get(text)) is not None:
                    yield i, key, known | self._said(text, sort or "")
            elif text == "<bos>":
                yield i, ("bos",), known
            elif text == "<tape>":
                yield i, ("<tape>",), known
            elif sorts.get(text) == "key":
                yield i, ("key",), known | self._said(text, "key")
            elif sorts.get(text) == "action":
                rules[before] = parts
                numbers = self._said(text, "action") | self._said(before, "key")
                yield i, ("action", parts[1]), known | numbers
            elif sorts.get(text) == "letter":
                first = " first" if before == "<tape>" else ""
                yield i, (f"letter{first}",), known | self._said(text, "letter")
            elif text == "<run>":
                first = " first" if before == "<tape>" else ""
                known |= {"next": 0, "written": 0} | self._ahead(texts[i + 1 :])
                yield i, (f"run{first}",), known
            elif text[0] == "@":
                m, q, a = before.split(":")
                rule = rules.get(f"{q}:{a}")
                known |= self._address("far", text) | self._said(f"{q}:{a}", "key")
                if rule is None:
                    yield i, ("address", m, "none"), known
                    continue
                known |= self._said(":".join(rule), "action") | self._ahead(texts[i + 1 :])
                yield i, ("address", m, rule[1]), known
            elif len(parts) == 3:
                m, q, a = parts
                known |= self._said(f"{q}:{a}", "key")
                known |= self._address("given", "".join(texts[i + 1 : i + 2]))
                yield i, ("ends" if q == "acc" else "step", m), known

    def _ahead(self, following: Sequence[str]) -> dict[str, int]:
        """What is known of the visit ahead by the next step and its address."""
        about = self.argument
        assert isinstance(about, Universal)
        if not following or following[0][0] == "<":
            return {}
        known = {"seen": about.symbols.index(following[0].split(":")[2])}
        return known | self._address("ahead", "".join(following[1:2]))

    def _said(self, text: str, sort: str) -> dict[str, int]:
        """The numbers of a word's states and symbols."""
        about = self.argument
        assert isinstance(about, Universal)
        if sort == "letter":
            return {"written": about.symbols.index(text)}
        if sort == "key":
            q, a = text.split(":")
            return {"state": about.states.index(q), "symbol": about.symbols.index(a)}
        if sort.startswith("action"):
            w, _, q = text.split(":")
            return {"next": about.states.index(q), "written": about.symbols.index(w)}
        return {}


def with_heads(model: UniversalModel, n: int, h: int, head: object) -> UniversalModel:
    """The model with another head."""
    blocks = list(model.network.blocks)
    heads = [*blocks[n].heads]
    heads[h] = head  # type: ignore[call-overload]
    blocks[n] = replace(blocks[n], heads=tuple(heads))
    return replace(model, network=replace(model.network, blocks=tuple(blocks)))
