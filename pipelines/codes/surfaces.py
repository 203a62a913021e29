# SPDX-License-Identifier: Apache-2.0
"""Photograph-like surfaces of the clip: cardboard, tape, film, paper, rubber, all drawn from a seed.

Pictures are float32 BGR of 0..255. Sizes are texture pixels, PER_UNIT of them to a unit of the scene,
which is about a pixel of the clip.
"""
import cv2
import numpy as np

from backgrounds import clouds

PER_UNIT = 2
FIBRE_LENGTH, FIBRE_ANGLES = 13, (0, 35, 90, 150)  # pixels, degrees


def _line_kernel(length, degrees):
    kernel = np.zeros((length, length), np.float32)
    reach = (length - 1) / 2
    across = np.array((np.cos(np.radians(degrees)), np.sin(np.radians(degrees)))) * reach
    cv2.line(kernel, tuple(int(round(v)) for v in reach - across), tuple(int(round(v)) for v in reach + across), 1)
    return kernel / kernel.sum()


def _fibres(rng, width, height):
    """Noise combed in some directions; its standard deviation is about 1."""
    out = np.zeros((height, width), np.float32)
    for degrees in FIBRE_ANGLES:
        noise = rng.standard_normal((height, width), np.float32)
        out += cv2.filter2D(noise, -1, _line_kernel(FIBRE_LENGTH, degrees), borderType=cv2.BORDER_REFLECT)
    return out / out.std()


def relief(height_map, depth):
    """How light falls on a height map from the upper left: 1 is flat."""
    dx = cv2.Sobel(height_map, cv2.CV_32F, 1, 0, ksize=3)
    dy = cv2.Sobel(height_map, cv2.CV_32F, 0, 1, ksize=3)
    return 1 + np.tanh((dx * 0.6 + dy * 0.8) * np.float32(depth)) * np.float32(0.5)


def _edge_distance(width, height):
    x = np.minimum(np.arange(width), np.arange(width)[::-1]).astype(np.float32)
    y = np.minimum(np.arange(height), np.arange(height)[::-1]).astype(np.float32)
    return np.minimum(x[None], y[:, None])


