#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random Caffe networks through the converter and the software device, and through OpenCV's dnn.

  judge_caffe.py RUN_MODELS [--seed N] [--count N] [--only N[,N...]] [--jobs N] [--folder FOLDER]

Like judge_onnx.py; the layers are those of the vendor's tool, and some more."""
import collections
import os
import shlex
import struct
import sys
import time
from concurrent.futures import ProcessPoolExecutor

try:
    import cv2
    import numpy as np
except ImportError as error:
    print('skipped: needs python3-numpy and python3-opencv: %s' % error)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judging  # noqa: E402
from judging import Device  # noqa: E402

ROUNDING, DRAWS, SPREADS = 2.0 ** -11, 12, 6.0
MANY_DRAWS = 100  # before something is called a difference: at a kink, all of few draws may be on its flat side
LARGEST, MOST_ELEMENTS = 500.0, 20000
MOVES = {'Pooling max', 'ReLU', 'Concat', 'Flatten', 'Reshape', 'Permute', 'Split', 'Dropout', 'Eltwise MAX', 'Crop', 'AbsVal'}


# --- a caffemodel: protocol buffers by hand ------------------------------------------------------
def varint(value):
    out = b''
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def blob_of(array):
    shape = field(1, b''.join(varint(d) for d in array.shape))
    return field(7, shape) + field(5, struct.pack('<%df' % array.size, *array.ravel()))


def caffemodel_of(layers):
    model = field(1, b'judge')
    for layer in layers:
        model += field(100, field(1, layer.name.encode()) + field(2, layer.kind.encode()) +
                       b''.join(field(7, blob_of(b)) for b in layer.blobs))
    return model


class Layer:
    def __init__(self, name, kind, bottoms, extra='', blobs=(), exact=False, tops=None):
        self.name, self.kind, self.bottoms, self.extra, self.blobs = name, kind, list(bottoms), extra, list(blobs)
        self.exact, self.tops = exact, tops or [name]

    def text(self):
        ends = ''.join(' bottom: "%s"' % b for b in self.bottoms) + ''.join(' top: "%s"' % t for t in self.tops)
        return 'layer { name: "%s" type: "%s"%s %s }\n' % (self.name, self.kind, ends, self.extra)


class Unfit(Exception):
    pass


class Net:
    def __init__(self, rng):
        self.rng, self.layers, self.values = rng, [], {}
        channels = self.choose([1, 3, 3])
        shape = (1, channels, self.choose([6, 8, 9, 12, 16, 17, 24]), self.choose([6, 8, 9, 12, 16, 20, 32]))
        self.values['data'] = rng.standard_normal(shape).astype(np.float16).astype(np.float32)

    def choose(self, items):
        return items[int(self.rng.integers(len(items)))]

    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def chance(self, p):
        return bool(self.rng.random() < p)

    def pick(self, fits=lambda a: True):
        names = [n for n, a in self.values.items() if a.ndim == 4 and fits(a)]
        if not names:
            raise Unfit
        return names[-1] if self.chance(0.6) else self.choose(names)

    def weights(self, shape, scale=None, offset=0.0):
        scale = scale or 1 / max(1.0, np.prod(shape[1:])) ** 0.5
        return (self.rng.standard_normal(shape) * scale + offset).astype(np.float32)

    def prototxt(self, layers=None):
        dims = ' '.join('dim: %d' % d for d in self.values['data'].shape)
        head = 'name: "judge"\ninput: "data"\ninput_shape { %s }\n' % dims
        return head + ''.join(layer.text() for layer in (self.layers if layers is None else layers))

    def add(self, kind, bottoms, extra='', blobs=(), exact=False, tops=1):
        name = '%s%d' % (kind.lower(), len(self.layers))
        names = [name] if tops == 1 else ['%s_%d' % (name, k) for k in range(tops)]
        layer = Layer(name, kind, bottoms, extra, blobs, exact, names)
        # Computes the results of the new layer.
        try:
            results = forward(self, self.layers + [layer], names)
        except cv2.error as error:
            raise Unfit from error
        for array in results:
            if array.size > MOST_ELEMENTS or array.size == 0 or not np.isfinite(array).all() or np.abs(array).max() > LARGEST:
                raise Unfit
        self.layers.append(layer)
        self.values.update(zip(names, results))
        return name

    def outputs(self):
        read = {b for layer in self.layers for b in layer.bottoms}
        return [t for layer in self.layers for t in layer.tops if t not in read]


