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

import numpy as np

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


# --- masks --------------------------------------------------------------------------------------------------------------------

def runs_of(mask):
    """COCO's uncompressed form: lengths of runs, column by column, the first being outside."""
    pixels = mask.T.reshape(-1)
    edges = np.flatnonzero(np.diff(pixels)) + 1
    lengths = np.diff(np.concatenate(([0], edges, [len(pixels)]))).tolist()
    return [0, *lengths] if pixels[0] else lengths


def compressed(counts):
    """Each length, from the fourth on its difference from the one two places before, in groups of five bits from the lowest
    on; a sixth bit says that more follow; the highest of the last group is the sign."""
    text = ""
    for i, count in enumerate(counts):
        value, more = count - counts[i - 2] if i > 2 else count, True
        while more:
            group, value = value & 31, value >> 5
            more = value not in (0, -1) or (value == -1) != bool(group & 16)
            text += chr(48 + group + 32 * more)
    return text


def segmentation_of(rng, mask):
    counts = runs_of(mask)
    return {"size": list(mask.shape), "counts": counts if rng.random() < 0.5 else compressed(counts)}


def random_mask(rng, width, height):
    """A blot: some discs, and a rectangle."""
    y, x = np.mgrid[:height, :width]
    mask = np.zeros((height, width), bool)
    middle = rng.uniform(0, width), rng.uniform(0, height)
    for _ in range(rng.randint(0, 4)):
        at = [m + rng.gauss(0, 12) for m in middle]
        mask |= (x - at[0]) ** 2 + (y - at[1]) ** 2 < rng.uniform(2, 55) ** 2
    left, top = int(middle[0]), int(middle[1])
    mask[top:top + rng.randint(1, 30), left:left + rng.randint(1, 60)] = True
    return mask


def check_masks(folder, seed):
    rng = random.Random(seed)
    width, height = rng.choice(((160, 120), (97, 101)))
    images = [{"id": i + 1, "file_name": "%d.jpg" % i, "width": width, "height": height} for i in range(rng.randint(1, 4))]
    categories = [{"id": 3, "name": "a"}, {"id": 9, "name": "b"}]
    truths, results = [], []
    for image in images:
        own = []
        for _ in range(rng.randint(0, 5)):
            mask = random_mask(rng, width, height)
            own.append({"image_id": image["id"], "category_id": rng.choice((3, 9)), "iscrowd": int(rng.random() < 0.15),
                        "area": int(mask.sum()), "bbox": [0, 0, width, height], "id": len(truths) + len(own) + 1, "mask": mask,
                        "segmentation": segmentation_of(rng, mask)})
            if rng.random() < 0.3:  # a polygon along the edges of pixels
                x0, y0 = rng.randint(0, width - 9), rng.randint(0, height - 9)
                x1, y1, x2, y2 = x0 + rng.randint(1, 4), y0 + rng.randint(1, 4), x0 + rng.randint(5, 9), y0 + rng.randint(5, 9)
                own[-1]["segmentation"] = [[x0, y0, x2, y0, x2, y1, x1, y1, x1, y2, x0, y2]]
                mask[:] = False
                mask[y0:y1, x0:x2] = mask[y0:y2, x0:x1] = True
                own[-1]["area"] = int(mask.sum())
        truths += own
        for _ in range(rng.randint(0, 9)):
            mask = rng.choice(own)["mask"].copy() if own and rng.random() < 0.8 else random_mask(rng, width, height)
            mask = np.roll(mask, rng.randint(-4, 4), rng.randint(0, 1))
            results.append({"image_id": image["id"], "category_id": rng.choice((3, 9)), "score": round(rng.random(), 2), "mask": mask,
                            "segmentation": segmentation_of(rng, mask)})
    if not truths or not results:
        return

    def written(items):
        return [{key: value for key, value in item.items() if key != "mask"} for item in items]
    paths = [os.path.join(folder, name) for name in ("truth.json", "found.json")]
    for path, value in zip(paths, ({"images": images, "categories": categories, "annotations": written(truths)}, written(results))):
        with open(path, "w") as file:
            json.dump(value, file)
    own = evaluate(paths[1], paths[0])
    annotations = {"images": images, "categories": categories, "annotations": truths}
    expect(own["masks"], Rules(annotations, results).figures(), "masks, seed %d" % seed)


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
            if seed % 4 == 0:
                check_masks(folder, seed)
    print("%d random sets of boxes, as many of points, and a quarter as many of masks" % rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
