# SPDX-License-Identifier: Apache-2.0
"""Measures the network on scenes that training never saw, in FP32 by PyTorch."""
import multiprocessing

import cv2
import numpy as np
import torch

import scenes
import ssd
from model import INPUT_HEIGHT, INPUT_WIDTH, MEAN, SCALE, priors

HELD_OUT_SCENES = 1000
EMPTY_SCENES = 500
THRESHOLDS = (0.5, 0.6, 0.7)
LARGE = 40  # pixels of the network's input: width from which recall is counted separately


def shrink(picture):
    return cv2.resize(picture, (INPUT_WIDTH, INPUT_HEIGHT), interpolation=cv2.INTER_LINEAR)


def normalised(boxes, picture):
    """Returns boxes in pixels of a picture as fractions of its sides."""
    height, width = picture.shape[:2]
    return (boxes / np.array([width, height] * 2)).astype(np.float32)


def blob(picture):
    """Returns the network's input: 1 x 3 x H x W, B G R."""
    return ((np.float32(shrink(picture)) - MEAN) * SCALE).transpose(2, 0, 1)[None].copy()


def by_torch(net, picture):
    """Returns the detection rows of a picture."""
    with torch.no_grad():
        loc, conf = net(torch.from_numpy(blob(picture)))
    return ssd.detections(loc[0].numpy(), conf[0].softmax(1).numpy(), priors())


def by_torch_all(net, pictures):
    return [by_torch(net, p) for p in pictures]


def _scene(stream_and_index):
    return scenes.scene(*stream_and_index)


def test_scenes():
    """Returns the held-out scenes, their truth (normalised boxes, kinds), and pictures with no code."""
    with multiprocessing.Pool(2) as pool:
        held_out = pool.map(_scene, [(scenes.HELD_OUT, i) for i in range(HELD_OUT_SCENES)], 25)
        empty = pool.map(_scene, [(scenes.EMPTY, i) for i in range(EMPTY_SCENES)], 25)
    truth = [(normalised(boxes, picture), kinds) for picture, boxes, kinds in held_out]
    return [s[0] for s in held_out], truth, [s[0] for s in empty]


def figures(log, name, found, truth, found_in_empty):
    """Logs a detector's figures: rows per held-out scene and per scene with no code."""
    mean, each = ssd.mean_average_precision(found, truth)
    log("%-8s mAP@0.5 %.4f  (%s)" % (name, mean, ", ".join(
        "%s %.4f" % pair for pair in zip(scenes.LABELS[1:], each))))
    large = [(boxes, (boxes[:, 2] - boxes[:, 0]) * INPUT_WIDTH >= LARGE) for boxes, _ in truth]
    for threshold in THRESHOLDS:
        precision, recall = ssd.precision_recall(found, truth, threshold)
        false = sum(int((rows[:, 1] >= threshold).sum()) for rows in found_in_empty)
        log("%-8s at %.1f: precision %.4f, recall %.4f, recall from %d px wide %.4f, "
            "%.3f false per scene with none"
            % (name, threshold, precision, recall, LARGE,
               ssd.recall_of(found, truth, threshold, [wide for _, wide in large]),
               false / len(found_in_empty)))
    return mean


def report(log, net):
    pictures, truth, empty = test_scenes()
    log("held out: %d scenes with %d codes, and %d scenes without"
        % (len(truth), sum(len(kinds) for _, kinds in truth), len(empty)))
    figures(log, "PyTorch", by_torch_all(net, pictures), truth, by_torch_all(net, empty))
