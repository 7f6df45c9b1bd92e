# SPDX-License-Identifier: Apache-2.0
"""Writes tessera/_abi.py: the public C header as declarations of ctypes.

The compiler's preprocessor expands tessera.h, with the lists of statuses,
primitives and options that it includes; what is left of C is types, structs
and prototypes, which are read here.

usage: declarations.py OUT INCLUDE...
"""
import os
import re
import subprocess
import sys

CTYPES = {
    "void": "None", "char": "c_char", "int": "c_int", "double": "c_double",
    "float": "c_float", "size_t": "c_size_t", "int32_t": "c_int32",
    "uint8_t": "c_uint8", "uint16_t": "c_uint16", "uint32_t": "c_uint32",
    "int64_t": "c_int64", "uint64_t": "c_uint64",
}
TOKEN = re.compile(r"\s*([A-Za-z_]\w*|0[xX][0-9a-fA-F]+|\d+|.)")


def preprocess(include):
    """What stands in Tessera's own headers, as one text."""
    command = [os.environ.get("CC", "cc"), "-E", "-x", "c", "-"]
    command += ["-I" + folder for folder in include]
    text = subprocess.run(command, input="#include <tessera/tessera.h>\n",
                          stdout=subprocess.PIPE, check=True, text=True).stdout
    own, lines = False, []
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            own = "/tessera/" in marker.group(1)
        elif own:
            lines.append(line)
    return re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "",
                  "\n".join(lines))


class Reader:
    """Reads declarations, and keeps them as lines of Python."""

    def __init__(self, text):
        self.tokens = [t for t in TOKEN.findall(text) if t.strip()]
        self.at = 0
        self.known = dict(CTYPES)
        self.classes, self.fields, self.names = [], [], []
        self.prototypes, self.constants = [], []

    def peek(self, ahead=0):
        i = self.at + ahead
        return self.tokens[i] if i < len(self.tokens) else ""

    def take(self, token=None):
        got = self.peek()
        if token and got != token:
            near = " ".join(self.tokens[max(0, self.at - 8):self.at + 4])
            raise SystemExit(f"declarations.py: expected '{token}', got "
                             f"'{got}' near: {near}")
        self.at += 1
        return got

    def accept(self, token):
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def read(self):
        while self.peek():
            if self.accept("typedef"):
                self.typedef()
                continue
            base = self.base()
            if not self.accept(";"):  # not a bare enum or struct
                self.prototypes.append(self.declarator(base))
                self.take(";")

    def typedef(self):
        base = self.base()
        name, kind = self.declarator(base)
        self.take(";")
        if kind != name:
            self.names.append(f"{name} = {kind}")
        self.known[name] = name

    def base(self):
        """The type in front of declarators, as Python."""
        self.accept("const")
        word = self.take()
        if word == "enum":
            tag = self.take() if self.peek() != "{" else None
            if self.peek() == "{":
                self.enum()
            if tag:
                self.known[tag] = "c_int"
            kind = "c_int"
        elif word == "struct":
            tag = self.take()
            self.struct(tag)
            kind = tag
        elif word in self.known:
            kind = self.known[word]
        else:
            raise SystemExit(f"declarations.py: unknown type '{word}'")
        self.accept("const")
        return kind

    def enum(self):
        self.take("{")
        value = -1
        while not self.accept("}"):
            name = self.take()
            value += 1
            if self.accept("="):
                sign = -1 if self.accept("-") else 1
                value = sign * int(self.take(), 0)
            self.constants.append(f"{name} = {value}")
            self.accept(",")

    def struct(self, tag):
        if tag not in self.known:
            self.known[tag] = tag
            self.classes.append(tag)
        if not self.accept("{"):
            return
        fields = []
        while not self.accept("}"):
            base = self.base()
            while True:
                fields.append(self.declarator(base))
                if not self.accept(","):
                    break
            self.take(";")
        self.fields.append((tag, fields))

    def declarator(self, kind):
        """A name, "" where there is none, and what it is."""
        while self.accept("*"):
            kind = pointer(kind)
            self.accept("const")
        if self.peek() == "(" and self.peek(1) == "*":
            self.at += 2
            name = self.take() if self.peek() != ")" else ""
            self.take(")")
            return name, f"CFUNCTYPE({', '.join([kind] + self.parameters())})"
        name = ""
        if re.match(r"[A-Za-z_]", self.peek()):
            name = self.take()
        if self.peek() == "(":
            return name, [kind] + self.parameters()
        if self.accept("["):
            kind = f"{kind} * {self.take()}"
            self.take("]")
        return name, kind

    def parameters(self):
        self.take("(")
        kinds = []
        while not self.accept(")"):
            _, kind = self.declarator(self.base())
            if " * " in kind:  # an array is passed by its address
                kind = pointer(kind.split(" * ")[0])
            if kind != "None":
                kinds.append(kind)
            self.accept(",")
        return kinds


def pointer(kind):
    return {"None": "c_void_p", "c_char": "c_char_p"}.get(
        kind, f"POINTER({kind})")


def python(reader):
    out = ['"""Made by declarations.py of the public header: do not edit."""',
           "from ctypes import *", ""]
    out += reader.constants + [""]
    for tag in reader.classes:
        out += [f"class {tag}(Structure):", "    pass", ""]
    out += reader.names + [""]
    for tag, fields in reader.fields:
        out.append(f"{tag}._fields_ = [")
        out += [f"    ({name!r}, {kind})," for name, kind in fields] + ["]"]
    out += ["", "PROTOTYPES = {"]
    for name, (result, *kinds) in reader.prototypes:
        out.append(f"    {name!r}: ({result}, [{', '.join(kinds)}]),")
    return "\n".join(out + ["}", ""])


def write(path, include):
    reader = Reader(preprocess(include))
    reader.read()
    with open(path, "w", encoding="ascii") as f:
        f.write(python(reader))


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2:])
