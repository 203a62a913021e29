# SPDX-License-Identifier: Apache-2.0
"""Reduces a graph as far as its finding stays the same, and writes it."""
import copy
import os
import re

import numpy as np
import onnx
from judging import descend

from .graph import Unfit, make_model, session_of
from .verdict import judge

MOST_TRIES = 1500


def generalised(text):
    """Returns a message without the parts that belong to one graph."""
    text = re.sub(r"'[^']*'", "'…'", text)
    return re.sub(r'-?\d[\d.e+-]*', 'N', text)


def smaller(g, nodes, outputs, input_array=None, constants=None):
    """Builds a graph of these nodes, and computes it."""
    small = copy.copy(g)
    small.constants = dict(g.constants, **(constants or {}))
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if any(name in needed for name in node.output if name):
            kept.insert(0, node)
            needed.update(node.input)
    small.nodes, small.outputs = kept, list(outputs)
    array = g.values[g.input] if input_array is None else input_array
    small.values = {g.input: array}
    names = [n for node in kept for n in node.output if n]
    small.constants = {n: a for n, a in small.constants.items() if n in needed}
    moved = {g.input}
    for node in kept:
        if moved & set(node.input):
            moved.update(n for n in node.output if n)
    if not kept or not set(outputs) <= moved:
        raise Unfit('an output that the input has no part in')
    model = make_model(kept, {g.input: array}, {n: None for n in names}, small.constants, g.opset)
    try:
        results = session_of(model).run(names, {g.input: array})
    except Exception as error:
        raise Unfit(str(error)) from error
    small.values.update(zip(names, map(np.asarray, results)))
    if any(a.size == 0 or (a.dtype.kind == 'f' and not np.isfinite(a).all()) for a in small.values.values()):
        raise Unfit('leaves the range')
    return small


def renamed(nodes, old, new, but=None):
    """Returns the nodes with readers of `old` reading `new`."""
    result = []
    for node in nodes:
        if node is not but and old in node.input:
            node = copy.deepcopy(node)
            for i, name in enumerate(node.input):
                if name == old:
                    node.input[i] = new
        result.append(node)
    return result


def fewer(g):
    """Yields smaller graphs, the boldest first."""
    for name in g.outputs if len(g.outputs) > 1 else []:
        yield lambda name=name: smaller(g, g.nodes, [name])
    for name in g.outputs if len(g.outputs) > 2 else []:
        yield lambda name=name: smaller(g, g.nodes, [n for n in g.outputs if n != name])
    for node in g.nodes[:-1]:
        for name in node.output:
            if name:
                yield lambda name=name: smaller(g, g.nodes, [name])
    for last in g.outputs if len(g.outputs) > 1 else []:
        node = next(node for node in g.nodes if last in node.output)
        for name in node.input:
            if name in g.values and name != g.input and name not in g.outputs:
                yield lambda last=last, name=name: smaller(g, g.nodes, [name if n == last else n for n in g.outputs])
    for k in reversed(range(len(g.nodes))):
        for name in g.nodes[k].output:
            if not name or g.values[name].dtype != np.float32 or not 1 <= g.values[name].ndim <= 5:
                continue
            others = g.nodes[:k] + g.nodes[k + 1:]

            def cut(name=name, others=others):
                # The value becomes the input; the former input becomes a constant.
                array = g.values[name].astype(np.float16).astype(np.float32)
                first = renamed(others, g.input, 'was_input')
                return smaller(g, renamed(first, name, g.input), g.outputs, array, {'was_input': g.values[g.input]})
            if name not in g.outputs:
                yield cut
    for k, node in enumerate(g.nodes):
        others = g.nodes[:k] + g.nodes[k + 1:]
        for name in node.output:
            if not name or name in g.outputs:
                continue
            for given in node.input:
                array = g.values.get(given)
                if array is not None and array.shape == g.values[name].shape and array.dtype == g.values[name].dtype:
                    yield lambda n=name, i=given, o=others: smaller(g, renamed(o, n, i), g.outputs)
            yield lambda n=name, o=others: smaller(g, renamed(o, n, n + '_k'), g.outputs, None, {n + '_k': g.values[n]})


def sort(verdict):
    """Returns the part of the verdict that a smaller graph must share."""
    return verdict.kind, generalised(verdict.text) if verdict.kind in ('undocumented', 'failed') else ''


def minimise(g, device, layout, verdict):
    """Returns the smallest graph found, and its verdict."""
    # A graph that ends ONNX Runtime is not the one that is sought.
    small, said = descend(g, verdict, fewer, lambda small: judge(small, device, layout), sort, Exception, MOST_TRIES)
    return small, said.text


def python_of(g, name):
    """Returns a program that makes the model, for reading or running."""
    def of(array):
        if array.size > 64:
            return None
        return 'np.array(%s, np.%s)' % (array.tolist(), array.dtype)
    lines = ['import numpy as np', 'from onnx import helper, numpy_helper, save', '']
    lines.append("# input 'x' %s: %s.in.npy" % (list(g.shape(g.input)), name))
    lines.append('constants = {')
    for key, array in g.constants.items():
        lines.append('    %r: %s,' % (key, of(array) or 'np.load(%r)[%r]' % (name + '.npz', key)))
    lines += ['}', 'nodes = [']
    for node in g.nodes:
        attributes = ''.join(', %s=%r' % (a.name, onnx.helper.get_attribute_value(a)) for a in node.attribute)
        domain = ', domain=%r' % node.domain if node.domain else ''
        lines.append('    helper.make_node(%r, %r, %r%s%s),  # %s' % (
            node.op_type, list(node.input), list(node.output), domain, attributes,
            [list(g.shape(n)) for n in node.output if n]))
    lines += [']', 'outputs = %r' % (g.outputs,), 'opset = %d' % g.opset, '']
    return '\n'.join(lines)


def write(g, folder, stem, verdict, layout):
    name = os.path.join(folder, '%s-%s-%s' % (verdict.kind, '-'.join(node.op_type for node in g.nodes)[:60], stem))
    os.makedirs(folder, exist_ok=True)
    with open(name + '.onnx', 'wb') as file:
        file.write(g.model().SerializeToString())
    np.save(name + '.in.npy', g.values[g.input])
    for k, output in enumerate(g.outputs):
        np.save('%s.out%d.npy' % (name, k), g.values[output])
    large = {key: array for key, array in g.constants.items() if array.size > 64}
    if large:
        np.savez(name + '.npz', **large)
    with open(name + '.py', 'w', encoding='utf-8') as file:
        file.write('# %s: %s (layout %s)\n%s' % (verdict.kind, verdict.text, layout, python_of(g, os.path.basename(name))))
    return ' -> ' + name
