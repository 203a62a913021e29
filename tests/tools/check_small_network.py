#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network that holds a picture against a constant: drawn as a picture, printed as a map of classes, and as C++ sources
whose layers are listed.

  check_small_network.py DVNET COMPILER INCLUDE LIBRARY_FOLDER
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_draw  # noqa: E402

WIDTH, HEIGHT = check_draw.WIDTH, check_draw.HEIGHT = 16, 12
LEAST = 100


def field(number, value):
    """Returns a field of a Protocol Buffers message: a number, a text, or a message that is written."""
    if isinstance(value, int):
        return bytes([number << 3]) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2]) + varint(len(value)) + value


def varint(value):
    low, rest = value & 127, value >> 7
    return bytes([low]) if rest == 0 else bytes([low | 128]) + varint(rest)


def onnx_model():
    """Returns an ONNX model of y = max(100, x), of which the constant is a whole tensor."""
    dims = (1, 3, HEIGHT, WIDTH)
    shape = b"".join(field(1, field(1, d)) for d in dims)
    end = [field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))) for name in "xy"]
    values = struct.pack("<f", LEAST) * (3 * HEIGHT * WIDTH)
    least = b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, "least") + field(9, values)
    node = field(1, "least") + field(1, "x") + field(2, "y") + field(3, "lighter") + field(4, "Max")
    graph = field(1, node) + field(2, "g") + field(5, least) + field(11, end[0]) + field(12, end[1])
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def rgb_at(x, y):
    """Returns a picture of two colours, of different numbers everywhere: most of it is green in a quarter, else red."""
    return (10 + x, 200 + y, 100 + x + y) if x < WIDTH // 4 else (150 + x, 5 + y, 90 + x)


def dvnet(*arguments):
    return subprocess.run([sys.argv[1], *arguments], check=True, stdout=subprocess.PIPE,
                          universal_newlines=True).stdout


def compiled(folder):
    compiler, include, libraries = sys.argv[2:]
    library = os.path.join(folder, "liblighter.so")
    subprocess.run([compiler, "-std=c++11", "-shared", "-fPIC", "-I" + include,
                    os.path.join(folder, "lighter_gen.cpp"), os.path.join(folder, "lighter_dvinfer.cpp"), "-o", library,
                    "-L" + libraries, "-ldmp_network", "-Wl,-rpath," + libraries], check=True)
    return library


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)  # noqa: E731
        with open(path("model.onnx"), "wb") as file:
            file.write(onnx_model())
        pixels = [rgb_at(x, y) for y in range(HEIGHT) for x in range(WIDTH)]
        with open(path("picture.ppm"), "wb") as file:
            file.write(b"P6\n%d %d\n255\n" % (WIDTH, HEIGHT) + b"".join(map(bytes, pixels)))
        convert = ["convert", path("model.onnx"), "--name", "lighter", "--order"]

        # The picture that the network makes, in the order of its channels.
        wanted = [bytes(max(LEAST, v) for pixel in pixels[WIDTH * y:WIDTH * (y + 1)] for v in pixel) for y in range(HEIGHT)]
        for order in ("rgb", "bgr"):
            dvnet(*convert, order, "-o", path("n.dvn"), "--emit-cpp", folder)
            dvnet("run", path("n.dvn"), path("picture.ppm"), "--draw", path(order))
            drawn = [bytes(row) for row in check_draw.read_png(path(order + "/picture.ppm.png"))]
            assert drawn == wanted, (order, drawn[0], wanted[0])

        # The library's first layer is the input, as the first step makes the constant.
        library, weights = compiled(folder), path("lighter_weights.bin")
        for name, network in (("own", [path("n.dvn")]), ("library", [library, "--weights", weights])):
            dvnet("run", *network, path("picture.ppm"), "--dump", path(name))
        same = sorted(name for name in os.listdir(path("own")) if not name.endswith((".input.npy", ".tensor.npy")))
        assert same, "no output was written"
        for name in same:
            assert open(path("own/" + name), "rb").read() == open(path("library/" + name), "rb").read(), name
        listed = dvnet("inspect", library, "--weights", weights)
        rows = re.findall(r"^ +(\d+) (device|cpu) +(\S+) ", listed, re.M)
        assert rows == [("0", "cpu", "input"), ("1", "cpu", "least"), ("2", "cpu", "lighter")], listed
        assert re.search(r"^total +I/O buffer [1-9]\d+ bytes per slot$", listed, re.M), listed

        # The class of a pixel is the channel of which it has most.
        dvnet(*convert, "rgb", "-o", path("map.dvn"), "--decoder", "segmentation")
        told = dvnet("run", path("map.dvn"), path("picture.ppm"))
        assert "  a map of %d x %d: class 0 75.0 %% class 1 25.0 %%\n" % (WIDTH, HEIGHT) in told, told
    return 0


if __name__ == "__main__":
    sys.exit(main())
