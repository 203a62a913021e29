#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `dvnet run` with the golden outputs of the reference models.

The rules: every golden detection with confidence >= 0.5 is found (IoU >= 0.9, class equal,
confidence within 0.03), none >= 0.53 is extra; classifiers agree in the top class and in the top
five as a set; raw outputs have a cosine of at least 0.999. FP16 weights alone move a confidence by
up to 0.01 (golden/fp16_weights_only.json).

    check_golden.py DVNET DATA_FOLDER      exit status 77: the data are absent, the test is skipped
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from share import share_of  # noqa: E402

FOUND_CONFIDENCE = 0.5
EXTRA_CONFIDENCE = 0.53
CONFIDENCE_TOLERANCE = 0.03
MIN_IOU = 0.9
MIN_COSINE = 0.999
SKIP = 77

MIN_BOXES = {
    "rule": "min-boxes",
    "image": [320, 240],
    "strides": [8, 16, 32, 64],
    "min_boxes": [[10, 16, 24], [32, 48], [64, 96], [128, 192, 256]],
}
SIZES_RATIOS = {
    "rule": "sizes-ratios",
    "features": [[33, 33], [17, 17], [9, 9], [5, 5], [3, 3]],
    "sizes": [[0.04, 0.056], [0.08, 0.11], [0.16, 0.22], [0.32, 0.45], [0.64, 0.72]],
    "ratios": [[1, 0.62, 0.42]] * 5,
}

# Slow builds (sanitizers, an emulator) test a share of the networks: the sweeps of the device test
# numbers, and one network shows that the parts fit together.
BRIEFLY = "DVNN_TEST_BRIEFLY" in os.environ
EMULATED = int(os.environ.get("DVNN_TEST_BRIEFLY", "1")) > 4
BRIEF_MODELS = ["rfb320"] if EMULATED else ["rfb320", "rfb320_onnx"]
BRIEF_PICTURES = 1 if EMULATED else 2

RFB_OPTIONS = [
    "--order", "rgb", "--mean", "127", "--scale", "0.0078125", "--decoder", "ssd",
    "--decoder-params", json.dumps({
        "loc": "boxes", "conf": "scores", "num_classes": 2, "nms_threshold": 0.3,
        "anchors": MIN_BOXES})]

# name of the network: (golden folder, model files, options of dvnet convert)
MODELS = {
    "res10": (
        "res10_caffe_from_uint8pb",
        ["res10_300x300_deploy.prototxt", "res10_300x300_from_uint8pb.caffemodel"],
        ["--mean", "104,117,123"],
    ),
    "yufacedetectnet": (
        "yufacedetectnet_v1",
        ["yufacedetectnet-open-v1.prototxt", "yufacedetectnet-open-v1.caffemodel"],
        ["--mean", "103.94,116.78,123.68"],
    ),
    "rfb320": (
        "ulfg_rfb320_caffe",
        ["RFB-320.prototxt", "RFB-320.caffemodel"],
        RFB_OPTIONS,
    ),
    "rfb320_onnx": (
        "ulfg_rfb320_onnx",
        ["version-RFB-320_without_postprocessing.onnx"],
        RFB_OPTIONS,
    ),
    "rfb320_simplified": (
        "ulfg_rfb320_onnx",
        ["version-RFB-320_simplified.onnx"],
        RFB_OPTIONS,
    ),
    "rfb320_decoded": (  # its boxes are corners already: raw outputs only
        "",
        ["version-RFB-320.onnx"],
        ["--order", "rgb", "--mean", "127", "--scale", "0.0078125"],
    ),
    "mini_xception": (  # raw outputs only
        "",
        ["fer2013_mini_XCEPTION.102-0.66.hdf5"],
        ["--order", "gray", "--mean", "127.5", "--scale", str(1 / 127.5)],
    ),
    "yolox_nano": (  # raw outputs only
        "",
        ["yolox_nano.onnx"],
        ["--order", "bgr", "--resize", "letterbox-top-left", "--pad-value", "114"],
    ),
    "face_mask": (
        "face_mask_detection",
        ["face_mask_detection.prototxt", "face_mask_detection.caffemodel"],
        ["--order", "rgb", "--scale", str(1 / 255), "--decoder", "ssd", "--decoder-params",
         json.dumps({
             "loc": "loc_branch_concat", "conf": "cls_branch_concat", "num_classes": 2,
             "background_label_id": -1, "class_agnostic": True, "nms_threshold": 0.4,
             "anchors": SIZES_RATIOS})],
    ),
    "squeezenet": (
        "squeezenet_v1.0",
        ["squeezenet_v1.0_deploy.prototxt", "squeezenet_v1.0_deepcompression.caffemodel"],
        ["--mean", "104,117,123"],
    ),
}

