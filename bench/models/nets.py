# SPDX-License-Identifier: Apache-2.0
"""Nets of convolutions with seeded weights, as ONNX graphs."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh


class Builder:
    """A graph in the making: a call adds a node and gives its output's name."""

    def __init__(self, name, seed=1):
        self.name, self.nodes, self.weights = name, [], []
        self.inputs, self.outputs = [], []
        self.random = np.random.default_rng(seed)

    def input(self, name, shape, kind=T.FLOAT):
        self.inputs.append(h.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name, value, shape, kind=T.FLOAT):
        self("Identity", value, outputs=[name])
        self.outputs.append(h.make_tensor_value_info(name, kind, shape))

    def __call__(self, op, *inputs, outputs=1, **attributes):
        if isinstance(outputs, int):
            base = "%s_%d" % (op.lower(), len(self.nodes))
            outputs = [base if outputs == 1 else "%s_%d" % (base, i) for i in range(outputs)]
        self.nodes.append(h.make_node(op, list(inputs), outputs, name="%s_%d" % (op, len(self.nodes)),
                                      **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def constant(self, array):
        name = "w%d" % len(self.weights)
        self.weights.append(nh.from_array(np.array(array, order="C"), name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def normal(self, *shape, scale=None):
        fan_in = int(np.prod(shape[1:])) or 1
        x = self.random.standard_normal(shape, dtype=np.float32)
        return self.constant(x * np.float32(np.sqrt(2.0 / fan_in) if scale is None else scale))

    def model(self, opset=17):
        graph = h.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8,
                            producer_name="tessera")


class Images(Builder):
    """What nets on images have."""

    def conv(self, x, ci, co, k, stride=1, pad=None, groups=1, bias=False):
        pad = k // 2 if pad is None else pad
        inputs = [x, self.normal(co, ci // groups, k, k)]
        if bias:
            inputs.append(self.normal(co, scale=0.1))
        return self("Conv", *inputs, kernel_shape=[k, k], strides=[stride] * 2,
                    pads=[pad] * 4, group=groups)

    def norm(self, x, c):
        r = self.random
        return self("BatchNormalization", x,
                    self.constant(r.uniform(0.5, 1.0, c).astype(np.float32)),
                    self.constant(r.uniform(-0.1, 0.1, c).astype(np.float32)),
                    self.constant(r.uniform(-0.1, 0.1, c).astype(np.float32)),
                    self.constant(r.uniform(0.8, 1.2, c).astype(np.float32)))

    def relu6(self, x):
        return self("Clip", x, self.constant(np.float32(0)), self.constant(np.float32(6)))

    def classes(self, x, c, n):
        x = self("Flatten", self("GlobalAveragePool", x))
        x = self("Gemm", x, self.normal(n, c, scale=c ** -0.5), self.normal(n, scale=0.1), transB=1)
        self.output("scores", x, [1, n])


def resnet(depth, small=False):
    counts = {18: [2, 2, 2, 2], 50: [3, 4, 6, 3]}[depth]
    wide, classes, size = (8, 10, 32) if small else (64, 1000, 224)
    grow = 4 if depth >= 50 else 1
    if small:
        counts = counts[:1] + [1]
    b = Images("resnet%d" % depth)
    x = b.input("image", [1, 3, size, size])
    x = b("Relu", b.norm(b.conv(x, 3, wide, 7, 2), wide))
    x = b("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    ci = wide
    for stage, count in enumerate(counts):
        mid = wide << stage
        for i in range(count):
            stride = 2 if i == 0 and stage else 1
            y = x
            steps = [(ci, mid, 1, 1), (mid, mid, 3, stride), (mid, mid * 4, 1, 1)] if grow == 4 \
                else [(ci, mid, 3, stride), (mid, mid, 3, 1)]
            for k, (a, c, size_, s) in enumerate(steps):
                y = b.norm(b.conv(y, a, c, size_, s), c)
                if k + 1 < len(steps):
                    y = b("Relu", y)
            if i == 0 and (stride > 1 or ci != mid * grow):
                x = b.norm(b.conv(x, ci, mid * grow, 1, stride), mid * grow)
            x, ci = b("Relu", b("Add", y, x)), mid * grow
    b.classes(x, ci, classes)
    return b.model()


def mobilenet_v1(small=False):
    size, scale, classes = (32, 8, 10) if small else (224, 1, 1000)
    rows = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * 5 + \
        [(1024, 2), (1024, 1)]
    b, ci = Images("mobilenet_v1"), 32 // scale
    x = b.input("image", [1, 3, size, size])
    x = b("Relu", b.norm(b.conv(x, 3, ci, 3, 2), ci))
    for co, stride in rows[:3] if small else rows:
        co //= scale
        x = b("Relu", b.norm(b.conv(x, ci, ci, 3, stride, groups=ci), ci))
        x = b("Relu", b.norm(b.conv(x, ci, co, 1), co))
        ci = co
    b.classes(x, ci, classes)
    return b.model()


def mobilenet_v2(small=False):
    size, scale, classes = (32, 4, 10) if small else (224, 1, 1000)
    rows = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
            (6, 160, 3, 2), (6, 320, 1, 1)]
    b, ci = Images("mobilenet_v2"), 32 // scale
    x = b.input("image", [1, 3, size, size])
    x = b.relu6(b.norm(b.conv(x, 3, ci, 3, 2), ci))
    for t, c, n, s in rows[:2] if small else rows:
        co = c // scale
        for i in range(n):
            y, mid = x, ci * t
            if t > 1:
                y = b.relu6(b.norm(b.conv(y, ci, mid, 1), mid))
            y = b.relu6(b.norm(b.conv(y, mid, mid, 3, s if i == 0 else 1, groups=mid), mid))
            y = b.norm(b.conv(y, mid, co, 1), co)
            x = b("Add", x, y) if ci == co and (i > 0 or s == 1) else y
            ci = co
    last = 1280 // scale // (8 if small else 1)
    x = b.relu6(b.norm(b.conv(x, ci, last, 1), last))
    b.classes(x, last, classes)
    return b.model()


def inception_v1(small=False):
    size, scale, classes = (32, 8, 10) if small else (224, 1, 1000)
    rows = [(64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None,
            (192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64),
            (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128), None,
            (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)]
    b, first = Images("inception_v1"), 64 // scale

    def conv(x, ci, co, k, stride=1):
        return b("Relu", b.conv(x, ci, co, k, stride, bias=True))

    def pool(x):
        return b("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])

    def lrn(x):
        return b("LRN", x, size=5, alpha=1e-4, beta=0.75, bias=1.0)

    x = b.input("image", [1, 3, size, size])
    x = lrn(pool(conv(x, 3, first, 7, 2)))
    x = conv(x, first, first, 1)
    x = pool(lrn(conv(x, first, 3 * first, 3)))
    ci = 3 * first
    for row in rows[:2] if small else rows:
        if row is None:
            x = pool(x)
            continue
        a, c3r, c3, c5r, c5, cp = (max(v // scale, 1) for v in row)
        p = b("MaxPool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4)
        x = b("Concat", conv(x, ci, a, 1), conv(conv(x, ci, c3r, 1), c3r, c3, 3),
              conv(conv(x, ci, c5r, 1), c5r, c5, 5), conv(p, ci, cp, 1), axis=1)
        ci = a + c3 + c5 + cp
    b.classes(b("Dropout", x), ci, classes)
    return b.model()


def dqn(small=False):
    size, scale, actions = (36, 8, 4) if small else (84, 1, 18)
    b, co = Images("dqn"), 32 // scale
    x = b.input("frames", [1, 4, size, size])
    x = b("Relu", b.conv(x, 4, co, 8, 4, pad=0, bias=True))
    x = b("Relu", b.conv(x, co, 2 * co, 4, 2, pad=0, bias=True))
    x = b("Relu", b.conv(x, 2 * co, 2 * co, 3 if not small else 1, 1, pad=0, bias=True))
    side = ((size - 8) // 4 + 1 - 4) // 2 + 1 - (0 if small else 2)
    flat, hidden = 2 * co * side * side, 512 // scale
    x = b("Flatten", x)
    x = b("Relu", b("Gemm", x, b.normal(hidden, flat), b.normal(hidden, scale=0.1), transB=1))
    x = b("Gemm", x, b.normal(actions, hidden), b.normal(actions, scale=0.1), transB=1)
    b.output("values", x, [1, actions])
    return b.model()


def dcgan(small=False):
    wide, latent = (8, 16) if small else (64, 100)
    b = Images("dcgan")
    x = b.input("noise", [1, latent, 1, 1])
    channels = [latent, 8 * wide, 4 * wide, 2 * wide, wide, 3]
    if small:
        channels = [latent, 2 * wide, wide, 3]
    for i, (ci, co) in enumerate(zip(channels, channels[1:])):
        stride, pad = (1, 0) if i == 0 else (2, 1)
        x = b("ConvTranspose", x, b.normal(ci, co, 4, 4, scale=(ci * 4) ** -0.5),
              kernel_shape=[4, 4], strides=[stride] * 2, pads=[pad] * 4)
        if i + 2 < len(channels):
            x = b("Relu", b.norm(x, co))
    side = 4 << (len(channels) - 3) if small else 64
    side = 4 * 2 ** (len(channels) - 2)
    b.output("image", b("Tanh", x), [1, 3, side, side])
    return b.model()


class Quantized(Images):
    """What quantized exports have: each value as bytes, dequantized before an operator."""

    def bytes(self, x, scale, zero=0, kind=np.uint8):
        parameters = self.constant(np.float32(scale)), self.constant(kind(zero))
        return self("DequantizeLinear", self("QuantizeLinear", x, *parameters), *parameters)

    def codes(self, *shape, axis=0):
        """Of int8, with a scale for each channel of the result."""
        fan_in = int(np.prod(shape)) // shape[axis]
        x = self.random.standard_normal(shape, dtype=np.float32) * np.sqrt(2.0 / fan_in)
        others = tuple(d for d in range(len(shape)) if d != axis)
        scale = (np.abs(x).max(axis=others) / 127).astype(np.float32)
        along = [-1 if d == axis else 1 for d in range(len(shape))]
        q = np.round(x / scale.reshape(along)).astype(np.int8)
        w = self("DequantizeLinear", self.constant(q), self.constant(scale),
                 self.constant(np.zeros(shape[axis], np.int8)), axis=axis)
        return w, scale

    def conv(self, x, ci, co, k, stride=1, scale=4 / 255, **more):
        """x: quantized by `scale`; the bias is of int32, in units of both scales."""
        w, steps = self.codes(co, ci, k, k)
        unit = (steps * np.float32(scale)).astype(np.float32)
        bias = self.random.integers(-2000, 2000, co).astype(np.int32)
        b = self("DequantizeLinear", self.constant(bias), self.constant(unit),
                 self.constant(np.zeros(co, np.int32)), axis=0)
        return self("Conv", x, w, b, kernel_shape=[k, k], strides=[stride] * 2, pads=[k // 2] * 4)


def quantized(small=False):
    """A net with residual blocks as exporters quantize it."""
    size, wide, classes, blocks = (16, 8, 10, 1) if small else (112, 64, 1000, 4)
    b = Quantized("quantized")
    step = 4 / 255
    x = b.bytes(b.input("image", [1, 3, size, size]), step, 3)
    x = b.bytes(b("Relu", b.conv(x, 3, wide, 3, 2)), step)
    x = b.bytes(b("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), step)
    for _ in range(blocks):
        y = b.bytes(b("Relu", b.conv(x, wide, wide, 3)), step)
        y = b.bytes(b.conv(y, wide, wide, 3), 8 / 255, -5, np.int8)
        x = b.bytes(b("Relu", b("Add", x, y)), step)
    x = b.bytes(b("GlobalAveragePool", x), step)
    x = b("Reshape", x, b.ints(1, wide))
    w, _ = b.codes(wide, classes, axis=1)
    x = b.bytes(b("MatMul", x, w), 8 / 255, 1, np.int8)
    x = b("Add", x, b.normal(classes, scale=0.1))
    b.output("codes", b("QuantizeLinear", x, b.constant(np.float32(8 / 255)), b.constant(np.uint8(128))),
             [1, classes], T.UINT8)
    return b.model()
