# SPDX-License-Identifier: Apache-2.0
"""The MTCNN of docs/cascades.md on two photographs must find the faces of a plain implementation of the paper with
the same pyramid.

Arguments: dvnet, docs/cascades.md, the folder of the data
"""
import sys
import tempfile
from pathlib import Path

from check_cascades import commands, run_section, skip_without  # first: it skips where the rest is not there

import cv2
import numpy as np

HEADING = "Faces by MTCNN"
# Three networks in a row react to single pixels: on photographs with these shifts, the plain
# implementation's own boxes have an IoU of 0.79 and points are 4 % apart. So each face is compared
# with the nearest one of these.
SHIFTS = (0, 0), (1, 1), (3, 2), (5, 3), (7, 7)
SURE = 0.9  # faces of less confidence come and go with the shifts, at a threshold of 0.7
INPUT = 160, 120  # width and height of the first network's upright input


def varint(data, at):
    """Returns a protobuf number, and the place of the next item."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def wire(data):
    """Yields the fields of a protobuf message: number and value."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, value
        else:
            length, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            yield key >> 3, data[at:at + length]
            at += length


def numbers(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def read_weights(path):
    """Returns the arrays of each layer of a caffemodel, by its name."""
    NAME, BLOBS, LAYER, DATA, SHAPE = 1, 7, 100, 5, 7
    layers = {}
    for number, layer in wire(path.read_bytes()):
        if number != LAYER:
            continue
        fields = list(wire(layer))
        name = bytes(next(v for n, v in fields if n == NAME)).decode()
        blobs = []
        for blob in (list(wire(v)) for n, v in fields if n == BLOBS):
            values = np.concatenate([np.frombuffer(v, "<f4") for n, v in blob if n == DATA])
            shape = [d for n, v in blob if n == SHAPE for _, dims in wire(v)
                     for d in ([dims] if isinstance(dims, int) else numbers(dims))]
            blobs.append(values.reshape(shape) if shape else values)
        layers[name] = blobs
    return layers


def convolve(x, weights):
    """x: channels, rows, columns."""
    kernel, bias = weights
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[2:], (1, 2))
    return np.tensordot(kernel, windows, ((1, 2, 3), (0, 3, 4))) + bias[:, None, None]


def prelu(x, weights):
    slope = weights[0].reshape(-1, *[1] * (x.ndim - 1))
    return np.maximum(x, 0) + slope * np.minimum(x, 0)


