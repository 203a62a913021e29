# SPDX-License-Identifier: Apache-2.0
"""The faces' cascade of docs/cascades.md on a photograph: YuNet finds faces, PFLD their landmarks, and
MobileFaceNet an embedding of each, all in one pipeline. Landmarks are compared with OpenCV: its crop
of the same place, and its dnn on the same file. Embeddings are compared with `dvnet run` on OpenCV's warpAffine,
because OpenCV 4.6 cannot read the file; the zoo's test has its numbers from ONNX Runtime.

Arguments: dvnet, docs/cascades.md, the folder of the data
"""
import subprocess
import sys
import tempfile
from pathlib import Path

from page_lines import run_section, skip_without  # first: it skips where the rest is not there

import cv2
import numpy as np

# ArcFace's places of the eyes, the nose and the corners of the mouth, in 112 x 112 pixels.
ARCFACE = np.array([[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655],
                    [70.7299, 92.2041]])


def similarity(points):
    """The turn, scale and shift that bring the points nearest to ARCFACE (least squares)."""
    rows, wanted = [], []
    for (x, y), (u, v) in zip(points, ARCFACE):
        rows += [[x, -y, 1, 0], [y, x, 0, 1]]
        wanted += [u, v]
    a, b, dx, dy = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0]
    matrix = np.array([[a, -b, dx], [b, a, dy]])
    # Edges of pixels are at whole numbers here; in warpAffine, their middles are.
    matrix[:, 2] += matrix[:, :2] @ (0.5, 0.5) - 0.5
    return matrix


def run_onnx(path, picture, mean, scale):
    rgb = cv2.cvtColor(picture, cv2.COLOR_BGR2RGB).astype(np.float32)
    net = cv2.dnn.readNetFromONNX(str(path))
    net.setInput(((rgb - np.float32(mean)) * np.float32(scale)).transpose(2, 0, 1)[None])
    return net.forward().ravel()


def embed(dvnet, folder, aligned):
    cv2.imwrite(str(folder / "aligned.png"), aligned)
    subprocess.run([dvnet, "run", "mobilefacenet.dvn", "aligned.png", "--dump", "raw"], cwd=folder,
                   check=True, timeout=60, stdout=subprocess.DEVNULL)
    return np.load(folder / "raw" / "aligned.png.output.npy").ravel()


def check(picture, document, zoo, dvnet, folder):
    faces = [o for o in document["objects"] if o["network"] == "yunet"]
    landmarks = {o["parent"]: o for o in document["objects"] if o["network"] == "pfld"}
    assert len(faces) == 3, f"{len(faces)} faces, not the three of the photograph"
    for face in faces:
        aligned = cv2.warpAffine(picture, similarity([p[:2] for p in face["points"]]), (112, 112))
        expected = embed(dvnet, folder, aligned)
        ours = np.array(face["embedding"])
        cosine = ours @ expected / np.linalg.norm(ours) / np.linalg.norm(expected)
        # Points are printed in hundredths of a pixel, and a face is 25 pixels wide here: the warp
        # is right to 0.04 %.
        assert cosine > 0.999, f"embedding of face {face['id']}: cosine {cosine:.5f}"

        crop = landmarks[face["id"]]
        x0, y0, x1, y1 = (int(v) for v in crop["box"])
        stretched = cv2.resize(picture[y0:y1, x0:x1], (112, 112))
        points = run_onnx(zoo / "pfld_cunjian.onnx", stretched, [123.675, 116.28, 103.53],
                          [0.017125, 0.017507, 0.017429])[-136:].reshape(68, 2)
        points = points * (x1 - x0, y1 - y0) + (x0, y0)
        away = np.abs(points - np.array(crop["points"])[:, :2]).max()
        # FP16 through 48 layers, and hundredths of a pixel.
        assert away < 0.01 * (x1 - x0), f"landmarks of face {face['id']}: {away:.3f} pixels away"
        print(f"face {face['id']}: cosine {cosine:.5f}, landmarks within {away:.3f} pixels")


def main():
    dvnet, page, data = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), Path(sys.argv[3])
    zoo, photograph = data / "zoo", data / "images" / "mssdface_people.jpg"
    needed = [photograph] + [zoo / f"{name}.onnx"
                             for name in ("yunet_n_320_320", "pfld_cunjian", "mobilefacenet")]
    skip_without(needed)
    with tempfile.TemporaryDirectory() as folder:
        for path in needed:
            (Path(folder) / path.name).symlink_to(path.resolve())
        document, picture = run_section(page, "Faces", dvnet, photograph.name, Path(folder))
        check(picture, document, zoo, dvnet, Path(folder))


if __name__ == "__main__":
    main()
