#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet evaluate on sequences: its figures of random tracks are those of track_rules.py; and a network's tracks of a drawn
sequence are those that a GStreamer pipeline with dvtrack gives.

    check_tracks.py DVNET NETWORK.dvn
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import drawn_pictures as drawn  # noqa: E402
import printed  # noqa: E402

try:
    from track_rules import Sums, counted  # noqa: E402
except ImportError as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

DVNET, NETWORK = sys.argv[1:3]
SAME = 1e-9
ALIKE = (2, 7, 8, 12)  # the challenge's classes that are ignored
RATE = 10


def evaluate(data, *args, found=NETWORK):
    command = [DVNET, "evaluate", found, "--data", data, "--json", "--samples", "0", *args]
    return json.loads(subprocess.check_output(command))


def expect(own, wanted, what):
    for name, value in wanted.items():
        assert abs(own[name] - value) < SAME, "%s: %s is %r, and not %r" % (what, name, own[name], value)


# --- random tracks ------------------------------------------------------------------------------------------------------------

def random_sequence(rng, classes):
    """Lines of the truth and of what was found, by frame: number, box, counts or confidence, class."""
    things = [(n, rng.choice(classes), rng.uniform(0, 400), rng.uniform(0, 300), rng.uniform(-6, 6), rng.uniform(15, 80),
               rng.uniform(20, 120)) for n in rng.sample(range(1, 500), rng.randint(1, 9))]
    names = {n: 1000 + i for i, (n, *_) in enumerate(things)}
    truth, found = [], []
    for frame in range(rng.randint(1, 40)):
        truth.append([])
        found.append([])
        for n, kind, x, y, speed, width, height in things:
            if rng.random() < 0.1:
                continue
            box = (round(x + speed * frame, 2), round(y, 2), round(width, 2), round(height, 2))
            truth[-1].append((n, box, int(rng.random() < 0.9), kind))
            if rng.random() < 0.05:
                names[n] = rng.choice([*names.values(), rng.randint(2000, 3000)])
            if rng.random() < 0.75 and names[n] not in [t for t, *_ in found[-1]]:
                off = [round(v + rng.gauss(0, rng.choice((0, 2, 12))), 2) for v in box]
                found[-1].append((names[n], (off[0], off[1], max(1, off[2]), max(1, off[3])), rng.random(), kind))
            # Another track on the same thing: which of the two fits better changes from frame to frame.
            if n % 3 == 0 and rng.random() < 0.8:
                off = [round(v + rng.gauss(0, 3), 2) for v in box]
                found[-1].append((4000 + n, (off[0], off[1], max(1, off[2]), max(1, off[3])), rng.random(), kind))
        if rng.random() < 0.2:
            found[-1].append((rng.randint(5000, 5005), (rng.uniform(0, 400), rng.uniform(0, 300), 30, 40), 0.5, classes[0]))
    return truth, found


def write_lines(path, frames):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    rows = ["%d,%d,%s,%r,%d,1\n" % (i + 1, n, ",".join(map(repr, box)), value, kind)
            for i, frame in enumerate(frames) for n, box, value, kind in frame]
    random.Random(len(rows)).shuffle(rows)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(rows)


def of_class(frames, wanted):
    return [[(n, box) for n, box, value, kind in frame if wanted(value, kind)] for frame in frames]


def challenge(truth, found):
    """By the challenge's rules: the frames that are compared."""
    people = of_class(truth, lambda counts, kind: counts and kind == 1)
    others = of_class(truth, lambda counts, kind: kind not in (1, *ALIKE) or kind == 1 and not counts)
    ignored = of_class(truth, lambda counts, kind: kind in ALIKE)
    return people, counted(people, of_class(found, lambda *_: True), others, ignored)


