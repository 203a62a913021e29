#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet evaluate measures as COCO does: its own published example, and random results by coco_rules.py.

    check_coco.py DVNET [FOLDER]

FOLDER has COCO's example, if there is one: instances_val2014_100.json, the annotations of its hundred pictures, and
instances_val2014_fakebbox100_results.json, what a detector that was made up has found.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from coco_rules import Rules  # noqa: E402

DVNET = sys.argv[1]
# results/val2014_fake_eval_res.txt of cocodataset/cocoapi, type=bbox.
PUBLISHED = {"ap": 0.505, "ap50": 0.697, "ap75": 0.573, "ap_small": 0.586, "ap_medium": 0.519, "ap_large": 0.501, "ar1": 0.387,
             "ar10": 0.594, "ar100": 0.595, "ar_small": 0.640, "ar_medium": 0.566, "ar_large": 0.564}
SAME = 1e-9


def evaluate(found, annotations):
    out = subprocess.check_output([DVNET, "evaluate", found, "--data", annotations, "--json", "--samples", "0"])
    return json.loads(out)["networks"][0]["detection"]


def expect(own, wanted, what):
    for name, value in wanted.items():
        other = own[name]
        same = other is None if value is None else other is not None and abs(other - value) < SAME
        assert same, "%s: %s is %r, and not %r" % (what, name, other, value)


def check_example(folder):
    annotations = os.path.join(folder, "instances_val2014_100.json")
    results = os.path.join(folder, "instances_val2014_fakebbox100_results.json")
    if not os.path.exists(annotations):
        print("without COCO's example: there is no %s" % annotations)
        return
    own = evaluate(results, annotations)["figures"]
    for name, value in PUBLISHED.items():
        assert round(own[name], 3) == value, "COCO's example: %s is %r, and %r is published" % (name, own[name], value)
    with open(annotations) as a, open(results) as r:
        expect(own, Rules(json.load(a), json.load(r)).figures(), "COCO's example")


def box_of(rng):
    """Sizes around COCO's bounds, and on them; whole numbers, so that overlaps are often equal."""
    width, height = (rng.choice((rng.randint(1, 30), 32, rng.randint(30, 110), 96, rng.randint(90, 200))) for _ in "wh")
    return [rng.randint(-20, 300), rng.randint(-20, 200), width, height]


def points_of(rng, box, seen):
    points = []
    for _ in range(17):
        shown = rng.choice((0, 1, 2)) if seen else 0
        x, y = box[0] + rng.random() * box[2], box[1] + rng.random() * box[3]
        points += [round(x, 2), round(y, 2), shown] if shown else [0, 0, 0]
    return points


def near(rng, box):
    """A box that overlaps it, sometimes by exactly a half, sometimes wholly."""
    x, y, w, h = box
    kind = rng.random()
    if kind < 0.15:
        return list(box)
    if kind < 0.3:
        return [x, y, w, 2 * h]
    step = max(1, w // 5)
    return [x + rng.randint(-step, step), y + rng.randint(-step, step), max(1, w + rng.randint(-step, step)), h]


def random_set(rng, points):
    classes = 1 if points else 4
    images = [{"id": i, "file_name": "%d.jpg" % i, "width": 640, "height": 480}
              for i in rng.sample(range(1, 100000), rng.randint(2, 7))]
    # Nothing is of the last class; the ids are not in order.
    categories = [{"id": c, "name": "thing %d" % c} for c in rng.sample(range(1, 90), classes + 1)]
    annotations, results = [], []
    for image in images:
        for _ in range(rng.choice((0, 1, 3, 8))):
            box = box_of(rng)
            truth = {"id": len(annotations) + 1, "image_id": image["id"], "category_id": rng.choice(categories[:-1])["id"],
                     "bbox": box, "iscrowd": int(rng.random() < 0.2),
                     "area": rng.choice((box[2] * box[3], 0.6 * box[2] * box[3], 32 ** 2, 96 ** 2))}
            if points:
                truth["keypoints"] = points_of(rng, box, rng.random() < 0.8)
            annotations.append(truth)
        many = 130 if rng.random() < 0.1 else rng.choice((0, 2, 15, 30))
        own = [t for t in annotations if t["image_id"] == image["id"]]
        for _ in range(many):
            truth = rng.choice(own) if own and rng.random() < 0.7 else None
            box = near(rng, truth["bbox"]) if truth else box_of(rng)
            found = {"image_id": image["id"], "bbox": box, "score": round(rng.random(), rng.choice((1, 2, 6))),
                     "category_id": truth["category_id"] if truth and rng.random() < 0.9 else rng.choice(categories)["id"]}
            if points:
                near_to = truth["keypoints"] if truth else points_of(rng, box, True)
                off = rng.choice((0, 1, 5, 20))
                found["keypoints"] = [v + rng.uniform(-off, off) if i % 3 != 2 else 1 for i, v in enumerate(near_to)]
                # As single precision has them, in which points are kept.
                found["keypoints"] = [round(v * 64) / 64 for v in found["keypoints"]]
            results.append(found)
    if points:
        for truth in annotations:
            truth["keypoints"] = [round(v * 64) / 64 for v in truth["keypoints"]]
    rng.shuffle(images)
    rng.shuffle(results)
    return {"images": images, "categories": categories, "annotations": annotations}, results


def check_random(folder, seed, points):
    rng = random.Random(seed)
    annotations, results = random_set(rng, points)
    paths = [os.path.join(folder, name) for name in ("truth.json", "found.json")]
    for path, value in zip(paths, (annotations, results)):
        with open(path, "w") as file:
            json.dump(value, file)
    own = evaluate(paths[1], paths[0])
    what = "%s, seed %d" % ("points" if points else "boxes", seed)
    rules = Rules(annotations, results, points)
    if points:
        any_points = any(t["keypoints"] for t in annotations["annotations"]) and results
        if any_points:
            expect(own["key_points"], rules.figures(), what)
        return
    expect(own["figures"], rules.figures(), what)
    names = {category["name"]: category["id"] for category in annotations["categories"]}
    for of in own["classes"]:
        expect(of["figures"], rules.figures([names[of["label"]]]), "%s, %s" % (what, of["label"]))


def main():
    rounds = max(1, 40 // int(os.environ.get("DVNN_TEST_ROUNDS", os.environ.get("DVNN_TEST_BRIEFLY", "1"))))
    begin = 1000 * int(os.environ.get("DVNN_TEST_SEED", "0"))
    if len(sys.argv) > 2:
        check_example(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(begin, begin + rounds):
            check_random(folder, seed, points=False)
            check_random(folder, seed, points=True)
    print("%d random sets of boxes and as many of points" % rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