def forward(net, layers, names, feeds=None, text=None):
    made = cv2.dnn.readNetFromCaffe(np.frombuffer((text or net.prototxt(layers)).encode(), np.uint8),
                                    np.frombuffer(caffemodel_of(layers), np.uint8))
    made.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    made.enableFusion(False)
    made.setInput(net.values['data'], 'data')
    for name, array in (feeds or {}).items():
        made.setInput(array, name)
    return [np.array(a) for a in made.forward(names)]


# --- layers --------------------------------------------------------------------------------------
def window(net, sides, prefix=True):
    kernel = min(net.choose([1, 2, 3, 3, 3, 5, 7]), *sides)
    # Caffe has windows outside of the picture if they are smaller than the stride.
    stride = min(kernel, net.choose([1, 1, 1, 2, 2, 3]))
    pad = net.int(0, kernel // 2)
    if net.chance(0.15):
        kernels = [min(net.int(1, 5), s) for s in sides]
        return kernels, 'kernel_h: %d kernel_w: %d stride_h: %d stride_w: %d pad_h: %d pad_w: %d' % (
            kernels[0], kernels[1], net.int(1, min(2, kernels[0])), net.int(1, min(2, kernels[1])), net.int(0, kernels[0] // 2), net.int(0, kernels[1] // 2))
    return [kernel, kernel], 'kernel_size: %d stride: %d pad: %d' % (kernel, stride, pad)


def convolution(net):
    x = net.pick()
    _, c, h, w = net.values[x].shape
    kernels, text = window(net, (h, w))
    group = net.choose([1, 1, 1, c, net.choose([d for d in range(1, c + 1) if c % d == 0])])
    out = group * net.choose([1, 2]) if group > 1 else net.choose([1, 3, 4, 8, 9, 16, 20])
    # OpenCV's convolutions of single channels cannot combine dilation with pads.
    if net.chance(0.15) and (kernels[0] - 1) * 2 < min(h, w) and group < c:
        text += ' dilation: 2'
    blobs = [net.weights((out, c // group) + tuple(kernels))]
    if net.chance(0.3):  # as in networks that were pruned: inputs that nothing reads, and results that read nothing
        blobs[0][:, net.rng.random(c // group) < 0.6] = 0
        blobs[0][net.rng.random(out) < 0.3] = 0
    bias = net.chance(0.7)
    if bias:
        blobs.append(net.weights((out,), 0.3))
    y = net.add('Convolution', [x], 'convolution_param { num_output: %d group: %d bias_term: %s %s }' % (
        out, group, str(bias).lower(), text), blobs)
    for follow in net.choose([[], [activation], [batch_norm, scale, activation], [batch_norm, scale], [pooling]]):
        y = follow(net, y)


def deconvolution(net):
    x = net.pick(lambda a: a.shape[2] * a.shape[3] <= 300)
    c = net.values[x].shape[1]
    kernel, stride = net.choose([(2, 2), (4, 2), (3, 2), (3, 1)])
    out = net.choose([1, 3, 8])
    net.add('Deconvolution', [x], 'convolution_param { num_output: %d kernel_size: %d stride: %d pad: %d }' % (
        out, kernel, stride, (kernel - stride) // 2), [net.weights((c, out, kernel, kernel), 0.3), net.weights((out,), 0.2)])


def pooling(net, x=None):
    x = x or net.pick()
    h, w = net.values[x].shape[2:]
    kind = net.choose(['MAX', 'AVE'])
    if net.chance(0.2):
        return net.add('Pooling', [x], 'pooling_param { pool: %s global_pooling: true }' % kind, exact=kind == 'MAX')
    kernels, text = window(net, (h, w))
    return net.add('Pooling', [x], 'pooling_param { pool: %s %s }' % (kind, text), exact=kind == 'MAX')


def activation(net, x=None):
    x = x or net.pick()
    kind = net.choose(['ReLU', 'ReLU', 'PReLU', 'ELU', 'Sigmoid', 'TanH', 'AbsVal', 'Leaky'])
    c = net.values[x].shape[1]
    if kind == 'Leaky':
        return net.add('ReLU', [x], 'relu_param { negative_slope: 0.1 }')
    if kind == 'PReLU':
        return net.add(kind, [x], blobs=[net.rng.uniform(-.3, .6, c).astype(np.float32)])
    return net.add(kind, [x], exact=kind in MOVES)


def batch_norm(net, x=None):
    x = x or net.pick()
    c = net.values[x].shape[1]
    factor = net.choose([1.0, 999.5])
    return net.add('BatchNorm', [x], 'batch_norm_param { use_global_stats: true }', [
        net.weights((c,), 0.3) * factor, net.rng.uniform(0.4, 2, c).astype(np.float32) * factor,
        np.array([factor], np.float32)])


def scale(net, x=None):
    x = x or net.pick()
    c = net.values[x].shape[1]
    return net.add('Scale', [x], 'scale_param { bias_term: true }', [
        net.rng.uniform(0.4, 1.6, c).astype(np.float32), net.weights((c,), 0.3)])


def power(net):
    x = net.pick()
    net.add('Power', [x], 'power_param { power: 1 scale: %.4f shift: %.4f }' % (net.rng.uniform(.3, 2), net.rng.uniform(-1, 1)))


def eltwise(net):
    x = net.pick()
    same = [n for n, a in net.values.items() if a.shape == net.values[x].shape and n != x]
    if not same:
        raise Unfit
    kind = net.choose(['SUM', 'SUM', 'PROD', 'MAX'])
    extra = ' coeff: 1 coeff: -0.5' if kind == 'SUM' and net.chance(0.2) else ''
    y = net.add('Eltwise', [x, net.choose(same)], 'eltwise_param { operation: %s%s }' % (kind, extra), exact=kind == 'MAX')
    if net.chance(0.4):
        activation(net, y)


def concat(net):
    x = net.pick()
    same = [n for n, a in net.values.items() if a.ndim == 4 and a.shape[2:] == net.values[x].shape[2:]]
    y = net.add('Concat', [net.choose(same) for _ in range(net.int(1, 2))] + [x], 'concat_param { axis: 1 }', exact=True)
    if net.chance(0.4):
        net.choose([activation, pooling, scale])(net, y)


def inner_product(net):
    x = net.pick(lambda a: a.size <= 3000)
    out = net.int(1, 20)
    y = net.add('InnerProduct', [x], 'inner_product_param { num_output: %d }' % out,
                [net.weights((out, net.values[x].size)), net.weights((out,), 0.3)])
    if net.chance(0.5):
        net.add(net.choose(['ReLU', 'Sigmoid', 'TanH', 'Softmax']), [y])


def softmax(net):
    net.add('Softmax', [net.pick()])


def move(net):
    x = net.pick()
    n, c, h, w = net.values[x].shape
    form = net.int(0, 2)
    if form == 0:
        net.add('Flatten', [x], exact=True)
    elif form == 1:
        net.add('Permute', [x], 'permute_param { order: 0 order: 2 order: 3 order: 1 }', exact=True)
    else:
        net.add('Reshape', [x], 'reshape_param { shape { dim: 0 dim: -1 dim: %d dim: %d } }' % (h, w), exact=True)


def lrn(net):
    net.add('LRN', [net.pick()], 'lrn_param { local_size: %d alpha: %.3f beta: 0.75 }' % (net.choose([3, 5]), net.rng.uniform(.01, .5)))


def branch(net):
    """An Inception module or a fire module."""
    x = net.pick()
    c = net.values[x].shape[1]
    parts = []
    for kernel in (1, 3):
        out = net.choose([4, 8])
        y = net.add('Convolution', [x], 'convolution_param { num_output: %d kernel_size: %d pad: %d }' % (out, kernel, kernel // 2),
                    [net.weights((out, c, kernel, kernel)), net.weights((out,), 0.3)])
        parts.append(net.add('ReLU', [y], exact=True))
    y = net.add('Concat', parts, exact=True)
    if net.chance(0.4):
        pooling(net, y)


LAYERS = [convolution, convolution, convolution, deconvolution, pooling, activation, batch_norm, scale, power, eltwise, eltwise,
          concat, concat, inner_product, softmax, move, lrn, branch]


def generate(seed, number):
    rng = np.random.default_rng([seed, number])
    while True:
        net = Net(rng)
        wanted = net.int(1, 9)
        for _ in range(60):
            kept = len(net.layers), dict(net.values)
            try:
                net.choose(LAYERS)(net)
                wanted -= 1
            except Unfit:
                del net.layers[kept[0]:]
                net.values = kept[1]
            if wanted == 0:
                break
        if net.layers:
            return net


# --- the verdict ---------------------------------------------------------------------------------
def tolerances(net, outputs, draws=DRAWS):
    """Like tolerance.py: a factor on each rounded value, on each input of a product, and on each weight."""
    rng = np.random.default_rng(draws)
    text, feeds, renamed = net.prototxt([]), {}, {}

    def noisy_value(name, known, stem):
        dims = ' '.join('dim: %d' % d for d in net.values[known].shape)
        feeds[stem + '_n'] = net.values[known].shape
        return ('layer { name: "%s_n" type: "Input" top: "%s_n" input_param { shape { %s } } }\n' % (stem, stem, dims) +
                Layer(stem + '_r', 'Eltwise', [name, stem + '_n'], 'eltwise_param { operation: PROD }').text())
    for layer in net.layers:
        bottoms = [renamed.get(b, b) for b in layer.bottoms]
        # Settings become weights, which are rounded; averages are computed in several steps.
        if layer.kind in ('Power', 'BatchNorm', 'Pooling', 'Eltwise', 'LRN') and not layer.exact:
            for k, name in enumerate(layer.bottoms):
                stem = '%s_%d' % (layer.name, k)
                text += noisy_value(bottoms[k], name, stem)
                bottoms[k] = stem + '_r'
        text += Layer(layer.name, layer.kind, bottoms, layer.extra, tops=layer.tops).text()
        for top in layer.tops if not layer.exact else []:
            text += noisy_value(top, top, top)
            renamed[top] = top + '_r'
    wanted = [net.values[o].astype(np.float64) for o in outputs]
    squares = [np.zeros(w.shape) for w in wanted]
    spread = 3 ** 0.5 * ROUNDING
    for _ in range(draws):
        noisy = [Layer(l.name, l.kind, l.bottoms, l.extra, [
            (b * (1 + rng.uniform(-spread, spread, b.shape))).astype(np.float32) for b in l.blobs]) for l in net.layers]
        factors = {n: (1 + rng.uniform(-spread, spread, s)).astype(np.float32) for n, s in feeds.items()}
        made = forward(net, noisy, [renamed.get(o, o) for o in outputs], factors, text)
        for k, array in enumerate(made):
            squares[k] += (array.reshape(wanted[k].shape).astype(np.float64) - wanted[k]) ** 2
    return [SPREADS * np.sqrt(s / draws) + 2.0 ** -22 + 2.0 ** -18 * np.abs(w) for s, w in zip(squares, wanted)]


def differences(net, have, outputs, limits):
    texts = []
    for name, allowed in zip(outputs, limits):
        want = net.values[name].astype(np.float64)
        if [d for d in have[name].shape if d != 1] != [d for d in want.shape if d != 1]:
            texts.append('%s has the shape %s, not %s' % (name, have[name].shape, want.shape))
            continue
        off = np.abs(have[name].reshape(want.shape) - want)
        bad = ~(off <= allowed)
        if bad.any():
            at = np.unravel_index(np.argmax(np.where(bad, off / allowed, 0)), off.shape)
            texts.append('%s: %d of %d are off: at %s %.6g, not %.6g, %.2g is allowed' % (
                name, bad.sum(), bad.size, list(map(int, at)), have[name].reshape(want.shape)[at], want[at], allowed[at]))
    return texts


def judge(net, device, layout):
    answer = device.run({'m.prototxt': net.prototxt().encode(), 'm.caffemodel': caffemodel_of(net.layers)},
                        net.values['data'], layout)
    for kind in ('refused', 'failed', 'crashed'):
        if kind in answer:
            return kind, answer[kind]
    outputs = net.outputs()
    have = dict(zip(answer['outputs'], answer['arrays']))
    if sorted(have) != sorted(outputs):
        return 'differs', 'outputs are %s, not %s' % (sorted(have), sorted(outputs))
    texts = differences(net, have, outputs, tolerances(net, outputs))
    if texts:
        texts = differences(net, have, outputs, tolerances(net, outputs, MANY_DRAWS))
    return ('differs', '; '.join(texts)) if texts else ('right', '')


def minimise(net, device, layout, kind):
    """Yields networks without layers that the finding does not need, last ones first."""
    better = True
    while better:
        better = False
        for k in reversed(range(len(net.layers))):
            small = Net(np.random.default_rng(0))
            small.values = dict(net.values)
            gone = net.layers[k]
            small.layers = [Layer(l.name, l.kind, [gone.bottoms[0] if b in gone.tops else b for b in l.bottoms], l.extra,
                                  l.blobs, l.exact, l.tops) for l in net.layers if l is not gone]
            try:
                names = [t for l in small.layers for t in l.tops]
                if not names:
                    continue
                small.values = {'data': net.values['data'], **dict(zip(names, forward(small, small.layers, names)))}
                if judge(small, device, layout)[0] == kind:
                    net, better = small, True
                    break
            except (cv2.error, Unfit):
                continue
    return net


device = options = None


def start(given):
    global device, options
    options, device = given, Device(shlex.split(given.run_models))
    cv2.setNumThreads(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def one(number):
    net = generate(options.seed, number)
    # The data is about as large as the numbers that pixels become so; without, ranges are those of 0..255.
    layout = 'mean=127.5,scale=0.02' + (',hwc' if number % 4 == 3 else '')
    kind, text = judge(net, device, layout)
    if kind != 'right':
        net = minimise(net, device, layout, kind)
        text = judge(net, device, layout)[1]
        if options.folder:
            os.makedirs(options.folder, exist_ok=True)
            stem = os.path.join(options.folder, 'caffe-%d-%d' % (options.seed, number))
            with open(stem + '.prototxt', 'w', encoding='utf-8') as file:
                file.write('# %s: %s (layout %s)\n%s' % (kind, text, layout, net.prototxt()))
            with open(stem + '.caffemodel', 'wb') as file:
                file.write(caffemodel_of(net.layers))
            np.save(stem + '.npy', net.values['data'])
    return number, kind, text, [layer.kind for layer in net.layers]


def main():
    given = judging.parser(1000, everywhere=True).parse_args()
    numbers = judging.numbers_of(given)
    began, kinds = time.time(), collections.Counter()
    with ProcessPoolExecutor(given.jobs, initializer=start, initargs=(given,)) as pool:
        for number, kind, text, layers in pool.map(one, numbers, chunksize=4):
            kinds[kind] += 1
            if kind != 'right':
                print('%d %s: %s [%s]' % (number, kind, text, ' '.join(layers)), flush=True)
    judging.summary('networks', kinds, given, began)
    return 0 if kinds['right'] == len(numbers) else 1


if __name__ == '__main__':
    sys.exit(main())
