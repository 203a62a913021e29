#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The public interface: what its headers, the binaries and the description for other languages have.

    check_interface.py headers INCLUDE_FOLDER COMPILER... -- FLAG...
        Every public header can be compiled alone, without a warning: C headers in C99 and C11, and all in C++11 and C++17.
    check_interface.py exports INCLUDE_FOLDER ACCESS_HEADER BINARY...
        The binaries export what the public headers declare and the Debian packages list: nothing else, and nothing missing.
    check_interface.py since FILE.gir VERSION
        Everything in the library's description for other languages says since which version it is there.
"""
import glob
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

STANDARDS = {"c": ["c99", "c11"], "c++": ["c++11", "c++17"]}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
CPLUSPLUS_ALONE = {"dmp_network.h"}  # it has a class

CLASS = "CDMP_Network"
# Symbols that a compiler makes for a class with virtual functions declared in a header.
OF_THE_CLASS = {f"vtable for {CLASS}", f"typeinfo for {CLASS}", f"typeinfo name for {CLASS}"}
PLUGIN = re.compile(r"libgst(dvnn\w*)\.")  # the plugin's name is in the file's name

KINDS = ("alias", "bitfield", "callback", "class", "constant", "constructor", "enumeration", "function", "method", "record", "union")
CORE = "{http://www.gtk.org/introspection/core/1.0}"
FEWEST = 100


# --- headers -------------------------------------------------------------------------------------------------------

def headers(folder):
    for where, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(".h"):
                yield os.path.relpath(os.path.join(where, name), folder)


def check_headers(folder, *command):
    end = command.index("--")
    compiler, flags = command[:end], command[end + 1:]
    compiled, failures = 0, 0
    for header in headers(folder):
        for language, standards in STANDARDS.items():
            if language == "c" and header in CPLUSPLUS_ALONE:
                continue
            for standard in standards:
                compiled += 1
                result = subprocess.run(
                    [*compiler, "-x", language, f"-std={standard}", *WARNINGS, "-fsyntax-only",
                     f"-I{folder}", *flags, "-"],
                    input=f"#include <{header}>\n", text=True, check=False)
                if result.returncode:
                    failures += 1
                    print(f"FAILED {header} in {standard}")
    print(f"{compiled} compiled, {failures} failures")
    return 1 if failures or not compiled else 0


# --- exports -------------------------------------------------------------------------------------------------------

def exports(path):
    """Returns the names of the defined dynamic symbols without their parameters, by version."""
    names = {}
    lines = subprocess.run(["nm", "-D", "-C", "--defined-only", "--with-symbol-versions", path],
                           check=True, text=True, stdout=subprocess.PIPE).stdout
    for line in lines.splitlines():
        _, kind, name = line.split(" ", 2)
        name, _, version = name.partition("@")
        if kind == "A":  # a version
            continue
        names.setdefault(version.lstrip("@"), set()).add(name.split("(")[0])
    return names


def code(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*", "", text, flags=re.DOTALL | re.MULTILINE)


def declared(paths, pattern):
    """Returns the functions that these headers declare but do not define."""
    found = set()
    for path in paths:
        for name, end in re.findall(r"([~\w]+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)[\s\w]*(=\s*\w+)?\s*;",
                                    code(path)):
            if not end and re.fullmatch(pattern, name):
                found.add(name)
    return found


def body(text, opening):
    start = text.index("{", text.index(opening)) + 1
    depth, at = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start:at - 1]


def members(text, of, opening):
    """Returns the member functions of a class that are declared without a body, and are not pure or deleted."""
    depth, plain = 0, ""
    for character in body(text, opening):
        depth += character == "{"
        plain += character if not depth else ""
        depth -= character == "}"
        plain += " has a body;" if character == "}" and not depth else ""
    found = set()
    for statement in re.split(r";|\b(?:public|protected|private):", plain):
        called = re.search(r"(~?\w+)\s*\(.*$", statement, re.DOTALL)
        if called and not re.search(r"has a body$|=\s*(delete|0)\s*$", statement):
            found.add(f"{of}::{called.group(1)}")
    return found


def expected(name, include, access):
    """Returns symbols by version; the version None stands for any that only this release has."""
    if name.startswith("libgstdvnn-1.0"):
        return {"": declared(glob.glob(os.path.join(include, "gst", "dvnn", "*.h")), r"gst_\w+")}
    plugin = PLUGIN.match(name)
    if plugin:
        return {"": {f"gst_plugin_{plugin.group(1)}_{asked}" for asked in ("get_desc", "register")}}
    if name.startswith("libdmpdv"):
        soft = os.path.join(include, "..", "src", "device", "soft_extension.h")
        return {"": declared([os.path.join(include, "dmp_dv.h")], r"dmp_dv_\w+") |
                declared([soft], r"dvnn_soft_\w+")}
    if name.startswith("libdmp_network"):
        header = os.path.join(include, "dmp_network.h")
        public = members(code(header), CLASS, f"class DMP_NETWORK_API {CLASS}") | OF_THE_CLASS
        public |= {"fpga_layer::fpga_layer"} | declared([header], r"(get|put)_layer_(in|out)put")
        private = members(code(access), "dvnn::generated::Access", "Access {")
        return {"DMP_NETWORK_0": public, None: private}
    raise SystemExit(f"{name}: of no known kind")


def listed(name, include):
    """Returns the symbols that debian/*.symbols lists of an unversioned library, or None if there are none."""
    for path in glob.glob(os.path.join(include, "..", "debian", "*.symbols")):
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        if name.startswith(lines[0].split()[0]):
            return {line.split("@Base")[0].strip() for line in lines if "@Base" in line} or None
    return None


def check_exports(include, access, *binaries):
    failures = 0
    for path in binaries:
        name = os.path.basename(path)
        found, wanted = exports(path), expected(name, include, access)
        private = [version for version in found if version.startswith("DMP_NETWORK_PRIVATE_")]
        if len(private) == 1:
            found[None] = found.pop(private[0])
        count = sum(map(len, found.values()))
        print(f"{name}: {count} exported")
        failures += not count
        for version in {*found, *wanted}:
            for symbol in sorted(found.get(version, set()) - wanted.get(version, set())):
                print(f"  FAILED: exports {symbol}, which no header declares")
                failures += 1
            for symbol in sorted(wanted.get(version, set()) - found.get(version, set())):
                print(f"  FAILED: does not export {symbol}, which a header declares")
                failures += 1
        packaged = listed(name, include)
        for symbol in sorted(packaged ^ found[""]) if packaged else []:
            print(f"  FAILED: {symbol} is exported or in debian/*.symbols, but not both")
            failures += 1
    return 1 if failures or not binaries else 0


# --- versions ------------------------------------------------------------------------------------------------------

def numbers(version):
    return [int(number) for number in version.split(".")]


def check_since(path, version):
    seen = [element for element in xml.etree.ElementTree.parse(path).iter() if element.tag in [CORE + kind for kind in KINDS]
            # Macros call these; nobody writes them.
            and not element.get("name").endswith("_api_get_type")]
    problems = []
    for element in seen:
        since = element.get("version")
        if not since:
            problems.append("%s %s has no 'Since:' at the end of its comment" % (element.tag[len(CORE):], element.get("name")))
        elif numbers(since) > numbers(version):
            problems.append("%s %s is there since %s, but this is %s" % (element.tag[len(CORE):], element.get("name"), since, version))
    if len(seen) < FEWEST:
        problems.append("%s describes only %d things" % (path, len(seen)))
    print("\n".join(problems) or "%d things say since when they are there" % len(seen))
    return 1 if problems else 0


if __name__ == "__main__":
    checks = {"headers": check_headers, "exports": check_exports, "since": check_since}
    sys.exit(checks[sys.argv[1]](*sys.argv[2:]))
