# SPDX-License-Identifier: Apache-2.0
"""Test cards: colour bars, noise, checks, zone plates and the like. None of them holds a code.

`drawn` makes one of our own from a seed; `generated` are frames of GStreamer's videotestsrc.
Pictures are uint8 BGR.
"""
import subprocess

import cv2
import numpy as np

PATTERNS = 26  # of videotestsrc
# Each size gives another picture of a pattern; the sizes for measurements (MEASURED) are not in the
# training.
LEARNT = ((352, 288), (800, 600), (960, 540), (1920, 1080), (256, 192), (480, 640), (540, 960), (384, 512))
MEASURED = ((320, 240), (640, 480), (1280, 720), (720, 1280))


def _flat(rng, width, height):
    picture = np.empty((height, width, 3), np.float32)
    picture[:] = rng.uniform(0, 255, 3) if rng.random() < 0.6 else rng.uniform(0, 255)
    return picture


def _noise(rng, width, height):
    """Snow. Its grain stays finer than a code's modules, from which coarse grain could not be told."""
    grain = float(rng.choice((1, 1, 1, 1.5, 2, 3))) * max(1, width / 640)
    shape = (max(2, int(height / grain)), max(2, int(width / grain)))
    deep = rng.random() < 0.25
    noise = rng.uniform(0, 255, (*shape, 3 if deep else 1)).astype(np.float32)
    if rng.random() < 0.3:
        noise = np.where(noise < 128, np.float32(rng.uniform(0, 100)), np.float32(rng.uniform(150, 255)))
    noise = cv2.resize(noise, (width, height), interpolation=cv2.INTER_NEAREST)
    return noise if noise.ndim == 3 else np.repeat(noise[..., None], 3, 2)


BAR_COLOURS = ((1, 1, 1), (0, 1, 1), (1, 1, 0), (0, 1, 0), (1, 0, 1), (0, 0, 1), (1, 0, 0))  # B, G, R


def _bars(rng, width, height):
    """Colour bars above, a thin row of them backwards, and blocks below with noise in one."""
    picture = np.zeros((height, width, 3), np.float32)
    level = rng.uniform(150, 255)
    colours = np.array(BAR_COLOURS) * level
    first, second = (int(height * v) for v in (rng.uniform(0.55, 0.75), rng.uniform(0.68, 0.85)))
    edges = np.linspace(0, width, len(colours) + 1).astype(int)
    for i, (x0, x1) in enumerate(zip(edges, edges[1:])):
        picture[:first, x0:x1] = colours[i]
        picture[first:, x0:x1] = colours[-1 - i] if i % 2 == 0 else rng.uniform(0, 40)
    edges = np.sort(rng.uniform(0, width, rng.integers(3, 9)).astype(int))
    for x0, x1 in zip(edges, edges[1:]):
        picture[second:, x0:x1] = rng.uniform(0, 255, 3) if rng.random() < 0.4 else rng.uniform(0, 255)
    x0 = int(width * rng.uniform(0.6, 0.85)) if rng.random() < 0.7 else int(width * rng.uniform(0, 0.6))
    x1 = width if rng.random() < 0.6 else min(width, x0 + int(width * rng.uniform(0.1, 0.4)))
    picture[second:, x0:x1] = _noise(rng, x1 - x0, height - second)
    return picture


def _patches(rng, width, height):
    """Snow in rectangles of a flat, shaded or striped picture."""
    picture = (_flat, _gradient, _grating, _bars)[rng.integers(4)](rng, width, height)
    for _ in range(rng.integers(1, 5)):
        w, h = (int(v) for v in rng.uniform(0.08, 0.6, 2) * (width, height))
        x, y = int(rng.uniform(0, width - w)), int(rng.uniform(0, height - h))
        picture[y:y + h, x:x + w] = _noise(rng, w, h)
    return picture


def _two(rng, wave):
    """A wave of -1..1 between two colours."""
    ends = rng.uniform(0, 255, (2, 3)) if rng.random() < 0.4 else np.array([[0.0] * 3, [255.0] * 3])
    if rng.random() < 0.4:
        wave = np.sign(wave)
    blend = (wave[..., None] + 1) / 2
    return (ends[0] * (1 - blend) + ends[1] * blend).astype(np.float32)


def _places(rng, width, height):
    """x and y in pixels from a centre in or near the middle."""
    centre = rng.uniform(0.3, 0.7, 2) if rng.random() < 0.5 else np.array((0.5, 0.5))
    y, x = np.indices((height, width), np.float32)
    return x - np.float32(centre[0] * width), y - np.float32(centre[1] * height)


