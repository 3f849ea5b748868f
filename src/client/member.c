#include "client/state.h"

#include <stdlib.h>

static void begin(struct mail *mail)
{
    struct member *m = LIST_OWNER(mail, struct member, begin);
    list_add(&m->client->members, &m->node);
    if (m->ops->join) m->ops->join(m);
    heartbeat_soon(m->client);
}

/* The group's last member here: the others keep it at the brokers. */
static bool is_last(const struct member *m)
{
    LIST_EACH(&m->client->members, node) {
        const struct member *other = LIST_OWNER(node, struct member, node);
        if (other != m && other->ops->produces == m->ops->produces && strcmp(other->group, m->group) == 0) return false;
    }
    return true;
}

static void over(struct member *m)
{
    void (*done)(void *) = m->over_done;
    void *ctx = m->over_ctx;
    struct sky_client *c = m->client;
    list_remove(&m->node);
    event_set(&m->over);   /* who waits for it may free m now */
    if (done) done(ctx);
    client_settle(c);
}

void member_settle(struct member *m)
{
    if (!m->leaving || !list_linked(&m->node) || !m->ops->is_idle(m)) return;
    if (!m->left) {
        m->left = true;
        m->goodbyes = 1;   /* while they are begun */
        if (is_last(m)) heartbeat_goodbye(m);
        m->goodbyes--;
    }
    if (!m->goodbyes) over(m);
}

void member_leave(struct member *m)
{
    lock_take(&m->client->gate);
    m->closing = true;
    lock_give(&m->client->gate);
    if (m->ops->leave && !m->leaving) m->ops->leave(m);
    m->leaving = true;
    member_settle(m);
}

static void leave(struct mail *mail) { member_leave(LIST_OWNER(mail, struct member, end)); }

void member_init(struct member *m, struct sky_client *c, const struct member_ops *ops, const char *group)
{
    *m = (struct member){.client = client_ref(c), .ops = ops, .group = must_strdup(group), .begin.deliver = begin, .end.deliver = leave};
    list_node_init(&m->node);
    event_init(&m->over);
}

err_t member_open(struct member *m) { return client_post(m->client, NULL, &m->begin) ? NULL : err_new(ERR_CLOSED, "the client is shut down"); }

void member_done(struct member *m)
{
    event_done(&m->over);
    free(m->group);
    client_unref(m->client);
}

void member_close(struct member *m, void (*done)(void *), void *ctx)
{
    struct sky_client *c = m->client;
    lock_take(&c->gate);
    bool first = !m->closing;
    m->closing = true;
    if (first) {
        m->over_done = done;
        m->over_ctx = ctx;
        tasks_post(c->tasks, &m->end);
    }
    lock_give(&c->gate);
}

struct sky_error *member_shutdown(struct member *m)
{
    if (client_is_callback(m->client)) return error_new(SKY_STATE, 0, "a callback cannot wait for the end of itself");
    member_close(m, NULL, NULL);
    event_wait(&m->over);
    return NULL;
}
