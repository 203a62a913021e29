#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pipelines/demo as a newcomer runs it, and scripts/setup without packages or rights.

    test_demo.py SOURCE_FOLDER BUILD_FOLDER
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from terminal import on_terminal  # noqa: E402

SOURCE, BUILD = map(os.path.abspath, sys.argv[1:3])
DEMO = os.path.join(SOURCE, "pipelines", "demo")
SETUP = os.path.join(SOURCE, "scripts", "setup")


def environment(**more):
    left_out = ("DISPLAY", "WAYLAND_DISPLAY", "GST_PLUGIN_PATH")  # the demo sets GST_PLUGIN_PATH itself
    plain = {name: value for name, value in os.environ.items() if name not in left_out}
    return dict(plain, DVNN_BUILD=BUILD, DVNN_DEVICE="soft", **more)


def run(*args, build=BUILD, **more):
    return subprocess.run([DEMO, *args], env=dict(environment(), DVNN_BUILD=build), text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200, **more)


def demo_on_terminal(*args):
    """Returns its status, and its output on a terminal."""
    status, said = on_terminal([DEMO, *args], env=environment(TERM="xterm"))
    return status, said.decode()


class Demo(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_its_target_builds_all_that_it_needs(self):
        query = subprocess.run(["ninja", "-C", BUILD, "-t", "query", "demo"], stdout=subprocess.PIPE, text=True, check=True)
        made = re.findall(r"^ +\|? ?(\S+\.so)$", query.stdout, re.M)
        self.assertGreater(len(made), 1, query.stdout)
        for file in made + ["pipelines/default.dvn"]:
            os.makedirs(os.path.dirname(self.path(file)), exist_ok=True)
            os.symlink(os.path.join(BUILD, file), self.path(file))
        done = run("--output", self.path("out.webm"), build=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Objects were found in", done.stdout)

        os.remove(self.path("gst/libgstdvnn.so"))
        done = run("--output", self.path("none.webm"), build=self.folder.name)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, "it did not work:\n.*no element \"dv")
        self.assertNotIn("Nothing was found", done.stdout)

    def test_clip_is_annotated_and_told(self):
        output = self.path("out.webm")
        status, said = demo_on_terminal("--output", output)
        self.assertEqual(status, 0, said)
        frames = re.search(r"Objects were found in (\d+) of (\d+) frames", said)
        self.assertTrue(frames, said)
        self.assertLessEqual(int(frames[1]), int(frames[2]))
        self.assertGreater(int(frames[1]), 20, "a clip of a few seconds, most of which shows codes")
        counts = [int(n) for n in re.findall(r"(\d+) x (?:QR code|barcode|marker)\r?\n", said)]
        self.assertTrue(counts, said)
        self.assertEqual(counts, sorted(counts, reverse=True))
        self.assertRegex(said, r"\d+ %, \d+ frames, objects in \d+ of them")
        self.assertIn("The annotated clip is " + output, said)
        self.assertEqual(open(output, "rb").read(4), b"\x1a\x45\xdf\xa3")  # the magic of Matroska and WebM
        self.assertRegex(said, r"(?s)Try next:.*pipelines/demo.*dvnet doctor.*dvnet convert")
        if subprocess.run(["gst-inspect-1.0", "--exists", "dvread"], env=environment(
                GST_PLUGIN_PATH=os.path.join(BUILD, "gst")), check=False).returncode == 0:
            self.assertRegex(said, r"What is written there[^\n]*\n +\d+ x ")

    def test_photograph_gives_a_picture(self):
        photo, output = self.path("photo.jpg"), self.path("out.png")
        subprocess.run(["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=1", "pattern=ball", "!", "jpegenc", "!",
                        "filesink", "location=" + photo], check=True)
        done = run(photo, "--output", output, "--show")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(open(output, "rb").read(4), b"\x89PNG")
        self.assertIn("The annotated picture is " + output, done.stdout)
        self.assertIn("Nothing was found in 1 frame.", done.stdout)
        self.assertIn("nothing-found.md", done.stdout)
        # There is no display; progress is printed on terminals only.
        self.assertEqual(done.stderr, "demo: there is no display for --show; only the file is written\n")
        self.assertIn("--output NAME.png", run(photo, "--output", self.path("out.webm")).stderr)

    def test_mistakes_are_told(self):
        for args, status, words in ((["none.mp4"], 1, "'none.mp4' does not exist"), (["--network"], 2, "needs a file's name"),
                                    (["--frobnicate"], 2, "unknown option")):
            done = run(*args)
            self.assertEqual(done.returncode, status, args)
            self.assertIn(words, done.stderr)
        broken = self.path("broken.mp4")
        open(broken, "w").write("no video\n" * 100)
        done = run(broken, "--output", self.path("out.webm"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("it did not work", done.stderr)
        self.assertIn("ERROR", done.stderr)


class Setup(unittest.TestCase):
    """With programs in place of the system's, so that nothing is installed."""

    def run_setup(self, **programs):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in dict({"dpkg-query": "exit 1", "apt-get": "echo apt-get >>%s/called" % folder,
                                    "id": "echo 1000"}, **programs).items():
                path = os.path.join(folder, name)
                open(path, "w").write("#!/bin/sh\n%s\n" % text)
                os.chmod(path, 0o755)
            done = subprocess.run([SETUP], env=dict(os.environ, PATH=folder + ":" + os.environ["PATH"]), text=True,
                                  check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
            return done, os.path.exists(os.path.join(folder, "called"))

    def test_without_rights_it_says_whom_to_ask(self):
        done, installed = self.run_setup(sudo="exit 1")
        self.assertEqual(done.returncode, 1)
        self.assertFalse(installed)
        self.assertRegex(done.stdout, r"\d+ packages are missing")
        self.assertRegex(done.stdout, r"\d+ MB.*\n?.*minutes")
        self.assertNotIn("installing", done.stdout)
        self.assertIn("Ask an administrator", done.stderr)
        self.assertRegex(done.stderr, r"apt-get install --no-install-recommends build-essential .*libopencv-dev")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
