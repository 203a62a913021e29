# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of elements' properties, made of what GStreamer knows of them, and values held against such schemas.
This file belongs beside dvcamera."""
import json
import math
import re

import gi

import untrusted

gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst  # noqa: E402

# The elements whose properties are checked by their types, and described for editors.
OWN = ("dvconvert", "dvdecode", "dvinfer", "dvmatch", "dvmotion", "dvoverlay", "dvpublish", "dvread", "dvrecord", "dvtrack", "dvzones")
INTEGERS = ("gint", "guint", "gint64", "guint64", "glong", "gulong")
REALS = ("gfloat", "gdouble")


def zone_shape(least, more):
    return {"type": "object", "required": ["name", "points"], "additionalProperties": False, "properties": dict({
        "name": {"type": "string", "minLength": 1},
        "points": {"description": "x, y of each corner", "type": "array", "minItems": least, "maxItems": 256,
                   "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}},
        "unit": {"enum": ["fractions", "pixels"], "default": "fractions"}}, **more)}


def zones_schema():
    """Returns the schema of dvzones' and dvmotion's zones, as docs/zones.md has it."""
    time = {"description": "In milliseconds", "type": "integer", "minimum": 0, "maximum": 86400000, "default": 0}
    length = {"type": "number", "minimum": 0}
    labels = {"type": "array", "maxItems": 256, "items": {"type": "string"}}
    motion = {"min-speed": dict(length, description="Metres per second"), "max-speed": dict(length, description="Metres per second"),
              "heading": {"description": "From, to: degrees clockwise from the ground's y axis", "type": "array",
                          "items": {"type": "number", "minimum": 0, "maximum": 360}, "minItems": 2, "maxItems": 2}}
    line = dict({"labels": labels, "band": length, "anchor": {"enum": ["foot", "centre"], "default": "foot"}}, **motion)
    area = dict(line, anchor={"enum": ["foot", "centre", "overlap", "cover"], "default": "foot"},
                share={"type": "number", "exclusiveMinimum": 0, "maximum": 1}, dwell=time, idle=time,
                crowd={"type": "integer", "minimum": 0, "maximum": 1000000},
                occupied=time, free={name: value for name, value in time.items() if name != "default"},
                **{"idle-distance": length, "crowd-time": time, "speed-limit": length, "distance-below": length, "distance-time": time})
    heat = {"description": "Where tracks spend their time", "type": "object", "additionalProperties": False, "properties": {
        "cell": {"description": "Side of a cell: metres with a ground, else a fraction of the frame's height", "type": "number",
                 "exclusiveMinimum": 0, "maximum": 1000},
        "period": {"description": "In milliseconds", "type": "integer", "minimum": 1000, "maximum": 86400000, "default": 60000},
        "labels": labels}}
    distances = {"description": "Pairs of tracks that are near each other", "type": "object", "required": ["below"],
                 "additionalProperties": False, "properties": {
                     "below": {"description": "Metres", "type": "number", "exclusiveMinimum": 0, "maximum": 1000}, "labels": labels}}
    lists = (("areas", 3, area), ("lines", 2, line), ("masks", 3, {}))
    return {"type": "object", "additionalProperties": False, "properties": dict({
        name: {"type": "array", "maxItems": 256, "items": zone_shape(least, more)} for name, least, more in lists},
        ground=ground_schema(), heat=heat, distances=distances)}


def ground_schema():
    """Returns the schema of the zones' ground, as docs/ground.md has it."""
    pair = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    pairs = {"type": "array", "minItems": 4, "maxItems": 256, "items": pair}
    return {"description": "How the picture lies on the ground", "type": "object", "additionalProperties": False, "properties": {
        "points": dict(pairs, description="Places in the picture"),
        "metres": dict(pairs, description="Where they lie on the ground"),
        "rectangle": dict(pair, description="Instead: width and length in metres of the rectangle that four points are"),
        "unit": {"enum": ["fractions", "pixels"], "default": "fractions"},
        "height": {"description": "Of the camera in metres, instead of points", "type": "number", "exclusiveMinimum": 0},
        "tilt": {"description": "By which the camera looks down, degrees", "type": "number", "minimum": -60, "maximum": 90},
        "field-of-view": {"description": "Over the picture's width, degrees", "type": "number", "minimum": 1, "maximum": 170}}}


