#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet evaluate on masks: intersection over union is that of what dvnet run prints, pixel by pixel in NumPy.

    check_masks.py DVNET TEST_DATA

TEST_DATA has SINet, which tells people from what is behind them, and pictures; without them there is nothing to do.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

DVNET, DATA = sys.argv[1:3]
MODEL = os.path.join(DATA, "zoo", "SINet.onnx")
PICTURES = ("mssdface_people", "dog", "voc_000001", "12_angry_men")
CLASSES = ("background", "person")


def write_png(path, pixels):
    """Gray of 8 bits, or RGB."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    height, width = pixels.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0 if pixels.ndim == 2 else 2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def map_of(told):
    """The class of each pixel, from what dvnet run prints: the cell that its middle lies in."""
    mask = told["detections"][0]["mask"]
    runs = np.array(mask["runs"]).reshape(-1, 2)
    cells = np.repeat(runs[:, 0], runs[:, 1]).reshape(mask["height"], mask["width"])
    assert mask["place"] == [0, 0, 1, 1], mask["place"]
    columns = ((np.arange(told["width"]) + 0.5) * mask["width"] / told["width"]).astype(int)
    rows = ((np.arange(told["height"]) + 0.5) * mask["height"] / told["height"]).astype(int)
    return cells[rows][:, columns]


def truth_for(found, rng):
    """What was found, where a part is another class and a part does not count."""
    truth = found.astype(np.uint8).copy()
    height, width = truth.shape
    for value in (0, 1, 255):
        y, x = rng.integers(0, height // 2), rng.integers(0, width // 2)
        truth[y:y + height // 3, x:x + width // 4] = value
    return truth


def overlaps(pairs):
    shares = {}
    for of in (0, 1):
        both = sum(int(((truth == of) & (found == of)).sum()) for truth, found in pairs)
        either = sum(int((((truth == of) | (found == of)) & (truth != 255)).sum()) for truth, found in pairs)
        shares[of] = both / either
    return shares


def evaluate(network, folder, status=0):
    done = subprocess.run([DVNET, "evaluate", network, "--data", folder, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)["networks"][0]["segmentation"] if status == 0 else done.stderr


def main():
    if not os.path.exists(MODEL):
        print("without SINet there is nothing to do")
        return 77
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        network, labels, data = (os.path.join(folder, name) for name in ("sinet.dvn", "labels.txt", "data"))
        with open(labels, "w") as file:
            file.write("\n".join(CLASSES))
        subprocess.check_call([DVNET, "convert", MODEL, "--preset", "sinet", "--labels", labels, "-o", network], stdout=subprocess.DEVNULL)
        os.makedirs(os.path.join(data, "images"))
        os.makedirs(os.path.join(data, "masks"))
        pairs = []
        for name in PICTURES:
            picture = os.path.join(DATA, "images", name + ".jpg")
            shutil.copy(picture, os.path.join(data, "images"))
            found = map_of(json.loads(subprocess.check_output([DVNET, "run", network, picture, "--json"])))
            pairs.append((truth_for(found, rng), found))
            write_png(os.path.join(data, "masks", name + ".png"), pairs[-1][0])
        wanted = overlaps(pairs)
        for named in (False, True):
            if named:  # in another order: classes go by their names
                pairs = [(np.where(truth == 255, 255, 1 - truth), found) for truth, found in pairs]
                for name, (truth, _) in zip(PICTURES, pairs):
                    write_png(os.path.join(data, "masks", name + ".png"), truth.astype(np.uint8))
                shutil.copy(labels, os.path.join(data, "classes.txt"))
                with open(os.path.join(data, "classes.txt"), "w") as file:
                    file.write("Person\nBackground\n")
            told = evaluate(network, data)
            shares = {c["label"]: c["iou"] for c in told["classes"]}
            assert set(shares) == set(CLASSES), told
            for of, share in wanted.items():
                assert abs(shares[CLASSES[of]] - share) < 1e-12 and 0.1 < share < 0.99, (told, wanted)
            assert abs(told["miou"] - sum(wanted.values()) / 2) < 1e-12, (told, wanted)
        # What is no mask of classes is refused by its name.
        mask = os.path.join(data, "masks", "dog.png")
        height, width = pairs[1][0].shape
        for pixels, why in ((np.full((height, width), 7, np.uint8), "the value 7 at 0,0; there are 2 classes"),
                            (np.full((height, width, 3), (0, 1, 0), np.uint8), "has a colour at 0,0"),
                            (np.zeros((height - 1, width), np.uint8), "its picture %d x %d" % (width, height))):
            write_png(mask, pixels)
            refused = evaluate(network, data, 1)
            assert mask in refused and why in refused, refused
    return 0


if __name__ == "__main__":
    sys.exit(main())
