# SPDX-License-Identifier: Apache-2.0
"""A network with a memory over several frames: through ONNX Runtime with its states carried by hand, and the verdict.

The tolerance is that of one frame (tolerance.py), with states that carry the noise of the frames before. Weights are
rounded once, so their noise is the same in all frames of a draw."""
import copy

import numpy as np

from .graph import make_model, session_of
from .tolerance import DRAWS, MANY_DRAWS, SPREADS, Noise, undecided
from .verdict import Verdict, compare

# Mistakes that every graph should show: what the state that is chosen takes at a frame, from its values so far (the
# zeros first).
MISTAKES = {'is not carried': lambda values, half: values[0],
            'is carried a frame late': lambda values, half: values[max(0, len(values) - 2)],
            'begins anew in mid-stream': lambda values, half: values[0 if len(values) - 1 == half else -1]}


class Follower:
    """Runs frame after frame. `take` chooses what a state takes from its values so far."""

    def __init__(self, g, states):
        """`states`: of each state the input, the result that it takes, and its shape."""
        self.g, self.states = g, states

    def run(self, run_frame, take=lambda values, name: values[-1]):
        """Returns inputs and results by name, of each frame. run_frame(frame, feeds) returns the results of one."""
        values = {name: [np.zeros(shape, np.float32)] for name, _, shape in self.states}
        frames = []
        for frame in range(self.g.frames):
            feeds = {name: array[frame] for name, array in self.g.streams.items()}
            feeds.update({name: take(values[name], name) for name in values})
            frames.append({**feeds, **run_frame(frame, feeds)})
            for name, result, _ in self.states:
                values[name].append(frames[-1][result])
        return frames


class File:
    """The file as ONNX Runtime computes it."""

    def __init__(self, g, optimised=False):
        self.g, self.written = g, g.written
        shapes = {given: g.shape(state.name) for (given, _), state in zip(self.written.states.items(), g.states)}
        self.follower = Follower(g, [(given, taken, shapes[given]) for given, taken in self.written.states.items()])
        self.session = session_of(self.written.whole, optimised)
        self.names = [o.name for o in self.session.get_outputs()]

    def results(self, mistake=None, chosen=None):
        def take(values, name):
            return mistake(values, self.g.frames // 2) if mistake and name == chosen else values[-1]
        frames = self.follower.run(lambda _, feeds: dict(zip(self.names, self.session.run(self.names, feeds))), take)
        return [np.stack([frame[n] for frame in frames]).astype(np.float64) for n in self.written.results]


class NoisyFrames:
    """The graph with noise, frame by frame, around its true values."""

    def __init__(self, g):
        self.g = g
        self.follower = Follower(g, [(s.name, s.value, g.shape(s.name)) for s in g.states])
        made = [n for node in g.nodes for n in node.output if n]
        session = session_of(make_model(g.nodes, g.feeds(), {n: None for n in made}, g.constants, g.opset))
        self.truth = self.follower.run(lambda _, feeds: dict(zip(made, session.run(made, feeds))))
        self.wanted = list(dict.fromkeys(g.outputs + [s.value for s in g.states]))
        self.made = [n for n in self.wanted if n in made]
        self.noises = []
        for values in self.truth:
            of_frame = copy.copy(g)
            of_frame.values = {**g.values, **values}
            self.noises.append(Noise(of_frame, self.made))

    def draw(self, rng):
        weights = {}

        def run_frame(frame, feeds):
            noise = self.noises[frame]
            own = noise.feeds(rng, 1.0)
            for name in self.g.constants:
                if name + '_n' in own:
                    own[name + '_n'] = weights.setdefault(name, own[name + '_n'])
            own.update(feeds)
            return dict(zip(self.made, noise.session.run(self.made, own)))
        return self.follower.run(run_frame)

    def spreads(self, draws):
        """Returns how far each value among `wanted` may be from the truth, by name."""
        rng = np.random.default_rng(draws)
        squares = {n: 0.0 for n in self.wanted}
        for _ in range(draws):
            for name, frames in self.stacked(self.draw(rng)).items():
                squares[name] = squares[name] + (frames - self.stacked(self.truth)[name]) ** 2
        return {n: SPREADS * np.sqrt(s / draws) for n, s in squares.items()}

    def stacked(self, frames):
        return {n: np.stack([f[n] for f in frames]).astype(np.float64) for n in self.wanted}


def allowed_of(g, noisy, wanted, draws):
    """Returns the tolerance of each result of the file."""
    spreads = noisy.spreads(draws)
    of_results = [spreads[g.written.values[n]] for n in g.written.results]
    # FP32's own error, as in tolerances().
    return [np.nan_to_num(spread, nan=np.inf) + 2.0 ** -22 + 2.0 ** -18 * np.abs(w)
            for spread, w in zip(of_results, wanted)]


def picture_options(g):
    low, high = float(g.streams[g.input].min()), float(g.streams[g.input].max())
    scale = (high - low) / 255 or 1.0
    return ['scale=%.9g' % scale, 'mean=%.9g' % (-low / scale)]


def differences(g, have, wanted, allowed):
    said = [compare(*three) for three in zip(have, wanted, allowed)]
    return ['%s %s' % (name, text) for name, text in zip(g.written.results, said) if text]


def blind(g, file, wanted, allowed):
    """Returns the mistakes that this graph would not show."""
    chosen = g.choose(list(g.written.states))
    return [name for name, mistake in MISTAKES.items()
            if not differences(g, file.results(mistake, chosen), wanted, allowed)]


def judge_frames(g, device, options):
    files = {'m.onnx': g.written.model.SerializeToString()}
    answer = device.run(files, g.streams, ','.join(options + g.written.options + picture_options(g) + [
        'frames=%d' % g.frames]))
    for kind in ('refused', 'failed', 'crashed'):
        if kind in answer:
            return Verdict('undocumented' if kind == 'refused' else kind, answer[kind])
    file, noisy = File(g), NoisyFrames(g)
    wanted = file.results()
    allowed = allowed_of(g, noisy, wanted, DRAWS)
    if answer['outputs'] != g.written.results:
        return Verdict('differs', 'has the outputs %s, not %s' % (answer['outputs'], g.written.results))
    texts = differences(g, answer['arrays'], wanted, allowed)
    if texts:
        allowed = allowed_of(g, noisy, wanted, MANY_DRAWS)
        texts = differences(g, answer['arrays'], wanted, allowed)
    if texts and differences(g, File(g, optimised=True).results(), wanted, allowed):
        return Verdict('unsure', 'ONNX Runtime optimised differs, too')
    share = float(np.mean([undecided(a, w) for a, w in zip(allowed, wanted)]))
    verdict = Verdict('differs' if texts else 'right', '; '.join(texts), share)
    verdict.blind = blind(g, file, wanted, allowed)
    return verdict
