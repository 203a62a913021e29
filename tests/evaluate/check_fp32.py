#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet evaluate --as fp32 computes what the network's framework computes: its results are nearer to OpenCV's, which runs the
Caffe model in FP32, than those of the device, whose 16 bits are what lies between.

    check_fp32.py DVNET NETWORK.dvn FOLDER

FOLDER has the network's Caffe model.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

try:
    import cv2
except ImportError:
    print("skipped: needs python3-opencv")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import drawn_pictures as drawn  # noqa: E402

DVNET, NETWORK, MODEL = sys.argv[1:4]
SIZE = (256, 192)  # of the network's input, so that no picture is resampled
PICTURES = 40
SURE = 0.3
LABELS = {2: "barcode", 3: "marker"}


def evaluate(data, *args, status=0):
    done = subprocess.run([DVNET, "evaluate", NETWORK, "--data", data, "--samples", "0", *args], capture_output=True, text=True,
                          check=False)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def write(folder):
    """Pictures and COCO's annotations of them. Returns the pictures."""
    pictures, images, annotations = [], [], []
    for seed in range(PICTURES):
        pixels, objects = drawn.picture(seed)
        pictures.append(cv2.cvtColor(cv2.resize(pixels, SIZE, interpolation=cv2.INTER_AREA), cv2.COLOR_GRAY2BGR))
        cv2.imwrite(os.path.join(folder, f"{seed}.png"), pictures[-1])
        images.append({"id": seed + 1, "file_name": f"{seed}.png", "width": SIZE[0], "height": SIZE[1]})
        for kind, x, y, w, h in objects:
            box = [side * to / of for side, to, of in zip((x, y, w, h), SIZE * 2, (drawn.WIDTH, drawn.HEIGHT) * 2)]
            annotations.append({"id": len(annotations) + 1, "image_id": seed + 1, "category_id": kind + 2, "bbox": box,
                                "area": box[2] * box[3], "iscrowd": 0})
    with open(os.path.join(folder, "truth.json"), "w") as out:
        json.dump({"images": images, "annotations": annotations,
                   "categories": [{"id": i, "name": name} for i, name in LABELS.items()]}, out)
    return pictures


def judged(pictures):
    """What OpenCV finds: (picture, class, confidence, box)."""
    net = cv2.dnn.readNetFromCaffe(os.path.join(MODEL, "codes.prototxt"), os.path.join(MODEL, "codes.caffemodel"))
    for number, picture in enumerate(pictures, 1):
        net.setInput(cv2.dnn.blobFromImage(picture, 1 / 128, SIZE, (127.5,) * 3))
        for _, kind, confidence, x0, y0, x1, y1 in net.forward().reshape(-1, 7):
            if kind in LABELS and confidence >= SURE:
                yield number, int(kind), confidence, (x0 * SIZE[0], y0 * SIZE[1], x1 * SIZE[0], y1 * SIZE[1])


def errors(path, wanted):
    """How far confidences and edges are from those that are wanted."""
    found = json.load(open(path))
    away = []
    for number, kind, confidence, box in wanted:
        best = min(((np.abs(np.array([f["bbox"][0], f["bbox"][1], f["bbox"][0] + f["bbox"][2], f["bbox"][1] + f["bbox"][3]])
                             - np.clip(box, 0, SIZE * 2)).max(), abs(f["score"] - confidence))
                    for f in found if f["image_id"] == number and f["category_id"] == kind), default=None)
        assert best is not None and best[0] < 3, (path, number, kind, confidence, box, best)
        away.append(best)
    return np.mean(away, axis=0)


def main():
    with tempfile.TemporaryDirectory() as folder:
        wanted = list(judged(write(folder)))
        assert len(wanted) > PICTURES / 2, len(wanted)
        data = os.path.join(folder, "truth.json")
        told = {}
        for form in ("device", "fp32"):
            evaluate(data, "--as", form, "--save", os.path.join(folder, form + ".json"))
            told[form] = errors(os.path.join(folder, form + ".json"), wanted)
            print(f"{form}: edges {told[form][0]:.4f} pixels, confidences {told[form][1]:.5f} from OpenCV's, mean of {len(wanted)}")
        assert all(told["fp32"] < told["device"]), told
        both = json.loads(evaluate(data, "--as", "both", "--json"))["networks"]
        assert [os.path.basename(of["network"]) for of in both] == [os.path.basename(NETWORK) + " in FP32",
                                                                     os.path.basename(NETWORK)], both
        figures = [of["detection"]["figures"]["ap"] for of in both]
        print("AP in FP32 %.4f, on the device %.4f" % tuple(figures))
        assert abs(figures[0] - figures[1]) < 0.02, figures
        for args, why in ((("--as", "fp64"), "'fp64'"), (("--as", "fp32", "--keep"), "--keep"),
                          (("--as", "both", "--save", "x.json"), "--save")):
            assert why in evaluate(data, *args, status=2), args
    return 0


if __name__ == "__main__":
    sys.exit(main())