def cardboard(rng, width, height, colour, raw=1.0):
    """Paper over flutes: fibres, specks, mottling, dents, worn edges; raw is 1 for kraft paper, less for coated."""
    picture = np.empty((height, width, 3), np.float32)
    picture[:] = colour
    picture += _fibres(rng, width, height)[..., None] * np.float32(3.2 * raw)
    for cells, strength in ((5, 5), (18, 3), (70, 2.5)):
        picture += clouds(rng, width, height, cells, strength * raw, grey=True)
    flutes = np.sin(np.arange(width, dtype=np.float32) * np.float32(2 * np.pi / 9))[None]
    fade = np.clip(clouds(rng, width, height, 6, 1, grey=True)[..., 0], 0, 2)
    picture += (flutes * fade * np.float32(1.6 * raw))[..., None]
    specks = np.zeros((height, width), np.float32)
    for _ in range(width * height // 900):
        start = rng.uniform((0, 0), (width, height))
        end = start + rng.normal(0, 5, 2)
        cv2.line(specks, tuple(int(v) for v in start), tuple(int(v) for v in end), float(rng.uniform(-1, 0.7)), 1,
                 cv2.LINE_AA)
    picture += specks[..., None] * np.float32(14 * raw)
    dents = clouds(rng, width, height, 9, 1, grey=True)[..., 0] + clouds(rng, width, height, 3, 2, grey=True)[..., 0]
    picture *= relief(dents, 0.7 * raw)[..., None]
    far = _edge_distance(width, height) + clouds(rng, width, height, 60, 0.7, grey=True)[..., 0]
    picture *= (1 + 0.13 * np.exp(-np.square((far - 3) / 2.5)) - 0.10 * np.exp(-np.square((far - 10) / 6)))[..., None]
    return picture


def seam(rng, picture, at):
    """Where two flaps meet: a dark gap with a bright lip, along the picture at a height."""
    y = np.arange(picture.shape[0], dtype=np.float32)[:, None]
    wander = clouds(rng, picture.shape[1], 2, 8, 0.5, grey=True)[0, :, 0][None]
    away = y - at - wander
    picture *= (1 - 0.5 * np.exp(-np.square(away / 1.6)) + 0.14 * np.exp(-np.square((away - 4) / 2))
                - 0.08 * np.exp(-np.square((away + 6) / 6)))[..., None].astype(np.float32)


def tape(rng, picture, y0, y1, colour, strength):
    """Packing tape along the picture: a film with streaks of gloss, bright and shaded at its edges."""
    part = picture[y0:y1]
    height, width = part.shape[:2]
    film = part * (1 - strength) + np.array(colour, np.float32) * np.float32(strength)
    streaks = clouds(rng, width, height, 3, 1, grey=True)[..., 0]
    streaks *= np.linspace(0.4, 1, height, dtype=np.float32)[:, None]
    wrinkles = clouds(rng, width, height, width // 45, 1, grey=True)[..., 0]
    wrinkles += clouds(rng, width, height, width // 7, 0.12, grey=True)[..., 0]
    film *= relief(wrinkles, 0.5)[..., None]
    film += np.clip(streaks, 0, None)[..., None] * np.float32(20)
    far = np.minimum(np.arange(height), np.arange(height)[::-1]).astype(np.float32)[:, None, None]
    film += np.float32(26) * np.exp(-np.square((far - 1) / 1.2)) - np.float32(14) * np.exp(-np.square((far - 5) / 3))
    part[:] = film
    for edge, step in ((y0, -1), (y1, 1)):  # its own small shadow
        rows = slice(max(0, edge - 3), edge) if step < 0 else slice(edge, min(picture.shape[0], edge + 4))
        picture[rows] *= np.float32(0.9)


def film(rng, width, height, colour):
    """A mailing bag of plastic: creases that shine."""
    ridges = np.zeros((height, width), np.float32)
    for cells, strength in ((4, 7), (9, 3.2), (22, 1.1)):
        ridges += np.abs(clouds(rng, width, height, cells, strength, grey=True)[..., 0])
    light = relief(ridges, 1.1)
    picture = np.empty((height, width, 3), np.float32)
    picture[:] = colour
    picture *= (0.55 + 0.45 * light)[..., None]
    picture += (np.clip(light - 1.17, 0, None) * 170)[..., None]
    picture += clouds(rng, width, height, 60, 1.5, grey=True)
    far = _edge_distance(width, height)
    return picture * (1 - 0.35 * np.exp(-far / 7) - 0.16 * np.exp(-far / 30))[..., None]


def paper(rng, width, height, colour=(236, 240, 241)):
    """A label's paper: nearly white, faintly uneven."""
    picture = np.empty((height, width, 3), np.float32)
    picture[:] = colour
    picture += rng.standard_normal((height, width, 1), np.float32) * np.float32(1.2)
    return picture + clouds(rng, width, height, 5, 2, grey=True)


def rubber(rng, width, height):
    """A conveyor's belt: woven rubber with dust and scuffs along its way."""
    y, x = np.indices((height, width), np.float32)
    weave = np.sin(x * np.float32(2 * np.pi / 8)) * np.sin(y * np.float32(2 * np.pi / 8))
    picture = np.empty((height, width, 3), np.float32)
    picture[:] = (74, 72, 69)
    picture += (weave * 2.4)[..., None] + rng.standard_normal((height, width, 1), np.float32) * np.float32(2.2)
    along = cv2.resize(rng.standard_normal((height // 3, max(2, width // 200)), np.float32), (width, height),
                       interpolation=cv2.INTER_CUBIC)
    picture += along[..., None] * np.float32(2.0)
    picture += clouds(rng, width, height, 24, 2.0, grey=True) + clouds(rng, width, height, 7, 2.5, grey=True)
    scuffs = np.zeros((height, width), np.float32)
    for _ in range(width // 36):
        start = rng.uniform((0, 0), (width, height))
        end = start + (rng.uniform(20, 190), rng.normal(0, 3))
        cv2.line(scuffs, tuple(int(v) for v in start), tuple(int(v) for v in end), float(rng.uniform(0.2, 1)),
                 int(rng.integers(1, 4)), cv2.LINE_AA)
    return picture + (cv2.GaussianBlur(scuffs, (0, 0), 1.2) * 10)[..., None]


def ink(rng, picture, mask, colour, cover=0.9):
    """Prints through a mask of 0..1: not quite opaque, and thinner in places."""
    height, width = mask.shape
    thin = np.clip(1 - np.abs(clouds(rng, width, height, 140, 0.05, grey=True)[..., 0]), 0, 1)
    alpha = (mask * thin * np.float32(cover))[..., None]
    picture[:] = picture * (1 - alpha) + np.array(colour, np.float32) * alpha
