# SPDX-License-Identifier: Apache-2.0
"""Tensors, and arrays as arguments."""
import ctypes

from . import _abi, dtypes
from ._native import array, raw, text
from .context import Error, Object, current
from .dlpack import address_of, to_capsule

_TYPES = {_abi.TESS_DTYPE_INT: "i", _abi.TESS_DTYPE_UINT: "u",
          _abi.TESS_DTYPE_FLOAT: "f", _abi.TESS_DTYPE_BOOL: "b"}


class Tensor(Object):
    """Elements in memory.  numpy.asarray(t) shares them, as does what reads
    DLPack; t[i, j] is one."""

    struct, free = _abi.tess_tensor, "tess_tensor_free"

    @property
    def shape(self):
        n = self.get("tess_tensor_ndim")
        return tuple(self.get("tess_tensor_shape")[:n])

    @property
    def dtype(self):
        return dtypes.show(self.get("tess_tensor_dtype"))

    @property
    def device(self):
        return text(self.get("tess_tensor_device"))

    def __init__(self, context, pointer, owned=True):
        super().__init__(context, pointer, owned)
        if self._end:  # arrays that share the memory may outlive all else
            self._end.atexit = False

    @property
    def __array_interface__(self):
        t, data = self.get("tess_tensor_dtype"), self.get("tess_tensor_data")
        if data is None:
            raise AttributeError(self._elsewhere())
        if t.code not in _TYPES or t.bits % 8:
            raise AttributeError(f"NumPy has no {self.dtype}")
        return {"version": 3, "shape": self.shape, "data": (data, False),
                "typestr": f"<{_TYPES[t.code]}{t.bits // 8}"}

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None,
                   copy=None):
        if copy:
            raise BufferError("a tensor shares its memory; copy it first")
        data = self.get("tess_tensor_data")
        if data is None:
            raise BufferError(self._elsewhere())
        return to_capsule(self, data, self.shape,
                          self.get("tess_tensor_dtype"),
                          (max_version or (0, 0))[0] >= 1)

    def __dlpack_device__(self):
        return 1, 0

    def _elsewhere(self):
        return f"the tensor is on {self.device}: to(\"cpu\") copies it"

    def numpy(self):
        import numpy
        return numpy.asarray(self)

    def _index(self, key):
        key = key if isinstance(key, tuple) else (key,)
        shape = self.shape
        if len(key) != len(shape):
            raise IndexError(f"the tensor has {len(shape)} dimensions, not "
                             f"{len(key)}")
        return array(ctypes.c_int64, [k + n if k < 0 else k
                                      for k, n in zip(key, shape)])

    def _accessor(self, what):
        whole = self.get("tess_tensor_dtype").code in (
            _abi.TESS_DTYPE_INT, _abi.TESS_DTYPE_UINT, _abi.TESS_DTYPE_BOOL)
        return f"tess_tensor_{what}{'_int' if whole else ''}", whole

    def __getitem__(self, key):
        name, whole = self._accessor("get")
        out = ctypes.c_int64() if whole else ctypes.c_double()
        self.call(name, self._index(key), out)
        if self.dtype == "uint64":
            return out.value % (1 << 64)
        return bool(out.value) if self.dtype == "bool" else out.value

    def __setitem__(self, key, value):
        name, whole = self._accessor("set")
        self.call(name, self._index(key), int(value) if whole else value)

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        if len(self.shape) != 1:
            raise TypeError("a tensor of several dimensions is read by tolist")
        return (self[i] for i in range(len(self)))

    def tolist(self):
        def rows(index):
            if len(index) == len(self.shape):
                return self[tuple(index)]
            return [rows(index + [i]) for i in range(self.shape[len(index)])]
        return rows([])

    def __repr__(self):
        return self.text("tess_tensor_text")

    def copy_from(self, source):
        """The contents of another of this dtype and shape, wherever each
        is."""
        self.call("tess_tensor_copy", as_tensor(source).pointer)

    def to(self, device):
        """A copy in the memory of a device: "cuda:0", "opencl:0", "cpu"."""
        return self.make(Tensor, "tess_tensor_to", raw(device, "a device"))

    def compare(self, other):
        """The greatest difference, absolute and relative."""
        absolute, relative = ctypes.c_double(), ctypes.c_double()
        self.call("tess_tensor_compare", as_tensor(other).pointer, absolute,
                  relative)
        return absolute.value, relative.value

    def save(self, path):
        """As a .npy file."""
        self.call("tess_tensor_save", raw(path, "a path"))


