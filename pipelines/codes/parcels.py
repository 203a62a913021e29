# SPDX-License-Identifier: Apache-2.0
"""The clip's parcels: a face from above for each, with labels whose codes say something sensible.

A face is a texture (float32 BGR, surfaces.PER_UNIT pixels a unit) with the regions of its codes
(class id and four corners in texture pixels, quiet zones left out).
"""
from collections import namedtuple

import cv2
import numpy as np

import surfaces
import symbols
from prints import BARCODE, MARKER, QR
from surfaces import PER_UNIT

# height: units above the belt. sides: textures of front, right, back and left, or none.
# mask: 0..1, where the face is.
Parcel = namedtuple("Parcel", "face regions height sides mask")

KRAFT, DARK_KRAFT, WHITE_CARTON, BAG = (118, 158, 192), (94, 134, 170), (214, 220, 222), (176, 172, 166)
BLACK, RED, GREEN = (34, 32, 32), (52, 44, 176), (96, 112, 34)
SANS, BOLD = cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_DUPLEX


def code128(text):
    """Code 128 with the digits at the end of a text two to a symbol (set C), the rest in set B."""
    digits = len(text) - len(text.rstrip("0123456789"))
    digits -= digits % 2
    head, tail = text[:len(text) - digits], text[len(text) - digits:]
    values = [symbols.START_B] + [ord(c) - 32 for c in head] + [symbols.TO_C]
    values += [int(tail[i:i + 2]) for i in range(0, len(tail), 2)]
    return symbols.code128_of(values)


def qr(text):
    parameters = cv2.QRCodeEncoder_Params()
    parameters.correction_level = cv2.QRCodeEncoder_CORRECT_LEVEL_L
    coded = cv2.QRCodeEncoder_create(parameters).encode(text)
    rows = np.flatnonzero((coded == symbols.DARK).any(1))
    return coded[rows[0]:rows[-1] + 1, rows[0]:rows[-1] + 1].copy()


def april_tag(number):
    family = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_APRILTAG_36H11)
    return cv2.aruco.drawMarker(family, number, family.markerSize + 2)


class Label:
    """A sheet of paper that things are printed on; all places in its pixels."""

    def __init__(self, rng, width, height, colour=(236, 240, 241)):
        self.rng = rng
        self.sheet = surfaces.paper(rng, width, height, colour)
        self.mask = np.zeros((height, width), np.float32)
        self.regions = []

    def code(self, kind, modules, x, y, module, height=None):
        """Returns its right and lower edge."""
        w, h = modules.shape[1] * module, height or modules.shape[0] * module
        big = cv2.resize(modules, (w, h), interpolation=cv2.INTER_NEAREST) == symbols.DARK
        self.mask[y:y + h, x:x + w][big] = 1
        self.regions.append((kind, np.array([[x, y], [x + w, y], [x + w, y + h], [x, y + h]], np.float64)))
        return x + w, y + h

    def text(self, words, x, y, size, font=SANS, weight=1):
        cv2.putText(self.mask, words, (x, y), font, size, 1.0, weight, cv2.LINE_AA)

    def rule(self, x0, y0, x1, y1, weight=2):
        cv2.line(self.mask, (x0, y0), (x1, y1), 1.0, weight)

    def printed(self, colour=BLACK):
        surfaces.ink(self.rng, self.sheet, self.mask, colour, 0.94)
        return self


def shipping_label(rng, number, address, lines, service):
    """A sender's label: address, service, a QR code with the parcel's page, its number as Code 128."""
    bars, page = code128(number), qr(address)
    width = bars.shape[1] * 4 + 88
    side = page.shape[0] * 7
    label = Label(rng, width, side + 276)
    label.text(service, 24, 54, 1.5, BOLD, 3)
    label.rule(14, 72, width - side - 62, 72)
    for i, line in enumerate(lines):
        label.text(line, 24, 108 + 34 * i, 0.82 if i else 0.66, SANS, 2)
    label.code(QR, page, width - side - 36, 26, 7)
    y = side + 46
    label.rule(14, y, width - 14, y, 3)
    _, below = label.code(BARCODE, bars, 44, y + 22, 4, 158)
    groups = number[:2], *[number[i:i + 4] for i in range(2, len(number), 4)]
    label.text(" ".join(groups), 130, below + 38, 1.0, BOLD, 2)
    return label.printed()


