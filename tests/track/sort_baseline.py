# SPDX-License-Identifier: Apache-2.0
"""SORT (Bewley et al., 2016), written from its paper, with the parameters of its published results: what our tracker is
held against. A Kalman filter of constant speed over (centre, area, aspect) in frames, one assignment by overlap."""
import numpy as np
from scipy.optimize import linear_sum_assignment

from evaluate import overlaps

MAX_AGE, MIN_HITS, LEAST_OVERLAP = 1, 3, 0.3
MOVES = np.eye(7)
MOVES[0, 4] = MOVES[1, 5] = MOVES[2, 6] = 1
SEES = np.eye(4, 7)
MEASURED = np.diag([1., 1, 10, 10])
PUSHED = np.diag([1., 1, 1, 1, 0.01, 0.01, 0.0001])


class Track:
    def __init__(self, number, box):
        self.number, self.hits, self.unseen = number, 0, 0
        self.state = np.append(self.measure(box), [0, 0, 0])
        self.covariance = np.diag([10., 10, 10, 10, 10000, 10000, 10000])

    @staticmethod
    def measure(box):
        left, top, width, height = box
        return np.array([left + width / 2, top + height / 2, width * height, width / height])

    def box(self):
        x, y, area, aspect = self.state[:4]
        width = np.sqrt(max(area * aspect, 1e-6))
        height = area / width
        return x - width / 2, y - height / 2, width, height

    def predict(self):
        if self.state[6] + self.state[2] <= 0:
            self.state[6] = 0
        self.state = MOVES @ self.state
        self.covariance = MOVES @ self.covariance @ MOVES.T + PUSHED
        if self.unseen > 0:
            self.hits = 0
        self.unseen += 1

    def correct(self, box):
        self.unseen = 0
        self.hits += 1
        gain = self.covariance @ SEES.T @ np.linalg.inv(SEES @ self.covariance @ SEES.T + MEASURED)
        self.state = self.state + gain @ (self.measure(box) - SEES @ self.state)
        self.covariance = (np.eye(7) - gain @ SEES) @ self.covariance


def run(detections, frames):
    """Tracks of detections: dicts from frames to lists, of (left, top, width, height, confidence)."""
    tracks, found, number = [], {}, 0
    for frame in range(1, frames + 1):
        boxes = [d[:4] for d in detections.get(frame, [])]
        for track in tracks:
            track.predict()
        tracks = [t for t in tracks if np.all(np.isfinite(t.box()))]
        share = overlaps(boxes, [t.box() for t in tracks])
        taken = set()
        for row, column in zip(*linear_sum_assignment(-share)):
            if share[row, column] >= LEAST_OVERLAP:
                tracks[column].correct(boxes[row])
                taken.add(row)
        for i, box in enumerate(boxes):
            if i not in taken:
                number += 1
                tracks.append(Track(number, box))
        found[frame] = [(t.number, *t.box()) for t in tracks
                        if t.unseen == 0 and (t.hits >= MIN_HITS or frame <= MIN_HITS)]
        tracks = [t for t in tracks if t.unseen <= MAX_AGE]
    return found
