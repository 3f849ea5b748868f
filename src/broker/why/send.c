/* Why is a send refused? (90013; docs/protocol/why.md) */
#include "broker/handlers.h"
#include "broker/why/answer.h"
#include "meta/names.h"
#include "rpc/reply.h"

enum { SECOND_MS = 1000 };

static void may_the_broker(struct broker *b, struct answer_text *a)
{
    const char *why = NULL;
    answer_fact(a, "brokerPermission", "%d", b->cfg->broker.permission);
    if (!(b->cfg->broker.permission & PERM_WRITE)) answer_say(a, "this broker takes no messages: brokerPermission=%d", b->cfg->broker.permission);
    int64_t begins_in_ms = b->cfg->broker.start_accept_send_ms - tasks_wall_ms(b->tasks);
    if (begins_in_ms > 0)
        answer_say(a, "this broker takes messages in %lld s: startAcceptSendRequestTimeStamp", (long long)begins_in_ms / SECOND_MS + 1);
    if (!store_is_writable(b->store, &why)) answer_say(a, "nothing can be stored: %s", why);
}

static void may_the_topic(struct broker *b, struct slice name, struct answer_text *a)
{
    const struct topic *t = topics_find(b->topics, name);
    err_t e = topic_name_check(name);
    if (e) answer_say(a, "%s", err_text(e));
    err_free(e);
    if ((t && t->closed) || topic_name_is_closed(name)) answer_say(a, "topic %.*s is the broker's own: clients may not send to it", SLICE_ARG(name));
    if (!t && !b->cfg->broker.auto_create_topic && !topic_name_is_retry(name))
        answer_say(a, "topic %.*s is not known to this broker, and autoCreateTopicEnable=false", SLICE_ARG(name));
    if (!t) return;
    answer_fact(a, "perm", "%d", t->config.perm);
    answer_fact(a, "writeQueueNums", "%d", t->config.write_queues);
    if (!(t->config.perm & PERM_WRITE)) answer_say(a, "topic %.*s may not be written: its permission is %d, and clients look for another broker", SLICE_ARG(name), t->config.perm);
    if (!t->config.write_queues) answer_say(a, "topic %.*s has no queues to write", SLICE_ARG(name));
    if (!topics_is_saved(b->topics, t)) answer_say(a, "topic %.*s was made just now and is not on disk yet; the disk may be full or failing", SLICE_ARG(name));
    if (quota_topic_is_over(b, name)) answer_say(a, "topic %.*s is over its quota (sendQuotaMessagesPerTopic, sendQuotaBytesPerTopic)", SLICE_ARG(name));
}

static void what_was_refused(struct broker *b, struct slice topic, struct answer_text *a)
{
    const struct refusal *r = refusals_find(&b->refusals, topic);
    if (!r) return;
    long long ago = (tasks_wall_ms(b->tasks) - r->at_ms) / SECOND_MS;
    answer_fact(a, "lastRefusalSecondsAgo", "%lld", ago);
    answer_fact(a, "lastRefusalClient", "%s", r->client);
    answer_fact(a, "lastRefusalCode", "%d", r->code);
    answer_fact(a, "lastRefusalText", "%s", r->text);
    answer_say(a, "it would be taken now; the last one that was refused, %lld s ago, came from %s: %s", ago, r->client, r->text);
}

void handle_why_send(struct broker *b, struct call *call)
{
    struct why_send_header h;
    struct answer_text a = ANSWER_EMPTY;
    err_t e = header_decode(&why_send_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    may_the_broker(b, &a);
    may_the_topic(b, h.topic, &a);
    what_was_refused(b, h.topic, &a);
    answer_say(&a, "it would be taken, and none was refused lately");
    reply_bean(call, NULL, NULL, &why_bean, &a.why);
    answer_done(&a);
}
