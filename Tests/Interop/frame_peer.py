"""A server of HTTP/2 over TLS that answers each connection with one response's head and then, without end, with a frame that
leads to nothing (RFC 9113, section 10.5): of another kind for each connection, in the order below.

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
    frame(0x77, bytes(100)),  # of a kind that nobody knows
    frame(0, b"", stream=1),  # DATA without octets
]


def discard(connection):
    """Takes what the client sends, or it would wait with its answers."""
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
        # HEADERS that end the head and not the stream: “:status: 200”
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
        # Whoever only looks whether the port is open doesn't count.
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
