#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet evaluate of one network in several forms: --quantize spends bytes where they keep the metric, --as takes forms side by
side, and two devices are compared picture by picture.

    check_forms.py DVNET NETWORK.dvn
"""
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "..", "acceptance")]
import chromium  # noqa: E402
import drawn_pictures as drawn  # noqa: E402

DVNET, NETWORK = sys.argv[1:3]
PICTURES = 12
LOSS = 0.01


def evaluate(data, *args, networks=(NETWORK,), env=None):
    command = [DVNET, "evaluate", *networks, "--data", data, "--json", "--samples", "0", *args]
    return json.loads(subprocess.check_output(command, env={**os.environ, **(env or {})}))


def ap_of(network):
    return network["detection"]["figures"]["ap"]


def refused(data, *args, networks=(NETWORK,), status=1):
    command = [DVNET, "evaluate", *networks, "--data", data, "--samples", "0", *args]
    done = subprocess.run(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=False)
    assert done.returncode == status, (args, done.stderr)
    return done.stderr


def inspect(path):
    return json.loads(subprocess.check_output([DVNET, "inspect", path, "--json"]))


def check_bytes(folder, data):
    small, plot, page = (os.path.join(folder, name) for name in ("small.dvn", "bytes.svg", "page.html"))
    told = evaluate(data, "--quantize", small, "--loss", str(LOSS), "--plot", plot, "--html", page)
    of, wide = told["quantized"], ap_of(told["networks"][0])
    points, layers = of["points"], of["layers"]
    assert of["metric"] == "AP" and points[0]["layers"] == 0 and points[0]["value"] == wide
    assert points[-1]["layers"] == len(layers) == len({layer["layer"] for layer in layers}) > 20
    # Layers come by what they cost for each byte, and each point saves what its layers save.
    costs = [max(0, layer["loss"]) / layer["saved"] for layer in layers]
    assert costs == sorted(costs) and costs[-1] > 0, costs
    for point in points:
        saved = sum(layer["saved"] for layer in layers[:point["layers"]])
        assert point["bytes"] == points[0]["bytes"] - saved, point
    # The fewest bytes that keep the metric.
    kept = [point for point in points if point["value"] >= wide - LOSS]
    best = points[of["chosen"]]
    assert best == min(kept, key=lambda point: point["bytes"]), (best, kept)
    assert best["bytes"] < 0.7 * points[0]["bytes"], best
    # What was written is that network; all layers in 8 bits are the form int8.
    forms = evaluate(data, "--as", "fp16,int8,fp32")["networks"]
    assert [ap_of(form) for form in forms[:2]] == [wide, points[-1]["value"]]
    assert forms[2]["network"].endswith(" in FP32") and abs(ap_of(forms[2]) - wide) < 0.01
    # What 8 bits find has other confidences; those of FP32 are nearer than thresholds can tell (test evaluate_fp32).
    chosen = [form["detection"]["thresholds"] for form in forms]
    assert chosen[0] != chosen[1], chosen
    assert ap_of(evaluate(data, networks=(small,))["networks"][0]) == best["value"]
    # Files have more than weights, but what they save is in the weights.
    saved = os.path.getsize(NETWORK) - os.path.getsize(small)
    assert abs(saved - (points[0]["bytes"] - best["bytes"])) < 4096, (saved, best)
    before, after = inspect(NETWORK), inspect(small)
    assert after["labels"] == before["labels"] and after["decoder"] == before["decoder"]
    tree = xml.etree.ElementTree.parse(plot)
    paths = [path.get("d") for path in tree.iter("{http://www.w3.org/2000/svg}path") if path.get("fill") == "none"]
    assert [path.count("L") for path in paths] == [len(points) - 1], paths
    print("AP %.4f in %d bytes, %.4f in %d" % (wide, points[0]["bytes"], best["value"], best["bytes"]))
    check_page(page, points, layers)
    whole = os.path.join(folder, "whole.dvn")
    subprocess.check_call(["cp", small, whole])
    assert "has weights of 8 bits, so it has no form fp16" in refused(data, "--as", "fp16", networks=(small,))
    for args, why in ((("--quantize", whole, "--as", "int8"), "--quantize is of what a device finds"),
                      (("--as", "int4"), "int4"), (("--as", "fp16,fp16"), "'fp16' is there twice"),
                      (("--as", "soft", "--keep"), "--keep is of what a device finds"),
                      (("--loss", "2"), "--loss 2 is not in 0..1")):
        assert why in refused(data, *args, status=2), args
    assert "--quantize is of one .dvn file" in refused(data, "--quantize", whole, networks=(NETWORK, small), status=2)


def check_page(page, points, layers):
    """The curve is on the page, where there is a Chromium."""
    with chromium.opened("file://" + page, "document.title.endsWith('evaluated')") as browser:
        if not browser:
            return
        assert browser.evaluate("document.querySelectorAll('#byte-curve circle').length") == len(points)
        assert browser.evaluate("document.querySelectorAll('#byte-layers tbody tr').length") == len(layers)
        assert browser.evaluate("byId('devices').hidden && !byId('bytes').hidden")
        browser.reload_on_telephone("document.querySelector('#byte-curve circle')")


def check_plot(folder, data):
    plot = os.path.join(folder, "curves.svg")
    classes = evaluate(data, "--plot", plot)["networks"][0]["detection"]["classes"]
    tree = xml.etree.ElementTree.parse(plot)
    paths = [path.get("d") for path in tree.iter("{http://www.w3.org/2000/svg}path") if path.get("fill") == "none"]
    assert [path.count("L") + 1 for path in paths] == [sum(p > 0 for p in c["curve"]) for c in classes], paths


def check_devices(data):
    """A device whose answers are the software device's, one that changes some of them, and the report of both."""
    same = evaluate(data, "--as", "device,soft", "--device", os.environ["DVNN_CACHE_DEVICE"])["networks"]
    assert same[1]["difference"] == {"other": NETWORK, "pictures": []}, same[1]["difference"]
    assert same[0]["detection"] == same[1]["detection"]
    faulty = os.environ["DVNN_FAULT_DEVICE"]
    told = evaluate(data, "--as", "soft,device", "--device", faulty, env={"DVNN_FAULT": "to_cpu:9:corrupt"})["networks"]
    differences = told[0]["difference"]["pictures"]
    assert len(differences) == 1 and differences[0]["values"] > 0 and differences[0]["objects"], differences
    assert told[0]["detection"] == same[1]["detection"] != told[1]["detection"]
    told = evaluate(data, "--as", "device,soft", "--device", faulty, env={"DVNN_FAULT": "to_cpu:3+:corrupt"})["networks"]
    differences = told[1]["difference"]["pictures"]
    assert len(differences) == PICTURES, differences
    assert sorted(os.listdir(os.path.join(data, "images"))) == [os.path.basename(d["picture"]) for d in differences]


def main():
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        drawn.write_yolo(data, range(4000, 4000 + PICTURES))
        check_devices(data)
        check_plot(folder, data)
        check_bytes(folder, data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
