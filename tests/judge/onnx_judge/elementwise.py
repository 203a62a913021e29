# SPDX-License-Identifier: Apache-2.0
"""Functions of one element, and of several at the same place."""
import numpy as np

from .graph import Unfit
from .table import operator


def positive(g, x):
    return g.add('Add', [g.add('Abs', [x]), g.number(g.real(0.3, 1.5))])


def bounded(g, x):
    return g.add('Tanh', [x]) if g.chance(0.5) else g.clip(x, -0.9, 0.9)


def flags(g):
    """Returns a value of booleans, made for the purpose if there is none."""
    names = g.candidates(lambda a: a.dtype == bool)
    if names and g.chance(0.5):
        return g.choose(names)
    x = g.pick()
    return g.add(g.choose(['Greater', 'Less']), [x, g.number(g.real(-0.5, 0.5))])


@operator('Abs', 'Relu', 'Sigmoid', 'Tanh', 'Sin', 'Cos', 'Neg', 'Erf', 'Softplus', 'Softsign', 'Identity', 'Atan',
          'Asinh', 'Sign')
def plain(g, op):
    g.add(op, [g.pick()])


@operator('Relu', 'Sigmoid', 'Tanh')
def plain_again(g, op):
    plain(g, op)


@operator('Floor', 'Ceil', 'Round')
def rounding(g, op):
    x = g.pick()
    g.add(op, [g.add('Mul', [x, g.number(g.real(1, 6))]) if g.chance(0.7) else x])


@operator('Exp', 'Cosh', 'Sinh', 'Tan')
def steep(g, op):
    limit = 1.2 if op == 'Tan' else 4.0
    x = g.pick()
    g.add(op, [x if np.abs(g.array(x)).max() < limit else g.clip(x, -limit, limit)])


@operator('Log', 'Sqrt', 'Reciprocal')
def of_positive(g, op):
    g.add(op, [positive(g, g.pick())])


@operator('Acos', 'Asin', 'Atanh')
def of_bounded(g, op):
    g.add(op, [g.clip(g.pick(), -0.9, 0.9)])


@operator('Acosh')
def acosh(g, op):
    g.add(op, [g.add('Add', [g.add('Abs', [g.pick()]), g.number(1.1)])])


@operator('Elu', 'Celu', 'LeakyRelu', 'ThresholdedRelu', 'Selu', 'HardSigmoid', 'Shrink')
def with_numbers(g, op):
    if op == 'Celu':
        g.need(12)
    names = {'Selu': ['alpha', 'gamma'], 'HardSigmoid': ['alpha', 'beta'], 'Shrink': ['bias', 'lambd']}.get(op, ['alpha'])
    given = {n: g.real(0.1, 1.5) for n in names if g.chance(0.6)}
    if op == 'HardSigmoid' and 'alpha' in given:
        given['alpha'] = g.choose([0.2, 1 / 6, 0.4])
    g.add(op, [g.pick()], **given)


@operator('HardSwish', 'Mish')
def newer(g, op):
    g.need({'HardSwish': 14, 'Mish': 18}[op])
    g.add(op, [g.pick()])


@operator('Gelu')
def gelu(g, op):
    g.need(20)
    g.add(op, [g.pick()], **({'approximate': g.choose(['tanh', 'none'])} if g.chance(0.7) else {}))


@operator('PRelu')
def prelu(g, op):
    x = g.pick()
    shape = g.shape(x)
    forms = [(1,)]
    if len(shape) >= 3:
        forms += [(shape[1],) + (1,) * (len(shape) - 2)] * 3
    if len(shape) >= 1:
        forms += [shape[-1:], shape]
    g.add(op, [x, g.between(g.choose(forms), -0.3, 0.6)])


@operator('Clip')
def clip(g, op):
    x = g.pick()
    form = g.int(0, 5)
    if form == 0:
        g.clip(x, 0.0, 6.0)
    elif form == 1:
        g.clip(x, 0.0, None)
    elif form == 2:
        g.clip(x, None, g.real(-0.2, 1))
    else:
        low = g.real(-1.5, 0.2)
        g.clip(x, low, low + g.real(0.2, 2))


@operator('IsNaN', 'IsInf')
def is_what(g, op):
    g.need({'IsNaN': 9, 'IsInf': 10}[op])
    # Values of graphs are finite, so these operators must find none.
    x = g.pick()
    y = g.add('Cast', [g.add(op, [x])], to=1)
    g.add('Sub', [x, y])


@operator('Not')
def negation(g, op):
    g.add(op, [flags(g)])


@operator('And', 'Or', 'Xor')
def logic(g, op):
    a = flags(g)
    same = g.candidates(lambda v: v.dtype == bool and v.shape == g.array(a).shape)
    b = g.choose(same)
    if b == a or g.chance(0.3):
        b = g.constant(g.rng.random(partner_shape(g, g.shape(a))) < 0.5)
    g.add(op, g.shuffled([a, b]))


