# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of a section of docs/cascades.md, on another picture than the page's, and checks what they find.

Arguments: faces or text, dvnet, docs/cascades.md, the folder of the data
"""
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SKIP = 77
try:
    import cv2
    import numpy as np
except ImportError:
    print("skipped: needs python3-opencv and python3-numpy")
    sys.exit(SKIP)

# ArcFace's places of the eyes, the nose and the corners of the mouth, in 112 x 112 pixels.
ARCFACE = np.array([[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655],
                    [70.7299, 92.2041]])
# Text, its middle, and its rotation in degrees, anticlockwise.
LINES = (("STATION ROAD 14", 320, 90, 0), ("PLATFORM SEVEN", 320, 200, 180), ("KEEP DRY", 170, 340, 8),
         ("THIS SIDE UP", 460, 350, 188))
PAPER, INK = 235, (30, 20, 20)
PLATE_AT = 200, 180  # where the page's region list expects the plate in the frame
PLATE_SIZE = 188, 48


# --- the page ---------------------------------------------------------------------------------------------------------------

def skip_without(paths):
    """Ends the test with a message if the data are not there."""
    if missing := [path for path in paths if not path.exists()]:
        print(f"skipped: needs {missing[0]}")
        sys.exit(SKIP)


def commands(page, heading):
    """Returns the section's commands, as lists of words."""
    section = page.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    for block in re.findall(r"((?:^ {4}.*\n)+)", section, re.M):
        for command in re.split(r"(?<!\\)\n", block):
            if command.strip():
                yield shlex.split(command.replace("\\\n", " "))


def run_section(page, heading, dvnet, picture, folder):
    """Converts the models in the folder and runs the pipeline there. Returns the document of what it found, and the
    frame's pixels, B, G, R."""
    pipeline = None
    for words in commands(page, heading):
        if words[0] == "dvnet":
            subprocess.run([dvnet, *words[1:]], cwd=folder, check=True, timeout=60, stdout=subprocess.DEVNULL)
        elif words[0] == "gst-launch-1.0":
            pipeline = words
    # Uses the given picture instead of the page's file, keeps its pixels, and publishes documents
    # instead of drawing.
    first, drawn = pipeline.index("dvconvert"), pipeline.index("dvoverlay")
    tap = ("video/x-raw,format=BGR ! tee name=t t. ! queue ! filesink location=frame.bgr "
           "t. ! queue !").split()
    tell = ["dvpublish", "location=found.jsonl", "details=points+texts+embeddings", "!", "fakesink"]
    line = [f"location={picture}" if w.startswith("location=") else w for w in pipeline[:first]]
    subprocess.run([*line, *tap, *pipeline[first:drawn], *tell], cwd=folder, check=True, timeout=60,
                   stdout=subprocess.DEVNULL)
    document = json.loads((folder / "found.jsonl").read_text().splitlines()[0])
    width, height = document["frame"]["width"], document["frame"]["height"]
    stride = (width * 3 + 3) // 4 * 4
    raw = np.fromfile(folder / "frame.bgr", np.uint8)[:stride * height]
    return document, np.ascontiguousarray(raw.reshape(height, stride)[:, :width * 3]).reshape(height, width, 3)


# --- faces ------------------------------------------------------------------------------------------------------------------

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


def compare_faces(picture, document, zoo, dvnet, folder):
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


def check_faces(dvnet, page, data):
    """YuNet finds the faces of a photograph, PFLD their landmarks, and MobileFaceNet an embedding of each, all in one pipeline.
    Landmarks are compared with OpenCV: its crop of the same place, and its dnn on the same file. Embeddings are compared with
    `dvnet run` on OpenCV's warpAffine, because OpenCV 4.6 cannot read the file; the zoo's test has its numbers from ONNX
    Runtime."""
    zoo, photograph = data / "zoo", data / "images" / "mssdface_people.jpg"
    needed = [photograph] + [zoo / f"{name}.onnx"
                             for name in ("yunet_n_320_320", "pfld_cunjian", "mobilefacenet")]
    skip_without(needed)
    with tempfile.TemporaryDirectory() as folder:
        for path in needed:
            (Path(folder) / path.name).symlink_to(path.resolve())
        document, picture = run_section(page, "Faces", dvnet, photograph.name, Path(folder))
        compare_faces(picture, document, zoo, dvnet, Path(folder))


# --- text -------------------------------------------------------------------------------------------------------------------

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


def check_text(dvnet, page, data):
    """Upside-down lines of a drawn page are told from upright ones, and a number plate within a frame is read as the same
    network reads it alone."""
    needed = [data / "zoo" / name for name in ("ppocrv3_det.onnx", "speed/ppocr_cls.onnx", "LPRNet.onnx",
                                               "golden/LPRNet.png")]
    skip_without(needed)
    for check in (check_lines, check_plate):
        with tempfile.TemporaryDirectory() as folder:
            check(dvnet, page, data, Path(folder))


def main():
    checks = {"faces": check_faces, "text": check_text}
    checks[sys.argv[1]](Path(sys.argv[2]).resolve(), Path(sys.argv[3]), Path(sys.argv[4]))


if __name__ == "__main__":
    main()
