# SPDX-License-Identifier: Apache-2.0
"""What dvcamera's elements count, as text for Prometheus (https://prometheus.io/docs/instrumenting/exposition_formats/,
version 0.0.4). docs/metrics.md lists the metrics. This file belongs beside dvcamera."""
import glob
import os
import time
import warnings

import gi

import untrusted

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

TYPE = "text/plain; version=0.0.4; charset=utf-8"
# GValueArray is deprecated, and the only list of structures that PyGObject reads.
warnings.filterwarnings("ignore", message=".*ValueArray", category=DeprecationWarning)
MOST_SERIES = 5000  # of a metric: labels of zones are what networks find
INFER = (("inferred", "late", "passed", "dropped"))
LOSSES = ("unwritten", "undecodable", "refused", "missed")


def escaped(text):
    """A label's value. Bytes that are no UTF-8 do not get here, as GStreamer refuses them."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def number(value):
    return repr(float(value)) if isinstance(value, float) else str(int(value))


class Metrics:
    """Families of samples, which are written together."""

    def __init__(self, **common):
        self.common = common
        self.families = {}

    def add(self, name, kind, text, value, suffix="", **labels):
        """Adds a sample of a metric of this kind and meaning. `suffix`: of a histogram's samples."""
        family = self.families.setdefault(name, (kind, text, []))
        if value is None or len(family[2]) >= MOST_SERIES:
            return
        inner = ",".join('%s="%s"' % (key, escaped(str(one))) for key, one in dict(self.common, **labels).items())
        family[2].append("%s%s{%s} %s" % (name, suffix, inner, number(value)))

    def counter(self, name, text, value, **labels):
        self.add(name + "_total", "counter", text, value, **labels)

    def gauge(self, name, text, value, **labels):
        self.add(name, "gauge", text, value, **labels)

    def text(self):
        lines = []
        for name, (kind, text, samples) in self.families.items():
            if samples:
                lines += ["# HELP %s %s" % (name, text), "# TYPE %s %s" % (name, kind)] + samples
        return "\n".join(lines) + "\n"


def field(structure, name):
    """Returns a number or a structure; None without."""
    return structure.get_value(name) if structure is not None and structure.has_field(name) else None


def structures(structure, name):
    """Returns a list of structures. They are copies, as those of the list end with it."""
    found, values = structure.get_list(name) if structure.has_field(name) else (False, None)
    return [values.get_nth(i).copy() for i in range(values.n_values)] if found else []


# --- elements -----------------------------------------------------------------------------------

def add_infer(metrics, element, stats):
    for result in INFER:
        metrics.counter("dvnn_infer_frames", "Frames by what dvinfer did with them.", field(stats, result), element=element,
                        result=result)
    metrics.counter("dvnn_infer_joined", "Results that joined a later frame.", field(stats, "joined"), element=element)
    metrics.counter("dvnn_infer_waits", "Waits for a slot of more than a millisecond.", field(stats, "waits"), element=element)
    metrics.counter("dvnn_infer_device_busy_seconds", "Time in which the device was busy.", field(stats, "device-busy-seconds"),
                    element=element)
    metrics.gauge("dvnn_infer_slots", "Slots of the network.", field(stats, "slots"), element=element)
    metrics.gauge("dvnn_infer_slots_free", "Slots of the network that are free.", field(stats, "slots-free"), element=element)
    for phase in ("conversion", "waiting", "device", "cpu"):
        add_histogram(metrics, "dvnn_infer_phase_seconds", "Time that regions take in a phase of inference.",
                      field(stats, phase), element=element, phase=phase)


def add_histogram(metrics, name, text, times, **labels):
    buckets, count = field(times, "buckets"), field(times, "count")
    if buckets is None or count is None:
        return
    for i in range(buckets.n_fields()):
        bound = buckets.nth_field_name(i)
        metrics.add(name, "histogram", text, field(buckets, bound), "_bucket", **labels, le=repr(int(bound[3:]) / 1e6))
    metrics.add(name, "histogram", text, count, "_bucket", **labels, le="+Inf")
    metrics.add(name, "histogram", text, field(times, "sum") / 1e3, "_sum", **labels)
    metrics.add(name, "histogram", text, count, "_count", **labels)


def add_motion(metrics, element, counts):
    for reason in ("still", "moving", "held", "verify", "everywhere"):
        metrics.counter("dvnn_motion_frames", "Frames by why dvmotion had them inferred, or did not.", field(counts, reason),
                        element=element, reason=reason)


def add_publish(metrics, element, counts):
    for result in ("published", "delivered", "dropped"):
        metrics.counter("dvnn_publish_documents", "Documents by what became of them; dropped ones are lost.",
                        field(counts, result), element=element, result=result)
    metrics.gauge("dvnn_publish_queued_documents", "Documents that wait in memory.", field(counts, "queued"), element=element)
    metrics.gauge("dvnn_publish_spooled_documents", "Documents that wait in the spool.", field(counts, "spooled"),
                  element=element)
    metrics.gauge("dvnn_publish_connected", "1 if the receiver is connected.", field(counts, "connected"), element=element)
    metrics.counter("dvnn_publish_collected", "Frames collected for annotation.", field(counts, "collected"), element=element)


