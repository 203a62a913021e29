# SPDX-License-Identifier: Apache-2.0
"""Prints: codes with their quiet zones, labels with several codes, and things that are no codes.

A print is a BGR picture, drawn large and sharp, with the regions of its codes (class id, x0, y0,
x1, y1 in its pixels, quiet zones left out). scenes.py scales, bends, tilts and lights it.
"""
from collections import namedtuple

import cv2
import numpy as np

import symbols

QR, BARCODE, MARKER = 1, 2, 3

Print = namedtuple("Print", "picture regions")

MATRIX_SIDE = 220  # side of a drawn QR code or marker, about, in pixels
QUIET_MODULES = {QR: (2, 6), BARCODE: (7, 14), MARKER: (1, 3)}
FONTS = (cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_PLAIN, cv2.FONT_HERSHEY_DUPLEX,
         cv2.FONT_HERSHEY_COMPLEX, cv2.FONT_HERSHEY_TRIPLEX)


def paper(rng, height, width):
    """Light paper, white or tinted, and an ink for it."""
    light = rng.uniform(150, 255)
    tint = rng.uniform(-30, 10, 3) if rng.random() < 0.35 else np.zeros(3)
    picture = np.empty((height, width, 3), np.uint8)
    picture[:] = np.clip(light + tint, 120, 255)
    ink = np.full(3, rng.uniform(0, 70))
    if rng.random() < 0.15:
        ink = np.clip(ink + rng.uniform(-20, 50, 3), 0, 110)
    return picture, tuple(float(v) for v in ink)


def _text(rng, picture, x, y, scale, ink, letters=(3, 14)):
    cv2.putText(picture, symbols.random_text(rng, *letters), (int(x), int(y)), int(rng.choice(FONTS)),
                scale, ink, int(rng.integers(1, 3)), cv2.LINE_AA)


def _stamp(picture, modules, x, y, width, height, ink):
    """Draws modules into a rectangle of the picture."""
    dark = cv2.resize(modules, (width, height), interpolation=cv2.INTER_NEAREST) == symbols.DARK
    picture[y:y + height, x:x + width][dark] = ink


