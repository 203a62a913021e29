# SPDX-License-Identifier: Apache-2.0
"""Measures the network on scenes that training never saw, in PyTorch and in OpenCV from the files.

OpenCV reads the Caffe files with code of its own: where it agrees with PyTorch, they are right.
"""
import os

import cv2
import numpy as np
import torch

import scenes
import ssd
from model import INPUT_HEIGHT, INPUT_WIDTH, MEAN, SCALE, priors

FRAME = np.array([scenes.WIDTH, scenes.HEIGHT] * 2, np.float32)
HELD_OUT_SCENES = 200
EMPTY_SCENES = 200
THRESHOLD = 0.5


def shrink(picture):
    return cv2.resize(picture, (INPUT_WIDTH, INPUT_HEIGHT), interpolation=cv2.INTER_LINEAR)


def blob(picture):
    """1 x 3 x H x W, B G R: the network's input."""
    return ((np.float32(shrink(picture)) - MEAN) * SCALE).transpose(2, 0, 1)[None].copy()


def by_torch(net, prior_boxes, picture):
    with torch.no_grad():
        loc, conf = net(torch.from_numpy(blob(picture)))
    return ssd.detections(loc[0].numpy(), conf[0].softmax(1).numpy(), prior_boxes)


def by_opencv(net, picture):
    net.setInput(blob(picture))
    rows = net.forward().reshape(-1, 7)
    rows = rows[rows[:, 0] == 0][:, 1:]
    return rows[np.argsort(-rows[:, 1], kind="stable")]


def largest_difference(a, b, threshold):
    """Pairs rows of one class above the threshold: unpaired ones, largest box and score distance.

    A row of one list just above the threshold may stand just below it in the other.
    """
    unpaired, box, score = 0, 0.0, 0.0
    for rows, others in ((a, b), (b, a)):
        for row in rows[rows[:, 1] >= threshold]:
            same = others[others[:, 0] == row[0]]
            overlap = ssd.iou(row[None, 2:], same[:, 2:])[0] if len(same) else np.zeros(1)
            if overlap.max() < 0.9:
                unpaired += 1
                continue
            other = same[overlap.argmax()]
            box = max(box, float(np.abs(other[2:] - row[2:]).max()))
            score = max(score, float(abs(other[1] - row[1])))
    return unpaired, box, score


def report(log, net, prototxt, caffemodel):
    prior_boxes = priors()
    peer = cv2.dnn.readNetFromCaffe(prototxt, caffemodel)
    held_out = [scenes.scene(scenes.HELD_OUT, i) for i in range(HELD_OUT_SCENES)]
    empty = [scenes.scene(scenes.EMPTY, i)[0] for i in range(EMPTY_SCENES)]
    truth = [(boxes / FRAME, kinds) for _, boxes, kinds in held_out]
    log("held out: %d scenes with %d shapes, and %d scenes without"
        % (len(truth), sum(len(kinds) for _, kinds in truth), len(empty)))
    results = {}
    for name, find in (("PyTorch", lambda p: by_torch(net, prior_boxes, p)),
                       ("OpenCV dnn", lambda p: by_opencv(peer, p))):
        found = results[name] = [find(picture) for picture, _, _ in held_out]
        mean, each = ssd.mean_average_precision(found, truth)
        log("%-10s  mAP@0.5 %.4f  (%s)" % (name, mean, ", ".join(
            "%s %.4f" % pair for pair in zip(scenes.LABELS[1:], each))))
        precision, recall = ssd.precision_recall(found, truth, THRESHOLD)
        false = sum(int((find(picture)[:, 1] >= THRESHOLD).sum()) for picture in empty)
        log("%-10s  at confidence %.1f: precision %.4f, recall %.4f, %.3f false per empty scene"
            % (name, THRESHOLD, precision, recall, false / len(empty)))
    for threshold in (0.05, THRESHOLD):
        pairs = [largest_difference(a, b, threshold) for a, b in zip(*results.values())]
        log("PyTorch and OpenCV above %.2f: %d unpaired, boxes differ by at most %.2g of the "
            "frame, confidences by %.2g" % (threshold, sum(p[0] for p in pairs), max(p[1] for p in pairs),
                                     max(p[2] for p in pairs)))
    log("files: %s %d bytes, %s %d bytes" % tuple(
        v for path in (prototxt, caffemodel) for v in (os.path.basename(path),
                                                      os.path.getsize(path))))
