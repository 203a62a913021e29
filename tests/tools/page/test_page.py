#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the page of `dvnet inspect --html` in a headless Chromium, and reads, searches and zooms it.

    test_page.py DVNET NETWORK.dvn [SCREENSHOT.png]

Without Chromium only the page's text is checked.
"""
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "acceptance"))
import chromium

DVNET, NETWORK = sys.argv[1:3]


def check_text(text, model):
    """Nothing is fetched, and the data equal those of dvnet inspect --json."""
    assert not re.search(r"(src|href)\s*=|@import|url\(", text), "the page refers to other files"
    assert text.count("<script") == 2 and text.count("</script>") == 2, "a name has become markup"
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))
    assert data["name"] == model["name"], data["name"]
    assert [step["name"] for step in data["steps"]] == [step["name"] for step in model["steps"]]
    for i, step in enumerate(data["steps"]):
        # A step reads only results of earlier steps.
        assert all(-1 <= k < i for k in step["from"]) and bool(step["from"]) == bool(step["inputs"]), step
        assert step["where"] in ("device", "CPU", "once"), step
        assert step["where"] != "CPU" or step["why"], "it is not said why %s is on the CPU" % step["name"]
        weights = step.get("weights")
        if weights:
            # Trained weights have both signs.
            assert weights["least"] < 0 < weights["most"], step
            assert 0 < weights["rms"] <= max(-weights["least"], weights["most"]), step
    assert data["macs"] == sum(step["macs"] for step in data["steps"]) > 1e8, data["macs"]
    assert not [warning for warning in data["warnings"] if "zero" in warning["text"]], data["warnings"]
    check_memory(data)
    check_lives(data, model)
    return data


def check_memory(data):
    """Values that live at the same step do not overlap, and all lie within the buffer."""
    blocks = data["memory"]
    assert len(blocks) >= len([s for s in data["steps"] if s["where"] == "device"])
    for i, a in enumerate(blocks):
        assert a["offset"] + a["bytes"] <= data["io_bytes"], a
        for b in blocks[:i]:
            # A step may overwrite a value that it is the last to read.
            together = max(a["born"], b["born"]) < min(a["dies"], b["dies"])
            apart = a["offset"] >= b["offset"] + b["bytes"] or b["offset"] >= a["offset"] + a["bytes"]
            assert not together or apart, (a, b)


def check_lives(data, model):
    """A block lives until the last step that reads it, and to the end if it is an output or lies in one."""
    sizes = {"float16": 2, "float32": 4}
    results = []
    for output in model["outputs"]:
        tensor = model["tensors"][output["tensor"]]
        if tensor["storage"] == "io":
            results.append((tensor["offset"], tensor["offset"] + math.prod(tensor["shape"]) * sizes[tensor["type"]]))
    end = len(data["steps"])
    for block in data["memory"]:
        readers = [i for i, step in enumerate(data["steps"]) if block["born"] in step["from"]]
        last = max([block["born"], *readers])
        is_result = any(block["offset"] < b and a < block["offset"] + block["bytes"] for a, b in results)
        # If an output later takes the place of a block, only the output lives on.
        wanted = (last, end) if is_result else (last,)
        assert block["dies"] in wanted, (block, last, end)


def without_weights(path, to):
    """Returns the network file with all weights zero."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    begin, size = struct.unpack_from("<QQ", data, 32)
    data[begin:begin + size] = bytes(size)
    struct.pack_into("<I", data, 52, zlib.crc32(data[begin:begin + size]))
    struct.pack_into("<I", data, 60, zlib.crc32(data[:60]))
    with open(to, "wb") as file:
        file.write(data)


def data_of_page(network, page):
    subprocess.check_call([DVNET, "inspect", "--html", page, network], stdout=subprocess.DEVNULL)
    with open(page) as file:
        return json.loads(re.search(r'id="data">(.*?)</script>', file.read(), re.DOTALL).group(1))


