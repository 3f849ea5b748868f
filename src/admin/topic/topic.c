#include "admin/topic/topic.h"

#include <stdlib.h>

struct slice topic_perm_text(struct job *j, int32_t perm)
{
    return job_text(j, "%c%c%c", perm & PERM_READ ? 'R' : '-', perm & PERM_WRITE ? 'W' : '-', perm & PERM_INHERIT ? 'X' : '-');
}

err_t topic_perm_read(const struct params *p, int32_t unless, int32_t *out)
{
    struct slice text = slice_trim(param_get(p, "perm"));
    int32_t n = 0;
    if (!text.p) {
        *out = unless;
        return NULL;
    }
    if (slice_to_i32(text, &n) && (n == 2 || n == 4 || n == 6)) {
        *out = n;
        return NULL;
    }
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == 'R' || text.p[i] == 'r') n |= PERM_READ;
        else if (text.p[i] == 'W' || text.p[i] == 'w') n |= PERM_WRITE;
        else return err_new(ERR_USAGE, "--perm wants 2 (W), 4 (R) or 6 (RW), not \"%.*s\"", SLICE_ARG(text));
    }
    if (!n) return err_new(ERR_USAGE, "--perm is empty");
    *out = n;
    return NULL;
}

bool topic_is_of_group(struct slice topic) { return slice_starts(topic, SLICE("%RETRY%")) || slice_starts(topic, SLICE("%DLQ%")); }

bool topic_is_internal(struct slice topic)
{
    static const char *const names[] = {"TBW102", "BenchmarkTest", "OFFSET_MOVED_EVENT", "SELF_TEST_TOPIC", "SCHEDULE_TOPIC_XXXX",
                                        "DefaultHeartBeatSyncerTopic"};
    if (slice_starts(topic, SLICE("RMQ_SYS_")) || slice_starts(topic, SLICE("rmq_sys_")) || slice_starts(topic, SLICE("TRANS_CHECK_")))
        return true;
    if (topic.n > 12 && slice_eq(slice_of(topic.p + topic.n - 12, 12), SLICE("_REPLY_TOPIC"))) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_eq(topic, slice_text(names[i]))) return true;
    return topic_is_of_group(topic);
}

void topic_report_changes(struct job *j, const char *what)
{
    static const struct column columns[] = {{"brokerName", CELL_TEXT}, {"brokerAddr", CELL_TEXT}};
    size_t good = 0;
    for (size_t i = 0; i < j->replies.list.count; i++) good += !j->replies.list.items[i]->code;
    if (good) outcome_line(&j->outcome, "%s", what);
    struct table *t = good ? OUTCOME_TABLE(&j->outcome, "brokers", columns) : NULL;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        if (!good || !job_good(j, r)) continue;
        row_text(t, r->broker.name);
        row_text(t, r->broker.address);
    }
}