def _checks(rng, width, height):
    y, x = np.indices((height, width))
    cell = float(np.exp(rng.uniform(0, np.log(height / 4))))
    return _two(rng, np.where(((y // cell) + (x // cell)) % 2 == 0, 1.0, -1.0))


def _zone_plate(rng, width, height):
    x, y = _places(rng, width, height)
    k = rng.uniform(0.2, 4) / width
    return _two(rng, np.sin(k * (x * x * rng.uniform(0.3, 1) + y * y)))


def _rings(rng, width, height):
    x, y = _places(rng, width, height)
    return _two(rng, np.sin(np.hypot(x, y) * np.exp(rng.uniform(np.log(0.02), np.log(2)))))


def _spokes(rng, width, height):
    x, y = _places(rng, width, height)
    return _two(rng, np.sin(np.arctan2(y, x) * int(rng.integers(2, 60)) + rng.uniform(0, 6)))


def _gradient(rng, width, height):
    x = np.linspace(-1, 1, width, dtype=np.float32)[None]
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    return _two(rng, np.broadcast_to(x if rng.random() < 0.4 else y if rng.random() < 0.6 else (x + y) / 2,
                                     (height, width)))


def _grating(rng, width, height):
    """Even stripes, of one width or of several groups."""
    groups = int(rng.integers(1, 7))
    edges = np.linspace(0, width, groups + 1).astype(int)
    phase = np.zeros(width)
    for x0, x1 in zip(edges, edges[1:]):
        phase[x0:x1] = np.arange(x1 - x0) * np.exp(rng.uniform(np.log(0.02), np.log(3)))
    wave = np.broadcast_to(np.sin(phase)[None], (height, width))
    return _two(rng, wave)


def _steps(rng, width, height):
    """Grey or coloured steps, in one or several rows."""
    picture = np.zeros((height, width, 3), np.float32)
    rows, columns = int(rng.integers(1, 6)), int(rng.integers(2, 14))
    for i in range(rows):
        for j in range(columns):
            value = 255 * j / (columns - 1) if rng.random() < 0.5 else rng.uniform(0, 255, 3)
            part = picture[i * height // rows:(i + 1) * height // rows]
            part[:, j * width // columns:(j + 1) * width // columns] = value
    return picture


def _ball(rng, width, height):
    picture = _flat(rng, width, height) * np.float32(0.4)
    for _ in range(rng.integers(1, 4)):
        middle = tuple(int(v) for v in rng.uniform((0, 0), (width, height)))
        cv2.circle(picture, middle, int(rng.uniform(0.02, 0.3) * min(width, height)),
                   tuple(float(v) for v in rng.uniform(100, 255, 3)), -1, cv2.LINE_AA)
    return picture


def _crosshatch(rng, width, height):
    picture = _flat(rng, width, height) * np.float32(0.3)
    ink = (float(rng.uniform(180, 255)),) * 3
    for at in np.linspace(0, width, int(rng.integers(4, 30))).astype(int):
        cv2.line(picture, (int(at), 0), (int(at), height), ink, int(rng.integers(1, 4)))
    for at in np.linspace(0, height, int(rng.integers(4, 30))).astype(int):
        cv2.line(picture, (0, int(at)), (width, int(at)), ink, int(rng.integers(1, 4)))
    if rng.random() < 0.5:
        cv2.circle(picture, (width // 2, height // 2), int(min(width, height) * 0.45), ink, 2, cv2.LINE_AA)
    return picture


CARDS = (_bars, _bars, _bars, _patches, _patches, _noise, _checks, _checks, _zone_plate, _rings, _spokes,
         _gradient, _grating, _grating, _steps, _ball, _crosshatch)


def drawn(rng, width, height):
    """height x width x 3, float32 of 0..255."""
    picture = CARDS[rng.integers(len(CARDS))](rng, width, height)
    return np.clip(np.ascontiguousarray(picture, np.float32), 0, 255)


def generated(pattern, width, height, count):
    """The first frames of a pattern of videotestsrc (its number)."""
    command = ["gst-launch-1.0", "-q", "videotestsrc", "pattern=%d" % pattern, "num-buffers=%d" % count, "!",
               "video/x-raw,format=BGRx,width=%d,height=%d" % (width, height), "!", "fdsink"]
    data = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    frames = np.frombuffer(data, np.uint8).reshape(count, height, width, 4)
    return [np.ascontiguousarray(frame[..., :3]) for frame in frames]
