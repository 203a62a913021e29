# SPDX-License-Identifier: Apache-2.0
"""Operators of 8 bits, of sequences, and ONNX Runtime's own."""
import numpy as np

from .graph import MICROSOFT, Unfit
from .table import operator
from .windows import convolve


def scale_of(g, x, signed=False):
    largest = float(np.abs(g.array(x)).max()) or 1.0
    return np.float32(largest / (127 if signed else 200))


def quantised(g, x=None, dtype=None):
    """Returns a value of 8 bits, with its scale and zero point, which are constants."""
    x = x or g.pick()
    dtype = dtype or g.choose([np.uint8, np.int8])
    scale = g.number(scale_of(g, x, dtype == np.int8))
    zero = g.number(int(g.int(100, 150)) if dtype == np.uint8 else int(g.int(-5, 5)), dtype)
    return g.add('QuantizeLinear', [x, scale, zero]), scale, zero


def adds_pairs_exactly():
    """Whether ONNX Runtime's products of unsigned and signed bytes are exact on this processor.

    On x86 without VNNI it adds two of them within 16 bits and saturates, as its documentation of quantisation says:
    results are then up to 40 % off from integers that are added exactly, and ours are not.
    """
    with open('/proc/cpuinfo', encoding='ascii', errors='replace') as facts:
        text = facts.read()
    return 'vnni' in text or ' avx2 ' not in text


# Two products of 255 with the lesser one stay below 2^15.
LARGEST = 127 if adds_pairs_exactly() else 64


def signed_weights(g, shape):
    return g.constant(g.rng.integers(-LARGEST, LARGEST + 1, shape), np.int8)


def back(g, y, scale, zero):
    return g.add('DequantizeLinear', [y, scale, zero])


@operator('QuantizeLinear', 'DequantizeLinear')
def there_and_back(g, op):
    g.need(10)
    x = g.pick()
    if g.chance(0.3) and g.opset >= 13 and g.rank(x) >= 2:
        axis = g.int(0, g.rank(x) - 1)
        d = g.shape(x)[axis]
        scale = g.between((d,), 0.01, 0.05)
        zero = g.constant(g.rng.integers(90, 150, d), np.uint8)
        g.add('DequantizeLinear', [g.add('QuantizeLinear', [x, scale, zero], axis=axis), scale, zero], axis=axis)
        return
    back(g, *quantised(g, x))


@operator('QuantizeLinear')
def quantised_conv(g, op):
    """Like static quantisation: values and weights of 8 bits in front of a plain convolution."""
    g.need(13)
    x = g.picture(least=3)
    c, out = g.shape(x)[1], g.choose([4, 8, 12])
    weights = signed_weights(g, (out, c, 3, 3))
    scales = g.between((out,), 0.001, 0.01)
    w = g.add('DequantizeLinear', [weights, scales, g.constant(np.zeros(out), np.int8)], axis=0)
    y = g.add('Conv', [back(g, *quantised(g, x)), w, g.weights((out,), 0.2)], pads=[1, 1, 1, 1])
    y = g.add('Relu', [y])
    back(g, *quantised(g, y))


@operator('DynamicQuantizeLinear')
def dynamic(g, op):
    g.need(11)
    y, scale, zero = g.add(op, [g.pick()], 3)
    back(g, y, scale, zero)


@operator('ConvInteger')
def conv_integer(g, op):
    g.need(11)
    x = g.picture(least=3)
    y, scale, zero = g.add('DynamicQuantizeLinear', [x], 3)
    out = g.choose([3, 8])
    weights = g.constant(g.rng.integers(118, 139, (out, g.shape(x)[1], 3, 3)), np.uint8)
    whole = g.add(op, [y, weights, zero, g.number(128, np.uint8)], pads=[1, 1, 1, 1], kernel_shape=[3, 3])
    g.add('Mul', [g.add('Cast', [whole], to=1), g.add('Mul', [scale, g.number(0.004)])])


@operator('MatMulInteger')
def matmul_integer(g, op):
    g.need(11)
    x = g.pick(rank=(2, 3), fits=lambda a: a.size <= 2000)
    y, scale, zero = g.add('DynamicQuantizeLinear', [x], 3)
    weights = g.constant(g.rng.integers(-40, 41, (g.shape(x)[-1], g.int(1, 9))), np.int8)
    whole = g.add(op, [y, weights, zero, g.number(0, np.int8)])
    g.add('Mul', [g.add('Cast', [whole], to=1), g.add('Mul', [scale, g.number(0.004)])])


