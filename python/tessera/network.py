# SPDX-License-Identifier: Apache-2.0
"""Whole models: read from ONNX files, tuned, run and saved."""
import ctypes
import numbers
import os

from . import _abi, dtypes
from ._native import array, lib, new, raw, text
from .context import Object, current
from .kernel import as_target
from .tasks import Tasks, tasks_options
from .tensor import Tensor, are_arrays, as_tensor, new_tensor
from .tune import declared, fill


class Value:
    """An input or an output: name, shape and dtype."""

    def __init__(self, name, info):
        self.name, self._type = name, info.type.dtype
        self.dtype = dtypes.show(self._type)
        self.shape = tuple(d.extent
                           for d in info.type.dim[:info.type.ndim])

    def __repr__(self):
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


class Outputs(tuple):
    """Of a model with several: in order, and by name, y["boxes"]."""

    def __new__(cls, names, values):
        made = super().__new__(cls, values)
        made.names = names
        return made

    def __getitem__(self, key):
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.names:
            raise KeyError(f"there is no output '{key}', but "
                           + ", ".join(self.names))
        return super().__getitem__(self.names.index(key))


class _Graph(Object):
    struct, free = _abi.tess_graph, "tess_graph_free"

    def _values(self, function):
        """The numbers of the inputs, or of the outputs."""
        out = ctypes.POINTER(_abi.tess_gvalue)()
        with self.context.lock:
            return out[:self.get(function, out)]

    def _value(self, number, name=None):
        with self.context.lock:
            info = self.info("tess_graph_value", _abi.tess_gvalue_info, number)
            return Value(text(info.name) if name is None else name, info)

    def inputs(self):
        return [self._value(v) for v in self._values("tess_graph_inputs")]

    def outputs(self):
        return [self._value(v, text(self.get("tess_graph_output_name", i)))
                for i, v in enumerate(self._values("tess_graph_outputs"))]


class _Network(Object):
    struct, free = _abi.tess_network, "tess_network_free"


class Network:
    """A model that runs.  Called with its inputs, in order or by name, it
    gives the output, or several as Outputs: arrays of NumPy where such were
    given, else tensors.  str() of it is the graph, with its kernels' groups.

    name; inputs and outputs: lists of values with name, shape and dtype;
    tasks: the results of what chose its kernels, one for each kernel, or None
    where it has no kernel.
    """

    def __init__(self, graph, target, options):
        self._graph, self._target, self._options = graph, target, options
        self.context = graph.context
        self.name = text(graph.get("tess_graph_name"))
        self.inputs, self.outputs = graph.inputs(), graph.outputs()
        chosen = new(_abi.tess_tune_options, frozen=1)
        fill(chosen, declared(lib.tess_tune_option), options, "load_model")
        self._compile(new(_abi.tess_tasks_options,
                          tune=ctypes.pointer(chosen)))

    def _compile(self, options):
        found = ctypes.POINTER(_abi.tess_tasks)()
        try:
            self._network = self._graph.make(
                _Network, "tess_graph_compile",
                self._target and self._target.pointer, options, found)
        finally:
            tasks = Tasks(self.context, found) if found else None
        self.tasks = tasks

    def tune(self, *, progress=None, **options):
        """Tunes the kernels under one budget, equal ones once, weighed by how
        often they occur, and gives the results, one for each kernel; the model
        runs the best of them from then on.  progress(text) is called with a
        line for people, and ends the tuning by returning False; True: it is
        printed on stderr.  Further options: those of `tune_tasks`, as trials,
        deadline (seconds), database and seed; of `load_model` they stay."""
        given, held = tasks_options(self.context, progress,
                                    {**self._options, **options},
                                    "Network.tune")
        self._compile(given)
        return self.tasks

    # ---- running ------------------------------------------------------------

    def _given(self, args, named):
        """What is given for each input."""
        names = [v.name for v in self.inputs]
        if len(args) > len(names):
            raise TypeError(f"graph {self.name} has {len(names)} inputs, and "
                            f"got {len(args)}")
        given = dict(zip(names, args))
        for name, value in named.items():
            if name not in names:
                raise TypeError(f"{name} is no input of graph {self.name}, "
                                f"which has {', '.join(names)}")
            if name in given:
                raise TypeError(f"graph {self.name} got its input {name} "
                                "twice")
            given[name] = value
        for v in self.inputs:
            if v.name not in given:
                raise TypeError(f"graph {self.name} needs its input {v}")
        return [given[name] for name in names]

    def _tensors(self, args, named):
        """The tensors of a run, the outputs among them, and whether those are
        wanted as arrays."""
        given = self._given(args, named)
        tensors = [as_tensor(a, self.context,
                             f"input {v.name} of graph {self.name}: ")
                   for v, a in zip(self.inputs, given)]
        made = [new_tensor(self.context, v._type, v.shape, "empty")
                for v in self.outputs]
        return tensors + made, made, are_arrays(given)

    def _run(self, tensors, seconds=None):
        self._network.call("tess_network_run", len(tensors),
                           array(ctypes.POINTER(_abi.tess_tensor),
                                 [t.pointer for t in tensors]), seconds)

    def __call__(self, /, *args, **named):
        tensors, made, arrays = self._tensors(args, named)
        self._run(tensors)
        made = [t.numpy() if arrays else t for t in made]
        if len(made) == 1:
            return made[0]
        return Outputs([v.name for v in self.outputs], made)

    def times(self, /, *args, **named):
        """For each kernel its name and its seconds, the least of five runs, on
        these inputs."""
        tensors, _, _ = self._tensors(args, named)
        names = self.kernels
        best = [float("inf")] * len(names)
        seconds = (ctypes.c_double * len(names))()
        for _ in range(5):
            self._run(tensors, seconds)
            best = list(map(min, best, seconds))
        return list(zip(names, best))

    def set_threads(self, n):
        """On how many threads it runs; 0: as many as there are cores."""
        self._network.get("tess_network_set_threads", n)

    # ---- asking -------------------------------------------------------------

    def _info(self):
        return self._network.info("tess_network_get", _abi.tess_network_info)

    @property
    def kernels(self):
        """The names of the kernels, in the order in which they run."""
        return [text(self._network.get("tess_network_kernel", k))
                for k in range(self._info().kernels)]

    def memory(self):
        """Bytes: of the `arena` in which a run computes; the `bound` below
        which no plan for it is; the `sum` of all that is computed between
        kernels; of constants that were `converted` to other layouts."""
        info = self._info()
        return {name: getattr(info, name + "_bytes")
                for name in ("arena", "bound", "sum", "converted")}

    def dot(self):
        """A drawing of the graph in the language of Graphviz."""
        return self._graph.text("tess_graph_dot")

    def save(self, path, header=None):
        """As a shared library, NAME.so, that needs neither Tessera nor LLVM,
        with a C header."""
        self._network.call("tess_network_save", raw(path, "a path"),
                           header and raw(header, "a path"))

    def __str__(self):
        return self._graph.text("tess_graph_text")

    def __repr__(self):
        return (f"<tessera.Network {self.name}: {len(self.inputs)} inputs, "
                f"{len(self.outputs)} outputs, {self._info().kernels} kernels>")


