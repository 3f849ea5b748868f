/* Who is connected: client list. */
#include "admin/group/group.h"

static const struct column columns[] = {
    {"kind", CELL_TEXT}, {"group", CELL_TEXT}, {"clientId", CELL_TEXT}, {"clientAddr", CELL_TEXT}, {"language", CELL_TEXT},
    {"version", CELL_TEXT},
};

/* One that is connected to several brokers is one row. */
static bool is_there(const struct table *t, struct slice kind, struct slice group, struct slice client)
{
    for (size_t row = 0; row < table_rows(t); row++) {
        const struct cell *c = &t->cells.items[row * t->width];
        if (slice_eq(c[0].text, kind) && slice_eq(c[1].text, group) && slice_eq(c[2].text, client)) return true;
    }
    return false;
}

static void put_client(struct job *j, struct table *t, struct slice kind, struct slice group, const struct connection_row *c)
{
    if (is_there(t, kind, group, c->client_id)) return;
    row_text(t, kind);
    row_text(t, group);
    row_text(t, c->client_id);
    row_text(t, c->address);
    row_text(t, c->language);
    row_text(t, client_version_text(j, c->version));
}

static void on_members(struct job *j)
{
    struct table *t = j->state;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        struct consumer_connections c;
        if (r->code == ERR_NOT_ONLINE || !job_read(j, r, &consumer_connections_bean, &c)) continue;
        for (size_t k = 0; k < c.connections.count; k++)
            put_client(j, t, SLICE("consumer"), *(const struct slice *)r->tag, &c.connections.items[k]);
    }
    table_sort(t, 3);
    job_end(j);
}

static void ask_members(struct job *j, const struct admin_broker *b, struct slice group)
{
    struct consumer_connections_header *h = job_take(j, sizeof *h);
    struct slice *tag = job_take(j, sizeof *tag);
    *tag = group;
    *h = (struct consumer_connections_header){.consumer_group = group};
    struct request r = {.code = REQUEST_GET_CONSUMER_CONNECTION_LIST, .kind = &consumer_connections_kind, .header = h};
    job_ask(j, b, &r, tag);
}

static void put_producers(struct job *j, struct table *t, const struct reply *r)
{
    struct producer_table all;
    if (!job_read(j, r, &producer_table_bean, &all)) return;
    for (size_t g = 0; g < all.groups.count; g++)
        for (size_t k = 0; k < all.groups.items[g].producers.count; k++) {
            const struct producer_row *p = &all.groups.items[g].producers.items[k];
            struct connection_row c = {.client_id = p->client_id, .address = p->address, .language = p->language, .version = p->version};
            put_client(j, t, SLICE("producer"), all.groups.items[g].group, &c);
        }
}

/* Two answers of each broker: its producers, its groups. */
static void on_producers(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "clients", columns);
    struct replies all = j->replies;
    bool well = false;
    j->state = t;
    for (size_t i = 0; i < all.list.count; i++) {
        const struct reply *r = all.list.items[i];
        struct group_table groups;
        well |= !r->code;
        if (!r->tag) {
            put_producers(j, t, r);
            continue;
        }
        if (!job_read(j, r, &group_table_bean, &groups)) continue;
        for (size_t k = 0; k < groups.groups.count; k++) ask_members(j, &r->broker, groups.groups.items[k].name);
    }
    if (well) job_wait(j, on_members);
    else job_end_with(j, &all);
}

static void ask_clients(struct job *j)
{
    struct all_groups_header *h = job_take(j, sizeof *h);
    struct request producers = {.code = REQUEST_GET_ALL_PRODUCER_INFO};
    struct request groups = {.code = REQUEST_GET_ALL_SUBSCRIPTIONGROUP_CONFIG, .kind = &all_groups_kind, .header = h};
    for (size_t i = 0; i < j->brokers.list.count; i++) {
        job_ask(j, &j->brokers.list.items[i].broker, &producers, NULL);
        job_ask(j, &j->brokers.list.items[i].broker, &groups, h);
    }
    job_wait(j, on_producers);
}

static void list_clients(struct job *j) { job_brokers(j, ask_clients); }

static const struct param params[] = {{"cluster", NULL, PARAM_VALUE, "CLUSTER", "of this cluster alone"}, {.name = NULL}};

const struct command client_commands[] = {
    {.name = "client list", .params = params, .start = list_clients, .timeout_ms = 10000,
     .summary = "who is connected: producers and consumers"},
    {.name = NULL},
};
