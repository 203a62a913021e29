#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts SegNet_Basic, the test model of the vendor's converter, by file name and by an .ini file.

  check_segnet.py DVNET DATA

The .ini has the lines of the vendor's own (dv-sdk, test/network/SegNetBasic). Both ways must give a
network that takes the same input and makes the same outputs, and 16 bits must not change these.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

LEAST_COSINE = 0.999
INI = """[INPUT]
name = SegNetBasic
definition = SegNet_Basic.hdf5
data = SegNet_Basic.hdf5
origin = KERAS

[OUTPUT]
output_folder = out
generate_source = 1
generate_dot = 0
generate_doxy = 0
quantization = 0
transpose_weight = 0
"""


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False)
    if done.returncode != 0:
        raise ValueError('%s: %s' % (' '.join(command[1:3]), done.stderr.decode(errors='replace').strip()))
    return done.stdout.decode()


def check(dvnet, model, picture, work):
    shutil.copy(model, os.path.join(work, 'SegNet_Basic.hdf5'))
    ini = os.path.join(work, 'SegNetBasic.ini')
    with open(ini, 'w', encoding='utf-8') as file:
        file.write(INI)
    pictures = os.path.join(work, 'pictures')
    os.mkdir(pictures)
    shutil.copy(picture, pictures)
    named = os.path.join(work, 'named.dvn')
    told = run([dvnet, 'convert', model, '-o', named, '--check', pictures])
    cosines = [float(c) for c in re.findall(r'cosine ([0-9.]+)', told)]
    if not cosines or min(cosines) < LEAST_COSINE:
        raise ValueError('16 bits change the outputs: %s' % told)
    run([dvnet, 'convert', ini])
    by_ini = os.path.join(work, 'out', 'SegNetBasic', 'SegNetBasic.dvn')
    for made in ('SegNetBasic.dvn', 'SegNetBasic_weights.bin'):
        if not os.path.exists(os.path.join(work, 'out', 'SegNetBasic', made)):
            raise ValueError('the .ini file writes no %s: %s' % (made, os.listdir(os.path.dirname(by_ini))))
    results = [json.loads(run([dvnet, 'run', network, picture, '--json'])) for network in (named, by_ini)]
    if results[0]['outputs'] != results[1]['outputs']:
        raise ValueError('the .ini file makes another network: %s, %s' % (results[0], results[1]))
    return 'least cosine %.6f' % min(cosines)


def main():
    dvnet, data = sys.argv[1:3]
    model = os.path.join(data, 'zoo', 'SegNet_Basic.hdf5')
    picture = os.path.join(data, 'images', 'lane_morning.jpg')
    if not os.path.exists(model) or not os.path.exists(picture):
        print('skipped: there is no ' + model)
        return 77
    with tempfile.TemporaryDirectory() as work:
        print(check(dvnet, model, picture, work))
    return 0


if __name__ == '__main__':
    sys.exit(main())
