# SPDX-License-Identifier: Apache-2.0
"""How the versions of Keras describe a model."""
from . import files
from .model import Unfit
from .table import LAYERS

PICTURES = ['Conv2D', 'Conv1D', 'Conv2DTranspose', 'SeparableConv2D', 'MaxPooling2D', 'MaxPooling1D', 'AveragePooling2D',
            'AveragePooling1D', 'GlobalMaxPooling2D', 'GlobalMaxPooling1D', 'GlobalAveragePooling2D',
            'GlobalAveragePooling1D', 'UpSampling2D', 'UpSampling1D', 'ZeroPadding2D', 'ZeroPadding1D']
MODES = {'Add': 'sum', 'Multiply': 'mul', 'Average': 'ave', 'Maximum': 'max', 'Concatenate': 'concat'}
KERAS1 = PICTURES + list(MODES) + [
    'Dense', 'BatchNormalization', 'LeakyReLU', 'PReLU', 'ELU', 'Activation', 'Flatten', 'Reshape', 'Permute', 'Dropout',
    'SpatialDropout1D', 'SpatialDropout2D', 'GaussianDropout', 'GaussianNoise', 'ActivityRegularization']
OPERATORS = ('Add', 'Subtract', 'Multiply', 'Maximum')


class Dialect:
    number, name, file = 2, 'Keras 2', 'm.h5'

    def __init__(self, rng):
        self.slashes = self.number < 3 and rng.random() < 0.1
        self.scoped = rng.random() < 0.3  # names of nested models' weights begin with the model's
        self.compiled = rng.random() < 0.3  # the file has an optimiser's state
        self.listed = rng.random() < 0.3  # a sequential model is just a list of layers
        self.input_layer = rng.random() < 0.6  # a sequential model has a layer for its input
        self.axis_form = int(rng.integers(3))
        self.single = rng.random() < 0.5  # a single input or output is not in a list
        self.operators = rng.random() < 0.3    # x + y rather than a layer
        self.deflated = rng.random() < 0.3
        self.v1 = rng.random() < 0.3

    @property
    def kinds(self):
        return set(LAYERS)

    def model_class(self, net):
        return 'Sequential' if net.sequential else 'Model' if self.v1 else 'Functional'

    def write(self, net):
        """Returns the file's name and bytes."""
        return self.file, files.hdf5_of(net, self)

    # --- what a layer is called, and says ---
    def written(self, net, layer):
        config = dict(layer.config, name=layer.name, trainable=True, dtype='float32')
        kind = layer.kind
        if kind == 'InputLayer':
            return kind, {'batch_input_shape': [None] + config['shape'], 'dtype': 'float32', 'sparse': False, 'name': layer.name}
        if kind == 'LeakyReLU':
            config['alpha'] = config.pop('negative_slope')
        if kind == 'BatchNormalization':
            if self.axis_form == 2:
                config['axis'] = [config['axis']]
            if self.v1:
                kind = 'BatchNormalizationV1'
        if 'Conv' in kind or 'ool' in kind or kind in ('UpSampling2D', 'ZeroPadding2D', 'Flatten'):
            config['data_format'] = 'channels_last'
        if 'Conv' in kind and self.v1 and config.get('groups') == 1:
            del config['groups']
        if 'lobal' in kind and self.v1 and not config['keepdims']:
            del config['keepdims']
        if 'Conv' in kind:
            config.update(kernel_initializer={'class_name': 'GlorotUniform', 'config': {'seed': None}}, kernel_regularizer=None)
        return kind, config

    def weight_names(self, layer):
        return [name + ':0' for name, _ in layer.weights]

    def array(self, layer, name, array):
        return array

    @property
    def version(self):
        return '2.2.4-tf' if self.v1 else '2.11.0'


