# SPDX-License-Identifier: Apache-2.0
"""Blocks that are not a compute: in place, triangular, ordered.

    b = Builder("prefix_sums")
    x, y = b.input("x", N), b.output("y", N)
    with b.loop("i", N) as i:
        with b.block("y", [iteration("vi", N, i, "opaque")]) as vi:
            with b.when(vi < 1):
                b.store(y, 0, x[0])
                b.otherwise()
                b.store(y, vi, y[vi - 1] + x[vi])
    b.program()
"""
import contextlib
import ctypes

from . import _abi, dtypes
from ._native import array, raw
from .context import expect
from .describe import Buffer, extents, holds, role
from .expr import Var, description, handle
from .program import program

KINDS = {"spatial": _abi.TESS_SPATIAL, "reduce": _abi.TESS_REDUCE,
         "opaque": _abi.TESS_OPAQUE}


def iteration(name, extent, bind, kind="spatial", lo=0):
    """An iteration variable of a block: lo .. lo + extent - 1, whose value
    is `bind`."""
    if kind not in KINDS:
        raise ValueError(f"there is no kind of iteration '{kind}', but "
                         f"{', '.join(KINDS)}")
    return name, lo, extent, bind, KINDS[kind]


class Builder:
    """Statements are appended in the order of the calls; what is in a
    statement stands in its `with`."""

    def __init__(self, name):
        self.name, self.inputs, self.outputs = name, [], []
        self.description = d = description()
        d.trim()
        d.nsections += 1
        self.section = d.nsections
        d.sections[self.section] = self

    def _call(self, name, *args):
        """What is made belongs to this builder's section."""
        d = self.description
        with d.context.lock:
            d.call("tess_section", self.section)
            try:
                d.call(name, *args)
            finally:
                d.call("tess_section", 0)

    def _buffer(self, name, shape, dtype, scope, kind, is_parameter):
        d, out = self.description, _abi.tess_buffer()
        self._call("tess_buffer_new", raw(name, "a name"), dtypes.parse(dtype),
                   *extents(shape, d), raw(scope, "a scope"), kind,
                   is_parameter, out)
        return Buffer(d, out.value)

    def _parameter(self, among, kind, name, shape, dtype, scope):
        made = self._buffer(name, shape, dtype, scope, role(kind), 1)
        among.append(made)
        return made

    def input(self, name, shape, dtype="float32", scope="global",
              role="input", **contents):
        made = self._parameter(self.inputs, role, name, shape, dtype, scope)
        return holds(made, **contents) if contents else made

    def inout(self, name, shape, dtype="float32", scope="global"):
        """A parameter that the caller fills and the program changes."""
        return self._parameter(self.inputs, "input", name, shape, dtype, scope)

    def output(self, name, shape, dtype="float32", scope="global"):
        return self._parameter(self.outputs, "output", name, shape, dtype,
                               scope)

    def buffer(self, name, shape, dtype="float32", scope="global"):
        """One that is local to the program."""
        return self._buffer(name, shape, dtype, scope, role("input"), 0)

    @contextlib.contextmanager
    def _open(self, name, *args, out=None):
        """A statement, until the `with` ends; one that fails is dropped."""
        d = self.description
        depth = d.get("tess_builder_depth")
        self._call(name, *args)
        try:
            yield Var(d, out.value) if out else None
        except BaseException:
            d.call("tess_builder_cancel", depth)
            raise
        self._call("tess_end")

    def loop(self, name, extent, lo=0):
        d, out = self.description, _abi.tess_var()
        return self._open("tess_loop_begin", raw(name, "a name"),
                          handle(lo, d), handle(extent, d), out, out=out)

    def let(self, name, value):
        d, out = self.description, _abi.tess_var()
        return self._open("tess_let_begin", raw(name, "a name"),
                          handle(value, d), out, out=out)

    def when(self, condition):
        """What follows runs where the condition holds; behind `otherwise`,
        where it does not."""
        return self._open("tess_if_begin", handle(condition, self.description))

    def otherwise(self):
        self._call("tess_else_begin")

    def init(self):
        """Inside a block: what runs before the first step of its reduction."""
        return self._open("tess_init_begin")

    @contextlib.contextmanager
    def block(self, name, iterations, where=None):
        """Gives the iteration variables: one, or a tuple of several."""
        d, iterations = self.description, list(iterations)
        n = len(iterations)
        names, lo, extent, bind, kinds = zip(*iterations) if n else [()] * 5
        variables = (_abi.tess_var * max(n, 1))()
        expressions = [array(_abi.tess_expr, [handle(x, d) for x in list_])
                       for list_ in (lo, extent, bind)]
        with self._open("tess_block_begin", raw(name, "a name"), n,
                        array(ctypes.c_char_p,
                              [raw(s, "a name") for s in names]),
                        array(ctypes.c_int, kinds), *expressions,
                        0 if where is None else handle(where, d), variables):
            made = tuple(Var(d, v) for v in variables[:n])
            yield made[0] if n == 1 else made

    def store(self, buffer, indices, value):
        """buffer[indices] = value"""
        expect(buffer, Buffer, "what is stored to")
        self._call("tess_store", buffer.handles["buffer"],
                   *buffer.indices(indices), handle(value, self.description))

    def evaluate(self, x):
        """An expression for its effects: a call of an external function."""
        self._call("tess_evaluate", handle(x, self.description))

    def program(self):
        return program(self.name, self.inputs, self.outputs, self.section)
