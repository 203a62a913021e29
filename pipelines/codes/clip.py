# SPDX-License-Identifier: Apache-2.0
"""Makes codes.webm, parcels that pass below a camera on a conveyor belt, and codes.json, its truth.

codes.json: {"width", "height", "fps", "labels", "frames"}; a frame is a list of
[class id, x0, y0, x1, y1, share] in pixels; share is how much of the code's box is in the frame.
"""
import argparse
import json
import os
import subprocess

import numpy as np

import belt
import parcels
import scenes
from belt import HEIGHT, WIDTH

FPS, FRAMES = 25, 100
SPEED = 10.0  # units of the belt, a frame
SEED = 5
SENSOR_NOISE = 1.5  # standard deviation, levels of 255
BITRATE = 1_600_000
# The load of the belt, from right to left: x and y of its middle, and its rotation in degrees.
LOAD = ((parcels.tote, 356, -8, 5), (parcels.parcel, 18, 2, -4), (parcels.product, -328, -12, 7),
        (parcels.fragile, -656, 10, -6), (parcels.bag, -1002, -2, 5))


def truth(things, moved):
    rows = []
    for thing in things:
        for kind, outline in thing.codes(moved):
            box = scenes.bounds(outline)
            part = np.clip(box, 0, (WIDTH, HEIGHT, WIDTH, HEIGHT))
            share = scenes.area(part) / scenes.area(box)
            if share > 0:
                rows.append([kind] + [round(float(v), 1) for v in part] + [round(float(share), 2)])
    return rows


def frames():
    """Yields picture and truth."""
    rng = np.random.default_rng((scenes.CLIP, SEED))
    stage = belt.Stage(rng)
    things = [belt.Lying(make(rng), x, y, degrees) for make, x, y, degrees in LOAD]
    for i in range(FRAMES):
        moved = SPEED * i
        frame = stage.frame(things, moved)
        frame = frame + rng.normal(0, SENSOR_NOISE, frame.shape)
        yield np.clip(np.round(frame), 0, 255).astype(np.uint8), truth(things, moved)


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
