# SPDX-License-Identifier: Apache-2.0
"""Scenes of a parcel line or a stock room with codes in them: all from a seed, no files.

`scene(stream, index)` is a pure function of its arguments. Streams never share a random state, so
training, held-out and clip scenes cannot overlap.
Pictures are uint8 BGR of several sizes; boxes are float pixels x0, y0, x1, y1 with pixel edges at
integers; class ids count from 1, 0 being the background. Sizes of codes are chosen in pixels of the
network's input, to which a picture is stretched.
"""
import math

import cv2
import numpy as np

import backgrounds
import prints
from prints import BARCODE, MARKER, QR

cv2.setNumThreads(1)

LABELS = ("background", "QR code", "barcode", "marker")
INPUT_WIDTH, INPUT_HEIGHT = 256, 192

# Streams: the first number of a random state's seed.
TRAIN, HELD_OUT, EMPTY, CLIP, TRAIN_EMPTY = 1, 2, 3, 4, 5  # others: small_codes.py, more_scenes.py

FRAME_SIZES = ((640, 480), (512, 384), (640, 360), (320, 240))
FRAME_CHANCES = (0.45, 0.2, 0.2, 0.15)
# Longer side of a code's box, pixels of the network's input.
SIZES = {QR: (20, 150), BARCODE: (36, 190), MARKER: (18, 150)}
MIN_SHORT_SIDE = 9  # likewise, of the box after tilting
MIN_INSIDE = 0.85  # share of a box that lies in the frame
EMPTY_SHARE = 0.12  # of the training scenes
TRIES = 8  # to find a place for a print


class Pose:
    """The pose of a print: bent on a cylinder, tilted, turned, seen through a lens."""

    def __init__(self, rng, centre):
        self.centre = np.asarray(centre, np.float64)
        limit = math.radians(25 if rng.random() < 0.6 else 180)
        self.turn = rng.uniform(-limit, limit)
        tilt = 0.25 if rng.random() < 0.5 else 0.95
        self.tilt = rng.uniform(-tilt, tilt, 2)
        self.bend = rng.uniform(0.3, 1.05) if rng.random() < 0.25 else 0.0  # radians at the edge

    def bent_width(self, width):
        return int(width * math.sin(self.bend) / self.bend) if self.bend else width

    def bent(self, picture):
        """The print on a cylinder that stands upright, darker where it turns away."""
        if not self.bend:
            return picture
        height, width = picture.shape[:2]
        radius = width / 2 / self.bend
        half = radius * math.sin(self.bend)
        x = np.arange(self.bent_width(width), dtype=np.float32) + np.float32(0.5 - half)
        angle = np.arcsin(np.clip(x / np.float32(radius), -1, 1))
        source = angle * np.float32(radius) + np.float32(width / 2 - 0.5)
        rows = np.arange(height, dtype=np.float32)[:, None]
        map_x, map_y = np.broadcast_arrays(source[None], rows)
        out = cv2.remap(picture, map_x.copy(), map_y.copy(), cv2.INTER_LINEAR,
                        borderMode=cv2.BORDER_REPLICATE)
        light = 0.45 + 0.55 * np.cos(angle)
        return (out * light[None, :, None]).astype(np.uint8)

    def bent_points(self, points, width):
        """Points of the flat print (x, y) on the bent one."""
        if not self.bend:
            return points
        radius = width / 2 / self.bend
        half = radius * math.sin(self.bend)
        x = radius * np.sin((points[:, 0] - width / 2) / radius) + half
        return np.stack([x, points[:, 1]], 1)

    def homography(self, width, height):
        """Maps pixels of a bent print of this size to the frame."""
        corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64)
        flat = np.concatenate([corners - (width / 2, height / 2), np.zeros((4, 1))], 1)
        a, b = self.tilt
        about_x = np.array([[1, 0, 0], [0, math.cos(a), -math.sin(a)], [0, math.sin(a), math.cos(a)]])
        about_y = np.array([[math.cos(b), 0, math.sin(b)], [0, 1, 0], [-math.sin(b), 0, math.cos(b)]])
        c, s = math.cos(self.turn), math.sin(self.turn)
        about_z = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        solid = flat @ (about_z @ about_x @ about_y).T
        distance = 2.5 * max(width, height)
        seen = solid[:, :2] * (distance / (distance + solid[:, 2:])) + self.centre
        return cv2.getPerspectiveTransform(corners.astype(np.float32), seen.astype(np.float32))


def outline(box, steps=8):
    """Points along a rectangle's sides."""
    x0, y0, x1, y1 = box
    t = np.linspace(0, 1, steps, endpoint=False)[:, None]
    corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], np.float64)
    return np.concatenate([corners[i] * (1 - t) + corners[(i + 1) % 4] * t for i in range(4)])


def bounds(points):
    return np.concatenate([points.min(0), points.max(0)])


def area(box):
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def common(a, b):
    return area(np.concatenate([np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])]))


