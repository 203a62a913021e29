# SPDX-License-Identifier: Apache-2.0
"""SSD's arithmetic in plain numpy: matching, encoding, decoding, suppression, average precision.

Boxes are x0, y0, x1, y1 in 0..1. Formulas: Liu et al., "SSD: Single Shot MultiBox Detector" (2016),
with Caffe-SSD's CENTER_SIZE code and its DetectionOutput's order of steps.
"""
import numpy as np

from model import CLASSES, VARIANCES

NMS_IOU = 0.45
NMS_TOP_K = 100
KEEP_TOP_K = 100
MIN_CONFIDENCE = 0.01
MATCH_IOU = 0.45


def corners(centred):
    half = centred[:, 2:] / 2
    return np.concatenate([centred[:, :2] - half, centred[:, :2] + half], 1)


def iou(a, b):
    """Intersection over union of every box of a with every box of b."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = np.clip(high - low, 0, None).prod(2)
    area = [np.clip(v[:, 2:] - v[:, :2], 0, None).prod(1) for v in (a, b)]
    union = area[0][:, None] + area[1][None, :] - common
    return common / np.maximum(union, 1e-12)


def match(boxes, kinds, priors):
    """For each prior its class (0 = background) and its encoded box."""
    classes = np.zeros(len(priors), np.int64)
    target = np.zeros((len(priors), 4), np.float32)
    if len(boxes) == 0:
        return classes, target
    overlap = iou(boxes, corners(priors))
    owner = overlap.argmax(0)
    taken = overlap.max(0) >= MATCH_IOU
    for i in np.argsort(overlap.max(1))[::-1]:  # every box gets at least its best prior
        best = overlap[i].argmax()
        owner[best], taken[best] = i, True
        overlap[:, best] = -1
    matched = boxes[owner[taken]]
    prior = priors[taken]
    classes[taken] = kinds[owner[taken]]
    centre, size = (matched[:, :2] + matched[:, 2:]) / 2, matched[:, 2:] - matched[:, :2]
    target[taken, :2] = (centre - prior[:, :2]) / prior[:, 2:] / VARIANCES[:2]
    target[taken, 2:] = np.log(size / prior[:, 2:]) / VARIANCES[2:]
    return classes, target


def decode(loc, priors):
    centre = priors[:, :2] + loc[:, :2] * VARIANCES[:2] * priors[:, 2:]
    size = priors[:, 2:] * np.exp(loc[:, 2:] * VARIANCES[2:])
    return corners(np.concatenate([centre, size], 1))


def detections(loc, confidence, priors):
    """Rows of class, confidence, box: what DetectionOutput finds, best first."""
    boxes = decode(loc, priors)
    rows = []
    for kind in range(1, CLASSES):
        score = confidence[:, kind]
        order = np.argsort(-score, kind="stable")
        order = order[score[order] > MIN_CONFIDENCE][:NMS_TOP_K]
        overlap = iou(boxes[order], boxes[order])
        kept = []
        for i in range(len(order)):
            if all(overlap[i, j] <= NMS_IOU for j in kept):
                kept.append(i)
        rows += [(kind, score[order[i]], *boxes[order[i]]) for i in kept]
    rows = np.array(rows, np.float32).reshape(-1, 6)
    return rows[np.argsort(-rows[:, 1], kind="stable")][:KEEP_TOP_K]


def average_precision(found, truth, kind, min_iou=0.5):
    """Area under the precision-recall curve (all points, precision made monotonous) of one class.

    found: detection rows per picture; truth: (boxes, kinds) per picture.
    """
    total = sum(int((kinds == kind).sum()) for _, kinds in truth)
    hits = []
    for rows, (boxes, kinds) in zip(found, truth):
        boxes = boxes[kinds == kind]
        free = np.ones(len(boxes), bool)
        for row in rows[rows[:, 0] == kind]:
            overlap = iou(row[None, 2:], boxes)[0] * free if len(boxes) else np.zeros(1)
            hit = bool(overlap.max() >= min_iou)
            if hit:
                free[overlap.argmax()] = False
            hits.append((row[1], hit))
    hits.sort(key=lambda v: -v[0])
    true = np.cumsum([hit for _, hit in hits])
    recall = np.concatenate([[0], true / max(total, 1)])
    precision = true / np.arange(1, len(hits) + 1)
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    return float((np.diff(recall) * precision).sum())


def mean_average_precision(found, truth):
    """Mean over the classes, and the list per class."""
    each = [average_precision(found, truth, kind) for kind in range(1, CLASSES)]
    return float(np.mean(each)), each


def _hits(rows, boxes, kinds, threshold):
    """Which of a picture's boxes are found: rows take the best free box of their class, best first."""
    taken = np.zeros(len(boxes), bool)
    for row in rows[rows[:, 1] >= threshold]:
        overlap = iou(row[None, 2:], boxes)[0] * ~taken * (kinds == row[0]) if len(boxes) else []
        if len(overlap) and max(overlap) >= 0.5:
            taken[np.argmax(overlap)] = True
    return taken


def precision_recall(found, truth, threshold):
    """Precision and recall at one confidence threshold and IoU 0.5, over all classes."""
    hits = sum(int(_hits(rows, *t, threshold).sum()) for rows, t in zip(found, truth))
    claims = sum(int((rows[:, 1] >= threshold).sum()) for rows in found)
    return hits / max(claims, 1), hits / max(sum(len(kinds) for _, kinds in truth), 1)


def recall_of(found, truth, threshold, chosen):
    """Recall of the boxes that `chosen` (a mask per picture) picks."""
    hits = sum(int((_hits(rows, *t, threshold) & mask).sum())
               for rows, t, mask in zip(found, truth, chosen))
    return hits / max(sum(int(mask.sum()) for mask in chosen), 1)
