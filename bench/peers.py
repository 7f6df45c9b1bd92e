#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other projects' searches on the files of bench/peers.lua, with its table.

  python3 -m venv peers && peers/bin/pip install optuna scikit-optimize kernel_tuner
  peers/bin/python bench/peers.py DIR|FILE ... [--search S,...] [--seeds N]
    [--trials N]

Searches: tpe (Optuna), forest (scikit-optimize's Optimizer with random forests,
which is what ytopt uses), and kt:STRATEGY of Kernel Tuner in its simulation, as
kt:genetic_algorithm.  What a file lacks is no trial here either: Kernel Tuner and
scikit-optimize are told so beforehand, Optuna prunes it.  A trial that fails is
pruned (Optuna), the slowest seen (scikit-optimize), or an error (Kernel Tuner).
"""
import argparse
import contextlib
import gzip
import io
import json
import logging
import os
import random
import statistics
import tempfile
import time
import warnings
from pathlib import Path

AT = (25, 50, 100, 200, 400)
SEARCHES = ("tpe,forest,kt:random_sample,kt:genetic_algorithm,kt:greedy_ils,"
            "kt:dual_annealing,kt:pso,kt:diff_evo,kt:bayes_opt")


class Done(Exception):
    """A run has had its trials."""


class Space:
    """What varies, and the time of each point by its positions; None: failed."""

    def __init__(self, path):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt") as f:
            self.file = json.load(f)
        self.name = path.name.split(".json")[0]
        values = self.file["tune_params"]
        self.params = [k for k in self.file["tune_params_keys"]
                       if len(values[k]) > 1]
        self.values = [values[k] for k in self.params]
        self.time = {}
        for point in self.file["cache"].values():
            self.time[self.at(point)] = self.time_of(point)
        self.best = min(t for t in self.time.values() if t)
        self.folder = None

    def slim(self):
        """A file of what Kernel Tuner reads, without the single readings."""
        first = not self.folder
        self.folder = self.folder or tempfile.TemporaryDirectory()
        path = os.path.join(self.folder.name, "cache.json")
        if first:
            keys = self.file["tune_params_keys"] + ["time"]
            cache = {k: {p: v[p] for p in keys}
                     for k, v in self.file["cache"].items()}
            with open(path, "w") as f:
                json.dump(self.file | {"cache": cache}, f)
        return path

    def at(self, point):
        return tuple(v.index(point[k])
                     for k, v in zip(self.params, self.values))

    @staticmethod
    def time_of(point):
        t = point.get("time")
        return t if isinstance(t, (int, float)) and t < 1e19 else None


class Run:
    """Counts each point once and keeps what the best is after each."""

    def __init__(self, space, trials):
        self.space, self.trials = space, trials
        self.seen, self.curve = {}, []
        self.least = float("inf")

    def measure(self, at):
        """The time; None: it failed, KeyError: there is no such point."""
        t = self.space.time[at]
        if at not in self.seen:
            self.seen[at] = t
            self.least = min(self.least, t or self.least)
            self.curve.append(self.least / self.space.best)
            if len(self.curve) == self.trials:
                raise Done
        return t


def by_tpe(space, run, seed):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    for _ in range(10 * run.trials):
        trial = study.ask()
        at = tuple(trial.suggest_int(k, 0, len(v) - 1)
                   for k, v in zip(space.params, space.values))
        t = run.measure(at) if at in space.time else None
        if t is None:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            study.tell(trial, t)


def by_forest(space, run, seed):
    from skopt import Optimizer
    from skopt.space import Integer
    names = space.params
    optimizer = Optimizer(
        [Integer(0, len(v) - 1, name=k) for k, v in zip(names, space.values)],
        base_estimator="RF", acq_func="EI", n_initial_points=10,
        space_constraint=lambda x: tuple(x[k] for k in names) in space.time
        if isinstance(x, dict) else tuple(x) in space.time,
        random_state=seed)
    slowest = max(t for t in space.time.values() if t)
    for _ in range(4 * run.trials):
        x = optimizer.ask()
        at = tuple(int(v) for v in x)
        t = run.measure(at) if at in space.time else None
        known = [v for v in run.seen.values() if v] or [slowest]
        optimizer.tell(x, t or max(known))


def by_kernel_tuner(space, run, seed, strategy):
    from kernel_tuner.interface import tune_cache
    results, _ = tune_cache(
        space.slim(), strategy=strategy, seed=seed, quiet=True,
        strategy_options={"max_fevals": run.trials})
    for point in results:
        run.measure(space.at(point))


def run_once(space, search, trials, seed):
    run = Run(space, trials)
    random.seed(seed)
    with contextlib.suppress(Done), contextlib.redirect_stdout(io.StringIO()):
        if search.startswith("kt:"):
            by_kernel_tuner(space, run, seed, search[3:])
        else:
            {"tpe": by_tpe, "forest": by_forest}[search](space, run, seed)
    return run.curve


def line_of(space, search, seeds, trials):
    clock = time.process_time()
    curves = [run_once(space, search, trials, s + 1) for s in range(seeds)]
    spent = time.process_time() - clock
    cells = ["%6.3f" % statistics.median(c[min(at, len(c)) - 1] for c in curves)
             for at in AT if at <= trials]
    near = sum(c[-1] <= 1.05 for c in curves)
    print("%-26s %-28s %s  %2d/%d  %.1f ms" % (
        space.name, search, " ".join(cells), near, seeds,
        1e3 * spent / seeds / trials), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.
                                     RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="+", type=Path)
    parser.add_argument("--search", default=SEARCHES)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=400)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    for path in given.path:
        files = sorted(path.glob("*.json*")) if path.is_dir() else [path]
        for file in files:
            space = Space(file)
            for search in given.search.split(","):
                line_of(space, search, given.seeds, given.trials)


if __name__ == "__main__":
    main()
