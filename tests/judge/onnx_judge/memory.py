# SPDX-License-Identifier: Apache-2.0
"""Random graphs with a memory: some inputs are states, which the next frame takes from what this one makes."""
import copy

import numpy as np
from onnx import TensorProto, helper

from .graph import Graph, Unfit, make_model

OPSETS = [11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 19, 20, 21, 22]
# Names that the converter finds by itself (docs/converter.md): of the input, and of the output.
NAMINGS = [('m%di', 'm%do'), ('m%d', 'm%dN'), ('m%d', 'm%dn'), ('m%d0', 'm%dn'), ('m%d_in', 'm%d_out'),
           ('in_m%d', 'out_m%d'), ('past_m%d', 'present_m%d'), ('m%d', 'new_m%d')]


class State:
    """`value` is what the next frame takes; `is_open`: the file does not say the dimensions."""

    def __init__(self, name):
        self.name, self.value, self.is_open = name, None, False


class Written:
    """The model's file: `states` are outputs by their inputs, `results` the outputs of the converted network, `options`
    those that convert it, and `values` the graph's names of results. `whole` is the file with all states among its
    outputs."""

    def __init__(self):
        self.model = self.whole = None
        self.options, self.states, self.results, self.values = [], {}, [], {}


class MemoryGraph(Graph):
    """Nodes are those of one frame, with loops unrolled: `folded` has the nodes that stand for ranges of them."""

    def __init__(self, rng, opset):
        super().__init__(rng, opset)
        self.frames = self.int(4, 9)
        self.streams, self.states, self.folded = {}, [], []

    def stream(self, name, shape):
        """Adds an input that each frame brings, exact in binary16."""
        frames = self.rng.standard_normal((self.frames,) + tuple(shape))
        if self.chance(0.5):  # as in a video, frames are like those before
            frames = np.cumsum(frames, axis=0) / np.sqrt(np.arange(1, self.frames + 1)).reshape((-1,) + (1,) * len(shape))
        self.streams[name] = frames.astype(np.float16).astype(np.float32)
        self.values[name] = self.streams[name][-1]
        return name

    def state(self, shape):
        name = self.name('s')
        self.values[name] = (self.rng.standard_normal(shape) / 2).astype(np.float16).astype(np.float32)
        self.states.append(State(name))
        return name

    def carry(self, name, value):
        if self.shape(name) != self.shape(value):
            raise Unfit('a state changes its shape')
        next(s for s in self.states if s.name == name).value = value

    def feeds(self):
        return {name: self.values[name] for name in list(self.streams) + [s.name for s in self.states]}

    def fold(self, first, node):
        self.folded.append((first, len(self.nodes), node))

    def written_nodes(self):
        nodes, at = [], 0
        for first, end, node in self.folded:
            nodes += self.nodes[at:first] + [node]
            at = end
        return nodes + self.nodes[at:]


def renamed(node, names):
    other = type(node)()
    other.CopyFrom(node)
    for field in (other.input, other.output):
        field[:] = [names.get(n, n) for n in field]
    for attribute in other.attribute:
        if attribute.HasField('g'):
            inner = [renamed(n, names) for n in attribute.g.node]
            del attribute.g.node[:]
            attribute.g.node.extend(inner)
    return other


def name_states(g, usual):
    """Returns new names of values, those of each state's input and output, and the Identity nodes that make outputs of
    values that cannot have another name."""
    nodes = g.written_nodes()
    made = {n for node in nodes for n in node.output}
    before, after = g.choose(NAMINGS)
    names, pairs, copies, inner = {}, [], [], set()
    for k, state in enumerate(g.states):
        given, taken = (before % k, after % k) if usual else (state.name, 'next_of_%d' % k)
        names[state.name] = given
        if not usual and state.value in made and g.chance(0.5):
            taken = state.value  # need not be an output of the file
            inner.add(state.value)
        elif state.value in made and state.value not in inner | set(names) | set(g.outputs) and g.chance(0.7):
            names[state.value] = taken
        else:
            copies.append(helper.make_node('Identity', [state.value], [taken]))
        pairs.append((state, given, taken))
    nodes = [renamed(node, names) for node in nodes + copies]
    return nodes, names, [(state, given, names.get(taken, taken)) for state, given, taken in pairs]


