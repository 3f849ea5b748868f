/* Is all well: doctor. Each check is one row; the exit status is 1 when one of them says "wrong". */
#include "admin/broker/broker.h"

#include "admin/group/group.h"

#include <stdlib.h>

enum { DISK_WARNS_PERCENT = 75, DISK_WRONG_PERCENT = 90 };

static const struct column columns[] = {{"verdict", CELL_TEXT}, {"check", CELL_TEXT}, {"of", CELL_TEXT}, {"finding", CELL_TEXT},
                                        {"help", CELL_TEXT}};

static void put(struct job *j, const char *verdict, const char *check, struct slice of, struct slice finding, const char *help)
{
    struct table *t = j->state;
    row_text(t, slice_text(verdict));
    row_text(t, slice_text(check));
    row_text(t, of);
    row_text(t, finding);
    row_text(t, slice_text(help));
    j->bad |= !strcmp(verdict, "wrong");
}

static void fine(struct job *j, const char *check, struct slice of, struct slice finding) { put(j, "fine", check, of, finding, NULL); }

/* --- groups: behind and nobody there; dead letters --- */

struct behind {
    struct slice group;
    int64_t diff, members;
};

static void take_group(struct job *j, const struct reply *r)
{
    struct behind *b = (struct behind *)r->tag;
    struct consumer_connections c;
    struct consume_stats s;
    if (r->code) return;   /* nobody is online, or it never consumed */
    if (slice_starts(r->body, SLICE("{\"consumeTps\""))) {
        if (!job_read(j, r, &consume_stats_bean, &s)) return;
        for (size_t i = 0; i < s.queues.count; i++) b->diff += s.queues.items[i].broker_offset - s.queues.items[i].consumer_offset;
    } else if (job_read(j, r, &consumer_connections_bean, &c)) {
        b->members += (int64_t)c.connections.count;
    }
}

static void take_dead(struct job *j, const struct reply *r, struct slice group)
{
    struct topic_stats s;
    int64_t count = 0;
    if (!job_read(j, r, &topic_stats_bean, &s)) return;
    for (size_t i = 0; i < s.queues.count; i++) count += s.queues.items[i].max_offset - s.queues.items[i].min_offset;
    if (count) put(j, "look", "dead letters", group, job_text(j, "%lld at broker %.*s", (long long)count, SLICE_ARG(r->broker.name)),
                   "skylark admin dlq show GROUP");
}

static void on_groups(struct job *j)
{
    struct behind *last = NULL;
    size_t groups = 0, lonely = 0;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct behind *b = (struct behind *)j->replies.list.items[i]->tag;
        if (slice_starts(b->group, SLICE("%DLQ%"))) take_dead(j, j->replies.list.items[i], slice_skip(b->group, 5));
        else take_group(j, j->replies.list.items[i]);
    }
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct behind *b = (struct behind *)j->replies.list.items[i]->tag;
        if (b == last || slice_starts(b->group, SLICE("%DLQ%"))) continue;
        last = b;
        groups++;
        if (b->members || b->diff <= 0) continue;
        lonely++;
        put(j, "look", "consumer group", b->group, job_text(j, "%lld messages behind, and no member is online", (long long)b->diff),
            "skylark admin group describe GROUP");
    }
    if (!lonely) fine(j, "consumer groups", SLICE("all"), job_text(j, "%zu, none is behind without a member", groups));
    outcome_flag(&j->outcome, "healthy", !j->bad);
    job_end(j);
}

static void ask_group(struct job *j, const struct admin_broker *broker, struct behind *b)
{
    struct consumer_connections_header *c = job_take(j, sizeof *c);
    struct consume_stats_header *s = job_take(j, sizeof *s);
    *c = (struct consumer_connections_header){.consumer_group = b->group};
    *s = (struct consume_stats_header){.consumer_group = b->group};
    struct request members = {.code = REQUEST_GET_CONSUMER_CONNECTION_LIST, .kind = &consumer_connections_kind, .header = c};
    struct request progress = {.code = REQUEST_GET_CONSUME_STATS, .kind = &consume_stats_kind, .header = s};
    job_ask(j, broker, &members, b);
    job_ask(j, broker, &progress, b);
}

static void ask_dead(struct job *j, const struct admin_broker *broker, struct slice topic)
{
    struct topic_stats_header *h = job_take(j, sizeof *h);
    struct behind *b = job_take(j, sizeof *b);
    *b = (struct behind){.group = topic};
    *h = (struct topic_stats_header){.topic = topic};
    struct request r = {.code = REQUEST_GET_TOPIC_STATS_INFO, .kind = &topic_stats_kind, .header = h};
    job_ask(j, broker, &r, b);
}

/* --- brokers --- */

static void check_disk(struct job *j, struct slice name, const struct kv_table *kv)
{
    struct slice text = kv_value(kv, "commitLogDiskRatio");
    char copy[24] = "";
    if (!text.n || text.n >= sizeof copy) return;
    memcpy(copy, text.p, text.n);
    int percent = (int)(strtod(copy, NULL) * 100 + 0.5);
    struct slice finding = job_text(j, "%d %% full", percent);
    const char *help = "skylark admin deleteExpiredCommitLog; fileReservedTime says what is kept";
    if (percent >= DISK_WRONG_PERCENT) put(j, "wrong", "disk", name, finding, help);
    else if (percent >= DISK_WARNS_PERCENT) put(j, "look", "disk", name, finding, help);
    else fine(j, "disk", name, finding);
}

