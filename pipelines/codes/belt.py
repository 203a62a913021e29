# SPDX-License-Identifier: Apache-2.0
"""The clip's stage: a conveyor belt under a lamp, seen by a camera that hangs over it.

The belt is the plane z = 0; x runs along it to the right, y across it towards the viewer, z up. A
unit is a pixel in the middle of the frame. Drawings are SCALE times as large as the frame, which
gives smooth edges. Pictures are float32 BGR.
"""
import math

import cv2
import numpy as np

import surfaces
from backgrounds import clouds
from surfaces import PER_UNIT

WIDTH, HEIGHT = 640, 480
SCALE = 2
DISTANCE, TILT = 1250, math.radians(21)  # from the belt's middle; from upright
BELT, RAIL_OUTER, RAIL_HEIGHT = 208, 262, 30  # half widths and height, units
LIGHT = (-0.62, -0.44)  # direction to the lamp, per unit of height
# Brightness of faces: top; front, right, back and left.
TOP, SIDES = 1.0, (0.60, 0.46, 0.5, 0.80)
RUBBER_LENGTH = 2000


def seen(points):
    """Returns the places of points (N x 3) in the frame (N x 2 pixels)."""
    c, s = math.cos(TILT), math.sin(TILT)
    away = np.asarray(points, np.float64) - (0, DISTANCE * s, DISTANCE * c)
    depth = away @ (0, -s, -c)
    return np.stack([away[:, 0], away @ (0, c, -s)], 1) / depth[:, None] * DISTANCE + (WIDTH / 2, HEIGHT / 2)


def faces_camera(middle, normal):
    eye = np.array((0, DISTANCE * math.sin(TILT), DISTANCE * math.cos(TILT)))
    return float(np.dot(eye - middle, normal)) > 0


def _matrix(width, height, corners):
    """From pixels of a texture to those of the large picture."""
    source = np.float32([[0, 0], [width, 0], [width, height], [0, height]])
    return cv2.getPerspectiveTransform(source, np.float32(seen(corners) * SCALE))


