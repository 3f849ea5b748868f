#include "broker/members/guests.h"

#include <stdlib.h>

static struct buf key_of(struct slice group, struct slice client_id)
{
    struct buf key = BUF_EMPTY;
    buf_put_counted(&key, group);
    buf_put_slice(&key, client_id);
    return key;
}

static void guest_free(void *guest)
{
    struct guest *g = guest;
    if (!g) return;
    arena_done(&g->arena);
    free(g);
}

void guests_done(struct guests *g) { map_done_with(&g->table, guest_free); }

void guests_closed(struct guests *g, const struct rpc_conn *conn)
{
    struct map_entry *e;
    for (size_t at = 0; g->table.count && (e = map_next(&g->table, &at));) {
        struct guest *guest = e->value;
        if (guest->conn == conn) guest_free(map_remove(&g->table, e->key));
    }
}

static void add(struct guests *g, struct rpc_conn *conn, const struct guest_row *row)
{
    struct buf key = key_of(row->group, row->client_id);
    struct guest *guest = must_zero(sizeof *guest);
    guest->conn = conn;
    guest->arena = ARENA_EMPTY;
    guest->row = (struct guest_row){
        arena_copy(&guest->arena, row->address), arena_copy(&guest->arena, row->client_id), arena_copy(&guest->arena, row->group),
        arena_copy(&guest->arena, row->language), row->version,
    };
    guest_free(map_put(&g->table, buf_slice(&key), guest));
    buf_done(&key);
}

void guests_told(struct guests *g, struct rpc_conn *conn, const struct guest_list *list)
{
    guests_closed(g, conn);
    for (size_t i = 0; i < list->rows.count; i++)
        if (list->rows.items[i].group.n && list->rows.items[i].client_id.n) add(g, conn, &list->rows.items[i]);
}

const struct guest *guests_find(const struct guests *g, struct slice group, struct slice client_id)
{
    struct buf key = key_of(group, client_id);
    const struct guest *guest = map_get(&g->table, buf_slice(&key));
    buf_done(&key);
    return guest;
}

const struct guest *guests_next(const struct guests *g, struct slice group, size_t *at)
{
    struct map_entry *e;
    while ((e = map_next(&g->table, at)))
        if (slice_eq(((const struct guest *)e->value)->row.group, group)) return e->value;
    return NULL;
}
