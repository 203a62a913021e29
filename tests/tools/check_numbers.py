#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet run takes an array with its channels first or last.

  check_numbers.py DVNET NETWORK
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile


def run(dvnet, network, path, *options):
    return subprocess.run([dvnet, 'run', network, path, '--json', *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=60, check=False)


def write_npy(path, shape, values, kind='f4'):
    header = repr({'descr': '<' + kind, 'fortran_order': False, 'shape': tuple(shape)}).ljust(117) + '\n'
    with open(path, 'wb') as file:
        file.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode())
        file.write(struct.pack('<%d%s' % (len(values), {'f2': 'e', 'f4': 'f'}[kind]), *values))


def read_npy(path):
    with open(path, 'rb') as file:
        assert file.read(8) == b'\x93NUMPY\x01\x00', path
        header = file.read(struct.unpack('<H', file.read(2))[0]).decode()
        assert "'<f4'" in header and "'fortran_order': False" in header, header
        shape = [int(d) for d in re.search(r"'shape': \(([^)]*)\)", header).group(1).split(',') if d.strip()]
        values = file.read()
    return shape, list(struct.unpack('<%df' % (len(values) // 4), values))


def check_dump(dvnet, network, path, shape, values, folder):
    """The input is unchanged in .input.npy, and in the device's 16 bits in .tensor.npy."""
    dumped = os.path.join(folder, 'dumped')
    os.mkdir(dumped)
    subprocess.run([dvnet, 'run', network, path, '--json', '--dump', dumped], check=True, stdout=subprocess.PIPE)
    stem = os.path.join(dumped, os.path.basename(path))
    given_shape, given = read_npy(stem + '.input.npy')
    assert given_shape == shape and given == values, 'the input is %s, %s ...' % (given_shape, given[:8])
    tensor_shape, tensor = read_npy(stem + '.tensor.npy')
    assert tensor_shape == shape, tensor_shape
    # In 16 bits, the last digit is worth less than a thousandth.
    assert all(abs(a - b) <= abs(b) / 1000 for a, b in zip(tensor, values)), tensor[:8]
    assert any(name not in (os.path.basename(stem) + '.input.npy', os.path.basename(stem) + '.tensor.npy')
               for name in os.listdir(dumped)), 'no output was written'


def check_batch(dvnet, network, path, wanted, folder):
    """A line for each input, and the results one after the other in an output's file."""
    dumped = os.path.join(folder, 'batch')
    done = run(dvnet, network, path, '--dump', dumped)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line)['outputs'] for line in done.stdout.splitlines()]
    assert lines == wanted, (lines, wanted)
    for name in os.listdir(dumped):
        if not name.endswith(('.input.npy', '.tensor.npy')):
            shape, values = read_npy(os.path.join(dumped, name))
            assert shape[0] == 2 and len(values) % 2 == 0, (name, shape)


def main():
    dvnet, network = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'input.npy')
        write_npy(path, [2], [0, 0])
        refused = run(dvnet, network, path)
        assert refused.returncode != 0 and 'is 2, the network' in refused.stderr, refused.stderr
        n, c, h, w = (int(d) for d in re.search(r'input (\d+)x(\d+)x(\d+)x(\d+)', refused.stderr).groups())
        assert n == 1 and c > 1 and c not in (h, w)
        first = [(17 * i % 31) * 8 for i in range(c * h * w)]
        last = [first[k * h * w + i] for i in range(h * w) for k in range(c)]
        told = []
        for shape, values in (((1, c, h, w), first), ((1, h, w, c), last), ((h, w, c), last), ((c * h * w,), first)):
            write_npy(path, shape, values)
            done = run(dvnet, network, path)
            assert done.returncode == 0, done.stderr
            told.append(json.loads(done.stdout)['outputs'])
        assert told[0] == told[1] == told[2] == told[3], told
        # They are whole numbers below 2048, which 16 bits have, too.
        write_npy(path, (1, c, h, w), first, 'f2')
        assert json.loads(run(dvnet, network, path).stdout)['outputs'] == told[0], 'halves are read as other numbers'
        write_npy(path, (1, c, h, w), first)
        check_dump(dvnet, network, path, [1, c, h, w], first, folder)
        other = os.path.join(folder, 'other.npy')
        with open(other, 'wb') as file:
            file.write(b'no array, whatever its name says')
        refused = run(dvnet, network, other)
        assert refused.returncode == 1 and 'is no NumPy array' in refused.stderr, refused.stderr
        write_npy(path, (1, c, h, w), last)
        other = json.loads(run(dvnet, network, path).stdout)['outputs']
        assert other != told[0], 'the order of the numbers does not matter to this network'
        # Several inputs, one after the other: each as if it were alone.
        write_npy(path, (2, c, h, w), last + first)
        check_batch(dvnet, network, path, [other, told[0]], folder)
    return 0


if __name__ == '__main__':
    sys.exit(main())