def check_printed(text, tracking):
    def row(name, of):
        return name, [*(f"{of[column]:.3f}" for column in ("hota", "det_a", "ass_a", "loc_a", "mota", "idf1")),
                      *(str(of[column]) for column in ("switches", "fragments", "missed", "false"))]

    heads = "HOTA DetA AssA LocA MOTA IDF1 switches fragments missed false"
    assert printed.table(text, "tracks", heads) == [row("results", tracking["figures"])], text
    wanted = [row(of["sequence"], of["figures"]) for of in tracking["sequences"]]
    assert printed.table(text, "sequence", heads) == wanted, text
    if len(tracking["classes"]) > 1:
        wanted = [row(of["label"], of["figures"]) for of in tracking["classes"]]
        assert printed.table(text, "class", heads) == wanted, text


def check_random(folder, seed):
    rng = random.Random(seed)
    named = rng.random() < 0.5
    classes = (1, 2, 3) if named else (1, 1, 1, 2, 3, 7, 8, 12)
    data, results = os.path.join(folder, "data"), os.path.join(folder, "results")
    together, by_sequence, by_class = Sums(), {}, {}
    for name in ("b", "a", "c")[:rng.randint(1, 3)]:
        truth, found = random_sequence(rng, classes)
        if not any(truth):
            continue
        write_lines(os.path.join(data, name, "gt", "gt.txt"), truth)
        with open(os.path.join(data, name, "seqinfo.ini"), "w", encoding="utf-8") as file:
            file.write("[Sequence]\nname=%s\nframeRate=%d\nseqLength=%d\nimWidth=640\nimHeight=480\n" % (name, RATE, len(truth)))
        if named:
            with open(os.path.join(data, name, "gt", "labels.txt"), "w", encoding="utf-8") as file:
                file.write("cat\ndog\nfox\n")
        if not named:  # the challenge's results are of one class
            found = [[(n, box, value, -1) for n, box, value, _ in frame] for frame in found]
        write_lines(os.path.join(results, name + ".txt"), found)
        by_sequence[name] = Sums()
        if named:
            pairs = []
            for kind in classes:
                kept = of_class(truth, lambda counts, k, kind=kind: counts and k == kind)
                ignored = of_class(truth, lambda counts, k, kind=kind: not counts and k == kind)
                mine = of_class(found, lambda _, k, kind=kind: k == kind)
                pairs.append((kept, counted(kept, mine, [[]] * len(kept), ignored)))
        else:
            pairs = [challenge(truth, found)]
        for kind, pair in zip(classes, pairs):
            for sums in (together, by_sequence[name], by_class.setdefault(kind, Sums())):
                sums.add(*pair)
    if not by_sequence:
        return 0
    text, report = printed.evaluated(DVNET, "evaluate", results, "--data", data, "--samples", "0")
    own = report["networks"][0]
    check_printed(text, own["tracking"])
    assert "detection" not in own, "tracks have no confidence to draw a curve of"
    expect(own["tracking"]["figures"], together.figures(), "seed %d" % seed)
    assert [of["sequence"] for of in own["tracking"]["sequences"]] == sorted(by_sequence)
    for of in own["tracking"]["sequences"]:
        expect(of["figures"], by_sequence[of["sequence"]].figures(), "seed %d, %s" % (seed, of["sequence"]))
    assert [of["label"] for of in own["tracking"]["classes"]] == (["cat", "dog", "fox"] if named else ["person"])
    for of, kind in zip(own["tracking"]["classes"], classes):
        expect(of["figures"], by_class[kind].figures(), "seed %d, %s" % (seed, of["label"]))
    return 1


# --- a drawn sequence ---------------------------------------------------------------------------------------------------------

