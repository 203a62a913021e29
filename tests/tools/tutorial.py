#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every command of a tutorial in docs/, as a reader would, and compares what `dvnet run` finds
with what the authors of the photograph's first detector published.

    tutorial.py PAGE DVNET BUILD_FOLDER DATA

Exits with 77 if the model or the photograph is missing.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

PAGE, DVNET, BUILD, DATA = sys.argv[1:]
# darknet's own picture of dog.jpg (pjreddie.com/darknet/yolo), measured by hand, in pixels of 768 x
# 576, by COCO's numbers of classes.
KNOWN = {16: (128, 224, 314, 537), 1: (125, 126, 568, 429), 2: (467, 75, 688, 171)}
# The least overlap (IoU) of two networks' boxes of one thing: a half, as in VOC.
LEAST_OVERLAP = 0.5


def commands(page):
    lines = [line.strip() for line in open(page) if line.startswith("    ")]
    return [line for line in lines if line.split()[0] in ("dvnet", "gst-launch-1.0")]


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    inner = max(width, 0) * max(height, 0)
    area = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return inner / (area - inner)


def main():
    needed = [os.path.join(DATA, name) for name in ("models/yolox_nano.onnx", "images/dog.jpg")]
    if not all(os.path.exists(path) for path in needed):
        print("skipped: no reference data in '%s'" % DATA)
        return 77
    os.environ["GST_PLUGIN_PATH"] = os.path.join(BUILD, "gst")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "bin"))
        os.mkdir(os.path.join(folder, "photos"))
        os.symlink(os.path.abspath(DVNET), os.path.join(folder, "bin", "dvnet"))
        os.environ["PATH"] = os.path.join(folder, "bin") + ":" + os.environ["PATH"]
        for path in needed:
            shutil.copy(path, folder)
        shutil.copy(needed[1], os.path.join(folder, "photos"))
        found_commands = commands(PAGE)
        assert len(found_commands) >= 5, "the tutorial's commands are not found"
        for command in found_commands:
            done = subprocess.run(command, shell=True, cwd=folder, text=True, timeout=300,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            print("%s: %s" % (command, "ends with %d" % done.returncode))
            if done.returncode:
                failures += 1
                print(done.stdout)
        guessed = subprocess.run(["dvnet", "convert", "yolox_nano.onnx", "-o", "guessed.dvn"], cwd=folder, check=True, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        if "those of YOLOX: decoder 'grid'; --preset yolox has its picture and labels" not in guessed:
            failures += 1
            print("without a preset, nobody names it: %s" % guessed)
        for picture in ("out/dog.jpg.png", "found.png", "chosen.png"):
            path = os.path.join(folder, picture)
            if not os.path.exists(path) or os.path.getsize(path) == 0:
                failures += 1
                print("no picture '%s'" % picture)
        text = subprocess.run(["dvnet", "run", "yolox.dvn", "dog.jpg", "--json"], cwd=folder,
                              check=True, text=True, stdout=subprocess.PIPE).stdout
        result = json.loads(text)
        scale = (result["width"], result["height"]) * 2
        for number, box in KNOWN.items():
            best = max((overlap([p * s for p, s in zip(o["box"], scale)], box)
                        for o in result["detections"] if o["cls"] == number), default=0)
            print("class %d: IoU %.2f" % (number, best))
            failures += best < LEAST_OVERLAP
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
