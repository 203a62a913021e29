#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the page of `dvnet inspect --html` in a headless Chromium, and reads, searches and zooms it.

    test_page.py DVNET NETWORK.dvn [SCREENSHOT.png]

Where there is no Chromium only the page's text is looked at.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "pipelines"))
import chromium

DVNET, NETWORK = sys.argv[1:3]


def check_text(text, model):
    """Nothing is fetched from anywhere, and the data is what dvnet inspect --json says."""
    assert not re.search(r"(src|href)\s*=|@import|url\(", text), "the page refers to other files"
    assert text.count("<script") == 2 and text.count("</script>") == 2, "a name has become markup"
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))
    assert data["name"] == model["name"], data["name"]
    assert [step["name"] for step in data["steps"]] == [step["name"] for step in model["steps"]]
    for step in data["steps"]:
        assert all(-1 <= k < len(data["steps"]) for k in step["from"]), step
        assert step["where"] in ("device", "CPU", "once"), step
        assert step["where"] != "CPU" or step["why"], "it is not said why %s is on the CPU" % step["name"]
        if step.get("weights"):
            assert step["weights"]["least"] <= step["weights"]["most"], step
    check_memory(data)
    return data


def check_memory(data):
    """What is alive at the same step does not overlap, and all lies within the buffer."""
    blocks = data["memory"]
    assert len(blocks) >= len([s for s in data["steps"] if s["where"] == "device"])
    for i, a in enumerate(blocks):
        assert a["offset"] + a["bytes"] <= data["io_bytes"], a
        for b in blocks[:i]:
            # A step may write over what it is the last to read.
            together = max(a["born"], b["born"]) < min(a["dies"], b["dies"])
            apart = a["offset"] >= b["offset"] + b["bytes"] or b["offset"] >= a["offset"] + a["bytes"]
            assert not together or apart, (a, b)


def check_page(browser, data, screenshot):
    steps = len(data["steps"])
    assert browser.evaluate("document.querySelectorAll('#graph .node').length") == steps + 1
    assert browser.evaluate("document.querySelectorAll('#memory rect').length") == len(data["memory"])
    assert browser.evaluate("document.querySelectorAll('#times tbody tr').length") == steps
    weighty = len([step for step in data["steps"] if step.get("weights")])
    assert browser.evaluate("document.querySelectorAll('#weights tbody tr').length") == weighty
    assert browser.evaluate("document.querySelectorAll('#warnings li').length") == len(data["warnings"])
    # Rows of nodes do not lie on one another.
    overlaps = browser.evaluate("""(() => {
        const all = [...graph.nodes.values()];
        return all.filter(a => all.some(b => a !== b && a.row === b.row && Math.abs(a.x - b.x) < NODE.width)).length;
    })()""")
    assert overlaps == 0, "%d nodes overlap" % overlaps
    if screenshot:
        open(screenshot, "wb").write(browser.picture())
    # A search marks what has the word, and shows it.
    browser.evaluate("(() => { const s = byId('search'); s.value = 'cpu'; s.dispatchEvent(new Event('input')); })()")
    on_cpu = len([s for s in data["steps"] if "cpu" in json.dumps(
        [s["name"], s["does"], s["where"], s.get("why", ""), s["layers"]]).lower()])
    assert browser.evaluate("document.querySelectorAll('#graph .hit').length") == on_cpu
    assert browser.evaluate("byId('hits').textContent") == "%d of %d" % (on_cpu, steps)
    # A click tells of the step.
    browser.evaluate("document.querySelectorAll('#graph .node')[1].dispatchEvent(new MouseEvent('click'))")
    assert data["steps"][0]["name"] in browser.evaluate("byId('step').textContent")
    before = browser.evaluate("graph.view.width")
    browser.evaluate("byId('closer').click()")
    assert browser.evaluate("graph.view.width") < before, "it does not zoom in"
    browser.evaluate("byId('graph').dispatchEvent(new WheelEvent('wheel', {deltaY: 1, clientX: 300, clientY: 300}))")
    browser.evaluate("byId('whole').click()")
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
        # Names may be anything that is printable.
        named = os.path.join(folder, "named.dvn")
        subprocess.check_call([DVNET, "convert", NETWORK, "--name", "</script><!--style--><b>x", "-o", named],
                              stdout=subprocess.DEVNULL)
        subprocess.check_call([DVNET, "inspect", "--html", page, named], stdout=subprocess.DEVNULL)
        check_text(open(page).read(), dict(model, name="</script><!--style--><b>x"))
        subprocess.check_call([DVNET, "inspect", "--html", page, "--measure", "--device", "soft", NETWORK],
                              stdout=subprocess.DEVNULL)
        data = check_text(open(page).read(), model)
        measured = [step["measured_us"] for step in data["steps"]]
        assert len(measured) == len(data["steps"]) and sum(measured) > 0, measured
        path = chromium.find()
        if not path:
            print("no Chromium: the page was not opened")
            return
        browser = chromium.Chromium(path)
        try:
            browser.call("Page.navigate", url="file://" + page)
            browser.wait_for("document.readyState === 'complete' && document.title === %s" % json.dumps(data["name"]))
            check_page(browser, data, sys.argv[3] if len(sys.argv) > 3 else None)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
