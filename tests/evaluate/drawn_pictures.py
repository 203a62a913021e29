# SPDX-License-Identifier: Apache-2.0
"""Pictures of markers and barcodes whose boxes are known, and their annotations in each form that dvnet evaluate reads."""
import json
import os

import numpy as np

WIDTH, HEIGHT = 320, 240
NAMES = ("barcode", "marker")
BARCODE, MARKER = 0, 1


def marker(rng, side):
    """A square of 8 x 8 cells with a dark border."""
    cells = rng.integers(0, 2, (8, 8))
    cells[0] = cells[-1] = 0
    cells[:, 0] = cells[:, -1] = 0
    return np.kron(cells, np.ones((side // 8 + 1,) * 2))[:side, :side]


def barcode(rng, width, height):
    bars = np.repeat(np.arange(200) % 2, rng.integers(1, 4, 200))[:width]
    return np.tile(bars, (height, 1))


def texture(rng, width, height):
    """Things that are neither: stripes that are too wide, boxes, noise."""
    kind = rng.integers(0, 3)
    if kind == 0:
        return np.tile(np.arange(width) // 12 % 2, (height, 1))
    if kind == 1:
        return np.zeros((height, width))
    return rng.integers(0, 2, (height, width))


def picture(seed):
    """Gray, HEIGHT x WIDTH; and its objects: class, x, y, width, height in pixels."""
    rng = np.random.default_rng(seed)
    ground = rng.integers(120, 230)
    pixels = np.full((HEIGHT, WIDTH), float(ground))
    objects, taken = [], []
    for _ in range(rng.integers(1, 5)):
        kind = int(rng.integers(0, 3))
        width = int(rng.integers(24, 90))
        height = width if kind == MARKER else int(rng.integers(20, 60))
        x, y = int(rng.integers(6, WIDTH - width - 6)), int(rng.integers(6, HEIGHT - height - 6))
        if any(x < u + s + 14 and u < x + width + 14 and y < v + t + 14 and v < y + height + 14 for u, v, s, t in taken):
            continue
        taken.append((x, y, width, height))
        print_of = (barcode(rng, width, height), marker(rng, width) if kind == MARKER else None,
                    texture(rng, width, height))[kind]
        dark, light = ground - rng.integers(30, 110), ground + rng.integers(0, 25)
        pixels[y - 5:y + height + 5, x - 5:x + width + 5] = light
        pixels[y:y + height, x:x + width] = dark + (light - dark) * print_of
        if kind < 2:
            objects.append((kind, x, y, width, height))
    pixels += rng.normal(0, rng.uniform(1, 14), pixels.shape)
    return np.clip(pixels, 0, 255).astype(np.uint8), objects


def write_pictures(folder, seeds):
    """Writes PICTURE.pgm for each seed; returns name and objects of each."""
    os.makedirs(folder, exist_ok=True)
    drawn = []
    for seed in seeds:
        pixels, objects = picture(seed)
        name = "%06d" % seed
        with open(os.path.join(folder, name + ".pgm"), "wb") as file:
            file.write(b"P5\n%d %d\n255\n" % (WIDTH, HEIGHT) + pixels.tobytes())
        drawn.append((name, objects))
    return drawn


def write_yolo(folder, seeds):
    drawn = write_pictures(os.path.join(folder, "images"), seeds)
    os.makedirs(os.path.join(folder, "labels"))
    with open(os.path.join(folder, "data.yaml"), "w") as file:
        file.write("# drawn\npath: .\nval: images\nnames:\n" + "".join("  %d: %s\n" % pair for pair in enumerate(NAMES)))
    for name, objects in drawn:
        with open(os.path.join(folder, "labels", name + ".txt"), "w") as file:
            for kind, x, y, width, height in objects:
                middle = ((x + width / 2) / WIDTH, (y + height / 2) / HEIGHT, width / WIDTH, height / HEIGHT)
                file.write("%d %.17g %.17g %.17g %.17g\n" % (kind, *middle))
    return drawn


def write_coco(folder, seeds):
    drawn = write_pictures(os.path.join(folder, "drawn"), seeds)
    os.makedirs(os.path.join(folder, "annotations"))
    annotations = [{"id": i + 1, "image_id": image, "category_id": kind + 7, "bbox": [x, y, w, h], "area": w * h, "iscrowd": 0}
                   for i, (image, (kind, x, y, w, h)) in enumerate((image, o) for image, (_, objects) in enumerate(drawn)
                                                                    for o in objects)]
    images = [{"id": i, "file_name": name + ".pgm", "width": WIDTH, "height": HEIGHT} for i, (name, _) in enumerate(drawn)]
    with open(os.path.join(folder, "annotations", "instances_drawn.json"), "w") as file:
        json.dump({"images": images, "annotations": annotations,
                   "categories": [{"id": i + 7, "name": name} for i, name in enumerate(NAMES)]}, file)
    return drawn


def write_voc(folder, seeds):
    drawn = write_pictures(os.path.join(folder, "JPEGImages"), seeds)
    os.makedirs(os.path.join(folder, "Annotations"))
    for name, objects in drawn:
        with open(os.path.join(folder, "Annotations", name + ".xml"), "w") as file:
            file.write("<annotation><filename>%s.pgm</filename>" % name)
            for kind, x, y, width, height in objects:
                file.write("<object><name>%s</name><difficult>0</difficult><bndbox><xmin>%d</xmin><ymin>%d</ymin><xmax>%d</xmax>"
                           "<ymax>%d</ymax></bndbox></object>" % (NAMES[kind], x + 1, y + 1, x + width, y + height))
            file.write("</annotation>")
    return drawn
