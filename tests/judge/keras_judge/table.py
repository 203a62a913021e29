# SPDX-License-Identifier: Apache-2.0
"""The classes of which models are made: a function for each of them, or for several. `LAYERS` has them by name, like the
importer's own table; `WRITTEN_FOR` has names that Keras gives a class in some files; `NOT_TRIED` gives the reason for
classes that the judge does not make."""

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
