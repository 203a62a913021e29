#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the default network, through the elements, on kinds of frames that earlier versions got wrong.

Nothing may be found in any pattern of videotestsrc. Codes of the embedded clip that fill the frame, and
those of the clip turned by 90 degrees, must be found (class equal, IoU of at least 0.5).

    check_frames.py CODES_FOLDER      with codes.webm, codes.json and messages.py
"""
import json
import os
import subprocess
import sys

import numpy as np

import check_clip

PATTERNS = 26
SIZES = ((320, 240), (640, 480), (720, 1280))
PATTERN_FRAMES = 4
FIND = ["!", "dvconvert", "!", "dvinfer", "!", "dvdecode", "post-messages=true", "!", "fakesink", "sync=false"]
FILL = 0.92  # share of the frame's height, or width, that a large code fills
LARGE_OF_A_KIND = 8
PORTRAIT = (540, 960)  # the clip's turned frame is in the middle of it
PORTRAIT_STEP = 4  # one in this number of the clip's frames
MIN_RECALL = 0.95
MAX_FALSE = 0.05  # false finds per portrait frame


def launch(words, data=None):
    return subprocess.run(["gst-launch-1.0", *words], input=data, stdout=subprocess.PIPE, check=True).stdout


def seen_in_patterns(patterns, width, height):
    """Counts the frames with finds, over some patterns."""
    words = ["-m", "concat", "name=all", *FIND]
    for pattern in patterns:
        words += ["videotestsrc", "pattern=%d" % pattern, "num-buffers=%d" % PATTERN_FRAMES, "!",
                  "video/x-raw,format=I420,width=%d,height=%d" % (width, height), "!", "all."]
    return launch(words).count(b"dvnn-objects")


def find(messages, pictures):
    """Returns rows of class, confidence and box for each of several pictures of one size."""
    height, width = pictures[0].shape[:2]
    out = launch(["-m", "fdsrc", "fd=0", "!", "rawvideoparse", "format=bgr", "width=%d" % width, "height=%d" % height,
                  "framerate=1/1", *FIND], b"".join(p.tobytes() for p in pictures))
    found = [[] for _ in pictures]
    for pts, rows in messages.parse(out.decode()):
        found[pts // messages.SECOND] = rows
    return found


def enlarged(picture, width, height):
    """Enlarges by linear interpolation, like a camera that comes closer, without more detail."""
    def weights(size, old):
        at = np.clip((np.arange(size) + 0.5) * old / size - 0.5, 0, old - 1)
        low = np.minimum(at.astype(int), old - 2)
        return low, at - low
    y, wy = weights(height, picture.shape[0])
    x, wx = weights(width, picture.shape[1])
    wy, wx = wy[:, None, None], wx[None, :, None]
    rows = picture[y] * (1 - wy) + picture[y + 1] * wy
    return np.uint8(np.round(rows[:, x] * (1 - wx) + rows[:, x + 1] * wx))


def large(clip, pictures):
    """Yields pictures with one code that fills them, and that code."""
    made = []
    for kind in (1, 2, 3):
        whole = [(p, c) for p, truth in zip(pictures, clip["frames"]) for c in truth if c[0] == kind and c[5] == 1]
        for picture, code in whole[::max(1, len(whole) // LARGE_OF_A_KIND)][:LARGE_OF_A_KIND]:
            height = int(max(code[4] - code[2], (code[3] - code[1]) * 3 / 4) / FILL)
            width = height * 4 // 3
            x0 = int(min(max((code[1] + code[3] - width) / 2, 0), clip["width"] - width))
            y0 = int(min(max((code[2] + code[4] - height) / 2, 0), clip["height"] - height))
            box = [(v - o) * 640 / width for v, o in zip(code[1:5], (x0, y0, x0, y0))]
            made.append((enlarged(picture[y0:y0 + height, x0:x0 + width], 640, 480), [kind, *box, code[5]]))
    return made


def portrait(clip, pictures):
    """Yields the clip's frames as from a telephone held upright, and their codes."""
    made = []
    left, top = (PORTRAIT[0] - clip["height"]) // 2, (PORTRAIT[1] - clip["width"]) // 2
    below = top + clip["width"]
    for picture, truth in list(zip(pictures, clip["frames"]))[::PORTRAIT_STEP]:
        frame = np.full((PORTRAIT[1], PORTRAIT[0], 3), 70, np.uint8)
        frame[top:below, left:left + clip["height"]] = np.rot90(picture)
        made.append((frame, [[kind, left + y0, below - x1, left + y1, below - x0, share]
                             for kind, x0, y0, x1, y1, share in truth]))
    return made


def main():
    folder = sys.argv[1]
    sys.path.insert(0, folder)
    import messages
    failures = []
    for width, height in SIZES:
        if seen_in_patterns(range(PATTERNS), width, height):
            each = {p: seen_in_patterns([p], width, height) for p in range(PATTERNS)}
            failures.append("of videotestsrc at %dx%d, patterns with finds (and in how many of %d frames): %s"
                            % (width, height, PATTERN_FRAMES, {p: n for p, n in each.items() if n}))
    with open(os.path.join(folder, "codes.json")) as file:
        clip = json.load(file)
    raw = launch(["-q", "filesrc", "location=" + os.path.join(folder, "codes.webm"), "!", "decodebin", "!", "videoconvert", "!",
                  "video/x-raw,format=BGR", "!", "fdsink"])
    pictures = np.frombuffer(raw, np.uint8).reshape(-1, clip["height"], clip["width"], 3)
    assert len(pictures) == len(clip["frames"]), len(pictures)

    made = large(clip, pictures)
    found = find(messages, [p for p, _ in made])
    hits = [any(check_clip.is_same(row, code) for row in rows) for rows, (_, code) in zip(found, made)]
    print("%d of %d large codes" % (sum(hits), len(hits)))
    if sum(hits) < MIN_RECALL * len(hits):
        failures.append("large codes that are not found, by class: %s"
                        % [code[0] for hit, (_, code) in zip(hits, made) if not hit])

    made = portrait(clip, pictures)
    found = find(messages, [p for p, _ in made])
    wanted = [(rows, code) for rows, (_, codes) in zip(found, made) for code in codes if code[5] == 1]
    hits = [any(check_clip.is_same(row, code) for row in rows) for rows, code in wanted]
    false = sum(not any(check_clip.is_same(row, code) or check_clip.is_on_cut_code(row, code) for code in codes)
                for rows, (_, codes) in zip(found, made) for row in rows)
    print("%d of %d codes in portrait frames, %d false finds in %d frames" % (sum(hits), len(hits), false, len(made)))
    if sum(hits) < MIN_RECALL * len(hits) or false > MAX_FALSE * len(made):
        failures.append("too few codes, or too many false finds, in portrait frames")
    sys.exit("\n".join(failures) or 0)


if __name__ == "__main__":
    main()