def check_zeros(folder):
    """The page warns of a step whose weights are all zero, by its name."""
    network = os.path.join(folder, "zeros.dvn")
    without_weights(NETWORK, network)
    data = data_of_page(network, os.path.join(folder, "zeros.html"))
    steps = [step["name"] for step in data["steps"] if step.get("weights")]
    warned = [re.fullmatch(r"All weights of '(.*)' are zero\.", warning["text"]) for warning in data["warnings"]]
    assert steps and [name.group(1) for name in warned if name] == steps, data["warnings"]


def check_neighbours(folder, models):
    """Outputs that end where another block begins: the default network's model without its last layer."""
    model, network = os.path.join(folder, "cut.prototxt"), os.path.join(folder, "cut.dvn")
    with open(os.path.join(models, "codes.prototxt")) as file:
        text = file.read()
    with open(model, "w") as file:
        file.write(text[:text.rindex("layer {")])
    subprocess.check_call([DVNET, "convert", model, os.path.join(models, "codes.caffemodel"), "-o", network],
                          stdout=subprocess.DEVNULL)
    described = json.loads(subprocess.check_output([DVNET, "inspect", "--json", network]))
    check_lives(data_of_page(network, os.path.join(folder, "cut.html")), described)


def check_choice(browser, data):
    """The longest step is named first; a click shows a step, here and in the other pictures."""
    times = [step.get("measured_us", step.get("us", 0)) for step in data["steps"]]
    longest = data["steps"][times.index(max(times))]["name"]
    assert not max(times) or longest in browser.evaluate("document.querySelector('#step li').textContent"), longest
    browser.evaluate("document.querySelectorAll('#graph .node')[1].dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert data["steps"][0]["name"] in browser.evaluate("byId('step').textContent")
    for chart in ("#times tr", "#weights tr", "#memory rect"):
        assert browser.evaluate("document.querySelectorAll('%s.chosen').length" % chart) == 1, chart
    # A click on a column's name sorts by it, numbers from the largest on.
    name, numbers = ("measured", times) if "measured_us" in data["steps"][0] else ("estimate", times)
    browser.evaluate("[...document.querySelectorAll('#times th')].find(th => th.textContent === '%s').click()" % name)
    first = browser.evaluate("document.querySelector('#times tbody td').textContent")
    assert numbers[int(first)] == max(numbers), (first, max(numbers))


def check_zoom(browser):
    before = browser.evaluate("graph.view.width")
    browser.evaluate("byId('closer').click()")
    assert browser.evaluate("graph.view.width") < before, "it does not zoom in"
    wheel = "byId('graph').dispatchEvent(new WheelEvent('wheel', {deltaY: 1, clientX: 300, clientY: 300, cancelable: true%s}))"
    before = browser.evaluate("graph.view.width")
    assert browser.evaluate("(document.activeElement.blur(), %s)" % wheel % ""), "the page does not scroll past the graph"
    assert browser.evaluate("graph.view.width") == before and not browser.evaluate("byId('hint').hidden")
    assert not browser.evaluate(wheel % ", ctrlKey: true"), "the page scrolls instead of zooming"
    assert browser.evaluate("graph.view.width") > before, "it does not zoom out"
    # The small graph beside it has all nodes, and shows the visible part.
    if not browser.evaluate("byId('map').hasAttribute('hidden')"):
        browser.evaluate("graph.move(0, 100)")
        assert browser.evaluate("+document.querySelector('#map .seen').getAttribute('y') === graph.view.y")
    browser.evaluate("byId('whole').click()")
    assert browser.evaluate("graph.view.height") >= browser.evaluate("graph.bounds.height"), "that is not the whole"


def check_narrow(browser, screenshot):
    """On a telephone nothing is wider than the screen, and two fingers zoom."""
    browser.reload_on_telephone("document.querySelector('#graph .node')")
    if screenshot:
        open(screenshot.replace(".png", "-narrow.png"), "wb").write(browser.picture())
    before = browser.evaluate("graph.view.width")
    for name, fingers in (("down", (150, 250)), ("move", (100, 300)), ("up", (100, 300))):
        for finger, x in enumerate(fingers, 1):
            browser.evaluate("byId('graph').dispatchEvent(new PointerEvent('pointer%s', "
                             "{pointerId: %d, clientX: %d, clientY: 600, bubbles: true}))" % (name, finger, x))
    assert browser.evaluate("graph.view.width") < before * 0.6, "two fingers do not zoom in"


def check_page(browser, data, screenshot):
    steps = len(data["steps"])
    assert browser.evaluate("document.querySelectorAll('#graph .node').length") == steps + 1
    assert browser.evaluate("document.querySelectorAll('#memory rect').length") == len(data["memory"])
    assert browser.evaluate("document.querySelectorAll('#times tbody tr').length") == steps
    weighty = len([step for step in data["steps"] if step.get("weights")])
    assert browser.evaluate("document.querySelectorAll('#weights tbody tr').length") == weighty
    assert browser.evaluate("document.querySelectorAll('#warnings li').length") == len(data["warnings"])
    # Nodes of a row do not overlap.
    overlaps = browser.evaluate("""(() => {
        const all = [...graph.nodes.values()];
        return all.filter(a => all.some(b => a !== b && a.row === b.row && Math.abs(a.x - b.x) < NODE.width)).length;
    })()""")
    assert overlaps == 0, "%d nodes overlap" % overlaps
    if screenshot:
        open(screenshot, "wb").write(browser.picture())
    # A search marks the matches, and shows them.
    browser.evaluate("(() => { const s = byId('search'); s.value = 'cpu'; s.dispatchEvent(new Event('input')); })()")
    on_cpu = len([s for s in data["steps"] if "cpu" in json.dumps(
        [s["name"], s["does"], s["where"], s.get("why", ""), s["layers"]]).lower()])
    assert browser.evaluate("document.querySelectorAll('#graph .hit').length") == on_cpu
    assert browser.evaluate("byId('hits').textContent") == ("1 of %d" % on_cpu if on_cpu else "none")
    shown = browser.evaluate("JSON.stringify(graph.view)")
    browser.evaluate("byId('search').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))")
    assert browser.evaluate("byId('hits').textContent") == ("2 of %d" % on_cpu if on_cpu > 1 else "1 of 1" if on_cpu else "none")
    assert browser.evaluate("JSON.stringify(graph.view)") != shown or on_cpu < 2, "Enter does not show the next step"
    browser.evaluate("(() => { const s = byId('search'); s.value = 'no such layer'; s.dispatchEvent(new Event('input')); })()")
    assert browser.evaluate("byId('hits').textContent") == "none"
    check_choice(browser, data)
    check_zoom(browser)
    if screenshot:
        browser.evaluate("document.querySelector('h2').scrollIntoView()")
        open(screenshot.replace(".png", "-graph.png"), "wb").write(browser.picture())
        browser.evaluate("byId('memory').scrollIntoView()")
        open(screenshot.replace(".png", "-memory.png"), "wb").write(browser.picture())
    assert not browser.complaints, browser.complaints


def main():
    model = json.loads(subprocess.check_output([DVNET, "inspect", "--json", NETWORK]))
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        # Names may have all printable characters.
        named = os.path.join(folder, "named.dvn")
        subprocess.check_call([DVNET, "convert", NETWORK, "--name", "</script><!--style--><b>x", "-o", named],
                              stdout=subprocess.DEVNULL)
        subprocess.check_call([DVNET, "inspect", "--html", page, named], stdout=subprocess.DEVNULL)
        check_text(open(page).read(), dict(model, name="</script><!--style--><b>x"))
        subprocess.check_call([DVNET, "inspect", "--html", page, "--measure", "--device", "soft", NETWORK],
                              stdout=subprocess.DEVNULL)
        data = check_text(open(page).read(), model)
        check_zeros(folder)
        check_neighbours(folder, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "pipelines",
                                              "codes"))
        measured = [step["measured_us"] for step in data["steps"]]
        assert len(measured) == len(data["steps"]) and sum(measured) > 0, measured
        with chromium.opened("file://" + page, "document.title === %s" % json.dumps(data["name"])) as browser:
            if browser:
                screenshot = sys.argv[3] if len(sys.argv) > 3 else None
                check_page(browser, data, screenshot)
                check_narrow(browser, screenshot)


if __name__ == "__main__":
    main()
