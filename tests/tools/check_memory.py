#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet run takes pictures, and the elements of arrays, as frames of one stream if the network has a memory.

  check_memory.py DVNET
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_numbers import write_npy  # noqa: E402
from check_small_network import field  # noqa: E402

SIDE = 4
COUNT = 3 * SIDE * SIDE


def onnx_model(factor):
    """Returns an ONNX model of hn = factor * h + x and y = 2 * hn."""
    dims = (1, 3, SIDE, SIDE)

    def end(name):
        shape = b''.join(field(1, field(1, d)) for d in dims)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    def node(kind, inputs, output):
        return field(1, b''.join(field(1, n) for n in inputs) + field(2, output) + field(3, output) + field(4, kind))

    def number(name, value):
        return field(5, field(2, 1) + field(8, name) + field(9, struct.pack('<f', value)))
    graph = node('Mul', ['h', 'factor'], 'g') + node('Add', ['g', 'x'], 'hn') + node('Mul', ['hn', 'two'], 'y') + \
        field(2, 'g') + number('factor', factor) + number('two', 2) + field(11, end('x')) + field(11, end('h')) + \
        field(12, end('y')) + field(12, end('hn'))
    return field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 13))


def dvnet(*arguments):
    return subprocess.run([sys.argv[1], *arguments], check=True, stdout=subprocess.PIPE, universal_newlines=True,
                          timeout=60).stdout


def sums(*arguments):
    lines = dvnet('run', *arguments, '--json').splitlines()
    return [json.loads(line)['outputs']['y']['sum'] / COUNT for line in lines]


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)  # noqa: E731
        network = path('half.dvn')
        with open(path('half.onnx'), 'wb') as file:
            file.write(onnx_model(0.5))
        dvnet('convert', path('half.onnx'), '-o', network)
        values, pictures, wanted = [200, 40, 8], [], []
        for k, value in enumerate(values):
            pictures.append(path('%d.ppm' % k))
            with open(pictures[-1], 'wb') as file:
                file.write(b'P6\n%d %d\n255\n' % (SIDE, SIDE) + bytes([value] * COUNT))
            wanted.append(2 * value + (wanted[-1] / 2 if wanted else 0))
        write_npy(path('frames.npy'), [3, 3, SIDE, SIDE], [v for value in values for v in [value] * COUNT])
        apart = [2 * value for value in values]
        for inputs in (pictures, [path('frames.npy')]):
            assert sums(network, *inputs) == wanted, (sums(network, *inputs), wanted)
            assert sums(network, *inputs, '--apart') == apart, inputs
        assert sums(network, pictures[0], path('frames.npy')) == [2 * 200, *(
            w + 200 / 2 ** k for k, w in enumerate(wanted))]  # of all inputs together
        assert 'of one stream' in dvnet('run', '--help')
    return 0


if __name__ == '__main__':
    sys.exit(main())
