# SPDX-License-Identifier: Apache-2.0
"""Building blocks of networks."""
from .layers import (activation, batch_normalization, concatenate, convolution, dense, depthwise, flatten, global_pooling,
                     identity, merge, permute, picture_of, pooling, relu, reshape, separable, transposed, up_sampling,
                     zero_padding)
from .model import Net, Unfit
from .table import idiom

ONE, THREE = {'kernel_size': [1, 1]}, {'kernel_size': [3, 3], 'padding': 'same'}
PLAIN = {'strides': [1, 1], 'dilation_rate': [1, 1], 'groups': 1, 'activation': 'linear'}


def conv_bn(net, x, filters, function='relu', **more):
    y = convolution(net, 'Conv2D', x, **dict(PLAIN, filters=filters, **more))
    y = batch_normalization(net, 'BatchNormalization', y)
    return activation(net, 'Activation', y, function) if function else y


def no_sequence(net):
    if net.sequential:
        raise Unfit


@idiom
def residual(net):
    no_sequence(net)
    x = picture_of(net, 'Conv2D')
    c = net.shape(x)[3]
    y = conv_bn(net, x, net.choose([4, 8]), **THREE)
    y = conv_bn(net, y, c, None, **THREE)
    return activation(net, 'Activation', merge(net, 'Add', x, y), 'relu')


@idiom
def gate(net):
    """Squeeze and excitation: by Dense layers or by convolutions, with or without Reshape."""
    no_sequence(net)
    x = picture_of(net, 'Conv2D')
    c, form = net.shape(x)[3], net.int(0, 2)
    y = global_pooling(net, 'GlobalAveragePooling2D', x, keepdims=form == 2)
    last = net.choose(['sigmoid', 'hard_sigmoid'])
    if form == 0:
        y = reshape(net, 'Reshape', y, [1, 1, c])
    if form < 2 and net.chance(0.6) and len(net.shape(y)) == 2 or net.chance(0.3):
        y = dense(net, 'Dense', dense(net, 'Dense', y, 4, 'relu'), c, last)
    else:
        if len(net.shape(y)) == 2:
            y = reshape(net, 'Reshape', y, [1, 1, c])
        y = convolution(net, 'Conv2D', y, **dict(PLAIN, filters=2, **ONE))
        y = convolution(net, 'Conv2D', y, **dict(PLAIN, filters=c, **dict(ONE, activation=last)))
    return merge(net, 'Multiply', x, y)


@idiom
def inverted_residual(net):
    no_sequence(net)
    x = picture_of(net, 'Conv2D')
    c, stride = net.shape(x)[3], net.choose([1, 1, 2])
    if net.shape(x)[1] < 4 or net.shape(x)[2] < 4:
        raise Unfit

    def six(y):
        return relu(net, 'ReLU', y, 6.0) if net.dialect.number > 1 else activation(net, 'Activation', y, 'relu')
    y = six(conv_bn(net, x, 2 * c, None, **ONE))
    padding = 'same'
    if stride == 2:
        sides = net.shape(y)[1:3]
        y, padding = zero_padding(net, 'ZeroPadding2D', y, [[0 if s % 2 == 0 else 1, 1] for s in sides]), 'valid'
    y = depthwise(net, 'DepthwiseConv2D', y, kernel_size=[3, 3], strides=[stride] * 2, dilation_rate=[1, 1],
                  padding=padding, depth_multiplier=1, activation='linear')
    y = conv_bn(net, six(batch_normalization(net, 'BatchNormalization', y)), c, None, **ONE)
    return merge(net, 'Add', x, y) if stride == 1 else y


@idiom
def u_net(net):
    no_sequence(net)
    x = picture_of(net, 'Conv2D')
    if net.shape(x)[1] < 4 or net.shape(x)[2] < 4 or any(s % 2 for s in net.shape(x)[1:3]):
        raise Unfit
    skip = conv_bn(net, x, net.choose([4, 8]), **THREE)
    y = net.add('MaxPooling2D', [skip], {'pool_size': [2, 2], 'strides': [2, 2], 'padding': 'valid'})
    y = conv_bn(net, y, 8, **THREE)
    if net.chance(0.5):
        y = up_sampling(net, 'UpSampling2D', y, 2)
    else:
        y = transposed(net, 'Conv2DTranspose', y, kernel_size=[net.choose([2, 3, 4])] * 2, strides=[2, 2], padding='same',
                       dilation_rate=[1, 1], output_padding=None)
    y = concatenate(net, 'Concatenate', skip, [y], 3)
    return convolution(net, 'Conv2D', y, filters=4, **dict(PLAIN, **THREE))


@idiom
def inception(net):
    no_sequence(net)
    x = picture_of(net, 'Conv2D')
    parts = [conv_bn(net, x, 4, **ONE), conv_bn(net, conv_bn(net, x, 2, **ONE), 4, **THREE)]
    if net.chance(0.5):
        y = net.add('MaxPooling2D', [x], {'pool_size': [3, 3], 'strides': [1, 1], 'padding': 'same'})
        parts.append(conv_bn(net, y, 3, **ONE))
    return concatenate(net, 'Concatenate', parts[0], parts[1:], 3)


@idiom
def head(net):
    x = picture_of(net, 'Conv2D' if net.chance(0.7) else 'Conv1D')
    kind = '2D' if len(net.shape(x)) == 4 else '1D'
    y = flatten(net, 'Flatten', x) if net.chance(0.5) else global_pooling(
        net, net.choose(['GlobalAveragePooling', 'GlobalMaxPooling']) + kind, x, keepdims=False)
    if net.shape(y)[1] > 1000:
        raise Unfit
    if net.chance(0.4):
        y = dense(net, 'Dense', y, 8, 'relu')
    if net.chance(0.4):
        y = identity(net, 'Dropout', y)
    return dense(net, 'Dense', y, net.choose([2, 5, 10]), net.choose(['softmax', 'sigmoid', 'linear']))


