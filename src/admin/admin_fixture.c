#include "admin/admin_fixture.h"

#include "rpc/rpc.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_MS = 20000 };

const char *const two_route =
    "{\"brokerDatas\":[{\"brokerAddrs\":{\"0\":\"10.0.0.3:1\",\"1\":\"10.0.0.8:1\"},\"brokerName\":\"b\",\"cluster\":\"C\",\"enableActingMaster\":false},"
    "{\"brokerAddrs\":{\"0\":\"10.0.0.2:1\"},\"brokerName\":\"a\",\"cluster\":\"C\",\"enableActingMaster\":false}],\"filterServerTable\":{},"
    "\"queueDatas\":[{\"brokerName\":\"a\",\"perm\":6,\"readQueueNums\":4,\"topicSysFlag\":0,\"writeQueueNums\":4},"
    "{\"brokerName\":\"b\",\"perm\":6,\"readQueueNums\":8,\"topicSysFlag\":0,\"writeQueueNums\":4}]}";

const char *const two_cluster =
    "{\"brokerAddrTable\":{\"a\":{\"brokerAddrs\":{0:\"10.0.0.2:1\"},\"brokerName\":\"a\",\"cluster\":\"C\",\"enableActingMaster\":false},"
    "\"b\":{\"brokerAddrs\":{0:\"10.0.0.3:1\",1:\"10.0.0.8:1\"},\"brokerName\":\"b\",\"cluster\":\"C\",\"enableActingMaster\":false},"
    "\"gone\":{\"brokerAddrs\":{1:\"10.0.0.8:2\"},\"brokerName\":\"gone\",\"cluster\":\"C\",\"enableActingMaster\":false}},"
    "\"clusterAddrTable\":{\"C\":[\"a\",\"b\",\"gone\"]}}";

struct cluster *cluster_start(void)
{
    struct cluster *c = must_zero(sizeof *c);
    struct sim_options o = sim_options_default(1);
    c->sim = sim_new(&o);
    c->loop = sim_loop_new(sim_process_new(c->sim, "10.0.0.9"));
    return c;
}

void cluster_stop(struct cluster *c)
{
    admin_free(c->admin);
    for (int i = 0; i < SERVERS_MAX; i++) {
        if (c->servers[i].listener) rpc_listener_close(c->servers[i].listener);
        free(c->servers[i].last);
        for (size_t k = 0; k < c->servers[i].seen_count; k++) free(c->servers[i].seen[k]);
    }
    err_free(c->error);
    sim_free(c->sim);
    free(c);
}

/* The next line of that code; it is used up when another one of the code follows. */
static struct line next_line(struct server *s, int32_t request)
{
    struct line *found = NULL;
    for (size_t i = 0; i < s->count; i++) {
        if (s->lines[i].request != request) continue;
        if (found) {
            struct line line = *found;
            found->request = 0;
            return line;
        }
        found = &s->lines[i];
    }
    if (!found) print_error("nobody thought of request %d\n", request);
    EXPECT(found);
    return *found;
}

static void handle(void *ctx, struct call *call)
{
    struct server *s = ctx;
    struct line line = next_line(s, call->code);
    s->asked++;
    free(s->last);
    s->last = frame_copy(call->frame);
    if (s->seen_count < SEEN_MAX) s->seen[s->seen_count++] = frame_copy(call->frame);
    if (line.code == SILENT) call_drop(call);
    else if (line.code) call_reply(call, line.code, line.text, line.kind, line.header, (struct slice){NULL, 0});
    else call_reply(call, line.code, NULL, line.kind, line.header, line.bytes ? *line.bytes : slice_text(line.text));
}

void cluster_serve(struct cluster *c, int i, const struct line *lines)
{
    struct server *s = &c->servers[i];
    struct rpc_service service = {.handle = handle, .ctx = s};
    struct addr any = {.port = 1};
    char ip[24];
    while (lines->request) s->lines[s->count++] = *lines++;
    snprintf(ip, sizeof ip, "10.0.0.%d", i + 1);
    EXPECT_OK(rpc_listen(sim_loop_new(sim_process_new(c->sim, ip)), &any, 0, &service, NULL, &s->listener));
}

void cluster_admin(struct cluster *c, const char *namesrv, const char *broker)
{
    struct admin_options o = {.loop = c->loop, .broker = slice_text(broker), .timeout_ms = 3000};
    o.namesrv = slice_text(namesrv ? namesrv : "10.0.0.1:1");
    admin_free(c->admin);
    c->admin = admin_new(&o);
}

void cluster_done(void *ctx, err_t e)
{
    struct cluster *c = ctx;
    c->done++;
    c->error = e;
}

static bool is_done(void *ctx) { return ((struct cluster *)ctx)->done > 0; }

void cluster_run(struct cluster *c, void (*operation)(void *ctx))
{
    if (!c->admin) cluster_admin(c, NULL, NULL);
    c->done = 0;
    err_free(c->error);
    c->error = NULL;
    sim_call(c->loop, operation, c);
    EXPECT(sim_run_until(c->sim, is_done, c, LIMIT_MS));
    EXPECT_EQ(c->done, 1);
}

struct slice cluster_field(const struct cluster *c, int server, const char *name)
{
    return frame_get(c->servers[server].last, slice_text(name));
}

const struct frame *cluster_asked(const struct cluster *c, int server, int32_t code)
{
    const struct server *s = &c->servers[server];
    for (size_t i = s->seen_count; i > 0; i--)
        if (s->seen[i - 1]->code == code) return s->seen[i - 1];
    return NULL;
}

void cluster_forget(struct cluster *c)
{
    for (int i = 0; i < SERVERS_MAX; i++) {
        for (size_t k = 0; k < c->servers[i].seen_count; k++) free(c->servers[i].seen[k]);
        c->servers[i].seen_count = 0;
    }
}
