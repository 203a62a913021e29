#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tracker against truth: a simulated street at many rates, and recorded sequences side by side with SORT.
Usage: check_tracking.py TRACK_FILE DATA_FOLDER. Recorded sequences are folders with det.txt and gt.txt; without them that
part is left out, with a word."""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import scipy.optimize  # noqa: F401: what evaluate imports
except ImportError as error:
    print(f'skipped: {error}: install python3-numpy and python3-scipy')
    sys.exit(77)

import evaluate
import sequences
import simulate
import sort_baseline

# One wrong identity in one scene is half a point of the mean of twelve.
SEEDS, SECONDS, PEOPLE = range(1, 13), 40, 12
SMOOTHED = range(1, 7)

failures = []


def expect(right, what):
    if not right:
        failures.append(what)
        print('FAILED:', what)


def close(a, b):
    return abs(a - b) < 1e-9


def check_figures():
    """Cases that are worked out by hand."""
    box = (0, 0, 10, 10)
    far = (100, 100, 10, 10)
    same = {f: [(1, *box)] for f in range(1, 5)}
    # All found.
    f = evaluate.figures(same, {k: [(7, *box)] for k in same})
    expect(close(f.mota, 1) and close(f.idf1, 1) and f.switches == 0, f'a perfect track: {f}')
    # Two tracks, two frames each: one switch; the longer identity has 2 of 4, so IDF1 = 2 * 2 / (4 + 4).
    f = evaluate.figures(same, {1: [(7, *box)], 2: [(7, *box)], 3: [(8, *box)], 4: [(8, *box)]})
    expect(close(f.mota, 0.75) and close(f.idf1, 0.5) and f.switches == 1, f'one switch: {f}')
    # A switch counts after a gap, too. Three found, one missed: MOTA = 1 - (1 + 1) / 4, IDF1 = 2 * 2 / (4 + 3).
    f = evaluate.figures(same, {1: [(7, *box)], 2: [(7, *box)], 4: [(8, *box)]})
    expect(close(f.mota, 0.5) and close(f.idf1, 4 / 7) and f.switches == 1 and f.fragments == 1, f'a gap: {f}')
    # A false track beside the right one: MOTA = 1 - 4 / 4, IDF1 = 2 * 4 / (4 + 8).
    f = evaluate.figures(same, {k: [(7, *box), (9, *far)] for k in same})
    expect(close(f.mota, 0) and close(f.idf1, 2 / 3), f'a false track: {f}')
    # A box that overlaps by exactly half is a match (5 of 10 pixels more: 100 / 200), one by less is none.
    half, less = (0, 0, 20, 10), (0, 0, 21, 10)
    expect(evaluate.figures({1: [(1, *box)]}, {1: [(1, *half)]}).matches == 1, 'half an overlap is a match')
    expect(evaluate.figures({1: [(1, *box)]}, {1: [(1, *less)]}).matches == 0, 'less than half is none')
    # Two swap their tracks after frame 2 of 4: two switches, MOTA = 1 - 2 / 8, IDF1 = 2 * 4 / (8 + 8).
    two = {k: [(1, *box), (2, *far)] for k in range(1, 5)}
    swap = {k: [(1, *box), (2, *far)] if k < 3 else [(2, *box), (1, *far)] for k in range(1, 5)}
    f = evaluate.figures(two, swap)
    expect(close(f.mota, 0.75) and close(f.idf1, 0.5) and f.switches == 2, f'a swap: {f}')
    # Who keeps a pair that still overlaps by half does not lose it to a better one.
    shift = (2, 0, 10, 10)
    f = evaluate.figures({1: [(1, *box)], 2: [(1, *box)]}, {1: [(5, *box)], 2: [(5, *shift), (6, *box)]})
    expect(f.switches == 0 and f.false_positives == 1, f'pairs stay: {f}')
    # Nothing to find, nothing found.
    expect(evaluate.figures({}, {}).truths == 0, 'an empty sequence')


def write_detections(path, detections):
    with open(path, 'w') as out:
        for frame, boxes in detections.items():
            for *box, _ in boxes:
                out.write(f'{frame},-1,' + ','.join(f'{v:.4f}' for v in box) + '\n')


def check_simulator(program, folder):
    results, baseline = {}, {}
    cases = [(60, 1), (30, 1), (25, 1), (12.5, 1), (10, 1), (5, 1)] + [(25, every) for every in (2, 3, 4, 5, 8, 10)]
    for seed in SEEDS:
        walkers = simulate.scene(seed, SECONDS, PEOPLE)
        for fps in sorted({fps for fps, _ in cases}):
            truth, detections, frames = simulate.sample(walkers, seed, SECONDS, fps)
            det = pathlib.Path(folder) / 'det.txt'
            write_detections(det, detections)
            for every in [every for rate, every in cases if rate == fps]:
                tracks = sequences.ours(program, det, frames, fps, every, simulate.WIDTH, simulate.HEIGHT)
                results.setdefault((fps, every), []).append(evaluate.figures(truth, tracks))
            baseline.setdefault(fps, []).append(evaluate.figures(truth, sort_baseline.run(detections, frames)))
    idf1 = {case: np.mean([f.idf1 for f in all_of]) for case, all_of in results.items()}
    for (fps, every), all_of in results.items():
        mota, switches = np.mean([f.mota for f in all_of]), sum(f.switches for f in all_of)
        line = f'{fps:g} frames/s, every {every}. inferred: MOTA {100 * mota:.1f}, ' \
               f'IDF1 {100 * idf1[fps, every]:.1f}, switches {switches}'
        if every == 1:
            sort = baseline[fps]
            line += f'; SORT {100 * np.mean([f.mota for f in sort]):.1f}, {100 * np.mean([f.idf1 for f in sort]):.1f}, ' \
                    f'{sum(f.switches for f in sort)}'
            expect(mota > np.mean([f.mota for f in sort]) and idf1[fps, 1] > np.mean([f.idf1 for f in sort]) and
                   switches < sum(f.switches for f in sort), f'better than SORT at {fps:g} frames/s')
        print(line)
    expect(idf1[25, 1] >= 0.95, f'IDF1 at 25 frames/s is {idf1[25, 1]:.3f}')
    for fast, slow in [((60, 1), (30, 1)), ((25, 1), (12.5, 1)), ((10, 1), (5, 1)), ((25, 1), (25, 2)), ((25, 2), (25, 4)),
                       ((25, 4), (25, 8)), ((25, 5), (25, 10))]:
        expect(idf1[fast] - idf1[slow] < 0.03, f'IDF1 falls by {idf1[fast] - idf1[slow]:.3f} from {fast} to {slow}')


def check_smoothing(program, folder):
    """Boxes that are smoothed are nearer to the truth than those that were detected, whatever people do."""
    for error, fps in ((0.03, 25), (0.03, 5), (0.01, 25), (0.01, 5), (0.003, 25)):
        shares = {}
        for seed in SMOOTHED:
            walkers = simulate.scene(seed, SECONDS, PEOPLE)
            truth, detections, frames = simulate.sample(walkers, seed, SECONDS, fps, error)
            det = pathlib.Path(folder) / 'det.txt'
            write_detections(det, detections)
            for frame, number, box in sequences.shown(program, det, frames, fps, simulate.WIDTH, simulate.HEIGHT):
                *seen, who = detections[frame][number - 1]
                true = [box for i, *box in truth[frame] if i == who]
                if true:
                    phase = walkers[who - 1].phase((frame - 1) / fps)
                    shares.setdefault(phase, []).append(evaluate.overlaps([box, seen[:4]], true)[:, 0])
        means = {phase: np.mean(pairs, axis=0) for phase, pairs in shares.items()}
        print(f'overlap with the truth, boxes off by {error:g}, {fps} frames/s: ' + ', '.join(
            f'{phase} {means[phase][0]:.3f} smoothed, {means[phase][1]:.3f} detected' for phase in sorted(means)))
        for phase, (smoothed, detected) in means.items():
            expect(smoothed > detected - 0.0005, f'{phase}: {smoothed:.4f} smoothed, {detected:.4f} detected')


def check_sequence(program, folder):
    found, sort = sequences.measure(program, folder)
    print(evaluate.line_of(f'{folder.name}, ours', found))
    print(evaluate.line_of(f'{folder.name}, SORT', sort))
    expect(found.mota > sort.mota and found.idf1 > sort.idf1 and found.switches < sort.switches,
           f'{folder.name}: better than SORT in all three')


def main(program, data):
    check_figures()
    with tempfile.TemporaryDirectory() as folder:
        check_simulator(program, folder)
        check_smoothing(program, folder)
    recorded = sorted(p.parent for p in pathlib.Path(data).glob('*/gt.txt'))
    for folder in recorded:
        check_sequence(program, folder)
    if not recorded:
        print(f'no recorded sequences in {data}: that part is left out')
    sys.exit(1 if failures else 0)


main(*sys.argv[1:])
