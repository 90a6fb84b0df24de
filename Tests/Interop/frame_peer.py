"""An HTTP/2 server over TLS that sends one response head on each connection, and then endlessly a
useless frame (RFC 9113, section 10.5): a different kind for each connection, in the order below.

    python frame_peer.py PORT CERTIFICATE KEY
"""

import socket
import ssl
import sys
import threading


def frame(kind, payload, stream=0):
    return len(payload).to_bytes(3, "big") + bytes([kind, 0]) + stream.to_bytes(4, "big") + payload


FRAMES = [
    frame(6, bytes(8)),  # PING
    frame(4, (3).to_bytes(2, "big") + (100).to_bytes(4, "big")),  # SETTINGS
    frame(8, (1).to_bytes(4, "big")),  # WINDOW_UPDATE
    frame(2, bytes([0, 0, 0, 0, 16]), stream=1),  # PRIORITY
    frame(0x77, bytes(100)),  # an unknown frame type
    frame(0, b"", stream=1),  # empty DATA
]


def discard(connection):
    """Reads everything that the client sends. Otherwise the client would stop responding."""
    try:
        while connection.recv(65536):
            pass
    except OSError:
        pass


def serve(plain, context, number):
    try:
        connection = context.wrap_socket(plain, server_side=True)
        connection.recv(65536)
        connection.sendall(frame(4, b""))
        threading.Thread(target=discard, args=[connection], daemon=True).start()
        # HEADERS with END_HEADERS, without END_STREAM: “:status: 200”
        connection.sendall(b"\0\0\1\1\4\0\0\0\1\x88")
        part = FRAMES[number % len(FRAMES)] * 1000
        while True:
            connection.sendall(part)
    except OSError:
        plain.close()


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    number = 0
    while True:
        plain, _ = listener.accept()
        # A connection that only checks whether the port is open doesn't count.
        plain.settimeout(20)
        try:
            if not plain.recv(1, socket.MSG_PEEK):
                plain.close()
                continue
        except OSError:
            plain.close()
            continue
        plain.settimeout(None)
        threading.Thread(target=serve, args=[plain, context, number], daemon=True).start()
        number += 1


main()
