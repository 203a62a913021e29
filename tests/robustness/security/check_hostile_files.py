#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every hostile file of the reference data through every command of dvnet that reads it. It must succeed, or
print one printable line of error, within 5 seconds of computing and a gigabyte.

    check_hostile_files.py DVNET DATA_FOLDER   exit status 77: no data, the test is skipped
"""
import gzip
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from share import share_of  # noqa: E402

SKIP = 77
SECONDS = 5
KILOBYTES = 1 << 20


class Checker:
    def __init__(self, dvnet, folder):
        self.dvnet, self.folder = dvnet, folder
        self.run_with = os.environ.get("DVNN_RUN_WITH", "").split()  # an emulator, which is slower
        self.seconds = SECONDS * (10 if self.run_with else 1)
        self.calls, self.failures = 0, 0
        self.picture = os.path.join(folder, "picture.ppm")
        with open(self.picture, "wb") as file:
            file.write(b"P6\n64 64\n255\n" + bytes(i * 7 % 256 for i in range(64 * 64 * 3)))

    def fail(self, arguments, problem):
        self.failures += 1
        print(f"FAILED {' '.join(map(os.path.basename, arguments))}: {problem}")

    def run(self, *arguments):
        self.calls += 1
        command = [*self.run_with, self.dvnet, *arguments]
        begin = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen(command, stdout=out, stderr=err)
            # Longer than the limit, so that the message can say how long it took.
            while time.monotonic() < begin + 4 * self.seconds:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                time.sleep(0.002)
            else:
                child.kill()
                os.wait4(child.pid, 0)
                self.fail(arguments, f"did not end within {4 * self.seconds} s")
                return
            child.returncode = os.waitstatus_to_exitcode(status)
            spent = usage.ru_utime + usage.ru_stime  # processors' time, whatever else the machine does
            out.seek(0)
            err.seek(0)
            said, complaint = out.read(), err.read()
        if child.returncode not in (0, 1):
            self.fail(arguments, f"ended with status {child.returncode}")
        if spent > self.seconds:
            self.fail(arguments, f"computed for {spent:.1f} s")
        if usage.ru_maxrss > KILOBYTES and not self.run_with:
            self.fail(arguments, f"took {usage.ru_maxrss >> 10} MB")
        # A remark that a result is not finite may come with success.
        lines = [line for line in complaint.splitlines() if child.returncode or b"not finite" not in line]
        if len(lines) != (1 if child.returncode else 0):
            self.fail(arguments, f"{len(lines)} lines of error, status {child.returncode}")
        for text in (said, complaint):
            if any(ord(c) < 0x20 and c != "\n" or 0x7f <= ord(c) < 0xa0
                   for c in text.decode(errors="replace")):
                self.fail(arguments, "prints control characters")

    def check(self, path):
        result = os.path.join(self.folder, "result.dvn")
        sources = os.path.join(self.folder, "sources")
        if path.endswith(".dvn"):
            self.run("inspect", path)
            self.run("inspect", "--json", path)
            self.run("inspect", "--dot", path)
            self.run("inspect", "--estimate", path)
            self.run("run", path, self.picture)
            self.run("run", "--json", path, self.picture)
            for size in ("16x16", "32x32", "160x96"):
                self.run("convert", path, "--size", size, "-o", result)
                self.run("run", "--size", size, path, self.picture)
            self.run("convert", path, "-o", result, "--emit-cpp", sources, "--name", "z")
            generated = os.path.join(sources, "z_gen.cpp")
            if os.path.exists(generated):
                with open(generated, "rb") as file:
                    if any(line.startswith((b"#error", b"int pwn")) for line in file):
                        self.fail(["--emit-cpp", path], "text of the file became code")
                os.unlink(generated)
        elif path.endswith(".h5"):
            self.run("convert", path, "-o", result)
        elif path.endswith(".json"):
            self.run("convert", "no.prototxt", "no.caffemodel", "-o", result, "--layer-types", path)


def main():
    dvnet, hostile = sys.argv[1], os.path.join(sys.argv[2], "hostile")
    if not os.path.isdir(hostile):
        print(f"skipped: no hostile files in '{hostile}'")
        return SKIP
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(dvnet, folder)
        for name in share_of(sorted(os.listdir(hostile))):
            path = os.path.join(hostile, name)
            if name.endswith(".gz"):
                unpacked = os.path.join(folder, name[:-len(".gz")])
                with gzip.open(path) as packed, open(unpacked, "wb") as file:
                    file.write(packed.read())
                path = unpacked
            checker.check(path)
        print(f"{checker.calls} calls, {checker.failures} failures")
    return 1 if checker.failures or not checker.calls else 0


if __name__ == "__main__":
    sys.exit(main())
