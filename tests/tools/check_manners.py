#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet's messages to people: mistakes are explained, help is found, progress is shown on terminals alone.

    check_manners.py DVNET NETWORK.dvn
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from terminal import on_terminal  # noqa: E402

CODES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "pipelines", "codes", "codes.")
DVNET, NETWORK = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
failures = []


def run(*args, **env):
    return subprocess.run([DVNET, *args], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env={**os.environ, **env})


def check(right, what):
    if not right:
        failures.append(what)


def check_answer(args, status, *words):
    done = run(*args)
    check(done.returncode == status, "%s ends with %d, not %d" % (args, done.returncode, status))
    for word in words:
        check(word in done.stderr, "%s says %r, without %r" % (args, done.stderr, word))
    check(done.stderr.count("\n") == 1, "%s says more than a line: %r" % (args, done.stderr))


def check_mistakes():
    for name in ("a.pt", "a.pb", "a.txt", "a.prototxt", "a.caffemodel", "a.dvn", "a.onnx", "a.tflite"):
        open(name, "w").write("hello\n")
    for name, kind in (("a.pt", "PyTorch"), ("a.pb", "TensorFlow"), ("a.txt", "text")):
        check_answer(["convert", name, "-o", "o.dvn"], 2, name, kind)
    check_answer(["convert", "a.prototxt", "-o", "o.dvn"], 2, "caffemodel")
    check_answer(["convert", "a.caffemodel", "-o", "o.dvn"], 2, "prototxt")
    check_answer(["convert", "a.onnx", "-o", "o.dvn"], 1, "dvnet: 'a.onnx' is not an ONNX model")
    check_answer(["convert", "a.tflite", "-o", "o.dvn"], 1, "dvnet: 'a.tflite': is no TensorFlow Lite model")
    # In either order, the prototxt is read as text.
    check_answer(["convert", "a.caffemodel", "a.prototxt", "-o", "o.dvn"], 1, "a.prototxt")
    for command in ("inspect", "run"):
        check_answer([command, "a.dvn", *(["a.txt"] if command == "run" else [])], 1, "not a .dvn file")
    check_answer(["convert", NETWORK, "-o", "o.dvn", "--preset", "yolo8"], 1, "is 'yolov8' meant?")
    check_answer(["convert", NETWORK, "-o", "o.dvn", "--decoder", "YOLO"], 2, "--preset yolo-end-to-end", "yolov8")
    open("types.json", "w").write("{}")
    # An option without effect is an error.
    check_answer(["convert", NETWORK, "-o", "o.dvn", "--layer-types", "types.json"], 2, "--layer-types")
    check_answer(["convert", NETWORK, "-o", "o.dvn", "--custom-layers", "a.so"], 2, "--check")
    check_answer(["convert", NETWORK, "-o", "o.dvn", "--no-rounding"], 2, "keeps its picture, layout and weights")
    check_answer(["convert", NETWORK, "-o", "o.dvn", "--state", "a=b"], 2, "--state and --live need the model")
    for option in (["--no-rounding"], ["--state", "a=b"], ["--live", "a"]):
        check_answer(["convert", "m.tflite", "-o", "o.dvn", *option], 2, f"{option[0]} is for ONNX models")
    check_answer(["convert", "a.onnx", "-o", "o.dvn", "--decoder-params", '{"a": 1}'], 1, "--decoder-params", "--decoder")
    check_answer(["inspect", NETWORK, "--device", "soft"], 2, "--device", "--measure")
    check_answer(["inspect", NETWORK, "--json", "--estimate", "--html", "p.html"], 2, "shows one thing")
    check_answer(["frobnicate"], 2, "no command")
    check_answer(["convert", NETWORK], 2, "-o")


def check_help():
    for words in (["help"], ["--help"], ["bench", "--help"], ["bench", "help"]):
        done = run(*words)
        check(done.returncode == 0 and "bench network" in done.stdout, "%s: %r" % (words, done))
    check(run("bench").returncode == 2, "bench alone is wrong usage")
    check("bench decode" in run("bench").stderr, "bench alone lists what there is")
    check(run("bench", "convert", "--help").stdout.startswith("Usage:\n  dvnet bench convert"), "whose help it is")
    check("Status:" in run("--help").stdout, "exit statuses are told")
    check("4 labels: background, QR code, barcode, marker" in run("inspect", NETWORK).stdout, "inspect names labels")


