# SPDX-License-Identifier: Apache-2.0
"""Nets of texts with seeded weights, as ONNX graphs."""
import numpy as np
from onnx import TensorProto as T

from nets import Builder


class Texts(Builder):
    """What nets on texts have."""

    def dense(self, x, k, n, scale=0.02):
        x = self("MatMul", x, self.normal(k, n, scale=scale))
        return self("Add", x, self.normal(n, scale=0.02))

    def norm(self, x, n):
        r = self.random
        return self("LayerNormalization", x,
                    self.constant(r.uniform(0.8, 1.2, n).astype(np.float32)),
                    self.normal(n, scale=0.1), axis=-1, epsilon=1e-5)

    def scalar(self, x):
        return self.constant(np.float32(x))

    def gelu(self, x):
        e = self("Erf", self("Div", x, self.scalar(np.sqrt(2))))
        return self("Mul", self("Mul", x, self("Add", e, self.scalar(1))), self.scalar(0.5))

    def gelu_tanh(self, x):
        cube = self("Mul", self("Pow", x, self.scalar(3)), self.scalar(0.044715))
        t = self("Tanh", self("Mul", self("Add", x, cube), self.scalar(np.sqrt(2 / np.pi))))
        return self("Mul", self("Mul", x, self.scalar(0.5)), self("Add", t, self.scalar(1)))

    def heads(self, x, heads, d):
        """[1, s, h * d] as [1, h, s, d], by the shape's own arithmetic."""
        s = self("Gather", self("Shape", x), self.constant(np.int64(1)), axis=0)
        to = self("Concat", self.ints(1), self("Unsqueeze", s, self.ints(0)),
                  self.ints(heads, d), axis=0)
        return self("Transpose", self("Reshape", x, to), perm=[0, 2, 1, 3])

    def weighted(self, q, k, v, d, mask=None):
        """softmax(q k / sqrt(d) + mask) v, heads joined again."""
        s = self("MatMul", q, self("Transpose", k, perm=[0, 1, 3, 2]))
        s = self("Div", s, self.scalar(np.sqrt(d)))
        if mask:
            s = self("Add", s, mask)
        y = self("MatMul", self("Softmax", s, axis=-1), v)
        return self("Reshape", self("Transpose", y, perm=[0, 2, 1, 3]), self.ints(0, 0, -1))


def bert(small=False, sequence=128):
    layers, heads, d, words, inner = (2, 2, 8, 50, 32) if small else (12, 12, 64, 30522, 3072)
    sequence = 8 if small else sequence
    n, b = heads * d, Texts("bert")
    ids = b.input("input_ids", [1, sequence], T.INT64)
    kinds = b.input("token_type_ids", [1, sequence], T.INT64)
    mask = b.input("attention_mask", [1, sequence], T.INT64)
    x = b("Add", b("Gather", b.normal(words, n, scale=0.02), ids),
          b("Gather", b.normal(2, n, scale=0.02), kinds))
    x = b.norm(b("Add", x, b.normal(1, sequence, n, scale=0.02)), n)
    m = b("Cast", b("Unsqueeze", mask, b.ints(1, 2)), to=T.FLOAT)
    m = b("Mul", b("Sub", b.scalar(1), m), b.scalar(-10000))
    for _ in range(layers):
        q, k, v = (b.heads(b.dense(x, n, n, n ** -0.5), heads, d) for _ in range(3))
        y = b.dense(b.weighted(q, k, v, d, m), n, n)
        x = b.norm(b("Add", x, y), n)
        y = b.dense(b.gelu(b.dense(x, n, inner, n ** -0.5)), inner, n)
        x = b.norm(b("Add", x, y), n)
    pooled = b("Tanh", b.dense(b("Gather", x, b.constant(np.int64(0)), axis=1), n, n))
    b.output("last_hidden_state", x, [1, sequence, n])
    b.output("pooler_output", pooled, [1, n])
    return b.model()


def gpt2(small=False, tokens=1, past=128):
    """One step of `tokens` after `past` ones, of which keys and values are given."""
    layers, heads, d, words = (2, 2, 8, 50) if small else (12, 12, 64, 50257)
    if small:
        past = min(past, 6)
        tokens = min(tokens, 8)
    n, b = heads * d, Texts("gpt2")
    total = past + tokens
    ids = b.input("input_ids", [1, tokens], T.INT64)
    table = b.normal(words, n, scale=0.02)
    places = b.normal(1024 if not small else 16, n, scale=0.01)
    at = b("Range", b.constant(np.int64(past)), b.constant(np.int64(total)),
           b.constant(np.int64(1)))
    x = b("Add", b("Gather", table, ids), b("Gather", places, at))
    allowed = np.tril(np.ones((tokens, total), np.float32), past)
    mask = tokens > 1 and b.constant(((1 - allowed) * np.float32(-1e4))[None, None])
    for layer in range(layers):
        y = b.norm(x, n)
        q, k, v = b("Split", b.dense(y, n, 3 * n, n ** -0.5), b.ints(n, n, n), axis=-1,
                    outputs=3)
        q, k, v = (b.heads(t, heads, d) for t in (q, k, v))
        if past:
            shape = [1, heads, past, d]
            k = b("Concat", b.input("past_key_%d" % layer, shape), k, axis=2)
            v = b("Concat", b.input("past_value_%d" % layer, shape), v, axis=2)
        b.output("present_key_%d" % layer, k, [1, heads, total, d])
        b.output("present_value_%d" % layer, v, [1, heads, total, d])
        x = b("Add", x, b.dense(b.weighted(q, k, v, d, mask), n, n))
        y = b.gelu_tanh(b.dense(b.norm(x, n), n, 4 * n, n ** -0.5))
        x = b("Add", x, b.dense(y, 4 * n, n))
    x = b.norm(x, n)
    b.output("logits", b("MatMul", x, b("Transpose", table, perm=[1, 0])), [1, tokens, words])
    return b.model()


def lstm(small=False):
    """A language model of two layers, over 35 words."""
    words, n, length = (50, 8, 5) if small else (10000, 650, 35)
    b = Texts("lstm")
    ids = b.input("words", [length, 1], T.INT64)
    x = b("Gather", b.normal(words, n, scale=0.1), ids)
    for _ in range(2):
        y, _, _ = b("LSTM", x, b.normal(1, 4 * n, n, scale=n ** -0.5),
                    b.normal(1, 4 * n, n, scale=n ** -0.5), b.normal(1, 8 * n, scale=0.1),
                    hidden_size=n, outputs=3)
        x = b("Squeeze", y, b.ints(1))
    x = b.dense(x, n, words, 0.1)
    b.output("logits", x, [length, 1, words])
    return b.model()
