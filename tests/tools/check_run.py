#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What dvnet run takes besides pictures: arrays of numbers, and frames of one stream.

  check_run.py DVNET numbers NETWORK
  check_run.py DVNET memory
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from check_small_network import field  # noqa: E402

DVNET = sys.argv[1]
SIDE = 4
COUNT = 3 * SIDE * SIDE


# --- numbers --------------------------------------------------------------------------------------------------------------

def run(network, path, *options):
    return subprocess.run([DVNET, 'run', network, path, '--json', *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
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


def check_dump(network, path, shape, values, folder):
    """The input is unchanged in .input.npy, and in the device's 16 bits in .tensor.npy."""
    dumped = os.path.join(folder, 'dumped')
    os.mkdir(dumped)
    subprocess.run([DVNET, 'run', network, path, '--json', '--dump', dumped], check=True, stdout=subprocess.PIPE)
    stem = os.path.join(dumped, os.path.basename(path))
    given_shape, given = read_npy(stem + '.input.npy')
    assert given_shape == shape and given == values, 'the input is %s, %s ...' % (given_shape, given[:8])
    tensor_shape, tensor = read_npy(stem + '.tensor.npy')
    assert tensor_shape == shape, tensor_shape
    # In 16 bits, the last digit is worth less than a thousandth.
    assert all(abs(a - b) <= abs(b) / 1000 for a, b in zip(tensor, values)), tensor[:8]
    assert any(name not in (os.path.basename(stem) + '.input.npy', os.path.basename(stem) + '.tensor.npy')
               for name in os.listdir(dumped)), 'no output was written'


def check_batch(network, path, wanted, folder):
    """A line for each input, and the results one after the other in an output's file."""
    dumped = os.path.join(folder, 'batch')
    done = run(network, path, '--dump', dumped)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line)['outputs'] for line in done.stdout.splitlines()]
    assert lines == wanted, (lines, wanted)
    for name in os.listdir(dumped):
        if not name.endswith(('.input.npy', '.tensor.npy')):
            shape, values = read_npy(os.path.join(dumped, name))
            assert shape[0] == 2 and len(values) % 2 == 0, (name, shape)


def check_numbers(network):
    """An array is taken with its channels first or last."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'input.npy')
        write_npy(path, [2], [0, 0])
        refused = run(network, path)
        assert refused.returncode != 0 and 'is 2, the network' in refused.stderr, refused.stderr
        n, c, h, w = (int(d) for d in re.search(r'input (\d+)x(\d+)x(\d+)x(\d+)', refused.stderr).groups())
        assert n == 1 and c > 1 and c not in (h, w)
        first = [(17 * i % 31) * 8 for i in range(c * h * w)]
        last = [first[k * h * w + i] for i in range(h * w) for k in range(c)]
        told = []
        for shape, values in (((1, c, h, w), first), ((1, h, w, c), last), ((h, w, c), last), ((c * h * w,), first)):
            write_npy(path, shape, values)
            done = run(network, path)
            assert done.returncode == 0, done.stderr
            told.append(json.loads(done.stdout)['outputs'])
        assert told[0] == told[1] == told[2] == told[3], told
        # They are whole numbers below 2048, which 16 bits have, too.
        write_npy(path, (1, c, h, w), first, 'f2')
        assert json.loads(run(network, path).stdout)['outputs'] == told[0], 'halves are read as other numbers'
        write_npy(path, (1, c, h, w), first)
        check_dump(network, path, [1, c, h, w], first, folder)
        other = os.path.join(folder, 'other.npy')
        with open(other, 'wb') as file:
            file.write(b'no array, whatever its name says')
        refused = run(network, other)
        assert refused.returncode == 1 and 'is no NumPy array' in refused.stderr, refused.stderr
        write_npy(path, (1, c, h, w), last)
        other = json.loads(run(network, path).stdout)['outputs']
        assert other != told[0], 'the order of the numbers does not matter to this network'
        # Several inputs, one after the other: each as if it were alone.
        write_npy(path, (2, c, h, w), last + first)
        check_batch(network, path, [other, told[0]], folder)


# --- memory ---------------------------------------------------------------------------------------------------------------

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
    return subprocess.run([DVNET, *arguments], check=True, stdout=subprocess.PIPE, universal_newlines=True,
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
        done = subprocess.run([DVNET, 'evaluate', path('e.dvn'), '--data', path('data')], stdout=subprocess.PIPE,
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
    done = subprocess.run([DVNET, 'run', path('half.dvn'), path('0.ppm'), '--draw', path('drawn')], stdout=subprocess.PIPE,
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


def check_memory():
    """Pictures, and the elements of arrays, are frames of one stream if the network has a memory; with a live input, each frame has
    its own value of that."""
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


if __name__ == '__main__':
    {'numbers': check_numbers, 'memory': check_memory}[sys.argv[2]](*sys.argv[3:])