class Keras1(Dialect):
    number, name = 1, 'Keras 1'
    kinds = set(KERAS1)
    version = '1.2.2'

    def model_class(self, net):
        return 'Sequential' if net.sequential else 'Model'

    def written(self, net, layer):
        config, kind = dict(layer.config), layer.kind
        own = {'name': layer.name, 'trainable': True}
        plain = all(d == 1 for d in config.get('dilation_rate', [1])) and config.get('groups', 1) == 1
        if not plain or config.get('keepdims'):
            raise Unfit('has other classes for it, or none')
        if kind == 'InputLayer':
            return kind, {'batch_input_shape': [None] + config['shape'], 'input_dtype': 'float32', 'sparse': False, 'name': layer.name}
        for new, old in (('use_bias', 'bias'), ('padding', 'border_mode'), ('units', 'output_dim'), ('rate', 'p'),
                         ('negative_slope', 'alpha'), ('stddev', 'sigma'), ('filters', 'nb_filter')):
            if new in config and kind not in ('ZeroPadding1D', 'ZeroPadding2D'):
                own[old] = config.pop(new)
        own.update(config)
        if kind in MODES:
            own.update(mode=MODES[kind], concat_axis=config.get('axis', -1), dot_axes=-1, mode_type='raw', output_shape=None,
                       output_mask=None, arguments={}, output_shape_type='raw', output_mask_type='raw')
            own.pop('axis', None)
            return 'Merge', own
        if kind == 'BatchNormalization':
            own['mode'] = 0
            del own['center'], own['scale']
        if kind.endswith('1D'):
            for new, old in (('kernel_size', 'filter_length'), ('pool_size', 'pool_length'), ('size', 'length')):
                if new in own:
                    own[old] = own.pop(new)[0]
            if 'strides' in own:
                own['subsample_length' if kind == 'Conv1D' else 'stride'] = own.pop('strides')[0]
            if kind == 'ZeroPadding1D' and own['padding'][0] == own['padding'][1]:
                own['padding'] = own['padding'][0]
        else:
            if 'kernel_size' in own:
                own['nb_row'], own['nb_col'] = own.pop('kernel_size')
                own['subsample'] = own.pop('strides')
            if kind == 'ZeroPadding2D':
                (top, bottom), (left, right) = own['padding']
                own['padding'] = [top, left] if (top, left) == (bottom, right) else [top, bottom, left, right]
            if kind in PICTURES:
                own['dim_ordering'] = 'tf'
        if kind == 'Conv2DTranspose':
            results = [a for v, a in net.values.items() if v.layer is layer]
            own['output_shape'] = [None] + list(results[0].shape[1:])
        for key in ('dilation_rate', 'groups', 'output_padding', 'keepdims', 'interpolation'):
            own.pop(key, None)
        kind = {'Conv2D': 'Convolution2D', 'Conv1D': 'Convolution1D', 'Conv2DTranspose': 'Deconvolution2D',
                'SeparableConv2D': 'SeparableConvolution2D'}.get(kind, kind)
        return kind, own

    def weight_names(self, layer):
        names = {'kernel': 'W', 'bias': 'b', 'moving_mean': 'running_mean', 'moving_variance': 'running_std', 'alpha': 'alphas'}
        return ['%s_%s:0' % (layer.name, names.get(name, name)) for name, _ in layer.weights]

    def array(self, layer, name, array):
        if name == 'kernel' and layer.kind == 'Conv1D':
            return array[:, None]
        if name == 'kernel' and layer.kind == 'Conv2DTranspose':
            return array.transpose(0, 1, 3, 2)  # (y, x, inputs, outputs)
        return array


class Keras3(Dialect):
    number, name, file = 3, 'Keras 3', 'm.keras'
    version = '3.4.1'

    def write(self, net):
        return self.file, files.archive_of(net, self)

    def model_class(self, net):
        return 'Sequential' if net.sequential else 'Functional'

    def written(self, net, layer):
        policy = {'module': 'keras', 'class_name': 'DTypePolicy', 'config': {'name': 'float32'}, 'registered_name': None}
        config = dict(layer.config, name=layer.name, trainable=True, dtype=policy)
        if layer.kind == 'InputLayer':
            return layer.kind, {'batch_shape': [None] + config['shape'], 'dtype': 'float32', 'sparse': False, 'name': layer.name}
        if 'Conv' in layer.kind or 'ool' in layer.kind or layer.kind in ('UpSampling2D', 'ZeroPadding2D', 'Flatten'):
            config['data_format'] = 'channels_last'
        if layer.kind in OPERATORS and self.is_operator(net, layer):
            config = {'name': layer.name}
        return layer.kind, config

    def is_operator(self, net, layer):
        if 'number' in layer.config:
            return True
        ranks = {net.values[v].ndim for call in layer.calls for v in call}
        return self.operators and layer.kind in OPERATORS and len(ranks) == 1 and all(len(call) == 2 for call in layer.calls)

    def weight_names(self, layer):
        return [name for name, _ in layer.weights]


class Keras3Hdf5(Keras3):
    name, file = 'Keras 3, HDF5', 'm.h5'

    def write(self, net):
        return self.file, files.hdf5_of(net, self)


DIALECTS = [Dialect, Dialect, Dialect, Keras1, Keras3, Keras3, Keras3Hdf5]
