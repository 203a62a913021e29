#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks planned for another size of input without their models: the same files, byte for byte,
as from the models.

usage: check_resize.py DVNET DATA
"""
import os
import subprocess
import sys
import tempfile

from check_golden import MODELS, SKIP, chosen

# network: the size to plan for
SIZES = {"res10": "320x256", "yufacedetectnet": "640x352", "rfb320": "640x480",
         "rfb320_onnx": "480x352", "mini_xception": "96x80", "yolox_nano": "320x256",
         "squeezenet": "320x240"}


def main():
    dvnet, data = sys.argv[1:]
    if not os.path.isdir(os.path.join(data, "models")):
        print(f"skipped: no reference data in '{data}'")
        return SKIP
    failures = 0
    for name in chosen(SIZES):
        size = SIZES[name]
        files = [os.path.join(data, "models", file) for file in MODELS[name][1]]
        # Anchors by a rule for one size of picture are not the network's.
        options = [o for o in MODELS[name][2]]
        if "--decoder" in options:
            options = options[:options.index("--decoder")]
        for extra in ([], ["--layout", "hwc"], ["--quantize"]):
            with tempfile.TemporaryDirectory() as folder:
                paths = [os.path.join(folder, f"{n}.dvn") for n in ("own", "direct", "resized")]
                for arguments in ([*files, *options, *extra, "-o", paths[0]],
                                  [*files, *options, *extra, "--size", size, "-o", paths[1]],
                                  [paths[0], "--size", size, "-o", paths[2]]):
                    subprocess.run([dvnet, "convert", *arguments], check=True,
                                   stdout=subprocess.DEVNULL)
                direct, resized = (open(p, "rb").read() for p in paths[1:])
            same = direct == resized
            failures += not same
            print(f"{name} {size} {' '.join(extra)}: {'the same' if same else 'DIFFERS'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
