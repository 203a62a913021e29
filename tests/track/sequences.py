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


def ours(program, det, frames, fps, every, width, height, *settings):
    """Our tracks of a file of detections. A frame's size of 0 is one that is not known."""
    lines = subprocess.run([program, str(det), str(frames), str(fps), str(every), str(width), str(height), *settings],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    return evaluate.read(lines)


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
