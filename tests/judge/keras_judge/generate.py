# SPDX-License-Identifier: Apache-2.0
"""A model from a seed and a number."""
import numpy as np

from . import idioms, layers, windows  # noqa: F401  (they fill the tables)
from .dialects import DIALECTS
from .model import Net, Unfit
from .table import IDIOMS, LAYERS, NOT_TRIED, WRITTEN_FOR


def random_input(net):
    """Returns an image, a sequence or numbers, exact in binary16."""
    form = net.int(0, 9)
    if form <= 6:
        sides = [net.choose([4, 5, 7, 8, 9, 12, 16, 16, 17, 20, 24, 32]) for _ in range(2)]
        if net.chance(0.05):
            sides = net.choose([[1, 40], [40, 1], [2, 30], [1, 1]])
        shape = (1, *sides, net.choose([1, 3, 3, 3, 3, 4, 8]))
    elif form <= 8:
        shape = (1, net.choose([1, 4, 8, 9, 16, 20, 32, 60]), net.choose([1, 2, 3, 3, 4, 8]))
    else:
        shape = (1, net.choose([1, 2, 4, 8, 10, 16, 33]))
    kind = net.int(0, 3)
    values = net.rng.random(shape) if kind == 0 else net.rng.integers(0, 256, shape) if kind == 1 else net.rng.standard_normal(shape)
    x = net.add_input(values.astype(np.float16).astype(np.float32))
    if kind == 1:
        if net.dialect.number == 1:
            raise Unfit
        net.add('Rescaling', [x], {'scale': 1 / 127.5 if net.chance(0.5) else 1 / 255, 'offset': net.choose([0.0, -1.0])})


def extend(net):
    """Adds one layer or one idiom, or nothing; returns whether it did."""
    mark = net.mark()
    try:
        if net.chance(0.3):
            net.choose(IDIOMS)(net)
        else:
            kind = net.choose(sorted(LAYERS))
            if kind not in net.dialect.kinds:
                raise Unfit
            net.choose(LAYERS[kind])(net, kind)
        return True
    except Unfit:
        net.undo(mark)
        return False


def generate(seed, number):
    rng = np.random.default_rng([seed, number])
    while True:
        dialect = DIALECTS[int(rng.integers(len(DIALECTS)))](rng)
        net = Net(rng, dialect, sequential=bool(rng.random() < 0.25))
        try:
            random_input(net)
            wanted, misses = net.int(1, 9), 0
            while wanted > 0 and misses < 80:
                if extend(net):
                    wanted -= 1
                else:
                    misses += 1
            net.choose_outputs()
            if dialect.number == 1:
                dialect.write(net)  # not every model can be written in every dialect
            return net
        except Unfit:
            continue


def unknown_classes(names):
    """Returns the importer's classes that no model has and NOT_TRIED does not explain, and the judge's that the
    importer lacks."""
    known = set(LAYERS) | set(WRITTEN_FOR) | set(NOT_TRIED)
    # The table has classes for sequences under the names of those for pictures.
    ours = {kind for kind in known if '1D' not in kind or kind == 'SpatialDropout1D'}
    return sorted(set(names) - known), sorted(ours - set(names))
