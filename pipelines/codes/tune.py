#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the default network's heads on: a few pictures of your own, in YOLO's form, teach it what it takes for what.

    tune.py --out FOLDER [--steps N] DATA...

DATA are folders with images/, labels/ and classes.txt, as dvpublish collects them and people correct them; a class is one of
the network's labels. Writes codes.prototxt, codes.caffemodel and labels.txt into FOLDER. The body of the network stays as it is,
so this takes seconds, needs no PyTorch, and learns less than train.py: OpenCV computes the features that the heads see, and NumPy
trains the heads by SSD's loss, held near their old weights.
"""
import argparse
import glob
import os
import shutil
import sys

import cv2
import numpy as np

from caffe_fields import fields

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "codes"
WIDTH, HEIGHT = 256, 192  # of the input
MEAN, SCALE = 127.5, 1 / 128
HEADS = {"head8": "conv7_pw_relu", "head16": "conv10_pw_relu", "head32": "conv12_pw_relu", "head64": "conv13_pw_relu"}
CELL_PRIORS, CLASSES = 4, 4
VARIANCES = np.array((0.1, 0.1, 0.2, 0.2))
MATCH_IOU = 0.45
NEGATIVES_PER_POSITIVE, MIN_NEGATIVES = 3, 12
RATE, HELD = 1e-3, 1e-3  # of Adam; weight of the distance from the old weights


# --- the Caffe file -----------------------------------------------------------------------------------------------------------

def blobs_of(data):
    """Where the floats of each layer's weights and bias lie: NetParameter.layer 100, its name 1 and blobs 7, their data 5."""
    places = {}
    for number, begin, end in fields(data, 0, len(data)):
        if number != 100:
            continue
        parts = list(fields(data, begin, end))
        name = next(bytes(data[b:e]).decode() for n, b, e in parts if n == 1)
        places[name] = [next((fb, fe) for fn, fb, fe in fields(data, b, e) if fn == 5) for n, b, e in parts if n == 7]
    return places


# --- the data -----------------------------------------------------------------------------------------------------------------

def read_data(folder, labels):
    """Pictures in the network's size, their boxes x0, y0, x1, y1 in 0..1 and the network's classes of these."""
    with open(os.path.join(folder, "classes.txt"), encoding="utf-8") as file:
        names = [line.strip() for line in file if line.strip()]
    unknown = [name for name in names if name not in labels]
    if unknown:
        sys.exit("tune.py: '%s' has the class '%s'; the network has %s" % (folder, unknown[0], ", ".join(labels[1:])))
    for path in sorted(glob.glob(os.path.join(folder, "images", "*"))):
        picture = cv2.imread(path)
        if picture is None:
            sys.exit("tune.py: '%s' is no picture" % path)
        text = os.path.join(folder, "labels", os.path.splitext(os.path.basename(path))[0] + ".txt")
        rows = np.loadtxt(text, ndmin=2) if os.path.exists(text) and os.path.getsize(text) else np.zeros((0, 5))
        kinds = np.array([labels.index(names[int(kind)]) for kind in rows[:, 0]], int)
        half = rows[:, 3:5] / 2
        yield (cv2.resize(picture, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA),
               np.concatenate((rows[:, 1:3] - half, rows[:, 1:3] + half), 1), kinds)


def overlaps(a, b):
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(2)
    areas = [(v[:, 2:] - v[:, :2]).prod(1) for v in (a, b)]
    return common / np.maximum(areas[0][:, None] + areas[1][None] - common, 1e-12)


def targets(boxes, kinds, priors):
    """For each prior its class, 0 being the background, and its box by SSD's code."""
    classes, codes = np.zeros(len(priors), int), np.zeros((len(priors), 4))
    if not len(boxes):
        return classes, codes
    fits = overlaps(boxes, priors)
    owner, taken = fits.argmax(0), fits.max(0) >= MATCH_IOU
    for i in np.argsort(-fits.max(1)):  # every box gets its best prior at least
        best = fits[i].argmax()
        owner[best], taken[best] = i, True
        fits[:, best] = -1
    box, prior = boxes[owner[taken]], priors[taken]
    size = prior[:, 2:] - prior[:, :2]
    classes[taken] = kinds[owner[taken]]
    codes[taken, :2] = ((box[:, :2] + box[:, 2:]) - (prior[:, :2] + prior[:, 2:])) / 2 / size
    codes[taken, 2:] = np.log((box[:, 2:] - box[:, :2]) / size)
    return classes, codes / VARIANCES


# --- training -----------------------------------------------------------------------------------------------------------------

