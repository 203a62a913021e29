#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Board reports: what is written can be read, corrects the estimate as documented, and hostile ones are refused.

    check_board_report.py DVNET NETWORK
"""
import copy
import json
import os
import subprocess
import sys
import tempfile

DVNET, NETWORK = sys.argv[1:3]
KINDS = ("convolution", "depthwise", "pooling", "transposed")


def run(*arguments):
    return subprocess.run([DVNET, *arguments], capture_output=True, text=True, timeout=120)


def estimate(board=None):
    done = run("inspect", "--estimate", "--json", *(["--board", board] if board else []), NETWORK)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write(folder, report):
    path = os.path.join(folder, "board.json")
    with open(path, "w") as file:
        file.write(report if isinstance(report, str) else json.dumps(report))
    return path


# As of a board with 1152 multipliers at 200 MHz. Depthwise convolutions take 3 times as long as estimated, others
# (0.5 + 4) / (1 + 2); CPU layers twice as long.
REPORT = {
    "format": "dvnn-board-report", "version": 1, "network": "made-up.dvn",
    "machine": {"system": "Linux 4.14.0 aarch64", "model": "ZIA C3", "processors": 4, "memory_kb": 2000000, "cma_kb": 262144,
                "free_cma_kb": 200000},
    "device": {"software": False, "library": "libdmpdv.so", "driver": "7.2.20201106", "conv_mhz": 200, "ub_bytes": 524288,
               "max_kernel": 7, "macs": 1152, "hardware": "0700", "revision": "93"},
    "steps": [{"name": "a", "kind": "convolution", "ms": 0.5, "estimate_ms": 1},
              {"name": "b", "kind": "convolution", "ms": 4, "estimate_ms": 2},
              {"name": "c", "kind": "depthwise", "ms": 3, "estimate_ms": 1},
              {"name": "d", "kind": "depthwise", "ms": 0, "estimate_ms": 1},
              {"name": "e", "kind": "cpu", "ms": 2, "estimate_ms": 1}]}


def check_fit(folder):
    path = write(folder, REPORT)
    plain, fitted = estimate("clock=200,macs=1152,ub=524288"), estimate(path)
    hardware = fitted["hardware"]
    assert (hardware["clock_mhz"], hardware["macs"], hardware["ub_bytes"], hardware["cpu_mops"]) == (200, 1152, 524288, 500)
    want = {"convolution": 4.5 / 3, "depthwise": 3, "pooling": 7.5 / 4, "transposed": 7.5 / 4}  # the last two: as all commands
    assert all(abs(hardware["factors"][kind] - want[kind]) < 1e-9 for kind in KINDS), hardware
    factors = {round(after["us"] / before["us"], 6) for before, after in zip(plain["steps"], fitted["steps"])}
    assert factors <= {round(factor, 6) for factor in want.values()} and len(factors) > 1, factors
    assert "ZIA C3" in fitted["corrected_by"] and "send us" in fitted["corrected_by"], fitted["corrected_by"]
    wild = copy.deepcopy(REPORT)
    wild["steps"] = [{"name": "a", "kind": "convolution", "ms": 5000, "estimate_ms": 1},
                     {"name": "b", "kind": "depthwise", "ms": 0.001, "estimate_ms": 1}]
    factors = estimate(write(folder, wild))["hardware"]["factors"]
    assert factors["convolution"] == 20 and factors["depthwise"] == 0.25, factors


def check_own(folder, *command):
    """A report of this machine says that its device is the software device."""
    path = os.path.join(folder, "own.json")
    done = subprocess.run([DVNET, *command, "--device=soft", "--board-report", path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "nothing about a board" in done.stdout and "software device" in done.stdout, done.stdout
    with open(path) as file:
        report = json.load(file)
    assert report["device"]["software"] and report["machine"]["processors"] >= 1
    assert any(step["kind"] == "convolution" and step["ms"] > 0 and step["estimate_ms"] > 0 for step in report["steps"])
    assert len(report["steps"]) == len(json.loads(run("inspect", "--json", NETWORK).stdout)["steps"])
    assert "nothing about a board" in estimate(path)["corrected_by"]
    text = run("inspect", "--estimate", "--board", path, NETWORK).stdout
    assert "nothing about a board" in text and "no board was measured" not in text, text[-400:]


def check_apart(folder):
    """A device that does not time single commands, as the vendor's: they are timed apart."""
    path = os.path.join(folder, "apart.json")
    done = run("doctor", "--network", NETWORK, "--device", os.environ["DVNN_CACHE_DEVICE"], "--board-report", path)
    assert done.returncode == 0 and "send us" in done.stdout, done.stdout + done.stderr
    with open(path) as file:
        report = json.load(file)
    commands = [step for step in report["steps"] if step["kind"] != "cpu"]
    assert not report["device"]["software"] and commands and all(step["ms"] > 0 for step in commands), commands


