# SPDX-License-Identifier: Apache-2.0
"""Tensors, arrays of NumPy and DLPack, kernels.  Needs: numpy"""
import array
import gc
import os
import subprocess
import sys
import tempfile
import unittest
import weakref

import numpy as np
import tessera as ts
from test_describe import matmul
from tessera.tensor import as_tensor

DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64",
          "uint8", "uint16", "uint32", "uint64", "bool")


class OldDLPack:
    """Gives capsules of before DLPack 1.0."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, stream=None):
        return self.values.__dlpack__()


class NewDLPack:
    """Hides all but DLPack."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **named):
        return as_tensor(self.values).__dlpack__(**named)


class Lent:
    """The capsule of a tensor in one version of DLPack."""

    def __init__(self, t, version):
        self.capsule = t.__dlpack__(max_version=version)

    def __dlpack__(self, **named):
        return self.capsule


class Tensors(unittest.TestCase):
    def test_both_ways(self):
        for dtype in DTYPES:
            given = np.arange(6).reshape(2, 3).astype(dtype)
            for share in (lambda x: x, NewDLPack, OldDLPack):
                if share is OldDLPack and dtype == "bool":
                    continue  # NumPy 1.24 does not export it
                t = as_tensor(share(given))
                self.assertEqual((t.dtype, t.shape), (dtype, (2, 3)))
                back = np.asarray(t)
                self.assertEqual(back.dtype, given.dtype)
                np.testing.assert_array_equal(back, given)
                back[1, 2] = 0  # memory is shared
                self.assertEqual(given[1, 2], 0)
                given[1, 2] = 5
            if dtype != "bool":
                np.testing.assert_array_equal(np.from_dlpack(t), given)

    def test_memory_is_let_go(self):
        given = np.zeros((4, 4), "float32")
        gone = weakref.ref(given)
        t = as_tensor(given)
        del given
        gc.collect()
        self.assertIsNotNone(gone())
        view = t.numpy()
        del t
        gc.collect()
        view[0, 0] = 1
        self.assertIsNotNone(gone())
        del view
        gc.collect()
        self.assertIsNone(gone())
        t = ts.tensor(4)
        for _ in range(3):
            t.__dlpack__()  # capsules that nobody takes
            t.__dlpack__(max_version=(1, 1))

    def test_elements(self):
        t = ts.tensor((2, 2), "uint64")
        t[1, -1] = 2 ** 64 - 1
        self.assertEqual(t.tolist(), [[0, 0], [0, 2 ** 64 - 1]])
        with self.assertRaises(ts.Error) as e:
            t[2, 0]
        self.assertEqual(e.exception.code, "BOUNDS")
        with self.assertRaises(IndexError):
            t[0]
        self.assertIn("uint64", repr(t))
        t = as_tensor(array.array("f", [1, 2, 3]))
        self.assertEqual(list(t), [1, 2, 3])

    def test_refused_arrays(self):
        for given, said in (
                (np.zeros((4, 4), "float32").T[1:], "ascontiguousarray"),
                (np.zeros(4, "complex64"), "'Zf' are no numbers of Tessera's$"),
                (np.zeros(4, ">f4"), r"big-endian; a\.astype"),
                (np.zeros(17, "u1")[1:].view("f4"), r"of 4, .*a\.copy\(\)"),
                ("text", "expected")):
            with self.subTest(said), \
                    self.assertRaisesRegex((ts.Error, TypeError), said):
                as_tensor(given)
        fixed = np.zeros(17, "u1")[1:].view("f4")
        fixed.flags.writeable = False
        self.assertEqual(list(as_tensor(fixed)), [0] * 4)

    def test_outlives_its_context(self):
        for version in (None, (1, 1)):
            with ts.Context() as c:
                x = as_tensor(Lent(ts.tensor((2, 3), "float32"), version))
                gone = weakref.ref(c)
            del c
            gc.collect()
            x[1, 2] = 5
            self.assertEqual(x.tolist(), [[0, 0, 0], [0, 0, 5]])
            self.assertIsNotNone(gone())
            del x
            gc.collect()
            self.assertIsNone(gone())

    def test_outlives_the_program(self):
        """Modules are taken down before these arrays are."""
        for last in ("", "import builtins; builtins.x = x",
                     "class K: pass\nk = K(); k.me = k; k.x = x"):
            script = ("import numpy as np, tessera as ts\n"
                      "t = ts.tensor(8, 'float32')\n"
                      "x = np.from_dlpack(t), np.asarray(t)\n"
                      f"del t\n{last}")
            self.assertEqual(subprocess.run([sys.executable, "-c", script],
                                            timeout=300).returncode, 0)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.npy")
            x = np.random.default_rng(1).random((3, 5), "float32")
            np.save(path, x)
            t = ts.load_tensor(path)
            np.testing.assert_array_equal(t.numpy(), x)
            t.save(path)
            np.testing.assert_array_equal(np.load(path), x)
            with self.assertRaisesRegex(ts.Error, "nothing.npy"):
                ts.load_tensor(os.path.join(folder, "nothing.npy"))


