#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dvcamera's /metrics is what Prometheus reads, and says what the elements say.

    test_metrics.py DVCAMERA

Exits with 77 without Python's bindings of GStreamer. The text is read by a strict parser that is written from the
specification of the format; by `promtool check metrics` and by a Prometheus that scrapes, if they are installed."""
import http.client
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse

from checks import run_checks
from test_camera import OwnPort

try:
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import Gst
except (ImportError, AttributeError, ValueError) as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

DVCAMERA = sys.argv[1]
NASTY = 'door "1" \\ back\nyard {x="y"} ü'
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
# docs/metrics.md promises these.
ALWAYS = {"dvnn_source_frames_total", "dvnn_source_up", "dvnn_source_losses_total", "dvnn_line_frames_total",
          "dvnn_line_idle_seconds", "process_resident_memory_bytes", "process_cpu_seconds_total"}


# --- the format (prometheus.io/docs/instrumenting/exposition_formats, text format 0.0.4) ---------

def parse(text):
    """Returns samples by name and labels, and types by name. Anything that the format does not allow is an error."""
    assert text.endswith("\n") and "\r" not in text
    samples, types_, helped, current, done = {}, {}, set(), None, set()
    for line in text[:-1].split("\n"):
        if line.startswith("# "):
            _, what, name, rest = line.split(" ", 3)
            assert what in ("HELP", "TYPE") and NAME.fullmatch(name), line
            if what == "HELP":
                assert name not in helped and re.fullmatch(r"(?:[^\\\n]|\\\\|\\n)*", rest), line
                helped.add(name)
            else:
                assert name not in types_ and rest in ("counter", "gauge", "histogram", "summary", "untyped"), line
                assert name in helped and not any(belongs(sample[0], name) for sample in samples), line
                types_[name] = rest
                done.add(current)
                current = name
                assert name not in done, "%s is in two groups" % name
            continue
        name, labels, value = sample_of(line)
        assert current and belongs(name, current, types_[current]), line
        assert (name, labels) not in samples, "twice: %s" % line
        samples[name, labels] = value
    follow_conventions(samples, types_)
    return samples, types_


def belongs(sample, name, kind="histogram"):
    return sample == name or kind == "histogram" and sample in (name + "_bucket", name + "_sum", name + "_count")


def sample_of(line):
    name = NAME.match(line)
    assert name, line
    at = name.end()
    labels = {}
    if line[at] == "{":
        at += 1
        while line[at] != "}":
            key = LABEL.match(line, at)
            assert key and line[key.end():key.end() + 2] == '="' and key[0] not in labels, line
            at, value = key.end() + 2, ""
            while line[at] != '"':
                if line[at] == "\\":
                    at += 1
                    assert line[at] in '\\"n', line
                    value += "\n" if line[at] == "n" else line[at]
                else:
                    value += line[at]
                at += 1
            labels[key[0]] = value
            at += 1
            assert line[at] in ",}", line
            at += line[at] == ","
        at += 1
    assert line[at] == " " and re.fullmatch(r"[-+]?(\d+(\.\d*)?([eE][-+]?\d+)?|Inf)|NaN", line[at + 1:]), line
    return name[0], tuple(sorted(labels.items())), float(line[at + 1:])


def follow_conventions(samples, types_):
    """prometheus.io/docs/practices/naming: base units, _total; and what a histogram is."""
    for name, kind in types_.items():
        assert (kind == "counter") == name.endswith("_total"), name
        assert not re.search(r"_(ms|us|milliseconds|mib|kilobytes|percent)(_|$)", name), name
    histograms = {}
    for (name, labels), value in samples.items():
        if name.endswith("_bucket"):
            rest = tuple(label for label in labels if label[0] != "le")
            histograms.setdefault((name[:-7], rest), []).append((float(dict(labels)["le"]), value))
    for (name, labels), buckets in histograms.items():
        assert types_[name] == "histogram" and buckets == sorted(buckets) and buckets[-1][0] == float("inf"), name
        assert [count for _, count in buckets] == sorted(count for _, count in buckets), "not cumulative: %s" % name
        assert samples[name + "_count", labels] == buckets[-1][1]
        mean_bounds = samples[name + "_sum", labels]
        assert 0 <= mean_bounds and (buckets[-1][1] == 0) <= (mean_bounds == 0)


# --- cameras ------------------------------------------------------------------------------------

class Camera:
    def __init__(self, folder, **fields):
        self.own_port = OwnPort()
        self.port = int(self.own_port.number)
        self.path = os.path.join(folder, "camera.json")
        config = dict({"name": NASTY, "source": "test", "metrics": ":%d" % self.port, "elements": [
            "videoconvert", "dvconvert", "dvinfer when-busy=pass", "dvdecode threshold=0.1", "dvtrack",
            {"element": "dvzones", "zones": {"lines": [{"name": NASTY, "points": [[0.5, 1], [0.5, 0]]}],
                                             "areas": [{"name": "all", "points": [[0, 0], [1, 0], [1, 1], [0, 1]]}]}},
            {"element": "dvpublish", "url": "http://user:s3cret@127.0.0.1:9/x?token=s3cret", "options": "bearer=s3cret",
             "stream": "door", "flush-timeout-ms": 0}]}, **fields)
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        self.log = open(os.path.join(folder, "log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([DVCAMERA, self.path], stdout=self.log, stderr=self.log)

    def get(self, path="/metrics", host=None):
        to = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
        to.request("GET", path, headers={} if host is None else {"Host": host})
        answer = to.getresponse()
        text = answer.read().decode()
        to.close()
        return answer.status, answer.getheader("Content-Type"), text

    def until(self, is_wanted):
        while True:
            assert self.process.poll() is None, self.end()
            try:
                text = self.get()[2]
            except ConnectionError:
                time.sleep(0.05)
                continue
            if is_wanted(parse(text)[0]):
                return text
            time.sleep(0.05)

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.log.seek(0)
        text = self.log.read()
        self.log.close()
        return text


def value(samples, name, **labels):
    """Returns the sum of the samples that have these labels."""
    return sum(one for (other, all_), one in samples.items() if other == name and labels.items() <= dict(all_).items())


def check_that_metrics_say_what_the_elements_say(folder):
    camera = Camera(folder)
    first = camera.until(lambda samples: value(samples, "dvnn_infer_frames_total", result="inferred") > 3
                         and value(samples, "dvnn_publish_documents_total", result="published") > 3
                         and value(samples, "dvnn_source_up") == 1)
    samples, types_ = parse(first)
    assert ALWAYS <= {name for name, _ in samples}, ALWAYS - {name for name, _ in samples}
    assert all(dict(labels)["camera"] == NASTY for _, labels in samples)
    lines = {dict(labels).get("line") for _, labels in samples}
    assert lines == {None, NASTY}, lines
    assert value(samples, "dvnn_source_up") == 1 and value(samples, "dvnn_source_losses_total") == 0
    # The source is no slower than the line, and each frame was inferred or not.
    infer = value(samples, "dvnn_infer_frames_total")
    came, went = value(samples, "dvnn_source_frames_total"), value(samples, "dvnn_line_frames_total")
    assert came >= went > 0 and came >= infer, (came, infer, went)
    assert 0 < value(samples, "dvnn_infer_device_busy_seconds_total") < 1000
    inferred = value(samples, "dvnn_infer_frames_total", result="inferred")
    assert abs(value(samples, "dvnn_infer_phase_seconds_count", phase="device") - inferred) <= 16
    resident = value(samples, "process_resident_memory_bytes")
    with open("/proc/%d/statm" % camera.process.pid, encoding="utf-8") as file:
        now = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    assert 0.5 < resident / now < 2, (resident, now)
    assert "s3cret" not in first and "127.0.0.1" not in first
    later, _ = parse(camera.until(lambda samples: value(samples, "dvnn_line_frames_total") > went + 5))
    for (name, labels), before in samples.items():
        if types_.get(name) == "counter":
            assert later[name, labels] >= before, name
    log = camera.end()
    assert "metrics are at http://127.0.0.1:%d/metrics" % camera.port in log, log
    promtool = shutil.which("promtool")
    if not promtool:
        print("promtool is not installed")
        return
    told = subprocess.run([promtool, "check", "metrics"], input=first, capture_output=True, text=True)
    assert told.returncode == 0 and not told.stderr, told.stderr


def check_that_a_prometheus_scrapes_them(folder):
    if not shutil.which("prometheus"):
        print("prometheus is not installed")
        return
    camera = Camera(folder)
    camera.until(lambda samples: value(samples, "dvnn_line_frames_total") > 3)
    port = OwnPort()
    path = os.path.join(folder, "prometheus.yml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("global: {scrape_interval: 1s}\nscrape_configs: [{job_name: dvnn, static_configs: [{targets: "
                   "['127.0.0.1:%d']}]}]\n" % camera.port)
    process = subprocess.Popen(["prometheus", "--config.file", path, "--storage.tsdb.path", os.path.join(folder, "data"),
                                "--web.listen-address", "127.0.0.1:%s" % port.number], stderr=subprocess.DEVNULL)
    query = urllib.parse.quote("dvnn_line_crossings_total or dvnn_line_frames_total or up")
    while True:
        assert process.poll() is None, "prometheus has ended"
        try:
            to = http.client.HTTPConnection("127.0.0.1", int(port.number), timeout=40)
            to.request("GET", "/api/v1/query?query=" + query)
            found = json.loads(to.getresponse().read())["data"]["result"]
        except (ConnectionError, ValueError, KeyError):
            found = []
        if len(found) >= 3:
            break
        time.sleep(0.2)
    names = {one["metric"]["__name__"]: one for one in found}
    assert names["up"]["value"][1] == "1", names["up"]
    assert names["dvnn_line_crossings_total"]["metric"]["line"] == NASTY, names
    process.terminate()
    process.wait()
    camera.end()


def check_that_other_names_and_pages_are_refused_and_slow_clients_do_not_count(folder):
    port = OwnPort()
    camera = Camera(folder, metrics={"listen": "127.0.0.1:%s" % port.number, "names": ["Door.example.org"]})
    camera.port = int(port.number)
    camera.until(lambda samples: True)
    for host, status in ((None, 200), ("localhost:1", 200), ("door.example.org", 200), ("192.0.2.1:80", 200), ("[::1]:9", 200),
                         ("evil.example.org", 421), ("door.example.org.evil.com", 421), ("", 421)):
        assert camera.get(host=host)[0] == status, host
    assert camera.get()[1] == "text/plain; version=0.0.4; charset=utf-8"
    assert [camera.get(path)[0] for path in ("/", "/metrics/..", "/../../etc/passwd", "/metrics?x=1")] == [404, 404, 404, 200]
    slow = [socket.create_connection(("127.0.0.1", camera.port)) for _ in range(30)]
    for one in slow:
        one.close()
    camera.until(lambda samples: True)
    camera.end()


def check_that_a_port_in_use_and_a_place_that_is_none_are_told(folder):
    other = socket.create_server(("127.0.0.1", 0))
    camera = Camera(folder, metrics=":%d" % other.getsockname()[1])
    assert camera.process.wait() == 1
    assert "error: metrics: :%d: Address already in use" % other.getsockname()[1] in camera.end()
    other.close()
    for wrong, words in (("x", "must be"), (":70000", "must be a text such as :9600"), ({"names": []}, "has no 'listen'"), (5, "must be")):
        camera = Camera(folder, metrics=wrong)
        assert camera.process.wait() == 2
        log = camera.end()
        assert re.search(r"line 1, column \d+: metrics", log) and words in log, log


def load(name):
    path = os.path.join(os.path.dirname(DVCAMERA), name + ".py")
    sys.path[:0] = [os.path.dirname(path), os.path.dirname(os.path.dirname(path))]
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(
        name, importlib.machinery.SourceFileLoader(name, path)))
    module.__loader__.exec_module(module)
    return module


def check_that_temperatures_are_those_of_the_system(folder):
    module = load("camera_metrics")
    for zone, kind, temperature in (("thermal_zone0", "cpu-thermal", "48250"), ("thermal_zone1", "pl", "-500"),
                                    ("thermal_zone2", "dead", "")):
        os.makedirs(os.path.join(folder, "sys/class/thermal", zone))
        for name, text in (("type", kind + "\n"), ("temp", temperature + "\n")):
            with open(os.path.join(folder, "sys/class/thermal", zone, name), "w", encoding="utf-8") as file:
                file.write(text)
    metrics = module.Metrics(camera="c")
    module.add_machine(metrics, folder)
    samples, _ = parse(metrics.text())
    found = {dict(labels)["type"]: value for (name, labels), value in samples.items() if name == "dvnn_temperature_celsius"}
    assert found == {"cpu-thermal": 48.25, "pl": -0.5}, found


def check_that_counts_by_label_are_told(folder):
    module = load("camera_metrics")
    Gst.init(None)
    counts = Gst.Structure.from_string(
        'c, lines={(structure)"line\\,\\ name\\=\\(string\\)gate\\,\\ forward\\=\\(guint64\\)3\\,\\ backward\\=\\(guint64\\)1\\;"}, '
        'areas={(structure)"a\\,\\ name\\=\\(string\\)all\\,\\ inside\\=\\(guint64\\)2\\,\\ entered\\=\\(guint64\\)5\\,'
        '\\ left\\=\\(guint64\\)3\\;"};')[0]
    metrics = module.Metrics(camera="c")
    module.add_zones(metrics, "z", counts)
    samples, _ = parse(metrics.text())
    assert value(samples, "dvnn_line_crossings_total", line="gate", direction="forward", label="") == 3, samples
    assert value(samples, "dvnn_area_objects", area="all") == 2 and value(samples, "dvnn_area_exits_total") == 3, samples


def check_that_motion_and_clips_are_told(folder):
    module = load("camera_metrics")
    Gst.init(None)
    for factory, add, wanted, untold in (
            ("dvmotion", module.add_motion, {"still": ("dvnn_motion_frames_total", {"reason": "still"}),
                                             "everywhere": ("dvnn_motion_frames_total", {"reason": "everywhere"})}, {"frames"}),
            ("dvrecord", module.add_record, {"files": ("dvnn_record_files_total", {}),
                                             "failed": ("dvnn_record_failures_total", {}),
                                             "bytes": ("dvnn_record_written_bytes_total", {}),
                                             "memory": ("dvnn_record_memory_bytes", {}),
                                             "missed": ("dvnn_record_lost_frames_total", {"reason": "missed"})}, set())):
        # The names are the element's own; each has a number of its own.
        counts = Gst.ElementFactory.make(factory).get_property("counts")
        numbers = {counts.nth_field_name(i): i + 1 for i in range(counts.n_fields())}
        text = "c, " + ", ".join("%s=(guint64)%d" % one for one in numbers.items()) + ";"
        metrics = module.Metrics(camera="c")
        add(metrics, "e", Gst.Structure.from_string(text)[0])
        samples, _ = parse(metrics.text())
        assert sorted(samples.values()) == sorted(n for name, n in numbers.items() if name not in untold), (samples, numbers)
        for name, (sample, labels) in wanted.items():
            assert value(samples, sample, element="e", **labels) == numbers[name], (name, samples)


if __name__ == "__main__":
    run_checks(globals())
