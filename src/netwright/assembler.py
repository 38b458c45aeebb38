"""A writer of machine code for 64-bit integers on top of llvmlite: numbers, memory and control.

A number is an LLVM value, or a Python integer, which is folded: `sum(x, 0)` and `product(x, 1)`
emit no instruction.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_int64, c_void_p
from typing import Any, cast

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

SHORT, HALF, WORD = map(ir.IntType, (16, 32, 64))
POINTER = WORD.as_pointer()
Number = Any
"""An integer, or an instruction that computes one."""


class Assembler:
    """Writes one function of some arrays and a number; it loops and returns its number of rounds.

    A round begins at `round`, where `done` is the number of rounds done; `again` jumps there.
    Numbers that are `carried` from round to round are in registers meanwhile; a return in the
    middle of a round stores those of its beginning. The array `clock` gets a status on return.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        status_at: int,
        carried: Mapping[str, tuple[str, int]] | None = None,
        pointers: Sequence[str] = (),
    ) -> None:
        """`carried` has the array and the index where a number is stored between calls.

        `pointers` are names of more arrays, whose addresses are in the first argument.
        """
        self.module = ir.Module("netwright")
        self.tables: list[NDArray[np.int64]] = []
        """Constant tables, which live as long as the code."""
        kinds = [POINTER] * (len(arguments) - 1) + [WORD]
        function = ir.Function(self.module, ir.FunctionType(WORD, kinds), "advance")
        self.arguments: dict[str, Any] = dict(zip(arguments, function.args, strict=True))
        self.number_of_arguments = len(arguments)
        homes = dict(carried or {})
        entry, self.round, self.leave = map(
            function.append_basic_block, ("entry", "round", "leave")
        )
        self.b = ir.IRBuilder(self.round)
        self.carried = {name: self.b.phi(WORD, name) for name in homes}
        self.done = self.b.phi(WORD, "done")
        self.b.position_at_end(entry)
        for n, name in enumerate(pointers):
            address = self.load(arguments[0], n)
            self.arguments[name] = self.b.inttoptr(address, POINTER)
        for name, phi in self.carried.items():
            phi.add_incoming(self.load(*homes[name]), entry)
        self.done.add_incoming(WORD(0), entry)
        self.entry = self.b.branch(self.round)
        self.b.position_at_end(self.leave)
        self.status = self.b.phi(WORD, "status")
        self.store(self.status, "clock", status_at)
        for name, phi in self.carried.items():
            self.store(phi, *homes[name])
        self.b.ret(self.done)
        self.b.position_at_end(self.round)

    def at_first(self, array: str, index: int) -> Any:
        """The number at an index of an array when the function is called."""
        with self.b.goto_block(self.entry.parent):
            self.b.position_before(self.entry)
            return self.load(array, index)

    def again(self, **carried: Number) -> None:
        """End the round, and begin the next one with new carried numbers."""
        for name, phi in self.carried.items():
            phi.add_incoming(self.word(carried.get(name, phi)), self.b.block)
        self.done.add_incoming(self.word(self.sum(self.done, 1)), self.b.block)
        self.b.branch(self.round)

    def compiled(self, *, optimised: bool = False) -> Callable[..., int]:
        """Compile the function for this machine.

        Optimising pays for code that is small and used by many networks.
        """
        engine = machine_code(self.module, optimised=optimised)
        pointers = [c_void_p] * (self.number_of_arguments - 1)
        code: Any = CFUNCTYPE(c_int64, *pointers, c_int64)(engine.get_function_address("advance"))
        code.kept = engine, self.tables  # they live as long as the function
        return cast(Callable[..., int], code)

    # Numbers: integers are folded, everything else becomes an instruction.

    def word(self, x: Number) -> Any:
        """A number as an LLVM value."""
        assert not isinstance(x, int) or -(1 << 63) <= x < 1 << 63, "a constant of 64 bits"
        return WORD(x) if isinstance(x, int) else x

    def sum(self, x: Number, y: Number) -> Number:
        """x + y."""
        if isinstance(x, int) and isinstance(y, int):
            return x + y
        if x == 0 or y == 0:
            return y if x == 0 else x
        return self.b.add(self.word(x), self.word(y))

    def product(self, x: Number, y: Number) -> Number:
        """x · y."""
        if isinstance(x, int):
            x, y = y, x
        if isinstance(x, int):
            return x * y
        if y == 0 or y == 1:
            return x if y == 1 else 0
        return self.b.neg(x) if y == -1 else self.b.mul(x, self.word(y))

    def compare(self, how: str, x: Number, y: Number) -> Any:
        """The condition x `how` y, such as x <= y."""
        return self.b.icmp_signed(how, self.word(x), self.word(y))

    def choose(self, condition: Any, x: Number, y: Number) -> Number:
        """x if the condition holds, else y."""
        return self.b.select(condition, self.word(x), self.word(y))

    def least(self, x: Number, y: Number) -> Number:
        """The lesser of two."""
        return self.choose(self.compare("<", x, y), x, y)

    def greatest(self, x: Number, y: Number) -> Number:
        """The greater of two."""
        return self.choose(self.compare(">", x, y), x, y)

    # Memory.

    def at(self, array: Any, index: Number, kind: Any = WORD) -> Any:
        """The address of an element of an array: an argument, given by name, or a table."""
        base = self.arguments[array] if isinstance(array, str) else array
        if kind != WORD:
            base = self.b.bitcast(base, kind.as_pointer())
        return self.b.gep(base, [self.word(index)])

    def load(self, array: Any, index: Number) -> Any:
        """The number at an index."""
        return self.b.load(self.at(array, index))

    def store(self, x: Number, array: Any, index: Number, kind: Any = WORD) -> None:
        """Store a number at an index; with `kind`, its low bits in an array of that type."""
        word = self.word(x)
        word = word if kind == WORD else self.b.trunc(word, kind)
        self.b.store(word, self.at(array, index, kind))

    def load_short(self, array: Any, index: Number) -> Any:
        """The number at an index of an array of unsigned 16-bit integers."""
        return self.b.zext(self.b.load(self.at(array, index, SHORT)), WORD)

    def store_short(self, x: Number, array: Any, index: Number) -> None:
        """Store the low 16 bits of a number in an array of 16-bit integers."""
        self.store(x, array, index, SHORT)

    def table(self, numbers: Any) -> Any:
        """The address of a new constant table."""
        self.tables.append(np.array(numbers, dtype=np.int64))
        return WORD(self.tables[-1].ctypes.data).inttoptr(POINTER)

    # Control.

    def go_on_if(self, condition: Any, status: int) -> None:
        """Return with a status, stored at `status_at`, unless a condition holds."""
        following = self.b.append_basic_block()
        self.status.add_incoming(WORD(status), self.b.block)
        self.b.cbranch(condition, following, self.leave)
        self.b.position_at_end(following)

    @contextmanager
    def loop(self, start: Number, end: Number) -> Iterator[Any]:
        """A context manager for a loop body: i runs from `start` to before `end`."""
        before = self.b.block
        head, body, after = (self.b.append_basic_block() for _ in range(3))
        self.b.branch(head)
        self.b.position_at_end(head)
        i = self.b.phi(WORD)
        i.add_incoming(self.word(start), before)
        self.b.cbranch(self.compare("<", i, end), body, after)
        self.b.position_at_end(body)
        yield i
        i.add_incoming(self.b.add(i, WORD(1)), self.b.block)
        self.b.branch(head)
        self.b.position_at_end(after)


def machine_code(module: ir.Module, *, optimised: bool = True) -> Any:
    """An engine with a module compiled for this machine; the code lives as long as the engine.

    Optimising pays for code that is small or much used.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    if optimised:
        tuning = llvm.create_pipeline_tuning_options(speed_level=2)
        passes = llvm.create_pass_builder(machine, tuning)
        passes.getModulePassManager().run(parsed, passes)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    return engine
