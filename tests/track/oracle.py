#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How well a tracker could do with the simulator's detections that never takes one for another, and knows at each look where
everybody is and how fast they go. It does not know the future: between two looks people go straight on, they are shown from their
second sighting on, and until a look has missed them twice. Usage: tests/track/oracle.py FIRST_SEED LAST_SEED"""
import collections
import sys

import numpy as np

import evaluate
import simulate

SECONDS, PEOPLE = 40, 12
SURE, WEAK, LEAST_VISIBLE = 0.5, 0.1, 0.3  # as the tracker's
CASES = [(60, 1), (30, 1), (25, 1), (12.5, 1), (10, 1), (5, 1)] + [(25, every) for every in (2, 3, 4, 5, 8, 10)]


def at_speed_of(walker, then, now):
    """Where somebody is now who has gone straight on since then, as the frame shows it; None if it does not."""
    step = 1e-3
    left, top, width, height = walker.box(then)
    before = walker.box(then - step)
    speeds = [(a - b) / step for a, b in zip((left, top), before)] if before else (0, 0)
    box = simulate.clipped((left + speeds[0] * (now - then), top + speeds[1] * (now - then), width, height))
    return box if box[2] > LEAST_VISIBLE * width and box[3] > 0 else None


def tracks_of(walkers, detections, frames, fps, every):
    looks, missed, seen, tracks = collections.Counter(), {}, {}, {}
    for frame in range(1, frames + 1):
        now = (frame - 1) / fps
        if (frame - 1) % every == 0:
            found = {who for *_, confidence, who in detections[frame]
                     if who and confidence >= (WEAK if missed.get(who) == 0 else SURE)}
            for who in seen:
                missed[who] += who not in found
            for who in found:
                looks[who] += 1
                seen[who], missed[who] = now, 0
        here = ((who, at_speed_of(walkers[who - 1], then, now)) for who, then in seen.items()
                if looks[who] > 1 and missed[who] < 2)
        tracks[frame] = [(who, *box) for who, box in here if box]
    return tracks


def main(first, last):
    results = collections.defaultdict(list)
    for seed in range(int(first), int(last) + 1):
        walkers = simulate.scene(seed, SECONDS, PEOPLE)
        for fps, every in CASES:
            truth, detections, frames = simulate.sample(walkers, seed, SECONDS, fps)
            tracks = tracks_of(walkers, detections, frames, fps, every)
            results[fps, every].append(evaluate.figures(truth, tracks).idf1)
    for (fps, every), idf1 in results.items():
        print(f'{fps:g} frames/s, every {every}. inferred: IDF1 {100 * np.mean(idf1):.1f}')


if __name__ == '__main__':
    main(*sys.argv[1:])