def pool(x, size):
    """Returns the maximum of each window, with stride 2; the last window may reach beyond the edge."""
    height, width = (-(-(n - size) // 2) + 1 for n in x.shape[1:])
    padded = np.full((x.shape[0], 2 * height + size, 2 * width + size), -np.inf, np.float32)
    padded[:, :x.shape[1], :x.shape[2]] = x
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (1, 2))
    return windows[:, ::2, ::2][:, :height, :width].max((3, 4))


def softmax(x):
    e = np.exp(x - x.max(0))
    return e / e.sum(0)


def connect(x, weights):
    return weights[0].reshape(weights[1].size, -1) @ x.ravel() + weights[1]


def input_of(picture):
    """Returns channels R, G, B of the transposed picture."""
    return (cv2.cvtColor(picture, cv2.COLOR_BGR2RGB).astype(np.float32).transpose(2, 1, 0) - 127.5) / 128


class PlainMtcnn:
    """MTCNN by its paper (Zhang, Zhang, Li and Qiao: Joint Face Detection and Alignment using Multitask
    Cascaded Convolutional Networks, 2016), with OpenCV and NumPy alone: the reference for our cascade.
    The Caffe files were trained with transposed pictures."""

    def __init__(self, folder):
        self.first, self.second, self.third = (read_weights(folder / f"det{i}.caffemodel") for i in (1, 2, 3))

    def run_first(self, x):
        w = self.first
        x = pool(prelu(convolve(x, w["conv1"]), w["PReLU1"]), 2)
        x = prelu(convolve(x, w["conv2"]), w["PReLU2"])
        x = prelu(convolve(x, w["conv3"]), w["PReLU3"])
        return softmax(convolve(x, w["conv4-1"]))[1], convolve(x, w["conv4-2"])

    def run_second(self, x):
        w = self.second
        x = pool(prelu(convolve(x, w["conv1"]), w["prelu1"]), 3)
        x = pool(prelu(convolve(x, w["conv2"]), w["prelu2"]), 3)
        x = prelu(convolve(x, w["conv3"]), w["prelu3"])
        x = prelu(connect(x, w["conv4"]), w["prelu4"])
        return softmax(connect(x, w["conv5-1"]))[1], connect(x, w["conv5-2"])

    def run_third(self, x):
        w = self.third
        x = pool(prelu(convolve(x, w["conv1"]), w["prelu1"]), 3)
        x = pool(prelu(convolve(x, w["conv2"]), w["prelu2"]), 3)
        x = pool(prelu(convolve(x, w["conv3"]), w["prelu3"]), 2)
        x = prelu(convolve(x, w["conv4"]), w["prelu4"])
        x = prelu(connect(x, w["conv5"]), w["prelu5"])
        return softmax(connect(x, w["conv6-1"]))[1], connect(x, w["conv6-2"]), connect(x, w["conv6-3"])

    def propose(self, picture, scales, threshold):
        rows = []
        for scale in scales:
            height, width = (int(np.ceil(n * scale)) for n in picture.shape[:2])
            small = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
            # Cells are those of the transposed picture, in which the picture's columns come first.
            faces, moves = self.run_first(input_of(small))
            found = []
            for x, y in np.argwhere(faces >= threshold):
                box = np.array([2 * x, 2 * y, 2 * x + 12, 2 * y + 12]) / scale
                found.append([*box, faces[x, y], *moves[:, x, y]])
            rows += suppress(found, 0.5)
        return [(moved(row[:4], row[5:9]), row[4]) for row in suppress(rows, 0.7)]

    def find(self, picture, scales, thresholds=(0.6, 0.7, 0.7)):
        """Returns faces, the most confident first: box, confidence and five points. The picture is looked at in each
        of `scales`."""
        again = []
        for box, _ in self.propose(picture, scales, thresholds[0]):
            box = square(box)
            face, moves = self.run_second(input_of(crop(picture, box, 24)))
            if face >= thresholds[1]:
                again.append([*box, face, *moves])
        faces = []
        for row in suppress(again, 0.7):
            box = square(moved(row[:4], row[5:9]))
            face, moves, points = self.run_third(input_of(crop(picture, box, 48)))
            if face >= thresholds[2]:
                x, y = points[:5] * (box[2] - box[0]) + box[0], points[5:] * (box[3] - box[1]) + box[1]
                faces.append([*moved(box, moves), face, *x, *y])
        return [(np.array(row[:4]), row[4], np.array(row[5:]).reshape(2, 5).T)
                for row in suppress(faces, 0.7, smaller=True)]


def moved(box, moves):
    width, height = box[2] - box[0], box[3] - box[1]
    return np.asarray(box) + np.array(moves) * (width, height, width, height)


def square(box):
    side = max(box[2] - box[0], box[3] - box[1])
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return np.array([x - side / 2, y - side / 2, x + side / 2, y + side / 2])


def crop(picture, box, size):
    """Crops with black beyond the picture, like the paper's own code."""
    x0, y0, x1, y1 = (int(round(v)) for v in box)
    part = np.zeros((max(1, y1 - y0), max(1, x1 - x0), 3), np.uint8)
    left, top, right, bottom = max(x0, 0), max(y0, 0), min(x1, picture.shape[1]), min(y1, picture.shape[0])
    part[top - y0:bottom - y0, left - x0:right - x0] = picture[top:bottom, left:right]
    return cv2.resize(part, (size, size), interpolation=cv2.INTER_AREA)


def overlap(a, b, smaller=False):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    both = max(0, width) * max(0, height)
    areas = [(r[2] - r[0]) * (r[3] - r[1]) for r in (a, b)]
    return both / (min(areas) if smaller else sum(areas) - both)


def suppress(rows, threshold, smaller=False):
    kept = []
    for row in sorted(rows, key=lambda r: -r[4]):
        if all(overlap(row, other, smaller) <= threshold for other in kept):
            kept.append(row)
    return kept


def scales_of(page, picture):
    """Returns the scales at which the page's pipeline looks at a picture."""
    words = next(w for w in commands(page, HEADING) if w[0] == "gst-launch-1.0")
    tiles = next(w for w in words if w.startswith("tiles="))[len("tiles="):].split(",")
    height, width = picture.shape[:2]
    return [float(scale) * min(INPUT[0] / width, INPUT[1] / height) for scale in tiles]


def plain_faces(picture, scales, zoo):
    """Returns the faces that the plain implementation finds in the picture, and in the picture shifted by some pixels."""
    plain = PlainMtcnn(zoo)
    for x, y in SHIFTS:
        shifted = cv2.copyMakeBorder(picture, y, 0, x, 0, cv2.BORDER_CONSTANT)
        yield [(box - (x, y, x, y), confidence, points - (x, y))
               for box, confidence, points in plain.find(shifted, scales)]


def check(document, picture, page, zoo):
    found = document["objects"]
    # The objects of the first two networks have been replaced.
    assert {o["network"] for o in found} == {"faces"}, {o["network"] for o in found}
    expected = list(plain_faces(picture, scales_of(page, picture), zoo))
    sure = [face for face in expected[0] if face[1] >= SURE]
    assert len(sure) >= 6, f"the plain implementation finds {len(sure)} faces only"
    assert len(found) == len(sure), f"{len(found)} faces, not {len(sure)}"
    for box, confidence, _ in sure:
        face = max(found, key=lambda o: overlap(box, o["box"]))
        points = np.array(face["points"])[:, :2]
        side = max(box[2] - box[0], box[3] - box[1])
        nearest = [max(faces, key=lambda other: overlap(other[0], face["box"])) for faces in expected]
        shared, away = max((overlap(other[0], face["box"]), -np.abs(points - other[2]).max() / side)
                           for other in nearest)
        print(f"face of {side:.0f} pixels, {confidence:.3f}: IoU {shared:.2f}, points within {-100 * away:.1f} %")
        assert shared >= 0.8
        assert -away <= 0.03


def main():
    dvnet, page, data = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), Path(sys.argv[3])
    photographs = [data / "images" / f"{name}.jpg" for name in ("12_angry_men", "face_classification_test_image")]
    models = [data / "zoo" / f"det{i}.{kind}" for i in (1, 2, 3) for kind in ("prototxt", "caffemodel")]
    skip_without(models + photographs)
    for photograph in photographs:
        with tempfile.TemporaryDirectory() as folder:
            for path in [photograph, *models]:
                (Path(folder) / path.name).symlink_to(path.resolve())
            document, picture = run_section(page, HEADING, dvnet, photograph.name, Path(folder))
        print(f"{photograph.name}:")
        check(document, picture, page, data / "zoo")


if __name__ == "__main__":
    main()
