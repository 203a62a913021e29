# SPDX-License-Identifier: Apache-2.0
"""The classes that models are made of: a function for each of them, or for several. `LAYERS` has them by name, as the
importer's own table does; `WRITTEN_FOR` has names that Keras gives a class in some files, `NOT_TRIED` says of which
class the judge makes none, and why."""

LAYERS = {}  # class -> [function(net, class)]
IDIOMS = []  # functions of a net


def layer(*kinds):
    def add(function):
        for kind in kinds:
            LAYERS.setdefault(kind, []).append(function)
        return function
    return add


def idiom(function):
    IDIOMS.append(function)
    return function


WRITTEN_FOR = {
    'BatchNormalizationV1': 'BatchNormalization',
    'Convolution2D': 'Conv2D',
    'Deconvolution2D': 'Conv2DTranspose',
    'SeparableConvolution2D': 'SeparableConv2D',
    'Merge': 'Add',
    'Layer': 'InputLayer',
}
NOT_TRIED = {}
