# SPDX-License-Identifier: Apache-2.0
"""Strategies, cost models and what else a run of `tune` calls in Python."""
import ctypes
import itertools

from . import _abi
from ._native import array, function, lib, new, raw, text
from .context import Error, Object
from .program import Program
from .schedule import Schedule
from .trace import Trace

_FAILURES = {text(lib.tess_status_name(s)): s for s in (
    _abi.TESS_BUILD_ERROR, _abi.TESS_LAUNCH_ERROR, _abi.TESS_TIMEOUT,
    _abi.TESS_CRASHED, _abi.TESS_WRONG_RESULT)}


class Candidate:
    """sketch (from 0), decisions (each preceded by its length), and what was
    observed: seconds (inf when it failed) and status."""

    def __init__(self, sketch, decisions, seconds=float("inf"), status="OK"):
        self.sketch, self.decisions = sketch, list(decisions)
        self.seconds, self.status = seconds, status

    def __repr__(self):
        return (f"<candidate of sketch {self.sketch}: {self.decisions}, "
                f"{self.status} {self.seconds:g} s>")


def _python(c):
    return Candidate(c.sketch, c.decisions[:c.ndecisions], c.seconds,
                     text(lib.tess_status_name(c.status)))


def _list(n, c):
    return [_python(c[i]) for i in range(n)]


class Session(Object):
    """What a strategy or cost model may ask; lent for the time of a call."""

    struct = _abi.tess_session

    def __init__(self, context, pointer):
        super().__init__(context, pointer, owned=False)
        self.held = []  # decisions that the engine reads after the call

    @property
    def nsketches(self):
        return self.get("tess_session_nsketches")

    def _c(self, c):
        decisions = array(ctypes.c_int64, c.decisions)
        self.held.append(decisions)
        return _abi.tess_candidate(sketch=c.sketch, decisions=decisions,
                                   ndecisions=len(c.decisions))

    def _array(self, candidates):
        return array(_abi.tess_candidate, map(self._c, candidates))

    def _new(self, name, *parents):
        out = _abi.tess_candidate()
        try:
            self.call(name, *map(self._c, parents), out)
        except Error as e:
            if e.code != "NOT_FOUND":
                raise
            return None
        return _python(out)

    def draw(self):
        """A new valid candidate; None after some tries."""
        return self._new("tess_session_draw")

    def mutate(self, parent):
        return self._new("tess_session_mutate", parent)

    def cross(self, a, b):
        return self._new("tess_session_cross", a, b)

    def unit(self):
        """Random in [0, 1), of the run's seed."""
        return self.get("tess_session_unit")

    def predict(self, candidates):
        """What the cost model says of them, higher being better."""
        score = (ctypes.c_double * max(len(candidates), 1))()
        self.call("tess_session_predict", len(candidates),
                  self._array(candidates), score)
        return score[:len(candidates)]

    def seen(self, candidate):
        return bool(self.get("tess_session_seen", self._c(candidate)))

    def trace(self, candidate):
        return self.make(Trace, "tess_session_trace", self._c(candidate))

    def program(self, candidate):
        return self.make(Program, "tess_session_program", self._c(candidate))

    def features(self, candidates, kind="per_store"):
        """Of each candidate a list of rows of numbers; `columns` names them.
        """
        with self.context.lock:
            f = self.info("tess_session_features", _abi.tess_features,
                          len(candidates), self._array(candidates),
                          raw(kind, "a kind"))
            width = f.ncolumns
            return [[f.value[r * width:(r + 1) * width]
                     for r in range(f.first[i], f.first[i + 1])]
                    for i in range(len(candidates))]

    def columns(self, kind="per_store"):
        names, out = [], ctypes.create_string_buffer(_abi.TESS_MAX_COLUMN)
        for k in itertools.count():
            try:
                self.call("tess_session_column", raw(kind, "a kind"), k, out)
            except Error as e:
                if e.code != "NOT_FOUND":
                    raise
                return names
            names.append(text(out.value))


class Strategy:
    """propose(session, n) gives up to n candidates; observe(session,
    candidates) learns their results."""

    def __init__(self, propose, observe=None, name="python"):
        self.propose, self.observe, self.name = propose, observe, name


