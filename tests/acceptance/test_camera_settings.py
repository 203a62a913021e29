#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Any camera.json is taken as it is, or refused in a line that names the file, line, column and field; and editors that
know its JSON Schema say the same.

    test_camera_settings.py DVCAMERA

Mutants of configurations, without playing them. Exits with 77 if Python's bindings of GStreamer are not installed.
Without python3-jsonschema, mutants are not held against the schema.
DVNN_TEST_ROUNDS and DVNN_TEST_SEED are as in share.py."""
import copy
import importlib.machinery
import importlib.util
import json
import math
import os
import random
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from share import share_of  # noqa: E402

try:
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import GLib, Gst
except (ImportError, AttributeError, ValueError) as missing:
    print("skipped: %s" % missing)
    sys.exit(77)
try:
    import jsonschema
except ImportError:
    jsonschema = None
    print("there is no python3-jsonschema: mutants are not held against the schema")

# What elements and the line as a whole say, and no schema.
BEYOND = re.compile(r": [\w-]+: (property|no network)|there is no element|no element|are no caps|cannot be linked|takes no frames|"
                    r"retry is|half of|character 0|could stand|looks at objects again|there is neither|whose url begins|has no property|syntax|"
                    r"could not|erroneous|source-line: |elements\[\d+\]: '")
VALUES = 1000  # mutants of values
BYTES = 1000   # of bytes
CONFIGS = (
    {"source": "test", "elements": [
        "videoconvert", "video/x-raw,format=RGB", "queue max-size-buffers=2 ! identity",
        {"element": "dvdecode", "threshold": 0.1, "labels": "person,car", "post-messages": True},
        {"element": "dvtrack", "max-lost-ms": 500, "min-evidence": 3.5},
        {"element": "dvzones", "zones": {"areas": [{"name": "a", "points": [[0, 0], [1, 0], [1, 1]], "dwell": 100}],
                                         "lines": [{"name": "l", "points": [[0.5, 1.0], [0.5, 0.0]]}]}}],
     "print": ["dvnn-zone-event", "dvnn-objects"]},
    {"name": "door", "source-line": "videotestsrc ! identity", "latency": 100, "transport": "tcp", "repeat": True, "silence": 1,
     "retry": 20, "retry-most": 30, "hang": 5, "elements": [
         "dvconvert", {"element": "identity", "error-after": 5, "drop-probability": 0.5},
         {"element": "dvconvert", "regions": "list", "region-list": [[0, 0, 0.5, 1], {"name": "b", "box": [0.5, 0, 0.5, 1]}]},
         {"element": "dvinfer", "when-busy": "pass", "max-held": 3}, "dvdecode threshold=0.1", "dvtrack"]},
    {"$schema": "camera-schema.json", "source": "test", "motion": {"verify-ms": 500, "contrast": 8.5, "zones": {
        "masks": [{"name": "m", "points": [[0, 0], [1, 0], [1, 1]], "unit": "fractions"}]}},
     "match": {"threshold": 0.4, "margin": 0, "keep-days": 1.5},
     "agree": {"looks": 2, "pattern": {"car": "[A-Z]+"}, "only-agreed": True}, "elements": [
         "dvconvert ! dvinfer ! dvdecode labels=\"QR code,marker\"", "dvtrack", "dvconvert regions=objects", "dvinfer",
         {"element": "dvdecode", "labels": ["QR code", "barcode"], "exports": "regions", "thresholds": "marker:0.3"},
         {"element": "dvpublish", "location": "/dev/null", "mode": "frames+events", "extra-fields": {"site": "Kyoto"}}]},
    {"source": "test", "metrics": {"listen": "[::1]:9600", "names": ["door.lan"]}, "home-assistant": {
        "prefix": "ha", "picture": False}, "elements": [
            "identity", {"element": "dvpublish", "url": "mqtt://127.0.0.1", "stream": "door"}]},
    {"source": "test", "metrics": ":9600", "home-assistant": True, "elements": ["dvpublish url=mqtt://127.0.0.1 stream=door"]},
    {"source": "test", "motion": True, "match": True, "agree": 3, "elements": ["dvconvert", {"element": "dvconvert", "regions": "objects"},
                                                                                "dvdecode", "identity"],
     "page": {"port": 0, "bind": "127.0.0.1", "hosts": ["cameras.example"], "picture-size": 320, "picture-rate": 5,
              "password": "scrypt$15$" + "A" * 22 + "==$" + "A" * 43 + "="}},
)
ODD = (None, True, False, 0, -1, 1, 7, 300, 2 ** 31, -2 ** 31 - 1, 2 ** 64, 10 ** 50, 0.5, -0.25, 1e300, 1e-300, "", "a", "nan",
       "0x10", "1e9", "-1", "person", "pass", "list", "true", "\0", "\ud800", "\u202e", "\x1b[2J", "two\nlines", "'\"\\", "x" * 3000,
       [], [[]], {}, [0], {"a": 1}, {"element": "identity"}, {"element": "nothing"}, {"element": 5}, "identity", "nothing",
       "identity !", "! identity", "identity ! nothing", "(identity", "video/x-raw", "video/x-raw,", "tee name=t", "fakesink",
       "dvtrack max-lost-ms=-1", "dvtrack labels=", "dvtrack labels=a min-evidence=x", "dvtrack nothing=1", "identity name=a")


def load(path):
    loader = importlib.machinery.SourceFileLoader("dvcamera", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("dvcamera", loader))
    loader.exec_module(module)
    return module


def verdict(path):
    """Returns the configuration, or None and the message."""
    try:
        config = dvcamera.camera_config.Config(path)
        dvcamera.Source(config)
        dvcamera.Camera(config)
        return config, ""
    except (dvcamera.Mistake, GLib.Error) as mistake:
        return None, str(getattr(mistake, "message", mistake))


def check_refusal(path, text, message):
    place = re.match(r"'(.*)', line (\d+), column (\d+): (.)", message, re.DOTALL)
    if place:
        lines = text.split("\n")
        assert place[1] == path and 1 <= int(place[2]) <= len(lines), message
        assert 1 <= int(place[3]) <= len(lines[int(place[2]) - 1]) + 1, message
        return int(place[2])
    # What is missing, too long or too deep has no line.
    assert re.match(r"'%s'( must|: it )" % re.escape(path), message), message
    return None


def is_same(wanted, taken):
    if isinstance(wanted, list) and taken == ",".join(re.sub(r"([\\,])", r"\\\1", str(one)) for one in wanted):
        return True
    if hasattr(taken, "value_nicks"):
        return set(str(wanted).split("+")) == set(taken.value_nicks)
    if isinstance(taken, str):
        return taken == wanted or json.loads(taken) == wanted
    if isinstance(wanted, bool) or isinstance(taken, bool):
        return str(wanted).lower() in {True: ("true", "1", "yes", "t"), False: ("false", "0", "no", "f")}[bool(taken)]
    if isinstance(taken, (int, float)) and not hasattr(taken, "value_nick"):
        return math.isclose(float(int(wanted, 0) if re.match("0x", str(wanted)) else wanted), taken, rel_tol=1e-6, abs_tol=1e-12)
    if hasattr(taken, "value_nick"):
        return str(wanted) in (taken.value_nick, taken.value_name, str(int(taken)))
    return taken == wanted


def check_taken(text, config):
    """Each field and property has the value that it was given; none of two was dropped."""
    def once(pairs):
        assert len(dict(pairs)) == len(pairs), "one of two is dropped"
        return dict(pairs)
    given = json.loads(text, object_pairs_hook=once)
    for name, value in given.items():
        assert config[name] == value, name
    motion = given.get("motion")
    if motion:
        line = [part.factory for part in config.make_line()]
        assert line.count("dvmotion") == 1 and line.index("dvmotion") + 1 == line.index("dvconvert"), line
    if given.get("match"):
        line = [part.factory for part in config.make_line()]
        before = line[:line.index("dvmatch")]
        assert line.count("dvmatch") == 1 and before[-1] in ("dvdecode", "dvtrack"), line
        assert not {"dvdecode", "dvtrack"} & set(line[len(before):]), line
    for entry in given.get("elements", []):
        if not isinstance(entry, dict):
            continue
        element = elements.parts_of(entry)[0].element
        for name, value in entry.items():
            if name != "element":
                taken = element.get_property(name)
                assert is_same(value, taken), "%s is %r, not %r" % (name, taken, value)


def check_schema(text, message):
    """Whatever an editor marks is refused; what is refused and not marked is what only elements know."""
    try:
        given = dvcamera.untrusted.parse_settings(text.decode("utf-8-sig"))
    except ValueError:
        return
    if jsonschema:
        valid = validator.is_valid(given)
        assert valid or message, "the schema refuses what is taken: %s" % list(validator.iter_errors(given))[:3]
        assert not valid or not message or BEYOND.search(message), "the schema takes it: %s" % message


def try_text(text, folder):
    """Returns the line of the mistake, None if there is none, and the message."""
    path = os.path.join(folder, "camera.json")
    with open(path, "wb") as file:
        file.write(text)
    try:
        config, message = verdict(path)
        check_schema(text, message)
        if config:
            check_taken(text.decode("utf-8-sig"), config)
            return None, ""
        return check_refusal(path, text.decode(errors="replace"), message), message
    except BaseException:
        print(text.decode(errors="replace"))
        raise


def places_of(value, place=()):
    """Yields all places in a configuration at which a value can be another one."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield (*place, name)
        yield from places_of(item, (*place, name))