@operator('QLinearConv')
def qlinear_conv(g, op):
    g.need(10)
    x = g.picture(least=3)
    y, scale, zero = quantised(g, x, np.uint8)
    out, c = g.choose([3, 8]), g.shape(x)[1]
    weights = signed_weights(g, (out, c, 3, 3))
    w_scale = g.number(0.004)
    result_scale, result_zero = g.number(g.real(0.02, 0.06)), g.number(g.int(100, 150), np.uint8)
    inputs = [y, scale, zero, weights, w_scale, g.number(0, np.int8), result_scale, result_zero]
    if g.chance(0.5):
        inputs.append(g.constant(g.rng.integers(-200, 200, out), np.int32))
    back(g, g.add(op, inputs, pads=[1, 1, 1, 1], kernel_shape=[3, 3]), result_scale, result_zero)


@operator('QLinearMatMul')
def qlinear_matmul(g, op):
    g.need(10)
    x = g.pick(rank=2, fits=lambda a: a.size <= 2000)
    y, scale, zero = quantised(g, x, np.uint8)
    weights = g.constant(g.rng.integers(0, 256, (g.shape(x)[-1], g.int(1, 9))), np.uint8)
    result_scale, result_zero = g.number(g.real(0.02, 0.06)), g.number(128, np.uint8)
    back(g, g.add(op, [y, scale, zero, weights, g.number(0.004), g.number(128, np.uint8), result_scale, result_zero]),
         result_scale, result_zero)


# --- sequences -----------------------------------------------------------------------------------
@operator('LSTM', 'GRU', 'RNN')
def recurrent(g, op):
    x = g.pick(rank=3, fits=lambda a: a.shape[0] <= 12 and a.shape[1] <= 4 and a.shape[2] <= 24)
    gates = {'LSTM': 4, 'GRU': 3, 'RNN': 1}[op]
    size, hidden = g.shape(x)[2], g.int(1, 9)
    direction = g.choose(['forward', 'reverse', 'bidirectional'])
    count = 2 if direction == 'bidirectional' else 1
    inputs = [x, g.weights((count, gates * hidden, size), 0.4), g.weights((count, gates * hidden, hidden), 0.4)]
    if g.chance(0.7):
        inputs.append(g.weights((count, 2 * gates * hidden), 0.3))
    attributes = {'hidden_size': hidden}
    if direction != 'forward' or g.chance(0.3):
        attributes['direction'] = direction
    if op == 'GRU' and g.chance(0.5):
        attributes['linear_before_reset'] = 1
    outputs = [True, g.chance(0.3)] + ([g.chance(0.3)] if op == 'LSTM' else [])
    g.add(op, inputs, outputs, **attributes)


# --- ONNX Runtime's own --------------------------------------------------------------------------
@operator('com.microsoft.Gelu', 'com.microsoft.QuickGelu')
def own_gelu(g, op):
    op = op.split('.')[-1]
    g.add(op, [g.pick()], domain=MICROSOFT, **({'alpha': 1.702} if op == 'QuickGelu' else {}))


@operator('com.microsoft.BiasGelu', 'com.microsoft.FastGelu')
def bias_gelu(g, op):
    x = g.pick(rank=(2, 3))
    bias = g.weights(g.shape(x)[-1:], 0.3)
    g.add(op.split('.')[-1], [x, bias] if 'Bias' in op or g.chance(0.5) else [x], domain=MICROSOFT)


@operator('com.microsoft.FusedConv')
def fused_conv(g, op):
    x = g.picture(least=3)
    attributes = g.choose([{'activation': 'Relu'}, {'activation': 'Sigmoid'}, {'activation': 'Tanh'},
                           {'activation': 'LeakyRelu', 'activation_params': [0.1]},
                           {'activation': 'Clip', 'activation_params': [0.0, 6.0]}])
    out = g.choose([3, 8])
    g.add('FusedConv', [x, g.weights((out, g.shape(x)[1], 3, 3)), g.weights((out,), 0.2)], domain=MICROSOFT,
          pads=[1, 1, 1, 1], kernel_shape=[3, 3], **attributes)


@operator('com.microsoft.QLinearAdd', 'com.microsoft.QLinearMul')
def qlinear_binary(g, op):
    g.need(10)
    a, a_scale, a_zero = quantised(g, dtype=np.uint8)
    shape = g.shape(a)
    b, b_scale, b_zero = quantised(g, g.pick(fits=lambda v: v.shape == shape), np.uint8)
    scale, zero = g.number(g.real(0.03, 0.08)), g.number(g.int(100, 140), np.uint8)
    back(g, g.add(op.split('.')[-1], [a, a_scale, a_zero, b, b_scale, b_zero, scale, zero], domain=MICROSOFT), scale, zero)


@operator('com.microsoft.QLinearSigmoid', 'com.microsoft.QLinearLeakyRelu', 'com.microsoft.QLinearGlobalAveragePool',
          'com.microsoft.QLinearAveragePool', 'com.microsoft.QLinearSoftmax')
