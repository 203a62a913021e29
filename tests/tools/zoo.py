#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts the models of the zoo and compares every raw output with the golden one.

  zoo.py DVNET FOLDER [NAME...]

FOLDER is the zoo of the test data: a table in its README.md says how each model's picture is made,
and golden/NAME.npz has each output in single precision. The rule is the zoo's own: a cosine of at least
0.999. The last line counts.
"""
import ast
import io
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from share import share_of  # noqa: E402

LEAST_COSINE = 0.999
# Refused for the reason in docs/converter.md.
REFUSED = {}
# What convert says of a model, beside what it says of each.
SAID = {'pfld_cunjian.onnx': '1264 of 3568 channels are left out: no output needs them'}
ROW = re.compile(r'^\| (\S+\.(?:onnx|prototxt|hdf5)) \| [^|]* \| ([^|]*) \|')
PICTURE = re.compile(r'(\d+)x(\d+) (rgb|bgr|gray), mean ([\d.,]+), scale ([\d.,]+)')
FORMATS = {'<f4': 'f', '<f8': 'd', '<f2': 'e', '|u1': 'B', '<i4': 'i', '<i8': 'q', '|b1': '?'}


def read_npy(data):
    length = struct.unpack('<H', data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    count = 1
    for d in header['shape']:
        count *= d
    values = struct.unpack('<%d%s' % (count, FORMATS[header['descr']]), data[10 + length:])
    return header['shape'], [float(v) for v in values]


def cosine(a, b):
    product = sum(x * y for x, y in zip(a, b))
    lengths = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return product / lengths if lengths > 0 else float(a == b)


def run(step):
    done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.decode(errors='replace').strip().split('\n')[-1])
    return done.stdout.decode(errors='replace')


def check(dvnet, folder, work, name, picture):
    """Returns a line about a model that is right; raises ValueError with the mistake."""
    stem = name.rsplit('.', 1)[0]
    network = os.path.join(work, stem + '.dvn')
    files = [os.path.join(folder, name)]
    if name.endswith('.prototxt'):
        files.append(os.path.join(folder, stem + '.caffemodel'))
    convert = [dvnet, 'convert'] + files + ['-o', network]
    golden = os.path.join(folder, 'golden', stem)
    source = golden + '.in.npy'
    said = PICTURE.search(picture)
    if said:
        convert += ['--size', '%sx%s' % said.group(1, 2), '--order', said.group(3), '--mean', said.group(4),
                    '--scale', said.group(5)]
        source = golden + '.png'
    told = run(convert)
    if SAID.get(name, '') not in told:
        raise ValueError('convert does not say: %s' % SAID[name])
    if not os.path.exists(golden + '.npz'):
        return 'converts; there is no golden output'
    run([dvnet, 'run', network, source, '--dump', work])
    worst = 1.0
    with zipfile.ZipFile(golden + '.npz') as outputs:
        for entry in outputs.namelist():
            output = entry[:-len('.npy')]
            path = os.path.join(work, '%s.%s.npy' % (os.path.basename(source), output))
            if not os.path.exists(path):
                raise ValueError('there is no output %s' % output)
            with open(path, 'rb') as file:
                got = read_npy(file.read())
            want = read_npy(outputs.read(entry))
            if len(got[1]) != len(want[1]):
                raise ValueError('output %s is %s, not %s' % (output, got[0], want[0]))
            worst = min(worst, cosine(got[1], want[1]))
    if not worst >= LEAST_COSINE:
        raise ValueError('an output has a cosine of %.6f' % worst)
    return 'cosine %.6f' % worst


def main():
    dvnet, folder, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    if not os.path.exists(os.path.join(folder, 'README.md')):
        print('skipped: there is no ' + folder)
        return 77
    wrong = count = 0
    with io.open(os.path.join(folder, 'README.md'), encoding='utf-8') as file:
        rows = [row for row in (ROW.match(line) for line in file) if row]
    for row in rows if only else share_of(rows):
        if only and row.group(1) not in only:
            continue
        count += 1
        with tempfile.TemporaryDirectory() as work:
            try:
                told = check(dvnet, folder, work, row.group(1), row.group(2))
            except ValueError as problem:
                told = str(problem)
                if row.group(1) not in REFUSED or REFUSED[row.group(1)] not in told:
                    wrong += 1
                    told = 'WRONG: ' + told
        print('%s: %s' % (row.group(1), told), flush=True)
    print('%d of %d are right' % (count - wrong, count))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
