# SPDX-License-Identifier: Apache-2.0
"""Measures the network through `dvinfer` on a device, and in FP32 by PyTorch on the same scenes.

    evaluate_dvn.py NETWORK.dvn [--device soft]
"""
import argparse
import os
import subprocess

import numpy as np

import evaluate
import export
import messages
import ssd
from model import Net

HERE = os.path.dirname(os.path.abspath(__file__))


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--device", default="soft")
    args = parser.parse_args()
    net = export.read(os.path.join(HERE, "codes.caffemodel"), Net(normalised=False).eval())
    pictures, truth, empty = evaluate.test_scenes()
    means = []
    for name, find in (("PyTorch", lambda p: evaluate.by_torch_all(net, p)),
                       ("dvinfer", lambda p: by_dvinfer_any_size(args.network, args.device, p))):
        means.append(evaluate.figures(print, name, find(pictures), truth, find(empty)))
    print("mAP of dvinfer less that of PyTorch: %+.2f points" % (100 * (means[1] - means[0])))


if __name__ == "__main__":
    main()
