# SPDX-License-Identifier: Apache-2.0
"""The figures of tracks, by their papers' definitions: HOTA (Luiten et al., 2021), CLEAR MOT (Bernardin and Stiefelhagen, 2008),
IDF1 (Ristani et al., 2016). A second implementation, which shares nothing with src/evaluate: sets of (frame, object, track)."""
import collections

import numpy as np
from scipy.optimize import linear_sum_assignment

ALPHAS = [0.05 * i for i in range(1, 20)]
EPSILON = np.finfo(float).eps
HALF = 0.5 - EPSILON


def overlap(a, b):
    """Intersection over union of two boxes (left, top, width, height)."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / (a[2] * a[3] + b[2] * b[3] - width * height)


def overlaps(truth, found):
    return np.array([[overlap(a, b) for _, b in found] for _, a in truth]).reshape(len(truth), len(found))


def best_pairs(weights):
    rows, columns = linear_sum_assignment(-weights)
    return [(i, j) for i, j in zip(rows, columns) if weights[i, j] > 0]


def counted(truth, found, others, ignored):
    """The frames of tracks without boxes that fit an ignored one. Frames: lists of (number, box)."""
    kept = []
    for t, f, o, g in zip(truth, found, others, ignored):
        everything = t + o + g
        fits = overlaps(everything, f)
        dropped = {j for i, j in best_pairs(np.where(fits >= HALF, fits, 0)) if i >= len(t) + len(o)}
        kept.append([box for j, box in enumerate(f) if j not in dropped])
    return kept


class Sums:
    """Counts over sequences."""

    def __init__(self):
        self.truths = self.found = self.matches = self.switches = self.fragments = self.identical = 0
        self.hits, self.located, self.associated = np.zeros(19), np.zeros(19), np.zeros(19)

    def add(self, truth, found):
        fits = [overlaps(t, f) for t, f in zip(truth, found)]
        of_object = collections.Counter(n for t in truth for n, _ in t)
        of_track = collections.Counter(n for f in found for n, _ in f)
        self.truths += sum(of_object.values())
        self.found += sum(of_track.values())
        self.add_hota(truth, found, fits, of_object, of_track)
        self.add_clear(truth, found, fits)
        self.add_identities(truth, found, fits, of_object, of_track)

    def add_hota(self, truth, found, fits, of_object, of_track):
        alike = collections.Counter()
        for t, f, s in zip(truth, found, fits):
            for i, (a, _) in enumerate(t):
                for j, (b, _) in enumerate(f):
                    if s[i, j] > 0:
                        alike[a, b] += s[i, j] / (s[i].sum() + s[:, j].sum() - s[i, j])
        positives = [set() for _ in ALPHAS]
        for frame, (t, f, s) in enumerate(zip(truth, found, fits)):
            weights = np.array([[alike[a, b] / (of_object[a] + of_track[b] - alike[a, b]) for b, _ in f] for a, _ in t])
            for i, j in best_pairs(weights.reshape(s.shape) * s):
                for k, alpha in enumerate(ALPHAS):
                    if s[i, j] >= alpha - EPSILON:
                        positives[k].add((frame, t[i][0], f[j][0]))
                        self.located[k] += s[i, j]
        for k, those in enumerate(positives):
            self.hits[k] += len(those)
            for _, a, b in those:
                together = sum(1 for _, c, d in those if (c, d) == (a, b))
                self.associated[k] += together / (of_object[a] + of_track[b] - together)

    def add_clear(self, truth, found, fits):
        last, before = {}, {}
        for t, f, s in zip(truth, found, fits):
            weights = np.array([[(s[i, j] + 1000 * (before.get(a) == b)) * (s[i, j] >= HALF) for j, (b, _) in enumerate(f)]
                                for i, (a, _) in enumerate(t)]).reshape(s.shape)
            now = {t[i][0]: f[j][0] for i, j in best_pairs(weights)}
            self.matches += len(now)
            self.switches += sum(a in last and last[a] != b for a, b in now.items())
            self.fragments += sum(a in last and a not in before for a in now)
            last.update(now)
            before = now

    def add_identities(self, truth, found, fits, of_object, of_track):
        objects, tracks = list(of_object), list(of_track)
        shared = np.zeros((len(objects), len(tracks)))
        for t, f, s in zip(truth, found, fits):
            for i, (a, _) in enumerate(t):
                for j, (b, _) in enumerate(f):
                    shared[objects.index(a), tracks.index(b)] += s[i, j] >= 0.5
        self.identical += sum(shared[i, j] for i, j in best_pairs(shared))

    def figures(self):
        at_least_one = lambda v: np.maximum(v, 1)  # noqa: E731
        det = self.hits / at_least_one(self.truths + self.found - self.hits)
        ass = self.associated / at_least_one(self.hits)
        loc = np.where(self.hits > 0, self.located / at_least_one(self.hits), 1)
        return {"hota": np.sqrt(det * ass).mean(), "det_a": det.mean(), "ass_a": ass.mean(), "loc_a": loc.mean(),
                "mota": (self.matches - (self.found - self.matches) - self.switches) / max(1, self.truths),
                "idf1": 2 * self.identical / max(1, self.truths + self.found), "switches": self.switches,
                "fragments": self.fragments, "objects": self.truths, "found": self.found,
                "missed": self.truths - self.matches, "false": self.found - self.matches}
