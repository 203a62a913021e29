# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements, reduce groups of them, or look them up."""
import numpy as np

from .graph import Unfit, factors
from .table import operator
from .elementwise import whole


@operator('Concat')
def concat(g, op):
    x = g.pick(rank=(1, 2, 3, 4, 4, 4, 5))
    axis = g.int(0, g.rank(x) - 1) if g.rank(x) != 4 or g.chance(0.3) else 1
    shape = g.shape(x)

    def fits(a):
        return a.dtype == np.float32 and a.ndim == len(shape) and all(
            p == q for i, (p, q) in enumerate(zip(a.shape, shape)) if i != axis)
    names = g.candidates(fits)
    parts = [x] + [g.choose(names) for _ in range(g.int(1, 3))]
    if g.chance(0.1):
        wide = list(shape)
        wide[axis] = g.int(1, 9)
        parts.append(g.weights(tuple(wide), 0.7))
    g.add(op, g.shuffled(parts), axis=axis if g.chance(0.7) else axis - len(shape))


@operator('DepthToSpace')
def depth_to_space(g, op):
    block = g.choose([2, 2, 3])
    x = g.picture(fits=lambda a: a.shape[1] % (block * block) == 0)
    mode = {'mode': g.choose(['DCR', 'CRD'])} if g.opset >= 11 and g.chance(0.7) else {}
    g.add(op, [x], blocksize=block, **mode)


@operator('SpaceToDepth')
def space_to_depth(g, op):
    block = g.choose([2, 2, 3])
    x = g.picture(fits=lambda a: a.shape[2] % block == 0 and a.shape[3] % block == 0)
    g.add(op, [x], blocksize=block)


@operator('Expand')
def expand(g, op):
    x = g.pick(fits=lambda a: 1 in a.shape and a.size <= 500)
    dims = [g.int(1, 5) if d == 1 and g.chance(0.6) else g.choose([d, 1]) for d in g.shape(x)]
    if g.chance(0.3) and len(dims) < 5:
        dims.insert(0, g.int(1, 3))
    g.add(op, [x, g.ints(dims)])


@operator('Flatten')
def flatten(g, op):
    x = g.pick(rank=(1, 2, 3, 4, 5))
    g.add(op, [x], **({'axis': g.int(0, g.rank(x))} if g.chance(0.6) else {}))


@operator('Reshape')
def reshape(g, op):
    x = g.pick()
    dims = factors(g, int(np.prod(g.shape(x))), g.int(1, 5))
    if g.rank(x) == 4 and g.chance(0.4):
        n, c, h, w = g.shape(x)
        dims = g.choose([[n, c, h * w], [n, c, -1], [0, 0, -1], [n, c * h, w], [n, -1, h, w], [c, h, w], [n, 1, c, h, w]])
    elif g.chance(0.3):
        dims[g.int(0, len(dims) - 1)] = -1
    g.reshape(x, dims)


@operator('Squeeze')
def squeeze(g, op):
    x = g.pick(fits=lambda a: 1 in a.shape and a.ndim > 1)
    ones = [i for i, d in enumerate(g.shape(x)) if d == 1]
    if g.chance(0.3):
        g.squeeze(x, None)
    else:
        axes = g.shuffled(ones)[:g.int(1, len(ones))]
        g.squeeze(x, [a - g.rank(x) if g.opset >= 11 and g.chance(0.3) else a for a in axes])


@operator('Unsqueeze')
def unsqueeze(g, op):
    x = g.pick(rank=(1, 2, 3, 4))
    count = g.int(1, min(2, 5 - g.rank(x)))
    total = g.rank(x) + count
    axes = g.shuffled(list(range(total)))[:count]
    g.unsqueeze(x, [a - total if g.opset >= 11 and g.chance(0.3) else a for a in axes])


@operator('Transpose')
def transpose(g, op):
    x = g.pick(rank=(2, 3, 4, 4, 5))
    if g.rank(x) == 4 and g.chance(0.5):
        order = g.choose([[0, 2, 3, 1], [0, 3, 1, 2], [0, 1, 3, 2], [0, 3, 2, 1]])
    else:
        order = g.shuffled(list(range(g.rank(x))))
    g.transpose(x, order)


