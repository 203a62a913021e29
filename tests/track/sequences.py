# SPDX-License-Identifier: Apache-2.0
"""Recorded sequences: folders with det.txt and gt.txt in the MOT challenge's form."""
import collections
import configparser
import subprocess

import evaluate
import sort_baseline

# Where no seqinfo.ini says it: frames per second of the 2D MOT 2015 sequences.
RATES = {'TUD-Stadtmitte': 25, 'TUD-Campus': 25, 'KITTI-13': 10, 'KITTI-17': 10, 'Venice-2': 30, 'PETS09-S2L1': 7,
         'ETH-Bahnhof': 14, 'ETH-Sunnyday': 14, 'ETH-Pedcross2': 14, 'ADL-Rundle-6': 30, 'ADL-Rundle-8': 30}


def lines_of(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout.splitlines()


def ours(program, det, frames, fps, every, width, height, *settings):
    """Our tracks of a file of detections. A frame's size of 0 is one that is not known."""
    return evaluate.read(lines_of(program, det, frames, fps, every, width, height, *settings))


def shown(program, det, frames, fps, width, height):
    """(frame, number of the detection, counted from 1, box) of all boxes that tracks have where something was detected."""
    for line in lines_of(program, det, frames, fps, 1, width, height):
        fields = [float(v) for v in line.split(',')]
        if fields[7] > 0:
            yield int(fields[0]), int(fields[7]), fields[2:6]


def measure(program, folder, *settings):
    """The figures of our tracker and of SORT on a sequence."""
    fps, width, height = RATES.get(folder.name, 25), 0, 0
    info = configparser.ConfigParser()
    if info.read(folder / 'seqinfo.ini'):
        section = info['Sequence']
        fps, width, height = section['frameRate'], section['imWidth'], section['imHeight']
    truth = evaluate.read(str(folder / 'gt.txt'), True)
    detections, frames = collections.defaultdict(list), max(truth)
    for line in open(folder / 'det.txt'):
        fields = [float(v) for v in line.split(',')[:7]]
        detections[int(fields[0])].append(tuple(fields[2:]))
    found = evaluate.figures(truth, ours(program, folder / 'det.txt', frames, fps, 1, width, height, *settings))
    return found, evaluate.figures(truth, sort_baseline.run(detections, frames))
