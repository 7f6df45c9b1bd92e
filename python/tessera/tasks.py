# SPDX-License-Identifier: Apache-2.0
"""Tuning several programs under one budget."""
import ctypes

from . import _abi
from ._native import array, function, lib, new, raw, text
from .context import Object, current
from .kernel import as_target
from .program import Program
from .space import as_space
from .tune import Result, declared, fill, print_line, run_options


class Tasks(Object):
    """Results of all programs, in the order given: len(), [i]; str() is a
    table of the different ones.  status, trials, failed, latency (the weighted
    sum of the best times), seconds, funnel, ledger, note and message are those
    of all together."""

    struct, free = _abi.tess_tasks, "tess_tasks_free"
    programs = ()  # none of a model's

    def _info(self):
        return self.info("tess_tasks_get", _abi.tess_tasks_info)

    def __len__(self):
        return self._info().nentry

    def __getitem__(self, i):
        if not 0 <= i < len(self):
            raise IndexError(f"there are {len(self)} programs")
        made = self.make(Result, "tess_tasks_result", i)
        if self.programs:
            made.program = self.programs[i]
        return made

    def __getattr__(self, name):
        if name in ("latency", "seconds", "trials", "failed"):
            return getattr(self._info(), name)
        if name in ("funnel", "ledger", "note", "message"):
            return text(getattr(self._info(), name))
        raise AttributeError(f"results of tasks have no '{name}'")

    @property
    def status(self):
        return text(lib.tess_status_name(self._info().status))

    def __str__(self):
        return text(self._info().table)


def _task(given):
    """A program, or a dict: program, weight, space and name."""
    given = {"program": given} if isinstance(given, Program) else dict(given)
    program, space = given.pop("program"), as_space(given.pop("space", None))
    task = new(_abi.tess_task, weight=given.pop("weight", 1.0),
               program=program.pointer)
    if "name" in given:
        task.name = raw(given.pop("name"), "a name")
    if space:
        task.space = space.pointer
    if given:
        raise TypeError(f"a task has no field '{min(given)}'")
    return program, space, task


def _teller(context, progress):
    """Called in any case, so that Python's interrupts come through, which end
    what a model is compiled for, too (model.h)."""
    told = print_line if progress is True else progress

    def tell(ud, p):
        return int(bool(told) and told(text(p.contents.text)) is False)
    return function(_abi.tess_tasks_options, "progress",
                    context.guard(tell, -1))


def tasks_options(context, progress, options, function_name):
    """A tess_tasks_options of keywords, and what must live as long."""
    rows = declared(lib.tess_tasks_option)
    own = {k: options.pop(k) for k in list(options) if k in rows}
    of_each, held = run_options(context, options, function_name)
    given = new(_abi.tess_tasks_options, tune=ctypes.pointer(of_each),
                progress=_teller(context, progress))
    fill(given, rows, own, function_name)
    return given, held


def tune_tasks(tasks, *, target=None, progress=None, **options):
    """Tunes programs together: a list of programs, or of dicts with program,
    weight, space and name.  progress(text) is called with a line for people,
    and ends the run by returning False; True: it is printed on stderr.
    Further options: those of `tune`, and scheduler, alpha, window_size,
    max_trials_per_task."""
    c, made = current(), [_task(t) for t in tasks]
    context = made[0][0].context if made else c
    t = as_target(target, context)
    given, held = tasks_options(context, progress, options, "tune_tasks")
    out = context.make(Tasks, "tess_tune_tasks", context.pointer, len(made),
                       array(_abi.tess_task, [m[2] for m in made]),
                       t and t.pointer, given)
    out.programs = [m[0] for m in made]
    return out
