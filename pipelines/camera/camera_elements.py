# SPDX-License-Identifier: Apache-2.0
"""Makes elements of the entries of camera.json, and says what is wrong with them. This file belongs beside dvcamera."""
import json
import math
import re

import gi

import untrusted
from camera_schema import INTEGERS, can_be_set, is_label_list

gi.require_version("Gst", "1.0")
from gi.repository import GLib, GObject, Gst  # noqa: E402

MOST_FILE = 1 << 20  # bytes of a file that a property names
VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"'\\!]+)"""
ELEMENT = re.compile(r"\s*([\w-]+)((?:\s+(?!element=)[a-z][\w-]*=%s)*)\s*" % VALUE)
PROPERTY = re.compile(r"([a-z][\w-]*)=(%s)" % VALUE)
PART = re.compile(r"(?:%s|[^\s\"'\\!]+|\s+|\\.)+" % VALUE)  # what stands between the marks ! of a chain
CAPS = re.compile(r"\s*\w+/[\w-]+")
NUMBER = re.compile(r"([a-z][\w-]*)=\"?([-+]?[\d.]+(?:[eE][-+]?\d+)?)\"?(?=[\s!)]|$)")


class Mistake(Exception):
    """A mistake in the configuration: at this place of an entry, and `within` its text."""

    def __init__(self, text, *place, within=None):
        super().__init__(text)
        self.place = place
        self.within = within


class Part:
    """An element of the line, with what the file sets of it."""

    def __init__(self, element, given):
        self.element = element
        self.factory = element.get_factory().get_name() if element.get_factory() else ""
        self.given = given       # values by property
        self.is_text = False     # whether they stand in one text
        self.place = ()
        self.labels = set()      # of the networks before it

    def at(self, place):
        self.place = place
        return self


def text_of(element, name, value):
    """Returns a value of JSON as the text that the element's own parser reads."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and is_label_list(element, name):
        return ",".join(re.sub(r"([\\,])", r"\\\1", label) for label in value)
    if isinstance(value, float) and element.find_property(name).value_type.name in INTEGERS and value.is_integer():
        value = int(value)
    return json.dumps(value)


def set_property(element, name, value):
    """Lets the element's own parser read the value. A value that it refuses or changes is a mistake."""
    kind = element.get_factory().get_name()
    if value is None:
        raise Mistake("%s: property '%s' has no value" % (kind, name), name)
    text = text_of(element, name, value)
    is_text = element.find_property(name).value_type == GObject.TYPE_STRING
    try:  # only the parser of lines refuses values that are not of the property's type, but none that is empty
        if not is_text:
            if not text.strip():
                raise Mistake("%s: property '%s' cannot be empty" % (kind, name), name)
            quoted = text.replace("\\", "\\\\").replace('"', '\\"')
            Gst.parse_launch('%s %s="%s"' % (kind, name, quoted))
    except GLib.Error as error:
        raise Mistake("%s: property '%s' cannot be '%s': gst-inspect-1.0 says what it can be" % (kind, name, text),
                      name) from error
    bus = Gst.Bus()
    element.set_bus(bus)
    if is_text:
        element.set_property(name, text)
    else:
        Gst.util_set_object_arg(element, name, text)
    element.set_bus(None)
    refused = bus.pop_filtered(Gst.MessageType.WARNING)
    if refused:
        raise refusal(kind, name, value, refused.parse_warning()[0].message)
    if is_other_number(text, element.get_property(name)):
        raise Mistake("%s: property '%s' cannot be '%s', it would become %s" % (kind, name, text, element.get_property(name)),
                      name)


def refusal(kind, name, value, message):
    """Returns the mistake of a value that an element has refused, at the place in it that the message names."""
    text = "%s: %s" % (kind, message)
    if isinstance(value, (dict, list)):
        return Mistake(text, name, *place_in(value, message))
    if name.endswith("-file") and isinstance(value, str):
        try:
            written, read = untrusted.read_settings(value, MOST_FILE)
        except (OSError, ValueError):
            return Mistake(text, name)
        place = place_in(read, message)
        if place:
            text += "; line %d, column %d of the file" % untrusted.spot_of(written, place)
    return Mistake(text, name)


