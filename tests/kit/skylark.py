"""Starts the real programs on free ports with data folders of their own, for tests that need processes."""
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HOST = "127.0.0.1"


def is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True


def free_ports(count, together=1):
    """Ports of which each begins a run of `together` free ones. They lie below those that the kernel gives to outgoing connections,
    so that none of ours takes one before the server does."""
    highest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]) - 8
    found = []
    while len(found) < count:
        port = random.SystemRandom().randrange(10240, highest)
        near = any(abs(port - other) < 8 for other in found)
        if not near and all(is_free(port + i) for i in range(together)):
            found.append(port)
    return found


def wait_for(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(0.01)


def answers(port):
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex((HOST, port)) == 0


started = []   # processes of this program, for end_all()


class Process:
    """One program with its log; started by start(), ended by stop() or kill()."""

    def __init__(self, command, ports, log, env=None):
        self.command, self.ports, self.log, self.env, self.child = [str(c) for c in command], ports, log, env, None

    def start_unwatched(self):
        """Without waiting until it serves."""
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **(self.env or {})})
        if self not in started:
            started.append(self)

    def start(self, seconds=30):
        self.start_unwatched()
        for port in self.ports:
            wait_for(f"port {port} of {self.command[0]}", lambda: self.child.poll() is not None or answers(port), seconds)
        if self.child.poll() is not None:
            raise RuntimeError(f"{' '.join(self.command)} ended with {self.child.returncode}\n{pathlib.Path(self.log).read_text()[-2000:]}")
        return self

    def kill(self):
        if self.child and self.child.poll() is None:
            self.child.send_signal(signal.SIGKILL)
        if self.child:
            self.child.wait()

    def stop(self, seconds=30):
        """Ends it as an operator would; True when it ended well."""
        if not self.child or self.child.poll() is not None:
            return False
        self.child.send_signal(signal.SIGTERM)
        try:
            return self.child.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            self.kill()
            return False


def end_all():
    """Kills whatever was started and still runs; returns its commands."""
    left = [process for process in started if process.child.poll() is None]
    for process in left:
        process.kill()
    started.clear()
    return [" ".join(process.command) for process in left]


class Folder:
    """A temporary folder that goes away, unless something failed."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="skylark-test-"))
        return self.path

    def __exit__(self, kind, *rest):
        if kind is None:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            print(f"left for a look: {self.path}")


def broker_conf(folder, port, more=()):
    lines = [f"brokerIP1={HOST}", f"listenPort={port}", f"haListenPort={port + 1}", *more]
    path = pathlib.Path(folder) / "broker.conf"
    path.write_text("\n".join(lines) + "\n")
    return path


def server(binary, folder, more=()):
    """`skylark server`: name server, broker and proxy in one process. Ports: broker, its -2 neighbour; name server, behind it gRPC and the
    proxy's for remoting clients."""
    folder = pathlib.Path(folder)
    first, namesrv_port = free_ports(2, together=4)
    broker_port = first + 2
    conf = broker_conf(folder, broker_port, more)
    command = [binary, "server", "--data", folder / "data", "--config", conf, "--set", f"namesrv.listenPort={namesrv_port}",
               "--set", f"grpcServerPort={namesrv_port + 1}", "--set", f"remotingListenPort={namesrv_port + 2}"]
    process = Process(command, [namesrv_port, broker_port], folder / "server.log")
    process.grpc_port, process.remoting_port = namesrv_port + 1, namesrv_port + 2
    process.namesrv, process.broker = f"{HOST}:{namesrv_port}", f"{HOST}:{broker_port}"
    process.broker_port = broker_port
    return process
