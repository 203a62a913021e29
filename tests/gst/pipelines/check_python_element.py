#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The element in Python of docs/examples finds what dvdecode finds, run by gst-launch-1.0.

    check_python_element.py EXAMPLES CLIP

Exits with 77 if GStreamer's loader of plugins in Python, or GstDvnn's bindings, are not installed.
"""
import json
import os
import subprocess
import sys
import tempfile

EXAMPLES, CLIP = sys.argv[1:]
# A registry of its own: other tests are not to load Python.
FOLDER = tempfile.TemporaryDirectory()
ENVIRONMENT = dict(os.environ, GST_PLUGIN_PATH=os.environ.get("GST_PLUGIN_PATH", "") + ":" + EXAMPLES,
                   GST_REGISTRY=os.path.join(FOLDER.name, "registry.bin"))


def run(*arguments):
    done = subprocess.run(arguments, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=200)
    return done.returncode, done.stdout, done.stderr


def objects_of(decoder, *convert):
    """Returns the objects of each frame as (label, class, confidence, box)."""
    path = os.path.join(FOLDER.name, "documents.jsonl")
    status, _, errors = run("gst-launch-1.0", "-q", "filesrc", "location=" + CLIP, "!", "decodebin", "!", "videoconvert",
                            "!", "dvconvert", *convert, "!", "dvinfer", "!", *decoder, "!", "dvpublish",
                            "location=" + path, "!", "fakesink")
    assert status == 0 and "WARNING" not in errors and "Traceback" not in errors, errors
    with open(path) as file:
        documents = [json.loads(line) for line in file]
    os.remove(path)
    return [[(o["label"], o["class_id"], o["confidence"], o["box"]) for o in each.get("objects", [])] for each in documents
            if each["type"] == "frame"]


def check_same(ours, python):
    assert len(python) == len(ours) > 30, (len(python), len(ours))
    assert sum(map(len, ours)) > 60, "the clip has objects"
    for number, (wanted, found) in enumerate(zip(ours, python)):
        assert len(wanted) == len(found), (number, wanted, found)
        for a, b in zip(sorted(wanted), sorted(found)):
            near = all(abs(x - y) < 0.02 for x, y in zip(a[3], b[3]))
            assert a[:2] == b[:2] and abs(a[2] - b[2]) < 2e-4 and near, (number, a, b)


def main():
    status, shown, errors = run("gst-inspect-1.0", "pydecode")
    if status != 0:
        if "Traceback" in errors and "pydecode.py" in errors and "No module" not in errors:
            sys.exit("the element cannot be loaded:\n" + errors)
        print("skipped: no gstreamer1.0-python3-plugin-loader")
        return 77
    assert "threshold" in shown
    check_same(objects_of(["dvdecode"]), objects_of(["pydecode"]))
    # A part of the frame, turned by a quarter, with borders.
    view = ["roi=<0.1,0.2,0.8,0.7>", "video-direction=90r", "resize=letterbox"]
    check_same(objects_of(["dvdecode", "threshold=0.3"], *view), objects_of(["pydecode", "threshold=0.3"], *view))
    return 0


if __name__ == "__main__":
    sys.exit(main())
