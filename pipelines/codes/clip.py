# SPDX-License-Identifier: Apache-2.0
"""Makes codes.webm, a camera's way along a shelf of parcels, and codes.json, its truth.

codes.json: {"width", "height", "fps", "labels", "frames"}; a frame is a list of
[class id, x0, y0, x1, y1, share] in pixels; share is how much of the code's box is in the frame.
"""
import argparse
import json
import math
import os
import subprocess

import cv2
import numpy as np

import backgrounds
import prints
import scenes

WIDTH, HEIGHT, FPS, FRAMES = 640, 480, 25, 100
SHELF = (1800, 560)  # pixels of the scene that the camera passes
SEED = 5
PLACES = 9  # prints beside one another
LABEL_SIDE, CODE_SIDE = (330, 380), (150, 230)  # pixels, of a print's longer side
TRIES = 30
SENSOR_NOISE = 2.0  # standard deviation, levels of 255
BITRATE = 1_300_000


def shelf(rng):
    """The scene, and its prints as they lie in it."""
    picture = backgrounds.random_background(rng, *SHELF)
    for _ in range(10):
        item = prints.distractor(rng)
        scenes.Placed(rng, item, rng.uniform(0.3, 0.8), rng.uniform((0, 0), SHELF)).draw(rng, picture)
    placed = []
    for i in range(PLACES):
        for _ in range(TRIES):
            label = i % 4 == 3
            item = prints.label(rng) if label else prints.single(rng, 1 + i % 3)
            scale = rng.uniform(*(LABEL_SIDE if label else CODE_SIDE)) / max(item.picture.shape[:2])
            centre = ((i + 0.5) / PLACES * SHELF[0], SHELF[1] * rng.uniform(0.4, 0.6))
            candidate = scenes.Placed(rng, item, scale, centre)
            if item.regions and not any(scenes.common(candidate.extent, p.extent) for p in placed):
                candidate.draw(rng, picture)
                placed.append(candidate)
                break
    return picture, placed


def view(when):
    """2 x 3 matrix from the scene to the frame at a time of 0..1: a pass with a little sway."""
    sway = math.sin(2 * math.pi * when)
    zoom, roll = 1 + 0.06 * sway, math.radians(2.5) * math.sin(4 * math.pi * when)
    centre = np.array([WIDTH / 2 + (SHELF[0] - WIDTH) * (0.5 - 0.5 * math.cos(math.pi * when)), SHELF[1] / 2])
    c, s = zoom * math.cos(roll), zoom * math.sin(roll)
    turn = np.array([[c, -s], [s, c]])
    return np.concatenate([turn, ((WIDTH / 2, HEIGHT / 2) - turn @ centre)[:, None]], 1)


def truth(placed, matrix):
    rows = []
    for item in placed:
        for kind, points in zip(item.kinds, item.outlines):
            box = scenes.bounds(points @ matrix[:, :2].T + matrix[:, 2])
            seen = np.clip(box, 0, (WIDTH, HEIGHT, WIDTH, HEIGHT))
            share = scenes.area(seen) / scenes.area(box)
            if share > 0:
                rows.append([kind] + [round(float(v), 1) for v in seen] + [round(float(share), 2)])
    return rows


def frames():
    """Yields picture and truth."""
    rng = np.random.default_rng((scenes.CLIP, SEED))
    picture, placed = shelf(rng)
    for i in range(FRAMES):
        matrix = view(i / FRAMES)
        frame = cv2.warpAffine(picture, matrix, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR,
                               borderMode=cv2.BORDER_REFLECT)
        frame = frame + rng.normal(0, SENSOR_NOISE, frame.shape)
        yield np.clip(np.round(frame), 0, 255).astype(np.uint8), truth(placed, matrix)


def encoder(path):
    """gst-launch-1.0 reading raw BGR frames from a pipe. One thread: one result."""
    return subprocess.Popen(
        ["gst-launch-1.0", "-q", "fdsrc", "fd=0", "!", "rawvideoparse", "format=bgr",
         "width=%d" % WIDTH, "height=%d" % HEIGHT, "framerate=%d/1" % FPS, "!",
         "videoconvert", "!", "vp8enc", "deadline=0", "threads=1", "keyframe-max-dist=50",
         "target-bitrate=%d" % BITRATE, "!", "webmmux", "!", "filesink", "location=" + path],
        stdin=subprocess.PIPE)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    args = parser.parse_args()
    path = os.path.join(args.out, "codes.webm")
    process = encoder(path)
    rows = []
    for picture, row in frames():
        process.stdin.write(picture.tobytes())
        rows.append(json.dumps(row, separators=(",", ":")))
    process.stdin.close()
    if process.wait() != 0:
        raise SystemExit("clip.py: gst-launch-1.0 could not write %s" % path)
    with open(os.path.join(args.out, "codes.json"), "w") as file:
        head = {"width": WIDTH, "height": HEIGHT, "fps": FPS, "labels": scenes.LABELS}
        file.write(json.dumps(head)[:-1] + ', "frames": [\n' + ",\n".join(rows) + "\n]}\n")
    print("%s: %d frames, %d bytes" % (path, len(rows), os.path.getsize(path)))


if __name__ == "__main__":
    main()
