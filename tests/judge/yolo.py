#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""YOLO v8 to v12 and 26 as their exporter writes them: converted without options, against ONNX Runtime.

  yolo.py DVNET [--all] [--only PART-OF-A-NAME] [--keep FOLDER]

Every model of the list is converted as a user would and run on a picture. Its outputs are compared with ONNX
Runtime's, and its objects with those that the definitions in this file find in the same outputs.
Without --all, slow models are left out."""
import argparse
import dataclasses
import json
import os
import subprocess
import sys

from judging import failures, quiet

try:
    with quiet():
        import numpy as np
        import onnx
        import onnxruntime
        from yolo_graphs import Export, graph
        onnxruntime.InferenceSession(graph(Export(task='classify', classes=2, width=32, height=32)).SerializeToString())
except ImportError as error:
    print('skipped: needs python3-numpy, python3-onnx and python3-onnxruntime (Debian 13 has them): %s' % error)
    sys.exit(77)

# With the device's 16 bits: the least cosine of an output.
LEAST_COSINE = 0.999
THRESHOLD, OVERLAP = 0.25, 0.7

# --- 8 bits --------------------------------------------------------------------------------------------

def weights_of(model):
    return {t.name: t for t in model.graph.initializer}


def in_bytes(array, least, most, axis=None):
    """Returns numbers of 8 bits, with scale and zero point as ONNX Runtime's tools choose them: 0 is one of the
    numbers."""
    low, high = np.minimum(array.min(axis, keepdims=True), 0), np.maximum(array.max(axis, keepdims=True), 0)
    scale = (np.maximum(high - low, 1e-6) / (most - least)).astype(np.float32)
    zero = np.round(least - low / scale)
    return np.clip(np.round(array / scale) + zero, least, most), scale, zero


def dynamic(model, tensor):
    """Returns the model as quantize_dynamic writes it, and the float model with the weights that its 8 bits stand for."""
    make, array_of = onnx.helper.make_node, onnx.numpy_helper.to_array
    plain, quantised = [onnx.ModelProto.FromString(model.SerializeToString()) for _ in range(2)]
    own, nodes, seen = weights_of(plain), [], set()
    add = lambda value, name: quantised.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    for node in model.graph.node:
        if node.op_type != 'Conv':
            nodes.append(node)
            continue
        x, w, y = node.input[0], node.input[1], node.output[0]
        numbers, scale, zero = in_bytes(array_of(own[w]), 0, 255)
        own[w].CopyFrom(onnx.numpy_helper.from_array(((numbers - zero) * scale).astype(np.float32), w))
        add(numbers.astype(np.uint8), w + '_quantized')
        add(scale.reshape(()), w + '_scale')
        add(zero.astype(np.uint8).reshape(()), w + '_zero_point')
        names = [x + '_quantized', x + '_scale', x + '_zero_point']
        if x not in seen:
            nodes.append(make('DynamicQuantizeLinear', [x], names, name=x + '_QuantizeLinear'))
            seen.add(x)
        nodes.append(make('Mul', [names[1], w + '_scale'], [y + '_scales'], name=y + '_scales_mul'))
        nodes.append(make('ConvInteger', [names[0], w + '_quantized', names[2], w + '_zero_point'], [y + '_whole'],
                          name=node.name + '_quant'))
        nodes[-1].attribute.extend(node.attribute)
        nodes.append(make('Cast', [y + '_whole'], [y + '_real'], name=y + '_cast', to=onnx.TensorProto.FLOAT))
        has_bias = len(node.input) > 2
        nodes.append(make('Mul', [y + '_real', y + '_scales'], [y + '_scaled' if has_bias else y], name=y + '_mul'))
        if has_bias:
            add(np.array([1, -1, 1, 1]), y + '_shape')
            nodes.append(make('Reshape', [node.input[2], y + '_shape'], [y + '_bias'], name=y + '_reshape'))
            nodes.append(make('Add', [y + '_scaled', y + '_bias'], [y], name=y + '_add'))
    del quantised.graph.node[:]
    quantised.graph.node.extend(nodes)
    return quantised, plain


def static(model, tensor):
    """Returns the model with QuantizeLinear and DequantizeLinear before its convolutions, as quantize_static writes
    it; it is its own reference."""
    make, array_of = onnx.helper.make_node, onnx.numpy_helper.to_array
    quantised = onnx.ModelProto.FromString(model.SerializeToString())
    own, nodes, seen = weights_of(model), [], {}
    add = lambda value, name: quantised.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    inputs = sorted({n.input[0] for n in model.graph.node if n.op_type == 'Conv' and n.input[0] != 'images'})
    ranges = dict(zip(inputs, runtime_outputs(model, inputs, tensor)), images=tensor)
    for node in model.graph.node:
        node = onnx.NodeProto.FromString(node.SerializeToString())
        if node.op_type == 'Conv':
            x, w = node.input[0], node.input[1]
            if x not in seen:
                _, scale, zero = in_bytes(ranges[x], 0, 255)
                add(scale.reshape(()), x + '_scale')
                add(zero.astype(np.uint8).reshape(()), x + '_zero_point')
                scaling = [x + '_scale', x + '_zero_point']
                nodes.append(make('QuantizeLinear', [x] + scaling, [x + '_q'], name=x + '_QuantizeLinear'))
                nodes.append(make('DequantizeLinear', [x + '_q'] + scaling, [x + '_dq'], name=x + '_DequantizeLinear'))
                seen[x] = x + '_dq'
            weights = array_of(own[w])
            scale = (np.abs(weights).max((1, 2, 3)) / 127).astype(np.float32)
            add(np.round(weights / scale[:, None, None, None]).astype(np.int8), w + '_q')
            add(scale, w + '_scale')
            add(np.zeros(len(scale), np.int8), w + '_zero_point')
            nodes.append(make('DequantizeLinear', [w + '_q', w + '_scale', w + '_zero_point'], [w + '_dq'], axis=0,
                              name=w + '_DequantizeLinear'))
            node.input[0], node.input[1] = seen[x], w + '_dq'
        nodes.append(node)
    del quantised.graph.node[:]
    quantised.graph.node.extend(nodes)
    return quantised, quantised


# --- what the outputs mean, by their definition ------------------------------------------------------

def overlap(a, b):
    w = np.minimum(a[2], b[..., 2]) - np.maximum(a[0], b[..., 0])
    h = np.minimum(a[3], b[..., 3]) - np.maximum(a[1], b[..., 1])
    both = np.maximum(w, 0) * np.maximum(h, 0)
    area = lambda r: (r[..., 2] - r[..., 0]) * (r[..., 3] - r[..., 1])
    return both / (area(a) + area(b) - both)


def suppress(boxes, scores, labels):
    order, kept = np.argsort(-scores, kind='stable'), []
    for i in order:
        if all(labels[i] != labels[k] or overlap(boxes[i], boxes[k]) <= OVERLAP for k in kept):
            kept.append(i)
    return kept


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def turn(angle):
    """Returns matrices that turn by these angles in radians, clockwise in a picture."""
    return np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], -1).reshape(-1, 2, 2)


def outline(box, angle):
    """Returns the corners of a box that is turned about its centre."""
    centre, half = (box[:2] + box[2:]) / 2, (box[2:] - box[:2]) / 2
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return centre + (signs * half) @ turn(angle)[0].T


def corners(boxes):
    return np.concatenate([boxes[:, :2] - boxes[:, 2:4] / 2, boxes[:, :2] + boxes[:, 2:4] / 2], 1)


def raw_rows(export, outputs):
    """Returns heads by stride as rows of x0, y0, x1, y1, scores, and the rest."""
    rows = []
    bins = 1 if export.family == 'v26' else 16
    for stride in (8, 16, 32):
        h, w = export.height // stride, export.width // stride
        own = [o.reshape(o.shape[1], -1).T for o in outputs if o.ndim == 4 and o.shape[2:] == (h, w)]
        numbers = np.concatenate(own, 1)
        y, x = np.divmod(np.arange(h * w), w)
        d = numbers[:, :4 * bins].reshape(-1, 4, bins)
        if bins > 1:
            e = np.exp(d - d.max(2, keepdims=True))
            d = (e / e.sum(2, keepdims=True) * np.arange(bins)).sum(2)
        d = d.reshape(-1, 4)
        scores = sigmoid(numbers[:, 4 * bins:4 * bins + export.classes])
        more = numbers[:, 4 * bins + export.classes:].copy()
        centre, half = (d[:, 2:] - d[:, :2]) / 2, (d[:, 2:] + d[:, :2]) / 2
        if export.task == 'obb':
            # Sides lie in the box's own directions.
            if export.family != 'v26':
                more = (sigmoid(more) - .25) * np.pi
            centre = (turn(more[:, 0]) @ centre[:, :, None])[:, :, 0]
        centre = centre + np.stack([x, y], 1) + .5
        boxes = np.concatenate([centre - half, centre + half], 1) * stride
        if export.task == 'pose':
            scale, origin = (1, .5) if export.family == 'v26' else (2, 0)
            more[:, 0::3] = (more[:, 0::3] * scale + origin + x[:, None]) * stride
            more[:, 1::3] = (more[:, 1::3] * scale + origin + y[:, None]) * stride
            more[:, 2::3] = sigmoid(more[:, 2::3])
        rows.append(np.concatenate([boxes, scores, more], 1))
    return np.concatenate(rows)


def found(export, outputs):
    """Returns (label, score, box, points) of each object, in pixels of the input."""
    outputs = [o.astype(np.float64) for o in outputs]
    if export.task == 'classify':
        return [(int(i), outputs[0][0, i], None, None) for i in np.argsort(-outputs[0][0])[:1]]
    if export.end_to_end and not export.raw:
        rows = outputs[0][0]
        rows = rows[rows[:, 4] >= THRESHOLD]
        boxes = corners(rows) if export.task == 'obb' else rows[:, :4]
        return [(int(r[5]), r[4], b, r[6:]) for r, b in zip(rows, boxes)]
    if export.raw:
        rows = raw_rows(export, outputs)
        boxes = rows[:, :4]
    else:
        rows = outputs[0][0] if outputs[0].shape[1] > outputs[0].shape[2] else outputs[0][0].T
        boxes = rows[:, :4] if export.nms else corners(rows)
    scores = rows[:, 4:4 + export.classes]
    labels, best = scores.argmax(1), scores.max(1)
    sure = best >= THRESHOLD
    rows, boxes, labels, best = rows[sure], boxes[sure], labels[sure], best[sure]
    kept = range(len(rows)) if export.task == 'obb' else suppress(boxes, best, labels)
    return [(int(labels[i]), best[i], boxes[i], rows[i, 4 + export.classes:]) for i in kept]


QUICK = {
    'v8 320': Export(),
    'v8 own classes, opset 11, dynamic': Export(classes=3, opset=11, dynamic=True, width=256, height=256),
    'v8 transposed': Export(transposed=True, width=256, height=192),
    'v11 segment': Export('v11', 'segment', width=256, height=256),
    'v8 pose, half': Export('v8', 'pose', classes=1, half=True, width=256, height=256),
    'v11 obb': Export('v11', 'obb', classes=15, width=256, height=256),
    'v8 classify, opset 20': Export('v8', 'classify', classes=10, width=224, height=224, opset=20),
    'v26 end to end': Export('v26', classes=5, width=256, height=256, opset=20),
    'v11 dynamic int8': (Export('v11', classes=10, width=256, height=256), [dynamic]),
    'v8 nms': Export(nms=True, classes=7, width=256, height=256),
    'v8 raw, apart': (Export(raw='apart', classes=9, width=256, height=256, metadata=False), ['--preset', 'yolov8-raw']),
    'v8 raw, joined': Export(raw='joined', classes=4, width=256, height=256),
    'v8 segment, raw': Export(task='segment', raw='apart', width=256, height=256),
    'v8 pose, raw': Export(task='pose', raw='apart', classes=1, width=256, height=256),
    'v11 obb, raw': Export('v11', 'obb', raw='apart', classes=15, width=256, height=192),
    'v26 obb, raw': Export('v26', 'obb', raw='joined', classes=6, width=192, height=256),
    'v26 pose, raw': Export('v26', 'pose', raw='apart', classes=1, width=256, height=256),
}
SLOW = {
    'v8 640': Export(width=640, height=640),
    'v11 640': Export('v11', width=640, height=640, opset=20),
    'v11 640, no metadata': (Export('v11', width=640, height=640, metadata=False), ['--preset', 'yolov8']),
    'v8 1280': Export(width=1280, height=1280),
    'v11 segment 640, dynamic': Export('v11', 'segment', width=640, height=640, dynamic=True),
    'v8 pose 640': Export('v8', 'pose', classes=1, width=640, height=640),
    'v11 obb 1024': Export('v11', 'obb', classes=15, width=1024, height=1024, half=True),
    'v10 640': Export('v10', width=640, height=640, opset=13),
    'v26 segment': Export('v26', 'segment', width=320, height=320),
    'v26 pose': Export('v26', 'pose', classes=1, width=320, height=320),
    'v26 obb': Export('v26', 'obb', classes=15, width=320, height=320),
    'v11 segment, nms': Export('v11', 'segment', nms=True, width=320, height=320),
    'v8 pose, nms': Export('v8', 'pose', nms=True, classes=1, width=320, height=320),
    'v8 static int8': (Export(classes=10, width=256, height=256), [static]),
    'v26 raw': Export('v26', raw='apart', width=320, height=320),
}


# --- the comparison ----------------------------------------------------------------------------------

def pixels_of(export):
    y, x = np.mgrid[0:export.height, 0:export.width] / 32.0
    waves = [np.sin(x * a + y * b) + np.cos(x * b - y * c) for a, b, c in ((1, 2, .5), (3, 1, 2), (.3, .7, 5))]
    return np.clip(np.stack(waves, 2) * 60 + 128, 0, 255).astype(np.uint8)


def write_picture(path, export):
    with open(path, 'wb') as file:
        file.write(b'P6 %d %d 255\n' % (export.width, export.height) + pixels_of(export).tobytes())


def tensor_of(export):
    return (pixels_of(export).transpose(2, 0, 1)[None] / 255).astype(np.float32)


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode != 0:
        raise RuntimeError('%s: %s' % (' '.join(command[:2]), done.stdout.strip()))
    return done.stdout


def runtime_outputs(model, names, tensor):
    """Returns ONNX Runtime's values of these results, which may lie within the model."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for name in names:
        if name not in [o.name for o in model.graph.output]:
            kind = model.graph.input[0].type.tensor_type.elem_type
            model.graph.output.append(onnx.helper.make_tensor_value_info(name, kind, None))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    kind = np.float16 if 'float16' in session.get_inputs()[0].type else np.float32
    return session.run(names or None, {'images': tensor.astype(kind)})


