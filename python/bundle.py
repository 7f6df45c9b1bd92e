# SPDX-License-Identifier: Apache-2.0
"""Makes an installed tree that can be anywhere: the libraries that its files
need are copied beside libtessera, and found from there.  Left to the system
are the C library's and the compiler's; that of LLVM, of a hundred megabytes;
and what is loaded only where it is there (GSL, whose licence is another)."""
import glob
import os
import re
import shutil
import subprocess

OF_THE_SYSTEM = re.compile(
    r"(ld-linux|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|"
    r"libLLVM|libgsl|libgslcblas)\b")


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def patchelf(*args):
    if not shutil.which("patchelf"):
        raise SystemExit("tessera: building the wheel needs patchelf "
                         "(scripts/packages.txt)")
    return said("patchelf", *args)


def resolved(path):
    """Where the libraries are that a file needs, whoever needs them."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", said("ldd", path), re.M))


def needed(path):
    return [n for n in patchelf("--print-needed", path).split()
            if not OF_THE_SYSTEM.match(n)]


def copy_needed(path, lib):
    """Copies what a file needs, and what that needs; gives the originals."""
    found, copied = resolved(path), []
    waiting = needed(path)
    while waiting:
        name = waiting.pop()
        to = os.path.join(lib, name)
        if os.path.exists(to):
            continue
        if name not in found:
            raise SystemExit(f"tessera: {path} needs {name}, which is not "
                             "found")
        shutil.copy(found[name], to)
        copied.append(found[name])
        waiting += needed(to)
    return copied


def look_beside(path, lib):
    """Has a file look into `lib`, and where LLVM was when it was linked."""
    here = os.path.relpath(lib, os.path.dirname(path))
    old = [p for p in patchelf("--print-rpath", path).strip().split(":")
           if p.startswith("/")]
    new = ["$ORIGIN" if here == "." else f"$ORIGIN/{here}"] + old
    patchelf("--set-rpath", ":".join(new), path)


def license_of(path):
    """The Debian package that a library is of, and the file that says its
    licence; nothing on other systems."""
    try:
        owner = said("dpkg", "-S", "*/" + os.path.basename(
            os.path.realpath(path)))  # which may be known as of /lib
    except (OSError, subprocess.CalledProcessError):
        return {}
    name = owner.split(":")[0]
    file = f"/usr/share/doc/{name}/copyright"
    return {name: file} if os.path.exists(file) else {}


def bundle(stage, prefix):
    """The installed tree `stage` as `prefix`, without what is for compilers
    and for other languages; gives the licences of what came along."""
    lib = os.path.join(prefix, "lib")
    os.makedirs(os.path.join(lib, "tessera"))
    found = {os.path.basename(p): p
             for p in glob.glob(f"{stage}/lib*/**/*.so*", recursive=True)}
    own = [os.path.join(lib, "libtessera.so.1"),
           os.path.join(lib, "libtessera-spaces.so")]
    for to in own:
        shutil.copy(found[os.path.basename(to)], to)
    if "gsl.so" in found:
        own.append(os.path.join(lib, "tessera", "gsl.so"))
        shutil.copy(found["gsl.so"], own[-1])
    for folder in ("bin", "libexec"):
        to = os.path.join(prefix, folder)
        shutil.copytree(os.path.join(stage, folder), to)
        own += [os.path.join(to, name) for name in os.listdir(to)
                if not name.startswith("tessera-run-")]  # which are static
    for folder in ("share/lua", "share/doc"):
        shutil.copytree(os.path.join(stage, folder),
                        os.path.join(prefix, folder))
    originals = [o for path in own for o in copy_needed(path, lib)]
    for path in own + glob.glob(os.path.join(lib, "*.so*")):
        look_beside(path, lib)
    licenses = {}
    for path in originals:
        licenses.update(license_of(path))
    return licenses
