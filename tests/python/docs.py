# SPDX-License-Identifier: Apache-2.0
"""Runs the Python of a document, block after block in one namespace.  A block
fenced ```output is what the block before it printed; "..." in it stands for
any text.  Files of tests/data/onnx are at hand.  Needs: numpy"""
import contextlib
import glob
import io
import os
import re
import shutil
import sys
import tempfile


def blocks(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for m in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        yield m.group(1), m.group(2), text[:m.start(2)].count("\n")


def main(path):
    names, printed, count = {"__name__": "__main__"}, "", 0
    for kind, body, line in blocks(path):
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * line + body, path, "exec"), names)
            printed, count = out.getvalue(), count + 1
        elif kind == "output":
            want = ".*".join(map(re.escape, body.strip().split("...")))
            if not re.fullmatch(want, printed.strip(), re.S):
                sys.exit(f"{path}:{line}: printed\n{printed}")
    if not count:
        sys.exit(f"{path} has no Python")


if __name__ == "__main__":
    document = os.path.abspath(sys.argv[1])
    files = glob.glob(os.path.join(os.path.dirname(document),
                                   "../tests/data/onnx/*.onnx"))
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            shutil.copy(file, folder)
        os.chdir(folder)
        main(document)
