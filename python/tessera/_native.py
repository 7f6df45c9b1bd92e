# SPDX-License-Identifier: Apache-2.0
"""The shared library, with the prototypes of its header."""
import ctypes
import os

from . import _abi

PREFIX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_prefix")


def _load():
    path = os.environ.get("TESSERA_LIBRARY") or os.path.join(
        PREFIX, "lib", "libtessera.so.1")
    try:
        library = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(
            f"tessera: {e} (the wheel brings all but the library of LLVM 19: "
            "the Debian package libllvm19)") from None
    for name, (result, kinds) in _abi.PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, kinds
    return library


lib = _load()


def new(kind, **fields):
    """A struct of the header, with the size that its first field has."""
    made = kind(**fields)
    made.struct_size = ctypes.sizeof(kind)
    return made


def array(kind, values):
    """Elements for a pointer and a length; NULL where there are none."""
    values = list(values)
    return (kind * len(values))(*values) if values else None


def text(raw):
    """A text of the library's: bytes, or None."""
    return "" if raw is None else raw.decode("utf-8", "replace")


def raw(value, what):
    """A text for the library."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{what} must be a text, not {type(value).__name__}")
    data = os.fsencode(value)
    if b"\0" in data:
        raise ValueError(f"{what} has a NUL byte")
    return data


def function(kind, field, body):
    """`body` as what a field of a struct points to; None: no function."""
    made = dict(kind._fields_)[field]
    return made(body) if body else made()
