#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three networks of openWakeWord's shapes with weights by chance, one after the other as a chain of dvinfer runs them
(docs/sound.md): a spectrum of 80 ms of sound, an embedding of the last 76 lines of all spectra, and words in the last 16
embeddings, one of which asks a second network where the first one hears something. Each result is compared with ONNX
Runtime's, whose chain is of its own results.

  judge_sound.py RUN_MODELS [--seed N]

RUN_MODELS is the program of that name. The seed is printed."""
import sys
import time

import judging
from judging import Device, quiet

try:
    with quiet():
        import numpy as np
        from onnx import helper
        import onnxruntime  # noqa: F401
        from onnx_judge.graph import Graph, make_model, session_of
except ImportError as error:
    print('skipped: needs python3-numpy, python3-onnx and python3-onnxruntime (Debian 13 has them): %s' % error)
    sys.exit(77)

OPSET = 13
HOP, LEAD, TAPS, STEP, BINS, MELS = 1280, 480, 512, 160, 257, 32
LINES, EMBEDDINGS, WINDOWS = 76, 16, 50
# Largest difference: of a spectrum in decibels, of an embedding as a part of its largest number, of a probability.
MOST = {'spectrum': 1.0, 'embedding': 0.02, 'word': 0.05, 'asked word': 0.05}
UNSURE = 0.003  # so near to the limit, the second network may be asked or not


class Network:
    """Nodes and constants of a graph; nothing is computed while it is made."""

    def __init__(self, rng, shape):
        self.names = Graph(rng, OPSET)
        self.rng, self.shape, self.nodes = rng, shape, []

    def constant(self, array, dtype=np.float32):
        return self.names.constant(np.asarray(array), dtype)

    def weights(self, *shape):
        return self.constant(self.rng.standard_normal(shape) * (2 / np.prod(shape[1:])) ** 0.5)

    def add(self, op, inputs, **attributes):
        name = self.names.name(op)
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def model(self, *outputs):
        inputs = {'x': np.zeros(self.shape, np.float32)}
        return make_model(self.nodes, inputs, {output: None for output in outputs}, self.names.constants, OPSET)


def spectrum(rng):
    n = Network(rng, (1, LEAD + HOP))
    line = n.add('Unsqueeze', ['x', n.constant([1], np.int64)])
    phase = 2 * np.pi * np.outer(np.arange(BINS), np.arange(TAPS)) / TAPS
    powers = []
    for wave in (np.cos(phase), np.sin(phase)):
        taps = n.constant((wave * np.hanning(TAPS))[:, None])
        part = n.add('Conv', [line, taps], kernel_shape=[TAPS], strides=[STEP])
        part = n.add('Transpose', [n.add('Unsqueeze', [part, n.constant([1], np.int64)])], perm=[0, 1, 3, 2])
        powers.append(n.add('Pow', [part, n.constant(2.0)]))
    centres = np.linspace(2, BINS - 2, MELS) ** 1.2 / BINS ** 0.2
    mels = np.maximum(0, 1 - np.abs(np.arange(BINS)[:, None] - centres) / np.linspace(3, 12, MELS)) * 0.05
    y = n.add('MatMul', [n.add('Add', powers), n.constant(mels)])
    y = n.add('Log', [n.add('Clip', [y, n.constant(1e-10)])])
    y = n.add('Div', [n.add('Mul', [y, n.constant(10.0)]), n.constant(np.log(10.0))])
    top = n.add('Sub', [n.add('ReduceMax', [y], keepdims=0), n.constant(80.0)])
    return n.model(n.add('Clip', [y, top]))


def embedding(rng):
    n = Network(rng, (1, LINES, MELS, 1))
    y, channels = n.add('Reshape', ['x', n.constant([1, 1, LINES, MELS], np.int64)]), 1

    def convolve(y, channels, out, kernel, pads):
        y = n.add('Conv', [y, n.weights(out, channels, *kernel), n.constant(rng.standard_normal(out) * 0.1)],
                  kernel_shape=list(kernel), pads=pads)
        return n.add('Max', [n.add('LeakyRelu', [y], alpha=0.2), n.constant(np.full((1, 1, 1, 1), -0.4))])
    y = convolve(y, 1, 24, (3, 3), [0, 1, 0, 1])
    y = convolve(y, 24, 24, (1, 3), [0, 1, 0, 1])
    y = convolve(y, 24, 24, (3, 1), [0] * 4)
    channels = 24
    for out, kernel in ((48, [2, 2]), (72, [1, 2]), (96, [2, 2]), (96, [1, 2])):
        y = n.add('MaxPool', [y], kernel_shape=kernel, strides=kernel)
        for _ in range(2):
            y = convolve(y, channels, out, (1, 3), [0, 1, 0, 1])
            y = convolve(y, out, out, (3, 1), [0] * 4)
            channels = out
    y = n.add('MaxPool', [y], kernel_shape=[2, 2], strides=[2, 2])
    y = n.add('Conv', [y, n.weights(96, 96, 3, 1)], kernel_shape=[3, 1])
    return n.model(n.add('Reshape', [y, n.constant([1, 1, 1, 96], np.int64)]))


def layers(n, y, width, normalised):
    """A probability by three products."""
    for inputs in (EMBEDDINGS * 96, width):
        y = n.add('Gemm', [y, n.weights(width, inputs), n.constant(n.rng.standard_normal(width) * 0.1)], transB=1)
        if normalised:
            off = n.add('Sub', [y, n.add('ReduceMean', [y], axes=[-1])])
            variance = n.add('ReduceMean', [n.add('Pow', [off, n.constant(2.0)])], axes=[-1])
            root = n.add('Sqrt', [n.add('Add', [variance, n.constant(1e-5)])])
            y = n.add('Mul', [n.add('Div', [off, root]), n.constant(1 + n.rng.standard_normal(width) * 0.2)])
        y = n.add('Relu', [y])
    y = n.add('Gemm', [y, n.weights(1, width), n.constant(np.zeros(1))], transB=1)
    return n.add('Sigmoid', [y])


def word(rng):
    n = Network(rng, (1, EMBEDDINGS, 96))
    return n.model(layers(n, n.add('Flatten', ['x']), 128, False))


def asked_word(rng, limit=0.5):
    """hey_jarvis: where the first network hears something, a second one is asked. The second result is the first
    network's."""
    n = Network(rng, (1, EMBEDDINGS, 96))
    flat = n.add('Flatten', ['x'])
    first = layers(n, flat, 128, True)
    heard = n.add('Cast', [n.add('GreaterOrEqual', [first, n.constant([limit])])], to=9)
    sides, nodes = [], n.nodes
    for name in ('then', 'else'):
        n.nodes = []
        result = layers(n, flat, 64, True) if name == 'then' else n.add('Identity', [first])
        sides.append(helper.make_graph(n.nodes, name, [], [helper.make_empty_tensor_value_info(result)]))
    n.nodes = nodes
    return n.model(n.add('If', [heard], then_branch=sides[0], else_branch=sides[1]), first)


