#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet evaluate of one network in several forms: --quantize spends bytes where they keep the metric, --as takes forms side by
side, and two devices are compared picture by picture.

    check_forms.py DVNET NETWORK.dvn
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.join(HERE, "..", "acceptance")]
import chromium  # noqa: E402
import drawn_pictures as drawn  # noqa: E402
import printed  # noqa: E402

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
    text = subprocess.check_output([DVNET, "evaluate", NETWORK, "--data", data, "--samples", "0", "--quantize", small, "--loss",
                                    str(LOSS), "--plot", plot, "--html", page], text=True)
    told = printed.report_of(page)
    check_printed_bytes(text, told["quantized"], small)
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
    # Of several networks, each has one curve, the mean of its classes'.
    evaluate(data, "--plot", plot, networks=(NETWORK, NETWORK))
    tree = xml.etree.ElementTree.parse(plot)
    paths = [path.get("d") for path in tree.iter("{http://www.w3.org/2000/svg}path") if path.get("fill") == "none"]
    assert len(paths) == 2 and paths[0] == paths[1], paths
    places = [[float(number) for number in re.findall(r"[\d.]+", place)] for place in paths[0].split("L")]
    means = [sum(c["curve"][i] for c in classes) / len(classes) for i in range(len(classes[0]["curve"]))]
    assert len(places) == len(means), places
    # Up is less in an SVG; the first and the last point say by how much.
    rise = (places[-1][1] - places[0][1]) / (means[-1] - means[0])
    assert rise < 0
    for (x, y), mean, i in zip(places, means, range(1000)):
        assert abs(y - places[0][1] - rise * (mean - means[0])) < 0.5, (i, y, mean)
        assert abs(x - places[0][0] - (places[-1][0] - places[0][0]) * i / 100) < 0.5, (i, x)


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


def check_printed(data):
    """What people read has the numbers of the JSON."""
    text, told = printed.evaluated(DVNET, "evaluate", NETWORK, "--data", data, "--as", "device,soft", "--samples", "20",
                                   "--device", os.environ["DVNN_FAULT_DEVICE"], env={"DVNN_FAULT": "to_cpu:3+:corrupt"})
    networks = told["networks"]
    columns = ("ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large", "ar1", "ar10", "ar100", "ar_small", "ar_medium", "ar_large")
    wanted = [(name, [printed.share(of["detection"]["figures"][column]) for column in columns])
              for name, of in zip(("default.dvn", "default.dvn on the soft"), networks)]
    assert [(name[:20], row) for name, row in printed.table(text, "AR100", "small", "medium", "large")] == [
        (name[:20], row) for name, row in wanted], (text, wanted)
    of = networks[1]["detection"]
    part = text[text.index("\n" + networks[1]["network"] + "\n"):]
    classes = [(c["label"], [str(c["objects"]), printed.share(c["figures"]["ap"]), printed.share(c["figures"]["ap50"]),
                             f"{c['threshold']:.6g}", f"{100 * c['precision']:.1f}%", f"{100 * c['recall']:.1f}%", f"{c['f1']:.3f}"])
               for c in of["classes"]]
    assert printed.table(part, "threshold", "precision", "recall", "F1") == classes, (part, classes)
    assert f'thresholds="{of["thresholds"]}"\n' in part, part
    samples = [f"{head} {printed.interval(of['intervals'][name])}" for head, name in
               (("AP", "ap"), ("AP50", "ap50"), ("AP75", "ap75"), ("AR100", "ar100"))]
    assert "95 % of samples: " + ", ".join(samples) + "\n" in part, (part, samples)
    mistakes = sorted((cell for cell in of["confusion"] if cell["is"] != cell["found"]), key=lambda cell: -cell["count"])
    lines = ["  %6d  %s, found: %s" % (cell["count"], cell["is"] or "nothing", cell["found"] or "nothing") for cell in mistakes]
    shown = part.split("most frequent mistakes at these thresholds:\n")[1].splitlines()[:8]
    count = min(8, len(lines))
    assert count > 0 and set(shown[:count]) <= set(lines) and [line[:8] for line in shown[:count]] == [
        line[:8] for line in lines[:count]], (shown, lines)
    differences = networks[1]["difference"]["pictures"]
    objects = sum(not d["objects"] for d in differences)
    assert f"outputs are the same on 0 of {PICTURES} pictures, and objects on {objects}\n" in part, part
    first = differences[0]
    assert re.search(r"\n  %s: %d values differ, by up to \S+ in output '%s'; %s objects\n" % (
        re.escape(os.path.basename(first["picture"])), first["values"], re.escape(first["output"]),
        "other" if first["objects"] else "the same"), part), part
    assert f"\n  and {PICTURES - 8} more\n" in part, part


def check_printed_bytes(text, of, small):
    lines = text.split("what it costs alone\n")[1].splitlines()
    for number, (point, line) in enumerate(zip(of["points"], lines)):
        words = [str(point["layers"]), str(point["bytes"]), f"{point['value']:.4f}"] + ["<"] * (number == of["chosen"])
        if point["layers"] > 0:
            last = of["layers"][point["layers"] - 1]
            words += [*last["layer"][:40].split(), f"{last['loss']:.4f}"]
        assert line.replace(", ", " ").split() == [word.rstrip(",") for word in words], (line, words)
    first, chosen = of["points"][0], of["points"][of["chosen"]]
    assert lines[len(of["points"])] == (
        f"{small}: {chosen['layers']} of {len(of['layers'])} layers have 8 bits, {chosen['bytes']} of {first['bytes']} bytes, "
        f"AP {chosen['value']:.4f} of {first['value']:.4f}"), text


def main():
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        drawn.write_yolo(data, range(4000, 4000 + PICTURES))
        check_devices(data)
        check_plot(folder, data)
        check_printed(data)
        check_bytes(folder, data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
