# SPDX-License-Identifier: Apache-2.0
"""The MTCNN of docs/cascades.md on two photographs must find the faces of a plain implementation of the paper with
the same pyramid.

Arguments: dvnet, docs/cascades.md, the folder of the data
"""
import sys
import tempfile
from pathlib import Path

from page_lines import commands, run_section, skip_without  # first: it skips where the rest is not there

import cv2
import numpy as np

from plain_mtcnn import PlainMtcnn, overlap

HEADING = "Faces by MTCNN"
# Three networks in a row react to single pixels: on photographs with these shifts, the plain
# implementation's own boxes have an IoU of 0.79 and points are 4 % apart. So each face is compared
# with the nearest one of these.
SHIFTS = (0, 0), (1, 1), (3, 2), (5, 3), (7, 7)
SURE = 0.9  # faces of less confidence come and go with the shifts, at a threshold of 0.7
INPUT = 160, 120  # width and height of the first network's upright input


def scales_of(page, picture):
    """Returns the scales at which the page's pipeline looks at a picture."""
    words = next(w for w in commands(page, HEADING) if w[0] == "gst-launch-1.0")
    tiles = next(w for w in words if w.startswith("tiles="))[len("tiles="):].split(",")
    height, width = picture.shape[:2]
    return [float(scale) * min(INPUT[0] / width, INPUT[1] / height) for scale in tiles]


def plain_faces(picture, scales, zoo):
    """Returns the faces that the plain implementation finds in the picture, and in the picture shifted by some pixels."""
    plain = PlainMtcnn(zoo)
    for x, y in SHIFTS:
        shifted = cv2.copyMakeBorder(picture, y, 0, x, 0, cv2.BORDER_CONSTANT)
        yield [(box - (x, y, x, y), confidence, points - (x, y))
               for box, confidence, points in plain.find(shifted, scales)]


def check(document, picture, page, zoo):
    found = document["objects"]
    # The objects of the first two networks have been replaced.
    assert {o["network"] for o in found} == {"faces"}, {o["network"] for o in found}
    expected = list(plain_faces(picture, scales_of(page, picture), zoo))
    sure = [face for face in expected[0] if face[1] >= SURE]
    assert len(sure) >= 6, f"the plain implementation finds {len(sure)} faces only"
    assert len(found) == len(sure), f"{len(found)} faces, not {len(sure)}"
    for box, confidence, _ in sure:
        face = max(found, key=lambda o: overlap(box, o["box"]))
        points = np.array(face["points"])[:, :2]
        side = max(box[2] - box[0], box[3] - box[1])
        nearest = [max(faces, key=lambda other: overlap(other[0], face["box"])) for faces in expected]
        shared, away = max((overlap(other[0], face["box"]), -np.abs(points - other[2]).max() / side)
                           for other in nearest)
        print(f"face of {side:.0f} pixels, {confidence:.3f}: IoU {shared:.2f}, points within {-100 * away:.1f} %")
        assert shared >= 0.8
        assert -away <= 0.03


def main():
    dvnet, page, data = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), Path(sys.argv[3])
    photographs = [data / "images" / f"{name}.jpg" for name in ("12_angry_men", "face_classification_test_image")]
    models = [data / "zoo" / f"det{i}.{kind}" for i in (1, 2, 3) for kind in ("prototxt", "caffemodel")]
    skip_without(models + photographs)
    for photograph in photographs:
        with tempfile.TemporaryDirectory() as folder:
            for path in [photograph, *models]:
                (Path(folder) / path.name).symlink_to(path.resolve())
            document, picture = run_section(page, HEADING, dvnet, photograph.name, Path(folder))
        print(f"{photograph.name}:")
        check(document, picture, page, data / "zoo")


if __name__ == "__main__":
    main()
