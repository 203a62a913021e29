#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that README and docs print, or checks their words if they cannot run here.

    commands.py DVNET BUILD_FOLDER SOURCE_FOLDER [DATA]

A command is an indented line that begins with one of our programs, gst-launch-1.0 or the compiler. A line that
ends with a backslash continues. A comment before a block says why its commands are not run:

    <!-- not run: needs a model of your own -->

Such commands, and those that need files which do not exist, are parsed: elements must exist and have the
properties that are set, options of dvnet must be known. Cameras and displays are replaced.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

DVNET, BUILD, SOURCE = map(os.path.abspath, sys.argv[1:4])
DATA = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else ""
PROGRAMS = ("dvnet", "gst-launch-1.0", "c++", "(cat")
# Other tests run these pages, and compare the results: tests/tools/tutorial.py, fleet.py,
# tests/acceptance.
TUTORIALS = {"your-yolo.md", "fleet.md", "cascades.md"}
# Replacements for hardware: a few frames at a camera's pace, and no display.
HARDWARE = {"v4l2src": "videotestsrc is-live=true num-buffers=10", "autovideosink": "fakesink"}
# Files that a new user has. Every other file that a command names must be made by a command before
# it.
CLIP = os.path.join(SOURCE, "pipelines", "codes", "codes.webm")
# Files that users bring, if the reference data are there.
STAND_INS = {
    "deploy.prototxt": "models/res10_300x300_deploy.prototxt",
    "weights.caffemodel": "models/res10_300x300_from_uint8pb.caffemodel",
    "model.h5": "models/fer2013_mini_XCEPTION.102-0.66.hdf5",
    "model.onnx": "models/version-RFB-320_without_postprocessing.onnx",
    "yolox_nano.onnx": "models/yolox_nano.onnx",
    "photo.jpg": "images/dog.jpg",
    "people.jpg": "images/12_angry_men.jpg",
    "road.jpg": "images/lane_morning.jpg",
}
# Files that users write themselves, for which the pages name examples.
EXAMPLES = {"mine.cpp": "tests/layers/spread_layer.cpp", "cells_decoder.cpp": "docs/examples/cells_decoder.cpp"}


def commands(path):
    """(line number, command, reason not to run it or None) of a page."""
    reason, pending, fenced = None, "", False
    for number, line in enumerate(open(path), 1):
        mark = re.match(r"<!-- not run: (.*?) -->", line)
        fenced ^= line.startswith("```")
        if mark:
            reason = mark.group(1)
        elif line.strip() and not line.startswith("    ") and not pending:
            reason = None
        if fenced or not (line.startswith("    ") or pending):
            continue
        text = pending + line.strip()
        if text.endswith("\\"):
            pending = text[:-1]
            continue
        pending = ""
        if text.split() and text.split()[0] in PROGRAMS:
            yield number, text, None if is_new_enough(reason) else reason


def is_new_enough(reason):
    """Whether `reason` asks for a GStreamer that is installed here."""
    asked = re.fullmatch(r"needs GStreamer (\d+)\.(\d+)", reason or "")
    return asked and Gst.version()[:2] >= tuple(map(int, asked.groups()))


def check_pipeline(words):
    """Checks elements and properties of a description."""
    problems, element = [], None
    for word in words[1:]:
        if re.fullmatch(r"[a-z][a-z0-9]+", word):
            element = Gst.ElementFactory.make(word, None)
            if not element and not word.endswith("sink") and word not in ("tensor_converter",):
                problems.append("no element %s" % word)
        elif element and re.match(r"[a-z][\w-]*=", word):
            name = word.split("=")[0]
            if not element.find_property(name):
                problems.append("%s has no property %s" % (element.get_factory().get_name(), name))
        elif word == "!":
            element = None
    return problems


def check_dvnet(words):
    first = words[1] if len(words) > 1 else "--help"
    name = words[1:3] if first == "bench" else [first]
    listed = subprocess.run([DVNET, *name, "--help"], text=True, check=False, stdout=subprocess.PIPE).stdout
    known = set(re.findall(r"(?<!\w)(--[\w-]+)", listed)) | {"--help", "--version"}
    short = set(re.findall(r"(?<!\S)-(\w),", listed))
    return ["dvnet %s has no option %s" % (" ".join(name), word) for word in words[1:]
            if (word.startswith("--") and word.split("=")[0] not in known)
            or (re.fullmatch(r"-[a-z]", word) and word[1] not in short)]


