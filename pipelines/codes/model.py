# SPDX-License-Identifier: Apache-2.0
"""The network: one table of layers, from which PyTorch's module and Caffe's prototxt are both made.

Built for the device: channels in multiples of 8, kernels of at most 3, ReLU, depthwise convolutions
where maps are small. The input's sides are multiples of 64: every stride divides its map.
Batch normalisation exists in training only; `folded` moves it into the convolutions.
"""
from collections import namedtuple

import numpy as np
import torch
from torch import nn

from scenes import INPUT_HEIGHT, INPUT_WIDTH, LABELS

MEAN, SCALE = 127.5, 1 / 128  # input value = (pixel - MEAN) * SCALE, channels B, G, R
CLASSES = len(LABELS)  # with the background

# groups: 1, or as many as channels for a depthwise convolution.
Conv = namedtuple("Conv", "name inputs outputs kernel stride groups")
# A detection head over the feature map made so far. PriorBox sizes in input pixels: each cell has
# a square prior of min_size, one of sqrt(min_size * max_size), and 2:1 and 1:2 ones of min_size's
# area.
Head = namedtuple("Head", "name channels step min_size max_size")


def _conv(name, inputs, outputs, stride=1):
    return (Conv(name, inputs, outputs, 3, stride, 1),)


def _separable(name, inputs, outputs, stride=1):
    """A depthwise 3 x 3 and a 1 x 1 convolution (MobileNet's block, arXiv:1704.04861)."""
    return (Conv(name + "_dw", inputs, inputs, 3, stride, inputs),
            Conv(name + "_pw", inputs, outputs, 1, 1, 1))


LAYERS = (
    *_conv("conv1", 3, 16, stride=2),
    *_conv("conv2", 16, 16),
    *_conv("conv3", 16, 32, stride=2),
    *_conv("conv4", 32, 32),
    *_conv("conv5", 32, 64, stride=2),
    *_separable("conv6", 64, 64),
    *_separable("conv7", 64, 64),
    Head("head8", 64, 8, 20, 44),
    *_conv("conv8", 64, 96, stride=2),
    *_separable("conv9", 96, 96),
    *_separable("conv10", 96, 96),
    Head("head16", 96, 16, 44, 82),
    *_separable("conv11", 96, 128, stride=2),
    *_separable("conv12", 128, 128),
    Head("head32", 128, 32, 82, 130),
    *_separable("conv13", 128, 128, stride=2),
    Head("head64", 128, 64, 130, 190),
)
HEADS = tuple(layer for layer in LAYERS if isinstance(layer, Head))
RATIO = 2
PRIORS_PER_CELL = 4
VARIANCES = (0.1, 0.1, 0.2, 0.2)


def priors():
    """All priors as centre x, centre y, width, height in 0..1: PriorBox's order and formula."""
    rows = []
    for head in HEADS:
        middle, root = (head.min_size * head.max_size) ** 0.5, RATIO ** 0.5
        sizes = ((head.min_size,) * 2, (middle,) * 2, (head.min_size * root, head.min_size / root),
                 (head.min_size / root, head.min_size * root))
        for y in range(INPUT_HEIGHT // head.step):
            for x in range(INPUT_WIDTH // head.step):
                for width, height in sizes:
                    rows.append(((x + 0.5) * head.step / INPUT_WIDTH,
                                 (y + 0.5) * head.step / INPUT_HEIGHT,
                                 width / INPUT_WIDTH, height / INPUT_HEIGHT))
    return np.array(rows, np.float32)


def counts():
    """Parameters and multiply-adds of the folded network."""
    parameters = macs = 0
    pixels = INPUT_WIDTH * INPUT_HEIGHT
    for layer in LAYERS:
        if isinstance(layer, Conv):
            pixels //= layer.stride ** 2
            weights, outputs = layer.inputs * layer.outputs * layer.kernel ** 2 // layer.groups, layer.outputs
        else:
            outputs = PRIORS_PER_CELL * (4 + CLASSES)
            weights = layer.channels * outputs * 9
        parameters += weights + outputs
        macs += weights * pixels
    return parameters, macs


class Net(nn.Module):
    """Gives loc (N x priors x 4) and conf logits (N x priors x classes)."""

    def __init__(self, normalised=True):
        super().__init__()
        self.layers = nn.ModuleDict()
        for layer in LAYERS:
            if isinstance(layer, Conv):
                conv = nn.Conv2d(layer.inputs, layer.outputs, layer.kernel, layer.stride, layer.kernel // 2,
                                 groups=layer.groups)
                nn.init.kaiming_normal_(conv.weight, mode="fan_out" if layer.groups == 1 else "fan_in",
                                        nonlinearity="relu")
                nn.init.zeros_(conv.bias)
                self.layers[layer.name] = conv
                if normalised:
                    self.layers[layer.name + "_norm"] = nn.BatchNorm2d(layer.outputs)
                continue
            for part, size in (("loc", 4), ("conf", CLASSES)):
                conv = nn.Conv2d(layer.channels, PRIORS_PER_CELL * size, 3, 1, 1)
                nn.init.normal_(conv.weight, std=0.01)
                nn.init.zeros_(conv.bias)
                self.layers[layer.name + "_" + part] = conv

    def forward(self, x):
        loc, conf = [], []
        for layer in LAYERS:
            if isinstance(layer, Conv):
                x = self.layers[layer.name](x)
                if layer.name + "_norm" in self.layers:
                    x = self.layers[layer.name + "_norm"](x)
                x = nn.functional.relu(x)
                continue
            for part, size, out in (("loc", 4, loc), ("conf", CLASSES, conf)):
                y = self.layers[layer.name + "_" + part](x).permute(0, 2, 3, 1)
                out.append(y.reshape(x.shape[0], -1, size))
        return torch.cat(loc, 1), torch.cat(conf, 1)


def folded(net):
    """The same function without batch normalisation."""
    plain = Net(normalised=False)
    for name, conv in plain.layers.items():
        source = net.layers[name]
        norm = net.layers[name + "_norm"] if name + "_norm" in net.layers else None
        with torch.no_grad():
            if norm is None:
                conv.weight.copy_(source.weight)
                conv.bias.copy_(source.bias)
            else:
                gain = norm.weight / torch.sqrt(norm.running_var + norm.eps)
                conv.weight.copy_(source.weight * gain[:, None, None, None])
                conv.bias.copy_((source.bias - norm.running_mean) * gain + norm.bias)
    return plain.eval()
