"""From a URL to an answer: the page's API without a server.

    /api/run        the run: machine, layout, how a moment is shown, where it ends
    /api/moments    from, count: a range of moments; or step: the one after so many steps
    /api/network    the network itself, for the page's own engine
    /api/configuration  t: what the machine does then, without the network
    /api/diagram    from, to, columns, first, last, rows: the space-time diagram, binary
    /api/obligations  what is checked of the network's weights, for all inputs
    /api/machines   the library, and the kinds of network with their options
    /api/statements what the paper's statements say
    /api/demos      runs that are worth a look, each with a question

Every answer is a function of the URL. Longer work continues in a thread: the answer is 202 with the
fraction done, and the client polls the same URL. Work is cancelled when no client polls for it any
more. Over HTTP a machine is a name from the library, bbchallenge text or posted text, never a path.
"""

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from hashlib import sha256
from os import sysconf
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from netwright.claims.paper import statements
from netwright.errors import InputError, NetwrightError
from netwright.explorer.demos import DEMOS
from netwright.explorer.explored import Explored, KeepGoing
from netwright.explorer.moments import machine_data, moment_data
from netwright.export.json_target import network_data
from netwright.kind.record import Kind, Option
from netwright.kind.registry import DEFAULT, kind_named, kind_with, kinds
from netwright.machine.library import library_machine, library_names
from netwright.machine.load import machine_of_text
from netwright.machine.turing_machine import TuringMachine
from netwright.network.network import Network, network_for_word
from netwright.text import shortened

JSON, BINARY = "application/json", "application/octet-stream"
MOST_MOMENTS = 32
MOST_RUNS = 6  # in the cache
MOST_POSTED = 50
LARGEST_MACHINE = 1 << 20  # bytes
LARGEST_NUMBER = (1 << 53) - 1  # for a page's numbers, too
SOON = 0.25  # seconds until the answer is 202
ABANDONED = 3.0  # seconds without a poll until work is cancelled
MOST_MEMORY = 2_000_000_000  # bytes of the process, with all cached runs

Query = Mapping[str, str]
GivenWord = tuple[str | None, str | None]
"""The parameters `input` and `word` of a query."""


class Answer(NamedTuple):
    """A response."""

    status: int
    type: str
    body: bytes


Compute = Callable[[Explored, Query, KeepGoing], Answer]


class Work:
    """A computation in a thread, with its progress and the time of the last poll."""

    def __init__(self, answers: "Answers", query: Query, compute: Compute) -> None:
        self.done, self.asked = 0.0, monotonic()
        self._make_room = answers.make_room
        self.future = answers.threads.submit(answers.attempt, query, compute, self.keep_going)

    def keep_going(self, done: float) -> bool:
        """Record the fraction done; return False if no client has polled for some time."""
        self.done = done
        self._make_room()
        return monotonic() - self.asked < ABANDONED


