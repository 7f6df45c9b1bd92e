# SPDX-License-Identifier: Apache-2.0
"""Spaces: the schedules that are searched."""
import ctypes
import itertools

from . import _abi
from ._native import array, function, new, raw
from .context import Error, Object, current
from .operands import RV
from .schedule import Schedule
from .trace import Trace

_STATUSES = {name[5:]: value for name, value in vars(_abi).items()
             if name.startswith("TESS_") and isinstance(value, int)}


class Module:
    """A schedule module: apply(sch, block) is called for each block.  It
    gives sch, a list of copies of it, or None, or a text that says why it
    does not apply.  An exception counts as that, with a warning."""

    def __init__(self, name, apply):
        self.name, self.apply = name, apply


def module(function):
    """A decorator: a module of the function's name."""
    return Module(function.__name__, function)


class Space(Object):
    struct, free = _abi.tess_space, "tess_space_free"

    def sketches(self, program, target=None, postprocessed=False, most=256):
        """Traces whose decisions are open."""
        from .kernel import as_target
        t = as_target(target, self.context)
        out, n = (ctypes.POINTER(_abi.tess_trace) * most)(), ctypes.c_uint32()
        self.call("tess_space_postprocessed" if postprocessed else
                  "tess_space_sketches", program.pointer, t and t.pointer,
                  most, out, n)
        return [Trace(self.context, p) for p in out[:n.value]]

    def explain(self, program, target=None):
        """Which module did what at which block, and why not."""
        from .kernel import as_target
        t = as_target(target, self.context)
        return self.text("tess_space_explain", program.pointer,
                         t and t.pointer)

    def set_postprocs(self, trace):
        """The postprocessors of its sketches: a trace that calls them; None:
        those of the target."""
        self.call("tess_space_set_postprocs", trace and trace.pointer)
        return self


def _emitted(given, sch):
    """The schedules that a module gave."""
    given = list(given) if isinstance(given, (list, tuple)) else [given]
    for s in given:
        if not isinstance(s, Schedule):
            raise TypeError("a module gives a schedule, a list of schedules, "
                            f"None or a text, not {type(s).__name__}")
        if s is not sch and sch._serial not in s._ancestors:
            raise ValueError("a module gave a schedule that is neither the "
                             "one that it was given nor a copy of that")
    if len(set(map(id, given))) < len(given):
        raise ValueError("a module gave a schedule twice: give a copy")
    return given


_held = {}  # what spaces call, by number, until they are no more
_numbers = itertools.count(1)
_forget = function(_abi.tess_module, "free", lambda ud: _held.pop(ud))


def _module_struct(context, name, apply, whole):
    """The engine's struct, for a space to own."""
    said = [b""]  # the last reason, which the engine reads

    def say(why, text, status):
        said[0] = str(text).replace("\n", " ").encode("utf-8", "replace")
        why[0] = said[0]
        return status

    def run(lent, block, emit, sink, why):
        sch = Schedule(context, lent, owned=False).copy()
        given = apply(sch) if whole else apply(sch, RV(
            sch, block, context.get("tess_schedule_rv_kind", sch.pointer,
                                    block)))
        if whole and given is None:
            given = sch
        if given is None or isinstance(given, str):
            return say(why, given or "no reason given", _abi.TESS_NOT_FOUND)
        for s in _emitted(given, sch):
            emit(sink, s.give())
        return _abi.TESS_OK

    def guarded(ud, lent, block, emit, sink, why):
        try:
            return run(lent, block, emit, sink, why)
        except Error as e:
            return say(why, e, _STATUSES[e.code])
        except Exception as e:
            return say(why, f"{type(e).__name__}: {e}", _abi.TESS_CALLBACK)
        except BaseException as e:  # an interrupt ends the run
            context.pending.append(e)
            return _abi.TESS_CANCELLED

    number = next(_numbers)
    _held[number] = made = new(
        _abi.tess_module, name=raw(name, "the name of a module"),
        apply=function(_abi.tess_module, "apply", guarded), free=_forget,
        ud=number)
    return made


def _of_modules(make, structs):
    try:
        return make()
    except BaseException:  # which the space does not own
        for s in structs:
            _held.pop(s.ud, None)
        raise


def compose(modules):
    """A space of modules, each on all blocks, one after the other."""
    c = current()
    structs = [_module_struct(c, m.name, m.apply, False) for m in modules]
    return _of_modules(lambda: c.make(
        Space, "tess_space_compose", c.pointer, len(structs),
        array(_abi.tess_module, structs)), structs)


def by_hand(function):
    """A space of one function, which schedules the whole program."""
    c = current()
    struct = _module_struct(c, "by hand", function, True)
    return _of_modules(lambda: c.make(
        Space, "tess_space_function", c.pointer, struct), [struct])


def union(spaces):
    """The sketches of all of them."""
    c, spaces = current(), [as_space(s) for s in spaces]
    return c.make(Space, "tess_space_union", c.pointer, len(spaces), array(
        ctypes.POINTER(_abi.tess_space), [s.pointer for s in spaces]))


def traces(sketches):
    """A space of given sketches."""
    c = current()
    return c.make(Space, "tess_space_traces", c.pointer, len(sketches), array(
        ctypes.POINTER(_abi.tess_trace), [t.pointer for t in sketches]))


def default(target=None):
    """The space of a target: the modules that come with Tessera."""
    from .kernel import as_target
    c = current()
    t = as_target(target, c)
    return c.make(Space, "tess_space_default", c.pointer, t and t.pointer)


def from_lua(script):
    """The space that a Lua script returns: "local ts = require 'tessera'
    return ts.space.compose { require 'tessera.modules.auto_inline' {} }"."""
    c = current()
    return c.make(Space, "tess_space_from_lua", c.pointer,
                  raw(script, "a script"))


def as_space(value):
    """Of a function or a list of modules; None stays None."""
    if value is None or isinstance(value, Space):
        return value
    if callable(value):
        return by_hand(value)
    return compose(value)
