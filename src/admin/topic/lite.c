/* Lite topics: getBrokerLiteInfo, getParentTopicInfo, getLiteTopicInfo, getLiteClientInfo, getLiteGroupInfo, triggerLiteDispatch.
 * Facts: docs/protocol/lite.md */
#include "admin/topic/topic.h"
#include "codec/body_lite.h"

#include <stdlib.h>

enum { TOP_DEFAULT = 20 };

static struct slice parent_topic(const struct job *j) { return slice_trim(job_param(j, "parentTopic")); }
static struct slice lite_topic(const struct job *j) { return slice_trim(job_param(j, "liteTopic")); }
static struct slice group_param(const struct job *j) { return slice_trim(job_param(j, "group")); }

/* Each broker that has the topic. */
static void ask_homes(struct job *j, int32_t code, const struct header_kind *kind, const void *header, job_phase *report)
{
    struct request r = {.code = code, .kind = kind, .header = header};
    job_ask_all(j, &r, report);
}

static struct slice joined(struct job *j, const struct slice *items, size_t count)
{
    struct buf text = BUF_EMPTY;
    for (size_t i = 0; i < count; i++) buf_printf(&text, "%s%.*s", i ? "," : "", SLICE_ARG(items[i]));
    struct slice all = job_copy(j, buf_slice(&text));
    buf_done(&text);
    return all;
}

/* A time that is known, or nothing. */
static void row_time_or_none(struct table *t, int64_t ms)
{
    if (ms > 0) row_time(t, ms);
    else row_none(t);
}

/* --- brokers --- */

static const struct column broker_columns[] = {
    {"brokerName", CELL_TEXT}, {"brokerAddr", CELL_TEXT}, {"storeType", CELL_TEXT}, {"maxLmqNum", CELL_NUMBER}, {"currentLmqNum", CELL_NUMBER},
    {"liteSubscriptionCount", CELL_NUMBER}, {"orderInfoCount", CELL_NUMBER}, {"cqTableSize", CELL_NUMBER}, {"offsetTableSize", CELL_NUMBER},
    {"eventMapSize", CELL_NUMBER},
};
static const struct column topic_meta_columns[] = {{"brokerAddr", CELL_TEXT}, {"topic", CELL_TEXT}, {"ttl", CELL_NUMBER}};
static const struct column group_meta_columns[] = {{"brokerAddr", CELL_TEXT}, {"topic", CELL_TEXT}, {"groups", CELL_TEXT}};

static void put_overview(struct table *t, const struct reply *r, const struct lite_overview *o)
{
    row_text(t, r->broker.name);
    row_text(t, r->broker.address);
    row_text(t, o->store_type);
    row_number(t, o->queues_max);
    row_number(t, o->queues);
    row_number(t, o->subscriptions);
    row_number(t, o->ordered);
    row_number(t, o->queue_topics);
    row_number(t, o->offsets);
    row_number(t, o->events);
}

static void put_meta(struct job *j, struct table *topics, struct table *groups, const struct reply *r, const struct lite_overview *o)
{
    for (size_t i = 0; i < o->topics.count; i++) {
        row_text(topics, r->broker.address);
        row_text(topics, o->topics.items[i].name);
        row_number(topics, o->topics.items[i].number);
    }
    for (size_t i = 0; i < o->groups.count; i++) {
        row_text(groups, r->broker.address);
        row_text(groups, o->groups.items[i].name);
        row_text(groups, joined(j, o->groups.items[i].texts.items, o->groups.items[i].texts.count));
    }
}

static void on_overviews(struct job *j)
{
    struct replies all = j->replies;
    bool detail = param_has(j->params, "showDetail");
    struct table *t = OUTCOME_TABLE(&j->outcome, "brokers", broker_columns);
    struct table *topics = detail ? OUTCOME_TABLE(&j->outcome, "topicMeta", topic_meta_columns) : NULL;
    struct table *groups = detail ? OUTCOME_TABLE(&j->outcome, "groupMeta", group_meta_columns) : NULL;
    for (size_t i = 0; i < all.list.count; i++) {
        struct lite_overview o;
        if (!job_read(j, all.list.items[i], &lite_overview_bean, &o)) continue;
        put_overview(t, all.list.items[i], &o);
        if (detail) put_meta(j, topics, groups, all.list.items[i], &o);
    }
    if (detail) table_sort(topics, 2);
    if (detail) table_sort(groups, 2);
    job_end_with(j, &all);
}

static void ask_overviews(struct job *j) { ask_homes(j, REQUEST_GET_BROKER_LITE_INFO, NULL, NULL, on_overviews); }
static void broker_info(struct job *j) { job_brokers(j, ask_overviews); }

