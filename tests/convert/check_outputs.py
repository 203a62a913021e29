#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files that dvnet convert writes beside the network file, for the default network.

usage: check_outputs.py DVNET MODEL_FOLDER
"""
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

NAMES = ("net.dvn", "net.dot", "net.json", "report.json", "net.svg")


def convert(dvnet, *arguments):
    return subprocess.run([dvnet, "convert", *arguments], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


def check_reasons(text):
    """With -v, every line of a step on the CPU says why."""
    lines = [line for line in text.splitlines() if re.match(r"(device|CPU|once|in place)\b", line)]
    assert any(line.startswith("device") for line in lines), text
    for line in lines:
        assert not line.startswith("CPU:"), line


def check_report(path, network):
    with open(path) as file:
        report = json.load(file)
    with open(network) as file:
        description = json.load(file)
    steps = [step for step in report["steps"] if step["where"] != "in place"]
    assert len(steps) == len(description["steps"])
    assert report["macs"] == sum(step["macs"] for step in steps) > 1e8
    assert report["weight_bytes"] == sum(step.get("weight_bytes", 0) for step in steps)
    assert 0 < report["io_bytes"] == description["io_bytes"] < report["io_bytes_without_reuse"]
    assert all(step["why"] for step in steps if step["where"] == "CPU")


def sources_of_steps(model):
    """Returns the steps whose results each step reads, by a map of which step wrote each four bytes last."""
    sizes = {"float16": 2, "float32": 4}

    def part(tensor):
        tensor = model["tensors"][tensor]
        size = math.prod(tensor["shape"])
        if tensor["layout"] == "whc8" or tensor["layout"] == "hwc8":
            n, channels, height, width = tensor["shape"]
            size = n * (channels + 7) // 8 * 8 * height * width if channels > 8 else size
        begin = tensor["offset"] // 4
        return tensor["storage"], slice(begin, begin + (size * sizes[tensor["type"]] + 3) // 4)

    memory = {"io": model["io_bytes"], "constant": model["constant_bytes"]}
    owners = {storage: ["input"] * (size // 4) for storage, size in memory.items()}
    sources = []
    for i, step in enumerate(model["steps"]):
        read = set()
        for tensor in step["inputs"]:
            storage, place = part(tensor)
            read |= set(owners[storage][place])
        sources.append({source if source == "input" else "s%d" % source for source in read})
        for tensor in step["outputs"]:
            storage, place = part(tensor)
            owners[storage][place] = [i] * (place.stop - place.start)
    return sources


def check_dot(text, model):
    """Each step is a box, dashed on the CPU, with an arrow from each step whose results it reads."""
    assert text.startswith("digraph"), text
    steps = dict(re.findall(r'^  (s\d+) \[label="([^"]*)"', text, re.MULTILINE))
    dashed = set(re.findall(r"^  (s\d+) \[.*, style=dashed\];$", text, re.MULTILINE))
    arrows = re.findall(r"^  (\w+) -> (s\d+);$", text, re.MULTILINE)
    assert len(steps) == len(model["steps"]) and len(set(arrows)) == len(arrows), text
    sources = sources_of_steps(model)
    for i, step in enumerate(model["steps"]):
        name = "s%d" % i
        assert steps[name].startswith(step["name"] + "\\n"), (name, steps[name])
        assert (name in dashed) == ("device" not in step), name
        assert {source for source, to in arrows if to == name} == sources[i], (name, sources[i])


def check_ini(dvnet, models, folder):
    """A model that an INI file names gives the same network as one that the command names."""
    ini = os.path.join(folder, "codes.ini")
    with open(ini, "w") as file:
        file.write("[INPUT]\nname = codes\norigin = CAFFE\ndefinition = %s/codes.prototxt\ndata = %s/codes.caffemodel\n"
                   "[OUTPUT]\noutput_folder = %s/made\nquantization = 0\ntranspose_weight = 0\n"
                   "generate_source = 0\n" % (models, models, folder))
    done = convert(dvnet, ini)
    assert done.returncode == 0, done.stdout
    with open(os.path.join(folder, "made", "codes", "codes.dvn"), "rb") as file:
        made = file.read()
    plain = os.path.join(folder, "plain.dvn")
    done = convert(dvnet, os.path.join(models, "codes.prototxt"), os.path.join(models, "codes.caffemodel"),
                   "-o", plain, "--name", "codes")
    assert done.returncode == 0, done.stdout
    with open(plain, "rb") as file:
        assert file.read() == made, "by the INI file it is another network"


def check_order(dvnet, folder):
    """An input of one channel is gray unless an option overrides it."""
    names = ("one.prototxt", "one.caffemodel", "one.dvn")
    definition, weights, network = (os.path.join(folder, name) for name in names)
    with open(definition, "w") as file:
        file.write('layer { name: "data" type: "Input" top: "data"\n'
                   "  input_param { shape { dim: 1 dim: 1 dim: 16 dim: 16 } } }\n"
                   'layer { name: "pool" type: "Pooling" bottom: "data" top: "pool"\n'
                   "  pooling_param { pool: MAX kernel_size: 2 stride: 2 } }\n")
    layer = b"\x0a\x04pool\x12\x07Pooling"
    with open(weights, "wb") as file:
        file.write(b"\xa2\x06" + bytes([len(layer)]) + layer)
    done = convert(dvnet, definition, weights, "-o", network)
    assert done.returncode == 0, done.stdout
    for option in (["--order", "bgr"], ["--preset", "yolov8"]):
        done = convert(dvnet, definition, weights, "-o", network, *option)
        assert done.returncode == 1 and "has one channel, whose order is gray" in done.stdout, (option, done.stdout)


def draw_code(path):
    """A picture of a QR code's three squares and modules in between, from 100, 60 to 200, 160."""
    modules, size, (left, top) = 25, 4, (100, 60)
    dark = [[(x * 7 + y * 13 + x * y) % 11 < 5 for x in range(modules)] for y in range(modules)]
    for y0, x0 in ((0, 0), (0, modules - 7), (modules - 7, 0)):
        for y in range(max(0, y0 - 1), min(modules, y0 + 8)):
            for x in range(max(0, x0 - 1), min(modules, x0 + 8)):
                dark[y][x] = max(abs(y - y0 - 3), abs(x - x0 - 3)) in (0, 1, 3)
    pixels = bytearray()
    for y in range(240):
        for x in range(320):
            u, v = (x - left) // size, (y - top) // size
            gray = 100 + (x + y) % 40
            if -3 <= u < modules + 3 and -3 <= v < modules + 3:
                gray = 0 if 0 <= u < modules and 0 <= v < modules and dark[v][u] else 255
            pixels += bytes([gray] * 3)
    with open(path, "wb") as file:
        file.write(b"P6 320 240 255\n" + pixels)


