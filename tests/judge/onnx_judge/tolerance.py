# SPDX-License-Identifier: Apache-2.0
"""How far a network in binary16 may be from one in FP32.

The device may hold each value and each weight in binary16: a rounding changes it by up to 2**-11 of itself.
The graph is run with every such value multiplied by 1 + s * 2**-11, with s random, of variance 1. The spread of an
output over several runs is then that of a sum of independent errors, each as large as a rounding may be. By
Hoeffding's inequality, a sum of roundings exceeds six spreads once in 3e7. (s is distributed evenly: with two values
only, two equal errors would cancel in half of the runs.) Results of nodes that move or choose elements are not
rounded again. If the noise of a run changes a decision of an operator (a comparison, a rounding, the order of nearly
equal values), the spread is as large as the step, and the element is undecided: such elements are counted."""
import numpy as np
import onnx
from onnx import helper

from .graph import MICROSOFT, make_model, session_of

ROUNDING = 2.0 ** -11
LEAST_ROUNDING = 2.0 ** -25  # for values below the smallest normal number
DRAWS = 12
# Before a difference is reported: at the kink of a ReLU, all of few runs may be on its flat side.
MANY_DRAWS = 100
SPREADS = 6.0
# For outputs with steps: only strong noise shows whether a rounding may push an element over an
# edge.
STRONG = [0.0] + [1.0] * 6 + [4.0] * 8 + [8.0] * 4
# The same noise for a whole tensor: equal values stay equal, which noise of their own would undo,
# and near ones become equal together.
COMMON = [1.0] * 8 + [4.0] * 4

# Operators that move values by one number: what lies on the grid of binary16 before, as inputs do, is then rounded by the
# same amount wherever the steps of the grid are as long. Such roundings do not cancel in a mean.
SHIFTS = {'Add', 'Sub'}

# Operators that return elements of their input unchanged, or whole numbers: nothing is rounded.
EXACT = {'MaxPool', 'Relu', 'Max', 'Min', 'Slice', 'Concat', 'Transpose', 'Reshape', 'Squeeze', 'Unsqueeze', 'Flatten',
         'Split', 'Gather', 'GatherElements', 'GatherND', 'Identity', 'Dropout', 'Clip', 'Neg', 'Abs', 'Where', 'Pad',
         'TopK', 'DepthToSpace', 'SpaceToDepth', 'Expand', 'Tile', 'GlobalMaxPool', 'ReduceMax', 'ReduceMin', 'Round',
         'Floor', 'Ceil', 'Sign', 'Cast', 'CastLike', 'Compress', 'ReverseSequence', 'Trilu', 'MaxUnpool', 'OneHot',
         'Hardmax', 'Upsample'}
# Operators whose output may change by a step if the input changes a little.
STEPS = {'Round', 'Floor', 'Ceil', 'Sign', 'Cast', 'Hardmax', 'Equal', 'Greater', 'Less', 'GreaterOrEqual', 'LessOrEqual',
         'ArgMax', 'ArgMin', 'TopK', 'Mod', 'ThresholdedRelu', 'Shrink', 'QuantizeLinear', 'DynamicQuantizeLinear',
         'QLinearConv', 'QLinearMatMul', 'QLinearAdd', 'QLinearMul', 'QLinearSigmoid', 'QLinearLeakyRelu', 'QLinearConcat',
         'QLinearGlobalAveragePool', 'QLinearAveragePool', 'QLinearSoftmax', 'QGemm', 'GridSample', 'MaxPool',
         'MaxUnpool', 'Not', 'DynamicQuantizeMatMul', 'QAttention'}
# Softmax of large numbers chooses the largest, and is as good as a step; roundings within are not drawn.
CHOICES = {'Attention', 'MultiHeadAttention', 'GroupQueryAttention', 'Softmax'}
# Inputs that are settings rather than operands.
SETTINGS = {'Pow': (1,), 'Clip': (1, 2), 'Resize': (1, 2), 'Upsample': (1,), 'Pad': (2,), 'OneHot': (2,), 'QuantizeLinear': (1,),
            'DequantizeLinear': (1,), 'QLinearConv': (1, 4, 6), 'QLinearMatMul': (1, 4, 6), 'QLinearAdd': (1, 4, 6),
            'QLinearMul': (1, 4, 6), 'QGemm': (1, 4, 7), 'DynamicQuantizeMatMul': (2,), 'MatMulIntegerToFloat': (3,)}