class CostModel:
    """predict(session, candidates) gives a score of each, higher being
    better; update(session, candidates) learns from results."""

    def __init__(self, predict, update=None, name="python"):
        self.predict, self.update, self.name = predict, update, name


class Mutator:
    """mutate(session, parent) gives a candidate, or None; `probability` is up
    to a factor."""

    def __init__(self, mutate, probability=1.0, name="python"):
        self.mutate, self.probability, self.name = mutate, probability, name


class Callbacks:
    """The functions of one run as the engine calls them.  An exception ends
    the run, and `tune` raises it."""

    def __init__(self, context):
        self.context = context
        self.proposed = []  # decisions, until the next batch

    def _guard(self, kind, field, body, failed=_abi.TESS_CALLBACK):
        def lent(ud, session, *args):
            s = Session(self.context, session)
            try:
                return body(s, *args)
            finally:
                s._pointer = None
        return function(kind, field,
                        body and self.context.guard(lent, failed))

    def strategy(self, given):
        def propose(session, n, out, got):
            got[0] = 0
            made = list(given.propose(session, n))
            self.proposed = session.held
            for i, c in enumerate(made[:n]):
                out[i] = session._c(c)
            got[0] = min(len(made), n)
            return _abi.TESS_OK

        return new(_abi.tess_strategy, name=raw(given.name, "a name"),
                   propose=self._guard(_abi.tess_strategy, "propose", propose),
                   observe=self._learner(_abi.tess_strategy, "observe",
                                         given.observe))

    def _learner(self, kind, field, f):
        def learn(session, n, c):
            f(session, _list(n, c))
            return _abi.TESS_OK
        return self._guard(kind, field, f and learn)

    def cost_model(self, given):
        def predict(session, n, c, score):
            made = list(given.predict(session, _list(n, c)))
            if len(made) != n:
                raise ValueError(f"predict gave {len(made)} scores for {n} "
                                 "candidates")
            for i, x in enumerate(made):
                score[i] = x
            return _abi.TESS_OK

        return new(_abi.tess_cost_model, name=raw(given.name, "a name"),
                   predict=self._guard(_abi.tess_cost_model, "predict",
                                       predict),
                   update=self._learner(_abi.tess_cost_model, "update",
                                        given.update))

    def mutator(self, given):
        def mutate(session, parent, out):
            child = given.mutate(session, _python(parent[0]))
            if child is None:
                return _abi.TESS_NOT_FOUND
            out[0] = session._c(child)
            self.proposed = session.held
            return _abi.TESS_OK

        return new(_abi.tess_mutator, name=raw(given.name, "a name"),
                   probability=given.probability,
                   mutate=self._guard(_abi.tess_mutator, "mutate", mutate))

    def postproc(self, apply):
        """apply(sch) schedules further in place, and says whether the
        candidate is kept: True or None; False, or a text that says why not.
        """
        said = [b""]

        def run(session, lent, why):
            sch = Schedule(self.context, lent, owned=False)
            try:
                answer = apply(sch)
            except Error as e:
                if e.code != "REFUSED":
                    raise
                return _abi.TESS_REFUSED
            finally:
                sch._pointer = None
            if answer is None or answer is True:
                return _abi.TESS_OK
            if answer is not False:
                said[0] = str(answer).encode()
                why[0] = said[0]
            return _abi.TESS_REFUSED

        return new(_abi.tess_postproc, name=raw(apply.__name__, "a name"),
                   apply=self._guard(_abi.tess_postproc, "apply", run,
                                     _abi.TESS_CANCELLED))

    def measure(self, f):
        """f(session, candidate) gives seconds, or how it failed: "TIMEOUT".
        """
        def run(session, c, seconds):
            got = f(session, _python(c[0]))
            if isinstance(got, str):
                if got not in _FAILURES:
                    raise ValueError("measure gives seconds, or one of "
                                     + ", ".join(_FAILURES))
                return _FAILURES[got]
            seconds[0] = got
            return _abi.TESS_OK
        return self._guard(_abi.tess_tune_options, "measure", run)

    def measured(self, f):
        return self._learner(_abi.tess_tune_options, "measured", f)