@operator('Slice')
def slices(g, op):
    x = g.pick(fits=lambda a: a.ndim >= 1 and max(a.shape) > 1)
    axes = g.shuffled([i for i, d in enumerate(g.shape(x)) if d > 1])[:g.int(1, 2)]
    starts, ends, steps = [], [], []
    for axis in axes:
        d = g.shape(x)[axis]
        start = g.int(0, d // 2)
        step, end = g.choose([1, 1, 1, 2, 2, 3]), g.choose([d, 2 ** 31 - 1, 2 ** 63 - 1, g.int(start + 1, d), -1 if start < d - 1 else d])
        if g.chance(0.2):
            start -= d
        starts.append(start)
        ends.append(end)
        steps.append(step)
    if g.opset >= 10 and all(s == 1 for s in steps) and g.chance(0.5):
        steps = None
    if g.chance(0.2):
        axes = [a - g.rank(x) for a in axes]
    g.slice(x, starts, ends, axes, steps)


@operator('Slice')
def flip(g, op):
    g.need(10)
    x = g.pick(rank=(1, 2, 3, 4, 4))
    axis = g.int(0, g.rank(x) - 1)
    d = g.shape(x)[axis]
    if g.chance(0.7):
        start, end = g.choose([(-1, -2 ** 31), (d - 1, -d - 1), (-1, -2 ** 62)])
        g.slice(x, [start], [end], [axis], [g.choose([-1, -1, -1, -2])])
    else:
        g.slice(x, [g.int(d // 2, d - 1)], [g.int(-d - 1, -d // 2 - 1)], [axis], [g.choose([-1, -1, -3])])


@operator('Split')
def split(g, op):
    x = g.pick(fits=lambda a: a.ndim >= 1 and max(a.shape) > 1)
    axis = g.choose([i for i, d in enumerate(g.shape(x)) if d > 1])
    d = g.shape(x)[axis]
    equal = [n for n in range(2, 5) if d % n == 0]
    if equal and g.chance(0.5):
        g.split(x, g.choose(equal), axis)
        return
    first = g.int(1, d - 1)
    sizes = [first, d - first]
    if sizes[1] > 1 and g.chance(0.5):
        second = g.int(1, sizes[1] - 1)
        sizes[1:] = [second, sizes[1] - second]
    g.split(x, sizes, axis if g.opset < 11 or g.chance(0.7) else axis - g.rank(x))


@operator('Pad')
def pad(g, op):
    x = g.pick(rank=(1, 2, 3, 4, 4, 4))
    rank = g.rank(x)
    axes = range(2, 4) if rank == 4 and g.chance(0.8) else range(rank)
    mode = g.choose(['constant'] * 4 + ['edge', 'reflect'] + (['wrap'] if g.opset >= 19 else []))
    pads = [0] * (2 * rank)
    for a in axes:
        for at in (a, a + rank):
            most = 3 if mode == 'constant' else min(3, g.shape(x)[a] - 1)
            pads[at] = g.int(0, most) if most > 0 and g.chance(0.7) else 0
    if mode == 'constant' and g.opset >= 11 and g.chance(0.1):
        pads[g.choose(list(axes))] = -1
    g.pad(x, pads, mode, g.choose([0.0, 0.0, 0.0, 1.0, -2.0]) if mode == 'constant' else 0.0)


@operator('Tile')
def tile(g, op):
    x = g.pick(fits=lambda a: a.size <= 1500)
    g.add(op, [x, g.ints([g.choose([1, 1, 2, 3]) for _ in g.shape(x)])])


@operator('Shape', 'Size')
def shapes(g, op):
    # Whole numbers that are known at conversion and decide the size of results.
    x = g.pick(rank=(2, 3, 4))
    if op == 'Size':
        size = g.add('Cast', [g.add(op, [x])], to=1)
        g.add('Mul', [g.add('Div', [x, size]), g.number(float(np.prod(g.shape(x))))])
        return
    dims = g.add(op, [x])
    first = g.add('Gather', [dims, g.ints([0])], axis=0)
    joined = g.add('Concat', [first, g.ints([-1])], axis=0)
    g.add('Reshape', [x, joined])


@operator('ReduceL1', 'ReduceL2', 'ReduceLogSumExp', 'ReduceMax', 'ReduceMean', 'ReduceMin', 'ReduceSum',
          'ReduceSumSquare')
def reduce(g, op):
    x = g.pick(rank=(1, 2, 3, 4, 4, 5))
    rank = g.rank(x)
    axes = g.shuffled(list(range(rank)))[:g.int(1, min(3, rank))]
    if g.opset >= 11 and g.chance(0.3):
        axes = [a - rank for a in axes]
    y = g.reduce(op, x, axes if g.chance(0.9) else None, g.int(0, 1)) if op != 'ReduceSumSquare' or g.chance(0.5) else \
        g.reduce(op, g.add('Mul', [x, g.number(0.3)]), axes, 1)
    return y


@operator('ReduceLogSum', 'ReduceProd')
def reduce_positive(g, op):
    x = g.pick(rank=(1, 2, 3, 4))
    axis = g.int(0, g.rank(x) - 1)
    near_one = g.add('Add', [g.add('Mul', [g.add('Tanh', [x]), g.number(0.2)]), g.number(1.0)])
    g.reduce(op, near_one, [axis], g.int(0, 1))


@operator('ArgMax', 'ArgMin')
def arg_reduce(g, op):
    x = g.pick(rank=(1, 2, 3, 4))
    attributes = {'axis': g.int(-g.rank(x) if g.opset >= 11 else 0, g.rank(x) - 1), 'keepdims': g.int(0, 1)}
    if g.opset >= 12 and g.chance(0.3):
        attributes['select_last_index'] = 1
    y = g.add(op, [x], **attributes)
    if g.chance(0.5):
        g.add('Cast', [y], to=1)


@operator('CumSum')
def cum_sum(g, op):
    g.need(11)
    x = g.pick(rank=(1, 2, 3, 4), fits=lambda a: max(a.shape) <= 40)
    axis = g.number(g.int(-g.rank(x), g.rank(x) - 1), np.int64)
    attributes = {name: 1 for name in ('exclusive', 'reverse') if g.chance(0.3)}
    g.add(op, [x, axis], **attributes)


@operator('TopK')
def top_k(g, op):
    g.need(10)
    x = g.pick(rank=(1, 2, 3, 4), fits=lambda a: max(a.shape) > 1)
    axis = g.choose([i for i, d in enumerate(g.shape(x)) if d > 1])
    k = g.int(1, min(10, g.shape(x)[axis]))
    attributes = {'axis': axis}
    if g.opset >= 11 and g.chance(0.4):
        attributes['largest'] = 0
    values, places = g.add(op, [x, g.ints([k])], 2, **attributes)
    if g.chance(0.3) and g.rank(x) >= 1 and g.opset >= 11:
        g.add('GatherElements', [x, places], axis=axis)
    return values


@operator('Gather')
def gather(g, op):
    x = g.pick(rank=(1, 2, 3, 4))
    axis = g.int(0, g.rank(x) - 1)
    d = g.shape(x)[axis]
    shape = g.choose([(), (1,), (g.int(1, 5),), (2, 2)])
    low = -d if g.opset >= 11 and g.chance(0.3) else 0
    places = g.rng.integers(low, d, shape)
    if g.chance(0.25):
        table = g.weights((g.int(4, 12), g.int(1, 6)), 0.7)
        index = g.add('Mod', [g.add('Abs', [whole(g)]), g.number(g.shape(table)[0], np.int64)]) if g.opset >= 10 else None
        if index is None or np.prod(g.shape(index)) > 200 or g.rank(index) > 3:
            raise Unfit('too many indices')
        g.add(op, [table, index], axis=0)
        return
    g.add(op, [x, g.constant(places, np.int64)], axis=axis)


@operator('GatherElements')
def gather_elements(g, op):
    g.need(11)
    x = g.pick(rank=(1, 2, 3, 4), fits=lambda a: a.size <= 3000)
    axis = g.int(0, g.rank(x) - 1)
    shape = list(g.shape(x))
    shape[axis] = g.int(1, shape[axis] + 2)
    d = g.shape(x)[axis]
    g.add(op, [x, g.constant(g.rng.integers(-d if g.chance(0.3) else 0, d, shape), np.int64)], axis=axis)


@operator('GatherND')
def gather_nd(g, op):
    g.need(11)
    x = g.pick(rank=(2, 3, 4), fits=lambda a: a.size <= 3000)
    batch = 1 if g.opset >= 12 and g.chance(0.3) else 0
    depth = g.int(1, g.rank(x) - batch)
    count = g.int(1, 5)
    places = np.stack([g.rng.integers(0, d, count) for d in g.shape(x)[batch:batch + depth]], -1)
    if batch:
        places = np.stack([places] * g.shape(x)[0])
    g.add(op, [x, g.constant(places, np.int64)], **({'batch_dims': 1} if batch else {}))


@operator('Compress')
def compress(g, op):
    g.need(9)
    x = g.pick(rank=(1, 2, 3, 4))
    axis = g.int(0, g.rank(x) - 1)
    keep = g.rng.random(g.shape(x)[axis]) < 0.6
    keep[0] = True
    g.add(op, [x, g.constant(keep)], axis=axis)


@operator('OneHot')
def one_hot(g, op):
    g.need(11)
    x = g.pick(rank=(1, 2, 3), fits=lambda a: a.size <= 2000)
    places = g.add('ArgMax', [x], axis=g.rank(x) - 1, keepdims=0)
    g.add(op, [places, g.number(g.shape(x)[-1], np.int64), g.constant(np.array([0.0, 1.0], np.float32))],
          axis=g.choose([-1, 0]))


def scatter_input(g):
    x = g.pick(rank=(1, 2, 3, 4), fits=lambda a: a.size <= 3000)
    return x, g.int(0, g.rank(x) - 1)


@operator('ScatterElements', 'Scatter')
def scatter_elements(g, op):
    if op == 'Scatter' and not 9 <= g.opset <= 10:
        raise Unfit('Scatter is of opsets 9 and 10')
    if op != 'Scatter':
        g.need(11)
    x, axis = scatter_input(g)
    shape = list(g.shape(x))
    shape[axis] = g.int(1, shape[axis])
    # Each place once, because the order of duplicates is not defined.
    places = np.argsort(g.rng.random(g.shape(x)), axis=axis).take(range(shape[axis]), axis=axis)
    attributes = {'axis': axis}
    if g.opset >= 18 and g.chance(0.4):
        attributes['reduction'] = g.choose(['add', 'mul', 'max', 'min'])
    elif g.opset >= 16 and g.chance(0.3):
        attributes['reduction'] = g.choose(['add', 'mul'])
    g.add(op, [x, g.constant(places, np.int64), g.weights(tuple(shape), 0.7)], **attributes)


@operator('ScatterND')
def scatter_nd(g, op):
    g.need(11)
    x, _ = scatter_input(g)
    depth = g.int(1, g.rank(x))
    all_places = np.stack(np.meshgrid(*[range(d) for d in g.shape(x)[:depth]], indexing='ij'), -1).reshape(-1, depth)
    count = g.int(1, min(6, len(all_places)))
    places = all_places[g.rng.permutation(len(all_places))[:count]]
    updates = g.weights((count,) + g.shape(x)[depth:], 0.7)
    attributes = {'reduction': g.choose(['add', 'mul'])} if g.opset >= 16 and g.chance(0.3) else {}
    g.add(op, [x, g.constant(places, np.int64), updates], **attributes)


@operator('Trilu')
def trilu(g, op):
    g.need(14)
    x = g.pick(rank=(2, 3, 4))
    inputs = [x] + ([g.number(g.int(-2, 2), np.int64)] if g.chance(0.5) else [])
    g.add(op, inputs, upper=g.int(0, 1))


@operator('ReverseSequence')
def reverse_sequence(g, op):
    g.need(10)
    x = g.pick(rank=(2, 3, 4), fits=lambda a: a.size <= 4000)
    batch = g.int(0, 1)
    lengths = g.rng.integers(1, g.shape(x)[1 - batch] + 1, g.shape(x)[batch])
    g.add(op, [x, g.ints(lengths)], batch_axis=batch, time_axis=1 - batch)


@operator('Resize')
def resize(g, op):
    g.need(11)
    x = g.picture()
    n, c, h, w = g.shape(x)
    mode = g.choose(['nearest', 'nearest', 'linear', 'linear', 'cubic'])
    attributes = {'mode': mode}
    transforms = ['half_pixel', 'asymmetric', 'align_corners', 'pytorch_half_pixel']
    attributes['coordinate_transformation_mode'] = g.choose(transforms)
    if mode == 'nearest':
        attributes['nearest_mode'] = g.choose(['floor', 'ceil', 'round_prefer_floor', 'round_prefer_ceil'])
    if mode == 'cubic' and g.chance(0.3):
        attributes['cubic_coeff_a'] = g.choose([-0.5, -0.75])
    roi = '' if g.opset >= 13 or g.chance(0.5) else g.constant(np.zeros(0, np.float32))
    if g.chance(0.6):
        scale = g.choose([2.0, 2.0, 0.5, 3.0, 4.0])
        scales = [1, 1, scale, scale] if g.chance(0.8) else [1, 1, g.choose([1.0, 2.0, 1.5]), g.choose([1.0, 2.0, 0.5])]
        # ONNX and ONNX Runtime disagree on the corners of a size that is not whole.
        if attributes['coordinate_transformation_mode'] == 'align_corners' and (h * scales[2] % 1 or w * scales[3] % 1):
            raise Unfit('half a pixel is left')
        g.add(op, [x, roi, g.constant(scales, np.float32)], **attributes)
    else:
        sizes = [n, c, g.int(max(1, h // 2), 2 * h), g.int(max(1, w // 2), 2 * w)]
        if mode == 'nearest':
            # In other modes, halves that are not exact in binary may round either way.
            sizes = [n, c, h * g.int(1, 2), w * g.int(1, 2)]
        scales = '' if g.opset >= 13 or g.chance(0.5) else g.constant(np.zeros(0, np.float32))
        g.add(op, [x, roi, scales, g.ints(sizes)], **attributes)


@operator('Upsample')
def upsample(g, op):
    if not 9 <= g.opset <= 9:
        raise Unfit('Upsample is of opset 9')
    x = g.picture()
    scales = [1, 1, g.choose([1.0, 2.0, 3.0]), g.choose([1.0, 2.0])]
    g.add(op, [x, g.constant(scales, np.float32)], mode=g.choose(['nearest', 'nearest', 'linear']))


@operator('GridSample')
def grid_sample(g, op):
    g.need(16)
    x = g.picture(fits=lambda a: a.size <= 4000)
    n = g.shape(x)[0]
    rows, columns = g.int(1, 8), g.int(1, 8)
    modes = ['linear', 'nearest', 'cubic'] if g.opset >= 20 else ['bilinear', 'nearest', 'bicubic']
    # Places that the network computes, or constants.
    grid = g.between((n, rows, columns, 2), -1.2, 1.2)
    if g.chance(0.4):
        count = rows * columns * 2
        source = g.pick(fits=lambda a: a.size >= count)
        flat = g.slice(g.reshape(source, [-1]), [0], [count], [0])
        grid = g.add('Tanh', [g.reshape(flat, [n, rows, columns, 2])])
    g.add(op, [x, grid], mode=g.choose(modes[:2] if g.chance(0.8) else modes),
          padding_mode=g.choose(['zeros', 'border', 'reflection']), align_corners=g.int(0, 1))
