#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures of the docs can be drawn again, are small, and each is used on a page.

    check_pictures.py DRAW_PICTURES DOCS_FOLDER
"""
import os
import re
import subprocess
import sys
import tempfile

MOST_BYTES, MOST_BYTES_TOGETHER = 15000, 150000


def sizes(folder):
    return {name: os.path.getsize(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}


def main():
    program, docs = sys.argv[1:]
    kept = sizes(os.path.join(docs, "pictures"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        drawn = sizes(folder)
    # Names are compared alone, because fonts, and so the bytes, differ from machine to machine.
    assert drawn.keys() == kept.keys(), (drawn, kept)
    for which in (drawn, kept):
        assert max(which.values()) < MOST_BYTES and sum(which.values()) < MOST_BYTES_TOGETHER, which
    shown = set()
    for name in ("decoders.md", "zones.md"):
        with open(os.path.join(docs, name), encoding="utf-8") as page:
            shown |= set(re.findall(r"\(pictures/([\w.]+)\)", page.read()))
    assert shown == kept.keys(), shown ^ kept.keys()
    return 0


if __name__ == "__main__":
    sys.exit(main())
