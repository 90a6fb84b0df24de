"""A fleet of hosts that share one rotating refresh token in etcd, with faults.

    fleet.py --etcd FILE --nft FILE --host FILE [--skew FILE] [--nodes 3] [--hosts 8]
             [--rotations 100] [--faults 12] [--seed 1] [--limit 240] [--identifiers 300]

Each etcd node and each host is in a network namespace of its own. Faults: kill -9 of hosts, SIGSTOP,
partitions of hosts and nodes (nft), kill -9 of the leader, and skewed wall clocks (skew.c).
Then all hosts remember the same identifiers in an EtcdReplayCache: each is accepted at most once.
With --nodes 0, the hosts are processes that share a FileTokenStore, for comparison. Prints figures,
and exits with 1 if an assertion fails. Requires root.
"""
# The rows of the pages that this script shows:
# shows: L11
# shows: L17
# shows: O27
import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from linearizability import is_linearizable  # noqa: E402

here = os.path.dirname(os.path.abspath(__file__))
# The times of an announcement, as in RefreshDeadlines.
VALID_FOR = 4.0
SEND_WITHIN = VALID_FOR / 4
REQUEST_TIMEOUT = VALID_FOR / 2
# The delays of a busy machine, which aren't faults of the run.
TOLERANCE = 2.0
PREFIX = f"flt{os.getpid() % 10000}"


def run(*command, check=True):
    return subprocess.run(command, check=check, capture_output=True, text=True)


class Network:
    """Namespaces on one bridge, which nothing else can reach."""

    def __init__(self, nft):
        self.nft = nft
        self.names = []
        self.add_namespace("sw")
        self.inside("sw", "ip", "link", "add", "br0", "type", "bridge")
        self.inside("sw", "ip", "link", "set", "br0", "up")

    def add_namespace(self, name):
        run("ip", "netns", "add", PREFIX + name)
        self.names.append(name)
        self.inside(name, "ip", "link", "set", "lo", "up")

    def add(self, name, address):
        self.add_namespace(name)
        outside = f"v{name}"
        run("ip", "link", "add", outside, "netns", PREFIX + "sw", "type", "veth", "peer", "name", "eth0",
            "netns", PREFIX + name)
        self.inside("sw", "ip", "link", "set", outside, "master", "br0", "up")
        self.inside(name, "ip", "address", "add", f"{address}/24", "dev", "eth0")
        self.inside(name, "ip", "link", "set", "eth0", "up")

    def command(self, name, *command):
        return ["ip", "netns", "exec", PREFIX + name, *command]

    def inside(self, name, *command):
        return run(*self.command(name, *command))

    def cut(self, name, addresses):
        peers = "{ " + ", ".join(addresses) + " }"
        rules = (f"table ip f {{ chain i {{ type filter hook input priority 0; ip saddr {peers} drop; }}; "
                 f"chain o {{ type filter hook output priority 0; ip daddr {peers} drop; }}; }}")
        self.inside(name, *self.nft, rules)

    def heal(self, name):
        subprocess.run(self.command(name, *self.nft, "delete table ip f"), capture_output=True)

    def remove(self):
        for name in reversed(self.names):
            subprocess.run(["ip", "netns", "del", PREFIX + name], capture_output=True)


