# SPDX-License-Identifier: Apache-2.0
"""Tuning several programs under one budget."""
import ctypes

from . import _abi
from ._native import array, function, lib, new, raw, text
from .context import Object, current
from .kernel import as_target
from .program import Program
from .space import as_space
from .tune import Result, declared, fill, run_options


class Tasks(Object):
    """Results of all programs: len(), [i] in the order given; str() is a
    table."""

    struct, free = _abi.tess_tasks, "tess_tasks_free"
    programs = ()

    def _info(self):
        return self.info("tess_tasks_get", _abi.tess_tasks_info)

    def __len__(self):
        return len(self.programs)

    def __getitem__(self, i):
        if not 0 <= i < len(self):
            raise IndexError(f"there are {len(self)} programs")
        made = self.make(Result, "tess_tasks_result", i)
        made.program = self.programs[i]
        return made

    @property
    def latency(self):
        """The weighted sum of the best times."""
        return self._info().latency

    @property
    def trials(self):
        return self._info().trials

    @property
    def status(self):
        return text(lib.tess_status_name(self._info().status))

    @property
    def funnel(self):
        return text(self._info().funnel)

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


def tune_tasks(tasks, *, target=None, progress=None, **options):
    """Tunes programs together: a list of programs, or of dicts with program,
    weight, space and name.  progress(text) is called with a line for people.
    Further options: those of `tune`, and scheduler, alpha, window_size,
    max_trials_per_task."""
    c, made = current(), [_task(t) for t in tasks]
    context = made[0][0].context if made else c
    t = as_target(target, context)
    rows = declared(lib.tess_tasks_option)
    own = {k: options.pop(k) for k in list(options) if k in rows}
    of_each, held = run_options(context, options, "tune_tasks")

    def tell(ud, p):
        return int(bool(progress) and progress(text(p.contents.text)) is False)
    given = new(_abi.tess_tasks_options, tune=ctypes.pointer(of_each),
                progress=function(_abi.tess_tasks_options, "progress",
                                  context.guard(tell, 1)))
    fill(given, rows, own, "tune_tasks")
    out = context.make(Tasks, "tess_tune_tasks", context.pointer, len(made),
                       array(_abi.tess_task, [m[2] for m in made]),
                       t and t.pointer, given)
    out.programs = [m[0] for m in made]
    return out
