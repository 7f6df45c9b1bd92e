# SPDX-License-Identifier: Apache-2.0
"""Element types: "float32", numpy.float32 and numpy.dtype("float32")."""
import ctypes

from . import _abi
from ._native import lib, raw, text


def name_of(dtype):
    if isinstance(dtype, str):
        return dtype
    if isinstance(dtype, type):
        return dtype.__name__
    name = getattr(dtype, "name", None)
    if isinstance(name, str):
        return name
    return str(dtype).rpartition(".")[2]  # torch.float32


def parse(dtype):
    out = _abi.tess_dtype()
    name = name_of(dtype)
    if not lib.tess_dtype_parse(raw(name, "a dtype"), out):
        raise TypeError(f"there is no dtype '{name}'")
    return out


def show(dtype):
    out = ctypes.create_string_buffer(32)
    lib.tess_dtype_text(dtype, out)
    return text(out.value)
