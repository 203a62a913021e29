# SPDX-License-Identifier: Apache-2.0
"""The server of the live page: bounded, and only for those who mean it. This file belongs beside the program that serves the
page, and the folder `page` beside this file."""
import http.server
import ipaddress
import os
import re
import secrets
import socket
import sys
import threading
import time
import urllib.parse

import untrusted

HERE = os.path.dirname(os.path.realpath(__file__))
MOST_CONNECTIONS = 128         # what comes beyond is closed
MOST_CLIENTS = 64              # of them, those that stay
REQUEST_SECONDS = 10           # for a request to arrive whole, from the first byte or the last answer on
ANSWER_SECONDS = 60            # for an answer that ends to be taken
MOST_PAGE_FILE = 1 << 20       # bytes
HEARTBEAT = 5                  # seconds between signs of life, by which clients that have gone are found
# A name or an address, and perhaps a port.
HOST = re.compile(r"(?:(?P<name>[\w.-]+)|\[(?P<v6>[0-9A-Fa-f:.]+)\])(?::[0-9]*)?", re.ASCII)
KINDS = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".svg": "image/svg+xml"}


def plain_address(text):
    """Returns an address without its zone, and that of IPv4 of one in IPv6."""
    ip = ipaddress.ip_address(text.partition("%")[0])
    return str(getattr(ip, "ipv4_mapped", None) or ip)


def page_files():
    """Returns the page's files by their paths in requests: type and file."""
    folder = os.path.join(HERE, "page")
    files = {"/" + name: (KINDS[os.path.splitext(name)[1]], os.path.join(folder, name)) for name in os.listdir(folder)
             if os.path.splitext(name)[1] in KINDS}
    return dict(files, **{"/": files["/index.html"]})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds after which a client that takes nothing counts as gone

    def handle_one_request(self):
        self.server.expect(self.connection, REQUEST_SECONDS)
        super().handle_one_request()

    def is_for_us(self):
        """Whether the request names this server. Otherwise a page could read ours through a name that leads here."""
        hosts = self.headers.get_all("Host", [])
        host = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if not host:
            return False
        if host["name"] and host["name"].lower() in self.server.names:
            return True
        try:
            ipaddress.ip_address(host["name"] or host["v6"])
            return True
        except ValueError:
            return False

    def do_GET(self):
        self.server.expect(self.connection, ANSWER_SECONDS)
        if not self.is_for_us():
            self.close_connection = True
            return self.send_error(421, explain="The Host of the request is no name of this server: see --host.")
        return self.answer()

    def answer(self):
        try:
            path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        except ValueError:
            return self.send_error(400)
        try:
            self.serve(path)
        except OSError:  # the client has gone, or takes nothing
            self.close_connection = True

    def serve(self, path):
        """Answers a request for a path, which is looked up and never part of a file's name."""
        streams = self.server.streams
        kind, _, name = path[1:].partition("/")
        if path in self.server.files:
            self.send_file(*self.server.files[path])
        elif path == "/streams":
            self.send("application/json", ("[%s]" % ",".join(s.describe() for s in streams.values())).encode())
        elif path == "/documents":
            self.stay(self.send_documents)
        elif kind == "live" and name in streams:
            self.stay(self.send_pictures, streams[name].pictures)
        elif kind == "picture" and name in streams:
            self.send_picture(streams[name].pictures.newest())
        else:
            self.send_error(404)

    def send_picture(self, picture):
        if picture:
            self.send("image/jpeg", picture)
        else:
            self.send_error(404)

    def send_file(self, kind, path):
        """Sends a file of the page: only these run and give style, whatever documents contain."""
        self.policy = ("default-src 'none'; img-src 'self'; media-src 'self'; connect-src 'self'; style-src 'self'; script-src"
                       " 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
        self.send(kind, untrusted.read_text(path, MOST_PAGE_FILE).encode())

    def send(self, kind, body, **headers):
        self.send_response(200)
        for name, value in dict({"Content-Type": kind, "Content-Length": len(body)}, **headers).items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    policy = "default-src 'none'; frame-ancestors 'none'"

    def end_headers(self):
        """Headers of every answer, errors included."""
        for name, value in (("Cache-Control", "no-store"), ("Content-Security-Policy", self.policy),
                            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
                            ("Cross-Origin-Resource-Policy", "same-origin")):
            self.send_header(name, value)
        super().end_headers()
        self.policy = Handler.policy

    def version_string(self):
        return "dvlive"

    def stay(self, serve, *arguments):
        """For a client that stays: fails if there are too many."""
        if not self.server.seats.acquire(blocking=False):
            return self.send_error(503)
        try:
            self.close_connection = True
            self.server.expect(self.connection, None)
            serve(*arguments)
        finally:
            self.server.seats.release()

    def begin(self, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()

    def send_documents(self):
        documents = self.server.documents
        mine = documents.join()
        try:
            self.begin("text/event-stream")
            while True:
                self.wfile.write(mine.get(HEARTBEAT) or b": alive\n\n")
        finally:
            documents.leave(mine)

    def send_pictures(self, pictures):
        # Random, so that no picture can contain it and begin a part of another type.
        boundary = secrets.token_hex(16)
        self.begin("multipart/x-mixed-replace; boundary=" + boundary)
        number = 0
        while True:
            newer, picture = pictures.after(number, HEARTBEAT)
            if picture is None:
                continue
            # Sends the same picture again if there is no new one: that finds a client that has
            # gone.
            number = newer
            # In parts, because each client would otherwise hold a copy of a large picture.
            for part in (b"--%s\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n"
                         % (boundary.encode(), len(picture)), picture, b"\r\n"):
                self.wfile.write(part)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32

    def __init__(self, address, streams, documents, hosts, handler=Handler):
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, handler)
        self.files = page_files()
        self.streams = streams
        self.documents = documents
        self.names = {name.lower() for name in
                      ("localhost", socket.gethostname(), socket.gethostname() + ".local", *hosts)}
        self.seats = threading.Semaphore(MOST_CLIENTS)
        self.connections = threading.Semaphore(MOST_CONNECTIONS)
        self.lock = threading.Lock()
        self.deadlines = {}  # of connections; those that stay open have none

    def expect(self, connection, seconds):
        """Ends the connection at that time unless the deadline is moved; None: it stays open."""
        with self.lock:
            self.deadlines[connection] = None if seconds is None else time.monotonic() + seconds

    def service_actions(self):
        """Called by serve_forever(), twice a second."""
        now = time.monotonic()
        with self.lock:
            for connection, deadline in self.deadlines.items():
                if deadline is not None and deadline < now:
                    try:
                        connection.shutdown(socket.SHUT_RDWR)
                    except OSError:  # the connection has gone
                        pass

    def process_request(self, request, client_address):
        if not self.connections.acquire(blocking=False):
            return self.shutdown_request(request)
        self.expect(request, REQUEST_SECONDS)
        return super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self.lock:
                self.deadlines.pop(request, None)
            self.connections.release()

    def handle_error(self, _request, _address):
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print("error: %s: %s" % (type(error).__name__, untrusted.printable(error)), file=sys.stderr, flush=True)
