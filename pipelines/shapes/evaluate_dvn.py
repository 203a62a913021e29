# SPDX-License-Identifier: Apache-2.0
"""Measures a converted network through `dvnet run`: held-out scenes, and the clip's frames.

evaluate_dvn.py DVNET NETWORK.dvn       DVNN_DEVICE chooses the device, as for dvnet itself
"""
import argparse
import json
import os
import subprocess
import tempfile

import cv2
import numpy as np

import evaluate
import scenes
import ssd

HERE = os.path.dirname(os.path.abspath(__file__))


def by_dvnet(dvnet, network, pictures):
    """Detection rows per picture, from dvnet's JSON lines."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, "%04d.png" % i) for i in range(len(pictures))]
        for path, picture in zip(paths, pictures):
            cv2.imwrite(path, picture)
        command = [dvnet, "run", "--json", "--threshold", str(ssd.MIN_CONFIDENCE), network]
        lines = subprocess.run(command + paths, check=True, stdout=subprocess.PIPE).stdout
    return [np.array([(d["cls"], d["conf"], *d["box"]) for d in json.loads(line)["detections"]],
                     np.float32).reshape(-1, 6) for line in lines.splitlines()]


def clip():
    """The clip's frames, decoded, and their truth."""
    with open(os.path.join(HERE, "shapes.json")) as file:
        frames = json.load(file)["frames"]
    video = cv2.VideoCapture(os.path.join(HERE, "shapes.webm"))
    pictures = [video.read()[1] for _ in frames]
    truth = [(np.array([row[1:] for row in rows], np.float32) / evaluate.FRAME,
              np.array([row[0] for row in rows])) for rows in frames]
    return pictures, truth


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dvnet")
    parser.add_argument("network")
    args = parser.parse_args()
    peer = cv2.dnn.readNetFromCaffe(*(os.path.join(HERE, "shapes" + end)
                                      for end in (".prototxt", ".caffemodel")))
    held_out = [scenes.scene(scenes.HELD_OUT, i) for i in range(evaluate.HELD_OUT_SCENES)]
    truth = [(boxes / evaluate.FRAME, kinds) for _, boxes, kinds in held_out]
    for name, pictures, truth in (("held out", [s[0] for s in held_out], truth),
                                  ("clip", *clip())):
        found = by_dvnet(args.dvnet, args.network, pictures)
        wanted = [evaluate.by_opencv(peer, picture) for picture in pictures]
        for who, rows in (("OpenCV FP32", wanted), ("dvnet", found)):
            print("%-8s  %-11s  mAP@0.5 %.4f, at confidence %.1f precision %.4f, recall %.4f"
                  % (name, who, ssd.mean_average_precision(rows, truth)[0], evaluate.THRESHOLD,
                     *ssd.precision_recall(rows, truth, evaluate.THRESHOLD)))
        pairs = [evaluate.largest_difference(a, b, evaluate.THRESHOLD)
                 for a, b in zip(wanted, found)]
        print("%-8s  above %.1f: %d unpaired, boxes differ by at most %.2g of the frame, "
              "confidences by %.2g" % (name, evaluate.THRESHOLD, sum(p[0] for p in pairs),
                                       max(p[1] for p in pairs), max(p[2] for p in pairs)))


if __name__ == "__main__":
    main()
