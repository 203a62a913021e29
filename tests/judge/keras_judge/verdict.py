# SPDX-License-Identifier: Apache-2.0
"""The verdict on one model, and the smallest model with the same verdict."""
import re

import numpy as np

# The tolerance is that of onnx_judge/tolerance.py: six spreads of some runs with random roundings
# of 2**-11.
ROUNDING, LEAST_ROUNDING = 2.0 ** -11, 2.0 ** -25
DRAWS, MANY_DRAWS, SPREADS = 12, 96, 6.0
UNDECIDED = 0.05  # a larger tolerance, as a share of the largest value, says nothing

# Refusals that the documents explain (docs/converter.md): part of the message, and the reason. A
# refusal that is not here counts as a difference.
DOCUMENTED = [
    (r'a threshold beside a negative_slope', 'ReLU of both'),
    (r'axis \[[\d,]+\] is not supported', 'Softmax along several axes at once'),
]


class Noise:
    """Some runs with random roundings, along the first dimension of all arrays."""

    def __init__(self, rng, draws):
        self.rng, self.draws, self.weights = rng, draws, {}

    def spread(self, shape):
        return (self.rng.random(shape, np.float32) - 0.5) * 12 ** 0.5

    def noisy(self, array):
        return array + self.spread(array.shape) * np.maximum(ROUNDING * np.abs(array), LEAST_ROUNDING)

    def weight(self, array):
        # A layer that is called twice has the same weights.
        if id(array) not in self.weights:
            whole = np.broadcast_to(np.asarray(array, np.float64), (self.draws,) + np.shape(array))
            self.weights[id(array)] = array, self.noisy(whole)
        return self.weights[id(array)][1]

    def lossy(self, array, given):
        """Adds the noise of FP32's cancellation."""
        return array + self.spread(array.shape) * 2.0 ** -22 * np.abs(given).max()


def tolerances(net, draws):
    """Returns, for each output, how far each element may be from the reference."""
    rng = np.random.default_rng(draws)
    wanted = [net.values[v] for v in net.outputs]
    squares = [np.zeros(w.shape) for w in wanted]
    for _ in range(draws // DRAWS):
        given = [np.broadcast_to(net.values[v], (DRAWS,) + net.values[v].shape[1:]) for v in net.inputs]
        for k, array in enumerate(net.run(given, Noise(rng, DRAWS))):
            squares[k] += ((array - wanted[k]) ** 2).sum(axis=0, keepdims=True)
    return [SPREADS * np.sqrt(s / draws) + 2.0 ** -22 + 2.0 ** -18 * np.abs(w) for s, w in zip(squares, wanted)]


def as_network(array):
    """Returns the array in a network's order: channels first, sequences as pictures of one row."""
    if array.ndim == 3:
        array = array[:, None]
    return array.transpose(0, 3, 1, 2) if array.ndim == 4 else array


class Verdict:
    """`kind` is right, refused, undocumented, differs, failed or crashed."""

    def __init__(self, kind, text='', undecided=0.0):
        self.kind, self.text, self.undecided = kind, text, undecided

    def is_finding(self):
        return self.kind not in ('right', 'refused')

    def sort(self):
        """Returns the part of the verdict that a smaller model of the same finding must share."""
        text = re.sub(r"'[^']*'", "'…'", self.text)
        return self.kind, '' if self.kind == 'differs' else re.sub(r'-?\d[\d.e+x-]*', 'N', text)


def compare(have, want, allowed):
    """Returns '' if all is right. A sequence may be (N, L, C) or a picture of one row."""
    forms = [want] if want.ndim != 3 else [want, as_network(want)]
    if want.ndim == 4:
        forms = [as_network(want)]
    if list(have.shape) not in [list(f.shape) for f in forms]:
        return 'has the shape %s, not %s' % (list(have.shape), list(forms[-1].shape))
    if want.ndim == 4 or (want.ndim == 3 and have.ndim == 4):
        want, allowed = as_network(want), as_network(allowed)
    off = np.abs(have.astype(np.float64) - want)
    bad = ~(off <= allowed)
    if not bad.any():
        return ''
    ratio = np.where(bad, off / allowed, 0)
    ratio[np.isnan(ratio)] = np.inf
    at = np.unravel_index(np.argmax(ratio), ratio.shape)
    return '%d of %d are off: at %s %.6g, not %.6g, %.2g is allowed' % (
        bad.sum(), bad.size, list(map(int, at)), have[at], want[at], allowed[at])


def picture_options(net):
    """Returns how pixels of 0 to 255 become the input's values, as the converter measures values on a picture."""
    given = net.values[net.inputs[0]]
    low, high = float(given.min()), float(given.max())
    scale = (high - low) / 255 or 1.0
    return 'scale=%.9g,mean=%.9g' % (scale, -low / scale)


def judge(net, device, layout):
    name, data = net.dialect.write(net)
    given = as_network(net.values[net.inputs[0]]).astype(np.float32)
    answer = device.run({name: data}, np.ascontiguousarray(given), layout + ',' + picture_options(net))
    if 'refused' in answer:
        known = any(re.search(pattern, answer['refused']) for pattern, _ in DOCUMENTED)
        return Verdict('refused' if known else 'undocumented', answer['refused'])
    for kind in ('failed', 'crashed'):
        if kind in answer:
            return Verdict(kind, answer[kind])
    if len(answer['arrays']) != len(net.outputs):
        return Verdict('differs', 'has %d outputs, not %d' % (len(answer['arrays']), len(net.outputs)))
    wanted = [net.values[v] for v in net.outputs]
    for draws in (DRAWS, MANY_DRAWS):
        allowed = tolerances(net, draws)
        said = [compare(*three) for three in zip(answer['arrays'], wanted, allowed)]
        texts = ['%s %s' % (v.layer.name, text) for v, text in zip(net.outputs, said) if text]
        if not texts:
            break
    open_share = float(np.mean([np.mean(a > UNDECIDED * np.abs(w).max() + 2.0 ** -14) for a, w in zip(allowed, wanted)]))
    return Verdict('differs' if texts else 'right', '; '.join(texts), open_share)
