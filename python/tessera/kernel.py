# SPDX-License-Identifier: Apache-2.0
"""Targets, and compiled kernels."""
from . import _abi
from ._native import raw, text
from .context import Object, current
from .program import Program, program_of
from .tensor import Arguments


class Target(Object):
    """What is compiled for; str() of it is complete."""

    struct, free = _abi.tess_target, "tess_target_free"

    def __str__(self):
        return text(self.get("tess_target_text"))

    def __repr__(self):
        return f"<tessera.Target {self}>"

    def __getitem__(self, field):
        """A field, as "num-cores", "vector-bytes" or "l2"."""
        name = raw(field, "a field")
        self.call("tess_target_check_field", name)
        return self.get("tess_target_int", name)

    def has(self, feature):
        """Has its processor a feature, by LLVM's name: "avx512vnni"?"""
        name = raw(feature, "a feature")
        self.call("tess_target_check_feature", name)
        return bool(self.get("tess_target_has", name))


def target(description="llvm"):
    """"llvm -mcpu=znver3 -num-cores=2"; "llvm" alone is this machine."""
    return as_target(description, current())


def as_target(value, context):
    """A target of a text; None stays None."""
    if value is None or isinstance(value, Target):
        return value
    return context.make(Target, "tess_target_new", context.pointer,
                        raw(value, "a target"))


class Timing:
    """Seconds of one run: median, min, mean and stddev of `repeats`
    samples, of `runs` runs in all."""

    def __init__(self, info):
        for name, _ in info._fields_[1:]:
            setattr(self, name, getattr(info, name))

    def __repr__(self):
        return (f"<median {self.median:.3g} s, min {self.min:.3g} s, "
                f"{self.repeats} samples>")


class Kernel(Object):
    """Called with a tensor or an array for each parameter, in place; or
    without the outputs, which it then gives."""

    struct, free = _abi.tess_kernel, "tess_kernel_free"

    @property
    def program(self):
        """The program that it was built of, whose parameters it takes."""
        if self._program is None:
            self._program = Program(self.context,
                                    self.get("tess_kernel_program"))
        return self._program

    _program = None

    def __call__(self, *args):
        a = Arguments(self.program, args)
        self.call("tess_kernel_run", a.n, a.pointers)
        return a.results()

    def time(self, *args, min_time=0.0):
        """A Timing; repeated for min_time seconds, by default 0.1."""
        a = Arguments(self.program, args)
        return Timing(self.info("tess_kernel_time", _abi.tess_timing, a.n,
                                a.pointers, min_time))

    @property
    def name(self):
        return text(self.get("tess_kernel_name"))

    def set_threads(self, n):
        self.get("tess_kernel_set_threads", n)

    def source(self, what="asm"):
        """"ir", "asm", "ptx", ..: as far as the target has them."""
        return self.text("tess_kernel_source", raw(what, "what"))

    def save(self, path, header=None):
        """As .kernel, for `load_kernel`; or as .o or .so with a C header,
        which need neither Tessera nor LLVM."""
        self.call("tess_kernel_save", raw(path, "a path"),
                  header and raw(header, "a path"))


def build(what, target=None):
    """Compiles a program, or a schedule as it stands, for a target."""
    program = program_of(what, "what is built")
    t = as_target(target, program.context)
    return program.make(Kernel, "tess_build", t and t.pointer)


def load_kernel(path):
    """Loads what was saved as NAME.kernel; nothing is compiled."""
    c = current()
    return c.make(Kernel, "tess_kernel_load", c.pointer, raw(path, "a path"))
