#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A webhook that fails now and then: webhook.py PORT FILE [CERTIFICATE KEY]. FILE gets a line for each message that it
accepts."""
import http.server
import ssl
import sys

count = 0


class Webhook(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        global count
        count += 1
        body = self.rfile.read(int(self.headers['Content-Length'])).decode()
        # Refuses bad messages for good, is busy now and then, and sometimes accepts a message but
        # drops the answer.
        status = 400 if 'bad' in body.split() else 503 if count % 7 == 0 else 200
        if status == 200:
            with open(sys.argv[2], 'a', encoding='utf-8') as file:
                file.write(body if body.endswith('\n') else body + '\n')
        if count % 11 == 0:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Webhook)
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
