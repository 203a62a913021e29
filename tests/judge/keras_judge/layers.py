# SPDX-License-Identifier: Apache-2.0
"""A layer of each class, with a random configuration."""
import numpy as np

from .model import Unfit
from .table import layer

FUNCTIONS = {
    1: ['relu', 'relu', 'relu', 'sigmoid', 'tanh', 'hard_sigmoid', 'softplus', 'softmax', 'elu', 'softsign'],
    2: ['relu', 'relu', 'relu', 'relu6', 'sigmoid', 'tanh', 'hard_sigmoid', 'softplus', 'softmax', 'elu', 'softsign',
        'exponential', 'selu', 'swish', 'gelu'],
    3: ['relu', 'relu', 'relu', 'relu6', 'sigmoid', 'tanh', 'hard_sigmoid', 'softplus', 'softmax', 'elu', 'softsign',
        'exponential', 'selu', 'silu', 'gelu', 'leaky_relu', 'hard_silu', 'mish'],
}


def function(net):
    return net.choose(FUNCTIONS[net.dialect.number])


def picture_of(net, kind, x=None):
    """Returns a value that a class of pictures or sequences takes."""
    rank = 3 if '1D' in kind else 4
    if x is not None:
        if len(net.shape(x)) != rank:
            raise Unfit
        return x
    return net.pick(lambda a: a.ndim == rank)


def pairs(net, sides, choices, alike=0.8):
    """Returns a number for each axis, mostly the same for all."""
    if net.chance(alike):
        return [net.choose(choices)] * len(sides)
    return [net.choose(choices) for _ in sides]


def window_config(net, kind, sides, kernels=(1, 2, 3, 3, 3, 5, 7)):
    """Returns kernel_size, strides, dilation_rate and padding of a convolution."""
    kernel = pairs(net, sides, kernels)
    strides, dilation = [1] * len(sides), [1] * len(sides)
    if net.chance(0.3):
        # TensorFlow's depthwise convolutions have the same stride in both axes.
        strides = pairs(net, sides, [1, 2, 2, 3], 0.8 if kind.startswith('Conv') else 1)
    elif net.chance(0.2) and net.dialect.number > 1:
        dilation = pairs(net, sides, [2, 2, 3])
    causal = kind == 'Conv1D' and net.dialect.number > 1 and net.chance(0.4)
    padding = 'causal' if causal else net.choose(['same', 'same', 'valid'])
    if padding == 'valid' and any((k - 1) * d + 1 > side for k, d, side in zip(kernel, dilation, sides)):
        padding = 'same'
    return {'kernel_size': kernel, 'strides': strides, 'dilation_rate': dilation, 'padding': padding}


def ends(net, config, count):
    """Returns bias and activation of a layer with weights."""
    config['use_bias'] = net.chance(0.7)
    config['activation'] = function(net) if net.chance(0.3) else 'linear'
    return [('bias', net.weights((count,), scale=0.3))] if config['use_bias'] else []


