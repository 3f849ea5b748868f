"""A small client of the remoting protocol: many connections, many sends in flight, and reading queues back."""
import json
import selectors
import socket
import struct
import zlib

SEND_V2, PULL, MAX_OFFSET, CREATE_TOPIC = 310, 11, 30, 17
FLAG_SUBSCRIPTION = 4


def frame(code, fields, body=b"", opaque=0):
    header = json.dumps({"code": code, "extFields": fields, "flag": 0, "language": "JAVA", "opaque": opaque, "serializeTypeCurrentRPC": "JSON",
                         "version": 513}, separators=(",", ":")).encode()
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


def take_frame(data):
    """(header, body, rest) of the first whole frame, or None."""
    if len(data) < 8:
        return None
    (total, head) = struct.unpack_from(">II", data)
    if len(data) < total + 4:
        return None
    head &= 0xFFFFFF
    return json.loads(data[8:8 + head]), bytes(data[8 + head:4 + total]), data[4 + total:]


def connect(port):
    s = socket.create_connection(("127.0.0.1", port), 10)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


class Caller:
    """One request after the other."""

    def __init__(self, port):
        self.socket, self.opaque, self.data = connect(port), 0, b""

    def call(self, code, fields, body=b""):
        self.opaque += 1
        self.socket.sendall(frame(code, fields, body, self.opaque))
        while True:
            taken = take_frame(self.data)
            if taken:
                header, reply, self.data = taken
                if header["opaque"] == self.opaque:
                    return header, reply
                continue
            more = self.socket.recv(1 << 20)
            if not more:
                raise ConnectionError("closed")
            self.data += more

    def close(self):
        self.socket.close()


def records(body):
    """(queue offset, body) of each stored record of a pull."""
    at = 0
    while at < len(body):
        total, _, crc, _, _, offset, _, flag = struct.unpack_from(">iIiiiqqi", body, at)
        p = at + 40 + 8 + (20 if flag & 0x10 else 8) + 8 + (20 if flag & 0x20 else 8) + 4 + 8
        (length,) = struct.unpack_from(">i", body, p)
        content = body[p + 4:p + 4 + length]
        if zlib.crc32(content) & 0x7FFFFFFF != crc & 0x7FFFFFFF:
            raise AssertionError(f"offset {offset}: the body does not agree with its checksum")
        yield offset, content
        at += total


def read_queue(caller, topic, queue):
    """All bodies of a queue, offsets from 0 and dense."""
    found, offset = [], 0
    while True:
        fields = {"consumerGroup": "readers", "topic": topic, "queueId": str(queue), "queueOffset": str(offset), "maxMsgNums": "32",
                  "sysFlag": str(FLAG_SUBSCRIPTION), "commitOffset": "0", "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "1",
                  "expressionType": "TAG"}
        header, body = caller.call(PULL, fields)
        if header["code"] != 0:
            if header["code"] == 19:
                return found
            raise AssertionError(f"queue {queue} offset {offset}: code {header['code']} {header.get('remark')}")
        for at, content in records(body):
            if at != offset:
                raise AssertionError(f"queue {queue}: offset {at} where {offset} was due")
            found.append(content)
            offset += 1


class Load:
    """Connections that keep `window` sends in flight each, until the server is gone. acked: [(queue, offset, body)]."""

    def __init__(self, port, topic, queues, connections, window, first, body_of):
        self.topic, self.queues, self.window, self.body_of = topic, queues, window, body_of
        self.number, self.acked, self.refused = first, [], []
        self.selector = selectors.DefaultSelector()
        self.open = 0
        for _ in range(connections):
            s = connect(port)
            s.setblocking(False)
            self.selector.register(s, selectors.EVENT_READ | selectors.EVENT_WRITE, {"in": b"", "out": b"", "sent": {}})
            self.open += 1

    def fill(self, state):
        while len(state["sent"]) < self.window:
            number, queue = self.number, self.number % self.queues
            self.number += 1
            body = self.body_of(number)
            fields = {"a": "load", "b": self.topic, "c": "TBW102", "d": "4", "e": str(queue), "f": "0", "g": "1", "h": "0", "i": "", "j": "0",
                      "k": "false", "m": "false"}
            state["sent"][number & 0x7FFFFFFF] = body
            state["out"] += frame(SEND_V2, fields, body, number & 0x7FFFFFFF)

    def take(self, state):
        while True:
            taken = take_frame(state["in"])
            if not taken:
                return
            header, _, state["in"] = taken
            body = state["sent"].pop(header["opaque"])
            if header["code"] == 0:
                fields = header["extFields"]
                self.acked.append((int(fields["queueId"]), int(fields["queueOffset"]), body))
            else:
                self.refused.append((header["code"], header.get("remark")))

    def lost(self, key):
        self.selector.unregister(key.fileobj)
        key.fileobj.close()
        self.open -= 1

    def step(self, seconds):
        """One round of reading and writing."""
        for key, events in self.selector.select(seconds):
            state = key.data
            try:
                if events & selectors.EVENT_READ:
                    data = key.fileobj.recv(1 << 18)
                    if not data:
                        raise ConnectionError
                    state["in"] += data
                    self.take(state)
                self.fill(state)
                if state["out"]:
                    state["out"] = state["out"][key.fileobj.send(state["out"]):]
            except BlockingIOError:
                pass
            except (ConnectionError, OSError):
                self.lost(key)

    def drain(self):
        """What the server had answered before it was gone still counts."""
        while self.open:
            self.step(1)
