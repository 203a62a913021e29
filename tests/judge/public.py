#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks in the shapes of public ones: transformers and a recogniser of text, against ONNX Runtime.

  public.py DVNET [--only NAME]
  public.py --write FOLDER

Every network is converted for pixels in [-1, 1] and run on a picture, and its output compared. --write keeps the models as
files instead, YOLOv8n of 640x640 in float and in 8 bits among them: docs/performance.md has how fast they are."""
import argparse
import os
import sys

from judging import failures
from yolo import Export, cosine, dynamic, graph, np, onnx, run, runtime_outputs, tensor_of, write_picture

from public_graphs import NETWORKS

# Twelve blocks deep, each of which rounds to the device's 16 bits.
LEAST_COSINE = 0.999


def check(model, dvnet, folder):
    path = [os.path.join(folder, f) for f in ('model.onnx', 'network.dvn', 'picture.ppm')]
    onnx.save(model, path[0])
    height, width = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim[2:]]
    write_picture(path[2], Export(width=width, height=height))
    run(dvnet, 'convert', path[0], '-o', path[1], '--mean', '127.5', '--scale', str(1 / 127.5))
    run(dvnet, 'run', path[1], path[2], '--device', 'soft', '--json', '--dump', folder)
    read = lambda what: np.load('%s.%s.npy' % (path[2], what))
    have, want = read('output'), runtime_outputs(model, ['output'], read('input'))[0]
    if have.shape != want.shape:
        raise RuntimeError('shape %s instead of %s' % (have.shape, want.shape))
    near = cosine(have, want)
    if not near >= LEAST_COSINE:
        raise RuntimeError('cosine %.6f' % near)
    rows, others = (a.reshape(-1, a.shape[-1]).argmax(1) for a in (have, want))
    return 'cosine %.6f, %d of %d largest numbers at the same place' % (near, (rows == others).sum(), len(rows))


def write(folder):
    os.makedirs(folder, exist_ok=True)
    models = {name: make() for name, make in NETWORKS.items()}
    models['yolov8n_640'] = graph(Export(width=640, height=640))
    models['yolov8n_640_int8'] = dynamic(models['yolov8n_640'], tensor_of(Export(width=640, height=640)))[0]
    for name, model in models.items():
        onnx.save(model, os.path.join(folder, name + '.onnx'))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('dvnet', nargs='?')
    parser.add_argument('--only', default='')
    parser.add_argument('--write', metavar='FOLDER')
    options = parser.parse_args()
    if options.write:
        return write(options.write)
    if not options.dvnet:
        parser.error('DVNET or --write is needed')
    return 1 if failures(NETWORKS, options.only, lambda make, folder: check(make(), options.dvnet, folder)) else 0


if __name__ == '__main__':
    sys.exit(main())
