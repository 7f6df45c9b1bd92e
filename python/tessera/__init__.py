# SPDX-License-Identifier: Apache-2.0
"""Tessera: probabilistic tensor-program scheduling.

    import tessera as ts

    A, B = ts.placeholder("A", (M, K)), ts.placeholder("B", (K, N))
    k = ts.reduce_axis("k", K)
    C = ts.compute("C", (M, N), lambda i, j: ts.sum(A[i, k] * B[k, j], k))
    result = ts.tune(ts.program("matmul", [A, B], [C]), trials=64)
    c = result.kernel(a, b)     # arrays of NumPy

    model = ts.load_model("resnet18.onnx", shapes={"batch": 1})
    model.tune(trials=2000, database="resnet18.db")
    y = model(x)

docs/python.md goes on from here.
"""
from . import ops, space
from ._native import lib as _lib, text as _text
from .builder import Builder, iteration
from .context import Context, Error, Refused, current
from .database import Database, Record, database
from .describe import (Buffer, compute, constant, placeholder,
                       product as prod, reduce_axis, reduce_max, reduce_min,
                       reducer, size, total as sum)
from .expr import (Expr, Var, bit_cast, call_extern, cast, clamp, const,
                   greatest as max, least as min, select)
from .expr import *  # exp, tanh, ...: functions of one value
from .kernel import Kernel, Target, Timing, build, load_kernel, target
from .network import Network, Outputs, Value, load_model
from .operands import RV, auto
from .ops import program_from_lua
from .program import (Param, Program, check_equivalent, equivalent, interpret,
                      load_program, parse, passes, program, tensor_intrin)
from .schedule import Schedule, schedule
from .session import Candidate, CostModel, Mutator, Session, Strategy
from .space import Module, Space, module
from .tasks import Tasks, tune_tasks
from .tensor import Tensor, as_tensor, load_tensor, tensor
from .trace import (Stepper, Trace, trace_from_json, trace_from_lua,
                    trace_from_tvm_json)
from .tune import Model, Progress, Result, cost_model, load_cost_model, tune

__version__ = _text(_lib.tess_version())


def build_options():
    """How the engine was built, by name: llvm, compiler, checked, libdir, ..
    """
    from ctypes import c_char_p
    from itertools import count
    options, value = {}, c_char_p()
    for i in count():
        name = _lib.tess_build_option(i, value)
        if not name:
            return options
        options[_text(name)] = _text(value.value)
