# SPDX-License-Identifier: Apache-2.0
"""Changes areas, lines, thresholds and labels of a camera that runs: checked by the elements themselves, written to the file that
has them, and taken at once. This file belongs beside dvcamera."""
import hashlib
import json
import re
import threading

import gi

import camera_config
import camera_elements
import camera_schema
import camera_texts
import untrusted
from camera_elements import Mistake

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402

# What the page may set of an element, in its order.
SETTINGS = {"dvdecode": ("threshold", "thresholds", "labels", "exclude", "min-size", "max-size", "nms-threshold")}
MOST_ZONES = 1 << 20  # bytes
MOST_TEXT = 8192      # characters of a setting
REFUSAL = re.compile(r"(?:[\w-]+: )?property '[\w-]+' keeps its value: (?:zones: )?")


class Refused(Exception):
    """Why a change is not made: `place` is where in the value that was sent, `status` that of the answer."""

    def __init__(self, text, place=(), status=422):
        super().__init__(text)
        self.place = place
        self.status = status


def version_of(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def check_zones(value):
    """Raises Refused if dvzones does not take the value, which is of a request's JSON, with its own sentence."""
    if not isinstance(value, dict):
        raise Refused("zones must be an object")
    try:
        camera_elements.set_property(Gst.ElementFactory.make("dvzones"), "zones", value)
    except Mistake as mistake:
        raise Refused(REFUSAL.sub("", str(mistake), count=1), mistake.place[1:]) from mistake


def set_live(element, name, value):
    text = camera_elements.text_of(element, name, value)
    if element.find_property(name).value_type.name == "gchararray":
        element.set_property(name, text)
    else:
        Gst.util_set_object_arg(element, name, text)


class Zones:
    """Where the line has its areas and lines: a file, an entry of camera.json, or nowhere yet."""

    def __init__(self, line):
        parts = [part for part in line if part.factory in ("dvzones", "dvmotion")]
        self.part = next((part for part in parts if part.factory == "dvzones"), None)
        self.path = self.part and not self.part.element.get_property("zones") and self.part.element.get_property("zones-file") or None
        # Those that read the same file, such as dvmotion its masks.
        self.readers = [part.element for part in parts if self.path and part.element.get_property("zones-file") == self.path]
        self.has_masks = any(part.factory == "dvmotion" for part in parts if part.element in self.readers)

    def read(self):
        """Returns the text. Raises OSError or ValueError."""
        if self.path:
            return untrusted.read_text(self.path, MOST_ZONES)
        return (self.part.element.get_property("zones") if self.part else "") or "{}"

    def why_not(self):
        """Says why they cannot be changed; empty if they can."""
        if not self.part:
            return "No element of this camera is a dvzones, which counts at areas and lines."
        if self.path or not self.part.is_text or (not self.part.given and len(self.part.place) == 2):
            return ""
        return "dvzones stands in a text of camera.json: give it a zones-file, or make its entry an object."


class Editor:
    def __init__(self, config, line):
        self.config = config
        self.line = line
        self.zones = Zones(line)
        self.lock = threading.Lock()

    # --- areas and lines ------------------------------------------------------------------------

    def describe_zones(self):
        with self.lock:
            try:
                text = self.zones.read()
                value, why = untrusted.parse_settings(text), self.zones.why_not()
            except (OSError, ValueError) as error:
                text, value, why = "", {}, "The zones' file cannot be read: %s" % error
        return {"zones": value if isinstance(value, dict) else {}, "version": version_of(text), "why_not": why,
                "has_masks": self.zones.has_masks}

    def save_zones(self, value, version):
        check_zones(value)
        with self.lock:
            try:
                if version != version_of(self.zones.read()):
                    raise Refused("Somebody else has changed the areas and lines meanwhile: load them again.", status=409)
            except (OSError, ValueError) as error:
                raise Refused("The zones' file cannot be read: %s" % error) from error
            if self.zones.why_not():
                raise Refused(self.zones.why_not())
            if self.zones.path:
                self.write(self.zones.path, camera_texts.written(value, "") + "\n")
                for element in self.zones.readers:
                    element.set_property("zones-file", self.zones.path)
            else:
                self.save_inline(value)
        return self.describe_zones()

    def save_inline(self, value):
        part = self.zones.part
        text = self.read_config()
        if part.is_text:
            text = camera_texts.with_value(text, part.place, {"element": "dvzones"})
        self.write_config(self.changed(text, (*part.place, "zones"), value))
        part.is_text = False
        part.given = dict(part.given, zones=value)
        part.element.set_property("zones", json.dumps(value))

    # --- thresholds and labels ------------------------------------------------------------------

    def describe_settings(self):
        """Returns the settings by element: what each may be, and what it is."""
        found = []
        for index, part in enumerate(self.line):
            names = SETTINGS.get(part.factory, ())
            if names and part.place[:1] == ("elements",):
                found.append({"element": index, "factory": part.factory, "labels": sorted(part.labels)[:1000], "settings": [
                    dict(camera_schema.property_schema(part.element, part.element.find_property(name)), name=name,
                         value=part.element.get_property(name)) for name in names]})
        return found

    def save_setting(self, index, name, value):
        if not (isinstance(index, int) and 0 <= index < len(self.line) and name in SETTINGS.get(self.line[index].factory, ())):
            raise Refused("there is no such setting")
        if isinstance(value, bool) or not isinstance(value, (int, float, str)) or (isinstance(value, str) and len(value) > MOST_TEXT):
            raise Refused("a setting is a number or a text of at most %d characters" % MOST_TEXT)
        part = self.line[index]
        try:
            # The element's own word comes first, as it is the shortest.
            camera_elements.set_property(Gst.ElementFactory.make(part.factory), name, value)
        except Mistake as mistake:
            raise Refused(REFUSAL.sub("", str(mistake), count=1)) from mistake
        with self.lock:
            text = self.read_config()
            if part.is_text:
                # The elements of an entry stand in its text in their order.
                piece = [one for one in self.line if one.place == part.place].index(part)
                try:
                    entry = camera_texts.with_property(self.entry_of(text, part), piece, name, camera_elements.text_of(
                        part.element, name, value))
                except (ValueError, IndexError) as error:
                    raise Refused("camera.json has changed since the camera started, or its text is not simple: restart it") from error
                self.write_config(self.changed(text, part.place, entry))
            else:
                given = part.given.get(name)
                kept = [re.sub(r"\\([,\\])", r"\1", one.strip()) for one in re.findall(r"(?:[^,\\]|\\.)+", value)] \
                    if isinstance(given, list) else value
                self.write_config(self.changed(text, (*part.place, name), kept))
            set_live(part.element, name, value)
            part.given[name] = value
        return part.element.get_property(name)

    # --- camera.json ----------------------------------------------------------------------------

    def read_config(self):
        try:
            text, given = untrusted.read_settings(self.config.path, camera_config.MOST_CONFIG)
        except (OSError, ValueError) as error:
            raise Refused("camera.json cannot be read: %s" % error) from error
        if "elements" not in given:
            text = camera_texts.with_value(text, ("elements",), self.config["elements"])
        return text

    @staticmethod
    def entry_of(text, part):
        begin, end = camera_texts.span_of(text, part.place)
        entry = json.loads(text[begin:end])
        if not isinstance(entry, str):
            raise ValueError("it is no text")
        return entry

    def changed(self, text, place, value):
        """Returns the text with another value, which makes the line that runs."""
        try:
            text = camera_texts.with_value(text, place, value)
            line = camera_config.Config(self.config.path, text).make_line()
        except (KeyError, IndexError) as error:
            raise Refused("camera.json has changed since the camera started: restart it") from error
        except Mistake as mistake:
            raise Refused(re.sub(r"^'[^']*', ", "", str(mistake))) from mistake
        if [(part.factory, part.place) for part in line] != [(part.factory, part.place) for part in self.line]:
            raise Refused("camera.json has changed since the camera started: restart it", status=409)
        return text

    def write_config(self, text):
        self.write(self.config.path, text)

    @staticmethod
    def write(path, text):
        try:
            untrusted.write_text(path, text)
        except OSError as error:
            raise Refused("It cannot be written: %s" % error.strerror, status=500) from error
