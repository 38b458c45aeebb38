"""A run by entries: the kernel's lookup table, filled on demand, and the stacks of the cells.

A block is the part of the table where the kernel looks an entry up: for a node of a tree (see
`control`), a row for every combination of the digits that were read there, as many as fit. Where
more digits are read than fit, a row only leads to the block of a node further down. The entry that
led to the newest moment is applied with the next one, so that the vectors of both are available.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netwright.engine import kernel
from netwright.engine.control import Context, Control, Entry, Node, Source, State
from netwright.engine.digits import MOST_STACKS, Digit, Digits, Stacks
from netwright.engine.moments import IndexedCodes, UnsuitableError
from netwright.exact import entries
from netwright.exact.entries import ALL, EMPTY, TOPS, Shape


class StackStore:
    """The kernel's arrays of digits, by slot; each has `depth` entries `EMPTY` at the bottom."""

    def __init__(self, shape: Shape, known: Digits, stacks: Stacks) -> None:
        self.shape, self.known = shape, known
        self.clock = np.zeros(shape.clock, np.int64)
        self.arrays: Stacks = [np.zeros(shape.depth + 256, Digit) for _ in range(shape.stacks)]
        self.clock[TOPS:] = shape.depth - 1
        self.put(stacks)

    def put(self, stacks: Stacks) -> None:
        """Replace the digits of all stacks."""
        below = self.shape.depth
        for slot, digits in enumerate(stacks[: self.shape.stacks]):
            size = len(digits)
            if below + size + 1 > len(self.arrays[slot]):
                self.arrays[slot] = np.zeros(below + 2 * size, Digit)
            self.arrays[slot][below : below + size] = digits
            self.clock[TOPS + slot] = below - 1 + size

    def make_room(self, count: int) -> None:
        """Make room for `count` more digits in every stack."""
        for slot, array in enumerate(self.arrays):
            if self.clock[TOPS + slot] + count + 2 > len(array):
                needed = self._strip(slot) + count + 2
                if needed > len(array):
                    self.arrays[slot] = np.concatenate([array, np.zeros(needed, Digit)])

    def _strip(self, slot: int) -> int:
        """Remove the lowest digits (0, b), which add nothing; return the index of the top."""
        below, top = self.shape.depth, int(self.clock[TOPS + slot])
        digits = self.arrays[slot][below : top + 1]
        is_other = np.array([c != 0 for c, _, _ in self.known.pairs])
        if len(digits) and not is_other[digits[0]]:
            others = is_other[digits]
            zeros = int(others.argmax()) if others.any() else len(digits)
            digits[: len(digits) - zeros] = digits[zeros:].copy()
            self.clock[TOPS + slot] = top = top - zeros
        return top

    def digits(self) -> Stacks:
        """The digits of all stacks, lowest first, as views."""
        tops = [self._strip(slot) + 1 for slot in range(self.shape.stacks)]
        return [a[self.shape.depth : top] for a, top in zip(self.arrays, tops, strict=True)]

    def digit(self, slot: int, depth: int) -> int:
        """The digit of a stack at a depth."""
        place = int(self.clock[TOPS + slot]) - depth
        return int(self.arrays[slot][place]) if place >= self.shape.depth else EMPTY

    def after(self, entry: Entry) -> Stacks:
        """Copies of the stacks after an entry."""
        found, digits = [], self.digits()
        for made in entry.cells:
            stack = np.zeros(0, Digit)
            if made is not None:
                assert isinstance(made, Source)
                if made.cell is not None:
                    own = digits[made.cell]
                    stack = own[: max(0, len(own) - made.pops)].copy()
                if made.digit is not None:
                    stack = np.append(stack, Digit(made.digit))
            found.append(stack)
        return found

    def fields(self, entry: Entry) -> list[int] | None:
        """The row fields of all stacks for an entry; None if a cell changes slots."""
        found: list[int] = []
        if len(entry.cells) > self.shape.stacks:
            return None
        for slot in range(self.shape.stacks):
            made = entry.cells[slot] if slot < len(entry.cells) else None
            if made is None:
                found += (ALL, EMPTY, 0)
                continue
            assert isinstance(made, Source)
            if made.cell not in (None, slot):
                return None
            pops = ALL if made.cell is None else made.pops
            found += (pops, made.digit or EMPTY, made.digit is not None)
        return found


def enlarged(shape: Shape, stacks: int, depth: int) -> Shape:
    """A shape enlarged for at least `stacks` stacks and `depth` digits of each."""
    if stacks > MOST_STACKS:
        raise UnsuitableError(f"it has more than {MOST_STACKS} numbers that are not 0 or 1")
    more = next(n for n in (2, 4, MOST_STACKS) if n >= max(stacks, shape.stacks))
    return Shape(more, max(depth, shape.depth))


