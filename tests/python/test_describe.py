# SPDX-License-Identifier: Apache-2.0
"""Descriptions in Python are the programs that they say."""
import gc
import threading
import unittest

import tessera as ts


def matmul(m=16, n=16, k=16):
    A, B = ts.placeholder("A", (m, k)), ts.placeholder("B", (k, n))
    r = ts.reduce_axis("k", k)
    C = ts.compute("C", (m, n), lambda i, j: ts.sum(A[i, r] * B[r, j], r))
    return ts.program("matmul", [A, B], [C])


class Describe(unittest.TestCase):
    def test_program(self):
        p = matmul()
        self.assertIn("block C(vi: 16 = i, vj: 16 = j, vk: reduce 16 = k)",
                      str(p))
        self.assertEqual(p.name, "matmul")
        self.assertEqual([repr(x) for x in p.params], [
            "A: input float32[16, 16]", "B: input float32[16, 16]",
            "C: output float32[16, 16]"])
        self.assertEqual(p.flops, 2 * 16 ** 3)
        self.assertEqual(ts.parse(str(p)), p)
        self.assertNotEqual(matmul(8), p)
        p.verify()
        self.assertEqual(ts.parse(str(p)).hash, p.hash)

    def evaluate(self, f, *values, dtype="float32"):
        """f of one element of each."""
        inputs = [ts.placeholder(f"X{i}", 1, dtype)
                  for i in range(len(values))]
        Y = ts.compute("Y", 1, lambda i: ts.cast(f(*(x[i] for x in inputs)),
                                                 dtype))
        given = []
        for v in values:
            t = ts.tensor(1, dtype)
            t[0] = v
            given.append(t)
        return ts.interpret(ts.program("p", inputs, [Y]), *given)[0]

    def test_operators(self):
        for f, want in (
                (lambda x, y: x + y, 9), (lambda x, y: x - y, 5),
                (lambda x, y: x * y, 14), (lambda x, y: x // y, 3),
                (lambda x, y: x % y, 1), (lambda x, y: -x, -7),
                (lambda x, y: x << y, 28), (lambda x, y: x >> y, 1),
                (lambda x, y: x & y, 2), (lambda x, y: x | 8, 15),
                (lambda x, y: x ^ y, 5), (lambda x, y: ~x, -8),
                (lambda x, y: abs(y - x), 5), (lambda x, y: 10 - x, 3),
                (lambda x, y: 20 // x, 2), (lambda x, y: ts.min(x, y, 1), 1),
                (lambda x, y: ts.max(x, y), 7),
                (lambda x, y: ts.clamp(x, 3, 5), 5),
                (lambda x, y: ts.select((x > y) & (y >= 2), x, y), 7),
                (lambda x, y: ts.select((x < y) | ~(x != 7), 1, 0), 1),
                (lambda x, y: ts.select(x == y, 1, 0), 0),
                (lambda x, y: x + 2 ** 60, 2 ** 60 + 7)):
            self.assertEqual(self.evaluate(f, 7, 2, dtype="int64"), want)
        self.assertAlmostEqual(self.evaluate(lambda x: x ** 2.0, 3.0), 9)
        self.assertAlmostEqual(self.evaluate(lambda x: 1 / x, 4.0), 0.25)
        self.assertAlmostEqual(self.evaluate(ts.exp, 0.0), 1)
        self.assertAlmostEqual(self.evaluate(
            lambda x: ts.bit_cast(ts.bit_cast(x, "int32"), "float32"), 1.5),
            1.5)

    def test_mistakes(self):
        A = ts.placeholder("A", (4, 4))
        i = ts.reduce_axis("i", 4)
        for make, kind, said in (
                (lambda: bool(A[i, i] > 0), TypeError, "truth value"),
                (lambda: A + 1, TypeError, "unsupported"),
                (lambda: ts.exp(A), TypeError, r"A\[i\]"),
                (lambda: A[i], ts.Error, "2"),
                (lambda: list(A), TypeError, "iterate"),
                (lambda: ts.placeholder("A", 4, "float7"), TypeError,
                 "float7"),
                (lambda: A[i, i] + i, ts.Error, "float32"),
                (lambda: ts.placeholder("A", 4, role="out"), ValueError,
                 "role"),
                (lambda: ts.sum(A[i, i], 3), TypeError, "axis"),
                (lambda: ts.compute("C", 4, lambda k: "x"), TypeError, "str"),
                (lambda: ts.program("p", [A], []), ValueError, "no output")):
            with self.subTest(said), self.assertRaisesRegex(kind, said):
                make()
        matmul()  # nothing is left open

    def test_reducer(self):
        """The greatest element and where it is."""
        A = ts.placeholder("A", (3, 8))
        k = ts.reduce_axis("k", 8)
        arg_max = ts.reducer(
            lambda at, x, at2, x2: (ts.select(x >= x2, at, at2),
                                    ts.select(x >= x2, x, x2)),
            (-1, float("-inf")), "arg_max")
        at, best = ts.compute(
            "best", 3, lambda i: arg_max(k.astype("int32"), A[i, k], k))
        p = ts.program("arg_max", [A], [at, best])
        a = ts.tensor((3, 8))
        a[1, 5] = 2
        found, values = ts.interpret(p, a)
        self.assertEqual((found[1], values[1]), (5, 2))
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            ts.compute("x", 3, lambda i: ts.reducer(
                lambda a, b: 1 // 0, 0)(A[i, k], k))
        with self.assertRaisesRegex(TypeError, "takes 2 sources"):
            arg_max(A[0, k], k)

    def test_builder(self):
        n = 8
        b = ts.Builder("prefix_sums")
        x, y = b.input("x", n), b.output("y", n)
        with b.loop("i", n) as i:
            with b.block("y", [ts.iteration("vi", n, i, "opaque")]) as vi:
                with b.when(vi < 1):
                    b.store(y, vi, x[vi])
                    b.otherwise()
                    b.store(y, vi, y[vi - 1] + x[vi])
        p = b.program()
        given = ts.tensor(n)
        for i in range(n):
            given[i] = i + 1
        self.assertEqual(ts.interpret(p, given).tolist(),
                         [1, 3, 6, 10, 15, 21, 28, 36])
        with self.assertRaises(RuntimeError):
            with b.loop("i", n):
                raise RuntimeError
        matmul()

    def test_build(self):
        built = ts.build_options()
        self.assertEqual(built["version"], ts.__version__)
        self.assertRegex(built["llvm"], r"^19\.")

    def test_contents(self):
        at = ts.placeholder("at", 4, "int32", range=(0, 8))
        x = ts.placeholder("x", 8)
        y = ts.compute("y", 4, lambda i: x[at[i]])
        p = ts.program("gather", [at, x], [y])
        bad = ts.tensor(4, "int32")
        bad[2] = 9
        with self.assertRaisesRegex(ts.Error, "at"):
            ts.interpret(p, bad, ts.tensor(8))

    def test_constant_and_size(self):
        c = ts.constant("c", ts.tensor(4, fill="integers"))
        n = ts.size("n")
        x = ts.placeholder("x", n)
        y = ts.compute("y", n, lambda i: x[i] * c[1])
        p = ts.program("scale", [x], [y])
        self.assertEqual(p.params[0].shape, (-1,))
        self.assertEqual(y.shape[0].dtype, "int64")
        self.assertEqual(ts.interpret(p, ts.tensor(3)).shape, (3,))
        ts.interpret(p, ts.tensor(3), ts.tensor(3))

    def test_unused_descriptions_are_forgotten(self):
        keep = ts.placeholder("keep", (4, 4))
        for i in range(200):
            matmul(4, 4, i + 1)
        gc.collect()
        d = keep.builder
        self.assertLess(len(d.alive), 4096)
        k = ts.reduce_axis("k", 4)
        s = ts.compute("s", 4, lambda i: ts.sum(keep[i, k], k))
        self.assertIn("keep", str(ts.program("sums", [keep], [s])))

    def test_contexts_and_threads(self):
        made = []

        def work():
            with ts.Context(memory_cap=64 << 20):
                made.append(matmul())
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(len({p.hash for p in made}), 1)
        A = ts.placeholder("A", 4)
        with ts.Context():
            with self.assertRaisesRegex(ValueError, "another context"):
                ts.program("p", [A], [A])
        with ts.Context(memory_cap=1 << 20):
            with self.assertRaises(ts.Error) as e:
                ts.tensor(1 << 20)
            self.assertEqual(e.exception.code, "LIMIT")


if __name__ == "__main__":
    unittest.main()
