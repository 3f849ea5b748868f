/* A topic is deleted: on brokers first, then at the name servers, which would bring it back otherwise. */
#include "admin/topic/topic.h"

static void on_names(struct job *j)
{
    for (size_t i = 0; i < j->replies.list.count; i++) job_good(j, j->replies.list.items[i]);
    job_end(j);
}

static void on_deleted(struct job *j)
{
    struct replies all = j->replies;
    struct delete_topic_route_header *h = job_take(j, sizeof *h);
    bool well = false;
    for (size_t i = 0; i < all.list.count; i++) well |= !all.list.items[i]->code;
    topic_report_changes(j, "the topic is gone");
    if (!well) {
        job_end_with(j, &all);
        return;
    }
    *h = (struct delete_topic_route_header){.topic = slice_trim(job_param(j, "topic"))};
    h->cluster_name = param_has(j->params, "clusterName") ? job_param(j, "clusterName") : job_param(j, "cluster");
    struct request r = {.code = REQUEST_DELETE_TOPIC_IN_NAMESRV, .kind = &delete_topic_route_kind, .header = h};
    if (!admin_options(j->admin)->broker.p) job_ask_names(j, &r);
    job_wait(j, on_names);
}

static void ask_delete(struct job *j)
{
    struct delete_topic_header *h = job_take(j, sizeof *h);
    *h = (struct delete_topic_header){.topic = slice_trim(job_param(j, "topic"))};
    struct request r = {.code = REQUEST_DELETE_TOPIC_IN_BROKER, .kind = &delete_topic_kind, .header = h};
    job_ask_all(j, &r, on_deleted);
}

static void delete_topic(struct job *j) { job_brokers(j, ask_delete); }

static void delete_known(struct job *j)
{
    if (param_has(j->params, "cluster")) job_brokers(j, ask_delete);
    else job_topic_masters(j, job_param(j, "topic"), ask_delete);
}

static const struct param delete_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "its name"},
    {"clusterName", "c", PARAM_NEEDED, "CLUSTER", "on all masters of this cluster"},
    {.name = NULL},
};

static const struct param short_params[] = {
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL},
    {"cluster", NULL, PARAM_VALUE, "CLUSTER", "on its masters alone (else wherever it is)"},
    {.name = NULL},
};

const struct command topic_delete_commands[] = {
    {.name = "topic delete", .params = short_params, .start = delete_known, .asks = "deletes the topic and all of its messages:",
     .summary = "deletes a topic and its messages",
     .help = "Deletes a topic and its messages, on every master that has it, and at the name servers.\n\n"
             "Example:\n  skylark admin topic delete Orders --yes\n"},
    {.name = "deleteTopic", .params = delete_params, .start = delete_topic, .summary = "deletes a topic of a cluster"},
    {.name = NULL},
};