class Head:
    """The cells of one head that count, with what they see: rows of 3 x 3 x channels."""

    def __init__(self):
        self.seen, self.classes, self.codes, self.counts = [], [], [], []

    def add(self, feature, classes, codes, counts):
        """`classes`, `codes`, `counts`: cells x priors of a cell (x 4)."""
        cells = np.flatnonzero(counts.any(1))
        width = feature.shape[2]
        padded = np.pad(feature, ((0, 0), (1, 1), (1, 1)))
        for cell in cells:
            y, x = divmod(cell, width)
            self.seen.append(padded[:, y:y + 3, x:x + 3].reshape(-1))
        self.classes.append(classes[cells])
        self.codes.append(codes[cells])
        self.counts.append(counts[cells])

    def train(self, weights, bias, gradient_of, steps):
        """Adam on one convolution, from its old weights."""
        seen = np.array(self.seen)
        seen = np.concatenate((seen, np.ones((len(seen), 1), np.float32)), 1)
        old = np.concatenate((weights.reshape(len(weights), -1), bias[:, None]), 1).astype(np.float32)
        now, mean, square = old.copy(), np.zeros_like(old), np.zeros_like(old)
        for step in range(1, steps + 1):
            gradient = gradient_of(seen @ now.T).T.astype(np.float32) @ seen + HELD * (now - old)
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient ** 2
            rate = RATE * (1 - (step - 1) / steps)
            now -= rate * mean / (1 - 0.9 ** step) / (np.sqrt(square / (1 - 0.999 ** step)) + 1e-8)
        return now[:, :-1].reshape(weights.shape), now[:, -1]

    def class_gradient(self, outputs):
        """Cross entropy of the priors that count."""
        classes, counts = np.concatenate(self.classes), np.concatenate(self.counts)
        logits = outputs.reshape(-1, CELL_PRIORS, CLASSES)
        shares = np.exp(logits - logits.max(2, keepdims=True))
        shares /= shares.sum(2, keepdims=True)
        wanted = np.eye(CLASSES)[classes]
        positives = max(1, (classes[counts] > 0).sum())
        return ((shares - wanted) * counts[..., None] / positives).reshape(len(outputs), -1)

    def box_gradient(self, outputs):
        """Smooth L1 of the priors with an object."""
        classes, codes = np.concatenate(self.classes), np.concatenate(self.codes)
        off = np.clip(outputs.reshape(-1, CELL_PRIORS, 4) - codes, -1, 1)
        there = classes > 0
        return (off * there[..., None] / max(1, there.sum())).reshape(len(outputs), -1)


def collect(net, data):
    """What the heads see on the pictures, with SSD's choice of priors: those with an object, and the worst of the others."""
    heads = {name: Head() for name in HEADS}
    for picture, boxes, kinds in data:
        net.setInput(cv2.dnn.blobFromImage(picture, SCALE, (WIDTH, HEIGHT), (MEAN,) * 3))
        *features, prior, shares = net.forward([*HEADS.values(), "prior", "conf_softmax"])
        priors = prior[0, 0].reshape(-1, 4).astype(float)
        classes, codes = targets(boxes, kinds, priors)
        danger = np.where(classes > 0, -1, 1 - shares.reshape(len(priors), CLASSES)[:, 0])
        most = max(MIN_NEGATIVES, NEGATIVES_PER_POSITIVE * int((classes > 0).sum()))
        counts = classes > 0
        counts[np.argsort(-danger)[:most]] = True
        begin = 0
        for name, feature in zip(HEADS, features):
            cells = feature.shape[2] * feature.shape[3]
            part = slice(begin, begin + cells * CELL_PRIORS)
            begin = part.stop
            heads[name].add(feature[0], *(v[part].reshape(cells, CELL_PRIORS, *v.shape[1:]) for v in (classes, codes, counts)))
    return heads


def tune(data, out, steps):
    """Writes the network whose heads have learnt the data."""
    paths = [os.path.join(HERE, NAME + end) for end in (".prototxt", ".caffemodel")]
    net = cv2.dnn.readNetFromCaffe(*paths)
    with open(paths[1], "rb") as file:
        model = bytearray(file.read())
    places = blobs_of(model)
    for name, head in collect(net, data).items():
        for part, gradient in (("_conf", head.class_gradient), ("_loc", head.box_gradient)):
            if not head.seen:
                continue
            (wb, we), (bb, be) = places[name + part]
            bias = np.frombuffer(bytes(model[bb:be]), "<f4")
            weights = np.frombuffer(bytes(model[wb:we]), "<f4").reshape(len(bias), -1)
            weights, bias = head.train(weights, bias, gradient, steps)
            model[wb:we], model[bb:be] = weights.astype("<f4").tobytes(), bias.astype("<f4").tobytes()
    os.makedirs(out, exist_ok=True)
    for path in (paths[0], os.path.join(HERE, "labels.txt")):
        shutil.copy(path, out)
    with open(os.path.join(out, NAME + ".caffemodel"), "wb") as file:
        file.write(model)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", metavar="DATA", help="a folder of pictures and labels")
    parser.add_argument("--out", required=True, help="the folder to write to")
    parser.add_argument("--steps", type=int, default=60, help="steps of the training (default: 60)")
    args = parser.parse_args()
    with open(os.path.join(HERE, "labels.txt"), encoding="utf-8") as file:
        labels = [line.strip() for line in file]
    data = [one for folder in args.data for one in read_data(folder, labels)]
    if not any(len(boxes) for _, boxes, _ in data):
        sys.exit("tune.py: no picture of %s has a box" % ", ".join(args.data))
    tune(data, args.out, args.steps)
    print("tune.py: %d pictures, %d boxes" % (len(data), sum(len(boxes) for _, boxes, _ in data)))


if __name__ == "__main__":
    main()
