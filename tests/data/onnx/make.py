# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX files that tests read, into the folder of this file:
    python make.py        (with the pip packages onnx and numpy)
"""
import os

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

here = os.path.dirname(os.path.abspath(__file__))
random = np.random.RandomState(1)


def floats(name, *shape):
    return nh.from_array(random.randn(*shape).astype(np.float32), name)


def value(name, shape, kind=T.FLOAT):
    return h.make_tensor_value_info(name, kind, shape)


def save(name, graph, opset=17, functions=(), domains=(), **more):
    imports = [h.make_opsetid("", opset)] + [h.make_opsetid(d, 1) for d in domains]
    model = h.make_model(graph, opset_imports=imports, functions=functions,
                         producer_name="tessera")
    onnx.save(model, os.path.join(here, name), **more)


# A bit of all that a file can have.
scaled = h.make_function(
    "local", "Scaled", ["x"], ["y"],
    [h.make_node("Constant", [], ["by"]), h.make_node("Mul", ["x", "by"], ["y"])],
    [h.make_opsetid("", 17)], ["by"])
reference = scaled.node[0].attribute.add()
reference.name, reference.ref_attr_name = "value_float", "by"
reference.type = onnx.AttributeProto.FLOAT


def branch(name, op):
    return h.make_graph([h.make_node(op, ["c"], [name])], name, [], [value(name, None)])


save("parts.onnx", h.make_graph([
    h.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
    h.make_node("If", ["yes"], ["r"], name="choice",
                then_branch=branch("t", "Relu"), else_branch=branch("e", "Neg")),
    h.make_node("Scaled", ["r"], ["s"], name="call", domain="local", by=0.5),
    h.make_node("Reshape", ["s", "to"], ["y"], name="flat"),
], "parts", [value("x", ["batch", 3, 4, 4])], [value("y", ["batch", 32])], [
    floats("w", 2, 3, 3, 3),
    h.make_tensor("b", T.FLOAT, [2], [0.5, -0.25]),
    h.make_tensor("yes", T.BOOL, [], [True]),
    h.make_tensor("to", T.INT64, [2], [0, -1]),
]), functions=[scaled], domains=["local"])

# Weights in a file beside it, which onnx would append to.
weights = os.path.join(here, "beside.weights")
if os.path.exists(weights):
    os.remove(weights)
save("beside.onnx", h.make_graph(
    [h.make_node("MatMul", ["x", "w"], ["y"])], "beside",
    [value("x", [2, 8])], [value("y", [2, 4])], [floats("w", 8, 4)]),
     save_as_external_data=True, location="beside.weights", size_threshold=0)

# Nodes that are not supported, one of which takes what another gives.
save("refused.onnx", h.make_graph([
    h.make_node("Multinomial", ["x"], ["m"], name="a"),
    h.make_node("Fused", ["x"], ["f"], name="b", domain="other"),
    h.make_node("Relu", ["f"], ["r"], name="c"),
    h.make_node("Reshape", ["x", "to"], ["y"], name="d"),
], "refused", [value("x", [2, 8]), value("to", [1], T.INT64)],
    [value("m", [2, 1], T.INT32), value("r", [2, 8]), value("y", [16])], []),
     domains=["other"])

# A loop of three iterations, which carries a sum and lists its values.
save("loop.onnx", h.make_graph([
    h.make_node("Loop", ["three", "", "x"], ["last", "all"], name="loop",
                body=h.make_graph([
                    h.make_node("Add", ["sum", "step"], ["next"]),
                    h.make_node("Identity", ["next"], ["each"]),
                    h.make_node("Identity", ["go"], ["goes"]),
                ], "body", [value("i", [], T.INT64), value("go", [], T.BOOL),
                            value("sum", [4])],
                    [value("goes", [], T.BOOL), value("next", [4]),
                     value("each", [4])])),
], "loop", [value("x", [4])], [value("last", [4]), value("all", [3, 4])],
    [floats("step", 4), h.make_tensor("three", T.INT64, [], [3])]))

# Convolutions of bytes, sampling, signals, and layers that keep a state.
save("layers.onnx", h.make_graph([
    h.make_node("ConvInteger", ["u", "v", "uz"], ["ci"]),
    h.make_node("QLinearConv", ["u", "us", "uz", "v", "us", "vz", "us", "uz"], ["qc"]),
    h.make_node("AffineGrid", ["theta", "size"], ["grid"]),
    h.make_node("GridSample", ["image", "grid"], ["gs"]),
    h.make_node("ReduceSum", ["image"], ["rs"], noop_with_empty_axes=1),
    h.make_node("STFT", ["signal", "step", "window"], ["st"]),
    h.make_node("CausalConvWithState", ["seq", "cw"], ["cc", "cp"],
                activation="silu"),
    h.make_node("LinearAttention", ["q", "q", "q"], ["la", "ls"], q_num_heads=2,
                kv_num_heads=2, update_rule="linear"),
], "layers", [
    value("u", [1, 2, 5], T.UINT8), value("v", [3, 2, 2], T.INT8),
    value("theta", [1, 2, 3]), value("image", [1, 2, 3, 4]),
    value("signal", [1, 8, 1]), value("seq", [1, 2, 5]), value("q", [1, 3, 4])],
    [value("ci", [1, 3, 4], T.INT32), value("qc", [1, 3, 4], T.UINT8),
     value("gs", [1, 2, 2, 2]), value("rs", [1, 2, 3, 4]),
     value("st", [1, 2, 3, 2]), value("cc", [1, 2, 5]), value("cp", [1, 2, 2]),
     value("la", [1, 3, 4]), value("ls", [1, 2, 2, 2])],
    [h.make_tensor("uz", T.UINT8, [], [3]), h.make_tensor("vz", T.INT8, [], [1]),
     h.make_tensor("us", T.FLOAT, [], [0.5]),
     h.make_tensor("size", T.INT64, [4], [1, 2, 2, 2]),
     h.make_tensor("step", T.INT64, [], [4]), floats("window", 4),
     floats("cw", 2, 1, 3)]), opset=28)

# Integers of few bits: weights in raw data and in a list, a constant, an output.
four = h.make_tensor("w", T.INT4, [3, 3], [-8, -1, 0, 1, 7, 2, -3, 4, 5])
raw = nh.from_array(nh.to_array(four), "raw")
two = h.make_tensor("two", T.UINT2, [2, 3], [0, 1, 2, 3, 2, 1])
save("bits.onnx", h.make_graph([
    h.make_node("DequantizeLinear", ["w", "half"], ["a"]),
    h.make_node("DequantizeLinear", ["raw", "half"], ["b"]),
    h.make_node("Sub", ["a", "b"], ["zero"]),
    h.make_node("Add", ["x", "a"], ["y"]),
    h.make_node("Constant", [], ["c"], value=two),
    h.make_node("Transpose", ["c"], ["t"]),
    h.make_node("QuantizeLinear", ["x", "half"], ["q"], output_dtype=T.INT4),
], "bits", [value("x", [3, 3])],
    [value("y", [3, 3]), value("zero", [3, 3]), value("t", [3, 2], T.UINT2),
     value("q", [3, 3], T.INT4)],
    [four, raw, h.make_tensor("half", T.FLOAT, [], [0.5])]), opset=25)

# A list of one scale is of the whole tensor, whatever dimension 'axis' says.
save("one_scale.onnx", h.make_graph([
    h.make_node("QuantizeLinear", ["x", "half", "one"], ["q"]),
    h.make_node("DequantizeLinear", ["q", "half", "one"], ["y"]),
], "one_scale", [value("x", [3])], [value("y", [3])],
    [h.make_tensor("half", T.FLOAT, [1], [0.5]),
     h.make_tensor("one", T.UINT8, [], [1])]), opset=13)

# As many elements as the data decides, of another type and by another name.
save("counted.onnx", h.make_graph([
    h.make_node("NonZero", ["x"], ["at"]),
    h.make_node("Cast", ["at"], ["few"], to=T.INT32),
    h.make_node("Identity", ["few"], ["y"]),
], "counted", [value("x", [2, 3])], [value("y", [2, "n"], T.INT32)]), opset=17)

# And nodes whose results have as many elements, each of one alone.
moved = [
    h.make_node("NonZero", ["x"], ["at"]),
    h.make_node("Transpose", ["at"], ["rows"], perm=[1, 0]),
    h.make_node("GatherND", ["x", "rows"], ["found"]),
    h.make_node("Gather", ["at", "one"], ["column"], axis=0),
    h.make_node("Gather", ["table", "column"], ["pairs"]),
]
tables = [h.make_tensor("one", T.INT64, [], [1]),
          h.make_tensor("last", T.INT64, [1], [-1]),
          h.make_tensor("table", T.FLOAT, [3, 2], [0, 1, 2, 3, 4, 5])]
save("counted_rows.onnx", h.make_graph(moved + [
    h.make_node("Split", ["pairs"], ["a", "b"], axis=1),
    h.make_node("Unsqueeze", ["found", "last"], ["f"]),
    h.make_node("Concat", ["b", "a", "f"], ["joined"], axis=1),
    h.make_node("Mul", ["joined", "by"], ["scaled"]),
    h.make_node("MatMul", ["scaled", "m"], ["product"]),
    h.make_node("Reshape", ["product", "to"], ["y"]),
    h.make_node("Greater", ["found", "half"], ["large"]),
    h.make_node("Where", ["large", "found", "half"], ["kept"]),
    h.make_node("Slice", ["joined", "one1", "three", "one1"], ["z"]),
], "counted_rows", [value("x", [2, 3])],
    [value("y", [1, "n", 2]), value("kept", ["n"]), value("z", ["n", 2])], tables + [
        h.make_tensor("by", T.FLOAT, [3], [1, 10, 100]),
        h.make_tensor("m", T.FLOAT, [3, 2], [1, 0, 1, 0, 0, 1]),
        h.make_tensor("half", T.FLOAT, [], [0.5]),
        h.make_tensor("to", T.INT64, [3], [1, -1, 2]),
        h.make_tensor("one1", T.INT64, [1], [1]),
        h.make_tensor("three", T.INT64, [1], [3])]), opset=17)
# And such as need to know how many there are.
save("counted_refused.onnx", h.make_graph(moved + [
    h.make_node("ReduceSum", ["found"], ["sum"], name="sum", keepdims=0),
    h.make_node("Slice", ["found", "zero", "two"], ["few"], name="few"),
    h.make_node("Slice", ["found", "last", "back", "zero", "last"], ["turned"],
                name="turned"),
    h.make_node("Gather", ["pairs", "zero"], ["first"], name="first"),
    h.make_node("Concat", ["found", "found"], ["both"], name="both", axis=0),
    h.make_node("Add", ["found", "vector"], ["added"], name="added"),
    h.make_node("Shape", ["pairs"], ["shape"], name="shape"),
    h.make_node("MatMul", ["found", "vector"], ["dot"], name="dot"),
    h.make_node("Reshape", ["pairs", "last"], ["flat"], name="flat"),
], "counted_refused", [value("x", [2, 3])],
    [value("sum", []), value("few", [2]), value("turned", ["n"]), value("first", [1, 2]),
     value("both", ["m"]), value("added", [6]), value("shape", [2], T.INT64),
     value("dot", []), value("flat", ["m"])], tables + [
        h.make_tensor("zero", T.INT64, [1], [0]),
        h.make_tensor("two", T.INT64, [1], [2]),
        h.make_tensor("back", T.INT64, [1], [-100]),
        h.make_tensor("vector", T.FLOAT, [6], [1] * 6)]), opset=17)

# Sizes that several inputs leave open.
save("open.onnx", h.make_graph([
    h.make_node("Concat", ["x", "past"], ["y"], axis=1),
], "open", [value("x", ["batch", "n"]), value("past", ["batch", "m"])],
    [value("y", ["batch", "sum"])]), opset=17)

# Inputs that decide a branch and a shape.
save("decided.onnx", h.make_graph([
    h.make_node("Not", ["use_past"], ["no"]),
    h.make_node("Identity", ["x"], ["c"]),
    h.make_node("If", ["no"], ["r"], name="choice",
                then_branch=branch("t", "Relu"), else_branch=branch("e", "Neg")),
    h.make_node("Reshape", ["r", "to"], ["y"], name="flat"),
], "decided", [value("x", [2, 3]), value("use_past", [], T.BOOL), value("to", ["n"], T.INT64)],
    [value("y", ["a", "b"])]), opset=17)

# Sizes that have one name, and nothing else in common.
save("unnamed.onnx", h.make_graph([
    h.make_node("Concat", ["x", "past"], ["y"], axis=0),
], "unnamed", [value("x", ["?", "?"]), value("past", ["?", "?"])],
    [value("y", ["?", "?"])]), opset=17)

# A list without elements, as detectors write it before a shape.
save("empty.onnx", h.make_graph([
    h.make_node("ConstantOfShape", ["none"], ["nothing"],
                value=h.make_tensor("of", T.INT64, [1], [7])),
    h.make_node("Shape", ["x"], ["s"]),
    h.make_node("Concat", ["nothing", "s", "one"], ["to"], axis=0),
    h.make_node("Reshape", ["x", "to"], ["y"]),
], "empty", [value("x", [2, 3])], [value("y", [2, 3, 1])],
    [h.make_tensor("none", T.INT64, [1], [0]), h.make_tensor("one", T.INT64, [1], [1])]))

# ONNX Runtime's layer of weights that are bytes: of one scale for a direction,
# and of one for each column, without zero points; and the same in floats.
def lstm_bytes():
    w = random.randint(-90, 90, (2, 3, 16)).astype(np.int8)
    r = random.randint(-90, 90, (2, 4, 16)).astype(np.int8)
    ws, rs = np.float32([0.01, 0.02]), np.float32(random.rand(2, 16) / 50)
    wz = np.int8([3, -2])
    wf = (w.astype(np.float32) - wz[:, None, None]) * ws[:, None, None]
    rf = r.astype(np.float32) * rs[:, None, :]
    more = {"hidden_size": 4, "direction": "bidirectional"}
    save("lstm_bytes.onnx", h.make_graph([
        h.make_node("DynamicQuantizeLSTM",
                    ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", ""], ["y"],
                    domain="com.microsoft", **more),
        h.make_node("LSTM", ["x", "wf", "rf", "b"], ["z"], **more),
    ], "lstm_bytes", [value("x", [5, 2, 3])],
        [value("y", [5, 2, 2, 4]), value("z", [5, 2, 2, 4])],
        [nh.from_array(a, k) for k, a in [
            ("w", w), ("r", r), ("ws", ws), ("wz", wz), ("rs", rs),
            ("wf", wf.transpose(0, 2, 1)), ("rf", rf.transpose(0, 2, 1))]] +
        [floats("b", 2, 32)]), domains=["com.microsoft"])


lstm_bytes()
