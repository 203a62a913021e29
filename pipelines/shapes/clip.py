# SPDX-License-Identifier: Apache-2.0
"""Makes shapes.webm, moving shapes over a changing background, and shapes.json, its truth.

shapes.json: {"width", "height", "fps", "labels", "frames"}; a frame is a list of
[class id, x0, y0, x1, y1] in pixels. The same shapes go round in every frame, in the same order.
"""
import argparse
import json
import math
import os
import subprocess
from dataclasses import replace

import numpy as np

import scenes

FPS = 25
FRAMES = 100
SEED = 1
SCROLL = 80  # pixels that the background moves during the clip
ORBIT = (112, 76)  # half axes of the ellipse that all but one shape run on
ORBITING = 5
BITRATE = 700_000


def cast(rng, behind):
    """The shapes: one in the middle, the others evenly spaced on the orbit."""
    shapes = []
    for i in range(ORBITING + 1):
        shapes.append(scenes.Shape(
            kind=1 + i % 3, cx=scenes.WIDTH / 2, cy=scenes.HEIGHT / 2, size=rng.uniform(40, 64),
            angle=rng.uniform(0, 2 * np.pi), shade=rng.uniform(-30, 30),
            colour=scenes.contrasting_colour(rng, behind)))
    return shapes


def at(shapes, when):
    """The shapes at a time of 0..1 of the clip."""
    moved = []
    for i, shape in enumerate(shapes):
        turn = 2 * math.pi * (when + i / ORBITING)
        away = 1 if i < ORBITING else 0
        moved.append(replace(
            shape, cx=shape.cx + away * ORBIT[0] * math.cos(turn),
            cy=shape.cy + away * ORBIT[1] * math.sin(turn),
            size=shape.size * (1 + 0.15 * math.sin(2 * turn)),
            angle=shape.angle + 2 * math.pi * when * (1 if i % 2 else -1)))
    return moved


def frames():
    """Yields picture, boxes and class ids."""
    rng = np.random.default_rng((scenes.CLIP, SEED))
    background = scenes.random_background(rng, margin=SCROLL, busy=0.4)
    first = background.colours
    last = np.clip(first[::-1] + rng.uniform(-40, 40, (2, 3)), 0, 255).astype(np.float32)
    ends = np.concatenate([first, last])
    shapes = cast(rng, np.concatenate([ends, [first.mean(0), last.mean(0), ends.mean(0)]]))
    for i in range(FRAMES):
        when = i / FRAMES
        picture = replace(background, colours=first * (1 - when) + last * np.float32(when),
                          angle=background.angle + math.pi * when,
                          scroll=(SCROLL * when, SCROLL * when / 2)).render()
        now = at(shapes, when)
        for shape in now:
            scenes.draw_shape(picture, shape)
        yield picture, [scenes.visible(s.box()) for s in now], [s.kind for s in now]


def encoder(path):
    """gst-launch-1.0 reading raw BGR frames from a pipe. One thread: one result."""
    return subprocess.Popen(
        ["gst-launch-1.0", "-q", "fdsrc", "fd=0", "!", "rawvideoparse", "format=bgr",
         "width=%d" % scenes.WIDTH, "height=%d" % scenes.HEIGHT, "framerate=%d/1" % FPS, "!",
         "videoconvert", "!", "vp8enc", "deadline=0", "threads=1", "keyframe-max-dist=50",
         "target-bitrate=%d" % BITRATE, "!", "webmmux", "!", "filesink", "location=" + path],
        stdin=subprocess.PIPE)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    args = parser.parse_args()
    path = os.path.join(args.out, "shapes.webm")
    process = encoder(path)
    truth = []
    for picture, boxes, kinds in frames():
        process.stdin.write(picture.tobytes())
        truth.append([[kind] + [round(float(v), 1) for v in box]
                      for box, kind in zip(boxes, kinds)])
    process.stdin.close()
    if process.wait() != 0:
        raise SystemExit("clip.py: gst-launch-1.0 could not write %s" % path)
    with open(os.path.join(args.out, "shapes.json"), "w") as file:
        head = {"width": scenes.WIDTH, "height": scenes.HEIGHT, "fps": FPS,
                "labels": scenes.LABELS}
        rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in truth)
        file.write(json.dumps(head)[:-1] + ', "frames": [\n' + rows + "\n]}\n")
    print("%s: %d frames, %d bytes" % (path, len(truth), os.path.getsize(path)))


if __name__ == "__main__":
    main()
