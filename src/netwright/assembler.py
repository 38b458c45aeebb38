"""Writing machine code for 64-bit integers: numbers, memory and control, by llvmlite.

A number is a Python integer, which is folded, or an LLVM value. So `sum(x, 0)` costs nothing, and
a product with 1 is no multiplication.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_int64, c_void_p
from typing import Any, cast

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

WORD = ir.IntType(64)
SHORT = ir.IntType(16)
POINTER = WORD.as_pointer()
Number = Any
"""An integer, or an instruction that computes one."""


class Assembler:
    """Writes one function of some arrays and a number; it returns how often it went round.

    It begins at `round`, where `done` is the number of rounds done, and `again` goes there. Numbers
    that are `carried` from round to round are in registers meanwhile; what leaves in the middle of
    a round leaves with those of its beginning. The array `clock` gets a status in the end.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        status_at: int,
        carried: Mapping[str, tuple[str, int]] | None = None,
        pointers: Sequence[str] = (),
    ) -> None:
        """`carried` says in which array, and where, a number is kept between calls.

        `pointers` are names of more arrays, whose addresses stand in the first argument.
        """
        self.module = ir.Module("netwright")
        self.tables: list[NDArray[np.int64]] = []
        """The arrays of the code's own, which live as long as it."""
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
        """What stands at a place when the function is called."""
        with self.b.goto_block(self.entry.parent):
            self.b.position_before(self.entry)
            return self.load(array, index)

    def again(self, **carried: Number) -> None:
        """End a round, and begin the next with new numbers."""
        for name, phi in self.carried.items():
            phi.add_incoming(self.word(carried.get(name, phi)), self.b.block)
        self.done.add_incoming(self.word(self.sum(self.done, 1)), self.b.block)
        self.b.branch(self.round)

    def compiled(self, *, optimised: bool = False) -> Callable[..., int]:
        """The function, as machine code for this machine.

        To optimise it pays for code that is small and used by many networks.
        """
        engine = machine_code(self.module, optimised=optimised)
        pointers = [c_void_p] * (self.number_of_arguments - 1)
        code: Any = CFUNCTYPE(c_int64, *pointers, c_int64)(engine.get_function_address("advance"))
        code.kept = engine, self.tables  # they go when the function goes
        return cast(Callable[..., int], code)

    # Numbers: integers are folded, everything else becomes an instruction.

    def word(self, x: Number) -> Any:
        """The number as LLVM has it."""
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
        """A condition such as x <= y."""
        return self.b.icmp_signed(how, self.word(x), self.word(y))

    def choose(self, condition: Any, x: Number, y: Number) -> Number:
        """x if a condition holds, else y."""
        return self.b.select(condition, self.word(x), self.word(y))

    def least(self, x: Number, y: Number) -> Number:
        """The lesser of two."""
        return self.choose(self.compare("<", x, y), x, y)

    def greatest(self, x: Number, y: Number) -> Number:
        """The greater of two."""
        return self.choose(self.compare(">", x, y), x, y)

    # Memory.

    def at(self, array: Any, index: Number) -> Any:
        """The address of a place in an array: an argument by its name, or a table."""
        base = self.arguments[array] if isinstance(array, str) else array
        return self.b.gep(base, [self.word(index)])

    def load(self, array: Any, index: Number) -> Any:
        """What stands at a place."""
        return self.b.load(self.at(array, index))

    def store(self, x: Number, array: Any, index: Number) -> None:
        """Put a number at a place."""
        self.b.store(self.word(x), self.at(array, index))

    def load_short(self, array: Any, index: Number) -> Any:
        """A number of 16 bits, from an array of such."""
        base = self.b.bitcast(self.arguments[array], SHORT.as_pointer())
        return self.b.zext(self.b.load(self.b.gep(base, [self.word(index)])), WORD)

    def store_short(self, x: Number, array: Any, index: Number) -> None:
        """Put a number of 16 bits at a place of an array of such."""
        base = self.b.bitcast(self.arguments[array], SHORT.as_pointer())
        self.b.store(self.b.trunc(self.word(x), SHORT), self.b.gep(base, [self.word(index)]))

    def table(self, numbers: Any) -> Any:
        """An array of the code's own."""
        self.tables.append(np.array(numbers, dtype=np.int64))
        return WORD(self.tables[-1].ctypes.data).inttoptr(POINTER)

    # Control.

    def go_on_if(self, condition: Any, status: int) -> None:
        """Return with a status in `status_at` if a condition does not hold."""
        following = self.b.append_basic_block()
        self.status.add_incoming(WORD(status), self.b.block)
        self.b.cbranch(condition, following, self.leave)
        self.b.position_at_end(following)

    @contextmanager
    def loop(self, start: Number, end: Number) -> Iterator[Any]:
        """For i from `start` to before `end`."""
        before = self.b.block
        head = self.b.append_basic_block()
        body = self.b.append_basic_block()
        behind = self.b.append_basic_block()
        self.b.branch(head)
        self.b.position_at_end(head)
        i = self.b.phi(WORD)
        i.add_incoming(self.word(start), before)
        self.b.cbranch(self.compare("<", i, end), body, behind)
        self.b.position_at_end(body)
        yield i
        i.add_incoming(self.b.add(i, WORD(1)), self.b.block)
        self.b.branch(head)
        self.b.position_at_end(behind)


def machine_code(module: ir.Module, *, optimised: bool = True) -> Any:
    """An engine that has a module as code for this machine, which lives as long as it.

    To optimise it pays for code that is small or much used.
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
