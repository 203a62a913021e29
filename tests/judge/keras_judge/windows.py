# SPDX-License-Identifier: Apache-2.0
"""Layers with windows or matrices, like reference.py. Sequences are pictures of one row here, too, by an axis that is
put before the length and dropped again, whatever the number of channels."""
import numpy as np

from .reference import activated, channels, layer, numbers, weight


def same_pads(size, window, stride):
    """Returns the pads for as many windows as there are strides; an odd pixel comes last."""
    total = max((-(-size // stride) - 1) * stride + window - size, 0)
    return total // 2, total - total // 2


def as_picture(of, x):
    """Returns the picture, and the configuration of two axes."""
    row = of.kind.endswith('1D') or of.kind == 'Conv1DTranspose'
    two = {}
    for key in ('kernel_size', 'strides', 'dilation_rate', 'pool_size', 'output_padding'):
        value = of.config.get(key)
        if value is not None:
            two[key] = [1] * row + numbers(value, 1 if row else 2)
    return (x[:, None] if row else x), row, two


def pads_of(of, sides, windows, strides, row):
    if of.config['padding'] == 'same':
        pads = [same_pads(*three) for three in zip(sides, windows, strides)]
        return [(0, 0), pads[1]] if row else pads
    if of.config['padding'] == 'causal':
        return [(0, 0), (windows[1] - 1, 0)]
    return [(0, 0), (0, 0)]


def taps(x, windows, kernel, strides, dilation):
    """Yields the values that each number of a kernel meets: (y, x, values (N, H, W, C))."""
    rows, columns = ((side - window) // stride + 1 for side, window, stride in zip(x.shape[1:3], windows, strides))
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilation[0], j * dilation[1]
            yield i, j, x[:, top:top + (rows - 1) * strides[0] + 1:strides[0],
                          left:left + (columns - 1) * strides[1] + 1:strides[1]]


def kernel_of(of, name, row, context):
    w = weight(of, name, context)
    return w[:, None] if row else w


def times(values, matrix):
    """Multiplies (N, H, W, a) by (N or 1, a, b)."""
    flat = np.matmul(values.reshape(values.shape[0], -1, values.shape[3]), matrix)
    return flat.reshape(values.shape[:3] + flat.shape[-1:])


def padded_for(of, x, kernel, two, row):
    windows = [(k - 1) * d + 1 for k, d in zip(kernel, two['dilation_rate'])]
    pads = pads_of(of, x.shape[1:3], windows, two['strides'], row)
    return np.pad(x, [(0, 0)] + pads + [(0, 0)]), windows


def end(of, total, row, context, dialect):
    bias = weight(of, 'bias', context)
    if bias is not None:
        total = total + channels(bias, 4)
    total = activated(context.noisy(total), of.config.get('activation'), context, dialect)
    return total[:, 0] if row else total


@layer('Conv1D', 'Conv2D')
def convolution(of, inputs, context, dialect):
    x, row, two = as_picture(of, inputs[0])
    w = kernel_of(of, 'kernel', row, context)
    x, windows = padded_for(of, x, w.shape[1:3], two, row)
    groups = of.config.get('groups', 1)
    each, filters = x.shape[3] // groups, w.shape[4] // groups
    parts = []
    for g in range(groups):
        total = 0
        for i, j, values in taps(x[..., g * each:(g + 1) * each], windows, w.shape[1:3], two['strides'], two['dilation_rate']):
            total = total + times(values, w[:, i, j, :, g * filters:(g + 1) * filters])
        parts.append(total)
    return end(of, np.concatenate(parts, axis=3), row, context, dialect)


def depthwise(of, x, row, two, name, context):
    w = kernel_of(of, name, row, context)
    x, windows = padded_for(of, x, w.shape[1:3], two, row)
    total = 0
    for i, j, values in taps(x, windows, w.shape[1:3], two['strides'], two['dilation_rate']):
        total = total + values[..., None] * w[:, i, j][:, None, None]
    return total.reshape(total.shape[:3] + (-1,))


@layer('DepthwiseConv1D', 'DepthwiseConv2D')
def depthwise_convolution(of, inputs, context, dialect):
    x, row, two = as_picture(of, inputs[0])
    return end(of, depthwise(of, x, row, two, 'depthwise_kernel', context), row, context, dialect)


@layer('SeparableConv1D', 'SeparableConv2D')
def separable_convolution(of, inputs, context, dialect):
    x, row, two = as_picture(of, inputs[0])
    middle = context.noisy(depthwise(of, x, row, two, 'depthwise_kernel', context))
    return end(of, times(middle, kernel_of(of, 'pointwise_kernel', row, context)[:, 0, 0]), row, context, dialect)


@layer('Conv1DTranspose', 'Conv2DTranspose')
def transposed_convolution(of, inputs, context, dialect):
    x, row, two = as_picture(of, inputs[0])
    w = kernel_of(of, 'kernel', row, context)  # (N, y, x, outputs, inputs)
    kernel, strides, dilation = w.shape[1:3], two['strides'], two['dilation_rate']
    windows = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    sides = x.shape[1:3]
    whole = [(side - 1) * s + window for side, s, window in zip(sides, strides, windows)]
    full = np.zeros((x.shape[0], *whole, w.shape[3]))
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            top, left = i * dilation[0], j * dilation[1]
            full[:, top:top + (sides[0] - 1) * strides[0] + 1:strides[0],
                 left:left + (sides[1] - 1) * strides[1] + 1:strides[1]] += times(x, w[:, i, j].swapaxes(1, 2))
    added = two.get('output_padding')
    for axis in (0, 1):
        side, s, window = sides[axis], strides[axis], windows[axis]
        if row and axis == 0:
            continue
        same = of.config['padding'] == 'same'
        if added is not None:
            length = whole[axis] + added[axis] - (2 * (window // 2) if same else 0)
        else:
            length = side * s if same else side * s + max(window - s, 0)
        # It is the gradient of a convolution over the larger picture, which has these pads.
        before = same_pads(length, window, s)[0] if same else 0
        full = np.pad(full, [(0, max(0, before + length - full.shape[1 + k])) if k == axis else (0, 0) for k in range(-1, 3)])
        full = full.take(range(before, before + length), 1 + axis)
    return end(of, full, row, context, dialect)


@layer('Dense')
def dense(of, inputs, context, dialect):
    x = inputs[0]
    flat = np.matmul(x.reshape(x.shape[0], -1, x.shape[-1]), weight(of, 'kernel', context))
    bias = weight(of, 'bias', context)
    if bias is not None:
        flat = flat + bias[:, None]
    y = flat.reshape(x.shape[:-1] + flat.shape[-1:])
    return activated(context.noisy(y), of.config.get('activation'), context, dialect)


@layer('MaxPooling1D', 'MaxPooling2D', 'AveragePooling1D', 'AveragePooling2D')
def pooling(of, inputs, context, dialect):
    x, row, two = as_picture(of, inputs[0])
    window = two['pool_size']
    strides = two.get('strides', window)
    pads = pads_of(of, x.shape[1:3], window, strides, row)
    most = of.kind.startswith('Max')
    edge = [(0, 0)] + pads + [(0, 0)]
    padded = np.pad(x if most else context.noisy(x), edge, constant_values=-np.inf if most else 0)
    parts = [values for _, _, values in taps(padded, window, window, strides, (1, 1))]
    if most:
        result = np.maximum.reduce(parts)
    else:
        # Pads do not count.
        there = np.pad(np.ones((1,) + x.shape[1:3] + (1,)), edge)
        result = context.noisy(sum(parts) / sum(v for _, _, v in taps(there, window, window, strides, (1, 1))))
    return result[:, 0] if row else result


@layer('GlobalMaxPooling1D', 'GlobalMaxPooling2D', 'GlobalAveragePooling1D', 'GlobalAveragePooling2D')
def global_pooling(of, inputs, context, dialect):
    x = inputs[0]
    axes, keeps = tuple(range(1, x.ndim - 1)), of.config.get('keepdims', False)
    if 'Max' in of.kind:
        return x.max(axis=axes, keepdims=keeps)
    return context.noisy(context.noisy(x).mean(axis=axes, keepdims=keeps))