def paste(picture, texture, mask, corners, light=1.0):
    """Draws a texture with its corners (4 x 3, the upper left one first) in the scene."""
    height, width = texture.shape[:2]
    matrix = _matrix(width, height, corners)
    points = seen(corners) * SCALE
    x0, y0 = np.clip(np.floor(points.min(0)).astype(int) - 2, 0, picture.shape[1::-1])
    x1, y1 = np.clip(np.ceil(points.max(0)).astype(int) + 2, 0, picture.shape[1::-1])
    if x0 >= x1 or y0 >= y1:
        return
    matrix = np.array([[1, 0, -x0], [0, 1, -y0], [0, 0, 1]], np.float64) @ matrix
    size = (int(x1 - x0), int(y1 - y0))
    drawn = cv2.warpPerspective(texture, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    alpha = cv2.warpPerspective(mask, matrix, size, flags=cv2.INTER_LINEAR)[..., None]
    part = picture[y0:y1, x0:x1]
    part[:] = part * (1 - alpha) + drawn * (alpha * np.float32(light))


class Lying:
    """A parcel on the belt: its middle and its rotation."""

    def __init__(self, parcel, x, y, degrees):
        self.parcel, self.x, self.y, self.turn = parcel, x, y, math.radians(degrees)
        height, width = parcel.face.shape[:2]
        self.half = np.array((width, height)) / PER_UNIT / 2

    def place(self, flat, z, moved):
        """Points from the parcel's middle (N x 2) at a height, in the scene."""
        c, s = math.cos(self.turn), math.sin(self.turn)
        xy = np.asarray(flat, np.float64) @ np.array([[c, s], [-s, c]]) + (self.x + moved, self.y)
        return np.concatenate([xy, np.full((len(xy), 1), float(z))], 1)

    def corners(self, z, moved):
        w, h = self.half
        return self.place([[-w, -h], [w, -h], [w, h], [-w, h]], z, moved)

    def codes(self, moved):
        """Class ids and outlines in the frame."""
        for kind, points in self.parcel.regions:
            yield kind, seen(self.place(points / PER_UNIT - self.half, self.parcel.height, moved))

    def shade(self, dark, moved):
        """Darkens a map of light (large picture's size / 4): the shadow that the lamp casts, and the gap below."""
        height = self.parcel.height
        base = self.corners(0, moved)
        far = self.corners(0, moved) + (-LIGHT[0] * height, -LIGHT[1] * height, 0)
        for points, sigma, depth in ((np.concatenate([base, far]), 3 + height / 14, 0.52), (base, 3, 0.45)):
            hull = cv2.convexHull(np.float32(seen(points) * SCALE / 4))
            mask = np.zeros(dark.shape, np.float32)
            cv2.fillConvexPoly(mask, np.int32(np.round(hull * 16)), 1.0, cv2.LINE_AA, 4)
            dark *= 1 - np.float32(depth) * cv2.GaussianBlur(mask, (0, 0), sigma)

    def draw(self, picture, moved):
        top, bottom = self.corners(self.parcel.height, moved), self.corners(0, moved)
        for i, (side, light) in enumerate(zip(self.parcel.sides, SIDES)):
            a, b = ((3, 2), (2, 1), (1, 0), (0, 3))[i]  # its left and right upper corner from outside
            corners = np.array([top[a], top[b], bottom[b], bottom[a]])
            normal = np.cross(corners[1] - corners[0], corners[3] - corners[0])
            if faces_camera(corners.mean(0), normal):
                paste(picture, side, np.ones(side.shape[:2], np.float32), corners, light)
        paste(picture, self.parcel.face, self.parcel.mask, top, TOP)


def _rail(rng, length, width):
    """Brushed aluminium with grooves, screws and a blue line."""
    w, h = length * PER_UNIT, width * PER_UNIT
    picture = np.empty((h, w, 3), np.float32)
    picture[:] = (168, 166, 162)
    streaks = cv2.GaussianBlur(rng.standard_normal((h, w), np.float32), (0, 0), sigmaX=40, sigmaY=0.6)
    picture += (streaks / streaks.std() * 4)[..., None]
    round_ = np.interp(np.arange(h), (0, h * 0.2, h * 0.5, h), (0.75, 1.1, 0.98, 0.7)).astype(np.float32)
    picture *= round_[:, None, None]
    for share in (0.3, 0.72):
        y = int(h * share)
        picture[y:y + 5] *= np.float32(0.45)
        picture[y + 5:y + 7] *= np.float32(1.15)
    picture[int(h * 0.47):int(h * 0.47) + 9] = np.float32((150, 92, 28))
    for x in range(90, w, 420):
        middle = (x, int(h * 0.58))
        cv2.circle(picture, middle, 9, (120, 118, 116), -1, cv2.LINE_AA)
        cv2.circle(picture, middle, 9, (70, 69, 68), 2, cv2.LINE_AA)
        cv2.circle(picture, middle, 4, (48, 47, 46), -1, cv2.LINE_AA)
    return picture


class Stage:
    def __init__(self, rng):
        self.rubber = surfaces.rubber(rng, RUBBER_LENGTH * PER_UNIT, 2 * BELT * PER_UNIT)
        size = (WIDTH * SCALE, HEIGHT * SCALE)
        y, x = np.indices((HEIGHT, WIDTH), np.float32)
        lamp = np.exp(-np.square((x - 210) / 420) - np.square((y - 170) / 360))
        self.lamp = cv2.resize(0.80 + 0.36 * lamp, size)[..., None]
        gloss = np.exp(-np.square((x - 250) / 210) - np.square((y - 150) / 120))
        self.gloss = cv2.resize(gloss * 20, size)[..., None] * np.float32((1.0, 0.98, 0.94))
        self.rails = np.zeros((size[1], size[0], 3), np.float32)
        self.behind = np.zeros((size[1], size[0]), np.float32)  # where the rails are
        reach = WIDTH * 0.62
        for sign in (-1, 1):
            inner, outer = sign * BELT, sign * RAIL_OUTER
            low, high = min(inner, outer), max(inner, outer)
            top = [(x, y, RAIL_HEIGHT) for x, y in ((-reach, low), (reach, low), (reach, high), (-reach, high))]
            face = _rail(rng, int(2 * reach), RAIL_OUTER - BELT)
            if sign < 0:  # its side towards the belt is seen, too
                wall = face[-RAIL_HEIGHT * PER_UNIT:]
                wall = wall * np.linspace(0.5, 0.28, len(wall), dtype=np.float32)[:, None, None]
                corners = ((-reach, RAIL_HEIGHT), (reach, RAIL_HEIGHT), (reach, 0), (-reach, 0))
                self._rail(wall, [(x, inner, z) for x, z in corners])
            self._rail(face, top)
        across = np.abs(np.arange(2 * BELT * PER_UNIT, dtype=np.float32) / PER_UNIT - BELT)
        edge = 1 - 0.5 * np.exp(-(BELT - across) / 14)  # the rails' shade on the belt
        self.rubber *= edge[:, None, None]
        # The lens: dark corners.
        away = np.hypot((x - WIDTH / 2) / WIDTH, (y - HEIGHT / 2) / HEIGHT)
        self.lens = (1 - 0.32 * np.square(away / 0.7071) ** 1.2)[..., None].astype(np.float32)

    def _rail(self, texture, corners):
        ones = np.ones(texture.shape[:2], np.float32)
        paste(self.rails, texture, ones, np.array(corners, np.float64))
        flat = np.repeat(self.behind[..., None], 3, 2)
        paste(flat, np.ones_like(texture), ones, np.array(corners, np.float64))
        self.behind = np.maximum(self.behind, flat[..., 0])

    def frame(self, things, moved):
        """Returns the camera's picture after the belt has moved by some units; float32 of 0..255."""
        picture = np.zeros((HEIGHT * SCALE, WIDTH * SCALE, 3), np.float32)
        # The part of the belt that is below the camera, cut at whole pixels of its texture.
        start = int((RUBBER_LENGTH - WIDTH * 1.2 - moved) * PER_UNIT)
        part = self.rubber[:, start:start + int(WIDTH * 1.2 * PER_UNIT)]
        x0 = start / PER_UNIT - RUBBER_LENGTH + WIDTH * 0.6 + moved
        x1 = x0 + part.shape[1] / PER_UNIT
        paste(picture, part, np.ones(part.shape[:2], np.float32),
              np.array([(x0, -BELT, 0), (x1, -BELT, 0), (x1, BELT, 0), (x0, BELT, 0)], np.float64))
        dark = np.ones((HEIGHT * SCALE // 4, WIDTH * SCALE // 4), np.float32)
        visible = [t for t in things if abs(t.x + moved) < WIDTH * 0.5 + 240]
        for thing in visible:
            thing.shade(dark, moved)
        picture += self.gloss
        picture *= cv2.resize(dark, picture.shape[1::-1])[..., None]
        for thing in visible:
            thing.draw(picture, moved)
        # The shutter is open for a fifth of a frame's time: motion smears by about a pixel.
        picture = cv2.blur(picture, (3, 1))
        hidden = self.behind[..., None]
        picture = (picture * (1 - hidden) + self.rails * hidden) * self.lamp
        small = cv2.resize(picture, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
        glow = cv2.GaussianBlur(np.clip(small - 190, 0, None), (0, 0), 9)
        return np.clip((small + 0.35 * glow) * self.lens, 0, 255)
