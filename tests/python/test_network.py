# SPDX-License-Identifier: Apache-2.0
"""Whole models: read, run, tuned, saved.  Needs: numpy"""
import ctypes
import gc
import os
import signal
import tempfile
import threading
import time
import unittest
import weakref

import numpy as np
import tessera as ts

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../data/onnx")
QUICK = {"seed": 1, "min_time": 0.001, "batch": 4, "cost_model": "random"}


def file(name):
    return os.path.join(DATA, name + ".onnx")


def beside():
    """x @ w, and w."""
    w = np.fromfile(os.path.join(DATA, "beside.weights"), "float32")
    return ts.load_model(file("beside")), w.reshape(8, 4)


def simulated(session, candidate):
    return 1e-3 + 1e-6 * sum(candidate.decisions)


class Networks(unittest.TestCase):
    def close(self, a, b):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)

    def test_runs_at_once(self):
        m, w = beside()
        self.assertEqual((str(m.inputs), str(m.outputs), m.name),
                         ("[x: float32[2, 8]]", "[y: float32[2, 4]]",
                          "beside"))
        x = np.random.default_rng(1).random((2, 8), "float32")
        self.close(m(x), x @ w)
        self.close(m(x=x), x @ w)
        y = m(ts.as_tensor(x))
        self.assertIsInstance(y, ts.Tensor)
        self.close(y, x @ w)
        fixed = x.copy()
        fixed.flags.writeable = False
        self.close(m(fixed), x @ w)
        (name, seconds), = m.times(x)
        self.assertEqual([name], m.kernels)
        self.assertTrue(0 < seconds < 1)
        self.assertEqual(sorted(m.memory()),
                         ["arena", "bound", "converted", "sum"])
        self.assertIn("output y = ", str(m))
        self.assertIn("1 kernels", repr(m))
        self.assertIn("digraph", m.dot())
        m.set_threads(1)
        self.close(m(x), x @ w)

    def test_several_outputs(self):
        m = ts.load_model(file("loop"))
        x = np.arange(4, dtype="float32")
        y = m(x)
        last, each = y
        self.assertEqual(y.names, ["last", "all"])
        self.assertIs(y["all"], each)
        self.assertEqual((last.shape, each.shape), ((4,), (3, 4)))
        self.close(each[2], last)
        self.close(each[1] - each[0], each[0] - x)
        with self.assertRaisesRegex(KeyError, "last, all"):
            y["first"]

    def test_several_inputs(self):
        m = ts.load_model(file("open"), shapes={"batch": 2, "n": 1, "m": 3})
        self.assertEqual(str(m.inputs),
                         "[x: float32[2, 1], past: float32[2, 3]]")
        x = np.full((2, 1), 1, "float32")
        past = np.full((2, 3), 2, "float32")
        want = np.concatenate([x, past], 1)
        for y in (m(x, past), m(past=past, x=x), m(x, past=past)):
            np.testing.assert_array_equal(y, want)
        m = ts.load_model(file("open"), shapes={"x": (2, 1), "past": [2, 3]})
        np.testing.assert_array_equal(m(x, past), want)
        for args, named, said in (
                ((x,), {}, "needs its input past: float32"),
                ((x, past), {"x": x}, "got its input x twice"),
                ((x, past), {"mask": x}, "mask is no input of graph open, "
                                         "which has x, past"),
                ((x, past, x), {}, "has 2 inputs, and got 3")):
            with self.subTest(said), self.assertRaisesRegex(TypeError, said):
                m(*args, **named)

    def test_values(self):
        x = np.arange(-3, 3, dtype="float32").reshape(2, 3)
        to = np.array([3, 2])
        for values in ({"use_past": [1], "to": to},
                       {"use_past": True, "to": [3, 2]},
                       {"use_past": np.array(True), "to": ts.as_tensor(to)}):
            m = ts.load_model(file("decided"), values=values)
            to[:] = 1  # what was given is copied
            self.assertEqual(str(m.inputs), "[x: float32[2, 3]]")
            np.testing.assert_array_equal(m(x), -x.reshape(3, 2))
            to[:] = 3, 2
        m = ts.load_model(file("decided"), values={"use_past": 0, "to": [6, 1]})
        np.testing.assert_array_equal(m(x), np.maximum(x, 0).reshape(6, 1))
        with self.assertRaisesRegex(TypeError, "contents of 'to'"):
            ts.load_model(file("decided"), values={"to": ["three"]})
        with self.assertRaisesRegex(ts.Error, "is of int64, and its contents "
                                              "of int32"):
            ts.load_model(file("decided"), values={"to": to.astype("int32")})

    def test_bytes(self):
        with open(file("parts"), "rb") as f:
            data = f.read()

        class Proto:
            """As the package onnx has models."""

            def SerializeToString(self):
                return data

        x = np.random.default_rng(2).random((1, 3, 4, 4), "float32")
        want = ts.load_model(file("parts"), shapes={"batch": 1})(x)
        self.assertEqual(want.shape, (1, 32))
        for source in (data, bytearray(data), Proto()):
            self.close(ts.load_model(source, shapes={"batch": 1})(x), want)
        with self.assertRaisesRegex(ts.Error, "ONNX: ") as caught:
            ts.load_model(data[:len(data) // 2])
        self.assertIn(caught.exception.code, ("PARSE", "INVALID"))

    def test_refused(self):
        def parts(**given):
            return lambda: ts.load_model(file("parts"), **given)
        for make, code, said in (
                (parts(), "INVALID", "say what 'batch' is"),
                (parts(shapes={"bach": 1}), "INVALID", "input or size 'bach'"),
                (parts(shapes={"x": (1, 2)}), "INVALID", "has 4 dimensions"),
                (parts(shapes={"batch": 0}), "INVALID", "one number, from 1"),
                (parts(shapes={"batch": 1}, target="llvm -mcpu=none"),
                 "INVALID", "none"),
                (lambda: ts.load_model("nowhere.onnx"), "NOT_FOUND",
                 "nowhere.onnx"),
                (lambda: ts.load_model(__file__), "PARSE", "byte"),
                (lambda: ts.load_model(file("refused")), "UNSUPPORTED",
                 r"node 'a' \(Multinomial\).*node 'b' \(Fused\)")):
            with self.subTest(said), \
                    self.assertRaisesRegex(ts.Error, said) as caught:
                make()
            self.assertEqual(caught.exception.code, code)
        for make, said in (
                (parts(shape={"batch": 1}), "no option 'shape'"),
                (parts(trials=4), "no option 'trials'"),
                (parts(shapes={"x": "1x3"}), "shape of 'x'"),
                (lambda: ts.load_model(7), "int")):
            with self.subTest(said), self.assertRaisesRegex(TypeError, said):
                make()

    def test_refused_tensors(self):
        m, _ = beside()
        for x, said in (
                (np.zeros((2, 8)), r"input x of graph beside is float32\[2, 8\]"
                                   r", and the tensor is float64\[2, 8\]"),
                (np.zeros((8, 2), "f4"), r"the tensor is float32\[8, 2\]"),
                (np.zeros(16, "f4"), r"the tensor is float32\[16\]"),
                (np.zeros((8, 2), "f4").T, "^input x of graph beside: .*"
                                           "(contiguous|row-major|compact)")):
            with self.subTest(said), self.assertRaisesRegex(ts.Error, said):
                m(x)
        with self.assertRaisesRegex(TypeError, "^input x of graph beside: "):
            m("x")

    # ---- tuning -------------------------------------------------------------

    def test_tune(self):
        m = ts.load_model(file("parts"), shapes={"batch": 1})
        x = np.random.default_rng(3).random((1, 3, 4, 4), "float32")
        want, lines = m(x), []
        self.assertEqual((len(m.tasks), m.tasks.trials), (1, 0))
        tasks = m.tune(trials=8, progress=lines.append, **QUICK)
        self.assertIs(m.tasks, tasks)
        self.assertEqual((tasks.status, tasks.trials, len(tasks)),
                         ("OK", 8, 1), tasks.funnel)
        self.assertTrue(any("trial 8/8" in line for line in lines), lines)
        self.assertEqual([r.trials for r in tasks], [8])
        self.assertTrue(0 < tasks[0].latency == tasks.latency)
        self.assertIn("conv2d_nchw_relu", str(tasks))
        self.assertTrue(tasks.seconds > 0)
        self.close(m(x), want)
        again = m.tune(trials=4, deadline=600, **QUICK)  # and further
        self.assertEqual((again.status, again.trials), ("OK", 4))
        self.close(m(x), want)
        with self.assertRaises(AttributeError):
            tasks.nothing
        with self.assertRaisesRegex(TypeError, "no option 'trails'"):
            m.tune(trails=1)

    def test_database(self):
        x = np.random.default_rng(4).random((1, 3, 4, 4), "float32")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.db")
            m = ts.load_model(file("parts"), shapes={"batch": 1},
                              database=path)
            want = m(x)
            best = m.tune(trials=4, **QUICK)
            known = ts.load_model(file("parts"), shapes={"batch": 1},
                                  database=path, seed=1)
            self.assertEqual(known.tasks[0].trace, best[0].trace)
            self.close(known(x), want)
            self.assertEqual(m.tune(trials=4, **QUICK).trials, 4)

    def test_own_measure_and_end(self):
        m, w = beside()
        x = np.ones((2, 8), "float32")
        tasks = m.tune(trials=40, measure=simulated, progress=lambda line:
                       "trial 6/" not in line, **QUICK)
        self.assertEqual(tasks.status, "CANCELLED")
        self.assertTrue(6 <= tasks.trials < 40)
        self.assertTrue(tasks[0].latency >= 1e-3)
        self.close(m(x), x @ w)

    def test_failures_of_functions(self):
        m, w = beside()
        before = m.tasks

        def fails(*_):
            raise KeyError("mine")
        for given in ({"progress": fails}, {"measure": fails}):
            with self.assertRaisesRegex(KeyError, "mine"):
                m.tune(trials=4, **given, **QUICK)
        self.assertIs(m.tasks, before)
        x = np.ones((2, 8), "float32")
        self.close(m(x), x @ w)

    def test_interrupt(self):
        """Nothing is made then, and the model runs as before."""
        m, w = beside()
        before = m.tasks
        begin = time.monotonic()
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            m.tune(trials=100000, strategy="replay", **QUICK)
            time.sleep(60)  # if the tuning ended otherwise
        self.assertLess(time.monotonic() - begin, 50)
        self.assertIs(m.tasks, before)
        x = np.ones((2, 8), "float32")
        self.close(m(x), x @ w)

    # ---- a library ----------------------------------------------------------

    def test_save(self):
        m, w = beside()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "product.so")
            m.save(path, os.path.join(folder, "of_product.h"))
            self.assertEqual(sorted(os.listdir(folder)),
                             ["of_product.h", "product.so"])
            x = np.random.default_rng(5).random((2, 8), "float32")
            y = np.zeros((2, 4), "float32")
            pointers = ctypes.c_void_p * 1
            run = ctypes.CDLL(path).product
            self.assertEqual(run(pointers(x.ctypes.data),
                                 pointers(y.ctypes.data), None, None), 0)
            self.close(y, x @ w)
            with self.assertRaisesRegex(ts.Error, "NAME.so"):
                m.save(os.path.join(folder, "product.kernel"))

    # ---- lives, threads, memory ---------------------------------------------

    def test_lives(self):
        with ts.Context() as c:
            m, w = beside()
            gone = weakref.ref(c)
        del c
        x = np.ones((2, 8), "float32")
        with ts.Context():  # another one than the model's
            y = m(x)
        network = weakref.ref(m)
        del m
        gc.collect()
        self.assertIsNone(network())
        self.close(y, x @ w)  # which keeps its memory
        del y
        gc.collect()
        self.assertIsNone(gone())

    def test_two_and_threads(self):
        a, w = beside()
        failed = []

        def own():
            with ts.Context():
                b = ts.load_model(file("loop"))
                for i in range(20):
                    each = b(np.full(4, i, "float32"))["all"]
                    if not np.allclose(each[1] - each[0], each[0] - i):
                        failed.append(i)

        def shared():
            for i in range(50):
                x = np.full((2, 8), i, "float32")
                if not np.allclose(a(x), x @ w, rtol=1e-4):
                    failed.append(i)
        threads = [threading.Thread(target=f)
                   for f in (own, shared, shared, own)]
        for t in threads:
            t.start()
        a.tune(trials=4, measure=simulated, **QUICK)
        for t in threads:
            t.join()
        self.assertEqual(failed, [])

    def test_memory_cap(self):
        with ts.Context(memory_cap=1 << 15):
            with self.assertRaisesRegex(ts.Error, "memory cap") as caught:
                ts.load_model(file("parts"), shapes={"batch": 1})
        self.assertEqual(caught.exception.code, "LIMIT")


if __name__ == "__main__":
    unittest.main()
