"""Presents tokens to Dovecot's authentication service: dovecot_peer.py PORT.

Each line of the standard input is a user and a token. For each, it prints `OK` or `FAIL`. The
protocol is https://doc.dovecot.org/2.3/developer_manual/design/auth_protocol/.
"""

import base64
import os
import socket
import sys


def verdict(user, token):
    """The service's reply to a login with OAUTHBEARER (RFC 7628)."""
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 120) as connection:
        stream = connection.makefile("rwb")
        stream.write(b"VERSION\t1\t1\nCPID\t%d\n" % os.getpid())
        stream.flush()
        while (line := stream.readline()) != b"DONE\n":
            if not line:
                raise SystemExit("error: the service closed the connection")
        response = base64.b64encode(f"n,a={user},\1auth=Bearer {token}\1\1".encode())
        stream.write(b"AUTH\t1\tOAUTHBEARER\tservice=imap\tsecured\tresp=" + response + b"\n")
        stream.flush()
        reply = stream.readline()
        if reply.startswith(b"CONT\t"):
            # The client acknowledges the error (RFC 7628 §3.2.3).
            stream.write(b"CONT\t1\t" + base64.b64encode(b"\1") + b"\n")
            stream.flush()
            reply = stream.readline()
        return reply.split(b"\t")[0].strip().decode()


for line in sys.stdin:
    print(verdict(*line.split()))
