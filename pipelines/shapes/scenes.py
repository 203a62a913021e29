# SPDX-License-Identifier: Apache-2.0
"""Scenes of filled shapes over busy backgrounds, with their true boxes: all from a seed, no files.

`scene(stream, index)` is a pure function of its arguments. Streams never share a random state, so
that what is trained on, what is held out and what the clip shows cannot overlap.
Pictures are uint8 BGR; boxes are float pixels x0, y0, x1, y1 with pixel edges at integers (the left
edge of the leftmost pixel is 0.0); class ids count from 1, 0 being the background.
"""
import math
from dataclasses import dataclass, field

import cv2
import numpy as np

cv2.setNumThreads(1)

WIDTH, HEIGHT = 320, 240
LABELS = ("background", "disc", "square", "triangle")
DISC, SQUARE, TRIANGLE = 1, 2, 3
MIN_SIZE, MAX_SIZE = 24, 160

# Streams: the first number of a random state's seed.
TRAIN, HELD_OUT, EMPTY, CLIP = 1, 2, 3, 4

# A shape is drawn only where it differs this much from what is behind it (distance in BGR).
MIN_CONTRAST = 70
# Of two shapes' boxes, the smaller may be covered by at most this share by the other.
MAX_COVER = 0.15
SUBPIXEL_BITS = 4


@dataclass
class Shape:
    kind: int
    cx: float
    cy: float
    size: float  # the larger side of its box, before clipping
    angle: float  # radians
    aspect: float = 1.0  # width / height before rotation
    colour: tuple = (0, 0, 0)
    shade: float = 0.0  # the fill grows this much brighter from its left to its right edge
    outline: tuple = None  # colour, or None

    def polygon(self):
        if self.kind == DISC:
            turns = np.arange(72) / 72
        elif self.kind == SQUARE:
            turns = (np.arange(4) + 0.5) / 4
        else:
            turns = np.arange(3) / 3
        points = np.stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)], 1)
        points[:, 0] *= self.aspect
        c, s = math.cos(self.angle), math.sin(self.angle)
        points = points @ np.array([[c, s], [-s, c]])
        low, high = points.min(0), points.max(0)
        points = (points - (low + high) / 2) * (self.size / (high - low).max())
        return points + (self.cx, self.cy)

    def box(self):
        points = self.polygon()
        return np.concatenate([points.min(0), points.max(0)])


@dataclass
class Background:
    """A gradient, a cloudy texture that may be scrolled, stripes and clutter that is no shape."""
    colours: np.ndarray  # 2 x 3, float32
    angle: float
    texture: np.ndarray  # larger than the picture, so that it can be scrolled
    stripes: tuple  # amplitude, period in pixels, angle
    clutter: list = field(default_factory=list)
    scroll: tuple = (0, 0)  # pixels, within the texture's margin

    def render(self):
        y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
        along = (x - WIDTH / 2) * math.cos(self.angle) + (y - HEIGHT / 2) * math.sin(self.angle)
        blend = np.clip(along / WIDTH + 0.5, 0, 1)[..., None]
        picture = self.colours[0] * (1 - blend) + self.colours[1] * blend
        amplitude, period, angle = self.stripes
        if amplitude:
            along = (x + self.scroll[0]) * math.cos(angle) + (y + self.scroll[1]) * math.sin(angle)
            picture += amplitude * np.sin(along * (2 * np.pi / period))[..., None]
        left, top = (int(v) for v in self.scroll)
        picture += self.texture[top:top + HEIGHT, left:left + WIDTH]
        picture = np.clip(picture, 0, 255).astype(np.uint8)
        for draw in self.clutter:
            draw(picture, self.scroll)
        return picture


def _colour(rng):
    return tuple(int(v) for v in rng.integers(0, 256, 3))


def _fixed(points):
    """Float points with pixel edges at integers to OpenCV's fixed point, centres at integers."""
    return np.round((np.asarray(points) - 0.5) * (1 << SUBPIXEL_BITS)).astype(np.int32)


