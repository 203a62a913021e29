# SPDX-License-Identifier: Apache-2.0
"""What each layer computes by Keras's documentation, in NumPy. `context` adds the noise of roundings wherever
binary16 may round: to weights, to results, and between two steps of a layer. Arrays may have any first
dimension, and so may weights."""
import numpy as np

CALLS = {}  # class -> function(layer, inputs, context, dialect)


def layer(*kinds):
    def add(function):
        CALLS.update((kind, function) for kind in kinds)
        return function
    return add


def call(of, inputs, context, dialect):
    """Returns the results of a call, as a list."""
    if of.inner is not None:
        return of.inner.run(inputs, context)
    return [CALLS[of.kind](of, inputs, context, dialect)]


def numbers(value, count):
    return [value] * count if isinstance(value, int) else list(value)


def weight(of, name, context):
    for own, array in of.weights:
        if own == name:
            return context.weight(array)
    return None


def channels(array, rank):
    """Returns weights (N, c) with a shape that broadcasts to values of this number of dimensions."""
    return array.reshape(array.shape[:1] + (1,) * (rank - 2) + array.shape[1:])


# --- functions of one element ---
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    from math import erf as of_one
    return np.vectorize(of_one, otypes=[np.float64])(x)


def softmax(x, axes):
    e = np.exp(x - x.max(axis=axes, keepdims=True))
    return e / e.sum(axis=axes, keepdims=True)


def selu(x):
    scale, alpha = 1.05070098, 1.67326324
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


FUNCTIONS = {
    'linear': lambda x: x,
    'relu': lambda x: np.maximum(x, 0),
    'relu6': lambda x: np.clip(x, 0, 6),
    'elu': lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    'selu': selu,
    'sigmoid': sigmoid,
    'tanh': np.tanh,
    'exponential': np.exp,
    'softplus': lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0),
    'softsign': lambda x: x / (1 + np.abs(x)),
    'softmax': lambda x: softmax(x, -1),
    'gelu': lambda x: 0.5 * x * (1 + erf(x / 2 ** 0.5)),
    'mish': lambda x: x * np.tanh(np.log1p(np.exp(x))),
    'leaky_relu': lambda x: np.where(x > 0, x, 0.2 * x),
    'hard_silu': lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
}
EXACT_FUNCTIONS = ('linear', 'relu', 'relu6')


def activated(x, name, context, dialect):
    """Returns the function called `name` of `x`, rounded before and after."""
    if name in (None, 'linear'):
        return x
    x = context.noisy(x)
    if name in EXACT_FUNCTIONS:
        return FUNCTIONS[name](x)
    if name in ('swish', 'silu'):
        return context.noisy(x * context.noisy(sigmoid(x)))
    if name == 'hard_sigmoid':
        slope = 1 / 6 if dialect.number >= 3 else 0.2
        return context.noisy(np.clip(slope * x + 0.5, 0, 1))
    return context.noisy(context.lossy(FUNCTIONS[name](x), x))


@layer('Activation')
def activation(of, inputs, context, dialect):
    return activated(inputs[0], of.config['activation'], context, dialect)


@layer('LeakyReLU')
def leaky_relu(of, inputs, context, dialect):
    x = inputs[0]
    return context.noisy(np.where(x > 0, x, of.config['negative_slope'] * x))


@layer('PReLU')
def prelu(of, inputs, context, dialect):
    x = inputs[0]
    return context.noisy(np.where(x > 0, x, weight(of, 'alpha', context) * x))


@layer('ELU')
def elu(of, inputs, context, dialect):
    x = inputs[0]
    return context.noisy(context.lossy(np.where(x > 0, x, of.config['alpha'] * np.expm1(np.minimum(x, 0))), x))


@layer('ReLU')
def relu(of, inputs, context, dialect):
    x, config = inputs[0], of.config
    threshold = config['threshold']
    y = np.where(x >= threshold, x, config['negative_slope'] * (x - threshold))
    if config['max_value'] is not None:
        y = np.where(x >= threshold, np.minimum(y, config['max_value']), y)
    return context.noisy(y)


@layer('Softmax')
def softmax_layer(of, inputs, context, dialect):
    axis = of.config['axis']
    return context.noisy(softmax(inputs[0], tuple(axis) if isinstance(axis, list) else axis))


@layer('Rescaling')
def rescaling(of, inputs, context, dialect):
    scale, offset = (context.weight(np.atleast_1d(of.config[key])) for key in ('scale', 'offset'))
    x = inputs[0]
    return context.noisy(context.noisy(x * channels(scale, x.ndim)) + channels(offset, x.ndim))


