"""`skylark admin` against a real server: every command once, its JSON against tests/cli/admin_schema.json, terminals, profiles, completion."""
import json
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import fcntl
import termios
import time

from crash import load
from kit import peers, skylark

HERE = pathlib.Path(__file__).resolve().parent
BINARY = sys.argv[1]
REFERENCE = HERE.parent.parent / "docs" / "reference" / "admin.md"
SCHEMA = json.loads((HERE / "admin_schema.json").read_text()) if (HERE / "admin_schema.json").exists() else {}


def call(*arguments, env=None):
    done = subprocess.run([BINARY, "admin", *map(str, arguments)], capture_output=True, text=True, timeout=30, env={**os.environ, **(env or {})})
    return done.returncode, done.stdout, done.stderr


# --- JSON against its schema: {"member": TYPE}; TYPE is text, number, flag, [TYPE], or {"column": TYPE}; everything may be null ---

def fits(value, kind):
    if value is None:
        return True
    if isinstance(kind, list):
        return isinstance(value, list) and all(fits(v, kind[0]) for v in value)
    if isinstance(kind, dict):
        return isinstance(value, dict) and all(name in kind and fits(v, kind[name]) for name, v in value.items())
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, str)


def expect_schema(name, document):
    kind = SCHEMA.get(name)
    assert kind, f"{name} is not in admin_schema.json"
    for member, value in document.items():
        if member not in kind and "*" in kind:
            assert fits(value, kind["*"]), (name, member, value)
            continue
        assert member in kind, f"{name}: member {member} is not in admin_schema.json"
        assert fits(value, kind[member]), (name, member, value)


# --- a server with something in it ---

def send(caller, topic, key, body=b"a message", tag="red", keys=None, sys_flag=0, more=None):
    return send_all_told(caller, topic, key, body, tag, keys, sys_flag, more)["msgId"]


def send_all_told(caller, topic, key, body=b"a message", tag="red", keys=None, sys_flag=0, more=None):
    properties = {"UNIQ_KEY": key, "TAGS": tag, "KEYS": keys or f"k-{key}", **(more or {})}
    text = "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
    header, _ = caller.call(load.SEND_V2, {"a": "P", "b": topic, "c": "TBW102", "d": "4", "e": "0", "f": str(sys_flag), "g": "1796042445070", "h": "0", "i": text}, body)
    assert header["code"] == 0, header
    return header["extFields"]


def heartbeat(caller):
    consumer = {"consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "consumeType": "CONSUME_PASSIVELY", "groupName": "billing", "messageModel": "CLUSTERING", "unitMode": False,
                "subscriptionDataSet": [{"classFilterMode": False, "codeSet": [], "expressionType": "TAG", "subString": "*", "subVersion": 1, "tagsSet": [], "topic": "Orders"}]}
    body = {"clientID": "10.0.0.1@7", "consumerDataSet": [consumer], "heartbeatFingerprint": 0, "producerDataSet": [{"groupName": "P"}], "withoutSub": False}
    header, _ = caller.call(34, {}, json.dumps(body).encode())
    assert header["code"] == 0, header


