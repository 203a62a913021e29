# SPDX-License-Identifier: Apache-2.0
"""Reads camera.json: its fields, the elements that it names, and what only all elements together can tell.

Every mistake is told with file, line, column and field. SCHEMA and schema() are what dvcamera checks fields by, and what
editors get (docs/schema/camera.json), so the two cannot differ. This file belongs beside dvcamera."""
import difflib
import os
import re

import camera_access
import camera_elements
import camera_labels
import camera_schema
import camera_serve
import camera_server
import untrusted
from camera_elements import Mistake

MOST_CONFIG = 1 << 20  # bytes
LONGEST = 86400000     # milliseconds
SHORTEST_RETRY = 10    # milliseconds: a source that fails at once is not retried all the time
MOST_ELEMENTS = 200
TRANSPORTS = {"any": "tcp+udp-mcast+udp", "tcp": "tcp", "udp": "udp"}
ELEMENTS = ["videoconvert", "dvconvert", "dvinfer when-busy=pass", "dvdecode threshold=0.1", "dvtrack"]
# Fields that stand for an element of the line: its factory.
FIELD_ELEMENTS = {"motion": "dvmotion"}
# What reads something at each look, and what can leave out that on which looks do not agree.
SHOWERS = ("dvpublish", "dvoverlay")


def text_field(description, **more):
    return dict({"description": description, "type": "string", "minLength": 1}, **more)


def time_field(description, default):
    return {"description": description + ", in milliseconds", "type": "integer", "minimum": 0, "maximum": LONGEST,
            "default": default}