static const struct param broker_params[] = {
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "this broker"},
    {"cluster", "c", PARAM_VALUE, "CLUSTER", "all masters of this cluster"},
    {"showDetail", "d", PARAM_SWITCH, NULL, "with the topics that have lite topics, and the groups bound to them"},
    {.name = NULL},
};

/* --- a parent topic --- */

static const struct column parent_columns[] = {
    {"brokerName", CELL_TEXT}, {"ttl", CELL_NUMBER}, {"liteTopicCount", CELL_NUMBER}, {"lmqNum", CELL_NUMBER}, {"groups", CELL_TEXT},
};

static void on_parents(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "brokers", parent_columns);
    for (size_t i = 0; i < all.list.count; i++) {
        struct lite_parent p;
        if (!job_read(j, all.list.items[i], &lite_parent_bean, &p)) continue;
        row_text(t, all.list.items[i]->broker.name);
        row_number(t, p.ttl);
        row_number(t, p.lite_topics);
        row_number(t, p.queues);
        row_text(t, joined(j, p.groups.items, p.groups.count));
    }
    job_end_with(j, &all);
}

static void ask_parents(struct job *j)
{
    struct lite_parent_header *h = job_take(j, sizeof *h);
    *h = (struct lite_parent_header){.topic = parent_topic(j)};
    ask_homes(j, REQUEST_GET_PARENT_TOPIC_INFO, &lite_parent_kind, h, on_parents);
}

static void parent_info(struct job *j) { job_topic_masters(j, parent_topic(j), ask_parents); }

static const struct param parent_params[] = {{"parentTopic", "p", PARAM_NEEDED, "TOPIC", "the topic"}, {.name = NULL}};

/* --- a lite topic --- */

static const struct column topic_columns[] = {
    {"brokerName", CELL_TEXT}, {"minOffset", CELL_NUMBER}, {"maxOffset", CELL_NUMBER}, {"lastUpdateTimestamp", CELL_TIME},
    {"shardingToBroker", CELL_FLAG}, {"subClientCount", CELL_NUMBER},
};
static const struct column member_columns[] = {{"brokerName", CELL_TEXT}, {"clientId", CELL_TEXT}, {"group", CELL_TEXT}};

static void put_topic(struct table *t, struct table *members, struct slice broker, const struct lite_topic_info *info)
{
    row_text(t, broker);
    row_number(t, info->offsets.min_offset);
    row_number(t, info->offsets.max_offset);
    row_time_or_none(t, info->offsets.last_ms);
    row_flag(t, info->is_here);
    row_number(t, (int64_t)info->members.count);
    for (size_t i = 0; members && i < info->members.count; i++) {
        row_text(members, broker);
        row_text(members, info->members.items[i].client_id);
        row_text(members, info->members.items[i].group);
    }
}

static void on_topics(struct job *j)
{
    struct replies all = j->replies;
    outcome_text(&j->outcome, SLICE("lmqName"), job_text(j, "%%LMQ%%$%.*s$%.*s", SLICE_ARG(parent_topic(j)), SLICE_ARG(lite_topic(j))));
    struct table *t = OUTCOME_TABLE(&j->outcome, "brokers", topic_columns);
    struct table *members = param_has(j->params, "showClientId") ? OUTCOME_TABLE(&j->outcome, "subscribers", member_columns) : NULL;
    for (size_t i = 0; i < all.list.count; i++) {
        struct lite_topic_info info;
        if (job_read(j, all.list.items[i], &lite_topic_info_bean, &info)) put_topic(t, members, all.list.items[i]->broker.name, &info);
    }
    if (members) table_sort(members, 3);
    job_end_with(j, &all);
}

static void ask_topics(struct job *j)
{
    struct lite_topic_header *h = job_take(j, sizeof *h);
    *h = (struct lite_topic_header){.parent_topic = parent_topic(j), .lite_topic = lite_topic(j)};
    ask_homes(j, REQUEST_GET_LITE_TOPIC_INFO, &lite_topic_kind, h, on_topics);
}

static void topic_info(struct job *j) { job_topic_masters(j, parent_topic(j), ask_topics); }

static const struct param topic_params[] = {
    {"parentTopic", "p", PARAM_NEEDED, "TOPIC", "its parent"},
    {"liteTopic", "l", PARAM_NEEDED, "NAME", "the lite topic"},
    {"showClientId", "s", PARAM_SWITCH, NULL, "with those that subscribe to it"},
    {.name = NULL},
};

/* --- a client --- */

static const struct column client_columns[] = {
    {"brokerName", CELL_TEXT}, {"liteTopicCount", CELL_NUMBER}, {"lastAccessTime", CELL_TIME}, {"lastConsumeTime", CELL_TIME},
};
static const struct column client_topic_columns[] = {{"brokerName", CELL_TEXT}, {"liteTopic", CELL_TEXT}};

