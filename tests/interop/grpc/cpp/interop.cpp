// The official C++ SDK against the server. Every scenario has its own topic and group, and ignores messages of earlier runs. Prints
// 'ok   NAME' or 'FAIL NAME: why' for each, and ends with 'N passed, N failed'. Names given as arguments choose.
#include <rocketmq/FifoProducer.h>
#include <rocketmq/Logger.h>
#include <rocketmq/Producer.h>
#include <rocketmq/PushConsumer.h>
#include <rocketmq/SimpleConsumer.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <unistd.h>

using namespace ROCKETMQ_NAMESPACE;
using namespace std::chrono_literals;
using std::string;
using std::vector;
using Clock = std::chrono::system_clock;
using Names = vector<string>;

namespace {

string topic(const string &s) { return "gr_cpp_" + s; }
string group(const string &s) { return "gr_cpp_g_" + s; }

string unique()
{
    static std::atomic<int> n{0};
    return std::to_string(Clock::now().time_since_epoch().count()) + "-" + std::to_string(n++);
}

void expect(bool holds, const string &what)
{
    if (!holds) throw std::runtime_error(what);
}

void expect_ok(const std::error_code &ec, const string &what) { expect(!ec, what + ": " + ec.message() + " (" + std::to_string(ec.value()) + ")"); }

double slack()
{
    const char *text = getenv("SLACK");
    return text ? atof(text) : 1;
}

Configuration configuration(std::chrono::milliseconds timeout = 10s)
{
    const char *endpoint = getenv("GRPC_ENDPOINT");
    return Configuration::newBuilder().withEndpoints(endpoint ? endpoint : "127.0.0.1:8081").withSsl(false).withRequestTimeout(timeout).build();
}

// Clients live until the process ends: releasing one while its calls are under way ends the process now and then ("pure virtual method called").
template <class Client> Client &keep(Client client) { return *new Client(std::move(client)); }

Producer &producer(const string &s, TransactionChecker checker = nullptr)
{
    auto b = Producer::newBuilder();
    b.withConfiguration(configuration()).withTopics({topic(s)});
    if (checker) b.withTransactionChecker(checker);
    return keep(b.build());
}

SimpleConsumer &consumer(const string &s, FilterExpression filter = FilterExpression("*"))
{
    return keep(SimpleConsumer::newBuilder().withConfiguration(configuration()).withGroup(group(s)).subscribe(topic(s), filter).withAwaitDuration(5s).build());
}

MessageBuilder message(const string &s, const string &body)
{
    auto b = Message::newBuilder();
    b.withTopic(topic(s)).withBody(body);
    return b;
}

SendReceipt send(Producer &p, MessageConstPtr m)
{
    std::error_code ec;
    auto receipt = p.send(std::move(m), ec);
    expect_ok(ec, "send");
    expect(!receipt.message_id.empty(), "a receipt without an id");
    return receipt;
}

void ack(SimpleConsumer &c, const Message &m)
{
    std::error_code ec;
    c.ack(m, ec);
    expect_ok(ec, "ack");
}

// What the next receive brings; nothing new is no error of ours.
vector<MessageConstSharedPtr> receive(SimpleConsumer &c, std::chrono::milliseconds invisible)
{
    vector<MessageConstSharedPtr> got;
    std::error_code ec;
    c.receive(16, invisible, ec, got);
    return got;
}

// Receives until all of these bodies came, acknowledging whatever comes unless told not to. In the order in which they came.
vector<MessageConstSharedPtr> take(SimpleConsumer &c, const Names &bodies, bool acknowledge = true, std::chrono::milliseconds invisible = 60s)
{
    vector<MessageConstSharedPtr> mine;
    auto end = Clock::now() + 90s;
    while (mine.size() < bodies.size() && Clock::now() < end) {
        for (auto &m : receive(c, invisible)) {
            bool wanted = std::find(bodies.begin(), bodies.end(), m->body()) != bodies.end();
            if (wanted) mine.push_back(m);
            if (acknowledge || !wanted) ack(c, *m);
        }
    }
    expect(mine.size() == bodies.size(), std::to_string(mine.size()) + " of " + std::to_string(bodies.size()) + " messages came");
    return mine;
}

Names bodies_of(const vector<MessageConstSharedPtr> &messages)
{
    Names out;
    for (auto &m : messages) out.push_back(m->body());
    return out;
}

// Bodies that a listener saw, and who waits for them.
class Seen {
public:
    int add(const string &body)
    {
        std::lock_guard<std::mutex> hold(lock_);
        order_.push_back(body);
        changed_.notify_all();
        return ++times_[body];
    }
    void wait_for(const Names &bodies, int times = 1)
    {
        std::unique_lock<std::mutex> hold(lock_);
        bool all = changed_.wait_for(hold, 90s, [&] {
            return std::all_of(bodies.begin(), bodies.end(), [&](auto &b) { return times_[b] >= times; });
        });
        expect(all, "a listener did not get all messages");
    }
    // Those of these bodies, as they came.
    Names order(const Names &of)
    {
        std::lock_guard<std::mutex> hold(lock_);
        Names out;
        for (auto &b : order_)
            if (std::find(of.begin(), of.end(), b) != of.end()) out.push_back(b);
        return out;
    }

private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::map<string, int> times_;
    Names order_;
};

PushConsumer &push_consumer(const string &s, MessageListener listener, FilterExpression filter = FilterExpression("*"))
{
    return keep(PushConsumer::newBuilder()
        .withConfiguration(configuration()).withGroup(group(s)).withConsumeThreads(4).withListener(listener).subscribe(topic(s), filter).build());
}

Names uniques(int n)
{
    Names out;
    while (n--) out.push_back(unique());
    return out;
}

// --- producers ---

void a_message_keeps_all_it_carries()
{
    string body = "Füße 漢字 🚀 " + unique();
    auto &c = consumer("send");
    auto &p = producer("send");
    auto receipt = send(p, message("send", body).withTag("Tag-ü").withKeys({"k1", "schlüssel"}).withProperties({{"a", "1"}, {"ünï", "wérte 漢字"}}).build());
    auto m = take(c, {body})[0];
    expect(m->id() == receipt.message_id, "id " + m->id() + " instead of " + receipt.message_id);
    expect(m->tag() == "Tag-ü", "tag " + m->tag());
    expect(m->keys() == Names({"k1", "schlüssel"}), "keys");
    expect(m->properties().count("ünï") && m->properties().at("ünï") == "wérte 漢字", "properties");
    expect(m->extension().delivery_attempt == 1, "attempt " + std::to_string(m->extension().delivery_attempt));
}

void asynchronous_sends_are_all_there()
{
    Seen sent;
    auto want = uniques(40);
    auto &c = consumer("async");
    auto &p = producer("async");
    for (auto &body : want)
        p.send(message("async", body).build(), [&sent, body](const std::error_code &ec, SendReceipt &&) { sent.add(ec ? "failed: " + ec.message() : body); });
    sent.wait_for(want);
    take(c, want);
}

void a_message_group_keeps_its_order()
{
    auto want = uniques(12);
    string g = unique();
    auto &c = consumer("fifo");
    auto &p = producer("fifo");
    for (auto &body : want) send(p, message("fifo", body).withGroup(g).build());
    expect(bodies_of(take(c, want)) == want, "another order");
}

void a_producer_of_groups_and_a_listener_keep_the_order()
{
    auto want = uniques(30);
    string g = unique();
    Seen sent, seen;
    auto &c = push_consumer("pfifo", [&](const Message &m) { seen.add(m.body()); return ConsumeResult::SUCCESS; });
    auto &p = keep(FifoProducer::newBuilder().withConfiguration(configuration()).withTopics({topic("pfifo")}).withConcurrency(2).build());
    for (auto &body : want)
        p.send(message("pfifo", body).withGroup(g).build(), [&sent, body](const std::error_code &ec, SendReceipt &&) { sent.add(ec ? ec.message() : body); });
    sent.wait_for(want);
    seen.wait_for(want);
    c.shutdown();
    expect(seen.order(want) == want, "another order");
}

void a_delayed_message_comes_at_its_time()
{
    string body = unique();
    auto &c = consumer("delay");
    auto &p = producer("delay");
    auto at = Clock::now() + 6s;
    send(p, message("delay", body).availableAfter(at).build());
    take(c, {body});
    double off = std::abs(std::chrono::duration<double>(Clock::now() - at).count());
    expect(off <= 1.5 * slack(), "off by " + std::to_string(off) + " s");
}

void a_recalled_message_does_not_come()
{
    if (!getenv("RECALL_ENABLED") || strcmp(getenv("RECALL_ENABLED"), "1")) return;
    string gone = unique(), stays = unique(), name = topic("recall");
    auto &c = consumer("recall");
    auto &p = producer("recall");
    auto at = Clock::now() + 8s;
    auto receipt = send(p, message("recall", gone).availableAfter(at).build());
    expect(!receipt.recall_handle.empty(), "no handle");
    std::error_code ec;
    p.recall(name, receipt.recall_handle, ec);
    expect_ok(ec, "recall");
    send(p, message("recall", stays).availableAfter(at + 2s).build());
    for (auto end = Clock::now() + 60s; Clock::now() < end;) {
        for (auto &m : receive(c, 60s)) {
            ack(c, *m);
            expect(m->body() != gone, "it came");
            if (m->body() == stays) return;
        }
    }
    expect(false, "the other one did not come");
}

void transactions_are_committed_and_rolled_back()
{
    string kept = unique(), dropped = unique();
    auto &c = consumer("tx");
    auto &p = producer("tx", [](const Message &) { return TransactionState::ROLLBACK; });
    for (auto &body : {dropped, kept}) {
        std::error_code ec;
        auto t = p.beginTransaction();
        p.send(message("tx", body).build(), ec, *t);
        expect_ok(ec, "send");
        expect(body == kept ? t->commit() : t->rollback(), "the end of the transaction");
    }
    take(c, {kept});
    for (auto &m : receive(c, 60s)) expect(m->body() != dropped, "what was rolled back came");
}

void an_orphaned_transaction_is_asked_about()
{
    string body = unique();
    Seen &asked = *new Seen;
    auto &c = consumer("txcheck");
    auto &p = producer("txcheck", [&asked](const Message &m) { asked.add(m.body()); return TransactionState::COMMIT; });
    std::error_code ec;
    auto t = p.beginTransaction();
    p.send(message("txcheck", body).build(), ec, *t);
    expect_ok(ec, "send");
    asked.wait_for({body});
    take(c, {body});
}

void a_wrong_type_and_an_unknown_topic_are_refused()
{
    auto &p = producer("send");
    std::error_code ec;
    p.send(message("send", "x").withGroup("g").build(), ec);
    expect(bool(ec), "a message with a group was taken");
    ec.clear();
    p.send(Message::newBuilder().withTopic("gr_cpp_there_is_no_such_topic").withBody("x").build(), ec);
    expect(bool(ec), "a message for an unknown topic was taken");
}

void a_priority_is_carried()
{
    string body = unique();
    auto &c = consumer("prio");
    auto &p = producer("prio");
    send(p, message("prio", body).withPriority(3).build());
    auto m = take(c, {body})[0];
    expect(m->priority() == 3, "priority " + std::to_string(m->priority()));
}

// --- consumers ---

void a_listener_gets_each_message_once()
{
    auto want = uniques(60);
    Seen seen;
    auto &c = push_consumer("push", [&](const Message &m) { seen.add(m.body()); return ConsumeResult::SUCCESS; });
    auto &p = producer("push");
    for (auto &body : want) send(p, message("push", body).build());
    seen.wait_for(want);
    c.shutdown();
    expect(seen.order(want).size() == want.size(), "some came twice");
}

void what_a_listener_failed_to_consume_comes_again()
{
    string body = unique();
    Seen seen;
    std::atomic<int> attempt{0};
    auto &c = push_consumer("retry", [&](const Message &m) {
        if (m.body() != body) return ConsumeResult::SUCCESS;
        attempt = m.extension().delivery_attempt;
        return seen.add(body) < 2 ? ConsumeResult::FAILURE : ConsumeResult::SUCCESS;
    });
    auto &p = producer("retry");
    send(p, message("retry", body).build());
    seen.wait_for({body}, 2);
    c.shutdown();
    expect(attempt == 2, "attempt " + std::to_string(attempt));
}

void expiry_of_the_invisible_time_brings_the_message_again()
{
    string body = unique();
    auto &c = consumer("invis");
    auto &p = producer("invis");
    send(p, message("invis", body).build());
    auto first = take(c, {body}, false, 10s)[0];
    auto again = take(c, {body})[0];
    expect(first->extension().delivery_attempt == 1 && again->extension().delivery_attempt == 2, "attempts");
    expect(first->id() == again->id(), "another id");
}

void a_changed_invisible_time_holds()
{
    string body = unique();
    auto &c = consumer("change");
    auto &p = producer("change");
    send(p, message("change", body).build());
    auto m = take(c, {body}, false, 60s)[0];
    string handle = m->extension().receipt_handle, before = handle;
    std::error_code ec;
    auto begun = Clock::now();
    c.changeInvisibleDuration(*m, handle, 10s, ec);
    expect_ok(ec, "changeInvisibleDuration");
    expect(!handle.empty() && handle != before, "no new handle");
    auto again = take(c, {body})[0];
    auto waited = Clock::now() - begun;
    expect(again->extension().delivery_attempt == 2, "attempt");
    expect(waited > 8s && waited < 40s, "it came after " + std::to_string(waited / 1s) + " s");
}

// The messages with these tags and numbers that `filter` lets through; all of them, and nothing else.
void expect_filtered(const string &s, FilterExpression filter)
{
    string run = unique();
    auto &c = consumer(s, filter);
    auto &p = producer(s);
    Names want;
    for (int i = 0; i < 12; i++) {
        bool wanted = i % 3 == 0;
        string body = run + (wanted ? " wanted " : " other ") + std::to_string(i);
        send(p, message(s, body).withTag(wanted ? "A" : "B").withProperties({{"n", std::to_string(wanted ? 10 : 1)}}).build());
        if (wanted) want.push_back(body);
    }
    for (auto &m : take(c, want)) expect(m->tag() == "A", "tag " + m->tag());
    for (auto &m : receive(c, 60s)) expect(m->body().find(run + " other") == string::npos, "a message that does not match came");
}

void tags_choose() { expect_filtered("tag", FilterExpression("A || C")); }
void sql_chooses() { expect_filtered("sql", FilterExpression("n > 5 AND TAGS = 'A'", ExpressionType::SQL92)); }

void two_consumers_of_a_group_get_distinct_messages()
{
    auto want = uniques(40);
    Seen seen;
    auto listener = [&](const Message &m) { seen.add(m.body()); return ConsumeResult::SUCCESS; };
    auto &a = push_consumer("share", listener), &b = push_consumer("share", listener);
    auto &p = producer("share");
    for (auto &body : want) send(p, message("share", body).build());
    seen.wait_for(want);
    a.shutdown();
    b.shutdown();
    expect(seen.order(want).size() == want.size(), "some came twice");
}

void asynchronous_receives_and_acknowledgements_work()
{
    string body = unique();
    auto &c = consumer("batch");
    auto &p = producer("batch");
    send(p, message("batch", body).build());
    Seen acked;
    for (auto end = Clock::now() + 60s; Clock::now() < end;) {
        Seen answered;
        c.asyncReceive(16, 60s, [&](const std::error_code &, const vector<MessageConstSharedPtr> &got) {
            for (auto &m : got) {
                string b = m->body();
                c.asyncAck(*m, [&acked, b](const std::error_code &ec) { acked.add(ec ? ec.message() : b); });
            }
            answered.add("it");
        });
        answered.wait_for({"it"});
        if (!acked.order({body}).empty()) break;
    }
    acked.wait_for({body});
}

struct Scenario {
    const char *name;
    void (*run)();
};
#define SCENARIO(name) {#name, name}
const Scenario scenarios[] = {
    SCENARIO(an_orphaned_transaction_is_asked_about),
    SCENARIO(expiry_of_the_invisible_time_brings_the_message_again),
    SCENARIO(a_changed_invisible_time_holds),
    SCENARIO(what_a_listener_failed_to_consume_comes_again),
    SCENARIO(a_recalled_message_does_not_come),
    SCENARIO(a_delayed_message_comes_at_its_time),
    SCENARIO(transactions_are_committed_and_rolled_back),
    SCENARIO(tags_choose),
    SCENARIO(sql_chooses),
    SCENARIO(a_message_keeps_all_it_carries),
    SCENARIO(asynchronous_sends_are_all_there),
    SCENARIO(a_message_group_keeps_its_order),
    SCENARIO(a_producer_of_groups_and_a_listener_keep_the_order),
    SCENARIO(a_wrong_type_and_an_unknown_topic_are_refused),
    SCENARIO(a_priority_is_carried),
    SCENARIO(a_listener_gets_each_message_once),
    SCENARIO(two_consumers_of_a_group_get_distinct_messages),
    SCENARIO(asynchronous_receives_and_acknowledgements_work),
};

std::atomic<int> passed{0}, failed{0};

void run(const Scenario &s)
{
    try {
        s.run();
        passed++;
        printf("ok   %s\n", s.name);
    } catch (const std::exception &e) {
        failed++;
        printf("FAIL %s: %s\n", s.name, e.what());
    }
    fflush(stdout);
}

}   // namespace

int main(int argc, char **argv)
{
    auto &logger = getLogger();
    logger.setConsoleLevel(Level::Error);
    logger.setLevel(Level::Info);
    logger.init();
    vector<Scenario> chosen;
    for (auto &s : scenarios)
        if (argc < 2 || std::find(argv + 1, argv + argc, string(s.name)) != argv + argc) chosen.push_back(s);
    std::atomic<size_t> next{0};
    vector<std::thread> threads;   // most of them wait
    for (int i = 0; i < 6; i++)
        threads.emplace_back([&] {
            for (size_t at; (at = next++) < chosen.size();) run(chosen[at]);
        });
    for (auto &t : threads) t.join();
    printf("%d passed, %d failed\n", passed.load(), failed.load());
    fflush(stdout);
    _exit(failed || !passed);   // what the SDK does at its end is not asked
}
