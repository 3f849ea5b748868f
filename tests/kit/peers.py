"""The other ends of the remoting protocol, for tests that need one: a consumer that answers what brokers ask it, a server that answers by a table."""
import json
import socket
import struct
import threading

from crash import load


def answer(header, body=b"", code=0, remark=None):
    head = json.dumps({"code": code, "flag": 1, "language": "JAVA", "opaque": header["opaque"], "remark": remark, "serializeTypeCurrentRPC": "JSON",
                       "version": 513}).encode()
    return struct.pack(">II", 4 + len(head) + len(body), len(head)) + head + body


def serve(connection, bodies, waiting):
    """Answers requests by `bodies`, {code: body}, until the other end closes; what answers our own requests lets go who waits."""
    data = b""
    while True:
        taken = load.take_frame(data)
        if not taken:
            try:
                more = connection.recv(1 << 16)
            except OSError:
                return
            if not more:
                return
            data += more
            continue
        header, _, data = taken
        if header["flag"] & 1:
            waiting.set()
        elif not header["flag"] & 2:
            code = header["code"]
            connection.sendall(answer(header, bodies[code]) if code in bodies else answer(header, b"", 3, f"code {code}"))


RUNNING = {"mqTable": {}, "properties": {"PROP_CLIENT_VERSION": "V5_5_0", "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY", "PROP_CONSUMEORDERLY": "false"}, "statusTable": {},
           "subscriptionSet": [{"classFilterMode": False, "codeSet": [], "expressionType": "TAG", "subString": "*", "subVersion": 1, "tagsSet": [], "topic": "Orders"}]}
CONSUMED = {"autoCommit": True, "consumeResult": "CR_SUCCESS", "order": False, "spentTimeMills": 3}


class Member:
    """A push consumer of one group, as far as tools see one."""

    def __init__(self, port, group, client="10.0.0.2@8", topic="Orders"):
        self.connection, beaten = load.connect(port), threading.Event()
        self.connection.settimeout(None)
        bodies = {307: json.dumps(RUNNING).encode(), 309: json.dumps(CONSUMED).encode()}
        threading.Thread(target=serve, args=(self.connection, bodies, beaten), daemon=True).start()
        consumer = {"consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "consumeType": "CONSUME_PASSIVELY", "groupName": group, "messageModel": "CLUSTERING", "unitMode": False,
                    "subscriptionDataSet": [{**RUNNING["subscriptionSet"][0], "topic": topic}]}
        beat = {"clientID": client, "consumerDataSet": [consumer], "heartbeatFingerprint": 0, "producerDataSet": [], "withoutSub": False}
        self.connection.sendall(load.frame(34, {}, json.dumps(beat).encode()))
        assert beaten.wait(20), "the broker does not answer a heartbeat"

    def close(self):
        self.connection.close()


class Server:
    """Answers requests by {code: body}."""

    def __init__(self, bodies):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.bodies = bodies
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection, self.bodies, threading.Event()), daemon=True).start()

    def close(self):
        self.listener.close()
