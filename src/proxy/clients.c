#include "proxy/lite_subscription.h"

#include "base/log.h"

#include <stdlib.h>

void clients_init(struct clients *c, struct proxy *p)
{
    c->proxy = p;
    c->by_id = c->producers = MAP_EMPTY;
    list_init(&c->streams);
}

static void producers_free(void *value)
{
    struct producers *p = value;
    free(p->items);
    free(p);
}

static void leave(struct clients *all, struct client *c, const char *topic)
{
    struct producers *p = map_get(&all->producers, slice_text(topic));
    for (size_t i = 0; p && i < p->count; i++) {
        if (p->items[i] != c) continue;
        p->items[i] = p->items[--p->count];
        break;
    }
    if (p && !p->count) producers_free(map_remove(&all->producers, slice_text(topic)));
}

/* What its settings said. */
static void forget_settings(struct clients *all, struct client *c)
{
    for (size_t i = 0; i < c->topic_count; i++) {
        leave(all, c, c->topics[i]);
        free(c->topics[i]);
    }
    free(c->topics);
    free(c->group);
    free(c->lite_parent);
    c->topics = NULL;
    c->topic_count = c->topic_cap = 0;
    c->group = c->lite_parent = NULL;
}

static void client_free(struct clients *all, struct client *c)
{
    forget_settings(all, c);
    if (c->stream) c->stream->client = NULL;
    free(c->id);
    free(c);
}

void clients_done(struct clients *all)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&all->by_id, &at));) {
        handles_drop(&all->proxy->handles, e->value);
        client_free(all, e->value);
    }
    LIST_EACH(&all->streams, node) {
        list_remove(node);
        free(LIST_OWNER(node, struct stream_of_client, node));
    }
    map_done(&all->by_id);
    map_done_with(&all->producers, producers_free);
}

struct client *clients_find(const struct clients *all, struct slice id) { return map_get(&all->by_id, id); }

struct client *clients_put(struct clients *all, struct slice id)
{
    struct client *c = map_get(&all->by_id, id);
    if (c) {
        forget_settings(all, c);
    } else {
        c = must_zero(sizeof *c);
        c->id = must_dup(id);
        list_init(&c->handles);
        map_put(&all->by_id, id, c);
        proxy_count(all->proxy, METRIC_PROXY_CLIENTS, 1);
    }
    c->seen_ms = tasks_mono_ms(all->proxy->tasks);
    return c;
}

static struct producers *producers_of(struct clients *all, struct slice topic)
{
    struct producers *p = map_get(&all->producers, topic);
    if (p) return p;
    p = must_zero(sizeof *p);
    map_put(&all->producers, topic, p);
    return p;
}

static void *grow(void *items, size_t *cap, size_t size)
{
    *cap = *cap ? *cap * 2 : 4;
    items = realloc(items, *cap * size);
    if (!items) abort();
    return items;
}

void client_produces(struct clients *all, struct client *c, struct slice topic)
{
    struct producers *p = producers_of(all, topic);
    if (p->count && p->items[p->count - 1] == c) return;   /* named twice: its topics are added in one go */
    if (c->topic_count == c->topic_cap) c->topics = grow(c->topics, &c->topic_cap, sizeof *c->topics);
    c->topics[c->topic_count++] = must_dup(topic);
    if (p->count == p->cap) p->items = grow(p->items, &p->cap, sizeof *p->items);
    p->items[p->count++] = c;
}

void clients_remove(struct clients *all, struct client *c)
{
    handles_give_back(&all->proxy->handles, c);
    lite_client_gone(all->proxy, c);
    questions_changed(&all->proxy->questions);
    map_remove(&all->by_id, slice_text(c->id));
    proxy_count(all->proxy, METRIC_PROXY_CLIENTS, -1);
    client_free(all, c);
}

struct client *clients_producer(struct clients *all, struct slice topic)
{
    struct producers *p = map_get(&all->producers, topic);
    for (size_t i = 0; p && i < p->count; i++) {
        struct client *c = p->items[p->turn++ % p->count];
        if (c->stream) return c;
    }
    return NULL;
}

bool clients_produce(const struct clients *all, struct slice topic) { return map_get(&all->producers, topic); }

void clients_scan(struct clients *all)
{
    int64_t oldest_ms = tasks_mono_ms(all->proxy->tasks) - all->proxy->cfg->channel_expired_ms;
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&all->by_id, &at));) {
        struct client *c = e->value;
        if (c->seen_ms > oldest_ms) continue;
        log_info("client.expired id=\"%s\" silent_ms=%lld", c->id, (long long)all->proxy->cfg->channel_expired_ms);
        clients_remove(all, c);
    }
}
