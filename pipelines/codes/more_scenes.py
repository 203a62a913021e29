# SPDX-License-Identifier: Apache-2.0
"""Scenes that scenes.py's frames leave out: portrait frames, codes and words that fill them, test cards.

As there, `scene(stream, index)` is a pure function, streams share no random state, pictures are uint8
BGR and boxes are pixels.
"""
import math

import cv2
import numpy as np

import backgrounds
import prints
import scenes
import symbols
import test_cards
from prints import BARCODE, MARKER, QR

# Streams. scenes.py and small_codes.py have the others.
TRAIN_PORTRAIT, TRAIN_LARGE, TRAIN_CARDS, PORTRAIT, LARGE, TRAIN_PANELS = 8, 9, 10, 11, 12, 13

PORTRAIT_SIZES = ((480, 640), (360, 640), (540, 720), (240, 320))
LARGE_FRAMES = scenes.FRAME_SIZES + PORTRAIT_SIZES
CARD_FRAMES = LARGE_FRAMES + ((1280, 720), (720, 1280))
# Longer side of a large code's box, pixels of the network's input, which is 256 wide.
LARGE_SIZES = {QR: (84, 262), BARCODE: (130, 290), MARKER: (84, 262)}
LARGE_FILL = (0.58, 1.02)  # of the frame's shorter side (QR codes, markers) or its width (barcodes)
PLAIN_SHARE = 0.25  # of large codes: a drawing rather than a photograph
LABEL_SHARE = 0.2  # of large codes: a label that fills the frame
CODES_BESIDE_PANELS = 0.4  # share of the scenes with panels that hold codes
CODES_ON_CARDS = 0.25  # share of the cards that hold codes, so that a card's colours do not say "none"


def _large_code(rng, frame):
    """A print and the scale that lets its first code, or the label, fill much of the frame."""
    fill = rng.uniform(*LARGE_FILL)
    if rng.random() < LABEL_SHARE:
        item = prints.label(rng)
        return item, fill * min(np.asarray(frame) / item.picture.shape[1::-1])
    item = prints.single(rng, int(rng.integers(1, 4)))
    kind, x0, y0, x1, y1 = item.regions[0]
    if kind == BARCODE:
        return item, fill * min(frame[0] / (x1 - x0), frame[1] / (y1 - y0))
    return item, fill * min(frame) / (x1 - x0)


def _large(rng):
    frame = LARGE_FRAMES[rng.integers(len(LARGE_FRAMES))]
    plain = rng.random() < PLAIN_SHARE
    if plain:
        picture = np.empty((frame[1], frame[0], 3), np.float32)
        picture[:] = rng.uniform(200, 255)
    else:
        picture = backgrounds.random_background(rng, *frame)
        scenes.put_distractors(rng, picture, rng.integers(0, 3))
    # Labels' codes are smaller than a code that fills the frame alone.
    limits = {kind: (scenes.SIZES[kind][0], high) for kind, (_, high) in LARGE_SIZES.items()}
    placed = scenes.put_codes(rng, picture, 1, _large_code, limits, middle=0.18)
    if not plain:
        scenes.put_covers(rng, picture, placed)
        picture = scenes.camera(rng, picture)
    return np.clip(np.round(picture), 0, 255).astype(np.uint8), placed


def _portrait(rng, empty):
    frame = PORTRAIT_SIZES[rng.integers(len(PORTRAIT_SIZES))]
    picture = backgrounds.random_background(rng, *frame)
    scenes.put_distractors(rng, picture, rng.integers(2, 7) if empty else rng.integers(0, 4))
    placed = scenes.put_codes(rng, picture, 0 if empty else int(rng.integers(1, 6)))
    scenes.put_covers(rng, picture, placed)
    return scenes.camera(rng, picture), placed


def _card(rng):
    frame = CARD_FRAMES[rng.integers(len(CARD_FRAMES))]
    if rng.random() < 0.75:
        picture = test_cards.drawn(rng, *frame)
    else:  # on a screen in a room
        picture = backgrounds.random_background(rng, *frame)
        card = np.uint8(test_cards.drawn(rng, 480, 360))
        scale = math.exp(rng.uniform(math.log(0.3), math.log(1.0))) * frame[0] / 640
        scenes.Placed(rng, prints.Print(card, []), scale, rng.uniform((0, 0), frame)).draw(rng, picture)
    placed = scenes.put_codes(rng, picture, int(rng.integers(1, 4)) if rng.random() < CODES_ON_CARDS else 0)
    if rng.random() < 0.5:
        picture = scenes.camera(rng, picture)
    return np.clip(np.round(picture), 0, 255).astype(np.uint8), placed


def _panel(rng):
    """Bold light words or signs on a dark field, as on packaging: from afar, like a marker's modules."""
    width, height = int(rng.uniform(220, 480)), int(rng.uniform(140, 480))
    picture = np.empty((height, width, 3), np.uint8)
    picture[:] = rng.uniform(10, 130, 3) if rng.random() < 0.7 else rng.uniform(10, 90)
    ink = tuple(float(v) for v in np.clip(rng.uniform(180, 255) + rng.uniform(-40, 20, 3), 0, 255))
    for y in np.linspace(0, height, int(rng.integers(2, 5)) + 1)[1:] - 0.05 * height:
        if rng.random() < 0.2:  # a sign
            middle = tuple(int(v) for v in rng.uniform((0, 0), (width, height)))
            cv2.circle(picture, middle, int(rng.uniform(10, 60)), ink, int(rng.choice((-1, 6, 12))), cv2.LINE_AA)
            continue
        words = symbols.random_text(rng, 2, 12).upper()
        font, bold = int(rng.choice(prints.FONTS)), int(rng.integers(2, 10))
        (w, h), _ = cv2.getTextSize(words, font, 1, bold)
        size = rng.uniform(0.6, 0.95) * min(width / w, height / 3 / h * 1.5)
        cv2.putText(picture, words, (int(width * 0.04), int(y)), font, size, ink, bold, cv2.LINE_AA)
    return prints.Print(picture, [])


def _panels(rng):
    frame = LARGE_FRAMES[rng.integers(len(LARGE_FRAMES))]
    picture = backgrounds.random_background(rng, *frame)
    for _ in range(rng.integers(1, 4)):
        item = _panel(rng) if rng.random() < 0.7 else prints.distractor(rng)
        scale = rng.uniform(0.25, 1.1) * min(np.asarray(frame) / item.picture.shape[1::-1])
        scenes.Placed(rng, item, scale, rng.uniform((0, 0), frame)).draw(rng, picture)
    placed = scenes.put_codes(rng, picture, int(rng.integers(1, 4)) if rng.random() < CODES_BESIDE_PANELS else 0)
    scenes.put_covers(rng, picture, placed)
    return scenes.camera(rng, picture), placed


def scene(stream, index):
    """Returns picture, boxes (N x 4 float32) and class ids (N int64)."""
    rng = np.random.default_rng((stream, index))
    if stream in (TRAIN_LARGE, LARGE):
        picture, placed = _large(rng)
    elif stream in (TRAIN_PORTRAIT, PORTRAIT):
        empty = stream == TRAIN_PORTRAIT and rng.random() < scenes.EMPTY_SHARE
        picture, placed = _portrait(rng, empty)
    elif stream == TRAIN_PANELS:
        picture, placed = _panels(rng)
    else:
        picture, placed = _card(rng)
    return picture, *scenes.truth(placed, picture.shape[1::-1])
