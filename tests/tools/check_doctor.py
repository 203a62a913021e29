#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet doctor in a good state, and in bad ones: each prints its line, with the remedy.

usage: check_doctor.py DVNET BUILD_FOLDER
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

DVNET, BUILD = sys.argv[1:]
MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "pipelines", "codes")
FAULTY_VENDOR = os.path.join(BUILD, "tests", "robustness", "faults", "vendor")


class Report:
    """Runs dvnet doctor --json in an environment changed by `change` (None: unset)."""

    def __init__(self, change=None, *arguments):
        environment = dict(os.environ)
        environment.pop("DVNN_DEVICE", None)
        for name, value in (change or {}).items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        done = subprocess.run([DVNET, "doctor", "--json", *arguments], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.status, self.text = done.returncode, done.stdout + done.stderr
        answer = json.loads(done.stdout)
        self.can_run, self.findings = answer["can_run"], answer["findings"]
        assert self.status == (0 if self.can_run else 1), self.text
        assert self.can_run == (not self.of_level("failure")), self.text
        for finding in self.findings:
            assert sorted(finding) == ["level", "remedy", "says", "topic"], finding
            assert finding["says"] and finding["level"] in ("ok", "warning", "failure"), finding
            assert finding["remedy"] or finding["level"] == "ok", finding

    def of_level(self, level):
        return [f for f in self.findings if f["level"] == level]

    def has(self, level, topic, says, remedy=""):
        for f in self.findings:
            if (f["level"], f["topic"]) == (level, topic) and says in f["says"] and remedy in f["remedy"]:
                return
        raise AssertionError("no %s of %s: '%s', '%s' in\n%s" % (level, topic, says, remedy, self.text))


def libraries(folder):
    return {"LD_LIBRARY_PATH": folder + ":" + os.environ.get("LD_LIBRARY_PATH", "")}


def good_state():
    report = Report()
    assert report.can_run, report.text
    report.has("ok", "build", "gst-dvnn ")
    report.has("ok", "GStreamer", "GStreamer 1.")
    report.has("ok", "plugin", os.path.join(BUILD, "gst", "libgstdvnn.so"))
    report.has("ok", "elements", "dvconvert, dvdecode, dvinfer")
    report.has("ok", "processor", "frames are converted with ")
    report.has("ok", "device", "libdmpdv-soft.so: ")
    report.has("ok", "network", "'codes'")
    assert not [f for f in report.of_level("warning") if f["topic"] == "network"], report.text
    report.has("ok", "pipeline", "runs")
    times = [re.search(r"takes ([0-9.]+) ms", f["says"]) for f in report.findings if f["topic"] == "inference"]
    assert times and times[-1] and 0 < float(times[-1].group(1)) < 60000, report.text


def text_is_a_line_each():
    done = subprocess.run([DVNET, "doctor"], text=True, stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert re.search(r"^ok +plugin +GStreamer finds ", done.stdout, re.M), done.stdout
    assert done.stdout.endswith("\nA pipeline can run.\n"), done.stdout
    wrong = re.findall(r"^(?:warning|failure) .*\n(?: +do: .*\n)?", done.stdout, re.M)
    quiet = subprocess.run([DVNET, "doctor", "-q"], text=True, stdout=subprocess.PIPE)
    assert quiet.returncode == 0 and quiet.stdout == "".join(wrong), quiet.stdout
    done = subprocess.run([DVNET, "doctor"], text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "DVNN_DEFAULT_NETWORK": "/nowhere/net.dvn"})
    assert done.returncode == 1
    assert re.search(r"^failure +network .*/nowhere/net.dvn.*\n +do: .*DVNN_DEFAULT_NETWORK", done.stdout,
                     re.M), done.stdout
    assert done.stdout.endswith("\nNo pipeline can run.\n"), done.stdout
    done = subprocess.run([DVNET, "doctor", "--quiet"], text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "DVNN_DEFAULT_NETWORK": "/nowhere/net.dvn"})
    assert done.returncode == 1, done.stdout
    assert re.match(r"(warning|failure) ", done.stdout) and not re.search(r"^ok ", done.stdout, re.M), done.stdout
    assert "/nowhere/net.dvn" in done.stdout and done.stdout.endswith("\nNo pipeline can run.\n"), done.stdout