class Kernels(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(2)
        self.a = rng.integers(-9, 9, (16, 16)).astype("float32")
        self.b = rng.integers(-9, 9, (16, 16)).astype("float32")

    def test_calls(self):
        kernel = ts.build(matmul())
        c = kernel(self.a, self.b)
        self.assertIsInstance(c, np.ndarray)
        np.testing.assert_array_equal(c, self.a @ self.b)
        out = np.empty((16, 16), "float32")
        self.assertIsNone(kernel(self.a, self.b, out))
        np.testing.assert_array_equal(out, c)
        self.assertGreater(kernel.time(self.a, self.b, out,
                                       min_time=0.001).median, 0)
        np.testing.assert_array_equal(ts.interpret(matmul(), self.a, self.b),
                                      c)
        for args, kind, said in (
                ((self.a,), TypeError, "takes 3 tensors"),
                ((self.a, self.b.astype("float64")), ts.Error, "float64"),
                ((self.a, self.b[:4]), ts.Error, "B"),
                ((self.a, 3), TypeError, "int")):
            with self.assertRaisesRegex(kind, said):
                kernel(*args)
        out.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "read-only"):
            kernel(self.a, self.b, out)

    def test_targets_and_files(self):
        t = ts.target("llvm -num-cores=2")
        self.assertEqual(t["num-cores"], 2)
        self.assertIn("llvm", str(t))
        self.assertIsInstance(t.has("avx2"), bool)
        with self.assertRaises(ts.Error):
            t["num-corse"]
        s = ts.schedule(matmul(), target=t)
        s.parallel(s.get_loops(s.get_block("C"))[0])
        kernel = ts.build(s, t)
        self.assertIn("define", kernel.source("ir"))
        with self.assertRaisesRegex(ts.Error, "ptx"):
            kernel.source("ptx")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.kernel")
            kernel.save(path)
            again = ts.load_kernel(path)
            self.assertEqual([p.name for p in again.program.params],
                             ["A", "B", "C"])
            again.set_threads(1)
            np.testing.assert_array_equal(again(self.a, self.b),
                                          self.a @ self.b)
            kernel.save(os.path.join(folder, "m.o"))
            self.assertTrue(os.path.exists(os.path.join(folder, "m.h")))

    def test_outputs_of_sizes(self):
        n = ts.size("n")
        x = ts.placeholder("x", n)
        kernel = ts.build(ts.program("double", [x], [
            ts.compute("y", (n, 2 * n), lambda i, j: x[i] * 2)]))
        for k in (1, 5):
            y = kernel(np.arange(k, dtype="float32"))
            self.assertEqual(y.shape, (k, 2 * k))
            self.assertEqual(y[-1, -1], 2 * k - 2)
        with self.assertRaisesRegex(ts.Error, "size 'n'.*at least 1, given 0"):
            kernel(np.zeros(0, "float32"))
        fill = ts.build(ts.program("fill", [], [
            ts.compute("y", n, lambda i: ts.cast(i, "float32"))]))
        with self.assertRaisesRegex(ts.Error, "size 'n'; pass the output y"):
            fill()
        y = np.zeros(3, "float32")
        fill(y)
        self.assertEqual(list(y), [0, 1, 2])

    def test_no_room_for_a_context(self):
        with self.assertRaisesRegex(ts.Error, "memory_cap, of 10 bytes"):
            ts.Context(memory_cap=10)

    def test_not_a_program(self):
        p = matmul()
        for f, args in ((ts.build, (None,)), (ts.build, (3,)),
                        (ts.schedule, (None,)), (ts.equivalent, (p, 3)),
                        (ts.interpret, (None,))):
            with self.subTest(f.__name__), self.assertRaisesRegex(
                    TypeError, "what is .* must be a tessera.Program"):
                f(*args)

    def test_inputs_of_tune(self):
        r = ts.tune(matmul(), trials=2, inputs=[self.a, self.b], seed=1,
                    min_time=0.001, cost_model="random")
        np.testing.assert_array_equal(r.kernel(self.a, self.b),
                                      self.a @ self.b)
        with self.assertRaisesRegex(ts.Error, "B"):
            ts.tune(matmul(), trials=2, inputs=[self.a, self.b[:2]])


if __name__ == "__main__":
    unittest.main()
