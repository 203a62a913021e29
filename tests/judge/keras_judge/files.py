# SPDX-License-Identifier: Apache-2.0
"""The files that Keras saves: HDF5 with the architecture as an attribute (model.save('m.h5')), or an archive of Keras
3."""
import io
import json
import zipfile

import h5py
import numpy as np

from .model import Unfit


# --- the architecture ---
def entry(net, layer, dialect):
    """Returns a layer of a list: its configuration, without its calls."""
    if dialect.number == 1 and net.sequential and layer.inner is not None and layer.inner.sequential:
        raise Unfit('is saved as one sequence')
    if layer.inner is not None:
        made = model_of(layer.inner, dialect, layer.name)
    else:
        kind, config = dialect.written(net, layer)
        made = {'class_name': kind, 'config': config}
    if dialect.number >= 3:
        made = dict(made, module='keras.layers', registered_name=None)
        if layer.kind != 'InputLayer' and layer.inner is None and dialect.is_operator(net, layer):
            made['module'] = 'keras.src.ops.numpy'
        if layer.calls and layer.calls[0]:
            made['build_config'] = {'input_shape': [None] + list(net.shape(layer.calls[0][0])[1:])}
    return made


def sequence(net, dialect, name):
    first, *others = net.layers
    has_input = dialect.number >= 3 or dialect.input_layer
    entries = [entry(net, layer, dialect) for layer in others]
    shape = [None] + first.config['shape']
    if has_input:
        entries.insert(0, entry(net, first, dialect))
        if dialect.number == 1:
            entries[0] = {'class_name': 'Layer', 'config': {'batch_input_shape': shape, 'name': first.name, 'trainable': True}}
    if dialect.number < 3 and others[0].inner is None and (dialect.number == 2 or not has_input):
        entries[1 if has_input else 0]['config']['batch_input_shape'] = shape
    if dialect.number == 1 or (dialect.number == 2 and dialect.listed):
        return entries
    return {'name': name, 'layers': entries}


def depths(net):
    """Returns each layer's greatest distance from the outputs: Keras lists the farthest first."""
    of_call, order = {}, []

    def visit(value):
        stack = [(value, False)]
        while stack:
            v, left = stack.pop()
            if left:
                order.append(v[:2])
            elif v[:2] not in seen:
                seen.add(v[:2])
                stack.append((v, True))
                stack += [(given, False) for given in v.layer.calls[v.call]]
    seen = set()
    for v in net.outputs:
        visit(v)
    for layer, call in reversed(order):
        depth = of_call.setdefault((layer, call), 0)
        for given in layer.calls[call]:
            of_call[given[:2]] = max(of_call.get(given[:2], 0), depth + 1)
    most = max(of_call.values(), default=0)
    result = {}
    for (layer, _), depth in of_call.items():
        result[layer] = max(result.get(layer, 0), most if layer.kind == 'InputLayer' else depth)
    return result


def history(dialect, value, output=False):
    """Returns a reference. Models that are layers have an extra call before all others, which counts."""
    layer, call = value.layer, value.call
    if layer.inner is not None and (dialect.number < 3 or (output and not layer.inner.sequential)):
        call += 1
    return [layer.name, call, value.result]


def calls_of(net, layer, dialect):
    if dialect.number < 3:
        return [[history(dialect, v) + [{}] for v in call] for call in layer.calls if call]
    nodes = []
    for call in layer.calls:
        if not call:
            continue
        tensors = [{'class_name': '__keras_tensor__',
                    'config': {'shape': [None] + list(net.shape(v)[1:]), 'dtype': 'float32', 'keras_history': history(dialect, v)}}
                   for v in call]
        if layer.inner is None and dialect.is_operator(net, layer):
            args = tensors
            if 'number' in layer.config:
                args.insert(0 if layer.config['first'] else 1, layer.config['number'])
        else:
            args = tensors if len(tensors) == 1 and layer.kind != 'Concatenate' else [tensors]
        nodes.append({'args': args, 'kwargs': {'mask': None} if layer.kind == 'BatchNormalization' else {}})
    return nodes


def model_of(net, dialect, name=None):
    name = name or net.name
    if net.sequential:
        config = sequence(net, dialect, name)
    else:
        far = depths(net)
        layers = []
        for layer in sorted(net.layers, key=lambda one: -far[one]):
            layers.append(dict(entry(net, layer, dialect), name=layer.name, inbound_nodes=calls_of(net, layer, dialect)))
        ends = {'input_layers': [history(dialect, v) for v in net.inputs],
                'output_layers': [history(dialect, v, True) for v in net.outputs]}
        if dialect.number >= 3 and dialect.single:
            ends = {key: value[0] if len(value) == 1 else value for key, value in ends.items()}
        config = dict({'name': name, 'layers': layers}, **ends)
        if dialect.number >= 3:
            config['trainable'] = True
    return {'class_name': dialect.model_class(net), 'config': config}