def check_accuracy(dvnet, model, folder):
    """Rows of boxes are reported as boxes: their numbers alone do not compare."""
    pictures, report = os.path.join(folder, "pictures"), os.path.join(folder, "check.json")
    os.mkdir(pictures)
    draw_code(os.path.join(pictures, "code.ppm"))
    with open(os.path.join(pictures, "none.ppm"), "wb") as file:
        file.write(b"P6 64 48 255\n" + bytes(i * 7919 % 251 for i in range(64 * 48 * 3)))
    done = convert(dvnet, *model, "-o", os.path.join(folder, "checked.dvn"), "--mean", "127.5", "--scale", "0.0078125",
                   "--order", "bgr", "--resize", "stretch", "--check", pictures, "--report", report)
    assert done.returncode == 0, done.stdout
    with open(report) as file:
        accuracy = json.load(file)["accuracy"]
    assert accuracy["pictures"] == 2, accuracy
    assert accuracy["outputs"] == [{"name": "detections", "compared_as": "boxes"}], accuracy
    # The code is found at the same place with numbers of 11 bits as without rounding.
    boxes = accuracy["agreement"]
    assert boxes["of"] == "boxes" and boxes["agreeing"] == boxes["out_of"] >= 1, boxes
    assert 0.9 <= boxes["least_iou"] <= 1 and boxes["worst_confidence"] < 0.1, boxes


def main():
    dvnet, models = sys.argv[1:]
    model = [os.path.join(models, name) for name in ("codes.prototxt", "codes.caffemodel")]
    with tempfile.TemporaryDirectory() as folder:
        network, dot, description, report, svg = (os.path.join(folder, n) for n in NAMES)
        done = convert(dvnet, *model, "-o", network, "--name", "my net", "-v", "--dot", dot, "--json",
                       description, "--report", report, "--emit-cpp", os.path.join(folder, "cpp"))
        assert done.returncode == 0, done.stdout
        check_reasons(done.stdout)
        check_report(report, description)
        with open(dot) as file, open(description) as described:
            check_dot(file.read(), json.load(described))
        assert sorted(os.listdir(os.path.join(folder, "cpp"))) == [
            "my_net_dvinfer.cpp", "my_net_gen.cpp", "my_net_gen.h", "my_net_weights.bin"]
        if shutil.which("dot"):
            done = convert(dvnet, network, "-o", network, "--svg", svg)
            assert done.returncode == 0, done.stdout
            assert xml.etree.ElementTree.parse(svg).getroot().tag.endswith("svg")
        else:
            print("skipped: no picture without Graphviz' dot")
        check_ini(dvnet, models, folder)
        check_order(dvnet, folder)
        check_accuracy(dvnet, model, folder)
        # The error names a file that cannot be written.
        done = convert(dvnet, *model, "-o", network, "--dot", "/nowhere/net.dot")
        assert done.returncode != 0 and "/nowhere" in done.stdout, done.stdout
        done = convert(dvnet, network, "-o", network, "--size", "10")
        assert done.returncode != 0 and "WIDTHxHEIGHT" in done.stdout, done.stdout
        done = convert(dvnet, network, "-o", network, "--mean", "1")
        assert done.returncode != 0 and "as they are" in done.stdout, done.stdout
    return 0


if __name__ == "__main__":
    sys.exit(main())
