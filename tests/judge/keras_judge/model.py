# SPDX-License-Identifier: Apache-2.0
"""A Keras model while it is built: layers with their calls, and their results in NumPy, in FP64.

Configurations are in the form of Keras 3; files.py translates them for the others. Arrays have Keras's order,
(N, H, W, C), (N, L, C) or (N, n)."""
import itertools
from collections import namedtuple

import numpy as np

from . import reference

LARGEST, MOST_ELEMENTS, MOST_WEIGHTS = 500.0, 20000, 100000

# A result of one call of a layer: layer, call and result are indices.
Value = namedtuple('Value', 'layer call result')


class Unfit(Exception):
    """The addition does not fit here."""


class Layer:
    """`calls` are lists of the values that the layer reads; `inner` is the model that it contains, if any."""

    def __init__(self, kind, name, config, weights, inner=None):
        self.kind, self.name, self.config, self.weights, self.inner = kind, name, config, weights, inner
        self.calls = []


def check_range(array):
    if not np.isfinite(array).all() or np.abs(array).max(initial=0) > LARGEST:
        raise Unfit('leaves the range')


class Exact:
    """Rounds nothing, but values between two steps of a layer, or within a model, must be in range."""

    def noisy(self, array):
        check_range(array)
        return array

    def lossy(self, array, given):
        return array

    def weight(self, array):
        return np.asarray(array, np.float64)[None]


class Net:
    """A functional model or, with `sequential`, one layer after the other."""

    def __init__(self, rng, dialect, names=None, sequential=False):
        self.rng, self.dialect, self.sequential = rng, dialect, sequential
        self.names = names if names is not None else itertools.count()
        self.layers, self.inputs, self.outputs, self.values = [], [], [], {}
        self.name = 'model_%d' % next(self.names)

    # --- chance ---
    def choose(self, items):
        return items[int(self.rng.integers(len(items)))]

    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def chance(self, p):
        return bool(self.rng.random() < p)

    def weights(self, shape, fan_in=1, scale=1.0, offset=0.0):
        return (self.rng.standard_normal(shape) * (scale / max(1.0, fan_in) ** 0.5) + offset).astype(np.float32)

    def uniform(self, low, high, shape=None):
        return self.rng.uniform(low, high, shape).astype(np.float32) if shape is not None else float(self.rng.uniform(low, high))

    # --- values ---
    def shape(self, value):
        return self.values[value].shape

    def pick(self, fits=lambda a: True):
        """Returns a value, preferably a late one; in a sequential model always the last one."""
        if self.sequential:
            last = list(self.values)[-1]
            if not fits(self.values[last]):
                raise Unfit
            return last
        fitting = [v for v, a in self.values.items() if fits(a)]
        if not fitting:
            raise Unfit
        return fitting[-1] if self.chance(0.6) else self.choose(fitting)

    def add_input(self, array):
        layer = Layer('InputLayer', self.new_name('input'), {'shape': list(array.shape[1:])}, [])
        layer.calls.append([])
        self.layers.append(layer)
        value = Value(layer, 0, 0)
        self.inputs.append(value)
        self.values[value] = np.asarray(array, np.float64)
        return value

    def new_name(self, kind):
        number = next(self.names)
        slash = self.dialect.slashes and number % 3 == 0
        return ('block%d/%s' if slash else '%s_%d') % ((number, kind.lower()) if slash else (kind.lower(), number))

    def add(self, kind, inputs, config=None, weights=(), inner=None):
        """Adds a layer that is called once."""
        if kind not in self.dialect.kinds and inner is None:
            raise Unfit('%s does not know it' % self.dialect.name)
        layer = Layer(kind, self.new_name(kind), config or {}, list(weights), inner)
        if sum(array.size for _, array in layer.weights) > MOST_WEIGHTS:
            raise Unfit('has too many weights')
        self.layers.append(layer)
        return self.call(layer, inputs)[0]

    def call(self, layer, inputs):
        """Adds one more call of a layer, and returns its values."""
        if self.sequential and layer.calls:
            raise Unfit('no layer stands twice in a sequence')
        results = reference.call(layer, [self.values[v] for v in inputs], Exact(), self.dialect)
        for array in results:
            if array.size > MOST_ELEMENTS or array.size == 0:
                raise Unfit('is too large')
            check_range(array)
        layer.calls.append(list(inputs))
        values = [Value(layer, len(layer.calls) - 1, k) for k in range(len(results))]
        self.values.update(zip(values, results))
        return values

    # --- taking back ---
    def mark(self):
        return [(layer, len(layer.calls)) for layer in self.layers], list(self.values)

    def undo(self, mark):
        layers, values = mark
        self.layers = [layer for layer, _ in layers]
        for layer, calls in layers:
            del layer.calls[calls:]
        self.values = {v: self.values[v] for v in values}

    # --- what it makes ---
    def read(self):
        return {v for layer in self.layers for call in layer.calls for v in call}

    def made(self):
        return [v for v in self.values if v.layer.kind != 'InputLayer']

    def choose_outputs(self):
        made, read = self.made(), self.read()
        if not made:
            raise Unfit('has no layers')
        if self.sequential:
            self.outputs = made[-1:]
            return
        self.outputs = [v for v in made if v not in read][-6:]
        inner = [v for v in made if v in read]
        if inner and self.chance(0.25):
            self.outputs.append(self.choose(inner))
        self.prune()

    def prune(self):
        """Drops calls and layers that no output needs."""
        needed, open_values = set(), list(self.outputs)
        while open_values:
            value = open_values.pop()
            if value[:2] in needed:
                continue
            needed.add(value[:2])
            open_values += value.layer.calls[value.call]
        moved = {}  # the remaining calls get new numbers
        for layer in self.layers:
            kept = [k for k in range(len(layer.calls)) if (layer, k) in needed]
            moved.update({(layer, k): at for at, k in enumerate(kept)})
            layer.calls = [layer.calls[k] for k in kept]
        inputs = {v.layer for v in self.inputs}
        for layer in inputs:
            layer.calls, moved[layer, 0] = [[]], 0
        self.layers = [layer for layer in self.layers if layer.calls]

        def new(value):
            return Value(value.layer, moved[value.layer, value.call], value.result)
        self.outputs = [new(v) for v in self.outputs]
        self.values = {new(v): a for v, a in self.values.items() if v[:2] in moved}
        for layer in self.layers:
            layer.calls = [[new(v) for v in call] for call in layer.calls]

    def run(self, arrays, context):
        """Returns the outputs for inputs with any first dimension."""
        values = dict(zip(self.inputs, arrays))
        open_values = list(reversed(self.outputs))
        while open_values:
            value = open_values[-1]
            if value in values:
                open_values.pop()
                continue
            inputs = value.layer.calls[value.call]
            missing = [v for v in inputs if v not in values]
            if missing:
                open_values += missing
                continue
            results = reference.call(value.layer, [values[v] for v in inputs], context, self.dialect)
            values.update({Value(value.layer, value.call, k): array for k, array in enumerate(results)})
        return [values[v] for v in self.outputs]

    def kinds(self):
        found = []
        for layer in self.layers:
            found += layer.inner.kinds() if layer.inner else [layer.kind]
        return found