def place_in(value, message):
    """Returns the place in JSON of which an element's message speaks: "areas[2]", "field 'dwell'"."""
    place = []
    for name, index in re.findall(r"([\w-]*)\[(\d+)\]", message):
        for step in ([name] if isinstance(value, dict) else []) + [int(index)]:
            if not (isinstance(value, dict) and step in value or isinstance(value, list) and isinstance(step, int)
                    and step < len(value)):
                return tuple(place)
            place.append(step)
            value = value[step]
    field = re.search(r"field '([^']*)'", message) or (re.search(r"(its edges|points)", message) and ["", "points"]) \
        or (re.search(r"is called", message) and ["", "name"])
    if field and isinstance(value, dict) and field[1] in value:
        place.append(field[1])
    return tuple(place)


def is_other_number(text, taken):
    """Whether a number has changed by being set: GLib wraps some numbers and clamps others."""
    if not isinstance(taken, (int, float)) or isinstance(taken, bool):
        return False
    try:
        return not math.isclose(float(text), taken, rel_tol=1e-6, abs_tol=1e-12)
    except ValueError:  # a name, or a number that is not decimal
        return False


def make_caps(text):
    caps = Gst.Caps.from_string(text)
    if not caps:
        raise Mistake("'%s' are no caps" % text, within=text.strip()[:20])
    element = Gst.ElementFactory.make("capsfilter")
    element.set_property("caps", caps)
    return Part(element, {})


def make_part(given):
    """Makes an element of an object with its properties."""
    element = Gst.ElementFactory.make(given["element"])
    if not element:
        raise Mistake("there is no element '%s'" % given["element"], "element")
    for name, value in given.items():
        if name == "element":
            continue
        if not can_be_set(element.find_property(name)):
            raise Mistake("%s has no property '%s' that can be set" % (given["element"], name), name)
        set_property(element, name, value)
    return Part(element, {name: value for name, value in given.items() if name != "element"})


def unquoted(value):
    return re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL) if value[0] in "\"'" else value


def make_of_text(text):
    """Makes an element of a text that is one with its properties."""
    if CAPS.match(text):
        return make_caps(text.strip())
    name, properties = ELEMENT.fullmatch(text).groups()
    given = {"element": name}
    for match in PROPERTY.finditer(properties):
        given[match[1]] = unquoted(match[2])
    try:
        part = make_part(given)
    except Mistake as mistake:
        field = mistake.place[0] if mistake.place else None
        within = name if field == "element" else mistake.within or (field and field + "=")
        raise Mistake(str(mistake), within=within) from mistake
    part.is_text = True
    return part


def chain_of(text):
    """Returns the texts between the marks ! of a simple chain of elements and caps, or None: it has names with dots,
    bins or presets."""
    pieces, at = [], 0
    while True:
        match = PART.match(text, at)
        if not match:
            return None
        piece = match.group()
        if not (CAPS.match(piece) or ELEMENT.fullmatch(piece)):
            return None
        pieces.append(piece)
        if match.end() == len(text):
            return pieces
        if text[match.end()] != "!":
            return None
        at = match.end() + 1


def comes_later(element):
    """Whether an element may get source pads while it plays, to which only the parser of lines links."""
    return any(template.direction == Gst.PadDirection.SRC and template.presence == Gst.PadPresence.SOMETIMES
               for template in element.get_factory().get_static_pad_templates())


def check_numbers(text, made):
    """Refuses numbers of a text that its elements have not got: the parser of lines clamps them."""
    elements = [made]
    if isinstance(made, Gst.Bin):
        found = made.iterate_recurse()
        while True:
            result, element = found.next()
            if result != Gst.IteratorResult.OK:
                break
            elements.append(element)
    for name, number in NUMBER.findall(text):
        values = [element.get_property(name) for element in elements
                  if can_be_set(element.find_property(name)) and element.find_property(name).flags & GObject.ParamFlags.READABLE]
        if values and all(is_other_number(number, value) for value in values):
            raise Mistake("property '%s' cannot be '%s', it would become %s" % (name, number, values[0]), within=name + "=")


def parts_of(given):
    """Makes the elements of one entry: a text as for gst-launch-1.0, caps, or an object with properties."""
    if not isinstance(given, str):
        return [make_part(given)]
    pieces = chain_of(given)
    parts = [make_of_text(piece) for piece in pieces or ()]
    if parts and not any(comes_later(part.element) for part in parts[:-1]):
        return parts
    try:
        made = Gst.parse_bin_from_description(given, True)
    except GLib.Error as error:
        raise Mistake("'%s': %s" % (given, error.message)) from error
    check_numbers(given, made)
    return [Part(made, {})]
