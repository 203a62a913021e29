# SPDX-License-Identifier: Apache-2.0
"""How well tracks fit the truth: CLEAR MOT (Bernardin and Stiefelhagen, 2008) and IDF1 (Ristani et al., 2016).

Tracks are dicts from frames to lists of (id, left, top, width, height). As a program:
evaluate.py TRUTH_FILE TRACKS_FILE, both in the MOT challenge's form."""
import collections
import sys

import numpy as np
from scipy.optimize import linear_sum_assignment

LEAST_OVERLAP = 0.5  # of a box with the true one

Figures = collections.namedtuple('Figures', 'mota idf1 switches misses false_positives truths matches fragments')


def overlaps(a, b):
    """The intersections over unions of all boxes of a with all of b: rows (left, top, width, height)."""
    a, b = np.asarray(a, float).reshape(-1, 1, 4), np.asarray(b, float).reshape(1, -1, 4)
    low = np.maximum(a[..., :2], b[..., :2])
    high = np.minimum(a[..., :2] + a[..., 2:], b[..., :2] + b[..., 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=-1)
    union = a[..., 2] * a[..., 3] + b[..., 2] * b[..., 3] - shared
    return shared / np.maximum(union, 1e-12)


def figures(truth, tracks):
    misses = false_positives = switches = matches = truths = fragments = 0
    last, alive = {}, {}  # the track that a true one had last, and whether it had one in its last frame
    shared = collections.Counter()  # frames in which a true one and a track overlap
    length_true, length_found = collections.Counter(), collections.Counter()
    before = {}
    for frame in sorted(set(truth) | set(tracks)):
        true, found = truth.get(frame, []), tracks.get(frame, [])
        truths += len(true)
        length_true.update(t[0] for t in true)
        length_found.update(f[0] for f in found)
        share = overlaps([t[1:] for t in true], [f[1:] for f in found])
        for row, column in np.argwhere(share >= LEAST_OVERLAP):
            shared[true[row][0], found[column][0]] += 1
        # Pairs of the frame before stay while they overlap; the rest is assigned anew.
        kept = np.array([[before.get(t[0]) == f[0] for f in found] for t in true], float).reshape(share.shape)
        score = np.where(share >= LEAST_OVERLAP, 1000 * kept + share + 1, 0)
        now = {}
        for row, column in zip(*linear_sum_assignment(-score)):
            if score[row, column] == 0:
                continue
            who, whom = true[row][0], found[column][0]
            switches += last.get(who, whom) != whom
            fragments += who in last and not alive[who]
            last[who] = now[who] = whom
        for t in true:
            alive[t[0]] = t[0] in now
        matches += len(now)
        misses += len(true) - len(now)
        false_positives += len(found) - len(now)
        before = now
    mota = 1 - (misses + false_positives + switches) / max(truths, 1)
    # Each true one is one track, so that together they share the most frames.
    rows = {t: i for i, t in enumerate(length_true)}
    columns = {f: i for i, f in enumerate(length_found)}
    table = np.zeros((len(rows), len(columns)))
    for (who, whom), count in shared.items():
        table[rows[who], columns[whom]] = count
    right = table[linear_sum_assignment(-table)].sum()
    idf1 = 2 * right / max(truths + sum(length_found.values()), 1)
    return Figures(mota, idf1, int(switches), misses, false_positives, truths, matches, int(fragments))


def read(path_or_lines, only_marked=False):
    """Boxes by frame; of a file of truth only those that count."""
    lines = open(path_or_lines) if isinstance(path_or_lines, str) else path_or_lines
    boxes = collections.defaultdict(list)
    for line in lines:
        fields = line.split(',')
        if only_marked and float(fields[6]) == 0:
            continue
        boxes[int(float(fields[0]))].append((int(fields[1]), *map(float, fields[2:6])))
    return boxes


def line_of(name, f):
    return (f'{name}: MOTA {100 * f.mota:.1f}, IDF1 {100 * f.idf1:.1f}, switches {f.switches}, missed {f.misses}, '
            f'false {f.false_positives}, fragments {f.fragments}, of {f.truths}')


if __name__ == '__main__':
    print(line_of(sys.argv[2], figures(read(sys.argv[1], True), read(sys.argv[2]))))