def cosine(a, b):
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return a @ b / max(np.sqrt((a @ a) * (b @ b)), 1e-30)


def check_rows(export, have, want):
    """Rows of boxes that the model has chosen: each confident one must be there, by the rule of this project's goldens
    (IoU 0.9, confidence within 0.03), in any order."""
    far = 0.03
    boxes = lambda rows: corners(rows) if export.task == 'obb' else rows[:, :4]
    for rows, others in ((have, want), (want, have)):
        rows = rows[rows[:, 4] >= THRESHOLD + far]
        for row, box in zip(rows, boxes(rows)):
            same = others[(others[:, 5] == row[5]) & (np.abs(others[:, 4] - row[4]) < far)]
            if len(same) == 0 or overlap(box, boxes(same)).max() < 0.9:
                raise RuntimeError('no row like %s' % row)


def check_outputs(export, have, want):
    for name, array in have.items():
        if export.end_to_end and not export.raw and array.ndim == 3:
            check_rows(export, array[0].astype(np.float64), want[name][0].astype(np.float64))
            continue
        got = cosine(array, want[name])
        if not got >= LEAST_COSINE:
            raise RuntimeError('output %s %s: cosine %.6f' % (name, array.shape, got))


def check_objects(export, items, outputs):
    """Every found object must be an expected one, and the other way round."""
    want = found(export, list(outputs.values()))
    if export.task == 'classify':
        if not items or items[0]['cls'] != want[0][0]:
            raise RuntimeError('class %d is found, %d is meant' % (items[0]['cls'], want[0][0]))
        return 1
    size = np.array([export.width, export.height] * 2)
    left = list(want)
    for item in items:
        box = np.array(item['box']) * size
        fits = [w for w in left if w[0] == item['cls'] and abs(w[1] - item['conf']) < 1e-3 and
                is_there(export, item, w, size)]
        if not fits:
            raise RuntimeError('nobody means %s' % item)
        if export.task != 'obb':
            fits.sort(key=lambda w: -overlap(box, w[2]))
        left = [w for w in left if w is not fits[0]]
        if export.task == 'pose':
            check_points(item, fits[0][3].reshape(-1, 3), size)
        if export.task == 'segment':
            check_mask(item, fits[0][3], next(o for o in outputs.values() if o.ndim == 4 and o.shape[1] == 32 and
                                              o.shape[2] * 4 == export.height)[0])
    # Which oriented boxes overlap too much is left to another test.
    if left and export.task != 'obb':
        raise RuntimeError('nobody finds %s' % (left[0],))
    return len(items)