# ---- loading ----------------------------------------------------------------

_OPTIONS = ("database", "seed", "threads", "kernel_threads")


def _extents(given, name, shape):
    """The shape of an input, or the extent of a size."""
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    for n in shape:
        if not isinstance(n, numbers.Integral):
            raise TypeError(f"the shape of '{name}' has {n!r}, which is no "
                            "integer")
    given.ndim, given.extent = len(shape), array(ctypes.c_int64, shape)


def _contents(context, given, name, value):
    """Contents that are numbers, or copied: whoever has the array may change
    it.  Gives what has to live as long."""
    if isinstance(value, numbers.Real):
        value = [value]
    if isinstance(value, (list, tuple)):
        try:
            exact = all(float(x) == x for x in value)
        except (TypeError, ValueError, OverflowError):
            exact = False
        if not exact:
            raise TypeError(f"the contents of '{name}' are an array, or a list "
                            "of numbers that doubles can hold")
        given.number = array(ctypes.c_double, value)
        given.nnumber = len(value)
        return None
    source = as_tensor(value, context, f"the contents of '{name}': ")
    copy = new_tensor(context, source.get("tess_tensor_dtype"), source.shape,
                      "empty")
    copy.copy_from(source)
    given.tensor = copy.pointer
    return copy


def _all_given(context, shapes, values):
    """Elements of tess_given, and what has to live as long."""
    made, held = [], []
    for name, shape in (shapes or {}).items():
        made.append(new(_abi.tess_given, name=raw(name, "a name")))
        _extents(made[-1], name, shape)
    for name, value in (values or {}).items():
        made.append(new(_abi.tess_given, name=raw(name, "a name")))
        held.append(_contents(context, made[-1], name, value))
    return array(_abi.tess_given, made), len(made), held


def load_model(source, *, shapes=None, values=None, target=None, **options):
    """A model that runs, of an ONNX file: its path, its bytes, or the model as
    the package onnx has it.

    shapes: what the file leaves open, by the names of inputs, {"x": (1, 3, 224,
    224)}, or of sizes, {"batch": 1}; values: contents of inputs that become
    constants, {"use_past": [1]}, numbers or arrays; target: what it is compiled
    for.  database: each kernel has the best schedule that is known there, else
    the default one; nothing is measured (`Network.tune` does that).  Further
    options: seed, threads, kernel_threads."""
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(f"load_model has no option '{name}', but shapes, "
                            f"values, target, {', '.join(_OPTIONS)}")
    c = current()
    target = as_target(target, c)
    given, n, held = _all_given(c, shapes, values)
    if hasattr(source, "SerializeToString"):
        source = source.SerializeToString()
    if isinstance(source, (str, os.PathLike)):
        graph = c.make(_Graph, "tess_graph_import", c.pointer,
                       raw(source, "a path"), n, given)
    else:
        data = source if isinstance(source, bytes) else bytes(
            memoryview(source))
        graph = c.make(_Graph, "tess_graph_import_bytes", c.pointer, data,
                       len(data), n, given)
    return Network(graph, target, options)