class Answers:
    """The API of one page, with a cache of the runs that it is about."""

    def __init__(self, given: Network | None = None, limit: int | None = None) -> None:
        self.given = given
        """The network that the page was opened for, if it is not a library machine's."""
        self._limit = limit
        self._explored: OrderedDict[tuple[Any, ...], Explored] = OrderedDict()
        self._posted: OrderedDict[str, str] = OrderedDict()
        self._work: dict[tuple[str, tuple[tuple[str, str], ...]], Work] = {}
        self._lock = Lock()
        self.threads = ThreadPoolExecutor(max_workers=16, thread_name_prefix="explore")

    def close(self) -> bool:
        """Cancel all work; return False if some cannot be cancelled at once, such as compiling."""
        with self._lock:
            for work in self._work.values():
                work.asked = -ABANDONED
        self.threads.shutdown(wait=False, cancel_futures=True)
        return all(work.future.done() for work in self._work.values())

    def answer(self, path: str, query: Query) -> Answer:
        """Answer a request; 404 for an unknown path."""
        simple: dict[str, Callable[[], object]] = {
            "/api/machines": _machines,
            "/api/statements": statement_titles,
            "/api/demos": lambda: DEMOS,
        }
        if path in simple:
            return json_answer(simple[path]())
        long = {
            "/api/run": _run,
            "/api/moments": _moments,
            "/api/network": _network,
            "/api/configuration": _configuration,
            "/api/diagram": _diagram,
            "/api/obligations": _obligations,
        }
        if path not in long:
            return message(404, f"there is no {shortened(path, 60)}")
        return self._poll(path, query, long[path])

    def post_machine(self, text: str) -> Answer:
        """Store a machine's text; later requests name it by its digest."""
        if len(text.encode()) > LARGEST_MACHINE:
            return TOO_LARGE
        try:
            machine = machine_of_text(text)
        except NetwrightError as error:
            return message(400, str(error))
        digest = sha256(text.encode()).hexdigest()[:16]
        with self._lock:
            self._posted[digest] = text
            while len(self._posted) > MOST_POSTED:
                self._posted.popitem(last=False)
        return json_answer({"machine": f"posted:{digest}", "states": len(machine.states)})

    def _poll(self, path: str, query: Query, compute: Compute) -> Answer:
        """Start the work for a URL or find it, and wait briefly for its answer."""
        key = (path, tuple(sorted(query.items())))
        with self._lock:
            work = self._work.get(key)
            if work is None:
                work = self._work[key] = Work(self, query, compute)
            work.asked = now = monotonic()
            for other, old in list(self._work.items()):  # answers that no client fetched
                if old.future.done() and now - old.asked > ABANDONED:
                    del self._work[other]
        try:
            found = work.future.result(timeout=SOON)
        except (TimeoutError, CancelledError):
            return json_answer({"done": round(work.done, 4)}, 202)
        with self._lock:
            if self._work.get(key) is work:
                del self._work[key]
        return found

    def attempt(self, query: Query, compute: Compute, keep_going: KeepGoing) -> Answer:
        """Compute an answer; turn every exception into an error message."""
        try:
            explored = self.explored(query)
            if not explored.explore(keep_going):
                return STOPPED
            return compute(explored, query, keep_going)
        except NetwrightError as error:
            return message(400, str(error))
        except MemoryError:
            return NO_MEMORY
        except Exception as error:  # else the page would wait for ever
            return message(500, f"netwright has a bug here: {type(error).__name__}: {error}")

    def explored(self, query: Query) -> Explored:
        """Return the run that a query is about, from the cache or new."""
        text = query.get("machine", "")
        kind = kind_named(query.get("kind") or DEFAULT)
        options: dict[str, Any] = {
            o.name: query[o.name].lower() in ("1", "true") if o.is_flag else query[o.name]
            for o in kind.options
            if o.name in query
        }
        kind, given = kind_with(kind, options)
        options = dict(given)
        word = query.get("input"), query.get("word")
        engine = query.get("engine", "auto")
        key = (text, kind.name, word, engine, tuple(options.items()))
        with self._lock:
            if key in self._explored:
                self._explored.move_to_end(key)
                return self._explored[key]
        self.make_room()
        network, symbols = self._network(text, kind, word, options)
        found = Explored(network, symbols, self._limit, engine=engine)
        with self._lock:
            self._explored[key] = found
            while len(self._explored) > MOST_RUNS:
                self._explored.popitem(last=False)
        return found

    def make_room(self) -> None:
        """Evict the oldest runs while memory is short; raise MemoryError if one run is left."""
        while resident_bytes() > MOST_MEMORY:
            with self._lock:
                if len(self._explored) <= 1:
                    raise MemoryError
                self._explored.popitem(last=False)

    def _network(
        self, text: str, kind: Kind[Any], word: GivenWord, options: dict[str, Any]
    ) -> tuple[Network, tuple[str, ...]]:
        given = self.given if text == "given" else None
        if text.startswith("posted:"):
            with self._lock:
                posted = self._posted.get(text.removeprefix("posted:"))
            if posted is None:
                raise InputError("this machine was posted to a page that has ended; post it again")
            text = posted
        machine = machine_of_text(text) if given is None else given.machine
        symbols = _word(word, machine)
        if given is not None and kind is given.kind:
            wanted = kind.construction.read_options(options)
            if all(wanted[name] == given.options.get(name) for name in options):
                return given, symbols
        return network_for_word(machine, kind, symbols, **options), symbols


def json_answer(data: object, status: int = 200) -> Answer:
    """Answer with plain data as JSON."""
    return Answer(status, JSON, json_bytes(data))


