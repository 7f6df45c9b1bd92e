# SPDX-License-Identifier: Apache-2.0
"""Writes models with seeded weights as ONNX files, with inputs and the outputs
that ONNX Runtime gives, for bench/models/run.lua:

    python export.py FOLDER [NAME..]        all, or those of these names
    python export.py --small FOLDER         few channels and layers, for tests
    python export.py --kinds FOLDER         small nets of many kinds (kinds.py)
    python export.py --light FOLDER         the light networks of onnx itself
    python export.py --file FOLDER NAME FILE.onnx [INPUT=1x3x224x224..]

FOLDER/NAME.onnx, FOLDER/NAME/INPUT.npy and FOLDER/NAME/OUTPUT.npy.
"""
import glob
import os
import shutil
import sys

import numpy as np
import onnx

import kinds
import nets
import texts

MODELS = {
    "resnet18": lambda small: nets.resnet(18, small),
    "resnet50": lambda small: nets.resnet(50, small),
    "mobilenet_v1": nets.mobilenet_v1,
    "mobilenet_v2": nets.mobilenet_v2,
    "inception_v1": nets.inception_v1,
    "bert": texts.bert,
    "gpt2_step": texts.gpt2,
    "gpt2_prompt": lambda small: texts.gpt2(small, tokens=128, past=0),
    "lstm": texts.lstm,
    "dqn": nets.dqn,
    "dcgan": nets.dcgan,
    "quantized": nets.quantized,
}
KINDS = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_,
         10: np.float16, 11: np.float64}


def inputs_of(graph, fixed=None):
    """Seeded inputs: floats in [0, 1), indices below 50, masks of ones."""
    random, feed = np.random.default_rng(7), {}
    weights = {w.name for w in graph.initializer}
    for v in graph.input:
        if v.name in weights:
            continue
        t = v.type.tensor_type
        shape = (fixed or {}).get(v.name) or [d.dim_value or 1 for d in t.shape.dim]
        kind = KINDS[t.elem_type]
        if "mask" in v.name:
            feed[v.name] = np.ones(shape, kind)
        elif "type" in v.name:
            feed[v.name] = random.integers(0, 2, shape).astype(kind)
        elif np.issubdtype(kind, np.integer):
            feed[v.name] = random.integers(0, 50, shape).astype(kind)
        else:
            feed[v.name] = random.random(shape).astype(kind)
    return feed


def write_results(path, folder, fixed=None):
    """Inputs, and what ONNX Runtime gives for them."""
    import onnxruntime
    graph = onnx.load(path, load_external_data=False).graph
    feed = inputs_of(graph, fixed)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    results = session.run(None, feed)
    os.makedirs(folder, exist_ok=True)
    for name, x in list(feed.items()) + list(zip((o.name for o in graph.output), results)):
        np.save(os.path.join(folder, name.replace("/", "_") + ".npy"), x)


def add_file(folder, name, path, shapes=()):
    """A file as it is."""
    fixed = {}
    for text in shapes:
        key, _, shape = text.rpartition("=")
        fixed[key] = [int(n) for n in shape.split("x")]
    copy = os.path.join(folder, name + ".onnx")
    shutil.copyfile(path, copy)
    write_results(copy, os.path.join(folder, name), fixed)


def add_light(folder):
    import onnx.backend.test
    data = os.path.join(os.path.dirname(onnx.backend.test.__file__), "data", "light")
    for path in sorted(glob.glob(os.path.join(data, "*.onnx"))):
        add_file(folder, os.path.basename(path)[:-5], path)


def add_models(folder, names, small):
    for name in names or MODELS:
        path = os.path.join(folder, name + ".onnx")
        model = {**MODELS, **kinds.MODELS}[name](small)
        onnx.save(model, path)
        write_results(path, os.path.join(folder, name), kinds.SHAPES.get(name))
        print("%-16s %4d nodes, %9.1f kB" % (name, len(model.graph.node),
                                             os.path.getsize(path) / 1e3), flush=True)


def main(args):
    what = args.pop(0) if args[0].startswith("--") else ""
    folder = args.pop(0)
    os.makedirs(folder, exist_ok=True)
    if what == "--light":
        add_light(folder)
    elif what == "--kinds":
        add_models(folder, list(kinds.MODELS), True)
    elif what == "--file":
        add_file(folder, args[0], args[1], args[2:])
    else:
        add_models(folder, args, what == "--small")


if __name__ == "__main__":
    main(sys.argv[1:])