# Raw outputs of one picture: (network, picture, output, golden file), in the data folder
RAW = [
    ("rfb320", "images/ulfg_5.jpg", "boxes", "ulfg_rfb320_caffe/ulfg_5.jpg.boxes.npy"),
    ("rfb320", "images/ulfg_5.jpg", "scores", "ulfg_rfb320_caffe/ulfg_5.jpg.scores.npy"),
    ("rfb320_onnx", "images/ulfg_5.jpg", "boxes", "ulfg_rfb320_onnx/ulfg_5.jpg.raw_deltas.npy"),
    ("rfb320_onnx", "images/ulfg_5.jpg", "scores", "ulfg_rfb320_onnx/ulfg_5.jpg.scores.npy"),
    ("rfb320_decoded", "images/ulfg_5.jpg", "boxes", "ulfg_rfb320_onnx/ulfg_5.jpg.boxes_decoded.npy"),
    ("rfb320_decoded", "images/ulfg_5.jpg", "scores", "ulfg_rfb320_onnx/ulfg_5.jpg.scores.npy"),
    ("mini_xception", "golden/keras_fer2013_mini_XCEPTION.102-0.66/input.png", "predictions",
     "keras_fer2013_mini_XCEPTION.102-0.66/output.npy"),
    ("yolox_nano", "images/dog.jpg", "output", "yolox_nano/dog.jpg.output.npy"),
    ("face_mask", "images/ulfg_5.jpg", "loc_branch_concat",
     "face_mask_detection/ulfg_5.jpg.loc_branch_concat.npy"),
    ("face_mask", "images/ulfg_5.jpg", "cls_branch_concat",
     "face_mask_detection/ulfg_5.jpg.cls_branch_concat.npy"),
]


def chosen(models):
    """Returns the names of the networks that this build compares."""
    return [name for name in models if name in BRIEF_MODELS or not BRIEFLY]


def iou(a, b):
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    if w <= 0 or h <= 0:
        return 0.0
    both = w * h
    area = lambda r: (r[2] - r[0]) * (r[3] - r[1])
    return both / (area(a) + area(b) - both)


def compare_detections(ours, golden):
    """Yields a sentence for every breach of the rules."""
    ours = list(ours)
    for want in golden:
        if want["conf"] < FOUND_CONFIDENCE:
            continue
        best = max(ours, default=None,
                   key=lambda d: iou(d["box"], want["box"]) if d["cls"] == want["cls"] else -1)
        overlap = iou(best["box"], want["box"]) if best else 0
        if not best or best["cls"] != want["cls"] or overlap < MIN_IOU:
            yield f"missed class {want['cls']} {want['conf']:.3f} (best IoU {overlap:.3f})"
        elif abs(best["conf"] - want["conf"]) > CONFIDENCE_TOLERANCE:
            yield f"confidence {best['conf']:.4f} instead of {want['conf']:.4f}"
    for have in ours:
        if have["conf"] < EXTRA_CONFIDENCE:
            continue
        if not any(d["cls"] == have["cls"] and iou(d["box"], have["box"]) >= MIN_IOU
                   for d in golden):
            yield f"extra class {have['cls']} {have['conf']:.3f} at {have['box']}"


def compare_top5(ours, golden):
    classes = [c["cls"] for c in ours]
    wanted = [c["cls"] for c in golden]
    if classes[0] != wanted[0]:
        yield f"top class {classes[0]} instead of {wanted[0]}"
    if set(classes) != set(wanted):
        yield f"top five {classes} instead of {wanted}"


