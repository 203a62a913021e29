# SPDX-License-Identifier: Apache-2.0
"""The text cascades of docs/cascades.md: upside-down lines of a drawn page must be told from upright ones, and a number
plate within a frame must be read as the same network reads it alone.

Arguments: dvnet, docs/cascades.md, the folder of the data
"""
import subprocess
import sys
import tempfile
from pathlib import Path

from page_lines import run_section, skip_without  # first: it skips where the rest is not there

import cv2
import numpy as np

# Text, its middle, and its rotation in degrees, anticlockwise.
LINES = (("STATION ROAD 14", 320, 90, 0), ("PLATFORM SEVEN", 320, 200, 180), ("KEEP DRY", 170, 340, 8),
         ("THIS SIDE UP", 460, 350, 188))
PAPER, INK = 235, (30, 20, 20)
PLATE_AT = 200, 180  # where the page's region list expects the plate in the frame
PLATE_SIZE = 188, 48


def draw_page():
    page = np.full((480, 640, 3), PAPER, np.uint8)
    for text, x, y, degrees in LINES:
        (width, height), below = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 1.1, 2)
        line = np.full((height + below + 10, width + 10, 3), PAPER, np.uint8)
        cv2.putText(line, text, (5, height + 5), cv2.FONT_HERSHEY_SIMPLEX, 1.1, INK, 2, cv2.LINE_AA)
        middle = line.shape[1] / 2, line.shape[0] / 2
        turn = cv2.getRotationMatrix2D(middle, degrees, 1)
        turn[:, 2] += (x - middle[0], y - middle[1])
        cv2.warpAffine(line, turn, (640, 480), dst=page, borderMode=cv2.BORDER_TRANSPARENT)
    return page


def check_lines(dvnet, page, data, folder):
    for model in (data / "zoo" / "ppocrv3_det.onnx", data / "zoo" / "speed" / "ppocr_cls.onnx"):
        (folder / model.name).symlink_to(model.resolve())
    cv2.imwrite(str(folder / "drawn.png"), draw_page())
    document, _ = run_section(page, "Lines of text", dvnet, "drawn.png", folder)
    lines = [o for o in document["objects"] if o["network"] == "lines"]
    angles = {o["parent"]: o["label"] for o in document["objects"] if o["network"] == "angle"}
    assert len(lines) == len(LINES), f"{len(lines)} lines, not {len(LINES)}"
    for text, x, y, degrees in LINES:
        line = next(o for o in lines if o["box"][0] < x < o["box"][2] and o["box"][1] < y < o["box"][3])
        expected = "180" if 90 < degrees < 270 else "0"
        print(f"{text}: {angles[line['id']]}")
        assert angles[line["id"]] == expected


def check_plate(dvnet, page, data, folder):
    (folder / "LPRNet.onnx").symlink_to((data / "zoo" / "LPRNet.onnx").resolve())
    plate = cv2.imread(str(data / "zoo" / "golden" / "LPRNet.png"))
    # Each pixel twice as large: sampled at half the size, the plate is the same again.
    frame = np.full((480, 640, 3), 90, np.uint8)
    x, y = PLATE_AT
    frame[y:y + PLATE_SIZE[1], x:x + PLATE_SIZE[0]] = cv2.resize(plate, PLATE_SIZE, interpolation=cv2.INTER_NEAREST)
    cv2.imwrite(str(folder / "gate.png"), frame)
    document, _ = run_section(page, "Number plates", dvnet, "gate.png", folder)
    (found,) = document["objects"]
    alone = subprocess.run([dvnet, "run", "plates.dvn", data.resolve() / "zoo" / "golden" / "LPRNet.png"], cwd=folder,
                           check=True, timeout=60, capture_output=True, text=True).stdout
    print(f"plate: {found['text']}, in {found['region']}")
    assert f"'{found['text']}'" in alone, alone
    assert found["region"] == "gate"


def main():
    dvnet, page, data = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), Path(sys.argv[3])
    needed = [data / "zoo" / name for name in ("ppocrv3_det.onnx", "speed/ppocr_cls.onnx", "LPRNet.onnx",
                                               "golden/LPRNet.png")]
    skip_without(needed)
    for check in (check_lines, check_plate):
        with tempfile.TemporaryDirectory() as folder:
            check(dvnet, page, data, Path(folder))


if __name__ == "__main__":
    main()
