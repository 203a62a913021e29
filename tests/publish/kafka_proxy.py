#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TLS, user names and passwords in front of a Kafka broker that has neither, such as librdkafka's mock cluster.

    kafka_proxy.py PORT BROKER_PORT CERTIFICATE KEY [USER PASSWORD]

In the broker's answers the proxy replaces the broker's address (127.0.0.1 and its port) by its own. With a user, the
proxy announces SASL, and lets only the request for versions through before the right name and password have come by
the mechanism PLAIN.
"""
import select
import socket
import ssl
import struct
import sys
import threading

PORT, BROKER = int(sys.argv[1]), int(sys.argv[2])
SECRET = b'\0' + b'\0'.join(word.encode() for word in sys.argv[5:7]) if len(sys.argv) > 5 else None
HANDSHAKE, VERSIONS = 17, 18  # requests
# Has the length of the text that it replaces.
HERE = b'127.0.0.1' + struct.pack('>i', BROKER), b'localhost' + struct.pack('>i', PORT)


def frames(data):
    """Returns the whole frames at its beginning, and the rest."""
    found = []
    while len(data) >= 4:
        end = 4 + struct.unpack('>i', data[:4])[0]
        if len(data) < end:
            break
        found.append(data[:end])
        data = data[end:]
    return found, data


def framed(data):
    return struct.pack('>i', len(data)) + data


def with_handshake(answer):
    """Returns the broker's versions, and SASL's handshake in its first version."""
    head, count = answer[4:10], struct.unpack('>i', answer[10:14])[0]
    return framed(head + struct.pack('>i', count + 1) + answer[14:] + struct.pack('>hhh', HANDSHAKE, 0, 0))


def pump(plain, context):
    try:
        client = context.wrap_socket(plain, server_side=True)
        broker = socket.create_connection(('127.0.0.1', BROKER))
    except OSError:
        plain.close()
        return
    welcome, extended, asked, told = SECRET is None, False, b'', b''
    try:
        while True:
            ready = [client] if client.pending() else select.select([client, broker], [], [])[0]
            if client in ready:
                data = client.recv(1 << 16)
                if not data:
                    return
                requests, asked = frames(asked + data)
                for request in requests:
                    kind, version = struct.unpack('>hh', request[4:8])
                    if welcome or kind == VERSIONS:
                        extended = not welcome and kind == VERSIONS and version == 0
                        broker.sendall(request)
                    elif kind == HANDSHAKE:
                        client.sendall(framed(request[8:12] + struct.pack('>hih', 0, 1, 5) + b'PLAIN'))
                    elif request[4:] == SECRET:
                        welcome = True
                        client.sendall(framed(b''))
                    else:
                        return
            if broker in ready:
                data = broker.recv(1 << 16)
                if not data:
                    return
                answers, told = frames(told + data)
                for answer in answers:
                    client.sendall(with_handshake(answer) if extended else answer.replace(*HERE))
                    extended = False
    except OSError:
        pass
    finally:
        client.close()
        broker.close()


server = socket.create_server(('127.0.0.1', PORT))
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(sys.argv[3], sys.argv[4])
while True:
    threading.Thread(target=pump, args=(server.accept()[0], tls), daemon=True).start()