def check_refused(folder):
    def refused(change, *words):
        report = copy.deepcopy(REPORT)
        report = change(report) or report
        done = run("inspect", "--estimate", "--board", write(folder, report), NETWORK)
        assert done.returncode == 2 and all(word in done.stderr for word in words), (words, done.returncode, done.stderr)
        assert len(done.stderr) < 700, done.stderr  # a sentence

    refused(lambda r: "{", "board.json")
    refused(lambda r: "[" * 100000, "board.json")
    refused(lambda r: "[]", "the report", "object")
    refused(lambda r: r.update(version=2), "version", "2")
    refused(lambda r: r.update(format="x"), "dvnn-board-report")
    refused(lambda r: r.update(extra=1), "no field 'extra'")
    refused(lambda r: r["device"].update(extra=1), "device", "no field 'extra'")
    refused(lambda r: r["machine"].update(extra=1), "machine", "no field 'extra'")
    refused(lambda r: r["steps"][1].update(extra=1), "step 1", "no field 'extra'")
    refused(lambda r: r["device"].update(conv_mhz=0), "conv_mhz")
    refused(lambda r: r["device"].update(conv_mhz=1e300), "conv_mhz")
    refused(lambda r: r["device"].update(macs=-72), "macs")
    refused(lambda r: r["device"].update(macs=71), "macs", "72")
    refused(lambda r: r["device"].update(ub_bytes="many"), "ub_bytes")
    refused(lambda r: r["device"].update(library="x" * 100000), "library", "shorter")
    refused(lambda r: r["steps"][0].update(ms=-1), "step 0", "ms")
    refused(lambda r: r["steps"][0].update(ms=1e300), "step 0", "ms")
    refused(lambda r: r["steps"][0].update(ms=2e7), "step 0", "ms", "1e+07")
    refused(lambda r: r["steps"][0].update(estimate_ms=None), "step 0", "estimate_ms")
    refused(lambda r: r["steps"][0].update(kind="dream"), "step 0", "kind")
    refused(lambda r: r.update(steps={}), "steps", "list")
    refused(lambda r: r.update(steps=r["steps"] * 20001), "steps", "100000")
    refused(lambda r: r.update(steps=[5]), "step 0", "object")
    refused(lambda r: r.update(network="x" * 256), "network", "shorter")
    refused(lambda r: r.pop("machine") and None, "machine", "missing")
    done = run("inspect", "--estimate", "--board", os.path.join(folder, "none.json"), NETWORK)
    assert done.returncode == 2 and "none.json" in done.stderr, done.stderr


with tempfile.TemporaryDirectory() as scratch:
    check_fit(scratch)
    check_own(scratch, "doctor", "--network", NETWORK)
    if "network" in run("bench", "--help").stdout:
        check_own(scratch, "bench", "network", NETWORK)
    check_apart(scratch)
    check_refused(scratch)
