# SPDX-License-Identifier: Apache-2.0
"""Databases of measured schedules."""
import ctypes
import itertools

from . import _abi
from ._native import new, raw, text
from .context import Error, Object, current
from .trace import Trace

_TEXTS = ("workload_name", "target", "policy", "engine", "status", "message",
          "shapes", "stored_at")
_NUMBERS = ("id", "workload", "seconds", "program_hash", "run", "round",
            "slot", "elapsed", "predicted", "sketch")
_RUN_TEXTS = ("target", "policy", "strategy", "model", "engine", "started_at",
              "ended", "funnel", "ledger", "quality")


class Record:
    """A measured candidate; `vars` of it lists its fields."""

    def __init__(self, r):
        for name in _NUMBERS:
            setattr(self, name, getattr(r, name))
        for name in _TEXTS:
            setattr(self, name, text(getattr(r, name)))
        self.checked, self.damaged = bool(r.checked), bool(r.damaged)
        self.sample = r.sample[:r.nsample]
        self.decisions = r.decisions[:r.ndecisions] if r.decisions else None

    def __repr__(self):
        return (f"<record {self.id} of {self.workload_name}: {self.status} "
                f"{self.seconds:.4g} s>")


class Database(Object):
    """An SQLite file, which is made where there is none."""

    struct, free = _abi.tess_database, "tess_database_free"

    def best(self, program, target=None, policy=None):
        """The fastest record of a program that agreed with the unscheduled
        one, and its trace; None, None where there is none."""
        filter = new(_abi.tess_best_filter,
                     target=target and raw(str(target), "a target"),
                     policy=policy and raw(policy, "a policy"))
        with self.context.lock:
            try:
                r = Record(self.info("tess_database_best_of", _abi.tess_record,
                                     program.pointer, filter))
            except Error as e:
                if e.code != "NOT_FOUND":
                    raise
                return None, None
            return r, self.trace(r.id).bind(program)

    def _rows(self, name, kind, make):
        for k in itertools.count():
            with self.context.lock:
                try:
                    row = make(self.info(name, kind, k))
                except Error as e:
                    if e.code != "NOT_FOUND":
                        raise
                    return
            yield row

    def records(self, program=None, target=None, workload_name=None,
                checked=False, failed=False, limit=None):
        """Best first, those for which all that is given holds."""
        filter = new(_abi.tess_record_filter, checked=bool(checked),
                     failed=bool(failed), program=program and program.pointer,
                     target=target and raw(str(target), "a target"),
                     workload_name=workload_name and
                     raw(workload_name, "a name"))
        self.call("tess_database_filter", filter)
        return list(itertools.islice(
            self._rows("tess_database_row", _abi.tess_record, Record), limit))

    def runs(self):
        """A dict for each run of `tune` that is kept here."""
        def make(r):
            run = {n: text(getattr(r, n)) for n in _RUN_TEXTS}
            run.update((n, getattr(r, n)) for n in ("id", "workload", "seed",
                                                    "batch", "seconds"))
            return run
        return list(self._rows("tess_database_run", _abi.tess_run, make))

    def trace(self, id):
        """Of a record, with its decisions."""
        return self.make(Trace, "tess_database_trace", id)

    def add(self, trace, target, policy, seconds):
        """Stores a success that was measured elsewhere, in samples."""
        sample = (ctypes.c_double * len(seconds))(*seconds)
        self.call("tess_database_add", trace.pointer,
                  raw(str(target), "a target"), raw(policy, "a policy"),
                  len(seconds), sample)

    def _counted(self, name, *args):
        out = ctypes.c_uint64()
        self.call(name, *args, out)
        return out.value

    def merge(self, path):
        """Adds the records of another file; how many there were."""
        return self._counted("tess_database_merge", raw(path, "a path"))

    def prune(self, keep):
        """Keeps the best of each workload, target and policy."""
        return self._counted("tess_database_prune", keep)

    def export(self, path):
        """As JSON, an object a line."""
        self.call("tess_database_export", raw(path, "a path"))

    def import_(self, path):
        return self._counted("tess_database_import", raw(path, "a path"))

    def close(self):
        """Now, rather than when Python forgets it."""
        if self._end.alive:
            self._end()
            self._pointer = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def database(path, readonly=False):
    """readonly: it must be there, and is never locked for writing."""
    c = current()
    return c.make(Database, "tess_database_open_readonly" if readonly
                  else "tess_database_open", c.pointer, raw(path, "a path"))
