#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet evaluate on drawn pictures whose truth is known: every form of annotations gives the same numbers, which are those
of coco_rules.py on what dvnet run finds; 8-bit weights differ from 16-bit ones; thresholds that one half of the pictures
gives reach the wanted precision on the other half; and --keep writes them where dvnet run finds them.

    check_drawn.py DVNET NETWORK.dvn FOLDER

FOLDER has the network's Caffe model.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import drawn_pictures as drawn  # noqa: E402
from coco_rules import Rules, overlap  # noqa: E402

DVNET, NETWORK, MODEL = sys.argv[1:4]
PICTURES = 160  # of each half
PRECISION = 0.9


def evaluate(folder, *args, networks=(NETWORK,)):
    command = [DVNET, "evaluate", *networks, "--data", folder, "--json", "--samples", "20", *args]
    return json.loads(subprocess.check_output(command))


def run(folder, network=NETWORK, threshold=0.001):
    """What dvnet run finds, by picture: label, confidence and box in pixels."""
    command = [DVNET, "run", network, folder, "--json"]
    if threshold is not None:
        command += ["--threshold", str(threshold)]
    found = {}
    for line in subprocess.check_output(command).decode().splitlines():
        told = json.loads(line)
        boxes = []
        for one in told["detections"]:
            x0, y0, x1, y1 = (min(1, max(0, v)) * side for v, side in zip(one["box"], (drawn.WIDTH, drawn.HEIGHT) * 2))
            if x1 > x0 and y1 > y0:
                boxes.append((one["label"], one["conf"], (x0, y0, x1 - x0, y1 - y0)))
        found[os.path.splitext(told["image"])[0]] = boxes
    return found