def is_exact(node, g):
    if node.op_type in ('Clip', 'Pad'):
        # Bounds and borders are values, too.
        numbers = [g.constants[n] for n in node.input[1:] if n in g.constants and g.constants[n].dtype == np.float32]
        numbers += [np.float32(a.f) for a in node.attribute if a.name in ('min', 'max', 'value')]
        return all((n == n.astype(np.float16)).all() for n in numbers)
    if node.op_type.startswith('Scatter'):
        return not any(a.name == 'reduction' and a.s != b'none' for a in node.attribute)
    if node.op_type in ('Resize', 'Upsample'):
        modes = [a.s for a in node.attribute if a.name == 'mode']
        return not modes or modes[0] == b'nearest'
    return node.op_type in EXACT


def is_setting(node, at):
    if node.domain == MICROSOFT and node.op_type.startswith('QLinear') and at > 0:
        return True
    return at in SETTINGS.get(node.op_type, ())


# Operators in which two terms cancel, so that FP32 loses digits: a small part of the largest value,
# on both sides.
CANCEL = {'Resize', 'Upsample', 'GridSample', 'Sigmoid', 'Tanh', 'Gelu', 'FastGelu', 'BiasGelu', 'QuickGelu', 'Mish', 'LogSoftmax',
          'Softplus', 'Celu', 'Elu', 'Selu'}
# Operators with weights.
PRODUCTS = {'Conv', 'ConvTranspose', 'Gemm', 'MatMul', 'MatMulNBits', 'FusedConv', 'FusedMatMul'}
# Their gates are sigmoids, which ONNX Runtime rounds to 0 where others have small values.
RECURRENT = {'LSTM', 'GRU', 'RNN'}


def lost_digits(node, g):
    """Returns FP32's error, however small the result is."""
    if node.op_type in RECURRENT:
        return 2.0 ** -22
    if node.op_type == 'DequantizeLinear' and node.input[0] in g.values:
        # With what follows, (q - zero) * scale becomes q * a + b: what is left where both cancel is an error of b.
        # If weights follow, they are multiplied by a, and rounded to binary16, before they meet q.
        weighs = any(other.op_type in PRODUCTS and node.output[0] in other.input for other in g.nodes)
        largest = float(np.abs(g.values[node.input[0]].astype(np.float64)).max()) * float(np.abs(g.array(node.input[1])).max())
        return largest * (ROUNDING if weighs else 2.0 ** -23)
    if node.op_type not in CANCEL:
        return 0.0
    given = g.values[node.input[0]]
    # ONNX Runtime's places between pixels are FP32, too: off by half a unit in the last place of the largest, where
    # neighbours may differ by the largest value.
    places = max(given.shape) if node.op_type in ('Resize', 'Upsample') else 0
    return float(np.abs(given).max()) * 2.0 ** -24 * max(4, places)


# Operators that may be computed in several steps, or with rounded weights: noise on the input
# rather than on the result, which is near zero if terms cancel.
IN_STEPS = {'BatchNormalization', 'AveragePool', 'GlobalAveragePool', 'ReduceMean', 'ReduceSum',
            'LpPool', 'ReduceL1', 'ReduceL2', 'ReduceSumSquare'}


