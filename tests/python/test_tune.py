# SPDX-License-Identifier: Apache-2.0
"""Tuning from Python: spaces, and functions of Python that a run calls."""
import logging
import os
import signal
import tempfile
import threading
import time
import unittest

import tessera as ts
from test_describe import matmul

QUICK = {"seed": 1, "min_time": 0.001, "batch": 4}


def by_hand(sch):
    i, j, k = sch.get_loops(sch.get_block("C"))
    i0, i1 = sch.split(i, sch.sample_perfect_tile(i, 2))
    sch.reorder(i0, k, i1, j)


def simulated(session, candidate):
    """A time of the decisions alone."""
    return 1e-6 * (1 + sum(candidate.decisions))


class Tune(unittest.TestCase):
    def test_default_space(self):
        p = matmul(32, 32, 32)
        r = ts.tune(p, trials=4, cost_model="random", **QUICK)
        self.assertEqual((r.status, r.trials), ("OK", 4), r.funnel)
        self.assertEqual(len(r.curve), 4)
        a, b = (ts.tensor((32, 32), fill="integers", seed=s) for s in (1, 2))
        c = r.kernel(a, b)
        self.assertEqual(c.compare(ts.interpret(p, a, b))[0], 0)
        self.assertTrue(ts.equivalent(r.schedule, p))
        self.assertEqual(r.trace.replay(p).trace(), r.trace)
        with self.assertRaises(AttributeError):
            r.nothing

    def test_space_by_hand_and_progress(self):
        told = []
        r = ts.tune(matmul(), space=by_hand, measure=simulated, trials=5,
                    strategy="grid", progress=told.append, **QUICK)
        self.assertEqual(told[-1].trials, r.trials)
        self.assertIn("trial", told[-1].text)
        r = ts.tune(matmul(), space=by_hand, measure=simulated, trials=5,
                    progress=lambda p: p.trials < 2, **QUICK)
        self.assertEqual((r.status, r.trials), ("CANCELLED", 2))

    def test_modules(self):
        @ts.module
        def outer(sch, block):
            loops = sch.get_loops(block)
            if not loops:
                return "no loops"
            sch.split(loops[0], [None or ts.auto, 4])
            other = sch.copy()
            other.parallel(other.get_loops(block)[0])
            return [sch, other]

        space = ts.space.compose([outer])
        self.assertEqual(len(space.sketches(matmul())), 2)
        self.assertIn("no loops", space.explain(matmul()))
        both = ts.space.union([space, by_hand])
        del space
        self.assertEqual(len(both.sketches(matmul())), 3)
        again = ts.space.traces(both.sketches(matmul()))
        self.assertEqual(len(again.sketches(matmul())), 3)

        @ts.module
        def broken(sch, block):
            raise KeyError("mine")

        with self.assertLogs("tessera", logging.WARNING) as log:
            ts.space.compose([broken]).sketches(matmul())
        self.assertIn("module broken failed", log.output[0])
        self.assertIn("mine", log.output[0])
        with self.assertRaisesRegex(ts.Error, "KeyError"):
            ts.tune(matmul(), space=[broken], measure=simulated,
                    on_error="stop", **QUICK)

    def test_lua(self):
        p = ts.ops.matmul(m=16, n=16, k=16)
        self.assertEqual(p.flops, 2 * 16 ** 3)
        space = ts.space.from_lua("""
          local ts = require "tessera"
          return ts.space.compose { require "tessera.modules.pack" {} }""")
        self.assertIn("pack", space.explain(p))
        for make, said in (
                (lambda: ts.ops.matmul(m=0, n=1, k=1), "m"),
                (lambda: ts.ops.matmull(m=1), "matmul"),
                (lambda: ts.program_from_lua("error 'mine'"), "mine"),
                (lambda: ts.program_from_lua("return ("), "script:1")):
            with self.subTest(said), self.assertRaisesRegex(ts.Error, said):
                make()
        with self.assertRaisesRegex(TypeError, "object"):
            ts.ops.matmul(m=object())

    def test_strategy_and_model(self):
        seen = []

        def propose(session, n):
            made = [session.draw() for _ in range(n)]
            made = [c for c in made if c and not session.seen(c)]
            if made:
                child = session.mutate(made[0])
                self.assertIn(child and child.sketch, (0, None))
                self.assertEqual(len(session.predict(made)), len(made))
                rows = session.features(made[:1], "decisions")
                self.assertEqual(len(rows[0][0]),
                                 len(session.columns("decisions")))
                self.assertTrue(ts.equivalent(session.program(made[0]),
                                              matmul()))
                kept.append(session)
            return made

        kept = []
        r = ts.tune(matmul(), space=by_hand, measure=simulated, trials=4,
                    strategy=ts.Strategy(propose, lambda s, c: seen.extend(c)),
                    cost_model=ts.CostModel(
                        lambda s, c: [-sum(x.decisions) for x in c],
                        lambda s, c: None), **QUICK)
        self.assertGreaterEqual(r.trials, 3)
        self.assertTrue(all(c.status == "OK" and c.seconds < 1 for c in seen))
        with self.assertRaisesRegex(ValueError, "lent"):
            kept[0].draw()

    def test_failures_of_functions(self):
        def fail(*_):
            raise ZeroDivisionError("mine")

        for options in (
                {"strategy": ts.Strategy(fail)},
                {"strategy": ts.Strategy(lambda s, n: [s.draw()], fail)},
                {"cost_model": ts.CostModel(fail)},
                {"cost_model": ts.CostModel(lambda s, c: [0] * len(c), fail)},
                {"measure": fail}, {"measured": fail}, {"progress": fail},
                {"postprocs": [fail]}):
            options = {"measure": simulated, **options}
            with self.subTest(options), \
                    self.assertRaisesRegex(ZeroDivisionError, "mine"):
                ts.tune(matmul(), space=by_hand, trials=4, **QUICK, **options)
        with self.assertRaises(KeyboardInterrupt):
            def interrupt(p):
                raise KeyboardInterrupt
            ts.tune(matmul(), space=by_hand, measure=simulated, trials=4,
                    progress=interrupt, **QUICK)

    def test_interrupts(self):
        """Also one that arrives while no code of Python runs."""
        p = ts.ops.matmul(m=256, n=256, k=256)
        before = signal.getsignal(signal.SIGINT)
        for options in ({"progress": None},
                        {"progress": lambda p: time.sleep(60)}):
            begin = time.monotonic()
            threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
            with self.subTest(options), self.assertRaises(KeyboardInterrupt):
                ts.tune(p, trials=100000, **options, **QUICK)
                time.sleep(60)  # if the run ended otherwise
            self.assertLess(time.monotonic() - begin, 50)
        self.assertIs(signal.getsignal(signal.SIGINT), before)

    def test_measure_and_postprocs(self):
        r = ts.tune(matmul(), space=by_hand, trials=4,
                    measure=lambda s, c: "TIMEOUT", **QUICK)
        self.assertEqual((r.status, r.failed), ("NOT_FOUND", 4))
        self.assertIn("nothing valid", repr(r))

        def parallel(sch):
            sch.parallel(sch.get_loops(sch.get_block("C"))[0])

        def no_small(sch):
            loop = sch.get_loops(sch.get_block("C"))[0]
            return sch.extent(loop) > 2 or "too few iterations"

        r = ts.tune(matmul(), space=by_hand, measure=simulated, trials=4,
                    postprocs=[parallel, no_small], **QUICK)
        self.assertIn("parallel", str(r.trace))
        self.assertIn("no_small", r.funnel)

    def test_mutators(self):
        called = []

        def mutate(session, parent):
            called.append(parent)
            return session.draw()
        ts.tune(matmul(), space=by_hand, measure=simulated, trials=5,
                strategy="evolutionary", mutators=[ts.Mutator(mutate, 50)],
                cost_model="random", **QUICK)
        self.assertTrue(called)

    def test_options(self):
        p = matmul()
        for options, kind, said in (
                ({"trails": 3}, TypeError, "trails"),
                ({"trials": 0}, ValueError, "trials"),
                ({"trials": 2.5}, ValueError, "trials"),
                ({"timeout": -1}, ValueError, "timeout"),
                ({"check": "some"}, ValueError, "best, all"),
                ({"frozen": 1}, TypeError, "frozen"),
                ({"strategy": "no such"}, ts.Error, "no such"),
                ({"database": "/nowhere/x.db"}, ts.Error, "/nowhere"),
                ({"target": "llvm -mcpu=none"}, ts.Error, "none")):
            with self.subTest(options), self.assertRaisesRegex(kind, said):
                ts.tune(p, **options)
        self.assertIn("SQLite", ts.tune.__doc__)
        for said in ("    mutators: ", "; or a Strategy",
                     "called with a Progress"):
            self.assertIn(said, ts.tune.__doc__)
        for word in ("nil", "table", "true", "false", "--inputs", "{ name"):
            self.assertNotRegex(ts.tune.__doc__, rf"(?<!\w){word}(?!\w)")

    def test_database(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.db")
            p = matmul()
            r = ts.tune(p, trials=4, space=by_hand, cost_model="random",
                        database=path, **QUICK)
            with ts.database(path) as db:
                record, trace = db.best(p)
                self.assertTrue(record.checked)
                self.assertTrue(ts.equivalent(trace.replay(), p))
                records = db.records(program=p)
                self.assertEqual(len(records), r.trials)
                self.assertEqual(len(db.records(limit=2)), 2)
                self.assertEqual(db.runs()[0]["seed"], 1)
                self.assertEqual(db.best(matmul(8)), (None, None))
                db.export(os.path.join(folder, "x.json"))
                self.assertEqual(
                    db.import_(os.path.join(folder, "x.json")), 0)
            with self.assertRaisesRegex(ValueError, "ended"):
                db.runs()

    def test_tasks(self):
        lines = []
        tasks = ts.tune_tasks(
            [matmul(), {"program": matmul(8), "weight": 3, "space": by_hand}],
            trials=8, progress=lines.append, cost_model="random", **QUICK)
        self.assertEqual((len(tasks), tasks.status), (2, "OK"), tasks.funnel)
        self.assertTrue(lines and str(tasks))
        self.assertTrue(ts.equivalent(tasks[1].schedule, matmul(8)))
        with self.assertRaisesRegex(TypeError, "scheduled"):
            ts.tune_tasks([matmul()], scheduled="gradient")


if __name__ == "__main__":
    unittest.main()
