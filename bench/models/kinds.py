# SPDX-License-Identifier: Apache-2.0
"""Small nets of many kinds with seeded weights, as exporters write them: sizes by
the shapes' own arithmetic, norms and attention written out, batches left open."""
import numpy as np
from onnx import TensorProto as T
from onnx import numpy_helper as nh

from nets import Images, Quantized
from texts import Texts

END = 2 ** 63 - 1


class Mixed(Images, Texts):
    """Nets on images with what those on texts have."""

    def norm(self, x, n):
        return Texts.norm(self, x, n)

    def swish(self, x):
        return self("Mul", x, self("Sigmoid", x))

    def size(self, x, axis):
        return self("Gather", self("Shape", x), self.ints(axis), axis=0)

    def joined(self, *parts):
        return self("Concat", *parts, axis=0)

    def zeros(self, shape, value=0.0):
        return self("ConstantOfShape", shape, value=nh.from_array(np.array([value], np.float32)))


def efficientnet(small=False):
    """Inverted bottlenecks with squeezes and excitations."""
    b = Mixed("efficientnet")

    def step(x, ci, co, k, stride=1, groups=1):
        return Images.norm(b, b.conv(x, ci, co, k, stride, groups=groups), co)

    x = b.swish(step(b.input("image", ["batch", 3, 64, 64]), 3, 16, 3, 2))
    ci = 16
    for co, grow, k, stride in [(16, 1, 3, 1), (24, 4, 3, 2), (24, 4, 3, 1), (40, 4, 5, 2)]:
        y, mid, few = x, ci * grow, max(1, ci // 4)
        if grow > 1:
            y = b.swish(step(y, ci, mid, 1))
        y = b.swish(step(y, mid, mid, k, stride, mid))
        z = b.swish(b.conv(b("ReduceMean", y, axes=[2, 3], keepdims=1), mid, few, 1, bias=True))
        y = b("Mul", y, b("Sigmoid", b.conv(z, few, mid, 1, bias=True)))
        y = step(y, mid, co, 1)
        x = b("Add", x, y) if ci == co and stride == 1 else y
        ci = co
    x = b("GlobalAveragePool", b.swish(step(x, ci, 64, 1)))
    x = b("Reshape", x, b.joined(b.size(x, 0), b.ints(-1)))
    x = b("Gemm", x, b.normal(10, 64), b.normal(10, scale=0.1), transB=1)
    b.output("scores", b("Softmax", x, axis=1), ["batch", 10])
    return b.model()


def vit(small=False):
    """Patches, a token for the class, attention of joined heads."""
    b = Mixed("vit")
    n, heads, d = 32, 2, 16
    x = b.input("image", ["batch", 3, 32, 32])
    x = b("Conv", x, b.normal(n, 3, 8, 8), b.normal(n, scale=0.1), kernel_shape=[8, 8], strides=[8, 8])
    batch = b.size(x, 0)
    x = b("Transpose", b("Reshape", x, b.joined(batch, b.ints(n, -1))), perm=[0, 2, 1])
    first = b("Expand", b.normal(1, 1, n, scale=0.1), b.joined(batch, b.ints(1, n)))
    x = b("Add", b("Concat", first, x, axis=1), b.normal(1, 17, n, scale=0.1))
    for _ in range(2):
        y = b.dense(b.norm(x, n), n, 3 * n, n ** -0.5)
        y = b("Reshape", y, b.joined(batch, b.ints(17, 3, heads, d)))
        y = b("Transpose", y, perm=[2, 0, 3, 1, 4])
        q, k, v = (b("Gather", y, b.constant(np.int64(i)), axis=0) for i in range(3))
        x = b("Add", x, b.dense(b.weighted(q, k, v, d), n, n))
        y = b("Gelu", b.dense(b.norm(x, n), n, 4 * n, n ** -0.5))
        x = b("Add", x, b.dense(y, 4 * n, n))
    x = b("Gather", b.norm(x, n), b.constant(np.int64(0)), axis=1)
    b.output("scores", b.dense(x, n, 10), ["batch", 10])
    return b.model(20)


def swin(small=False):
    """Attention in shifted windows, and patches that are merged."""
    b = Mixed("swin")
    n, heads, d, wide = 16, 2, 8, 4
    end = b.ints(END)

    def rolled(x, by):
        for axis in (1, 2):
            x = b("Concat", b("Slice", x, b.ints(by), end, b.ints(axis)),
                  b("Slice", x, b.ints(0), b.ints(by), b.ints(axis)), axis=axis)
        return x

    x = b("Conv", b.input("image", [1, 3, 32, 32]), b.normal(n, 3, 4, 4), kernel_shape=[4, 4],
          strides=[4, 4])
    x = b("Transpose", x, perm=[0, 2, 3, 1])
    y = b("Reshape", rolled(b.norm(x, n), -2), b.ints(1, 2, wide, 2, wide, n))
    y = b("Reshape", b("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), b.ints(-1, wide * wide, n))
    y = b("Reshape", b.dense(y, n, 3 * n, 0.2), b.ints(4, wide * wide, 3, heads, d))
    y = b("Split", b("Transpose", y, perm=[2, 0, 3, 1, 4]), axis=0, num_outputs=3, outputs=3)
    q, k, v = (b("Squeeze", t, b.ints(0)) for t in y)
    bias = b("Gather", b.normal(49, heads, scale=0.1), b.constant(b.random.integers(0, 49, 256)))
    bias = b("Transpose", b("Reshape", bias, b.ints(16, 16, heads)), perm=[2, 0, 1])
    mask = np.where(b.random.random((4, 1, 16, 16)) < 0.2, -100, 0).astype(np.float32)
    mask = b("Add", b("Unsqueeze", bias, b.ints(0)), b.constant(mask))
    y = b("Reshape", b.weighted(q, k, v, d, mask), b.ints(1, 2, 2, wide, wide, n))
    y = b("Reshape", b("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), b.ints(1, 8, 8, n))
    x = b("Add", x, rolled(y, 2))
    parts = [b("Slice", b("Slice", x, b.ints(i), end, b.ints(1), b.ints(2)), b.ints(j), end, b.ints(2),
               b.ints(2)) for i, j in ((0, 0), (1, 0), (0, 1), (1, 1))]
    x = b("MatMul", b.norm(b("Concat", *parts, axis=-1), 4 * n), b.normal(4 * n, 2 * n, scale=0.1))
    b.output("features", b("ReduceMean", x, b.ints(1, 2), keepdims=0), [1, 2 * n])
    return b.model(18)


def unet(small=False):
    """Group norms written out, attention in the middle, parts joined on the way up."""
    b = Mixed("unet")

    def group_norm(x, c, groups=4):
        ones, zeros = np.ones(groups, np.float32), np.zeros(groups, np.float32)
        y = b("Reshape", x, b.ints(0, groups, -1))
        y = b("InstanceNormalization", y, b.constant(ones), b.constant(zeros))
        y = b("Mul", b("Reshape", y, b("Shape", x)), b.normal(c, 1, 1, scale=1.0))
        return b("Add", y, b.normal(c, 1, 1, scale=0.1))

    def block(x, ci, co):
        y = b.conv(b.swish(group_norm(x, ci)), ci, co, 3, bias=True)
        y = b.conv(b.swish(group_norm(y, co)), co, co, 3, bias=True)
        return b("Add", y, b.conv(x, ci, co, 1, bias=True) if ci != co else x)

    x = b.conv(b.input("image", [1, 3, 52, 44]), 3, 8, 3, bias=True)
    first = block(x, 8, 8)
    second = block(b.conv(first, 8, 16, 3, 2, bias=True), 16, 16)
    x = block(b("MaxPool", second, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1), 16, 32)
    y = b("Transpose", b("Reshape", group_norm(x, 32), b.ints(1, 32, -1)), perm=[0, 2, 1])
    q, k, v = (b("MatMul", y, b.normal(32, 32, scale=0.2)) for _ in range(3))
    s = b("MatMul", q, b("Transpose", k, perm=[0, 2, 1]))
    y = b("MatMul", b("Softmax", b("Mul", s, b.scalar(32 ** -0.5)), axis=-1), v)
    x = b("Add", x, b("Reshape", b("Transpose", y, perm=[0, 2, 1]), b("Shape", x)))
    to = b.joined(b.ints(1, 32), b("Slice", b("Shape", second), b.ints(2), b.ints(4), b.ints(0)))
    x = b("Resize", x, "", "", to, mode="nearest", coordinate_transformation_mode="asymmetric",
          nearest_mode="floor")
    x = block(b("Concat", x, second, axis=1), 48, 16)
    x = b("ConvTranspose", x, b.normal(16, 8, 2, 2), b.normal(8, scale=0.1), kernel_shape=[2, 2],
          strides=[2, 2])
    x = block(b("Concat", x, first, axis=1), 16, 8)
    x = b("Resize", x, "", b.constant(np.array([1, 1, 2, 2], np.float32)), mode="linear",
          coordinate_transformation_mode="align_corners")
    b.output("mask", b("Sigmoid", b.conv(x, 8, 1, 1, bias=True)), [1, 1, 104, 88])
    return b.model()


def recurrent(small=False):
    """An LSTM and a GRU in both directions, a net that goes back."""
    b, n = Mixed("recurrent"), 8
    ids = b.input("ids", [2, "time"], T.INT64)
    x = b("Transpose", b("Gather", b.normal(50, 12, scale=0.3), ids), perm=[1, 0, 2])
    start = b.zeros(b.joined(b.ints(2), b.size(x, 1), b.ints(n)))

    def layer(op, gates, k, directions, x, *more, **attributes):
        w = [b.normal(directions, gates * n, m, scale=0.3) for m in (k, n)]
        y = b(op, x, *w, b.normal(directions, 2 * gates * n, scale=0.1), *more, hidden_size=n,
              **attributes)
        return b("Reshape", b("Transpose", y[0], perm=[0, 2, 1, 3]), b.ints(0, 0, -1)), y[1]

    x, _ = layer("LSTM", 4, 12, 2, x, "", start, start, direction="bidirectional", outputs=3)
    x, state = layer("GRU", 3, 2 * n, 2, x, direction="bidirectional", linear_before_reset=1,
                     outputs=2)
    x, _ = layer("RNN", 1, 2 * n, 1, x, direction="reverse", outputs=2)
    x = b("LogSoftmax", b.dense(x, n, 20, 0.3), axis=-1)
    b.output("logits", b("Transpose", x, perm=[1, 0, 2]), [2, "time", 20])
    b.output("state", state, [2, 2, n])
    return b.model(14)


def conformer(small=False):
    """Speech: gated and depthwise convolutions, attention by relative places."""
    b, n = Mixed("conformer"), 16
    x = b("Transpose", b.input("mel", [1, "frames", 8]), perm=[0, 2, 1])
    x = b("Relu", b("Conv", x, b.normal(n, 8, 3), b.normal(n, scale=0.1), kernel_shape=[3], strides=[2],
                    pads=[1, 1]))
    x = b("Conv", x, b.normal(2 * n, n, 1), kernel_shape=[1])
    x, gate = b("Split", x, axis=1, num_outputs=2, outputs=2)
    x = b("Mul", x, b("Sigmoid", gate))
    x = b("Conv", x, b.normal(n, 1, 7), kernel_shape=[7], pads=[3, 3], group=n)
    x = b("Transpose", b.swish(Images.norm(b, x, n)), perm=[0, 2, 1])
    s = b("MatMul", x, b("Transpose", x, perm=[0, 2, 1]))
    steps = b.size(s, 1)
    p = b("Reshape", b("Pad", s, b.ints(0, 0, 1, 0, 0, 0)),
          b.joined(b.ints(1), b("Add", steps, b.ints(1)), steps))
    s = b("Add", s, b("Slice", p, b.ints(1), b.ints(END), b.ints(1)))
    x = b("MatMul", b("Softmax", s, axis=-1), x)
    x = b("Reshape", b("Einsum", x, b.normal(n, 4, 5), equation="btn,nhd->bthd"), b.ints(0, 0, -1))
    b.output("y", b("CumSum", x, b.constant(np.int64(1))), [1, "steps", 20])
    return b.model(18)


def decoder(small=False):
    """RMS norms, rotated queries and keys, groups of heads that share keys, SwiGLU; of any
    batch, sequence and past."""
    n, heads, shared, d, words, inner = 32, 4, 2, 8, 50, 64
    b = Mixed("decoder")
    ids = b.input("input_ids", ["batch", "sequence"], T.INT64)
    mask = b.input("attention_mask", ["batch", "total"], T.INT64)
    past = [[b.input("past_%s_%d" % (what, layer), ["batch", shared, "past", d])
             for what in ("key", "value")] for layer in range(2)]
    batch, sequence = b.size(ids, 0), b.size(ids, 1)
    before = b.size(past[0][0], 2)
    total = b("Add", before, sequence)
    one, axis0 = b.constant(np.int64(1)), b.ints(0)

    def scalar_of(x):
        return b("Squeeze", x, axis0)

    places = b("Range", scalar_of(before), scalar_of(total), one)
    angles = b.constant((1e4 ** (-np.arange(0, d, 2) / d)).astype(np.float32)[None])
    angles = b("MatMul", b("Unsqueeze", b("Cast", places, to=T.FLOAT), b.ints(1)), angles)
    angles = b("Concat", angles, angles, axis=-1)
    cos, sin = (b("Unsqueeze", b(op, angles), b.ints(0, 1)) for op in ("Cos", "Sin"))

    def rms(x):
        mean = b("ReduceMean", b("Pow", x, b.scalar(2)), b.ints(-1))
        x = b("Mul", x, b("Reciprocal", b("Sqrt", b("Add", mean, b.scalar(1e-6)))))
        return b("Mul", b.normal(n, scale=1.0), x)

    def rotated(x):
        half = b("Div", b.size(x, 3), b.ints(2))
        left = b("Slice", x, axis0, half, b.ints(3), b.ints(1))
        right = b("Slice", x, half, b.ints(END), b.ints(3), b.ints(1))
        return b("Add", b("Mul", x, cos), b("Mul", b("Concat", b("Neg", right), left, axis=-1), sin))

    def repeated(x):
        x = b("Expand", b("Unsqueeze", x, b.ints(2)),
              b.joined(batch, b.ints(shared, heads // shared), total, b.ints(d)))
        return b("Reshape", x, b.joined(batch, b.ints(heads), total, b.ints(d)))

    columns = b("Unsqueeze", b("Range", b.constant(np.int64(0)), scalar_of(total), one), axis0)
    later = b("Cast", b("Greater", columns, b("Unsqueeze", places, b.ints(1))), to=T.FLOAT)
    hidden = b("Mul", b.zeros(b.joined(sequence, total), -3.4e38), later)
    hidden = b("Expand", b("Unsqueeze", hidden, b.ints(0, 1)), b.joined(batch, b.ints(1), sequence, total))
    seen = b("Unsqueeze", b("Cast", mask, to=T.FLOAT), b.ints(1, 2))
    hidden = b("Where", b("Equal", seen, b.scalar(0)), b.scalar(-3.4e38), hidden)
    x = b("Gather", b.normal(words, n, scale=0.5), ids)
    for layer in range(2):
        y = rms(x)

        def projected(count):
            z = b("MatMul", y, b.normal(n, count * d, scale=n ** -0.5))
            z = b("Reshape", z, b.joined(batch, sequence, b.ints(count, d)))
            return b("Transpose", z, perm=[0, 2, 1, 3])

        q, k, v = rotated(projected(heads)), rotated(projected(shared)), projected(shared)
        k, v = (b("Concat", old, new, axis=2) for old, new in zip(past[layer], (k, v)))
        for what, t in (("key", k), ("value", v)):
            b.output("present_%s_%d" % (what, layer), t, ["batch", shared, "total", d])
        y = b.weighted(q, repeated(k), repeated(v), d, hidden)
        x = b("Add", x, b("MatMul", y, b.normal(n, n, scale=n ** -0.5)))
        y = rms(x)
        gate, up = (b("MatMul", y, b.normal(n, inner, scale=n ** -0.5)) for _ in range(2))
        x = b("Add", x, b("MatMul", b("Mul", b.swish(gate), up), b.normal(inner, n, scale=0.1)))
    b.output("logits", b("MatMul", rms(x), b.normal(n, words, scale=0.2)), ["batch", "sequence", words])
    return b.model(18)


def detector(small=False):
    """Boxes and scores of two scales, of which the best are kept."""
    b = Mixed("detector")

    def step(x, ci, co, stride=2):
        return b("LeakyRelu", Images.norm(b, b.conv(x, ci, co, 3, stride), co), alpha=0.1)

    def rows(x, n):
        return b("Reshape", b("Transpose", b.conv(x, 32, n, 3, bias=True), perm=[0, 2, 3, 1]),
                 b.ints(1, -1, n))

    fine = step(step(b.input("image", [1, 3, 64, 64]), 3, 16), 16, 32)
    coarse = b("HardSwish", b.conv(fine, 32, 32, 3, 2))
    up = b("Resize", coarse, "", b.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest")
    fine = b.conv(b("Concat", up, fine, axis=1), 64, 32, 1)
    boxes, scores = (b("Sigmoid", b("Concat", rows(fine, n), rows(coarse, n), axis=1)) for n in (4, 3))
    best = b("ReduceMax", scores, axes=[2], keepdims=0)
    labels = b("ArgMax", scores, axis=2, keepdims=0)
    best, places = b("TopK", best, b.ints(50), axis=1, outputs=2)
    boxes = b("GatherElements", boxes, b("Expand", b("Unsqueeze", places, b.ints(2)), b.ints(1, 50, 4)),
              axis=1)
    center, size = b("Split", boxes, b.ints(2, 2), axis=2, outputs=2)
    half = b("Mul", size, b.scalar(0.5))
    boxes = b("Concat", b("Sub", center, half), b("Add", center, half), axis=2)
    b.output("boxes", boxes, [1, 50, 4])
    b.output("best", best, [1, 50])
    b.output("labels", b("GatherElements", labels, places, axis=1), [1, 50], T.INT64)
    return b.model()


def segmenter(small=False):
    """Boxes that a suppression selects, and masks of these."""
    b = Mixed("segmenter")

    def rows(n):
        return b("Reshape", b("Transpose", b.conv(x, 16, n, 1), perm=[0, 2, 3, 1]), b.ints(1, -1, n))

    x = b("Relu", b.conv(b.input("image", [1, 3, 32, 32]), 3, 16, 3, 4, bias=True))
    boxes = b("Sigmoid", rows(4))
    scores = b("Sigmoid", b("Reshape", b.conv(x, 16, 2, 1), b.ints(1, 2, -1)))
    factors, parts = b("Squeeze", rows(8), b.ints(0)), b("Reshape", b.conv(x, 16, 8, 1), b.ints(8, -1))
    chosen = b("NonMaxSuppression", boxes, scores, b.ints(20), b.scalar(0.5), b.scalar(0.3))
    image, kind, place = b("Split", chosen, b.ints(1, 1, 1), axis=1, outputs=3)
    boxes = b("GatherND", boxes, b("Concat", image, place, axis=1))
    low, size = b("Split", boxes, b.ints(2, 2), axis=1, outputs=2)
    boxes = b("Mul", b("Concat", low, b("Add", low, size), axis=1), b.scalar(32))
    scores = b("GatherND", scores, chosen)
    b.output("detections", b("Concat", b("Cast", image, to=T.FLOAT), boxes, b("Unsqueeze", scores, b.ints(1)),
                             b("Cast", kind, to=T.FLOAT), axis=1), ["n", 7])
    masks = b("MatMul", b("Gather", factors, b("Gather", chosen, b.constant(np.int64(2)), axis=1)), parts)
    b.output("masks", b("Sigmoid", b("Reshape", masks, b.ints(-1, 8, 8))), ["n", 8, 8])
    return b.model()


def qdq(small=False):
    """What quantizers leave of a mobile net: scales for each channel, sums, concatenations,
    other sizes and gates of bytes."""
    b, step = Quantized("qdq"), 4 / 255
    x = b.bytes(b.input("image", [1, 3, 32, 32]), step, 3)
    x = b.bytes(b("Relu", b.conv(x, 3, 16, 3, 2)), step)
    w, _ = b.codes(16, 1, 3, 3)
    y = b("Conv", x, w, kernel_shape=[3, 3], pads=[1] * 4, group=16)
    y = b.bytes(b.relu6(y), 6 / 255)
    y = b.bytes(b.conv(y, 16, 16, 1, scale=6 / 255), step, 128)
    x = b.bytes(b("Add", x, y), step, 128)
    y = b.bytes(b.conv(x, 16, 16, 1), step, 100)
    x = b.bytes(b("Concat", x, y, axis=1), step, 110)
    x = b.bytes(b("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2]), step)
    x = b("Resize", x, "", b.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest",
          coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    x = b.bytes(x, step)
    x = b.bytes(b("Mul", x, b.bytes(b("Sigmoid", x), 1 / 255)), step)
    x = b("Flatten", b.bytes(b("GlobalAveragePool", x), step))
    w, _ = b.codes(10, 32)
    x = b.bytes(b("Gemm", x, w, transB=1), 8 / 255, 1, np.int8)
    b.output("scores", b("Softmax", x, axis=-1), [1, 10])
    return b.model()


def super_resolution(small=False):
    """Norms of each image, pixels out of channels, a grid of places, three dimensions."""
    b, n = Mixed("super_resolution"), 16
    ones, zeros = b.constant(np.ones(n, np.float32)), b.constant(np.zeros(n, np.float32))
    x = b.conv(b.input("image", [1, 3, 24, 24]), 3, n, 3, bias=True)
    x = b("PRelu", x, b.constant(np.full((n, 1, 1), 0.2, np.float32)))
    x = b("GroupNormalization", b("InstanceNormalization", x, ones, zeros), ones, zeros, num_groups=4)
    x = b("DepthToSpace", b("Mish", x), blocksize=2, mode="CRD")
    line = np.linspace(-1, 1, 20, dtype=np.float32)
    x = b("GridSample", x, b.constant(np.stack(np.meshgrid(line, line), -1)[None]))
    x = b("Conv", b("Unsqueeze", x, b.ints(2)), b.normal(6, 4, 1, 3, 3), kernel_shape=[1, 3, 3],
          pads=[0, 1, 1, 0, 1, 1])
    x = b("AveragePool", x, kernel_shape=[1, 2, 2], strides=[1, 2, 2])
    b.output("y", b("Tanh", x), [1, 6, 1, 10, 10])
    return b.model(21)


def attention(small=False):
    """The operators of the newest sets: RMSNormalization, RotaryEmbedding, Attention."""
    b, n, heads, d = Mixed("attention"), 16, 2, 8
    x = b.input("x", [1, 6, n])
    places = b.input("position_ids", [1, 6], T.INT64)
    y = b("RMSNormalization", x, b.normal(n, scale=1.0), axis=-1)
    q, k, v = (b("MatMul", y, b.normal(n, n, scale=0.3)) for _ in range(3))
    angles = np.outer(np.arange(64), 1e4 ** (-np.arange(0, d, 2) / d)).astype(np.float32)
    cos, sin = b.constant(np.cos(angles)), b.constant(np.sin(angles))
    q, k = (b("RotaryEmbedding", t, cos, sin, places, num_heads=heads) for t in (q, k))
    y = b("Attention", q, k, v, q_num_heads=heads, kv_num_heads=heads, is_causal=1)
    b.output("y", b("Add", x, b("MatMul", y, b.normal(n, n, scale=0.3))), [1, 6, n])
    return b.model(23)


MODELS = {f.__name__: f for f in (
    efficientnet, vit, swin, unet, recurrent, conformer, decoder, detector, segmenter, qdq,
    super_resolution, attention)}
# Of what the files leave open.
SHAPES = {
    "efficientnet": {"image": [2, 3, 64, 64]},
    "vit": {"image": [2, 3, 32, 32]},
    "recurrent": {"ids": [2, 7]},
    "conformer": {"mel": [1, 20, 8]},
    "decoder": dict([("input_ids", [1, 3]), ("attention_mask", [1, 8])] + [
        ("past_%s_%d" % (what, layer), [1, 2, 5, 8]) for what in ("key", "value") for layer in (0, 1)]),
}