def plain(node, dims_of, per_channel):
    """Returns the nodes of an 8-bit operator as plain ones between DequantizeLinear and QuantizeLinear, because the
    device computes in binary16 between them, and the rounded values among them, as {name: shape}. None for other
    operators."""
    op, given, out = node.op_type, list(node.input), node.output[0]
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    nodes, rounded = [], {}

    def add(kind, inputs, name, shape=None, **more):
        nodes.append(helper.make_node(kind, inputs, [name + '_e' if shape is not None else name], **more))
        if shape is not None:
            rounded[name] = shape
            nodes.append(helper.make_node('Mul', [name + '_e', name + '_n'], [name]))
        return name

    def real(at, stem, **more):
        return add('DequantizeLinear', given[at:at + 3], out + stem, dims_of(given[at]), **more)
    result = out + '_f'
    shape = dims_of(out)
    if op == 'QLinearConv':
        inputs = [real(0, '_a'), real(3, '_b', **({'axis': 0} if per_channel else {}))]
        if len(given) > 8:
            add('Mul', [given[1], given[4]], out + '_s')
            add('Cast', [given[8]], out + '_c', to=1)
            inputs.append(add('Mul', [out + '_c', out + '_s'], out + '_d'))
        add('Conv', inputs, result, shape, **attributes)
        scale, zero = given[6:8]
    elif op in ('QLinearMatMul', 'QLinearAdd', 'QLinearMul'):
        add(op[len('QLinear'):], [real(0, '_a'), real(3, '_b')], result, shape)
        scale, zero = given[6:8]
    elif op == 'QGemm':
        add('Mul', [given[1], given[4]], out + '_s')
        add('Cast', [given[6]], out + '_c', to=1)
        add('Mul', [out + '_c', out + '_s'], out + '_d')
        add('Gemm', [real(0, '_a'), real(3, '_b'), out + '_d'], result, shape, **attributes)
        scale, zero = given[7:9]
    elif op == 'QLinearConcat':
        parts = [real(at, '_%d' % at) for at in range(2, len(given), 3)]
        add('Concat', parts, result, shape, **attributes)
        scale, zero = given[:2]
    elif op.startswith('QLinear'):
        attributes.pop('opset', None)
        add(op[len('QLinear'):], [real(0, '_a')], result, shape, **attributes)
        scale, zero = given[3:5]
    elif op == 'QAttention':
        parts = [add('DequantizeLinear', [given[at], given[3 + at], given[6 + at]], out + '_%d' % at, dims_of(given[at]))
                 for at in (0, 1)]
        add('Attention', parts + [given[2]], out, shape, domain=MICROSOFT, **attributes)
        return nodes, rounded
    elif op == 'MatMulIntegerToFloat':
        parts = [add('DequantizeLinear', [given[at], given[2 + at], given[4 + at]], out + '_%d' % at, dims_of(given[at]))
                 for at in (0, 1)]
        biased = len(given) > 6 and given[6]
        add('MatMul', parts, result if biased else out, shape)
        if biased:
            add('Add', [result, given[6]], out, shape)
        return nodes, rounded
    elif op in ('ConvInteger', 'MatMulInteger'):
        # The project does not round these values to 8 bits: half a quantum of each number is open.
        for at in (0, 1):
            add('Cast', [given[at]], out + '_w%d' % at, to=1)
            add('Cast', [given[2 + at]], out + '_z%d' % at, to=1)
            add('Sub', [out + '_w%d' % at, out + '_z%d' % at], out + '_r%d' % at)
        add('Add', [out + '_r0', out + '_q_n'], out + '_q')
        add(op[:-len('Integer')], [out + '_q', out + '_r1'], result, shape, **attributes)
        add('Round', [result], out + '_i')
        add('Cast', [out + '_i'], out, to=6)
        return nodes, rounded
    else:
        return None
    add('QuantizeLinear', [result, scale, zero], out)
    return nodes, rounded


def weights_of_few_bits(node, g):
    """The matrix that MatMulNBits multiplies with."""
    attributes = {a.name: a.i for a in node.attribute}
    k, n, block = attributes['K'], attributes['N'], attributes['block_size']
    blocks = (k + block - 1) // block

    def numbers(name, row):
        halves = g.constants[name].reshape(n, -1)
        return np.stack([halves & 15, halves >> 4], -1).reshape(n, -1)[:, :row].astype(np.float32)
    zeros = numbers(node.input[3], blocks) if len(node.input) > 3 else np.full((n, blocks), 8, np.float32)
    scales = g.constants[node.input[2]].reshape(n, blocks)
    whole = numbers(node.input[1], blocks * block).reshape(n, blocks, block)
    return ((whole - zeros[..., None]) * scales[..., None]).reshape(n, -1)[:, :k].T.astype(np.float32)