def random_texture(rng, margin=0):
    shape = (HEIGHT + margin, WIDTH + margin)
    texture = np.zeros(shape + (3,), np.float32)
    for cells in (4, 12, 40):
        grid = rng.normal(0, 1, (cells * 3 // 4, cells, 3)).astype(np.float32)
        if rng.random() < 0.5:
            grid[...] = grid[..., :1]
        strength = np.float32(rng.uniform(0, 10))
        texture += strength * cv2.resize(grid, shape[::-1], interpolation=cv2.INTER_CUBIC)
    return texture


def _line(rng):
    points = rng.uniform((-20, -20), (WIDTH + 20, HEIGHT + 20), (rng.integers(2, 5), 2))
    colour, thickness = _colour(rng), int(rng.integers(1, 9))

    def draw(picture, scroll):
        cv2.polylines(picture, [_fixed(points - scroll)], False, colour, thickness, cv2.LINE_AA,
                      SUBPIXEL_BITS)
    return draw


def _text(rng):
    letters = "".join(chr(v) for v in rng.integers(33, 127, rng.integers(2, 10)))
    at = rng.uniform((-20, 10), (WIDTH - 20, HEIGHT))
    font, scale = int(rng.integers(0, 8)), rng.uniform(0.4, 2.2)
    colour, thickness = _colour(rng), int(rng.integers(1, 4))

    def draw(picture, scroll):
        where = tuple(int(v) for v in at - scroll)
        cv2.putText(picture, letters, where, font, scale, colour, thickness, cv2.LINE_AA)
    return draw


def _arc(rng):
    centre, axes = rng.uniform((0, 0), (WIDTH, HEIGHT)), rng.uniform(10, 70, 2)
    start = rng.uniform(0, 360)
    sweep = rng.uniform(60, 360)
    colour, thickness = _colour(rng), int(rng.integers(1, 7))

    def draw(picture, scroll):
        cv2.ellipse(picture, tuple(_fixed(centre - scroll).tolist()), tuple(_fixed(axes).tolist()),
                    start, 0, sweep, colour, thickness, cv2.LINE_AA, SUBPIXEL_BITS)
    return draw


def _bar(rng):
    """A filled rectangle too long to be taken for a square."""
    length = rng.uniform(40, 200)
    half = np.array([length, length / rng.uniform(3.5, 8)]) / 2
    angle = rng.uniform(0, np.pi)
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
    c, s = math.cos(angle), math.sin(angle)
    corners = corners @ np.array([[c, s], [-s, c]]) + rng.uniform((0, 0), (WIDTH, HEIGHT))
    colour = _colour(rng)

    def draw(picture, scroll):
        cv2.fillPoly(picture, [_fixed(corners - scroll)], colour, cv2.LINE_AA, SUBPIXEL_BITS)
    return draw


def random_background(rng, margin=0, busy=1.0):
    kinds = (_line, _text, _arc, _bar)
    count = int(rng.integers(0, 12) * busy)
    clutter = [kinds[rng.choice(4, p=(0.4, 0.25, 0.2, 0.15))](rng) for _ in range(count)]
    amplitude = rng.uniform(3, 25) if rng.random() < 0.35 else 0
    return Background(colours=rng.uniform(10, 245, (2, 3)).astype(np.float32),
                      angle=rng.uniform(0, 2 * np.pi), texture=random_texture(rng, margin),
                      clutter=clutter,
                      stripes=(amplitude, rng.uniform(6, 60), rng.uniform(0, np.pi)))


def contrasting_colour(rng, behind):
    """A random colour that stands off from each of the colours `behind` (N x 3)."""
    while True:
        colour = rng.integers(0, 256, 3)
        if np.linalg.norm(behind - colour, axis=1).min() >= MIN_CONTRAST:
            return tuple(int(v) for v in colour)


def visible(box):
    return np.clip(box, 0, (WIDTH, HEIGHT, WIDTH, HEIGHT))


def _area(box):
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def _fits(box, others):
    """At most a fifth outside the picture, and no shape hides much of another."""
    if _area(visible(box)) < 0.8 * _area(box):
        return False
    for other in others:
        common = np.concatenate([np.maximum(box[:2], other[:2]), np.minimum(box[2:], other[2:])])
        if _area(common) > MAX_COVER * min(_area(box), _area(other)):
            return False
    return True


def random_shape(rng):
    size = math.exp(rng.uniform(math.log(MIN_SIZE), math.log(MAX_SIZE)))
    cx, cy = rng.uniform((0, 0), (WIDTH, HEIGHT))
    return Shape(kind=int(rng.integers(1, 4)), cx=cx, cy=cy, size=size,
                 angle=rng.uniform(0, 2 * np.pi), aspect=math.exp(rng.normal(0, 0.07)),
                 shade=rng.uniform(-40, 40) if rng.random() < 0.4 else 0.0,
                 outline=_colour(rng) if rng.random() < 0.25 else None)


def draw_shape(picture, shape):
    points = shape.polygon()
    x0, y0, x1, y1 = visible(np.concatenate([np.floor(points.min(0)) - 1,
                                              np.ceil(points.max(0)) + 1])).astype(int)
    part = picture[y0:y1, x0:x1]
    mask = np.zeros(part.shape[:2], np.uint8)
    corners = [_fixed(points - (x0, y0))]
    cv2.fillPoly(mask, corners, 255, cv2.LINE_AA, SUBPIXEL_BITS)
    ramp = np.linspace(-0.5, 0.5, part.shape[1], dtype=np.float32)[None, :, None] * shape.shade
    alpha = mask[..., None].astype(np.float32) / 255
    mixed = part * (1 - alpha) + (np.float32(shape.colour) + ramp) * alpha
    part[...] = np.clip(np.round(mixed), 0, 255).astype(np.uint8)
    if shape.outline:
        cv2.polylines(part, corners, True, shape.outline, 1, cv2.LINE_AA, SUBPIXEL_BITS)


def camera(rng, picture):
    """What a camera and a file format do to a picture."""
    if rng.random() < 0.5:
        picture = cv2.GaussianBlur(picture, (0, 0), rng.uniform(0.3, 1.4))
    picture = picture * np.float32(rng.uniform(0.6, 1.2)) + np.float32(rng.uniform(-20, 30))
    if rng.random() < 0.6:
        sigma = np.float32(rng.uniform(1, 12))
        picture = picture + sigma * rng.standard_normal(picture.shape, np.float32)
    picture = np.clip(np.round(picture), 0, 255).astype(np.uint8)
    if rng.random() < 0.6:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(30, 95))]
        picture = cv2.imdecode(cv2.imencode(".jpg", picture, quality)[1], cv2.IMREAD_COLOR)
    return picture


