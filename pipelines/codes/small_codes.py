# SPDX-License-Identifier: Apache-2.0
"""Measures how many small codes the network finds on 4K frames: in the whole frame, and in tiles of it.

    small_codes.py NETWORK.dvn [--frames N] [--tiles 16x12] [--overlap 0.15] [--picture OUT.png]

Prints the recall of each kind of code whose longer side has 20 to 40 pixels (barcodes: 36 to 40, as
their bars are no wider than a pixel below that).
"""
import argparse
import subprocess

import cv2
import numpy as np

import backgrounds
import messages
import prints
import scenes

WIDTH, HEIGHT = 3840, 2160
SIDES = {prints.QR: (20, 40), prints.BARCODE: (36, 40), prints.MARKER: (20, 40)}
CODES, DISTRACTORS = 40, 20  # per frame
IOU = 0.5  # PASCAL VOC's rule
STREAM = 7  # of random states; scenes.py has the others


def place(rng, item, scale):
    return scenes.Placed(rng, item, scale, rng.uniform((0, 0), (WIDTH, HEIGHT)))


def is_fair(candidate, kind, others):
    low, high = SIDES[kind]
    for box in candidate.boxes:
        sides = box[2:] - box[:2]
        if not (low <= sides.max() <= high and sides.min() >= scenes.MIN_SHORT_SIDE):
            return False
        if box.min() < 0 or box[2] > WIDTH or box[3] > HEIGHT:
            return False
    return not any(scenes.common(candidate.extent, other.extent) for other in others)


def scene(index):
    """A frame, its codes' boxes and kinds."""
    rng = np.random.default_rng((STREAM, index))
    picture = backgrounds.random_background(rng, WIDTH, HEIGHT)
    for _ in range(DISTRACTORS):
        place(rng, prints.distractor(rng), rng.uniform(0.1, 0.5)).draw(rng, picture)
    placed, kinds = [], []
    while len(placed) < CODES:
        kind = int(rng.integers(1, 4))
        item = prints.single(rng, kind)
        _, x0, y0, x1, y1 = item.regions[0]
        candidate = place(rng, item, rng.uniform(*SIDES[kind]) / max(x1 - x0, y1 - y0))
        if is_fair(candidate, kind, placed):
            candidate.draw(rng, picture)
            placed.append(candidate)
            kinds.append(kind)
    # A lens blurs by pixels of its own camera, not by those of a network's input.
    picture = cv2.GaussianBlur(picture, (0, 0), rng.uniform(0.3, 0.7))
    picture = picture + rng.uniform(1, 6) * rng.standard_normal(picture.shape, np.float32)
    picture = np.clip(np.round(picture), 0, 255).astype(np.uint8)
    return picture, np.array([p.boxes[0] for p in placed]), np.array(kinds)


def find(network, pictures, regions):
    """Rows of class, confidence and box for each picture."""
    command = ["gst-launch-1.0", "-m", "fdsrc", "fd=0", "!", "rawvideoparse", "format=bgr",
               f"width={WIDTH}", f"height={HEIGHT}", "framerate=1/1", "!", "dvconvert", *regions, "!",
               "dvinfer", f"network={network}", "!", "dvdecode", "post-messages=true", "!", "fakesink",
               "sync=false"]
    data = b"".join(p.tobytes() for p in pictures)
    out = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True, timeout=1800).stdout
    found = [np.zeros((0, 6))] * len(pictures)
    for pts, rows in messages.parse(out.decode()):
        found[pts // messages.SECOND] = np.array(rows)
    return found


def share(a, b):
    both = scenes.common(a, b)
    return both / (scenes.area(a) + scenes.area(b) - both)


def matches(rows, boxes, kinds):
    """Returns which codes were found, and how many finds match no code."""
    hit, false = np.zeros(len(boxes), bool), 0
    for row in rows[np.argsort(-rows[:, 1])]:
        shares = [share(row[2:], box) if kind == row[0] else 0 for box, kind in zip(boxes, kinds)]
        best = int(np.argmax(shares))
        if shares[best] >= IOU and not hit[best]:
            hit[best] = True
        else:
            false += 1
    return hit, false


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--frames", type=int, default=10)
    parser.add_argument("--tiles", default="16x12")
    parser.add_argument("--overlap", default="0.15")
    parser.add_argument("--picture", help="where the first frame goes, with what tiles found")
    args = parser.parse_args()
    made = [scene(i) for i in range(args.frames)]
    pictures = [m[0] for m in made]
    for name, regions in (("whole frame", []),
                          (f"tiles {args.tiles}", ["regions=tiles", f"tiles={args.tiles}", f"overlap={args.overlap}"])):
        found = find(args.network, pictures, regions)
        hits, kinds, false = [], [], 0
        for rows, (_, boxes, of) in zip(found, made):
            hit, wrong = matches(rows, boxes, of)
            hits.append(hit)
            kinds.append(of)
            false += wrong
        hit, kind = np.concatenate(hits), np.concatenate(kinds)
        each = ", ".join(f"{scenes.LABELS[k]} {hit[kind == k].mean():.3f}" for k in SIDES)
        print(f"{name}: recall {hit.mean():.3f} of {len(hit)} ({each}); false finds {false / len(made):.1f} a frame")
    if args.picture:
        for row in found[0]:
            x0, y0, x1, y1 = (int(v) for v in row[2:])
            cv2.rectangle(pictures[0], (x0, y0), (x1, y1), (0, 255, 0), 2)
        cv2.imwrite(args.picture, pictures[0])


if __name__ == "__main__":
    main()
