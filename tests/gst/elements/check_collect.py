#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The loop of docs/hard-pictures.md with the default network: what dvpublish collects from a clip is a data set that
dvnet evaluate reads, and whose guesses somebody can replace by the truth. And the whole loop with a camera whose pictures the
network was not trained for, which are drawn: what is collected from it and corrected is trained on (pipelines/codes/tune.py),
converted, and better on pictures that were held back.

    check_collect.py DVNET NETWORK.dvn CLIP.webm CLIP.json
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "evaluate"))
import drawn_pictures as drawn  # noqa: E402

try:
    import cv2
except ImportError:
    cv2 = None

DVNET, NETWORK, CLIP, TRUTH = sys.argv[1:5]
FROM, TO = 0.2, 0.75
SIDES = (640, 480)
LABELS = ("background", "QR code", "barcode", "marker")
MODEL = os.path.dirname(CLIP)
SEEN, HELD = range(7000, 7100), range(8000, 8080)  # pictures of the other camera


def collect(folder, source=f"filesrc location={CLIP} ! matroskademux ! vp8dec"):
    subprocess.check_call(
        f"gst-launch-1.0 -q {source} ! videoconvert ! dvconvert ! "
        f"dvinfer network={NETWORK} ! dvdecode threshold=0.1 ! dvpublish location=/dev/null collect-per-hour=3600 "
        f"collect-folder={folder} collect-from={FROM} collect-to={TO} ! fakesink", shell=True)


def evaluate(folder, network=NETWORK, figure="ap50"):
    told = json.loads(subprocess.check_output([DVNET, "evaluate", network, "--data", folder, "--json", "--samples", "0"]))
    return told["networks"][0]["detection"]["figures"][figure]


def overlap(a, b):
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    inside = max(0, wide) * max(0, high)
    return inside / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inside)


def boxes_of(path):
    for line in open(path):
        kind, x, y, w, h = (float(v) for v in line.split())
        yield int(kind), ((x - w / 2) * SIDES[0], (y - h / 2) * SIDES[1], (x + w / 2) * SIDES[0], (y + h / 2) * SIDES[1])


def fit(guesses, frame):
    """How well the guesses lie on a frame's codes."""
    return sum(max((overlap(box, code[1:5]) for code in frame), default=0) for _, box in guesses)


def write(path, frame, names):
    """Writes a frame's codes as a file of labels."""
    with open(path, "w") as out:
        for kind, x0, y0, x1, y1, share in frame:
            if share >= 0.5:
                place = ((x0 + x1) / 2 / SIDES[0], (y0 + y1) / 2 / SIDES[1], (x1 - x0) / SIDES[0], (y1 - y0) / SIDES[1])
                print(names.index(LABELS[kind]), *place, file=out)


def watch(folder):
    """Another camera: a drawn picture a second. What is collected is corrected as somebody would who sees the pictures."""
    frames = [drawn.picture(seed) for seed in SEEN]
    raw = os.path.join(folder, "camera.gray")
    with open(raw, "wb") as file:
        for pixels, _ in frames:
            file.write(pixels.tobytes())
    hard = os.path.join(folder, "hard")
    os.mkdir(hard)
    collect(hard, f"filesrc location={raw} ! rawvideoparse format=gray8 width={drawn.WIDTH} height={drawn.HEIGHT} framerate=1/1")
    names = open(hard + "/classes.txt").read().split("\n")
    for path in glob.glob(hard + "/images/*.jpg"):
        picture = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
        pixels, objects = min(frames, key=lambda frame: cv2.norm(picture, frame[0], cv2.NORM_L1))
        assert cv2.norm(picture, pixels, cv2.NORM_L1) / pixels.size < 6, path
        with open(hard + "/labels/" + os.path.basename(path)[:-4] + ".txt", "w") as out:
            for kind, x, y, w, h in objects:
                print(names.index(drawn.NAMES[kind]), (x + w / 2) / drawn.WIDTH, (y + h / 2) / drawn.HEIGHT, w / drawn.WIDTH,
                      h / drawn.HEIGHT, file=out)
    return hard


def check_loop(folder, old_data):
    """Collect, correct, train on, convert, evaluate: better on the camera's held-back pictures, and as good on the old ones."""
    hard, tuned, better = watch(folder), os.path.join(folder, "tuned"), os.path.join(folder, "better.dvn")
    pictures = len(os.listdir(hard + "/images"))
    assert 20 < pictures < len(SEEN), pictures
    subprocess.check_call([sys.executable, os.path.join(MODEL, "tune.py"), hard, old_data, "--out", tuned], stdout=subprocess.DEVNULL)
    subprocess.check_call([DVNET, "convert", tuned + "/codes.prototxt", tuned + "/codes.caffemodel", "--labels", tuned + "/labels.txt",
                           "--mean", "127.5", "--scale", "0.0078125", "--order", "bgr", "--resize", "stretch", "-o", better],
                          stdout=subprocess.DEVNULL)
    held = os.path.join(folder, "held")
    drawn.write_yolo(held, HELD)
    before, after = (evaluate(held, network, "ap") for network in (NETWORK, better))
    old, new = (evaluate(old_data, network) for network in (NETWORK, better))
    print(f"trained on {pictures} hard pictures: AP of {len(HELD)} held back {before:.3f}, then {after:.3f}; "
          f"AP50 of the old ones {old:.3f}, then {new:.3f}")
    assert after > before + 0.02, (before, after)
    assert new > old - 0.05, (old, new)


def main():
    with tempfile.TemporaryDirectory() as folder:
        collect(folder)
        pictures = sorted(glob.glob(folder + "/images/*.jpg"))
        labels = sorted(glob.glob(folder + "/labels/*.txt"))
        # The clip takes four seconds, and an interval one.
        assert 2 <= len(pictures) <= 5, pictures
        assert [os.path.basename(p)[:-4] for p in pictures] == [os.path.basename(p)[:-4] for p in labels]
        names = open(folder + "/classes.txt").read().split("\n")
        # The network finds its own guesses again, on JPEGs instead of the frames.
        own = evaluate(folder)
        assert own > 0.9, own
        # Who corrects them has the clip's truth: that of the frame whose codes lie where the guesses lie.
        frames = json.load(open(TRUTH))["frames"]
        for path in labels:
            guesses = list(boxes_of(path))
            assert guesses
            frame = max(frames, key=lambda one: fit(guesses, one))
            assert fit(guesses, frame) > 0.5 * len(guesses), (path, guesses, frame)
            write(path, frame, names)
        corrected = evaluate(folder)
        assert corrected > 0.8, corrected
        print(f"{len(pictures)} pictures: AP50 against its own guesses {own:.3f}, against the truth {corrected:.3f}")
        if not cv2:
            print("without OpenCV for Python nothing is trained")
            return
        with tempfile.TemporaryDirectory() as other:
            check_loop(other, folder)


main()
