# SPDX-License-Identifier: Apache-2.0
"""Describing computations: buffers, computes and reductions.

    A = placeholder("A", (M, K))
    B = placeholder("B", (K, N))
    k = reduce_axis("k", K)
    C = compute("C", (M, N), lambda i, j: total(A[i, k] * B[k, j], k))
    program("matmul", [A, B], [C])
"""
import ctypes

from . import _abi, dtypes
from ._native import array, function, new, raw, text
from .context import expect
from .expr import (MAX_DIM, Described, Expr, Var, description, description_of,
                   handle, handles)

# ---- buffers ----------------------------------------------------------------

class Buffer(Described):
    """A parameter, or what a compute makes; A[i, j] is an element."""

    def __init__(self, builder, buffer):
        super().__init__(builder, buffer=buffer)

    def _info(self):
        name, dtype = ctypes.c_char_p(), _abi.tess_dtype()
        shape, n = (_abi.tess_expr * MAX_DIM)(), ctypes.c_uint32()
        self.builder.call("tess_buffer_info", self.handles["buffer"], name,
                          dtype, MAX_DIM, shape, n)
        return text(name.value), dtype, shape[:n.value]

    @property
    def name(self):
        return self._info()[0]

    @property
    def dtype(self):
        return dtypes.show(self._info()[1])

    @property
    def shape(self):
        """Its extents, integers where they are constant."""
        def extent(e):
            x = Expr(self.builder, e)
            said = repr(x)
            return int(said) if said.isdecimal() else x
        return tuple(extent(e) for e in self._info()[2])

    def indices(self, key):
        key = key if isinstance(key, tuple) else (key,)
        return len(key), handles(key, self.builder)

    def __getitem__(self, key):
        return Expr(self.builder, self.builder.output(
            _abi.tess_expr, "tess_load", self.handles["buffer"],
            *self.indices(key)))

    def __iter__(self):
        raise TypeError(f"buffer {self.name} has no elements to iterate over")

    def __repr__(self):
        extents = ", ".join(map(repr, self.shape))
        return f"{self.name}: {self.dtype}[{extents}]"


ROLES = {"input": _abi.TESS_ROLE_INPUT, "output": _abi.TESS_ROLE_OUTPUT,
         "constant": _abi.TESS_ROLE_CONSTANT,
         "layout_free": _abi.TESS_ROLE_LAYOUT_FREE,
         "inout": _abi.TESS_ROLE_INOUT}


def role(name):
    if name not in ROLES:
        raise ValueError(f"there is no role '{name}', but "
                         f"{', '.join(sorted(ROLES))}")
    return ROLES[name]


def extents(shape, builder):
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    return len(shape), handles(shape, builder)


def holds(buffer, range=None, sorted=False, unique=False, offsets_into=None):
    """What the caller promises of the integers in a placeholder: `range`
    (least, below), sorted, unique; or they are offsets into so many
    elements, as of CSR."""
    contents = new(_abi.tess_contents, sorted=bool(sorted),
                   unique=bool(unique), offsets=offsets_into is not None)
    if offsets_into is not None:
        range = (0, offsets_into + 1)
    if range is not None:
        contents.has_range, (contents.least, contents.below) = 1, range
    buffer.builder.call("tess_buffer_holds", buffer.handles["buffer"],
                        contents)
    return buffer


def placeholder(name, shape, dtype="float32", role="input", **contents):
    """A parameter.  role: "input" or "layout_free"; what `holds` takes may
    follow."""
    b = description()
    b.trim()
    made = Buffer(b, b.output(_abi.tess_buffer, "tess_placeholder",
                              raw(name, "a name"), dtypes.parse(dtype),
                              *extents(shape, b), globals()["role"](role)))
    return holds(made, **contents) if contents else made


def constant(name, tensor):
    """A constant with the contents of a tensor or array."""
    from .tensor import as_tensor
    t, b = as_tensor(tensor), description()
    return Buffer(b, b.output(
        _abi.tess_buffer, "tess_constant", raw(name, "a name"),
        t.get("tess_tensor_dtype"), len(t.shape),
        array(ctypes.c_int64, t.shape), t.get("tess_tensor_data")))


