# SPDX-License-Identifier: Apache-2.0
"""Operands of primitives: random variables, arithmetic over them, index maps,
and values of Python as the engine's."""
import ctypes
import inspect
import numbers

from . import _abi
from ._native import raw

_KINDS = {_abi.TESS_RV_BLOCK: "block", _abi.TESS_RV_LOOP: "loop",
          _abi.TESS_RV_INT: "int"}
_MAX_DEPTH = 64


class Auto:
    """A factor that is left open, to be what the others leave."""

    def __repr__(self):
        return "tessera.auto"


auto = Auto()
_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "//": "floordiv", "%": "mod"}
_COMPUTE = {"+": lambda a, b: a + b, "-": lambda a, b: a - b,
            "*": lambda a, b: a * b, "//": lambda a, b: a // b,
            "%": lambda a, b: a % b, "min": min, "max": max}


class RV:
    """A block, loop or sampled integer of a schedule; integers can be
    computed with by + - * // %, tessera.min and tessera.max."""

    def __init__(self, schedule, number, kind, op="", two=()):
        self.schedule, self.number, self.op, self.two = (schedule, number, op,
                                                         two)
        self.kind = _KINDS.get(kind, "none")

    def combine(self, op, a, b):
        for x in (a, b):
            if isinstance(x, Formal):
                return x.combine(op, a, b)
            if not (isinstance(x, RV) and x.kind == "int") and (
                    isinstance(x, bool) or
                    not isinstance(x, numbers.Integral)):
                raise TypeError(
                    "arithmetic on a schedule's variables takes sampled "
                    "integers and integers, not blocks, loops or fractions")
        return RV(self.schedule, 0, _abi.TESS_RV_INT, op, (a, b))

    def compute(self, values):
        return _COMPUTE[self.op](*values)

    def __repr__(self):
        if self.op:
            return f"({self.two[0]!r} {self.op} {self.two[1]!r})"
        return self.schedule.text_of(self)

    def __eq__(self, other):
        """Whether both are the same block or loop now."""
        if not isinstance(other, RV):
            return NotImplemented
        if self is other or self.op or other.op:
            return self is other
        for owner in (self.schedule, other.schedule):
            if owner.has(self) and owner.has(other):
                return owner.is_same(self, other)
        return False

    __hash__ = None  # equality changes as the schedule does

    def __neg__(self):
        return self.combine("-", 0, self)

    def __bool__(self):
        return True

    def _no_order(self, other):
        raise TypeError("a random variable cannot be compared with < or <=: "
                        "read its value with value_of")

    __lt__ = __le__ = __gt__ = __ge__ = _no_order

    def __truediv__(self, other):
        raise TypeError("a schedule's variables are computed with by "
                        "+ - * // %, not by /, which gives fractions")


# ---- index maps -------------------------------------------------------------

class Formal:
    """A parameter of an index map that is given as a function, or what was
    computed with some: a text, in which sampled integers are $1, $2, ..."""

    RANKS = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}

    def __init__(self, text, sampled, rank=3):
        self.text, self.sampled, self.rank = text, sampled, rank

    def term(self, x):
        if isinstance(x, Formal):
            return x
        if isinstance(x, numbers.Integral) and not isinstance(x, bool):
            return Formal(str(int(x)), self.sampled, 0 if x < 0 else 3)
        if not isinstance(x, RV):
            raise TypeError("an index map computes with its parameters, "
                            "integers and sampled integers")
        found = [k for k, s in enumerate(self.sampled) if s is x]
        if not found:
            self.sampled.append(x)
            found = [len(self.sampled) - 1]
        return Formal(f"${found[0] + 1}", self.sampled)

    def combine(self, op, a, b):
        a, b = self.term(a), self.term(b)
        rank = self.RANKS.get(op)
        if rank is None:
            return Formal(f"{op}({a.text}, {b.text})", self.sampled)
        left = f"({a.text})" if a.rank < rank else a.text
        right = f"({b.text})" if b.rank <= rank else b.text
        return Formal(f"{left} {op} {right}", self.sampled, rank)

    def __neg__(self):
        return self.combine("-", 0, self)


