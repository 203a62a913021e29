# SPDX-License-Identifier: Apache-2.0
"""Building blocks of today's networks, of several nodes each."""
import numpy as np

from .graph import Unfit
from .table import idiom
from .windows import activate, batch_norm, convolve


def pixels(a):
    return a.shape[2] * a.shape[3]


@idiom
def residual(g):
    x = g.picture(fits=lambda a: pixels(a) >= 4)
    c = g.shape(x)[1]
    y = activate(g, convolve(g, x, g.choose([4, 8, c])))
    y = convolve(g, y, c)
    if g.chance(0.4):
        y = batch_norm(g, y)
    y = g.add('Add', g.shuffled([x, y]))
    activate(g, y)


@idiom
def inverted_residual(g):
    x = g.picture(fits=lambda a: pixels(a) >= 4 and a.shape[1] <= 16)
    c = g.shape(x)[1]
    y = activate(g, convolve(g, x, c * 2, 1))
    y = activate(g, convolve(g, y, c * 2, 3, group=c * 2))
    y = convolve(g, y, c, 1)
    g.add('Add', [y, x])


@idiom
def gate(g):
    """Squeeze and excitation."""
    x = g.picture(fits=lambda a: pixels(a) >= 4 and a.shape[1] >= 2)
    c = g.shape(x)[1]
    y = g.add('GlobalAveragePool', [x]) if g.chance(0.6) else g.reduce('ReduceMean', x, [2, 3], 1)
    y = g.add('Relu', [convolve(g, y, max(1, c // 2), 1)])
    y = convolve(g, y, c, 1)
    y = g.add('Sigmoid', [y]) if g.chance(0.6) else g.add('HardSigmoid', [y], alpha=1 / 6, beta=0.5)
    g.add('Mul', g.shuffled([x, y]))


@idiom
def pyramid(g):
    """Two sizes, of which the smaller is enlarged, joined or added: FPN, PAN, U-Net."""
    x = g.picture(fits=lambda a: a.shape[2] % 2 == 0 and a.shape[3] % 2 == 0 and pixels(a) >= 16)
    g.need(11)
    small = activate(g, convolve(g, x, g.choose([4, 8, 12]), 3, strides=[2, 2]))
    lateral = convolve(g, x, g.shape(small)[1], 1)
    form = g.int(0, 2)
    if form == 0:
        large = g.add('Resize', [small, '', g.constant([1, 1, 2, 2], np.float32)], mode='nearest',
                      coordinate_transformation_mode='asymmetric', nearest_mode='floor')
    elif form == 1:
        large = g.add('Resize', [small, '', g.constant([1, 1, 2, 2], np.float32)], mode='linear',
                      coordinate_transformation_mode=g.choose(['half_pixel', 'align_corners', 'pytorch_half_pixel']))
    else:
        c = g.shape(small)[1]
        large = g.add('ConvTranspose', [small, g.weights((c, c, 2, 2), 0.4)], strides=[2, 2], kernel_shape=[2, 2])
    if g.chance(0.5):
        y = g.add('Add', g.shuffled([lateral, large]))
    else:
        y = g.add('Concat', g.shuffled([lateral, large]), axis=1)
    activate(g, convolve(g, y))


@idiom
def shuffle(g):
    groups = g.choose([2, 2, 3, 4])
    x = g.picture(fits=lambda a: a.shape[1] % groups == 0 and a.shape[1] > groups)
    n, c, h, w = g.shape(x)
    y = g.reshape(x, [n, groups, c // groups, h, w])
    y = g.reshape(g.transpose(y, [0, 2, 1, 3, 4]), g.choose([[n, c, h, w], [n, -1, h, w]]))
    if g.chance(0.6):
        a, b = g.split(y, 2, 1) if c % 2 == 0 else (y, y)
        b = activate(g, convolve(g, b, g.shape(b)[1]))
        y = g.add('Concat', [a, b], axis=1)
    if g.chance(0.5):
        convolve(g, y)


@idiom
def focus(g):
    """Space to depth, as YOLOv5 and YOLOX write it."""
    x = g.picture(fits=lambda a: a.shape[2] % 2 == 0 and a.shape[3] % 2 == 0)
    g.need(10)
    corners = [(0, 0), (1, 0), (0, 1), (1, 1)]
    parts = []
    for row, column in corners if g.chance(0.7) else g.shuffled(corners):
        if g.chance(0.5):
            part = g.slice(x, [row, column], [2 ** 31 - 1] * 2, [2, 3], [2, 2])
        else:
            part = g.slice(g.slice(x, [row], [2 ** 31 - 1], [2], [2]), [column], [2 ** 31 - 1], [3], [2])
        parts.append(part)
    y = g.add('Concat', parts, axis=1)
    if g.chance(0.7):
        activate(g, convolve(g, y))


@idiom
def csp(g):
    """Channels in two parts, of which one goes through convolutions; all results are joined (C2f, ELAN)."""
    x = g.picture(fits=lambda a: a.shape[1] % 2 == 0)
    half = g.shape(x)[1] // 2
    parts = list(g.split(x, 2, 1))
    for _ in range(g.int(1, 2)):
        y = activate(g, convolve(g, parts[-1], half, 3))
        if g.chance(0.5):
            y = g.add('Add', [parts[-1], y])
        parts.append(y)
    activate(g, convolve(g, g.add('Concat', parts, axis=1), None, 1))


@idiom
def spp(g):
    x = g.picture(fits=lambda a: min(a.shape[2:]) >= 5)
    parts = [x]
    for kernel in g.choose([[5, 5], [3, 5], [5, 9], [3]]):
        source = parts[-1] if g.chance(0.5) else x
        parts.append(g.add('MaxPool', [source], kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, strides=[1, 1]))
    convolve(g, g.add('Concat', parts, axis=1), None, 1)


@idiom
def inception(g):
    x = g.picture(fits=lambda a: min(a.shape[2:]) >= 3)
    parts = [activate(g, convolve(g, x, g.choose([4, 8, 3]), k), g.choose(['Relu', 'Relu', 'Sigmoid'])) for k in (1, 3)]
    if g.chance(0.5):
        pooled = g.add(g.choose(['MaxPool', 'AveragePool']), [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
        parts.append(pooled if g.chance(0.4) else convolve(g, pooled, 4, 1))
    y = g.add('Concat', g.shuffled(parts), axis=1)
    if g.chance(0.6):
        if g.chance(0.5):
            y = batch_norm(g, y)
        activate(g, y)


@idiom
def dfl(g):
    """Box sides as expectations over bins: YOLOv8's head."""
    x = g.picture()
    bins, classes = g.choose([4, 8, 16]), g.int(1, 6)
    boxes, scores = convolve(g, x, 4 * bins, 1), convolve(g, x, classes, 1)
    n, _, h, w = g.shape(boxes)
    joined = g.add('Concat', [boxes, scores], axis=1)
    flat = g.reshape(joined, [n, 4 * bins + classes, -1])
    boxes, scores = g.split(flat, [4 * bins, classes], 1)
    sides = g.reshape(boxes, [n, 4, bins, h * w])
    sides = g.add('Softmax', [g.transpose(sides, [0, 2, 1, 3])], axis=1)
    weights = g.constant(np.arange(bins, dtype=np.float32).reshape(1, bins, 1, 1))
    sides = g.reshape(g.add('Conv', [sides, weights], kernel_shape=[1, 1]), [n, 4, h * w])
    anchors = g.constant(np.stack([np.tile(np.arange(w) + .5, h), np.repeat(np.arange(h) + .5, w)]).astype(np.float32)[None])
    near = g.slice(sides, [0], [2], [1])
    far = g.slice(sides, [2], [4], [1])
    low, high = g.add('Sub', [anchors, near]), g.add('Add', [anchors, far])
    centre = g.add('Div', [g.add('Add', [low, high]), g.number(2.0)])
    size = g.add('Sub', [high, low])
    box = g.add('Mul', [g.add('Concat', [centre, size], axis=1), g.number(8.0)])
    g.add('Concat', [box, g.add('Sigmoid', [scores])], axis=1)


@idiom
def anchors_head(g):
    """Rows of boxes from a map: YOLOv3 to v7, SSD."""
    x = g.picture()
    anchors, classes = g.int(1, 3), g.int(1, 4)
    maps = convolve(g, x, anchors * (5 + classes), 1)
    n, _, h, w = g.shape(maps)
    if g.chance(0.5):
        y = g.transpose(g.reshape(maps, [n, anchors, 5 + classes, h, w]), [0, 1, 3, 4, 2])
    else:
        y = g.reshape(g.transpose(maps, [0, 2, 3, 1]), [n, h * w * anchors, 5 + classes])
    if g.chance(0.7):
        y = g.add('Sigmoid', [y])
    if g.chance(0.6):
        axis = g.rank(y) - 1
        xy, wh, rest = g.split(y, [2, 2, 1 + classes], axis)
        xy = g.add('Mul', [g.add('Sub', [xy, g.number(0.5)]), g.number(16.0)])
        wh = g.add('Mul', [g.add('Pow', [wh, g.number(2.0)]), g.number(4.0)])
        y = g.add('Concat', [xy, wh, rest], axis=axis)
    if g.rank(y) == 5 and g.chance(0.7):
        g.reshape(y, [n, -1, 5 + classes])


@idiom
def peaks(g):
    """Heat maps of which only peaks remain: CenterNet, CenterFace, M-LSD."""
    x = g.picture(fits=lambda a: min(a.shape[2:]) >= 3)
    g.need(11)
    heat = x if g.chance(0.3) else g.add('Sigmoid', [convolve(g, x, g.choose([1, 2, 8]), 1)])
    if g.chance(0.3):
        heat = g.add('Mul', [heat, g.add('Sigmoid', [heat])])
    highest = g.add('MaxPool', [heat], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
    keep = g.add('Cast', [g.add('Equal', [heat, highest])], to=1)
    y = g.add('Mul', [heat, keep])
    if g.chance(0.4):
        flat = g.reshape(y, [1, -1])
        g.add('TopK', [flat, g.ints([min(5, g.shape(flat)[1])])], 2, axis=1)


@idiom
def attention(g):
    x = g.pick(rank=(3, 4), fits=lambda a: a.shape[0] == 1 and np.prod(a.shape) <= 4000)
    if g.rank(x) == 4:
        n, c, h, w = g.shape(x)
        x = g.transpose(g.reshape(x, [n, c, h * w]), [0, 2, 1])
    n, count, size = g.shape(x)
    heads = g.choose([1, 2, 4])
    inner = heads * g.choose([2, 4, 8])
    if count > 150:
        raise Unfit('too many tokens')
    if g.chance(0.5):
        joined = g.add('MatMul', [x, g.weights((size, 3 * inner), size ** -0.5)])
        joined = g.reshape(joined, [n, count, 3, heads, inner // heads])
        joined = g.transpose(joined, [2, 0, 3, 1, 4])
        q, k, v = [g.add('Gather', [joined, g.number(i, np.int64)], axis=0) for i in range(3)]
    else:
        q, k, v = [g.transpose(g.reshape(g.add('MatMul', [x, g.weights((size, inner), size ** -0.5)]),
                                         [n, count, heads, inner // heads]), [0, 2, 1, 3]) for _ in range(3)]
    scores = g.add('MatMul', [q, g.transpose(k, [0, 1, 3, 2])])
    scores = g.add('Mul', [scores, g.number((inner / heads) ** -0.5)])
    if g.chance(0.3):
        scores = g.add('Add', [scores, g.weights((1, heads, count, count), 0.3)])
    y = g.add('MatMul', [g.add('Softmax', [scores], axis=-1), v])
    y = g.reshape(g.transpose(y, [0, 2, 1, 3]), [n, count, inner])
    y = g.add('MatMul', [y, g.weights((inner, size), inner ** -0.5)])
    y = g.add('Add', [y, x])
    if g.opset >= 17 and g.chance(0.6):
        g.add('LayerNormalization', [y, g.between((size,), 0.5, 1.5), g.weights((size,), 0.3)], axis=-1)


@idiom
def windows(g):
    """Windows of a map, shifted or not, and back: Swin."""
    size = g.choose([2, 4])
    x = g.picture(fits=lambda a: a.shape[2] % size == 0 and a.shape[3] % size == 0 and a.size <= 6000)
    n, c, h, w = g.shape(x)
    y = g.transpose(x, [0, 2, 3, 1])
    shift = size // 2 if g.chance(0.6) else 0

    def roll(value, by):
        for axis in (1, 2):
            a = g.slice(value, [by], [2 ** 31 - 1], [axis])
            b = g.slice(value, [0], [by], [axis])
            value = g.add('Concat', [a, b], axis=axis)
        return value
    if shift and min(h, w) > shift:
        y = roll(y, shift)
    y = g.reshape(y, [n, h // size, size, w // size, size, c])
    y = g.reshape(g.transpose(y, [0, 1, 3, 2, 4, 5]), [-1, size * size, c])
    y = g.add('Add', [g.add('MatMul', [y, g.weights((c, c), c ** -0.5)]), g.weights((c,), 0.2)])
    y = g.reshape(y, [n, h // size, w // size, size, size, c])
    y = g.reshape(g.transpose(y, [0, 1, 3, 2, 4, 5]), [n, h, w, c])
    if shift and min(h, w) > shift:
        y = roll(y, -shift)
    g.transpose(y, [0, 3, 1, 2])


@idiom
def classifier(g):
    x = g.picture()
    c = g.shape(x)[1]
    y = g.add(g.choose(['GlobalAveragePool', 'GlobalMaxPool']), [x])
    form = g.int(0, 2)
    y = g.add('Flatten', [y]) if form == 0 else g.reshape(y, [1, -1]) if form == 1 else g.squeeze(y, [2, 3])
    y = g.add('Gemm', [y, g.weights((g.int(2, 20), c), c ** -0.5)], transB=1)
    if g.chance(0.6):
        g.add('Softmax', [y], axis=1)


@idiom
def flipped(g):
    """A picture and its mirror image, added as in test-time augmentation."""
    x = g.picture()
    g.need(10)
    axes = g.choose([[3], [2], [2, 3]])
    mirror = g.slice(x, [-1] * len(axes), [-2 ** 31] * len(axes), axes, [-1] * len(axes))
    form = g.int(0, 2)
    if form == 0:
        g.add('Add', [x, mirror])
    elif form == 1:
        g.add('Concat', [x, mirror], axis=g.choose([1, axes[0]]))
    else:
        convolve(g, mirror)


@idiom
def normalised_input(g):
    """Arithmetic on the input itself, which may become a part of how images are read."""
    x = g.input
    if g.rank(x) != 4 or not g.is_float(x):
        raise Unfit('no image')
    c = g.shape(x)[1]
    y = g.add('Sub', [x, g.weights((1, c, 1, 1), 0.3)]) if g.chance(0.7) else x
    y = g.add(g.choose(['Mul', 'Div']), [y, g.between((1, c, 1, 1), 0.4, 2.0)])
    if g.chance(0.7):
        convolve(g, y)


@idiom
def concat_then_act(g):
    x = g.picture(least=2)
    shape = g.shape(x)
    same = g.candidates(lambda a: a.dtype == np.float32 and a.ndim == 4 and a.shape[2:] == shape[2:] and a.shape[0] == 1)
    y = g.add('Concat', [g.choose(same) for _ in range(g.int(2, 3))], axis=1)
    if g.chance(0.4):
        y = batch_norm(g, y)
    y = activate(g, y)
    if g.chance(0.4):
        g.add(g.choose(['MaxPool', 'AveragePool']), [y], kernel_shape=[2, 2], strides=[2, 2])


@idiom
def channel_cut(g):
    """Parts of the channels for different readers."""
    x = g.picture(fits=lambda a: a.shape[1] >= 4)
    c = g.shape(x)[1]
    at = g.choose([c // 2, 1, c - 1, min(8, c - 1)])
    a, b = g.split(x, [at, c - at], 1) if g.chance(0.5) else (g.slice(x, [0], [at], [1]), g.slice(x, [at], [c], [1]))
    convolve(g, a)
    if g.chance(0.6):
        activate(g, b)
    if g.chance(0.3):
        g.add('Concat', [b, a], axis=1)


@idiom
def layer_scale(g):
    """LayerNorm over channels, as in ConvNeXt."""
    x = g.picture(fits=lambda a: a.shape[1] > 3)
    c = g.shape(x)[1]
    y = g.transpose(x, [0, 2, 3, 1])
    mean = g.reduce('ReduceMean', y, [-1] if g.opset >= 11 else [3], 1)
    centred = g.add('Sub', [y, mean])
    variance = g.reduce('ReduceMean', g.add('Pow', [centred, g.number(2.0)]), [-1] if g.opset >= 11 else [3], 1)
    y = g.add('Div', [centred, g.add('Sqrt', [g.add('Add', [variance, g.number(1e-2)])])])
    y = g.add('Add', [g.add('Mul', [y, g.between((c,), 0.5, 1.5)]), g.weights((c,), 0.2)])
    y = g.add('MatMul', [y, g.weights((c, 2 * c), c ** -0.5)])
    y = g.add('Mul', [g.add('Mul', [y, g.number(0.5)]),
                      g.add('Add', [g.add('Erf', [g.add('Div', [y, g.number(2 ** 0.5)])]), g.number(1.0)])])
    y = g.transpose(g.add('MatMul', [y, g.weights((2 * c, c), (2 * c) ** -0.5)]), [0, 3, 1, 2])
    g.add('Add', [x, y])


@idiom
def argmax_map(g):
    x = g.picture(fits=lambda a: a.shape[1] >= 2)
    y = g.add('ArgMax', [x], axis=1, keepdims=g.int(0, 1))
    if g.chance(0.5):
        g.add('Cast', [y], to=1)


@idiom
def more_heads(g):
    """Heads of one value: convolutions of a few channels, permuted and joined with another map's."""
    x = g.picture(fits=lambda a: pixels(a) >= 4)
    rows = []
    sources = [x]
    if min(g.shape(x)[2:]) >= 4:
        sources.append(activate(g, convolve(g, x, 8, 3, strides=[2, 2])))
    for source in sources:
        y = g.transpose(convolve(g, source, 6, 3), [0, 2, 3, 1])
        rows.append(g.reshape(y, [1, -1, 3]))
    y = g.add('Concat', rows, axis=1) if len(rows) > 1 else rows[0]
    if g.chance(0.5):
        g.add('Softmax', [y], axis=2)


@idiom
def statistics(g):
    """Instance norm and others written out."""
    x = g.picture(fits=lambda a: pixels(a) >= 4)
    mean = g.reduce('ReduceMean', x, [2, 3], 1)
    centred = g.add('Sub', [x, mean])
    variance = g.reduce('ReduceMean', g.add('Mul', [centred, centred]), [2, 3], 1)
    g.add('Div', [centred, g.add('Sqrt', [g.add('Add', [variance, g.number(1e-2)])])])


@idiom
def pixel_shuffle(g):
    x = g.picture(fits=lambda a: pixels(a) <= 400)
    y = convolve(g, x, g.choose([4, 12, 8]), 3)
    n, c, h, w = g.shape(y)
    if g.chance(0.5) and g.opset >= 11:
        y = g.add('DepthToSpace', [y], blocksize=2, mode=g.choose(['CRD', 'DCR']))
    else:
        y = g.reshape(y, [n, c // 4, 2, 2, h, w])
        y = g.reshape(g.transpose(y, [0, 1, 4, 2, 5, 3]), [n, c // 4, 2 * h, 2 * w])
    if g.chance(0.5):
        activate(g, y)
