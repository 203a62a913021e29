#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random ONNX graphs with a memory, over several frames, through the converter and the software device, and through
ONNX Runtime with states carried by hand.

  judge_states.py RUN_MODELS [--seed N] [--count N] [--only N[,N...]] [--jobs N] [--folder FOLDER]

RUN_MODELS is the program of that name. The seed is printed; the same seed gives the same graphs, and --only chooses some
of them by number. A finding is reduced and written to FOLDER, as .onnx and .npz, with the options that convert it."""
import collections
import os
import shlex
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import judging
from judging import Device, quiet

try:
    with quiet():
        import numpy as np
        import onnx.reference  # noqa: F401  (before ONNX Runtime, as in judge_onnx.py)
        import onnxruntime  # noqa: F401
        from onnx_judge.fewer_frames import minimise_frames
        from onnx_judge.memory import generate
        from onnx_judge.sequence import MISTAKES, judge_frames
except ImportError as error:
    print('skipped: needs python3-numpy, python3-onnx and python3-onnxruntime (Debian 13 has them): %s' % error)
    sys.exit(77)

# Largest shares of undecided elements, of unsure graphs, and of graphs that would not show a
# mistake in carrying a state.
MOST_UNDECIDED, MOST_UNSURE, MOST_BLIND = 0.10, 0.02, 0.10
device = None
options = None


def start(given):
    global device, options
    options = given
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    device = Device(shlex.split(given.run_models))


def write(g, stem, verdict):
    os.makedirs(options.folder, exist_ok=True)
    name = os.path.join(options.folder, '%s-memory-%s' % (verdict.kind, stem))
    with open(name + '.onnx', 'wb') as file:
        file.write(g.written.model.SerializeToString())
    np.savez(name + '.npz', **g.streams)
    with open(name + '.txt', 'w', encoding='utf-8') as file:
        file.write('%s\noptions: %s\nstates: %s\n' % (verdict.text, ' '.join(g.written.options), g.written.states))
    return ' -> ' + name


def one(number):
    g = generate(options.seed, number)
    layout = ['hwc'] if number % 4 == 3 else []
    verdict = judge_frames(g, device, layout)
    if verdict.is_finding():
        g, verdict = minimise_frames(g, device, layout, verdict)
    verdict.number = number
    verdict.operators = sorted({node.op_type for node in g.written.model.graph.node})
    verdict.written = ''
    if options.folder and verdict.is_finding():
        verdict.written = write(g, '%d-%d' % (options.seed, number), verdict)
    return verdict


def main():
    given = judging.parser(400).parse_args()
    numbers = judging.numbers_of(given)
    began, status = time.time(), 0
    kinds, blind, shares = collections.Counter(), collections.Counter(), []
    with ProcessPoolExecutor(given.jobs, initializer=start, initargs=(given,)) as pool:
        for verdict in pool.map(one, numbers, chunksize=4):
            kinds[verdict.kind] += 1
            if verdict.kind in ('right', 'differs'):
                shares.append(verdict.undecided)
                blind.update(verdict.blind)
            if verdict.is_finding() or (verdict.kind == 'unsure' and given.only):
                print('%d %s: %s [%s]%s' % (verdict.number, verdict.kind, verdict.text, ' '.join(verdict.operators),
                                            verdict.written), flush=True)
            status |= verdict.is_finding()
    share = sum(shares) / max(1, len(shares))
    most_blind = max(2, MOST_BLIND * len(numbers))
    if share > MOST_UNDECIDED or kinds['unsure'] > max(2, MOST_UNSURE * len(numbers)):
        print('too little is decided')
        status = 1
    for mistake in MISTAKES:
        print('%d graphs would not show that a state %s' % (blind[mistake], mistake))
        status |= blind[mistake] > most_blind
    judging.summary('graphs', kinds, given, began, '; undecided %.1f %%' % (100 * share))
    return status


if __name__ == '__main__':
    sys.exit(main())
