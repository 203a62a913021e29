# SPDX-License-Identifier: Apache-2.0
"""Sequences of tokens: blocks of transformers as exporters write them, and the operators that ONNX Runtime's optimiser
makes of them."""
import numpy as np

from .graph import MICROSOFT
from .table import idiom, operator


def sequence(g, least=2):
    """(1, tokens, channels), of few of both."""
    x = g.pick(rank=3, fits=lambda a: a.shape[0] == 1 and a.shape[1] >= least and 2 <= a.shape[2] <= 64 and a.size <= 2000)
    return x, g.shape(x)[1], g.shape(x)[2]


def linear(g, x, outputs):
    y = g.add('MatMul', [x, g.weights((outputs, g.shape(x)[-1])[::-1], 1 / g.shape(x)[-1] ** 0.5)])
    return g.add('Add', g.shuffled([y, g.weights((outputs,), 0.1)])) if g.chance(0.8) else y


def normalised(g, x):
    c = g.shape(x)[-1]
    scale, shift = g.weights((c,), 0.2, 1.0), g.weights((c,), 0.1)
    if g.opset >= 17 and g.chance(0.7):
        return g.add('LayerNormalization', [x, scale, shift], axis=-1, epsilon=1e-3)
    mean = g.reduce('ReduceMean', x, [-1], 1)
    off = g.add('Sub', [x, mean])
    variance = g.reduce('ReduceMean', g.add('Mul', [off, off]), [-1], 1)
    if g.chance(0.5):  # as Keras: x * g + (shift - mean * g)
        factor = g.add('Reciprocal', [g.add('Sqrt', [g.add('Add', [variance, g.number(1e-3)])])])
        factor = g.add('Mul', g.shuffled([factor, scale]))
        if g.chance(0.5):
            rest = g.add('Sub', [shift, g.add('Mul', g.shuffled([mean, factor]))])
        else:
            rest = g.add('Add', g.shuffled([g.add('Mul', [g.add('Neg', [mean]), factor]), shift]))
        return g.add('Add', g.shuffled([g.add('Mul', g.shuffled([x, factor])), rest]))
    root = g.add('Sqrt', [g.add('Add', [variance, g.number(1e-3)])])
    return g.add('Add', [g.add('Mul', [g.add('Div', [off, root]), scale]), shift])


def curved(g, x):
    form = g.int(0, 3)
    if form == 0:
        return g.add('Relu', [x])
    if form == 1:
        return g.add('Mul', [x, g.add('Sigmoid', [x])])
    if form == 2:
        return g.add('Tanh', [x])
    whole = g.add('Add', [g.add('Erf', [g.add('Div', [x, g.number(2 ** 0.5)])]), g.number(1.0)])
    return g.add('Mul', [g.add('Mul', [x, whole]), g.number(0.5)])


