#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the default network on the embedded clip through the elements and compares with its truth.

Of the codes at least 40 pixels wide in the network's input, 95 % must be found (class equal, IoU of
at least 0.5), with at most 0.05 false finds per frame.

    check_clip.py CODES_FOLDER      with codes.webm, codes.json and messages.py
"""
import json
import os
import subprocess
import sys

INPUT_WIDTH = 256
MIN_WIDTH = 40
MIN_SHARE = 0.85  # least share of a code in the frame for it to count
MIN_IOU = 0.5
MIN_RECALL = 0.95
MAX_FALSE = 0.05


def common(a, b):
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(w, 0) * max(h, 0)


def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def is_same(found, code):
    """Whether a find (class, confidence, box) matches a code of the truth (class, box, share)."""
    both = common(found[2:], code[1:5])
    return found[0] == code[0] and both >= MIN_IOU * (area(found[2:]) + area(code[1:5]) - both)


def is_on_cut_code(found, code):
    """A code that the frame's edge cuts may be found or not."""
    return code[5] < MIN_SHARE and common(found[2:], code[1:5]) >= MIN_IOU * area(found[2:])


def main():
    folder = sys.argv[1]
    sys.path.insert(0, folder)
    import messages
    with open(os.path.join(folder, "codes.json")) as file:
        clip = json.load(file)
    command = ["gst-launch-1.0", "-m", "filesrc", "location=" + os.path.join(folder, "codes.webm"), "!",
               "decodebin", "!", "dvconvert", "!", "dvinfer", "!", "dvdecode", "post-messages=true", "!", "fakesink"]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [[] for _ in clip["frames"]]
    for pts, rows in messages.parse(out):
        found[round(pts * clip["fps"] / messages.SECOND)] = rows
    wanted = hits = false = 0
    for rows, truth in zip(found, clip["frames"]):
        for code in truth:
            width = (code[3] - code[1]) * INPUT_WIDTH / clip["width"]
            if width >= MIN_WIDTH and code[5] >= MIN_SHARE:
                wanted += 1
                hits += any(is_same(row, code) for row in rows)
        false += sum(not any(is_same(row, code) or is_on_cut_code(row, code) for code in truth)
                     for row in rows)
    print("recall %.3f of %d codes, %.3f false finds per frame" % (hits / wanted, wanted, false / len(found)))
    return 0 if hits / wanted >= MIN_RECALL and false / len(found) <= MAX_FALSE else 1


if __name__ == "__main__":
    sys.exit(main())
