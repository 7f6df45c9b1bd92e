# SPDX-License-Identifier: Apache-2.0
"""Searching a space.  Options are those of the engine's table, which checks
them and writes the help of `tune`."""
import ctypes
import inspect
import itertools
import numbers
import sys

from . import _abi
from ._native import array, function, lib, new, raw, text
from .context import Object, current, expect
from .kernel import Kernel, as_target
from .program import Program
from .schedule import Schedule
from .session import Callbacks, CostModel, Strategy
from .space import as_space
from .tensor import as_tensor
from .trace import Trace

MUTATORS = "mutators"  # an option of a strategy in Lua, of a run here


class Result(Object):
    """What a run found; also where nothing valid was: `status` says so."""

    struct, free = _abi.tess_result, "tess_result_free"
    program = None
    _kernel = None

    def _info(self):
        return self.info("tess_result_get", _abi.tess_result_info)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        i = self._info()
        if name == "status":
            return text(lib.tess_status_name(i.status))
        if name == "curve":
            return list(i.curve[:i.ncurve])
        if name in ("latency", "gflops", "trials", "failed"):
            return getattr(i, name)
        if name == "exhausted":
            return bool(i.exhausted)
        if name in ("funnel", "ledger", "classes", "message", "note"):
            return text(getattr(i, name))
        raise AttributeError(f"a result has no '{name}'")

    def __dir__(self):
        return list(super().__dir__()) + (
            "status latency gflops trials failed exhausted curve funnel "
            "ledger classes message note").split()

    @property
    def trace(self):
        return self.make(Trace, "tess_result_trace")

    @property
    def schedule(self):
        return self.make(Schedule, "tess_result_schedule")

    @property
    def kernel(self):
        """Compiled when it is first asked for."""
        if self._kernel is None:
            self._kernel = self.make(Kernel, "tess_result_kernel")
        return self._kernel

    @property
    def model(self):
        """The cost model, which goes on from what it learnt."""
        return self.make(Model, "tess_result_model")

    def params(self):
        """Named values of the best trace."""
        return self.trace.params()

    def __repr__(self):
        if self.status != "OK" and self.latency == float("inf"):
            return f"<{self.status}: nothing valid in {self.trials} trials>"
        return (f"<{self.latency * 1e3:.4g} ms, {self.gflops:.4g} GFLOP/s, "
                f"{self.trials} trials>")


class Model(Object):
    """A built-in cost model that learns over several runs."""

    struct, free = _abi.tess_model, "tess_model_free"

    @property
    def name(self):
        return text(self.get("tess_model_name"))

    @property
    def samples(self):
        return self.get("tess_model_samples")

    def save(self, path):
        self.call("tess_model_save", raw(path, "a path"))


def cost_model(name):
    """A built-in one: "xgb", "forest", "gp", .., joined by "+"."""
    c = current()
    return c.make(Model, "tess_model_new", c.pointer, raw(name, "a name"))


def load_cost_model(path):
    c = current()
    return c.make(Model, "tess_model_load", c.pointer, raw(path, "a path"))


# ---- options ----------------------------------------------------------------

def declared(list_of):
    """The rows of a table of options, by their names."""
    rows = {}
    for i in itertools.count():
        o = list_of(i)
        if not o:
            return rows
        rows[text(o.contents.name)] = o.contents


def _range_error(name, value, what):
    return ValueError(f"option '{name}' is {value!r}, not {what}")


def _number(o, name, value):
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"option '{name}' is a number, not "
                        f"{type(value).__name__}")
    if o.kind == _abi.TESS_OPTION_COUNT:
        if value != int(value) or not 1 <= value <= o.most:
            raise _range_error(name, value, f"an integer of 1 .. {o.most:.0f}")
        return int(value)
    if o.kind == _abi.TESS_OPTION_SEED:
        return int(value) % (1 << 64)
    if not value > 0:
        raise _range_error(name, value, "more than 0")
    return float(value)


def _word(o, name, value):
    words = text(o.words).split("|")
    if value not in words:
        raise _range_error(name, value, "one of " + ", ".join(words))
    return words.index(value)


def option(o, name, value):
    """A value of Python as what the field of an option holds."""
    if o.kind in (_abi.TESS_OPTION_TEXT, _abi.TESS_OPTION_NAME):
        return raw(value, f"option '{name}'")
    if o.kind == _abi.TESS_OPTION_WORD:
        return _word(o, name, value)
    if o.kind in (_abi.TESS_OPTION_SWITCH, _abi.TESS_OPTION_OFF):
        if not isinstance(value, bool):
            raise TypeError(f"option '{name}' is True or False")
        return int(value == (o.kind == _abi.TESS_OPTION_SWITCH))
    return _number(o, name, value)


# ---- progress ---------------------------------------------------------------

class Progress:
    """trials, max_trials, failed, best (seconds), gflops, elapsed, eta, text;
    compiled of compiling; and after a trial its status and seconds."""

    def __init__(self, p):
        for name in ("trials", "max_trials", "failed", "gflops", "elapsed",
                     "eta", "compiled", "compiling", "seconds"):
            setattr(self, name, getattr(p, name))
        self.best, self.text = p.best_seconds, text(p.text)
        self.status = text(lib.tess_status_name(p.status))


