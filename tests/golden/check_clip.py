#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the default network on the embedded clip through the elements and compares with its truth.

Of the codes at least 40 pixels wide in the network's input, 95 % must be found (class equal, IoU of
at least 0.5); at most 0.05 finds per frame may be of nothing: what is asked of the network itself.

    check_clip.py CODES_FOLDER      with codes.webm, codes.json and messages.py
"""
import json
import os
import subprocess
import sys

INPUT_WIDTH = 256
MIN_WIDTH = 40
MIN_IOU = 0.5
MIN_RECALL = 0.95
MAX_FALSE = 0.05


def iou(a, b):
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    return w * h / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h)


def matches(one, others):
    return any(o[0] == one[0] and iou(o[-4:], one[-4:]) >= MIN_IOU for o in others)


def main():
    folder = sys.argv[1]
    sys.path.insert(0, folder)
    import messages
    with open(os.path.join(folder, "codes.json")) as file:
        clip = json.load(file)
    command = ["gst-launch-1.0", "-m", "filesrc", "location=" + os.path.join(folder, "codes.webm"), "!",
               "decodebin", "!", "dvconvert", "!", "dvinfer", "!", "dvdecode", "message=true", "!", "fakesink"]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [[] for _ in clip["frames"]]
    for pts, rows in messages.parse(out):
        found[round(pts * clip["fps"] / messages.SECOND)] = rows
    wanted = hits = false = 0
    for rows, truth in zip(found, clip["frames"]):
        for box in truth:
            if (box[3] - box[1]) * INPUT_WIDTH / clip["width"] >= MIN_WIDTH:
                wanted += 1
                hits += matches(box, rows)
        # A code that the frame's edge cuts is not in the truth, so finds at the edge are not judged.
        false += sum(not matches(row, truth) and row[2] > 1 and row[3] > 1 and row[4] < clip["width"] - 1
                     and row[5] < clip["height"] - 1 for row in rows)
    print("recall %.3f of %d codes, %.3f false finds per frame" % (hits / wanted, wanted, false / len(found)))
    return 0 if hits / wanted >= MIN_RECALL and false / len(found) <= MAX_FALSE else 1


if __name__ == "__main__":
    sys.exit(main())
