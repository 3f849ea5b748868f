#include "kit/sim_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct sim_options sim_options_default(uint64_t seed)
{
    return (struct sim_options){
        .seed = seed,
        .start_wall_ms = 1790000000000,
        .delay_min_us = 50,
        .delay_max_us = 800,
        .spike_permille = 5,
        .spike_max_us = 40000,
        .split_permille = 150,
        .window_min_bytes = 4096,
        .window_max_bytes = 262144,
        .turn_max_us = 60,
        .work_max_us = 3000,
    };
}

struct sim *sim_new(const struct sim_options *options)
{
    struct sim *s = must_zero(sizeof *s);
    s->options = *options;
    random_init(&s->random, options->seed);
    s->next_port = 20000;
    list_init(&s->processes);
    list_init(&s->loops);
    list_init(&s->conns);
    list_init(&s->connects);
    list_init(&s->listeners);
    list_init(&s->partitions);
    list_init(&s->loose);
    s->names = MAP_EMPTY;
    return s;
}

void sim_free(struct sim *s)
{
    if (!s) return;
    sim_net_free(s);
    LIST_EACH(&s->loops, n) sim_loop_free(LIST_OWNER(n, struct sim_loop, node));
    LIST_EACH(&s->processes, n) free(LIST_OWNER(n, struct sim_process, node));
    LIST_EACH(&s->partitions, n) free(LIST_OWNER(n, struct sim_partition_row, node));
    LIST_EACH(&s->loose, n) sim_loose_free(n);
    map_done_with(&s->names, free);
    free(s->heap);
    free(s);
}

/* --- processes and names --- */

static struct addr ip_of(const char *ip)
{
    char text[ADDR_TEXT_MAX];
    struct addr a;
    snprintf(text, sizeof text, "%s:0", ip);
    err_t e = addr_parse(slice_text(text), &a);
    assert(!e && "a simulated machine is named by a literal address");
    err_free(e);
    return a;
}

void *sim_loose_new(struct sim *s, size_t n)
{
    struct list_node *node = must_zero(n);
    list_add(&s->loose, node);
    return node;
}

void sim_loose_free(void *p)
{
    list_remove(p);
    free(p);
}

struct sim_process *sim_process_new(struct sim *s, const char *ip)
{
    struct sim_process *p = must_zero(sizeof *p);
    p->sim = s;
    p->ip = ip_of(ip);
    p->alive = true;
    list_add(&s->processes, &p->node);
    return p;
}

void sim_process_kill(struct sim_process *p)
{
    assert(!p->sim->current && "a process is killed from outside of any turn");
    if (!p->alive) return;
    p->alive = false;
    sim_note(p->sim, 'k', p->ip.ip[3]);
    sim_net_kill(p->sim, p);
}

bool sim_process_alive(const struct sim_process *p) { return p->alive; }

void sim_name(struct sim *s, const char *name, const char *ip) { free(map_put(&s->names, slice_text(name), must_strdup(ip))); }

/* --- chance and trace --- */

struct random *sim_random(struct sim *s) { return &s->random; }
struct sim_options *sim_tune(struct sim *s) { return &s->options; }
uint64_t sim_trace(const struct sim *s) { return s->trace; }
uint64_t sim_turns(const struct sim *s) { return s->turns; }
int64_t sim_now_ms(const struct sim *s) { return s->now_us / 1000; }

uint32_t sim_draw(struct sim *s, uint32_t least, uint32_t most)
{
    return most <= least ? least : least + random_below(&s->random, most - least + 1);
}

bool sim_chance(struct sim *s, uint32_t permille) { return permille && random_below(&s->random, 1000) < permille; }

void sim_note(struct sim *s, uint64_t a, uint64_t b)
{
    __uint128_t m = (__uint128_t)(s->trace ^ a ^ (uint64_t)s->now_us << 20) * 0x9E3779B97F4A7C15ull;
    s->trace = ((uint64_t)m ^ (uint64_t)(m >> 64)) + b;
}