static void check_broker(struct job *j, const struct reply *r, struct slice *version)
{
    struct kv_table kv;
    struct slice name = r->broker.name.p ? r->broker.name : r->broker.address, its;
    if (r->code) {
        put(j, "wrong", "broker", name, r->text, "is it running? its log says why it ended");
        return;
    }
    if (bean_decode(&kv_table_bean, r->body, job_arena(j), "runtime", &kv)) {
        put(j, "wrong", "broker", name, SLICE("an answer that cannot be read"), NULL);
        return;
    }
    its = kv_value(&kv, "brokerVersionDesc");
    fine(j, "broker", name, job_text(j, "answers, %.*s", SLICE_ARG(its)));
    if (version->p && !slice_eq(*version, its))
        put(j, "look", "version", name, job_text(j, "%.*s, another one has %.*s", SLICE_ARG(its), SLICE_ARG(*version)), NULL);
    if (!version->p) *version = its;
    if (slice_eq(kv_value(&kv, "brokerActive"), SLICE("false")))
        put(j, "look", "broker", name, SLICE("is not active"), "skylark admin why send TOPIC");
    check_disk(j, name, &kv);
}

static void ask_about_groups(struct job *j, const struct reply *r)
{
    struct group_table groups;
    struct topic_table topics;
    if (r->code) return;
    if (slice_starts(r->body, SLICE("{\"dataVersion\"")) && memmem(r->body.p, r->body.n, "subscriptionGroupTable", 22)) {
        if (!job_read(j, r, &group_table_bean, &groups)) return;
        for (size_t i = 0; i < groups.groups.count; i++) {
            struct behind *b = job_take(j, sizeof *b);
            b->group = groups.groups.items[i].name;
            ask_group(j, &r->broker, b);
        }
    } else if (job_read(j, r, &topic_table_bean, &topics)) {
        for (size_t i = 0; i < topics.topics.count; i++)
            if (slice_starts(topics.topics.items[i].name, SLICE("%DLQ%"))) ask_dead(j, &r->broker, topics.topics.items[i].name);
    }
}

/* Three answers of each broker: how it is, its groups, its topics. */
static void on_brokers(struct job *j)
{
    struct slice version = {NULL, 0};
    struct replies all = j->replies;
    for (size_t i = 0; i < all.list.count; i++)
        if (i % 3 == 0) check_broker(j, all.list.items[i], &version);
        else ask_about_groups(j, all.list.items[i]);
    job_wait(j, on_groups);
}

static void ask_brokers(struct job *j)
{
    struct all_groups_header *g = job_take(j, sizeof *g);
    struct all_topics_header *t = job_take(j, sizeof *t);
    struct request how = {.code = REQUEST_GET_BROKER_RUNTIME_INFO};
    struct request groups = {.code = REQUEST_GET_ALL_SUBSCRIPTIONGROUP_CONFIG, .kind = &all_groups_kind, .header = g};
    struct request topics = {.code = REQUEST_GET_ALL_TOPIC_CONFIG, .kind = &all_topics_kind, .header = t};
    for (size_t i = 0; i < j->brokers.list.count; i++) {
        const struct admin_broker *b = &j->brokers.list.items[i].broker;
        job_ask(j, b, &how, NULL);
        job_ask(j, b, &groups, NULL);
        job_ask(j, b, &topics, NULL);
    }
    job_wait(j, on_brokers);
}

/* --- name servers --- */

static size_t count_brokers(struct job *j, const struct reply *r)
{
    struct cluster_info info;
    err_t e = bean_decode(&cluster_info_bean, r->body, job_arena(j), "cluster", &info);
    size_t n = e ? 0 : info.brokers.count;
    err_free(e);   /* none then, which the row says */
    return n;
}

static void on_names(struct job *j)
{
    bool well = false;
    j->state = OUTCOME_TABLE(&j->outcome, "checks", columns);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        size_t n = r->code ? 0 : count_brokers(j, r);
        if (r->code) put(j, "wrong", "name server", r->broker.address, r->text, "is it running? -n names others");
        else if (!n)
            put(j, "wrong", "name server", r->broker.address, SLICE("knows no broker"),
                "namesrvAddr of the brokers says where they register");
        else fine(j, "name server", r->broker.address, job_text(j, "knows %zu brokers", n));
        well |= n > 0;
    }
    if (well) {
        job_all_brokers(j, ask_brokers);
        return;
    }
    outcome_flag(&j->outcome, "healthy", false);
    job_end(j);
}

static void examine(struct job *j)
{
    struct request r = {.code = REQUEST_GET_BROKER_CLUSTER_INFO};
    job_ask_names(j, &r);
    job_wait(j, on_names);
}

const struct command doctor_commands[] = {
    {.name = "doctor", .start = examine, .timeout_ms = 15000, .summary = "whether all is well: name servers, brokers, disks, groups; exit status 1 when not",
     .help = "Looks at all name servers, brokers and groups, and says of each what it found: fine, look (somebody should), wrong. The exit status is 1\n"
             "when something is wrong.\n\nExample:\n  skylark admin doctor\n"},
    {.name = NULL},
};