def with_value(config, place, value, rename=None):
    made = copy.deepcopy(config)
    at = made
    for name in place[:-1]:
        at = at[name]
    if rename is not None and isinstance(at, dict):
        at[rename] = at.pop(place[-1])
    else:
        at[place[-1]] = value
    return made


def lines_of(config, place):
    """Returns the lines of the field, of its entry, of this entry's property, and of the place in them."""
    mark = "the mark"
    texts = (json.dumps(with_value(config, place[:depth], mark), indent=1) for depth in range(1, len(place) + 1))
    return [text[:text.index(mark)].count("\n") + 1 for text in texts]


def check_values(rng, folder):
    found = {"taken": 0, "refused": 0}
    for _ in share_of(range(VALUES)):
        config = rng.choice(CONFIGS)
        place, value = rng.choice(list(places_of(config))), rng.choice(ODD)
        rename = rng.choice((None, None, None, "nothing", "element", "name", "sou\nrce"))
        text = json.dumps(with_value(config, place, value, rename), indent=1)
        line, message = try_text(text.encode(), folder)
        found["refused" if message else "taken"] += 1
        # A mistake stands where it was made, or is one of the whole: a field too few, elements that do not go together.
        if line and rename is None and not re.search(r"must be in|cannot be linked|takes no frames|has no property|half of|character 0|could stand|looks at objects again|there is neither|whose url begins|no network before|has no '", message):
            lines = lines_of(config, place)
            within = range(lines[-1], lines[-1] + 1 + json.dumps(value, indent=1).count("\n"))
            assert line in lines or line in within, (line, lines, message, text)
    return found


