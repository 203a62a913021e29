#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Documents as ONVIF metadata are well-formed, and keep to ONVIF's schema.

    check_onvif.py TEST_PUBLISH [SCHEMA]

Parses what TEST_PUBLISH writes of random texts and places (tests/publish/test_onvif.cpp) by Python's own parser, and holds it
against ELEMENTS: the order, number and attributes of elements, written from metadatastream.xsd and common.xsd (ONVIF, 20.12 and
22.12) and b-2.xsd (OASIS). The schema names others by their address, and its licence allows no changes, so it is no part of the
test; SCHEMA is the path of your metadatastream.xsd, which xmllint then reads."""
import base64
import datetime
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

TT = "{http://www.onvif.org/ver10/schema}"
WSNT = "{http://docs.oasis-open.org/wsn/b-2}"
ANY = 10 ** 9
# Of each type: the children in order, as name, type, least and most; attributes, as name, check and whether it must be there;
# and the check of its text.
FLOAT = "float"
ELEMENTS = {
    "MetadataStream": ([("VideoAnalytics", "VideoAnalytics", 0, ANY), ("Event", "Event", 0, ANY)], {}, None),
    "VideoAnalytics": ([("Frame", "Frame", 0, ANY)], {}, None),
    "Frame": ([("Transformation", "Transformation", 0, 1), ("Object", "Object", 0, ANY), ("ObjectTree", "ObjectTree", 0, 1),
               ("SceneImageRef", "text", 0, 1), ("SceneImage", "base64", 0, 1)],
              {"UtcTime": ("time", True), "Source": ("text", False)}, None),
    "Transformation": ([("Translate", "Vector", 0, 1), ("Scale", "Vector", 0, 1)], {}, None),
    "Vector": ([], {"x": (FLOAT, False), "y": (FLOAT, False)}, None),
    "Object": ([("Appearance", "Appearance", 0, 1), ("Behaviour", "Behaviour", 0, 1)],
               {"ObjectId": ("integer", False), "Parent": ("integer", False)}, None),
    "Appearance": ([("Shape", "Shape", 0, 1), ("Class", "Class", 0, 1), ("VehicleInfo", "VehicleInfo", 0, ANY),
                    ("LicensePlateInfo", "LicensePlateInfo", 0, 1), ("ImageRef", "text", 0, 1), ("Image", "base64", 0, 1)], {}, None),
    "Shape": ([("BoundingBox", "Rectangle", 1, 1), ("CenterOfGravity", "Vector", 1, 1), ("Polygon", "Polygon", 0, ANY)], {}, None),
    "Rectangle": ([], {name: (FLOAT, False) for name in ("bottom", "top", "right", "left")}, None),
    "Polygon": ([("Point", "Vector", 3, ANY)], {}, None),
    "Class": ([("Type", "Likely", 0, ANY)], {}, None),
    "Likely": ([], {"Likelihood": ("share", False)}, "text"),
    "VehicleInfo": ([("Type", "VehicleType", 1, 1)], {}, None),
    "VehicleType": ([], {"Likelihood": ("share", False)}, "vehicle"),
    "LicensePlateInfo": ([("PlateNumber", "Likely", 1, 1)], {}, None),
    "Behaviour": ([("Speed", "number", 0, 1)], {}, None),
    "ObjectTree": ([("Delete", "ObjectId", 0, ANY)], {}, None),
    "ObjectId": ([], {"ObjectId": ("integer", False)}, None),
    "Event": ([(WSNT + "NotificationMessage", "NotificationMessage", 0, ANY)], {}, None),
    "NotificationMessage": ([(WSNT + "Topic", "Topic", 0, 1), (WSNT + "Message", "Holder", 1, 1)], {}, None),
    "Topic": ([], {"Dialect": ("dialect", True)}, "topic"),
    "Holder": ([("Message", "Message", 1, 1)], {}, None),
    "Message": ([("Source", "Items", 0, 1), ("Data", "Items", 0, 1)],
                {"UtcTime": ("time", True), "PropertyOperation": ("operation", False)}, None),
    "Items": ([("SimpleItem", "Item", 0, ANY)], {}, None),
    "Item": ([], {"Name": ("name", True), "Value": ("text", True)}, None),
    "text": ([], {}, "text"), "base64": ([], {}, "base64"), "number": ([], {}, FLOAT),
}
CHECKS = {
    "text": lambda text: True,
    "integer": lambda text: re.fullmatch(r"\d+", text),
    FLOAT: lambda text: abs(float(text)) < 1e6,
    "share": lambda text: 0 <= float(text) <= 1,
    "time": lambda text: datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ"),
    "base64": lambda text: base64.b64decode(text, validate=True) is not None,
    "vehicle": lambda text: text in ("Bus", "Car", "Truck", "Bicycle", "Motorcycle"),
    "operation": lambda text: text in ("Initialized", "Deleted", "Changed"),
    "dialect": lambda text: text == "http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet",
    "topic": lambda text: re.fullmatch(r"(tns1|dvnn):[A-Za-z]+(/[A-Za-z]+)+", text),
    "name": lambda text: re.fullmatch(r"(dvnn:)?[A-Za-z]+", text),
}


def check(element, kind, path):
    children, attributes, text = ELEMENTS[kind]
    path = "%s/%s" % (path, element.tag.split("}")[1])
    assert set(element.attrib) <= set(attributes), "%s has %s" % (path, sorted(element.attrib))
    for name, (what, must) in attributes.items():
        assert name in element.attrib or not must, "%s has no %s" % (path, name)
        assert name not in element.attrib or CHECKS[what](element.attrib[name]), (path, name, element.attrib[name])
    assert text is None and not (element.text or "").strip() or text and CHECKS[text](element.text or ""), (path, element.text)
    left = list(element)
    for name, other, least, most in children:
        tag = name if name.startswith("{") else TT + name
        count = 0
        while left and left[0].tag == tag:
            check(left.pop(0), other, path)
            count += 1
        assert least <= count <= most, "%s has %d %s" % (path, count, name)
    assert not left, "%s has %s where it must not stand" % (path, left[0].tag)


def check_items(root):
    """What the Analytics Service Specification says of the two topics, and of identifiers."""
    for message in root.iter(WSNT + "NotificationMessage"):
        topic = message.find(WSNT + "Topic").text
        items = {part: {item.get("Name"): item.get("Value") for item in message.iter(TT + part) for item in item}
                 for part in ("Source", "Data")}
        assert {"VideoSource", "AnalyticsConfiguration", "Rule"} == set(items["Source"]), items
        own = {"ObjectId", "ClassTypes", "IsInside", "Since"}
        is_own = topic.startswith("dvnn:")
        assert is_own or all(name in own or name.startswith("dvnn:") for name in items["Data"]), items
        is_property = "PropertyOperation" in message.find(".//" + TT + "Message").attrib
        if topic == "tns1:RuleEngine/LineDetector/Crossed":
            assert not is_property and "IsInside" not in items["Data"], items
        if topic == "tns1:RuleEngine/FieldDetector/ObjectsInside":
            assert is_property and items["Data"]["IsInside"] in ("true", "false"), items
        if topic == "tns1:RuleEngine/LoiteringDetector/ObjectIsLoitering":
            assert is_property and CHECKS["time"](items["Data"]["Since"]), items


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lines")
        subprocess.run([sys.argv[1], "publish_onvif"], check=True, env=dict(os.environ, DVNN_ONVIF_LINES=path),
                       stdout=subprocess.DEVNULL)
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")[:-1]
    assert len(lines) == 400, len(lines)
    kinds = set()
    for line in lines:
        root = tree.fromstring(line)
        assert root.tag == TT + "MetadataStream"
        check(root, "MetadataStream", "")
        check_items(root)
        kinds |= {element.tag.split("}")[1] for element in root.iter()}
        if len(sys.argv) > 2:
            subprocess.run(["xmllint", "--nonet", "--noout", "--schema", sys.argv[2], "-"], input=line, check=True,
                           stderr=subprocess.DEVNULL)
    assert {"BoundingBox", "Delete", "NotificationMessage", "PlateNumber", "VehicleInfo", "Image", "Polygon"} <= kinds, kinds
    print("%d documents with %d kinds of elements%s" % (len(lines), len(kinds), ", by the schema, too" if len(sys.argv) > 2 else ""))


if __name__ == "__main__":
    main()