class World:
    def __init__(self, folder):
        self.process = skylark.server(BINARY, folder, ["brokerName=b-1", "enableLmq=true", "enableMultiDispatch=true", "recallMessageEnable=true"]).start()
        self.broker, self.namesrv = self.process.broker, self.process.namesrv
        skylark.wait_for("the broker at the name server", lambda: call("topic", "create", "Orders", "--queues", 2, "-n", self.namesrv)[0] == 0)
        self.caller = load.Caller(self.process.broker_port)
        self.ids = [send(self.caller, "Orders", f"KEY{n}") for n in range(3)]
        send(self.caller, "Traces", "TRACE1", "\x01".join(["Pub", "1796042445070", "R", "P", "Orders", "KEY1", "red", "", "h:1", "9", "7", "0", "OFF", "true"]).encode() + b"\x02", keys="KEY1")
        heartbeat(self.caller)
        self.member = peers.Member(self.process.broker_port, "shipping")
        self.folder, self.count = folder, 0

    def extend(self):
        """What commands look at that few tests need: lite topics, a dead letter, a half message, a file of a compacted topic, a broker with epochs."""
        assert call("updateTopic", "-t", "Chats", "-b", self.broker, "-a", "+message.type=LITE", "-n", self.namesrv)[0] == 0
        assert call("updateSubGroup", "-g", "chatters", "-b", self.broker, "--attributes", "+lite.bind.topic=Chats", "-n", self.namesrv)[0] == 0
        skylark.wait_for("the route of a topic with lite topics", lambda: call("topicRoute", "-t", "Chats", "-n", self.namesrv)[0] == 0)
        send(self.caller, "Chats", "LITE1", more={"__LITE_TOPIC": "room-1"})
        subscription = {"action": "PARTIAL_ADD", "clientId": "10.0.0.3@9", "group": "chatters", "topic": "Chats", "liteTopicSet": ["room-1"], "version": 1}
        header, _ = self.caller.call(200071, {}, json.dumps({"subscriptionSet": [subscription]}).encode())
        assert header["code"] == 0, header
        send(self.caller, "%DLQ%billing", "DEAD1", more={"DLQ_ORIGIN_TOPIC": "Orders", "DLQ_ORIGIN_MESSAGE_ID": "KEY1", "RETRY_TOPIC": "Orders"})
        send(self.caller, "Orders", "HALF1", sys_flag=4, more={"TRAN_MSG": "true", "PGROUP": "P"})
        fields = {"consumerGroup": "readers", "topic": "Orders", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "4", "commitOffset": "0",
                  "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "1", "expressionType": "TAG"}
        header, records = self.caller.call(load.PULL, fields)
        assert header["code"] == 0, header
        offset = {"consumerGroup": "shipping", "topic": "Orders", "queueId": "0", "commitOffset": "0"}
        assert self.caller.call(15, offset)[0]["code"] == 0
        (self.folder / "compacted").write_bytes(records + bytes(4096))
        (self.folder / "secret.txt").write_text("pass word\n")
        assert call("user", "create", "alice", "--password", "secret", "-n", self.namesrv)[0] == 0
        self.epochs = peers.Server({1007: b'{"brokerId":0,"brokerName":"m","clusterName":"C","epochList":[{"endOffset":9,"epoch":1,"startOffset":0}],"maxOffset":9}'})

    def words(self, line):
        """What differs is filled in anew each time."""
        handle = ""
        if "{handle}" in line:
            handle = send_all_told(self.caller, "Orders", "LATER", more={"TIMER_DELIVER_MS": str(int(time.time() * 1000) + 600000)})["recallHandle"]
        epochs = self.epochs.address if "{epochs}" in line else ""
        self.count += 1
        topic, group = f"Topic{self.count}", f"group{self.count}"
        if "{topic}" in line:
            assert call("topic", "create", topic, "-n", self.namesrv)[0] == 0
        if "{group}" in line:
            assert call("group", "create", group, "-n", self.namesrv)[0] == 0
        user = f"user{self.count}"
        if "{user}" in line:
            assert call("user", "create", user, "--password", "x", "-n", self.namesrv)[0] == 0
            assert call("acl", "create", user, "--resources", "Topic:T", "--actions", "Pub", "--decision", "Allow", "-n", self.namesrv)[0] == 0
        perm = 4 if self.count % 2 else 2
        return [w.format(fresh=f"Fresh{self.count}", topic=topic, group=group, user=user, perm=perm, broker=self.broker, id=self.ids[0], handle=handle, epochs=epochs, file=self.folder / "topics.json", groups=self.folder / "groups.json", secret=self.folder / "secret.txt",
                         folder=self.folder) for w in line.split()]

    def run(self, line, status=0):
        """The text and the JSON of a command; Python's format fills in what differs."""
        words = self.words(" ".join(line))
        words += [] if "-n" in words else ["-n", self.namesrv]
        got, out, err = call(*words)
        assert got == status and (status or not err), (words, got, out, err)
        got, text, err = call(*words, "--json")
        assert got == status, (words, got, text, err)
        return out, json.loads(text) if text else None

    def stop(self):
        self.caller.close()
        self.member.close()
        assert self.process.stop()


# One line a command, with a part of what it prints; each is run twice, the second time for its JSON.
LINES = [
    ("topic create {fresh} --queues 3 --type FIFO", "readQueueNums   3"), ("topic list", "Orders"), ("topic describe Orders", "billing"),
    ("topic update {topic} --queues 5", "writeQueueNums  5"), ("topic delete {topic} --yes", "the topic is gone"),
    ("updateTopic -t A -b {broker} -r 4 -w 4 -o true", "order           true"), ("updateTopic -t B -c DefaultCluster", "readQueueNums   8"),
    ("topicList", "Orders\n"), ("topicList -c", "billing"), ("topicRoute -t Orders -l", "readQueues   2"), ("topicStatus -t Orders", "b-1         0        0          3"),
    ("topicClusterList -t Orders", "DefaultCluster\n"), ("allocateMQ -t Orders -i 1,2", "1   b-1         0"), ("updateTopicPerm -t A -c DefaultCluster -p {perm}", "RW-"),
    ("updateOrderConf -t A -m put -v b-1:4", "b-1:4"), ("updateOrderConf -t A -m get", "b-1:4"), ("updateOrderConf -t A -m delete", "name servers"),
    ("statsAll -t Orders", "billing"), ("deleteTopic -t {topic} -c DefaultCluster", "the topic is gone"), ("updateTopicList -c DefaultCluster -f {file}", "topics are there"),
    ("group create shop --retryMaxTimes 3", "the group is there"), ("group list", "billing   1      V5_5_0"), ("group describe billing", "10.0.0.1@7"),
    ("group reset-offset billing Orders --to beginning --dry-run", "b-1         0        0"), ("group reset-offset billing Orders --queue 0 --offset 1", "b-1         0        1"),
    ("group clone billing shop Orders", "Orders  b-1         0        1"), ("group delete {group} --yes", "the group is gone"),
    ("updateSubGroup -g g1 -c DefaultCluster -r 5", "the group is there"), ("updateSubGroupList -c DefaultCluster -f {groups}", "groups are there"),
    ("setConsumeMode -c DefaultCluster -t Orders -g billing -m POP", "the mode is set"), ("deleteSubGroup -g {group} -b {broker} -r true", "the group is gone"),
    ("consumerProgress", "billing"), ("consumerProgress -g billing", "Orders  b-1         0        3             1"), ("consumerConnection -g billing", "10.0.0.1@7"),
    ("producerConnection -g P -t Orders", "10.0.0.1@7"), ("producer -b {broker}", "P              10.0.0.1@7"), ("getConsumerConfig -g billing", "retryMaxTimes                   16"),
    ("resetOffsetByTime -g billing -t Orders -s 0", "b-1         0        0"), ("skipAccumulatedMessage -g billing -t Orders", "b-1         0        3"),
    ("consumerStatus -g shipping", "10.0.0.2@8  V5_5_0"), ("subscription check shipping", "subscriptionsAgree  true"),
    ("startMonitoring --interval 1 --rounds 1", "no findings"),
    ("getBrokerLiteInfo -b {broker} -d", "Chats  chatters"), ("getParentTopicInfo -p Chats", "b-1         -1   1"),
    ("getLiteTopicInfo -p Chats -l room-1 -s", "10.0.0.3@9  chatters"), ("getLiteClientInfo -p Chats -g chatters -c 10.0.0.3@9 -s", "room-1"),
    ("getLiteGroupInfo -p Chats -g chatters", "totalLagCount"), ("triggerLiteDispatch -p Chats -g chatters", "dispatched"),
    ("cloneGroupOffset -s billing -d other -t Orders", "Orders  b-1         0        3"), ("client list", "consumer  billing"),
    ("message show Orders KEY1", "body             a message"), ("message find Orders --key k-KEY1", "KEY1"), ("message send Orders hello", "SEND_OK"),
    ("message resend Orders KEY1", "SEND_OK"), ("queryMsgById -t Orders -i {id}", "KEY0"), ("queryMsgByKey -t Orders -k k-KEY2", "KEY2"),
    ("queryMsgById -t Orders -i {id} -g shipping -d 10.0.0.2@8", "CR_SUCCESS"), ("queryMsgById -t Orders -i {id},KEY1 -s true", "KEY1           b-1"),
    ("queryMsgByUniqueKey -t Orders -i KEY2 -g shipping -d 10.0.0.2@8", "KEY2   10.0.0.2@8  CR_SUCCESS"), ("queryMsgByUniqueKey -t Orders -i KEY2", "billing"), ("queryMsgByOffset -t Orders -b b-1 -i 0 -o 2", "KEY2"), ("printMsg -t Orders", "a message"),
    ("printMsgByQueue -t Orders -a b-1 -i 0 -f true -p true", "red"), ("consumeMessage -t Orders -c 2", "KEY1"), ("sendMessage -t Orders -p hi -b b-1 -i 1", "SEND_OK"),
    ("queryMsgTraceById -i KEY1 -t Traces", "Pub   P              127.0.0.1   2026-11-30T12:40:45.070Z  7          success"),
    ("checkMsgSendRT -t Orders -a 3", "avgRT"), ("sendMsgStatus -b b-1 -c 2", "SEND_OK"), ("clusterRT -a 3", "b-1"), ("queryCq -t Orders -q 0 -i 0 -c 2", "physicOffset"),
    ("decodeMessageId -i {id}", "commitLogOffset"), ("timer list", "no timers"), ("timer cancel Orders {handle}", "it will not be delivered"),
    ("dlq list", "billing"), ("dlq show billing", "DEAD1"), ("dlq resend billing DEAD1", "1"),
    ("transaction list", "HALF1"), ("transaction resume Orders HALF1", "asked for the outcome again"), ("dumpCompactionLog -f {folder}/compacted", "KEY1"), ("cluster status", "b-1"), ("clusterList -m", "b-1"), ("brokerStatus -b {broker}", "putTps"),
    ("brokerConsumeStats -b {broker}", "diffTotal"), ("haStatus -b {broker}", "masterCommitLogMaxOffset"), ("broker config get fileReservedTime", "72"),
    ("broker config set fileReservedTime 73", "it is set"), ("broker config diff", "same settings"), ("getBrokerConfig -b {broker}", "fileReservedTime"),
    ("updateBrokerConfig -c DefaultCluster -k fileReservedTime -v 72", "it is set"), ("getNamesrvConfig", "listenPort"),
    ("updateNamesrvConfig -k orderMessageEnable -v true", "127.0.0.1"), ("updateKvConfig -s N -k K -v V", "127.0.0.1"), ("deleteKvConfig -s N -k K", "127.0.0.1"),
    ("wipeWritePerm -b b-1", "127.0.0.1"), ("addWritePerm -b b-1", "127.0.0.1"), ("cleanExpiredCQ -b {broker}", "done"), ("cleanUnusedTopic -b {broker}", "done"),
    ("deleteExpiredCommitLog -b {broker}", "done"), ("resetMasterFlushOffset -b {broker} -o 0", "done"), ("getColdDataFlowCtrInfo -b {broker}", "configTable"),
    ("updateColdDataFlowCtrGroupConfig -b {broker} -g billing -v 1000000", "done"), ("removeColdDataFlowCtrGroupConfig -b {broker} -g billing", "done"),
    ("setCommitLogReadAheadMode -b {broker} -m 1", "done"), ("exportConfigs -c DefaultCluster -f {folder}", "configs.json"),
    ("exportMetadata -b {broker} -f {folder}", "metadata.json"), ("exportPopRecord -b {broker}", "in the log"),
    ("exportMetrics -c DefaultCluster -f {folder}", "metrics.json"), ("switchTimerEngine -b {broker} -e F", "the timer engine is switched"),
    ("checkRocksdbCqWriteProgress -c DefaultCluster", "under way"), ("rocksDBConfigToJson -b {broker}", "have written"),
    ("getBrokerEpoch --broker {epochs}", "epoch"), ("bundle {folder}/bundle.json", "bundle.json"),
    ("user create {fresh} --passwordFile {secret}", "the user is there"), ("user create alice{fresh} --password x", "the user is there"), ("user list", "Normal    enable"), ("user show alice", "b-1         alice"),
    ("user update alice --userStatus disable", "the user is changed"), ("createUser -b {broker} -u {fresh} -p x -t Super", "the user is there"),
    ("updateUser -c DefaultCluster -u alice -s enable", "the user is changed"), ("getUser -c DefaultCluster -u alice", "alice     Normal    enable"),
    ("listUser -b {broker} -f al", "alice"), ("copyUser -f {broker} -t {broker} -u alice,nobody", "nobody is not there"),
    ("acl create alice --resources Topic:Orders,Group:billing --actions Pub,Sub --decision Allow", "the permissions are there"), ("acl list", "Topic:Orders"),
    ("acl show alice", "Group:billing"), ("acl update alice --resources Topic:Orders --actions Pub --decision Deny", "the permissions are changed"),
    ("createAcl -b {broker} -s User:alice -r Topic:Other -a Sub -d Allow -i 10.0.0.7", "the permissions are there"),
    ("updateAcl -b {broker} -s User:alice -r Topic:Other -a All -d Allow", "the permissions are changed"), ("getAcl -b {broker} -s User:alice", "Topic:Other"),
    ("listAcl -c DefaultCluster -r Other", "Topic:Other"), ("copyAcl -f {broker} -t {broker}", "User:alice"), ("deleteAcl -b {broker} -s User:{user} -r Topic:T", "the permissions are gone"),
    ("acl delete {user} --yes", "the permissions are gone"), ("user delete {user} --yes", "the user is gone"), ("deleteUser -c DefaultCluster -u {user}", "the user is gone"),
    ("route diff", "no differences"), ("doctor", "healthy  true"), ("why queue billing Orders 0", "nobody has pulled"), ("why message Orders KEY1", "it lies"), ("why send Orders", "would be taken"),
]
# Those that fail here: what they say.
REFUSED = [
    *((f"{line} {{broker}}", "another kind or version") for line in (   # a broker of ours is neither a controller nor a container
        "getControllerMetaData -a", "getControllerConfig -a", "updateControllerConfig -k a -v b -a", "getSyncStateSet -b b-1 -a",
        "electMaster -b 1 -bn b-1 -c C -a", "cleanBrokerMetadata -bn b-1 -l -a", "addBroker -b x.conf -c", "removeBroker -b C:b-1:0 -c")),
    ("getBrokerEpoch -b b-1", "only for controllerMode"), ("consumerStatus -g billing", "no answer within"),
    ("subscription check billing", "no answer within"), ("timer cancel Orders x", "recallHandle"), ("dlq resend shipping --all", "no dead letters"),
    ("switchTimerEngine -c DefaultCluster -e R", "no RocksDB"), ("switchTimerEngine -c DefaultCluster -e X", "F .files. or R"),
    ("rocksDBConfigToJson -p /tmp", "cannot be read here"), ("queryMsgByUniqueKey -t Orders -i KEY2 -g shipping -d nobody", "nobody"),
    ("dumpCompactionLog -f /nowhere", "No such file"),
    ("transaction resume Orders KEY1", "no transaction of topic"), ("updateStaticTopic -t x", "no static topics"), ("user show nobody", "there is no user"), ("acl show nobody", "subject is not exist"), ("user create x", "wants a password"), ("topic create Orders", "already"),
]


def run_tail(world):
    """The JSON of `message tail`, which waits for what comes."""
    tail = subprocess.Popen([BINARY, "admin", "message", "tail", "Orders", "--limit", "1", "--json", "-n", world.namesrv], stdout=subprocess.PIPE, text=True)
    skylark.wait_for("the tail to print what comes", lambda: send(world.caller, "Orders", "LATE") and tail.poll() is not None)
    lots = [json.loads(line) for line in tail.stdout.read().splitlines()]
    assert tail.returncode == 0 and lots[0]["messages"][0]["msgId"] == "LATE", lots
    return lots[0]

def name_of(line):
    for words in (3, 2, 1):
        name = " ".join(line.split()[:words])
        if f"\n### {name}\n" in REFERENCE.read_text() or f"\n| {name} |" in REFERENCE.read_text():
            return name
    raise AssertionError(f"no command: {line}")


def admin_runs_each_command(folder):
    world = World(folder)
    world.extend()
    (folder / "topics.json").write_text('[{"topicName": "L1", "readQueueNums": 2, "writeQueueNums": 2, "perm": 6}]')
    (folder / "groups.json").write_text('[{"groupName": "LG"}]')
    seen, learned = set(), {}

    def look_at(name, document):
        if os.environ.get("LEARN"):
            learn(learned.setdefault(name, {}), document)
        else:
            expect_schema(name, document)

    for line, part in LINES:
        name = name_of(line)
        seen.add(name)
        status, out, err = call(*world.words(line), "-n", world.namesrv)
        assert status == 0 and not err and part in out, (line, status, out, err)
        status, text, err = call(*world.words(line), "-n", world.namesrv, "--json")
        assert status == 0 and not err, (line, status, text, err)
        document = {}
        for lot in text.splitlines():
            document.update(json.loads(lot))
        look_at(name, document)
    seen.add("message tail")
    look_at("message tail", run_tail(world))
    for line, part in REFUSED:
        seen.add(name_of(line))
        status, _, err = call(*world.words(line), "-n", world.namesrv, "--timeout", 1000)
        assert status != 0 and re.search(part, err), (line, status, err)
    if os.environ.get("LEARN"):
        (HERE / "admin_schema.json").write_text(json.dumps(learned, indent=1, sort_keys=True) + "\n")
    for name, why in re.findall(r"^\| (\w+) \| (.+) \|$", REFERENCE.read_text(), re.M)[1:]:
        assert call(name, "-n", world.namesrv) == (1, "", f"skylark admin {name}: {why}\n"), name
    commands = set(re.findall(r"^### (.+)$", REFERENCE.read_text(), re.M))
    assert commands <= seen, f"not run: {sorted(commands - seen)}"
    world.stop()


def learn(kind, document):
    """LEARN=1 writes the schema anew from what commands print; who does so reads the difference."""
    def kind_of(value):
        if isinstance(value, bool):
            return "flag"
        if isinstance(value, (int, float)):
            return "number"
        if isinstance(value, list):
            row = {}
            for v in value:
                if not isinstance(v, dict):
                    return [kind_of(v)]
                for k, x in v.items():
                    if x is not None or k not in row:
                        row[k] = kind_of(x)
            return [row or "text"]
        if isinstance(value, dict):
            return {k: kind_of(v) for k, v in value.items()}
        return "text"
    for member, value in document.items():
        kind[member] = kind_of(value)


def admin_reference_is_current(folder):
    status, out, _ = call("reference")
    assert status == 0 and out == REFERENCE.read_text(), "docs/reference/admin.md is not what 'skylark admin reference' prints"


# --- terminals ---

def on_terminal(columns, arguments, typed="", env=None):
    """What a command writes to a terminal of that width, and its exit status."""
    child, master = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        os.execve(BINARY, [BINARY, "admin", *arguments], {**os.environ, "TERM": "xterm", **(env or {})})
    out = b""
    if typed:
        while b"[y/N]" not in out:
            out += os.read(master, 4096)
        os.write(master, typed.encode())
    while True:
        try:
            ready, _, _ = select.select([master], [], [], 20)
            assert ready, "nothing more comes"
            part = os.read(master, 4096)
        except OSError:
            break   # the other end is closed
        if not part:
            break
        out += part
    os.close(master)
    return out.decode().replace("\r\n", "\n"), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def admin_fits_terminals(folder):
    world = World(folder)
    line = ["topicStatus", "-t", "Orders", "-n", world.namesrv]
    stored = re.compile(r"20\d\d-\d\d-\d\dT[0-9:.]+Z")
    wide, status = on_terminal(200, line)
    assert status == 0
    golden = ("\x1b[1mbrokerName  queueId  minOffset  maxOffset  lastUpdateTimestamp\x1b[0m\n"
              "b-1         0        0          3          TIME\nb-1         1        0          0          -\n\ntopicPutTps  RATE\n")
    assert re.sub(r"topicPutTps  [0-9.]+", "topicPutTps  RATE", stored.sub("TIME", wide)) == golden, wide
    plain = call(*line)[1]
    assert "\x1b" not in plain and stored.sub("TIME", plain).startswith("brokerName  queueId"), plain
    assert "\x1b" not in on_terminal(200, line, env={"NO_COLOR": "1"})[0]
    narrow, _ = on_terminal(80, ["topicRoute", "-t", "Orders", "-n", world.namesrv])
    assert narrow == (f"clusterName     DefaultCluster\nbrokerName      b-1\nbrokerAddrs     0:{world.broker}\nreadQueueNums   2\nwriteQueueNums  2\n"
                      "perm            RW-\ntopicSysFlag    0\n"), narrow
    wide, _ = on_terminal(200, ["topicRoute", "-t", "Orders", "-n", world.namesrv])
    assert "readQueueNums  writeQueueNums" in wide, wide
    for columns in (80, 200):
        for words in (["cluster", "status"], ["printMsg", "-t", "Orders"], ["group", "describe", "billing"], ["doctor"]):
            text, status = on_terminal(columns, [*words, "-n", world.namesrv])
            longest = max(len(re.sub(r"\x1b\[[0-9;]*[mK]", "", row)) for row in text.split("\r")[-1].splitlines())
            assert status == 0 and longest <= columns, (columns, words, longest, text)
    text, status = on_terminal(80, ["topic", "delete", "Orders", "-n", world.namesrv], "n\n")
    assert status == 1 and "It deletes the topic and all of its messages: Orders" in text and "nothing was done" in text, text
    text, status = on_terminal(80, ["topic", "delete", "Orders", "-n", world.namesrv], "y\n")
    assert status == 0 and "the topic is gone" in text, text
    world.stop()


# What a terminal of 80 and one of 200 columns shows, character by character; digits of times and ports are not compared. LEARN=1 writes it anew.
GOLDEN = HERE / "admin_terminals.json"
GOLDEN_LINES = [
    "getBrokerLiteInfo -b {broker} -d", "getParentTopicInfo -p Chats", "getLiteTopicInfo -p Chats -l room-1 -s", "getLiteClientInfo -p Chats -g chatters -c 10.0.0.3@9 -s",
    "getLiteGroupInfo -p Chats -g chatters", "getLiteGroupInfo -p Chats -g chatters -l room-1", "triggerLiteDispatch -p Chats -g chatters", "startMonitoring --rounds 1",
    "queryMsgById -t Orders -i {id} -g shipping -d 10.0.0.2@8", "dumpCompactionLog -f {folder}/compacted", "switchTimerEngine -b {broker} -e F",
    "checkRocksdbCqWriteProgress -c DefaultCluster", "rocksDBConfigToJson -b {broker}", "getBrokerEpoch --broker {epochs}",
]


def without_digits_of_moments(text):
    moments = r"20\d\d-\d\d-\d\dT[0-9:.]+Z|127\.0\.0\.1:\d+"
    return re.sub(moments, lambda m: re.sub(r"\d", "0", m.group()), text)


def admin_shows_terminals_what_it_should(folder):
    world = World(folder)
    world.extend()
    expected = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    learned = {}
    for line in GOLDEN_LINES:
        for columns in ("80", "200"):
            text, status = on_terminal(int(columns), [*world.words(line), "-n", world.namesrv])
            assert status == 0, (line, text)
            shown = without_digits_of_moments(text).splitlines()
            learned.setdefault(line, {})[columns] = shown
            assert os.environ.get("LEARN") or shown == expected[line][columns], (line, columns, shown)
    if os.environ.get("LEARN"):
        GOLDEN.write_text(json.dumps(learned, indent=1, sort_keys=True) + "\n")
    world.stop()


# --- what stands around a command ---

def admin_knows_profiles_and_completes(folder):
    world = World(folder)
    (folder / "profiles").write_text(f"# where\n[prod]\nnamesrv = {world.namesrv}\ntimeout = 2000\n")
    env = {"SKYLARK_PROFILES": str(folder / "profiles"), "NAMESRV_ADDR": "127.0.0.1:1"}
    assert "Orders" in call("topic", "list", "--profile", "prod", env=env)[1]
    assert "Orders" in call("topic", "list", env={**env, "SKYLARK_PROFILE": "prod"})[1]
    status, _, err = call("topic", "list", "--profile", "test", env=env)
    assert status == 2 and 'there is no profile "test"' in err, err
    status, _, err = call("topic", "list", env=env)
    assert status == 3 and "no name server answers" in err, err
    (folder / "c.sh").write_text(call("completion", "bash")[1])
    for words, expected in ((["topic", "de"], "describe delete"), (["topic", "create", "X", "--q"], "--queues"), (["wipe"], "wipeWritePerm"), (["updateTopic", "--br"], "--brokerAddr --broker")):
        script = f'source {folder}/c.sh; COMP_WORDS=(skylark admin {" ".join(words)}); COMP_CWORD={len(words) + 1}; _skylark_admin; echo "${{COMPREPLY[@]}}"'
        got = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=20)
        assert got.stdout.strip() == expected and not got.stderr, (words, got.stdout, got.stderr)
    status, out, _ = call("completion", "fish")
    assert status == 0 and "complete -c skylark" in out
    assert call("completion", "csh")[0] == 2
    world.stop()


__all__ = ["admin_runs_each_command", "admin_reference_is_current", "admin_fits_terminals", "admin_shows_terminals_what_it_should", "admin_knows_profiles_and_completes"]