def plugin_is_missing(folder):
    empty = os.path.join(folder, "empty")
    os.mkdir(empty)
    report = Report({"GST_PLUGIN_PATH": empty, "GST_REGISTRY": os.path.join(folder, "missing.bin")})
    report.has("failure", "plugin", empty, "GST_PLUGIN_PATH")
    report.has("ok", "inference", "device 'soft'")  # the run needs no GStreamer


def plugin_cannot_be_loaded(folder):
    bad = os.path.join(folder, "bad")
    os.mkdir(bad)
    plugin = os.path.join(bad, "libgstdvnn.so")
    with open(plugin, "w") as file:
        file.write("no library\n" * 1000)
    for fork in "no", None:  # unset: GStreamer puts the plugin on its list of files to leave alone
        registry = os.path.join(folder, "bad-%s.bin" % fork)
        change = {"GST_PLUGIN_PATH": bad, "GST_REGISTRY": registry, "GST_REGISTRY_FORK": fork}
        report = Report(change)
        report.has("failure", "plugin", plugin + ": ", "rm " + registry)
        report.has("failure", "plugin", "invalid ELF header", "install it again")


def elements_are_missing(folder):
    """Each element that is missing is reported: a fake gst-inspect-1.0 leaves it out."""
    inspect = shutil.which("gst-inspect-1.0")
    listed = subprocess.run([inspect, "--no-colors", "--plugin", "dvnn"], text=True, check=True, stdout=subprocess.PIPE)
    elements = re.findall(r"^  (dv\w+): ", listed.stdout, re.M)
    assert "dvconvert" in elements, listed.stdout
    for element in elements:
        here = os.path.join(folder, "without-" + element)
        os.mkdir(here)
        fake = os.path.join(here, "gst-inspect-1.0")
        with open(fake, "w") as file:
            file.write(f"#!/bin/sh\n{inspect} \"$@\" | grep -v '^  {element}: '\n")
        os.chmod(fake, 0o755)
        done = subprocess.run([DVNET, "doctor", "--timeout=60"], text=True, stdout=subprocess.PIPE,
                              env={**os.environ, "PATH": here + ":" + os.environ["PATH"]})
        assert done.returncode == 1 and f"the plugin has no {element}" in done.stdout, done.stdout


def gstreamer_is_missing(folder):
    report = Report({"PATH": folder})
    report.has("failure", "GStreamer", "gst-inspect-1.0", "gstreamer1.0-tools")


def network_is_missing(folder):
    nowhere = os.path.join(folder, "nowhere.dvn")
    report = Report({"DVNN_DEFAULT_NETWORK": nowhere, "DVNN_SOFT_THREADS": "many"})
    report.has("warning", "processor", "'many'", "256")
    report.has("failure", "network", nowhere, "DVNN_DEFAULT_NETWORK")
    report.has("failure", "pipeline", nowhere)
    report = Report(None, "--network", nowhere)
    report.has("failure", "network", nowhere, "--network")


def network_names_no_decoder(folder):
    """The default network's model without its last layer; the result finds nothing."""
    model, network = os.path.join(folder, "cut.prototxt"), os.path.join(folder, "cut.dvn")
    with open(os.path.join(MODELS, "codes.prototxt")) as file:
        text = file.read()
    with open(model, "w") as file:
        file.write(text[:text.rindex("layer {")])
    subprocess.run([DVNET, "convert", model, os.path.join(MODELS, "codes.caffemodel"), "-o", network], check=True,
                   stdout=subprocess.DEVNULL)
    report = Report(None, "--network", network)
    report.has("warning", "network", "it names no decoder", "--decoder")


def software_device_is_missing(folder):
    nowhere = os.path.join(folder, "libdmpdv-soft.so")
    report = Report({"DVNN_SOFT_DEVICE": nowhere})
    report.has("warning", "device", "the software device is not there: ", "DVNN_SOFT_DEVICE")
    assert any(nowhere in f["says"] for f in report.of_level("warning")), report.text
    report.has("failure", "inference", nowhere)
    assert not report.can_run, report.text


