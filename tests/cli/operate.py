"""What operators see, of the real program: pages for Prometheus and health checks, signs of life for the service manager. Run by tests/cli/run."""
import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from crash import load  # noqa: E402
from kit import collector, prometheus, skylark  # noqa: E402

BINARY = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
__all__ = ["tells_operators_how_it_is_doing_by_pages_and_signs_of_life", "pages_and_files_for_prometheus_pass_its_own_checker", "a_port_of_pages_that_is_taken_is_named",
           "names_of_metrics_in_the_documentation_and_the_dashboard_are_those_that_are_served", "lists_explains_and_checks_configuration_keys",
           "sends_metrics_to_a_collector_until_the_end_and_tells_once_that_it_is_away", "logs_metrics_and_names_a_target_that_is_none", "a_server_whose_requests_must_be_signed_has_no_proxy",
           "keeps_what_was_changed_while_running_in_its_file"]
SEND = {"a": "p", "b": "Seen", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": "", "j": "0", "k": "false", "m": "false"}


def page(port, path):
    """Status, type and text."""
    c = http.client.HTTPConnection(skylark.HOST, port, timeout=10)
    c.request("GET", path)
    answer = c.getresponse()
    text = answer.read().decode()
    c.close()
    return answer.status, answer.getheader("Content-Type"), text


def known_names():
    """What catalog/metrics.def says, with units."""
    rows = re.findall(r'^(METRIC|LOOKED_AT|HISTOGRAM)\(\w+,\s*"(\w+)",\s*(?:"(\w*)")?', (ROOT / "src/catalog/metrics.def").read_text(), re.M)
    return {name + unit for _, name, unit in rows}


class Manager:
    """The socket that a service manager gives its services."""

    def __init__(self, folder):
        self.path = str(folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(20)

    def wait_for(self, word):
        while True:
            heard = self.socket.recv(4096).decode()
            if heard == word:
                return


def tells_operators_how_it_is_doing_by_pages_and_signs_of_life(folder):
    manager, port = Manager(folder), skylark.free_ports(1)[0]
    process = skylark.server(BINARY, folder, ["metricsExporterType=PROM", f"metricsPromExporterPort={port}"])
    process.env = {"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "400000"}
    process.ports.append(port)
    process.start()
    manager.wait_for("READY=1")
    manager.wait_for("WATCHDOG=1")
    caller = load.Caller(process.broker_port)
    for _ in range(3):
        assert caller.call(310, SEND, b"x")[0]["code"] == 0
    status, kind, text = page(port, "/metrics")
    assert status == 200 and kind == "text/plain; version=0.0.4; charset=utf-8", (status, kind)
    metrics = prometheus.Page(text)
    assert metrics.value("rocketmq_messages_in_total", topic="Seen", message_type="normal", node_type="broker") == 3
    assert metrics.value("rocketmq_rpc_latency_milliseconds_count", node_type="broker", request_code="send_message_v2") == 3
    assert metrics.value("rocketmq_proxy_up", node_type="proxy", proxy_mode="local") == 1
    assert metrics.value("skylark_namesrv_brokers", node_type="nameserver") == 1
    assert metrics.names() <= known_names(), metrics.names() - known_names()
    skylark.wait_for("it to be ready", lambda: page(port, "/readyz")[0] == 200)
    for path in ("/healthz", "/livez", "/-/healthy"):
        assert page(port, path) == (200, "text/plain; charset=utf-8", "alive\n")
    assert page(port, "/-/ready")[2] == "ready\n"
    assert page(port, "/nothing")[0] == 404 and "/metrics" in page(port, "/")[2]
    caller.close()
    assert process.stop(), process.log.read_text()
    manager.wait_for("STOPPING=1")
    assert f"http://0.0.0.0:{port}/metrics" in process.log.read_text()


def promtool(words, text=None):
    return subprocess.run([ROOT / "tools/promtool", *words], input=text, capture_output=True, text=True, check=False)


def pages_and_files_for_prometheus_pass_its_own_checker(folder):
    port = skylark.free_ports(1)[0]
    process = skylark.server(BINARY, folder, ["metricsExporterType=PROM", f"metricsPromExporterPort={port}", "timerWheelEnable=true"])
    process.ports.append(port)
    process.start()
    caller = load.Caller(process.broker_port)
    for n in range(3):
        assert caller.call(310, {**SEND, "b": f"Seen{n}"}, b"x")[0]["code"] == 0
    caller.call(11, {"consumerGroup": "g", "topic": "Seen0", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "4", "commitOffset": "0",
                     "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "1", "expressionType": "TAG"})
    caller.call(15, {"consumerGroup": "g", "topic": "Seen0", "queueId": "0", "commitOffset": "0"})
    status, _, text = page(port, "/metrics")
    caller.close()
    assert process.stop() and status == 200
    told = promtool(["check", "metrics"], text)
    assert told.returncode in (0, 3), told.stderr   # 3: it has something to say
    named_by_the_original = {f'{name} use base unit "seconds" instead of "milliseconds"' for name in known_names() if re.match(r"rocketmq_\w+_milliseconds$", name)}
    assert set(told.stderr.splitlines()) <= named_by_the_original, set(told.stderr.splitlines()) - named_by_the_original
    wrong = promtool(["check", "metrics"], text + "# TYPE skylark_wrong_milliseconds counter\nskylark_wrong_milliseconds 1\n")
    assert "skylark_wrong_milliseconds" in wrong.stderr, "the checker looks at the page"
    (configuration,) = re.findall(r"^```yaml\n(scrape_configs:.*?)^```", (ROOT / "docs/metrics.md").read_text(), re.M | re.S)
    (folder / "prometheus.yml").write_text(configuration)
    told = promtool(["check", "config", folder / "prometheus.yml"])
    assert told.returncode == 0, told.stdout + told.stderr


def a_port_of_pages_that_is_taken_is_named(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = skylark.server(BINARY, folder, ["metricsExporterType=PROM", "metricsPromExporterHost=127.0.0.1", f"metricsPromExporterPort={port}"])
        process.start_unwatched()
        assert process.child.wait(20) == 1
        log = process.log.read_text()
        assert f"{port}" in log and "in use" in log and "metricsPromExporterPort" in log, log


def names_of_metrics_in_the_documentation_and_the_dashboard_are_those_that_are_served(folder):
    told = re.findall(r"^\| `((?:rocketmq|skylark)_\w+)` \|", (ROOT / "docs/metrics.md").read_text(), re.M)
    assert sorted(told) == sorted(known_names()), set(told) ^ known_names()
    asked = set()
    for panel in json.loads((ROOT / "deploy/grafana/skylark.json").read_text())["panels"]:
        for target in panel.get("targets", []):
            asked |= set(re.findall(r"\b((?:rocketmq|skylark)_\w+)", target["expr"]))
    histograms = {re.sub(r"_(bucket|count|sum)$", "", name) for name in asked}
    assert asked and histograms <= known_names(), histograms - known_names()


def told(process, word):
    return process.log.read_text().count(word)


def sends_metrics_to_a_collector_until_the_end_and_tells_once_that_it_is_away(folder):
    there = collector.Collector()
    process = skylark.server(BINARY, folder, ["metricsExporterType=OTLP_GRPC", f"metricsGrpcExporterTarget=http://127.0.0.1:{there.port}",
                                              "metricGrpcExporterIntervalInMills=200", "metricsExportBatchMaxDataPoints=10", "metricsLabel=dc:d1"])
    process.start()
    caller = load.Caller(process.broker_port)
    for _ in range(3):
        assert caller.call(310, SEND, b"x")[0]["code"] == 0
    seen = {"topic": "Seen", "message_type": "normal", "is_system": False, "node_type": "broker", "dc": "d1"}
    skylark.wait_for("the collector to know three messages", lambda: there.value("rocketmq_messages_in_total", **seen) == 3)
    latency = {"request_code": "send_message_v2", "node_type": "broker"}
    skylark.wait_for("how long they took", lambda: there.value("rocketmq_rpc_latency", **latency) == 3)
    skylark.wait_for("the proxy", lambda: there.value("rocketmq_proxy_up", node_type="proxy") == 1)
    skylark.wait_for("the name server", lambda: there.value("skylark_namesrv_brokers", node_type="nameserver") == 1)
    assert there.kinds["rocketmq_messages_in_total"] == ("sum", "", 2), there.kinds
    assert there.kinds["rocketmq_rpc_latency"] == ("histogram", "milliseconds", 2), there.kinds
    assert there.kinds["rocketmq_proxy_up"][0] == "gauge"
    outside = {name + ("_" + unit if unit else "") for name, (_, unit, _) in there.kinds.items()}
    assert outside <= known_names() and not told(process, "metrics.not_sent"), outside - known_names()
    assert caller.call(310, SEND, b"x")[0]["code"] == 0
    caller.close()
    assert process.stop(), process.log.read_text()   # what came since the last time is told
    assert there.value("rocketmq_messages_in_total", **seen) == 4
    there.close()
    process.start()
    skylark.wait_for("the log to tell of a collector that is away", lambda: told(process, "metrics.not_sent"))
    assert process.stop() and told(process, "metrics.not_sent") == 1


def logs_metrics_and_names_a_target_that_is_none(folder):
    process = skylark.server(BINARY, folder, ["metricsExporterType=LOG", "metricLoggingExporterIntervalInMills=100", "metricsInDelta=true"])
    process.start()
    caller = load.Caller(process.broker_port)
    for _ in range(3):
        assert caller.call(310, SEND, b"x")[0]["code"] == 0
    line = re.compile(r"metrics\.value name=rocketmq_messages_in_total value=(\d+) aggregation=\"delta\" .*topic=\"Seen\"")
    skylark.wait_for("three messages in the log", lambda: sum(map(int, line.findall(process.log.read_text()))) == 3)
    caller.close()
    assert process.stop()
    process = skylark.server(BINARY, folder, ["metricsExporterType=OTLP_GRPC", "metricsGrpcExporterTarget=http://:1"])
    process.start_unwatched()
    assert process.child.wait(20) == 1
    assert "metricsGrpcExporterTarget must be http://HOST:PORT" in process.log.read_text()


def a_server_whose_requests_must_be_signed_has_no_proxy(folder):
    process = skylark.server(BINARY, folder, ["authenticationEnabled=true"])
    process.start_unwatched()
    assert process.child.wait(20) == 1
    assert "authenticationEnabled=true needs proxyEnable=false" in process.log.read_text()


def run(*arguments):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=20)
    return done.returncode, done.stdout, done.stderr


def lists_explains_and_checks_configuration_keys(folder):
    status, out, _ = run("config", "list", "--markdown")
    assert status == 0 and out == (ROOT / "docs/configuration.md").read_text(), "docs/configuration.md is not what `skylark config list --markdown` prints"
    status, out, _ = run("config", "list", "--for", "proxy")
    assert status == 0 and "grpcServerPort" in out and "fileReservedTime" not in out, out[:300]
    status, out, _ = run("config", "explain", "slowRequestMillis")
    assert status == 0 and "in ms" in out and "0 to 86400000" in out and "while running" in out, out
    assert run("config", "explain", "sendMessageThreadPoolNums")[1].count("no effect here") == 1
    status, _, err = run("config", "explain", "flushDiskTipe")
    assert status == 1 and "did you mean flushDiskType?" in err, err
    conf = folder / "broker.conf"
    conf.write_text("brokerName=b\nflushDiskTipe=X\nfileReservedTime=abc\nsendMessageThreadPoolNums=3\nlistenPort=10921\n")
    status, out, _ = run("config", "check", conf, "--for", "broker")
    assert status == 1 and "line 2: unknown key flushDiskTipe; did you mean flushDiskType?" in out and "line 3: fileReservedTime must be a number" in out, out
    assert "line 4: sendMessageThreadPoolNums" in out and "changes    listenPort=10921" in out and "2 wrong, 1 without effect" in out, out
    conf.write_text("listenPort=10921\n")
    assert run("config", "check", conf)[0] == 0
    other = folder / "rmq-proxy.json"
    other.write_text('{"grpcServerPort": 8082, "nobody": 1}')
    status, out, _ = run("config", "check", other, "--for", "proxy")
    assert status == 1 and "unknown key nobody" in out and "changes    grpcServerPort=8082" in out, out
    status, _, err = run("config", "check", folder / "absent")
    assert status == 1 and "absent" in err, err
    for command in ("list", "explain", "check"):
        status, out, _ = run("config", command, "--help")
        assert status == 0 and f"usage: skylark config {command}" in out and "Examples:" in out, out
        assert run("config", command, "a", "b")[0] == 2 and f"  {command} " in run("config", "--help")[1]


def slow_request_ms(caller):
    _, body = caller.call(26, {})
    return int(re.search(rb"^slowRequestMillis=(\d+)$", body, re.M).group(1))


def keeps_what_was_changed_while_running_in_its_file(folder):
    port = skylark.free_ports(1, together=4)[0] + 2
    conf = skylark.broker_conf(folder, port, ["slowRequestMillis=500"])
    broker = skylark.Process([BINARY, "broker", "-c", conf, "--data", folder / "data"], [port], folder / "log").start()
    caller = load.Caller(port)
    assert slow_request_ms(caller) == 500
    header, _ = caller.call(25, {}, b"slowRequestMillis=x\n")
    assert header["code"] == 29 and "slowRequestMillis must be a number" in header["remark"], header
    assert caller.call(25, {}, b"slowRequestMillis=750\n")[0]["code"] == 0 and slow_request_ms(caller) == 750
    caller.close()
    assert broker.stop() and "slowRequestMillis=750\n" in conf.read_text(), conf.read_text()
    broker.start()
    caller = load.Caller(port)
    assert slow_request_ms(caller) == 750
    caller.close()
    assert broker.stop()
