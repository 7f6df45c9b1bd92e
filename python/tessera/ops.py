# SPDX-License-Identifier: Apache-2.0
"""The operators that come with Tessera, which are written in Lua, as programs:

    ops.matmul(m=64, n=64, k=64)
    ops.conv2d_nhwc(n=1, h=28, w=28, ci=64, co=64, k=3, pad=1)

docs/operators.md lists them and their options.
"""
import math
import numbers

from . import _native
from .context import current
from .program import Program


def lua(value):
    """A value of Python as one of Lua's."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        value = float(value)
        return value.hex() if math.isfinite(value) else \
            "0/0" if math.isnan(value) else f"{math.copysign(1, value):.0f}/0"
    if isinstance(value, str):
        return '"' + "".join(f"\\{b:03d}" for b in value.encode()) + '"'
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(map(lua, value)) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"[{lua(k)}] = {lua(v)}"
                               for k, v in value.items()) + "}"
    raise TypeError("an option is a number, a text, a list or a dict, not "
                    f"{type(value).__name__}")


def program_from_lua(script):
    """The program that a Lua script returns."""
    c = current()
    return c.make(Program, "tess_program_from_lua", c.pointer,
                  _native.raw(script, "a script"))


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)

    def operator(**options):
        return program_from_lua(
            f"return require('tessera.ops')[{lua(name)}]({lua(options)})")
    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = f"The operator {name} as a program (docs/operators.md)."
    return operator