def check_zones(rng, _folder):
    """What the schema of zones refuses, dvzones refuses too: it has no rule of its own."""
    found = {"taken": 0, "refused": 0, "refused by dvzones": 0}
    known = dvcamera.camera_config.schema()["$defs"]
    zones = {"areas": [{"name": "a", "points": [[0, 0], [1, 0], [1, 1]], "unit": "pixels", "labels": ["car"], "anchor": "overlap",
                        "band": 0.5, "share": 0.5, "dwell": 100, "idle": 5, "idle-distance": 2, "crowd": 3, "crowd-time": 7}],
             "lines": [{"name": "l", "points": [[0.5, 1.0], [0.5, 0.0]], "labels": [], "band": 0, "anchor": "centre"}],
             "masks": [{"name": "m", "points": [[0, 0], [1, 0], [1, 1]], "unit": "fractions"}],
             "ground": rng.choice(({"points": [[0, 0], [1, 0], [1, 1], [0, 1]], "rectangle": [3, 4.5], "unit": "fractions"},
                                   {"height": 4, "tilt": 30.5, "field-of-view": 70}))}
    # Null means absent to dvzones, and is refused in camera.json.
    odd = [value for value in ODD if value is not None and (not isinstance(value, str) or value.isprintable())] + [
        "pixels", "foot", "centre", "overlap", [0, 0], [[0, 0]] * 2, [[0, 0], [1, 0], [1, 1]], [{}], ["a"], 86400000, 86400001, 1000001,
        [[0, 0, 0]] * 3, [["a", 0]] * 3]
    for _ in share_of(range(VALUES)):
        place, value = rng.choice(list(places_of(zones))), rng.choice(odd)
        made = with_value(zones, place, value, rng.choice((None, None, None, None, "nothing")))
        fault = dvcamera.camera_config.camera_schema.fault_of(made, known["zones"], known)
        try:
            elements.set_property(Gst.ElementFactory.make("dvzones"), "zones", made)
            refused = ""
        except elements.Mistake as mistake:
            refused = str(mistake)
        assert refused or not fault, "%s%s, and dvzones takes it: %s" % (fault.place, fault.text, made)
        found["refused" if fault else "refused by dvzones" if refused else "taken"] += 1
    return found


def check_bytes(rng, folder):
    found = {"taken": 0, "refused": 0}
    pieces = (b'"', b",", b"{", b"}", b"[", b"]", b":", b"\n", b"\\", b"\xff", b"\0", b"NaN", b"1e999", b"-", b"null",
              b'"retry": 5,', b'"source": "test",', b'"element": "identity",', b"\xef\xbb\xbf", b"\\ud800", b"9" * 50)
    for _ in share_of(range(BYTES)):
        text = bytearray(json.dumps(rng.choice(CONFIGS), indent=rng.choice((None, 1))).encode())
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text) + 1)
            kind = rng.randrange(4)
            if kind == 0:
                text[at:at] = rng.choice(pieces)
            elif kind == 1:
                del text[at:at + rng.randint(1, 20)]
            elif kind == 2 and at < len(text):
                text[at] ^= 1 << rng.randrange(8)
            else:
                other = rng.randrange(len(text) + 1)
                text[at:at] = text[other:other + rng.randint(1, 60)]
        found["refused" if try_text(bytes(text), folder)[1] else "taken"] += 1
    return found


def main():
    rng = random.Random(1000 + int(os.environ.get("DVNN_TEST_SEED", "0")))
    with tempfile.TemporaryDirectory() as folder:
        for config in CONFIGS:
            line, message = try_text(json.dumps(config).encode(), folder)
            assert not message, message
        for check in (check_values, check_zones, check_bytes):
            found = check(rng, folder)
            print("%s: %s" % (check.__name__, found))
            assert min(found.values()) > 0, found


if __name__ == "__main__":
    Gst.init(None)
    dvcamera = load(sys.argv[1])
    elements = dvcamera.camera_config.camera_elements
    if jsonschema:
        jsonschema.Draft202012Validator.check_schema(dvcamera.camera_config.schema())
        validator = jsonschema.Draft202012Validator(dvcamera.camera_config.schema())
    main()