def code(rng, kind):
    """Modules, width, height and quiet zone (pixels) of one code."""
    if kind == BARCODE:
        modules = symbols.random_barcode(rng)
        module = max(2, round(320 / modules.shape[1]))
        width = modules.shape[1] * module
        height = int(width * rng.uniform(0.25, 0.75))
    else:
        modules = symbols.random_qr(rng) if kind == QR else symbols.random_marker(rng)
        module = max(4, MATRIX_SIDE // modules.shape[0])
        width = height = modules.shape[0] * module
    return modules, width, height, int(module * rng.uniform(*QUIET_MODULES[kind]))


def single(rng, kind):
    """One code on a piece of paper, perhaps with its number below."""
    modules, width, height, quiet = code(rng, kind)
    below = int(rng.uniform(20, 60)) if rng.random() < 0.5 else 0
    vertical = quiet if kind != BARCODE else int(quiet * rng.uniform(0.3, 1))
    picture, ink = paper(rng, height + 2 * vertical + below, width + 2 * quiet)
    _stamp(picture, modules, quiet, vertical, width, height, ink)
    if below:
        _text(rng, picture, quiet + rng.uniform(0, 30), vertical + height + below * 0.7, below / 45, ink,
              (6, 14))
    return Print(picture, [(kind, quiet, vertical, quiet + width, vertical + height)])


def label(rng):
    """A shipping label: text, rules and one or two codes."""
    width, height = int(rng.uniform(500, 800)), int(rng.uniform(450, 800))
    picture, ink = paper(rng, height, width)
    regions, y = [], int(rng.uniform(15, 40))
    kinds = [BARCODE, QR] if rng.random() < 0.6 else [BARCODE]
    if rng.random() < 0.3:
        kinds = [QR]
    rng.shuffle(kinds)
    while y < height - 40:
        if kinds and rng.random() < 0.45:
            modules, w, h, quiet = code(rng, kinds[-1])
            if w + 2 * quiet < width and y + h + 2 * quiet < height:
                x = int(rng.uniform(quiet, width - w - quiet))
                _stamp(picture, modules, x, y + quiet // 2, w, h, ink)
                regions.append((kinds.pop(), x, y + quiet // 2, x + w, y + quiet // 2 + h))
                y += h + quiet + int(rng.uniform(5, 30))
                continue
            kinds.pop()
        if rng.random() < 0.2:
            cv2.line(picture, (10, y), (width - 10, y), ink, int(rng.integers(1, 5)))
            y += int(rng.uniform(8, 20))
        else:
            size = rng.uniform(0.5, 1.6)
            y += int(26 * size)
            _text(rng, picture, rng.uniform(10, 60), y, size, ink, (6, 30))
            y += int(rng.uniform(4, 14))
    return Print(picture, regions)


# --- what is no code ---------------------------------------------------------------------------


def _paragraph(rng, picture, ink):
    size = rng.uniform(0.4, 1.1)
    for y in range(20, picture.shape[0], int(30 * size) + 4):
        _text(rng, picture, rng.uniform(4, 20), y, size, ink, (8, 60))


def _grid(rng, picture, ink):
    step, thick = int(rng.uniform(12, 60)), int(rng.integers(1, 6))
    other = step if rng.random() < 0.6 else int(step * rng.uniform(0.4, 2.5))
    for x in range(step, picture.shape[1], step):
        cv2.line(picture, (x, 0), (x, picture.shape[0]), ink, thick)
    for y in range(other, picture.shape[0], other):
        cv2.line(picture, (0, y), (picture.shape[1], y), ink, thick)


def _keyboard(rng, picture, ink):
    picture[:] = rng.uniform(15, 110)
    key, gap = int(rng.uniform(26, 48)), int(rng.uniform(4, 10))
    face = float(rng.uniform(20, 235))
    letter = 255.0 - face
    for row, y in enumerate(range(gap, picture.shape[0] - key, key + gap)):
        for x in range(gap + row % 3 * 9, picture.shape[1] - key, key + gap):
            cv2.rectangle(picture, (x, y), (x + key, y + key), (face,) * 3, -1)
            _text(rng, picture, x + key / 4, y + key * 0.7, key / 50, (letter,) * 3, (1, 2))


def _stripes(rng, picture, ink):
    """Blinds, railings, cloth: even stripes, which no barcode has."""
    period = rng.uniform(10, 60)
    bar = max(2, int(period * rng.uniform(0.25, 0.75)))
    across = rng.random() < 0.5
    length = picture.shape[0 if across else 1]
    shade = rng.random() < 0.5
    for at in np.arange(0, length, period).astype(int):
        part = picture[at:at + bar] if across else picture[:, at:at + bar]
        part[:] = ink
        if shade:
            n = part.shape[0 if across else 1]
            ramp = np.linspace(0, rng.uniform(40, 120), n)
            part[:] = np.clip(part + (ramp[:, None, None] if across else ramp[None, :, None]), 0, 255)


def _checks(rng, picture, ink):
    step = int(rng.uniform(18, 70))
    y, x = np.indices(picture.shape[:2])
    picture[(y // step + x // step) % 2 == 0] = ink


def _dots(rng, picture, ink):
    step = rng.uniform(10, 40)
    for y in np.arange(step / 2, picture.shape[0], step):
        for x in np.arange(step / 2, picture.shape[1], step):
            cv2.circle(picture, (int(x), int(y)), max(1, int(step * rng.uniform(0.1, 0.45))), ink, -1,
                       cv2.LINE_AA)


def _frame(rng, picture, ink):
    """A dark frame, or a dark square, with something soft or written inside: no marker's modules."""
    h, w = picture.shape[:2]
    edge, thick = int(min(h, w) * rng.uniform(0.06, 0.15)), int(min(h, w) * rng.uniform(0.05, 0.2))
    cv2.rectangle(picture, (edge, edge), (w - edge, h - edge), ink, -1)
    if rng.random() < 0.6:
        inner = edge + thick
        cv2.rectangle(picture, (inner, inner), (w - inner, h - inner), (float(rng.uniform(120, 255)),) * 3, -1)
        choice = rng.integers(0, 4)
        centre, radius = (w // 2, h // 2), int(min(h, w) * rng.uniform(0.1, 0.22))
        if choice == 0:
            cv2.circle(picture, centre, radius, ink, int(rng.integers(-1, 9)) or 3, cv2.LINE_AA)
        elif choice == 1:
            _text(rng, picture, w * 0.25, h * 0.6, rng.uniform(1, 3), ink, (1, 4))
        elif choice == 2:
            cv2.line(picture, (inner, inner), (w - inner, h - inner), ink, int(rng.integers(2, 14)),
                     cv2.LINE_AA)


def _ruler(rng, picture, ink):
    step = rng.uniform(5, 14)
    for i, x in enumerate(np.arange(step, picture.shape[1], step).astype(int)):
        long = 0.6 if i % 10 == 0 else 0.45 if i % 5 == 0 else 0.3
        cv2.line(picture, (x, 0), (x, int(picture.shape[0] * long)), ink, int(rng.integers(1, 3)))


def _table(rng, picture, ink):
    rows, columns = rng.integers(3, 9), rng.integers(2, 6)
    h, w = picture.shape[:2]
    for i in range(rows):
        for j in range(columns):
            x, y = int(j * w / columns), int(i * h / rows)
            cv2.rectangle(picture, (x, y), (int(x + w / columns), int(y + h / rows)), ink, 1)
            if rng.random() < 0.7:
                _text(rng, picture, x + 4, y + h / rows * 0.7, rng.uniform(0.3, 0.7), ink, (2, 9))


def _bricks(rng, picture, ink):
    h, w = int(rng.uniform(24, 60)), int(rng.uniform(50, 130))
    picture[:] = rng.uniform(60, 220, 3)
    for row, y in enumerate(range(0, picture.shape[0], h)):
        for x in range(-(row % 2) * w // 2, picture.shape[1], w):
            cv2.rectangle(picture, (x + 2, y + 2), (x + w - 2, y + h - 2),
                          tuple(float(v) for v in rng.uniform(20, 160, 3)), -1)


def _logo(rng, picture, ink):
    h, w = picture.shape[:2]
    for _ in range(rng.integers(2, 6)):
        points = rng.uniform((0, 0), (w, h), (rng.integers(3, 7), 2)).astype(np.int32)
        colour = tuple(float(v) for v in rng.uniform(0, 255, 3))
        if rng.random() < 0.5:
            cv2.fillPoly(picture, [points], colour, cv2.LINE_AA)
        else:
            cv2.ellipse(picture, tuple(int(v) for v in points[0]), (w // 5, h // 6), 0, 0, 360, colour, -1,
                        cv2.LINE_AA)


DISTRACTORS = (_paragraph, _paragraph, _grid, _keyboard, _stripes, _stripes, _checks, _dots, _frame, _frame,
               _ruler, _table, _bricks, _logo)


def distractor(rng):
    picture, ink = paper(rng, int(rng.uniform(150, 420)), int(rng.uniform(180, 480)))
    if rng.random() < 0.2:  # light on dark
        picture, ink = 255 - picture, tuple(255 - v for v in ink)
    DISTRACTORS[rng.integers(len(DISTRACTORS))](rng, picture, ink)
    return Print(picture, [])