def qlinear_unary(g, op):
    g.need(10)
    op = op.split('.')[-1]
    x = g.picture(least=3) if 'Pool' in op else g.pick(rank=(2, 3, 4))
    y, x_scale, x_zero = quantised(g, x, np.uint8)
    scale = g.number(1 / 256 if op in ('QLinearSigmoid', 'QLinearSoftmax') else g.real(0.02, 0.06))
    zero = g.number(0 if op in ('QLinearSigmoid', 'QLinearSoftmax') else 120, np.uint8)
    attributes = {'QLinearLeakyRelu': {'alpha': 0.1}, 'QLinearAveragePool': {'kernel_shape': [3, 3], 'pads': [1, 1, 1, 1]},
                  'QLinearSoftmax': {'axis': -1, 'opset': g.opset}}.get(op, {})
    back(g, g.add(op, [y, x_scale, x_zero, scale, zero], domain=MICROSOFT, **attributes), scale, zero)


@operator('com.microsoft.QLinearConcat')
def qlinear_concat(g, op):
    g.need(10)
    x = g.pick(rank=(2, 3, 4))
    parts = [quantised(g, x, np.uint8), quantised(g, x, np.uint8)]
    scale, zero = g.number(g.real(0.03, 0.06)), g.number(120, np.uint8)
    back(g, g.add('QLinearConcat', [scale, zero] + [name for part in parts for name in part], domain=MICROSOFT, axis=1),
         scale, zero)


@operator('com.microsoft.QuantizeLinear', 'com.microsoft.DequantizeLinear')
def own_quantise(g, op):
    x = g.pick()
    scale, zero = g.number(scale_of(g, x)), g.number(128, np.uint8)
    y = g.add('QuantizeLinear', [x, scale, zero], domain=MICROSOFT)
    g.add('DequantizeLinear', [y, scale, zero], domain=MICROSOFT)


@operator('com.microsoft.QGemm')
def qgemm(g, op):
    g.need(10)
    x = g.pick(rank=2, fits=lambda a: a.size <= 2000)
    y, scale, zero = quantised(g, x, np.uint8)
    out = g.int(1, 9)
    turned = g.int(0, 1)
    shape = (out, g.shape(x)[1]) if turned else (g.shape(x)[1], out)
    weights = signed_weights(g, shape)
    bias = g.constant(g.rng.integers(-300, 300, out), np.int32)
    result_scale, result_zero = g.number(g.real(0.02, 0.06)), g.number(128, np.uint8)
    y = g.add('QGemm', [y, scale, zero, weights, g.number(0.004), g.number(0, np.int8), bias, result_scale, result_zero],
              domain=MICROSOFT, transB=turned, alpha=1.0)
    back(g, y, result_scale, result_zero)


@operator('com.microsoft.DynamicQuantizeMatMul')
def dynamic_matmul(g, op):
    x = g.pick(rank=(2, 3), fits=lambda a: a.size <= 2000)
    out = g.int(1, 9)
    weights = signed_weights(g, (g.shape(x)[-1], out))
    g.add('DynamicQuantizeMatMul', [x, weights, g.number(0.004), g.number(0, np.int8), g.weights((out,), 0.2)],
          domain=MICROSOFT)


@operator('com.microsoft.MatMulIntegerToFloat')
def matmul_to_float(g, op):
    g.need(11)
    x = g.pick(rank=(2, 3), fits=lambda a: a.size <= 2000)
    y, scale, zero = g.add('DynamicQuantizeLinear', [x], 3)
    weights = signed_weights(g, (g.shape(x)[-1], g.int(1, 9)))
    g.add('MatMulIntegerToFloat', [y, weights, scale, g.number(0.004), zero, g.number(0, np.int8)], domain=MICROSOFT)


@operator('com.microsoft.QAttention')
def quantised_attention(g, op):
    x = g.pick(rank=3, fits=lambda a: a.shape[0] == 1 and a.shape[1] >= 2 and 2 <= a.shape[2] <= 64 and a.size <= 2000)
    heads, size = g.choose([1, 2]), g.choose([4, 8])
    y, scale, zero = quantised(g, x, np.uint8)
    weights = signed_weights(g, (g.shape(x)[2], 3 * heads * size))
    g.add('QAttention', [y, weights, g.weights((3 * heads * size,), 0.1), scale, g.number(0.004), '', zero,
                         g.number(g.int(-3, 3), np.int8)], domain=MICROSOFT, num_heads=heads)


@operator('com.microsoft.SkipLayerNormalization')
def skip_norm(g, op):
    x = g.pick(rank=3, fits=lambda a: a.shape[-1] > 3)
    names = g.candidates(lambda a: a.dtype == np.float32 and a.shape == g.array(x).shape)
    size = g.shape(x)[-1]
    g.add('SkipLayerNormalization', [x, g.choose(names), g.between((size,), 0.5, 1.5), g.weights((size,), 0.3)],
          domain=MICROSOFT, epsilon=1e-3)
