#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts an ONNX model of some 85 MB, and checks that the converter's memory was never more than four times the file.

  large_models.py DVNET"""
import os
import sys
import tempfile

MOST = 4.0
CHANNELS, LAYERS, SIDE = 512, 9, 16
FLOAT, INTS = 1, 7


def varint(number):
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    made.append(number)
    return bytes(made)


def field(number, value):
    """A field of a message of protobuf: a whole number, a text or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name, dims, data):
    return b''.join(field(1, d) for d in dims) + field(2, FLOAT) + field(8, name) + field(9, data)


def info(name, dims):
    shape = b''.join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, FLOAT) + field(2, shape)))


def write_model(path):
    """A line of convolutions, whose weights take nearly all of the file."""
    import array
    import random
    random.seed(1)
    count = CHANNELS * CHANNELS * 9
    # The same numbers for all layers, in another order for each, so that this program stays small.
    some = array.array('f', (random.uniform(-0.03, 0.03) for _ in range(4099)))
    with open(path, 'wb') as file:
        file.write(field(1, 8) + field(8, field(1, '') + field(2, 13)))
        pieces, size = [], 0
        for layer in range(LAYERS):
            node = field(1, 'x' if layer == 0 else 'y%d' % (layer - 1)) + field(1, 'w%d' % layer)
            node += field(2, 'y%d' % layer) + field(3, 'conv%d' % layer) + field(4, 'Conv')
            pads = b''.join(field(8, 1) for _ in range(4))
            node += field(5, field(1, 'pads') + pads + field(20, INTS))
            pieces.append(field(1, node))
        pieces.append(field(2, 'large'))
        pieces.append(field(11, info('x', [1, CHANNELS, SIDE, SIDE])))
        pieces.append(field(12, info('y%d' % (LAYERS - 1), [1, CHANNELS, SIDE, SIDE])))
        head = b''.join(pieces)
        weights = []
        for layer in range(LAYERS):
            first = tensor('w%d' % layer, [CHANNELS, CHANNELS, 3, 3], b'')[:-2] + varint(9 << 3 | 2) + varint(4 * count)
            weights.append((varint(5 << 3 | 2) + varint(len(first) + 4 * count) + first, layer))
        size = len(head) + sum(len(first) + 4 * count for first, _ in weights)
        file.write(varint(7 << 3 | 2) + varint(size) + head)
        for first, layer in weights:
            file.write(first)
            turned = (some[layer * 61:] + some[:layer * 61]).tobytes()
            for at in range(0, 4 * count, len(turned)):
                file.write(turned[:4 * count - at])


def main():
    dvnet = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix='dvnn-large-') as folder:
        model, network = os.path.join(folder, 'm.onnx'), os.path.join(folder, 'm.dvn')
        write_model(model)
        child = os.fork()
        if child == 0:
            os.execvp(dvnet, [dvnet, 'convert', model, '-o', network])
        _, status, used = os.wait4(child, 0)
        size, peak = os.path.getsize(model), used.ru_maxrss * 1024
        print('%.1f MB took %.0f MB, %.2f times the file' % (size / 1e6, peak / 1e6, peak / size))
        if status != 0 or os.path.getsize(network) < size / 3:
            print('was not converted')
            return 1
        return int(peak > MOST * size)


if __name__ == '__main__':
    sys.exit(main())
