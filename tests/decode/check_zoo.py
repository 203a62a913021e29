#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decodes the raw outputs of the zoo's models by the papers' formulas and compares dvnet's objects with
the results: boxes and points to half a pixel, confidences to 0.005, the same maps, text and numbers.

  check_zoo.py DVNET DATA [NAME...]

DATA is the folder of the test data. This file shares nothing with the decoders; numpy computes in double
precision. Each model sees three photographs, one of which is that of its golden output.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from share import share_of  # noqa: E402

try:
    import numpy as np
except ImportError:
    print('skipped: this Python has no numpy')
    sys.exit(77)

MOST_PIXELS, MOST_CONFIDENCE = 0.5, 0.005
FACES = ('12_angry_men.jpg', 'mssdface_people.jpg')
THINGS = ('dog.jpg', 'voc_000456.jpg')


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def centres(size, stride, offset):
    """Returns x and y of each cell's centre, row by row, in pixels."""
    w, h = -(-size[0] // stride), -(-size[1] // stride)
    y, x = np.mgrid[0:h, 0:w]
    return (x.ravel() + offset) * stride, (y.ravel() + offset) * stride


def rows(tensor):
    """Returns 1xCxHxW as one row per cell."""
    return tensor[0].reshape(tensor.shape[1], -1).T


def from_centre(cx, cy, w, h):
    return np.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2], axis=1)


def overlap(box, boxes):
    low, high = np.maximum(box[:2], boxes[:, :2]), np.minimum(box[2:], boxes[:, 2:])
    sides = np.maximum(0, high - low)
    both = sides[:, 0] * sides[:, 1]
    area = lambda b: (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])
    return both / np.maximum(1e-12, area(box) + area(boxes) - both)


def greedy(boxes, scores, most):
    """Returns the indices of the boxes that no better one overlaps by more."""
    kept, order = [], list(np.argsort(-scores, kind='stable'))
    while order:
        best = order.pop(0)
        kept.append(best)
        if order:
            clear = overlap(boxes[best], boxes[order]) <= most
            order = [i for i, is_clear in zip(order, clear) if is_clear]
    return kept


def suppressed(boxes, scores, classes, points, threshold, most):
    sure = scores >= threshold
    boxes, scores, classes = boxes[sure], scores[sure], classes[sure]
    points = points[sure] if points is not None else None
    found = []
    for c in np.unique(classes):
        own = np.flatnonzero(classes == c)
        for k in greedy(boxes[own], scores[own], most):
            i = own[k]
            found.append((int(c), float(scores[i]), boxes[i], None if points is None else points[i]))
    return found


def best_class(scores):
    return scores.max(axis=1), scores.argmax(axis=1)


def five_points(x, y, numbers, stride):
    """Returns points that are relative to x, y, in cells."""
    return np.stack([np.stack([x + numbers[:, 2 * j] * stride, y + numbers[:, 2 * j + 1] * stride], 1)
                     for j in range(5)], axis=1)


def suppressed_faces(boxes, scores, points, t, overlap):
    """Returns objects of one class, from lists with an entry per stride."""
    scores = np.concatenate(scores)
    return suppressed(np.concatenate(boxes), scores, np.zeros(len(scores), int), np.concatenate(points),
                      t, overlap)


def scrfd(out, size, t):
    names = list(out)
    boxes, scores, points = [], [], []
    for i, stride in enumerate((8, 16, 32)):
        s, d, k = (out[names[i + 3 * part]][0] for part in range(3))
        x, y = (np.repeat(v, 2) for v in centres(size, stride, 0))
        boxes.append(np.stack([x - d[:, 0] * stride, y - d[:, 1] * stride, x + d[:, 2] * stride,
                               y + d[:, 3] * stride], axis=1))
        scores.append(s[:, 0])
        points.append(five_points(x, y, k, stride))
    return suppressed_faces(boxes, scores, points, t, 0.4)


