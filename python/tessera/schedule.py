# SPDX-License-Identifier: Apache-2.0
"""Schedules: a method for each primitive, made of the engine's table of
primitives, and queries."""
import ctypes
import inspect
import itertools
import json
import numbers
import os
import sys

from . import _abi, dtypes
from ._native import lib, new, raw, text
from .context import Error, Object, expect
from .operands import RV, Operands
from .program import Program

_serials = itertools.count()
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_ITERS = {_abi.TESS_SPATIAL: "spatial", _abi.TESS_REDUCE: "reduce",
          _abi.TESS_OPAQUE: "opaque"}


def primitives():
    """All primitives: name and what the engine says of it."""
    for i in range(lib.tess_prim_count()):
        info = new(_abi.tess_prim_info)
        lib.tess_prim_get(i, info)
        yield i, info


def _operands_of(i, info):
    for k in range(info.noperands):
        o = new(_abi.tess_prim_operand)
        lib.tess_prim_operand_get(i, k, o)
        yield o


class Schedule(Object):
    """A schedule of a program; its primitives are methods."""

    struct, free = _abi.tess_schedule, "tess_schedule_free"

    def __init__(self, context, pointer, owned=True):
        super().__init__(context, pointer, owned)
        self._serial, self._last = next(_serials), 0
        self._ancestors = {}  # of a copy: their last variables

    # ---- primitives

    def _note_place(self):
        frame = sys._getframe(1)
        while frame and os.path.dirname(frame.f_code.co_filename) == _FOLDER:
            frame = frame.f_back
        if frame:
            self.get("tess_schedule_place",
                     os.fsencode(os.path.relpath(frame.f_code.co_filename)),
                     frame.f_lineno)

    def perform(self, name, operands):
        """A primitive by its name, with operands by theirs: a dict."""
        given = Operands(self, name, operands)
        first, n = _abi.tess_rv(), ctypes.c_uint32()
        is_list = ctypes.c_int()
        with self.context.lock:
            self._note_place()
            self.call("tess_schedule_call", raw(name, "a name"), given.n,
                      given.args, 1, first, n, is_list)
        made = [self._variable(first.value + i) for i in range(n.value)]
        if is_list.value:
            return made
        return tuple(made) if n.value > 1 else made[0] if made else None

    def can(self, name, *args, **named):
        """Whether the primitive would be accepted: True, or False and why, as
        an error object: `ok, why = sch.can("fuse", i, j)`."""
        method = getattr(Schedule, name, None)
        if not hasattr(method, "operands"):
            raise AttributeError(f"there is no primitive '{name}'")
        given = Operands(self, name, method.operands(*args, **named))
        try:
            self.call("tess_schedule_can", name.encode(), given.n, given.args)
        except Error as e:
            if e.code not in ("REFUSED", "DEAD"):
                raise
            return False, e
        return True, None

    def _variable(self, number):
        self._last = max(self._last, number)
        return RV(self, number, self.get("tess_schedule_rv_kind", number))

    def has(self, rv):
        """Whether a variable is one of this schedule's."""
        owner = rv.schedule
        return owner is self or \
            rv.number <= self._ancestors.get(owner._serial, 0)

    def number(self, rv):
        if not isinstance(rv, RV) or rv.op:
            raise TypeError("a block, loop or sampled integer is expected, "
                            f"not {type(rv).__name__}")
        if not self.has(rv):
            raise ValueError("this variable belongs to another schedule")
        return rv.number

    # ---- queries

    def value_of(self, rv):
        """The value of a sampled integer, or of arithmetic over some; in a
        module that records a guard."""
        if isinstance(rv, numbers.Integral):
            return int(rv)
        if rv.op:
            return rv.compute([self.value_of(x) for x in rv.two])
        out = ctypes.c_int64()
        with self.context.lock:
            self._note_place()
            self.call("tess_schedule_get_int", self.number(rv), out)
        return out.value

    def text_of(self, rv):
        return self.text("tess_schedule_rv_text", self.number(rv))

    def is_same(self, a, b):
        out = ctypes.c_int()
        with self.context.lock:
            self._note_place()
            self.call("tess_schedule_is_same", self.number(a), self.number(b),
                      out)
        return bool(out.value)

    def loop_info(self, loop):
        """A dict: name, kind, thread, extent (None: not constant) and
        iter_type."""
        i = self.info("tess_schedule_loop_info", _abi.tess_loop_info,
                      self.number(loop))
        return {"name": text(i.name), "kind": text(i.kind),
                "thread": text(i.thread),
                "extent": i.extent if i.extent >= 0 else None,
                "iter_type": _ITERS.get(i.iter_type, "mixed")}

    def block_info(self, block):
        """A dict: name, reads, writes, iters (their kinds), loops (which of
        those around it binds each, None: not one alone) and flags."""
        i = self.info("tess_schedule_block_info", _abi.tess_block_info,
                      self.number(block))
        flags = {f: bool(getattr(i, f)) for f in (
            "is_reduction", "is_spatial", "is_output", "has_select",
            "has_call", "needs_multi_level_tiling", "reuses_in_reduction")}
        n = min(i.niters, 16)
        return {"name": text(i.name), "reads": i.nreads, "writes": i.nwrites,
                "iters": [_ITERS[k] for k in i.iters[:n]],
                "loops": [k if k >= 0 else None for k in i.loops[:n]], **flags}

    def access_info(self, block, kind, index):
        """Of the buffer number `index` that a block accesses ("read",
        "write"), a dict: buffer, scope, dtype, shape, dims (which iter is the
        whole index of each, None: none is)."""
        i = self.info("tess_schedule_access_info", _abi.tess_access_info,
                      self.number(block), _is_write(kind), index)
        n = min(i.ndim, 16)
        return {"buffer": text(i.buffer), "scope": text(i.scope),
                "dtype": dtypes.show(i.dtype),
                "shape": [x if x >= 0 else None for x in i.shape[:n]],
                "dims": [x if x >= 0 else None for x in i.dims[:n]]}

    def _count(self, name, *args):
        out = ctypes.c_int64()
        self.call(name, *args, out)
        return out.value if out.value >= 0 else None

    def extent(self, loop):
        return self.loop_info(loop)["extent"]

    def work(self, rv):
        """An estimate of the operations and stores of one execution."""
        return self._count("tess_schedule_work", self.number(rv))

    def footprint(self, block, kind, index, loop=None):
        """Elements of a buffer that a block accesses in one iteration of a
        loop, None: while the program runs."""
        return self._count("tess_schedule_footprint", self.number(block),
                           _is_write(kind), index,
                           0 if loop is None else self.number(loop))

    def needs_rfactor(self, block, max_spatial, min_reduce=1):
        out = ctypes.c_int()
        self.call("tess_schedule_needs_rfactor", self.number(block),
                  max_spatial, min_reduce, out)
        return bool(out.value)

    def factor(self, loop):
        """The sampled integer that was the loop's factor when split made it;
        None: there is none."""
        out = _abi.tess_rv()
        self.call("tess_schedule_factor", self.number(loop), out)
        return self._variable(out.value) if out.value else None

    def annotation(self, rv, key):
        """Its value; None where it is absent."""
        found = self.text("tess_schedule_annotation", self.number(rv),
                          raw(key, "a key"))
        return None if found is None else json.loads(found)

    def stored_value(self, block):
        """What the block stores: numbers, and lists of an operation and its
        operands; None where it has no store, or several."""
        found = self.text("tess_schedule_stored_value", self.number(block))
        return None if found is None else json.loads(found)

    # ---- snapshots

    def program(self):
        return self.make(Program, "tess_schedule_program")

    def trace(self):
        from .trace import Trace
        return self.make(Trace, "tess_schedule_trace")

    def copy(self):
        """An independent one, with the same variables."""
        made = self.make(Schedule, "tess_schedule_copy")
        made._ancestors = {**self._ancestors, self._serial: self._last}
        made._last = self._last
        return made

    def __str__(self):
        return str(self.program())