def add_record(metrics, element, counts):
    metrics.counter("dvnn_record_clips", "Clips that were begun.", field(counts, "clips"), element=element)
    metrics.counter("dvnn_record_files", "Files that were written.", field(counts, "files"), element=element)
    metrics.counter("dvnn_record_failures", "Clips that could not be written.", field(counts, "failed"), element=element)
    metrics.counter("dvnn_record_written_bytes", "Bytes of clips.", field(counts, "bytes"), element=element)
    metrics.counter("dvnn_record_removed_clips", "Clips that the quota removed.", field(counts, "removed"), element=element)
    metrics.gauge("dvnn_record_open_clips", "Clips that are being recorded.", field(counts, "open"), element=element)
    metrics.gauge("dvnn_record_memory_bytes", "Encoded video in memory.", field(counts, "memory"), element=element)
    for reason in LOSSES:
        metrics.counter("dvnn_record_lost_frames", "Frames that no clip has, by reason.", field(counts, reason), element=element,
                        reason=reason)


def add_zones(metrics, element, counts):
    if counts is None:
        return
    for line in structures(counts, "lines"):
        for labelled, label in [(one, one.get_string("name")) for one in structures(line, "labels")] or [(line, "")]:
            for direction in ("forward", "backward"):
                metrics.counter("dvnn_line_crossings", "Crossings of a line; the label is empty until there was one.",
                                field(labelled, direction), element=element, line=line.get_string("name"), direction=direction,
                                label=label)
    for area in structures(counts, "areas"):
        for labelled, label in [(one, one.get_string("name")) for one in structures(area, "labels")] or [(area, "")]:
            labels = {"element": element, "area": area.get_string("name"), "label": label}
            metrics.gauge("dvnn_area_objects", "Objects in an area.", field(labelled, "inside"), **labels)
            metrics.counter("dvnn_area_entries", "Objects that entered an area.", field(labelled, "entered"), **labels)
            metrics.counter("dvnn_area_exits", "Objects that left an area.", field(labelled, "left"), **labels)


ELEMENTS = {"dvinfer": ("stats", add_infer), "dvmotion": ("counts", add_motion), "dvpublish": ("counts", add_publish),
            "dvrecord": ("counts", add_record), "dvzones": ("counts", add_zones)}


def add_elements(metrics, pipeline):
    found = pipeline.iterate_recurse()
    while True:
        result, element = found.next()
        if result == Gst.IteratorResult.RESYNC:
            metrics.families.clear()
            found.resync()
            continue
        if result != Gst.IteratorResult.OK:
            return
        property_and_add = ELEMENTS.get(element.get_factory().get_name() if element.get_factory() else "")
        if property_and_add:
            property_and_add[1](metrics, element.get_name(), element.get_property(property_and_add[0]))


# --- the machine --------------------------------------------------------------------------------

def read(path):
    try:
        return untrusted.read_text(path, 4096)
    except (OSError, ValueError):
        return ""


def add_machine(metrics, root="/"):
    """Temperatures, and the process's memory and time. What the system does not tell is left out."""
    for zone in sorted(glob.glob(os.path.join(root, "sys/class/thermal/thermal_zone*"))):
        milli = read(os.path.join(zone, "temp")).strip()
        if milli.lstrip("-").isdigit():
            metrics.gauge("dvnn_temperature_celsius", "Temperature of a thermal zone.", int(milli) / 1000,
                          zone=os.path.basename(zone), type=read(os.path.join(zone, "type")).strip())
    pages = read(os.path.join(root, "proc/self/statm")).split()
    if len(pages) > 1:
        metrics.gauge("process_resident_memory_bytes", "Resident memory size in bytes.",
                      int(pages[1]) * os.sysconf("SC_PAGE_SIZE"))
    metrics.counter("process_cpu_seconds", "Total user and system CPU time spent in seconds.", time.process_time())


def text_of(camera):
    """Returns what there is to tell of a camera of dvcamera. Any thread."""
    metrics = Metrics(camera=camera.config["name"])
    add_elements(metrics, camera.pipeline)
    source = camera.source
    come = camera.frames_before + (source.came.frames if source else 0)
    metrics.counter("dvnn_source_frames", "Frames that came from the source.", come)
    metrics.gauge("dvnn_source_up", "1 if frames come from the source.", bool(camera.playing))
    metrics.counter("dvnn_source_losses", "Times that the source was lost, or could not be reached.", camera.losses)
    metrics.counter("dvnn_line_frames", "Frames that reached the end of the elements.", camera.went.frames)
    metrics.gauge("dvnn_line_idle_seconds", "Time since a frame reached the end of the elements.", float(camera.went.idle()))
    add_machine(metrics)
    return metrics.text()
