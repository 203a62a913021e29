#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The applications of docs/examples print the objects of dvdecode's messages, and end cleanly on errors.

    check_examples.py EXAMPLES BUILD_FOLDER CLIP

Exits with 77 if Python's bindings, or GstDvnn's, are not installed.
"""
import os
import shlex
import subprocess
import sys
import tempfile

try:
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstDvnn", "1.0")
    from gi.repository import Gst
except (ImportError, AttributeError, ValueError) as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

EXAMPLES, BUILD, CLIP = sys.argv[1:]


def line_of(time, label, confidence, box):
    return "%.3f %s %.2f %.1f %.1f %.1f %.1f" % ((time / Gst.SECOND, label, confidence) + box)


def told_by_messages(head):
    """Returns the lines that an application should print, from dvdecode's messages."""
    pipeline = Gst.parse_launch(head + " ! videoconvert ! dvconvert ! dvinfer ! dvdecode post-messages=true"
                                " ! fakesink")
    bus = pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    lines = []
    while True:
        message = bus.timed_pop_filtered(60 * Gst.SECOND, Gst.MessageType.ELEMENT | Gst.MessageType.EOS
                                         | Gst.MessageType.ERROR)
        assert message and message.type != Gst.MessageType.ERROR, "the reference does not play"
        if message.type == Gst.MessageType.EOS:
            break
        told = message.get_structure()
        if told.get_name() != "dvnn-objects":
            continue
        # Deprecated, but the only function that bindings have for lists of structures.
        listed, found = told.get_list("objects")
        assert listed
        for i in range(found.n_values):
            o = found.get_nth(i)
            box = tuple(o.get_double(edge)[1] for edge in ("x0", "y0", "x1", "y1"))
            lines.append(line_of(told.get_uint64("timestamp")[1], o.get_string("label"),
                                 o.get_double("confidence")[1], box))
    pipeline.set_state(Gst.State.NULL)
    return lines


def run(*arguments):
    done = subprocess.run(arguments, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return done.returncode, done.stdout.splitlines(), done.stderr


def compile_c(folder):
    """Compiles by the command in the source's comment."""
    source, program = os.path.join(EXAMPLES, "camera.c"), os.path.join(folder, "camera")
    with open(source) as file:
        assert "cc camera.c -o camera $(pkg-config --cflags --libs gst-dvnn-1.0)" in file.read()
    environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(BUILD, "meson-uninstalled"))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gst-dvnn-1.0"], env=environment, text=True,
                           stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", source, "-o", program] + shlex.split(flags),
                   check=True)
    return program


def check(*program):
    clip = told_by_messages("filesrc location=%s ! decodebin" % CLIP)
    assert len(clip) > 100 and any(" QR code " in line for line in clip), clip[:5]
    status, lines, errors = run(*program, CLIP)
    assert status == 0 and lines == clip, (program, status, lines[:3], clip[:3], errors)
    status, lines, errors = run(*program, "test")
    assert status == 0 and lines == told_by_messages("videotestsrc num-buffers=100"), (program, errors)
    for bad in ("/nowhere/clip.webm", "/dev/video987"):
        status, lines, errors = run(*program, bad)
        assert status == 1 and not lines and ("\n" + errors).count("\nerror: ") == 1, (program, bad, status, errors)
        assert "Traceback" not in errors and "CRITICAL" not in errors, errors
    network = ["--network"] if program[-1].endswith(".py") else []
    status, lines, errors = run(*program, CLIP, *network, "/nowhere/net.dvn")
    assert status == 1 and not lines and "/nowhere/net.dvn" in errors, (program, status, errors)
    # A file that is no video fails when it plays.
    status, lines, errors = run(*program, os.path.join(EXAMPLES, "camera.c"))
    assert status == 1 and not lines and "error: " in errors, (program, status, errors)


def main():
    Gst.init(None)
    check("/usr/bin/python3", os.path.join(EXAMPLES, "camera.py"))
    with tempfile.TemporaryDirectory() as folder:
        check(compile_c(folder))


if __name__ == "__main__":
    main()
