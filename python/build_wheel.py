# SPDX-License-Identifier: Apache-2.0
"""The build backend of pyproject.toml: a wheel of the Python package, and
below it the installed tree with the libraries that it needs (bundle.py).

The library is built by CMake, in build/ (the preset "release"); where the
environment variable TESSERA_BUILD names a tree that was built, that is taken
as it is.
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bundle  # noqa: E402
import declarations  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def version():
    header = os.path.join(ROOT, "include/tessera/tessera.h")
    with open(header, encoding="utf-8") as f:
        parts = re.findall(r"#define TESS_VERSION_\w+ (\d+)", f.read())
    return ".".join(parts)


def run(*command):
    subprocess.run(command, check=True, cwd=ROOT, stdout=sys.stderr)


def built():
    """The folder of a tree that is built."""
    given = os.environ.get("TESSERA_BUILD")
    if given:
        return os.path.abspath(given)
    run("cmake", "--preset", "release")
    run("cmake", "--build", "--preset", "release", "--target", "product")
    return os.path.join(ROOT, "build")


# ---- what is in the wheel ---------------------------------------------------

METADATA = """Metadata-Version: 2.1
Name: tessera
Version: {version}
Summary: Probabilistic tensor-program scheduling
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
"""
WHEEL = """Wheel-Version: 1.0
Generator: tessera
Root-Is-Purelib: false
Tag: {tag}
"""
ENTRY_POINTS = """[console_scripts]
tessera = tessera._command:main
"""


def tag():
    """Of this machine's kind of Linux: manylinux allows no library of LLVM,
    which is not in the wheel."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"py3-none-{platform}"


def package(folder, build):
    """The package `tessera`, whole, in a folder."""
    to = os.path.join(folder, "tessera")
    shutil.copytree(os.path.join(HERE, "tessera"), to,
                    ignore=shutil.ignore_patterns("__pycache__", "_*.pyc"))
    declarations.write(os.path.join(to, "_abi.py"),
                       [os.path.join(ROOT, "include"),
                        os.path.join(build, "include")])
    stage = os.path.join(folder, "stage")
    run("cmake", "--install", build, "--prefix", stage, "--strip")
    licenses = bundle.bundle(stage, os.path.join(to, "_prefix"))
    shutil.rmtree(stage)
    return licenses


def dist_info(folder, licenses):
    info = os.path.join(folder, f"tessera-{version()}.dist-info")
    os.makedirs(os.path.join(info, "licenses"))
    for name, text in (("METADATA", METADATA), ("WHEEL", WHEEL),
                       ("entry_points.txt", ENTRY_POINTS)):
        with open(os.path.join(info, name), "w", encoding="ascii") as f:
            f.write(text.format(version=version(), tag=tag()))
    for path in ("LICENSE", "NOTICE"):
        shutil.copy(os.path.join(ROOT, path), os.path.join(info, "licenses"))
    for name, path in licenses.items():
        shutil.copy(path, os.path.join(info, "licenses", name))
    return info


# ---- the file ---------------------------------------------------------------

def files_below(folder):
    for base, folders, names in os.walk(folder, followlinks=True):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(base, name)
            yield path, os.path.relpath(path, folder)


def write(archive, name, data, mode):
    info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data)
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return f"{name},sha256={digest.decode().rstrip('=')},{len(data)}\n"


def pack(folder, info, path):
    record = os.path.join(os.path.basename(info), "RECORD")
    with zipfile.ZipFile(path, "w") as archive:
        lines = []
        for file, name in files_below(folder):
            with open(file, "rb") as f:
                mode = 0o755 if os.access(file, os.X_OK) else 0o644
                lines.append(write(archive, name, f.read(), mode))
        lines.append(f"{record},,\n")
        write(archive, record, "".join(lines).encode(), 0o644)


def build_wheel(wheel_directory, config_settings=None,
                metadata_directory=None):
    name = f"tessera-{version()}-{tag()}.whl"
    with tempfile.TemporaryDirectory() as folder:
        info = dist_info(folder, package(folder, built()))
        pack(folder, info, os.path.join(wheel_directory, name))
    return name


if __name__ == "__main__":
    print(build_wheel(sys.argv[1]))