def scene(stream, index):
    """Returns picture, boxes (N x 4 float32) and class ids (N int64). Stream EMPTY has no shape."""
    rng = np.random.default_rng((stream, index))
    picture = random_background(rng).render()
    wanted = 0 if stream == EMPTY or rng.random() < 0.05 else int(rng.integers(1, 8))
    boxes, kinds = [], []
    for _ in range(wanted * 6):
        if len(boxes) == wanted:
            break
        shape = random_shape(rng)
        box = shape.box()
        if not _fits(box, boxes):
            continue
        x0, y0, x1, y1 = np.round(visible(box)).astype(int)
        shape.colour = contrasting_colour(rng, picture[y0:y1, x0:x1].mean((0, 1))[None])
        draw_shape(picture, shape)
        boxes.append(box)
        kinds.append(shape.kind)
    for _ in range(rng.integers(0, 3)):  # a wire or two in front of everything
        points = rng.uniform((0, 0), (WIDTH, HEIGHT), (2, 2))
        cv2.polylines(picture, [_fixed(points)], False, _colour(rng), int(rng.integers(1, 3)),
                      cv2.LINE_AA, SUBPIXEL_BITS)
    picture = camera(rng, picture)
    boxes = [visible(box) for box in boxes]
    return (picture, np.array(boxes, np.float32).reshape(-1, 4), np.array(kinds, np.int64))
