# SPDX-License-Identifier: Apache-2.0
"""Writes cases of operators as older operator sets had them, with what ONNX
Runtime gives, for tests/lua/onnx_versions.lua:

    python versions.py FILE          (with the pip packages onnx, onnxruntime)
"""
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

from export import Exporter, lua

random = np.random.RandomState(3)


def floats(*shape):
    return random.randn(*shape).astype(np.float32)


CASES = []


def case(op, opset, inputs, outputs=1, constants=(), **attributes):
    """A node of some arrays; `constants`: which are weights."""
    inputs = [x if x is None else np.asarray(x) for x in inputs]
    names = ["x%d" % i if x is not None else "" for i, x in enumerate(inputs)]
    results = ["y%d" % i for i in range(outputs)]
    node = h.make_node(op, names, results, **attributes)
    given = [(n, x) for i, (n, x) in enumerate(zip(names, inputs))
             if n and i not in constants]
    weights = [nh.from_array(inputs[i], names[i]) for i in constants]
    graph = h.make_graph(
        [node], "node",
        [h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(x.dtype), x.shape)
         for n, x in given],
        [h.make_tensor_value_info(n, T.UNDEFINED, None) for n in results], weights)
    for o in graph.output:
        o.ClearField("type")
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    got = session.run(None, dict(given))
    exporter = Exporter(None)
    CASES.append({
        "name": "%s_%d_%d" % (op.lower(), opset, len(CASES)), "op": op, "rtol": 1e-4,
        "atol": 1e-6, "bytes": model.SerializeToString(),
        "inputs": [exporter.tensor(n, x) for n, x in given],
        "outputs": [exporter.tensor(n, x) for n, x in zip(results, got)]})


x = floats(2, 3, 4)
ints = lambda *v: np.array(v, np.int64)
case("Clip", 7, [x], min=-0.5, max=0.25)
case("Clip", 11, [x, np.float32(-0.5), np.float32(0.25)], constants=(1, 2))
case("Slice", 7, [x], starts=[0, 1], ends=[2, 3], axes=[1, 2])
case("Slice", 10, [x, ints(-1), ints(-9), ints(1), ints(-1)], constants=(1, 2, 3, 4))
case("Pad", 7, [x], pads=[0, 1, 0, 0, 0, 2], value=0.5)
case("Pad", 11, [x, ints(0, 1, 0, 0, 0, 2), np.float32(2)], constants=(1, 2))
case("Squeeze", 7, [floats(1, 3, 1)], axes=[0])
case("Squeeze", 11, [floats(1, 3, 1)])
case("Squeeze", 13, [floats(1, 3, 1), ints(-1)], constants=(1,))
case("Unsqueeze", 7, [floats(3)], axes=[0, 2])
case("Unsqueeze", 13, [floats(3), ints(0, -1)], constants=(1,))
case("Split", 7, [x], outputs=2, axis=2, split=[1, 3])
case("Split", 11, [x], outputs=2, axis=2)
case("Split", 13, [x, ints(1, 2)], outputs=2, axis=1, constants=(1,))
case("Split", 18, [floats(5)], outputs=2, num_outputs=2)
case("ReduceSum", 11, [x], axes=[1], keepdims=0)
case("ReduceSum", 13, [x, ints(-1)], constants=(1,))
case("ReduceMean", 13, [x], axes=[0, 2])
case("ReduceMean", 18, [x, ints(0, 2)], constants=(1,))
case("Softmax", 7, [x], axis=1)
case("Softmax", 11, [x])
case("Softmax", 13, [x], axis=1)
case("LogSoftmax", 11, [x], axis=0)
case("Hardmax", 11, [x], axis=1)
case("TopK", 7, [x], outputs=2, k=2)
case("TopK", 10, [x, ints(2)], outputs=2, constants=(1,))
case("TopK", 11, [x, ints(2)], outputs=2, constants=(1,), largest=0)
case("Dropout", 7, [x])
case("Dropout", 12, [x])
case("BatchNormalization", 7, [floats(1, 2, 3), floats(2), floats(2), floats(2),
                               np.abs(floats(2)) + 1])
case("BatchNormalization", 9, [floats(1, 2, 3), floats(2), floats(2), floats(2),
                               np.abs(floats(2)) + 1], epsilon=0.1)
