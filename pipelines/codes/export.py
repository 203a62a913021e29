# SPDX-License-Identifier: Apache-2.0
"""Writes the folded network as Caffe-SSD's files: prototxt (text) and caffemodel (protobuf).

The caffemodel needs four of protobuf's messages, so the wire format is written by hand; field
numbers are those of caffe.proto. https://protobuf.dev/programming-guides/encoding
"""
import os

import numpy as np
import torch

import ssd
from caffe_fields import fields
from model import (CLASSES, HEADS, INPUT_HEIGHT, INPUT_WIDTH, LAYERS, PRIORS_PER_CELL, RATIO,
                   VARIANCES, Conv)
from scenes import LABELS

NAME = "codes"


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def delimited(number, payload):
    """A field of wire type 2: strings, messages, packed numbers."""
    if isinstance(payload, str):
        payload = payload.encode()
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def blob(array):
    """BlobProto: data = 5 (packed floats), shape = 7 (BlobShape: dim = 1, packed)."""
    shape = delimited(1, b"".join(varint(n) for n in array.shape))
    return delimited(5, np.ascontiguousarray(array, "<f4").tobytes()) + delimited(7, shape)


def caffemodel(net):
    """NetParameter: name = 1, layer = 100 (LayerParameter: name = 1, type = 2, blobs = 7)."""
    out = delimited(1, NAME)
    for name, conv in net.layers.items():
        blobs = [delimited(7, blob(p.detach().numpy())) for p in (conv.weight, conv.bias)]
        out += delimited(100, delimited(1, name) + delimited(2, "Convolution") + b"".join(blobs))
    return out


def _fields(data):
    """Number and payload of a message's fields."""
    return ((number, data[begin:end]) for number, begin, end in fields(data, 0, len(data)))


def read(path, net):
    """Loads the weights of a file that `write` made into a folded network."""
    with open(path, "rb") as file:
        data = file.read()
    for number, message in _fields(data):
        if number != 100:
            continue
        parts = list(_fields(message))
        conv = net.layers[next(p for n, p in parts if n == 1).decode()]
        blobs = [next(p for n, p in _fields(b) if n == 5) for n, b in parts if n == 7]
        for parameter, values in zip((conv.weight, conv.bias), blobs):
            array = np.frombuffer(values, "<f4").reshape(tuple(parameter.shape)).copy()
            parameter.data.copy_(torch.from_numpy(array))
    return net


def layer(name, kind, bottoms, parameters="", top=None):
    """One layer's text; parameters is the body that follows the bottoms and tops."""
    lines = ['name: "%s"' % name, 'type: "%s"' % kind]
    lines += ['bottom: "%s"' % bottom for bottom in bottoms]
    lines += ['top: "%s"' % (top or name)]
    lines += [parameters] if parameters else []
    return "layer {\n  " + "\n  ".join(lines) + "\n}\n"


def convolution(name, bottom, outputs, kernel, stride=1, groups=1):
    return layer(name, "Convolution", [bottom],
                 "convolution_param { num_output: %d kernel_size: %d pad: %d stride: %d group: %d }"
                 % (outputs, kernel, kernel // 2, stride, groups))


def head_layers(head, bottom):
    out = ""
    for part, size in (("loc", 4), ("conf", CLASSES)):
        name = head.name + "_" + part
        out += convolution(name, bottom, PRIORS_PER_CELL * size, 3)
        out += layer(name + "_perm", "Permute", [name],
                     "permute_param { order: 0 order: 2 order: 3 order: 1 }")
        out += layer(name + "_flat", "Flatten", [name + "_perm"], "flatten_param { axis: 1 }")
    variances = " ".join("variance: %g" % v for v in VARIANCES)
    out += layer(head.name + "_prior", "PriorBox", [bottom, "data"],
                 "prior_box_param {\n    min_size: %g max_size: %g aspect_ratio: %g flip: true "
                 "clip: false\n    %s\n    step: %g offset: 0.5\n  }"
                 % (head.min_size, head.max_size, RATIO, variances, head.step))
    return out


def detection_layers(min_confidence):
    def concat(name, suffix, axis):
        return layer(name, "Concat", [head.name + suffix for head in HEADS],
                     "concat_param { axis: %d }" % axis)

    return (concat("loc", "_loc_flat", 1) + concat("conf", "_conf_flat", 1)
            + concat("prior", "_prior", 2)
            + layer("conf_rows", "Reshape", ["conf"],
                    "reshape_param { shape { dim: 0 dim: -1 dim: %d } }" % CLASSES)
            + layer("conf_softmax", "Softmax", ["conf_rows"], "softmax_param { axis: 2 }")
            + layer("conf_flat", "Flatten", ["conf_softmax"], "flatten_param { axis: 1 }")
            + layer("detections", "DetectionOutput", ["loc", "conf_flat", "prior"],
                    "detection_output_param {\n    num_classes: %d share_location: true "
                    "background_label_id: 0\n    nms_param { nms_threshold: %g top_k: %d }\n"
                    "    code_type: CENTER_SIZE keep_top_k: %d confidence_threshold: %g\n  }"
                    % (CLASSES, ssd.NMS_IOU, ssd.NMS_TOP_K, ssd.KEEP_TOP_K, min_confidence)))


def prototxt(min_confidence=ssd.MIN_CONFIDENCE):
    text = 'name: "%s"\n' % NAME
    text += ('layer {\n  name: "data"\n  type: "Input"\n  top: "data"\n'
             "  input_param { shape { dim: 1 dim: 3 dim: %d dim: %d } }\n}\n"
             % (INPUT_HEIGHT, INPUT_WIDTH))
    top = "data"
    for entry in LAYERS:
        if isinstance(entry, Conv):
            text += convolution(entry.name, top, entry.outputs, entry.kernel, entry.stride, entry.groups)
            text += layer(entry.name + "_relu", "ReLU", [entry.name], top=entry.name)
            top = entry.name
        else:
            text += head_layers(entry, top)
    return text + detection_layers(min_confidence)


def write(net, folder):
    """Writes the two Caffe files and the labels; returns the Caffe files' paths."""
    text_path = os.path.join(folder, NAME + ".prototxt")
    weights_path = os.path.join(folder, NAME + ".caffemodel")
    with open(text_path, "w") as file:
        file.write("# SPDX-License-Identifier: Apache-2.0\n# Made by export.py: do not edit.\n")
        file.write(prototxt())
    with open(weights_path, "wb") as file:
        file.write(caffemodel(net))
    with open(os.path.join(folder, "labels.txt"), "w") as file:
        file.write("".join(label + "\n" for label in LABELS))
    return text_path, weights_path