def sound(rng):
    """Chords that come and go, in noise of changing loudness."""
    count = LEAD + HOP * WINDOWS
    t = np.arange(count) / 16000
    whole = rng.standard_normal(count) * np.repeat(10 ** rng.uniform(-3, -0.5, WINDOWS + 1), HOP)[:count]
    for _ in range(12):
        begin, end = np.sort(rng.uniform(0, t[-1], 2))
        whole += 0.1 * np.sin(2 * np.pi * rng.uniform(80, 6000) * t) * ((t > begin) & (t < end))
    return np.stack([whole[i * HOP:i * HOP + LEAD + HOP] for i in range(WINDOWS)]).astype(np.float16).astype(np.float32)


def newest(rows, count):
    """The last `count` rows after each of some more rows."""
    ends = range(count, len(rows) + 1)
    return np.stack([rows[end - count:end] for end in ends])


def chain(run, windows, late=0):
    """Returns the results by network; `run` runs one on all inputs. With `late`, embeddings are of lines that came
    before the newest ones: a mistake."""
    results = {'spectrum': run('spectrum', windows[:, None])}
    lines = results['spectrum'].reshape(-1, MELS)
    each = len(lines) // WINDOWS
    shown = [lines[end - LINES - late:end - late] for end in range(each, len(lines) + 1, each) if end - late >= LINES]
    results['embedding'] = run('embedding', (np.stack(shown) / 10 + 2)[:, None, :, :, None].astype(np.float32))
    last = newest(results['embedding'].reshape(-1, 96), EMBEDDINGS)[:, None]
    for name in ('word', 'asked word'):
        results[name] = run(name, last)
    return results


def difference(name, have, want):
    rest = min(len(have), len(want))
    off = np.abs(have.reshape(len(have), -1)[-rest:] - want.reshape(len(want), -1)[-rest:]).max()
    return off / np.abs(want).max() if name == 'embedding' else off


def main():
    given = judging.parser(1).parse_args()
    judging.numbers_of(given)
    began, status = time.time(), 0
    rng = np.random.default_rng(given.seed)
    models = {'spectrum': spectrum(rng), 'embedding': embedding(rng), 'word': word(rng)}
    device = Device([given.run_models])

    def ours(name, inputs):
        answer = device.run({'m.onnx': models[name].SerializeToString()}, inputs, 'frames=%d' % len(inputs))
        if 'arrays' not in answer:
            raise SystemExit('%s: %s' % (name, answer))
        return answer['arrays'][0]

    def runtimes(name, inputs, output=0):
        session = session_of(models[name])
        return np.stack([session.run(None, {'x': one})[output] for one in inputs])
    windows = sound(rng)
    models['asked word'] = asked_word(np.random.default_rng(given.seed))
    heard = chain(runtimes, windows)['embedding'].reshape(-1, 96)
    first = runtimes('asked word', newest(heard, EMBEDDINGS)[:, None], 1).reshape(-1)
    limit = float(np.sort(first)[len(first) // 2 - 1:len(first) // 2 + 1].mean())
    models['asked word'] = asked_word(np.random.default_rng(given.seed), limit)
    have, want = chain(ours, windows), chain(runtimes, windows)
    wrong = chain(runtimes, windows, late=1)
    unsure = np.abs(first - limit) < UNSURE
    have['asked word'][unsure] = want['asked word'][unsure]
    print('the second network is asked for %d of %d words, %d are unsure' % ((first >= limit).sum(), len(first), unsure.sum()))
    for name, most in MOST.items():
        off, mistaken = difference(name, have[name], want[name]), difference(name, wrong[name], want[name])
        print('%s: %d results, differ by %.2g, %.2g are allowed; of lines one late: %.2g' %
              (name, len(want[name]), off, most, mistaken))
        status |= not off <= most or (name == 'embedding' and mistaken <= most)
    print('%.0f s' % (time.time() - began))
    return int(status)


if __name__ == '__main__':
    sys.exit(main())