def state_option(g, state, given, taken):
    # Where the file does not say the size, the option does, or the reader finds it out.
    says = state.is_open and g.chance(0.5)
    return 'state=%s=%s%s' % (taken, given, ':' + 'x'.join(map(str, g.shape(state.name))) if says else '')


def write(g):
    """Returns the graph as a file, with names for its states that the converter finds, or is given."""
    written = Written()
    usual = g.chance(0.5)
    nodes, names, pairs = name_states(g, usual)
    written.states = {given: taken for _, given, taken in pairs}
    if not usual:
        written.options = [state_option(g, *pair) for pair in pairs]
    written.options += ['live=%s' % name for name in g.streams if name != g.input]
    own = [names.get(n, n) for n in g.outputs]
    written.values = {taken: state.value for state, _, taken in pairs}
    written.values.update(zip(own, g.outputs))
    inner = [] if usual else [t for t in written.states.values() if not t.startswith('next_of')]
    listed = own + [t for t in written.states.values() if t not in inner + own]
    written.results = [n for n in listed if n not in written.states.values()] or listed
    if g.chance(0.3):
        written.results = own + [n for n in listed if n not in own and g.chance(0.5)]
        written.options += ['output=%s' % name for name in written.results]
    order = list(g.streams) + [s.name for s in g.states]
    inputs = {names.get(n, n): g.values[n] for n in (order if g.chance(0.7) else g.shuffled(order))}
    for field, outputs in (('model', listed), ('whole', listed + [n for n in written.states.values() if n not in listed])):
        model = make_model(nodes, inputs, {n: None for n in outputs}, g.constants, g.opset)
        setattr(written, field, model)
        for info in model.graph.input:
            is_open = any(state.is_open and given == info.name for state, given, _ in pairs)
            for axis, dim in enumerate(info.type.tensor_type.shape.dim if is_open else []):
                dim.dim_param = '%s_%d' % (info.name, axis)
    return written


# --- parts of cells ----------------------------------------------------------------------------------

