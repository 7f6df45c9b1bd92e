# SPDX-License-Identifier: Apache-2.0
"""Compares models of PyTorch with ONNX Runtime; bench/models/torch runs it.

    python torch_run.py FOLDER [NAME..]

A line each: whether all outputs are close, |got - want| <= 1e-4 of the largest
+ 1e-3 |want|, how long it took to load, how many kernels it has, and the least
time of a run, untuned, on one thread, beside ONNX Runtime's."""
import contextlib
import io
import logging
import os
import sys
import time
import warnings

import numpy as np
import onnxruntime
import tessera as ts
import torch

from torch_models import MODELS


def export(make, path, dynamo):
    torch.manual_seed(1)
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        model, inputs = make()
        kind = {"external_data": False} if dynamo else {"opset_version": 17}
        torch.onnx.export(model, tuple(inputs.values()), path, dynamo=dynamo,
                          input_names=list(inputs), verbose=False, **kind)
    np.savez(path + ".npz", **{k: v.numpy() for k, v in inputs.items()})


def least_seconds(run):
    times, end = [], time.perf_counter() + 1
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def far(got, want):
    """How far apart, of what is close: at most 1 where all is."""
    if got.shape != want.shape:
        return np.inf
    want = want.astype("float64")
    room = 1e-4 * np.abs(want).max(initial=1e-30) + 1e-3 * np.abs(want)
    return (np.abs(got - want) / room).max(initial=0)


def compare(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    peer = onnxruntime.InferenceSession(path, options,
                                        providers=["CPUExecutionProvider"])
    inputs = dict(np.load(path + ".npz"))
    inputs = {v.name: inputs[v.name] for v in peer.get_inputs()}
    begin = time.perf_counter()
    model = ts.load_model(path, target="llvm -num-cores=1", kernel_threads=1)
    loaded = time.perf_counter() - begin
    want = peer.run(None, inputs)
    got = model(**inputs)
    got = got if isinstance(got, tuple) else (got,)
    worst = max(far(*pair) for pair in zip(got, want, strict=True))
    ours = least_seconds(lambda: model(**inputs))
    theirs = least_seconds(lambda: peer.run(None, inputs))
    return (f"{'close' if worst <= 1 else f'FAR {worst:.3g}'}  {loaded:5.1f} s"
            f" {len(model.kernels):4d} kernels {1e3 * ours:9.3f} ms, ONNX "
            f"Runtime {1e3 * theirs:9.3f} ms, ratio {ours / theirs:.2f}")


def main(folder, *names):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in names or MODELS:
        for exporter in "torchscript", "dynamo":
            path = os.path.join(folder, f"{name}-{exporter}.onnx")
            try:
                if not os.path.exists(path + ".npz"):
                    export(MODELS[name], path, exporter == "dynamo")
                said = compare(path)
            except Exception as e:  # the next one may do
                said = f"{type(e).__name__}: {str(e).splitlines()[0]}"
            print(f"{name:29} {exporter:11} {said}", flush=True)


main(*sys.argv[1:])
