"""A server with very many topics: made at once, as a broker that made them one by one would have left them."""
import json
import os
import pathlib
import socket
import time

from crash import load
from kit import skylark

QUEUES, WINDOW = 5, 512
HEADER = {"a": "many", "c": "TBW102", "d": "8", "f": "0", "h": "0", "i": "", "j": "0", "k": "false", "m": "false"}


def topic_name(number):
    return f"Topic{number:06}"


def write_topics(folder, count):
    table = {topic_name(i): {"order": False, "perm": 6, "readQueueNums": QUEUES, "topicFilterType": "SINGLE_TAG", "topicName": topic_name(i),
                             "topicSysFlag": 0, "writeQueueNums": QUEUES} for i in range(count)}
    path = pathlib.Path(folder) / "data/store/config"
    path.mkdir(parents=True)
    (path / "topics.json").write_text(json.dumps({"dataVersion": {"counter": count, "stateVersion": 0, "timestamp": 1}, "topicConfigTable": table}))


def send_header(topic, queue):
    return {**HEADER, "b": topic, "e": str(queue), "g": str(int(time.time() * 1000))}


def send_to_all(port, count):
    """One message to every queue, WINDOW in flight."""
    todo = [(topic_name(i), q) for i in range(count) for q in range(QUEUES)]
    data = b""
    with socket.create_connection((skylark.HOST, port)) as s:
        for at in range(0, len(todo), WINDOW):
            part = todo[at:at + WINDOW]
            s.sendall(b"".join(load.frame(load.SEND_V2, send_header(t, q), b"x" * 100) for t, q in part))
            answered = 0
            while answered < len(part):
                more = s.recv(1 << 20)
                assert more, "the connection was closed"
                data += more
                while taken := load.take_frame(data):
                    reply, _, data = taken
                    assert reply["code"] == 0, reply
                    answered += 1


def resident_mib(pid, key="VmRSS"):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key + ":"))


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))
