/* Do name servers tell the same: route diff. */
#include "admin/command.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct column columns[] = {{"topic", CELL_TEXT}, {"namesrvAddr", CELL_TEXT}, {"route", CELL_TEXT}};

struct told {
    struct slice topic;
    struct slice names;         /* who told it */
    struct slice route;         /* one line for all of it */
};

static int by_text(const void *a, const void *b) { return slice_compare(*(const struct slice *)a, *(const struct slice *)b); }

static struct slice keep(struct job *j, struct buf *text)
{
    struct slice kept = job_copy(j, buf_slice(text));
    buf_done(text);
    return kept;
}

static void put_addresses(struct buf *out, const struct topic_route *r, struct slice broker)
{
    for (size_t b = 0; b < r->brokers.count; b++)
        for (size_t k = 0; slice_eq(r->brokers.items[b].name, broker) && k < r->brokers.items[b].addresses.count; k++)
            buf_printf(out, "%s%" PRId64 "=%.*s", k ? "," : "", r->brokers.items[b].addresses.items[k].id,
                       SLICE_ARG(r->brokers.items[b].addresses.items[k].text));
}

/* "b-1[0=10.0.0.1:10911] r8 w8 p6" of each broker, sorted. */
static struct slice describe(struct job *j, const struct topic_route *r)
{
    struct slice *parts = job_take(j, (r->queues.count + 1) * sizeof *parts);
    struct buf text = BUF_EMPTY;
    for (size_t i = 0; i < r->queues.count; i++) {
        const struct route_queues *q = &r->queues.items[i];
        struct buf part = BUF_EMPTY;
        buf_printf(&part, "%.*s[", SLICE_ARG(q->broker));
        put_addresses(&part, r, q->broker);
        buf_printf(&part, "] r%" PRId32 " w%" PRId32 " p%" PRId32, q->read_queues, q->write_queues, q->perm);
        parts[i] = keep(j, &part);
    }
    if (r->queues.count) qsort(parts, r->queues.count, sizeof *parts, by_text);
    for (size_t i = 0; i < r->queues.count; i++) buf_printf(&text, "%s%.*s", i ? "; " : "", SLICE_ARG(parts[i]));
    if (!text.n) buf_put_text(&text, "no such topic");
    return keep(j, &text);
}

static int by_topic(const void *a, const void *b)
{
    const struct told *x = *(struct told *const *)a, *y = *(struct told *const *)b;
    int order = slice_compare(x->topic, y->topic);
    return order ? order : slice_compare(x->names, y->names);
}

/* Rows of one topic, of which all say the same or not. */
static void put_different(struct job *j, struct table *t, struct told **told, size_t count)
{
    bool same = true;
    for (size_t i = 1; i < count; i++) same &= slice_eq(told[i]->route, told[0]->route);
    if (same) return;
    j->bad = true;
    for (size_t i = 0; i < count; i++) {
        row_text(t, told[i]->topic);
        row_text(t, told[i]->names);
        row_text(t, told[i]->route);
    }
}

static void on_routes(struct job *j)
{
    size_t n = j->replies.list.count, topics = 0;
    struct told **told = job_take(j, (n + 1) * sizeof *told);
    for (size_t i = 0; i < n; i++) {
        const struct reply *r = j->replies.list.items[i];
        struct topic_route route = {.order = {NULL, 0}};
        err_t e = r->code ? NULL : topic_route_decode(r->body, job_arena(j), &route);
        told[i] = (struct told *)r->tag;
        told[i]->route = r->code && r->code != ERR_TOPIC_NOT_FOUND ? r->text : e ? SLICE("an answer that cannot be read") : describe(j,
            &route);
        err_free(e);   /* said in the row */
    }
    struct table *t = OUTCOME_TABLE(&j->outcome, "differences", columns);
    if (n) qsort(told, n, sizeof *told, by_topic);
    for (size_t from = 0, to; from < n; from = to, topics++) {
        for (to = from; to < n && slice_eq(told[to]->topic, told[from]->topic); to++);
        put_different(j, t, told + from, to - from);
    }
    outcome_number(&j->outcome, "topics", (int64_t)topics);
    job_end(j);
}

static void ask_route(struct job *j, const struct admin_broker *names, struct slice topic)
{
    struct route_header *h = job_take(j, sizeof *h);
    struct told *t = job_take(j, sizeof *t);
    *h = (struct route_header){.topic = topic, .accept_standard_json_only = true};
    *t = (struct told){.topic = topic, .names = names->address};
    header_set(h, route, accept_standard_json_only);
    struct request r = {.code = REQUEST_GET_ROUTEINFO_BY_TOPIC, .kind = &route_kind, .header = h};
    job_ask(j, names, &r, t);
}

/* Names that were told by several are kept once. */
static void drop_doubles(struct table *names)
{
    size_t n = 0;
    table_sort(names, 1);
    for (size_t i = 0; i < names->cells.count; i++)
        if (!n || !slice_eq(names->cells.items[n - 1].text, names->cells.items[i].text)) names->cells.items[n++] = names->cells.items[i];
    names->cells.count = n;
}

/* Every name server is asked for every topic that one of them knows. */
static void on_lists(struct job *j)
{
    struct replies all = j->replies;
    static const struct column name_column[] = {{"topic", CELL_TEXT}};
    struct table names = {.columns = name_column, .width = 1, .arena = job_arena(j)};
    bool well = false;
    for (size_t i = 0; i < all.list.count; i++) {
        struct topic_list list;
        if (!job_read(j, all.list.items[i], &topic_list_bean, &list)) continue;
        well = true;
        for (size_t k = 0; k < list.topics.count; k++) row_text(&names, list.topics.items[k]);
    }
    drop_doubles(&names);
    for (size_t i = 0; well && i < all.list.count; i++)
        for (size_t k = 0; !all.list.items[i]->code && k < names.cells.count; k++)
            ask_route(j, &all.list.items[i]->broker, names.cells.items[k].text);
    if (well) job_wait(j, on_routes);
    else job_end_with(j, &all);
}

static void diff_routes(struct job *j)
{
    struct slice topic = job_param(j, "topic"), rest = admin_options(j->admin)->namesrv, one;
    struct request r = {.code = REQUEST_GET_ALL_TOPIC_LIST_FROM_NAMESERVER};
    if (!topic.p) {
        job_ask_names(j, &r);
        job_wait(j, on_lists);
        return;
    }
    while (slice_split(&rest, ';', &one)) {
        struct admin_broker who = {.address = slice_trim(one)};
        if (who.address.n) ask_route(j, &who, topic);
    }
    job_wait(j, on_routes);
}

static const struct param params[] = {{"topic", NULL, PARAM_MORE, "TOPIC", NULL}, {.name = NULL}};

const struct command route_commands[] = {
    {.name = "route diff", .params = params, .start = diff_routes, .timeout_ms = 30000,
     .summary = "topics of which name servers tell different routes; exit status 1 when there are any",
     .help = "Asks all name servers of -n for the routes of a topic, or of all, and shows those that are not the same everywhere.\n\n"
             "Example:\n  skylark admin route diff -n '10.0.0.1:9876;10.0.0.2:9876'\n"},
    {.name = NULL},
};
