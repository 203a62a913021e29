#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the vendor's user driver, and runs its own tests, our networks and our elements with it on the emulated kernel.

    vendor_driver.py DRIVER_FOLDER KERNEL_LIBRARY CHECK_CACHES DVNET DEFAULT_NETWORK CLIP DATA_FOLDER

DRIVER_FOLDER has the sources of dv-user-driver; those of dv-kernel-driver are beside it, as their includes expect.
Nothing is written there. Exits with 77 without them.
"""
import os
import shutil
import subprocess
import sys
import tempfile

DRIVER, KERNEL, CHECK, *REST = sys.argv[1:]
# Programs of the driver's folder `tests`, with their arguments. The others need data that Caffe makes.
TESTS = {"test_context": [], "test_mem": ["3"], "test_upsampling": [], "test_batch": [], "test_weights": [],
         "test_maximizer": []}
# Where caches are cleaned by instructions of arm64, the driver calls this elsewhere.
FLUSH = ["-D__builtin___clear_cache=dvnn_kernel_flush", "-include", "flush.h"]
# As in its first releases: without the functions for parts of a memory.
FIRST = ["-Ddmp_dv_mem_to_device=hidden_to_device", "-Ddmp_dv_mem_to_cpu=hidden_to_cpu"]


def run(*command, **settings):
    subprocess.run(command, check=True, **settings)


def build_library(folder, flags):
    os.makedirs(folder)
    with open(os.path.join(folder, "flush.h"), "w") as file:
        file.write('extern "C" void dvnn_kernel_flush(void*, void*);\n')
    objects = []
    for source in ("dmp_dv.cpp", "weights_conv.c", "weights_dil.c", "weights_fc.c"):
        objects.append(source.rsplit(".", 1)[0] + ".o")
        own = ["c++", "-std=c++11", *flags] if source.endswith("cpp") else ["cc", "-std=c99"]
        run(*own, "-O2", "-fPIC", "-fvisibility=hidden", "-I.", "-I", f"{DRIVER}/include", "-c", f"{DRIVER}/src/{source}",
            "-o", objects[-1], cwd=folder)
    run("c++", "-shared", *objects, "-o", "libdmpdv.so", cwd=folder)
    return os.path.join(folder, "libdmpdv.so")


def build_test(name, folder, library):
    source = next(path for path in (f"{DRIVER}/tests/{name}/{name}.{ending}" for ending in ("c", "cpp")) if os.path.exists(path))
    if source.endswith(".c"):
        own = ["cc", "-std=c99", "-D_DEFAULT_SOURCE", "-D__fp16=_Float16"]
    else:
        own = ["c++", "-std=c++11"]
        if name == "test_maximizer":  # its numbers are those of ARM's compilers
            own += ["-include", "half.h", "-D__fp16=half_float::half"]
    run(*own, "-O1", "-w", "-I", folder, "-I", f"{DRIVER}/include", "-I", f"{DRIVER}/tests/common", source, "-o",
        os.path.join(folder, name), "-L", os.path.dirname(library), "-ldmpdv", "-Wl,--unresolved-symbols=ignore-in-shared-libs",
        "-lm", "-lstdc++", "-lcrypto")


def check_own_tests(folder, library, environment):
    os.makedirs(folder)
    # On ARM its halves are made of integers without a cast.
    with open(f"{DRIVER}/include/half.h", errors="replace") as file, open(os.path.join(folder, "half.h"), "w") as ours:
        ours.write(file.read().replace("explicit half(float", "half(float"))
    shutil.copy(f"{DRIVER}/tests/test_maximizer/test_maximizer_config.csv", folder)
    for name, arguments in TESTS.items():
        build_test(name, folder, library)
        run(os.path.join(folder, name), *arguments, cwd=folder, stdout=subprocess.DEVNULL, timeout=300,
            env={**environment, "LD_LIBRARY_PATH": os.path.dirname(library) + ":" + environment.get("LD_LIBRARY_PATH", "")})
        print(f"{name} passes")


def check_local_response(folder, library, environment):
    """LRN alone cannot be committed: the driver adds a pooling, which the kernel module refuses."""
    build_test("test_multirun", folder, library)
    ended = subprocess.run([os.path.join(folder, "test_multirun")], cwd=folder, capture_output=True, text=True, timeout=300,
                           env={**environment, "LD_LIBRARY_PATH": os.path.dirname(library)})
    refused = [line for line in (ended.stdout + ended.stderr).splitlines() if "failed" in line and "dmp_dv" in line]
    assert refused and all("DMP_DV_IOC_APPEND_CMD" in line and "errno=22" in line for line in refused), refused
    print(f"test_multirun: {len(refused)} lists with LRN are refused, as by the kernel module")


def main():
    if not os.path.exists(f"{DRIVER}/src/dmp_dv.cpp"):
        print("skipped: no sources of the vendor's user driver (-Ddmp_driver=FOLDER names them)")
        return 77
    if not os.path.exists(f"{DRIVER}/../dv-kernel-driver/uapi/dmp-dv.h"):
        print(f"skipped: no sources of dv-kernel-driver beside {DRIVER}, whose headers the driver includes")
        return 77
    environment = {**os.environ, "LD_PRELOAD": KERNEL, "DVNN_KERNEL_PERIOD_MS": "2000"}
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in (("ranges", FLUSH), ("whole", FIRST)):
            library = build_library(os.path.join(folder, name), flags)
            check_own_tests(os.path.join(folder, name, "tests"), library, environment)
            check_local_response(os.path.join(folder, name, "tests"), library, environment)
            print(f"our networks and elements with the driver that hands over {name}:", flush=True)
            run(sys.executable, CHECK, *REST, env={**environment, "DVNN_CACHE_DEVICE": library})
    return 0


if __name__ == "__main__":
    sys.exit(main())
