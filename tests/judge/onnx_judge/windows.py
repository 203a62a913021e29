# SPDX-License-Identifier: Apache-2.0
"""Operators with neighbours or weights: convolutions, poolings, normalisations, products of matrices."""
import numpy as np

from .graph import Unfit
from .table import operator

ACTIVATIONS = ['Relu', 'Relu', 'Sigmoid', 'Tanh', 'LeakyRelu', 'PRelu', 'Elu', 'Relu6', 'HardSwish', 'HardSigmoid', 'SiLU']


def activate(g, x, kind=None):
    kind = kind or g.choose(ACTIVATIONS)
    if kind == 'Relu6':
        return g.clip(x, 0.0, 6.0)
    if kind == 'PRelu':
        return g.add(kind, [x, g.between((g.shape(x)[1], 1, 1), -0.3, 0.6)])
    if kind == 'LeakyRelu':
        return g.add(kind, [x], alpha=g.choose([0.1, 0.01, 0.3]))
    if kind == 'HardSwish' and g.opset < 14:
        return g.add('Mul', [x, g.add('HardSigmoid', [x], alpha=1 / 6, beta=0.5)])
    if kind == 'SiLU':
        return g.add('Mul', [x, g.add('Sigmoid', [x])])
    return g.add(kind, [x])