@layer('BatchNormalization')
def batch_normalization(of, inputs, context, dialect):
    x = context.noisy(inputs[0])
    axis = of.config['axis'] % x.ndim

    def along(name, default):
        array = weight(of, name, context)
        if array is None:
            return default
        return array.reshape(array.shape[:1] + (1,) * (axis - 1) + array.shape[1:] + (1,) * (x.ndim - 1 - axis))
    scale = along('gamma', 1.0) / np.sqrt(along('moving_variance', None) + of.config['epsilon'])
    shift = along('beta', 0.0) - context.noisy(along('moving_mean', None) * scale)
    return context.noisy(context.noisy(x * scale) + shift)


@layer('Dropout', 'SpatialDropout1D', 'SpatialDropout2D', 'GaussianDropout', 'GaussianNoise', 'AlphaDropout',
       'ActivityRegularization')
def identity(of, inputs, context, dialect):
    return inputs[0]


# --- several inputs ---
def aligned(inputs):
    """Gives values of different ranks dimensions of 1 behind the batch."""
    rank = max(x.ndim for x in inputs)
    return [x.reshape(x.shape[:1] + (1,) * (rank - x.ndim) + x.shape[1:]) for x in inputs]


def operands(of, inputs, context):
    """Returns the inputs, or one input and a number."""
    if 'number' not in of.config:
        return aligned(inputs)
    number = context.weight(np.full(1, of.config['number'])).reshape((-1,) + (1,) * (inputs[0].ndim - 1))
    return [number, inputs[0]] if of.config['first'] else [inputs[0], number]


@layer('Add')
def add(of, inputs, context, dialect):
    first, *others = operands(of, inputs, context)
    total = context.noisy(first)
    for other in others:
        total = context.noisy(total + context.noisy(other))
    return total


@layer('Subtract')
def subtract(of, inputs, context, dialect):
    first, second = operands(of, inputs, context)
    return context.noisy(context.noisy(first) - context.noisy(second))


@layer('Multiply')
def multiply(of, inputs, context, dialect):
    product, *others = operands(of, inputs, context)
    for other in others:
        product = context.noisy(product * other)
    return product


@layer('Average')
def average(of, inputs, context, dialect):
    total = 0
    for x in aligned(inputs):
        total = context.noisy(total + context.noisy(x))
    return context.noisy(total / len(inputs))


@layer('Maximum')
def maximum(of, inputs, context, dialect):
    return np.maximum.reduce(np.broadcast_arrays(*aligned(inputs)))


@layer('Concatenate')
def concatenate(of, inputs, context, dialect):
    return np.concatenate(inputs, axis=of.config['axis'])


# --- moving ---
@layer('Flatten')
def flatten(of, inputs, context, dialect):
    return inputs[0].reshape(inputs[0].shape[0], -1)


@layer('Reshape')
def reshape(of, inputs, context, dialect):
    dims = list(of.config['target_shape'])
    if -1 in dims:
        dims[dims.index(-1)] = -inputs[0][0].size // int(np.prod(dims))
    return inputs[0].reshape([inputs[0].shape[0]] + dims)


@layer('Permute')
def permute(of, inputs, context, dialect):
    return inputs[0].transpose([0] + list(of.config['dims']))


@layer('ZeroPadding1D', 'ZeroPadding2D')
def zero_padding(of, inputs, context, dialect):
    padding = of.config['padding']
    sides = [padding] if of.kind.endswith('1D') else padding
    return np.pad(inputs[0], [(0, 0)] + [tuple(side) for side in sides] + [(0, 0)])


@layer('UpSampling1D', 'UpSampling2D')
def up_sampling(of, inputs, context, dialect):
    x = inputs[0]
    sizes = numbers(of.config['size'], x.ndim - 2)
    linear = of.config.get('interpolation') == 'bilinear'
    for axis, size in enumerate(sizes, 1):
        if not linear:
            x = np.repeat(x, size, axis)
            continue
        # Centres of pixels lie at halves; beyond the edge, the edge's value is repeated.
        at = np.clip((np.arange(x.shape[axis] * size) + 0.5) / size - 0.5, 0, x.shape[axis] - 1)
        low = np.floor(at).astype(int)
        share = (at - low).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
        high = np.minimum(low + 1, x.shape[axis] - 1)
        x = np.take(x, low, axis) * (1 - share) + np.take(x, high, axis) * share
    return context.noisy(x) if linear else x
