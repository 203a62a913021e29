# SPDX-License-Identifier: Apache-2.0
"""Trains the network on generated scenes, writes the Caffe files, evaluates on held-out scenes.

The number of threads is fixed, so that sums have one order and a seed gives one result on one
machine.
"""
import argparse
import multiprocessing
import os
import time

import cv2
import numpy as np
import torch
from torch import nn

import evaluate
import export
import scenes
import ssd
from model import INPUT_HEIGHT, INPUT_WIDTH, MEAN, SCALE, Net, counts, folded, priors

SEED = 3
SCENES = 10000
EPOCHS = 16
BATCH = 32
THREADS = 2
PEAK_RATE = 4e-3
WARM_UP = 200  # steps
WEIGHT_DECAY = 5e-4
NEGATIVES_PER_POSITIVE = 3
MIN_NEGATIVES = 12  # of a picture, also where nothing is

# The second part: scenes with no code in which the network sees one, among scenes with codes.
EMPTY_SCENES = 7000  # looked through
HARD_CONFIDENCE = 0.2  # what makes one hard
HARD_COPIES = 2
REFINE_SCENES = 4000  # of the first part's
REFINE_EPOCHS = 6
REFINE_RATE = 4e-4


def training_scene(index):
    picture, boxes, kinds = scenes.scene(scenes.TRAIN, index)
    return evaluate.shrink(picture), evaluate.normalised(boxes, picture), kinds


def empty_scene(index):
    picture, boxes, kinds = scenes.scene(scenes.TRAIN_EMPTY, index)
    return evaluate.shrink(picture), boxes, kinds


def hard_scenes(net, data):
    """Those of some scenes with no code in which the network finds one."""
    hard = []
    for start in range(0, len(data), BATCH):
        part = data[start:start + BATCH]
        x = torch.from_numpy(np.stack([picture for picture, _, _ in part])).permute(0, 3, 1, 2)
        with torch.no_grad():
            conf = net((x.float() - MEAN) * SCALE)[1].softmax(2)
        worst = conf[:, :, 1:].amax((1, 2))
        hard += [scene for scene, confidence in zip(part, worst) if confidence > HARD_CONFIDENCE]
    return hard


def augment(rng, picture, boxes):
    """Mirrors, shifts and swaps channels: all leave every code what it is."""
    if rng.random() < 0.5:
        picture, boxes = picture[:, ::-1], np.abs(boxes[:, (2, 1, 0, 3)] - (1, 0, 1, 0))
    if rng.random() < 0.5:
        picture, boxes = picture[::-1], np.abs(boxes[:, (0, 3, 2, 1)] - (0, 1, 0, 1))
    # Cells of the last map are 64 pixels: shifts show every code at every place of a cell.
    left, top = (int(v) for v in rng.integers(-8, 9, 2))
    shift = np.float32([[1, 0, left], [0, 1, top]])
    picture = cv2.warpAffine(picture[:, :, rng.permutation(3)], shift, (INPUT_WIDTH, INPUT_HEIGHT),
                             borderMode=cv2.BORDER_REFLECT)
    moved = boxes + np.array([left / INPUT_WIDTH, top / INPUT_HEIGHT] * 2)
    return picture, np.clip(moved, 0, 1).astype(np.float32)


def batches(rng, data, prior_boxes):
    order = rng.permutation(len(data))
    for start in range(0, len(order) - BATCH + 1, BATCH):
        pictures, classes, targets = [], [], []
        for i in order[start:start + BATCH]:
            picture, boxes = augment(rng, data[i][0], data[i][1])
            pictures.append(picture)
            kind, target = ssd.match(boxes, data[i][2], prior_boxes)
            classes.append(kind)
            targets.append(target)
        x = torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2)  # channels last in memory
        yield (x.float() - MEAN) * SCALE, torch.from_numpy(np.stack(classes)), torch.from_numpy(np.stack(targets))


def loss_of(loc, conf, classes, targets):
    """Smooth L1 on matched priors; cross entropy on those and the hardest background priors."""
    positive = classes > 0
    matched = positive.sum().clamp(min=1)
    box_loss = nn.functional.smooth_l1_loss(loc[positive], targets[positive], reduction="sum")
    entropy = nn.functional.cross_entropy(conf.transpose(1, 2), classes, reduction="none")
    hardness = entropy.detach().masked_fill(positive, -1)
    rank = hardness.argsort(1, descending=True).argsort(1)
    wanted = (positive.sum(1, keepdim=True) * NEGATIVES_PER_POSITIVE).clamp(min=MIN_NEGATIVES)
    negative = (rank < wanted) & ~positive
    return box_loss / matched, entropy[positive | negative].sum() / matched


def train(log, net, data, epochs, peak_rate, part):
    rng = np.random.default_rng((SEED, part))
    net = net.to(memory_format=torch.channels_last)
    prior_boxes = priors()
    decayed = [p for p in net.parameters() if p.dim() > 1]
    others = [p for p in net.parameters() if p.dim() <= 1]
    optimiser = torch.optim.AdamW([{"params": decayed, "weight_decay": WEIGHT_DECAY},
                                   {"params": others, "weight_decay": 0}], lr=peak_rate)
    steps = epochs * (len(data) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda n: min((n + 1) / WARM_UP, 0.5 + 0.5 * np.cos(np.pi * n / steps)))
    started = time.time()
    for epoch in range(epochs):
        sums, count = np.zeros(2), 0
        net.train()
        for x, classes, targets in batches(rng, data, prior_boxes):
            box_loss, class_loss = loss_of(*net(x), classes, targets)
            optimiser.zero_grad(set_to_none=True)
            (box_loss + class_loss).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 10)
            optimiser.step()
            schedule.step()
            sums, count = sums + (box_loss.item(), class_loss.item()), count + 1
        log("epoch %2d/%d  box loss %.3f  class loss %.3f  %5.0f s"
            % (epoch + 1, epochs, *(sums / count), time.time() - started))
    return net.eval()


def refine(log, net, data):
    """The second part, on the network without batch normalisation."""
    with multiprocessing.Pool(THREADS) as pool:
        empty = pool.map(empty_scene, range(EMPTY_SCENES), chunksize=50)
    hard = hard_scenes(net, empty)
    log("%d of %d scenes with no code are hard" % (len(hard), len(empty)))
    return train(log, net, data[:REFINE_SCENES] + hard * HARD_COPIES, REFINE_EPOCHS, REFINE_RATE, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=SCENES)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    args = parser.parse_args()
    torch.set_num_threads(THREADS)

    with open(os.path.join(args.out, "train.log"), "w") as log_file:
        def log(line):
            print(line, flush=True)
            print(line, file=log_file, flush=True)

        parameters, macs = counts()
        log("seed %d, %d scenes, %d epochs, batch %d, torch %s, numpy %s, opencv %s"
            % (SEED, args.scenes, args.epochs, BATCH, torch.__version__, np.__version__, cv2.__version__))
        log("input %dx%d, %d priors, %d parameters (%d bytes in FP16), %.1f million multiply-adds"
            % (INPUT_WIDTH, INPUT_HEIGHT, len(priors()), parameters, 2 * parameters, macs / 1e6))
        started = time.time()
        with multiprocessing.Pool(THREADS) as pool:
            data = pool.map(training_scene, range(args.scenes), chunksize=50)
        log("scenes made in %.0f s" % (time.time() - started))
        torch.manual_seed(SEED)
        net = folded(train(log, Net(), data, args.epochs, PEAK_RATE, 0))
        net = refine(log, net, data)
        export.write(net, args.out)
        evaluate.report(log, net)


if __name__ == "__main__":
    main()
