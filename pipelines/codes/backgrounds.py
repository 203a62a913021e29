# SPDX-License-Identifier: Apache-2.0
"""Surfaces behind the codes: cardboard, wood, tiles, shelves, clutter, all drawn from a seed."""
import cv2
import numpy as np


def clouds(rng, width, height, cells, strength, grey=False):
    """Smooth noise with about `cells` bumps across, added to a picture."""
    shape = (max(2, int(cells * height / width)), max(2, cells), 1 if grey else 3)
    grid = rng.normal(0, strength, shape).astype(np.float32)
    noise = cv2.resize(grid, (width, height), interpolation=cv2.INTER_CUBIC)
    return noise if noise.ndim == 3 else noise[..., None]


def _gradient(rng, width, height):
    ends = rng.uniform(20, 235, (2, 3)).astype(np.float32)
    if rng.random() < 0.6:  # mostly dull
        ends = ends * 0.35 + ends.mean(1, keepdims=True) * 0.65
    angle = rng.uniform(0, 2 * np.pi)
    x = np.linspace(-0.5, 0.5, width, dtype=np.float32)[None] * np.float32(np.cos(angle))
    y = np.linspace(-0.5, 0.5, height, dtype=np.float32)[:, None] * np.float32(np.sin(angle))
    blend = np.clip(x + y + 0.5, 0, 1)[..., None]
    return ends[0] * (1 - blend) + ends[1] * blend


def _cardboard(rng, width, height):
    base = np.array((90, 130, 170), np.float32) * np.float32(rng.uniform(0.6, 1.35))
    picture = np.empty((height, width, 3), np.float32)
    picture[:] = base
    fibres = clouds(rng, width, height, width // 3, 5, grey=True)
    ribs = np.sin(np.arange(width, dtype=np.float32) * np.float32(rng.uniform(0.5, 1.5)))
    return picture + fibres + ribs[None, :, None] * np.float32(rng.uniform(0, 5))


def _wood(rng, width, height):
    base = np.array((60, 100, 150), np.float32) * np.float32(rng.uniform(0.5, 1.5))
    bend = clouds(rng, width, height, 4, 8, grey=True)[..., 0]
    y = np.arange(height, dtype=np.float32)[:, None] + bend
    rings = np.sin(y * np.float32(rng.uniform(0.15, 0.7))) * np.float32(rng.uniform(6, 22))
    return base + rings[..., None] + clouds(rng, width, height, 40, 4, grey=True)


def _tiles(rng, width, height):
    picture = _gradient(rng, width, height)
    step = int(rng.uniform(0.08, 0.4) * width)
    joint = tuple(float(v) for v in rng.uniform(30, 200, 3))
    for x in range(int(rng.integers(step)), width, step):
        cv2.line(picture, (x, 0), (x, height), joint, int(rng.integers(1, 4)))
    for y in range(int(rng.integers(step)), height, step):
        cv2.line(picture, (0, y), (width, y), joint, int(rng.integers(1, 4)))
    return picture


def _boxes(rng, width, height):
    """Shelves with boxes, each with a lighter top or side."""
    picture = _gradient(rng, width, height)
    for _ in range(rng.integers(3, 14)):
        x, y = rng.uniform((-0.1, -0.1), (0.9, 0.9)) * (width, height)
        w, h = rng.uniform(0.08, 0.5, 2) * (width, height)
        colour = rng.uniform(20, 230, 3) if rng.random() < 0.4 else np.array((90, 130, 170)) * rng.uniform(0.4, 1.4)
        p, q = (int(x), int(y)), (int(x + w), int(y + h))
        cv2.rectangle(picture, p, q, tuple(float(v) for v in colour), -1)
        lid = (q[0], int(y + h * rng.uniform(0.05, 0.3)))
        cv2.rectangle(picture, p, lid, tuple(float(v) for v in colour * rng.uniform(0.7, 1.25)), -1)
        if rng.random() < 0.5:
            cv2.rectangle(picture, p, q, tuple(float(v) for v in colour * 0.5), 1)
    return picture


SURFACES = (_gradient, _cardboard, _wood, _tiles, _boxes, _boxes)


def _clutter(rng, picture):
    """Wires, edges, round things, blobs."""
    height, width = picture.shape[:2]
    for _ in range(rng.integers(0, 14)):
        points = rng.uniform((-0.1, -0.1), (1.1, 1.1), (4, 2)) * (width, height)
        points = points.astype(np.int32)
        colour = tuple(float(v) for v in rng.uniform(0, 255, 3))
        what = rng.random()
        if what < 0.4:
            cv2.polylines(picture, [points], False, colour, int(rng.integers(1, 7)), cv2.LINE_AA)
        elif what < 0.65:
            axes = tuple(int(v) for v in rng.uniform(5, width / 6, 2))
            cv2.ellipse(picture, tuple(int(v) for v in points[0]), axes, rng.uniform(0, 180), 0,
                        rng.uniform(90, 360), colour, int(rng.integers(1, 8)) if rng.random() < 0.5 else -1,
                        cv2.LINE_AA)
        elif what < 0.85:
            around = points[0] + rng.uniform(-width / 8, width / 8, (int(rng.integers(3, 7)), 2))
            cv2.fillPoly(picture, [around.astype(np.int32)], colour, cv2.LINE_AA)
        else:
            cv2.line(picture, tuple(int(v) for v in points[0]), tuple(int(v) for v in points[1]), colour,
                     int(rng.integers(6, 30)), cv2.LINE_AA)


def random_background(rng, width, height):
    """height x width x 3, float32 of 0..255."""
    picture = SURFACES[rng.integers(len(SURFACES))](rng, width, height)
    picture = np.ascontiguousarray(picture, np.float32)
    _clutter(rng, picture)
    for cells in (5, 20, 80):
        picture += clouds(rng, width, height, cells, rng.uniform(0, 9), grey=rng.random() < 0.6)
    return np.clip(picture, 0, 255)