def check_what_is_asked_seldom():
    presets = run("presets")
    check(presets.returncode == 0 and "centernet                heatmap-centres" in presets.stdout, "presets: %r" % presets)
    done = run("inspect", NETWORK, "--estimate", "--json")
    told = json.loads(done.stdout)
    commands = sum(step["us"] for step in told["steps"]) / 1000
    check(told["hardware"]["clock_mhz"] == 100 and told["device_ms"] > 0 and len(told["steps"]) > 20, "estimate: %s" % told["hardware"])
    check(abs(commands - told["device_ms"]) < 1e-6, "steps are what the sum is of: %g, %g" % (commands, told["device_ms"]))
    with open("p.ppm", "wb") as file:
        file.write(b"P6\n64 64\n255\n" + bytes(64 * 64 * 3))
    done = run("run", NETWORK, "p.ppm", "-v")
    check(done.returncode == 0 and "dvdevice: device 'auto' is " in done.stderr and "dvnetwork: network 'codes'" in done.stderr,
          "run -v: %r" % done)
    check("dvdevice" not in run("run", NETWORK, "p.ppm").stderr, "run says nothing of devices by itself")
    check_answer(["convert", NETWORK, "-o", "o.dvn", "--from", "coreml"], 2, "and dvn are")
    for text in ("x", "=1", "x=", "x=1y", "x=nan", "x=inf", "x=1e999"):
        check_answer(["convert", "a.onnx", "-o", "o.dvn", "--set", text], 1, "--set '%s' is not NAME=NUMBER" % text)
    check_answer(["convert", "a.onnx", "-o", "o.dvn", "--set", "x=none.npy"], 1, "none.npy")
    for text in ("a", "=b", "a=", "a=b:0x2", "a=b:2x", "a=b:1x9999999999"):
        check_answer(["convert", "a.onnx", "-o", "o.dvn", "--state", text], 1, "--state '%s' is not OUT=IN" % text)
    done = run("convert", NETWORK, "-o", "o.dvn", "--svg", "o.svg", PATH="/nowhere")
    check(done.returncode == 1 and "SVG needs Graphviz" in done.stderr, "without dot: %r" % done)
    count = json.loads(run("bench", "network", NETWORK, "--count", "--json").stdout)
    layers, to, back, crossing = (count[name + "_bytes"] / 1e6 for name in ("layers", "to_device", "to_cpu", "crossing"))
    wanted = [f"{value:.3f}" for value in (layers, to, back)] + [str(count["handover_calls"]), f"{crossing:.3f}",
                                                                f"{(to + back) / crossing:.2f}"]
    told = re.findall(r"[\d.]*\d", run("bench", "network", NETWORK, "--count").stdout.split("\n", 1)[1])
    check(told == wanted and count["handover_calls"] > 0, "--count prints %s, not %s" % (told, wanted))


def check_table():
    """The lines of `inspect` agree with its JSON for each step."""
    steps = json.loads(run("inspect", "--json", NETWORK).stdout)["steps"]
    text = run("inspect", NETWORK).stdout
    rows = [re.fullmatch(r" *(\d+) (device|cpu) +(\S+) .* (\d+) +(\d+)", line) for line in text.splitlines()]
    rows = [row.groups() for row in rows if row]
    wanted = [(str(i), "device" if "device" in step else "cpu", step["name"][:28]) for i, step in enumerate(steps)]
    check([row[:3] for row in rows] == wanted, "inspect lists %s, not %s" % (rows, wanted))
    check(all(int(row[4]) > 0 for row in rows if row[1] == "device"), "a device's step has no weights: %s" % rows)
    check(all(row[4] == "0" for row in rows if row[1] == "cpu"), "a CPU's step has weights of the device: %s" % rows)
    total = re.search(r"^total +([\d.]+) MMAC, weights (\d+) bytes", text, re.MULTILINE)
    macs = sum(int(row[3]) for row in rows)
    check(abs(float(total.group(1)) - macs / 1e6) < 0.051, "the total is %s" % total.group(0))


def told_on_terminal(*args):
    """Returns its status, and its stderr on a terminal."""
    return on_terminal([DVNET, *args], only_stderr=True)


def check_progress():
    bench = ["bench", "network", NETWORK, "-n", "20"]
    check(run(*bench).stderr == "", "progress in a pipe")
    status, said = told_on_terminal(*bench)
    check(status == 0 and b"of 20" in said, "no progress on a terminal: %r" % said)
    check(said.endswith(b"\r\x1b[K"), "the line stays: %r" % said)
    status, said = told_on_terminal("doctor", "--network", NETWORK)
    check(b"looking at the network" in said and said.endswith(b"\r\x1b[K"), "doctor does not say what it does: %r" % said)
    # The slowest part of a conversion is measuring which layers may have 8 bits.
    status, said = told_on_terminal("convert", CODES + "prototxt", CODES + "caffemodel", "-o", "q.dvn", "--quantize")
    check(status == 0 and re.search(rb"16 bits, run \d+ of \d+", said), "no progress: %r" % said)
    check(said.endswith(b"\r\x1b[K"), "the line stays: %r" % said)


def texts_of(svg):
    return [text.firstChild.data for text in svg.getElementsByTagName("text") if text.firstChild]


def widths_of_panels(svg, titles):
    """The widths of the bars below each of the titles."""
    widths = {title: [] for title in titles}
    panel = []
    for node in svg.documentElement.childNodes:
        if node.nodeName == "text" and node.firstChild and node.firstChild.data in widths:
            panel = widths[node.firstChild.data]
        elif node.nodeName == "rect" and node.getAttribute("rx"):
            panel.append(float(node.getAttribute("width")))
    return widths


def check_plots():
    check(run("bench", "network", NETWORK, "-n", "2", "--layers", "--plot", "n.svg").returncode == 0, "network's plot")
    svg = xml.dom.minidom.parse("n.svg")
    panels = widths_of_panels(svg, ("Whole network", "Steps"))
    check(len(panels["Steps"]) > 10 and min(panels["Steps"]) >= 1, "widths %s" % panels)
    # Steps have a scale of their own: the longest one's bar is as long as that of the whole network, whatever they took.
    check(max(panels["Steps"], default=0) == max(panels["Whole network"], default=0) > 500, "widths %s" % panels)
    check(run("bench", "decode", "-n", "1", "--plot", "d.svg").returncode == 0, "decoders' plot")
    texts = texts_of(xml.dom.minidom.parse("d.svg"))
    times = [text for text in texts if text.endswith(("µs", " ms", " s"))]
    check(len(times) > 40 and not [text for text in times if "e+" in text], "times %s" % times)
    check({"1 µs", "1 ms"} <= set(times), "the scale has no marks: %s" % times)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_mistakes()
        check_help()
        check_what_is_asked_seldom()
        check_table()
        check_progress()
        check_plots()
        os.chdir("/")
    for failure in failures:
        print("FAILED", failure)
    print("%d failures" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