def new_tensor(context, dtype, shape, fill, seed=1):
    """A new one of a tess_dtype."""
    return context.make(Tensor, "tess_tensor_new", context.pointer, dtype,
                        len(shape), array(ctypes.c_int64, shape),
                        raw(fill, "what fills it"), seed)


def tensor(shape, dtype="float32", fill="zeros", seed=1, device=None):
    """A new one.  fill: "zeros", "random", "integers" or "empty"."""
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    made = new_tensor(current(), dtypes.parse(dtype), shape, fill, seed)
    return made.to(device) if device else made


def load_tensor(path):
    """From a .npy file."""
    c = current()
    return c.make(Tensor, "tess_tensor_load", c.pointer, raw(path, "a path"))


def as_tensor(value, context=None, what=""):
    """A tensor over the memory of an array (NumPy, DLPack, a buffer); errors
    begin with `what` it is."""
    if isinstance(value, Tensor):
        return value
    c = context or current()
    try:
        address = address_of(value)
    except TypeError as e:
        raise TypeError(what + str(e)) from None
    except Error as e:
        raise Error(e.code, what + e.message) from None
    return c.make(Tensor, "tess_tensor_from_dlpack", c.pointer,
                  ctypes.c_void_p(address))


def are_arrays(given):
    """Whether arrays of NumPy were given, and so are wanted."""
    return any(hasattr(a, "__array_interface__") and
               not isinstance(a, Tensor) for a in given)


class Arguments:
    """Tensors for a program's parameters: all given, or the inputs, to which
    outputs are made."""

    def __init__(self, program, args):
        params = program.params
        outputs = [p.role == "output" for p in params]
        self.made = []
        if len(args) == len(params):
            tensors = [as_tensor(a, program.context) for a in args]
            for p, a, t in zip(params, args, tensors):
                _refuse_read_only(p, a, t)
        elif len(args) == outputs.count(False):
            rest = iter(args)
            tensors = [None if out else as_tensor(next(rest), program.context)
                       for out in outputs]
            given = array(ctypes.POINTER(_abi.tess_tensor),
                          [t.pointer if t is not None else None
                           for t in tensors])
            for i, p in enumerate(params):
                if outputs[i]:
                    tensors[i] = self._new(program, i, p, given)
        else:
            raise TypeError(
                f"{program.name} takes {len(params)} tensors, or "
                f"{outputs.count(False)} without the outputs, not {len(args)}")
        self.tensors, self.n = tensors, len(tensors)
        self.arrays = are_arrays(args)
        self.pointers = array(ctypes.POINTER(_abi.tess_tensor),
                              [t.pointer for t in tensors])

    def _new(self, program, i, param, given):
        """Output i, of the extents that follow from the tensors given."""
        shape = (ctypes.c_int64 * max(len(param.shape), 1))()
        try:
            program.call("tess_program_shape", i, len(given), given, shape)
        except Error as e:
            if e.code == "UNSUPPORTED":
                e.args = (f"{e}; pass the output {param.name}, too",)
            raise
        made = new_tensor(program.context, dtypes.parse(param.dtype),
                          shape[:len(param.shape)], "zeros")
        self.made.append(made)
        return made

    def results(self):
        """The outputs that were made: as arrays of NumPy where such were
        given; one of them alone by itself."""
        made = [t.numpy() if self.arrays else t for t in self.made]
        return tuple(made) if len(made) > 1 else made[0] if made else None


def _refuse_read_only(param, given, made):
    """Read-only memory is copied, so what is written to it would be lost."""
    if param.role not in ("output", "inout") or isinstance(given, Tensor):
        return
    try:
        view = memoryview(given)
    except (TypeError, ValueError, BufferError):
        return
    if view.readonly:
        raise ValueError(f"the argument for {param.name}, which is written, "
                         "is read-only")