def json_bytes(data: object) -> bytes:
    """Encode JSON as UTF-8, lone surrogates escaped."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def message(status: int, text: str) -> Answer:
    """Answer with an error message."""
    return json_answer({"error": text}, status)


TOO_LARGE = message(413, f"a machine's text has at most {LARGEST_MACHINE:,} bytes")
NO_MEMORY = message(
    400,
    f"there is not enough memory for this run: the page may use {MOST_MEMORY / 1e9:.1f} GB for all "
    "that it shows; lower --max-steps, or restart the page",
)
STOPPED = message(409, "stopped, since nothing was waiting for this answer")


def _run(explored: Explored, _query: Query, _keep_going: KeepGoing) -> Answer:
    return json_answer(explored.description())


def _network(explored: Explored, _query: Query, _keep_going: KeepGoing) -> Answer:
    return json_answer(network_data(explored.network))


def _obligations(explored: Explored, _query: Query, _keep_going: KeepGoing) -> Answer:
    return json_answer(obligations_data(explored.network))


def obligations_data(network: Network) -> dict[str, Any]:
    """The obligations of a certificate, each with its cases and any failure; or why it has none."""
    if network.kind.proof.checker is None:
        return {"obligations": [], "why": network.kind.proof.uncertified}
    try:
        return {"obligations": [list(each) for each in network.certify().obligations], "why": ""}
    except NetwrightError as error:  # a part of it, or a name, cannot be written in a certificate
        return {"obligations": [], "why": str(error)}


def _configuration(explored: Explored, query: Query, _keep_going: KeepGoing) -> Answer:
    t = max(1, min(_number(query, "t", 1), explored.last[0]))
    return json_answer(machine_data(explored, t))


def _moments(explored: Explored, query: Query, keep_going: KeepGoing) -> Answer:
    last, _ = explored.last
    wanted = explored.time_of_step(_number(query, "step", 0)) if "step" in query else 1
    start = max(1, min(_number(query, "from", wanted), last))
    count = max(1, min(_number(query, "count", 1), MOST_MOMENTS, last + 1 - start))
    found = []
    for t in range(start, start + count):
        moment = explored.moment(t, keep_going)
        if moment is None:
            return STOPPED
        found.append(moment_data(explored, moment))
    return json_answer(found)


def _diagram(explored: Explored, query: Query, _keep_going: KeepGoing) -> Answer:
    timeline = explored.history.timeline
    defaults = {
        "from": 1,
        "to": explored.last[0] + 1,
        "columns": 800,
        "first": timeline.lowest,
        "last": timeline.highest,
        "rows": 100,
    }
    part = {name: _number(query, name, default) for name, default in defaults.items()}
    if query.get("fit"):  # the cells around the head's path
        times = part["from"], part["to"], part["columns"]
        _, path = explored.diagram(*times, timeline.lowest, timeline.lowest, 1)
        part["first"], part["last"] = int(path.lowest.min()) - 2, int(path.highest.max()) + 2
    drawn, found = explored.diagram(*part.values())
    header = np.array(drawn, dtype="<f8").tobytes()
    heads = np.array([found.lowest, found.highest], dtype="<f8").tobytes()
    return Answer(200, BINARY, header + heads + found.image.tobytes())


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 if it is unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * sysconf("SC_PAGE_SIZE")


def _number(query: Query, name: str, default: int) -> int:
    """Parse a whole number and clip it; return the default if it is missing or malformed."""
    text = query.get(name, "").strip().replace("−", "-")
    if not re.fullmatch(r"-?[0-9]+", text):
        return default
    return max(-LARGEST_NUMBER, min(LARGEST_NUMBER, int(text[:18])))


def _word(given: GivenWord, machine: TuringMachine) -> tuple[str, ...]:
    """Parse the input: `input`, a string of symbols; or `word`, a JSON list of them."""
    text, listed = given
    if listed is not None:
        try:
            found = json.loads(listed)
        except ValueError:
            found = None
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise InputError(f"expected a list of symbols; got {shortened(listed, 40)!r}")
        return machine.check_word(found)
    return machine.check_word(machine.default_input if text is None else text)


def _machines() -> dict[str, Any]:
    return {
        "machines": [
            {
                "name": machine.name,
                "about": machine.description,
                "states": len(machine.states),
                "input": "".join(machine.default_input),
            }
            for machine in map(library_machine, library_names())
        ],
        "kinds": [
            {
                "name": kind.name,
                "statement": kind.statement,
                "options": [
                    *filter(None, (_option(kind, o) for o in kind.options)),
                    *_engines(kind),
                ],
            }
            for kind in kinds().values()
        ],
    }


def _option(kind: Kind[Any], option: Option) -> dict[str, Any] | None:
    """An option for the page's form; None if its only other choice is another kind's name."""
    aliases = kind.construction.aliases
    choices = [c for c in option.choices if (option.name, c) not in aliases]
    if len(choices) == 1:
        return None
    return {
        "name": option.name,
        "help": option.help,
        "choices": choices,
        "flag": option.is_flag,
        "default": option.written(option.default),
    }


def _engines(kind: Kind[Any]) -> list[dict[str, Any]]:
    """The choice of an engine for the page's form, if there is one."""
    known, flat = kind.reading.traced_by, {"flag": False, "default": "auto"}
    about = "accelerated does whole runs of equal cells at once: moments up to 10^15"
    return [{"name": "engine", "help": about, "choices": known, **flat}] if known[1:] else []


def statement_titles() -> dict[str, str]:
    """Return the titles of the paper's statements, by name."""
    return {name: statement["title"] for name, statement in statements().items()}