def size(name):
    """An extent that is known only when the program is called."""
    b = description()
    return Var(b, b.output(_abi.tess_var, "tess_size_var",
                           raw(name, "a name")))


def reduce_axis(name, extent):
    """An axis 0 .. extent - 1 to reduce over; (lo, extent) starts at lo."""
    b = description()
    b.trim()
    lo, extent = extent if isinstance(extent, tuple) else (0, extent)
    return Var(b, b.output(_abi.tess_var, "tess_reduce_axis",
                           raw(name, "a name"), handle(lo, b),
                           handle(extent, b)))


# ---- computes ---------------------------------------------------------------

def _axis_names(body, n):
    code = getattr(body, "__code__", None)
    names = list(code.co_varnames[:code.co_argcount]) if code else []
    return [names[d] if d < len(names) else "ijklmn"[d:d + 1] or f"i{d}"
            for d in range(n)]


def compute(name, shape, body):
    """A buffer whose elements are body(i, j, ...); where the body is a
    reduction of several values, a tuple of buffers."""
    b = description()
    with b.context.lock:
        n, shape = extents(shape, b)
        names = _axis_names(body, n)
        variables = (_abi.tess_var * max(n, 1))()
        depth = b.get("tess_builder_depth")
        b.call("tess_compute_begin", raw(name, "a name"), n, shape,
               array(ctypes.c_char_p, (s.encode() for s in names)), variables)
        try:
            made = body(*(Var(b, v) for v in variables[:n]))
            several = isinstance(made, (tuple, list))
            values = list(made) if several else [made]
            out = (_abi.tess_buffer * len(values))()
            b.call("tess_compute_end", len(values), array(
                _abi.tess_expr, [handle(v, b) for v in values]), out)
        except BaseException:
            b.call("tess_builder_cancel", depth)
            raise
    buffers = tuple(Buffer(b, x) for x in out)
    return buffers if several else buffers[0]


def _axes(axes, b):
    axes = list(axes) if isinstance(axes, (tuple, list)) else [axes]
    for a in axes:
        expect(a, Var, "an axis to reduce over")
    return len(axes), array(_abi.tess_var, [a.handles["var"] for a in axes])


def _reduce(function_name, reducer, sources, axes, b):
    n = len(sources)
    out = (_abi.tess_expr * n)()
    sources = array(_abi.tess_expr, [handle(s, b) for s in sources])
    given = (reducer,) if function_name == "tess_reduce_with" else \
        (reducer.encode(),)
    order = given + (n, sources) + _axes(axes, b) + (out,)
    b.call(function_name, *order)
    made = tuple(Expr(b, e) for e in out)
    return made if n > 1 else made[0]


def reduction(reducer):
    def reduce(x, axes):
        return _reduce("tess_reduce", reducer, [x], axes,
                       description_of((x,)))
    reduce.__doc__ = f"The {reducer} of x over an axis or a list of axes."
    return reduce


def reducer(combine, identity, name="reducer"):
    """A reduction of your own: combine(so_far..., new...) gives the combined
    value or values; `identity` is a number, or a tuple of as many.  What this
    gives is called with the sources, then the axes."""
    identity = identity if isinstance(identity, tuple) else (identity,)
    n = len(identity)

    def apply(*args):
        *sources, axes = args
        if len(sources) != n:
            raise TypeError(f"{name} takes {n} sources and the axes, not "
                            f"{len(sources)}")
        b = description_of(sources)

        def fill(ud, builder, lhs, rhs, result):
            made = combine(*(Expr(b, e) for e in lhs[:n]),
                           *(Expr(b, e) for e in rhs[:n]))
            made = made if isinstance(made, (tuple, list)) else (made,)
            if len(made) != n:
                raise TypeError(f"{name} gives {len(made)} values, not {n}")
            for i, value in enumerate(made):
                result[i] = handle(value, b)
            return 0

        definition = new(
            _abi.tess_reducer_def, n=n, name=raw(name, "a name"),
            combine=function(_abi.tess_reducer_def, "combine",
                             b.context.guard(fill, 1)),
            identity=array(ctypes.c_double, identity))
        return _reduce("tess_reduce_with", definition, sources, axes, b)
    return apply


total, product = reduction("sum"), reduction("prod")
reduce_max, reduce_min = reduction("max"), reduction("min")
