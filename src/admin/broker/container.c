/* Containers of the original, which run several brokers: addBroker, removeBroker. Skylark has none; 'skylark broker' runs one. */
#include "admin/broker/broker.h"

static void ask_container(struct job *j, const struct request *r, job_phase *next)
{
    struct admin_broker who = {.address = slice_trim(job_param(j, "brokerContainerAddr"))};
    job_ask(j, &who, r, NULL);
    job_wait(j, next);
}

static void end_container(struct job *j, const char *done)
{
    struct replies all = j->replies;
    if (!all.list.items[0]->code) {
        outcome_line(&j->outcome, "%s", done);
        outcome_text(&j->outcome, SLICE("brokerContainerAddr"), all.list.items[0]->broker.address);
    }
    job_end_with(j, &all);
}

static void on_added(struct job *j) { end_container(j, "the broker is started"); }
static void on_removed(struct job *j) { end_container(j, "the broker is stopped"); }

static void add(struct job *j)
{
    struct add_broker_header *h = job_take(j, sizeof *h);
    h->config_path = slice_trim(job_param(j, "brokerConfigPath"));
    struct request r = {.code = REQUEST_ADD_BROKER, .kind = &add_broker_kind, .header = h};
    ask_container(j, &r, on_added);
}

/* CLUSTER:NAME:ID */
static err_t read_identity(struct slice text, struct remove_broker_header *h)
{
    struct slice id = text;
    bool good = slice_split(&id, ':', &h->cluster_name) && slice_split(&id, ':', &h->broker_name) && slice_to_i64(slice_trim(id), &h->broker_id);
    h->cluster_name = slice_trim(h->cluster_name);
    h->broker_name = slice_trim(h->broker_name);
    if (good && h->cluster_name.n && h->broker_name.n && h->broker_id >= 0) return NULL;
    return err_new(ERR_USAGE, "-b is CLUSTER:NAME:ID, not \"%.*s\"", SLICE_ARG(text));
}

static void take_away(struct job *j)
{
    struct remove_broker_header *h = job_take(j, sizeof *h);
    err_t e = read_identity(slice_trim(job_param(j, "brokerIdentity")), h);
    if (e) {
        job_fail(j, e);
        return;
    }
    struct request r = {.code = REQUEST_REMOVE_BROKER, .kind = &remove_broker_kind, .header = h};
    ask_container(j, &r, on_removed);
}

#define CONTAINER {"brokerContainerAddr", "c", PARAM_NEEDED, "ADDR", "the container"}
static const struct param add_params[] = {CONTAINER, {"brokerConfigPath", "b", PARAM_NEEDED, "PATH", "the broker's configuration, at the container"}, {.name = NULL}};
static const struct param remove_params[] = {CONTAINER, {"brokerIdentity", "b", PARAM_NEEDED, "CLUSTER:NAME:ID", "the broker"}, {.name = NULL}};

const struct command container_commands[] = {
    {.name = "addBroker", .params = add_params, .start = add, .summary = "starts a broker in a container of the original"},
    {.name = "removeBroker", .params = remove_params, .start = take_away, .summary = "stops a broker in a container of the original"},
    {.name = NULL},
};