def cosine(a, b):
    a, b = a.ravel().astype(np.float64), b.ravel().astype(np.float64)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


class Checker:
    def __init__(self, dvnet, data):
        self.dvnet, self.data = dvnet, data
        self.run_with = os.environ.get("DVNN_RUN_WITH", "").split()  # an emulator
        self.passed, self.failures = 0, []
        self.found = {}  # detections by network and layout, by picture
        self.folder = tempfile.TemporaryDirectory()

    def note(self, name, problems):
        problems = list(problems)
        self.passed += not problems
        for problem in problems:
            self.failures.append(f"{name}: {problem}")

    def run(self, *arguments):
        return subprocess.run([*self.run_with, self.dvnet, *arguments], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def pictures(self):
        for folder in ("images", "golden/frames"):
            full = os.path.join(self.data, folder)
            for name in sorted(os.listdir(full)):
                yield os.path.join(full, name)

    def golden(self, folder, picture):
        """Returns the golden JSON of a picture; frames are named after their video."""
        name = os.path.basename(picture)
        name = name[:-4] if name.endswith(".png") else name
        path = os.path.join(self.data, "golden", folder, name + ".json")
        if not os.path.exists(path):
            return None
        with open(path) as file:
            return json.load(file)

    def check_model(self, name, layout):
        folder, files, options = MODELS[name]
        models = os.path.join(self.data, "models")
        network = os.path.join(self.folder.name, f"{name}-{layout}.dvn")
        self.run("convert", *[os.path.join(models, file) for file in files], "-o", network,
                 "--layout", layout, *options)
        if not folder:
            self.check_raw(name, layout, network)
            return
        pictures = list(self.pictures())
        pictures = pictures[:BRIEF_PICTURES] if BRIEFLY else share_of(pictures)
        lines = self.run("run", "--json", "--threshold", "0.01", network, *pictures).splitlines()
        for picture, line in zip(pictures, lines):
            want, have = self.golden(folder, picture), json.loads(line)
            self.found.setdefault((name, layout), {})[picture] = have.get("detections")
            if want is None:
                continue
            case = f"{name} ({layout}) {os.path.basename(picture)}"
            if "top5" in want:
                self.note(case, compare_top5(have["top5"], want["top5"]))
            elif "detections" in want:
                self.note(case, compare_detections(have["detections"], want["detections"]))
        self.check_raw(name, layout, network)

    def check_frameworks(self, one, other):
        """The same network from two frameworks gives the same detections."""
        for layout in ("whc", "hwc"):
            for picture, want in self.found[(one, layout)].items():
                have = self.found[(other, layout)][picture]
                self.note(f"{one} and {other} ({layout}) {os.path.basename(picture)}",
                          compare_detections(have, want))

    def check_raw(self, name, layout, network):
        for model, picture, output, golden in RAW:
            path = os.path.join(self.data, "golden", golden)
            if model != name or not os.path.exists(path):
                continue
            self.run("run", "--json", "--dump", self.folder.name, network,
                     os.path.join(self.data, picture))
            picture = os.path.basename(picture)
            ours = np.load(os.path.join(self.folder.name, f"{picture}.{output}.npy"))
            likeness = cosine(ours, np.load(path))
            print(f"{name} ({layout}) {output}: cosine {likeness:.7f}")
            self.note(f"{name} ({layout}) {output}",
                      [] if likeness >= MIN_COSINE else [f"cosine {likeness:.6f}"])


def main():
    dvnet, data = sys.argv[1], sys.argv[2]
    if not os.path.isdir(os.path.join(data, "golden")):
        print(f"skipped: no reference data in '{data}'")
        return SKIP
    checker = Checker(dvnet, data)
    models = chosen(MODELS)
    for name in models:
        for layout in ("whc", "hwc"):
            checker.check_model(name, layout)
    for name in ("rfb320_onnx", "rfb320_simplified"):
        if name in models:
            checker.check_frameworks("rfb320", name)
    for failure in checker.failures:
        print("FAILED", failure)
    print(f"{checker.passed} comparisons hold, {len(checker.failures)} do not")
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
