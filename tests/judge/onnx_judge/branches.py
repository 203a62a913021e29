# SPDX-License-Identifier: Apache-2.0
"""If, whose condition the input decides. A graph has the nodes of both branches and a Where that chooses, as the judge
computes them; its file has an If, of which ONNX Runtime computes one branch."""
import numpy as np
from onnx import ValueInfoProto, helper, numpy_helper

from .graph import Unfit
from .table import idiom
from .windows import activate, convolve


class Branches:
    """`chosen` has the names of a result, of the then branch's and of the else branch's, for each result."""

    def __init__(self, condition):
        self.condition, self.chosen, self.sides = condition, [], []


def condition_of(g, x):
    """Returns a truth that roundings do not change, without dimensions or with some of length 1."""
    keep = g.int(0, 1)
    number = g.reduce(g.choose(['ReduceMean', 'ReduceMax', 'ReduceMin']), x, list(range(g.rank(x))), keep)
    value = float(g.array(number).ravel()[0])
    away = g.choose([-1, 1]) * (0.2 + 0.3 * abs(value))
    limit = g.number(value + away)
    truth = g.add(g.choose(['Greater', 'Less']), [number, limit])
    if g.chance(0.3):
        truth = g.add('Not', [truth])
    # ONNX Runtime wants one element; the standard allows dimensions.
    return g.reshape(truth, [1]) if keep and g.chance(0.6) else truth


def side(g, x):
    """A branch: a few operators whose result has x's shape."""
    form = g.int(0, 4)
    if form == 0:
        return g.add('Identity', [x])
    if form == 1:
        return g.add(g.choose(['Sigmoid', 'Tanh', 'Relu', 'Neg']), [x])
    if form == 2:
        return g.add('Add', [g.add('Mul', [x, g.number(g.real(0.3, 2))]), g.weights(g.shape(x)[-1:], 0.5)])
    if form == 3:
        return g.constant(g.rng.standard_normal(g.shape(x)).astype(np.float16).astype(np.float32))
    if g.rank(x) == 4 and g.shape(x)[0] == 1:
        return activate(g, convolve(g, activate(g, convolve(g, x, g.choose([4, 8]))), g.shape(x)[1]))
    c = g.shape(x)[-1]
    if g.rank(x) < 2:
        raise Unfit('no matrix')
    return g.add('MatMul', [x, g.weights((c, c), c ** -0.5)])


@idiom
def branches(g):
    g.need(9)
    x = g.pick(fits=lambda a: 1 < a.size <= 4000)
    made = Branches(condition_of(g, g.choose(g.candidates(lambda a: a.dtype == np.float32 and a.ndim and 0 < a.size <= 4000))))
    results = [[], []]
    for part in results:
        first = len(g.nodes)
        y = side(g, x)
        part += [y, side(g, y)] if g.chance(0.4) else [y]
        made.sides.append([n for node in g.nodes[first:] for n in node.output])
    for a, b in zip(*results):
        if g.shape(a) != g.shape(b):
            raise Unfit('the branches differ')
        whole = g.add('Where', [made.condition, a, b])
        if g.shape(whole) != g.shape(a):
            raise Unfit('the condition has more dimensions')
        made.chosen.append((whole, a, b))
    g.branches.append(made)


def graph_of(g, nodes, results, name):
    """A branch's graph, in which constants are initializers, or Identity copies of the outer graph's."""
    kept, own = list(nodes), {}
    made = {n for node in nodes for n in node.output}
    outputs = []
    for result in results:
        if result not in made or result in outputs:
            copied = '%s_%s%d' % (result, name, len(outputs))
            kept.append(helper.make_node('Identity', [result], [copied]))
            result = copied
        outputs.append(result)
    for node in kept:
        for given in node.input:
            # Some of the constants are the branch's own.
            if given in g.constants and len(given) % 2 == 0:
                own[given + name] = given
    new = {old: fresh for fresh, old in own.items()}
    if len(results[0]) % 2:  # names that the other branch has, too
        new.update((n, 'inner%d' % i) for i, n in enumerate(n for node in kept for n in node.output))
    copies = []
    for node in kept:
        copies.append(type(node)())
        copies[-1].CopyFrom(node)
        for names in (copies[-1].input, copies[-1].output):
            names[:] = [new.get(n, n) for n in names]
    outputs = [new.get(n, n) for n in outputs]
    return helper.make_graph(copies, name, [], [ValueInfoProto(name=n) for n in outputs],
                             [numpy_helper.from_array(np.asarray(g.constants[old]), fresh) for fresh, old in own.items()])


def written(g, nodes, outputs):
    """Returns the nodes with an If in place of each pair of branches that is whole."""
    for pair in g.branches:
        made = {n: node for node in nodes for n in node.output}
        wheres = [made.get(whole) for whole, _, _ in pair.chosen]
        inner = [[made.get(n) for n in names] for names in pair.sides]
        names = {n for side_names in pair.sides for n in side_names}
        own = [node for part in inner for node in part]
        if None in wheres + own or names & set(outputs):
            continue
        if any(list(node.input) != [pair.condition, a, b] for node, (_, a, b) in zip(wheres, pair.chosen)):
            continue
        # Equality of messages is equality of content, so nodes are told apart by what they make.
        inside = {node.output[0] for node in own + wheres}
        if any(names & set(node.input) for node in nodes if node.output[0] not in inside):
            continue
        results = [[a for _, a, _ in pair.chosen], [b for _, _, b in pair.chosen]]
        node = helper.make_node('If', [pair.condition], [whole for whole, _, _ in pair.chosen], name='if_' + pair.chosen[0][0],
                                then_branch=graph_of(g, inner[0], results[0], 'then'),
                                else_branch=graph_of(g, inner[1], results[1], 'else'))
        last = max(i for i, n in enumerate(nodes) if n.output[0] in inside)
        nodes = [n for n in nodes[:last + 1] if n.output[0] not in inside] + [node] + nodes[last + 1:]
    return nodes