def by_rules(pictures, found):
    """The figures by the other implementation."""
    truths = [{"image_id": i, "category_id": kind, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
              for i, (_, objects) in enumerate(pictures) for kind, *box in objects]
    results = [{"image_id": i, "category_id": drawn.NAMES.index(label), "bbox": box, "score": score}
               for i, (name, _) in enumerate(pictures) for label, score, box in found[name] if label in drawn.NAMES]
    return Rules({"images": [{"id": i} for i in range(len(pictures))], "annotations": truths,
                  "categories": [{"id": i} for i in range(len(drawn.NAMES))]}, results).figures()


def precision_with(pictures, found, thresholds):
    """Shares of right objects by label, at these thresholds: each takes the free truth that it overlaps most."""
    counts = {label: [0, 0] for label in thresholds}
    for name, objects in pictures:
        for label, least in thresholds.items():
            free = [{"bbox": box, "iscrowd": 0} for kind, *box in objects if drawn.NAMES[kind] == label]
            for _, _, box in sorted((f for f in found[name] if f[0] == label and f[1] >= least), key=lambda f: -f[1]):
                best = max(free, key=lambda truth: overlap({"bbox": box}, truth), default=None)
                right = best is not None and overlap({"bbox": box}, best) >= 0.5
                if right:
                    free.remove(best)
                counts[label][0 if right else 1] += 1
    return {label: right / (right + wrong) for label, (right, wrong) in counts.items()}


def check_forms(folder, seeds):
    """YOLO, COCO and VOC tell the same."""
    told = {}
    for form, write in (("yolo", drawn.write_yolo), ("coco", drawn.write_coco), ("voc", drawn.write_voc)):
        path = os.path.join(folder, form)
        pictures = write(path, seeds)
        told[form] = evaluate(path)
        assert told[form]["data"]["annotations"] == form, told[form]["data"]
        assert evaluate(path, "--annotations", form) == told[form], form
    figures = {form: of["networks"][0]["detection"]["figures"] for form, of in told.items()}
    for form, of in figures.items():
        for name, value in of.items():
            wanted = figures["yolo"][name]
            assert value == wanted or abs(value - wanted) < 1e-12, (form, name, value, wanted)
    wanted = by_rules(pictures, run(os.path.join(folder, "yolo", "images")))
    for name, value in wanted.items():
        own = figures["yolo"][name]
        # Boxes are printed in single precision.
        assert own is value is None or abs(own - value) < 2e-3, (name, own, value)
    assert figures["yolo"]["ap50"] > 0.5, figures["yolo"]
    assert told["yolo"]["networks"][0]["foreign"] == ["background", "QR code"], told["yolo"]["networks"][0]["foreign"]
    intervals = told["yolo"]["networks"][0]["detection"]["intervals"]
    assert intervals["ap"][0] < figures["yolo"]["ap"] < intervals["ap"][1], (intervals, figures["yolo"]["ap"])


def check_saved(folder, data):
    """What --save writes is measured as the network itself, side by side with it."""
    saved = os.path.join(folder, "found.json")
    of = evaluate(data, "--save", saved)["networks"][0]["detection"]
    both = [network["detection"] for network in evaluate(data, networks=(saved, NETWORK))["networks"]]
    assert both[1] == of and both[0]["figures"] == of["figures"], (both[0]["figures"], of["figures"])
    assert both[0]["thresholds"] == of["thresholds"] and both[0]["confusion"] == of["confusion"]
    refused = subprocess.run([DVNET, "evaluate", NETWORK, "--data", os.path.join(folder, "yolo"), "--save", saved],
                             stderr=subprocess.PIPE, text=True, check=False)
    assert refused.returncode == 1 and "--save writes what was found by COCO's ids" in refused.stderr, refused.stderr


def check_bits(folder, data):
    """Side by side: the one with 8 bits is another network, and nearly as good."""
    small = os.path.join(folder, "codes8.dvn")
    model = [os.path.join(MODEL, "codes." + end) for end in ("prototxt", "caffemodel")]
    subprocess.check_call([DVNET, "convert", *model, "--labels", os.path.join(MODEL, "labels.txt"), "--mean", "127.5", "--scale",
                           "0.0078125", "--order", "bgr", "--resize", "stretch", "--quantize", "-o", small],
                          stdout=subprocess.DEVNULL)
    both = evaluate(data, networks=(NETWORK, small))["networks"]
    assert [of["network"] for of in both] == [NETWORK, small]
    for of, network in zip(both, (NETWORK, small)):
        assert of == evaluate(data, networks=(network,))["networks"][0], "beside another one it gives other numbers"
    wide, narrow = (of["detection"]["figures"]["ap"] for of in both)
    print("AP with 16 bits %.4f, with 8 bits %.4f" % (wide, narrow))
    assert wide != narrow and abs(wide - narrow) < 0.05, (wide, narrow)


def check_thresholds(data, other, pictures):
    of = evaluate(data, "--precision", str(PRECISION))["networks"][0]["detection"]
    assert all(c["reached"] for c in of["classes"]), of["classes"]
    thresholds = {}
    for entry in of["thresholds"].split(","):
        label, _, value = entry.rpartition(":")
        thresholds[label] = float(value)
    assert sorted(thresholds) == sorted(drawn.NAMES), of["thresholds"]
    found = run(os.path.join(other, "images"))
    reached = precision_with(pictures, found, thresholds)
    print("thresholds %s reach on the other half %s" % (of["thresholds"], reached))
    assert all(share >= PRECISION for share in reached.values()), reached
    # They are not merely high: a lower one is worse, and something is found.
    assert all(c["recall"] > 0.2 for c in of["classes"]), of["classes"]
    best = evaluate(data)["networks"][0]["detection"]["classes"]
    for c, b in zip(of["classes"], best):
        assert b["f1"] >= c["f1"] and c["precision"] >= PRECISION, (c, b)


def check_kept(folder, data):
    """--keep writes the thresholds into the file, through a link, and changes nothing else; dvnet run uses them, and dvnet
    evaluate does not."""
    kept, link = os.path.join(folder, "kept.dvn"), os.path.join(folder, "link.dvn")
    shutil.copy(NETWORK, kept)
    os.symlink("kept.dvn", link)
    before = json.loads(subprocess.check_output([DVNET, "inspect", kept, "--json"]))
    of = evaluate(data, "--keep", networks=(link,))["networks"][0]["detection"]
    assert os.path.islink(link) and sorted(os.listdir(folder)) == ["kept.dvn", "link.dvn"], os.listdir(folder)
    after = json.loads(subprocess.check_output([DVNET, "inspect", kept, "--json"]))
    thresholds = after["decoder"]["params"].pop("class_thresholds")
    assert after == before, "something else has changed"
    written = ",".join("%s:%.9g" % (name, thresholds[name]) for name in drawn.NAMES)
    assert written == of["thresholds"], (written, of["thresholds"])
    assert "thresholds " + ",".join("%s:%g" % one for one in sorted(thresholds.items())) in \
        subprocess.check_output([DVNET, "inspect", kept], text=True)
    pictures = os.path.join(data, "images")
    wanted = {name: [box for box in boxes if box[1] >= thresholds.get(box[0], 0.5)]
              for name, boxes in run(pictures, NETWORK).items()}
    assert run(pictures, kept, threshold=None) == wanted, "dvnet run has other thresholds"
    usual = run(pictures, NETWORK, threshold=None)
    assert usual != wanted and usual == run(pictures, kept, threshold=0.5) == run(pictures, NETWORK, threshold=0.5)
    # Measured again, and in place of the old ones: nothing that the file keeps counts.
    again = evaluate(data, "--keep", "--precision", str(PRECISION), networks=(kept,))["networks"][0]["detection"]
    assert again["figures"] == of["figures"] and again["thresholds"] != of["thresholds"]
    thresholds = json.loads(subprocess.check_output([DVNET, "inspect", kept, "--json"]))["decoder"]["params"]["class_thresholds"]
    assert again["thresholds"] == ",".join("%s:%.9g" % (name, thresholds[name]) for name in drawn.NAMES)


def check_keep_refused(folder, data):
    """Files that can keep no thresholds are refused before anything runs."""
    found = os.path.join(folder, "found.json")
    with open(found, "w", encoding="utf-8") as file:
        file.write("[]")
    for args, why in (((found, "--data", data), "'%s' is no network" % found),
                      ((NETWORK, found, "--data", data), "'%s' is no network" % found)):
        refused = subprocess.run([DVNET, "evaluate", *args, "--keep"], stderr=subprocess.PIPE, text=True, check=False)
        assert refused.returncode == 1 and why in refused.stderr, refused.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_forms(folder, range(40))
        check_saved(folder, os.path.join(folder, "coco"))
        halves = [os.path.join(folder, name) for name in ("first", "second")]
        drawn.write_yolo(halves[0], range(1000, 1000 + PICTURES))
        pictures = drawn.write_yolo(halves[1], range(2000, 2000 + PICTURES))
        check_thresholds(halves[0], halves[1], pictures)
        kept = os.path.join(folder, "keeps")
        os.mkdir(kept)
        check_kept(kept, halves[0])
        check_keep_refused(folder, os.path.join(folder, "coco"))
        check_bits(folder, halves[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