class Noise:
    """Returns the graph with a factor on each value and each constant that may be rounded."""

    def __init__(self, g, outputs, rounds=False):
        """With `rounds`, values are rounded to binary16 where they get a factor."""
        self.g = g
        nodes, self.factors, self.quanta, self.shifted = [], {}, {}, []
        for node in g.nodes:
            copy = onnx.NodeProto()
            copy.CopyFrom(node)
            for i, name in enumerate(node.input):
                if name in g.constants and g.constants[name].dtype == np.float32 and not is_setting(node, i):
                    if name not in self.factors:
                        self.factors[name] = g.constants[name]
                        nodes.append(helper.make_node('Mul', [name, name + '_n'], [name + '_r']))
                    copy.input[i] = name + '_r'
            written = plain(node, g.shape, g.opset >= 13)
            if node.op_type == 'MatMulNBits':
                # The device rounds the numbers that the bits stand for.
                name = node.output[0] + '_w'
                self.factors[name] = weights_of_few_bits(node, g)
                nodes.append(helper.make_node('Constant', [], [name + '_e'],
                                              value=onnx.numpy_helper.from_array(self.factors[name])))
                nodes.append(helper.make_node('Mul', [name + '_e', name + '_n'], [name]))
                copy = helper.make_node('MatMul', [copy.input[0], name], [node.output[0]])
            if written:
                nodes += written[0]
                if node.op_type in ('ConvInteger', 'MatMulInteger'):
                    self.quanta[node.output[0] + '_q'] = g.shape(node.input[0]), 1.0
                self.factors.update({name: np.ones(shape, np.float32) for name, shape in written[1].items()})
                continue
            if node.op_type == 'DynamicQuantizeMatMul':
                # The project does not round these values to 8 bits before the product; ONNX Runtime
                # does.
                name, array = node.output[0] + '_q', g.values[node.input[0]]
                self.quanta[name] = array.shape, (max(array.max(), 0) - min(array.min(), 0)) / 255
                nodes.append(helper.make_node('Add', [copy.input[0], name + '_n'], [name]))
                copy.input[0] = name
            if node.op_type in ('QuantizeLinear', 'DynamicQuantizeLinear') and node.input[0] in g.values:
                # FP32 divides by the scale before it rounds, and halves may round either way.
                name, array = node.output[0] + '_t', g.values[node.input[0]]
                self.quanta[name] = array.shape, float(np.abs(array).max()) * 2.0 ** -21
                nodes.append(helper.make_node('Add', [copy.input[0], name + '_n'], [name]))
                copy.input[0] = name
            if node.op_type in IN_STEPS and node.input[0] in g.values:
                name = node.output[0] + '_in'
                self.factors[name] = g.values[node.input[0]]
                nodes.append(helper.make_node('Mul', [copy.input[0], name + '_n'], [name]))
                copy.input[0] = name
            rounded = [n for n in node.output if n and g.values[n].dtype == np.float32] if not is_exact(node, g) else []
            for i, name in enumerate(node.output):
                if name in rounded:
                    copy.output[i] = name + '_e'
            if node.op_type == 'DynamicQuantizeLinear':
                copy.output[0] += '_e'
            nodes.append(copy)
            for name in rounded:
                self.factors[name] = g.values[name]
                if node.op_type in SHIFTS:
                    self.shifted.append(name)
                whole, lost = name + '_e', lost_digits(node, g)
                if lost:
                    whole = name + '_l'
                    self.quanta[whole] = g.shape(name), lost
                    nodes.append(helper.make_node('Add', [name + '_e', whole + '_n'], [whole]))
                nodes.append(helper.make_node('Mul', [whole, name + '_n'], [name]))
            if node.op_type == 'DynamicQuantizeLinear':
                # The scale may be rounded before the division, because the device may read it.
                nodes.append(helper.make_node('QuantizeLinear', [copy.input[0], *node.output[1:]], [node.output[0]]))
        if rounds:
            nodes = [made for node in nodes for made in self.rounding(node)]
        inputs = g.feeds()
        inputs.update({name + '_n': array for name, array in self.factors.items()})
        inputs.update({name + '_n': np.zeros(shape, np.float32) for name, (shape, _) in self.quanta.items()})
        used = {n for node in nodes for n in node.input}
        constants = {n: a for n, a in g.constants.items() if n in used}
        self.outputs = outputs
        self.session = session_of(make_model(nodes, inputs, {n: None for n in outputs}, constants, g.opset))

    @staticmethod
    def rounding(node):
        """Returns a factor, and the rounding after it."""
        if node.op_type != 'Mul' or not node.input[1].endswith('_n'):
            return [node]
        result = node.output[0]
        return [helper.make_node('Mul', node.input, [result + '_m']),
                helper.make_node('Cast', [result + '_m'], [result + '_h'], to=10),
                helper.make_node('Cast', [result + '_h'], [result], to=1)]

    def draw(self, rng, strength, common=False):
        return self.session.run(self.outputs, self.feeds(rng, strength, common))

    def draw_shifted(self, rng):
        """As draw(), but results of SHIFTS between two powers of two are off by the same amount."""
        feeds = self.feeds(rng, 1.0)
        for name in self.shifted:
            array = self.factors[name].astype(np.float64)
            power = np.frexp(array)[1]
            amount = np.ldexp(rng.uniform(-1, 1, 2048)[power + 1024], power - 12)  # half a step at most
            with np.errstate(divide='ignore', invalid='ignore'):
                feeds[name + '_n'] = np.asarray(np.where(array == 0, 1, 1 + amount / array), np.float32)
        return self.session.run(self.outputs, feeds)

    def feeds(self, rng, strength, common=False):
        feeds = self.g.feeds()
        for name, array in self.factors.items():
            with np.errstate(divide='ignore'):
                size = np.maximum(ROUNDING, np.minimum(LEAST_ROUNDING / np.abs(array), 1.0)) * strength
            spread = rng.uniform(-3 ** 0.5, 3 ** 0.5, () if common else array.shape)
            # Each of these may become zero or stay: signs and quotients tell the difference.
            lost = (np.abs(array) < LEAST_ROUNDING) & (rng.uniform(size=array.shape) < 0.5)
            feeds[name + '_n'] = np.asarray(np.where(lost, 0, 1 + spread * size), np.float32)
        for name, (shape, quantum) in self.quanta.items():
            spread = np.broadcast_to(rng.uniform(-0.9, 0.9, () if common else shape), shape)
            feeds[name + '_n'] = np.asarray(spread * quantum, np.float32)
        return feeds


