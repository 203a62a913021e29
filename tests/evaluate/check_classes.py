#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet evaluate on folders of classes: top-1 and top-5 are those of what dvnet run prints. Beside a classifier, a network
of embeddings takes the folders for identities.

    check_classes.py DVNET TEST_DATA

TEST_DATA has SqueezeNet and pictures, and may have MobileFaceNet; without SqueezeNet there is nothing to do.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import printed  # noqa: E402

DVNET, DATA = sys.argv[1:3]
MODEL = [os.path.join(DATA, "models", "squeezenet_v1.0_" + end) for end in ("deploy.prototxt", "deepcompression.caffemodel")]
# Which of the classes that the network names each picture is filed under; None: one that is far from the best.
PLACES = {"cat": 0, "dog": 0, "eagle": 2, "voc_000001": 4, "voc_000067": None, "voc_000456": None}


def name_of(class_id):
    return "Thing %d" % class_id


def evaluate(network, folder, *args):
    done = subprocess.run([DVNET, "evaluate", network, "--data", folder, "--json", *args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout)["networks"][0]["classification"] if done.returncode == 0 else done.stderr


def check_side_by_side(folder, classifier, filed):
    model, faces = os.path.join(DATA, "zoo", "mobilefacenet.onnx"), os.path.join(folder, "faces.dvn")
    if not os.path.exists(model):
        return
    subprocess.check_call([DVNET, "convert", model, "--preset", "mobilefacenet", "-o", faces], stdout=subprocess.DEVNULL)
    data = os.path.join(folder, "pairs")
    for first, other in (("cat", "dog"), ("voc_000001", "voc_000456")):
        to = os.path.join(data, name_of(filed[first]))
        os.makedirs(to)
        for name in (first, other):
            shutil.copy(os.path.join(DATA, "images", name + ".jpg"), to)
    for networks in ((classifier, faces), (faces, classifier)):
        text, report = printed.evaluated(DVNET, "evaluate", *networks, "--data", data)
        of = {of["network"]: of for of in report["networks"]}
        hits, pairs = of[classifier]["classification"], of[faces]["embeddings"]
        assert hits["pictures"] == pairs["queries"] == 4 and hits["top1"] not in (0, 1), (hits, pairs)
        assert printed.table(text, "pictures", "top-1", "top-5", "top-1, 95 % of samples") == [
            ("squeezenet.dvn", ["4", printed.share(hits["top1"]), printed.share(hits["top5"]),
                                printed.interval(hits["intervals"]["top1"])])], text
        assert printed.table(text, "queries", "rank 1", "rank 5", "mAP") == [
            ("faces.dvn", ["4", *(printed.share(pairs[name]) for name in ("rank1", "rank5", "map"))])], text
        assert "faces.dvn: 2 pairs of one identity, 4 of two\n" in text, text


def main():
    if not all(os.path.exists(path) for path in MODEL):
        print("without SqueezeNet there is nothing to do")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        labels, network, data = (os.path.join(folder, name) for name in ("labels.txt", "squeezenet.dvn", "classes"))
        with open(labels, "w") as file:
            file.write("".join(name_of(i) + "\n" for i in range(1000)))
        subprocess.check_call([DVNET, "convert", *MODEL, "--labels", labels, "--decoder", "classification", "--mean",
                               "104,117,123", "-o", network], stdout=subprocess.DEVNULL)
        filed = {}
        for name, place in PLACES.items():
            picture = os.path.join(DATA, "images", name + ".jpg")
            best = [c["cls"] for c in json.loads(subprocess.check_output([DVNET, "run", network, picture, "--json"]))["top5"]]
            class_id = best[place] if place is not None else next(i for i in range(500, 1000) if i not in best)
            filed[name] = class_id
            # Names are compared whatever their case.
            to = os.path.join(data, name_of(class_id).upper())
            os.makedirs(to, exist_ok=True)
            shutil.copy(picture, to)
        told = evaluate(network, data)
        assert told["pictures"] == 6 and told["top1"] == 2 / 6 and told["top5"] == 4 / 6, told
        assert told["intervals"]["top1"][0] < 2 / 6 < told["intervals"]["top1"][1], told
        of = {c["class"]: c for c in told["classes"]}[name_of(filed["eagle"]).upper()]
        assert (of["top1"], of["top5"]) == (0, 1), of
        # A folder of something that the network does not know does not count.
        os.makedirs(os.path.join(data, "unknown"))
        shutil.copy(os.path.join(DATA, "images", "cat.jpg"), os.path.join(data, "unknown"))
        again = evaluate(network, data)
        assert again["pictures"] == 6 and again["top1"] == told["top1"], again
        # Classes whose names are all unknown are refused, but for those that want them by index.
        renamed = os.path.join(folder, "renamed")
        shutil.copytree(os.path.join(data, "unknown"), os.path.join(renamed, "nobody"))
        refused = evaluate(network, renamed)
        assert "none of the labels of" in refused and "'nobody'" in refused and "--by-index" in refused, refused
        assert evaluate(network, renamed, "--by-index")["pictures"] == 1
        check_side_by_side(folder, network, filed)
        refused = evaluate(network, data, "--keep")
        assert "--keep" in refused and "thresholds are of boxes" in refused, refused
    return 0


if __name__ == "__main__":
    sys.exit(main())
