# SPDX-License-Identifier: Apache-2.0
"""Measures a network through `dvinfer` on pictures that the usual held-out scenes leave out.

    evaluate_more.py NETWORK.dvn [--device soft]

Portrait frames, codes that fill the frame, and videotestsrc's patterns, in which nothing may be found.
"""
import argparse
import multiprocessing

import more_scenes
import scenes
import ssd
import test_cards
from evaluate import THRESHOLDS, normalised
from evaluate_dvn import by_dvinfer, by_dvinfer_any_size

SCENES = 400  # of either kind
FRAMES = 20  # of every pattern in every size


def _scene(stream_and_index):
    return more_scenes.scene(*stream_and_index)


def held_out(stream):
    """Pictures and their truth (normalised boxes, kinds)."""
    with multiprocessing.Pool(2) as pool:
        made = pool.map(_scene, [(stream, i) for i in range(SCENES)], 25)
    return [p for p, _, _ in made], [(normalised(boxes, picture), kinds) for picture, boxes, kinds in made]


def report_scenes(log, name, found, truth):
    mean, each = ssd.mean_average_precision(found, truth)
    log("%s: %d codes, mAP@0.5 %.4f  (%s)" % (name, sum(len(kinds) for _, kinds in truth), mean, ", ".join(
        "%s %.4f" % pair for pair in zip(scenes.LABELS[1:], each))))
    for threshold in THRESHOLDS:
        log("%s: at %.1f: precision %.4f, recall %.4f"
            % (name, threshold, *ssd.precision_recall(found, truth, threshold)))


def report_patterns(log, find):
    """Logs how many frames of a pattern have finds. find(pictures of one size) returns rows for each."""
    for width, height in test_cards.MEASURED:
        found = [find(test_cards.generated(pattern, width, height, FRAMES)) for pattern in range(test_cards.PATTERNS)]
        for threshold in THRESHOLDS[:2]:
            counts = [sum(bool((rows[:, 1] >= threshold).any()) for rows in frames) for frames in found]
            log("patterns %dx%d at %.1f: %s" % (width, height, threshold, ", ".join(
                "%d of %d frames of pattern %d" % (n, FRAMES, p) for p, n in enumerate(counts) if n) or "nothing"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--device", default="soft")
    args = parser.parse_args()
    for name, stream in (("portrait", more_scenes.PORTRAIT), ("large", more_scenes.LARGE)):
        pictures, truth = held_out(stream)
        report_scenes(print, name, by_dvinfer_any_size(args.network, args.device, pictures), truth)
    report_patterns(print, lambda pictures: by_dvinfer(args.network, args.device, pictures))


if __name__ == "__main__":
    main()