def conv(g, x, channels, kernel=3, stride=1, groups=1):
    spatial = g.rank(x) - 2
    w = g.weights((channels, g.shape(x)[1] // groups) + (kernel,) * spatial)
    pads = [kernel // 2] * (2 * spatial) if spatial == 2 else [0] * 2
    return g.add('Conv', [x, w, g.weights((channels,), 0.1)], kernel_shape=[kernel] * spatial, pads=pads,
                 strides=[stride] * spatial, group=groups)


def linear(g, x, width):
    y = g.add('MatMul', [x, g.weights((g.shape(x)[-1], width), g.shape(x)[-1] ** -0.5)])
    return g.add('Add', [y, g.weights((width,), 0.1)])


def activation(g, x):
    op = g.choose(['Relu', 'Tanh', 'Sigmoid', 'LeakyRelu', None])
    return g.add(op, [x]) if op else x


def mix(g, gate, one, other):
    """(1 - gate) * one + gate * other."""
    rest = g.add('Sub', [g.number(1.0), gate])
    return g.add('Add', [g.add('Mul', [rest, one]), g.add('Mul', [gate, other])])


# --- cells of pictures: 1xCxHxW to the same ------------------------------------------------------------

def conv_gru(g, x):
    """RobustVideoMatting's: the state's size may be open, and follows the picture's."""
    h = before = g.state(g.shape(x))
    c = g.shape(x)[1]
    if g.chance(0.4):
        g.states[-1].is_open = True
        h = g.add('Expand', [h, g.add('Shape', [x])])
    gates = g.add('Sigmoid', [conv(g, g.add('Concat', [x, h], axis=1), 2 * c)])
    r, z = g.split(gates, [c, c], 1)
    candidate = g.add('Tanh', [conv(g, g.add('Concat', [x, g.add('Mul', [r, h])], axis=1), c)])
    out = mix(g, z, h, candidate)
    g.carry(before, out)
    return out


def conv_gru_of_half(g, x):
    c = g.shape(x)[1]
    if c % 2:
        raise Unfit('an odd number of channels')
    kept, seen = g.split(x, [c // 2, c // 2], 1)
    return g.add('Concat', [kept, conv_gru(g, seen)], axis=1)


def conv_lstm(g, x):
    size, c = g.shape(x), g.shape(x)[1]
    h, cell = g.state(size), g.state(size)
    i, f, o, new = g.split(conv(g, g.add('Concat', [x, h], axis=1), 4 * c), [c] * 4, 1)
    kept = g.add('Mul', [g.add('Sigmoid', [f]), cell])
    after = g.add('Add', [kept, g.add('Mul', [g.add('Sigmoid', [i]), g.add('Tanh', [new])])])
    out = g.add('Mul', [g.add('Sigmoid', [o]), g.add('Tanh', [after])])
    for state, value in g.shuffled([(h, out), (cell, after)]):
        g.carry(state, value)
    return out


def moving_average(g, x):
    s = g.state(g.shape(x))
    rate = g.real(0.2, 0.9)
    out = g.add('Add', [g.add('Mul', [s, g.number(rate)]), g.add('Mul', [x, g.number(1 - rate)])])
    g.carry(s, out)
    return out if g.chance(0.5) else g.add('Sub', [x, out])


def difference(g, x):
    """To the frame before: the state is the value itself, perhaps an input."""
    s = g.state(g.shape(x))
    g.carry(s, x)
    return g.add('Sub', [x, s])


def delay_line(g, x):
    """States that become other states."""
    states = [g.state(g.shape(x)) for _ in range(g.int(2, 3))]
    for state, value in zip(states, [x] + states[:-1]):
        g.carry(state, value)
    return conv(g, g.add('Concat', [x] + states, axis=1), g.shape(x)[1], 1)


def shift(g, x):
    """A part of the channels is that of the frame before, as in temporal shift modules."""
    n, c, h, w = g.shape(x)
    part = max(1, c // 4)
    if c == 1:
        raise Unfit('a single channel')
    moved, rest = g.split(x, [part, c - part], 1)
    s = g.state((n, part, h, w))
    g.carry(s, moved)
    return g.add('Concat', [s, rest], axis=1)


def buffer(g, x):
    """The last frames' features, as channels."""
    n, c, h, w = g.shape(x)
    length = g.int(2, 4)
    s = g.state((n, length * c, h, w))
    both = g.add('Concat', [s, x], axis=1)
    g.carry(s, g.slice(both, [c], [2 ** 31 - 1], [1]))
    return conv(g, both, c, g.choose([1, 3]))


def running_mean(g, x):
    s = g.state((1, g.shape(x)[1], 1, 1))
    mean = g.add('GlobalAveragePool', [x])
    out = g.add('Add', [g.add('Mul', [s, g.number(0.75)]), g.add('Mul', [mean, g.number(0.25)])])
    g.carry(s, out)
    return g.add('Sub', [x, out])


PICTURES = [conv_gru, conv_gru, conv_gru_of_half, conv_lstm, conv_lstm, moving_average, difference, delay_line, shift,
            buffer, running_mean]


# --- cells of sequences: Sx1xF to SxG -------------------------------------------------------------------

def recurrent(g, x):
    """A node of RNN, GRU or LSTM, whose states are single, or parts of one."""
    op = g.choose(['RNN', 'GRU', 'LSTM'])
    steps, _, width = g.shape(x)
    hidden, gates = g.int(2, 20), {'RNN': 1, 'GRU': 3, 'LSTM': 4}[op]
    direction = g.choose(['forward', 'forward', 'forward', 'reverse', 'bidirectional'])
    ways = 2 if direction == 'bidirectional' else 1
    weights = [g.weights((ways, gates * hidden, n), n ** -0.5) for n in (width, hidden)]
    bias = g.weights((ways, 2 * gates * hidden), 0.2) if g.chance(0.8) else ''
    count = 2 if op == 'LSTM' else 1
    one = count == 2 and g.chance(0.4)
    if one:
        whole = g.state((2 * ways, 1, hidden))
        states = g.split(whole, [ways, ways], 0) if g.chance(0.5) else [
            g.slice(whole, [i * ways], [(i + 1) * ways], [0]) for i in range(2)]
    else:
        states = [g.state((ways, 1, hidden)) for _ in range(count)]
    more = {'linear_before_reset': g.int(0, 1)} if op == 'GRU' else {}
    y, *last = g.add(op, [x, *weights, bias, '', *states], 1 + count, hidden_size=hidden, direction=direction, **more)
    if one:
        g.carry(whole, g.add('Concat', last, axis=0))
    else:
        for state, value in zip(states, last):
            g.carry(state, value)
    return g.reshape(g.transpose(y, [0, 2, 1, 3]), [steps, ways * hidden])


def cached_convolutions(g, x):
    """Causal convolutions, whose left context is a cache."""
    steps, _, width = g.shape(x)
    y = g.transpose(x, [1, 2, 0])
    for _ in range(g.int(1, 3)):
        kernel = g.int(2, 5)
        cache = g.state((1, width, kernel - 1))
        both = g.add('Concat', [cache, y], axis=2)
        g.carry(cache, g.slice(both, [-(kernel - 1)], [2 ** 31 - 1], [2]))
        new = activation(g, conv(g, both, width, kernel, groups=g.choose([1, width])))
        y = g.add('Add', [y, new]) if g.chance(0.5) else new
    return g.transpose(g.reshape(y, [width, steps]), [1, 0])


def attention(g, x):
    """To the last keys and values, which lie in caches of fixed length."""
    steps, _, width = g.shape(x)
    length = g.int(2, 6)
    flat = g.reshape(x, [steps, width])
    seen = []
    for _ in range(2):
        cache = g.state((length, width))
        both = g.add('Concat', [cache, linear(g, flat, width)], axis=0)
        g.carry(cache, g.slice(both, [steps], [2 ** 31 - 1], [0]))
        seen.append(both)
    scores = g.add('MatMul', [linear(g, flat, width), g.transpose(seen[0], [1, 0])])
    return g.add('MatMul', [g.add('Softmax', [g.add('Mul', [scores, g.number(width ** -0.5)])], axis=1), seen[1]])


def by_hand(g, x):
    """A GRU's cell for each step, written out."""
    steps, _, width = g.shape(x)
    hidden = g.int(2, 16)
    h = first = g.state((1, hidden))
    wide = [g.weights((width + hidden, hidden), (width + hidden) ** -0.5) for _ in range(3)]
    outs = []
    for row in g.split(g.reshape(x, [steps, width]), [1] * steps, 0) if steps > 1 else [g.reshape(x, [1, width])]:
        both = g.add('Concat', [row, h], axis=1)
        z, r = (g.add('Sigmoid', [g.add('MatMul', [both, w])]) for w in wide[:2])
        new = g.add('Tanh', [g.add('MatMul', [g.add('Concat', [row, g.add('Mul', [r, h])], axis=1), wide[2]])])
        h = mix(g, z, h, new)
        outs.append(h)
    g.carry(first, h)
    return g.add('Concat', outs, axis=0) if steps > 1 else outs[0]


def loop(g, x):
    """A Loop or a Scan over the steps, which carries the state."""
    steps, _, width = g.shape(x)
    hidden, scans, backwards = g.int(2, 16), g.chance(0.5), g.chance(0.3)
    w, u, b = g.weights((width, hidden)), g.weights((hidden, hidden)), g.weights((hidden,), 0.2)
    op, half = g.choose(['Tanh', 'Sigmoid']), g.number(0.5)
    state, first = g.state((1, hidden)), len(g.nodes)
    h, outs, bodies = state, [], []
    for k in range(steps):
        row = g.add('Gather', [x, g.number(steps - 1 - k if backwards and scans else k, np.int64)], axis=0)
        start = len(g.nodes)
        total = g.add('Add', [g.add('MatMul', [row, w]), g.add('MatMul', [h, u])])
        new = g.add(op, [g.add('Add', [total, b])])
        shown = g.add('Mul', [new, half])
        bodies.append((g.nodes[start:], {row: 'row', h: 'h', new: 'new', shown: 'shown'}))
        h = new
        outs.append(g.unsqueeze(shown, [0]))
    whole = g.add('Concat', outs, axis=0)
    nodes, names = bodies[0]
    nodes = [renamed(node, names) for node in nodes]

    def info(name, shape, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, shape)
    results = [info('new', [1, hidden]), info('shown', [1, hidden])]
    if scans:
        body = helper.make_graph(nodes, 'body', [info('h', [1, hidden]), info('row', [1, width])], results)
        node = helper.make_node('Scan', [state, x], [h, whole], body=body, num_scan_inputs=1,
                                scan_input_directions=[int(backwards)])
    else:
        nodes = [helper.make_node('Gather', [x, 'i'], ['row'], axis=0)] + nodes + [
            helper.make_node('Identity', ['go'], ['on'])]
        body = helper.make_graph(nodes, 'body', [info('i', [], TensorProto.INT64), info('go', [], TensorProto.BOOL),
                                                 info('h', [1, hidden])], [info('on', [], TensorProto.BOOL)] + results)
        node = helper.make_node('Loop', [g.number(steps, np.int64), '' if g.chance(0.5) else g.number(True, bool), state],
                                [h, whole], body=body)
    g.fold(first, node)
    g.carry(state, h)
    return g.reshape(whole, [steps, hidden])


SEQUENCES = [recurrent, recurrent, recurrent, cached_convolutions, attention, by_hand, loop, loop]


# --- graphs ------------------------------------------------------------------------------------------

def with_second_input(g, x):
    """Another input that each frame brings: a number, or the like of the first."""
    if not g.chance(0.25):
        return x
    y = g.stream('y', (1,) if g.chance(0.5) else g.shape(x))
    return g.add(g.choose(['Add', 'Mul', 'Sub']), [x, y])


def of_pictures(g):
    x = g.stream('x', (1, g.choose([1, 3, 3, 8]), g.int(4, 14), g.int(4, 14)))
    cells = g.shuffled(PICTURES)[:g.int(1, 3)]
    y = with_second_input(g, x)
    for cell in cells:
        if cell is not difference or g.chance(0.5):
            y = activation(g, conv(g, y, g.choose([2, 4, 6, 8, 12]), 3, g.choose([1, 1, 2])))
        y = cell(g, y)
    if g.chance(0.7):
        y = activation(g, conv(g, y, g.int(1, 4), g.choose([1, 3])))
    g.outputs = [y]


def of_sequences(g):
    x = g.stream('x', (g.int(1, 6), 1, g.int(3, 16)))
    y = with_second_input(g, x)
    for _ in range(g.int(1, 2)):
        y = g.choose(SEQUENCES)(g, y)
        steps, width = g.shape(y)
        g.outputs = [y]
        y = g.reshape(y, [steps, 1, width])
    g.outputs = [linear(g, g.outputs[0], g.int(1, 5)) if g.chance(0.7) else g.outputs[0]]


def generate(seed, number):
    rng = np.random.default_rng([seed, number])
    while True:
        g = MemoryGraph(rng, OPSETS[int(rng.integers(len(OPSETS)))])
        g.input = 'x'
        try:
            of_pictures(g) if g.chance(0.5) else of_sequences(g)
            g.before_writing = copy.deepcopy(rng)
            g.written = write(g)
            return g
        except Unfit:
            continue
