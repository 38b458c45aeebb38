"""A decoder run by tables: fills the arrays of the kernel, and calls it."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from netwright.definitions.transformer import Transformer
from netwright.engine.moments import NEITHER, ZERO_BLOCK, IndexedCodes, UnsuitableError, Watch
from netwright.engine.transformer import arrays
from netwright.engine.transformer.program import OUTPUT, STREAM, External, Program, watched_vector
from netwright.engine.transformer.tables.finite import Evaluation, FinitePart, Sparse
from netwright.engine.transformer.tables.kernel import (
    CLASS,
    FIXED,
    MISSING,
    NEXT_BITS,
    Shape,
    compiled,
)
from netwright.engine.transformer.tables.residual import Residual, Y, residual_of
from netwright.exact.arrays import IntArray
from netwright.exact.layout import Layout
from netwright.exact.rational import Rational
from netwright.exact.snapshot import Snapshot
from netwright.exact.vector import Vector

CODES = FIXED.index("codes")
FIRST_SIZE, FIRST_CLASSES = 16, 4
MOST_TOGETHER = 1 << 10  # numbers of all keys but y, for entries by all keys at once
MOST_CODES = 1 << 16
MOST_ENTRIES = 1 << 26
REASONS = {
    arrays.OTHER_FORM: "no form of attention fits",
    arrays.TOO_LARGE: "too large for 64 bits",
}


class Watched(NamedTuple):
    """A watch on integers of a program."""

    vector: int
    places: list[tuple[int, int]]  # coordinates, each with the integer that represents 1
    sign: bool


def watched(watch: Watch, layout: Layout, program: Program, residual: Residual) -> Watched:
    """A watch on finite numbers; raise UnsuitableError for other numbers."""
    number = watched_vector(watch)
    scales, places = program.vectors[number], layout.places(watch.block)
    if number == STREAM and any(k in residual.stream for k in places):
        raise UnsuitableError("a watch is on a number that grows")
    units = [(k, scales[k].D if k in scales else 1) for k in places]
    return Watched(number, units, watch.sign)


def code_of(watch: Watched, found: Evaluation) -> int:
    """The code of a watch; equals `Watch.code`."""
    vector = found.vectors[watch.vector]
    shown = [(n, vector[k], one) for n, (k, one) in enumerate(watch.places) if vector.get(k)]
    if not shown:
        return 0 if watch.sign else ZERO_BLOCK
    (n, x, one), *others = shown
    if watch.sign:
        return x // one if abs(x) == one else NEITHER
    return n if x == one and not others else NEITHER


class TableTransformer:
    """A decoder that runs by tables: equals the definition, or raises UnsuitableError."""

    def __init__(
        self,
        network: Transformer,
        program: Program,
        seed: Vector,
        watches: Sequence[Watch] = (),
        *,
        shows_outputs: bool = False,
    ) -> None:
        """With `shows_outputs`, the last code of a token is the number of its output."""
        self.network, self.program, self.shows_outputs = network, program, shows_outputs
        self.residual = residual = residual_of(program)
        self.watches = [watched(watch, network.layout, program, residual) for watch in watches]
        self.finite = FinitePart(program, residual)
        self.shape = shape = Shape(
            tuple(residual.operations),
            tuple(residual.keys),
            tuple(residual.sizes.items()),
            tuple(residual.stream.values()),
            program.longest,
            direct=True,
        )
        self._advance = compiled(shape)
        self.outputs: list[Sparse] = []
        self._evaluations: list[Evaluation] = []
        self._numbers: dict[tuple[tuple[int, int], ...], int] = {}
        self.values: dict[str, list[tuple[int, ...]]] = {
            part.key: [] for part in residual.visits.values()
        }
        self._classes: dict[tuple[str, tuple[int, ...]], int] = {}
        self.rows: dict[str, list[int]] = {}
        """By key: the first row of the encoder of each class."""
        self.entries: dict[tuple[int, tuple[int, ...]], int] = {}
        """By the numbers of an output and of the other keys: the next output, and a code."""
        self._rest: dict[tuple[int, ...], int] = {}
        self._codes: dict[tuple[int, ...], int] = {}
        self.code_rows = np.zeros((0, len(watches)), dtype=np.int64)
        layers, first = shape.count_of("visit"), arrays.first_state(program, seed)
        cells = first["kept"].shape[1]
        self.clock = first["clock"]
        self._where: tuple[IntArray, IntArray] | None = None
        """Cache: the addresses of the arrays, and the capacities of the tables."""
        self.arrays: dict[str, Any] = {
            "total": first["total"],
            "visits": first["visits"],
            "kept": np.zeros((layers, cells, shape.width), dtype=np.int64),
            "own": np.zeros((max(1, layers), FIRST_SIZE), dtype=np.int64),
            "rest": np.zeros(1, dtype=np.int64),
            "final": np.zeros((0, 0), dtype=np.int64),
            "codes": np.zeros(1, dtype=np.uint16),  # replaced in each call
            "stream": np.zeros(max(1, len(shape.stream)), dtype=np.int64),
            "keys": np.zeros(1 + len(shape.keys), dtype=np.int64),
        }
        for key in shape.looked_up:
            slots = len(residual.slots[key])
            columns = FIRST_SIZE if key == Y else FIRST_CLASSES
            self.arrays[f"slots {key}"] = np.zeros((slots, columns), dtype=np.int64)
        self._set_rows()
        self._make_entries()
        self.clock[arrays.OWN] = self._number_of(_nonzero(first["output"]))
        self._stored_at = 0
        """The number of tokens after which the stream was stored."""
        self._restored: IntArray | None = first["stream"]
        """The stream of a restored state, until the first token after it."""

    # Tables.

    def _set_rows(self) -> None:
        """Set the classes of the encoder's rows, and the columns that are read from arrays."""
        instructions, residual = self.program.instructions, self.residual
        for key in self.shape.encoders:
            using = [i for i, name in residual.rows.items() if name == key]
            first = instructions[using[0]]
            assert isinstance(first, External)
            finite = sorted(residual.finite_columns[using[0]])
            # A column that is finite in a later layer is finite in the first: scales only grow.
            if any(not residual.finite_columns[i] <= {*finite} for i in using):
                raise UnsuitableError("a row of the encoder has other classes in other layers")
            if finite:
                columns = np.array([first.columns[k][1] for k in finite]).T
                _, rows, numbers = np.unique(
                    columns, axis=0, return_index=True, return_inverse=True
                )
            else:
                rows, numbers = np.zeros(1, np.int64), np.zeros(first.count, np.int64)
            self.rows[key] = rows.tolist()
            self.arrays[f"class {key}"] = numbers.ravel().astype(np.int64)
            for n, row in enumerate(self.rows[key]):
                self._fill(key, n, self.finite.of_key({key: row}))
        for n, (i, k) in enumerate(residual.columns):
            each = instructions[i]
            assert isinstance(each, External)
            self.arrays[f"column {n}"] = np.ascontiguousarray(each.columns[k][1])

    def _fill(self, key: str, n: int, found: Evaluation) -> None:
        """Write the slots of a key's n-th value."""
        name = f"slots {key}"
        while n >= self.arrays[name].shape[1]:
            self._replace(name, _wider(self.arrays[name]))
        for slot in range(len(self.arrays[name])):
            self.arrays[name][slot, n] = found.slots[key, slot]

    def _number_of(self, output: Sparse) -> int:
        """The number of an output; evaluate it and add it to the tables if it is new."""
        output = {k: x for k, x in output.items() if x}
        key = tuple(sorted(output.items()))
        if key in self._numbers:
            return self._numbers[key]
        for k, bound in self.program.output_bound.items():
            if abs(output.get(k, 0)) > bound:
                raise UnsuitableError(REASONS[arrays.TOO_LARGE])
        n = len(self.outputs)
        found = self.finite.of_output(output)
        self._fill(Y, n, found)
        if n >= self.arrays["own"].shape[1]:
            self._replace("own", _wider(self.arrays["own"]))
        for layer, part in enumerate(self.residual.visits.values()):
            self.arrays["own"][layer, n] = self._class_of(part.key, found.own[part.key])
        self.outputs.append(output)
        self._evaluations.append(found)
        self._numbers[key] = n
        if n >= len(self.arrays["final"]):
            self._make_entries()
        return n

    def _class_of(self, key: str, value: tuple[int, ...]) -> int:
        """The number of the finite part of a value; add it to the tables if it is new."""
        if (key, value) not in self._classes:
            n = len(self.values[key])
            before = self.arrays[f"slots {key}"].shape[1]
            self._fill(key, n, self.finite.of_key({key: value}))
            self.values[key].append(value)
            self._classes[key, value] = n
            if self.arrays[f"slots {key}"].shape[1] != before:
                self._make_entries()
        return self._classes[key, value]

    def _make_entries(self) -> None:
        """Rebuild the tables of entries for the present capacities of the other tables.

        While there are few combinations, entries are indexed by the numbers of all keys at once.
        Otherwise all keys but y get one number together, so that only those that occur take room.
        """
        sizes = dict(self.shape.sizes)
        self._places = [
            sizes[key] if key in sizes else self.arrays[f"slots {key}"].shape[1]
            for key in self.shape.keys
        ]
        together = prod(self._places)
        outputs = self.arrays[f"slots {Y}"].shape[1]
        if self.shape.direct and together > MOST_TOGETHER:
            self.shape = self.shape._replace(direct=False)
            self._advance = compiled(self.shape)
        width = together
        if not self.shape.direct:
            if together > MOST_ENTRIES:
                raise UnsuitableError("its tables are too large")
            self._replace("rest", np.zeros(together, dtype=np.int64))
            width = 8
            while width <= len({ids for _, ids in self.entries}):
                width *= 2
        if width * outputs > MOST_ENTRIES:
            raise UnsuitableError("its tables are too large")
        self._replace("final", np.full((outputs, width), -1, dtype=np.int64))
        self._rest.clear()
        for (y, ids), entry in self.entries.items():
            self._put(y, ids, entry)

    def _replace(self, name: str, array: Any) -> None:
        """Replace an array, and discard cached addresses."""
        self.arrays[name], self._where = array, None

    def _put(self, y: int, ids: tuple[int, ...], entry: int) -> None:
        """Write an entry into the table, which has room for it."""
        place = 0
        for size, n in zip(self._places, ids, strict=True):
            place = place * size + n
        if not self.shape.direct:
            self.arrays["rest"][place] = self._rest.setdefault(ids, 1 + len(self._rest))
            place = self._rest[ids]
        self.arrays["final"][y, place] = entry

    def _add_entry(self) -> None:
        """Evaluate the current token on a table miss and insert the entry."""
        y, *ids = self.arrays["keys"].tolist()
        found = self._evaluated(y, ids)
        codes = tuple(code_of(watch, found) for watch in self.watches)
        following = self._number_of(found.vectors[OUTPUT])
        if self.shows_outputs:
            codes = (*codes, following)
        if codes not in self._codes:
            if len(self._codes) >= MOST_CODES:
                raise UnsuitableError("there are too many codes")
            self._codes[codes] = len(self._codes)
            rows = np.array(list(self._codes), dtype=np.int64)
            self.code_rows = rows.reshape(len(self._codes), len(codes))
        entry = following | self._codes[codes] << NEXT_BITS
        self.entries[y, tuple(ids)] = entry
        full = 1 + len(self._rest) >= self.arrays["final"].shape[1] and tuple(ids) not in self._rest
        if full and not self.shape.direct:
            self._make_entries()
        else:
            self._put(y, tuple(ids), entry)

    def _evaluated(self, y: int, ids: Sequence[int]) -> Evaluation:
        """Evaluate a token from the numbers of its keys; that of a switch is its value."""
        tables: dict[str, list[Any]] = {**self.rows, **self.values}
        pairs = zip(self.shape.keys, ids, strict=True)
        keys = {key: tables[key][n] if key in tables else n for key, n in pairs}
        return self.finite.of_token(self._evaluations[y], keys)

    # The run.

    pointers: tuple[int, ...] = ()
    """No coordinate of an output holds a pointer."""

    @property
    def newest_output(self) -> int:
        """The number of the newest output."""
        return int(self.clock[arrays.OWN])

    def known(self, number: int) -> tuple[dict[int, Rational], tuple[int, ...]]:
        """The numbers of an output, and no pointers."""
        scales = self.program.vectors[OUTPUT]
        return {k: Rational(x, scales[k].D) for k, x in self.outputs[number].items()}, ()

    def propose(self, given: object, count: int) -> None:
        """Do nothing: there are no pointers, and cells are read off keys and queries."""

    @property
    def moments(self) -> int:
        """How many tokens are done."""
        return int(self.clock[arrays.TOKENS])

    def advance(self, tokens: int) -> IndexedCodes:
        """The codes of the next `tokens` tokens; fewer only before a token that is unsuitable."""
        codes = np.empty(tokens, dtype=np.uint16)
        done = 0
        while done < tokens:
            if self._where is None:
                where = [self.arrays[name].ctypes.data for name in self.shape.arrays]
                sizes = [self._size(name) for name in self.shape.capacities]
                self._where = np.array(where, dtype=np.int64), np.array(sizes, dtype=np.int64)
                self._addresses = [array.ctypes.data for array in (*self._where, self.clock)]
            self._where[0][CODES] = codes.ctypes.data + done * codes.itemsize
            done += self._advance(*self._addresses, tokens - done)
            status = int(self.clock[arrays.STATUS])
            if status == MISSING:
                self._add_entry()
            elif status == arrays.MORE_CELLS:
                self._make_room(int(self.clock[arrays.WANTED_CELL]))
            elif status != arrays.DONE:
                if not done:
                    raise UnsuitableError(f"token {self.moments + 1}: {REASONS[status]}")
                return IndexedCodes(codes[:done], self.code_rows)
        self._stored_at = self.moments
        self._restored = None if tokens else self._restored
        return IndexedCodes(codes, self.code_rows)

    def _size(self, name: str) -> int:
        if name == "rest":
            return int(self.arrays["final"].shape[1])
        if name.startswith("rows "):
            return len(self.arrays[f"class {name.removeprefix('rows ')}"])
        return int(self.arrays[f"slots {name}"].shape[1])

    def _make_room(self, cell: int) -> None:
        found = arrays.with_more_cells(self.clock, self.arrays["kept"], cell)
        if found is None:
            raise UnsuitableError(f"token {self.moments + 1}: its cells are too far apart")
        self._replace("kept", found)

    # Vectors, and the state.

    @property
    def y(self) -> Vector:
        """The newest output."""
        numbers = _array(self.outputs[self.clock[arrays.OWN]], self.program.dimension)
        return arrays.vector_of(self.program, OUTPUT, numbers, self.moments, self.network.layout)

    @property
    def z(self) -> Vector:
        """The newest token's vector after the last layer."""
        return arrays.vector_of(
            self.program, STREAM, self.stream, self.moments, self.network.layout
        )

    @property
    def has_stream(self) -> bool:
        """Whether z is known: it is stored by a call that did all of its tokens."""
        return self._stored_at == self.moments

    @property
    def stream(self) -> IntArray:
        """The integers of z; requires `has_stream`."""
        assert self.has_stream
        if self._restored is not None:
            return self._restored
        y, *ids = self.arrays["keys"].tolist()
        found = self._evaluated(y, ids)
        numbers = _array(found.vectors[STREAM], self.program.dimension)
        for k, x in zip(self.residual.stream, self.arrays["stream"].tolist(), strict=False):
            numbers[k] = x
        return numbers

    @property
    def state(self) -> dict[str, IntArray]:
        """The state that later tokens depend on, in the arrays of `arrays.first_state`."""
        clock = self.clock.copy()
        clock[arrays.OWN] = 0
        old = self.arrays["kept"]
        kept = np.zeros((*old.shape[:2], arrays.kept_width(self.program)), dtype=np.int64)
        kept[:, :, : arrays.VALUE] = old[:, :, : arrays.VALUE]
        for layer, part in enumerate(self.residual.visits.values()):
            visited = old[layer, :, arrays.LATEST] != 0
            classes = old[layer, visited, CLASS]
            values = np.array(self.values[part.key], dtype=np.int64)
            for n, place in enumerate(part.finite):
                kept[layer, visited, arrays.VALUE + place] = values[classes, n]
            for n, place in enumerate(part.numeric, start=CLASS + 1):
                kept[layer, :, arrays.VALUE + place] = old[layer, :, n]
        return {
            "clock": clock,
            **({"stream": self.stream} if self.has_stream else {}),
            "output": _array(self.outputs[self.clock[arrays.OWN]], self.program.dimension),
            "total": self.arrays["total"].copy(),
            "visits": self.arrays["visits"].copy(),
            "kept": kept,
        }

    def snapshot(self) -> Snapshot:
        """A copy of the state."""
        return {name: array.copy() for name, array in self.state.items()}

    def restore(self, state: Snapshot) -> None:
        """Continue from a snapshot; raise FormatError if it is not valid."""
        self.put(arrays.checked_state(self.program, state))

    def put(self, found: Mapping[str, IntArray]) -> None:
        """Continue from a state of this network, with or without the stream."""
        self.clock = found["clock"].copy()
        self.clock[arrays.OWN] = self._number_of(_nonzero(found["output"]))
        self.arrays |= {name: found[name].copy() for name in ("total", "visits")}
        old = found["kept"]
        kept = np.zeros((*old.shape[:2], self.shape.width), dtype=np.int64)
        kept[:, :, : arrays.VALUE] = old[:, :, : arrays.VALUE]
        for layer, part in enumerate(self.residual.visits.values()):
            visited = np.flatnonzero(old[layer, :, arrays.LATEST])
            places = [arrays.VALUE + place for place in part.finite]
            rows, numbers = np.unique(old[layer, visited][:, places], axis=0, return_inverse=True)
            classes = [self._class_of(part.key, tuple(row)) for row in rows.tolist()]
            kept[layer, visited, CLASS] = np.array(classes, dtype=np.int64)[numbers.ravel()]
            for n, place in enumerate(part.numeric, start=CLASS + 1):
                kept[layer, :, n] = old[layer, :, arrays.VALUE + place]
        self._replace("kept", kept)
        self._restored, self._stored_at = None, -1
        if "stream" in found:
            self._restored, self._stored_at = found["stream"].copy(), self.moments


def _nonzero(numbers: IntArray) -> Sparse:
    return {k: int(numbers[k]) for k in np.flatnonzero(numbers).tolist()}


def _array(numbers: Sparse, dimension: int) -> IntArray:
    found = np.zeros(dimension, dtype=np.int64)
    for k, x in numbers.items():
        found[k] = x
    return found


def _wider(array: IntArray) -> IntArray:
    """The array with twice as many columns."""
    return np.concatenate([array, np.zeros_like(array)], axis=1)
