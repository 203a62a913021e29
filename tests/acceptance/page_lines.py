# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a section of docs/cascades.md, on another picture than the page's."""
import json
import re
import shlex
import subprocess
import sys

SKIP = 77
try:
    import cv2  # noqa: F401  (for those who import this)
    import numpy as np
except ImportError:
    print("skipped: needs python3-opencv and python3-numpy")
    sys.exit(SKIP)


def skip_without(paths):
    """Ends the test with a message if the data are not there."""
    if missing := [path for path in paths if not path.exists()]:
        print(f"skipped: needs {missing[0]}")
        sys.exit(SKIP)


def commands(page, heading):
    """Returns the section's commands, as lists of words."""
    section = page.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    for block in re.findall(r"((?:^ {4}.*\n)+)", section, re.M):
        for command in re.split(r"(?<!\\)\n", block):
            if command.strip():
                yield shlex.split(command.replace("\\\n", " "))


def run_section(page, heading, dvnet, picture, folder):
    """Converts the models in the folder and runs the pipeline there. Returns the document of what it found, and the
    frame's pixels, B, G, R."""
    pipeline = None
    for words in commands(page, heading):
        if words[0] == "dvnet":
            subprocess.run([dvnet, *words[1:]], cwd=folder, check=True, timeout=60, stdout=subprocess.DEVNULL)
        elif words[0] == "gst-launch-1.0":
            pipeline = words
    # Uses the given picture instead of the page's file, keeps its pixels, and publishes documents
    # instead of drawing.
    first, drawn = pipeline.index("dvconvert"), pipeline.index("dvoverlay")
    tap = ("video/x-raw,format=BGR ! tee name=t t. ! queue ! filesink location=frame.bgr "
           "t. ! queue !").split()
    tell = ["dvpublish", "location=found.jsonl", "details=points+texts+embeddings", "!", "fakesink"]
    line = [f"location={picture}" if w.startswith("location=") else w for w in pipeline[:first]]
    subprocess.run([*line, *tap, *pipeline[first:drawn], *tell], cwd=folder, check=True, timeout=60,
                   stdout=subprocess.DEVNULL)
    document = json.loads((folder / "found.jsonl").read_text().splitlines()[0])
    width, height = document["frame"]["width"], document["frame"]["height"]
    stride = (width * 3 + 3) // 4 * 4
    raw = np.fromfile(folder / "frame.bgr", np.uint8)[:stride * height]
    return document, np.ascontiguousarray(raw.reshape(height, stride)[:, :width * 3]).reshape(height, width, 3)
