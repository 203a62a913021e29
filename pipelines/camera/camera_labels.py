# SPDX-License-Identifier: Apache-2.0
"""Labels that elements are given, held against those of the networks before them. This file belongs beside dvcamera."""
import os
import re
import struct

import gi

import untrusted
from camera_schema import OWN

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

MOST_NETWORK = 64 << 20  # bytes of a network's description
MOST_LABELS = 1 << 20    # bytes of a file of labels
LABELS = {"dvconvert": ("object-class",), "dvdecode": ("labels", "exclude", "thresholds"),
          "dvoverlay": ("show", "hide", "blur", "pixelate"), "dvread": ("object-class", "marker-class"),
          "dvmatch": ("labels",), "dvtrack": ("labels",), "dvzones": ("zones",)}


def default_network():
    """Returns the file of the network that dvinfer uses if none is named, as far as that can be told."""
    plugin = Gst.Registry.get().find_plugin("dvnn")
    named = os.environ.get("DVNN_DEFAULT_NETWORK")
    folder = os.path.dirname(plugin.get_filename() or "") if plugin else ""
    above = [os.path.join(folder, *[".."] * up, "share", "gst-dvnn", "default.dvn") for up in (2, 3)]
    return next((path for path in [named, *above] if path and os.path.exists(path)), None)


def labels_of(path):
    """Returns the labels of a network's file (docs/dvn-format.md), or None if it has none that can be read here."""
    try:
        with os.fdopen(untrusted.open_regular(path), "rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:8] != b"\x89DVN\r\n\x1a\n":
                return None
            offset, size = struct.unpack_from("<QQ", head, 16)
            if size > MOST_NETWORK or offset > 1 << 40:
                return None
            file.seek(offset)
            labels = untrusted.parse_json(file.read(size).decode()).get("labels")
    except (OSError, ValueError, AttributeError):
        return None  # dvinfer says what is wrong with it
    return set(labels) if labels and all(isinstance(label, str) for label in labels) else None


def file_labels(path):
    try:
        return set(untrusted.read_text(path, MOST_LABELS).splitlines())
    except (OSError, ValueError):
        return None


def given_labels(name, value):
    """Yields the labels in a property's value, each with its place in it, or the text that has it."""
    if name == "zones":
        try:
            zones = untrusted.parse_json(value) if isinstance(value, str) else value
        except ValueError:
            return
        for kind in ("areas", "lines"):
            for i, shape in enumerate(zones.get(kind, ())):
                for k, label in enumerate(shape.get("labels", ())):
                    yield label, (kind, i, "labels", k) if value is zones else (), label
    elif isinstance(value, list):
        for i, label in enumerate(value):
            yield label, (i,), None
    else:
        for entry in re.findall(r"(?:[^,\\]|\\.)+", value):
            label = entry.rpartition(":")[0] if name == "thresholds" else entry
            yield re.sub(r"\\([,\\])", r"\1", label.strip()), (), label.strip()


def unknown_labels(line):
    """Yields (part, label, place, within) for labels that no network before the part has. Says nothing where another
    element may find objects, or a network's labels are not known."""
    known, last = set(), None
    for part in line:
        own = part.factory in OWN
        if not own and (isinstance(part.element, Gst.Bin) or "Analyzer" in (part.element.get_metadata("klass") or "")):
            return
        if part.factory == "dvinfer":
            last = labels_of(part.element.get_property("network") or default_network() or "")
            if last is None:
                return
            known |= last
        if part.factory == "dvdecode":
            path = part.element.get_property("labels-file")
            if part.element.find_property("tensor-network") and part.element.get_property("tensor-network"):
                return
            if path:
                last = file_labels(path)
                if last is None:
                    return
                known |= last
        part.labels = last if part.factory == "dvdecode" else known
        if not part.labels:
            continue
        for name in LABELS.get(part.factory, ()):
            if name not in part.given:
                continue
            for label, place, within in given_labels(name, part.given[name]):
                if label and label not in part.labels:
                    yield part, label, () if part.is_text else (name, *place), within