def by_head(g, x, sequences, heads, turned=False):
    """(1, sequences x tokens, channels) as (sequences, heads, tokens, numbers), or the last two turned."""
    tokens, c = g.shape(x)[1] // sequences, g.shape(x)[2]
    y = g.reshape(x, [sequences, tokens, heads, c // heads])
    return g.transpose(y, [0, 2, 3, 1] if turned else [0, 2, 1, 3])


def queries_keys_values(g, x, sequences, heads, size):
    """From three projections, or from one, with its parts in either order."""
    tokens, c = g.shape(x)[1] // sequences, heads * size
    form = g.int(0, 3)
    if form == 0:
        turned = g.chance(0.3)
        q, v = (by_head(g, linear(g, x, c), sequences, heads) for _ in range(2))
        k = by_head(g, linear(g, x, c), sequences, heads, turned)
        return q, k if turned else g.transpose(k, [0, 1, 3, 2]), v
    y = linear(g, x, 3 * c)
    if form == 1:
        y = g.transpose(g.reshape(y, [sequences, tokens, 3, heads, size]), [2, 0, 3, 1, 4])
        q, k, v = (g.add('Gather', [y, g.number(i, np.int64)], axis=0) for i in range(3))
    elif form == 2:
        y = g.transpose(g.reshape(y, [sequences, tokens, heads, 3 * size]), [0, 2, 1, 3])
        q, k, v = g.split(y, [size] * 3, 3)
    else:
        q, k, v = (by_head(g, part, sequences, heads) for part in g.split(y, [c] * 3, 2))
    return q, g.transpose(k, [0, 1, 3, 2]), v


def attention(g, x, sequences, heads, size):
    q, k, v = queries_keys_values(g, x, sequences, heads, size)
    tokens = g.shape(x)[1] // sequences
    form = g.int(0, 3)
    if form == 0:
        q = g.add('Mul', [q, g.number(size ** -0.5)])
    elif form == 1:
        q, k = (g.add('Mul', [t, g.number(size ** -0.25)]) for t in (q, k))
    y = g.add('MatMul', [q, k])
    if form == 2:
        y = g.add('Mul', g.shuffled([y, g.number(size ** -0.5)]))
    elif form == 3:
        y = g.add('Div', [y, g.number(size ** 0.5)])
    if g.chance(0.4):
        bias = g.choose([(tokens, tokens), (1, heads, tokens, tokens), (sequences, 1, tokens, tokens), (1, 1, 1, tokens)])
        y = g.add('Add', [y, g.weights(bias, 1.0)])
    if sequences > 1 and g.chance(0.4):
        y = g.reshape(y, [1, sequences, heads, tokens, tokens])
        y = g.add('Add', [y, g.constant(g.rng.choice([0, -20], (1, sequences, 1, tokens, tokens)), np.float32)])
        y = g.reshape(y, [sequences, heads, tokens, tokens])
    y = g.add('MatMul', [g.add('Softmax', [y], axis=-1 if g.opset >= 13 else 3), v])
    return g.reshape(g.transpose(y, [0, 2, 1, 3]), [1, sequences * tokens, heads * size])


@idiom
def transformer_block(g):
    if g.chance(0.5):
        picture = g.picture(fits=lambda a: 2 <= a.shape[2] * a.shape[3] <= 64 and a.shape[1] >= 2)
        n, c, h, w = g.shape(picture)
        x = g.transpose(g.reshape(picture, [n, c, h * w]), [0, 2, 1])
        if g.chance(0.3):
            x = g.add('Concat', [g.weights((1, 1, c), 0.5), x], axis=1)
        if g.chance(0.3):
            x = g.add('Add', [x, g.weights((1, g.shape(x)[1], c), 0.3)])
    else:
        x = sequence(g)[0]
    tokens, c = g.shape(x)[1], g.shape(x)[2]
    sequences = g.choose([1, 1, 1] + [s for s in (2, 3, 4) if tokens % s == 0])
    heads, size = g.choose([1, 2, 3]), g.choose([4, 8, 5])
    y = normalised(g, x) if g.chance(0.7) else x
    y = linear(g, attention(g, y, sequences, heads, size), c)
    x = g.add('Add', g.shuffled([x, y])) if g.chance(0.8) else y
    y = normalised(g, x) if g.chance(0.7) else x
    y = linear(g, curved(g, linear(g, y, g.choose([8, 12, 2 * c]))), c)
    x = g.add('Add', g.shuffled([x, y])) if g.chance(0.8) else y
    form = g.int(0, 3)
    if form == 0:
        g.add('Gather', [x, g.number(0, np.int64)], axis=1)
    elif form == 1:
        g.transpose(x, [0, 2, 1])
    elif form == 2:
        normalised(g, x)


@idiom
def attention_in_windows(g):
    """A block of Swin: windows of a map, shifted or not, perhaps with zeros around the map."""
    size = g.choose([2, 3])
    x = g.picture(fits=lambda a: 2 <= a.shape[1] and 2 * size <= min(a.shape[2:]) and a.shape[2] * a.shape[3] <= 100)
    n, c, h, w = g.shape(x)
    x = g.transpose(x, [0, 2, 3, 1])
    high, wide = -(-h // size) * size, -(-w // size) * size
    shift = g.int(0, size - 1)

    def roll(value, by):
        for axis, whole in ((1, high), (2, wide)) if by else ():
            parts = [g.slice(value, [by], [2 ** 31 - 1], [axis]), g.slice(value, [0], [by], [axis])]
            value = g.add('Concat', parts, axis=axis)
        return value
    y = normalised(g, x)
    if (high, wide) != (h, w):
        pads = [0, 0, 0, 0, 0, high - h, wide - w, 0]
        y = g.add('Pad', [y, g.ints(pads)]) if g.opset >= 11 else g.add('Pad', [y], pads=pads)
    y = g.reshape(roll(y, shift), [n, high // size, size, wide // size, size, c])
    y = g.transpose(y, [0, 1, 3, 2, 4, 5])
    count, tokens = high // size * (wide // size), size * size
    heads, each = g.choose([1, 2]), g.choose([4, 8, 5])
    y = g.reshape(y, [1, count * tokens, c])
    y = linear(g, attention(g, y, count, heads, each), c)
    y = g.transpose(g.reshape(y, [n, high // size, wide // size, size, size, c]), [0, 1, 3, 2, 4, 5])
    y = roll(g.reshape(y, [n, high, wide, c]), -shift)
    if (high, wide) != (h, w):
        y = g.slice(y, [0, 0], [h, w], [1, 2])
    y = g.add('Add', g.shuffled([x, y]))
    linear(g, normalised(g, y), g.choose([8, c]))


@operator('com.microsoft.Attention')
def attention_of_runtime(g, op):
    x, tokens, c = sequence(g)
    heads, size = g.choose([1, 2, 3]), g.choose([4, 5, 8])
    all_ = heads * size
    extra = {}
    if g.chance(0.3):
        extra['scale'] = g.real(0.1, 0.6)
    if g.chance(0.2):
        extra['unidirectional'] = 1
    mask = ''
    if g.chance(0.3):
        mask = g.constant(np.arange(tokens)[None] < g.int(1, tokens), np.int32)
    bias = g.weights((1, heads, tokens, tokens), 1.0) if g.chance(0.3) else ''
    g.add('Attention', [x, g.weights((c, 3 * all_), c ** -0.5), g.weights((3 * all_,), 0.1), mask, '', bias],
          domain=MICROSOFT, num_heads=heads, **extra)


@operator('com.microsoft.MultiHeadAttention')
def multi_head_attention(g, op):
    x, tokens, _ = sequence(g)
    heads, size = g.choose([1, 2, 3]), g.choose([4, 5, 8])
    q, k, v = (linear(g, x, heads * size) for _ in range(3))
    bias = g.weights((3 * heads * size,), 0.2) if g.chance(0.4) else ''
    more = g.weights((1, g.choose([1, heads]), tokens, tokens), 1.0) if g.chance(0.4) else ''
    g.add('MultiHeadAttention', [q, k, v, bias, '', more], domain=MICROSOFT, num_heads=heads)


@operator('com.microsoft.GroupQueryAttention')
def group_query_attention(g, op):
    x, tokens, _ = sequence(g)
    shared, size = g.choose([1, 2]), 16
    heads = shared * g.choose([1, 2, 3])
    given = [linear(g, x, n * size) for n in (heads, shared, shared)] + [
        '', '', g.constant([tokens - 1], np.int32), g.number(tokens, np.int32)]
    extra = {}
    if g.chance(0.5):
        angles = np.arange(tokens)[:, None] / 10.0 ** (np.arange(size // 2) / size * 2)
        given += [g.constant(np.cos(angles), np.float32), g.constant(np.sin(angles), np.float32)]
        extra = {'do_rotary': 1, 'rotary_interleaved': g.int(0, 1)}
    g.add('GroupQueryAttention', given, 3, domain=MICROSOFT, num_heads=heads, kv_num_heads=shared, **extra)


@operator('com.microsoft.RotaryEmbedding')
def rotary_embedding(g, op):
    x, tokens, _ = sequence(g)
    heads, size = g.choose([1, 2]), g.choose([4, 8])
    angles = np.arange(tokens + 2)[:, None] / 10.0 ** (np.arange(size // 2) / size * 2)
    places = g.constant(g.rng.permutation(tokens + 2)[None, :tokens], np.int64) if g.chance(0.5) else g.ints([g.int(0, 2)])
    g.add('RotaryEmbedding', [linear(g, x, heads * size), places, g.constant(np.cos(angles), np.float32),
                              g.constant(np.sin(angles), np.float32)], domain=MICROSOFT, interleaved=g.int(0, 1))


@operator('com.microsoft.FusedMatMul')
def fused_matmul(g, op):
    a = g.pick(rank=(2, 3), fits=lambda a: a.size <= 2000)
    across = g.int(0, 1)
    depth = g.shape(a)[-2 if across else -1]
    turned = g.int(0, 1)
    columns = g.int(1, 8)
    b = g.weights((columns, depth) if turned else (depth, columns), depth ** -0.5)
    g.add('FusedMatMul', [a, b], domain=MICROSOFT, transA=across, transB=turned, alpha=g.real(0.2, 2.0))


@operator('com.microsoft.FusedGemm')
def fused_gemm(g, op):
    a = g.pick(rank=2, fits=lambda a: a.size <= 2000)
    b = g.weights((g.shape(a)[1], g.int(1, 8)), g.shape(a)[1] ** -0.5)
    extra = {'activation_alpha': g.real(0.05, 0.3)} if g.chance(0.4) else {}
    g.add('FusedGemm', [a, b, g.weights((g.shape(b)[1],), 0.2)], domain=MICROSOFT,
          activation='LeakyRelu' if extra else g.choose(['Relu', 'Tanh', 'Sigmoid']), **extra)


@operator('com.microsoft.MatMulNBits')
def matmul_few_bits(g, op):
    x = g.pick(rank=(2, 3), fits=lambda a: a.size <= 2000)
    k, n, block = g.shape(x)[-1], g.int(1, 12), g.choose([16, 32])
    blocks = (k + block - 1) // block
    given = [x, g.constant(g.rng.integers(0, 256, (n, blocks, block // 2)), np.uint8), g.between((n * blocks,), 0.005, 0.02)]
    if g.chance(0.5):
        given.append(g.constant(g.rng.integers(0, 256, n * ((blocks + 1) // 2)), np.uint8))
    g.add('MatMulNBits', given, domain=MICROSOFT, K=k, N=n, bits=4, block_size=block)


@operator('SimplifiedLayerNormalization')
def simplified_norm(g, op):
    x = g.pick(rank=(2, 3))
    g.add(op, [x, g.weights((g.shape(x)[-1],), 0.2, 1.0)], axis=-1, epsilon=1e-3)


@operator('com.microsoft.SkipSimplifiedLayerNormalization')
def skip_simplified_norm(g, op):
    x = g.pick(rank=3)
    skip = g.add('Tanh', [x])
    g.add('SkipSimplifiedLayerNormalization', [x, skip, g.weights((g.shape(x)[-1],), 0.2, 1.0)], domain=MICROSOFT,
          epsilon=1e-3)


@operator('Col2Im')
def col2im(g, op):
    g.need(18)
    block = g.choose([[2, 2], [3, 1], [2, 3]])
    stride = [g.int(1, 2), g.int(1, 2)]
    fits = [g.int(1, 4), g.int(1, 4)]
    image = [(f - 1) * s + b for f, s, b in zip(fits, stride, block)]
    cells = g.pick(fits=lambda a: a.ndim >= 2 and a.size >= 8)
    count = int(np.prod(block)) * int(np.prod(fits))
    channels = g.array(cells).size // count
    if channels < 1:
        channels, cells = 1, g.weights((count,), 1.0)
    flat = g.slice(g.reshape(cells, [-1]), [0], [channels * count], [0])
    x = g.reshape(flat, [1, channels * int(np.prod(block)), int(np.prod(fits))])
    g.add(op, [x, g.ints(image), g.ints(block)], strides=stride)


@operator('AffineGrid')
def affine_grid(g, op):
    g.need(20)
    numbers = g.pick(fits=lambda a: a.size >= 6)
    theta = g.reshape(g.slice(g.reshape(numbers, [-1]), [0], [6], [0]), [1, 2, 3])
    g.add(op, [g.add('Tanh', [theta]), g.ints([1, 1, g.int(2, 5), g.int(2, 5)])], align_corners=g.int(0, 1))


@operator('Einsum')
def einsum_with_dots(g, op):
    g.need(12)
    x = g.pick(rank=(2, 3, 4), fits=lambda a: a.size <= 2000)
    c = g.shape(x)[-1]
    form = g.int(0, 2)
    if form == 0:
        g.add(op, [x, g.weights((c, 5), c ** -0.5)], equation='...c,cd->...d')
    elif form == 1:
        g.add(op, [x, g.weights((c,), 1.0)], equation='...c,...c->...c')
    else:
        g.add(op, [x], equation='a...->...a')
