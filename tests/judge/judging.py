# SPDX-License-Identifier: Apache-2.0
"""Common parts of the judges of random models: their options, quiet imports, the project's side, the reduction of a
finding, and their last line."""
import argparse
import contextlib
import ctypes
import json
import os
import select
import subprocess
import tempfile
import time

ANSWER_SECONDS = 120


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


def failures(cases, only, check, keep=None):
    """Calls check(case, folder) for each case whose name has `only` in it, prints what it returns or raises, and
    returns how many raised. Its files are in `keep`, or in a folder for a while."""
    failed = 0
    for name, case in cases.items():
        if only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                print('%s: %s' % (name, check(case, keep or folder)), flush=True)
            except Exception as error:  # ONNX Runtime's exceptions have no common base
                failed += 1
                print('%s: %s' % (name, error))
    return failed


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


class Device:
    """The project's side: converts and runs models with the program run_models, in one process for many models."""
    def __init__(self, command):
        self.command = command
        self.process = None
        self.folder = tempfile.TemporaryDirectory(prefix='judge-', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
        self.errors = open(os.path.join(self.folder.name, 'stderr'), 'w+b')

    def ask(self, line):
        if self.process is None:
            self.errors.seek(0)
            self.errors.truncate()
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        try:
            self.process.stdin.write(line.encode() + b'\n')
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], ANSWER_SECONDS)
            answer = self.process.stdout.readline() if ready else None
        except BrokenPipeError:
            answer = b''
        if answer:
            return json.loads(answer)
        if answer is None:
            self.process.kill()
        status = self.process.wait()
        self.process = None
        self.errors.seek(0)
        said = self.errors.read().decode(errors='replace').strip().split('\n')[-1]
        return {'crashed': 'does not end' if answer is None else 'ends with %d: %s' % (status, said)}

    def run(self, files, given, options='none'):
        """Returns run_models' answer, with the outputs as arrays. `files` are a model's files, as bytes by name;
        `given` is the input, or inputs by their names."""
        import numpy as np  # not above, so that judges can skip without it

        paths = []
        for name, data in files.items():
            paths.append(os.path.join(self.folder.name, name))
            with open(paths[-1], 'wb') as file:
                file.write(data)
        inputs, prefix = [], os.path.join(self.folder.name, 'out')
        for k, (name, array) in enumerate(given.items() if isinstance(given, dict) else [('', given)]):
            path = os.path.join(self.folder.name, 'in%d.npy' % k)
            np.save(path, array)
            inputs.append(name + '=' + path if name else path)
        answer = self.ask(' '.join([','.join(paths), ','.join(inputs), prefix, options]))
        if 'outputs' in answer:
            answer['arrays'] = [np.load('%s.%d.npy' % (prefix, k)) for k in range(len(answer['outputs']))]
        return answer
