/* What the original's replicas and tools ask, answered as by one that has neither controller nor RocksDB (354, 355, 906, 908, 1007, 5001,
 * 200056). */
#include "broker/handlers.h"
#include "broker/registration.h"
#include "rpc/reply.h"

#include "base/log.h"

/* Epochs are those of a controller's masters. */
void handle_epochs(struct broker *b, struct call *call)
{
    (void)b;
    call_fail(call, err_new(ERR_REFUSED, "this request only for controllerMode "));
}

/* Who does not say where its master is asks where this one is. */
void handle_exchange_ha_info(struct broker *b, struct call *call)
{
    struct exchange_ha_header h;
    char address[REGISTRATION_ADDRESS_MAX], ha[REGISTRATION_ADDRESS_MAX];
    err_t e = header_decode(&exchange_ha_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    if (h.master_ha_address.p || b->cfg->broker.id != 0) {
        call_reply_ok(call);   /* tells a follower of its master; nobody follows here */
        return;
    }
    registration_addresses(b, address, ha);
    struct exchange_ha_header reply = {.master_address = slice_text(address), .master_ha_address = slice_text(ha), .master_flush_offset = b->log_max_at_start};
    header_set(&reply, exchange_ha, master_flush_offset);
    call_reply(call, RESPONSE_SUCCESS, NULL, &exchange_ha_kind, &reply, (struct slice){NULL, 0});
}

/* Of followers alone; a master takes it and does nothing. */
void handle_reset_flush_offset(struct broker *b, struct call *call)
{
    struct reset_flush_offset_header h;
    err_t e = header_decode(&reset_flush_offset_kind, call->frame, &h);
    if (!e && b->cfg->broker.id != 0) e = err_new(ERR_REFUSED, "this broker follows no master");
    if (e) call_fail(call, e);
    else call_reply_ok(call);
}

/* From RocksDB to JSON: it is JSON always. */
void handle_export_config(struct broker *b, struct call *call)
{
    struct export_config_header h;
    (void)b;
    err_t e = header_decode(&export_config_kind, call->frame, &h);
    if (e) call_fail(call, e);
    else call_reply(call, RESPONSE_SUCCESS, "export done.", NULL, NULL, (struct slice){NULL, 0});
}

/* The original answers "in progress" whatever it has, and writes the result into its log. */
void handle_check_queues(struct broker *b, struct call *call)
{
    struct check_queues_header h;
    (void)b;
    err_t e = header_decode(&check_queues_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    log_info("queues.checked topic=\"%.*s\" result=\"there are no queues in RocksDB\"", SLICE_ARG(h.topic));
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, SLICE("{\"checkStatus\":2}"));
}

/* Timers are in files, and stay there. */
void handle_switch_timer(struct broker *b, struct call *call)
{
    struct switch_timer_header h;
    err_t e = header_decode(&switch_timer_kind, call->frame, &h);
    if (!e && !b->cfg->store.timer_wheel) e = err_new(ERR_INVALID, "broker timerWheelEnable is false");
    if (!e && slice_eq(h.engine, SLICE("R"))) e = err_new(ERR_INVALID, "timers are in files: this broker has no RocksDB to switch to");
    if (!e && !slice_eq(h.engine, SLICE("F"))) e = err_new(ERR_INVALID, "E_T is F or R, not \"%.*s\"", SLICE_ARG(h.engine));
    if (e) call_fail(call, e);
    else call_reply(call, RESPONSE_SUCCESS, "switch timer engine success", NULL, NULL, (struct slice){NULL, 0});
}

/* Records of pop from RocksDB to the log: they are in the log always. */
void handle_pop_rollback(struct broker *b, struct call *call)
{
    (void)b;
    call_reply_ok(call);
}
