# SPDX-License-Identifier: Apache-2.0
"""Average precision as COCO's page defines it, slowly: each number is computed from its definition.

Written from https://cocodataset.org/#detection-eval and #keypoints-eval, in float64. It shares no code and no order of
work with src/evaluate: nothing is sorted in place, no curve is accumulated, and each number starts from the boxes.
"""
import math

import numpy as np

OVERLAPS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0, 1, 101)
AREAS = {"all": (0, 1e10), "small": (0, 32 ** 2), "medium": (32 ** 2, 96 ** 2), "large": (96 ** 2, 1e10)}
# Standard deviations of where people put each point, from COCO's page.
SIGMAS = np.array([26, 25, 25, 35, 35, 79, 79, 72, 72, 62, 62, 107, 107, 87, 87, 89, 89]) / 1000


def overlap(found, truth):
    """Intersection over union; of crowds, over what was found."""
    (x, y, w, h), (u, v, s, t) = found["bbox"], truth["bbox"]
    width, height = min(x + w, u + s) - max(x, u), min(y + h, v + t) - max(y, v)
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / (w * h if truth["iscrowd"] else w * h + s * t - common)


def similarity(found, truth):
    """Object keypoint similarity."""
    there, wanted = np.array(found["keypoints"]).reshape(-1, 3), np.array(truth["keypoints"]).reshape(-1, 3)
    annotated = wanted[:, 2] > 0
    if annotated.any():
        squares = ((there - wanted)[annotated, :2] ** 2).sum(1)
        sigmas = SIGMAS[annotated]
    else:  # points count as right anywhere in the box and one box around it
        x, y, w, h = truth["bbox"]
        off_x = np.maximum(0, np.maximum((x - w) - there[:, 0], there[:, 0] - (x + 2 * w)))
        off_y = np.maximum(0, np.maximum((y - h) - there[:, 1], there[:, 1] - (y + 2 * h)))
        squares, sigmas = off_x ** 2 + off_y ** 2, SIGMAS
    return float(np.mean(np.exp(-squares / (2 * (truth["area"] + np.spacing(1)) * (2 * sigmas) ** 2))))


def mask_overlap(found, truth):
    """The same of masks, which are arrays of pixels."""
    common = int((found["mask"] & truth["mask"]).sum())
    every = int(found["mask"].sum()) if truth["iscrowd"] else int((found["mask"] | truth["mask"]).sum())
    return common / every if common else 0.0


def found_area(found, points):
    if "mask" in found:
        return int(found["mask"].sum())
    if not points:
        return found["bbox"][2] * found["bbox"][3]
    places = np.array(found["keypoints"]).reshape(-1, 3)
    return float(np.prod(places[:, :2].max(0) - places[:, :2].min(0)))


def ignored(truth, area, points):
    unseen = points and not any(v > 0 for v in truth["keypoints"][2::3])
    return bool(truth["iscrowd"] or unseen or not AREAS[area][0] <= truth["area"] <= AREAS[area][1])


def verdicts(found, truths, likeness, least, area, points):
    """Of each found object of a picture, the surest one first: True, False, or None if it does not count."""
    free = set(range(len(truths)))
    for i, one in enumerate(found):
        fits = [k for k in range(len(truths)) if (k in free or truths[k]["iscrowd"]) and likeness[i][k] >= least]
        wanted = [k for k in fits if not ignored(truths[k], area, points)]
        choice = wanted or fits
        if not choice:
            inside = AREAS[area][0] <= found_area(one, points) <= AREAS[area][1]
            yield False if inside else None
            continue
        best = max(choice, key=lambda k: (likeness[i][k], k))
        free.discard(best)
        yield True if wanted else None


class Rules:
    """The figures of a set of results for a set of annotations; of masks, where results have a `mask`."""

    def __init__(self, annotations, results, points=False):
        self.points, self.most = points, 20 if points else 100
        self.images = sorted(image["id"] for image in annotations["images"])
        self.categories = sorted(category["id"] for category in annotations["categories"])
        self.cells = {}
        for category in self.categories:
            for image in self.images:
                def of(items):
                    return [a for a in items if (a["image_id"], a["category_id"]) == (image, category)]
                truths, found = of(annotations["annotations"]), of(results)
                found = sorted(found, key=lambda f: -f["score"])[:self.most]  # equal scores keep their order
                likeness = similarity if points else mask_overlap if found and "mask" in found[0] else overlap
                alike = [[likeness(f, t) for t in truths] for f in found]
                self.cells[category, image] = (truths, found, alike)

    def curve(self, category, overlap_index, area, most):
        """The precision at each recall, and the largest recall; None if there is nothing to find."""
        least = min(OVERLAPS[overlap_index], 1 - 1e-10)
        all_found, wanted = [], 0
        for image in self.images:
            truths, found, alike = self.cells[category, image]
            wanted += sum(not ignored(t, area, self.points) for t in truths)
            told = list(verdicts(found, truths, alike, least, area, self.points))
            all_found += [(f["score"], verdict) for f, verdict in zip(found[:most], told)]
        if not wanted:
            return None
        order = sorted(all_found, key=lambda f: -f[0])
        right = np.cumsum([verdict is True for _, verdict in order])
        wrong = np.cumsum([verdict is False for _, verdict in order])
        recall = right / wanted
        precision = right / (right + wrong + np.spacing(1))
        at = [max((p for p, r in zip(precision, recall) if r >= least_recall), default=0.0) for least_recall in RECALLS]
        return np.array(at), float(recall[-1]) if len(recall) else 0.0

    def mean(self, what, area="all", overlaps=range(10), most=None, categories=None):
        curves = [self.curve(c, k, area, most or self.most) for c in categories or self.categories for k in overlaps]
        values = [curve[0].mean() if what == "precision" else curve[1] for curve in curves if curve]
        return math.fsum(values) / len(values) if values else None

    def figures(self, categories=None):
        def ap(**kind):
            return self.mean("precision", categories=categories, **kind)

        def ar(**kind):
            return self.mean("recall", categories=categories, **kind)
        figures = {"ap": ap(), "ap50": ap(overlaps=[0]), "ap75": ap(overlaps=[5]), "ap_medium": ap(area="medium"),
                   "ap_large": ap(area="large")}
        if self.points:
            return {**figures, "ar20": ar(), "ar20_50": ar(overlaps=[0]), "ar20_75": ar(overlaps=[5]),
                    "ar20_medium": ar(area="medium"), "ar20_large": ar(area="large")}
        return {**figures, "ap_small": ap(area="small"), "ar1": ar(most=1), "ar10": ar(most=10), "ar100": ar(),
                "ar_small": ar(area="small"), "ar_medium": ar(area="medium"), "ar_large": ar(area="large")}