# Texts that are JSON: an object or a list may stand for them.
JSON_TEXTS = {
    "zones": {"$ref": "#/$defs/zones"},
    "region-list": {"type": "array"},
    "extra-fields": {"type": "object"},
    "pattern": {"type": "object", "additionalProperties": {"type": "string"}},
}


def short(number):
    """Returns a bound as it was written: binary32 makes long numbers of 0.01."""
    return int(number) if float(number).is_integer() and abs(number) < 2 ** 63 else float("%.7g" % number)


def can_be_set(spec):
    return spec and spec.flags & GObject.ParamFlags.WRITABLE and not spec.flags & GObject.ParamFlags.CONSTRUCT_ONLY


def is_label_list(element, name):
    spec = element.find_property(name + "-array")
    return bool(spec) and spec.value_type.name == "GstValueArray"


def property_schema(element, spec):
    """Returns the schema of a property's value, or None if JSON cannot say it."""
    kind = spec.value_type
    what = {"description": spec.blurb}
    if kind.is_a(GObject.TYPE_ENUM):
        # PyGObject's classes of a property's specification differ from release to release.
        values = type(element.get_property(spec.name)).__enum_values__
        return dict(what, enum=[values[key].value_nick for key in sorted(values)])
    if kind.is_a(GObject.TYPE_FLAGS):
        flags = type(element.get_property(spec.name)).__flags_values__
        nicks = [value.first_value_nick for _, value in sorted(flags.items())]
        one = "(%s)" % "|".join(map(re.escape, nicks))
        return dict(what, type="string", pattern=r"^%s(\+%s)*$" % (one, one))
    if kind.name == "gboolean":
        return dict(what, type="boolean")
    if kind.name in INTEGERS:
        return dict(what, type="integer", minimum=short(spec.minimum), maximum=short(spec.maximum))
    if kind.name in REALS:
        bounds = {"minimum": spec.minimum, "maximum": spec.maximum}
        return dict(what, type="number", **{name: short(value) for name, value in bounds.items() if abs(value) < 1e30})
    if kind.name != "gchararray":
        return None
    other = JSON_TEXTS.get(spec.name)
    if is_label_list(element, spec.name):
        other = {"type": "array", "items": {"type": "string", "minLength": 1}}
    return dict(what, anyOf=[{"type": "string"}, other]) if other else dict(what, type="string")


def definitions():
    """Returns the schemas of the properties of our elements that are installed, by element, and that of zones."""
    found = {"zones": zones_schema()}
    for name in OWN:
        element = Gst.ElementFactory.make(name)
        if not element:
            continue
        specs = sorted((spec for spec in element.list_properties() if can_be_set(spec)), key=lambda spec: spec.name)
        properties = {spec.name: property_schema(element, spec) for spec in specs}
        found[name] = {"type": "object", "additionalProperties": False,
                       "properties": {key: value for key, value in properties.items() if value}}
    return found


# --- values held against a schema ---------------------------------------------------------------

class Fault:
    """What is wrong with a value, at a place in it."""

    def __init__(self, text, place=()):
        self.text = text
        self.place = place

    def within(self, *place):
        self.place = (*place, *self.place)
        return self


def said(schema, definitions_):
    """Returns what a value must be, in words."""
    schema = resolved(schema, definitions_)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(said(one, definitions_) for one in schema["anyOf"]))
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    kind = schema.get("type")
    if kind in ("integer", "number"):
        low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
        whole = "a whole number" if kind == "integer" else "a number"
        if low is not None and high is not None:
            return "%s %s %s to %s" % (whole, "above" if "exclusiveMinimum" in schema else "of", low, high)
        return whole if low is None else "%s, at least %s" % (whole, low)
    if kind == "string":
        if "examples" in schema:
            return "a text such as %s" % " or ".join(schema["examples"])
        if "pattern" in schema:
            return schema.get("title") or "words between +, of " + ", ".join(re.findall(r"[\w-]+", schema["pattern"].split(")")[0]))
        return "a text that is not empty" if schema.get("minLength") else "a text"
    return {"boolean": "true or false", "array": "a list", "object": "an object"}[kind]


