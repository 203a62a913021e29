#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random Keras models through the converter and the software device, and through NumPy.

  judge_keras.py RUN_MODELS [--seed N] [--count N] [--only N[,N...]] [--jobs N] [--folder FOLDER] [--sources FOLDER]

Like judge_onnx.py. The reference in NumPy is written from Keras's documentation (keras_judge/reference.py, windows.py),
and so are the files of Keras 1, 2 and 3 (dialects.py, files.py). A finding is reduced and written to FOLDER, with its
input and the reference's results."""
import collections
import os
import re
import shlex
import sys
import time
from concurrent.futures import ProcessPoolExecutor

try:
    import h5py  # noqa: F401
    import numpy  # noqa: F401
except ImportError as error:
    print('skipped: needs python3-numpy and python3-h5py: %s' % error)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judging  # noqa: E402
from judging import Device  # noqa: E402
from keras_judge.generate import generate, unknown_classes  # noqa: E402
from keras_judge.minimise import minimise, write  # noqa: E402
from keras_judge.table import LAYERS, WRITTEN_FOR  # noqa: E402
from keras_judge.verdict import judge  # noqa: E402

MOST_UNDECIDED, MOST_REFUSED = 0.05, 0.15
device = None
options = None


def start(given):
    global device, options
    options, device = given, Device(shlex.split(given.run_models))


def classes_of(net):
    """Returns the names of the file's layers, with those of nested models."""
    names = []
    for layer in net.layers:
        names += classes_of(layer.inner) if layer.inner else [net.dialect.written(net, layer)[0]]
    if net.dialect.number == 1 and net.sequential and net.dialect.input_layer:
        names.append('Layer')
    return names


def one(number):
    net = generate(options.seed, number)
    layout = 'hwc' if number % 4 == 3 else 'none'
    verdict = judge(net, device, layout)
    written, classes = '', classes_of(net)
    if verdict.is_finding():
        small, verdict = minimise(net, device, layout, verdict)
        classes = classes_of(small)
        if options.folder:
            written = write(small, options.folder, '%d-%d' % (options.seed, number), verdict, layout)
    return number, verdict, classes, net.dialect.name, written


def classes_read(sources):
    """Returns the names in the importer's own table."""
    with open(os.path.join(sources, 'src/import/keras/layers.h'), encoding='utf-8') as file:
        return re.findall(r'ROW\("(\w+)"', file.read())


def main():
    parser = judging.parser(1000, everywhere=True)
    parser.add_argument('--sources')
    given = parser.parse_args()
    status = 0
    if given.sources:
        for names, what in zip(unknown_classes(classes_read(given.sources)), (
                'makes no model of, and table.py does not say why', 'knows and the importer does not have')):
            if names:
                print('classes that the judge %s: %s' % (what, ', '.join(names)))
                status = 1
    numbers = judging.numbers_of(given)
    began = time.time()
    kinds, refused, used, undecided = collections.Counter(), collections.Counter(), collections.Counter(), []
    with ProcessPoolExecutor(given.jobs, initializer=start, initargs=(given,)) as pool:
        for number, verdict, classes, dialect, written in pool.map(one, numbers, chunksize=4):
            kinds[verdict.kind] += 1
            used.update(classes)
            if verdict.kind in ('right', 'differs'):
                undecided.append(verdict.undecided)
            if verdict.kind == 'refused':
                refused[verdict.sort()[1][:160]] += 1
            if verdict.is_finding():
                print('%d %s: %s [%s: %s]%s' % (number, verdict.kind, verdict.text, dialect, ' '.join(classes), written), flush=True)
                status = 1
    for text, count in refused.most_common():
        print('refused %d times: %s' % (count, text))
    never = sorted((set(LAYERS) | set(WRITTEN_FOR)) - set(used))
    if never and len(numbers) >= 1000:
        print('no model has %s' % ', '.join(never))
        status = 1
    share = sum(undecided) / max(1, len(undecided))
    if share > MOST_UNDECIDED or kinds['refused'] > max(2, MOST_REFUSED * len(numbers)):
        print('too little is decided')
        status = 1
    judging.summary('models', kinds, given, began, '; undecided %.1f %%' % (100 * share))
    return status


if __name__ == '__main__':
    sys.exit(main())
