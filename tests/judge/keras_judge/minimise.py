# SPDX-License-Identifier: Apache-2.0
"""Reduces a model as far as its finding stays the same."""
import json
import os

import numpy as np
from judging import descend

from .files import model_of
from .model import Exact, Layer, Net, Unfit, Value
from .verdict import judge

MOST_TRIES = 400


def copied(net, skip=None, outputs=None, inner=None):
    """Copies the net without the layer `skip` (its readers read its first input), with other outputs (by their place
    among `net.layers`, call and result), or with other inner models (by the layer)."""
    small = Net(net.rng, net.dialect, net.names, net.sequential)
    small.name = net.name
    moved, made = {}, {}
    for v in net.inputs:
        moved[v] = small.add_input(net.values[v])
        moved[v].layer.name = v.layer.name
        made[v.layer] = moved[v].layer
    pending = [(layer, k) for layer in net.layers if layer.kind != 'InputLayer' for k in range(len(layer.calls))]
    while pending:
        waiting = []
        for layer, k in pending:
            inputs = layer.calls[k]
            if not all(v in moved for v in inputs) or (k and layer is not skip and (layer, k - 1) in waiting):
                waiting.append((layer, k))
                continue
            if layer is skip:
                if net.values[inputs[0]].shape[1:] != net.values[Value(layer, k, 0)].shape[1:]:
                    raise Unfit
                moved[Value(layer, k, 0)] = moved[inputs[0]]
                continue
            if layer not in made:
                own = (inner or {}).get(layer, layer.inner)
                made[layer] = Layer(layer.kind, layer.name, layer.config, layer.weights, own)
                small.layers.append(made[layer])
            results = small.call(made[layer], [moved[v] for v in inputs])
            for r, value in enumerate(results):
                moved[Value(layer, k, r)] = value
        if len(waiting) == len(pending):
            raise Unfit
        pending = waiting
    small.outputs = [moved[v] for v in (outputs or net.outputs)]
    if net.sequential:
        small.outputs = small.made()[-1:]
    else:
        small.prune()
    if not small.outputs or all(v.layer.kind == 'InputLayer' for v in small.outputs) or not small.made():
        raise Unfit
    if any(v.layer.kind == 'InputLayer' for v in small.outputs):
        raise Unfit
    return small


def fewer(net):
    """Yields smaller models, the boldest first."""
    if not net.sequential:
        for v in net.outputs if len(net.outputs) > 1 else []:
            yield lambda v=v: copied(net, outputs=[v])
        for v in net.made():
            if [v] != net.outputs:
                yield lambda v=v: copied(net, outputs=[v])
    else:
        for count in range(2, len(net.layers)):
            def cut(count=count):
                short = copied(net)
                short.layers = short.layers[:count]
                short.values = {v: a for v, a in short.values.items() if v.layer in short.layers}
                short.outputs = short.made()[-1:]
                return short
            yield cut
    for layer in reversed(net.layers):
        if layer.kind != 'InputLayer':
            yield lambda layer=layer: copied(net, skip=layer)
        if layer.inner is not None:
            for make in fewer(layer.inner):
                yield lambda layer=layer, make=make: copied(net, inner={layer: used(net, make())})


def used(net, inner):
    if set(inner.inputs) - inner.read() or (net.sequential and len(inner.outputs) > 1):
        raise Unfit
    return inner


def minimise(net, device, layout, verdict):
    """Returns the smallest model found, and its verdict."""
    return descend(net, verdict, fewer, lambda small: judge(small, device, layout), lambda said: said.sort(),
                   (Unfit, ValueError, IndexError, KeyError), MOST_TRIES)


def write(net, folder, stem, verdict, layout):
    """Writes the model's file, its input, the reference's results, and the architecture for reading."""
    kinds = '-'.join(net.kinds()[1:])[:60]
    name = os.path.join(folder, '%s-%s-%s' % (verdict.kind, kinds, stem))
    os.makedirs(folder, exist_ok=True)
    file, data = net.dialect.write(net)
    with open(name + os.path.splitext(file)[1], 'wb') as out:
        out.write(data)
    np.save(name + '.in.npy', net.values[net.inputs[0]])
    for k, array in enumerate(net.run([net.values[v] for v in net.inputs], Exact())):
        np.save('%s.out%d.npy' % (name, k), array)
    with open(name + '.json', 'w', encoding='utf-8') as out:
        json.dump({'verdict': verdict.kind + ': ' + verdict.text, 'layout': layout, 'keras': net.dialect.name,
                   'model': model_of(net, net.dialect)}, out, indent=1)
    return ' -> ' + name
