#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet run --draw draws objects at their places, and nothing elsewhere. Usage: check_draw.py DVNET NETWORK"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

WIDTH, HEIGHT = 320, 240


def read_png(path):
    """Returns rows of bytes, three for each pixel, of a PNG of 8 bits without interlacing."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    at, packed, size = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            size = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    assert size == (WIDTH, HEIGHT, 8, 2, 0, 0, 0), size
    raw, rows, stride = zlib.decompress(packed), [], 3 * WIDTH
    before = bytearray(stride)
    for y in range(HEIGHT):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left, up = row[i - 3] if i >= 3 else 0, before[i]
            corner = before[i - 3] if i >= 3 else 0
            nearest = min((abs(up - corner), 0, left), (abs(left - corner), 1, up),
                          (abs(left + up - 2 * corner), 2, corner))[2]
            row[i] = (row[i] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
        rows.append(row)
        before = row
    return rows


def gray_at(x, y):
    """Returns a square marker of 8 x 8 cells on light ground."""
    column, row = (x - 110) // 14, (y - 80) // 14
    if not (0 <= column < 8 and 0 <= row < 8):
        return 220
    border = column in (0, 7) or row in (0, 7)
    return 20 if border or (0x5A3C96E1D27B >> (6 * row + column) & 1) else 220


def run(dvnet, network, picture, threshold, folder):
    command = [dvnet, "run", network, picture, "--json", "--threshold", threshold, "--draw", folder]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found = json.loads(result.stdout)["detections"]
    return found, read_png(os.path.join(folder, os.path.basename(picture) + ".png"))


def main():
    dvnet, network = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "marker.ppm")
        pixels = bytearray()
        for y in range(HEIGHT):
            for x in range(WIDTH):
                pixels += bytes(gray_at(x, y) for _ in range(3))
        with open(picture, "wb") as file:
            file.write(b"P6\n%d %d\n255\n" % (WIDTH, HEIGHT) + pixels)
        before = [pixels[3 * WIDTH * y:3 * WIDTH * (y + 1)] for y in range(HEIGHT)]

        nothing, drawn = run(dvnet, network, picture, "1", os.path.join(folder, "a", "b"))
        assert nothing == [] and drawn == before, "a picture without objects stays as it is"

        found, drawn = run(dvnet, network, picture, "0.5", os.path.join(folder, "c"))
        assert found, "the marker is not found"
        for thing in found:
            assert thing["label"] == "marker", thing
            x0, y0, x1, y1 = (round(v * side) for v, side in zip(thing["box"], (WIDTH, HEIGHT) * 2))
            assert 0 < x0 < x1 < WIDTH and 30 < y0 < y1 < HEIGHT, thing
            color = drawn[y1 - 1][3 * x0:3 * x0 + 3]
            assert max(color) - min(color) > 100, "no line of a colour at the lower left corner"
            for x in range(x0, x1):
                assert drawn[y1 - 1][3 * x:3 * x + 3] == color, "a gap in the lower line, at %d" % x
            # Nothing is drawn right of it and below it.
            if len(found) == 1:
                assert all(drawn[y] == before[y] for y in range(y1, HEIGHT))
                assert all(drawn[y][3 * x1:] == before[y][3 * x1:] for y in range(y0, HEIGHT))

        bad = subprocess.run([dvnet, "run", network, picture, "--draw", "/proc/nowhere"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert bad.returncode != 0 and b"--draw '/proc/nowhere' cannot be made" in bad.stderr, bad.stderr
    return 0


if __name__ == "__main__":
    sys.exit(main())