class Placed:
    """A print at its size and pose: its outline and its codes' boxes in the frame."""

    def __init__(self, rng, item, scale, centre):
        self.item = item
        self.pose = pose = Pose(rng, centre)
        self.size = size = [max(8, round(n * scale)) for n in item.picture.shape[1::-1]]
        self.matrix = pose.homography(pose.bent_width(size[0]), size[1])
        ratio = np.array(size) / item.picture.shape[1::-1]

        def in_frame(box):
            points = pose.bent_points(outline(np.array(box) * np.tile(ratio, 2)), size[0])
            return cv2.perspectiveTransform(points[None], self.matrix)[0]

        self.kinds = [region[0] for region in item.regions]
        self.outlines = [in_frame(region[1:]) for region in item.regions]
        self.boxes = [bounds(points) for points in self.outlines]
        self.extent = bounds(in_frame((0, 0, item.picture.shape[1], item.picture.shape[0])))

    def draw(self, rng, picture):
        shrinks = self.size[0] < self.item.picture.shape[1]
        print_ = self.pose.bent(cv2.resize(
            self.item.picture, self.size,
            interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR))
        height, width = picture.shape[:2]
        x0, y0 = np.clip(np.floor(self.extent[:2]).astype(int) - 2, 0, (width - 1, height - 1))
        x1, y1 = np.clip(np.ceil(self.extent[2:]).astype(int) + 2, 1, (width, height))
        size = (int(x1 - x0), int(y1 - y0))
        shift = np.array([[1, 0, -x0], [0, 1, -y0], [0, 0, 1]], np.float64) @ self.matrix
        seen = cv2.warpPerspective(print_, shift, size, flags=cv2.INTER_LINEAR,
                                   borderMode=cv2.BORDER_REPLICATE)
        mask = np.full(print_.shape[:2], 255, np.uint8)
        mask = cv2.warpPerspective(mask, shift, size, flags=cv2.INTER_LINEAR)
        alpha = mask.astype(np.float32)[..., None] / 255
        part = picture[y0:y1, x0:x1]
        if part.mean() > 120 and rng.random() < 0.3:  # printed on the thing itself
            seen = part.astype(np.float32) * seen / 255
        elif rng.random() < 0.5:  # a shadow under the paper
            soft = cv2.GaussianBlur(mask, (0, 0), 3)[..., None] / np.float32(255 * 3)
            part[:] = part * (1 - np.roll(soft, (2, 2), (0, 1)))
        part[:] = part * (1 - alpha) + seen * alpha


def _inside(box, frame):
    whole = np.array([0, 0, *frame], np.float64)
    return common(box, whole) / max(area(box), 1e-9)


def _acceptable(placed, others, frame, limits):
    """Whether codes are large enough and in the frame, and no print covers another one's codes."""
    stretch = np.array([INPUT_WIDTH / frame[0], INPUT_HEIGHT / frame[1]])
    for kind, box in zip(placed.kinds, placed.boxes):
        sides = (box[2:] - box[:2]) * stretch
        low, high = limits[kind]
        if not (sides.min() >= MIN_SHORT_SIDE and low <= sides.max() <= high):
            return False
        if _inside(box, frame) < MIN_INSIDE:
            return False
    for other in others:
        if any(common(placed.extent, box) > 0.02 * area(box) for box in other.boxes):
            return False
        if any(common(other.extent, box) > 0.02 * area(box) for box in placed.boxes):
            return False
    return True


def _random_code(rng, frame):
    """A print with codes and the scale that gives its first code a size drawn for its class."""
    if rng.random() < 0.15:
        item = prints.label(rng)
        if not item.regions:
            return item, 1
    else:
        item = prints.single(rng, int(rng.integers(1, 4)))
    kind, x0, y0, x1, y1 = item.regions[0]
    low, high = SIZES[kind]
    size = math.exp(rng.uniform(math.log(low), math.log(high)))
    return item, size * frame[0] / INPUT_WIDTH / max(x1 - x0, y1 - y0)


def _cover(rng, picture, box):
    """Something in front of a corner or an edge of a code: a finger, tape, a strap."""
    x0, y0, x1, y1 = box
    side = min(x1 - x0, y1 - y0)
    corner = np.array([rng.choice((x0, x1)), rng.choice((y0, y1))])
    if rng.random() < 0.5:
        corner[int(rng.integers(2))] = rng.uniform(0.2, 0.8) * side + (x0, y0)[int(rng.integers(2))]
    away = corner + rng.uniform(-1.5, 1.5, 2) * side
    colour = rng.uniform(30, 220, 3) if rng.random() < 0.5 else np.array((120, 150, 200)) * rng.uniform(0.5, 1.2)
    cv2.line(picture, tuple(int(v) for v in corner), tuple(int(v) for v in away),
             tuple(float(v) for v in colour), max(2, int(side * rng.uniform(0.1, 0.35))), cv2.LINE_AA)


