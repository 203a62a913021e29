#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet enrol: the gallery that it writes, and the mistakes that it tells, from embeddings that dvnet run prints. What it
proposes on one half of the pictures is held against the other half.

    check_enrol.py DVNET TEST_DATA

TEST_DATA has MobileFaceNet; without it there is nothing to do. The pictures are made: one of smooth random colours for each
"person", which each look dims, shifts and covers with noise. With --detector, a photograph's surest face is enrolled as
NumPy cuts it out: by its five points or, of a detector without them, by its box.
"""
import base64
import json
import os
import stat
import subprocess
import sys
import tempfile

import numpy as np

DVNET, DATA = sys.argv[1:3]
MODEL = os.path.join(DATA, "zoo", "mobilefacenet.onnx")
SIDE, PEOPLE, LOOKS = 112, 8, 4
SEED = int.from_bytes(os.urandom(4), "little")


def person(rng):
    coarse = rng.uniform(0, 255, (7, 7, 3))
    return np.kron(coarse, np.ones((SIDE // 7, SIDE // 7, 1)))


def look(rng, of):
    seen = np.roll(of, tuple(rng.integers(-4, 5, 2)), (0, 1)) * rng.uniform(0.7, 1) + rng.normal(0, 20, of.shape)
    return np.clip(seen, 0, 255).astype(np.uint8)


def write(path, pixels):
    with open(path, "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (pixels.shape[1], pixels.shape[0]) + pixels.tobytes())


def draw(folder, people, rng):
    for number, of in enumerate(people):
        own = os.path.join(folder, "person %d" % number)
        os.makedirs(own)
        for i in range(LOOKS):
            write(os.path.join(own, "%d.ppm" % i), look(rng, of))


def enrol(*args):
    done = subprocess.run([DVNET, "enrol", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 and "--json" in args else (done.returncode, done.stdout, done.stderr)


def embeddings(network, folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        own = os.path.join(folder, name)
        lines = subprocess.check_output([DVNET, "run", network, own, "--json", "--apart"], text=True).splitlines()
        vectors = np.array([json.loads(line)["detections"][0]["embedding"] for line in lines])
        found[name] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


def mistakes(known, looks, threshold, margin, one_out):
    """Shares of known looks without their name, and of strangers with one: the plain definition."""
    rejected, accepted, count = 0, 0, 0
    for name, vectors in looks.items():
        for number, vector in enumerate(vectors):
            best = {}
            for other, theirs in known.items():
                alike = theirs @ vector
                if one_out and other == name:
                    alike = np.delete(alike, number)
                if alike.size:
                    best[other] = alike.max()
            for stranger in (False, True):
                order = sorted((value, other) for other, value in best.items() if not (stranger and other == name))
                has_name = order[-1][0] >= threshold and order[-1][0] - order[-2][0] >= margin
                accepted += has_name and stranger
                rejected += not stranger and not (has_name and order[-1][1] == name)
            count += 1
    return rejected, accepted, count


# ArcFace's places of the eyes, the nose and the corners of the mouth, in 112 x 112 pixels.
ARCFACE = np.array([[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]])


def cut_out(pixels, face):
    """A face as the network is shown it: by its points or, without them, its box in whole pixels."""
    size = np.array(pixels.shape[1::-1])
    if "points" not in face:
        (left, top), (right, bottom) = low, high = np.round(np.array(face["box"]).reshape(2, 2) * size).astype(int)
        return warped(pixels[top:bottom, left:right], np.column_stack([np.diag(SIDE / (high - low)), [0, 0]]))
    # Turned, scaled and shifted nearest to ARCFACE (least squares).
    rows, wanted = [], []
    for (x, y), place in zip(np.array(face["points"])[:, :2] * size, ARCFACE):
        rows += [[x, -y, 1, 0], [y, x, 0, 1]]
        wanted += list(place)
    a, b, right, down = np.linalg.lstsq(np.array(rows), np.array(wanted), rcond=None)[0]
    return warped(pixels, np.array([[a, -b, right], [b, a, down]]))


def warped(pixels, matrix):
    """What the matrix brings to SIDE x SIDE pixels, with colours that are interpolated between the middles of four."""
    middles = np.stack(np.meshgrid(np.arange(SIDE) + 0.5, np.arange(SIDE) + 0.5), -1)
    at = (middles - matrix[:, 2]) @ np.linalg.inv(matrix[:, :2]).T - 0.5
    first = np.floor(at).astype(int)
    part = at - first
    seen = np.zeros((SIDE, SIDE, 3))
    for down in (0, 1):
        for right in (0, 1):
            x = np.clip(first[..., 0] + right, 0, pixels.shape[1] - 1)
            y = np.clip(first[..., 1] + down, 0, pixels.shape[0] - 1)
            weight = np.abs(1 - right - part[..., 0]) * np.abs(1 - down - part[..., 1])
            seen += weight[..., None] * pixels[y, x]
    return np.round(seen).astype(np.uint8)


def check_detectors(network, folder):
    model, photograph = (os.path.join(DATA, name) for name in ("zoo/yunet_n_320_320.onnx", "images/mssdface_people.jpg"))
    if not (os.path.exists(model) and os.path.exists(photograph)):
        return
    with_points, without, people, gallery = (os.path.join(folder, name) for name in ("p.dvn", "b.dvn", "people", "p.jsonl"))
    convert = [DVNET, "convert", model, "--preset", "yunet", "--size", "640x480"]
    subprocess.check_call([*convert, "-o", with_points], stdout=subprocess.DEVNULL)
    ends = [f"{part}_{stride}" for part in ("cls", "obj", "bbox") for stride in (8, 16, 32)]
    subprocess.check_call([*convert, "--outputs", ",".join(ends), "--decoder-params", '{"parts": ["scores", "objectness", "boxes"], '
                           '"point_count": null, "skeleton": null}', "-o", without], stdout=subprocess.DEVNULL)
    # NumPy reads no JPEG, and a network's input is a picture in B, G, R.
    subprocess.check_call([DVNET, "run", with_points, photograph, "--dump", folder], stdout=subprocess.DEVNULL)
    seen = np.load(os.path.join(folder, os.path.basename(photograph) + ".input.npy"))[0]
    pixels = np.round(seen[::-1].transpose(1, 2, 0)).astype(np.uint8)
    ada, cut = os.path.join(people, "Ada"), os.path.join(folder, "cut", "Ada")
    for of in (ada, cut):
        os.makedirs(of)
    write(os.path.join(ada, "a.ppm"), pixels)
    write(os.path.join(ada, "nobody.ppm"), np.zeros_like(pixels))
    for detector in (with_points, without):
        told = enrol(network, people, "--detector", detector, "-o", gallery, "--json")
        assert (told["pictures"], told["left_out"]) == (1, 1), told
        found = json.loads(subprocess.check_output([DVNET, "run", detector, os.path.join(ada, "a.ppm"), "--json"]))
        face = found["detections"][0]
        assert ("points" in face) == (detector == with_points), face
        write(os.path.join(cut, "a.ppm"), cut_out(pixels, face))
        with open(gallery) as file:
            vector = np.frombuffer(base64.b64decode(json.loads(file.readlines()[1])["vectors"]), "<f4")
        cosine = float(vector @ embeddings(network, os.path.dirname(cut))["Ada"][0])
        print("%s: cosine %.5f" % (os.path.basename(detector), cosine))
        assert cosine > 0.999, cosine
    for args, message in ((("--detector", with_points, "--size", "320x320"), "--size would be"),
                          (("--detector", network), "that finds: attributes; it must find boxes")):
        status, _, error = enrol(network, people, *args)
        assert status != 0 and message in error, (args, error)


def main():
    if not os.path.exists(MODEL):
        print("without MobileFaceNet there is nothing to do")
        return 77
    print("seed %d" % SEED)
    rng = np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as folder:
        network, first, second, gallery = (os.path.join(folder, name) for name in ("faces.dvn", "first", "second", "g.jsonl"))
        subprocess.check_call([DVNET, "convert", MODEL, "--preset", "mobilefacenet", "-o", network], stdout=subprocess.DEVNULL)
        people = [person(rng) for _ in range(PEOPLE)]
        draw(first, people, rng)
        draw(second, people, rng)
        told = enrol(network, first, "-o", gallery, "--accepts", "0.2", "--json")
        assert (told["people"], told["pictures"], told["length"], told["alone"]) == (PEOPLE, PEOPLE * LOOKS, 128, 0), told
        # The file has the vectors that dvnet run prints, and nobody else may read it.
        assert stat.S_IMODE(os.stat(gallery).st_mode) == 0o600
        with open(gallery) as file:
            head, *lines = map(json.loads, file)
        assert head["dvnn-gallery"] == 1 and head["length"] == 128 and head["network"] == "faces.dvn", head
        chosen = told["proposal"]
        assert (head["threshold"], head["margin"]) == (chosen["threshold"], chosen["margin"]), head
        known = embeddings(network, first)
        assert sorted(line["name"] for line in lines) == sorted(known)
        for line in lines:
            vectors = np.frombuffer(base64.b64decode(line["vectors"]), "<f4").reshape(LOOKS, 128)
            assert np.abs(vectors - known[line["name"]]).max() < 1e-5, line["name"]
        # The curve is the plain definition's, and so is the proposal.
        for row in told["curve"] + [chosen]:
            rejected, accepted, count = mistakes(known, known, row["threshold"] + 1e-9, row["margin"], True)
            assert abs(row["rejects"]["count"] + row["wrong"]["count"] - rejected) <= 1, (row, rejected)
            assert abs(row["accepts"]["count"] - accepted) <= 1 and row["accepts"]["of"] == count, (row, accepted)
            low, high = row["accepts"]["interval"]
            assert low <= accepted / count + 0.05 and high >= accepted / count - 0.05, row
        assert chosen["reached"] and chosen["accepts"]["interval"][1] <= 0.2, chosen
        # On the second half it holds as far as it says.
        rejected, accepted, count = mistakes(known, embeddings(network, second), head["threshold"], head["margin"], False)
        print("threshold %.2f, margin %.2f; second half: %d of %d rejected, %d accepted" % (
            head["threshold"], head["margin"], rejected, count, accepted))
        assert accepted / count <= 0.2, accepted
        # More people are added; one who has a single picture is told.
        more = os.path.join(folder, "more")
        os.makedirs(os.path.join(more, "Ada"))
        write(os.path.join(more, "Ada", "a.ppm"), look(rng, person(rng)))
        told = enrol(network, more, "-o", gallery, "--add", "--json")
        assert (told["people"], told["pictures"], told["alone"]) == (PEOPLE + 1, PEOPLE * LOOKS + 1, 1), told
        assert not told["proposal"]["reached"]
        status, text, _ = enrol(network, first)
        assert status == 0 and "Proposed: threshold=" in text and "cannot show" in text and "Written" not in text, text
        # A person whose folder cannot be read, here as its path is too long, is not left out of the gallery without a word.
        deep = os.path.join(folder, *["d" * 200] * 19)
        deep = os.path.join(deep, "d" * (4060 - len(deep)))
        for number in range(PEOPLE):
            os.makedirs(os.path.join(deep, "p%d" % number))
            open(os.path.join(deep, "p%d" % number, "a.ppm"), "w").close()
        inside = os.open(deep, os.O_RDONLY)
        os.mkdir("p" * 60, dir_fd=inside)
        os.close(inside)
        status, _, error = enrol(network, deep)
        assert status != 0 and error.count("\n") == 1 and "picture" not in error, error[-200:]  # the rest of so long a line is cut
        check_detectors(network, folder)
        # What is wrong is told.
        for args, message in (
                ((network,), "needs a network and a folder"), ((network, folder + "/none"), "cannot be read"),
                ((network, os.path.join(first, "person 0")), "NAME/*.jpg"), ((network, first, "--accepts", "1"), "is not in 0..1"),
                ((network, first, "--add"), "--output"), ((network, first, "--add", "-o", network), "faces.dvn'")):
            status, _, error = enrol(*args)
            assert status != 0 and message in error and len(error.strip().splitlines()) == 1, (args, error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
