# SPDX-License-Identifier: Apache-2.0
"""Graphs in the shapes of public networks that are no YOLO, as PyTorch's exporter writes them, with seeded weights.

deit_tiny(), swin_tiny() and ppocr_v4_rec() return an ONNX model each. Shapes are those of the papers: Touvron et al.
2021 (arXiv:2012.12877), Liu et al. 2021 (arXiv:2103.14030), and PaddleOCR's configuration of the recogniser of
PP-OCRv4's mobile models: PP-LCNetV3 of width 0.95, and two blocks of SVTR (arXiv:2205.00159)."""
import numpy as np
from onnx import TensorProto, helper
from yolo_graphs import Builder, Export


class Network(Builder):
    """Nodes on values, which are (name, channels) of a picture, or a name and a width of rows of numbers."""

    def __init__(self, seed):
        super().__init__(Export(seed=seed))

    def weights(self, *shape, spread=1.0, middle=0.0):
        return self.constant(self.random.normal(middle, spread, shape).astype(np.float32))

    def linear(self, x, inputs, outputs, gain=1.0):
        product = self.node('MatMul', x, self.weights(inputs, outputs, spread=gain / np.sqrt(inputs)))
        return self.node('Add', self.weights(outputs, spread=0.02), product)

    def norm(self, x, width, epsilon=1e-6):
        return self.node('LayerNormalization', x, self.weights(width, spread=0.1, middle=1),
                         self.weights(width, spread=0.1), axis=-1, epsilon=epsilon)

    def gelu(self, x):
        whole = self.node('Add', self.node('Erf', self.node('Div', x, self.scalar(np.sqrt(2)))), self.scalar(1))
        return self.node('Mul', self.node('Mul', x, whole), self.scalar(0.5))

    def reshape(self, x, *shape):
        return self.node('Reshape', x, self.ints(*shape))

    def transpose(self, x, *order):
        return self.node('Transpose', x, perm=list(order))

    def patches(self, size, width):
        """Squares of `size` pixels, each as `width` numbers: (1, width, h, w)."""
        return self.node('Conv', 'images', self.weights(width, 3, size, size, spread=1 / np.sqrt(3 * size * size)),
                         self.weights(width, spread=0.02), kernel_shape=[size, size], strides=[size, size])

    def rows(self, picture, width, places):
        """A picture (1, width, h, w) as (1, places, width)."""
        return self.transpose(self.reshape(picture, 1, width, places), 0, 2, 1)

    def attention(self, x, batch, tokens, width, heads, biases=()):
        """Of `batch` sequences by themselves. `biases` are added to the scores, one after the other, each with the
        shape in which it is added."""
        size = width // heads
        three = self.reshape(self.linear(x, width, 3 * width), batch, tokens, 3, heads, size)
        three = self.transpose(three, 2, 0, 3, 1, 4)
        q, k, v = [self.node('Gather', three, self.constant(np.array(i, np.int64)), axis=0) for i in range(3)]
        q = self.node('Mul', q, self.scalar(size ** -0.5))
        scores = self.node('MatMul', q, self.transpose(k, 0, 1, 3, 2))
        for bias, shape in biases:
            if shape:
                scores = self.reshape(scores, *shape)
            scores = self.node('Add', scores, bias)
            if shape:
                scores = self.reshape(scores, batch, heads, tokens, tokens)
        mixed = self.node('MatMul', self.node('Softmax', scores, axis=-1), v)
        mixed = self.reshape(self.transpose(mixed, 0, 2, 1, 3), batch, tokens, width)
        return self.linear(mixed, width, width)

    def mlp(self, x, width, ratio, curve):
        return self.linear(curve(self.linear(x, width, ratio * width)), ratio * width, width)

    def model(self, height, width, result):
        self.node('Identity', result)
        self.nodes[-1].output[0] = 'output'
        images = helper.make_tensor_value_info('images', TensorProto.FLOAT, [1, 3, height, width])
        output = helper.make_tensor_value_info('output', TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, 'main_graph', [images], [output], self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8)


