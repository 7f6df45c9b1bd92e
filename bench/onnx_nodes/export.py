# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX's node cases, without expansions, for bench/onnx_nodes.lua:
tensors as .npy files, and cases.lua, a table of what each case is.

    python export.py FOLDER
    python export.py --slice FILE    a few small ones of each, values inside
"""
import os
import sys
import warnings

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.backend.test.case import node as node_cases

TYPES = {
    "float16", "float32", "float64", "bfloat16", "bool", "int8", "int16",
    "int32", "int64", "uint8", "uint16", "uint32", "uint64",
}


# Integers of few bits, several in a byte: how many bits, and whether there is a
# sign.
PACKED = {"int4": (4, True), "uint4": (4, False), "int2": (2, True), "uint2": (2, False)}


def quoted(text):
    return '"' + "".join(
        c if 32 <= ord(c) < 127 and c not in '"\\' else "\\%03d" % b
        for c in text
        for b in c.encode()[:1]
    ) + '"'


def lua(x):
    if x is None:
        return "false"
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, (int, np.integer)):
        return "math.mininteger" if x == -(2**63) else str(int(x))
    if isinstance(x, (float, np.floating)):
        x = float(x)
        if x != x:
            return "0/0"
        if abs(x) == float("inf"):
            return "math.huge" if x > 0 else "-math.huge"
        return repr(x)
    if isinstance(x, bytes):
        return quoted(x.decode("utf-8", "replace"))
    if isinstance(x, str):
        return quoted(x)
    if isinstance(x, dict):
        return "{ %s }" % ", ".join(
            "[%s] = %s" % (quoted(k), lua(v)) for k, v in x.items())
    return "{ %s }" % ", ".join(lua(v) for v in x)


def short(v, kind):
    """The shortest number that is the same one of its type."""
    if kind == "float32":
        return float(str(np.float32(v)))
    return v.item() if kind != "bfloat16" else float(v)


class Exporter:
    def __init__(self, folder):
        self.folder, self.count, self.largest = folder, 0, 0

    def tensor(self, x):
        """A tensor as { file, dtype, shape }; a word where it is none."""
        if x is None:
            return None
        if isinstance(x, onnx.TensorProto):
            kind = helper.tensor_dtype_to_string(x.data_type)
            kind = kind.split(".")[-1].lower()
            if kind in ("float", "double"):
                kind = {"float": "float32", "double": "float64"}[kind]
            if kind in PACKED:
                return self.packed(x, *PACKED[kind])
            if kind not in TYPES:
                return {"other": kind}
            x = numpy_helper.to_array(x)
        if not isinstance(x, (np.ndarray, np.generic)):
            return {"other": type(x).__name__}
        x = np.asarray(x)
        if x.dtype.name not in TYPES:
            return {"other": x.dtype.name}
        self.largest = max(self.largest, x.size)
        if not self.folder:
            return {"values": [short(v, x.dtype.name) for v in x.flatten()],
                    "dtype": x.dtype.name, "shape": list(x.shape)}
        name, self.count = "%d.npy" % self.count, self.count + 1
        data = x.astype(np.float32) if x.dtype.name == "bfloat16" else x
        np.save(os.path.join(self.folder, name), np.ascontiguousarray(data).reshape(x.shape))
        return {"file": name, "dtype": x.dtype.name, "shape": list(x.shape)}

    def packed(self, x, bits, signed):
        """Integers of few bits as the bytes they lie in."""
        array = numpy_helper.to_array(x)
        raw = numpy_helper.from_array(array).raw_data
        row = self.tensor(np.frombuffer(raw, np.uint8))
        return {**row, "bits": bits, "signed": signed, "of": list(array.shape)}

    def attribute(self, a):
        x = helper.get_attribute_value(a)
        if isinstance(x, onnx.TensorProto):
            return self.tensor(x)
        if isinstance(x, (list, tuple)) and any(
                isinstance(v, (onnx.TensorProto, onnx.GraphProto)) for v in x):
            return None
        if isinstance(x, (int, float, bytes, str)) or isinstance(
                x, (list, tuple)) or hasattr(x, "__len__"):
            return x
        return {"graph": True}

    def case(self, c):
        graph = c.model.graph
        if len(graph.node) != 1 or len(c.data_sets) < 1:
            return {"name": c.name, "op": graph.node[0].op_type, "nodes": len(graph.node)}
        node = graph.node[0]
        inputs, outputs = c.data_sets[0]
        given = {v.name: x for v, x in zip(graph.input, inputs)}
        given.update((t.name, numpy_helper.to_array(t)) for t in graph.initializer)
        wanted = {v.name: x for v, x in zip(graph.output, outputs)}
        return {
            "name": c.name, "op": node.op_type, "domain": node.domain,
            "opset": max([i.version for i in c.model.opset_import if i.domain == node.domain] or [0]),
            "rtol": c.rtol, "atol": c.atol,
            "inputs": [self.tensor(given.get(n)) if n else None for n in node.input],
            "outputs": [self.tensor(wanted.get(n)) if n else None for n in node.output],
            "attributes": {a.name: self.attribute(a) for a in node.attribute},
        }


def cases():
    return (c for c in node_cases.collect_testcases() if "_expanded" not in c.name)


def write_slice(path, most=48, each=2):
    """Of each operator the first cases whose tensors are small, of packed
    integers and of others."""
    exporter, lines, seen = Exporter(None), [], {}
    for c in cases():
        exporter.largest = 0
        row = exporter.case(c)
        tensors = [x for x in row.get("inputs", []) + row.get("outputs", []) if x]
        kind = row["op"], any("bits" in x for x in tensors)
        other = any("other" in x for x in tensors)
        if (seen.get(kind, 0) >= each or exporter.largest > most or other
                or "nodes" in row):
            continue
        seen[kind] = seen.get(kind, 0) + 1
        lines.append("%s,\n" % lua(row))
    with open(path, "w") as out:
        out.write("-- Some node cases of onnx %s (Apache-2.0), by bench/onnx_nodes/"
                  "export.py --slice.\nreturn {\n%s}\n" % (onnx.__version__, "".join(lines)))


def write_all(folder):
    os.makedirs(folder, exist_ok=True)
    exporter, lines = Exporter(folder), []
    for c in cases():
        lines.append("  %s,\n" % lua(exporter.case(c)))
    with open(os.path.join(folder, "cases.lua"), "w") as out:
        out.write("return { onnx = %s, cases = {\n%s} }\n" % (
            quoted(onnx.__version__), "".join(lines)))
    print("%d cases of onnx %s" % (len(lines), onnx.__version__), file=sys.stderr)


warnings.simplefilter("ignore")
if sys.argv[1] == "--slice":
    write_slice(sys.argv[2])
else:
    write_all(sys.argv[1])
