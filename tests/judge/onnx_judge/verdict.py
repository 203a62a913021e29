# SPDX-License-Identifier: Apache-2.0
"""The verdict on one graph."""
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from onnx.reference import ReferenceEvaluator

from .graph import session_of
from .tolerance import MANY_DRAWS, in_steps, tolerances, undecided

# Refusals that the documents explain (docs/converter.md, "Refused, with the reason"): part of the
# message, and the reason. A refusal that is not here counts as a difference.
DOCUMENTED = [
    # docs/limits.md: constants that the CPU multiplies by are part of a description of at most 64
    # MiB.
    (r'its description takes \d+ bytes', 'constants of millions of numbers'),
    # ONNX's formula leaves no window there; ONNX Runtime's of auto_pad VALID ignores the dilation.
    (r'has windows that are larger than', 'windows beyond the picture'),
]


def may_be_equal(g):
    """Whether some Equal compares computed values that differ, but not in binary16: no noise makes two of them the
    same, as rounding does."""
    for node in g.nodes:
        operands = [g.values[n] for n in node.input if n in g.values]
        if node.op_type != 'Equal' or len(operands) < 2 or operands[0].dtype != np.float32:
            continue
        first, second = operands
        if ((first != second) & (np.abs(first - second) <= 2.0 ** -10 * np.abs(first))).any():
            return True
    return False


def run_optimised(model, given):
    return session_of(model, optimised=True).run(None, given)


def optimised_results(model, given):
    """Runs a model in ONNX Runtime after its optimiser, in a process of its own: on some graphs the optimiser faults
    (1.21, in the constructor of the session), which is an exception here."""
    with ProcessPoolExecutor(1, mp_context=get_context('fork')) as pool:
        return pool.submit(run_optimised, model, given).result()


class Verdict:
    """`kind` is right, refused, undocumented, differs, failed, crashed or unsure: ONNX Runtime's optimiser changes the
    result, or ONNX's reference agrees with the project."""

    def __init__(self, kind, text='', undecided_share=0.0):
        self.kind, self.text, self.undecided = kind, text, undecided_share

    def is_finding(self):
        return self.kind in ('undocumented', 'differs', 'failed', 'crashed')


# Steps that may go either way, beyond those that the noise shows.
FEW, FEW_SHARE = 2, 0.004
# One that a product spreads over a row or a column: so many times what draws have shown, for such a share, is unsure.
SPREAD, SPREAD_SHARE = 4, 0.02


def compare(have, want, allowed, steps=False):
    """Returns '' if all is right, else what is not."""
    shape = list(want.shape) or [1]
    if list(have.shape) != shape:
        return 'has the shape %s, not %s' % (list(have.shape), shape)
    have = have.reshape(want.shape).astype(np.float64)
    off = np.abs(have - want)
    bad = ~(off <= allowed)
    if not bad.any() or (steps and bad.size > 20 * FEW and bad.sum() <= max(FEW, FEW_SHARE * bad.size)):
        return ''
    ratio = np.where(bad, off / allowed, 0)
    ratio[np.isnan(ratio)] = np.inf
    at = np.unravel_index(np.argmax(ratio), ratio.shape) if want.shape else ()
    return '%d of %d are off: at %s %.6g, not %.6g, %.2g is allowed' % (
        bad.sum(), bad.size, list(map(int, at)), have[at], want[at], allowed[at])


def may_be_spread(have, want, allowed):
    if have.size != want.size or compare(have, want, SPREAD * allowed):
        return False
    off = np.abs(have.reshape(want.shape).astype(np.float64) - want)
    return want.size > 20 * FEW and (~(off <= allowed)).mean() <= SPREAD_SHARE


def arbitrate(g, device, options):
    """Whether ONNX's own reference agrees with the project and not with ONNX Runtime."""
    answer = device.run({'m.onnx': g.model().SerializeToString()}, g.values[g.input], options + ',' + picture_options(g))
    try:
        others = ReferenceEvaluator(g.model()).run(None, {g.input: g.values[g.input]})
        allowed = tolerances(g, g.outputs)
        pairs = zip(answer['arrays'], [np.asarray(o).astype(np.float64) for o in others], allowed)
        return not any(compare(have, want, limit) for have, want, limit in pairs)
    except Exception:  # it lacks many operators
        return False


def picture_options(g):
    """Returns how pixels of 0 to 255 become the input's values, as the converter measures values on a picture."""
    low, high = float(g.values[g.input].min()), float(g.values[g.input].max())
    scale = (high - low) / 255 or 1.0
    return 'scale=%.9g,mean=%.9g' % (scale, -low / scale)


def differences(g, arrays, wanted, allowed):
    steps = in_steps(g)
    said = [compare(*three, steps=steps) for three in zip(arrays, wanted, allowed)]
    return ['%s %s' % (name, text) for name, text in zip(g.outputs, said) if text]


def judge(g, device, options='none', peers=False):
    options += ',' + picture_options(g)
    answer = device.run({'m.onnx': g.model().SerializeToString()}, g.values[g.input], options)
    if 'refused' in answer:
        text = answer['refused']
        known = any(re.search(pattern, text) for pattern, _ in DOCUMENTED)
        return Verdict('refused' if known else 'undocumented', text)
    for kind in ('failed', 'crashed'):
        if kind in answer:
            known = kind == 'failed' and any(re.search(pattern, answer[kind]) for pattern, _ in DOCUMENTED)
            return Verdict('refused' if known else kind, answer[kind])
    try:
        allowed = tolerances(g, g.outputs)
    except Exception as error:  # ONNX Runtime's: noise may lead a graph to invalid values
        return Verdict('unsure', str(error))
    wanted = [g.values[n].astype(np.float64) for n in g.outputs]
    open_share = float(np.mean([undecided(a, w) for a, w in zip(allowed, wanted)]))
    if len(answer['arrays']) != len(wanted):
        return Verdict('differs', 'has %d outputs, not %d' % (len(answer['arrays']), len(wanted)), open_share)
    texts = differences(g, answer['arrays'], wanted, allowed)
    if texts:
        allowed = tolerances(g, g.outputs, MANY_DRAWS)
        texts = differences(g, answer['arrays'], wanted, allowed)
    if peers or texts:
        try:
            others = optimised_results(g.model(), {g.input: g.values[g.input]})
        except Exception as error:  # its optimiser's, which is not judged here
            return Verdict('unsure', str(error), open_share)
        doubt = [t for t in map(compare, [np.atleast_1d(o) for o in others], wanted, allowed) if t]
        if doubt:
            return Verdict('unsure', 'ONNX Runtime optimised: ' + doubt[0], open_share)
    if texts and may_be_equal(g):
        return Verdict('unsure', 'values may be equal in binary16: ' + texts[0], open_share)
    if texts and in_steps(g) and all(may_be_spread(*three) for three in zip(answer['arrays'], wanted, allowed)):
        return Verdict('unsure', 'a step may be spread: ' + texts[0], open_share)
    return Verdict('differs' if texts else 'right', '; '.join(texts), open_share)