def resolved(schema, definitions_):
    return definitions_[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


def is_kind(value, kind):
    """Whether a value has a type of JSON Schema, in which 5.0 is whole and true no number."""
    if kind in ("integer", "number"):
        return isinstance(value, (int, float)) and not isinstance(value, bool) and (
            kind == "number" or float(value).is_integer() if isinstance(value, float) else True)
    return isinstance(value, {"boolean": bool, "string": str, "array": list, "object": dict}[kind])


def fault_of(value, schema, definitions_):
    """Returns the first Fault of a value, or None. Knows the words of JSON Schema that this file and camera_config use."""
    if schema.get("$ref") == "#/$defs/element":
        return fault_of_entry(value, definitions_)
    schema = resolved(schema, definitions_)
    if "anyOf" in schema:
        return fault_of_any(value, schema, definitions_)
    must = Fault(" is %s, must be %s" % (untrusted.printable(json.dumps(value)), said(schema, definitions_)))
    if "enum" in schema:
        return None if isinstance(value, str) and value in schema["enum"] else must
    if not is_kind(value, schema["type"]):
        return must
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        fits = schema.get("minimum", -math.inf) <= value <= schema.get("maximum", math.inf)
        return None if fits and value > schema.get("exclusiveMinimum", -math.inf) else must
    if isinstance(value, str):
        fits = len(value) >= schema.get("minLength", 0) and re.search(schema.get("pattern", ""), value)
        return None if fits else must
    if isinstance(value, list):
        return fault_of_list(value, schema, definitions_)
    return fault_of_object(value, schema, definitions_) if isinstance(value, dict) else None


def fault_of_any(value, schema, definitions_):
    faults = [fault_of(value, one, definitions_) for one in schema["anyOf"]]
    if None in faults:
        return None
    kinds = [resolved(one, definitions_).get("type") or "object" for one in schema["anyOf"]]
    same = [fault for fault, kind in zip(faults, kinds) if is_kind(value, kind)]
    if len(same) == 1:
        return same[0]
    return Fault(" is %s, must be %s" % (untrusted.printable(json.dumps(value)), said(schema, definitions_)))


def fault_of_list(value, schema, definitions_):
    low, high = schema.get("minItems", 0), schema.get("maxItems", math.inf)
    if low and not value:
        return Fault(" is empty")
    if not low <= len(value) <= high:
        return Fault(" has %d entries, at %s may be" % (len(value), "most %d" % high if len(value) > high else "least %d" % low))
    for index, item in enumerate(value):
        fault = fault_of(item, schema["items"], definitions_) if "items" in schema else None
        if fault:
            return fault.within(index)
    return None


def fault_of_object(value, schema, definitions_):
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, item in value.items():
        if name not in known and others is False:
            return Fault(": there is no such field, but %s" % ", ".join(known), (name,))
        fault = fault_of(item, known.get(name, others), definitions_) if known.get(name, others) is not True else None
        if fault:
            return fault.within(name)
    missing = [name for name in schema.get("required", ()) if name not in value]
    return Fault(" has no '%s'" % missing[0]) if missing else None


def fault_of_entry(value, definitions_):
    """An element of the line, which says by itself what it may have."""
    if not isinstance(value, dict):
        return Fault(" is %s, must be a text or an object" % untrusted.printable(json.dumps(value)))
    if not isinstance(value.get("element"), str):
        return Fault(" has no text 'element', which names an element") if "element" not in value else Fault(
            " is %s, must be a text" % untrusted.printable(json.dumps(value["element"])), ("element",))
    own = definitions_.get(value["element"])
    if not own:
        return None
    for name, item in value.items():
        if name == "element":
            continue
        if name not in own["properties"]:
            return Fault(": %s has no property '%s' that can be set" % (value["element"], name), (name,))
        fault = fault_of(item, own["properties"][name], definitions_)
        if fault:
            return fault.within(name)
    return None
