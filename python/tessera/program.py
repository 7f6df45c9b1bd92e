# SPDX-License-Identifier: Apache-2.0
"""Programs: what is scheduled, lowered, interpreted and built."""
import ctypes

from . import _abi, dtypes
from ._native import array, new, raw, text
from .context import Object, current, expect
from .describe import ROLES, Buffer
from .expr import description

_ROLE_NAMES = {value: name for name, value in ROLES.items()}


class Param:
    """A parameter: name, dtype, shape (-1: known only when the program is
    called) and role."""

    def __init__(self, info):
        self.name, self.dtype = text(info.name), dtypes.show(info.dtype)
        self.shape = tuple(info.shape[:info.ndim])
        self.role = _ROLE_NAMES[info.role]

    def __repr__(self):
        extents = ", ".join("?" if n < 0 else str(n) for n in self.shape)
        return f"{self.name}: {self.role} {self.dtype}[{extents}]"


class Program(Object):
    """str() of it is its loop nest, which `parse` reads back."""

    struct, free = _abi.tess_program, "tess_program_free"

    def __str__(self):
        return self.text("tess_program_text")

    def __repr__(self):
        return f"<tessera.Program {self.name}>"

    def __eq__(self, other):
        if not isinstance(other, Program):
            return NotImplemented
        return bool(self.get("tess_program_equal", other.pointer))

    def __hash__(self):
        return self.get("tess_program_hash")

    @property
    def name(self):
        return text(self.get("tess_program_name"))

    @property
    def params(self):
        """In the order in which kernels take their tensors."""
        def get(i):
            return Param(self.info("tess_program_param", _abi.tess_param, i))
        return [get(i) for i in range(self.get("tess_program_nparams"))]

    @property
    def hash(self):
        """The structural hash, the same on every machine."""
        return self.get("tess_program_hash")

    @property
    def flops(self):
        """Operations of one run; None where that depends on sizes or data."""
        n = self.get("tess_program_flops")
        return None if n < 0 else n

    def verify(self):
        self.call("tess_program_verify")

    def lower(self, after=None, threads=True, vector_bytes=0,
              keep_intrinsics=False):
        """The program after a prefix of the lowering passes."""
        options = new(_abi.tess_lower_options, no_threads=not threads,
                      after=after and raw(after, "a pass"),
                      vector_bytes=vector_bytes,
                      keep_intrinsics=bool(keep_intrinsics))
        return self.make(Program, "tess_program_lower", options)

    def add(self, further):
        """Adds the entry function of another program."""
        self.call("tess_program_add",
                  expect(further, Program, "a program").pointer)

    def work_on(self, function):
        """A copy in which another of the functions is scheduled and built."""
        return self.make(Program, "tess_program_work_on",
                         raw(function, "a name"))

    def save(self, path):
        self.call("tess_program_save", raw(path, "a path"))


def program(name, inputs, outputs, section=0):
    """The program that computes the outputs, buffers, from the inputs."""
    def list_of(buffers):
        buffers = list(buffers)
        for b in buffers:
            if expect(b, Buffer, "a parameter").builder is not d:
                raise ValueError("a buffer was described in another context "
                                 "or thread")
        return len(buffers), array(_abi.tess_buffer,
                                   [b.handles["buffer"] for b in buffers])
    d = description()
    if not outputs:
        raise ValueError(f"program '{name}' has no output")
    with d.context.lock:
        d.call("tess_section", section)
        try:
            return d.make(Program, "tess_program_new", raw(name, "a name"),
                          *list_of(inputs), *list_of(outputs))
        finally:
            d.call("tess_section", 0)


def parse(listing):
    """What str() of a program wrote, read back."""
    c = current()
    return c.make(Program, "tess_program_parse", c.pointer,
                  raw(listing, "a listing"))


def load_program(path):
    c = current()
    return c.make(Program, "tess_program_load", c.pointer,
                  raw(path, "a path"))


def passes():
    """The lowering passes in their order, with a line of each."""
    from ._native import lib
    return [(text(lib.tess_lower_pass_name(i)),
             text(lib.tess_lower_pass_summary(i)))
            for i in range(lib.tess_lower_pass_count())]


def program_of(x, what):
    """The program of a program, or of a schedule as it stands."""
    from .schedule import Schedule
    if isinstance(x, Schedule):
        return x.program()
    if not isinstance(x, Program):
        raise TypeError(f"{what} must be a tessera.Program or a "
                        f"tessera.Schedule, not {type(x).__name__}")
    return x


def interpret(program, *args):
    """Runs a program or schedule in the interpreter, which finds races,
    uninitialized reads and accesses out of bounds.  Arguments: all in place,
    or without the outputs, which are then given."""
    from .tensor import Arguments
    p = program_of(program, "what is interpreted")
    a = Arguments(p, args)
    p.call("tess_interpret", a.n, a.pointers)
    return a.results()


def equivalent(p, q, seed=1):
    """Whether two programs or schedules compute the same on inputs drawn from
    the seed, exactly; False where they differ, see `check_equivalent`."""
    from .context import Error
    try:
        check_equivalent(p, q, seed)
    except Error as e:
        if e.code != "MISMATCH":
            raise
        return False
    return True


def check_equivalent(p, q, seed=1):
    """Raises, with the place, where the two do not compute the same."""
    program_of(p, "what is compared").call(
        "tess_equivalent", program_of(q, "what is compared").pointer, seed)


def tensor_intrin(name, description, implementation, override=False):
    """Declares a tensor intrinsic, for `tensorize`: two programs with the
    same parameters, or of the second a call: "C = llvm.fma.v16f32(A, B, C)".
    """
    d = expect(description, Program, "the description")
    if isinstance(implementation, str):
        d.context.call("tess_tensor_intrin_call", d.context.pointer,
                       raw(name, "a name"), d.pointer,
                       raw(implementation, "a call"), bool(override))
    else:
        impl = expect(implementation, Program, "the implementation")
        d.context.call("tess_tensor_intrin", d.context.pointer,
                       raw(name, "a name"), d.pointer, impl.pointer,
                       bool(override))
