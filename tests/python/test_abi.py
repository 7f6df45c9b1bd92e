# SPDX-License-Identifier: Apache-2.0
"""The declarations that were made of the header are what a C compiler makes of
it: constants, sizes and offsets of structs.  The environment variable CFLAGS
has where the header is."""
import ctypes
import os
import subprocess
import tempfile
import unittest

from tessera import _abi


def lines():
    """What is declared, and the same as expressions of C."""
    for name, value in sorted(vars(_abi).items()):
        if name.startswith("TESS_") and isinstance(value, int):
            yield value, name
        if not (name.startswith("tess_") and isinstance(value, type) and
                hasattr(value, "_fields_")):
            continue
        yield ctypes.sizeof(value), f"sizeof({name})"
        for field, kind in value._fields_:
            at = getattr(value, field)
            yield at.offset, f"offsetof({name}, {field})"
            yield at.size, f"sizeof((({name} *)0)->{field})"


class Declarations(unittest.TestCase):
    def test_as_in_c(self):
        declared = list(lines())
        self.assertGreater(len(declared), 600)
        program = ["#include <stddef.h>", "#include <stdio.h>",
                   "#include <tessera/tessera.h>", "int main(void) {"]
        program += [f'  printf("%lld %s\\n", (long long){c}, "{c}");'
                    for _, c in declared] + ["}"]
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "abi.c")
            with open(source, "w", encoding="ascii") as f:
                f.write("\n".join(program))
            run = os.path.join(folder, "abi")
            subprocess.run([os.environ.get("CC", "cc"), "-o", run, source] +
                           os.environ["CFLAGS"].split(), check=True)
            said = subprocess.run([run], stdout=subprocess.PIPE, check=True,
                                  text=True).stdout.splitlines()
        self.assertEqual([f"{value} {c}" for value, c in declared], said)

    def test_functions(self):
        self.assertGreater(len(_abi.PROTOTYPES), 270)


if __name__ == "__main__":
    unittest.main()
