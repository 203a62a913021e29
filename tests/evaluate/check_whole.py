#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet evaluate on texts and on identities: the figures are those that their definitions give for what dvnet run prints.

    check_whole.py DVNET TEST_DATA

TEST_DATA has LPRNet and MobileFaceNet, and pictures; without them there is nothing to do.
"""
import functools
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

try:
    import cv2
except ImportError:
    print("skipped: needs python3-opencv")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import printed  # noqa: E402

DVNET, DATA = sys.argv[1:3]
ZOO = os.path.join(DATA, "zoo")
PLATES, FACES = os.path.join(ZOO, "LPRNet.onnx"), os.path.join(ZOO, "mobilefacenet.onnx")


def evaluate(network, folder, *args):
    done = subprocess.run([DVNET, "evaluate", network, "--data", folder, "--json", *args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout)["networks"][0] if done.returncode == 0 else done.stderr


def run(network, *pictures):
    """What dvnet run prints of pictures, in their order."""
    out = subprocess.check_output([DVNET, "run", network, *pictures, "--json"], text=True)
    return [(json.loads(line)["detections"] or [{}])[0] for line in out.splitlines()]


def convert(model, preset, to):
    subprocess.check_call([DVNET, "convert", model, "--preset", preset, "-o", to], stdout=subprocess.DEVNULL)


def distorted(picture, seed):
    """A picture in worse light, less sharp, shifted and with noise."""
    random = np.random.default_rng(seed)
    height, width = picture.shape[:2]
    moved = np.float32([[1, 0, random.uniform(-0.06, 0.06) * width], [0, 1, random.uniform(-0.06, 0.06) * height]])
    picture = cv2.warpAffine(picture, moved, (width, height), borderMode=cv2.BORDER_REPLICATE)
    picture = cv2.GaussianBlur(picture, (0, 0), random.uniform(0.1, 2.5))
    noisy = picture * random.uniform(0.3, 1.5) + random.normal(0, random.uniform(1, 40), picture.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def distance(a, b):
    """The edit distance, as its recursion defines it."""
    @functools.lru_cache(None)
    def of(i, j):
        if i == 0 or j == 0:
            return i + j
        return min(of(i - 1, j) + 1, of(i, j - 1) + 1, of(i - 1, j - 1) + (a[i - 1] != b[j - 1]))
    return of(len(a), len(b))


def check_texts(folder):
    network, data = os.path.join(folder, "plates.dvn"), os.path.join(folder, "plates")
    convert(PLATES, "lprnet", network)
    os.makedirs(os.path.join(data, "words"))
    plate = cv2.imread(os.path.join(ZOO, "golden", "LPRNet.png"))
    pictures = [os.path.join(data, "words", f"{i:02}.png") for i in range(12)]
    for i, path in enumerate(pictures):
        cv2.imwrite(path, distorted(plate, i) if i else plate)
    read = [one.get("text", "") for one in run(network, *pictures)]
    # Two words, one of which is not on the plate; and of some plates what is read counts as the truth.
    truth = [read[0] + " K7"] + [read[i if i % 3 == 1 else 0] for i in range(1, 12)]
    forms = {"rec_gt.txt": "\n".join(f"words/{os.path.basename(p)}\t{t}" for p, t in zip(pictures, truth)),
             "gt.txt": "\ufeff" + "".join(f"words/{os.path.basename(p)}, \"{t}\"\r\n" for p, t in zip(pictures, truth))}
    for name, text in forms.items():
        with open(os.path.join(data, name), "w", newline="") as out:
            out.write(text)
        text, report = printed.evaluated(DVNET, "evaluate", network, "--data",
                                         data if name == "rec_gt.txt" else os.path.join(data, name))
        told = report["networks"][0]["reading"]
        shares = [printed.share(told[share]) for share in ("exact", "cer", "wer")]
        assert printed.table(text, "texts", "exact", "CER", "WER", "CER, 95 % of samples") == [
            ("plates.dvn", ["12", *shares, printed.interval(told["intervals"]["cer"])])], text
        misread = [f"  {os.path.basename(m['picture'])}: '{m['is']}', read: '{m['read']}'" for m in told["misread"]]
        assert text.split(f"\n{len(misread)} misread:\n")[1].splitlines() == misread[:8], (text, misread)
        assert told["texts"] == 12 and told["exact"] == sum(r == t for r, t in zip(read, truth)) / 12, told
        edits = sum(distance(r, t) for r, t in zip(read, truth))
        assert told["cer"] == edits / sum(len(t) for t in truth), (told, edits)
        edits = sum(distance(tuple(r.split()), tuple(t.split())) for r, t in zip(read, truth))
        assert told["wer"] == edits / 13, (told, edits)
        assert told["intervals"]["cer"][0] <= told["cer"] <= told["intervals"]["cer"][1], told
        assert [m["read"] for m in told["misread"]] == [r for r, t in zip(read, truth) if r != t], told
    assert 0 < told["exact"] < 11 / 12, "all plates are read alike, so nothing was tested"
    print(f"plates: exact {told['exact']:.3f}, CER {told['cer']:.3f}, WER {told['wer']:.3f}")
    with open(os.path.join(data, "rec_gt.txt"), "a") as out:
        out.write("\nno tab\n")
    refused = evaluate(network, data)
    assert "rec_gt.txt', line 13" in refused and "a tab" in refused, refused
    return network, data


def reidentified(embeddings, identities):
    """Ranks of the first right picture, and average precisions, of queries that have another picture."""
    units = np.array([np.float64(e) / np.linalg.norm(np.float64(e)) for e in embeddings])
    ranks, precisions = [], []
    for q, of in enumerate(identities):
        others = [i for i in range(len(identities)) if i != q]
        others.sort(key=lambda i: -(units[q] @ units[i]))
        right = [place for place, i in enumerate(others, 1) if identities[i] == of]
        if right:
            ranks.append(right[0])
            precisions.append(np.mean([n / place for n, place in enumerate(right, 1)]))
    return ranks, precisions


def accepted(embeddings, identities, share, threshold):
    """Shares of pairs of one identity, and of two, that a threshold accepts; and the next larger cosine of two."""
    units = np.array([np.float64(e) / np.linalg.norm(np.float64(e)) for e in embeddings])
    pairs = [(identities[i] == identities[j], units[i] @ units[j]) for i in range(len(units)) for j in range(i)]
    same, others = ([c for s, c in pairs if s == which] for which in (True, False))
    right, wrong = (np.mean(np.float32(of) >= np.float32(threshold)) for of in (same, others))
    assert wrong <= share < wrong + 1.5 / len(others), (share, wrong, len(others))
    return right, len(same), len(others)


def check_identities(folder):
    network, data = os.path.join(folder, "faces.dvn"), os.path.join(folder, "people")
    convert(FACES, "mobilefacenet", network)
    people = cv2.imread(os.path.join(DATA, "images", "12_angry_men.jpg"))
    pictures, identities = [], []
    # Parts of a photograph stand for people; the last one has no other picture of itself.
    for person in range(9):
        x, y = 40 * person, 30 * (person % 3)
        for n in range(6 if person < 8 else 1):
            os.makedirs(os.path.join(data, f"person {person}"), exist_ok=True)
            pictures.append(os.path.join(data, f"person {person}", f"{n}.png"))
            cv2.imwrite(pictures[-1], distorted(people[y:y + 112, x:x + 112], 100 * person + n))
            identities.append(person)
    embeddings = [one["embedding"] for one in run(network, *pictures)]
    text, report = printed.evaluated(DVNET, "evaluate", network, "--data", data)
    told = report["networks"][0]["embeddings"]
    assert printed.table(text, "queries", "rank 1", "rank 5", "mAP") == [
        ("faces.dvn", [str(told["queries"]), *(printed.share(told[name]) for name in ("rank1", "rank5", "map"))])], text
    assert f"{network}: {told['same_pairs']} pairs of one identity, {told['other_pairs']} of two\n" in text, text
    rates = [line.split() for line in text.split("true accepts    cosine\n")[1].splitlines()]
    assert rates == [[f"{rate['false_accepts']:g}", f"{rate['true_accepts']:.4f}", f"{rate['threshold']:.4f}"]
                     for rate in told["rates"]], text
    ranks, precisions = reidentified(embeddings, identities)
    assert told["queries"] == len(ranks) == 48, told
    assert abs(told["rank1"] - np.mean(np.array(ranks) <= 1)) < 1e-12, told
    assert abs(told["rank5"] - np.mean(np.array(ranks) <= 5)) < 1e-12, told
    # Printed embeddings have fewer digits than cosines that decide an order.
    assert abs(told["map"] - np.mean(precisions)) < 1e-3, (told, np.mean(precisions))
    assert 0.2 < told["map"] < 0.99 and told["rank1"] < 1, "people are told apart too well for a test"
    assert [rate["false_accepts"] for rate in told["rates"]] == [0.1, 0.01, 0.001], told
    for rate in told["rates"]:
        right, same, others = accepted(embeddings, identities, rate["false_accepts"], rate["threshold"])
        assert (same, others) == (told["same_pairs"], told["other_pairs"]) == (120, 1056), told
        assert abs(right - rate["true_accepts"]) < 0.02, (rate, right)
    print(f"identities: rank 1 {told['rank1']:.3f}, mAP {told['map']:.3f}, rates {told['rates']}")
    return network, data


def main():
    if not (os.path.exists(PLATES) and os.path.exists(FACES)):
        print("without LPRNet and MobileFaceNet there is nothing to do")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        plates, texts = check_texts(folder)
        faces, people = check_identities(folder)
        refused = evaluate(plates, people)
        assert "gives no embedding" in refused, refused
        for network, data in ((plates, people), (faces, people)):
            refused = evaluate(network, data, "--keep")
            assert "--keep" in refused, refused
        page = os.path.join(folder, "page.html")
        evaluate(faces, people, "--html", page)
        assert '"rank1"' in open(page).read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