def ean_label(rng, digits, words):
    """A product's white field with an EAN-13 whose guards are longer than its bars."""
    bars = symbols.ean13_modules(digits)
    width = bars.shape[1] * 4 + 100
    label = Label(rng, width, 226, (240, 243, 244))
    label.text(words, 48, 38, 0.78, SANS, 2)
    x1, y1 = label.code(BARCODE, bars, 48, 54, 4, 128)
    number = "".join(str(d) for d in symbols.ean13_digits(digits))
    label.text(number[0], 16, y1 + 30, 0.9, SANS, 2)
    label.text(number[1:7], 78, y1 + 32, 1.0, SANS, 2)
    label.text(number[7:], 262, y1 + 32, 1.0, SANS, 2)
    return label.printed()


def marker_label(rng, number, words):
    side = 8 * 22
    label = Label(rng, side + 64, side + 98)
    label.code(MARKER, april_tag(number), 32, 32, 22)
    label.text(words, 34, side + 80, 0.95, BOLD, 2)
    return label.printed()


def page_label(rng, address, words):
    page = qr(address)
    side = page.shape[0] * 7
    label = Label(rng, side + 64, side + 104)
    label.code(QR, page, 32, 30, 7)
    for i, line in enumerate(words):
        label.text(line, 34, side + 58 + 32 * i, 0.72, SANS, 2)
    return label.printed()