case("Upsample", 7, [floats(1, 1, 2, 2)], scales=[1.0, 1.0, 2.0, 3.0])
case("Upsample", 9, [floats(1, 1, 2, 2), np.array([1, 1, 2, 2], np.float32)],
     mode="linear", constants=(1,))
case("Resize", 10, [floats(1, 1, 2, 2), np.array([1, 1, 2, 2], np.float32)],
     mode="linear", constants=(1,))
case("Resize", 11, [floats(1, 1, 2, 2), np.zeros(0, np.float32),
                    np.array([1, 1, 2, 2], np.float32)], mode="linear",
     constants=(1, 2))
case("Resize", 11, [floats(1, 1, 2, 2), np.zeros(0, np.float32),
                    np.zeros(0, np.float32), ints(1, 1, 3, 3)], mode="linear",
     coordinate_transformation_mode="align_corners", constants=(1, 2, 3))
case("Cast", 7, [x], to=T.INT32)
case("Gemm", 7, [floats(2, 3), floats(3, 4), floats(4)], alpha=0.5, beta=2.0)
case("Gemm", 11, [floats(2, 3), floats(4, 3)], transB=1)
case("AveragePool", 7, [floats(1, 1, 4, 4)], kernel_shape=[3, 3], pads=[1] * 4,
     count_include_pad=1)
case("AveragePool", 10, [floats(1, 1, 5, 5)], kernel_shape=[2, 2], strides=[2, 2],
     ceil_mode=1)
case("MaxPool", 7, [floats(1, 1, 4, 4)], kernel_shape=[2, 2], auto_pad="SAME_UPPER")
case("Flatten", 7, [x], axis=2)
case("Flatten", 11, [x], axis=-1)
case("Scatter", 9, [floats(3, 3), np.array([[0, 2, 1]], np.int64), floats(1, 3)])
case("ArgMax", 7, [x], axis=1, keepdims=0)
case("ConstantOfShape", 9, [ints(2, 2)], constants=(0,))
case("OneHot", 9, [ints(0, 2), ints(3), floats(2)], constants=(1, 2))
case("Where", 9, [floats(2, 2) > 0, floats(2, 2), floats(2, 2)])
case("Pow", 7, [np.abs(x), floats(1)])
case("Pow", 12, [x, ints(2)], constants=(1,))
case("Mod", 10, [ints(-4, 5), ints(3, -3)])
case("QuantizeLinear", 10, [x, np.float32(0.1), np.uint8(3)], constants=(1, 2))
case("DequantizeLinear", 13, [np.arange(6, dtype=np.int8).reshape(2, 3),
                              np.array([0.5, 2, 1], np.float32),
                              np.array([1, 0, 2], np.int8)], constants=(1, 2), axis=1)
case("ConvInteger", 10, [np.arange(9, dtype=np.uint8).reshape(1, 1, 3, 3),
                         np.array([[[[1, 2], [3, 4]]]], np.uint8), np.uint8(1)],
     pads=[1] * 4, constants=(1, 2))
case("QLinearConv", 10, [
    random.randint(0, 255, (1, 2, 4, 4)).astype(np.uint8), np.float32(0.02), np.uint8(120),
    random.randint(-9, 9, (3, 2, 3, 3)).astype(np.int8),
    np.array([0.01, 0.02, 0.03], np.float32), np.zeros(3, np.int8), np.float32(0.05),
    np.uint8(128), np.array([5, -20, 9], np.int32)],
     pads=[1] * 4, constants=(1, 2, 3, 4, 5, 6, 7, 8))
case("MatMulInteger", 10, [np.arange(6, dtype=np.uint8).reshape(2, 3),
                           np.arange(6, dtype=np.int8).reshape(3, 2), np.uint8(2)])
case("LSTM", 7, [floats(3, 1, 2), floats(1, 8, 2), floats(1, 8, 2), floats(1, 16)],
     outputs=3, hidden_size=2)
case("GRU", 7, [floats(3, 1, 2), floats(2, 6, 2), floats(2, 6, 2), floats(2, 12)],
     outputs=2, hidden_size=2, direction="bidirectional", linear_before_reset=1)
case("GroupNormalization", 21, [floats(1, 4, 3), floats(4), floats(4)], num_groups=2)

with open(sys.argv[1], "w") as out:
    out.write("-- Cases of older operator sets and what ONNX Runtime gives, by bench/"
              "onnx_files/versions.py.\nreturn {\n%s}\n" % "".join("%s,\n" % lua(c) for c in CASES))
print(len(CASES), "cases")