@idiom
def boxes(net):
    """The heads of SSD: rows of four for each place, of two maps."""
    no_sequence(net)
    rows = []
    for _ in range(2):
        x = picture_of(net, 'Conv2D')
        y = convolution(net, 'Conv2D', x, **dict(PLAIN, filters=8, **THREE))
        rows.append(reshape(net, 'Reshape', y, [-1, 4]))
    y = concatenate(net, 'Concatenate', rows[0], rows[1:], 1)
    return activation(net, 'Activation', y, 'softmax') if net.chance(0.6) else y


@idiom
def wave(net):
    """Gated causal convolutions."""
    no_sequence(net)
    x = picture_of(net, 'Conv1D')
    if net.dialect.number == 1:
        raise Unfit
    more = {'filters': net.shape(x)[2], 'kernel_size': [2], 'strides': [1], 'dilation_rate': [net.choose([1, 2, 4])],
            'padding': 'causal', 'groups': 1}
    y = merge(net, 'Multiply', convolution(net, 'Conv1D', x, **dict(more, activation='tanh')),
              convolution(net, 'Conv1D', x, **dict(more, activation='sigmoid')))
    return merge(net, 'Add', x, y)


@idiom
def pyramid(net):
    no_sequence(net)
    x = picture_of(net, 'Conv2D')
    if any(s % 2 or s < 4 for s in net.shape(x)[1:3]):
        raise Unfit
    low = convolution(net, 'Conv2D', x, filters=6, kernel_size=[3, 3], strides=[2, 2], dilation_rate=[1, 1],
                      padding='same', groups=1)
    side = convolution(net, 'Conv2D', x, **dict(PLAIN, filters=6, **ONE))
    return merge(net, 'Add', side, up_sampling(net, 'UpSampling2D', low, 2))


@idiom
def mixer(net):
    """Dense layers along the other axis."""
    no_sequence(net)
    x = net.pick(lambda a: a.ndim == 3)
    y = permute_to(net, x)
    y = permute_to(net, dense(net, 'Dense', y, net.shape(y)[2], 'relu'))
    return merge(net, 'Add', x, y)


def permute_to(net, x):
    return net.add('Permute', [x], {'dims': [2, 1]})


# --- calls of what is there ---
@idiom
def shared(net):
    """Calls an existing layer again, on another value."""
    no_sequence(net)
    layers = [layer for layer in net.layers if layer.calls and len(layer.calls[0]) == 1 and layer.kind != 'InputLayer']
    if not layers:
        raise Unfit
    layer = net.choose(layers)
    shape = net.shape(layer.calls[0][0])
    others = [v for v in net.values if net.shape(v) == shape and [v] not in layer.calls]
    if not others:
        raise Unfit
    return net.call(layer, [net.choose(others)])[0]


def nested(net, sequential, count, depth=0):
    """A model as a layer, with `count` inputs."""
    from .generate import extend
    first = net.pick(lambda a: a.ndim in (2, 3, 4))
    given = [first]
    while len(given) < count:
        given.append(net.pick(lambda a: a.ndim in (2, 3, 4)))
    inner = Net(net.rng, net.dialect, net.names, sequential)
    for v in given:
        inner.add_input(net.values[v])
    if count > 1:
        # Uses all inputs, whose shapes differ.
        for v in list(inner.inputs):
            x = v
            if len(inner.shape(x)) > 2:
                x = inner.add('GlobalMaxPooling%dD' % (len(inner.shape(x)) - 2), [x], {'keepdims': False})
            dense(inner, 'Dense', x, 4)
        last = inner.made()
        parts = [v for v in last if inner.shape(v)[1:] == (4,) and v.layer.kind == 'Dense']
        merge(inner, net.choose(['Add', 'Subtract', 'Average', 'Maximum'] if count == 2 else ['Add']), parts[0], parts[1])
    wanted = inner.int(1, 4)
    for _ in range(20):
        wanted -= extend(inner)
        if wanted <= 0:
            break
    inner.choose_outputs()
    if set(inner.inputs) - inner.read() or (net.sequential and len(inner.outputs) > 1):
        raise Unfit
    kind = 'Sequential' if sequential else 'Functional'
    value = net.add(kind, given, inner=inner)
    if count == 1 and net.chance(0.5) and not net.sequential:
        shape = net.shape(given[0])
        others = [v for v in net.values if net.shape(v) == shape and v != given[0]]
        if others:
            value = net.call(value.layer, [net.choose(others)])[0]
    return value


@idiom
def nested_sequence(net):
    return nested(net, True, 1)


@idiom
def nested_model(net):
    return nested(net, False, 1)


@idiom
def nested_model_of_two(net):
    no_sequence(net)
    return nested(net, False, 2)


@idiom
def twins(net):
    """One backbone on two values, whose results are compared."""
    no_sequence(net)
    x = picture_of(net, 'Conv2D')
    y = net.add('Activation', [x], {'activation': net.choose(['tanh', 'relu'])})
    inner = Net(net.rng, net.dialect, net.names, net.chance(0.5))
    z = conv_bn(inner, inner.add_input(net.values[x]), 4, **THREE)
    head(inner) if inner.sequential else global_pooling(inner, 'GlobalAveragePooling2D', z, keepdims=False)
    inner.choose_outputs()
    a = net.add('Sequential' if inner.sequential else 'Functional', [x], inner=inner)
    b = net.call(a.layer, [y])[0]
    return net.add('Concatenate' if net.dialect.number == 1 else net.choose(['Subtract', 'Multiply', 'Concatenate']), [a, b],
                   {'axis': -1})
