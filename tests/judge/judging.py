# SPDX-License-Identifier: Apache-2.0
"""Common parts of the judges of random models: their options, quiet imports, the reduction of a finding, and their last line."""
import argparse
import contextlib
import ctypes
import os
import time


def parser(count, everywhere=False):
    """Reads the options; by default `count` models are judged. `everywhere`: each run of CI can judge, so that others
    than the first judge fewer, of seeds of their own."""
    if everywhere:
        count //= int(os.environ.get('DVNN_TEST_ROUNDS') or '1')
    made = argparse.ArgumentParser()
    made.add_argument('run_models')
    made.add_argument('--seed', type=int, default=int(time.time()))
    made.add_argument('--count', type=int, default=count)
    made.add_argument('--only')
    made.add_argument('--jobs', type=int, default=os.cpu_count())
    made.add_argument('--folder', default='')
    return made


def numbers_of(given):
    """Returns the numbers of the models to judge, and prints their seed."""
    print('seed %d' % given.seed, flush=True)
    return [int(n) for n in given.only.split(',')] if given.only else range(given.count)


def summary(what, kinds, given, began, more=''):
    """Prints how many `what` were judged since `began`, and how many are of each kind."""
    print('%d %s of seed %d: %s%s; %.0f s' % (sum(kinds.values()), what, given.seed,
                                             ', '.join('%d %s' % (n, k) for k, n in kinds.most_common()), more,
                                             time.time() - began))


def descend(model, verdict, fewer, judged, sort, hopeless, most_tries):
    """Returns the smallest model found whose verdict is of the same sort, and that verdict. `fewer` yields functions
    that make smaller models, the boldest first; `judged` returns a model's verdict; `hopeless` are the errors of
    invalid models."""
    tries, better = 0, True
    while better and tries < most_tries:
        better = False
        for make in fewer(model):
            tries += 1
            if tries > most_tries:
                break
            try:
                small = make()
                said = judged(small)
            except hopeless:
                continue
            if sort(said) == sort(verdict):
                model, verdict, better = small, said, True
                break
    return model, verdict


@contextlib.contextmanager
def quiet():
    """Silences imports: Debian's packages of ONNX and of ONNX Runtime register the same operators, and print that in a
    hundred lines, not from Python."""
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        for stream, own in zip((1, 2), kept):
            os.dup2(own, stream)
            os.close(own)
        os.close(nowhere)