def draw_sequence(folder, frames=40):
    """Two markers and a barcode that go their ways; the view turns by a few pixels each frame in the second half."""
    rng = np.random.default_rng(5)
    ground = np.kron(rng.integers(150, 200, (40, 60)), np.ones((12, 12)))
    prints = [(1, drawn.marker(rng, 48), (40, 60), (2.5, 1)), (1, drawn.marker(rng, 56), (250, 150), (-2, -1)),
              (0, drawn.barcode(rng, 80, 44), (60, 170), (3, 0))]
    os.makedirs(os.path.join(folder, "img1"))
    lines = []
    for frame in range(frames):
        turned = 2 * max(0, frame - frames // 2)
        pixels = ground[100:100 + drawn.HEIGHT, 100 + turned:100 + turned + drawn.WIDTH].copy()
        for number, (kind, cells, start, speed) in enumerate(prints):
            x, y = (int(round(s + v * frame)) for s, v in zip(start, speed))
            x -= turned
            height, width = cells.shape
            if x < 8 or y < 8 or x + width + 8 > drawn.WIDTH or y + height + 8 > drawn.HEIGHT:
                continue
            pixels[y - 6:y + height + 6, x - 6:x + width + 6] = 235
            pixels[y:y + height, x:x + width] = 40 + 195 * cells
            lines.append("%d,%d,%d,%d,%d,%d,1,%d,1\n" % (frame + 1, number + 1, x, y, width, height, kind + 1))
        noisy = np.clip(pixels + rng.normal(0, 3, pixels.shape), 0, 255).astype(np.uint8)
        with open(os.path.join(folder, "img1", "%06d.ppm" % (frame + 1)), "wb") as file:
            file.write(b"P6\n%d %d\n255\n" % (drawn.WIDTH, drawn.HEIGHT) + np.repeat(noisy[..., None], 3, 2).tobytes())
    os.makedirs(os.path.join(folder, "gt"))
    with open(os.path.join(folder, "gt", "gt.txt"), "w", encoding="utf-8") as file:
        file.writelines(lines)
    with open(os.path.join(folder, "gt", "labels.txt"), "w", encoding="utf-8") as file:
        file.write("".join(name + "\n" for name in drawn.NAMES))
    with open(os.path.join(folder, "seqinfo.ini"), "w", encoding="utf-8") as file:
        file.write("[Sequence]\nframeRate=%d\nseqLength=%d\nimWidth=%d\nimHeight=%d\nimExt=.ppm\n"
                   % (RATE, frames, drawn.WIDTH, drawn.HEIGHT))


def pipeline_tracks(folder):
    """What dvpublish writes behind dvtrack, a document for each frame."""
    documents, raw = (os.path.join(os.path.dirname(folder), name) for name in ("documents.json", "frames.bgr"))
    with open(raw, "wb") as file:
        for name in sorted(os.listdir(os.path.join(folder, "img1"))):
            with open(os.path.join(folder, "img1", name), "rb") as picture:
                file.write(picture.read()[-3 * drawn.WIDTH * drawn.HEIGHT:])  # gray: RGB is BGR
    subprocess.run(["gst-launch-1.0", "-q", "filesrc", "location=" + raw, "!", "rawvideoparse", "format=bgr",
                    "width=%d" % drawn.WIDTH, "height=%d" % drawn.HEIGHT, "framerate=%d/1" % RATE, "!", "dvconvert", "!",
                    "dvinfer",
                    "network=" + NETWORK, "device=soft", "!", "dvdecode", "threshold=0.1", "!", "dvtrack",
                    "labels=" + ",".join(drawn.NAMES), "!", "dvpublish", "location=" + documents, "!", "fakesink"],
                   check=True, timeout=250)
    with open(documents, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def check_pixels(folder):
    data = os.path.join(folder, "belt")
    os.makedirs(data)
    draw_sequence(data)
    own = evaluate(data)["networks"][0]
    print("drawn sequence: HOTA %(hota).3f, MOTA %(mota).3f, IDF1 %(idf1).3f" % own["tracking"]["figures"])
    assert own["tracking"]["figures"]["hota"] > 0.6 and own["detection"]["figures"]["ap50"] > 0.8, own["tracking"]["figures"]
    # The same from the detections alone, which have no pixels in which a camera could be seen.
    command = [DVNET, "run", NETWORK, os.path.join(data, "img1"), "--json", "--threshold", "0.05"]
    lines = []
    for text in subprocess.check_output(command).decode().splitlines():
        told = json.loads(text)
        for one in told["detections"]:
            if one["label"] in drawn.NAMES:
                x0, y0, x1, y1 = (min(1, max(0, v)) * s for v, s in zip(one["box"], (drawn.WIDTH, drawn.HEIGHT) * 2))
                lines.append("%d,-1,%r,%r,%r,%r,%r,%d\n" % (int(os.path.splitext(told["image"])[0]), x0, y0, x1 - x0, y1 - y0,
                                                            one["conf"], drawn.NAMES.index(one["label"]) + 1))
    os.makedirs(os.path.join(data, "det"))
    with open(os.path.join(data, "det", "det.txt"), "w", encoding="utf-8") as file:
        file.writelines(lines)
    pixels = evaluate(data, "--track", "camera=static")["networks"][0]["tracking"]
    boxes = evaluate(data, "--track", "camera=static", found="det/det.txt")["networks"][0]["tracking"]
    for name, value in pixels["figures"].items():
        assert abs(value - boxes["figures"][name]) < 1e-4, (name, value, boxes["figures"][name])
    other = evaluate(data, "--track", "min-evidence=30")["networks"][0]["tracking"]["figures"]
    assert other["missed"] > own["tracking"]["figures"]["missed"], "--track changes nothing"
    return data, own["tracking"]["figures"]


def check_pipeline(data, own):
    """The element's tracks, in the challenge's form, have the figures that dvnet evaluate told."""
    needed = ("dvpublish", "dvtrack", "rawvideoparse")
    there = shutil.which("gst-inspect-1.0") and all(
        subprocess.run(["gst-inspect-1.0", element], stdout=subprocess.DEVNULL, check=False).returncode == 0 for element in needed)
    if not there:
        print("without %s: no pipeline to compare with" % ", ".join(needed))
        return
    lines = []
    for number, frame in enumerate(pipeline_tracks(data)):
        for one in frame["objects"]:
            if one.get("track_id") and one["label"] in drawn.NAMES:
                x0, y0, x1, y1 = one["box"]
                lines.append("%d,%d,%r,%r,%r,%r,1,%d\n" % (number + 1, one["track_id"], x0, y0, x1 - x0, y1 - y0,
                                                           drawn.NAMES.index(one["label"]) + 1))
    results = os.path.join(os.path.dirname(data), "piped")
    os.makedirs(results)
    with open(os.path.join(results, "belt.txt"), "w", encoding="utf-8") as file:
        file.writelines(lines)
    piped = evaluate(data, found=results)["networks"][0]["tracking"]["figures"]
    print("through the pipeline: HOTA %(hota).3f, MOTA %(mota).3f, IDF1 %(idf1).3f" % piped)
    for name, value in own.items():
        assert abs(value - piped[name]) < 1e-3, (name, value, piped[name])


def check_refused(data):
    for args, why in ((("--track", "speed=1"), "speed"), (("--track", "max-lost-ms=-1"), "max-lost-ms: -1 is not in 0..3.6e+06"),
                      (("--track", "camera"), "'camera' is not NAME=VALUE")):
        command = [DVNET, "evaluate", NETWORK, "--data", data, *args]
        refused = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        assert refused.returncode == 2 and why in refused.stderr, refused.stderr


def check_no_sequences(folder):
    drawn.write_yolo(folder, range(2))
    command = [DVNET, "evaluate", NETWORK, "--data", folder, "--track", "camera=static"]
    refused = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert refused.returncode == 1 and "--track is of sequences" in refused.stderr, refused.stderr


def main():
    rounds = max(1, 40 // int(os.environ.get("DVNN_TEST_ROUNDS", os.environ.get("DVNN_TEST_BRIEFLY", "1"))))
    begin = 1000 * int(os.environ.get("DVNN_TEST_SEED", "0"))
    done = 0
    for seed in range(begin, begin + rounds):
        with tempfile.TemporaryDirectory() as folder:
            done += check_random(folder, seed)
    print("%d random sets of sequences" % done)
    assert done > 0
    with tempfile.TemporaryDirectory() as folder:
        data, own = check_pixels(folder)
        check_refused(data)
        check_no_sequences(os.path.join(folder, "plain"))
        check_pipeline(data, own)
    return 0


if __name__ == "__main__":
    sys.exit(main())