LARGEST_BLOCK = 1 << 8
MOST_ROWS = 1 << 20
MOST_CODES = 1 << 16
STOPS, BY_HAND = 1, 2
"""Flags of a row: it ends the codes of a call; it is left to Python, as cells change slots."""


@dataclass(eq=False)
class _Block:
    """The rows in which the entries of a node are looked up."""

    node: Node
    leading: list[int]
    """All rows whose next entry is looked up here; the first has no other effect."""
    reads: list[tuple[int, int]] = field(default_factory=list)
    """Stack and depth of each digit; number n has the multiple base**n."""
    base: int = -1
    """The index of the first row."""


class Tables:
    """A network's moments from a given state and stacks, by the entries of a control.

    `codes` returns what watches see in a state, and whether the codes of a call end with it.
    """

    def __init__(
        self,
        control: Control,
        context: Context,
        codes: Callable[[State], tuple[tuple[int, ...], bool]],
    ) -> None:
        self.control, self.known, self.context = control, control.known, context
        self._codes_of = codes
        self._code_numbers: dict[tuple[int, ...], int] = {}
        self._codes = np.zeros((0, 0), np.int64)
        self.shape = entries.FIRST_SHAPE

    def new_store(self, stacks: Stacks) -> StackStore:
        """The arrays that the kernel works on."""
        return StackStore(self.shape, self.known, stacks)

    def put(self, state: State, stacks: Stacks) -> None:
        """Continue from a state with the digits of its cells; discards all rows."""
        self._state = state
        self.shape = enlarged(self.shape, len(state.cells), 0)
        self.store = self.new_store(stacks)
        self.clock = self.store.clock
        # Blocks count in a base that exceeds every digit.
        self._base = max(4, 1 << (len(self.known) - 1).bit_length())
        self._rows = np.zeros((256, self.shape.width), np.int64)
        self._owners: list[_Block] = []
        """By row: the block that it belongs to, or that it leads to without being an entry."""
        self._leaves: dict[int, Node] = {}
        """By row: the leaf whose entry it is."""
        self._blocks: dict[Node, _Block] = {}
        self.clock[entries.ROW] = -1
        root = self.control.root((self.context, state))
        self._version = self.known.version
        self._start_at(self._block(root))

    def stacks(self, *, before: bool = False) -> tuple[State, Stacks] | None:
        """The newest state with its stacks; or the previous one, None if that is unknown."""
        row = int(self.clock[entries.ROW]) // self.shape.width
        node = self._leaves.get(row)
        if node is None:
            state = self._state if row < 0 else self._owners[row].node.key[1]
            return None if before else (state, self.store.digits())
        if before:
            return node.key[1], self.store.digits()
        assert node.entry is not None
        return node.entry.state, self.store.after(node.entry)

    # Running.

    def advance(self, count: int) -> IndexedCodes:
        """The codes of the next moments, at least one; UnsuitableError if there is none."""
        numbers = np.empty(count, np.uint16)

        def follow(done: int) -> int:
            self.clock[entries.EMITTED] = done
            arrays: list[NDArray[Any]] = [self._rows, numbers, *self.store.arrays]
            addresses = np.array([array.ctypes.data for array in arrays], np.int64)
            loop = kernel.compiled(self.shape)
            loop(addresses.ctypes.data, self.clock.ctypes.data, count)
            return int(self.clock[entries.EMITTED])

        done = self.follow(count, count, follow)
        return IndexedCodes(numbers[:done], self._codes)

    def follow(self, count: int, room: int, loop: Callable[[int], int]) -> int:
        """Call a loop, and do by hand what it cannot, for up to `count` moments; return how many.

        `loop` takes the number of moments done before, and returns it with those that it did; it
        pushes at most `room` digits on each stack.
        """
        done = 0
        self.store.make_room(room)
        while done < count:
            now, done = done, loop(done)
            if self.clock[entries.STATUS] == entries.DONE:
                break
            if done > now and self._rows.flat[self.clock[entries.ROW]] & STOPS:
                break
            try:
                self._by_hand(int(self.clock[entries.ROW]) // self.shape.width)
            except UnsuitableError:
                if not done:
                    raise
                break
            self.store.make_room(room)
        if len(self._codes) != len(self._code_numbers):
            self._codes = np.array([*self._code_numbers], np.int64)
        return done

    def _by_hand(self, row: int) -> None:
        """Apply a row that the loop cannot, or fill one that is not yet an entry."""
        if row not in self._leaves:
            block = self._owners[row]
            self._start_at(block)
            self._fill(block)
            return
        found = self.stacks()
        assert found is not None
        state, stacks = found
        if len(state.cells) > self.shape.stacks:
            self.put(state, stacks)
            return
        block = self._block(self.control.root((self.context, state)))
        self._start_at(block)
        self.store.put(stacks)
        self._renew_if_stale(state)

    def _start_at(self, block: _Block) -> None:
        """Make the kernel look up the next entry in a block, with nothing to apply first."""
        self.clock[entries.ROW] = block.leading[0] * self.shape.width

    def _fill(self, block: _Block) -> None:
        """Find the entry for the current digits and write its row in the block."""
        node, state = block.node, block.node.key[1]
        size, further = len(block.reads), False
        while node.entry is None:
            assert node.read is not None
            read = node.read, node.depth
            if not self._is_in_shape(node):
                self.shape = enlarged(self.shape, len(state.cells), node.depth + 1)
                self.put(state, self.store.digits())
                return
            if read not in block.reads:
                if block.reads and self._base ** (len(block.reads) + 1) > LARGEST_BLOCK:
                    further = True
                    break
                block.reads.append(read)
            node = self.control.child(node, self.store.digit(*read))
        if self._renew_if_stale(state):
            return
        if len(block.reads) != size:
            self._lay_out(block)
        row = block.base
        for number, read in enumerate(block.reads):
            row += self._base**number * self.store.digit(*read)
        if further:
            self._link(row, self._block(node))
            self._rows[row, entries.FLAGS] = 0
        else:
            self._write(row, node)
            self._renew_if_stale(state)

    def _renew_if_stale(self, state: State) -> bool:
        """Rebuild the table if the hull widened, digits outgrew it, or there are too many rows."""
        stale = self._version != self.known.version or len(self.known) > self._base
        if len(self._owners) > MOST_ROWS or self.control.is_full:
            self.control.forget()
            stale = True
        if stale:
            self.put(state, self.store.digits())
        return stale

    # Rows and blocks.

    def _block(self, node: Node) -> _Block:
        found = self._blocks.get(node)
        if found is None:
            found = self._blocks[node] = _Block(node, [len(self._owners)])
            self._new_rows(found, 1)
            self._rows[found.leading[0], entries.FLAGS] = 0
            if node.read is not None and self._is_in_shape(node):
                found.reads.append((node.read, node.depth))
            self._lay_out(found)
        return found

    def _is_in_shape(self, node: Node) -> bool:
        """Whether the kernel looks at the digit that a node reads."""
        return (node.read or 0) < self.shape.stacks and node.depth < self.shape.depth

    def _new_rows(self, block: _Block, count: int) -> None:
        """Append rows of a block; they are not entries yet."""
        first = len(self._owners)
        self._owners += [block] * count
        while first + count > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        self._rows[first : first + count, entries.FLAGS] = BY_HAND

    def _lay_out(self, block: _Block) -> None:
        """Append rows for all combinations of the block's digits, and link to them."""
        block.base = len(self._owners)
        self._new_rows(block, self._base ** len(block.reads))
        for row in block.leading:
            self._write_link(row, block)

    def _link(self, row: int, block: _Block) -> None:
        """Make the kernel look up the entry after a row in a block, also once that is moved."""
        block.leading.append(row)
        self._write_link(row, block)

    def _write_link(self, row: int, block: _Block) -> None:
        fields, width = self._rows[row], self.shape.width
        fields[entries.BASE] = block.base * width
        fields[entries.MULTIPLES : self.shape.field(0, 0)] = 0
        for number, (stack, depth) in enumerate(block.reads):
            fields[self.shape.multiple(stack, depth)] = self._base**number * width
            reads = self.shape.reads(stack)
            fields[reads] = max(fields[reads], depth + 1)
        fields[entries.REPEATS] = row in self._leaves and self._owners[row] is block

    def _write(self, row: int, node: Node) -> None:
        """Make a row the entry of a leaf."""
        entry = node.entry
        assert entry is not None
        codes, stops = self._codes_of(entry.state)
        code = self._code_numbers.setdefault(codes, len(self._code_numbers))
        if code == MOST_CODES:
            raise UnsuitableError(f"more than {MOST_CODES:,} different codes")
        block = self._block(self.control.root((self.context, entry.state)))
        self._leaves[row] = node
        self._link(row, block)
        fields, done = self._rows[row], self.store.fields(entry)
        fields[entries.EMITS], fields[entries.CODE] = 1, code
        fields[entries.FLAGS] = STOPS * stops + BY_HAND * (done is None)
        if done is not None:
            fields[self.shape.field(0, 0) :] = done
