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
import more_scenes
import scenes
import ssd
import test_cards
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
MIN_NEGATIVES = 12  # per picture, even without codes

# The second part: scenes without codes in which the network sees one, among scenes with codes.
EMPTY_SCENES = 7000  # scenes to look through
HARD_CONFIDENCE = 0.2  # confidence of a find that makes a scene hard
HARD_COPIES = 2
REFINE_SCENES = 4000  # scenes of the first part
REFINE_EPOCHS = 6
REFINE_RATE = 4e-4

# The third part: portrait frames, large codes and test cards, among scenes of the first two.
MORE_SCENES = ((more_scenes.TRAIN_PORTRAIT, 1100), (more_scenes.TRAIN_LARGE, 900), (more_scenes.TRAIN_CARDS, 800))
GENERATED_FRAMES = 2  # of each of videotestsrc's patterns in each size of the training
WIDEN_SCENES = 1200  # scenes of the first part
WIDEN_EMPTY_SCENES = 1200  # scenes of the second part to look through
WIDEN_EPOCHS = 8
WIDEN_RATE = 4e-4

# The fourth part: like the second, because the third makes the network see more codes, even where
# there are none.
AGAIN_EMPTY_SCENES = 2800  # scenes of the second part to look through
AGAIN_PANELS = 700  # scenes with large words on dark fields
AGAIN_EVERY = 2  # one in this number of the third part's scenes
AGAIN_EPOCHS = 3
AGAIN_RATE = 3e-4


def training_scene(index):
    picture, boxes, kinds = scenes.scene(scenes.TRAIN, index)
    return evaluate.shrink(picture), evaluate.normalised(boxes, picture), kinds


def empty_scene(index):
    picture, boxes, kinds = scenes.scene(scenes.TRAIN_EMPTY, index)
    return evaluate.shrink(picture), boxes, kinds


def more_scene(stream_and_index):
    picture, boxes, kinds = more_scenes.scene(*stream_and_index)
    return evaluate.shrink(picture), evaluate.normalised(boxes, picture), kinds


def generated_cards(size):
    """Frames of all patterns of one size."""
    return [(evaluate.shrink(frame), np.zeros((0, 4), np.float32), np.zeros(0, np.int64))
            for pattern in range(test_cards.PATTERNS)
            for frame in test_cards.generated(pattern, *size, GENERATED_FRAMES)]


def hard_scenes(net, data):
    """Returns those of some scenes with no code in which the network finds one."""
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
    """Mirrors, shifts and swaps channels, none of which changes a code's class."""
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


def train(log, net, data, epochs, peak_rate, part, after_epoch=lambda net: None):
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
        after_epoch(net)
    return net.eval()


def refine(log, net, data):
    """The second part, on the network without batch normalisation."""
    with multiprocessing.Pool(THREADS) as pool:
        empty = pool.map(empty_scene, range(EMPTY_SCENES), chunksize=50)
    hard = hard_scenes(net, empty)
    log("%d of %d scenes with no code are hard" % (len(hard), len(empty)))
    return train(log, net, data[:REFINE_SCENES] + hard * HARD_COPIES, REFINE_EPOCHS, REFINE_RATE, 1)


def widen(log, net, threads, after_epoch):
    """The third and fourth part, likewise; they go on from the first two's weights."""
    with multiprocessing.Pool(threads) as pool:
        data = pool.map(training_scene, range(WIDEN_SCENES), chunksize=50)
        empty = pool.map(empty_scene, range(AGAIN_EMPTY_SCENES), chunksize=50)
        for stream, count in MORE_SCENES:
            data += pool.map(more_scene, [(stream, i) for i in range(count)], chunksize=50)
        panels = pool.map(more_scene, [(more_scenes.TRAIN_PANELS, i) for i in range(AGAIN_PANELS)], chunksize=50)
        cards = [card for size in test_cards.LEARNT for card in generated_cards(size)]
    hard = hard_scenes(net, empty[:WIDEN_EMPTY_SCENES])
    log("third part, %d threads: %d scenes, %d of %d scenes with no code are hard, %d frames of videotestsrc"
        % (threads, len(data), len(hard), WIDEN_EMPTY_SCENES, len(cards)))
    net = train(log, net, data + cards + hard * HARD_COPIES, WIDEN_EPOCHS, WIDEN_RATE, 2, after_epoch)
    data, hard = data[::AGAIN_EVERY] + panels, hard_scenes(net, empty)
    log("fourth part: %d scenes, %d of %d scenes with no code are hard" % (len(data), len(hard), len(empty)))
    return train(log, net, data + cards + hard * HARD_COPIES, AGAIN_EPOCHS, AGAIN_RATE, 3, after_epoch)


def first_parts(log, args):
    parameters, macs = counts()
    log("seed %d, %d scenes, %d epochs, batch %d, torch %s, numpy %s, opencv %s"
        % (SEED, args.scenes, args.epochs, BATCH, torch.__version__, np.__version__, cv2.__version__))
    log("input %dx%d, %d priors, %d parameters (%d bytes in FP16), %.1f million multiply-adds"
        % (INPUT_WIDTH, INPUT_HEIGHT, len(priors()), parameters, 2 * parameters, macs / 1e6))
    started = time.time()
    with multiprocessing.Pool(args.threads) as pool:
        data = pool.map(training_scene, range(args.scenes), chunksize=50)
    log("scenes made in %.0f s" % (time.time() - started))
    torch.manual_seed(SEED)
    return refine(log, folded(train(log, Net(), data, args.epochs, PEAK_RATE, 0)), data)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=SCENES)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--on", action="store_true", help="parts three and four, on from the weights that are there")
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    with open(os.path.join(args.out, "train.log"), "a" if args.on else "w") as log_file:
        def log(line):
            print(line, flush=True)
            print(line, file=log_file, flush=True)

        if args.on:
            net = export.read(os.path.join(args.out, export.NAME + ".caffemodel"), Net(normalised=False))
        else:
            net = first_parts(log, args)
            evaluate.report(log, net)
        net = widen(log, net, args.threads, lambda after: export.write(after, args.out))
        evaluate.report(log, net)


if __name__ == "__main__":
    main()