@layer('Conv1D', 'Conv2D')
def convolution(net, kind, x=None, **given):
    x = picture_of(net, kind, x)
    *sides, c = net.shape(x)[1:]
    config = dict(window_config(net, kind, sides), filters=net.choose([1, 3, 4, 8, 9, 16, 20]), groups=1)
    if net.dialect.number > 1 and net.chance(0.15):
        config['groups'] = net.choose([d for d in range(1, c + 1) if c % d == 0])
        config['filters'] = config['groups'] * net.choose([1, 2])
    config.update(given)
    shape = (*config['kernel_size'], c // config['groups'], config['filters'])
    bias = ends(net, config, config['filters'])
    config.update({k: v for k, v in given.items() if k == 'activation'})
    return net.add(kind, [x], config, [('kernel', net.weights(shape, np.prod(shape[:-1])))] + bias)


@layer('DepthwiseConv1D', 'DepthwiseConv2D')
def depthwise(net, kind, x=None, **given):
    x = picture_of(net, kind, x)
    *sides, c = net.shape(x)[1:]
    config = dict(window_config(net, kind, sides), depth_multiplier=net.choose([1, 1, 1, 2]))
    config.update(given)
    shape = (*config['kernel_size'], c, config['depth_multiplier'])
    bias = ends(net, config, c * config['depth_multiplier'])
    config.update({k: v for k, v in given.items() if k == 'activation'})
    return net.add(kind, [x], config, [('depthwise_kernel', net.weights(shape, np.prod(shape[:-2])))] + bias)


@layer('SeparableConv1D', 'SeparableConv2D')
def separable(net, kind, x=None, **given):
    x = picture_of(net, kind, x)
    *sides, c = net.shape(x)[1:]
    config = dict(window_config(net, kind, sides), filters=net.choose([1, 4, 8, 12]), depth_multiplier=net.choose([1, 1, 2]))
    config.update(given)
    first = (*config['kernel_size'], c, config['depth_multiplier'])
    second = (1,) * len(sides) + (c * config['depth_multiplier'], config['filters'])
    bias = ends(net, config, config['filters'])
    return net.add(kind, [x], config, [('depthwise_kernel', net.weights(first, np.prod(first[:-2]))),
                                       ('pointwise_kernel', net.weights(second, second[-2]))] + bias)


@layer('Conv1DTranspose', 'Conv2DTranspose')
def transposed(net, kind, x=None, **given):
    x = picture_of(net, kind, x)
    *sides, c = net.shape(x)[1:]
    if np.prod(sides) > 300:
        raise Unfit
    config = {'filters': net.choose([1, 3, 8]), 'kernel_size': pairs(net, sides, [1, 2, 2, 3, 3, 4, 5]),
              'strides': pairs(net, sides, [1, 2, 2, 2, 3]), 'padding': net.choose(['same', 'valid']),
              'dilation_rate': [1] * len(sides), 'output_padding': None}
    if net.chance(0.15) and net.dialect.number > 1:
        config.update(strides=[1] * len(sides), dilation_rate=[2] * len(sides))
    config.update(given)
    if net.chance(0.25) and 'kernel_size' not in given:
        # As many pixels as give the forward convolution this number of windows.
        windows = [(k - 1) * d + 1 for k, d in zip(config['kernel_size'], config['dilation_rate'])]
        least = [1 - w % 2 if config['padding'] == 'same' else 0 for w in windows]
        most = [s - w % 2 if config['padding'] == 'same' else s - 1 for s, w in zip(config['strides'], windows)]
        # Keras requires less than the stride.
        config['output_padding'] = [net.int(low, max(low, min(high, s - 1)))
                                    for low, high, s in zip(least, most, config['strides'])]
        if any(a >= s or a > m for a, s, m in zip(config['output_padding'], config['strides'], most)):
            raise Unfit
    shape = (*config['kernel_size'], config['filters'], c)
    bias = ends(net, config, config['filters'])
    return net.add(kind, [x], config, [('kernel', net.weights(shape, c * 2))] + bias)


@layer('Dense')
def dense(net, kind, x=None, units=None, activation=None):
    x = x or net.pick(lambda a: a.ndim == 2 and a.size <= 1000 or a.ndim in (3, 4) and net.chance(0.1))
    n = net.shape(x)[-1]
    units = units or net.choose([1, 2, 4, 8, 10, 16])
    config = {'units': units}
    bias = ends(net, config, units)
    if activation:
        config['activation'] = activation
    return net.add(kind, [x], config, [('kernel', net.weights((n, units), n))] + bias)


@layer('BatchNormalization')
def batch_normalization(net, kind, x=None):
    x = x or net.pick(lambda a: a.ndim in (2, 3, 4))
    shape = net.shape(x)
    axis = -1 if net.chance(0.95) else net.int(1, len(shape) - 1)
    if axis == -1 and net.chance(0.5):
        axis = len(shape) - 1
    count = shape[axis]
    config = {'axis': axis, 'epsilon': net.choose([1e-3, 1e-3, 1e-5]), 'momentum': 0.99,
              'center': net.chance(0.85), 'scale': net.chance(0.85)}
    if net.dialect.number == 1:
        config.update(center=True, scale=True)
    weights = [('gamma', net.uniform(0.4, 1.6, count))] if config['scale'] else []
    weights += [('beta', net.weights((count,), scale=0.3))] if config['center'] else []
    weights += [('moving_mean', net.weights((count,), scale=0.3)), ('moving_variance', net.uniform(0.4, 2.0, count))]
    return net.add(kind, [x], config, weights)


# --- functions ---
@layer('Activation')
def activation(net, kind, x=None, name=None):
    x = x or net.pick()
    name = name or function(net)
    if name == 'softmax' and net.dialect.number == 1 and len(net.shape(x)) > 3:
        raise Unfit
    return net.add(kind, [x], {'activation': name})


@layer('LeakyReLU')
def leaky_relu(net, kind):
    return net.add(kind, [net.pick()], {'negative_slope': net.choose([0.3, 0.1, 0.01, 0.25])})


@layer('ELU')
def elu(net, kind):
    return net.add(kind, [net.pick()], {'alpha': 1.0 if net.chance(0.7) else net.choose([0.5, 2.0])})


@layer('ReLU')
def relu(net, kind, x=None, most=None):
    config = {'max_value': most, 'negative_slope': 0.0, 'threshold': 0.0}
    if most is None and net.chance(0.4):
        config['max_value'] = net.choose([6.0, 6.0, 1.0, 2.5])
    if most is None and net.chance(0.3):
        config['negative_slope'] = net.choose([0.1, 0.25])
    if most is None and net.chance(0.15):
        config['threshold'] = net.choose([0.5, 1.0])
        config['max_value'] = None if net.chance(0.5) else 6.0
    return net.add(kind, [x or net.pick()], config)


@layer('PReLU')
def prelu(net, kind):
    x = net.pick()
    shape = net.shape(x)[1:]
    axes = [a for a in range(1, len(shape) + 1) if net.chance(0.6)]
    if len(shape) == 3 and net.chance(0.5):
        axes = [1, 2]
    alpha = [1 if k in axes else side for k, side in enumerate(shape, 1)]
    return net.add(kind, [x], {'shared_axes': axes or None}, [('alpha', net.uniform(-0.3, 0.6, alpha))])


@layer('Softmax')
def softmax(net, kind):
    x = net.pick()
    rank = len(net.shape(x))
    axis = -1 if net.chance(0.6) else net.int(1, rank - 1)
    if rank > 3 and net.chance(0.1):
        axis = [1, 2]
    return net.add(kind, [x], {'axis': axis})


@layer('Rescaling')
def rescaling(net, kind):
    x = net.pick()
    c = net.shape(x)[-1]
    several = net.chance(0.3)
    return net.add(kind, [x], {
        'scale': [net.uniform(0.3, 2) for _ in range(c)] if several else net.choose([1 / 127.5, 0.5, 2.0]),
        'offset': [net.uniform(-1, 1) for _ in range(c)] if several and net.chance(0.7) else net.choose([0.0, -1.0, 0.25])})


RATES = {'Dropout': 'rate', 'SpatialDropout1D': 'rate', 'SpatialDropout2D': 'rate', 'GaussianDropout': 'rate',
         'AlphaDropout': 'rate', 'GaussianNoise': 'stddev', 'ActivityRegularization': 'l2'}


@layer(*RATES)
def identity(net, kind, x=None):
    rank = {'SpatialDropout1D': 3, 'SpatialDropout2D': 4}.get(kind)
    x = x or net.pick(lambda a: rank in (None, a.ndim))
    return net.add(kind, [x], {RATES[kind]: 0.25})


# --- several inputs ---
def companions(net, x, fits, low=1, high=2):
    found = [v for v, a in net.values.items() if fits(a.shape)]
    if not found or net.sequential:
        raise Unfit
    return [net.choose(found) for _ in range(net.int(low, high))]


def broadcasts(net, a, b):
    # Keras 1 merges only values of the same shape.
    if net.dialect.number == 1:
        return a == b
    try:
        np.broadcast_shapes(a[1:], b[1:])
        return True
    except ValueError:
        return False


@layer('Add', 'Average', 'Maximum', 'Multiply', 'Subtract')
def merge(net, kind, x=None, other=None):
    x = x or net.pick()
    shape = net.shape(x)
    same = net.chance(0.75)
    most = 1 if kind == 'Subtract' else 2
    inputs = [other] if other else companions(
        net, x, lambda s: s == shape if same else s != shape and broadcasts(net, s, shape), 1, most)
    inputs.insert(net.int(0, len(inputs)), x)
    for k in range(len(inputs) - 1):
        if not broadcasts(net, net.shape(inputs[k]), net.shape(inputs[k + 1])):
            raise Unfit
    if len(inputs) == 3 and not broadcasts(net, net.shape(inputs[0]), net.shape(inputs[2])):
        raise Unfit
    return net.add(kind, inputs)


@layer('Add', 'Multiply', 'Subtract')
def with_number(net, kind):
    """x + 1 or 1 - x."""
    if net.dialect.number < 3 or net.sequential:
        raise Unfit
    return net.add(kind, [net.pick()], {'number': net.choose([0.5, 2.0, -1.0, 0.3]), 'first': net.chance(0.4)})


@layer('Concatenate')
def concatenate(net, kind, x=None, others=None, axis=None):
    x = x or net.pick()
    shape = net.shape(x)
    if axis is None:
        axis = len(shape) - 1 if net.chance(0.6) else net.int(1, len(shape) - 1)

    def fits(s):
        return len(s) == len(shape) and all(k == axis or a == b for k, (a, b) in enumerate(zip(s, shape)))
    inputs = [x] + (others or companions(net, x, fits))
    return net.add(kind, inputs, {'axis': axis - len(shape) if net.chance(0.4) else axis})


# --- moving ---
@layer('Flatten')
def flatten(net, kind, x=None):
    return net.add(kind, [x or net.pick()])


@layer('Reshape')
def reshape(net, kind, x=None, dims=None):
    x = x or net.pick()
    size = int(np.prod(net.shape(x)[1:]))
    if dims is None:
        dims, left = [], size
        for _ in range(net.choose([0, 1, 1, 2, 2, 3])):
            dims.append(net.choose([d for d in range(1, min(left, 64) + 1) if left % d == 0]))
            left //= dims[-1]
        dims.append(left)
        dims = [dims[int(k)] for k in net.rng.permutation(len(dims))]
        if net.chance(0.4):
            dims[net.int(0, len(dims) - 1)] = -1
    return net.add(kind, [x], {'target_shape': dims})


@layer('Permute')
def permute(net, kind):
    x = net.pick(lambda a: a.ndim > 2)
    rank = len(net.shape(x))
    return net.add(kind, [x], {'dims': [int(d) + 1 for d in net.rng.permutation(rank - 1)]})


# --- windows without weights ---
@layer('MaxPooling1D', 'MaxPooling2D', 'AveragePooling1D', 'AveragePooling2D')
def pooling(net, kind, x=None):
    x = picture_of(net, kind, x)
    sides = net.shape(x)[1:-1]
    config = {'pool_size': pairs(net, sides, [2, 2, 2, 3, 3, 5]), 'padding': net.choose(['valid', 'same'])}
    config['strides'] = config['pool_size'] if net.chance(0.6) else pairs(net, sides, [1, 2, 2, 3])
    if config['padding'] == 'valid' and any(k > side for k, side in zip(config['pool_size'], sides)):
        config['padding'] = 'same'
    return net.add(kind, [x], config)


@layer('GlobalMaxPooling1D', 'GlobalMaxPooling2D', 'GlobalAveragePooling1D', 'GlobalAveragePooling2D')
def global_pooling(net, kind, x=None, keepdims=None):
    x = picture_of(net, kind, x)
    if keepdims is None:
        keepdims = net.dialect.number > 1 and net.chance(0.3)
    return net.add(kind, [x], {'keepdims': keepdims})


@layer('ZeroPadding1D', 'ZeroPadding2D')
def zero_padding(net, kind, x=None, padding=None):
    x = picture_of(net, kind, x)
    axes = len(net.shape(x)) - 2
    if padding is None:
        padding = [[net.int(0, 2), net.int(0, 2)] for _ in range(axes)]
        if net.chance(0.4):
            padding = [[1, 1]] * axes
        elif net.chance(0.3):
            padding = [[p[0]] * 2 for p in padding]
    return net.add(kind, [x], {'padding': padding if axes == 2 else padding[0]})


@layer('UpSampling1D', 'UpSampling2D')
def up_sampling(net, kind, x=None, size=None):
    x = picture_of(net, kind, x)
    axes = len(net.shape(x)) - 2
    config = {'size': [size] * axes if size else pairs(net, range(axes), [2, 2, 2, 2, 3, 4])}
    if kind == 'UpSampling2D':
        bilinear = net.dialect.number > 1 and net.chance(0.2)
        config['interpolation'] = 'bilinear' if bilinear else 'nearest'
    return net.add(kind, [x], config)
