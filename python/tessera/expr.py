# SPDX-License-Identifier: Apache-2.0
"""Expressions, and what holds them while a computation is described."""
import ctypes
import numbers
import threading
import weakref

from . import _abi, dtypes
from ._native import array, new, raw
from .context import Object, current

_INT64 = _abi.tess_dtype(_abi.TESS_DTYPE_INT, 64, 1)
_FIRST_TRIM = 4096  # handles, from which on unused ones are forgotten
MAX_DIM = 16


class Description(Object):
    """What a thread describes in a context.  Handles that no object of Python
    has any more are forgotten when there are many."""

    struct, free = _abi.tess_builder, "tess_builder_free"

    def __init__(self, context, pointer):
        super().__init__(context, pointer)
        self.alive = weakref.WeakValueDictionary()     # by identity
        self.sections = weakref.WeakValueDictionary()  # builders, by number
        self.nsections, self.made, self.limit = 0, 0, _FIRST_TRIM

    def output(self, kind, name, *args):
        out = kind()
        self.call(name, *args, out)
        return out.value

    def trim(self):
        """To be called where no handle is held but by objects."""
        if self.made < self.limit or self.get("tess_builder_depth"):
            return
        held = list(self.alive.values())
        lists = {kind: [x for x in held if kind in x.handles]
                 for kind in ("expr", "buffer", "var")}
        handles = {kind: array(ctypes.c_uint32,
                               [x.handles[kind] for x in objects])
                   for kind, objects in lists.items()}
        kept = new(_abi.tess_kept, nexprs=len(lists["expr"]),
                   exprs=handles["expr"], nbuffers=len(lists["buffer"]),
                   buffers=handles["buffer"], nvars=len(lists["var"]),
                   vars=handles["var"], nsections=len(self.sections),
                   sections=array(ctypes.c_uint32, self.sections.keys()))
        self.call("tess_builder_trim", kept)
        for kind, objects in lists.items():
            for x, handle_now in zip(objects, handles[kind] or ()):
                x.handles[kind] = handle_now
        self.made, self.limit = 0, max(_FIRST_TRIM, len(held))


_here = threading.local()


def description(context=None):
    """The one of this thread in a context, by default the current one."""
    context = context or current()
    if not hasattr(_here, "of"):
        _here.of = weakref.WeakKeyDictionary()
    if context not in _here.of:
        _here.of[context] = context.make(Description, "tess_builder_new",
                                         context.pointer)
    return _here.of[context]


class Described:
    """Has handles of a description, by their kind."""

    def __init__(self, builder, **handles):
        self.builder, self.handles = builder, handles
        builder.alive[id(self)] = self
        builder.made += 1


# ---- expressions ------------------------------------------------------------

def handle(value, builder):
    """The handle of an expression, or of a number as a literal."""
    if isinstance(value, Expr):
        if value.builder is not builder:
            raise ValueError("the expression was described in another context "
                             "or thread")
        return value.handles["expr"]
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        whole = isinstance(value, numbers.Integral)
        if whole and abs(int(value)) > 1 << 53:
            return builder.output(_abi.tess_expr, "tess_int", _INT64,
                                  int(value))
        return builder.output(_abi.tess_expr, "tess_literal", float(value),
                              int(whole))
    if isinstance(value, Described):  # a buffer
        raise TypeError("an expression or a number is expected, not a buffer: "
                        f"an element is written {value.name}[i]")
    raise TypeError("an expression or a number is expected, not "
                    f"{type(value).__name__}")


def handles(values, builder):
    values = list(values)
    if len(values) > MAX_DIM:
        raise ValueError(f"at most {MAX_DIM} elements are possible here")
    return array(_abi.tess_expr, [handle(v, builder) for v in values])


def description_of(values):
    for v in values:
        if isinstance(v, Expr):
            return v.builder
    return description()


def binary(op, x, y):
    b = description_of((x, y))
    return Expr(b, b.output(_abi.tess_expr, "tess_binary", op.encode(),
                            handle(x, b), handle(y, b)))


def call(name, *args):
    b = description_of(args)
    return Expr(b, b.output(_abi.tess_expr, "tess_call", name.encode(),
                            len(args), handles(args, b)))