def window(g, sides, largest=None):
    """Returns kernel, strides, dilations and pads for axes of these sizes, as attributes."""
    n = len(sides)
    largest = largest or g.choose([1, 3, 3, 3, 5, 7])
    kernel = [min(g.int(1, largest) if g.chance(0.25) else largest, s) for s in sides]
    strides = [g.choose([1, 1, 1, 2, 2, 3])] * n if g.chance(0.8) else [g.int(1, 3) for _ in sides]
    dilations = [1] * n
    if g.chance(0.2):
        dilations = [g.int(1, 3) for _ in sides] if g.chance(0.4) else [g.choose([2, 3])] * n
    attributes = {'kernel_shape': kernel}
    if strides != [1] * n or g.chance(0.2):
        attributes['strides'] = strides
    if dilations != [1] * n:
        attributes['dilations'] = dilations
    form = g.int(0, 9)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    if form <= 1:
        # ONNX Runtime refuses dilation with SAME.
        attributes['auto_pad'] = g.choose(['SAME_UPPER', 'SAME_LOWER', 'VALID'])
        if attributes['auto_pad'] != 'VALID':
            attributes.pop('dilations', None)
    elif form <= 6:
        attributes['pads'] = [(e - 1) // 2 for e in extents] * 2
    elif form == 7:
        attributes['pads'] = [g.int(0, max(0, e - 1)) for e in extents + extents]
    return attributes


def convolve(g, x, out=None, kernel=None, **given):
    """Adds a plain convolution, for idioms."""
    channels = g.shape(x)[1]
    kernel = kernel or g.choose([1, 3])
    out = out or g.choose([4, 6, 8, 12, 16, 24])
    given.setdefault('pads', [kernel // 2] * 4)
    inputs = [x, g.kernels((out, channels // given.get('group', 1), kernel, kernel))]
    if g.chance(0.8):
        inputs.append(g.weights((out,), 0.2))
    return g.add('Conv', inputs, kernel_shape=[kernel, kernel], **given)


@operator('Conv')
def conv(g, op):
    x = g.pick(rank=(3, 4), fits=lambda a: a.shape[0] <= 2 and a.shape[1] <= 64)
    channels, sides = g.shape(x)[1], list(g.shape(x)[2:])
    attributes = window(g, sides)
    group = 1
    form = g.int(0, 9)
    if form <= 1:
        group = channels
    elif form == 2:
        group = g.choose([d for d in range(1, channels + 1) if channels % d == 0])
    out = group * g.choose([1, 1, 2]) if group > 1 else g.choose([1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 24])
    if group > 1:
        attributes['group'] = group
    inputs = [x, g.kernels((out, channels // group) + tuple(attributes['kernel_shape']))]
    if g.chance(0.7):
        inputs.append(g.weights((out,), 0.3))
    if g.chance(0.15):
        attributes.pop('kernel_shape')
    y = g.add(op, inputs, **attributes)
    if len(sides) == 2:
        behind(g, y)


def behind(g, y):
    """Operators behind a convolution or a pooling, which may become part of its command."""
    if g.chance(0.25):
        y = batch_norm(g, y)
    if g.chance(0.6):
        y = activate(g, y)
    return y


@operator('Conv')
def conv_again(g, op):
    conv(g, op)


@operator('ConvTranspose')
def conv_transpose(g, op):
    x = g.pick(rank=(3, 4), fits=lambda a: a.shape[0] == 1 and a.shape[1] <= 32 and np.prod(a.shape[2:]) <= 600)
    channels, sides = g.shape(x)[1], list(g.shape(x)[2:])
    n = len(sides)
    kernel = g.choose([1, 2, 2, 3, 4, 4])
    stride = g.choose([1, 2, 2, 3])
    group = g.choose([1, 1, 1, channels])
    out = 1 if group > 1 else g.choose([1, 3, 4, 8, 9])
    attributes = {'kernel_shape': [kernel] * n, 'strides': [stride] * n}
    if group > 1:
        attributes['group'] = group
    form = g.int(0, 6)
    if form == 0:
        attributes['output_padding'] = [g.int(0, stride - 1) for _ in sides]
    elif form == 1 and kernel >= stride:
        # With a smaller kernel, ONNX Runtime's size is not the input's times the stride, as the
        # standard wants.
        attributes['auto_pad'] = g.choose(['SAME_UPPER', 'SAME_LOWER'])
    elif form == 2 and kernel >= stride:
        attributes['output_shape'] = [s * stride for s in sides]
    elif form == 3 and kernel > 1:
        attributes['dilations'] = [2] * n
    elif form >= 5:
        attributes['pads'] = [g.int(0, (kernel - 1) // 2) for _ in range(2 * n)] if g.chance(0.3) else [(kernel - 1) // 2] * (2 * n)
    inputs = [x, g.weights((channels, out) + (kernel,) * n, 0.4)]
    if g.chance(0.6):
        inputs.append(g.weights((out * group,), 0.3))
    y = g.add(op, inputs, **attributes)
    if n == 2:
        behind(g, y)


@operator('AveragePool', 'MaxPool', 'LpPool')
def pool(g, op):
    x = g.pick(rank=(3, 4), fits=lambda a: a.shape[0] <= 2)
    sides = list(g.shape(x)[2:])
    attributes = window(g, sides, g.choose([2, 2, 3, 3, 4, 5, 7, 9, 14]))
    # Poolings have no dilation in opset 10, and only MaxPool has it before opset 19.
    if op == 'AveragePool' and g.opset < 19 or op == 'LpPool' and g.opset < 18 or op == 'MaxPool' and g.opset < 10:
        attributes.pop('dilations', None)
    extents = [(k - 1) * d + 1 for k, d in zip(attributes['kernel_shape'], attributes.get('dilations', [1, 1]))]
    if 'pads' in attributes:
        attributes['pads'] = [min(p, max(0, k - 1)) for p, k in zip(attributes['pads'], attributes['kernel_shape'] * 2)]
    if any(e > s for e, s in zip(extents, sides)) and 'auto_pad' not in attributes:
        raise Unfit('the window is larger than what is there')
    # ONNX Runtime uses a pad of -1 there, before or behind the picture. Its convolutions, and
    # TensorFlow, where SAME comes from, use none.
    if attributes.get('auto_pad', '').startswith('SAME') and any(
            (s - 1) // t * t + e < s for s, t, e in zip(sides, attributes.get('strides', [1, 1]), extents)):
        raise Unfit('a negative pad')
    if g.chance(0.2) and g.opset >= (10 if op != 'LpPool' else 18) and 'auto_pad' not in attributes:
        attributes['ceil_mode'] = 1
    # Before opset 19, and with pads, ONNX Runtime counts the part of a window behind the pads; the
    # standard does not. It counts pads before a dilated window's input, but not those behind it.
    if op == 'AveragePool' and g.chance(0.4) and not (
            attributes.get('ceil_mode') and (g.opset < 19 or any(attributes.get('pads', [])))) and not (
            'dilations' in attributes):
        attributes['count_include_pad'] = 1
    if op == 'LpPool':
        attributes['p'] = g.choose([1, 2, 2, 3])
    if op == 'MaxPool' and g.chance(0.08) and len(sides) == 2 and 'dilations' not in attributes:
        y, _ = g.add(op, [x], 2, **attributes)
    else:
        y = g.add(op, [x], **attributes)
    if len(sides) == 2 and g.chance(0.3):
        behind(g, y)


@operator('GlobalAveragePool', 'GlobalMaxPool')
def global_pool(g, op):
    g.add(op, [g.pick(rank=(3, 4))])


@operator('LRN')
def lrn(g, op):
    x = g.picture()
    g.add(op, [x], size=g.choose([1, 3, 5, 4]), alpha=g.real(0.01, 0.5), beta=g.choose([0.75, 0.5]), bias=g.choose([1.0, 2.0]))


@operator('MaxUnpool')
def max_unpool(g, op):
    x = g.picture(least=2, fits=lambda a: a.shape[2] % 2 == 0 and a.shape[3] % 2 == 0)
    g.need(11)
    y, places = g.add('MaxPool', [x], 2, kernel_shape=[2, 2], strides=[2, 2])
    if g.chance(0.5):
        y = g.add('Sigmoid', [y])
    g.add(op, [y, places], kernel_shape=[2, 2], strides=[2, 2])


def batch_norm(g, x):
    c = g.shape(x)[1]
    inputs = [x, g.between((c,), 0.5, 1.5), g.weights((c,), 0.3), g.weights((c,), 0.3), g.between((c,), 0.4, 2)]
    return g.add('BatchNormalization', inputs, **({'epsilon': g.choose([1e-3, 1e-5])} if g.chance(0.5) else {}))


@operator('BatchNormalization')
def batch_normalization(g, op):
    batch_norm(g, g.pick(rank=(2, 3, 4, 4, 4, 5)))


@operator('InstanceNormalization')
def instance_norm(g, op):
    x = g.pick(rank=(3, 4), fits=lambda a: np.prod(a.shape[2:]) > 3)
    c = g.shape(x)[1]
    g.add(op, [x, g.between((c,), 0.5, 1.5), g.weights((c,), 0.3)], epsilon=1e-3)


@operator('GroupNormalization')
def group_norm(g, op):
    g.need(18)
    x = g.pick(rank=(3, 4), fits=lambda a: np.prod(a.shape[2:]) > 3)
    c = g.shape(x)[1]
    groups = g.choose([d for d in range(1, c + 1) if c % d == 0])
    size = c if g.opset >= 21 else groups
    g.add(op, [x, g.between((size,), 0.5, 1.5), g.weights((size,), 0.3)], num_groups=groups, epsilon=1e-3)


@operator('LayerNormalization')
def layer_norm(g, op):
    g.need(17)
    x = g.pick(rank=(2, 3, 4), fits=lambda a: a.shape[-1] > 3)
    axis = g.choose([-1, -1, -1, g.rank(x) - 1, g.rank(x) - 2 or 1])
    shape = g.shape(x)[axis:]
    inputs = [x, g.between(shape, 0.5, 1.5)] + ([g.weights(shape, 0.3)] if g.chance(0.7) else [])
    g.add(op, inputs, axis=axis, epsilon=1e-3)


@operator('LpNormalization')
def lp_norm(g, op):
    x = g.pick(rank=(2, 3, 4))
    g.add(op, [g.add('Add', [x, g.number(0.3)])], axis=g.int(-g.rank(x), g.rank(x) - 1), p=g.choose([1, 2]))


@operator('MeanVarianceNormalization')
def mean_variance(g, op):
    g.need(9)
    x = g.picture(least=3)
    g.add(op, [x], **({'axes': g.choose([[0, 2, 3], [2, 3], [0, 1, 2, 3]])} if g.chance(0.7) else {}))


@operator('Softmax', 'LogSoftmax', 'Hardmax')
def softmax(g, op):
    x = g.pick(rank=(1, 2, 3, 4))
    rank = g.rank(x)
    g.add(op, [x], **({'axis': g.int(-rank, rank - 1)} if g.chance(0.8) else {}))


@operator('Gemm')
def gemm(g, op):
    x = g.pick(rank=(2, 4), fits=lambda a: np.prod(a.shape) <= 3000)
    if g.rank(x) == 4:
        x = g.add('Flatten', [x])
    rows, inner = g.shape(x)
    out = g.int(1, 20)
    trans_a, trans_b = g.chance(0.1), g.chance(0.5)
    if trans_a:
        rows, inner = inner, rows
    w = g.weights((out, inner) if trans_b else (inner, out), 1 / inner ** 0.5)
    inputs = [x, w]
    if g.chance(0.7):
        inputs.append(g.weights(g.choose([(out,), (1, out), (1,), (rows, out)]), 0.3))
    attributes = {'transB': int(trans_b)} if trans_b or g.chance(0.2) else {}
    if trans_a:
        attributes['transA'] = 1
    for name in ('alpha', 'beta'):
        if g.chance(0.15):
            attributes[name] = g.real(0.4, 1.4)
    y = g.add(op, inputs, **attributes)
    if g.chance(0.5):
        g.add(g.choose(['Relu', 'Sigmoid', 'Tanh']), [y])


@operator('MatMul')
def matmul(g, op):
    x = g.pick(rank=(1, 2, 3, 4, 5), fits=lambda a: a.size <= 6000)
    shape = g.shape(x)
    form = g.int(0, 5)
    if form <= 2:
        y = g.add(op, [x, g.weights((shape[-1], g.int(1, 20)), 1 / shape[-1] ** 0.5)])
    elif form == 3 and len(shape) >= 2:
        left = g.int(1, 8)
        y = g.add(op, [g.weights(g.choose([(left, shape[-2]), shape[:-2] + (left, shape[-2])]), 1 / shape[-2] ** 0.5), x])
    elif form == 4 and len(shape) >= 2:
        order = list(range(len(shape)))
        order[-1], order[-2] = order[-2], order[-1]
        y = g.add(op, [x, g.transpose(x, order)])
        y = g.add('Mul', [y, g.number(1.0 / shape[-1])])
    else:
        y = g.add(op, [x, g.weights((shape[-1],), 1 / shape[-1] ** 0.5)])
    if g.chance(0.3) and g.rank(y) >= 1:
        g.add('Add', [y, g.weights(g.shape(y)[-1:], 0.3)])


@operator('Einsum')
def einsum(g, op):
    g.need(12)
    equation, rank = g.choose([('bij,bjk->bik', 3), ('bhwc,hkc->bhwk', 4), ('bchw,cd->bdhw', 4), ('ij->ji', 2),
                               ('bnd,bmd->bnm', 3), ('nchw->nc', 4), ('bij,bij->b', 3)])
    x = g.pick(rank=rank, fits=lambda a: a.size <= 3000)
    terms = equation.split('->')[0].split(',')
    sizes = dict(zip(terms[0], g.shape(x)))
    inputs = [x]
    for letter in 'kdm':
        sizes.setdefault(letter, g.int(1, 6))
    for term in terms[1:]:
        shape = tuple(sizes[letter] for letter in term)
        alike = g.candidates(lambda a: a.dtype == np.float32 and a.shape == shape)
        inputs.append(g.choose(alike) if alike and g.chance(0.5) else g.weights(shape, 0.3))
    g.add(op, inputs, equation=equation)
