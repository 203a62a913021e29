#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The loop of docs/hard-pictures.md with the default network: what dvpublish collects from a clip is a data set that
dvnet evaluate reads, and whose guesses somebody can replace by the truth.

    check_collect.py DVNET NETWORK.dvn CLIP.webm CLIP.json
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

DVNET, NETWORK, CLIP, TRUTH = sys.argv[1:5]
FROM, TO = 0.2, 0.75
SIDES = (640, 480)
LABELS = ("background", "QR code", "barcode", "marker")


def collect(folder):
    subprocess.check_call(
        f"gst-launch-1.0 -q filesrc location={CLIP} ! matroskademux ! vp8dec ! videoconvert ! dvconvert ! "
        f"dvinfer network={NETWORK} ! dvdecode threshold=0.1 ! dvpublish location=/dev/null collect-per-hour=3600 "
        f"collect-folder={folder} collect-from={FROM} collect-to={TO} ! fakesink", shell=True)


def evaluate(folder):
    told = json.loads(subprocess.check_output([DVNET, "evaluate", NETWORK, "--data", folder, "--json", "--samples", "0"]))
    return told["networks"][0]["detection"]["figures"]["ap50"]


def overlap(a, b):
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    inside = max(0, wide) * max(0, high)
    return inside / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inside)


def boxes_of(path):
    for line in open(path):
        kind, x, y, w, h = (float(v) for v in line.split())
        yield int(kind), ((x - w / 2) * SIDES[0], (y - h / 2) * SIDES[1], (x + w / 2) * SIDES[0], (y + h / 2) * SIDES[1])


def fit(guesses, frame):
    """How well the guesses lie on a frame's codes."""
    return sum(max((overlap(box, code[1:5]) for code in frame), default=0) for _, box in guesses)


def write(path, frame, names):
    """Writes a frame's codes as a file of labels."""
    with open(path, "w") as out:
        for kind, x0, y0, x1, y1, share in frame:
            if share >= 0.5:
                place = ((x0 + x1) / 2 / SIDES[0], (y0 + y1) / 2 / SIDES[1], (x1 - x0) / SIDES[0], (y1 - y0) / SIDES[1])
                print(names.index(LABELS[kind]), *place, file=out)


def main():
    with tempfile.TemporaryDirectory() as folder:
        collect(folder)
        pictures = sorted(glob.glob(folder + "/images/*.jpg"))
        labels = sorted(glob.glob(folder + "/labels/*.txt"))
        # The clip takes four seconds, and an interval one.
        assert 2 <= len(pictures) <= 5, pictures
        assert [os.path.basename(p)[:-4] for p in pictures] == [os.path.basename(p)[:-4] for p in labels]
        names = open(folder + "/classes.txt").read().split("\n")
        # The network finds its own guesses again, on JPEGs instead of the frames.
        own = evaluate(folder)
        assert own > 0.9, own
        # Who corrects them has the clip's truth: that of the frame whose codes lie where the guesses lie.
        frames = json.load(open(TRUTH))["frames"]
        for path in labels:
            guesses = list(boxes_of(path))
            assert guesses
            frame = max(frames, key=lambda one: fit(guesses, one))
            assert fit(guesses, frame) > 0.5 * len(guesses), (path, guesses, frame)
            write(path, frame, names)
        corrected = evaluate(folder)
        assert corrected > 0.8, corrected
        print(f"{len(pictures)} pictures: AP50 against its own guesses {own:.3f}, against the truth {corrected:.3f}")


main()