class Expr(Described):
    """A value of a program.  + - * / // % **, comparisons, and of conditions
    & | ~; of integers these and << >> ^ are of bits."""

    def __init__(self, builder, expr, **more):
        super().__init__(builder, expr=expr, **more)

    @property
    def dtype(self):
        out = _abi.tess_dtype()
        self.builder.call("tess_expr_dtype", self.handles["expr"], out)
        return dtypes.show(out)

    def astype(self, dtype):
        return cast(self, dtype)

    def __repr__(self):
        return self.builder.text("tess_expr_text", self.handles["expr"])

    def __bool__(self):
        raise TypeError("an expression has no truth value: conditions are "
                        "combined by & | ~, and chosen by tessera.select")

    __hash__ = object.__hash__

    def __neg__(self):
        return call("-", self)

    def __abs__(self):
        return call("abs", self)

    def __invert__(self):
        return call("not" if self.dtype == "bool" else "bitnot", self)


def _is_condition(x):
    return isinstance(x, Expr) and x.dtype == "bool"


def _add_operators():
    def infix(op):
        return lambda x, y: binary(op, x, y)

    def bits(op, condition=None):
        def apply(x, y):
            if condition and _is_condition(x):
                return binary(condition, x, y)
            return call(op, x, y)
        return apply

    operators = {name: infix(op) for name, op in (
        ("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"),
        ("floordiv", "//"), ("mod", "%"), ("pow", "^"))}
    operators.update(
        {"and": bits("bitand", "and"), "or": bits("bitor", "or"),
         "xor": bits("bitxor"), "lshift": bits("shl"), "rshift": bits("shr")})
    for name, f in operators.items():
        setattr(Expr, f"__{name}__", f)
        setattr(Expr, f"__r{name}__", lambda x, y, f=f: f(y, x))
    for name, op in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="),
                     ("eq", "=="), ("ne", "!=")):
        setattr(Expr, f"__{name}__", infix(op))


_add_operators()


class Var(Expr):
    """A variable: an axis of a compute or of a reduction, or a size."""

    def __init__(self, builder, var):
        super().__init__(
            builder, builder.output(_abi.tess_expr, "tess_var_ref", var),
            var=var)


def const(value, dtype):
    b, t = description(), dtypes.parse(dtype)
    name = "tess_int" if isinstance(value, numbers.Integral) and \
        t.code in (_abi.TESS_DTYPE_INT, _abi.TESS_DTYPE_UINT,
                   _abi.TESS_DTYPE_BOOL) else "tess_real"
    return Expr(b, b.output(_abi.tess_expr, name, t, value))


def cast(x, dtype):
    b = description_of((x,))
    return Expr(b, b.output(_abi.tess_expr, "tess_cast", dtypes.parse(dtype),
                            handle(x, b)))


def bit_cast(x, dtype):
    b = description_of((x,))
    return Expr(b, b.output(_abi.tess_expr, "tess_bit_cast",
                            dtypes.parse(dtype), handle(x, b)))


def select(condition, yes, no):
    """yes where the condition holds, else no; one of the two is computed."""
    b = description_of((condition, yes, no))
    return Expr(b, b.output(_abi.tess_expr, "tess_select",
                            *(handle(v, b) for v in (condition, yes, no))))


def call_extern(name, dtype, *args):
    """An external function of the host's, by name."""
    b = description_of(args)
    return Expr(b, b.output(_abi.tess_expr, "tess_call_extern",
                            raw(name, "a name"), dtypes.parse(dtype),
                            len(args), handles(args, b)))


# ---- functions of one and two values ----------------------------------------

__all__ = UNARY = (
    "exp expm1 log log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh "
    "asinh acosh atanh sigmoid erf erfc floor ceil round").split()


def _fold(op):
    def fold(first, *rest):
        from .operands import RV, Formal
        for x in rest:
            either = [v for v in (first, x) if isinstance(v, (RV, Formal))]
            first = either[0].combine(op, first, x) if either else \
                binary(op, first, x)
        return first
    return fold


def _unary(name):
    def apply(x):
        return call(name, x)
    apply.__name__, apply.__doc__ = name, f"{name} of each element."
    return apply


for _name in UNARY:
    globals()[_name] = _unary(_name)
least, greatest = _fold("min"), _fold("max")


def clamp(x, low, high):
    return least(greatest(x, low), high)
