# SPDX-License-Identifier: Apache-2.0
"""QR codes, EAN-13, Code 128 and square markers as arrays of modules: 0 dark, 255 light.

Without quiet zones. Sources: ISO/IEC 18004 (QR, drawn by OpenCV's encoder), the GS1 General
Specifications (EAN-13), ISO/IEC 15417 (Code 128), OpenCV's ArUco dictionaries, which hold the
AprilTag families too.
"""
import string

import cv2
import numpy as np

DARK, LIGHT = 0, 255

# EAN-13: the seven modules of a digit in number set A; C is its complement, B is C backwards. The
# choice of A or B for the left six digits encodes the first digit.
EAN_A = ("0001101", "0011001", "0010011", "0111101", "0100011",
         "0110001", "0101111", "0111011", "0110111", "0001011")
EAN_SETS = ("AAAAAA", "AABABB", "AABBAB", "AABBBA", "ABAABB",
            "ABBAAB", "ABBBAA", "ABABAB", "ABABBA", "ABBABA")

# Code 128: widths of bar, space, bar, ... of the values 0 to 105, and the stop pattern.
CODE128 = """
212222 222122 222221 121223 121322 131222 122213 122312 132212 221213 221312 231212 112232 122132
122231 113222 123122 123221 223211 221132 221231 213212 223112 312131 311222 321122 321221 312212
322112 322211 212123 212321 232121 111323 131123 131321 112313 132113 132311 211313 231113 231311
112133 112331 132131 113123 113321 133121 313121 211331 231131 213113 213311 213131 311123 311321
331121 312113 312311 332111 314111 221411 431111 111224 111422 121124 121421 141122 141221 112214
112412 122114 122411 142112 142211 241211 221114 413111 241112 134111 111242 121142 121241 114212
124112 124211 411212 421112 421211 212141 214121 412121 111143 111341 131141 114113 114311 411113
411311 113141 114131 311141 411131 211412 211214 211232 2331112""".split()
START_B, TO_C = 104, 99

MARKER_FAMILIES = tuple(getattr(cv2.aruco, "DICT_" + name) for name in (
    "4X4_50", "4X4_250", "5X5_100", "5X5_1000", "6X6_250", "7X7_50", "ARUCO_ORIGINAL",
    "APRILTAG_16H5", "APRILTAG_25H9", "APRILTAG_36H10", "APRILTAG_36H11"))


def _row(bits):
    """A one-row module array of a string of 1 (dark) and 0."""
    return np.where(np.frombuffer(bits.encode(), np.uint8) == ord("1"), DARK, LIGHT)[None].astype(np.uint8)


def ean13_digits(digits):
    """12 digits and their check digit."""
    digits = list(digits)
    return digits + [-sum(d * (3 if i % 2 else 1) for i, d in enumerate(digits)) % 10]


def ean13_modules(digits):
    """95 modules of 12 digits and their check digit."""
    digits = ean13_digits(digits)
    complement = str.maketrans("01", "10")
    left = "".join(EAN_A[d] if s == "A" else EAN_A[d].translate(complement)[::-1]
                   for d, s in zip(digits[1:7], EAN_SETS[digits[0]]))
    right = "".join(EAN_A[d].translate(complement) for d in digits[7:])
    return _row("101" + left + "01010" + right + "101")


def code128_modules(text):
    """Code set B: printable ASCII."""
    return code128_of([START_B] + [ord(c) - 32 for c in text])


def code128_of(values):
    """A start symbol and others by their values; the check symbol and the stop pattern are added."""
    values = values + [(values[0] + sum(i * v for i, v in enumerate(values))) % 103]
    widths = "".join(CODE128[v] for v in values) + CODE128[106]
    return _row("".join(("1" if i % 2 == 0 else "0") * int(w) for i, w in enumerate(widths)))


def random_text(rng, low, high):
    letters = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-./:"
    return "".join(letters[i] for i in rng.integers(0, len(letters), rng.integers(low, high)))


def random_qr(rng):
    parameters = cv2.QRCodeEncoder_Params()
    parameters.correction_level = int(rng.integers(0, 4))
    longest = 20 if rng.random() < 0.6 else 90
    coded = cv2.QRCodeEncoder_create(parameters).encode("https://" + random_text(rng, 4, longest))
    rows = np.flatnonzero((coded == DARK).any(1))  # the encoder adds a quiet zone
    return coded[rows[0]:rows[-1] + 1, rows[0]:rows[-1] + 1].copy()


def random_barcode(rng):
    """One row."""
    if rng.random() < 0.5:
        return ean13_modules(rng.integers(0, 10, 12))
    return code128_modules(random_text(rng, 5, 16))


def random_marker(rng):
    family = cv2.aruco.getPredefinedDictionary(int(rng.choice(MARKER_FAMILIES)))
    size = family.markerSize + 2
    return cv2.aruco.drawMarker(family, int(rng.integers(family.bytesList.shape[0])), size)
