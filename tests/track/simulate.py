# SPDX-License-Identifier: Apache-2.0
"""A street from a seed: people who enter, leave, cross, slow down, speed up, and hide behind each other and behind
pillars. The same scene is sampled at any frame rate, and detected as networks do: boxes off by a few percent, some missed,
some made up, and less confidence the more is hidden."""
import numpy as np

WIDTH, HEIGHT = 1280, 720
PILLARS = [(420, 50), (900, 80)]  # left edge, width
LEAST_VISIBLE = 0.3  # less of a person is neither part of the truth nor detected


class Walker:
    """A way at any time: a few waypoints that are passed with speeds that change smoothly."""

    def __init__(self, rng, begin):
        self.height = rng.uniform(90, 300)
        self.width = self.height * rng.uniform(0.35, 0.45)
        self.begin = begin
        right = rng.random() < 0.5
        depth = HEIGHT * 0.35 + self.height * 1.15 + rng.uniform(-25, 25)
        speed = self.height * rng.uniform(0.4, 0.9)  # pixels per second
        start = -self.width if right else WIDTH + self.width
        # Speeds over time: piecewise linear between knots, so that people accelerate, stop and go on.
        self.times, speeds, travelled = [0.0], [speed], 0.0
        while travelled < WIDTH + 2 * self.width and self.times[-1] < 60:
            length = rng.uniform(1, 3)
            new = self.height * (rng.uniform(0.15, 0.3) if rng.random() < 0.12 else rng.uniform(0.4, 1.1))
            travelled += length * (speeds[-1] + new) / 2
            self.times.append(self.times[-1] + length)
            speeds.append(new)
        self.times, self.speeds = np.array(self.times), np.array(speeds)
        self.reached = np.concatenate([[0], np.cumsum(np.diff(self.times) * (self.speeds[1:] + self.speeds[:-1]) / 2)])
        self.start, self.sign, self.foot = start, 1 if right else -1, depth
        self.sway = rng.uniform(0, 6), rng.uniform(0.3, 0.8), rng.uniform(0, 6.3)
        self.end = begin + self.times[-1]

    def box(self, time):
        """(left, top, width, height), or None while away."""
        t = time - self.begin
        if t < 0 or time > self.end:
            return None
        i = min(np.searchsorted(self.times, t, 'right') - 1, len(self.times) - 2)
        dt, length = t - self.times[i], self.times[i + 1] - self.times[i]
        slope = (self.speeds[i + 1] - self.speeds[i]) / length
        x = self.start + self.sign * (self.reached[i] + self.speeds[i] * dt + slope * dt * dt / 2)
        foot = self.foot + self.sway[0] * np.sin(6.28 * self.sway[1] * t + self.sway[2])
        return x - self.width / 2, foot - self.height, self.width, self.height

    def change(self, time):
        """How fast the speed changes, in sizes per second squared."""
        i = min(np.searchsorted(self.times, time - self.begin, 'right') - 1, len(self.times) - 2)
        return abs(self.speeds[i + 1] - self.speeds[i]) / (self.times[i + 1] - self.times[i]) / np.sqrt(
            self.width * self.height)

    def phase(self, time):
        """What somebody who is there does."""
        left, _, width, _ = self.box(time)
        if left < 0 or left + width > WIDTH:
            return 'entering' if (left < 0) == (self.sign > 0) else 'leaving'
        return 'accelerating' if self.change(time) > 0.4 else 'inside'


def visible(boxes):
    """What share of each box is seen, past pillars and who stands nearer (lower in the picture), on a grid of points."""
    shares = []
    order = sorted(range(len(boxes)), key=lambda i: -(boxes[i][1] + boxes[i][3]))
    for i, (left, top, width, height) in enumerate(boxes):
        x, y = np.meshgrid(left + width * (np.arange(12) + 0.5) / 12, top + height * (np.arange(12) + 0.5) / 12)
        seen = (x >= 0) & (x < WIDTH) & (y >= 0) & (y < HEIGHT)
        for at, wide in PILLARS:
            seen &= (x < at) | (x >= at + wide)
        for j in order:
            if j == i:
                break
            a, b, w, h = boxes[j]
            seen &= ~((x >= a) & (x < a + w) & (y >= b) & (y < b + h))
        shares.append(seen.mean())
    return shares


def scene(seed, seconds, people):
    rng = np.random.default_rng(seed)
    return [Walker(rng, rng.uniform(-5, seconds)) for _ in range(people)]


def clipped(box):
    left, top, width, height = box
    x0, y0, x1, y1 = max(left, 0), max(top, 0), min(left + width, WIDTH), min(top + height, HEIGHT)
    return (x0, y0, x1 - x0, y1 - y0)


def sample(walkers, seed, seconds, fps, error=0.03):
    """(truth, detections, frames): both dicts by frame, counted from 1. A detection's sixth number says whose it is, 0
    if nobody's. `error` is the deviation of its edges, in sizes."""
    rng = np.random.default_rng(seed + 1000)
    truth, detections = {}, {}
    frames = int(seconds * fps)
    for frame in range(1, frames + 1):
        time = (frame - 1) / fps
        here = [(i + 1, w.box(time)) for i, w in enumerate(walkers)]
        here = [(i, b) for i, b in here if b is not None]
        shares = visible([b for _, b in here])
        truth[frame], detections[frame] = [], []
        for (i, box), share in zip(here, shares):
            if share >= LEAST_VISIBLE:
                truth[frame].append((i, *clipped(box)))
            confidence = min(0.99, max(0.05, 0.35 + 0.65 * share + rng.normal(0, 0.06)))
            if share < LEAST_VISIBLE or rng.random() < (0.02 if share > 0.6 else 0.3):
                continue
            left, top, width, height = clipped(box)
            size = np.sqrt(width * height)
            noise = rng.normal(0, error, 4) * size
            detections[frame].append((left + noise[0], top + noise[1], max(4, width + noise[2]),
                                      max(4, height + noise[3]), confidence, i))
        if rng.random() < 0.05:  # made up
            high = rng.uniform(80, 240)
            detections[frame].append((rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT - high), 0.4 * high, high,
                                      rng.uniform(0.2, 0.7), 0))
    return truth, detections, frames
