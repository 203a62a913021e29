#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the ONNX project's own operator tests through `dvnet convert` and `dvnet run`.

  onnx_nodes.py DVNET onnx_nodes.tar.gz [--table] [--page=FILE] [NAME...]

Each test has a model, the values of its input, and those of its outputs, which its authors computed.
A result is right if its error is no larger than rounding to 16 bits explains (tolerance_of). The last
line counts. --table prints Markdown rows by operator, those of docs/onnx-operators.md; --page fails if
the page differs.
"""
import ast
import json
import os
import struct
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from share import share_of  # noqa: E402

OUT_OF_SCOPE = {
    'ArrayFeatureExtractor', 'Bernoulli', 'Binarizer', 'CenterCropPad', 'DFT', 'Det', 'NegativeLogLikelihoodLoss',
    'OptionalGetElement', 'RoiAlign', 'STFT', 'Scan', 'SoftmaxCrossEntropyLoss', 'TreeEnsemble'}
LEAST_PASSED = 0.95
FORMATS = {'<f4': 'f', '<f8': 'd', '<f2': 'e', '|u1': 'B', '|i1': 'b', '|b1': '?', '<i2': 'h', '<u2': 'H', '<i4': 'i',
           '<u4': 'I', '<i8': 'q', '<u8': 'Q'}


def read_npy(path):
    with open(path, 'rb') as file:
        data = file.read()
    length = struct.unpack('<H', data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    count = 1
    for d in header['shape']:
        count *= d
    values = struct.unpack('<%d%s' % (count, FORMATS[header['descr']]), data[10 + length:])
    if header['fortran_order']:
        values = row_major(header['shape'], values)
    return header['shape'], [float(v) for v in values]


def row_major(shape, values):
    strides = [1]
    for d in shape[:-1]:
        strides.append(strides[-1] * d)
    offsets = [0]
    for d, stride in zip(shape, strides):
        offsets = [o + i * stride for o in offsets for i in range(d)]
    return [values[o] for o in offsets]


def tolerance_of(values):
    """Inputs, weights and results are rounded to 11 significand bits, each by half a unit in the
    last place. The error of a sum is that of its largest terms: relative to the tensor's largest value.
    Four units let three such steps follow each other."""
    largest = max((abs(v) for v in values if v == v and abs(v) != float('inf')), default=0.0)
    return 4 * 2.0**-11 * max(largest, 1e-3)


def compare(got, want):
    if [d for d in got[0] if d != 1] != [d for d in want[0] if d != 1]:
        return 'shape %s, not %s' % (got[0], want[0])
    limit = tolerance_of(want[1])
    worst = 0.0
    for a, b in zip(got[1], want[1]):
        if a == b or (a != a and b != b):
            continue
        difference = abs(a - b)
        worst = max(worst, difference if difference == difference else float('inf'))
    return '' if worst <= limit else 'differs by %.3g, %.3g is allowed' % (worst, limit)


def run_test(dvnet, folder, work, name):
    """Returns '' if it is right, else the reason."""
    base = os.path.join(folder, name)
    network = os.path.join(work, name + '.dvn')
    steps = ([dvnet, 'convert', base + '.onnx', '-o', network],
             [dvnet, 'run', network, base + '.in.npy', '--json', '--dump', os.path.join(work, name)])
    for step in steps:
        try:
            done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return '%s does not end' % step[1]
        if done.returncode != 0:
            return done.stderr.decode(errors='replace').strip().split('\n')[-1]
    outputs = json.loads(done.stdout)['outputs']
    for k, output in enumerate(outputs):
        wanted = base + '.out%d.npy' % k
        if not os.path.exists(wanted):
            continue
        path = os.path.join(work, name, '%s.in.npy.%s.npy' % (name, output.replace('/', '_').replace(':', '_')))
        problem = compare(read_npy(path), read_npy(wanted))
        if problem:
            return 'output %d: %s' % (k, problem)
    return ''


def rows_of(by_operator):
    return {name: '%d of %d' % (right, right + wrong) for name, (right, wrong) in by_operator.items()}


def differences(page, by_operator, all_ran):
    """Returns the page's wrong statements, as lines. If not all tests ran, a failure must be one that the page allows."""
    said = {}
    with open(page, encoding='utf-8') as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
            for name, told in zip(cells[::2], cells[1::2]):
                if ' of ' in told:
                    said[name] = told
    lines = []
    for name, told in rows_of(by_operator).items():
        right, count = (int(n) for n in said.get(name, '0 of 0').split(' of '))
        if said.get(name) != told if all_ran else by_operator[name][1] > count - right:
            lines.append('%s: the page says %s, it is %s' % (name, said.get(name, 'nothing'), told))
    if all_ran:
        lines += ['%s: the page has it, there is no test' % name for name in sorted(set(said) - set(by_operator))]
    return lines


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith('--')]
    dvnet, archive, only = arguments[0], arguments[1], arguments[2:]
    if not os.path.exists(archive):
        print('skipped: there is no ' + archive)
        return 77
    with tempfile.TemporaryDirectory() as work:
        with tarfile.open(archive) as tar:
            tar.extractall(work)
        folder = os.path.join(work, 'onnx_nodes')
        with open(os.path.join(folder, 'ops.json')) as file:
            operators = json.load(file)
        chosen = [(operator, name) for operator, names in sorted(operators.items()) for name in names
                  if (operator in only or name in only if only else
                      operator not in OUT_OF_SCOPE)]
        share = chosen if only else share_of(chosen)
        all_ran, chosen = not only and len(share) == len(chosen), share
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            problems = list(pool.map(lambda test: run_test(dvnet, folder, work, test[1]), chosen))
    by_operator = {}
    for (operator, name), problem in zip(chosen, problems):
        row = by_operator.setdefault(operator, [0, 0])
        row[0 if not problem else 1] += 1
        if problem and '--table' not in sys.argv:
            print('%s: %s' % (name, problem))
    if '--table' in sys.argv:
        cells = ['%s | %s' % row for row in sorted(rows_of(by_operator).items())]
        for first in range(0, len(cells), 3):
            print('| %s |' % ' | '.join((cells[first:first + 3] + [' | '] * 2)[:3]))
    outdated = []
    for page in [a[len('--page='):] for a in sys.argv[1:] if a.startswith('--page=')]:
        outdated = differences(page, by_operator, all_ran)
        print('\n'.join(outdated + ['%s: %s' % (page, 'outdated' if outdated else 'up to date')]))
    right = sum(not problem for problem in problems)
    print('%d of %d are right' % (right, len(problems)))
    return 0 if right >= LEAST_PASSED * len(problems) and not outdated else 1


if __name__ == '__main__':
    sys.exit(main())