# The fields. docs/camera.md explains them.
FIELDS = {
    "$schema": text_field("For editors"),
    "name": text_field("The camera's name in logs; the file's by default"),
    "source": text_field("A URI, a device, a file, or test"),
    "source-line": text_field("Instead of source: text as for gst-launch-1.0 that ends with decoded frames"),
    "latency": time_field("Length of the jitter buffer of RTSP", 200),
    "transport": {"description": "How RTSP comes", "enum": sorted(TRANSPORTS), "default": "any"},
    "repeat": {"description": "Whether a file begins again at its end", "type": "boolean", "default": False},
    "silence": time_field("Time without frames after which a live source is reconnected; 0: never", 5000),
    "retry": dict(time_field("Shortest wait before the next attempt to connect", 1000), minimum=SHORTEST_RETRY),
    "retry-most": dict(time_field("Longest wait before the next attempt to connect", 30000), minimum=SHORTEST_RETRY),
    "hang": time_field("Time in which frames come but none leaves, after which the service is restarted; 0: never", 10000),
    "motion": {
        "description": "Frames in which nothing moves pass without inference: dvmotion before the first dvconvert",
        "anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/dvmotion"}], "default": False},
    "agree": {
        "description": "Looks at a tracked object that make an agreed reading, for dvread and each dvdecode behind "
                       "dvconvert regions=objects; 0: the last look counts",
        "anyOf": [{"$ref": "#/$defs/looks"}, {
            "type": "object", "required": ["looks"], "additionalProperties": False, "properties": {
                "looks": {"$ref": "#/$defs/looks"},
                "pattern": {"description": "What texts look like: a regular expression, or one for each label",
                            "anyOf": [{"type": "string"},
                                      {"type": "object", "additionalProperties": {"type": "string"}}]},
                "only-agreed": {"description": "Whether dvpublish and dvoverlay leave out the rest", "type": "boolean",
                                "default": False}}}],
        "default": 0},
    "match": {
        "description": "Who tracked objects are: dvmatch behind the last dvdecode and dvtrack",
        "anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/dvmatch"}], "default": False},
    "elements": {
        "description": "The line: texts as for gst-launch-1.0, caps, or objects of an element and its properties",
        "type": "array", "minItems": 1, "maxItems": MOST_ELEMENTS, "default": ELEMENTS,
        "items": {"anyOf": [{"type": "string", "minLength": 1}, {"$ref": "#/$defs/element"}]}},
    "record": {
        "description": "Clips of events: dvrecord, to which the camera's own encoding goes, or what an encoder makes",
        "anyOf": [{"$ref": "#/$defs/record"}], "default": {}},
    "home-assistant": {
        "description": "Whether Home Assistant finds the camera at the broker of each dvpublish with an MQTT url: true, remove, "
                       "or an object", "anyOf": [{"type": "boolean"}, {"enum": ["remove"]}, {
                           "type": "object", "additionalProperties": False, "properties": {
                               "prefix": text_field("Home Assistant's discovery prefix", default="homeassistant"),
                               "remove": {"description": "Whether it is removed there instead", "type": "boolean",
                                          "default": False},
                               "picture": {"description": "Whether it gets a picture of the last track's best view",
                                           "type": "boolean", "default": True}}}],
        "default": False},
    "metrics": {
        "description": "Where /metrics is served for Prometheus: ADDRESS:PORT; without an address, to this machine alone",
        "anyOf": [{"$ref": "#/$defs/place"}, {
            "type": "object", "required": ["listen"], "additionalProperties": False, "properties": {
                "listen": {"$ref": "#/$defs/place"},
                "names": {"description": "Further names of this machine, by which it is asked", "type": "array", "maxItems": 100,
                          "items": {"type": "string", "minLength": 1}}}}],
        "default": ""},
    "serve": {
        "description": "Where what leaves the elements is served by RTSP, drawn: ADDRESS:PORT/PATH; without an address, to this "
                       "machine alone",
        "anyOf": [{"$ref": "#/$defs/stream-place"}, {
            "type": "object", "required": ["listen"], "additionalProperties": False, "properties": {
                "listen": {"$ref": "#/$defs/stream-place"},
                "user": text_field("Who may watch", default="viewer"),
                "password": text_field("Without it, everybody may"),
                "kbit": {"description": "Of H.264, in thousand bits a second", "type": "integer", "minimum": 50,
                         "maximum": 100000, "default": 2000}}}],
        "default": ""},
    "page": {
        "description": "A page of live pictures, on which areas, lines and thresholds are changed, and clips are played",
        "type": "object", "additionalProperties": False, "properties": {
            "port": {"description": "0: any that is free", "type": "integer", "minimum": 0, "maximum": 65535, "default": 8080},
            "bind": text_field("Address to listen at", default="127.0.0.1"),
            "hosts": {"description": "Names that browsers may call the server, beside localhost, the machine's and addresses",
                      "type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 100},
            "password": {"description": "Without it the page changes nothing", "title": "what dvcamera --set-password writes",
                         "type": "string", "pattern": camera_access.FORM},
            "picture-size": {"description": "Largest width of pictures, in pixels", "type": "integer", "minimum": 16,
                             "maximum": 4096, "default": 640},
            "picture-rate": {"description": "Pictures a second, at most", "type": "integer", "minimum": 1, "maximum": 60,
                             "default": 10}},
        "default": None},
    "print": {"description": "Names of element messages that are written to stdout", "type": "array",
              "items": {"type": "string"}, "default": []},
}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://gst-dvnn.example.org/schema/camera.json",
    "title": "camera.json, what dvcamera runs",
    "description": "Made by dvcamera --schema; do not edit. docs/camera.md explains the fields.",
    "type": "object", "properties": FIELDS, "additionalProperties": False,
    "oneOf": [{"required": ["source"]}, {"required": ["source-line"]}],
}


def schema():
    """Returns the JSON Schema of camera.json, with the properties of the elements that are installed."""
    own = camera_schema.definitions()
    looks = {"type": "integer", "minimum": 0, "maximum": 16}
    record = dict(own["dvrecord"], required=["location"], properties=dict(own["dvrecord"]["properties"], encoder=text_field(
        "For a source without an encoding of its own: text as for gst-launch-1.0, which takes frames")))
    element = {
        "description": "An element and its properties", "type": "object", "required": ["element"],
        "properties": {"element": {"type": "string", "examples": sorted(set(own) - {"zones"})}},
        "allOf": [{"if": {"properties": {"element": {"const": name}}},
                   "then": {"properties": dict({"element": True}, **one["properties"]), "additionalProperties": False}}
                  for name, one in sorted(own.items()) if name != "zones"]}
    place = {"description": "ADDRESS:PORT", "type": "string", "pattern": camera_server.PLACE.pattern,
             "examples": [":9600", "192.0.2.5:9600"]}
    stream_place = {"description": "ADDRESS:PORT/PATH", "type": "string", "pattern": camera_serve.PLACE.pattern,
                    "examples": [":8554/door", "192.0.2.5:8554/door"]}
    return dict(SCHEMA, **{"$defs": dict({"looks": looks, "place": place, "stream-place": stream_place,
                                          "element": element, "record": record}, **own)})


