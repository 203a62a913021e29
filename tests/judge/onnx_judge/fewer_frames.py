# SPDX-License-Identifier: Apache-2.0
"""Reduces a graph with a memory as far as its finding stays the same."""
import copy

import numpy as np
from judging import descend

from .graph import Unfit, make_model, session_of
from .memory import write
from .minimise import renamed, sort
from .sequence import judge_frames

MOST_TRIES = 400


def needed_parts(nodes, outputs, states):
    """Returns the nodes, and the states, that the outputs need."""
    needed, kept, carried = set(outputs), [], []
    for _ in range(len(states) + 1):  # a state needs what makes its next value
        kept = []
        for node in reversed(nodes):
            if any(name in needed for name in node.output if name):
                kept.insert(0, node)
                needed.update(node.input)
        carried = [s for s in states if s.name in needed]
        needed.update(s.value for s in carried)
    return kept, carried, needed


def size(g):
    """Returns what a smaller graph has less of, the most important first."""
    makers = [k for k, node in enumerate(g.nodes) if set(node.output) & set(g.outputs)]
    return len(g.nodes), len(g.states) + len(g.streams), len(g.outputs), len(g.folded), g.frames, max(makers)


def smaller(g, nodes, outputs, constants=None, gone=(), frames=None):
    """Builds a graph of these nodes, in which the inputs `gone` are constants, and computes one frame of it."""
    small = copy.copy(g)
    small.rng = copy.deepcopy(g.before_writing)
    small.frames = frames or g.frames
    small.constants = dict(g.constants, **(constants or {}))
    small.constants.update({name: g.values[name] for name in gone})
    small.streams = {n: a[:small.frames] for n, a in g.streams.items() if n not in gone}
    states = [copy.copy(s) for s in g.states if s.name not in gone]
    small.nodes, small.states, needed = needed_parts(nodes, outputs, states)
    if nodes is not g.nodes or len(small.nodes) < len(nodes):
        small.folded = []  # loops are written node by node
    small.outputs = list(outputs)
    small.constants = {n: a for n, a in small.constants.items() if n in needed}
    small.streams = {n: a for n, a in small.streams.items() if n in needed or n == g.input}
    if g.input not in needed or not small.nodes or not small.states:
        raise Unfit('nothing comes from the frame, or nothing is carried')
    small.values = {n: g.values[n] for n in list(small.streams) + [s.name for s in small.states]}
    made = [n for node in small.nodes for n in node.output if n]
    model = make_model(small.nodes, small.feeds(), {n: None for n in made}, small.constants, g.opset)
    try:
        results = session_of(model).run(made, small.feeds())
    except Exception as error:
        raise Unfit(str(error)) from error
    small.values.update(zip(made, map(np.asarray, results)))
    small.values.update(small.constants)
    if any(small.shape(s.name) != small.shape(s.value) for s in small.states):
        raise Unfit('a state changes its shape')
    if size(small) >= size(g):
        raise Unfit('is no smaller')
    small.written = write(small)
    return small


def carrying(g, state, name):
    """Builds the graph in which the state takes another value."""
    other = copy.copy(g)
    other.states = [copy.copy(s) for s in g.states]
    next(s for s in other.states if s.name == state.name).value = name
    return smaller(other, list(other.nodes), other.outputs)


def fewer(g):
    """Yields smaller graphs, the boldest first."""
    for frames in sorted({2, g.frames // 2, g.frames - 1} & set(range(2, g.frames))):
        yield lambda n=frames: smaller(g, g.nodes, g.outputs, frames=n)
    if g.folded:
        yield lambda: smaller(g, list(g.nodes), g.outputs)
    for name in g.outputs if len(g.outputs) > 1 else []:
        yield lambda n=name: smaller(g, g.nodes, [n])
    for name in [n for n in g.streams if n != g.input] + ([s.name for s in g.states] if len(g.states) > 1 else []):
        yield lambda n=name: smaller(g, list(g.nodes), g.outputs, gone=[n])
    for node in g.nodes[:-1]:
        for name in node.output:
            if name and name not in g.outputs and g.values[name].dtype == np.float32:
                yield lambda n=name: smaller(g, g.nodes, [n])
    for state in g.states:
        for name, array in g.values.items():
            if name not in (state.value, state.name) and array.shape == g.shape(state.name):
                yield lambda s=state, n=name: carrying(g, s, n)
    for k, node in enumerate(g.nodes):
        others = g.nodes[:k] + g.nodes[k + 1:]
        for name in node.output:
            if not name or name in g.outputs or name in [s.value for s in g.states]:
                continue
            for given in node.input:
                array = g.values.get(given)
                if array is not None and array.shape == g.values[name].shape and array.dtype == g.values[name].dtype:
                    yield lambda n=name, i=given, o=others: smaller(g, renamed(o, n, i), g.outputs)
            yield lambda n=name, o=others: smaller(g, renamed(o, n, n + '_k'), g.outputs, {n + '_k': g.values[n]})


def minimise_frames(g, device, options, verdict):
    """Returns the smallest graph found, and its verdict."""
    return descend(g, verdict, fewer, lambda small: judge_frames(small, device, options), sort, Exception, MOST_TRIES)
