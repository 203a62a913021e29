#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What dvnet convert writes beside the network file, for the default network.

usage: check_outputs.py DVNET MODEL_FOLDER
"""
import json
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
    """-v: every line of a step that is the CPU's says why."""
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
        with open(dot) as file:
            assert file.read().startswith("digraph")
        assert sorted(os.listdir(os.path.join(folder, "cpp"))) == [
            "my_net_dvinfer.cpp", "my_net_gen.cpp", "my_net_gen.h", "my_net_weights.bin"]
        if shutil.which("dot"):
            done = convert(dvnet, network, "-o", network, "--svg", svg)
            assert done.returncode == 0, done.stdout
            assert xml.etree.ElementTree.parse(svg).getroot().tag.endswith("svg")
        else:
            print("skipped: no picture without Graphviz' dot")
        # What cannot be written is said, by name.
        done = convert(dvnet, *model, "-o", network, "--dot", "/nowhere/net.dot")
        assert done.returncode != 0 and "/nowhere" in done.stdout, done.stdout
        done = convert(dvnet, network, "-o", network, "--size", "10")
        assert done.returncode != 0 and "WIDTHxHEIGHT" in done.stdout, done.stdout
        done = convert(dvnet, network, "-o", network, "--mean", "1")
        assert done.returncode != 0 and "as they are" in done.stdout, done.stdout
    return 0


if __name__ == "__main__":
    sys.exit(main())
