#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the reference pages of docs/, and the schema of camera.json, from the code, or prints where they differ from it.

    reference.py DVNET DOCS_FOLDER PLUGIN.so... [--write]
"""
import difflib
import os
import re
import subprocess
import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst  # noqa: E402

NOTE = "<!-- Made by tests/docs/reference.py --write of the code; do not edit. -->\n"
DIRECTIONS = {Gst.PadDirection.SRC: "source", Gst.PadDirection.SINK: "sink"}
# Properties that depend on the machine, or on a library's version, are left out.
FOREIGN = {"parent", "name"}
# What the pictures show that scripts/pictures makes of each element.
PICTURES = {
    "dvaudio": "A tone that rises: its samples, the windows that dvaudio cuts of them, and the frequencies in these",
    "dvconvert": "A frame, and the tensor of it: with borders above and below, and its red, green and blue plane",
    "dvdecode": "A frame with the boxes of two barcodes and a QR code, and a table of labels, scores and edges",
    "dvinfer": "A frame, and the first rows of the network's output: class, score and edges",
    "dvmatch": "Codes on parcels: one has the name under which it was enrolled, the others are strangers with numbers",
    "dvmotion": "A label that slides over an empty belt, and a box around where something moves",
    "dvoverlay": "A frame with boxes, numbers of tracks, the texts of codes and confidences",
    "dvpublish": "A frame, and the document of it, with two barcodes and a QR code",
    "dvread": "Codes on parcels, each with what it says",
    "dvrecall": "A frame of a recorded clip, on which boxes, tracks and their trails are drawn again",
    "dvrecord": "Eight frames of a clip, and below them the times of the events for which it was recorded",
    "dvtrack": "Codes that move over a belt, each with the number and the trail of its track",
    "dvzones": "Parcels below an area with a count of one and a line with a count of two",
}


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def default_of(element, spec):
    try:
        value = element.get_property(spec.name) if spec.flags & GObject.ParamFlags.READABLE else None
    except TypeError:
        return ""
    if value is None or isinstance(value, (GObject.Object, Gst.Structure)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, GObject.GFlags):
        return "+".join(value.value_nicks)
    if hasattr(value, "value_nick"):
        return value.value_nick
    if isinstance(value, float):
        return "%g" % value
    if isinstance(value, (int, str)):
        return str(value)
    return ""


def access(spec):
    readable, writable = (bool(spec.flags & f) for f in (GObject.ParamFlags.READABLE, GObject.ParamFlags.WRITABLE))
    return "" if readable and writable else "read only" if readable else "write only"


def kind(spec):
    enum = getattr(spec, "enum_class", None)
    if enum:
        values = enum.__enum_values__
        return ", ".join("`%s`" % values[key].value_nick for key in sorted(values))
    name = spec.value_type.name
    low, high = getattr(spec, "minimum", None), getattr(spec, "maximum", None)
    if low is not None and name not in ("gboolean", "gchararray"):
        return "%s %g to %g" % (name, low, high)
    return {"gchararray": "text", "gboolean": "true or false"}.get(name, name)


def picture(name, docs):
    """The line that shows an element's picture."""
    file = next((one for one in sorted(os.listdir(os.path.join(docs, "elements"))) if os.path.splitext(one)[0] == name), name)
    return "![%s](elements/%s)" % (PICTURES.get(name, name), file)


def element_page(factory, docs):
    element = factory.create(None)
    lines = ["## %s" % factory.get_name(), "%s. %s." % (factory.get_metadata("long-name"),
             factory.get_metadata("description").rstrip(".")), "", picture(factory.get_name(), docs), ""]
    lines += ["| pad | direction | when |", "|---|---|---|"]
    for template in sorted(factory.get_static_pad_templates(), key=lambda t: t.name_template):
        lines.append("| `%s` | %s | %s |" % (template.name_template, DIRECTIONS[template.direction],
                                             template.presence.value_nick))
    own = [spec for spec in element.list_properties()
           if spec.name not in FOREIGN and spec.owner_type == factory.get_element_type()]
    lines += ["", "| property | is | default | |", "|---|---|---|---|"]
    for spec in sorted(own, key=lambda s: s.name):
        lines.append("| `%s` | %s | %s | %s |" % (spec.name, cell("%s (%s)" % (spec.blurb, kind(spec))),
                                                 cell(default_of(element, spec)), access(spec)))
    signals = GObject.signal_list_names(factory.get_element_type())
    if signals:
        lines += ["", "Signals: " + ", ".join("`%s`" % name for name in sorted(signals)) + "."]
    return "\n".join(lines) + "\n"


def elements_page(plugin_files, docs):
    plugins = [Gst.Plugin.load_file(file) for file in plugin_files]
    features = [f for plugin in plugins for f in Gst.Registry.get().get_feature_list_by_plugin(plugin.get_name())]
    names = sorted(f.get_name() for f in features if isinstance(f, Gst.ElementFactory))
    assert len(names) >= 4, names
    intro = "# Elements\nPads, properties and signals, as `gst-inspect-1.0` has them. `scripts/pictures` has made the pictures.\n\n"
    return NOTE + intro + "\n".join(element_page(Gst.ElementFactory.find(name), docs) for name in names)


def said(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def commands_page(dvnet):
    text = NOTE + "# dvnet\n\n```\n" + said(dvnet, "--help") + "```\n"
    for name in re.findall(r"^  (\S+(?: \S+)?)\s{2,}\S", said(dvnet, "--help"), re.MULTILINE):
        text += "\n## dvnet %s\n\n```\n%s```\n" % (name, said(dvnet, *name.split(), "--help").rstrip() + "\n")
    return text


def decoders_page(dvnet):
    listed = re.search(r"--decoder=NAME\s+Decoder of the outputs: (.*)", said(dvnet, "convert", "--help")).group(1)
    text = NOTE + "# Decoders and presets by name\n[decoders.md](decoders.md) describes them.\n\nDecoders: "
    text += ", ".join("`%s`" % name for name in listed.split(", ")) + ".\n\n| preset | decoder | for |\n|---|---|---|\n"
    for line in said(dvnet, "presets").splitlines():
        name, decoder, about = line.split(None, 2)
        text += "| `%s` | `%s` | %s |\n" % (name, decoder, cell(about))
    return text


def camera_schema(docs):
    """What editors check and complete camera.json by, made of the fields of dvcamera and of elements' properties."""
    return said(sys.executable, os.path.join(docs, "..", "pipelines", "camera", "dvcamera"), "--schema")


def main():
    dvnet, docs, *plugins = [argument for argument in sys.argv[1:] if argument != "--write"]
    os.environ.update(LC_ALL="C", COLUMNS="100")
    Gst.init(None)
    if Gst.version()[:2] != (1, 22):
        print("skipped: the pages are made with GStreamer 1.22, and later ones have more properties")
        return 77
    pages = {"reference-elements.md": elements_page(plugins, docs), "reference-dvnet.md": commands_page(dvnet),
             "reference-decoders.md": decoders_page(dvnet), os.path.join("schema", "camera.json"): camera_schema(docs)}
    failures = 0
    for name, text in pages.items():
        path = os.path.join(docs, name)
        if "--write" in sys.argv:
            open(path, "w").write(text)
            continue
        have = open(path).read() if os.path.exists(path) else ""
        if have != text:
            failures += 1
            print("".join(difflib.unified_diff(have.splitlines(True), text.splitlines(True), name, "the code")))
    if failures:
        print("make them anew: %s" % " ".join([*sys.argv, "--write"]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
