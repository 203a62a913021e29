#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Networks and elements behind caches that are not coherent with the device (cache_device.cpp) give
the bytes of the software device, run after run, and hand over few bytes more than must cross.

    check_caches.py DVNET DEFAULT_NETWORK CLIP [DATA_FOLDER]     without the data: the default network alone

DVNN_CACHE_DEVICE names the device's library.
"""
import json
import os
import subprocess
import sys
import tempfile

DVNET, DEFAULT, CLIP = sys.argv[1:4]
DATA = sys.argv[4] if len(sys.argv) > 4 else ""
CACHES = os.environ["DVNN_CACHE_DEVICE"]
# As with a board: layers are computed apart from commands, and their inputs are rounded.
os.environ["DVNN_SOFT_UNFUSED"] = "1"
# Bytes handed over, per byte that must cross between CPU and device.
MOST = 1.2
# Many CPU layers, layers with several inputs, no CPU layer, an input that the CPU reads.
MODELS = ["models/yolox_nano.onnx", "zoo/SINet.onnx", "zoo/nanodet_m_320.onnx", "zoo/yunet_n_320_320.onnx",
          "zoo/ssrnet.onnx", "zoo/LPRNet.onnx", "zoo/chinese_ocr_angle_net.onnx", "zoo/facemesh_landmark.onnx",
          "zoo/road_seg_adas_0001.onnx", "models/fer2013_mini_XCEPTION.102-0.66.hdf5"]


def picture(folder, seed):
    path = os.path.join(folder, f"{seed}.ppm")
    with open(path, "wb") as file:
        file.write(b"P6 64 48 255\n")
        file.write(bytes((i * (seed + 3) * 7 >> 3) & 255 for i in range(64 * 48 * 3)))
    return path


def outputs(device, network, pictures, folder):
    os.makedirs(folder)
    subprocess.run([DVNET, "run", "--device", device, "--dump", folder, network, *pictures], check=True,
                   stdout=subprocess.DEVNULL)
    return {name: open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)}


def check_network(name, network, folder):
    pictures = [picture(folder, seed) for seed in range(3)]
    want = outputs("soft", network, pictures, os.path.join(folder, name + "-soft"))
    have = outputs(CACHES, network, pictures, os.path.join(folder, name + "-caches"))
    assert want and want.keys() == have.keys(), (name, sorted(want), sorted(have))
    for file, bytes_ in want.items():
        assert have[file] == bytes_, f"{name}: {file} differs"
    count = json.loads(subprocess.run([DVNET, "bench", "network", "--count", "--json", network], check=True,
                                      capture_output=True).stdout)
    handed = count["to_device_bytes"] + count["to_cpu_bytes"]
    print(f"{name}: {len(want)} files are the same; CPU layers move {count['layers_bytes']} bytes, handed over are {handed} "
          f"in {count['handover_calls']} calls, {count['crossing_bytes']} cross")
    assert handed <= MOST * count["crossing_bytes"], name


def documents(device, settings, folder):
    path = os.path.join(folder, "documents.jsonl")
    line = f"filesrc location={CLIP} ! decodebin ! videoconvert ! video/x-raw,format=RGB ! dvconvert name=convert {settings} ! "
    line += f"dvinfer device={device} network={DEFAULT} max-in-flight=3 ! dvdecode ! dvpublish stream=clip location={path} ! fakesink"
    subprocess.run(["gst-launch-1.0", "-q", *line.split()], check=True, timeout=240)
    with open(path) as file:
        frames = [json.loads(line) for line in file]
    os.remove(path)
    return [(frame["time"]["pts"], frame.get("objects")) for frame in frames if frame["type"] == "frame"]


def check_elements(folder):
    # Tensors made by the CPU and by the device, one and several slots of a frame.
    for settings in ("backend=cpu", "backend=device", "regions=tiles tiles=2x2,1x1"):
        want, have = (documents(device, settings, folder) for device in ("soft", CACHES))
        assert sum(bool(objects) for _, objects in want) > 20 and have == want, settings
        print(f"{settings}: the objects of {len(want)} frames are the same")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_network("default", DEFAULT, folder)
        check_elements(folder)
        missing = 0
        for model in MODELS:
            path = os.path.join(DATA, model)
            if not os.path.exists(path):
                missing += 1
                continue
            name = os.path.basename(model).rsplit(".", 1)[0]
            network = os.path.join(folder, name + ".dvn")
            subprocess.run([DVNET, "convert", path, "-o", network], check=True, stdout=subprocess.DEVNULL)
            check_network(name, network, folder)
        if missing:
            print(f"{missing} networks are not looked at: no reference data in '{DATA}'")


if __name__ == "__main__":
    main()