/* --- the event queue: a heap by time, then by order of pushing --- */

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->sequence < b->sequence;
}

void sim_push(struct sim *s, int64_t delay_us, void (*run)(struct sim *, void *, int64_t), void *p, int64_t n)
{
    if (s->heap_count == s->heap_cap) {
        s->heap_cap = s->heap_cap ? s->heap_cap * 2 : 256;
        s->heap = realloc(s->heap, s->heap_cap * sizeof *s->heap);
        if (!s->heap) abort();
    }
    struct sim_event e = {s->now_us + (delay_us > 0 ? delay_us : 0), s->sequence++, run, p, n};
    size_t i = s->heap_count++;
    for (size_t up; i > 0 && before(&e, &s->heap[up = (i - 1) / 2]); i = up) s->heap[i] = s->heap[up];
    s->heap[i] = e;
}

static struct sim_event pop(struct sim *s)
{
    struct sim_event top = s->heap[0], last = s->heap[--s->heap_count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= s->heap_count) break;
        if (child + 1 < s->heap_count && before(&s->heap[child + 1], &s->heap[child])) child++;
        if (!before(&s->heap[child], &last)) break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

bool sim_run_until(struct sim *s, bool (*condition)(void *), void *ctx, int64_t limit_ms)
{
    assert(!s->current);
    int64_t end_us = s->now_us + limit_ms * 1000;
    LIST_EACH(&s->loops, n) sim_plan_turn(LIST_OWNER(n, struct sim_loop, node));   /* for what the test did outside of turns */
    for (;;) {
        if (condition && condition(ctx)) return true;
        if (!s->heap_count || s->heap[0].at_us > end_us) break;
        struct sim_event e = pop(s);
        s->now_us = e.at_us;
        e.run(s, e.p, e.n);
    }
    s->now_us = end_us;
    return condition && condition(ctx);
}

void sim_run_for(struct sim *s, int64_t ms) { sim_run_until(s, NULL, NULL, ms); }

struct plan {
    struct list_node loose;
    void (*f)(void *ctx);
    void *ctx;
};

static void run_plan(struct sim *s, void *p, int64_t n)
{
    (void)s;
    (void)n;
    struct plan plan = *(struct plan *)p;
    sim_loose_free(p);
    plan.f(plan.ctx);
}

void sim_after(struct sim *s, int64_t delay_ms, void (*f)(void *), void *ctx)
{
    struct plan *plan = sim_loose_new(s, sizeof *plan);
    plan->f = f;
    plan->ctx = ctx;
    sim_push(s, delay_ms * 1000, run_plan, plan, 0);
}

/* --- partitions --- */

bool sim_same_ip(const struct addr *a, const struct addr *b) { return a->v6 == b->v6 && memcmp(a->ip, b->ip, a->v6 ? 16 : 4) == 0; }

void sim_partition(struct sim *s, const char *ip_a, const char *ip_b, int64_t ms)
{
    struct sim_partition_row *row = must_zero(sizeof *row);
    row->a = ip_of(ip_a);
    row->b = ip_of(ip_b);
    row->until_us = s->now_us + ms * 1000;
    list_add(&s->partitions, &row->node);
}

int64_t sim_blocked_until(struct sim *s, const struct addr *a, const struct addr *b)
{
    int64_t until = s->now_us;
    LIST_EACH(&s->partitions, n) {
        struct sim_partition_row *row = LIST_OWNER(n, struct sim_partition_row, node);
        if (row->until_us <= s->now_us) {
            list_remove(n);
            free(row);
        } else if ((sim_same_ip(&row->a, a) && sim_same_ip(&row->b, b)) || (sim_same_ip(&row->a, b) && sim_same_ip(&row->b, a))) {
            if (row->until_us > until) until = row->until_us;
        }
    }
    return until;
}
