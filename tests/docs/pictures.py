#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures of the docs can be made again, are small, and each is shown.

    pictures.py elements SOURCE BUILD
        scripts/pictures makes a picture of each element, which is shown where the element is.
    pictures.py drawn DRAW_PICTURES DOCS_FOLDER
        The program draw_pictures draws those of the decoders and zones.
"""
import os
import re
import subprocess
import sys
import tempfile

ENDINGS = {".jpg": (b"\xff\xd8\xff", b"\xff\xd9"), ".png": (b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82")}
MOST_BYTES, MOST_BYTES_TOGETHER = 60000, 1000000        # of elements
MOST_DRAWN_BYTES, MOST_DRAWN_BYTES_TOGETHER = 15000, 150000
problems = []


def check_pictures(folder):
    """Returns the names of the pictures that are in a folder."""
    sizes = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            pixels = file.read()
        begins, ends = ENDINGS[os.path.splitext(name)[1]]
        sizes[name] = len(pixels)
        if not (pixels.startswith(begins) and pixels.endswith(ends) and 4000 < len(pixels) <= MOST_BYTES):
            problems.append("%s/%s has %d bytes, or is no whole picture" % (folder, name, len(pixels)))
    if sum(sizes.values()) > MOST_BYTES_TOGETHER:
        problems.append("the pictures in %s have %d bytes together" % (folder, sum(sizes.values())))
    return set(sizes)


def check_elements(source, build):
    source, build = os.path.abspath(source), os.path.abspath(build)
    kept = check_pictures(os.path.join(source, "docs", "elements"))
    with open(os.path.join(source, "docs", "reference-elements.md"), encoding="utf-8") as page:
        parts = re.split(r"^## ", page.read(), flags=re.M)[1:]
    shown = set()
    for part in parts:
        pictures = re.findall(r"!\[[^\]]+\]\(elements/([\w.]+)\)", part)
        if [os.path.splitext(name)[0] for name in pictures] != part.split(None, 1)[:1]:
            problems.append("%s shows the pictures %s, not its own one" % (part.split(None, 1)[0], pictures))
        shown.update(pictures)
    if shown != kept or len(parts) < 13:
        problems.append("docs/elements and docs/reference-elements.md differ: %s; %d elements" % (sorted(shown ^ kept), len(parts)))
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([os.path.join(source, "scripts", "pictures"), "--build", build, folder], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if made.returncode:
            problems.append("scripts/pictures ends with %d: %s" % (made.returncode, made.stdout))
        elif check_pictures(folder) != kept:
            problems.append("scripts/pictures makes %s" % sorted(os.listdir(folder)))
    print("\n".join(problems) or "%d pictures" % len(kept))
    return 1 if problems else 0


def sizes(folder):
    return {name: os.path.getsize(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}


def check_drawn(program, docs):
    kept = sizes(os.path.join(docs, "pictures"))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True)
        drawn = sizes(folder)
    # Names are compared alone, because fonts, and so the bytes, differ from machine to machine.
    assert drawn.keys() == kept.keys(), (drawn, kept)
    for which in (drawn, kept):
        assert max(which.values()) < MOST_DRAWN_BYTES and sum(which.values()) < MOST_DRAWN_BYTES_TOGETHER, which
    shown = set()
    for name in ("decoders.md", "zones.md"):
        with open(os.path.join(docs, name), encoding="utf-8") as page:
            shown |= set(re.findall(r"\(pictures/([\w.]+)\)", page.read()))
    assert shown == kept.keys(), shown ^ kept.keys()
    return 0


if __name__ == "__main__":
    sys.exit({"elements": check_elements, "drawn": check_drawn}[sys.argv[1]](*sys.argv[2:]))