class Fleet:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.folder = tempfile.mkdtemp(prefix="fleet-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.network = Network(options.nft.split())
        self.nodes = {}
        self.hosts = {}
        self.others = []
        self.faults = []
        self.deck = []
        self.failures = []
        self.families = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    # Nodes

    def node_address(self, index):
        return f"10.77.0.{10 + index}"

    def host_address(self, index):
        return f"10.77.0.{100 + index}"

    def start_node(self, index):
        address = self.node_address(index)
        cluster = ",".join(f"n{i}=http://{self.node_address(i)}:2380" for i in range(self.options.nodes))
        data = self.path(f"node{index}")
        self.nodes[index] = subprocess.Popen(
            self.network.command(
                f"n{index}", self.options.etcd, "--name", f"n{index}", "--data-dir", data,
                "--listen-client-urls", f"http://{address}:2379,http://127.0.0.1:2379",
                "--advertise-client-urls", f"http://{address}:2379",
                "--listen-peer-urls", f"http://{address}:2380",
                "--initial-advertise-peer-urls", f"http://{address}:2380",
                "--initial-cluster", cluster, "--initial-cluster-state", "new",
            ),
            stdout=subprocess.DEVNULL, stderr=open(self.path(f"node{index}.log"), "ab"),
        )

    def ask(self, index, path, body, timeout="1"):
        """Sends a request to a node from its own namespace."""
        code = ("import sys, urllib.request as u; r = u.Request(sys.argv[1], sys.argv[2].encode()); "
                "print(u.urlopen(r, timeout=float(sys.argv[3])).read().decode())")
        answer = subprocess.run(
            self.network.command(f"n{index}", sys.executable, "-c", code, f"http://127.0.0.1:2379{path}",
                                 json.dumps(body), timeout),
            capture_output=True, text=True)
        return json.loads(answer.stdout) if answer.returncode == 0 else None

    def leader(self):
        for index, node in self.nodes.items():
            if node.poll() is None and (status := self.ask(index, "/v3/maintenance/status", {})):
                if status.get("leader") == status["header"]["member_id"]:
                    return index
        return None

    # Hosts

    def start_host(self, index):
        # A wall clock that is ten minutes fast or slow; the monotonic clock is right.
        skew = {1: "600", 2: "-600"}.get(index % 4) if self.options.skew else None
        clock = [f"LD_PRELOAD={self.options.skew}", f"SKEW={skew}"] if skew else []
        number = self.hosts[index]["starts"] = self.hosts[index]["starts"] + 1
        log = self.path(f"host{index}-{number}.log")
        left = self.options.rotations - self.rotations(index)
        # Only the host itself has another clock, not the programs that start it.
        command = self.network.command(
            f"h{index}", "env", *clock, self.options.host, f"h{index}", self.endpoints(), "http://127.0.0.1:8000/token",
            str(max(left, 0)), str(int(VALID_FOR * 1000)), log)
        self.hosts[index].update(process=subprocess.Popen(command, stdout=open(self.path(f"host{index}.out"), "ab"),
                                                          stderr=subprocess.STDOUT), log=log, stopped=False)

    def endpoints(self):
        if self.options.nodes == 0:
            return "files:" + self.path("tokens")
        return ",".join(f"http://127.0.0.1:{2400 + i}" for i in range(self.options.nodes))

    def events(self, index):
        """The log of a host, or that of the sign-ins."""
        names = (["signin.log"] if index == "signin" else
                 [f"host{index}-{n}.log" for n in range(1, self.hosts[index]["starts"] + 1)])
        return [event for name in names for event in self.log_events(name)]

    def log_events(self, name):
        try:
            with open(self.path(name)) as lines:
                # A killed process may leave half a line.
                return [json.loads(line) for line in lines if line.endswith("}\n")]
        except FileNotFoundError:
            return []

    def rotations(self, index):
        return sum(1 for event in self.events(index) if event["event"] == "token" and not event["found"])

    def pid(self, index):
        """The process in the namespace: ip and env replace themselves by it."""
        return self.hosts[index]["process"].pid

    # Run

    def start(self):
        for index in range(self.options.nodes):
            self.network.add(f"n{index}", self.node_address(index))
            self.start_node(index)
        self.network.add("as", "10.77.0.200")
        self.others.append(subprocess.Popen(self.network.command(
            "as", sys.executable, os.path.join(here, "authorization.py"), "10.77.0.200", "8000", self.path("as.log")),
            stderr=open(self.path("as.err"), "ab")))
        for index in range(self.options.hosts):
            self.network.add(f"h{index}", self.host_address(index))
            self.hosts[index] = {"starts": 0}
            forwards = [f"{2400 + i}={self.node_address(i)}:2379" for i in range(self.options.nodes)]
            self.others.append(subprocess.Popen(self.network.command(
                f"h{index}", sys.executable, os.path.join(here, "forward.py"), "8000=10.77.0.200:8000", *forwards)))
        deadline = time.monotonic() + 60
        while self.options.nodes > 0 and self.leader() is None:
            if time.monotonic() > deadline:
                raise SystemExit("error: etcd has no leader after a minute")
            time.sleep(0.2)
        time.sleep(0.5)
        self.sign_in()
        for index in self.hosts:
            self.start_host(index)

    def sign_in(self):
        self.families += 1
        code = ("import urllib.request as u, json; print(json.loads(u.urlopen(u.Request("
                "'http://127.0.0.1:8000/family', b''), timeout=5).read())['token'])")
        token = self.network.inside("h0", sys.executable, "-c", code).stdout.strip()
        for _ in range(20):
            done = subprocess.run(self.network.command("h0", self.options.host, "sign-in", self.endpoints(),
                                                       "http://127.0.0.1:8000/token", token, self.path("signin.log")),
                                  capture_output=True)
            if done.returncode == 0:
                return
            time.sleep(0.5)
        raise SystemExit("error: the sign-in failed")

    def note(self, kind, name, start, end):
        self.faults.append({"kind": kind, "name": name, "start": start, "end": end})

    def fault(self):
        """Makes one random fault and repairs it."""
        kinds = ["kill", "kill", "stop", "stop", "cut host", "cut node", "kill leader"]
        if self.options.nodes == 1:
            kinds = ["kill", "kill", "stop", "cut host"]
        # Each kind comes up, whatever the seed.
        if not self.deck:
            self.deck = kinds
            self.random.shuffle(self.deck)
        kind = self.deck.pop()
        index = self.random.randrange(self.options.hosts)
        start = time.monotonic()
        alive = self.hosts[index]["process"].poll() is None
        if kind == "kill" and alive:
            os.kill(self.pid(index), signal.SIGKILL)
            self.note(kind, self.host_address(index), start, time.monotonic())
            self.hosts[index]["process"].wait()
            self.start_host(index)
        elif kind == "stop" and alive:
            os.kill(self.pid(index), signal.SIGSTOP)
            time.sleep(self.random.choice([0.3, 1.5, VALID_FOR + 1.5]))
            os.kill(self.pid(index), signal.SIGCONT)
            self.note(kind, self.host_address(index), start, time.monotonic())
        elif kind == "cut host":
            self.network.cut(f"h{index}", [self.node_address(i) for i in range(self.options.nodes)])
            time.sleep(self.random.choice([0.5, 3]))
            self.network.heal(f"h{index}")
            self.note(kind, self.host_address(index), start, time.monotonic())
        elif kind == "cut node":
            node = self.random.randrange(self.options.nodes)
            self.network.cut(f"n{node}", [self.node_address(i) for i in range(self.options.nodes) if i != node])
            time.sleep(self.random.choice([1, 4]))
            self.network.heal(f"n{node}")
            self.note(kind, f"n{node}", start, time.monotonic())
        elif kind == "kill leader":
            node = self.leader()
            if node is not None:
                self.nodes[node].kill()
                self.nodes[node].wait()
                time.sleep(1)
                self.start_node(node)
                self.note(kind, f"n{node}", start, time.monotonic())

    def restart_dead_hosts(self):
        """If the family has ended, all hosts learn it; then the user signs in again."""
        ended = [i for i in self.hosts if self.hosts[i]["process"].poll() == 3]
        for index in self.hosts:
            code = self.hosts[index]["process"].poll()
            if code not in (None, 0, 3):
                self.failures.append(f"host {index} ended with {code}")
                self.start_host(index)
        if not ended:
            return
        deadline = time.monotonic() + 3 * VALID_FOR + 20
        while time.monotonic() < deadline:
            codes = [host["process"].poll() for host in self.hosts.values()]
            if all(code in (0, 3) for code in codes):
                break
            time.sleep(0.2)
        else:
            self.failures.append("not all hosts learned that the grant had ended")
        self.sign_in()
        for index in self.hosts:
            if self.hosts[index]["process"].poll() == 3:
                self.start_host(index)
            elif self.hosts[index]["process"].poll() is None:
                os.kill(self.pid(index), signal.SIGKILL)
                self.hosts[index]["process"].wait()
                self.start_host(index)

    def play(self):
        started = time.monotonic()
        made = 0
        while True:
            self.restart_dead_hosts()
            running = [i for i in self.hosts if self.hosts[i]["process"].poll() is None]
            if not running:
                break
            if time.monotonic() - started > self.options.limit:
                self.failures.append(f"hosts {running} didn't finish within {self.options.limit} seconds")
                break
            if made < self.options.faults:
                self.fault()
                made += 1
            time.sleep(self.random.uniform(0.2, 1.0))
        self.duration = time.monotonic() - started

    def replay(self):
        """All hosts remember the same identifiers, while the leader of three nodes is killed."""
        started = time.monotonic()
        # A token's expiration is the same for all hosts.
        start = f"{time.time():.0f}"
        logs = {i: self.path(f"replay{i}.log") for i in self.hosts}
        processes = [
            subprocess.Popen(self.network.command(f"h{i}", self.options.host, "replay", self.endpoints(),
                                                  str(self.options.identifiers), start, log))
            for i, log in logs.items()]
        self.others += processes
        if self.options.nodes > 1:
            time.sleep(1)
            node = self.leader()
            if node is not None:
                self.nodes[node].kill()
                self.nodes[node].wait()
                time.sleep(1)
                self.start_node(node)
        for process in processes:
            process.wait(timeout=self.options.limit)
        duration = time.monotonic() - started
        asked = [event for log in logs.values() for event in self.log_events(log)]
        accepted, failed = {}, {}
        for event in asked:
            name = event["identifier"]
            accepted[name] = accepted.get(name, 0) + event.get("new", False)
            failed[name] = failed.get(name, 0) + event.get("failed", False)
        if len(asked) != self.options.identifiers * len(self.hosts):
            self.failures.append(f"the hosts asked {len(asked)} times for a replay")
        for name, count in accepted.items():
            if count > 1:
                self.failures.append(f"the identifier {name} was accepted {count} times")
            elif count == 0 and failed[name] == 0:
                self.failures.append(f"the identifier {name} was never accepted")
        times = sorted(e["end"] - e["start"] for e in asked if "new" in e)
        print(f"replay cache: {len(asked)} proofs with {len(accepted)} identifiers, each accepted at most once, "
              f"{len(asked) / duration:.0f} per second, p50 {1000 * times[len(times) // 2]:.1f} ms, "
              f"{sum(failed.values())} without an answer")

    # Assertions

    def check(self):
        with open(self.path("as.log")) as lines:
            shown = [json.loads(line) for line in lines]
        events = {index: self.events(index) for index in [*self.hosts, "signin"]}
        self.check_families(shown, events)
        self.check_sends(shown)
        self.check_announcements(shown, events)
        self.check_waits(shown, events)
        calls, generations = [], {}
        for index in events:
            for event in events[index]:
                if event["event"] == "read":
                    calls.append((event["start"], event["end"], "read", "", event["version"], True))
            calls += self.swaps(index, events)
        seen = sorted((e["end"], e["start"], e["epoch"], e["generation"]) for own in events.values() for e in own
                      if e["event"] == "read" and e["epoch"])
        for end, start, epoch, generation in seen:
            # A read that began after another had ended never sees an older record.
            earlier = generations.setdefault(epoch, [])
            if any(g > generation for e, g in earlier[-64:] if e < start):
                self.failures.append(f"generation {generation} was read after a later one")
            earlier.append((end, generation))
        if not is_linearizable(calls):
            self.failures.append("the history of the record isn't linearizable")
        for index in self.hosts:
            if self.rotations(index) < self.options.rotations:
                self.failures.append(f"host {index} made only {self.rotations(index)} rotations")
        return shown, events, calls

    def swaps(self, index, events):
        """The writes of a host; those without an answer are resolved by who read them."""
        result = []
        known = {e["version"]: e for own in events.values() for e in own
                 if e["event"] == "swap" and e.get("succeeded")}
        reads = {}
        for own in events.values():
            for e in own:
                if e["event"] == "read" and e["version"] and e["version"] not in known:
                    reads.setdefault(e["name"], set()).add(e["version"])
        answered = {(e["start"]) for e in events[index] if e["event"] == "swap"}
        for event in events[index]:
            if event["event"] == "swap" and "succeeded" in event:
                result.append((event["start"], event["end"], "swap", event["expected"], event.get("version", ""),
                               event["succeeded"]))
            elif event["event"] == "swap" or event["event"] == "swapping" and event["start"] not in answered:
                for version in reads.get(event["name"], ()):
                    result.append((event["start"], float("inf"), "swap", event["expected"], version, None))
        return result

    def check_families(self, shown, events):
        """A family ends only if the answer to its last good token died with its host."""
        self.lost = 0
        for position, entry in enumerate(shown):
            if not entry["ended"]:
                continue
            self.lost += 1
            good = [e for e in shown[:position] if e["good"] and e["token"].split("-")[1] == entry["token"].split("-")[1]]
            # The token that was shown twice, and its first showing.
            first = next((e for e in good if e["token"] == entry["token"]), None)
            if first is None:
                self.failures.append(f"{entry['token']} was never good")
                continue
            excuses = [f for f in self.faults if f["name"] == first["host"]
                       and f["start"] <= first["served"] + VALID_FOR and f["end"] >= first["arrived"] - VALID_FOR]
            if not excuses:
                self.failures.append(f"a family ended although the host of {entry['token']} wasn't disturbed")
            told = [e for own in events.values() for e in own
                    if e["event"] == "error" and e["code"] == "reauthenticationRequired" and e["end"] > entry["served"]
                    and e["end"] < self.next_family(shown, position)]
            # A host that pauses before it sends ends a grant whose later token others have sent.
            is_paused = any(f["kind"] == "stop" for f in excuses)
            if not is_paused and not all(e["lost"] for e in told):
                self.failures.append(f"a lost answer was taken for a revocation after {entry['token']}")

    @staticmethod
    def next_family(shown, position):
        """The time of the first request with a token of a later family."""
        family = shown[position]["token"].split("-")[1]
        return next((e["arrived"] for e in shown[position:] if e["token"].split("-")[1] != family), float("inf"))

    def check_sends(self, shown):
        """No token is sent twice within an announcement's life, but for a pause before sending."""
        last = {}
        for entry in shown:
            earlier = last.get(entry["token"])
            if earlier is not None and entry["arrived"] - earlier["arrived"] < VALID_FOR - SEND_WITHIN:
                # The pause must have ended just before the paused host's own request.
                paused = [f for f in self.faults for e in (entry, earlier) if f["kind"] == "stop"
                          and f["name"] == e["host"] and f["start"] < e["arrived"] < f["end"] + SEND_WITHIN]
                if not paused:
                    self.failures.append(f"{entry['token']} was sent twice within an announcement's life")
            last[entry["token"]] = entry

    def check_announcements(self, shown, events):
        """Each request follows an announcement of its own, and none follows the end of a grant."""
        announced = 0
        for own in events.values():
            answered = {e["start"] for e in own if e["event"] == "swap"}
            announced += sum(1 for e in own if e["event"] == "swap" and e["announces"] and e.get("succeeded", True))
            announced += sum(1 for e in own if e["event"] == "swapping" and e["announces"]
                             and e["start"] not in answered)
        if len(shown) > announced:
            self.failures.append(f"{len(shown)} requests were sent with {announced} announcements")
        ends = {}
        for own in events.values():
            for e in own:
                if e["event"] == "swap" and e.get("succeeded") and e.get("ends"):
                    ends[e["epoch"]] = min(e["end"], ends.get(e["epoch"], e["end"]))
        for own in events.values():
            for e in own:
                if e["event"] == "swapping" and e["announces"] and e["start"] > ends.get(e["epoch"], float("inf")):
                    self.failures.append("a refresh was announced after the end of its grant")

    def check_waits(self, shown, events):
        """Every host has a token again within a bound after the last fault."""
        limit = VALID_FOR + 2 * REQUEST_TIMEOUT + TOLERANCE
        disturbances = [f["end"] for f in self.faults] + [e["served"] for e in shown if e["ended"]]
        self.longest_wait = 0
        for index in self.hosts:
            for number in range(1, self.hosts[index]["starts"] + 1):
                previous = None
                for event in self.log_events(f"host{index}-{number}.log"):
                    if event["event"] != "token":
                        continue
                    if previous is not None:
                        calm = max([previous] + [d for d in disturbances if d < event["end"]])
                        self.longest_wait = max(self.longest_wait, event["end"] - calm)
                        if event["end"] - calm > limit:
                            self.failures.append(f"host {index} waited for {event['end'] - calm:.1f} s")
                    previous = event["end"]

    def figures(self, shown, events, calls):
        durations = sorted(e["end"] - e["start"] for own in events.values() for e in own
                           if e["event"] == "token" and not e["found"])
        reads = sum(1 for call in calls if call[2] == "read")
        writes = sum(1 for call in calls if call[2] == "swap")
        refreshes = len(durations)

        def percentile(share):
            return f"{1000 * durations[min(int(share * refreshes), refreshes - 1)]:.1f} ms"

        kinds = {}
        for fault in self.faults:
            kinds[fault["kind"]] = kinds.get(fault["kind"], 0) + 1
        print(f"{self.options.hosts} hosts, {self.options.nodes} nodes, seed {self.options.seed}: "
              f"{refreshes} rotations in {self.duration:.0f} s, {len(shown)} token requests")
        print(f"faults: {kinds}")
        print(f"families: {self.families}, ended by an answer that died with its host: {self.lost}")
        print(f"refresh: p50 {percentile(0.5)}, p99 {percentile(0.99)}, "
              f"{reads / max(refreshes, 1):.2f} reads and {writes / max(refreshes, 1):.2f} writes each")
        print(f"longest wait after a fault: {self.longest_wait:.1f} s; history: {len(calls)} calls, linearizable")

    def stop(self):
        for process in [h.get("process") for h in self.hosts.values()] + list(self.nodes.values()) + self.others:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        self.network.remove()
        if not self.failures:
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            print(f"logs: {self.folder}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("etcd", "nft", "host"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--skew", default="")
    for name, value in (("nodes", 3), ("hosts", 8), ("rotations", 100), ("faults", 12), ("seed", 1), ("limit", 240),
                        ("identifiers", 300)):
        parser.add_argument(f"--{name}", type=int, default=value)
    fleet = Fleet(parser.parse_args())
    try:
        fleet.start()
        fleet.play()
        found = fleet.check()
        fleet.figures(*found)
        if fleet.options.nodes > 0 and fleet.options.identifiers > 0:
            fleet.replay()
    finally:
        fleet.stop()
    for failure in fleet.failures:
        print(f"error: {failure}")
    sys.exit(1 if fleet.failures else 0)


main()
