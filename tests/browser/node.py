"""The page's engine in node and in Chromium, and what Python says of the same networks."""

import json
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import netwright
from netwright.definitions.residual_free import ResidualFree
from netwright.definitions.transformer import Token, Transformer
from netwright.definitions.without import TransformerWithout
from netwright.engine.attended import Attention, ListedAttention
from netwright.exact.vector import Vector
from netwright.export.json_target import network_data
from netwright.network.network import Network

ENGINE = Path(netwright.__file__).parent / "explorer" / "web" / "engine"
SCRIPT, WORK = (Path(__file__).with_name(name) for name in ("engine.mjs", "work.mjs"))


class Engine(ABC):
    """The page's engine, somewhere: answers requests with what it computes (work.mjs)."""

    @abstractmethod
    def answer(self, request: str) -> str:
        """The answer to a request, both JSON."""

    def ask(self, work: str, **request: Any) -> Any:
        """Send a request and wait for its answer."""
        answer = json.loads(self.answer(json.dumps({"work": work, **request})))
        assert not isinstance(answer, dict) or "error" not in answer, answer
        return answer

    def moments(self, network: Network, word: Sequence[str], count: int) -> Any:
        """The first moments of a network on a word."""
        return self.ask("moments", network=network_data(network), word=list(word), count=count)


class Node(Engine):
    """In a process of node."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def answer(self, request: str) -> str:
        """Exchange lines with the process."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(request + "\n")
        stdin.flush()
        return stdout.readline()


class Chromium(Engine):
    """In a page of the server, which has the modules."""

    def __init__(self, page: Any) -> None:
        self._page = page
        text = WORK.read_text(encoding="utf-8").replace("export ", "")
        self._call = f"""async (request) => {{
            {text}
            const {{ work: name, ...rest }} = JSON.parse(request);
            const WORK = await work((module) => import(`/engine/${{module}}`));
            return JSON.stringify(await WORK[name](rest)); }}"""

    def answer(self, request: str) -> str:
        """Call it in the page."""
        return str(self._page.evaluate(self._call, request))


@contextmanager
def node_process() -> Iterator[Node]:
    """Start node; end it."""
    path = shutil.which("node") or shutil.which("nodejs")
    if path is None:
        pytest.fail("no node here; `make test-browser` installs it where it can")
    call = [path, str(SCRIPT), str(ENGINE)]
    with subprocess.Popen(call, stdin=-1, stdout=-1, text=True, encoding="utf-8") as process:
        yield Node(process)
        process.terminate()


def entries(vector: Vector) -> list[list[Any]]:
    return [[place, str(number)] for place, number in sorted(vector.entries.items())]


def _seen(attention: Attention) -> list[Any]:
    score, margin = attention.score, attention.margin
    return [
        list(attention.winners),
        None if score is None else str(score),
        attention.runner_up,
        None if margin is None else str(margin),
    ]


def _tokens(
    network: Transformer, given: Sequence[Vector], seed: Vector
) -> Iterator[dict[str, Any]]:
    """Every vector and attention of each token, by the definition."""
    external = network.encode(given)
    keys: list[list[Vector]] = [[] for _ in network.decoder]
    token: Token
    for token in network.tokens(given, seed):
        vectors, attention = {"y": token.y}, {}
        z = token.input
        for n, (layer, seen) in enumerate(zip(network.decoder, token.layers, strict=True)):
            name = f"decoder.{n + 1}"
            q, k, v = layer.Q(z), layer.K(z), layer.V(z)
            keys[n].append(k)
            parts = {"input": z, "self.q": q, "self.k": k, "self.v": v, "p": seen.p}
            parts |= {"external.q": seen.p, "a": seen.a, "z": seen.z}
            vectors |= {f"{name}.{part}": vector for part, vector in parts.items()}
            scoring = network.score, network.rho
            attention[f"{name}.self"] = _seen(ListedAttention(q, keys[n], *scoring))
            attention[f"{name}.external"] = _seen(ListedAttention(seen.p, external[0], *scoring))
            z = seen.z
        yield {"vectors": vectors, "attention": attention}


def _heads(
    network: ResidualFree, given: Sequence[Vector], seed: Vector
) -> Iterator[dict[str, Any]]:
    """The same without residual connections: every head has an attention."""
    keys: dict[str, list[Vector]] = {}
    for token in network.tokens(given, seed):
        vectors, attention, z = {"y": token.y}, {}, token.input
        for n, (layer, seen) in enumerate(zip(network.decoder, token.layers, strict=True), 1):
            vectors[f"decoder.{n}.input"] = z
            for h, head in enumerate(layer.heads, 1):
                name = f"decoder.{n}.head.{h}"
                q, k, v = head.Q(z), head.K(z), head.V(z)
                vectors |= {f"{name}.q": q, f"{name}.k": k, f"{name}.v": v}
                keys.setdefault(name, []).append(k)
                listed = ListedAttention(q, keys[name], network.score, network.rho)
                attention[name] = _seen(listed)
            vectors |= {f"decoder.{n}.a": seen.a, f"decoder.{n}.z": seen.z}
            z = seen.z
        yield {"vectors": vectors, "attention": attention}


def expected(network: Network, word: Sequence[str], count: int) -> list[dict[str, Any]]:
    """The first moments by the definitions, numbers as text."""
    compiled = network.compiled
    inner, given = compiled.network, compiled.embed(tuple(word))
    found: Iterator[Mapping[str, Any]]
    if isinstance(inner, Transformer | TransformerWithout):
        found = _tokens(inner, given, compiled.seed)
    elif isinstance(inner, ResidualFree):
        found = _heads(inner, given, compiled.seed)
    elif network.kind.name == "rnn":
        h = [*inner.encoder_states(given)][1:]
        g = inner.decoder_states(given, Vector.zero(inner.layout))
        last = {"h": h[-1], "g": next(g)}
        rows = [
            *({"h": each} for each in h[:-1]),
            last,
            *({"g": each} for each in islice(g, count)),
        ]
        found = iter({"vectors": row, "attention": {}} for row in rows)
    else:
        found = _grids(inner, given)
    return [
        {
            "vectors": {name: entries(vector) for name, vector in each["vectors"].items()},
            "attention": each["attention"],
        }
        for each in islice(found, count)
    ]


def _grids(network: Any, given: Sequence[Vector]) -> Iterator[dict[str, Any]]:
    tensors = network.tensors(given)
    before = next(tensors)
    for now in tensors:
        u, r = (gate(before, network.layout, network.circular) for gate in (network.U, network.R))
        columns = {"cell": now, "u": u, "r": r}
        vectors = {letter: grid[-1][0] for letter, grid in columns.items()}
        for letter, grid in columns.items():
            vectors |= {f"{letter}.{i}": row[0] for i, row in enumerate(grid, start=1)}
        yield {"vectors": vectors, "attention": {}}
        before = now