def vendors_library_does_not_work(folder):
    report = Report({**libraries(FAULTY_VENDOR), "DVNN_FAULT": "context:*:fail"})
    assert report.can_run, report.text
    report.has("warning", "device", "fails as planned", "dmesg")
    report.has("warning", "inference", "device auto uses 'soft', as libdmpdv.so does not work", "device=soft")
    report = Report({**libraries(FAULTY_VENDOR), "DVNN_FAULT": "context:*:fail", "DVNN_DEVICE": "fpga"})
    report.has("failure", "inference", "fails as planned", "DVNN_DEVICE")
    garbage = os.path.join(folder, "garbage")
    os.mkdir(garbage)
    with open(os.path.join(garbage, "libdmpdv.so"), "w") as file:
        file.write("no library\n" * 1000)
    report = Report(libraries(garbage))
    assert report.can_run, report.text
    report.has("warning", "device", "invalid ELF header", "install it again")


def vendors_library_crashes_or_hangs():
    # The fault device aborts on a plan that it cannot read.
    report = Report({**libraries(FAULTY_VENDOR), "DVNN_FAULT": "nonsense"})
    report.has("warning", "device", "crashed (signal 6)", "DVNN_DEVICE=soft")
    report.has("failure", "inference", "crashed (signal 6)", "DVNN_DEVICE=soft")
    report = Report({**libraries(FAULTY_VENDOR), "DVNN_FAULT": "context:*:hang"}, "--timeout", "2")
    report.has("warning", "device", "did not end in time", "DVNN_DEVICE=soft")
    report.has("failure", "inference", "did not end in time", "DVNN_DEVICE=soft")
    # dvinfer waits for the device as long as it is told to, and tells it before the pipeline's time is over.
    report = Report({**libraries(FAULTY_VENDOR), "DVNN_FAULT": "wait:*:hang", "DVNN_DEVICE": "fpga"}, "--timeout", "4")
    report.has("failure", "pipeline", "not answered for 2000 ms", "GST_DEBUG")


def vendors_library_works():
    report = Report({**libraries(FAULTY_VENDOR), "DVNN_FAULT": None, "DVNN_SOFT_THREADS": "1"})
    report.has("ok", "processor", "1 threads")
    report.has("ok", "device", "libdmpdv.so: ")
    report.has("ok", "inference", "device 'fpga'")


def a_run_fails():
    report = Report({**libraries(FAULTY_VENDOR), "DVNN_FAULT": "exec:*:fail", "DVNN_DEVICE": "fpga"})
    report.has("failure", "inference", "fails as planned", "memory")


def dvnet_says_where_it_runs():
    environment = dict(os.environ, DVNN_FAULT="context:*:fail", **libraries(FAULTY_VENDOR))
    network = os.environ["DVNN_DEFAULT_NETWORK"]
    done = subprocess.run([DVNET, "run", network, "/nowhere.png"], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if "no command" not in done.stderr:  # the command needs OpenCV
        assert "runs on device 'soft', as libdmpdv.so does not work" in done.stderr, done.stderr


def wrong_usage():
    for arguments in (["file"], ["--timeout", "0"], ["--nonsense"]):
        done = subprocess.run([DVNET, "doctor", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 2 and done.stderr, arguments


def main():
    good_state()
    text_is_a_line_each()
    with tempfile.TemporaryDirectory() as folder:
        plugin_is_missing(folder)
        plugin_cannot_be_loaded(folder)
        elements_are_missing(folder)
        gstreamer_is_missing(folder)
        network_is_missing(folder)
        network_names_no_decoder(folder)
        software_device_is_missing(folder)
        vendors_library_does_not_work(folder)
    vendors_library_crashes_or_hangs()
    vendors_library_works()
    a_run_fails()
    dvnet_says_where_it_runs()
    wrong_usage()


if __name__ == "__main__":
    main()
