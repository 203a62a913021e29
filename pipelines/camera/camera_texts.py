# SPDX-License-Identifier: Apache-2.0
"""Changes values in the text of a JSON file, and leaves the rest of the text as people wrote it. This file belongs beside
dvcamera."""
import json
import re

import camera_elements
import untrusted


def span_of(text, place):
    """Returns where a value of the text begins and ends. Raises KeyError if it is not there."""
    begin = dict(untrusted.places(text))[tuple(place)]
    if place and isinstance(place[-1], str):  # a member's name, behind which its value is
        begin = json.JSONDecoder().raw_decode(text, begin)[1]
        begin = re.compile(r"\s*:\s*").match(text, begin).end()
    return begin, json.JSONDecoder().raw_decode(text, begin)[1]


def indent_at(text, at):
    """Returns the white space at the beginning of a place's line."""
    return re.match(r"[ \t]*", text[text.rfind("\n", 0, at) + 1:]).group()


def written(value, indent):
    """Returns JSON of the value: an object of lists has a line for each of their entries, all else is one line."""
    if not isinstance(value, dict) or not any(isinstance(one, list) and one and isinstance(one[0], dict) for one in value.values()):
        return json.dumps(value, ensure_ascii=False)
    members = []
    for name, one in value.items():
        if isinstance(one, list) and one and isinstance(one[0], dict):
            entries = (",\n" + indent + "    ").join(json.dumps(entry, ensure_ascii=False) for entry in one)
            members.append("%s: [\n%s    %s\n%s  ]" % (json.dumps(name), indent, entries, indent))
        else:
            members.append("%s: %s" % (json.dumps(name), json.dumps(one, ensure_ascii=False)))
    return "{\n%s  %s\n%s}" % (indent, (",\n%s  " % indent).join(members), indent)


def with_value(text, place, value):
    """Returns the text with another value at a place; the last name of the place may be a new member of its object."""
    try:
        begin, end = span_of(text, place)
        return text[:begin] + written(value, indent_at(text, begin)) + text[end:]
    except KeyError:
        begin, end = span_of(text, place[:-1])
    last = end - 1 - len(text[begin:end - 1]) + len(text[begin:end - 1].rstrip())
    empty = text[last - 1] == "{" and last - 1 == begin
    inner = re.match(r"\{(\s*)", text[begin:]).group(1)
    gap = inner if not empty and "\n" in inner else "" if empty else " "
    indent = gap.rpartition("\n")[2] if "\n" in gap else indent_at(text, begin)
    return "%s%s%s%s: %s%s" % (text[:last], "" if empty else ",", gap, json.dumps(place[-1]), written(value, indent), text[last:])


def quoted(value):
    """Returns a value as text of gst-launch-1.0."""
    return value if re.fullmatch(r"[\w.+:-]+", value) else '"%s"' % value.replace("\\", "\\\\").replace('"', '\\"')


def with_property(entry, piece, name, value):
    """Returns the text of a chain of elements with another value of a property of its element number `piece`. Raises ValueError
    if the text is no simple chain."""
    pieces = camera_elements.chain_of(entry)
    if pieces is None:
        raise ValueError("it is no simple chain of elements")
    old = pieces[piece]
    given = [match for match in camera_elements.PROPERTY.finditer(old) if match[1] == name]
    if given:
        begin, end = given[-1].span(2)
        pieces[piece] = old[:begin] + quoted(value) + old[end:]
    else:
        end = len(old.rstrip())
        pieces[piece] = "%s %s=%s%s" % (old[:end], name, quoted(value), old[end:])
    return "!".join(pieces)
