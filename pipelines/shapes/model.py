# SPDX-License-Identifier: Apache-2.0
"""The network: one table of layers, from which PyTorch's module and Caffe's prototxt are both made.

Built for the device: channels in multiples of 8, kernels of at most 3, ReLU, 2 x 2 max pooling. The
input's sides are multiples of 32: no pooling ever rounds (Caffe's rounds up, PyTorch's down).
Batch normalisation exists in training only; `folded` moves it into the convolutions.
"""
from collections import namedtuple

import numpy as np
import torch
from torch import nn

from scenes import LABELS

INPUT_WIDTH, INPUT_HEIGHT = 192, 160
MEAN, SCALE = 127.5, 1 / 128  # input value = (pixel - MEAN) * SCALE, channels B, G, R
CLASSES = len(LABELS)  # with the background

Conv = namedtuple("Conv", "name inputs outputs kernel stride")
Pool = namedtuple("Pool", "name")
# A detection head over the feature map made so far: PriorBox sizes in input pixels; each cell has a
# square prior of min_size and one of sqrt(min_size * max_size).
Head = namedtuple("Head", "name channels step min_size max_size")

LAYERS = (
    Conv("conv1", 3, 8, 3, 2),
    Conv("conv2", 8, 16, 3, 1),
    Pool("pool2"),
    Conv("conv3_1", 16, 24, 3, 1),
    Conv("conv3_2", 24, 32, 3, 1),
    Pool("pool3"),
    Conv("conv4_1", 32, 48, 3, 1),
    Conv("conv4_2", 48, 48, 3, 1),
    Head("head4", 48, 8, 16, 36),
    Pool("pool4"),
    Conv("conv5_1", 48, 48, 3, 1),
    Conv("conv5_2", 48, 64, 3, 1),
    Head("head5", 64, 16, 36, 75),
    Pool("pool5"),
    Conv("conv6_1", 64, 32, 1, 1),
    Conv("conv6_2", 32, 48, 3, 1),
    Head("head6", 48, 32, 75, 133),
)
HEADS = tuple(layer for layer in LAYERS if isinstance(layer, Head))
PRIORS_PER_CELL = 2
VARIANCES = (0.1, 0.1, 0.2, 0.2)


def priors():
    """All priors as centre x, centre y, width, height in 0..1: PriorBox's order and formula."""
    rows = []
    for head in HEADS:
        for y in range(INPUT_HEIGHT // head.step):
            for x in range(INPUT_WIDTH // head.step):
                for size in (head.min_size, (head.min_size * head.max_size) ** 0.5):
                    rows.append(((x + 0.5) * head.step / INPUT_WIDTH,
                                 (y + 0.5) * head.step / INPUT_HEIGHT,
                                 size / INPUT_WIDTH, size / INPUT_HEIGHT))
    return np.array(rows, np.float32)


def counts():
    """Parameters and multiply-adds of the folded network."""
    parameters = macs = 0
    pixels = INPUT_WIDTH * INPUT_HEIGHT
    for layer in LAYERS:
        if isinstance(layer, Pool):
            pixels //= 4
            continue
        if isinstance(layer, Conv):
            pixels //= layer.stride ** 2
            weights, outputs = layer.inputs * layer.outputs * layer.kernel ** 2, layer.outputs
        else:
            outputs = PRIORS_PER_CELL * (4 + CLASSES)
            weights = layer.channels * outputs * 9
        parameters += weights + outputs
        macs += weights * pixels
    return parameters, macs


class Net(nn.Module):
    """Pixels (N x 3 x H x W, mean off and scaled) to location (N x priors x 4) and class scores."""

    def __init__(self, normalised=True):
        super().__init__()
        self.layers = nn.ModuleDict()
        for layer in LAYERS:
            if isinstance(layer, Conv):
                conv = nn.Conv2d(layer.inputs, layer.outputs, layer.kernel, layer.stride,
                                 layer.kernel // 2, bias=not normalised)
                nn.init.kaiming_normal_(conv.weight, nonlinearity="relu")
                self.layers[layer.name] = conv
                if normalised:
                    self.layers[layer.name + "_norm"] = nn.BatchNorm2d(layer.outputs)
            elif isinstance(layer, Head):
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
            elif isinstance(layer, Pool):
                x = nn.functional.max_pool2d(x, 2)
            else:
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
                conv.bias.copy_(norm.bias - norm.running_mean * gain)
    return plain.eval()
