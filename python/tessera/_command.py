# SPDX-License-Identifier: Apache-2.0
"""The command `tessera`, which the wheel brings."""
import os
import sys

from ._native import PREFIX


def main():
    path = os.path.join(PREFIX, "bin", "tessera")
    os.execv(path, [path] + sys.argv[1:])
