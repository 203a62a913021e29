# SPDX-License-Identifier: Apache-2.0
"""Controls a headless Chromium by its own protocol over pipes; needs no library."""
import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time


def find():
    """Returns its path, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-headless-shell", "google-chrome"))), None)


@contextlib.contextmanager
def opened(url, ready, size=None, mobile=False):
    """Opens a page and waits until `ready` is true there: gives the browser, or None if there is no Chromium. At the end the page
    must have complained of nothing. `size`: of the screen, of a telephone that is touched if `mobile`."""
    path = find()
    if not path:
        print("no Chromium: the page was not opened")
        yield None
        return
    browser = Chromium(path)
    try:
        if size:
            browser.resize(*size, mobile=mobile)
        browser.call("Page.navigate", url=url)
        browser.wait_for("document.readyState === 'complete' && (%s)" % ready)
        yield browser
        assert not browser.complaints, browser.complaints
    finally:
        browser.close()


class Chromium:
    def __init__(self, path):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_it, self.output = os.pipe()
        self.input, from_it = os.pipe()

        def take_pipes():
            # Chromium reads descriptor 3 and writes 4.
            a, b = os.dup(to_it), os.dup(from_it)
            os.dup2(a, 3)
            os.dup2(b, 4)

        flags = ["--headless", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run", "--hide-scrollbars",
                 "--disable-dev-shm-usage", "--user-data-dir=" + self.profile.name, "--window-size=1000,640"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # root cannot use Chromium's sandbox
        self.process = subprocess.Popen([path, *flags, "about:blank"], preexec_fn=take_pipes, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_it)
        os.close(from_it)
        self.number = 0
        self.rest = b""
        self.complaints = []  # the page's exceptions and errors, and requests that its policy has refused
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    session = None

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(answer["params"]["exceptionDetails"])
            if answer.get("method") == "Runtime.consoleAPICalled" and answer["params"]["type"] == "error":
                self.complaints.append(answer["params"])  # what the page has caught
            if answer.get("method") == "Log.entryAdded" and answer["params"]["entry"]["level"] == "error":
                self.complaints.append(answer["params"]["entry"])
            if answer.get("id") != self.number:
                continue
            if "error" in answer:
                raise AssertionError("%s: %s" % (method, answer["error"]))
            return answer["result"]

    def read(self):
        while b"\0" not in self.rest:
            data = os.read(self.input, 1 << 16)
            if not data:
                raise AssertionError("Chromium has ended")
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError("%s: %s" % (expression, answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait_for(self, expression, seconds=40):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.evaluate("!!(%s)" % expression):
                return
            time.sleep(0.05)
        raise AssertionError("never true: %s; the page's complaints: %s" % (expression, self.complaints))

    def picture(self):
        """Returns the page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

    def resize(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.call("Emulation.setTouchEmulationEnabled", enabled=mobile)

    def reload_on_telephone(self, ready, width=390, height=800):
        """Loads the page again on a telephone's screen, on which it must fit without scrolling sideways."""
        self.resize(width, height, mobile=True)
        self.call("Page.reload")
        self.wait_for("document.readyState === 'complete' && innerWidth === %d && (%s)" % (width, ready))
        self.check_width(width)

    def check_width(self, width):
        wide = self.evaluate("document.documentElement.scrollWidth")
        assert wide == width, "the page is %d pixels wide on a screen of %d" % (wide, width)

    # --- as people use it ----------------------------------------------------------------------

    def middle_of(self, finder, x=0.5, y=0.5):
        """Scrolls an element of the page into sight; returns the place on the screen at these fractions of it."""
        box = self.evaluate("(() => { const e = %s; e.scrollIntoView({block: 'center', behavior: 'instant'});"
                            " const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()" % finder)
        return box[0] + x * box[2], box[1] + y * box[3]

    def press(self, x, y, *to, touch=False):
        """Presses at a place, by mouse or finger, moves to the others, and lets go."""
        steps = [(x, y), *to]
        if touch:
            for kind, at in (("touchStart", (steps[0],)), *(("touchMove", (step,)) for step in steps[1:]), ("touchEnd", ())):
                self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": at_x, "y": at_y} for at_x, at_y in at])
            return
        kinds = ["mousePressed", *["mouseMoved"] * len(to), "mouseReleased"]
        for kind, (at_x, at_y) in zip(kinds, (*steps, steps[-1])):
            self.call("Input.dispatchMouseEvent", type=kind, x=at_x, y=at_y, button="left", buttons=1, clickCount=1)

    def click(self, finder):
        """Clicks by mouse: of fingers' events alone, Chromium makes a click now and then only. What has moved away
        from under the mouse, since the page got another part meanwhile, is clicked again."""
        for _ in range(10):
            self.evaluate("window.missed = true; (%s).addEventListener('click', () => { window.missed = false; }, {once: true})" % finder)
            self.press(*self.middle_of(finder))
            if not self.evaluate("window.missed"):
                return
        raise AssertionError("never under the mouse: %s" % finder)

    def write(self, finder, words):
        """Replaces what a field has, and leaves it."""
        self.evaluate("(() => { const e = %s; e.focus(); e.select(); })()" % finder)
        self.call("Input.insertText", text=words)
        self.evaluate("%s.blur()" % finder)

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(5)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.output)
        os.close(self.input)
        self.profile.cleanup()
