#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random ONNX graphs through the converter and the software device, and through ONNX Runtime.

  judge_onnx.py RUN_MODELS [--seed N] [--count N] [--only N[,N...]] [--jobs N] [--folder FOLDER] [--sources FOLDER]
                [--without FUNCTION[,FUNCTION...]]

RUN_MODELS is the program of that name. The seed is printed; the same seed gives the same graphs, and --only
chooses some of them by number. --without leaves out functions of onnx_judge, if their known differences hide
others. A finding is reduced and written to FOLDER, as .onnx, .npy and Python."""
import collections
import os
import re
import shlex
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import judging
from judging import Device, quiet

try:
    with quiet():
        # Imported first: the reference accepts only ONNX's own operators, and ONNX Runtime adds
        # others.
        import onnx.reference  # noqa: F401
        import onnxruntime  # noqa: F401
        from onnx_judge.generate import generate, unknown_operators
        from onnx_judge.minimise import generalised, minimise, write
        from onnx_judge.verdict import arbitrate, judge
except ImportError as error:
    print('skipped: needs python3-numpy, python3-onnx and python3-onnxruntime (Debian 13 has them): %s' % error)
    sys.exit(77)

# Largest shares of undecided elements, and of unsure graphs.
MOST_UNDECIDED, MOST_UNSURE = 0.15, 0.03
device = None
options = None


def start(given):
    global device, options
    options = given
    # ONNX Runtime also prints duplicate registrations, at its first call.
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    device = Device(shlex.split(given.run_models))


def one(number):
    g = generate(options.seed, number, options.without)
    layout = 'hwc' if number % 4 == 3 else 'none'
    verdict = judge(g, device, layout, peers=number % 8 == 0)
    verdict.number, verdict.operators = number, [('' if not node.domain else node.domain + '.') + node.op_type for node in g.nodes]
    verdict.written = ''
    if verdict.is_finding():
        small, verdict.text = minimise(g, device, layout, verdict)
        if verdict.kind == 'differs' and arbitrate(small, device, layout):
            verdict.kind = 'unsure'
        verdict.operators = [node.op_type for node in small.nodes]
        if options.folder and verdict.is_finding():
            verdict.written = write(small, options.folder, '%d-%d' % (options.seed, number), verdict, layout)
    return verdict


def operators_of(sources):
    """Returns the names in the importer's own tables."""
    with open(os.path.join(sources, 'src/import/onnx/operators.h'), encoding='utf-8') as file:
        names = re.findall(r'ROW\("([\w.]+)"', file.read())
    with open(os.path.join(sources, 'src/import/onnx/expansions/expansions.cpp'), encoding='utf-8') as file:
        text = file.read()
    names += re.findall(r'\{kOnnx, "(\w+)"', text)
    names += ['com.microsoft.' + n for n in re.findall(r'\{kMicrosoft, "(\w+)"', text)]
    for listed in re.findall(r'kVariants\[\] = \{([^}]*)\}', text):
        names += ['com.microsoft.' + n for n in re.findall(r'"(\w+)"', listed)]
    return names


def main():
    parser = judging.parser(2000)
    parser.add_argument('--sources')
    parser.add_argument('--without', default='')
    given = parser.parse_args()
    given.without = given.without.split(',')
    status = 0
    if given.sources:
        missing, extra = unknown_operators(operators_of(given.sources))
        for names, what in ((missing, 'makes no graph of, and table.py does not say why'),
                            (extra, 'knows and the importer does not have')):
            if names:
                print('operators that the judge %s: %s' % (what, ', '.join(names)))
                status = 1
    numbers = judging.numbers_of(given)
    began = time.time()
    kinds, others, used = collections.Counter(), collections.Counter(), collections.Counter()
    open_shares = []
    with ProcessPoolExecutor(given.jobs, initializer=start, initargs=(given,)) as pool:
        for verdict in pool.map(one, numbers, chunksize=4):
            kinds[verdict.kind] += 1
            used.update(verdict.operators)
            if verdict.kind in ('right', 'differs'):
                open_shares.append(verdict.undecided)
            if verdict.kind in ('refused', 'unsure'):
                others[verdict.kind, generalised(verdict.text)[:200]] += 1
            if verdict.is_finding() or (verdict.kind == 'unsure' and given.only):
                print('%d %s: %s [%s]%s' % (verdict.number, verdict.kind, verdict.text, ' '.join(verdict.operators),
                                            verdict.written), flush=True)
            status |= verdict.is_finding()
    for (kind, text), count in others.most_common():
        print('%s %d times: %s' % (kind, count, text))
    from onnx_judge.table import OPERATORS
    never = sorted(set(OPERATORS) - set(used))
    if never and len(numbers) >= 2000:
        print('no graph has %s' % ', '.join(never))
        status = 1
    share = sum(open_shares) / max(1, len(open_shares))
    if share > MOST_UNDECIDED or kinds['unsure'] > max(2, MOST_UNSURE * len(numbers)):
        print('too little is decided')
        status = 1
    judging.summary('graphs', kinds, given, began, '; undecided %.1f %%' % (100 * share))
    return status


if __name__ == '__main__':
    sys.exit(main())
