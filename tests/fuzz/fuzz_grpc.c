/* The bytes of a connection to a gRPC port: PROXY headers, HTTP/2, messages. Nothing crashes, each call is given back once, and what is
 * kept is within the limits. First byte: 1 the preface is put in front, 2 the client reads nothing, 4 time passes; second: where the
 * bytes are cut in two. */
#include "fuzz/fuzz.h"

#include "base/log.h"
#include "grpc/grpc.h"
#include "grpc/health.h"
#include "kit/sim_loop.h"

enum { PORT = 1, MESSAGE_MAX = 3000, UNSENT_MAX = 5000, HEADERS_MAX = 1000, STREAMS_MAX = 8, WINDOW = 65535, REPLIES = 3 };

static size_t had, back;

static bool begin(void *ctx, struct grpc_call *c, struct slice method)
{
    (void)ctx;
    grpc_call_header(c, "content-type");
    if (!method.n || method.p[0] == 'X') return false;
    had++;
    grpc_call_set_data(c, &had);
    if (method.p[0] != 'F') return true;
    back++;
    grpc_finish(c, GRPC_ABORTED, method);
    return true;
}

static void message(void *ctx, struct grpc_call *c, struct slice bytes)
{
    (void)ctx;
    FUZZ_EXPECT(bytes.n <= MESSAGE_MAX && grpc_call_data(c) == &had);
    for (int i = 0; i < REPLIES; i++) grpc_send_copy(c, bytes);
}

static void half_closed(void *ctx, struct grpc_call *c)
{
    (void)ctx;
    back++;
    grpc_finish(c, GRPC_OK, SLICE(""));
}

static void gone(void *ctx, struct grpc_call *c)
{
    (void)ctx;
    FUZZ_EXPECT(grpc_call_data(c) == &had);
    back++;
}

static struct stream *out;

static void ignore(void *ctx, uint8_t *p, size_t n) { (void)ctx, (void)p, (void)n; }
static void on_written(void *ctx) { (void)ctx; }

static void on_end(void *ctx, err_t e)
{
    (void)ctx;
    err_free(e);
    stream_close(out);
    out = NULL;
}

static void connected(void *ctx, err_t e, struct stream *s)
{
    static const struct stream_events events = {ignore, on_end, on_written};
    FUZZ_EXPECT(!e);
    out = s;
    stream_start(s, &events, NULL);
    stream_pause(s, *(uint8_t *)ctx & 2);
}

/* What is on its way must stay until it is written: the bytes are the target's own, the iovec is copied. */
static bool say(struct slice bytes)
{
    struct iovec part = {(void *)bytes.p, bytes.n};
    return out && bytes.n && stream_write(out, &part, 1) == WRITE_LATER;
}

static void close_server(void *ctx) { grpc_server_close(ctx); }

static void check_limits(const struct grpc_server *s)
{
    FUZZ_EXPECT(grpc_server_calls(s) <= STREAMS_MAX);
    FUZZ_EXPECT(grpc_server_unfinished(s) <= 2 * MESSAGE_MAX + STREAMS_MAX * WINDOW);
    FUZZ_EXPECT(had - back <= grpc_server_calls(s));   /* the others are health checks */
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const uint8_t preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";   /* its last zero counts */
    if (n < 2) return 0;
    log_set_level(LOG_SILENT);
    uint8_t flags = p[0], *bytes = fuzz_copy(p + 2, n - 2);
    size_t cut = (n - 2) * p[1] / 256;
    struct sim_options options = sim_options_default(n);
    struct sim *sim = sim_new(&options);
    struct loop *server = sim_loop_new(sim_process_new(sim, "10.0.0.1")), *client = sim_loop_new(sim_process_new(sim, "10.0.0.2"));
    struct grpc_service service = {"t", begin, message, half_closed, gone, NULL};
    struct health *health = health_new();
    const struct grpc_service *services[] = {&service, health_service(health)};
    struct grpc_options o = grpc_options_default();
    struct grpc_server *grpc;
    struct addr at = {.port = PORT};
    struct connect *k;
    o.max_message_bytes = MESSAGE_MAX;
    o.max_unsent_bytes = UNSENT_MAX;
    o.max_header_bytes = HEADERS_MAX;
    o.max_streams = STREAMS_MAX;
    had = back = 0;
    FUZZ_EXPECT(!grpc_listen(server, &at, services, 2, &o, &grpc));
    FUZZ_EXPECT(!loop_connect(client, SLICE("10.0.0.1"), PORT, 1000, connected, &flags, &k));
    sim_run_for(sim, 20);
    bool waits = flags & 1 && say(slice_of(preface, sizeof preface));
    if (!waits) waits = say(slice_of(bytes, cut));
    sim_run_for(sim, 20);
    check_limits(grpc);
    if (!waits) say(slice_of(bytes + cut, n - 2 - cut));
    sim_run_for(sim, flags & 4 ? 200000 : 50);
    check_limits(grpc);
    if (out) stream_close(out);
    out = NULL;
    sim_run_for(sim, 50);
    sim_call(server, close_server, grpc);
    FUZZ_EXPECT(had == back);
    health_free(health);
    sim_free(sim);
    free(bytes);
    return 0;
}
