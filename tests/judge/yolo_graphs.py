# SPDX-License-Identifier: Apache-2.0
"""Graphs as exporters of YOLO v8 to v12 and 26 write them: their blocks, shapes and constants, with seeded weights.

graph(Export(...)) is an ONNX model. Widths are those of the smallest models ("n")."""
import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NAMES = 'person bicycle car motorcycle airplane bus train truck boat light'.split()


@dataclasses.dataclass
class Export:
    family: str = 'v8'  # v8, v11, v10, v26
    task: str = 'detect'  # segment, pose, obb, classify
    width: int = 320
    height: int = 320
    classes: int = 80
    opset: int = 17
    nms: bool = False
    dynamic: bool = False
    half: bool = False
    raw: str = ''  # 'joined', 'apart': heads before boxes are decoded
    transposed: bool = False
    metadata: bool = True
    seed: int = 1
    bias: float = -8.0  # of class scores; and their spread
    gain: float = 3.0

    @property
    def end_to_end(self):
        return self.family in ('v10', 'v26')


def pair(number):
    return list(number) if isinstance(number, tuple) else [number, number]


class Builder:
    def __init__(self, export):
        self.export = export
        self.random = np.random.default_rng(export.seed)
        self.nodes, self.tensors, self.count = [], [], 0
        self.real = np.float16 if export.half else np.float32

    def constant(self, array, name=''):
        name = name or 'constant%d' % len(self.tensors)
        self.tensors.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def scalar(self, value):
        return self.constant(np.array(value, self.real))

    def node(self, kind, *inputs, outputs=1, **attributes):
        self.count += 1
        names = ['/%s_%d_output_%d' % (kind, self.count, k) for k in range(outputs)]
        self.nodes.append(helper.make_node(kind, [i for i in inputs], names, name='/%s_%d' % (kind, self.count), **attributes))
        return names[0] if outputs == 1 else names

    # --- blocks ----------------------------------------------------------------------------------

    def plain_conv(self, x, channels, k=1, stride=1, groups=1, gain=1.7, bias=0.0):
        """`k` and `stride` are one number, or one for rows and one for columns."""
        x, inputs = x
        own, k, strides = inputs // groups, pair(k), pair(stride)
        weights = self.random.normal(0, gain / np.sqrt(own * k[0] * k[1]), (channels, own, *k))
        offsets = self.random.normal(bias, 0.1, channels)
        y = self.node('Conv', x, self.constant(weights.astype(self.real)), self.constant(offsets.astype(self.real)),
                      dilations=[1, 1], group=groups, kernel_shape=k, pads=[side // 2 for side in k] * 2, strides=strides)
        return y, channels

    def swish(self, x):
        return self.node('Mul', x, self.node('Sigmoid', x))

    def conv(self, x, channels, k=1, stride=1, groups=1, act=True):
        y = self.plain_conv(x, channels, k, stride, groups)
        if not act:
            return y
        return self.swish(y[0]), channels

    def concat(self, parts, axis=1):
        return self.node('Concat', *[p[0] for p in parts], axis=axis), sum(p[1] for p in parts)

    def split(self, x, sizes, axis=1):
        if self.export.opset < 13:
            return self.node('Split', x, outputs=len(sizes), axis=axis, split=sizes)
        return self.node('Split', x, self.ints(*sizes), outputs=len(sizes), axis=axis)

    def add(self, a, b):
        return self.node('Add', a[0], b[0]), a[1]

    def bottleneck(self, x, channels, shortcut, e=1.0):
        y = self.conv(self.conv(x, int(channels * e), 3), channels, 3)
        return self.add(x, y) if shortcut else y

    def c2f(self, x, channels, n, shortcut):
        hidden = channels // 2
        y = self.conv(x, 2 * hidden)
        parts = [(p, hidden) for p in self.split(y[0], [hidden, hidden])]
        for _ in range(n):
            parts.append(self.bottleneck(parts[-1], hidden, shortcut))
        return self.conv(self.concat(parts), channels)

    def c3k(self, x, channels):
        hidden = channels // 2
        a, b = self.conv(x, hidden), self.conv(x, hidden)
        for _ in range(2):
            a = self.bottleneck(a, hidden, True)
        return self.conv(self.concat([a, b]), channels)

    def c3k2(self, x, channels, deep, e=0.5):
        hidden = int(channels * e)
        y = self.conv(x, 2 * hidden)
        parts = [(p, hidden) for p in self.split(y[0], [hidden, hidden])]
        parts.append(self.c3k(parts[-1], hidden) if deep else self.bottleneck(parts[-1], hidden, True, 0.5))
        return self.conv(self.concat(parts), channels)

    def sppf(self, x, channels):
        parts = [self.conv(x, x[1] // 2)]
        for _ in range(3):
            pooled = self.node('MaxPool', parts[-1][0], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1])
            parts.append((pooled, parts[-1][1]))
        return self.conv(self.concat(parts), channels)

    def attention(self, x, side_h, side_w):
        channels, heads = x[1], max(x[1] // 64, 1)
        head, key = channels // heads, channels // heads // 2
        qkv = self.conv(x, channels + 2 * key * heads, act=False)
        places = side_h * side_w
        rows = self.node('Reshape', qkv[0], self.ints(1, heads, 2 * key + head, places))
        q, k, v = self.split(rows, [key, key, head], axis=2)
        scores = self.node('MatMul', self.node('Transpose', q, perm=[0, 1, 3, 2]), k)
        sure = self.node('Softmax', self.node('Mul', scores, self.scalar(key ** -0.5)), axis=-1)
        mixed = self.node('MatMul', v, self.node('Transpose', sure, perm=[0, 1, 3, 2]))
        shape = self.ints(1, channels, side_h, side_w)
        mixed = self.node('Reshape', mixed, shape), channels
        position = self.conv((self.node('Reshape', v, shape), channels), channels, 3, groups=channels, act=False)
        return self.conv(self.add(mixed, position), channels, act=False)

    def c2psa(self, x, side_h, side_w):
        hidden = x[1] // 2
        y = self.conv(x, 2 * hidden)
        a, b = [(p, hidden) for p in self.split(y[0], [hidden, hidden])]
        b = self.add(b, self.attention(b, side_h, side_w))
        b = self.add(b, self.conv(self.conv(b, 2 * hidden), hidden, act=False))
        return self.conv(self.concat([a, b]), x[1])

    def upsample(self, x):
        scales = self.constant(np.array([1, 1, 2, 2], np.float32))
        region = '' if self.export.opset > 11 else self.constant(np.zeros(0, np.float32))
        return self.node('Resize', x[0], region, scales, mode='nearest', coordinate_transformation_mode='asymmetric',
                         nearest_mode='floor'), x[1]

    # --- heads -----------------------------------------------------------------------------------

    def tower(self, x, hidden, numbers, gain=1.7, bias=0.0):
        return self.plain_conv(self.conv(self.conv(x, hidden, 3), hidden, 3), numbers, gain=gain, bias=bias)

    def class_tower(self, x, hidden, numbers):
        bias, gain = self.export.bias, self.export.gain
        if self.export.family == 'v8':
            return self.tower(x, hidden, numbers, gain, bias)
        for _ in range(2):
            x = self.conv(self.conv(x, x[1], 3, groups=x[1]), hidden)
        return self.plain_conv(x, numbers, gain=gain, bias=bias)

    def flat(self, x):
        if self.export.dynamic:
            batch = self.node('Gather', self.node('Shape', x[0]), self.constant(np.array(0, np.int64)), axis=0)
            one = self.unsqueeze(batch, 0)
            return self.node('Reshape', x[0], self.node('Concat', one, self.ints(x[1]), self.ints(-1), axis=0))
        return self.node('Reshape', x[0], self.ints(1, x[1], -1))

    def unsqueeze(self, x, *axes):
        if self.export.opset < 13:
            return self.node('Unsqueeze', x, axes=list(axes))
        return self.node('Unsqueeze', x, self.ints(*axes))

    def anchors(self, features):
        """Centres of cells, 1x2xN, and strides, 1xN."""
        if self.export.dynamic:
            return self.computed_anchors(features)
        centres, strides = [], []
        for stride in (8, 16, 32):
            h, w = self.export.height // stride, self.export.width // stride
            y, x = np.meshgrid(np.arange(h) + 0.5, np.arange(w) + 0.5, indexing='ij')
            centres.append(np.stack([x.ravel(), y.ravel()]))
            strides.append(np.full((1, h * w), stride))
        return (self.constant(np.concatenate(centres, 1)[None].astype(self.real)),
                self.constant(np.concatenate(strides, 1).astype(self.real)))

    def computed_anchors(self, features):
        kind = TensorProto.FLOAT16 if self.export.half else TensorProto.FLOAT
        centres, strides = [], []
        for stride, (feature, _) in zip((8, 16, 32), features):
            shape = self.node('Shape', feature)
            h, w = [self.node('Gather', shape, self.constant(np.array(i, np.int64)), axis=0) for i in (2, 3)]
            ranges = []
            for size in (w, h):
                count = self.node('Cast', self.node('Range', self.constant(np.array(0, np.int64)), size,
                                                    self.constant(np.array(1, np.int64))), to=kind)
                ranges.append(self.node('Add', count, self.scalar(0.5)))
            size = self.node('Concat', self.unsqueeze(h, 0), self.unsqueeze(w, 0), axis=0)
            x = self.node('Expand', self.node('Reshape', ranges[0], self.ints(1, -1)), size)
            y = self.node('Expand', self.node('Reshape', ranges[1], self.ints(-1, 1)), size)
            both = self.node('Concat', self.unsqueeze(x, -1), self.unsqueeze(y, -1), axis=-1)
            centres.append(self.node('Reshape', both, self.ints(-1, 2)))
            count = self.unsqueeze(self.node('Mul', h, w), 0)
            one = self.node('Concat', count, self.ints(1), axis=0)
            strides.append(self.node('Expand', self.constant(np.array([[stride]], self.real)), one))
        points = self.node('Transpose', self.node('Concat', *centres, axis=0), perm=[1, 0])
        return self.unsqueeze(points, 0), self.node('Transpose', self.node('Concat', *strides, axis=0), perm=[1, 0])

    def distances(self, boxes):
        """The means of four distributions, 1x4xN."""
        if self.export.family == 'v26':
            return boxes
        rows = self.node('Reshape', boxes, self.ints(1, 4, 16, -1))
        sure = self.node('Softmax', self.node('Transpose', rows, perm=[0, 2, 1, 3]), axis=1)
        weights = self.constant(np.arange(16).reshape(1, 16, 1, 1).astype(self.real))
        mean = self.node('Conv', sure, weights, kernel_shape=[1, 1])
        return self.node('Reshape', mean, self.ints(1, 4, -1))

    def slice(self, x, first, last, axis=1):
        return self.node('Slice', x, self.ints(first), self.ints(last), self.ints(axis), self.ints(1))

    def boxes_of(self, boxes, features, angle):
        centres, strides = self.anchors(features)
        d = self.distances(boxes)
        near, far = self.slice(d, 0, 2), self.slice(d, 2, 4)
        if angle:
            cos, sin = self.node('Cos', angle), self.node('Sin', angle)
            half = self.node('Div', self.node('Sub', far, near), self.scalar(2))
            x, y = self.split(half, [1, 1])
            turned_x = self.node('Sub', self.node('Mul', x, cos), self.node('Mul', y, sin))
            turned_y = self.node('Add', self.node('Mul', x, sin), self.node('Mul', y, cos))
            centre = self.node('Add', self.node('Concat', turned_x, turned_y, axis=1), centres)
            box = self.node('Concat', centre, self.node('Add', near, far), axis=1)
        else:
            low, high = self.node('Sub', centres, near), self.node('Add', centres, far)
            if self.export.end_to_end or self.export.nms:
                box = self.node('Concat', low, high, axis=1)
            else:
                centre = self.node('Div', self.node('Add', low, high), self.scalar(2))
                box = self.node('Concat', centre, self.node('Sub', high, low), axis=1)
        return self.node('Mul', box, strides), centres, strides

    def points_of(self, numbers, centres, strides):
        """17 points: x and y around the cell, and the confidence that they are visible."""
        rows = self.node('Reshape', numbers, self.ints(1, 17, 3, -1))
        places, origin = self.slice(rows, 0, 2, axis=2), centres
        if self.export.family != 'v26':
            places, origin = self.node('Mul', places, self.scalar(2)), self.node('Sub', centres, self.scalar(0.5))
        moved = self.node('Mul', self.node('Add', places, origin), strides)
        seen = self.node('Sigmoid', self.slice(rows, 2, 3, axis=2))
        return self.node('Reshape', self.node('Concat', moved, seen, axis=2), self.ints(1, 51, -1))

    def top_rows(self, whole, extra):
        """Rows of the 300 best boxes, like heads without suppression."""
        n = self.export.classes
        sizes = [4, n] + ([extra] if extra else [])
        parts = self.split(self.node('Transpose', whole, perm=[0, 2, 1]), sizes, axis=2)
        best = self.reduce_max(parts[1], -1)
        _, places = self.node('TopK', best, self.ints(300), outputs=2, axis=-1, largest=1, sorted=1)
        index = self.unsqueeze(places, -1)
        scores = self.node('GatherElements', parts[1], self.node('Tile', index, self.ints(1, 1, n)), axis=1)
        flat = self.node('Reshape', scores, self.ints(1, -1))
        scores, picked = self.node('TopK', flat, self.ints(300), outputs=2, axis=-1, largest=1, sorted=1)
        count = self.constant(np.array(n, np.int64))
        row = self.node('Div', picked, count)
        labels = self.node('Cast', self.node('Mod', picked, count), to=TensorProto.FLOAT16 if self.export.half else TensorProto.FLOAT)
        own = self.node('GatherElements', index, self.unsqueeze(row, -1), axis=1)
        gathered = [self.node('GatherElements', part, self.node('Tile', own, self.ints(1, 1, size)), axis=1)
                    for part, size in zip(parts, sizes) if part != parts[1]]
        return self.node('Concat', gathered[0], self.unsqueeze(scores, -1), self.unsqueeze(labels, -1), *gathered[1:], axis=-1)

    def reduce_max(self, x, axis):
        if self.export.opset < 18:
            return self.node('ReduceMax', x, axes=[axis], keepdims=0)
        return self.node('ReduceMax', x, self.ints(axis), keepdims=0)

    def suppressed(self, whole, extra):
        """Rows that remain after suppression in the model."""
        sizes = [4, self.export.classes] + ([extra] if extra else [])
        parts = self.split(self.node('Transpose', whole, perm=[0, 2, 1]), sizes, axis=2)
        squeeze = lambda x: self.node('Reshape', x, self.ints(*([-1, 4] if x == parts[0] else [-1])))
        scores = self.node('Reshape', self.reduce_max(parts[1], -1), self.ints(-1))
        labels = self.node('Reshape', self.node('ArgMax', parts[1], axis=-1, keepdims=0), self.ints(-1))
        sure = self.node('NonZero', self.node('Greater', scores, self.scalar(0.25)))
        index = self.node('Transpose', sure, perm=[1, 0])
        boxes = self.node('GatherND', squeeze(parts[0]), index)
        scores, labels = self.node('GatherND', scores, index), self.node('GatherND', labels, index)
        real = self.node('Cast', labels, to=TensorProto.FLOAT)
        apart = self.node('Add', boxes, self.unsqueeze(self.node('Mul', real, self.scalar(4096)), 1))
        kept = self.node('NonMaxSuppression', self.unsqueeze(apart, 0), self.unsqueeze(scores, 0, 1),
                         self.ints(300), self.constant(np.array([0.45], np.float32)))
        rows = self.node('Reshape', self.slice(kept, 2, 3), self.ints(-1))
        columns = [self.node('Gather', boxes, rows, axis=0)]
        columns += [self.unsqueeze(self.node('Gather', x, rows, axis=0), 1) for x in (scores, real)]
        if extra:
            more = self.node('GatherND', self.node('Reshape', parts[2], self.ints(-1, extra)), index)
            columns.append(self.node('Gather', more, rows, axis=0))
        return self.unsqueeze(self.node('Concat', *columns, axis=1), 0)

    # --- networks --------------------------------------------------------------------------------

    def stem(self, x, block):
        x = self.conv(self.conv(x, 16, 3, 2), 32, 3, 2)
        x = block(x, 32 if self.export.family == 'v8' else 64, 0)
        p3 = block(self.conv(x, 64, 3, 2), 64 if self.export.family == 'v8' else 128, 1)
        p4 = block(self.conv(p3, 128, 3, 2), 128, 2)
        p5 = block(self.conv(p4, 256, 3, 2), 256, 3)
        return p3, p4, p5

    def features(self, x):
        v8 = self.export.family == 'v8'
        if v8:
            block = lambda x, c, i: self.c2f(x, c, [1, 2, 2, 1][i], True)
            neck = lambda x, c, last=False: self.c2f(x, c, 1, False)
        else:
            block = lambda x, c, i: self.c3k2(x, c, i > 1, 0.25 if i < 2 else 0.5)
            neck = lambda x, c, last=False: self.c3k2(x, c, last)
        p3, p4, p5 = self.stem(x, block)
        p5 = self.sppf(p5, 256)
        if not v8:
            p5 = self.c2psa(p5, self.export.height // 32, self.export.width // 32)
        m4 = neck(self.concat([self.upsample(p5), p4]), 128)
        n3 = neck(self.concat([self.upsample(m4), p3]), 64)
        n4 = neck(self.concat([self.conv(n3, 64, 3, 2), m4]), 128)
        n5 = neck(self.concat([self.conv(n4, 128, 3, 2), p5]), 256, True)
        return [n3, n4, n5]

    def prototypes(self, x):
        x = self.conv(x, 64, 3)
        weights = self.random.normal(0, 0.1, (64, 64, 2, 2)).astype(self.real)
        x = self.node('ConvTranspose', x[0], self.constant(weights), kernel_shape=[2, 2], strides=[2, 2]), 64
        return self.conv(self.conv(x, 64, 3), 32)[0]

    def head(self, features):
        export = self.export
        extra = {'detect': 0, 'segment': 32, 'pose': 51, 'obb': 1}[export.task]
        numbers = 4 if export.family == 'v26' else 64
        # Distances are not negative.
        gain, offset = (3.0, 1.0) if numbers == 64 else (0.05, 3.0)
        boxes = [self.tower(f, 64, numbers, gain, offset) for f in features]
        scores = [self.class_tower(f, max(64, min(export.classes, 100)), export.classes) for f in features]
        more = [self.tower(f, max(16, extra), extra) for f in features] if extra else []
        protos = [self.prototypes(features[0])] if export.task == 'segment' else []
        if export.raw == 'joined':
            return [self.concat([b, s])[0] for b, s in zip(boxes, scores)] + [m[0] for m in more] + protos
        if export.raw:
            return [x[0] for trio in zip(boxes, scores, *([more] if extra else [])) for x in trio] + protos
        axis = -1
        joined = [self.node('Concat', *[self.flat(x) for x in part], axis=axis) for part in (boxes, scores, more) if part]
        angle = None
        if export.task == 'obb' and export.family == 'v26':
            angle = joined[2]
        elif export.task == 'obb':
            sure = self.node('Sub', self.node('Sigmoid', joined[2]), self.scalar(0.25))
            angle = self.node('Mul', sure, self.scalar(np.pi))
        box, centres, strides = self.boxes_of(joined[0], features, angle)
        parts = [box, self.node('Sigmoid', joined[1])]
        if export.task == 'segment':
            parts.append(joined[2])
        elif export.task == 'pose':
            parts.append(self.points_of(joined[2], centres, strides))
        elif angle:
            parts.append(angle)
        whole = self.node('Concat', *parts, axis=1)
        if export.end_to_end:
            whole = self.top_rows(whole, extra)
        elif export.nms:
            whole = self.suppressed(whole, extra)
        elif export.transposed:
            whole = self.node('Transpose', whole, perm=[0, 2, 1])
        return [whole] + protos

    def classifier(self, x):
        _, _, x = self.stem(x, lambda x, c, i: self.c2f(x, c, [1, 2, 2, 1][i], True))
        x = self.conv(x, 1280)
        x = self.node('Flatten', self.node('GlobalAveragePool', x[0]), axis=1)
        weights = self.random.normal(0, 0.1, (self.export.classes, 1280)).astype(self.real)
        offsets = np.zeros(self.export.classes, self.real)
        return [self.node('Softmax', self.node('Gemm', x, self.constant(weights), self.constant(offsets), transB=1), axis=1)]


def graph(export):
    b = Builder(export)
    x = ('images', 3)
    results = b.classifier(x) if export.task == 'classify' else b.head(b.features(x))
    kind = TensorProto.FLOAT16 if export.half else TensorProto.FLOAT
    names = ['output%d' % i for i in range(len(results))]
    for name, result in zip(names, results):
        b.node('Identity', result)
        b.nodes[-1].output[0] = name
    size = ['height', 'width'] if export.dynamic else [export.height, export.width]
    images = helper.make_tensor_value_info('images', kind, ['batch' if export.dynamic else 1, 3] + size)
    outputs = [helper.make_tensor_value_info(name, kind, None) for name in names]
    model = helper.make_model(helper.make_graph(b.nodes, 'main_graph', [images], outputs, b.tensors),
                              opset_imports=[helper.make_opsetid('', export.opset)], ir_version=8)
    if export.metadata:
        names = [NAMES[i] if i < len(NAMES) else 'thing%d' % i for i in range(export.classes)]
        properties = {'description': 'Ultralytics YOLO model', 'author': 'Ultralytics', 'task': export.task, 'stride': '32',
                      'batch': '1', 'imgsz': str([export.height, export.width]), 'names': str(dict(enumerate(names))),
                      'args': str({'batch': 1, 'nms': export.nms, 'half': export.half, 'dynamic': export.dynamic})}
        if export.task == 'pose':
            properties['kpt_shape'] = '[17, 3]'
        helper.set_model_props(model, properties)
    return model
