/* Key-value configuration, and the name server's own. */
#include "namesrv/state.h"

#include "base/log.h"

void handle_put_kv(struct namesrv *ns, struct call *call)
{
    struct put_kv_header h;
    err_t e = header_decode(&put_kv_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    kv_put(&ns->kv, h.namespace, h.key, h.value);
    saver_mark(&ns->kv_saver);
    saver_wait(&ns->kv_saver, reply_when_saved(call));
}

void handle_get_kv(struct namesrv *ns, struct call *call)
{
    struct get_kv_header h;
    err_t e = header_decode(&get_kv_kind, call->frame, &h);
    const char *value = e ? NULL : kv_get(&ns->kv, h.namespace, h.key);
    if (!e && !value)
        e = err_new(ERR_NOT_FOUND, "No config item, Namespace: %.*s Key: %.*s", SLICE_ARG(h.namespace), SLICE_ARG(h.key));
    if (e) {
        call_fail(call, e);
        return;
    }
    struct get_kv_reply_header reply = {.value = slice_text(value)};
    call_reply(call, RESPONSE_SUCCESS, NULL, &get_kv_reply_kind, &reply, slice_of(NULL, 0));
}

void handle_delete_kv(struct namesrv *ns, struct call *call)
{
    struct delete_kv_header h;
    err_t e = header_decode(&delete_kv_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    if (kv_remove(&ns->kv, h.namespace, h.key)) saver_mark(&ns->kv_saver);
    saver_wait(&ns->kv_saver, reply_when_saved(call));
}

void handle_kv_list(struct namesrv *ns, struct call *call)
{
    struct kv_list_header h;
    struct kv_table table;
    struct arena arena = ARENA_EMPTY;
    err_t e = header_decode(&kv_list_kind, call->frame, &h);
    if (!e && !kv_list(&ns->kv, h.namespace, &arena, &table))
        e = err_new(ERR_NOT_FOUND, "No config item, Namespace: %.*s", SLICE_ARG(h.namespace));
    if (e) call_fail(call, e);
    else reply_bean(call, NULL, NULL, &kv_table_bean, &table);
    arena_done(&arena);
}

void handle_update_namesrv_config(struct namesrv *ns, struct call *call)
{
    err_t e = config_update(ns->config, call->body, CONFIG_NAMESRV);
    if (!e) log_set_level_named(ns->config->skylark.log_level);
    if (e) {
        call_fail(call, e);
    } else if (ns->config_saver.path) {
        saver_mark(&ns->config_saver);
        saver_wait(&ns->config_saver, reply_when_saved(call));
    } else {
        call_reply_ok(call);
    }
}

void handle_get_namesrv_config(struct namesrv *ns, struct call *call)
{
    struct buf text = BUF_EMPTY;
    config_write(ns->config, CONFIG_NAMESRV, &text);
    buf_printf(&text, "rocketmqHome=%s\n", ns->config->skylark.data_folder);   /* tools look for it; what is there is here */
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, buf_slice(&text));
    buf_done(&text);
}
