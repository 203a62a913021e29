#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints time, label, confidence and box of each object that a camera sees.

    camera.py [--network FILE.dvn] [SOURCE]

SOURCE is a camera (default: /dev/video0), a video file, or "test" for a test pattern.
"""
import argparse
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstDvnn", "1.0")
from gi.repository import GLib, Gst, GstDvnn  # noqa: E402


def build(source, network):
    """Returns the pipeline, and the appsink at its end."""
    if source == "test":
        head = "videotestsrc num-buffers=100"
    elif source.startswith("/dev/"):
        head = "v4l2src name=source"
    else:
        head = "filesrc name=source ! decodebin"
    # A camera goes on while the network works; sync=false takes frames of a file as fast as they come.
    pipeline = Gst.parse_launch(head + " ! videoconvert ! dvconvert ! dvinfer name=infer ! dvdecode !"
                                " appsink name=out sync=false max-buffers=2")
    # Names are set as properties, because spaces would have to be escaped in the description.
    if source.startswith("/dev/"):
        pipeline.get_by_name("source").set_property("device", source)
    elif source != "test":
        pipeline.get_by_name("source").set_property("location", source)
    if network:
        pipeline.get_by_name("infer").set_property("network", network)
    return pipeline, pipeline.get_by_name("out")


def print_objects(frame):
    meta = GstDvnn.buffer_get_dv_objects_meta(frame)
    for i in range(meta.get_n_objects() if meta else 0):
        found = meta.get_object(i)
        print("%.3f %s %.2f %.1f %.1f %.1f %.1f" % (frame.pts / Gst.SECOND, found.label, found.confidence,
                                                    found.x0, found.y0, found.x1, found.y1), flush=True)


def check_bus(bus, wait=0):
    """Prints the elements' warnings and errors; returns False after an error."""
    wanted = Gst.MessageType.ERROR | Gst.MessageType.WARNING
    message = bus.timed_pop_filtered(wait, wanted)
    while message:
        if message.type == Gst.MessageType.ERROR:
            error, details = message.parse_error()
            print("error: %s\n%s" % (error.message, details), file=sys.stderr)
            return False
        warning, details = message.parse_warning()
        print("warning: %s" % warning.message, file=sys.stderr)
        message = bus.timed_pop_filtered(0, wanted)
    return True


def play(pipeline, out):
    """Plays to the end; returns the exit status."""
    bus = pipeline.get_bus()
    # A program that ignores this result waits for ever for frames that never come.
    if pipeline.set_state(Gst.State.PLAYING) == Gst.StateChangeReturn.FAILURE:
        check_bus(bus, Gst.SECOND)
        return 1
    while check_bus(bus):
        sample = out.emit("try-pull-sample", Gst.SECOND // 5)
        if sample:
            print_objects(sample.get_buffer())
        elif out.get_property("eos"):
            return 0 if check_bus(bus) else 1
    return 1


def main():
    parser = argparse.ArgumentParser(description="Prints what a camera sees.")
    parser.add_argument("source", nargs="?", default="/dev/video0", metavar="SOURCE",
                        help="a camera (default: /dev/video0), a video file, or test")
    parser.add_argument("--network", metavar="FILE.dvn", help="default: the installed network")
    options = parser.parse_args()
    Gst.init(None)
    try:
        pipeline, out = build(options.source, options.network)
    except GLib.Error as error:  # an element is missing
        print("error: %s (`dvnet doctor` knows more)" % error.message, file=sys.stderr)
        return 1
    try:
        return play(pipeline, out)
    except KeyboardInterrupt:
        return 0
    finally:
        pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    sys.exit(main())