def _light(rng, picture):
    """Shadows and glare: soft changes of brightness over a part of the frame."""
    height, width = picture.shape[:2]
    small = (width // 4, height // 4)
    gain = np.ones((small[1], small[0]), np.float32)
    if rng.random() < 0.4:
        mask = np.zeros((small[1], small[0]), np.float32)
        cv2.fillPoly(mask, [rng.uniform((-20, -20), (small[0] + 20, small[1] + 20), (4, 2)).astype(np.int32)], 1)
        gain *= 1 - rng.uniform(0.2, 0.65) * cv2.GaussianBlur(mask, (0, 0), rng.uniform(0.6, 8))
    picture = picture * cv2.resize(gain, (width, height))[..., None]
    if rng.random() < 0.2:
        spot = np.zeros((small[1], small[0]), np.float32)
        cv2.ellipse(spot, tuple(int(v) for v in rng.uniform((0, 0), small)),
                    tuple(int(v) for v in rng.uniform(4, 26, 2)), rng.uniform(0, 180), 0, 360, 1, -1)
        spot = cv2.resize(cv2.GaussianBlur(spot, (0, 0), rng.uniform(3, 9)), (width, height))
        picture = picture + spot[..., None] * np.float32(rng.uniform(60, 200))
    return picture


def _motion(rng, picture):
    length = int(rng.integers(3, 8))
    kernel = np.zeros((length, length), np.float32)
    angle = rng.uniform(0, np.pi)
    reach = np.array((math.cos(angle), math.sin(angle))) * (length - 1) / 2
    middle = (length - 1) / 2
    cv2.line(kernel, tuple(int(round(v)) for v in middle - reach), tuple(int(round(v)) for v in middle + reach), 1)
    return cv2.filter2D(picture, -1, kernel / kernel.sum())


def camera(rng, picture):
    """Adds the effects of light, lens, sensor and file format to a picture. Returns uint8."""
    picture = _light(rng, picture)
    blur = rng.random()
    per_input = picture.shape[1] / INPUT_WIDTH
    if blur < 0.45:
        picture = cv2.GaussianBlur(picture, (0, 0), rng.uniform(0.3, 0.8 * per_input))
    elif blur < 0.55:
        picture = _motion(rng, picture)
    balance = rng.uniform(0.5, 1.25) * rng.uniform(0.88, 1.12, 3)
    picture = picture * balance.astype(np.float32) + np.float32(rng.uniform(-15, 35))
    if rng.random() < 0.7:
        sigma = np.float32(rng.uniform(1, 14))
        picture = picture + sigma * rng.standard_normal(picture.shape, np.float32)
    picture = np.clip(np.round(picture), 0, 255).astype(np.uint8)
    if rng.random() < 0.6:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(30, 95))]
        picture = cv2.imdecode(cv2.imencode(".jpg", picture, quality)[1], cv2.IMREAD_COLOR)
    if rng.random() < 0.1:
        picture = cv2.cvtColor(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)
    return picture


def put_distractors(rng, picture, count):
    """Adds things that are no code to a picture."""
    frame = picture.shape[1::-1]
    for _ in range(count):
        item = prints.distractor(rng)
        scale = math.exp(rng.uniform(math.log(0.15), math.log(1.2))) * frame[0] / 640
        Placed(rng, item, scale, rng.uniform((0, 0), frame)).draw(rng, picture)


def put_codes(rng, picture, count, draw_code=_random_code, limits=SIZES, middle=0.5):
    """At most `count` prints with codes on a picture; returns those that found a place.

    draw_code(rng, frame) gives a print and its scale; limits are as SIZES; middle is how far from
    the frame's middle a print's may be, as a share of the frame's sides.
    """
    frame = np.array(picture.shape[1::-1])
    placed = []
    for _ in range(count):
        item, scale = draw_code(rng, frame)
        for _ in range(TRIES if item.regions else 0):
            candidate = Placed(rng, item, scale, rng.uniform((0.5 - middle) * frame, (0.5 + middle) * frame))
            if _acceptable(candidate, placed, frame, limits):
                candidate.draw(rng, picture)
                placed.append(candidate)
                break
    return placed


def put_covers(rng, picture, placed):
    for box in [box for p in placed for box in p.boxes]:
        if rng.random() < 0.12:
            _cover(rng, picture, box)


def truth(placed, frame):
    """Boxes within the frame (N x 4 float32) and class ids (N int64)."""
    limit = np.tile(frame, 2)
    boxes = np.array([np.clip(box, 0, limit) for p in placed for box in p.boxes], np.float32).reshape(-1, 4)
    return boxes, np.array([kind for p in placed for kind in p.kinds], np.int64)


def scene(stream, index):
    """Returns picture, boxes (N x 4 float32) and class ids (N int64). The EMPTY streams have no code."""
    rng = np.random.default_rng((stream, index))
    frame = FRAME_SIZES[rng.choice(len(FRAME_SIZES), p=FRAME_CHANCES)]
    picture = backgrounds.random_background(rng, *frame)
    empty = stream in (EMPTY, TRAIN_EMPTY) or (stream == TRAIN and rng.random() < EMPTY_SHARE)
    put_distractors(rng, picture, rng.integers(2, 7) if empty else rng.integers(0, 4))
    placed = put_codes(rng, picture, 0 if empty else int(rng.integers(1, 6)))
    put_covers(rng, picture, placed)
    return camera(rng, picture), *truth(placed, frame)