def partner_shape(g, shape):
    """Returns a shape that broadcasts with this one, mostly to it."""
    form = g.int(0, 6)
    if form == 0 or not shape:
        return g.choose([(), (1,)])
    if form == 1:
        return shape
    if form == 2 and len(shape) >= 3:
        return (shape[1],) + (1,) * (len(shape) - 2)
    if form == 3 and len(shape) >= 3:
        return (1, shape[1]) + (1,) * (len(shape) - 2)
    if form == 4:
        return shape[-1:]
    if form == 5 and len(shape) < 5:
        wider = (g.int(1, 3) if np.prod(shape) < 300 else 1,) + shape
        return tuple(d if g.chance(0.6) else 1 for d in wider)
    return tuple(d if g.chance(0.5) else 1 for d in shape)


def two(g):
    """Returns two operands that broadcast: two values, or a value and a constant, in any order."""
    a = g.pick()
    shape = g.shape(a)

    def fits(array):
        try:
            return np.prod(np.broadcast_shapes(array.shape, shape)) <= 6000
        except ValueError:
            return False
    others = [n for n in g.candidates(lambda v: v.dtype == np.float32 and fits(v)) if n != a]
    if others and g.chance(0.6):
        alike = [n for n in others if g.shape(n) == shape]
        b = g.choose(alike if alike and g.chance(0.6) else others)
    else:
        b = g.weights(partner_shape(g, shape), 0.7, g.choose([0.0, 0.0, 1.0]))
    return g.shuffled([a, b])


@operator('Add', 'Sub', 'Mul')
def binary(g, op):
    g.add(op, two(g))


@operator('Max', 'Min', 'Mean', 'Sum')
def several(g, op):
    given = two(g)
    if g.chance(0.4):
        given += two(g)[:1]
    elif g.chance(0.1):
        given = given[:1]
    if all(name in g.constants for name in given):
        raise Unfit('constants alone')
    g.add(op, given)


@operator('Div')
def division(g, op):
    a, b = two(g)
    if b in g.constants:
        b = g.between(g.shape(b), 0.4, 2)
    else:
        b = positive(g, b)
    g.add(op, [a, b])


@operator('Pow')
def power(g, op):
    x = g.pick()
    form = g.int(0, 3)
    if form <= 1:
        exponent = g.number(float(g.choose([2, 2, 3, 1, 0])))
        if g.chance(0.3):
            exponent = g.number(g.choose([2, 3]), np.int64)
        g.add(op, [x, exponent])
    elif form == 2:
        g.add(op, [positive(g, x), g.number(g.choose([0.5, -1.0, -0.5, 1.7]))])
    else:
        g.add(op, [positive(g, x), bounded(g, g.pick(fits=lambda a: a.shape == g.shape(x)))])


@operator('Mod')
def modulo(g, op):
    g.need(10)
    if g.chance(0.5):
        x = whole(g)
        g.add(op, [x, g.number(g.choose([2, 3, 5, -3]), np.int64)])
    else:
        g.add(op, [g.pick(), g.number(g.real(0.4, 1.5))], fmod=1)


def whole(g):
    """Returns a value of whole numbers."""
    names = g.candidates(lambda a: a.dtype == np.int64)
    if names and g.chance(0.6):
        return g.choose(names)
    x = g.pick()
    return g.add('Cast', [g.add('Mul', [x, g.number(4.0)])], to=7)


@operator('Equal', 'Greater', 'Less', 'GreaterOrEqual', 'LessOrEqual')
def comparison(g, op):
    g.need(12 if 'Or' in op else 11 if op == 'Equal' else 9)
    form = g.int(0, 3)
    if form == 0:
        x = whole(g)
        g.add(op, [x, g.number(int(np.median(g.array(x))), np.int64)])
    elif form == 1:
        x = g.pick()
        g.add(op, [x, g.add(g.choose(['Relu', 'Abs', 'Identity']), [x])])
    else:
        g.add(op, two(g))


@operator('Where')
def where(g, op):
    g.need(9)
    condition = flags(g)
    shape = g.shape(condition)
    names = g.candidates(lambda a: a.dtype == np.float32 and a.shape == shape)
    if not names:
        raise Unfit('no value of the shape')
    a = g.choose(names)
    b = g.choose(names) if g.chance(0.5) else g.weights(partner_shape(g, shape), 0.7)
    g.add(op, [condition] + g.shuffled([a, b]))


@operator('Cast')
def cast(g, op):
    form = g.int(0, 4)
    if form == 0:
        g.add(op, [flags(g)], to=1)
    elif form == 1:
        g.add(op, [whole(g)], to=1)
    elif form == 2:
        g.add(op, [g.pick()], to=9)
    elif form == 3:
        g.add(op, [g.add(op, [g.pick()], to=g.choose([6, 7]))], to=1)
    else:
        # To 16 bits and back to 32.
        g.add(op, [g.add(op, [g.pick()], to=10)], to=1)


@operator('CastLike')
def cast_like(g, op):
    g.need(15)
    g.add(op, [flags(g), g.pick()])


@operator('Dropout')
def dropout(g, op):
    g.add(op, [g.pick()])
