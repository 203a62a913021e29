# SPDX-License-Identifier: Apache-2.0
"""What the page of a camera asks for beside pictures and documents: to log in, to change areas and thresholds, and for clips.
This file belongs beside dvcamera.

Nothing is changed without a session's cookie, its token, and the Origin of this very page."""
import http.cookies
import json
import os
import urllib.parse

import camera_clips
import camera_edit
import camera_offer
import live_server
import untrusted

MOST_BODY = camera_edit.MOST_ZONES
CHUNK = 1 << 16
TOKEN = "X-Token"
WHEP = "/whep/"  # and the stream's name; of a session, its name behind


class Handler(live_server.Handler):
    def version_string(self):
        return "dvcamera"

    # --- reading --------------------------------------------------------------------------------

    def serve(self, path):
        kind, _, name = path[1:].partition("/")
        if path == "/session":
            self.send_json(self.describe_session())
        elif path == "/zones":
            self.send_json(self.server.page.editor.describe_zones())
        elif path == "/settings":
            self.send_json(self.server.page.editor.describe_settings())
        elif path == "/clips" or (name and kind in ("clip", "clip-picture", "clip-documents")):
            self.serve_clip(kind, name)
        else:
            super().serve(path)

    def describe_session(self):
        cookie = self.cookie()
        mine = self.server.access.is_session(cookie)
        return {"can_write": bool(self.server.page.hash()), "logged_in": mine, "clips": self.server.page.clips is not None,
                "token": self.server.access.token(cookie) if mine else ""}

    def serve_clip(self, kind, name):
        clips = self.server.page.clips
        if not clips:
            return self.send_error(404)
        try:
            if kind == "clips":
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query, max_num_fields=10)
                return self.send_json(clips.newest(query.get("before", [""])[0]))
            if kind == "clip-picture":
                return self.send("image/jpeg", clips.picture(name))
            if kind == "clip-documents":
                self.server.expect(self.connection, live_server.ANSWER_SECONDS + camera_clips.DOCUMENT_SECONDS)
                return self.send("application/x-ndjson", clips.documents(name))
            file, media = clips.opened(name)
        except BlockingIOError:
            return self.send_error(503)
        except (OSError, ValueError):
            return self.send_error(404)
        with file:
            self.send_part(file, media)

    def send_part(self, file, media):
        """Sends a file, or the part that the request asks for: players jump by it."""
        size = os.fstat(file.fileno()).st_size
        try:
            part = camera_clips.part_of(self.headers.get("Range"), size)
        except ValueError:
            return self.send_error(416)
        begin, end = part or (0, size)
        self.send_response(206 if part else 200)
        if part:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (begin, end - 1, size))
        for name, value in (("Content-Type", media), ("Content-Length", end - begin), ("Accept-Ranges", "bytes")):
            self.send_header(name, str(value))
        self.end_headers()
        file.seek(begin)
        while begin < end:
            data = file.read(min(CHUNK, end - begin))
            if not data:  # it has become shorter
                self.close_connection = True
                return
            self.wfile.write(data)
            begin += len(data)

    # --- writing --------------------------------------------------------------------------------

    def do_POST(self):
        self.server.expect(self.connection, live_server.ANSWER_SECONDS)
        # What is left of a refused request would be read as the next one.
        close, self.close_connection = self.close_connection, True
        try:
            if self.path.startswith(WHEP):
                return self.begin_watching()
            act = self.act()
            if act:
                self.send_json(act(self.read_body()))
                self.close_connection = close
        except camera_edit.Refused as refused:
            self.refuse(refused.status, str(refused), refused.place)
        except OSError:  # the client has gone
            pass

    def act(self):
        """Returns what does as the request says; None if it is refused, which has been answered."""
        if not self.is_for_us() or self.headers.get("Origin", "").partition("://")[2] != self.headers["Host"]:
            return self.refuse(403, "The request does not come from this server's own page.")
        path = urllib.parse.urlsplit(self.path).path
        if path == "/login":
            return self.log_in
        acts = {"/logout": self.log_out, "/check": self.check, "/zones": self.save_zones, "/setting": self.save_setting}
        if path not in acts:
            return self.refuse(404, "There is nothing to do by this name.")
        cookie = self.cookie()
        if not self.server.access.is_session(cookie):
            return self.refuse(401, "Log in first.")
        if not self.server.access.is_token(cookie, self.headers.get(TOKEN, "")):
            return self.refuse(403, "The request does not come from this server's own page.")
        return acts[path]

    def read_body_text(self, kind, most):
        """Returns the body, of a type and at most so many bytes. Raises Refused."""
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Content-Type") != kind or self.headers.get("Transfer-Encoding"):
            raise camera_edit.Refused("The body must be %s." % kind, status=415)
        if not (length.isdecimal() and length.isascii() and len(length) < 10):
            raise camera_edit.Refused("The request has no length.", status=411)
        if int(length) > most:
            raise camera_edit.Refused("That is more than %d bytes." % most, status=413)
        self.server.expect(self.connection, live_server.REQUEST_SECONDS)
        data = self.rfile.read(int(length))
        self.server.expect(self.connection, live_server.ANSWER_SECONDS)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise camera_edit.Refused("It is no text: %s" % error, status=400) from error

    def read_body(self):
        text = self.read_body_text("application/json", MOST_BODY)
        try:
            body = untrusted.parse_settings(text)
        except ValueError as error:
            raise camera_edit.Refused("It is not JSON: %s" % error, status=400) from error
        if not isinstance(body, dict):
            raise camera_edit.Refused("It is no object.", status=400)
        return body

    def log_in(self, body):
        password = body.get("password")
        if not self.server.page.hash():
            raise camera_edit.Refused("No password is set: dvcamera CONFIG.json --set-password", status=403)
        if not isinstance(password, str):
            raise camera_edit.Refused("There is no password.", status=400)
        cookie, wait = self.server.access.log_in(password, self.client_address[0])
        if not cookie:
            if wait:
                raise camera_edit.Refused("The password is wrong, or tried too often: try again in %d s." % (wait + 1), status=429)
            raise camera_edit.Refused("The password is wrong.", status=403)
        self.cookies = self.cookie_header(cookie, "")
        return {"token": self.server.access.token(cookie)}

    def log_out(self, _body):
        self.server.access.log_out(self.cookie())
        self.cookies = self.cookie_header("", "; Max-Age=0")
        return {}

    def check(self, body):
        """Says what is wrong with zones, which is no mistake of the request."""
        try:
            camera_edit.check_zones(body.get("zones"))
        except camera_edit.Refused as refused:
            return {"error": str(refused), "place": list(refused.place)}
        return {}

    def save_zones(self, body):
        return self.server.page.editor.save_zones(body.get("zones"), body.get("version"))

    def save_setting(self, body):
        return {"value": self.server.page.editor.save_setting(body.get("element"), body.get("name"), body.get("value"))}

    # --- watching by WebRTC (WHEP) --------------------------------------------------------------

    def begin_watching(self):
        """POST of an offer. Who sees the page may watch; pages of others may not."""
        self.check_watcher()
        name, answer = self.server.page.viewers.add(self.read_body_text("application/sdp", camera_offer.MOST_OFFER),
                                                    live_server.plain_address(self.connection.getsockname()[0]))
        body = answer.encode()
        self.send_response(201)
        for key, value in (("Content-Type", "application/sdp"), ("Content-Length", str(len(body))), ("Connection", "close"),
                           ("Location", "%s/%s" % (self.path, name))):
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def check_watcher(self):
        if not self.is_for_us():
            raise camera_edit.Refused("The Host of the request is no name of this server.", status=421)
        origin = self.headers.get("Origin")  # only browsers send it
        if origin is not None and origin.partition("://")[2] != self.headers["Host"]:
            raise camera_edit.Refused("The request does not come from this server's own page.", status=403)
        name = urllib.parse.unquote(self.path[len(WHEP):].partition("/")[0])
        if name not in self.server.streams or (self.command == "POST" and self.path.count("/") != 2):
            raise camera_edit.Refused("There is no stream of this name.", status=404)

    def do_DELETE(self):
        """A session ends; or another method is asked of it."""
        self.server.expect(self.connection, live_server.ANSWER_SECONDS)
        self.close_connection = True
        if not self.path.startswith(WHEP):
            return self.send_error(501)
        try:
            self.check_watcher()
            if self.command == "PATCH":
                raise camera_edit.Refused("A session is not changed: the answer has all addresses.", status=405)
            if not self.server.page.viewers.remove(self.path.rpartition("/")[2]):
                raise camera_edit.Refused("There is no such session.", status=404)
            self.send("application/sdp", b"", Connection="close")
        except camera_edit.Refused as refused:
            self.refuse(refused.status, str(refused), allow="DELETE" if refused.status == 405 else None)
        except OSError:  # the client has gone
            pass

    do_PATCH = do_DELETE

    # --- answers --------------------------------------------------------------------------------

    cookies = None

    def cookie_name(self):
        # Browsers do not tell servers of one host apart by their ports.
        return "dvcamera-%d" % self.server.server_address[1]

    def cookie(self):
        try:
            found = http.cookies.SimpleCookie(self.headers.get("Cookie", "")).get(self.cookie_name())
        except http.cookies.CookieError:
            return ""
        return found.value if found and found.value.isascii() else ""

    def cookie_header(self, value, more):
        return "%s=%s; HttpOnly; SameSite=Strict; Path=/%s" % (self.cookie_name(), value, more)

    def end_headers(self):
        if self.cookies:
            self.send_header("Set-Cookie", self.cookies)
            self.cookies = None
        super().end_headers()

    def send_json(self, value):
        self.send("application/json", json.dumps(value, allow_nan=False).encode())

    def refuse(self, status, text, place=(), allow=None):
        self.close_connection = True
        body = json.dumps({"error": text, "place": list(place)}).encode()
        self.send_response(status)
        for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(body))), ("Connection", "close"),
                            ("Allow", allow)):
            if value:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
