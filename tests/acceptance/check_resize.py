#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks planned for another size of input without their models give the same files, byte for byte,
as from the models. The layers that keep 16 bits of weights beside others of 8 are chosen at the size
for which a model is converted, so networks of 8 bits are planned for another size and back.

usage: check_resize.py DVNET DATA
"""
import json
import os
import subprocess
import sys
import tempfile

from check_golden import MODELS, SKIP, chosen

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from share import share_of  # noqa: E402

# network: the size to plan for
SIZES = {"res10": "320x256", "yufacedetectnet": "640x352", "rfb320": "640x480",
         "rfb320_onnx": "480x352", "mini_xception": "96x80", "yolox_nano": "320x256",
         "squeezenet": "320x240", "FastestDet": "320x256"}
# ShuffleNet's blocks, whose reshapes name one size: converted for that size, for another, and back.
ZOO = {"FastestDet": (None, ["../zoo/FastestDet.onnx"], [])}


def own_size(path):
    with open(path) as file:
        model = json.load(file)
    shape = model["tensors"][model["input"]["tensor"]]["shape"]
    return f"{shape[3]}x{shape[2]}"


def pair(dvnet, model, options, size, back, folder):
    """Returns the two files that must be the same."""
    own, direct, resized, description = (
        os.path.join(folder, n) for n in ("own.dvn", "direct.dvn", "resized.dvn", "own.json"))

    def convert(*arguments):
        subprocess.run([dvnet, "convert", *arguments], check=True, stdout=subprocess.DEVNULL)

    convert(*model, *options, "-o", own, "--json", description)
    convert(own, "--size", size, "-o", resized)
    if back:
        convert(resized, "--size", own_size(description), "-o", direct)
        return own, direct
    convert(*model, *options, "--size", size, "-o", direct)
    return direct, resized


def main():
    dvnet, data = sys.argv[1:]
    if not os.path.isdir(os.path.join(data, "models")):
        print(f"skipped: no reference data in '{data}'")
        return SKIP
    failures = 0
    cases = [(name, extra) for name in chosen(SIZES)
             for extra in ([], ["--layout", "hwc"], ["--quantize"])]
    for name, extra in share_of(cases):
        size = SIZES[name]
        _, names, options = {**MODELS, **ZOO}[name]
        files = [os.path.join(data, "models", file) for file in names]
        # A rule for anchors that names one size of picture does not fit the network.
        if "--decoder" in options:
            options = options[:options.index("--decoder")]
        with tempfile.TemporaryDirectory() as folder:
            back = name in ZOO or "--quantize" in extra
            one, other = pair(dvnet, files, [*options, *extra], size, back, folder)
            direct, resized = (open(path, "rb").read() for path in (one, other))
        same = direct == resized
        failures += not same
        print(f"{name} {size} {' '.join(extra)}: {'the same' if same else 'DIFFERS'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
