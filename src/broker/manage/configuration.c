#include "broker/handlers.h"
#include "broker/registration.h"
#include "rpc/reply.h"

#include "base/log.h"
#include "base/properties_file.h"

/* Parts that keep a copy of a key they need all the time. */
static void take_over(struct broker *b)
{
    const struct config_broker *cfg = &b->cfg->broker;
    topics_set_auto_create(b->topics, cfg->auto_create_topic);
    groups_set_auto_create(b->groups, cfg->auto_create_group);
    offsets_set_flush_interval(b->offsets, cfg->flush_offsets_ms);
    b->trace_on = cfg->trace_on ? SLICE("true") : SLICE("false");
    struct clean_options clean = broker_clean_rules(b->cfg);
    store_set_clean_rules(b->store, &clean);
    log_set_level_named(b->cfg->skylark.log_level);
}

static bool is_set(struct slice text, struct slice name)
{
    struct arena arena = ARENA_EMPTY;
    struct properties p;
    struct slice key, value;
    bool found = false;
    properties_file_begin(&p, text);
    while (!found && properties_file_next(&p, &arena, &key, &value)) found = slice_eq(key, name);
    arena_done(&arena);
    return found;
}

void handle_update_config(struct broker *b, struct call *call)
{
    err_t e = config_update(b->options.config, call->body, CONFIG_BROKER);
    if (e) {
        call_fail(call, e);
        return;
    }
    log_info("config.changed keys=\"%.*s\"", SLICE_ARG(call->body));
    take_over(b);
    bool permission = is_set(call->body, SLICE("brokerPermission"));
    if (permission) topics_touch(b->topics);   /* name servers look at topics of a new version only */
    if (permission || is_set(call->body, SLICE("namesrvAddr"))) registration_configured(b->registration);
    if (!b->config_saver.path) {
        call_reply_ok(call);
        return;
    }
    saver_mark(&b->config_saver);
    saver_wait(&b->config_saver, reply_when_saved(call));
}

void handle_get_config(struct broker *b, struct call *call)
{
    struct buf body = BUF_EMPTY, version = BUF_EMPTY;
    struct data_version v = {.state_version = 0};
    config_write(b->cfg, CONFIG_BROKER, &body);
    data_version_encode(&v, &version);
    struct broker_config_reply_header reply = {.version = buf_slice(&version)};
    call_reply(call, RESPONSE_SUCCESS, NULL, &broker_config_reply_kind, &reply, buf_slice(&body));
    buf_done(&version);
    buf_done(&body);
}
