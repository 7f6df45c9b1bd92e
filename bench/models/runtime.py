# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime on a model of bench/models/export.py: the median milliseconds of
runs for some seconds.  Its threads do not spin while others compute.

    python runtime.py FOLDER NAME THREADS SECONDS
"""
import os
import sys
import time

import numpy as np
import onnxruntime

folder, name, threads, seconds = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(threads)
options.add_session_config_entry("session.intra_op.allow_spinning", "0")
session = onnxruntime.InferenceSession(os.path.join(folder, name + ".onnx"), options,
                                       providers=["CPUExecutionProvider"])
feed = {v.name: np.load(os.path.join(folder, name, v.name.replace("/", "_") + ".npy"))
        for v in session.get_inputs()}
session.run(None, feed)
times, until = [], time.perf_counter() + float(seconds)
while not times or time.perf_counter() < until:
    start = time.perf_counter()
    session.run(None, feed)
    times.append(time.perf_counter() - start)
print("%.3f" % (np.median(times) * 1e3))