static void put_client(struct table *t, struct table *topics, struct slice broker, const struct lite_client_info *info)
{
    row_text(t, broker);
    if (info->count > 0) row_number(t, info->count);
    else row_none(t);
    row_time_or_none(t, info->popped_ms);
    row_time_or_none(t, info->found_ms);
    for (size_t i = 0; topics && i < info->lite_topics.count; i++) {
        row_text(topics, broker);
        row_text(topics, info->lite_topics.items[i]);
    }
}

static void on_clients(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "brokers", client_columns);
    struct table *topics = param_has(j->params, "showDetail") ? OUTCOME_TABLE(&j->outcome, "liteTopics", client_topic_columns) : NULL;
    for (size_t i = 0; i < all.list.count; i++) {
        struct lite_client_info info;
        if (job_read(j, all.list.items[i], &lite_client_info_bean, &info)) put_client(t, topics, all.list.items[i]->broker.name, &info);
    }
    if (topics) table_sort(topics, 2);
    job_end_with(j, &all);
}

static void ask_clients(struct job *j)
{
    struct lite_client_header *h = job_take(j, sizeof *h);
    *h = (struct lite_client_header){.parent_topic = parent_topic(j), .group = group_param(j), .client_id = slice_trim(job_param(j, "clientId"))};
    ask_homes(j, REQUEST_GET_LITE_CLIENT_INFO, &lite_client_kind, h, on_clients);
}

static void client_info(struct job *j) { job_topic_masters(j, parent_topic(j), ask_clients); }

static const struct param client_params[] = {
    {"parentTopic", "p", PARAM_NEEDED, "TOPIC", "the topic"},
    {"group", "g", PARAM_NEEDED, "GROUP", "the client's group"},
    {"clientId", "c", PARAM_NEEDED, "ID", "the client"},
    {"showDetail", "s", PARAM_SWITCH, NULL, "with the lite topics that it subscribes to"},
    {.name = NULL},
};

/* --- a group --- */

static const struct column progress_columns[] = {
    {"brokerName", CELL_TEXT}, {"brokerOffset", CELL_NUMBER}, {"consumerOffset", CELL_NUMBER}, {"lagCount", CELL_NUMBER}, {"lastTimestamp", CELL_TIME},
};
static const struct column lag_columns[] = {{"liteTopic", CELL_TEXT}, {"lagCount", CELL_NUMBER}, {"earliestUnconsumedTimestamp", CELL_TIME}};

struct lags {
    BEAN_LIST(struct lite_lag) list;
};

struct group_asking {
    struct lite_group_header header;
    struct lags by_lag, by_time;
    int64_t lag, earliest_ms;
};

static int more_behind(const void *a, const void *b)
{
    const struct lite_lag *x = a, *y = b;
    return (x->lag < y->lag) - (x->lag > y->lag);
}

static int earlier(const void *a, const void *b)
{
    const struct lite_lag *x = a, *y = b;
    return (x->earliest_ms > y->earliest_ms) - (x->earliest_ms < y->earliest_ms);
}

static void add_lags(struct job *j, struct lags *to, const struct lite_lag *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct lite_lag *l = arena_list_add(job_arena(j), (void **)&to->list.items, &to->list.count, sizeof *l);
        if (l) *l = items[i];
    }
}

/* Of all brokers together. */
static void put_lags(struct job *j, const char *name, struct lags *l, int (*order)(const void *a, const void *b))
{
    struct table *t = OUTCOME_TABLE(&j->outcome, name, lag_columns);
    if (l->list.count) qsort(l->list.items, l->list.count, sizeof *l->list.items, order);
    for (size_t i = 0; i < l->list.count; i++) {
        row_text(t, l->list.items[i].lite_topic);
        row_number(t, l->list.items[i].lag);
        row_time_or_none(t, l->list.items[i].earliest_ms);
    }
}

static void put_progress(struct table *t, struct slice broker, const struct lite_progress *p)
{
    row_text(t, broker);
    for (int i = 0; !p && i < 4; i++) row_none(t);
    if (!p) return;
    row_number(t, p->broker_offset);
    row_number(t, p->consumer_offset);
    row_number(t, p->broker_offset - p->consumer_offset);
    row_time_or_none(t, p->last_ms);
}

static void add_group(struct job *j, struct group_asking *a, const struct lite_group_info *info)
{
    if (info->lag > 0) a->lag += info->lag;
    if (info->earliest_ms > 0 && (!a->earliest_ms || info->earliest_ms < a->earliest_ms)) a->earliest_ms = info->earliest_ms;
    add_lags(j, &a->by_lag, info->by_lag.items, info->by_lag.count);
    add_lags(j, &a->by_time, info->by_time.items, info->by_time.count);
}