# Checks for commands that are parsed without being run.
CHECKS = {"dvnet": check_dvnet, "gst-launch-1.0": check_pipeline}


def runs_here(words, folder):
    """Whether a new user could run it: the files that it reads exist."""
    for word in words[1:]:
        value = word.split("=", 1)[-1]
        if words[0] in CHECKS and re.search(r"[A-Z]{3,}|…|\.\.\.", value):
            return False  # a placeholder
        if re.search(r"\.(dvn|onnx|tflite|prototxt|caffemodel|h5|so|jpg|png|mp4|webm|bin|json|txt|cpp)$", value.rstrip(");")) and \
                not os.path.exists(os.path.join(folder, value.rstrip(");"))) and not is_written(words, word):
            return False
    return True


def is_written(words, word):
    before = words[words.index(word) - 1]
    return before in ("-o", "--html", "--plot", "--report", ">") or before == "filesink"


def with_stand_ins(text):
    """Returns the command in a form that runs anywhere, for a short time."""
    for name, stand_in in HARDWARE.items():
        text = re.sub(r"\b%s\b" % name, stand_in, text)
    return re.sub(r"^dvnet bench network\b", "dvnet bench network --iterations 2", text)


def furnish(folder):
    """Puts the reader's files into a page's folder."""
    shutil.copy(CLIP, os.path.join(folder, "codes.webm"))
    shutil.copy(os.path.join(BUILD, "pipelines", "default.dvn"), os.path.join(folder, "net.dvn"))
    with open(os.path.join(folder, "labels.txt"), "w") as labels:
        labels.write("background\nface\n")
    for name, path in STAND_INS.items():
        if DATA and os.path.exists(os.path.join(DATA, path)):
            os.symlink(os.path.join(DATA, path), os.path.join(folder, name))
    for name, path in EXAMPLES.items():
        shutil.copy(os.path.join(SOURCE, path), os.path.join(folder, name))


def furnish_sources(folder):
    """Puts files there that the vendor's converter, or ours, would have written for a model."""
    if not os.path.exists(os.path.join(folder, "model.onnx")):
        return
    for name in ("net", "LaneDetection"):
        subprocess.run([DVNET, "convert", "model.onnx", "--name", name, "--emit-cpp", ".", "-o", "emitted.dvn"],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.rename(os.path.join(folder, "LaneDetection_gen.cpp"), os.path.join(folder, "lane_gen.cpp"))


def main():
    os.environ["GST_PLUGIN_PATH"] = os.path.join(BUILD, "gst")
    os.environ["PATH"] = os.path.dirname(DVNET) + ":" + os.environ["PATH"]
    os.environ["PKG_CONFIG_PATH"] = os.path.join(BUILD, "meson-uninstalled")
    os.environ["LD_LIBRARY_PATH"] = os.path.join(BUILD, "src", "generated")
    Gst.init(None)
    ran, parsed, skipped, failures, done_before = 0, 0, 0, [], set()
    pages = [os.path.join(SOURCE, "README.md")] + sorted(
        os.path.join(SOURCE, "docs", name) for name in os.listdir(os.path.join(SOURCE, "docs")) if name.endswith(".md"))
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            furnish(folder)
            if os.path.basename(page) == "generated-networks.md":
                furnish_sources(folder)
            for number, text, reason in commands(page):
                where = "%s:%d: %s" % (os.path.relpath(page, SOURCE), number, text)
                if "…" in text or " ... " in text + " ":
                    skipped += 1
                    continue
                words = shlex.split(text, comments=True)
                problems = CHECKS[words[0]](words) if words[0] in CHECKS else []
                if reason:  # perhaps because the element is of a later GStreamer
                    problems = [p for p in problems if not p.startswith("no element")]
                failures += ["%s\n  %s" % (where, problem) for problem in problems]
                # A command that has run once is not run again.
                known = text in done_before
                done_before.add(text)
                if problems or known or reason or os.path.basename(page) in TUTORIALS or not runs_here(words, folder):
                    parsed += 1
                    continue
                ran += 1
                done = subprocess.run(with_stand_ins(text), shell=True, cwd=folder, text=True, timeout=60, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                if done.returncode:
                    failures.append("%s\n  ends with %d: %s" % (where, done.returncode, done.stdout[-600:]))
    for failure in failures:
        print("FAILED", failure)
    print("%d run, %d parsed, %d are parts of commands, %d failures" % (ran, parsed, skipped, len(failures)))
    return 1 if failures or ran < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