def stick(face, regions, label, x, y, degrees):
    """Glues a label on a face, its middle at x, y: a thin shadow, a corner of light, a small angle."""
    height, width = label.sheet.shape[:2]
    turn = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1)
    turn[:, 2] += (x - width / 2, y - height / 2)
    size = face.shape[1::-1]
    light = np.outer(np.linspace(1.01, 0.98, height), np.linspace(1.02, 0.965, width)).astype(np.float32)[..., None]
    sheet = cv2.warpAffine(label.sheet * light, turn, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    mask = cv2.warpAffine(np.ones((height, width), np.float32), turn, size)
    shadow = cv2.GaussianBlur(np.roll(mask, (3, 3), (0, 1)), (0, 0), 2.5)
    face *= (1 - 0.34 * shadow)[..., None]
    face[:] = face * (1 - mask[..., None]) + sheet * mask[..., None]
    for kind, corners in label.regions:
        regions.append((kind, corners @ turn[:, :2].T + turn[:, 2]))


def _stencil(rng, face, x, y, size):
    """Two arrows on a line: this side up."""
    mask = np.zeros(face.shape[:2], np.float32)
    for at in (x, x + int(size * 0.8)):
        cv2.line(mask, (at, y), (at, y - size), 1.0, max(2, size // 8), cv2.LINE_AA)
        low, point = y - int(size * 0.7), y - int(size * 1.25)
        head = np.array([[at - size // 3, low], [at + size // 3, low], [at, point]], np.int32)
        cv2.fillPoly(mask, [head], 1.0, cv2.LINE_AA)
    ground = y + size // 4
    cv2.line(mask, (x - size // 2, ground), (x + int(size * 1.3), ground), 1.0, max(2, size // 9), cv2.LINE_AA)
    surfaces.ink(rng, face, mask, (46, 58, 76), 0.72)


def _words(rng, face, words, x, y, size, colour, weight):
    mask = np.zeros(face.shape[:2], np.float32)
    cv2.putText(mask, words, (x, y), BOLD, size, 1.0, weight, cv2.LINE_AA)
    surfaces.ink(rng, face, mask, colour, 0.75)


Tape = namedtuple("Tape", "half colour strength")  # half of its width, texture pixels
CLEAR, RED_TAPE = Tape(44, (128, 172, 196), 0.42), Tape(40, RED, 0.82)


def _put_tape(rng, face, tape):
    middle = face.shape[0] // 2
    surfaces.tape(rng, face, middle - tape.half, middle + tape.half, tape.colour, tape.strength)


def _sides(rng, length, width, height, colour, tape, raw):
    """Front, right, back and left of a carton, seen from outside; the tape comes down on its ends."""
    sides = []
    for i, long in enumerate((length, width, length, width)):
        side = surfaces.cardboard(rng, long * PER_UNIT, height * PER_UNIT, colour, raw)
        if tape and i % 2:
            down = np.ascontiguousarray(side.transpose(1, 0, 2)[:, :int(height * 1.1)])
            _put_tape(rng, down, tape)
            side[:down.shape[1]] = down.transpose(1, 0, 2)
        deep = np.linspace(1, 0.72, side.shape[0], dtype=np.float32)[:, None, None]  # less light below
        sides.append(side * deep)
    return sides


def _carton(rng, length, width, height, colour, tape=None, raw=1.0):
    """A carton with no label yet; raw as of surfaces.cardboard."""
    face = surfaces.cardboard(rng, length * PER_UNIT, width * PER_UNIT, colour, raw)
    if tape:
        surfaces.seam(rng, face, face.shape[0] // 2)
        _put_tape(rng, face, tape)
    return Parcel(face, [], height, _sides(rng, length, width, height, colour, tape, raw),
                  np.ones(face.shape[:2], np.float32))


def tote(rng):
    it = _carton(rng, 256, 230, 92, DARK_KRAFT, CLEAR)
    stick(it.face, it.regions, marker_label(rng, 17, "BAY 17"), 340, 196, 2.0)
    _stencil(rng, it.face, 84, 400, 62)
    return it


def parcel(rng):
    it = _carton(rng, 334, 306, 96, KRAFT, CLEAR)
    label = shipping_label(rng, "PN20418837", "https://example.org/p/20418837",
                           ("TO", "A. Example", "12 Sample Street", "00100 Anytown"), "PARCEL")
    stick(it.face, it.regions, label, 326, 300, -1.5)
    return it


def product(rng):
    """A printed white carton of a product."""
    it = _carton(rng, 270, 250, 66, WHITE_CARTON, raw=0.3)
    band = np.zeros(it.face.shape[:2], np.float32)
    band[:160] = 1
    surfaces.ink(rng, it.face, band, GREEN, 0.93)
    _words(rng, it.face, "GREEN TEA", 44, 106, 2.3, (226, 236, 238), 5)
    _words(rng, it.face, "12 x 100 g", 46, 216, 1.2, GREEN, 3)
    label = ean_label(rng, (2, 0, 4, 1, 8, 8, 3, 7, 0, 1, 2, 5), "LOT 2207   KEEP DRY")
    stick(it.face, it.regions, label, 284, 364, 0.0)
    return it


def fragile(rng):
    it = _carton(rng, 300, 268, 82, KRAFT, RED_TAPE)
    _words(rng, it.face, "FRAGILE", 44, 420, 1.5, RED, 5)
    _stencil(rng, it.face, 420, 150, 62)
    stick(it.face, it.regions, page_label(rng, "https://example.org/r/7731", ("Returns",)), 150, 150, -3.0)
    stick(it.face, it.regions, marker_label(rng, 42, "BAY 42"), 452, 386, 2.0)
    return it


def bag(rng):
    """A mailing bag: soft corners, nearly flat."""
    face, regions = surfaces.film(rng, 660, 560, BAG), []
    label = shipping_label(rng, "PN20416209", "https://example.org/p/20416209",
                           ("TO", "B. Example", "7 Model Road", "00200 Anytown"), "RETURN")
    stick(face, regions, label, 334, 284, 2.0)
    mask = np.zeros(face.shape[:2], np.float32)
    cv2.rectangle(mask, (14, 14), (645, 545), 1.0, -1)
    mask = np.clip((cv2.GaussianBlur(mask, (0, 0), 9) - 0.45) * 8, 0, 1)
    return Parcel(face, regions, 14, [], mask)
