# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX's node cases, without expansions, for bench/onnx_nodes.lua: each
model as a file, its tensors as .npy files, and cases.lua, a table of the cases.

    python export.py FOLDER
    python export.py --slice FILE    a few small ones of each, all in one file
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
# Integers of few bits, which come in the bytes that they lie in.
PACKED = {"int4", "uint4", "int2", "uint2"}


def quoted(text):
    return '"' + "".join(
        chr(b) if 32 <= b < 127 and b not in b'"\\' else "\\%03d" % b
        for b in (text if isinstance(text, bytes) else text.encode())
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
    if isinstance(x, (bytes, str)):
        return quoted(x)
    if isinstance(x, dict):
        return "{ %s }" % ", ".join("%s = %s" % (k, lua(v)) for k, v in x.items())
    return "{ %s }" % ", ".join(lua(v) for v in x)


def short(v, kind):
    """The shortest number that is the same one of its type."""
    if kind == "float32":
        return float(str(np.float32(v)))
    return v.item() if kind != "bfloat16" else float(v)


class Exporter:
    def __init__(self, folder):
        self.folder, self.count, self.largest, self.packed = folder, 0, 0, False

    def tensor(self, name, x):
        """A tensor as { name, file, dtype, shape }; a word where it is none."""
        if isinstance(x, onnx.TensorProto):
            kind = helper.tensor_dtype_to_string(x.data_type).split(".")[-1].lower()
            kind = {"float": "float32", "double": "float64"}.get(kind, kind)
            if kind not in TYPES | PACKED:
                return {"name": name, "other": kind}
            x = numpy_helper.to_array(x)
        if not isinstance(x, (np.ndarray, np.generic)):
            return {"name": name, "other": type(x).__name__}
        x = np.asarray(x)
        if x.dtype.name in PACKED:
            self.packed = True
            x = np.frombuffer(numpy_helper.from_array(x).raw_data, np.uint8)
        if x.dtype.name not in TYPES:
            return {"name": name, "other": x.dtype.name}
        self.largest = max(self.largest, x.size)
        about = {"name": name, "dtype": x.dtype.name, "shape": list(x.shape)}
        if not self.folder:
            about["values"] = [short(v, x.dtype.name) for v in x.flatten()]
            return about
        about["file"], self.count = "%d.npy" % self.count, self.count + 1
        data = x.astype(np.float32) if x.dtype.name == "bfloat16" else x
        np.save(os.path.join(self.folder, about["file"]),
                np.ascontiguousarray(data).reshape(x.shape))
        return about

    def model(self, c):
        if not self.folder:
            return {"bytes": c.model.SerializeToString()}
        name = c.name + ".onnx"
        onnx.save(c.model, os.path.join(self.folder, name))
        return {"model": name}

    def case(self, c):
        graph = c.model.graph
        inputs, outputs = c.data_sets[0]
        return {
            "name": c.name, "op": graph.node[0].op_type, "rtol": c.rtol,
            "atol": c.atol, **self.model(c),
            "inputs": [self.tensor(v.name, x) for v, x in zip(graph.input, inputs)],
            "outputs": [self.tensor(v.name, x) for v, x in zip(graph.output, outputs)],
        }


def cases():
    return (c for c in node_cases.collect_testcases()
            if "_expanded" not in c.name and c.data_sets)


def write_slice(path, most=48, each=2):
    """Of each operator the first cases whose tensors are small, of integers of
    few bits and of others."""
    exporter, lines, seen = Exporter(None), [], {}
    for c in cases():
        exporter.largest, exporter.packed = 0, False
        row = exporter.case(c)
        kind = row["op"], exporter.packed
        other = any("other" in x for x in row["inputs"] + row["outputs"])
        if seen.get(kind, 0) >= each or exporter.largest > most or other:
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


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "--slice":
        write_slice(sys.argv[2])
    else:
        write_all(sys.argv[1])