def in_steps(g, kinds=STEPS):
    return any(node.op_type in kinds for node in g.nodes)


def tolerances(g, outputs, draws=DRAWS):
    """Returns, for each output, how far each element may be from the reference."""
    noise = Noise(g, outputs)
    rng = np.random.default_rng(draws)
    wanted = [g.values[n].astype(np.float64) for n in outputs]
    squares = [np.zeros(w.shape) for w in wanted]
    for _ in range(draws):
        for k, array in enumerate(noise.draw(rng, 1.0)):
            squares[k] += (array.astype(np.float64) - wanted[k]) ** 2
    allowed = [SPREADS * np.sqrt(s / draws) for s in squares]

    def allow(arrays):
        for k, array in enumerate(arrays):
            allowed[k] = np.maximum(allowed[k], 1.5 * np.abs(array.astype(np.float64) - wanted[k]))
    if in_steps(g) or (draws > DRAWS and in_steps(g, CHOICES)):
        # Values that become one number in binary16 are equal more often than noise shows.
        rounding = Noise(g, outputs, rounds=True)
        for strength, common in ([(s, False) for s in STRONG] + [(s, True) for s in COMMON]) * (draws // DRAWS):
            allow(rounding.draw(rng, strength, common))
    if draws > DRAWS and noise.shifted:
        for _ in range(draws):
            allow(noise.draw_shifted(rng))
    # FP32's own error on both sides: sums of some hundred terms.
    return [np.nan_to_num(a, nan=np.inf) + 2.0 ** -22 + 2.0 ** -18 * np.abs(w) for a, w in zip(allowed, wanted)]


UNDECIDED = 0.05  # a larger tolerance, as a share of the largest value, says nothing


def undecided(allowed, wanted):
    """Returns the share of undecided elements."""
    scale = np.abs(wanted).max() if wanted.size else 0
    return float(np.mean(allowed > UNDECIDED * scale + 2.0 ** -14))