def _is_write(kind):
    if kind not in ("read", "write"):
        raise ValueError(f"an access is \"read\" or \"write\", not {kind!r}")
    return int(kind == "write")


def schedule(program, seed=0, target=None):
    """A schedule of the program; the seed determines what is sampled."""
    from .kernel import as_target
    expect(program, Program, "what is scheduled")
    target = as_target(target, program.context)
    return program.make(Schedule, "tess_schedule_new",
                        target and target.pointer, seed)


# ---- the methods ------------------------------------------------------------

def _signature(operands):
    """Positional in the declared order, and by name."""
    parameters = []
    for o in operands:
        optional = any(p.default is not p.empty for p in parameters) or \
            not o.required
        parameters.append(inspect.Parameter(
            text(o.name), inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None if optional else inspect.Parameter.empty))
    return inspect.Signature(parameters)


_ELEMENTS = ("LOOPS", "BLOCKS", "NODES")


def _method(i, info):
    operands = [o for o in _operands_of(i, info) if text(o.role) != "out"]
    name, signature = text(info.name), _signature(operands)
    variadic = bool(operands) and text(operands[0].kind) in _ELEMENTS

    def bind(*args, **named):
        if variadic and args and isinstance(args[0], RV):  # fuse(i, j, k)
            n = next((k for k, a in enumerate(args) if not isinstance(a, RV)),
                     len(args))
            args = (list(args[:n]),) + args[n:]
        try:
            given = signature.bind(*args, **named).arguments
        except TypeError as e:
            raise TypeError(f"{name}: {e}; it is {name}{signature}") from None
        return {k: v for k, v in given.items() if v is not None}

    def method(self, *args, **named):
        return self.perform(name, bind(*args, **named))

    method.__name__ = method.__qualname__ = name
    method.operands = bind
    method.__signature__ = signature.replace(parameters=[inspect.Parameter(
        "self", inspect.Parameter.POSITIONAL_ONLY)] + list(
            signature.parameters.values()))
    lines = [text(info.summary), ""]
    lines += [f"{text(o.name)}: {text(o.help)}" for o in operands]
    method.__doc__ = "\n".join(lines)
    return method


def _add_methods():
    for i, info in primitives():
        if not info.hidden:
            setattr(Schedule, text(info.name), _method(i, info))


_add_methods()
