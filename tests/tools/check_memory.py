#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet run takes pictures, and the elements of arrays, as frames of one stream if the network has a memory; with a
live input, each frame has its own value of that.

  check_memory.py DVNET
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_numbers import read_npy, write_npy  # noqa: E402
from check_small_network import field  # noqa: E402

SIDE = 4
COUNT = 3 * SIDE * SIDE


def onnx_model(factor, live=False, shape=(1, 3, SIDE, SIDE)):
    """Returns an ONNX model of hn = factor * h + x and y = 2 * hn, or `live` * hn."""
    def end(name, dims=shape):
        shape = b''.join(field(1, field(1, d)) for d in dims)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    def node(kind, inputs, output):
        return field(1, b''.join(field(1, n) for n in inputs) + field(2, output) + field(3, output) + field(4, kind))

    def number(name, value):
        return field(5, field(2, 1) + field(8, name) + field(9, struct.pack('<f', value)))
    graph = node('Mul', ['h', 'factor'], 'g') + node('Add', ['g', 'x'], 'hn') + node('Mul', ['hn', 'live' if live else 'two'], 'y') + \
        field(2, 'g') + number('factor', factor) + number('two', 2) + field(11, end('x')) + field(11, end('h')) + \
        (field(11, end('live', (1,))) if live else b'') + field(12, end('y')) + field(12, end('hn'))
    return field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 13))


def dvnet(*arguments):
    return subprocess.run([sys.argv[1], *arguments], check=True, stdout=subprocess.PIPE, universal_newlines=True,
                          timeout=60).stdout


def sums(*arguments):
    lines = dvnet('run', *arguments, '--json').splitlines()
    return [json.loads(line)['outputs']['y']['sum'] / COUNT for line in lines]


def write_png(path, colour_type, row):
    """Writes rows that are all the same."""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        file.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', SIDE, SIDE, 8, colour_type, 0, 0, 0)) +
                   chunk(b'IDAT', zlib.compress((b'\0' + bytes(row)) * SIDE)) + chunk(b'IEND', b''))


def check_evaluation(path):
    """A network with a memory is evaluated; one whose live inputs nobody gives is not."""
    write_png(path('data/images/a.png'), 2, [9, 8, 7] * SIDE)
    write_png(path('data/masks/a.png'), 0, [0, 1, 2, 0])
    with open(path('data/classes.txt'), 'w', encoding='ascii') as file:
        file.write('a\nb\nc\n')
    for options, refused in (([], ''), (['--live', 'h'], "the network's live input 'h' has no value")):
        dvnet('convert', path('half.onnx'), *options, '--decoder', 'segmentation', '--labels', path('data/classes.txt'), '-o',
              path('e.dvn'))
        done = subprocess.run([sys.argv[1], 'evaluate', path('e.dvn'), '--data', path('data')], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=60, check=False)
        assert (done.returncode != 0) == bool(refused) and refused in done.stderr, done


def check_folded(path):
    """What a model does to its picture first is done as the picture is converted; numbers are the model's own all the same."""
    def constant(name, values):
        dims = b''.join(field(1, d) for d in (1, 3, 1, 1))
        return field(5, dims + field(2, 1) + field(8, name) + field(9, struct.pack('<3f', *values)))

    def node(kind, inputs, output):
        return field(1, b''.join(field(1, n) for n in inputs) + field(2, output) + field(3, output) + field(4, kind))
    factors, offsets = [2, 0.5, 4], [1, -3, 0]
    shape = field(2, b''.join(field(1, field(1, d)) for d in (1, 3, SIDE, SIDE)))
    end = [field(1, name) + field(2, field(1, field(1, 1) + shape)) for name in 'xy']
    graph = node('Mul', 'xk', 'm') + node('Add', 'mb', 's') + node('Relu', 's', 'y') + field(2, 'g') + constant('k', factors) + \
        constant('b', offsets) + field(11, end[0]) + field(12, end[1])
    with open(path('folded.onnx'), 'wb') as file:
        file.write(field(1, 8) + field(7, graph) + field(8, field(1, '') + field(2, 13)))
    dvnet('convert', path('folded.onnx'), '--mean', '8,16,32', '--scale', '0.5,0.25,2', '-o', path('folded.dvn'))
    assert json.loads(dvnet('inspect', path('folded.dvn'), '--json'))['input']['folded_scale'] == factors
    numbers = [i - 20 for i in range(COUNT)]
    write_npy(path('folded.npy'), [1, 3, SIDE, SIDE], numbers)
    dvnet('run', path('folded.dvn'), path('folded.npy'), '--dump', path('dumped'))
    own = [n * factors[i // (SIDE * SIDE)] + offsets[i // (SIDE * SIDE)] for i, n in enumerate(numbers)]
    for name, wanted in (('input', numbers), ('tensor', own), ('y', [max(0, n) for n in own])):
        assert read_npy(path('dumped/folded.npy.%s.npy' % name))[1] == wanted, name


def check_no_pictures(path):
    """An output that is no picture is not drawn, which is told; a network that takes none is timed on numbers."""
    done = subprocess.run([sys.argv[1], 'run', path('half.dvn'), path('0.ppm'), '--draw', path('drawn')], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=60, check=False)
    assert done.returncode == 0 and '"sum"' in done.stdout and os.listdir(path('drawn')) == [], done
    assert "the network has no decoder, and an output of 1x3x4x4 is no picture" in done.stderr, done
    with open(path('numbers.onnx'), 'wb') as file:
        file.write(onnx_model(0.5, shape=(1, 8)))
    dvnet('convert', path('numbers.onnx'), '-o', path('numbers.dvn'))
    told = json.loads(dvnet('bench', 'network', path('numbers.dvn'), '-n', '3', '--json'))
    assert told['iterations'] == 3 and told['device_ms'] > 0, told


def check_live(path, values):
    """The state goes from frame to frame, and the live input is each frame's own, or one for all."""
    with open(path('live.onnx'), 'wb') as file:
        file.write(onnx_model(0.5, live=True))
    dvnet('convert', path('live.onnx'), '--live', 'live', '-o', path('live.dvn'))
    for gains in ([1, 2, 3], [5]):
        write_npy(path('gains.npy'), [len(gains), 1], gains)
        wanted, own, state = [], [], 0
        for k, value in enumerate(values):
            state = state / 2 + value
            wanted.append(state * gains[k % len(gains)])
            own.append(value * gains[k % len(gains)])
        inputs = ['x=' + path('frames.npy'), 'live=' + path('gains.npy')]
        assert sums(path('live.dvn'), *inputs) == wanted, (sums(path('live.dvn'), *inputs), wanted)
        assert sums(path('live.dvn'), *inputs, '--apart') == own, gains


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
        check_live(path, values)
        check_evaluation(path)
        check_no_pictures(path)
        check_folded(path)
        assert 'of one stream' in dvnet('run', '--help')
    return 0


if __name__ == '__main__':
    sys.exit(main())