def names_of(place):
    return "".join("[%d]" % at if isinstance(at, int) else ("." if i else "") + at for i, at in enumerate(place))


class Config:
    """The fields of a file, and where they stand in it."""

    def __init__(self, path, text=None):
        """`text`: what the file would have, instead of what it has."""
        self.path = path
        try:
            self.text, given = untrusted.read_settings(path, MOST_CONFIG) if text is None else (text, untrusted.parse_settings(text))
        except (OSError, ValueError) as error:
            raise Mistake("'%s'%s%s" % (path, ", " if str(error).startswith("line ") else ": ", error)) from error
        if not isinstance(given, dict):
            raise Mistake("'%s' must be an object" % path)
        self.given = given
        self.schema = schema()
        self.check_fields()
        self.fields = {name: given.get(name, field.get("default")) for name, field in FIELDS.items()}
        self.check_values()
        if self["name"] is None:
            self.fields["name"] = os.path.splitext(os.path.basename(path))[0]

    def __getitem__(self, name):
        return self.fields[name]

    def mistake(self, text, *place, within=None):
        """Returns the mistake with the place, which is a field and what is in it. `within`: what the value's text has
        there."""
        line, column = untrusted.spot_of(self.text, place, within)
        return Mistake("'%s', line %d, column %d: %s%s" % (self.path, line, column, names_of(place), text))

    def check_fields(self):
        for name in self.given:
            if name not in FIELDS:
                raise self.mistake(": there is no such field, but %s" % ", ".join(FIELDS), name)
            fault = camera_schema.fault_of(self.given[name], FIELDS[name], self.schema["$defs"])
            if fault:
                raise self.mistake(fault.text, name, *fault.place)

    def check_values(self):
        """Checks rules that a field's schema does not express."""
        if ("source" in self.given) == ("source-line" in self.given):
            raise Mistake("'%s' must have either 'source' or 'source-line'" % self.path)
        if self["retry"] > self["retry-most"]:
            raise self.mistake(": retry is %d, must be in %d..%d (retry-most)" % (
                self["retry"], SHORTEST_RETRY, self["retry-most"]), "retry" if "retry" in self.given else "retry-most")
        if self["record"] and "encoder" not in self["record"] and "://" not in (self["source"] or ""):
            raise self.mistake(" must have 'encoder', because this source has no encoding of its own", "record")

    # --- the line ------------------------------------------------------------------------------

    def make_line(self):
        """Returns the line's elements, each with its place in the file: camera_elements.Part."""
        line = []
        for index, given in enumerate(self["elements"]):
            line += self.parts_of(given, "elements", index)
        for name, factory in FIELD_ELEMENTS.items():
            if self[name]:
                self.insert(line, name, factory)
        if self["match"]:
            self.insert_match(line)
        if self["agree"]:
            self.set_agreement(line)
        if self["home-assistant"]:
            self.set_discovery(line)
        self.check_labels(line)
        return line

    def make_recorder(self):
        """Returns the dvrecord that the field `record` describes; None if there is none."""
        properties = {name: value for name, value in self["record"].items() if name != "encoder"}
        if not properties:
            return None
        return self.parts_of(dict({"element": "dvrecord", "stream": self["name"]}, **properties), "record")[0].element

    def make_serving(self, line, say):
        """Returns what the field `serve` describes; None if there is none."""
        if not self["serve"]:
            return None
        if not line[-1].element.get_static_pad("src"):
            raise self.mistake(": the last element, %s, lets no frames on" % line[-1].element.get_name(), "serve")
        try:
            return camera_serve.Serving(self["serve"], any(part.factory == "dvoverlay" for part in line), say)
        except Mistake as mistake:
            raise self.mistake(str(mistake), "serve") from mistake

    def parts_of(self, given, *place):
        try:
            return [part.at(place) for part in camera_elements.parts_of(given)]
        except Mistake as mistake:
            raise self.mistake(": %s" % mistake, *place, *mistake.place, within=mistake.within) from mistake

    def insert(self, line, name, factory):
        """Puts the element of a field before the line's first dvconvert."""
        at = next((i for i, part in enumerate(line) if part.factory == "dvconvert"), None)
        if at is None:
            raise self.mistake(": no entry of elements is a dvconvert, before which %s could stand" % factory, name)
        properties = self[name] if isinstance(self[name], dict) else {}
        line[at:at] = self.parts_of(dict({"element": factory}, **properties), name)

    def insert_match(self, line):
        """Puts dvmatch where objects have embeddings and tracks, and nothing has shown them yet."""
        at = max((i for i, part in enumerate(line) if part.factory in ("dvdecode", "dvtrack")), default=None)
        if at is None:
            raise self.mistake(": no entry of elements is a dvdecode, behind which dvmatch could stand", "match")
        properties = self["match"] if isinstance(self["match"], dict) else {}
        line[at + 1:at + 1] = self.parts_of(dict({"element": "dvmatch"}, **properties), "match")

    def set_agreement(self, line):
        """Sets what an element's own entry does not."""
        wanted = self["agree"] if isinstance(self["agree"], dict) else {"looks": self["agree"]}
        objects = False  # whether the last dvconvert shows objects
        readers = []
        for part in line:
            if part.factory == "dvconvert":
                objects = part.element.get_property("regions").value_nick == "objects"
            if part.factory == "dvread" or (part.factory == "dvdecode" and objects):
                readers.append(part)
        if wanted["looks"] and not readers:
            raise self.mistake(": no element looks at objects again: there is neither dvread nor dvconvert regions=objects",
                               "agree")
        self.set_all(readers, "agree", wanted["looks"], "agree")
        if "pattern" in wanted:
            self.set_all(readers, "pattern", wanted["pattern"], "agree", "pattern")
        if wanted.get("only-agreed"):
            showers = [part for part in line if part.factory in SHOWERS]
            if not showers:
                raise self.mistake(": there is neither dvpublish nor dvoverlay", "agree", "only-agreed")
            self.set_all(showers, "only-agreed", True, "agree")

    def set_discovery(self, line):
        """Sets what an element's own entry does not, at each dvpublish that publishes to MQTT."""
        parts = [part for part in line
                 if part.factory == "dvpublish" and re.match("mqtts?:", part.element.get_property("url") or "")]
        if not parts:
            raise self.mistake(": no entry of elements is a dvpublish whose url begins with mqtt: or mqtts:", "home-assistant")
        wanted = self["home-assistant"]
        more = wanted if isinstance(wanted, dict) else {}
        removes = wanted == "remove" or more.get("remove", False)
        if "prefix" in more:
            self.set_all(parts, "discovery-prefix", more["prefix"], "home-assistant", "prefix")
        if more.get("picture", True) and not removes:
            self.set_all(parts, "snapshot", "object", "home-assistant")
        self.set_all(parts, "discovery", "remove" if removes else "home-assistant", "home-assistant")

    def set_all(self, parts, name, value, *place):
        """`place` is the field whose value it is."""
        for part in parts:
            if name in part.given:
                continue
            try:
                camera_elements.set_property(part.element, name, value)
            except Mistake as mistake:
                raise self.mistake(": %s" % mistake, *place) from mistake

    def check_labels(self, line):
        """Refuses labels that no network of the line has: a misspelt one would mean nothing."""
        for part, label, place, within in camera_labels.unknown_labels(line):
            near = difflib.get_close_matches(label, part.labels, 1)
            raise self.mistake(": %s: no network before it has the label '%s'%s" % (
                part.factory, untrusted.printable(label, 80),
                ", but '%s'" % near[0] if near else ", but %s" % ", ".join(sorted(part.labels)[:20])),
                *part.place, *place, within=within)
