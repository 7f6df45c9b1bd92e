# SPDX-License-Identifier: Apache-2.0
"""Contexts, errors, and the objects that hang from a context.

Any thread may use a context: a lock lets in one at a time.  Functions of
Python that the engine calls run on the thread that called it.
"""
import collections
import contextvars
import ctypes
import logging
import signal
import sys
import threading
import weakref

from . import _abi
from ._native import function, lib, new, raw, text

_log = logging.getLogger("tessera")
# How the names of functions begin that call functions of Python.
_CALLING_BACK = ("tess_tune", "tess_graph_compile", "tess_space_")
_LEVELS = [logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG]


class Error(Exception):
    """What failed: code ("INVALID"), message (one line), place, primitive,
    reason ("NOT_ONLY_CHILD") and detail (the program with the place marked),
    each "" where there is none."""

    def __init__(self, code, message, place="", primitive="", reason="",
                 detail=""):
        super().__init__(message)
        self.code, self.message, self.place = code, message, place
        self.primitive, self.reason = primitive, reason
        self.detail = detail


class Refused(Error):
    """A schedule step that does not apply; the schedule is as it was."""


class Context:
    """Holds what is made while it is the current one:

        with tessera.Context(memory_cap=1 << 30):
            ...

    memory_cap: bytes; in_process: compile and run without worker processes;
    worker: the path of the executable tessera-worker.  Warnings go to the
    logger "tessera".
    """

    def __init__(self, memory_cap=0, in_process=False, worker=None):
        self.lock = threading.RLock()
        self.pending = []  # an exception of a function that the engine called
        self._unfreed = collections.deque()
        self._tokens = []
        self._log = function(
            _abi.tess_options, "log",
            lambda ud, level, line: _log.log(_LEVELS[level], "%s", text(line)))
        options = new(_abi.tess_options, memory_cap=memory_cap, log=self._log,
                      in_process=bool(in_process))
        if worker is not None:
            options.worker_path = raw(worker, "the path of the worker")
        self.pointer = ctypes.POINTER(_abi.tess_context)()
        status = lib.tess_context_new(options, self.pointer)
        if status:
            said = text(lib.tess_status_text(status))
            if status == _abi.TESS_LIMIT:
                said = (f"the option memory_cap, of {memory_cap} bytes, has "
                        "no room for a context")
            raise Error(text(lib.tess_status_name(status)), said)
        self._end = weakref.finalize(self, _end_context, self.pointer,
                                     self._unfreed, self._log)

    def __enter__(self):
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_):
        _current.reset(self._tokens.pop())

    def stop(self):
        """From any thread: what this context is doing ends, a run of tune with
        the best so far."""
        lib.tess_stop(self.pointer)

    def get(self, name, *args):
        """What a function that cannot fail gives."""
        with self.lock:
            _free_all(self._unfreed)
            return getattr(lib, name)(*args)

    def _call_back(self, name, args):
        """Calls a function that may call functions of Python back.

        Python raises the interrupt of a signal where its code runs next: at
        the head of such a function, outside of all that it guards, from where
        it would be lost.  There it is kept instead, and what runs is ended.
        """
        here = sys._getframe()

        def interrupt(number, frame):
            head = frame
            while head is not here and head.f_back not in (here, None):
                head = head.f_back
            if head is not frame and head.f_code.co_name == "guarded":
                raise KeyboardInterrupt  # which is caught there
            self.pending.append(KeyboardInterrupt())
            self.stop()

        if (threading.current_thread() is not threading.main_thread() or
                signal.getsignal(signal.SIGINT) is not
                signal.default_int_handler):
            return getattr(lib, name)(*args)
        signal.signal(signal.SIGINT, interrupt)
        try:
            return getattr(lib, name)(*args)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def call(self, name, *args):
        """Calls a function that gives a status; raises what it failed with."""
        with self.lock:
            _free_all(self._unfreed)
            outer, self.pending = self.pending, []
            try:
                status = (self._call_back(name, args)
                          if name.startswith(_CALLING_BACK)
                          else getattr(lib, name)(*args))
                if self.pending:
                    raise self.pending[0]
            finally:
                self.pending = outer
            if status:
                raise self.error(status)

    def error(self, status):
        info = lib.tess_error(self.pointer).contents
        kind = Refused if status == _abi.TESS_REFUSED else Error
        code = text(lib.tess_status_name(status))
        if info.code != status:
            return kind(code, text(lib.tess_status_text(status)))
        return kind(code, text(info.message), text(info.place),
                    text(info.primitive), text(info.reason),
                    text(info.detail))

    def take_text(self, name, *args):
        """The text that a function gives as its last output."""
        made = ctypes.c_char_p()
        with self.lock:
            self.call(name, *args, made)
            value = None if made.value is None else text(made.value)
            lib.tess_text_free(self.pointer, made)
        return value

    def make(self, kind, name, *args):
        """The object of the class `kind` that a function gives as its last
        output."""
        made = ctypes.POINTER(kind.struct)()
        with self.lock:
            try:
                self.call(name, *args, made)
            except BaseException:
                if made:  # a function that it called has failed
                    getattr(lib, kind.free)(made)
                raise
            return kind(self, made)

    def drop(self, free, pointer):
        """Frees an object, now or when the thread that is here has left."""
        self._unfreed.append((free, pointer))
        if self.lock.acquire(blocking=False):
            try:
                _free_all(self._unfreed)
            finally:
                self.lock.release()

    def guard(self, function, failed):
        """`function` for the engine to call: an exception is kept for the
        call of the engine to raise, which is told `failed`."""
        def guarded(*args):
            try:
                result = function(*args)
            except BaseException as e:  # no exception passes through C
                self.pending.append(e)
            return failed if self.pending else result
        return guarded


def _free_all(unfreed):
    while unfreed:
        free, pointer = unfreed.popleft()
        free(pointer)


def _end_context(pointer, unfreed, _log_function):
    _free_all(unfreed)
    lib.tess_context_free(pointer)


_current = contextvars.ContextVar("tessera.context", default=None)
_default = None
_default_lock = threading.Lock()


def current():
    """The context of the innermost `with`, or the one of the process."""
    global _default
    context = _current.get()
    if context is None:
        with _default_lock:
            if _default is None:
                _default = Context()
        context = _default
    return context


class Object:
    """One of the library's objects: freed when Python forgets it."""

    struct = None  # of _abi
    free = None    # the function's name

    def __init__(self, context, pointer, owned=True):
        self.context, self._pointer = context, pointer
        self._end = owned and weakref.finalize(
            self, context.drop, getattr(lib, self.free), pointer)

    @property
    def pointer(self):
        if self._pointer is None:
            raise ValueError(f"this {type(self).__name__} was lent for a call "
                             "that has ended, or given away")
        return self._pointer

    def give(self):
        """Its pointer, for the engine to own."""
        pointer = self.pointer
        if self._end:
            self._end.detach()
        self._pointer = None
        return pointer

    def call(self, name, *args):
        self.context.call(name, self.pointer, *args)

    def get(self, name, *args):
        return self.context.get(name, self.pointer, *args)

    def text(self, name, *args):
        return self.context.take_text(name, self.pointer, *args)

    def make(self, kind, name, *args):
        return self.context.make(kind, name, self.pointer, *args)

    def info(self, name, kind, *args):
        """The struct that a function fills in."""
        out = new(kind)
        self.call(name, *args, out)
        return out


def expect(value, kind, what):
    """`value`, which must be an object of the class."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} must be a tessera.{kind.__name__}, not "
                        f"{type(value).__name__}")
    return value
