#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvcamera with one element more: `walkers`, which puts seeded people on grey frames, each of whom walks across.

    walking_camera.py DVCAMERA CONFIG.json SEED

It stands for a network and a decoder: objects come as from dvdecode, so that dvtrack, dvzones and all else are the real ones. Each
walker crosses the vertical line in the middle of the frame once; walk() says which way, without looking at pictures."""
import importlib.machinery
import importlib.util
import os
import random
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstBase", "1.0")
gi.require_version("GstVideo", "1.0")
gi.require_version("GstDvnn", "1.0")
from gi.repository import Gst, GstBase, GstDvnn, GstVideo  # noqa: E402

Gst.init(None)

STEPS = 50      # frames that a walk takes
PAUSE = 15      # frames between two walks
SIZE = (0.12, 0.4)  # of a walker, as fractions of the frame


def walk(seed, number):
    """Returns the direction of a walk, 1 to the right or -1 to the left, and the height at which the feet go, in fractions."""
    chance = random.Random("%d %d" % (seed, number))
    return chance.choice((1, -1)), chance.uniform(0.6, 0.9)


def place_at(seed, frame):
    """Returns the box of the walker in a frame, in fractions, or None."""
    number, step = divmod(frame, STEPS + PAUSE)
    if step >= STEPS:
        return None
    direction, foot = walk(seed, number)
    middle = 0.15 + 0.7 * step / (STEPS - 1)
    middle = middle if direction > 0 else 1 - middle
    return middle - SIZE[0] / 2, foot - SIZE[1], middle + SIZE[0] / 2, foot


class Walkers(GstBase.BaseTransform):
    def __init__(self):
        super().__init__()
        self.frame = 0
        self.size = (1, 1)

    def do_set_caps(self, caps, _out):
        info = GstVideo.VideoInfo.new_from_caps(caps)
        self.size = (info.width, info.height)
        return True

    def do_transform_ip(self, buffer):
        box = place_at(SEED, self.frame)
        self.frame += 1
        meta = GstDvnn.buffer_add_dv_objects_meta(buffer)
        meta.add_pass("walkers", GstDvnn.PassState.INFERRED)
        if box:
            # The walk's number, so that readers can tell which one a document shows.
            number = (self.frame - 1) // (STEPS + PAUSE)
            made = GstDvnn.Object.new(GstDvnn.ObjectKind.DETECTION, number, "person", 0.9)
            made.set_box(*(edge * self.size[i % 2] for i, edge in enumerate(box)))
            meta.put_object(made)
        return Gst.FlowReturn.OK


Walkers.set_metadata("Walkers", "Filter/Analyzer", "Puts seeded objects on frames", "gst-dvnn developers")
for name, direction in (("sink", Gst.PadDirection.SINK), ("src", Gst.PadDirection.SRC)):
    Walkers.add_pad_template(Gst.PadTemplate.new(name, direction, Gst.PadPresence.ALWAYS,
                                                 Gst.Caps.from_string("video/x-raw,format=RGB")))


def main():
    global SEED
    program, config, seed = sys.argv[1:]
    SEED = int(seed)
    for name in os.environ.get("WITHOUT_ELEMENTS", "").split():  # as if they were not installed
        feature = Gst.Registry.get().lookup_feature(name)
        if feature:
            Gst.Registry.get().remove_feature(feature)
    assert Gst.Element.register(None, "walkers", 0, Walkers)
    dvcamera = importlib.util.module_from_spec(importlib.util.spec_from_loader(
        "dvcamera", importlib.machinery.SourceFileLoader("dvcamera", program)))
    dvcamera.__spec__.loader.exec_module(dvcamera)
    sys.argv = [program, config]
    return dvcamera.main()


if __name__ == "__main__":
    sys.exit(main())
