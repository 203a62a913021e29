# SPDX-License-Identifier: Apache-2.0
"""Where dvcamera listens, and the smallest HTTP server that answers scrapes. This file belongs beside dvcamera."""
import http.server
import ipaddress
import re
import socket
import threading

ADDRESS = r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]*)"
PORT = r"([0-9]|[1-9][0-9]{1,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
PLACE = re.compile("^%s:%s$" % (ADDRESS, PORT))
MOST_AT_ONCE = 8   # connections
LONGEST = 10       # seconds for a connection
LOCAL = "127.0.0.1"


def place_of(text):
    """Returns the address and port of a text that PLACE allows; without an address, this machine alone."""
    found = PLACE.match(text)
    return found[1].strip("[]") or LOCAL, int(found[2])


def is_own_name(host, others):
    """Whether a request may name this server so. A page of a foreign name could otherwise read the answer: its server has its
    own name point here."""
    name = re.sub(r":\d+$", "", host).strip("[]").lower()
    if name in {"localhost", socket.gethostname().lower(), *(other.lower() for other in others)}:
        return True
    try:
        ipaddress.ip_address(name)
        return True
    except ValueError:
        return False


class Server(http.server.ThreadingHTTPServer):
    """Answers GET PATH with what pages[PATH]() returns: a type and a text."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, place, pages, names=()):
        self.address_family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        self.pages = pages
        self.names = names
        self.room = threading.BoundedSemaphore(MOST_AT_ONCE)
        super().__init__(place, Handler)

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def process_request(self, request, client_address):
        if not self.room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        end = threading.Timer(LONGEST, self.close_early, (request,))
        end.daemon = True
        end.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            end.cancel()
            self.room.release()

    @staticmethod
    def close_early(request):
        try:
            request.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def handle_error(self, request, client_address):
        """A client that goes away is no news."""


class Handler(http.server.BaseHTTPRequestHandler):
    server_version = "dvcamera"
    sys_version = ""

    def do_GET(self):  # the library's name
        page = self.server.pages.get(self.path.split("?")[0])
        if not is_own_name(self.headers.get("Host", ""), self.server.names):
            return self.answer(421, "text/plain; charset=utf-8", "this server has another name\n")
        if not page:
            return self.answer(404, "text/plain; charset=utf-8", "there is no such page\n")
        return self.answer(200, *page())

    def answer(self, status, kind, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):  # the library's names
        """Scrapes are not logged."""
