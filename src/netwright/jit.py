"""A just-in-time compiler for loops written in a small subset of Python.

A loop is a function of numbers, arrays and tuples of numbers. The compiler reads its source, which
may have int64, float64 and conditions; `if`, `while`, `for … in range(…)`; elements of arrays; and
calls of such functions, which are inlined. The code does what Python does, as long as integers fit
in 64 bits, no divisor is 0 and every index is in its array, counted from 0. Anything else is
refused at compile time. Compiling takes some 20 ms, and nothing is cached on disk.
"""

import ast
import builtins
from collections.abc import Callable, Sequence
from ctypes import CFUNCTYPE, c_double, c_int64, py_object
from functools import cache, reduce
from math import exp, sqrt
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, cast

import numpy as np
from llvmlite import ir

from netwright.assembler import machine_code

BIT, INT, WORD = map(ir.IntType, (1, 32, 64))
FLOAT, NOTHING = ir.DoubleType(), ir.VoidType()
OBJECT = ir.IntType(8).as_pointer()
# Offsets of the fields of PyArrayObject, in numpy's C interface. Asking Python for the fields takes
# longer than many a loop.
DATA, NDIM, LENGTHS, DTYPE, FLAGS = (object.__basicsize__ + place for place in (0, 8, 16, 40, 48))
REFUSED = -(1 << 63)
"""Returned by a loop if an array does not have the type that the loop is compiled for."""
_LOOPS: dict[Any, Callable[..., int]] = {}
"""Cache of compiled loops, by function and types."""


class Compiled(NamedTuple):
    """A compiled loop, and the seconds that the compiler took."""

    loop: Callable[..., Any]
    seconds: float


def compiled(
    function: Callable[..., Any], *sample: Any, bound: tuple[tuple[float, ...], ...] = ()
) -> Compiled:
    """Compile a function for arguments of the types of `sample`.

    Its last arguments may be tuples of numbers, given as `bound`: the loop is called without them.
    It returns an integer, or 0 if the function returns nothing.
    """
    started = perf_counter()
    key = function, tuple(map(_type, sample)), tuple(tuple(map(_type, each)) for each in bound)
    if key not in _LOOPS:
        _LOOPS[key] = _compile(*key)
    code, numbers = _LOOPS[key], np.array([x for each in bound for x in each], dtype=np.float64)

    def loop(*arguments: Any) -> int:
        found = code(*arguments, numbers)
        if found == REFUSED:
            raise TypeError(f"{function.__name__}: an array of another kind")
        return found

    return Compiled(loop, perf_counter() - started)


class _ArrayType(NamedTuple):
    dtype: np.dtype[Any]
    ndim: int

    @property
    def element(self) -> Any:
        """The LLVM type of its elements."""
        if self.dtype != np.float64 and (self.dtype.kind not in "iu" or self.dtype == np.uint64):
            raise TypeError(f"no loops over arrays of {self.dtype}")
        return FLOAT if self.dtype == np.float64 else ir.IntType(8 * self.dtype.itemsize)


def _type(value: Any) -> Any:
    """The type of an argument: an array type, float or int."""
    if isinstance(value, np.ndarray):
        return _ArrayType(value.dtype, value.ndim)
    return float if isinstance(value, float) else int


def _compile(
    function: Callable[..., Any], types: Sequence[Any], bound: Sequence[Sequence[type]]
) -> Callable[..., int]:
    engine = machine_code(_Writer(function, types, bound).module)
    kinds: Any = [{int: c_int64, float: c_double}.get(kind, py_object) for kind in types]
    address = engine.get_function_address("loop")
    code: Any = CFUNCTYPE(c_int64, *kinds, py_object)(address)
    code.engine = engine  # it lives as long as the code
    return cast(Callable[..., int], code)


def _result(function: Callable[..., Any]) -> Any:
    """The LLVM type of a function's result, from its annotation."""
    return {None: NOTHING, float: FLOAT, int: WORD, bool: WORD}[function.__annotations__["return"]]