for _op, _name in _OPERATORS.items():
    for _class in (RV, Formal):
        setattr(_class, f"__{_name}__",
                lambda a, b, op=_op: a.combine(op, a, b))
        setattr(_class, f"__r{_name}__",
                lambda b, a, op=_op: b.combine(op, a, b))


def index_map(f):
    """A function of indices as what traces keep: a text, or a list of it and
    of what $1, $2, ... stand for."""
    names = list(inspect.signature(f).parameters)
    sampled = []
    made = f(*(Formal(name, sampled) for name in names))
    flat = []
    for x in made if isinstance(made, (tuple, list)) else (made,):
        flat += x if isinstance(x, (tuple, list)) else (x,)
    of = Formal("", sampled)
    results = ", ".join(of.term(x).text for x in flat)
    text = f"({', '.join(names)}) -> ({results})"
    return [text] + sampled if sampled else text


# ---- values -----------------------------------------------------------------

class Operands:
    """Operands by name, as an array of the engine's, which lives as long."""

    def __init__(self, schedule, primitive, given):
        self.schedule, self.primitive, self.held = schedule, primitive, []
        self.n = len(given)
        self.args = (_abi.tess_arg * max(self.n, 1))()
        for arg, (name, value) in zip(self.args, given.items()):
            arg.name = name.encode()
            self.fill(arg.value, value, name)

    def _values(self, n):
        values = (_abi.tess_value * max(n, 1))()
        self.held.append(values)
        return values

    def _list(self, out, kind, values, name, depth):
        out.kind, out.n = kind, len(values)
        out.list = self._values(out.n)
        for i, value in enumerate(values):
            self.fill(out.list[i], value, name, depth + 1)

    def fill(self, out, value, name, depth=0):
        if depth > _MAX_DEPTH:
            raise ValueError(f"{self.primitive}: operand '{name}' nests too "
                             "deep")
        if callable(value) and not isinstance(value, (RV, type)):
            value = index_map(value)
        if value is None:
            out.kind = _abi.TESS_V_NIL
        elif isinstance(value, bool):
            out.kind, out.i = _abi.TESS_V_BOOL, value
        elif isinstance(value, numbers.Integral):
            out.kind, out.i = _abi.TESS_V_INT, int(value)
        elif isinstance(value, numbers.Real):
            out.kind, out.f = _abi.TESS_V_REAL, float(value)
        elif isinstance(value, str):
            out.kind = _abi.TESS_V_STR
            out.s = raw(value, f"{self.primitive}: operand '{name}'")
        elif isinstance(value, Auto):
            out.kind = _abi.TESS_V_AUTO
        elif isinstance(value, RV):
            self._variable(out, value, name, depth)
        elif isinstance(value, (list, tuple)):
            self._list(out, _abi.TESS_V_LIST, value, name, depth)
        elif isinstance(value, dict):
            flat = [x for key in sorted(value) for x in (key, value[key])]
            self._list(out, _abi.TESS_V_DICT, flat, name, depth)
        else:
            raise TypeError(f"{self.primitive}: operand '{name}' cannot be "
                            f"of type {type(value).__name__}")

    def _variable(self, out, value, name, depth):
        if not value.op:
            out.kind, out.rv = _abi.TESS_V_RV, self.schedule.number(value)
            return
        out.s = value.op.encode()
        self._list(out, _abi.TESS_V_OP, value.two, name, depth)


def python(value):
    """A value of the engine's as one of Python."""
    kind, n = value.kind, value.n
    if kind == _abi.TESS_V_BOOL:
        return bool(value.i)
    if kind == _abi.TESS_V_INT:
        return value.i
    if kind == _abi.TESS_V_REAL:
        return value.f
    if kind == _abi.TESS_V_STR:
        return value.s.decode()
    if kind == _abi.TESS_V_RV:
        return f"v{value.rv}"
    if kind == _abi.TESS_V_AUTO:
        return auto
    if kind == _abi.TESS_V_LIST:
        return [python(value.list[i]) for i in range(n)]
    if kind == _abi.TESS_V_DICT:
        return {python(value.list[i]): python(value.list[i + 1])
                for i in range(0, n, 2)}
    if kind == _abi.TESS_V_OP:
        a, b = python(value.list[0]), python(value.list[1])
        return f"({a} {value.s.decode()} {b})"
    return None
