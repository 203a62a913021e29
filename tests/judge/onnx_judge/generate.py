# SPDX-License-Identifier: Apache-2.0
"""A graph from a seed and a number."""
import numpy as np

from . import branches, elementwise, idioms, movement, quantised, transformers, windows  # noqa: F401  (they fill the table)
from .graph import Graph, Unfit
from .table import IDIOMS, NOT_TRIED, OPERATORS

OPSETS = [9, 10, 11, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 19, 20, 20, 21, 22]


def random_input(g):
    """Returns an image or numbers, exact in binary16, so that the rounding of the input does not matter."""
    form = g.int(0, 9)
    if form <= 6:
        sides = [g.choose([4, 5, 7, 8, 9, 12, 16, 16, 17, 20, 24, 32]) for _ in range(2)]
        if g.chance(0.05):
            sides = g.choose([[1, 96], [96, 1], [2, 70], [40, 48], [1, 2047], [1, 2048], [2, 2050], [1030, 2]])
        shape = (1, g.choose([1, 3, 3, 3])) + tuple(sides)
        if g.chance(0.1) and min(sides) >= 16:
            shape = (1,) + tuple(sides) + (shape[1],)  # as tf2onnx writes it
    elif form == 7:
        # Four dimensions that are not an image.
        shape = (1, g.choose([2, 5, 8, 16, 20, 24, 64]), g.int(1, 14), g.int(1, 14))
    else:
        shape = tuple(g.int(1, 12) for _ in range(g.int(1, 5)))
    kind = g.int(0, 4)
    if kind == 0:
        values = g.rng.random(shape)
    elif kind == 1:
        values = g.rng.integers(0, 256, shape)
    else:
        values = g.rng.standard_normal(shape)
    g.set_input(values.astype(np.float16).astype(np.float32))
    if kind == 1 and len(shape) == 4 and shape[1] <= 3:
        g.add('Mul', ['x', g.number(1 / 255)]) if g.chance(0.5) else g.add('Div', ['x', g.number(255.0)])
    if len(shape) == 4 and shape[3] in (1, 3) and shape[1] >= 16 and g.chance(0.8):
        g.transpose('x', [0, 3, 1, 2])


def extend(g, without):
    """Adds one operator or one idiom, or nothing."""
    mark = g.mark()
    try:
        if g.chance(0.3):
            make, given = g.choose(IDIOMS), ()
        else:
            name = g.choose(sorted(OPERATORS))
            make, given = g.choose(OPERATORS[name]), (name,)
        if make.__name__ in without:
            raise Unfit('is left out')
        make(g, *given)
        return True
    except Unfit:
        g.undo(mark)
        return False


def choose_outputs(g):
    """Chooses the outputs: all values without a reader, and sometimes a value that has one."""
    moved = depends_on_input(g)
    read = g.readers()
    made = [n for node in g.nodes for n in node.output if n and n in moved]
    g.outputs = [n for n in made if n not in read]
    # Second results of a node without readers (indices of maxima, means) are mostly not outputs.
    if len(g.outputs) > 6:
        g.outputs = g.outputs[-6:]
    inner = [n for n in made if n in read]
    if inner and g.chance(0.25):
        g.outputs += [n for n in g.shuffled(inner)[:g.int(1, 2)] if n not in g.outputs]
    if not g.outputs:
        raise Unfit('nothing depends on the input')


def depends_on_input(g):
    moved = {g.input}
    for node in g.nodes:
        # A Shape is known without the picture.
        if node.op_type not in ('Shape', 'Size') and any(name in moved for name in node.input):
            moved.update(node.output)
    return moved


def prune(g):
    """Removes nodes that no output needs."""
    needed = set(g.outputs)
    kept = []
    for node in reversed(g.nodes):
        if any(name in needed for name in node.output):
            kept.insert(0, node)
            needed.update(node.input)
    g.nodes = kept


def generate(seed, number, without=()):
    rng = np.random.default_rng([seed, number])
    while True:
        g = Graph(rng, OPSETS[int(rng.integers(len(OPSETS)))])
        try:
            g.nodes_hold_constants = g.chance(0.1)
            random_input(g)
            wanted, misses = g.int(1, 9), 0
            while wanted > 0 and misses < 60:
                if extend(g, without):
                    wanted -= 1
                else:
                    misses += 1
            choose_outputs(g)
            prune(g)
            return g
        except Unfit:
            continue


def unknown_operators(names):
    """Returns the names, as NAME or DOMAIN.NAME, that no graph has and NOT_TRIED does not explain."""
    return sorted(set(names) - set(OPERATORS) - set(NOT_TRIED)), sorted((set(OPERATORS) | set(NOT_TRIED)) - set(names))
