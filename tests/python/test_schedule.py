# SPDX-License-Identifier: Apache-2.0
"""Schedules, traces and stepping in Python."""
import inspect
import unittest

import tessera as ts
from tessera.schedule import primitives
from test_describe import matmul


def parts(seed=1):
    s = ts.schedule(matmul(), seed=seed)
    block = s.get_block("C")
    return s, block, s.get_loops(block)


class Schedules(unittest.TestCase):
    def test_every_primitive_is_a_method(self):
        names = [info.name.decode() for _, info in primitives()
                 if not info.hidden]
        self.assertGreater(len(names), 50)
        for name in names:
            method = getattr(ts.Schedule, name)
            self.assertTrue(inspect.getdoc(method), name)
        self.assertEqual(
            list(inspect.signature(ts.Schedule.compute_at).parameters),
            ["self", "block", "loop", "preserve_unit_loops", "index"])

    def test_operands(self):
        s, block, (i, j, k) = parts()
        tiles = s.sample_perfect_tile(i, 2, max_innermost_factor=4)
        self.assertEqual([t.kind for t in tiles], ["int", "int"])
        i0, i1 = s.split(loop=i, factors=tiles)
        j0, j1 = s.split(j, [ts.auto, 4])
        self.assertEqual(s.value_of(tiles[0]) * s.value_of(tiles[1]), 16)
        self.assertEqual(s.value_of(ts.max(tiles[0] * 2, 1) // 2),
                         s.value_of(tiles[0]))
        s.reorder(i0, j0, k, i1, j1)
        f = s.fuse(i0, j0)
        s.annotate(f, "software_pipeline_stage", [0, 0, 1])
        self.assertEqual(s.annotation(f, "software_pipeline_stage"), [0, 0, 1])
        self.assertIsNone(s.annotation(f, "absent"))
        s.parallel(f)
        s.vectorize(j1)
        self.assertEqual(s.loop_info(f)["kind"], "parallel")
        self.assertEqual(s.extent(j1), 4)
        u = s.sample_categorical([0, 16], [0.5, 0.5])
        s.annotate(block, "pragma_auto_unroll_max_step", u)
        self.assertTrue(ts.equivalent(s, matmul()))
        self.assertIn("test_schedule.py", s.trace()[3].file)

    def test_index_map(self):
        s, block, _ = parts()
        s.transform_block_layout(block, lambda i, j, k: (i // 4, j, k, i % 4))
        self.assertTrue(ts.equivalent(s, matmul()))
        self.assertIn("(i, j, k) -> (i // 4, j, k, i % 4)", str(s.trace()))
        s, block, (i, j, k) = parts()
        a, b = s.sample_perfect_tile(i, 2)
        s.transform_block_layout(
            block, lambda i, j, k: (i // b, j, k, i % b))
        self.assertIn("$1", str(s.trace()))
        self.assertTrue(ts.equivalent(s, matmul()))

    def test_refusals(self):
        s, block, (i, j, k) = parts()
        before = str(s.trace())
        with self.assertRaises(ts.Refused) as caught:
            s.fuse(i, k)
        e = caught.exception
        self.assertEqual((e.code, e.primitive), ("REFUSED", "fuse"))
        self.assertTrue(e.reason and e.place and "fuse" in str(e))
        self.assertIn("for i", e.detail)
        ok, why = s.can("fuse", i, k)
        self.assertEqual((ok, why.reason), (False, e.reason))
        self.assertEqual(s.can("fuse", i, j), (True, None))
        self.assertEqual(str(s.trace()), before)
        for call, kind, said in (
                (lambda: s.split(), TypeError, "split.*loop, factors"),
                (lambda: s.fuse(i, j, no=1), TypeError, "no"),
                (lambda: s.split(i, [object()]), TypeError, "factors"),
                (lambda: s.parallel(3), ts.Error, "loop"),
                (lambda: i < j, TypeError, "value_of"),
                (lambda: i + 1, TypeError, "sampled"),
                (lambda: s.can("nothing"), AttributeError, "nothing"),
                (lambda: s.get_block("D"), ts.Error, "D")):
            with self.assertRaisesRegex(kind, said):
                call()
        other, _, (l, _, _) = parts()
        with self.assertRaisesRegex(ValueError, "another schedule"):
            s.parallel(l)

    def test_copies_and_equality(self):
        s, block, (i, j, k) = parts()
        copy = s.copy()
        copy.parallel(i)
        self.assertEqual(s.loop_info(i)["kind"], "serial")
        self.assertTrue(i == s.get_loops(block)[0])
        self.assertFalse(i == j)
        j0, _ = copy.split(j, [4, 4])
        with self.assertRaisesRegex(ValueError, "another schedule"):
            s.unroll(j0)

    def test_queries(self):
        s, block, (i, j, k) = parts()
        info = s.block_info(block)
        self.assertEqual(info["iters"], ["spatial", "spatial", "reduce"])
        self.assertEqual(info["loops"], [0, 1, 2])
        self.assertEqual(s.access_info(block, "read", 0)["dims"], [0, 2])
        self.assertEqual(s.footprint(block, "read", 1, j), 16)
        self.assertIsInstance(s.work(i), int)
        self.assertFalse(s.needs_rfactor(block, 64))
        self.assertIsNone(s.factor(i))
        x = ts.placeholder("x", 4)
        y = ts.compute("y", 4, lambda i: x[i] + 1)
        s = ts.schedule(ts.program("p", [x], [y]))
        self.assertEqual(s.stored_value(s.get_block("y")),
                         ["+", ["load", "x"], 1])


class Traces(unittest.TestCase):
    def setUp(self):
        s, block, (i, j, k) = parts()
        s.split(i, s.sample_perfect_tile(i, 2))
        self.schedule, self.trace = s, s.trace()

    def test_texts(self):
        t, p = self.trace, matmul()
        for read, text in ((ts.trace_from_lua, t.lua()),
                           (ts.trace_from_json, t.json()),
                           (ts.trace_from_tvm_json, t.tvm_json())):
            self.assertEqual(read(text, p), t)
        with self.assertRaises(ts.Error) as e:
            ts.trace_from_json("{", p)
        self.assertEqual(e.exception.code, "PARSE")

    def test_instructions(self):
        t = self.trace
        self.assertEqual(len(t), 4)
        self.assertEqual([x.name for x in t], [
            "get_block", "get_loops", "sample_perfect_tile", "split"])
        self.assertEqual(t[3].attrs["n"], 2)
        self.assertEqual(t[1].attrs, {"name": "C"})
        with self.assertRaises(IndexError):
            t[0]

    def test_decisions(self):
        t = self.trace.with_decision(3, [4, 4])
        self.assertEqual(t[3].decision, [4, 4])
        self.assertEqual(t.decisions()[0]["decision"], [4, 4])
        self.assertTrue(ts.equivalent(t.replay(), matmul()))
        with self.assertRaises(ts.Refused):
            t.with_decision(3, [5, 5])
        self.assertNotEqual(t.mutate(seed=1), t)
        self.assertEqual(len(t.prefix(2)), 2)
        self.assertEqual(t.simplify(), t)
        self.assertEqual(t.params(), {})
        drawn = {str(t.replay(resample=True, seed=i).trace())
                 for i in range(20)}
        self.assertGreater(len(drawn), 1)

    def test_stepper(self):
        s = self.trace.stepper()
        while s.next():
            pass
        self.assertEqual(s.position, len(s))
        self.assertIn("split", s.instruction())
        s.goto(3)
        decisions = [d for d, _ in s.alternatives()]
        self.assertIn([4, 4], decisions)
        self.assertIsNone(s.decide([4, 4]))
        self.assertEqual(s.decision(), [4, 4])
        self.assertEqual(s.trace()[3].decision, [4, 4])
        self.assertTrue(s.back())
        self.assertEqual(s.program(), matmul())
        self.assertIsInstance(s.diff(), str)


if __name__ == "__main__":
    unittest.main()
