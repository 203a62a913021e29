#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts ONNX models of 9 to 85 MB, and checks the largest memory of each conversion: beside what a process takes that
converts a model without weights, at most 3.2 times the file; from 20 MB on at most four times the file in all.

  large_models.py DVNET"""
import os
import sys
import tempfile

MOST, MOST_BESIDE = 4.0, 3.2
LARGE = 20e6
SIDE = 16
# Channels and layers: no weights to speak of, then 9.4, 21, 38 and 85 MB.
NONE, SIZES = (8, 1), [(256, 4), (384, 4), (512, 4), (512, 9)]
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


def write_model(path, channels, layers):
    """A line of convolutions, whose weights take nearly all of the file."""
    import array
    import random
    random.seed(1)
    count = channels * channels * 9
    # The same numbers for all layers, in another order for each, so that this program stays small.
    some = array.array('f', (random.uniform(-0.03, 0.03) for _ in range(4099)))
    with open(path, 'wb') as file:
        file.write(field(1, 8) + field(8, field(1, '') + field(2, 13)))
        pieces, size = [], 0
        for layer in range(layers):
            node = field(1, 'x' if layer == 0 else 'y%d' % (layer - 1)) + field(1, 'w%d' % layer)
            node += field(2, 'y%d' % layer) + field(3, 'conv%d' % layer) + field(4, 'Conv')
            pads = b''.join(field(8, 1) for _ in range(4))
            node += field(5, field(1, 'pads') + pads + field(20, INTS))
            pieces.append(field(1, node))
        pieces.append(field(2, 'large'))
        pieces.append(field(11, info('x', [1, channels, SIDE, SIDE])))
        pieces.append(field(12, info('y%d' % (layers - 1), [1, channels, SIDE, SIDE])))
        head = b''.join(pieces)
        weights = []
        for layer in range(layers):
            first = tensor('w%d' % layer, [channels, channels, 3, 3], b'')[:-2] + varint(9 << 3 | 2) + varint(4 * count)
            weights.append((varint(5 << 3 | 2) + varint(len(first) + 4 * count) + first, layer))
        size = len(head) + sum(len(first) + 4 * count for first, _ in weights)
        file.write(varint(7 << 3 | 2) + varint(size) + head)
        for first, layer in weights:
            file.write(first)
            turned = (some[layer * 61:] + some[:layer * 61]).tobytes()
            for at in range(0, 4 * count, len(turned)):
                file.write(turned[:4 * count - at])


def convert(dvnet, folder, channels, layers):
    """Returns the bytes of the file and of the largest memory; of the latter None if it was not converted."""
    model, network = os.path.join(folder, 'm.onnx'), os.path.join(folder, 'm.dvn')
    write_model(model, channels, layers)
    child = os.fork()
    if child == 0:
        os.execvp(dvnet, [dvnet, 'convert', model, '-o', network])
    _, status, used = os.wait4(child, 0)
    size = os.path.getsize(model)
    converted = status == 0 and os.path.getsize(network) >= size / 3
    return size, used.ru_maxrss * 1024 if converted else None


def main():
    dvnet, wrong = sys.argv[1], 0
    with tempfile.TemporaryDirectory(prefix='dvnn-large-') as folder:
        _, own = convert(dvnet, folder, *NONE)
        if own is None:
            print('a small model was not converted')
            return 1
        print('without weights: %.1f MB' % (own / 1e6))
        for channels, layers in SIZES:
            size, peak = convert(dvnet, folder, channels, layers)
            if peak is None:
                print('%.1f MB: was not converted' % (size / 1e6))
                return 1
            beside = (peak - own) / size
            print('%.1f MB took %.1f MB, %.2f times the file, %.2f beside the process' %
                  (size / 1e6, peak / 1e6, peak / size, beside))
            wrong |= beside > MOST_BESIDE or (size >= LARGE and peak > MOST * size)
    return int(wrong)


if __name__ == '__main__':
    sys.exit(main())
