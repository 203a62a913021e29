# SPDX-License-Identifier: Apache-2.0
"""Measures the network through `dvinfer` on a device, and in FP32 by PyTorch on the same scenes.

    evaluate_dvn.py NETWORK.dvn [--device soft] [--more]

--more: through `dvinfer` alone, on pictures that the usual held-out scenes leave out: portrait frames, codes that fill
the frame, and videotestsrc's patterns, in which nothing may be found.
"""
import argparse
import multiprocessing
import os
import subprocess

import numpy as np

import evaluate
import export
import messages
import more_scenes
import scenes
import ssd
import test_cards
from evaluate import THRESHOLDS, normalised
from model import Net

HERE = os.path.dirname(os.path.abspath(__file__))
MORE_SCENES = 400  # of either kind
FRAMES = 20  # of every pattern in every size


def by_dvinfer(network, device, pictures):
    """Detection rows per picture, all pictures of one size: one second per frame, found by its pts."""
    height, width = pictures[0].shape[:2]
    command = ["gst-launch-1.0", "-m", "fdsrc", "fd=0", "!", "rawvideoparse", "format=bgr",
               "width=%d" % width, "height=%d" % height, "framerate=1/1", "!", "dvconvert", "!", "dvinfer",
               "network=" + network, "device=" + device, "!", "dvdecode", "post-messages=true",
               "threshold=%g" % ssd.MIN_CONFIDENCE, "!", "fakesink", "sync=false"]
    data = b"".join(p.tobytes() for p in pictures)
    out = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout.decode()
    found = [np.zeros((0, 6), np.float32)] * len(pictures)
    for pts, rows in messages.parse(out):
        found[pts // messages.SECOND] = np.array(rows, np.float32) / (1, 1, width, height, width, height)
    return found


def by_dvinfer_any_size(network, device, pictures):
    found = [None] * len(pictures)
    for shape in sorted({p.shape for p in pictures}):
        chosen = [i for i, p in enumerate(pictures) if p.shape == shape]
        for i, rows in zip(chosen, by_dvinfer(network, device, [pictures[i] for i in chosen])):
            found[i] = rows
    return found


def _scene(stream_and_index):
    return more_scenes.scene(*stream_and_index)


def held_out(stream):
    """Pictures and their truth (normalised boxes, kinds)."""
    with multiprocessing.Pool(2) as pool:
        made = pool.map(_scene, [(stream, i) for i in range(MORE_SCENES)], 25)
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


def report(network, device):
    """Prints the figures of dvinfer beside those of PyTorch."""
    net = export.read(os.path.join(HERE, "codes.caffemodel"), Net(normalised=False).eval())
    pictures, truth, empty = evaluate.test_scenes()
    means = []
    for name, find in (("PyTorch", lambda p: evaluate.by_torch_all(net, p)),
                       ("dvinfer", lambda p: by_dvinfer_any_size(network, device, p))):
        means.append(evaluate.figures(print, name, find(pictures), truth, find(empty)))
    print("mAP of dvinfer less that of PyTorch: %+.2f points" % (100 * (means[1] - means[0])))


def report_more(network, device):
    for name, stream in (("portrait", more_scenes.PORTRAIT), ("large", more_scenes.LARGE)):
        pictures, truth = held_out(stream)
        report_scenes(print, name, by_dvinfer_any_size(network, device, pictures), truth)
    report_patterns(print, lambda pictures: by_dvinfer(network, device, pictures))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--device", default="soft")
    parser.add_argument("--more", action="store_true")
    args = parser.parse_args()
    (report_more if args.more else report)(args.network, args.device)


if __name__ == "__main__":
    main()
