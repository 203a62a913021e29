# SPDX-License-Identifier: Apache-2.0
"""Controls a headless Chromium by its own protocol over pipes; needs no library."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


def find():
    """Returns its path, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-headless-shell", "google-chrome"))), None)


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
        self.complaints = []  # the page's exceptions, and requests that its policy has refused
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
            if self.evaluate(expression):
                return
            time.sleep(0.05)
        raise AssertionError("never true: %s" % expression)

    def picture(self):
        """Returns the page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])

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
