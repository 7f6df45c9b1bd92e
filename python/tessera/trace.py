# SPDX-License-Identifier: Apache-2.0
"""Traces: what a schedule did, as data; and stepping through them."""
import ctypes

from . import _abi
from ._native import array, new, raw, text
from .context import Error, Object, current, expect
from .operands import python
from .program import Program
from .schedule import Schedule

_MOST = 256  # operands, names or decisions that are asked for at first


class Instruction:
    """Number i of a trace, from 1: name, inputs and attrs (dicts), decision
    (a list, or None), file and line."""

    def __init__(self, trace, i):
        with trace.context.lock:
            info = trace.info("tess_trace_inst", _abi.tess_inst_info, i)
            self.name, self.file = text(info.name), text(info.file)
            self.line, self.samples = info.line, bool(info.samples)
            self.decision = list(info.decision[:info.ndecision]) \
                if info.has_decision else None
            self.lua = trace.text("tess_trace_inst_lua", i)
            self.inputs = trace.arguments("tess_trace_operands", i, b"in")
            self.attrs = trace.arguments("tess_trace_operands", i, b"attr")

    def __repr__(self):
        return self.lua


class Trace(Object):
    """str() of it is Lua, len() counts its instructions, t[i] is one of
    them, from 1."""

    struct, free = _abi.tess_trace, "tess_trace_free"

    def __len__(self):
        return self.get("tess_trace_size")

    def __getitem__(self, i):
        if not 1 <= i <= len(self):
            raise IndexError(f"instructions are 1 .. {len(self)}")
        return Instruction(self, i)

    def __iter__(self):
        return (self[i] for i in range(1, len(self) + 1))

    def __str__(self):
        return self.lua()

    def __eq__(self, other):
        if not isinstance(other, Trace):
            return NotImplemented
        return bool(self.get("tess_trace_equal", other.pointer))

    def __hash__(self):
        return self.get("tess_trace_hash")

    def lua(self):
        return self.text("tess_trace_lua")

    def json(self):
        return self.text("tess_trace_json")

    def tvm_json(self):
        """As TVM's tuning records have it."""
        return self.text("tess_trace_tvm_json")

    def bind(self, program):
        """The program that replaying takes."""
        self.call("tess_trace_bind",
                  expect(program, Program, "a program").pointer)
        return self

    def replay(self, program=None, resample=False, repair=False, seed=0,
               postproc=True):
        """A schedule: the same decisions, or all drawn afresh, or mended."""
        options = new(_abi.tess_replay_options, resample=bool(resample),
                      repair=bool(repair), no_postproc=not postproc, seed=seed)
        return self.make(Schedule, "tess_trace_replay",
                         program and program.pointer, options)

    def arguments(self, name, *args):
        """Named values, of a function that gives them in two calls."""
        n, most = ctypes.c_uint32(), _MOST
        with self.context.lock:
            while True:
                out = (_abi.tess_arg * most)()
                self.call(name, *args, most, out, n)
                if n.value <= most:
                    return {text(a.name): python(a.value)
                            for a in out[:n.value]}
                most = n.value

    def params(self):
        """The named values, as they were decided."""
        return self.arguments("tess_trace_params")

    def decisions(self, program=None):
        """Of each: instruction, name, what, parts and decision (None: it is
        open)."""
        n, most = ctypes.c_uint32(), max(len(self), 1)
        out = (_abi.tess_decision * most)()
        with self.context.lock:
            self.call("tess_trace_decisions", program and program.pointer,
                      most, out, n)
            return [{"instruction": d.inst, "name": text(d.knob),
                     "what": text(d.what),
                     "parts": [text(d.part[i]) for i in range(d.n)],
                     "decision": list(d.decision[:d.n]) if d.decision else None
                     } for d in out[:n.value]]

    def prefix(self, n):
        return self.make(Trace, "tess_trace_prefix", n)

    def with_decision(self, i, decision):
        """A copy in which instruction i has this decision, which must fit."""
        decision = decision if isinstance(decision, (list, tuple)) \
            else [decision]
        return self.make(Trace, "tess_trace_with_decision", i, len(decision),
                         array(ctypes.c_int64, decision))

    def mutate(self, seed=0):
        """One random legal neighbour."""
        return self.make(Trace, "tess_trace_mutate", seed)

    def simplify(self):
        """A copy without what has no effect."""
        return self.make(Trace, "tess_trace_simplify")

    def stepper(self, program=None):
        return self.make(Stepper, "tess_stepper_new",
                         program and program.pointer)


def _reader(name):
    def read(source, program=None):
        c = current()
        return c.make(Trace, name, c.pointer, raw(source, "a trace"),
                      program and program.pointer)
    read.__doc__ = "A trace of its text; without a program, `bind` it later."
    return read


trace_from_lua = _reader("tess_trace_from_lua")
trace_from_json = _reader("tess_trace_from_json")
trace_from_tvm_json = _reader("tess_trace_from_tvm_json")


class Stepper(Object):
    """Stands before instruction 1 of a trace, or after instruction n."""

    struct, free = _abi.tess_stepper, "tess_stepper_free"

    @property
    def position(self):
        return self.get("tess_stepper_position")

    def __len__(self):
        return self.get("tess_stepper_size")

    def _step(self, name):
        try:
            self.call(name)
        except Error as e:
            if e.code != "NOT_FOUND":
                raise
            return False
        return True

    def next(self):
        """False at the end; raises where the instruction is refused."""
        return self._step("tess_stepper_next")

    def back(self):
        return self._step("tess_stepper_back")

    def goto(self, n):
        self.call("tess_stepper_goto", n)

    def program(self):
        return self.make(Program, "tess_stepper_program")

    def diff(self):
        """The program, lines that the last instruction changed marked."""
        return self.text("tess_stepper_diff")

    def instruction(self):
        """The last one, as Lua."""
        return self.text("tess_stepper_inst")

    def decision(self):
        """The last instruction's; None where it takes none."""
        n, most = ctypes.c_uint32(), 64
        out = (ctypes.c_int64 * most)()
        self.call("tess_stepper_decision", most, out, n)
        return list(out[:n.value]) or None

    def alternatives(self, most=64):
        """What it could have drawn: pairs of a decision and its
        probability."""
        with self.context.lock:
            try:
                a = self.info("tess_stepper_alternatives",
                              _abi.tess_alternatives, most)
            except Error as e:
                if e.code != "NOT_FOUND":
                    raise
                return []
            return [(a.decision[i * a.width:(i + 1) * a.width],
                     a.probability[i]) for i in range(a.n)]

    def decide(self, decision):
        """Changes it and replays what follows: None, or the number of the
        first instruction that no longer applies."""
        invalid = ctypes.c_uint32()
        try:
            self.call("tess_stepper_decide", len(decision),
                      array(ctypes.c_int64, decision), invalid)
        except Error as e:
            if e.code != "REFUSED":
                raise
            return invalid.value
        return None

    def trace(self):
        """The whole trace, with the decisions that were changed."""
        return self.make(Trace, "tess_stepper_trace")
