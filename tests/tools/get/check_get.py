#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet get against a server of this test, which cuts, stalls, redirects and sends something else; no network is needed.

    check_get.py DVNET FOLDER DATA

FOLDER has the default network's Caffe model, which the lists of this test name; DATA may have the models of the program's
own list.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from model_server import ModelServer  # noqa: E402
from share import share_of  # noqa: E402

DVNET, FOLDER, DATA = (os.path.abspath(path) for path in sys.argv[1:4])
FILES = {}
for ending in ("prototxt", "caffemodel"):
    with open(os.path.join(FOLDER, "codes." + ending), "rb") as opened:
        FILES["codes." + ending] = opened.read()
WEIGHTS = FILES["codes.caffemodel"]
OPTIONS = {"mean": "127.5", "scale": "0.0078125", "order": "bgr"}
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
# Where the program's own models lie among the test data.
OWN = {"face_detection_front_128x128_barracuda.onnx": "blazeface_front.onnx", "face_landmark_barracuda.onnx":
       "facemesh_landmark.onnx", "prisma_nchw.onnx": "prisma_seg.onnx", "model_float32.onnx": "road_seg_adas_0001.onnx",
       "model.onnx": "light_person_detector.onnx"}


FACE = os.path.join("zoo", "golden", "face.png")
DOG, ROAD, PEOPLE = (os.path.join("images", name + ".jpg") for name in ("dog", "lane_morning", "12_angry_men"))
# A photograph, and what people see on it.
FOUND = {"blazeface": (FACE, "face"), "facemesh": (FACE, "468 points"), "fastestdet": (DOG, "dog"), "nanodet": (DOG, "bicycle"),
         "yolox-nano": (DOG, "dog"), "light-person-detector": (os.path.join("images", "mssdface_people.jpg"), "person"), "prisma-seg": (FACE, "class 1"),
         "selfie": (FACE, "class 1"), "sinet": (FACE, "class 1"), "road-segmentation-adas": (ROAD, "class 1"),
         "ultraface": (PEOPLE, "face"), "ultraface-caffe": (PEOPLE, "face"), "yunet": (PEOPLE, "face")}


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Get(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.server = ModelServer(FILES)
        self.addCleanup(self.server.__exit__)
        self.cache = os.path.join(self.place.name, "cache")
        self.models = os.path.join(self.place.name, "models.json")
        self.output = os.path.join(self.place.name, "out.dvn")

    def kept(self):
        """What the cache holds: sizes by name."""
        folder = os.path.join(self.cache, "dvnn", "models")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return {name: os.path.getsize(os.path.join(folder, name)) for name in names}

    def kept_path(self, name, ending=""):
        place = hashlib.sha256(FILES[name]).hexdigest()[:16] + "-" + name + ending
        return os.path.join(self.cache, "dvnn", "models", place)

    def urls(self, *hows):
        """A list of one model whose weights come from these paths."""
        def file(name, paths):
            return {"name": name, "bytes": len(FILES[name]), "sha256": hashlib.sha256(FILES[name]).hexdigest(),
                    "urls": [self.server.url(path) for path in paths]}
        self.write({"codes": {"finds": "codes", "licence": "Apache-2.0", "source": "https://example.com/codes",
                              "convert": OPTIONS, "files": [file("codes.prototxt", ["file/codes.prototxt"]),
                                                            file("codes.caffemodel", [how + "/codes.caffemodel" for how in hows])]}})

    def write(self, models):
        with open(self.models, "w", encoding="utf-8") as file:
            json.dump(models, file)

    def run_get(self, *args, models=True, **variables):
        environment = {name: value for name, value in os.environ.items() if name not in PROXIES}
        environment.update({"XDG_CACHE_HOME": self.cache, "HOME": self.place.name}, **variables)
        command = [DVNET, "get", *args] + (["--models", self.models] if models else [])
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True, check=False,
                              cwd=self.place.name)

    def get(self, *args, **variables):
        """Gets the model; returns what was printed."""
        done = self.run_get("codes", "-o", self.output, *args, **variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(self.output))
        return done.stdout

    def refused(self, *args, status=1, **variables):
        """Returns the error, which is one line, and after which there is no network."""
        done = self.run_get("codes", "-o", self.output, *args, **variables)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertFalse(os.path.exists(self.output))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def asked(self, name="codes.caffemodel"):
        """The requests for a file: how, and from which byte on."""
        return [(path.split("/")[1], asked) for path, asked in self.server.asked if path.endswith(name)]

    def test_a_model_is_fetched_once_and_converted(self):
        self.urls("file")
        told = self.get()
        self.assertIn("codes: codes; licence Apache-2.0, https://example.com/codes", told)
        inspected = json.loads(subprocess.check_output([DVNET, "inspect", self.output, "--json"]))
        self.assertEqual((inspected["name"], inspected["input"]["mean"]), ("codes", [127.5] * 3))
        self.assertEqual(sorted(self.kept().values()), sorted(len(data) for data in FILES.values()))
        first = read(self.output)
        # From the cache, without a server.
        self.server.__exit__()
        os.unlink(self.output)
        self.get()
        self.assertEqual(read(self.output), first)
        self.assertEqual(len(self.server.asked), 2)

    def test_it_is_named_after_the_model(self):
        self.urls("file")
        self.assertEqual(self.run_get("codes").returncode, 0)
        self.assertTrue(os.path.exists(os.path.join(self.place.name, "codes.dvn")))

    def test_it_runs_on_a_picture(self):
        self.urls("file")
        picture = os.path.join(self.place.name, "gray.ppm")
        with open(picture, "wb") as file:
            file.write(b"P6 4 4 255\n" + b"\x80" * 48)
        self.assertIn("gray.ppm", self.get("--try", picture))

    def test_another_hash_is_refused_with_both(self):
        self.urls("other")
        told = self.refused()
        other = hashlib.sha256(bytes(b ^ 1 for b in WEIGHTS)).hexdigest()
        self.assertIn("model 'codes': '%s' has the SHA-256 %s, and 'codes.caffemodel' has %s" % (
            self.server.url("other/codes.caffemodel"), other, hashlib.sha256(WEIGHTS).hexdigest()), told)
        self.assertFalse(any("caffemodel" in name for name in self.kept()), self.kept())

    def test_the_next_address_is_tried(self):
        self.urls("gone", "other", "file")
        self.get()
        self.assertEqual([how for how, _ in self.asked()], ["gone", "other", "file"])
        self.assertFalse(any(name.endswith(".part") for name in self.kept()), self.kept())

    def test_all_addresses_are_blamed(self):
        self.urls("gone", "cut")
        told = self.refused()
        self.assertIn("'%s': answers 404; '%s': ended after %d of %d bytes" % (
            self.server.url("gone/codes.caffemodel"), self.server.url("cut/codes.caffemodel"), len(WEIGHTS) // 2, len(WEIGHTS)),
            told)

    def test_a_cut_download_goes_on_where_it_ended(self):
        self.urls("cut")
        self.refused()
        half = len(WEIGHTS) // 2
        self.assertEqual(os.path.getsize(self.kept_path("codes.caffemodel", ".part")), half)
        self.urls("file")
        self.get()
        self.assertEqual(self.asked(), [("cut", None), ("file", "bytes=%d-" % half)])
        self.assertFalse(os.path.exists(self.kept_path("codes.caffemodel", ".part")))

    def test_it_begins_anew_where_a_server_has_no_parts(self):
        self.urls("cut")
        self.refused()
        self.urls("whole")
        self.get()
        self.assertEqual([how for how, _ in self.asked()], ["cut", "whole", "whole"])

    def test_a_wrong_part_is_thrown_away(self):
        for part in (b"x" * 1000, b"x" * len(WEIGHTS), b"x" * (len(WEIGHTS) + 1)):
            with self.subTest(part=len(part)):
                self.urls("gone")
                self.refused()
                with open(self.kept_path("codes.caffemodel", ".part"), "wb") as file:
                    file.write(part)
                self.urls("file")
                self.get()
                for path in (self.output, self.kept_path("codes.caffemodel")):
                    os.unlink(path)

    def test_more_bytes_are_not_taken(self):
        for how in ("more", "endless"):
            self.urls(how)
            self.assertIn("has more than the %d bytes that the list says" % len(WEIGHTS), self.refused())
            self.assertTrue(all(size <= len(WEIGHTS) for size in self.kept().values()), self.kept())

    def test_fewer_bytes_are_refused_with_both_numbers(self):
        self.urls("less")
        self.assertIn("ended after %d of %d bytes" % (len(WEIGHTS) - 1, len(WEIGHTS)), self.refused())

    def test_a_silent_server_is_given_up(self):
        self.urls("silent")
        told = self.refused("--timeout", "1")
        self.assertIn("Operation too slow", told)
        self.server.left.wait()

    def test_redirects_are_followed_but_not_for_ever(self):
        self.urls("to/file")
        self.get()
        os.unlink(self.output)
        os.unlink(self.kept_path("codes.caffemodel"))
        self.urls("to/to/to/to/to/to/file")
        self.assertIn("redirect", self.refused())
        self.urls("loop")
        self.assertIn("redirect", self.refused())
        self.assertEqual(sum(how == "loop" for how, _ in self.asked()), 6)

    def test_redirects_lead_to_the_web_only(self):
        self.urls("away")
        self.assertIn("file", self.refused())
        self.assertFalse(any("caffemodel" in name and size for name, size in self.kept().items()), self.kept())

    def test_the_proxy_is_asked(self):
        self.urls("file")
        models = read(self.models).decode().replace(self.server.url(""), "http://models.invalid/")
        with open(self.models, "w", encoding="utf-8") as file:
            file.write(models)
        self.assertIn("models.invalid", self.refused())
        self.get(http_proxy=self.server.url(""))
        self.assertEqual(self.server.proxied, ["http://models.invalid/file/" + name for name in FILES])

    def test_files_are_taken_from_a_folder(self):
        self.urls("gone")
        self.get("--from", FOLDER)
        self.assertEqual(self.server.asked, [])
        os.unlink(self.output)
        self.get()  # now they are in the cache
        self.assertEqual(self.server.asked, [])

    def test_other_files_are_not_taken(self):
        self.urls("file")
        one = os.path.join(self.place.name, "codes.caffemodel")
        self.assertIn("codes.prototxt, codes.caffemodel", self.refused("--from", one))
        self.assertIn("codes.prototxt", self.refused("--from", self.place.name))
        for data, why in ((WEIGHTS[:-1], "has %d bytes, and 'codes.caffemodel' has %d" % (len(WEIGHTS) - 1, len(WEIGHTS))),
                          (b"x" + WEIGHTS[1:], "has the SHA-256")):
            with open(one, "wb") as file:
                file.write(data)
            with open(os.path.join(self.place.name, "codes.prototxt"), "wb") as file:
                file.write(FILES["codes.prototxt"])
            self.assertIn(why, self.refused("--from", self.place.name))
        self.assertEqual(self.server.asked, [])

    def test_a_damaged_cache_is_mended(self):
        self.urls("file")
        self.get()
        with open(self.kept_path("codes.caffemodel"), "r+b") as file:
            file.write(b"x")
        os.unlink(self.output)
        done = self.run_get("codes", "-o", self.output)
        self.assertEqual(done.returncode, 0)
        self.assertIn("it is removed", done.stderr)
        self.assertEqual(read(self.kept_path("codes.caffemodel")), WEIGHTS)

    def test_links_in_the_cache_are_not_followed(self):
        victim = os.path.join(self.place.name, "victim")
        self.urls("gone")
        self.refused()
        for ending in ("", ".part"):
            with open(victim, "w", encoding="utf-8") as file:
                file.write("mine")
            link = self.kept_path("codes.caffemodel", ending)
            if os.path.lexists(link):
                os.unlink(link)
            os.symlink(victim, link)
            self.urls("file")
            self.assertIn(link, self.refused())
            self.assertEqual(read(victim), b"mine")
            os.unlink(link)
        # Nor is the folder.
        folder = os.path.dirname(link)
        os.rename(folder, folder + ".old")
        os.symlink(self.place.name, folder)
        self.assertIn("the cache cannot be opened", self.refused())

    def test_two_do_not_write_one_file(self):
        import fcntl
        self.urls("gone")
        self.refused()
        with open(self.kept_path("codes.caffemodel", ".part"), "wb") as part:
            fcntl.flock(part, fcntl.LOCK_EX)
            self.urls("file")
            self.assertIn("another dvnet is fetching it", self.refused())
        self.get()

    def test_lists_of_others_cannot_reach_out(self):
        self.urls("file")
        model = json.loads(read(self.models))["codes"]
        def changed(**fields):
            return {"codes": {**model, **fields}}
        def with_file(**fields):
            return changed(files=[{**model["files"][0], **fields}])
        cases = ((changed(convert={"emit-cpp": "/tmp"}), "no option 'emit-cpp'"), (changed(convert={"labels": "/etc/passwd"}), "'labels'"),
                 (changed(convert={"mean": 1}), "1 is no text"), (changed(convert=[]), "convert"),
                 (with_file(name="../codes"), "name"), (with_file(name="/etc/passwd"), "name"), (with_file(name=".x"), "name"),
                 (with_file(name=""), "name"), (with_file(sha256="0" * 63), "sha256"), (with_file(sha256="A" * 64), "sha256"),
                 (with_file(bytes=0), "bytes"), (with_file(bytes=2 ** 40), "bytes"), (with_file(bytes="1"), "bytes"),
                 (with_file(urls=[]), "urls"), (with_file(urls=["file:///etc/passwd"]), "file:///etc/passwd"),
                 (with_file(urls=["ftp://x/y"]), "ftp://x/y"), (with_file(urls=["http://a:b@x/y"]), "a:b@x"),
                 (with_file(urls=["http://x/ y"]), "urls"), (with_file(urls=[3]), "urls"), (with_file(mode=7), "no field 'mode'"),
                 (changed(files=[]), "files"), (changed(files=[1]), "file 0"), (changed(licence=""), "licence"),
                 (changed(finds="\x1b[2J"), "finds"), (changed(more=1), "no field 'more'"), ({"../x": model}, "name"),
                 ({"codes": 3}, "codes"), ([model], "object of models"), (3, "object of models"))
        for models, why in cases:
            self.write(models)
            told = self.refused()
            self.assertIn(why, told)
            self.assertIn(self.models, told)
        with open(self.models, "w", encoding="utf-8") as file:
            file.write("{")
        self.assertIn(self.models, self.refused())
        os.unlink(self.models)
        self.assertIn(self.models, self.refused())
        self.assertEqual(self.server.asked, [])

    def test_mistakes_of_the_command_line(self):
        self.urls("file")
        for args, why in ((["--list"], "--output is for one model"), (["--finds", "x"], "--finds is for --list"),
                          (["another"], "needs the name of one model"), (["--timeout", "0"], "--timeout 0 is not in 1..3600")):
            self.assertIn(why, self.refused(*args, status=2))
        for args, why in ((["--list", "codes"], "--list takes no name"), ([], "needs the name of one model"),
                          (["--list", "--size", "0"], "--size 0 is not above 0"),
                          (["--list", "--size", "nan"], "--size nan is not above 0"),
                          (["--list", "--time", "0"], "--time 0 is not above 0"),
                          (["--list", "--from", "x"], "--from is for one model")):
            done = self.run_get(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(why, done.stderr)
        done = self.run_get("another")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no model 'another' (known: codes)", done.stderr)

    def test_the_list_is_filtered(self):
        def names(*args):
            done = self.run_get("--list", "--json", *args, models=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return {row["name"]: row for row in json.loads(done.stdout)}
        every = names()
        self.assertGreater(len(every), 10)
        for args, wants in ((["--finds", "FACE"], lambda row: "face" in row["finds"]),
                            (["--licence", "mit"], lambda row: row["licence"] == "MIT"),
                            (["--time", "5"], lambda row: row["board_ms"] is not None and row["board_ms"] <= 5),
                            (["--size", "1"], lambda row: sum(file["bytes"] for file in row["files"]) <= 1e6),
                            (["--finds", "face", "--size", "0.5"],
                             lambda row: "face" in row["finds"] and sum(file["bytes"] for file in row["files"]) <= 5e5)):
            wanted = {name for name, row in every.items() if wants(row)}
            self.assertEqual(set(names(*args)), wanted)
            self.assertTrue(0 < len(wanted) < len(every), args)
        printed = self.run_get("--list", "--licence", "MIT", models=False).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in printed[1:]], list(names("--licence", "MIT")))
        none = self.run_get("--list", "--finds", "unicorn", models=False)
        self.assertEqual(none.returncode, 1)
        self.assertIn("none of %d models" % len(every), none.stderr)

    def test_every_model_of_the_list_converts_and_finds_what_is_there(self):
        if not os.path.isdir(os.path.join(DATA, "zoo")):
            self.skipTest("there is no " + DATA)
        rows = json.loads(self.run_get("--list", "--json", models=False).stdout)
        self.assertEqual({row["name"] for row in rows}, set(FOUND))
        for row in share_of(rows):
            with self.subTest(model=row["name"]):
                folder = os.path.join(self.place.name, row["name"])
                os.mkdir(folder)
                for file in row["files"]:
                    name = OWN.get(file["name"], file["name"])
                    places = [os.path.join(DATA, of, name) for of in ("zoo", "models")]
                    os.symlink(next(place for place in places if os.path.exists(place)), os.path.join(folder, file["name"]))
                picture, wanted = FOUND[row["name"]]
                done = self.run_get(row["name"], "--from", folder, "--try", os.path.join(DATA, picture), models=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                told = json.loads(subprocess.check_output([DVNET, "inspect", row["name"] + ".dvn", "--estimate", "--json"],
                                                          cwd=self.place.name))["device_share"]
                estimate = told["device_ms"] + told["cpu_ms"]
                print("%s: %.1f ms" % (row["name"], estimate))
                # The list has tenths of a millisecond.
                self.assertLessEqual(abs(row["board_ms"] - estimate), 0.051, "board_ms is %.1f" % estimate)
                found = done.stdout.split(os.path.basename(picture) + "\n")[1]
                self.assertIn(wanted, found, done.stdout)
                print("%s: %s" % (row["name"], next(line for line in found.splitlines() if wanted in line).strip()))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
