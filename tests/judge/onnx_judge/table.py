# SPDX-License-Identifier: Apache-2.0
"""The operators of which graphs are made: a function for each of them, or for several. `OPERATORS` has them by name,
like the importer's own table; `NOT_TRIED` gives the reason for operators that the judge does not use."""

OPERATORS = {}  # name, or domain.name -> [function(graph, name)]
IDIOMS = []     # functions of a graph


def operator(*names):
    def add(function):
        for name in names:
            OPERATORS.setdefault(name, []).append(function)
        return function
    return add


def idiom(function):
    IDIOMS.append(function)
    return function


NOT_TRIED = {
    'Constant': 'it has no input: in some graphs all that is known is nodes of it',
    'Attention': 'of opset 23, which Debian 13 has nobody to compute',
    'DeformConv': 'Debian 13 has nobody to compute it',
    'RotaryEmbedding': 'of opset 23, which Debian 13 has nobody to compute',
    'com.microsoft.DynamicQuantizeLSTM': 'ONNX Runtime rounds its input and its state to 8 bits in each step',
    'com.microsoft.LayerNormalization': 'ONNX Runtime has it as an operator of ONNX',
    'RMSNormalization': 'of opset 23, which Debian 13 has nobody to compute',
    'Swish': 'of opset 24, which Debian 13 has nobody to compute',
}