def is_there(export, item, want, size):
    """Whether an object lies at its expected place."""
    if export.task != 'obb':
        return overlap(np.array(item['box']) * size, want[2]) > 0.99
    have = np.array([p[:2] for p in item['outline']]) * size[:2]
    return np.abs(have - outline(want[2], want[3][0])).max() < 0.1


def check_mask(item, coefficients, prototypes):
    """A mask has the cells of the prototypes that the box touches; 255 is sure."""
    mask, cells = item['mask'], np.array(prototypes.shape[:0:-1] * 2)
    x0, y0, x1, y1 = np.rint(np.array(mask['place']) * cells).astype(int)
    box = np.clip(item['box'], 0, 1) * cells
    if (np.abs(box - [x0, y0, x1, y1]) > 1 + 1e-3).any() or (mask['width'], mask['height']) != (x1 - x0, y1 - y0):
        raise RuntimeError('the mask of %dx%d cells is at %s, the box at %s' % (
            mask['width'], mask['height'], mask['place'], item['box']))
    have = np.repeat(mask['runs'][0::2], mask['runs'][1::2]).reshape(y1 - y0, x1 - x0)
    want = 255 * sigmoid(np.tensordot(coefficients, prototypes[:, y0:y1, x0:x1].astype(np.float64), 1))
    if np.abs(have - want).max() > 0.51:
        raise RuntimeError('the mask of %s is off by %.2f of 255' % (item['box'], np.abs(have - want).max()))


