# SPDX-License-Identifier: Apache-2.0
"""A server of files that misbehaves on request, and notes what it was asked. By the first part of a path:

    file        sends the file, or the part that Range asks for
    whole       sends the file whatever Range asks for
    cut         ends after half of what it says it sends
    more, less  sends a byte more than the file has, or less
    other       sends as many other bytes
    silent      says what it sends, sends a byte and waits until the client goes
    endless     sends without saying how much, until the client goes
    to          redirects to the rest of the path
    loop        redirects to itself
    away        redirects to a file of this machine
    gone        answers 404
"""
import http.server
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def head(self, status, length=None, **headers):
        self.send_response(status)
        if length is None:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def send_file(self, data, partly=True):
        asked = self.headers.get("Range")
        if not asked or not partly:
            self.head(200, len(data))
            self.wfile.write(data)
            return
        begin = int(asked[len("bytes="):].split("-")[0])
        if begin >= len(data):
            self.head(416, 7, Content_Range="bytes */%d" % len(data))
            self.wfile.write(b"no part")
            return
        self.head(206, len(data) - begin, Content_Range="bytes %d-%d/%d" % (begin, len(data) - 1, len(data)))
        self.wfile.write(data[begin:])

    def do_GET(self):
        server = self.server
        path = self.path
        if path.startswith("http://"):  # as a proxy is asked
            server.proxied.append(path)
            path = "/" + path.split("/", 3)[3]
        server.asked.append((path, self.headers.get("Range")))
        how, _, rest = path[1:].partition("/")
        data = server.files.get(rest, b"")
        if how == "file":
            self.send_file(data)
        elif how == "whole":
            self.send_file(data, partly=False)
        elif how == "cut":
            self.head(200, len(data))
            self.wfile.write(data[:len(data) // 2])
            self.close_connection = True
        elif how == "more":
            self.send_file(data + b"x")
        elif how == "less":
            self.send_file(data[:-1])
        elif how == "other":
            self.send_file(bytes(b ^ 1 for b in data))
        elif how == "silent":
            self.head(200, len(data))
            self.wfile.write(data[:1])
            self.wfile.flush()
            self.rfile.read(1)  # the client's end of the connection
            server.left.set()
        elif how == "endless":
            self.head(200)
            try:
                while True:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                server.left.set()
        elif how == "to":
            self.head(302, 0, Location="/" + rest)
        elif how == "loop":
            self.head(302, 0, Location=path)
        elif how == "away":
            self.head(302, 0, Location="file:///etc/passwd")
        else:
            self.head(404, 0)


class ModelServer(http.server.ThreadingHTTPServer):
    """Serves `files` (bytes by name) at a port of its own until it is closed."""
    daemon_threads = True

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked, self.proxied = files, [], []
        self.left = threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def handle_error(self, request, client_address):
        """A client that goes is no error."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def url(self, path):
        return "http://127.0.0.1:%d/%s" % (self.server_address[1], path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
