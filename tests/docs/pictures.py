#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/pictures still makes a picture of each element, and the docs have these: small, and shown where the element is.

    pictures.py SOURCE BUILD
"""
import os
import re
import subprocess
import sys
import tempfile

MOST_BYTES, MOST_BYTES_TOGETHER = 60000, 1000000
ENDINGS = {".jpg": (b"\xff\xd8\xff", b"\xff\xd9"), ".png": (b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82")}
source, build = (os.path.abspath(path) for path in sys.argv[1:])
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
sys.exit(1 if problems else 0)