def check_points(item, want, size):
    have = np.array([p[:3] for p in item['points']], np.float64)
    have[:, :2] *= size[:2]
    if have.shape != want.shape or np.abs(have - want).max() > 0.5:
        raise RuntimeError('points are %s, %s are meant' % (have.tolist(), want.tolist()))


def calibrated(export):
    """With class scores above the threshold in a few of a hundred cells."""
    if export.task == 'classify':
        return export
    raw = dataclasses.replace(export, raw='apart', nms=False, dynamic=False, half=False, opset=17)
    logits = runtime_outputs(graph(raw), [], tensor_of(export))[1::3 if export.task != 'detect' else 2][:3]
    best = np.concatenate([o[0].max(0).ravel() for o in logits])
    low, high = np.quantile(best, [0.97, 0.999])
    factor = 3 / (high - low)
    return dataclasses.replace(export, gain=float(export.gain * factor), bias=float(-1 - (low - export.bias) * factor))


def check(export, dvnet, folder):
    export, arguments = export if isinstance(export, tuple) else (export, [])
    how = next((f for f in (dynamic, static) if arguments == [f]), None)
    arguments = [] if how else arguments
    export = calibrated(export)
    model = reference = graph(export)
    if how:
        model, reference = how(model, tensor_of(export))
    path = [os.path.join(folder, f) for f in ('model.onnx', 'network.dvn', 'picture.ppm')]
    onnx.save(model, path[0])
    write_picture(path[2], export)
    said = run(dvnet, 'convert', path[0], '-o', path[1], *arguments)
    objects = run(dvnet, 'run', path[1], path[2], '--device', 'soft', '--json', '--dump', folder, '--threshold', str(THRESHOLD))
    read = lambda what: np.load('%s.%s.npy' % (path[2], what))
    description = json.loads(run(dvnet, 'inspect', path[1], '--json'))
    names = [o['name'] for o in description['outputs']]
    have = {n: read(n.replace('/', '_').replace(':', '_')) for n in names}
    want = dict(zip(names, runtime_outputs(reference, names, read('input'))))
    check_outputs(export, have, want)
    count = check_objects(export, next(v for v in json.loads(objects).values() if isinstance(v, list)), have)
    if count == 0:
        raise RuntimeError('nothing is found: the test says nothing')
    return '%d objects; %s' % (count, ' | '.join(l[6:] for l in said.split('\n') if l.startswith('note: ')))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('dvnet')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--only', default='')
    parser.add_argument('--keep', help='a folder for the files of a model that fails')
    options = parser.parse_args()
    cases = {**QUICK, **(SLOW if options.all or options.only else {})}
    failed = failures(cases, options.only, lambda export, folder: check(export, options.dvnet, folder), options.keep)
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    main()