def deit_tiny():
    n, width, heads, tokens = Network(1), 192, 3, 197
    patches = n.patches(16, width)
    x = n.node('Concat', n.weights(1, 1, width, spread=0.1), n.rows(patches, width, tokens - 1), axis=1)
    x = n.node('Add', x, n.weights(1, tokens, width, spread=0.1))
    for _ in range(12):
        x = n.node('Add', x, n.attention(n.norm(x, width), 1, tokens, width, heads))
        x = n.node('Add', x, n.mlp(n.norm(x, width), width, 4, n.gelu))
    first = n.node('Gather', n.norm(x, width), n.constant(np.array(0, np.int64)), axis=1)
    weights, offsets = n.weights(1000, width, spread=width ** -0.5), n.weights(1000, spread=0.02)
    return n.model(224, 224, n.node('Gemm', first, weights, offsets, transB=1))


WINDOW = 7


def shifted_apart(side, shift):
    """Swin's mask: pixels that the shift made neighbours do not see each other. (windows, 49, 49)"""
    part = np.zeros((side, side))
    for i, rows in enumerate((slice(0, -WINDOW), slice(-WINDOW, -shift), slice(-shift, None))):
        for j, columns in enumerate((slice(0, -WINDOW), slice(-WINDOW, -shift), slice(-shift, None))):
            part[rows, columns] = 3 * i + j
    windows = part.reshape(side // WINDOW, WINDOW, -1, WINDOW).transpose(0, 2, 1, 3).reshape(-1, WINDOW ** 2)
    return np.where(windows[:, None] != windows[:, :, None], -100.0, 0.0)


def roll(n, x, by):
    for axis in (1, 2):
        most = np.iinfo(np.int64).max
        x = n.node('Concat', n.slice(x, by, most, axis), n.slice(x, 0, by, axis), axis=axis)
    return x


def swin_block(n, x, side, width, heads, shift):
    """x: (1, side * side, width)."""
    tokens, across = WINDOW ** 2, side // WINDOW
    y = n.reshape(n.norm(x, width, 1e-5), 1, side, side, width)
    y = roll(n, y, shift) if shift else y
    y = n.transpose(n.reshape(y, 1, across, WINDOW, across, WINDOW, width), 0, 1, 3, 2, 4, 5)
    y = n.reshape(y, across ** 2, tokens, width)
    biases = [(n.weights(1, heads, tokens, tokens, spread=0.5), None)]
    if shift:
        apart = shifted_apart(side, shift)[None, :, None].astype(np.float32)
        biases.append((n.constant(apart), (1, across ** 2, heads, tokens, tokens)))
    y = n.attention(y, across ** 2, tokens, width, heads, biases)
    y = n.transpose(n.reshape(y, 1, across, across, WINDOW, WINDOW, width), 0, 1, 3, 2, 4, 5)
    y = n.reshape(y, 1, side, side, width)
    y = roll(n, y, -shift) if shift else y
    x = n.node('Add', x, n.reshape(y, 1, side ** 2, width))
    return n.node('Add', x, n.mlp(n.norm(x, width, 1e-5), width, 4, n.gelu))


def merged(n, x, side, width):
    """Each 2x2 pixels' numbers beside each other, halved: (1, side * side / 4, 2 * width)."""
    x = n.reshape(x, 1, side, side, width)
    most = np.iinfo(np.int64).max
    quarters = [n.node('Slice', x, n.ints(row, column), n.ints(most, most), n.ints(1, 2), n.ints(2, 2))
                for row, column in ((0, 0), (1, 0), (0, 1), (1, 1))]
    y = n.reshape(n.node('Concat', *quarters, axis=-1), 1, side ** 2 // 4, 4 * width)
    weights = n.weights(4 * width, 2 * width, spread=(4 * width) ** -0.5)
    return n.node('MatMul', n.norm(y, 4 * width, 1e-5), weights)


def swin_tiny():
    n, side, width = Network(2), 56, 96
    x = n.norm(n.rows(n.patches(4, width), width, side ** 2), width, 1e-5)
    for stage, (depth, heads) in enumerate(zip((2, 2, 6, 2), (3, 6, 12, 24))):
        if stage > 0:
            x = merged(n, x, side, width)
            side, width = side // 2, 2 * width
        for block in range(depth):
            x = swin_block(n, x, side, width, heads, WINDOW // 2 if block % 2 and side > WINDOW else 0)
    x = n.node('ReduceMean', n.norm(x, width, 1e-5), axes=[1], keepdims=0)
    weights, offsets = n.weights(1000, width, spread=width ** -0.5), n.weights(1000, spread=0.02)
    return n.model(224, 224, n.node('Gemm', x, weights, offsets, transB=1))


def affine(n, x):
    return n.node('Add', n.node('Mul', n.scalar(1.1), x), n.scalar(0.05))


def lcnet_layer(n, x, channels, k, stride, groups):
    """A convolution, a learnt scale and shift, and (unless both strides are 2) hard-swish with another one."""
    y = affine(n, n.plain_conv(x, channels, k, stride, groups, gain=1.1)[0])
    return (y if stride == (2, 2) else affine(n, n.node('HardSwish', y))), channels


def squeezed(n, x):
    channels = x[1]
    y = n.node('GlobalAveragePool', x[0])
    y = n.node('Relu', n.plain_conv((y, channels), channels // 4, gain=0.5)[0])
    y = n.node('HardSigmoid', n.plain_conv((y, channels // 4), channels, gain=0.5)[0], alpha=1 / 6, beta=0.5)
    return n.node('Mul', x[0], y), channels


def svtr_conv(n, x, channels, k=1):
    return n.swish(n.plain_conv(x, channels, (1, k), gain=1.5)[0]), channels


def svtr_neck(n, x, places):
    """Two blocks that look at all places of a line, beside what comes in."""
    width, depth, heads = 120, 2, 8
    y = n.rows(svtr_conv(n, svtr_conv(n, x, x[1] // 8, 3), width)[0], width, places)
    for _ in range(depth):
        y = n.node('Add', y, n.attention(n.norm(y, width), 1, places, width, heads))
        y = n.node('Add', y, n.mlp(n.norm(y, width), width, 2, n.swish))
    y = n.transpose(n.reshape(n.norm(y, width), 1, 1, places, width), 0, 3, 1, 2)
    y = n.concat([x, svtr_conv(n, (y, width), x[1])])
    return svtr_conv(n, svtr_conv(n, y, x[1] // 8, 3), width)


def ppocr_v4_rec():
    n, classes = Network(3), 6625
    blocks = [(3, 32, (1, 1), False), (3, 64, (1, 1), False), (3, 64, (1, 1), False), (3, 128, (2, 1), False),
              (3, 128, (1, 1), False), (3, 240, (1, 2), False)] + [(5, 240, (1, 1), False)] * 4 + [
              (5, 480, (2, 1), True), (5, 480, (1, 1), True), (5, 480, (2, 1), False), (5, 480, (1, 1), False)]
    x = n.plain_conv(('images', 3), 16, 3, 2)
    for k, channels, stride, squeeze in blocks:
        x = lcnet_layer(n, x, x[1], k, stride, x[1])
        x = squeezed(n, x) if squeeze else x
        x = lcnet_layer(n, x, channels, 1, (1, 1), 1)
    places = 320 // 8
    x = n.node('AveragePool', x[0], kernel_shape=[3, 2], strides=[3, 2]), x[1]
    x, width = svtr_neck(n, x, places)
    rows = n.transpose(n.node('Squeeze', x, n.ints(2)), 0, 2, 1)
    return n.model(48, 320, n.node('Softmax', n.linear(rows, width, classes, gain=3.0), axis=2))


NETWORKS = {'deit_tiny': deit_tiny, 'swin_tiny': swin_tiny, 'ppocr_v4_rec': ppocr_v4_rec}
