#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every public header alone, without a warning: C headers in C99 and C11, and all in C++11
and C++17.

    check_headers.py INCLUDE_FOLDER COMPILER... -- FLAG...
"""
import os
import subprocess
import sys

STANDARDS = {"c": ["c99", "c11"], "c++": ["c++11", "c++17"]}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
CPLUSPLUS_ALONE = {"dmp_network.h"}  # it has a class


def headers(folder):
    for where, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(".h"):
                yield os.path.relpath(os.path.join(where, name), folder)


def main():
    folder, end = sys.argv[1], sys.argv.index("--")
    compiler, flags = sys.argv[2:end], sys.argv[end + 1:]
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


if __name__ == "__main__":
    sys.exit(main())
