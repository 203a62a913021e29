#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""C++ sources of every reference model, compiled, against the network file: the same bytes.

usage: check_generated.py DVNET DATA COMPILER INCLUDE LIBRARY_FOLDER
"""
import os
import subprocess
import sys
import tempfile

from check_golden import MODELS, SKIP, chosen

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from share import share_of  # noqa: E402

# Networks that are others in another format: their sources are the same but for names.
TWINS = ("rfb320_onnx", "rfb320_simplified")
PICTURE = os.path.join("images", "ulfg_5.jpg")


def outputs(dvnet, network, picture, folder):
    """Returns the bytes of every raw output, by name. Sources run step by step, as on a board."""
    os.makedirs(folder)
    subprocess.run([dvnet, "run", *network, "--dump", folder, picture], check=True,
                   env=dict(os.environ, DVNN_SOFT_UNFUSED="1"), stdout=subprocess.DEVNULL)
    files = [name for name in os.listdir(folder) if not name.endswith((".input.npy", ".tensor.npy"))]
    return {name: open(os.path.join(folder, name), "rb").read() for name in sorted(files)}


def main():
    dvnet, data, compiler, include, libraries = sys.argv[1:]
    if not os.path.isdir(os.path.join(data, "golden")):
        print(f"skipped: no reference data in '{data}'")
        return SKIP
    failures = 0
    names = [name for name in chosen(MODELS) if name not in TWINS]
    for name, layout in share_of((name, layout) for name in names for layout in ("whc", "hwc")):
        _, files, options = MODELS[name]
        with tempfile.TemporaryDirectory() as folder:
            network = os.path.join(folder, "network.dvn")
            subprocess.run(
                [dvnet, "convert", *[os.path.join(data, "models", file) for file in files],
                 "-o", network, "--layout", layout, "--name", "net", "--emit-cpp", folder,
                 *options], check=True, stdout=subprocess.DEVNULL)
            library = os.path.join(folder, "libnet.so")
            subprocess.run(
                [compiler, "-std=c++11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{include}",
                 os.path.join(folder, "net_gen.cpp"), os.path.join(folder, "net_dvinfer.cpp"),
                 "-o", library, f"-L{libraries}", "-ldmp_network",
                 f"-Wl,-rpath,{libraries}"], check=True)
            picture = os.path.join(data, PICTURE)
            ours = outputs(dvnet, [network], picture, os.path.join(folder, "a"))
            weights = os.path.join(folder, "net_weights.bin")
            theirs = outputs(dvnet, [library, "--weights", weights], picture,
                             os.path.join(folder, "b"))
            same = ours == theirs and len(ours) > 0
            failures += not same
            print(f"{name} ({layout}): {len(ours)} outputs {'the same' if same else 'DIFFER'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
