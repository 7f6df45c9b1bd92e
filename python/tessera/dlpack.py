# SPDX-License-Identifier: Apache-2.0
"""Memory that is shared with other libraries: DLPack in both versions, and
Python's buffers."""
import ctypes
import math

from . import _abi
from .context import Error

_NAME, _OLD_NAME = b"dltensor_versioned", b"dltensor"
_READ_ONLY = 1  # of flags
_CPU = 1        # of devices


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2),
                ("ndim", ctypes.c_int32), ("dtype", _abi.tess_dtype),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Versioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("ctx", ctypes.c_void_p),
                ("deleter", _Deleter), ("flags", ctypes.c_uint64),
                ("tensor", _DLTensor)]


class _Old(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("ctx", ctypes.c_void_p),
                ("deleter", _Deleter)]


_held = {}  # by the address of what was handed out: it, and who owns it


@_Deleter
def _forget(address, held=_held):
    made, release = held.pop(address)
    release()


# Arrays that took memory may outlive the modules of a program that ends: their
# deleter stays.
for _kept in (_held, _forget):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_kept))


def _hand_out(made, release):
    address = ctypes.addressof(made)
    made.deleter = _forget
    _held[address] = made, release
    return address


# ---- capsules ---------------------------------------------------------------

def _python(name, result, *kinds):
    f = getattr(ctypes.pythonapi, name)
    f.restype, f.argtypes = result, kinds
    return f


_new_capsule = _python("PyCapsule_New", ctypes.py_object, ctypes.c_void_p,
                       ctypes.c_char_p, ctypes.c_void_p)
_is_capsule = _python("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p,
                      ctypes.c_char_p)
_pointer_of = _python("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p,
                      ctypes.c_char_p)
_rename = _python("PyCapsule_SetName", ctypes.c_int, ctypes.py_object,
                  ctypes.c_char_p)
# Names must live as long as the capsules that bear them.
_USED = {name: ctypes.create_string_buffer(b"used_" + name)
         for name in (_NAME, _OLD_NAME)}
_FRESH = {name: ctypes.create_string_buffer(name)
          for name in (_NAME, _OLD_NAME)}


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _end_capsule(capsule):
    """Nobody took what is in it."""
    for name, kind in ((_NAME, _Versioned), (_OLD_NAME, _Old)):
        if _is_capsule(capsule, name):
            address = _pointer_of(capsule, name)
            made = kind.from_address(address)
            if made.deleter:
                made.deleter(address)


def _capsule(address, name):
    return _new_capsule(address, ctypes.cast(_FRESH[name], ctypes.c_char_p),
                        ctypes.cast(_end_capsule, ctypes.c_void_p))


def to_capsule(owner, data, shape, dtype, versioned):
    """A capsule of compact memory, which keeps its owner, and so the context,
    alive."""
    n = len(shape)
    extents = (ctypes.c_int64 * max(n, 1))(*shape)
    strides = (ctypes.c_int64 * max(n, 1))(
        *(math.prod(shape[d + 1:]) for d in range(n)))
    kept = [owner, extents, strides]
    tensor = _DLTensor(data=data, device=(_CPU, 0), ndim=n, dtype=dtype,
                       shape=extents, strides=strides)
    made = (_Versioned(version=(1, 1), tensor=tensor) if versioned else
            _Old(tensor=tensor))
    return _capsule(_hand_out(made, kept.clear),
                    _NAME if versioned else _OLD_NAME)


def from_capsule(capsule):
    """The address of a DLManagedTensorVersioned; the capsule is used up."""
    if _is_capsule(id(capsule), _NAME):
        address = _pointer_of(id(capsule), _NAME)
        _rename(capsule, ctypes.cast(_USED[_NAME], ctypes.c_char_p))
        return address
    if not _is_capsule(id(capsule), _OLD_NAME):
        raise TypeError("__dlpack__ gave no capsule of DLPack, or a used one")
    address = _pointer_of(id(capsule), _OLD_NAME)
    old = _Old.from_address(address)
    _rename(capsule, ctypes.cast(_USED[_OLD_NAME], ctypes.c_char_p))
    made = _Versioned(version=(1, 1), tensor=old.tensor)
    return _hand_out(made, lambda: old.deleter and old.deleter(address))


# ---- buffers ----------------------------------------------------------------

class _Buffer(ctypes.Structure):
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p),
                ("len", ctypes.c_ssize_t), ("itemsize", ctypes.c_ssize_t),
                ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p),
                ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
                ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
                ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
                ("internal", ctypes.c_void_p)]


_get_buffer = _python("PyObject_GetBuffer", ctypes.c_int, ctypes.py_object,
                      ctypes.POINTER(_Buffer), ctypes.c_int)
_release = _python("PyBuffer_Release", None, ctypes.POINTER(_Buffer))
_FORMAT, _ND, _C_CONTIGUOUS = 0x0004, 0x0008, 0x0020 | 0x0010 | 0x0008
_CODES = {"?": _abi.TESS_DTYPE_BOOL,
          **dict.fromkeys("efd", _abi.TESS_DTYPE_FLOAT),
          **dict.fromkeys("bhilqn", _abi.TESS_DTYPE_INT),
          **dict.fromkeys("BHILQN", _abi.TESS_DTYPE_UINT)}


def _unshared(why):
    return Error("UNSUPPORTED", f"the array cannot be shared: {why}")


def _refusal(view, kind):
    """Why the elements of a buffer cannot be shared; None: they can."""
    if kind[0] in ">!" and kind[1:] in _CODES:
        return ("its numbers are big-endian; "
                "a.astype(a.dtype.newbyteorder(\"=\")) is one that can")
    if kind not in _CODES:
        return (f"elements of the format '{kind}' are no numbers of Tessera's")
    if view.len and not view.readonly and (view.buf or 0) % view.itemsize:
        return (f"its address is not a multiple of {view.itemsize}, the bytes "
                "of an element; a.copy() is one that can")
    return None


def from_buffer(value):
    """The address of a DLManagedTensorVersioned over the memory of an array.
    """
    view = _Buffer()
    try:
        _get_buffer(value, view, _C_CONTIGUOUS | _FORMAT)
    except (BufferError, ValueError) as e:
        raise _unshared(f"{e}; numpy.ascontiguousarray makes one that can") \
            from None
    kind = (view.format or b"B").decode().lstrip("@=<")
    why = _refusal(view, kind)
    if why:
        _release(view)
        raise _unshared(why)
    shape = (ctypes.c_int64 * max(view.ndim, 1))(*view.shape[:view.ndim])
    made = _Versioned(version=(1, 1))
    made.flags = _READ_ONLY if view.readonly else 0
    made.tensor = _DLTensor(
        data=view.buf, device=(_CPU, 0), ndim=view.ndim, shape=shape,
        dtype=_abi.tess_dtype(_CODES[kind], 8 * view.itemsize, 1))
    return _hand_out(made, lambda: (_release(view), shape))


def address_of(value):
    """Of an array's memory, by whichever it offers."""
    try:
        memoryview(value).release()
    except (TypeError, ValueError, BufferError):
        if not hasattr(value, "__dlpack__"):
            raise TypeError("a tensor or an array is expected, not "
                            f"{type(value).__name__}") from None
        return from_capsule(_ask(value))
    return from_buffer(value)


def _ask(value):
    try:
        return value.__dlpack__(max_version=(1, 1))
    except TypeError:  # of before DLPack 1.0
        return value.__dlpack__()
