"""A collector of OTLP metrics, as far as a test needs one: gRPC over plaintext HTTP/2, written from the specifications, so that it shares nothing
with what it looks at. Headers of requests are not read; answers are literal ones."""
import gzip
import socket
import struct
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A header field that goes into no table."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def fields(data):
    """Number and value of each field of a protobuf message."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<q", data, at)[0], at + 8
        else:
            assert kind == 2, kind
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        yield tag >> 3, value


def attribute(pair):
    found = dict(fields(pair))
    number, value = next(fields(found[2]))
    return found[1].decode(), value.decode() if number == 1 else bool(value) if number == 2 else value


class Collector:
    """`points`: {(name, frozenset of (label, value))): value} of what came last, a histogram by its count; `kinds` by name; `requests`."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.points, self.kinds, self.requests, self.wrong = {}, {}, 0, None
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        try:
            with connection, connection.makefile("rb") as stream:
                assert stream.read(len(PREFACE)) == PREFACE
                connection.sendall(frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 24)))
                self.read_frames(connection, stream)
        except OSError:
            pass
        except Exception as e:
            self.wrong = e

    def read_frames(self, connection, stream):
        bodies = {}
        while head := stream.read(9):
            kind, flags, number = head[3], head[4], struct.unpack(">I", head[5:])[0]
            payload = stream.read(int.from_bytes(head[:3], "big"))
            if kind == SETTINGS and not flags & ACK:
                connection.sendall(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                connection.sendall(frame(PING, ACK, 0, payload))
            elif kind == HEADERS:
                bodies[number] = b""
            elif kind == DATA:
                bodies[number] += payload
                if payload:
                    connection.sendall(frame(WINDOW_UPDATE, 0, number, struct.pack(">I", len(payload))))
                if flags & END_STREAM:
                    self.take(bodies.pop(number))
                    connection.sendall(self.answer(number))

    @staticmethod
    def answer(number):
        return (frame(HEADERS, END_HEADERS, number, b"\x88" + literal(b"content-type", b"application/grpc")) + frame(DATA, 0, number, bytes(5)) +
                frame(HEADERS, END_HEADERS | END_STREAM, number, literal(b"grpc-status", b"0")))

    def take(self, body):
        packed, size = body[0], struct.unpack(">I", body[1:5])[0]
        assert len(body) == 5 + size
        request = gzip.decompress(body[5:]) if packed else body[5:]
        for _, resource in fields(request):
            for number, scoped in fields(resource):
                for inner, metric in fields(scoped) if number == 2 else ():
                    if inner == 2:
                        self.take_metric(metric)
        self.requests += 1

    def take_metric(self, metric):
        found = dict(fields(metric))
        name = found[1].decode()
        kind, data = next((kind, found[number]) for number, kind in ((5, "gauge"), (7, "sum"), (9, "histogram")) if number in found)
        temporality = dict(fields(data)).get(2)
        self.kinds[name] = (kind, found.get(3, b"").decode(), temporality)
        for number, point in fields(data):
            if number != 1:
                continue
            labels = frozenset(attribute(v) for n, v in fields(point) if n == (9 if kind == "histogram" else 7))
            self.points[name, labels] = dict(fields(point))[4 if kind == "histogram" else 6]

    def value(self, name, **labels):
        """Of the one series of that name with these labels; None: there is none."""
        found = [value for (of, has), value in list(self.points.items()) if of == name and has >= set(labels.items())]
        assert len(found) <= 1, found
        return found[0] if found else None

    def close(self):
        self.socket.close()
        if self.wrong:
            raise self.wrong
