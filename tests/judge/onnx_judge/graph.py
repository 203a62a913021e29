# SPDX-License-Identifier: Apache-2.0
"""A random ONNX graph while it is built. Every node is computed when it is added, so that shapes and values are
known, and a node without a useful result (not finite, too large, all equal) is never added."""
import numpy as np
import onnx
from onnx import helper, numpy_helper
import onnxruntime

onnxruntime.set_default_logger_severity(4)

LARGEST = 500.0  # largest value, far from the end of binary16, so that sums stay in its range
LARGEST_WHOLE = 30000.0  # largest sum of products of 8 bits
MOST_ELEMENTS = 30000
MICROSOFT = 'com.microsoft'
# The IR version does not matter; every reader accepts this one.
IR_VERSION = 8


class Unfit(Exception):
    """The last attempt cannot be a part of the graph; another one follows."""


def tensor_type(array):
    return helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)


def make_model(nodes, inputs, outputs, constants, opset):
    """`inputs` are arrays by name, or their shapes and types; `outputs` are arrays or None by name."""
    def info(name, array):
        if array is None:
            return onnx.ValueInfoProto(name=name)
        return helper.make_tensor_value_info(name, tensor_type(array), list(np.shape(array)))
    graph = helper.make_graph(
        nodes, 'judge', [info(n, a) for n, a in inputs.items()], [info(n, a) for n, a in outputs.items()],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    opsets = [helper.make_opsetid('', opset)]
    if any(node.domain == MICROSOFT for node in nodes):
        opsets.append(helper.make_opsetid(MICROSOFT, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def session_of(model, optimised=False):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=['CPUExecutionProvider'])


def factors(g, count, parts):
    """Returns `parts` numbers whose product is `count`."""
    dims = [1] * parts
    rest, prime = count, 2
    while rest > 1:
        if rest % prime == 0:
            dims[g.int(0, parts - 1)] *= prime
            rest //= prime
        else:
            prime += 1
    return dims


class Graph:
    def __init__(self, rng, opset):
        self.rng, self.opset = rng, opset
        self.nodes, self.constants, self.values = [], {}, {}
        self.input = None
        self.outputs = []
        self.branches = []  # pairs of branches, of which the file makes an If
        self.nodes_hold_constants = False  # Constant nodes instead of initializers
        self.fresh = 0

    # --- chance ----------------------------------------------------------------------------------
    def chance(self, p):
        return bool(self.rng.random() < p)

    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def choose(self, items):
        return items[int(self.rng.integers(len(items)))]

    def shuffled(self, items):
        return [items[i] for i in self.rng.permutation(len(items))]

    def real(self, low, high):
        return float(np.float32(self.rng.uniform(low, high)))

    # --- values ----------------------------------------------------------------------------------
    def name(self, stem):
        self.fresh += 1
        return '%s%d' % (stem.lower(), self.fresh)

    def set_input(self, array):
        self.input = 'x'
        self.values['x'] = array

    def feeds(self):
        """Returns the values of all inputs."""
        return {self.input: self.values[self.input]}

    def array(self, name):
        return self.values[name] if name in self.values else self.constants[name]

    def shape(self, name):
        return tuple(int(d) for d in self.array(name).shape)

    def rank(self, name):
        return self.array(name).ndim

    def is_float(self, name):
        return self.array(name).dtype == np.float32

    def constant(self, array, dtype=None):
        name = self.name('c')
        self.constants[name] = np.asarray(array, dtype=dtype)
        return name

    def ints(self, values):
        return self.constant(np.array(values, np.int64))

    def number(self, value, dtype=np.float32):
        return self.constant(np.array(value, dtype))

    def weights(self, shape, scale=None, offset=0.0):
        """Returns numbers that keep sums of products near one."""
        if scale is None:
            scale = 1.0 / max(1.0, np.prod(shape[1:])) ** 0.5
        return self.constant((self.rng.standard_normal(shape) * scale + offset).astype(np.float32))

    def kernels(self, shape):
        """Returns a convolution's weights; some are zeros for most of the inputs, as in networks that were pruned."""
        kernels = self.weights(shape)
        if self.chance(0.3):
            unread = self.rng.random(shape[1]) < self.choose([0.3, 0.7, 0.9])
            self.constants[kernels][:, unread] = 0
        return kernels

    def between(self, shape, low, high):
        return self.constant(self.rng.uniform(low, high, shape).astype(np.float32))

    def candidates(self, fits):
        return [name for name, array in self.values.items() if fits(array)]

    def pick(self, rank=None, least=None, dtype=np.float32, fits=None, recent=0.6):
        """Returns a value of the graph: with one of the ranks `rank`, and at least `least` long in its last axes."""
        ranks = (rank,) if isinstance(rank, int) else rank

        def good(array):
            if array.dtype != dtype or (ranks and array.ndim not in ranks):
                return False
            if least and (array.ndim < 2 or min(array.shape[-2:]) < least):
                return False
            return fits is None or fits(array)
        names = self.candidates(good)
        if ranks and dtype == np.float32 and not least and self.chance(0.05 if names else 0.5):
            return self.reshaped(self.choose(ranks), good)
        if not names:
            raise Unfit('no value fits')
        return names[-1] if self.chance(recent) else self.choose(names)

    def reshaped(self, rank, good):
        """Returns a value reshaped to `rank` dimensions that `good` accepts."""
        names = self.candidates(lambda a: a.dtype == np.float32 and 0 < a.size <= 2000)
        for _ in range(20 if names else 0):
            name = self.choose(names)
            dims = factors(self, self.array(name).size, rank)
            if rank == 4 and self.chance(0.7):
                dims[0], dims[1] = 1, dims[0] * dims[1]
            if good(self.array(name).reshape(dims)):
                return self.reshape(name, dims)
        raise Unfit('no value fits')

    def picture(self, least=1, fits=None):
        """Returns a value of four dimensions, the first of which is 1."""
        return self.pick(rank=4, fits=lambda a: a.shape[0] == 1 and min(a.shape[2:]) >= least and (not fits or fits(a)))

    # --- nodes -----------------------------------------------------------------------------------
    def add(self, op, inputs, outputs=1, domain='', **attributes):
        """Adds a node and returns its result's name, or a list of several."""
        names = [self.name(op) for _ in range(outputs)] if isinstance(outputs, int) else [
            self.name(op) if wanted else '' for wanted in outputs]
        node = helper.make_node(op, inputs, names, name='n_' + next(n for n in names if n), domain=domain, **attributes)
        feeds = {i: self.values[i] for i in inputs if i in self.values}
        constants = {i: self.constants[i] for i in inputs if i in self.constants}
        wanted = [n for n in names if n]
        model = make_model([node], feeds, {n: None for n in wanted}, constants, self.opset)
        try:
            session = session_of(model)
            results = session.run(None, feeds)
            for told, array in zip(session.get_outputs(), results):
                # If ONNX and ONNX Runtime disagree on a shape, no result can be judged.
                dims = [a for a, b in zip(told.shape, array.shape) if isinstance(a, int) and a != b]
                if dims or len(told.shape) not in (0, array.ndim):
                    raise Unfit('%s has two shapes' % op)
        except Exception as error:  # ONNX Runtime has many types of exceptions
            raise Unfit('%s: %s' % (op, error)) from error
        for array in results:
            self.check(op, array)
        self.nodes.append(node)
        self.values.update(zip(wanted, results))
        return names[0] if len(names) == 1 else names

    def check(self, op, array):
        if not isinstance(array, np.ndarray) or array.size == 0:
            raise Unfit('%s makes nothing' % op)
        if array.size > MOST_ELEMENTS or array.ndim > 6:
            raise Unfit('%s makes too much' % op)
        largest = LARGEST_WHOLE if op == 'Cast' else LARGEST
        if array.dtype.kind == 'f' and (not np.isfinite(array).all() or np.abs(array).max() > largest):
            raise Unfit('%s leaves the range' % op)
        if array.dtype.kind == 'f' and op != 'Cast' and array.size > 1 and array.max() == array.min() and self.chance(0.9):
            raise Unfit('%s makes one number' % op)

    def mark(self):
        return len(self.nodes), set(self.values), set(self.constants)

    def undo(self, mark):
        nodes, values, constants = mark
        del self.nodes[nodes:]
        self.values = {n: a for n, a in self.values.items() if n in values}
        self.constants = {n: a for n, a in self.constants.items() if n in constants}

    # --- what depends on the opset -----------------------------------------------------------------
    def with_axes(self, op, x, axes, since, **attributes):
        """Adds an operator whose axes are an input from opset `since` on, and an attribute before."""
        if self.opset >= since:
            return self.add(op, [x] + ([self.ints(axes)] if axes is not None else []), **attributes)
        if axes is not None:
            attributes['axes'] = list(axes)
        return self.add(op, [x], **attributes)

    def squeeze(self, x, axes):
        return self.with_axes('Squeeze', x, axes, 13)

    def unsqueeze(self, x, axes):
        return self.with_axes('Unsqueeze', x, axes, 13)

    def reshape(self, x, dims):
        return self.add('Reshape', [x, self.ints(dims)])

    def transpose(self, x, order):
        return self.add('Transpose', [x], perm=list(order))

    def clip(self, x, low, high):
        if self.opset >= 11:
            return self.add('Clip', [x, self.number(low) if low is not None else '',
                                     self.number(high) if high is not None else ''])
        bounds = {k: v for k, v in (('min', low), ('max', high)) if v is not None}
        return self.add('Clip', [x], **bounds)

    def slice(self, x, starts, ends, axes, steps=None):
        if self.opset >= 10:
            return self.add('Slice', [x, self.ints(starts), self.ints(ends), self.ints(axes)] +
                            ([self.ints(steps)] if steps is not None else []))
        if steps is not None and any(s != 1 for s in steps):
            raise Unfit('no steps before opset 10')
        return self.add('Slice', [x], starts=list(starts), ends=list(ends), axes=list(axes))

    def split(self, x, parts, axis):
        """`parts` are sizes, or their number if they are equal."""
        sizes = isinstance(parts, (list, tuple))
        count = len(parts) if sizes else parts
        if self.opset < 13:
            extra = {'split': list(parts)} if sizes else {}
            return self.add('Split', [x], count, axis=axis, **extra)
        extra = {} if sizes or self.opset < 18 else {'num_outputs': count}
        return self.add('Split', [x] + ([self.ints(parts)] if sizes else []), count, axis=axis, **extra)

    def pad(self, x, pads, mode='constant', value=0.0):
        if self.opset < 11:
            return self.add('Pad', [x], mode=mode, pads=list(pads), value=value)
        given = [x, self.ints(pads)]
        return self.add('Pad', given + ([self.number(value)] if value or self.chance(0.3) else []), mode=mode)

    def reduce(self, op, x, axes, keep):
        return self.with_axes(op, x, axes, 13 if op == 'ReduceSum' else 18, keepdims=keep)

    def need(self, opset):
        if self.opset < opset:
            raise Unfit('needs opset %d' % opset)

    # --- the whole -----------------------------------------------------------------------------------
    def readers(self):
        return {name for node in self.nodes for name in node.input}

    def model(self, outputs=None):
        outputs = outputs or self.outputs
        from . import branches  # which makes nodes of graphs
        nodes = branches.written(self, self.nodes, outputs)
        # What an If's graphs read counts, too.
        read = self.readers()
        if self.nodes_hold_constants:
            held = [helper.make_node('Constant', [], [n], value=numpy_helper.from_array(np.asarray(a), n))
                    for n, a in self.constants.items() if n in read]
            return make_model(held + nodes, self.feeds(), {n: self.values[n] for n in outputs}, {}, self.opset)
        return make_model(nodes, self.feeds(), {n: self.values[n] for n in outputs},
                          {n: a for n, a in self.constants.items() if n in read}, self.opset)
