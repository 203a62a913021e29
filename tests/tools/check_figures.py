#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of `dvnet bench` are consistent: ratios are quotients, parts are no more than the whole, and counts add up.
The speed of the machine does not matter.

    check_figures.py DVNET NETWORK MODEL_FOLDER [pipeline]
"""
import json
import os
import re
import subprocess
import sys
import tempfile

DVNET, NETWORK, MODELS = sys.argv[1:4]
# Numbers are printed with three digits behind the point.
PRINTED = 0.0005


def bench(*arguments):
    done = subprocess.run([DVNET, "bench", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    assert done.returncode == 0, "%s: %d, %s" % (arguments, done.returncode, done.stderr)
    return done.stdout


def check_quotient(told, above, below, unit=0.0, ratio_unit=0.005):
    """Checks that `told` is above / below, all of them rounded."""
    least = (above - unit) / (below + unit) - ratio_unit
    most = (above + unit) / max(below - unit, 1e-9) + ratio_unit
    assert least <= told <= most, "%g / %g is told to be %g" % (above, below, told)


def check_exact(told, above, below):
    assert below > 0 and above > 0, (above, below)
    assert abs(told - above / below) <= 1e-6 * told, "%g / %g is told to be %g" % (above, below, told)


def check_convert():
    cases = [json.loads(line) for line in bench("convert", "-n", "3", "--frames", "2", "--json").splitlines()]
    assert len({case["frame"] for case in cases}) == len(cases) == 4, cases
    for case in cases:
        check_exact(case["ratio"], case["peer_ms"], case["ours_ms"])
        check_exact(case["of_memory"], case["ours_ms"], case["memory_ms"])
    lines = bench("convert", "-n", "1").splitlines()[1:]
    assert [line[:16].strip() for line in lines] == [case["frame"] for case in cases], lines
    for line in lines:
        ours, peer, memory, ratio, of_memory = (float(number) for number in line[16:].split())
        check_quotient(ratio, peer, ours, PRINTED)
        check_quotient(of_memory, ours, memory, PRINTED)


def check_network():
    model = json.loads(subprocess.check_output([DVNET, "inspect", "--json", NETWORK]))
    names = [step["name"] for step in model["steps"]]
    # With a single run the median is that run, so its parts are no more than it.
    run = json.loads(bench("network", NETWORK, "-n", "1", "--layers", "--json"))
    assert run["iterations"] == 1 and run["threads"] == 1, run
    assert 0 < run["device_least_ms"] == run["device_ms"], run
    assert 0 < run["device_commands_ms"] + run["cpu_layers_ms"] <= run["device_ms"] + 0.01, run
    assert [layer["name"] for layer in run["layers"]] == names, run["layers"]
    assert all(layer["ms"] >= 0 for layer in run["layers"]), run["layers"]
    assert 0 < sum(layer["ms"] for layer in run["layers"]) <= run["device_ms"], run
    assert "peer" not in run and "ratio" not in run, run
    files = [os.path.join(MODELS, "codes." + kind) for kind in ("prototxt", "caffemodel")]
    both = json.loads(bench("network", NETWORK, *files, "--peer", "-n", "12", "--threads", "2", "--json"))
    assert both["iterations"] == 12 and both["threads"] == 2 and "layers" not in both, both
    check_exact(both["ratio"], both["peer_ms"], both["device_ms"])
    assert both["device_least_ms"] <= both["device_ms"] and both["peer_least_ms"] <= both["peer_ms"], both
    text = bench("network", NETWORK, *files, "--peer", "-n", "2", "--layers")
    times = [float(ms) for ms in re.findall(r"^  \S.* (\d+\.\d{3}) ms", text, re.MULTILINE)]
    assert len(times) == 2, text
    check_quotient(float(re.search(r"ratio.* (\d+\.\d\d)$", text, re.MULTILINE).group(1)), times[1], times[0], PRINTED)
    rows = [line.split(None, 3) for line in text.split("name\n")[1].splitlines()]
    assert [row[3].replace("CPU: ", "") for row in rows] == names, text
    assert abs(sum(float(row[2]) for row in rows) - 100) <= 0.05 * len(rows), "the shares are no 100 %%: %s" % text


def check_decode():
    decoders, suppression = bench("decode", "-n", "1").split("\n\n")
    found = {}
    for line in decoders.splitlines()[1:]:
        name, threshold, objects, ours, plain, ratio = re.fullmatch(
            r"(.{20}) \S+ +(\d\.\d\d) +(\d+) +(\S+) +(\S+) +(\S+)", line).groups()
        check_quotient(float(ratio), float(plain), float(ours), 0.05, 0.05)
        found.setdefault(name, []).append((float(threshold), int(objects)))
    assert len(found) > 10, decoders
    for name, (low, high) in found.items():
        assert low[0] < high[0] and low[1] >= high[1] and low[1] > 0, "%s finds %s, then %s" % (name, low, high)
    for line in suppression.splitlines()[1:]:
        _, count, of, kept, ours, plain, ratio = line.split()
        check_quotient(float(ratio), float(plain), float(ours), 0.05, 0.05)
        # One box remains of a few things at one place, and most boxes of things side by side.
        least, most = (int(count) / 2, int(count)) if of == "all" else (1, int(of))
        assert least <= int(kept) <= most, line


def check_pipeline():
    run = json.loads(bench("pipeline", "--network", NETWORK, "-d", "soft", "-n", "5", "--json"))
    assert run["frames"] == 5 and run["fps"] > 0, run
    assert all(run[name + "_ms"] > 0 for name in ("dvconvert", "dvinfer", "dvdecode")), run
    check_exact(run["ratio"], run["peer_ms"], run["dvconvert_ms"])
    regions = json.loads(bench("pipeline", "--regions", "--network", NETWORK, "-d", "soft", "-n", "5", "--json"))
    assert [row["regions"] for row in regions["rows"]] == [0, 1, 8, 64], regions
    for row in regions["rows"][1:]:
        check_exact(row["ratio"], row["regions"] * regions["peer_ms"], row["ms"])


def tiny_model(folder):
    """A convolution of a picture as ONNX and as our network, where the onnx package is there."""
    try:
        import numpy as np
        import onnx
    except ImportError:
        return None, NETWORK
    weights = onnx.numpy_helper.from_array(np.ones((4, 3, 3, 3), np.float32), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Conv", ["x", "w"], ["y"])], "tiny",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 32, 32])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4, 30, 30])], [weights])
    path, network = os.path.join(folder, "tiny.onnx"), os.path.join(folder, "tiny.dvn")
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)
    subprocess.run([DVNET, "convert", path, "-o", network], check=True, stdout=subprocess.DEVNULL)
    return path, network


def check_streams():
    with tempfile.TemporaryDirectory() as folder:
        path, network = tiny_model(folder)
        done = subprocess.run([DVNET, "bench", "pipeline", "--network", network, "-d", "soft", "-n", "4", "--width", "64", "--height",
                               "48", "--streams", "2", "--json", "--peer", path or "none.onnx"], text=True, capture_output=True,
                              check=False)
    if not path or "ONNX Runtime was not there" in done.stderr or "is not installed" in done.stderr:
        assert done.returncode == 1 and done.stderr.startswith("dvnet: ONNX Runtime"), done
        return
    assert done.returncode == 0, done
    run = json.loads(done.stdout)
    assert run["streams"] == 2 and run["frames"] == 4, run
    for side in ("ours", "peer"):
        assert all(run[side][name] > 0 for name in ("fps", "cpu_ms", "p99_ms", "megabytes")), run
    check_exact(run["fps_ratio"], run["ours"]["fps"], run["peer"]["fps"])
    check_exact(run["cpu_ratio"], run["peer"]["cpu_ms"], run["ours"]["cpu_ms"])


def main():
    check_convert()
    check_network()
    check_decode()
    if "pipeline" in sys.argv[4:]:
        check_pipeline()
        check_streams()
    return 0


if __name__ == "__main__":
    sys.exit(main())