def yunet(out, size, t):
    boxes, scores, points = [], [], []
    for stride in (8, 16, 32):
        c, o, b, k = (out['%s_%d' % (n, stride)][0] for n in ('cls', 'obj', 'bbox', 'kps'))
        x, y = centres(size, stride, 0)
        boxes.append(from_centre(x + b[:, 0] * stride, y + b[:, 1] * stride, np.exp(b[:, 2]) * stride,
                                 np.exp(b[:, 3]) * stride))
        scores.append(np.sqrt(np.clip(c[:, 0], 0, 1) * np.clip(o[:, 0], 0, 1)))
        points.append(five_points(x, y, k, stride))
    return suppressed_faces(boxes, scores, points, t, 0.3)


def yolox(out, size, t):
    raw = next(iter(out.values()))[0]
    parts = [centres(size, s, 0) + (np.full(-(-size[0] // s) * -(-size[1] // s), s),) for s in (8, 16, 32)]
    x, y, s = (np.concatenate([p[i] for p in parts]) for i in range(3))
    boxes = from_centre(x + raw[:, 0] * s, y + raw[:, 1] * s, np.exp(raw[:, 2]) * s, np.exp(raw[:, 3]) * s)
    scores, classes = best_class(raw[:, 4:5] * raw[:, 5:])
    return suppressed(boxes, scores, classes, None, t, 0.45)


def nanodet(out, size, t):
    boxes, all_scores = [], []
    for stride in (8, 16, 32):
        x, y = centres(size, stride, 0.5)
        d = softmax(out['dis_pred_stride_%d' % stride][0].reshape(-1, 4, 8)) @ np.arange(8) * stride
        boxes.append(np.stack([x - d[:, 0], y - d[:, 1], x + d[:, 2], y + d[:, 3]], axis=1))
        all_scores.append(out['cls_pred_stride_%d' % stride][0])
    scores, classes = best_class(np.concatenate(all_scores))
    return suppressed(np.concatenate(boxes), scores, classes, None, t, 0.6)


def fastestdet(out, size, t):
    raw = rows(next(iter(out.values())))
    x, y = centres(size, 16, 0)
    boxes = from_centre(x + np.tanh(raw[:, 1]) * 16, y + np.tanh(raw[:, 2]) * 16,
                        sigmoid(raw[:, 3]) * size[0], sigmoid(raw[:, 4]) * size[1])
    best, classes = best_class(raw[:, 5:])
    return suppressed(boxes, raw[:, 0] ** 0.6 * best ** 0.4, classes, None, t, 0.45)


def yolo_fastestv2(out, size, t):
    raw = next(iter(out.values()))
    anchors = {16: ((12.64, 19.39), (37.88, 51.48), (55.71, 138.31)),
               32: ((126.91, 78.23), (131.57, 214.55), (279.92, 258.87))}
    boxes, scores, classes, first = [], [], [], 0
    for stride in (16, 32):
        x, y = centres(size, stride, 0)
        own = raw[first:first + len(x)]
        first += len(x)
        best, label = best_class(own[:, 15:])
        for a, (w, h) in enumerate(anchors[stride]):
            b = own[:, 4 * a:4 * a + 4]
            boxes.append(from_centre(x + (2 * b[:, 0] - 0.5) * stride, y + (2 * b[:, 1] - 0.5) * stride,
                                     (2 * b[:, 2]) ** 2 * w, (2 * b[:, 3]) ** 2 * h))
            scores.append(own[:, 12 + a] * best)
            classes.append(label)
    return suppressed(np.concatenate(boxes), np.concatenate(scores), np.concatenate(classes), None, t, 0.45)


def retinaface(out, size, t):
    by = {v.shape[-1]: v[0] for v in out.values()}
    px, py, side = [], [], []
    for stride, sides in ((8, (16, 32)), (16, (64, 128)), (32, (256, 512))):
        x, y = centres(size, stride, 0.5)
        px.append(np.repeat(x, 2))
        py.append(np.repeat(y, 2))
        side.append(np.tile(sides, len(x)))
    x, y, s = np.concatenate(px), np.concatenate(py), np.concatenate(side)
    d, k = by[4], by[10]
    boxes = from_centre(x + 0.1 * d[:, 0] * s, y + 0.1 * d[:, 1] * s, s * np.exp(0.2 * d[:, 2]),
                        s * np.exp(0.2 * d[:, 3]))
    points = np.stack([np.stack([x + 0.1 * k[:, 2 * j] * s, y + 0.1 * k[:, 2 * j + 1] * s], 1)
                       for j in range(5)], axis=1)
    return suppressed(boxes, by[2][:, 1], np.ones(len(boxes), int), points, t, 0.4)


def retinaface_caffe(out, size, t):
    boxes, scores, points = [], [], []
    for stride, sides in ((8, (32, 16)), (16, (128, 64)), (32, (512, 256))):
        x, y = centres(size, stride, 0)
        d = rows(out['face_rpn_bbox_pred_stride%d' % stride])
        k = rows(out['face_rpn_landmark_pred_stride%d' % stride])
        p = rows(out['face_rpn_cls_prob_reshape_stride%d' % stride])
        for a, s in enumerate(sides):
            ax, ay = x + 7.5, y + 7.5
            cx, cy = ax + d[:, 4 * a] * s, ay + d[:, 4 * a + 1] * s
            boxes.append(from_centre(cx, cy, s * np.exp(d[:, 4 * a + 2]) - 1,
                                     s * np.exp(d[:, 4 * a + 3]) - 1))
            scores.append(p[:, 2 + a])
            points.append(np.stack([np.stack([ax + k[:, 10 * a + 2 * j] * s,
                                              ay + k[:, 10 * a + 2 * j + 1] * s], 1)
                                    for j in range(5)], axis=1))
    scores = np.concatenate(scores)
    return suppressed(np.concatenate(boxes), scores, np.ones(len(scores), int), np.concatenate(points),
                      t, 0.4)


def blazeface(out, size, t):
    parts = sorted(out.values(), key=lambda v: (v.shape[2], -v.shape[1]))
    score = sigmoid(np.concatenate([parts[0], parts[1]], axis=1)[0, :, 0])
    raw = np.concatenate([parts[2], parts[3]], axis=1)[0]
    near, far = centres(size, 8, 0.5), centres(size, 16, 0.5)
    x, y = (np.concatenate([np.repeat(near[i], 2), np.repeat(far[i], 6)]) for i in range(2))
    boxes = from_centre(x + raw[:, 0], y + raw[:, 1], raw[:, 2], raw[:, 3])
    points = np.stack([np.stack([x + raw[:, 4 + 2 * j], y + raw[:, 5 + 2 * j]], 1) for j in range(6)], 1)
    return suppressed(boxes, score, np.zeros(len(score), int), points, t, 0.3)


def ultraface(out, size, t):
    boxes = out['boxes'][0] * [size[0], size[1], size[0], size[1]]
    return suppressed(boxes, out['scores'][0][:, 1], np.ones(len(boxes), int), None, t, 0.3)


def points_of(scale, width):
    def decode(out, size, _):
        raw = max(out.values(), key=lambda v: v.size).reshape(-1, width)[:, :2]
        points = raw * ([size[0], size[1]] if scale else [1, 1])
        return [(0, 1.0, np.array([0, 0, size[0], size[1]]), points)]
    return decode


def channels_last(out):
    raw = next(iter(out.values()))[0]
    return raw if raw.shape[2] < raw.shape[0] else np.moveaxis(raw, 0, 2)


def largest(out):
    return channels_last(out).argmax(axis=2)


def half(out):
    return (channels_last(out)[:, :, 0] >= 0.5).astype(int)


def plate(out):
    letters = ('京沪津渝冀晋蒙辽吉黑苏浙皖闽赣鲁豫鄂湘粤桂琼川贵云藏陕甘青宁新0123456789'
               'ABCDEFGHJKLMNPQRSTUVWXYZIO')
    best = next(iter(out.values())).reshape(len(letters) + 1, -1).argmax(axis=0)
    return ''.join(letters[b] for a, b in zip([len(letters), *best], best) if b != a and b < len(letters))


def unit(out):
    raw = next(iter(out.values())).ravel()
    return raw / np.linalg.norm(raw)


def age(out):
    return float(next(iter(out.values())).ravel()[0])


# Model, preset, kind of comparison, the independent decoding, the least confidence, pictures beside
# its golden one. A preset of None: the converter chooses.
MODELS = (
    ('zoo/scrfd_500m_kps.onnx', 'scrfd', 'boxes', scrfd, 0.3, FACES),
    ('zoo/scrfd_500m_kps.onnx', None, 'boxes', scrfd, 0.3, ()),
    ('zoo/yunet_n_320_320.onnx', 'yunet', 'boxes', yunet, 0.3, FACES),
    ('zoo/yunet_n_320_320.onnx', None, 'boxes', yunet, 0.3, ()),
    ('zoo/FastestDet.onnx', 'fastestdet', 'boxes', fastestdet, 0.3, THINGS),
    ('zoo/light_person_detector.onnx', 'light-person-detector', 'boxes', yolox, 0.1, THINGS),
    ('zoo/yolo-fastestv2.onnx', 'yolo-fastestv2', 'boxes', yolo_fastestv2, 0.2, THINGS),
    ('zoo/nanodet_m_320.onnx', 'nanodet', 'boxes', nanodet, 0.3, THINGS),
    ('zoo/nanodet_m_320.onnx', None, 'boxes', nanodet, 0.1, ()),
    ('zoo/retinaface_mnet025.onnx', 'retinaface', 'boxes', retinaface, 0.3, FACES),
    ('zoo/retinaface_mnet025.onnx', None, 'boxes', retinaface, 0.3, ()),
    ('zoo/retinaface_mnet_caffe.prototxt', 'retinaface-caffe', 'boxes', retinaface_caffe, 0.3, FACES),
    ('zoo/blazeface_front.onnx', 'blazeface', 'boxes', blazeface, 0.3, FACES),
    ('zoo/blazeface_front.onnx', None, 'boxes', blazeface, 0.05, ()),
    ('models/yolox_nano.onnx', 'yolox', 'boxes', yolox, 0.3, THINGS),
    ('models/yolox_nano.onnx', None, 'boxes', yolox, 0.3, THINGS),
    ('models/version-RFB-320.onnx', 'ultraface', 'boxes', ultraface, 0.3, FACES),
    ('zoo/pfld_cunjian.onnx', 'pfld', 'boxes', points_of(True, 2), 0, ()),
    ('zoo/facemesh_landmark.onnx', 'facemesh', 'boxes', points_of(False, 3), 0, ()),
    ('zoo/selfie_segmentation.onnx', 'selfie', 'map', half, 0, FACES),
    ('zoo/prisma_seg.onnx', 'prisma-seg', 'map', half, 0, FACES),
    ('zoo/SINet.onnx', 'sinet', 'map', largest, 0, FACES),
    ('zoo/road_seg_adas_0001.onnx', 'road-segmentation-adas', 'map', largest, 0, ('lane_morning.jpg',)),
    ('zoo/LPRNet.onnx', 'lprnet', 'text', plate, 0, ()),
    ('zoo/mobilefacenet.onnx', 'mobilefacenet', 'embedding', unit, 0, ()),
    ('zoo/ssrnet.onnx', 'ssrnet', 'numbers', age, 0, ()),
)
RESIZES = {'scrfd': 'top-left', 'yolox': 'top-left', 'blazeface': 'centred'}


def in_picture(points, size, picture, resize):
    """Pixels of the network's input as fractions of the picture."""
    points = np.asarray(points, float).reshape(-1, 2)
    if not resize:
        return points / size
    scale = min(size[0] / picture[0], size[1] / picture[1])
    pad = np.zeros(2)
    if resize == 'centred':
        pad = np.array([(size[i] - round(picture[i] * scale)) // 2 for i in range(2)])
    return (points - pad) / (np.array(picture) * scale)


def compare_boxes(found, wanted, size, picture, resize, threshold):
    """Returns, for each found object, the nearest wanted one of its class; raises ValueError if none is near."""
    left = list(wanted)
    unit_px = np.array(size) if not resize else np.array(picture) * min(size[0] / picture[0],
                                                                         size[1] / picture[1])
    for f in found:
        corners = np.array(f['box']).reshape(2, 2) * unit_px
        best, nearest = None, None
        for i, (c, score, box, points) in enumerate(left):
            own = in_picture(box, size, picture, resize) * unit_px
            far = np.abs(own - corners).max()
            if c == f['cls'] and (best is None or far < best):
                best, nearest = far, i
        if best is None or best > MOST_PIXELS:
            raise ValueError('a box of class %d with %.3f is not wanted (nearest %s pixels)' %
                             (f['cls'], f['conf'], best))
        _, score, _, points = left.pop(nearest)
        if threshold > 0 and abs(score - f['conf']) > MOST_CONFIDENCE:
            raise ValueError('confidence %.4f, wanted %.4f' % (f['conf'], score))
        if points is not None:
            own = np.array(f['points'])[:, :2] * unit_px
            far = np.abs(own - in_picture(points, size, picture, resize) * unit_px).max()
            if far > MOST_PIXELS:
                raise ValueError('points are %.2f pixels off' % far)
    for c, score, _, _ in left:
        if score > threshold + MOST_CONFIDENCE:
            raise ValueError('class %d with %.3f was not found' % (c, score))


def compare(kind, found, decode, out, size, picture, resize, threshold):
    if kind == 'boxes':
        wanted = decode(out, size, threshold)
        compare_boxes(found, wanted, size, picture, resize, threshold)
        return '%d objects' % len(found)
    if kind == 'text':
        if [f['text'] for f in found] != [decode(out)]:
            raise ValueError('text %s, wanted %s' % (found, decode(out)))
        return decode(out)
    if kind == 'map':
        wanted, mask = decode(out), found[0]['mask']
        cells = np.repeat(mask['runs'][::2], mask['runs'][1::2]).reshape(mask['height'], mask['width'])
        other = int((cells != wanted).sum())
        if other > 0:
            raise ValueError('%d of %d cells are of another class' % (other, wanted.size))
        return '%.0f %% not background' % (100 * (wanted > 0).mean())
    if kind == 'embedding':
        far = np.abs(np.array(found[0]['embedding']) - decode(out)).max()
        if far > 1e-5:
            raise ValueError('numbers are up to %g off' % far)
        return '%d numbers' % len(found[0]['embedding'])
    value = next(iter(found[0]['numbers'].values()))
    if abs(value - decode(out)) > 1e-3:
        raise ValueError('%g, wanted %g' % (value, decode(out)))
    return '%g' % value


def said(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.decode(errors='replace').strip().split('\n')[-1])
    return done.stdout.decode()


def check(dvnet, data, work, model, preset, kind, decode, threshold, pictures):
    path = os.path.join(data, model)
    stem = os.path.basename(model).rsplit('.', 1)[0]
    network = os.path.join(work, stem + '.dvn')
    files = [path] + ([path.replace('.prototxt', '.caffemodel')] if model.endswith('.prototxt') else [])
    said(dvnet, 'convert', *files, *(['--preset', preset] if preset else []), '-o', network)
    shown = [os.path.join(data, 'zoo/golden', stem + '.png')] if model.startswith('zoo') else []
    shown += [os.path.join(data, 'images', name) for name in pictures]
    results = []
    for picture in shown:
        dump = os.path.join(work, 'dump')
        line = json.loads(said(dvnet, 'run', network, picture, '--json', '-t', str(threshold), '--dump', dump))
        prefix = os.path.basename(picture) + '.'
        out = {}
        for name in sorted(os.listdir(dump)):
            if not name.startswith(prefix):
                continue
            values = np.load(os.path.join(dump, name)).astype(float)
            if name.endswith('.input.npy'):
                size = values.shape[3], values.shape[2]
            elif not name.endswith('.tensor.npy'):
                out[name[len(prefix):-4]] = values
            os.remove(os.path.join(dump, name))
        results.append(compare(kind, line['detections'], decode, out, size,
                               (line['width'], line['height']), RESIZES.get(preset), threshold))
    return ', '.join(results)


def main():
    dvnet, data, only = sys.argv[1], sys.argv[2], sys.argv[3:]
    if not os.path.isdir(data):
        print('skipped: there is no', data)
        return 77
    wrong = 0
    chosen = [m for m in MODELS if not only or any(name in m[0] for name in only)]
    if not only:
        chosen = share_of(chosen)
    with tempfile.TemporaryDirectory() as work:
        for model, preset, kind, decode, threshold, pictures in chosen:
            name = '%s (%s)' % (model, preset or 'by itself')
            try:
                print('%-58s %s' % (name, check(dvnet, data, work, model, preset, kind, decode, threshold,
                                                pictures)))
            except (ValueError, KeyError, IndexError) as problem:
                wrong += 1
                print('%-58s WRONG: %s' % (name, problem))
    print('%d of %d are right' % (len(chosen) - wrong, len(chosen)))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