@cache
def _functions(file: str) -> dict[int, ast.FunctionDef]:
    """The functions of a source file, by their first lines."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    return {node.lineno: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


class _Array(NamedTuple):
    """An array in LLVM values."""

    base: Any
    is_signed: bool
    shape: tuple[Any, ...]


# The builder's method for int64, and that for float64.
OPERATIONS = {
    ast.Add: ("add", "fadd"),
    ast.Sub: ("sub", "fsub"),
    ast.Mult: ("mul", "fmul"),
    ast.Div: ("", "fdiv"),
    ast.LShift: ("shl", ""),
    ast.RShift: ("ashr", ""),
    ast.BitAnd: ("and_", ""),
}
SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
INTRINSICS = {abs: "llvm.fabs", np.floor: "llvm.floor", sqrt: "llvm.sqrt", exp: "llvm.exp"}


class _Writer:
    """Writes a function, and inlines those that it calls.

    A variable is a place in memory, with the type of the value first assigned; LLVM makes registers
    of them. Arrays and tuples are only names.
    """

    def __init__(
        self, function: Callable[..., Any], types: Sequence[Any], bound: Sequence[Sequence[type]]
    ) -> None:
        self.module = ir.Module("netwright")
        kinds = [{int: WORD, float: FLOAT}.get(kind, OBJECT) for kind in types]
        code = ir.Function(self.module, ir.FunctionType(WORD, [*kinds, OBJECT]), "loop")
        self.b = ir.IRBuilder(code.append_basic_block())
        self.function, self.names = function, dict[str, Any]()
        self.leave: Any = None
        """The place for the result, and the block that `return` jumps to."""
        self.loops: list[tuple[Any, Any]] = []
        """The blocks that `continue` and `break` jump to, for each enclosing loop."""
        *given, numbers = code.args
        base = self._field(numbers, DATA, FLOAT.as_pointer())
        x = iter(self._first(base, sum(map(len, bound))))
        tuples = [
            tuple(next(x) if kind is float else self.b.fptosi(next(x), WORD) for kind in each)
            for each in bound
        ]
        found = self._written(function, [*map(self._given, given, types), *tuples])
        self.b.ret(WORD(0) if found is None else self._as(WORD, found))

    def _field(self, thing: Any, place: int, kind: Any) -> Any:
        """The field of an object at an offset."""
        address = self.b.gep(thing, [WORD(place)])
        return self.b.load(self.b.bitcast(address, kind.as_pointer()))

    def _first(self, address: Any, count: int) -> list[Any]:
        return [self.b.load(self.b.gep(address, [WORD(n)])) for n in range(count)]

    def _given(self, thing: Any, kind: Any) -> Any:
        """An argument; the code returns `REFUSED` for an array of another type."""
        if not isinstance(kind, _ArrayType):
            return thing
        is_in_order = self.b.and_(self._field(thing, FLAGS, INT), INT(1))
        found = self._field(thing, DTYPE, WORD), self._field(thing, NDIM, INT), is_in_order
        for x, y in zip(found, (id(kind.dtype), kind.ndim, 1), strict=True):
            with self.b.if_then(self.b.icmp_signed("!=", x, x.type(y)), likely=False):
                self.b.ret(WORD(REFUSED))
        base = self._field(thing, DATA, kind.element.as_pointer())
        shape = self._first(self._field(thing, LENGTHS, WORD.as_pointer()), kind.ndim)
        return _Array(base, kind.dtype.kind == "i", tuple(shape))

    def _written(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """Inline a call; return the function's result."""
        outer = self.function, self.names, self.leave
        code, result = function.__code__, _result(function)
        tree = _functions(code.co_filename)[code.co_firstlineno]
        place = None if result == NOTHING else self._place(result)
        end = self.b.append_basic_block()
        self.function, self.names, self.leave = function, {}, (place, end)
        for name, value in zip(tree.args.args, arguments, strict=True):
            self._put(ast.Name(name.arg), value)
        self._all(self.b.block, tree.body, end)
        self.b.position_at_end(end)
        self.function, self.names, self.leave = outer
        return None if place is None else self.b.load(place)

    def _refused(self, node: ast.AST) -> TypeError:
        return TypeError(f"{self.function.__name__}: not for machine code: {ast.unparse(node)}")

    # Statements.

    def _all(self, block: Any, statements: Sequence[ast.stmt], end: Any) -> None:
        """Write statements into a block, which then continues with `end`."""
        self.b.position_at_end(block)
        for statement in statements:
            self._statement(statement)
        if not self.b.block.is_terminated:
            self.b.branch(end)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets, value):
                found = self.value(value)
                for target in targets:
                    self._put(target, found)
            case ast.AugAssign(target, op, value):
                self._put(target, self.value(ast.BinOp(target, op, value)))
            case ast.If(test, body, orelse):
                then, otherwise, end = (self.b.append_basic_block() for _ in range(3))
                self.b.cbranch(self._holds(test), then, otherwise)
                self._all(then, body, end)
                self._all(otherwise, orelse, end)
                self.b.position_at_end(end)
            case ast.While(test, body, []):
                self._loop(test, body, [])
            case ast.For(target, ast.Call(ast.Name("range"), limits), body, []):
                self._for(target, limits, body)
            case ast.Break() | ast.Continue():
                self.b.branch(self.loops[-1][isinstance(node, ast.Break)])
            case ast.Return(value):
                place, end = self.leave
                if value is not None:
                    self.b.store(self._as(place.type.pointee, self.value(value)), place)
                self.b.branch(end)
            case ast.Expr(ast.Constant()):
                pass  # a docstring
            case ast.Expr(value):
                self.value(value)
            case _:
                raise self._refused(node)

    def _for(self, target: ast.expr, limits: list[ast.expr], body: list[ast.stmt]) -> None:
        limits = [ast.Constant(0), *limits] if len(limits) == 1 else limits
        step = ast.literal_eval(limits[2]) if limits[2:] else 1
        counter, end = (ast.Name(f"{name} {len(self.names)}") for name in ("counter", "end"))
        self._put(counter, self.value(limits[0]))
        self._put(end, self.value(limits[1]))
        test = ast.Compare(counter, [ast.Lt() if step > 0 else ast.Gt()], [end])
        after = ast.AugAssign(counter, ast.Add(), ast.Constant(step))
        self._loop(test, [ast.Assign([target], counter), *body], [after])

    def _loop(self, test: ast.expr, body: list[ast.stmt], after: list[ast.stmt]) -> None:
        """A loop: while `test` holds, run `body`, and then `after`, even on `continue`."""
        head, inside, last, end = (self.b.append_basic_block() for _ in range(4))
        self.b.branch(head)
        self.b.position_at_end(head)
        self.b.cbranch(self._holds(test), inside, end)
        self.loops.append((last, end))
        self._all(inside, body, last)
        self.loops.pop()
        self._all(last, after, head)
        self.b.position_at_end(end)

    def _put(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(name) if isinstance(value, tuple) and name not in self.names:
                self.names[name] = value  # or an array
            case ast.Name(name) if not isinstance(value, tuple):
                if name not in self.names:
                    self.names[name] = self._place(FLOAT if value.type == FLOAT else WORD)
                place = self.names[name]
                self.b.store(self._as(place.type.pointee, value), place)
            case ast.Tuple(targets):
                if isinstance(value, _Array):
                    value = [self._element(value, [WORD(n)]) for n in range(len(targets))]
                for each, part in zip(targets, value, strict=True):
                    self._put(each, part)
            case ast.Subscript(array, index):
                place = self._address(self.value(array), self._indices(index))
                self.b.store(self._as(place.type.pointee, value), place)
            case _:
                raise self._refused(target)

    def _place(self, kind: Any) -> Any:
        with self.b.goto_entry_block():
            return self.b.alloca(kind)

    # Values.

    def value(self, node: ast.expr) -> Any:
        """The value of an expression: an LLVM value, an array, or a tuple."""
        match node:
            case ast.Name(name) if name in self.names:
                known = self.names[name]
                return known if isinstance(known, tuple) else self.b.load(known)
            case ast.Attribute(ast.Name(name), attribute) if name in self.names:
                shape = self.names[name].shape
                return {"shape": shape, "size": reduce(self.b.mul, shape)}[attribute]
            case ast.Constant() | ast.Name() | ast.Attribute():
                number = self._outside(node)
                return FLOAT(number) if isinstance(number, float) else WORD(int(number))
            case ast.Tuple(parts):
                return tuple(map(self.value, parts))
            case ast.Subscript(value, index):
                found = self.value(value)
                if isinstance(found, _Array):
                    return self._element(found, self._indices(index))
                return found[ast.literal_eval(index)]
            case ast.BinOp(left, op, right):
                return self._binary(type(op), self.value(left), self.value(right), node)
            case ast.UnaryOp(ast.USub(), operand):
                x = self.value(operand)
                return self.b.fneg(x) if x.type == FLOAT else self.b.neg(self._as(WORD, x))
            case ast.UnaryOp(ast.Invert(), operand):
                return self.b.not_(self._as(WORD, self.value(operand)))
            case ast.UnaryOp(ast.Not(), operand):
                return self.b.not_(self._holds(operand))
            case ast.Compare(left, ops, others):
                values = [self.value(each) for each in (left, *others)]
                return reduce(self.b.and_, map(self._compared, ops, values, values[1:]))
            case ast.BoolOp(op, [first, *rest]):
                other = rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
                ends = (lambda: self._holds(other)), (lambda: BIT(isinstance(op, ast.Or)))
                return self._either(first, *(ends if isinstance(op, ast.And) else ends[::-1]))
            case ast.IfExp(test, body, orelse):
                return self._either(test, lambda: self.value(body), lambda: self.value(orelse))
            case ast.Call(ast.Attribute(value, "view"), [kind]):  # the same bits
                to = WORD if self._outside(kind) is np.int64 else FLOAT
                return self.b.bitcast(self.value(value), to)
            case ast.Call(function, arguments, []):
                return self._called(self._outside(function), [*map(self.value, arguments)], node)
            case _:
                raise self._refused(node)

    def _outside(self, node: ast.expr) -> Any:
        """The object of a constant, a global or a builtin name, or an attribute of one."""
        match node:
            case ast.Constant(number):
                return number
            case ast.Name(name) if name in self.function.__globals__:
                return self.function.__globals__[name]
            case ast.Name(name) if hasattr(builtins, name):
                return getattr(builtins, name)
            case ast.Attribute(value, name):
                return getattr(self._outside(value), name)
            case _:
                raise self._refused(node)

    def _called(self, function: Any, x: list[Any], node: ast.expr) -> Any:
        if function is len:
            return x[0].shape[0]
        if function in (float, np.float64):
            return self._as(FLOAT, x[0])
        if function in (int, np.int64):
            is_float = x[0].type == FLOAT
            return self.b.fptosi(x[0], WORD) if is_float else self._as(WORD, x[0])
        if function in (min, max):
            first, second = self._alike(*x)
            is_second = self._compared(ast.Lt() if function is min else ast.Gt(), second, first)
            return self.b.select(is_second, second, first)
        if function in INTRINSICS:
            called = self.module.declare_intrinsic(INTRINSICS[function], [FLOAT])
            return self.b.call(called, [self._as(FLOAT, x[0])])
        if not hasattr(function, "__code__"):
            raise self._refused(node)
        return self._written(function, x)

    def _binary(self, op: type[ast.operator], x: Any, y: Any, node: ast.expr) -> Any:
        x, y = self._alike(x, y)
        if op is ast.Div:
            x, y = self._as(FLOAT, x), self._as(FLOAT, y)
        if name := OPERATIONS.get(op, ("", ""))[x.type == FLOAT]:
            return getattr(self.b, name)(x, y)
        if x.type == FLOAT or op not in (ast.FloorDiv, ast.Mod):
            raise self._refused(node)
        rest = self.b.srem(x, y)  # it has the sign of x; Python's has that of y
        is_other = self.b.icmp_signed("<", self.b.xor(rest, y), WORD(0))
        is_off = self.b.and_(is_other, self.b.icmp_signed("!=", rest, WORD(0)))
        if op is ast.Mod:
            return self.b.add(rest, self.b.select(is_off, y, WORD(0)))
        return self.b.sub(self.b.sdiv(x, y), self.b.zext(is_off, WORD))

    def _compared(self, op: ast.cmpop, x: Any, y: Any) -> Any:
        x, y = self._alike(x, y)
        how = SIGNS[type(op)]
        if x.type == WORD:
            return self.b.icmp_signed(how, x, y)
        return (self.b.fcmp_unordered if how == "!=" else self.b.fcmp_ordered)(how, x, y)

    def _holds(self, node: ast.expr) -> Any:
        """The truth value of an expression, as one bit."""
        x = self.value(node)
        return x if x.type == BIT else self._compared(ast.NotEq(), x, x.type(0))

    def _either(self, test: ast.expr, *choices: Callable[[], Any]) -> Any:
        """One of two values; only the chosen one is computed."""
        blocks = [self.b.append_basic_block() for _ in choices]
        end = self.b.append_basic_block()
        self.b.cbranch(self._holds(test), *blocks)
        found = []
        for block, choice in zip(blocks, choices, strict=True):
            self.b.position_at_end(block)
            found.append((choice(), self.b.block))
            self.b.branch(end)
        self.b.position_at_end(end)
        phi = self.b.phi(found[0][0].type)
        for value, block in found:
            phi.add_incoming(value, block)
        return phi

    def _alike(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Two numbers converted to one type: float64 if either is, else int64."""
        kind = FLOAT if FLOAT in (x.type, y.type) else WORD
        return self._as(kind, x), self._as(kind, y)

    def _as(self, kind: Any, x: Any) -> Any:
        """A number converted to a type."""
        if x.type == kind:
            return x
        if kind == FLOAT:
            return self.b.sitofp(self._as(WORD, x), FLOAT)
        if x.type == FLOAT:
            raise TypeError(f"{self.function.__name__}: a float where an integer was")
        return self.b.zext(x, kind) if x.type == BIT else self.b.trunc(x, kind)

    def _indices(self, node: ast.expr) -> list[Any]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        if any(isinstance(part, ast.UnaryOp | ast.Slice) for part in parts):
            raise self._refused(node)
        return [self.value(part) for part in parts]

    def _address(self, array: _Array, indices: list[Any]) -> Any:
        index = indices[0]
        for length, more in zip(array.shape[1:], indices[1:], strict=True):
            index = self.b.add(self.b.mul(index, length), more)
        return self.b.gep(array.base, [index])

    def _element(self, array: _Array, indices: list[Any]) -> Any:
        found = self.b.load(self._address(array, indices))
        if found.type in (FLOAT, WORD):
            return found
        return (self.b.sext if array.is_signed else self.b.zext)(found, WORD)