static void on_groups(struct job *j)
{
    struct group_asking *a = j->state;
    struct replies all = j->replies;
    struct table *t = a->header.lite_topic.n ? OUTCOME_TABLE(&j->outcome, "brokers", progress_columns) : NULL;
    for (size_t i = 0; i < all.list.count; i++) {
        struct lite_group_info info;
        if (!job_read(j, all.list.items[i], &lite_group_info_bean, &info)) continue;
        add_group(j, a, &info);
        if (t) put_progress(t, all.list.items[i]->broker.name, info.progress);
    }
    outcome_number(&j->outcome, "totalLagCount", a->lag);
    outcome_time(&j->outcome, "earliestUnconsumedTimestamp", a->earliest_ms);
    if (!t) put_lags(j, "lagCountTopK", &a->by_lag, more_behind);
    if (!t) put_lags(j, "lagTimestampTopK", &a->by_time, earlier);
    job_end_with(j, &all);
}

static void ask_groups(struct job *j)
{
    struct group_asking *a = j->state;
    ask_homes(j, REQUEST_GET_LITE_GROUP_INFO, &lite_group_kind, &a->header, on_groups);
}

static void group_info(struct job *j)
{
    struct group_asking *a = job_take(j, sizeof *a);
    a->header = (struct lite_group_header){.group = group_param(j), .lite_topic = lite_topic(j)};
    header_set(&a->header, lite_group, top_k);
    err_t e = param_i32(j->params, "topK", TOP_DEFAULT, &a->header.top_k);
    j->state = a;
    if (e) job_fail(j, e);
    else job_topic_masters(j, parent_topic(j), ask_groups);
}

static const struct param group_params[] = {
    {"parentTopic", "p", PARAM_NEEDED, "TOPIC", "the topic"},
    {"group", "g", PARAM_NEEDED, "GROUP", "the group"},
    {"liteTopic", "l", PARAM_VALUE, "NAME", "how far it is in this lite topic"},
    {"topK", "k", PARAM_VALUE, "N", "so many lite topics of each broker (default 20)"},
    {.name = NULL},
};

/* --- what waits is told to clients once more --- */

static void on_dispatched(struct job *j)
{
    struct replies all = j->replies;
    topic_report_changes(j, "dispatched");
    job_end_with(j, &all);
}

static bool leave_broker(struct job *j, struct slice name)
{
    size_t kept = 0;
    for (size_t i = 0; i < j->brokers.list.count; i++)
        if (slice_eq(j->brokers.list.items[i].broker.name, name)) j->brokers.list.items[kept++] = j->brokers.list.items[i];
    j->brokers.list.count = kept;
    return kept > 0;
}

static void ask_dispatch(struct job *j)
{
    struct lite_dispatch_header *h = job_take(j, sizeof *h);
    struct slice only = slice_trim(job_param(j, "brokerName"));
    *h = (struct lite_dispatch_header){.group = group_param(j), .client_id = slice_trim(job_param(j, "clientId"))};
    if (only.n && !leave_broker(j, only))
        job_fail(j, err_new(ERR_NOT_FOUND, "topic \"%.*s\" has no broker \"%.*s\"; 'skylark admin topic describe' shows its brokers",
                            SLICE_ARG(parent_topic(j)), SLICE_ARG(only)));
    else
        ask_homes(j, REQUEST_TRIGGER_LITE_DISPATCH, &lite_dispatch_kind, h, on_dispatched);
}

static void trigger_dispatch(struct job *j) { job_topic_masters(j, parent_topic(j), ask_dispatch); }

static const struct param dispatch_params[] = {
    {"parentTopic", "p", PARAM_NEEDED, "TOPIC", "the topic"},
    {"group", "g", PARAM_NEEDED, "GROUP", "the group"},
    {"clientId", "c", PARAM_VALUE, "ID", "this client alone"},
    {"brokerName", "b", PARAM_VALUE, "NAME", "at this broker alone"},
    {.name = NULL},
};

const struct command lite_commands[] = {
    {.name = "getBrokerLiteInfo", .params = broker_params, .one_of = "brokerAddr|cluster", .start = broker_info,
     .summary = "how many lite topics and subscriptions to them brokers have"},
    {.name = "getParentTopicInfo", .params = parent_params, .start = parent_info, .summary = "the lite topics of a topic, counted"},
    {.name = "getLiteTopicInfo", .params = topic_params, .start = topic_info, .summary = "offsets of a lite topic, and who subscribes to it"},
    {.name = "getLiteClientInfo", .params = client_params, .start = client_info, .summary = "what a client subscribes to, and when it asked last"},
    {.name = "getLiteGroupInfo", .params = group_params, .start = group_info, .summary = "how far a group is behind in lite topics"},
    {.name = "triggerLiteDispatch", .params = dispatch_params, .start = trigger_dispatch,
     .summary = "tells clients once more what waits for them in lite topics"},
    {.name = NULL},
};