# --- the weights ---
def weights_of(layer, dialect, scope=''):
    """Yields (name, array) of a layer, or of all layers of a model: trained ones first, in Keras's order."""
    if layer.inner is not None:
        inside = scope + layer.name + '/' if dialect.scoped and dialect.number > 1 else scope
        both = [pair for one in layer.inner.layers for pair in weights_of(one, dialect, inside)]
        return [p for p in both if 'moving' not in p[0]] + [p for p in both if 'moving' in p[0]]
    before = '' if dialect.number == 1 else scope + layer.name + '/'
    return [(before + name, dialect.array(layer, own, array))
            for name, (own, array) in zip(dialect.weight_names(layer), layer.weights)]


def texts(names):
    return np.asarray([name.encode() for name in names])


def saved_layers(net):
    """Returns the layers that a model lists: the input of a sequential model is not one."""
    return net.layers[1:] if net.sequential else net.layers


def hdf5_of(net, dialect):
    with h5py.File('m', 'w', driver='core', backing_store=False) as file:
        file.attrs['keras_version'] = dialect.version.encode()
        file.attrs['backend'] = b'tensorflow'
        file.attrs['model_config'] = json.dumps(model_of(net, dialect)).encode()
        root = file.create_group('model_weights')
        root.attrs['layer_names'] = texts([layer.name for layer in saved_layers(net)])
        root.attrs['backend'] = b'tensorflow'
        root.attrs['keras_version'] = dialect.version.encode()
        for layer in sorted(saved_layers(net), key=lambda one: one.name):
            group = root.create_group(layer.name)
            arrays = weights_of(layer, dialect)
            group.attrs['weight_names'] = texts([name for name, _ in arrays])
            for name, array in arrays:
                group.create_dataset(name, data=array)
        if dialect.number > 1:
            root.create_group('top_level_model_weights').attrs['weight_names'] = texts([])
        if dialect.compiled:
            file.attrs['training_config'] = json.dumps({'loss': 'mse', 'optimizer_config': {'class_name': 'Adam'}}).encode()
            group = file.create_group('optimizer_weights')
            group.attrs['weight_names'] = texts(['Adam/iter:0'])
            group.create_dataset('Adam/iter:0', data=np.int64(100))
        file.flush()
        return file.id.get_file_image()


def snake(name):
    made = ''
    for k, letter in enumerate(name):
        around = name[k - 1].islower() or (k + 1 < len(name) and name[k + 1].islower())
        made += ('_' if k and letter.isupper() and around else '') + letter.lower()
    return made


def put_layers(group, net, dialect):
    seen = {}
    for layer in net.layers if net.sequential else sorted(net.layers, key=lambda one, far=depths(net): -far[one]):
        if layer.inner is None and layer.kind != 'InputLayer' and dialect.is_operator(net, layer):
            continue
        kind = snake(dialect.model_class(layer.inner) if layer.inner is not None else layer.kind)
        count = seen[kind] = seen.get(kind, -1) + 1
        place = group.create_group(kind if count == 0 else '%s_%d' % (kind, count))
        values = place.create_group('vars')
        if layer.inner is not None:
            put_layers(place.create_group('layers'), layer.inner, dialect)
        elif 'Dropout' in layer.kind or layer.kind == 'GaussianNoise':
            place.create_dataset('seed_generator/vars/0', data=np.zeros(2, np.uint32))
        for k, (own, array) in enumerate(layer.weights):
            values.create_dataset(str(k), data=dialect.array(layer, own, array))


def archive_of(net, dialect):
    with h5py.File('m', 'w', driver='core', backing_store=False) as file:
        put_layers(file.create_group('layers'), net, dialect)
        file.create_group('vars')
        if dialect.compiled:
            file.create_dataset('optimizer/vars/0', data=np.int64(100))
        file.flush()
        weights = file.id.get_file_image()
    config = dict(model_of(net, dialect), module='keras', registered_name=dialect.model_class(net), compile_config={})
    out = io.BytesIO()
    with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED if dialect.deflated else zipfile.ZIP_STORED, compresslevel=1) as archive:
        archive.writestr('metadata.json', json.dumps({'keras_version': dialect.version}))
        archive.writestr('config.json', json.dumps(config))
        archive.writestr('model.weights.h5', weights)
    return out.getvalue()
