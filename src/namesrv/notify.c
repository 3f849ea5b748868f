#include "codec/requests.h"
#include "namesrv/state.h"

enum { NOTIFY_TIMEOUT_MS = 300 };

static struct rpc_peer *find_or_add_peer(struct namesrv *ns, struct slice address)
{
    struct rpc_peer *peer = map_get(&ns->peers, address);
    if (peer) return peer;
    struct rpc_options options = rpc_options_default();
    peer = rpc_peer_new(ns->loop, address, NULL, &options);
    if (peer) map_put(&ns->peers, address, peer);
    return peer;
}

/* When a broker left, all are told; when one came, all but the one that is the smallest now. */
void notify_min_changed(void *ctx, const struct min_change *change)
{
    struct namesrv *ns = ctx;
    if (!ns->config->namesrv.notify_min_id_changed) return;
    struct min_broker_change_header h = {.min_broker_addr = change->addresses[0].text, .broker_name = change->group,
                                         .min_broker_id = change->addresses[0].id, .ha_broker_addr = change->ha_address,
                                         .offline_broker_addr = change->offline};
    header_set(&h, min_broker_change, min_broker_id);
    struct rpc_request r = {.code = REQUEST_NOTIFY_MIN_BROKER_ID_CHANGE, .kind = &min_broker_change_kind, .header = &h,
                            .timeout_ms = NOTIFY_TIMEOUT_MS};
    bool all = change->offline.p || change->count == 1;
    for (size_t i = all ? 0 : 1; i < change->count; i++) {
        struct rpc_peer *peer = find_or_add_peer(ns, change->addresses[i].text);
        if (peer) rpc_peer_request(peer, &r);
    }
}

void notify_done(struct namesrv *ns)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&ns->peers, &at));) rpc_peer_free(e->value);
    map_done(&ns->peers);
}
