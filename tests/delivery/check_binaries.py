#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the hardening of binaries by readelf: position-independent, no executable stack, symbols
bound before main() and read-only from then on, stack protector, fortified C functions, and landing
pads for indirect branches. And that they name no source, and no folder of the system for which a
cross build is, by the folder in which they were built: the same sources give the same bytes in any folder.

    check_binaries.py SOURCE_FOLDER BINARY...
"""
import os
import re
import subprocess
import sys

# endbr64 of x86-64; bti c, bti j, bti jc and paciasp (also a landing pad) of Arm.
LANDING_PADS = {
    "X86-64": [b"\xf3\x0f\x1e\xfa"],
    "AArch64": [b"\x5f\x24\x03\xd5", b"\x9f\x24\x03\xd5", b"\xdf\x24\x03\xd5", b"\x3f\x23\x03\xd5"],
}
FEWEST_PADS = 20


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def problems(path, folder):
    header, segments = readelf("-h", path), readelf("-l", path)
    dynamic, symbols = readelf("-d", path), readelf("--dyn-syms", path)
    if "DYN" not in header:
        yield "is not position-independent"
    if "GNU_RELRO" not in segments:
        yield "has no GNU_RELRO segment"
    if not any(word in dynamic for word in ("BIND_NOW", " NOW")):
        yield "binds symbols lazily (no -z now)"
    stack = [line for line in segments.splitlines() if "GNU_STACK" in line]
    if not stack or "RWE" in stack[0]:
        yield "has an executable stack"
    if "__stack_chk_fail" not in symbols:
        yield "has no stack protector"
    if not any(name.endswith("_chk") for line in symbols.splitlines()
               for name in [line.split("@")[0]]):
        yield "calls no fortified function (_FORTIFY_SOURCE)"
    with open(path, "rb") as file:
        code = file.read()
    for machine, pads in LANDING_PADS.items():
        if machine in header and sum(code.count(pad) for pad in pads) < FEWEST_PADS:
            yield "has no landing pads for indirect branches (CET or BTI)"
    # Not the places of libraries, which are there until the installation.
    source = re.search(re.escape(os.fsencode(folder)) + rb"/[ -~]*(\.(cpp|h)|/gstreamer-1\.0)\0", code)
    if source:
        yield f"names {source.group()[:-1].decode()}, which depends on the builder's folder"


def main():
    failures = 0
    folder, *binaries = sys.argv[1:]
    for path in binaries:
        for problem in problems(path, folder):
            print(f"{path} {problem}")
            failures += 1
    print(f"{len(binaries)} binaries, {failures} problems")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