def print_line(line):
    end = "\r" if sys.stderr.isatty() else "\n"
    print(line, end=end, file=sys.stderr, flush=True)


def _progress(context, told):
    """Called in any case, so that Python's interrupts come through."""
    if told is True:
        def told(p):
            print_line(p.text)

    def progress(ud, p):
        return int(bool(told) and told(Progress(p.contents)) is False)
    return function(_abi.tess_tune_options, "progress",
                    context.guard(progress, 1))


# ---- tune -------------------------------------------------------------------

_OBJECTS = ("progress", "inputs", "measure", "measured", "postprocs",
            MUTATORS)


def _plugged(options, callbacks, given):
    """A strategy and a cost model that are objects."""
    strategy, model = given.get("strategy"), given.get("cost_model")
    if isinstance(strategy, Strategy):
        options.custom_strategy = ctypes.pointer(callbacks.strategy(strategy))
        del given["strategy"]
    if isinstance(model, CostModel):
        options.custom_cost_model = ctypes.pointer(callbacks.cost_model(model))
        del given["cost_model"]
    elif isinstance(model, Model):
        options.model = model.pointer
        del given["cost_model"]


def run_options(context, given, function_name):
    """A tess_tune_options of keywords, and what must live as long."""
    callbacks = Callbacks(context)
    options = new(_abi.tess_tune_options)
    _plugged(options, callbacks, given)
    if "measure" in given:
        options.measure = callbacks.measure(given.pop("measure"))
    if "measured" in given:
        options.measured = callbacks.measured(given.pop("measured"))
    lists = []
    for field, kind, make in (
            ("postprocs", _abi.tess_postproc, callbacks.postproc),
            (MUTATORS, _abi.tess_mutator, callbacks.mutator)):
        made = [make(x) for x in given.pop(field, ())]
        setattr(options, "n" + field, len(made))
        setattr(options, field, array(kind, made))
        lists.append(made)
    inputs = [as_tensor(a, context) for a in given.pop("inputs", None) or ()]
    options.ninputs = len(inputs)
    options.inputs = array(ctypes.POINTER(_abi.tess_tensor),
                           [t.pointer for t in inputs])
    fill(options, declared(lib.tess_tune_option), given, function_name)
    return options, (callbacks, lists, inputs)


def fill(options, rows, given, function_name):
    for name, value in given.items():
        o = rows.get(name)
        if not o or not o.field:
            raise TypeError(f"{function_name} has no option '{name}'; "
                            f"help(tessera.{function_name}) lists them")
        if value is not None:
            setattr(options, text(o.field), option(o, name, value))


def tune(program, *, target=None, space=None, progress=None, **options):
    """Searches the space for the fastest schedule of the program.

    space: a Space, a list of modules, or a function that schedules the whole
    program; None: that of the target."""
    context = expect(program, Program, "what is tuned").context
    t, space = as_target(target, context), as_space(space)
    options, held = run_options(context, options, "tune")
    options.progress = _progress(context, progress)
    result = context.make(Result, "tess_tune", program.pointer,
                          t and t.pointer, space and space.pointer, options)
    result.program = program
    return result


# Of options that are objects here, and not those of Lua.
_HELP = {
    "progress":
        "True: a line on stderr; a function: called with a Progress (trials, "
        "max_trials, failed, best, gflops, elapsed, eta, text; status and "
        "seconds of the trial, or compiled and compiling) after each "
        "candidate and while a batch is compiled, and ends the run by "
        "returning False",
    "inputs":
        "a list of your own tensors or arrays, one for each parameter that is "
        "no output, in order, that candidates are run and checked on",
    "measure":
        "instead of compiling and running candidates: a function of (session, "
        "candidate) that gives a time in seconds, or how it failed, as "
        "\"TIMEOUT\"",
    "postprocs":
        "a list of functions of a schedule that schedule it further, or not, "
        "and say whether it is kept: True or None; False, or a text that says "
        "why not",
    MUTATORS:
        "a list of Mutator, beside those of the strategy \"evolutionary\"",
}


def _help(name, rows):
    said = _HELP.get(name) or text(rows[name].help)
    return said + {"strategy": "; or a Strategy of yours",
                   "cost_model": "; or a Model, or a CostModel of yours",
                   }.get(name, "")


def _document():
    """The signature and the help of `tune`, of the engine's table."""
    rows = declared(lib.tess_tune_option)
    names = [n for n, o in rows.items() if o.field or n in _OBJECTS]
    names += [n for n in _HELP if n not in names]
    tune.__doc__ += "\n\n" + "\n".join(
        f"    {n}: {_help(n, rows)}" for n in names)
    keyword = inspect.Parameter.KEYWORD_ONLY
    first = inspect.Parameter("program",
                              inspect.Parameter.POSITIONAL_OR_KEYWORD)
    tune.__signature__ = inspect.Signature([first] + [
        inspect.Parameter(n, keyword, default=None)
        for n in ["target", "space"] + names])


_document()
