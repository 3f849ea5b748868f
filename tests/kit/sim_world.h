/* sim_world.h - inside of the simulation, shared by sim_world.c, sim_loop.c and sim_net.c only. */
#ifndef SKYLARK_TESTS_KIT_SIM_WORLD_H
#define SKYLARK_TESTS_KIT_SIM_WORLD_H

#include "kit/sim_loop.h"

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"

/* What happens at an instant, without any process running: `run` may then hand something to a loop's turn. */
struct sim_event {
    int64_t at_us;
    uint64_t sequence;
    void (*run)(struct sim *s, void *p, int64_t n);
    void *p;
    int64_t n;
};

struct sim_partition_row {
    struct list_node node;
    struct addr a, b;
    int64_t until_us;
};

struct sim {
    struct sim_options options;
    struct random random;
    int64_t now_us;
    uint64_t sequence;
    struct sim_event *heap;
    size_t heap_count, heap_cap;
    struct list processes;
    struct list loops;
    struct list conns;
    struct list connects;
    struct list listeners;
    struct list partitions;
    struct list loose;             /* what events point to and nobody else holds */
    struct map names;
    struct sim_loop *current;      /* whose turn it is */
    bool on_worker;
    uint16_t next_port;
    uint32_t next_loop;
    uint64_t trace;
    uint64_t turns;
};

struct sim_process {
    struct list_node node;
    struct sim *sim;
    struct addr ip;                /* port 0 */
    bool alive;
};

/* Something a loop will look at in its next turn; embedded in its owner. */
struct sim_ready {
    struct list_node node;
    void (*run)(struct sim_ready *r);
};

struct sim_loop {
    struct loop base;              /* must be first: tasks and loops are told apart by nothing else */
    struct list_node node;
    struct sim_process *process;
    uint32_t number;
    struct list ready;
    struct list hooks;
    struct timer **timers;         /* a heap by due_ms, then sequence */
    size_t timer_count, timer_cap;
    uint64_t timer_sequence;
    int64_t alarm_us;              /* the earliest timer event under way; INT64_MAX: none */
    bool turn_planned;
    int64_t busy_until_us;
    int64_t turn_us;               /* start of the turn that runs */
};

/* --- sim_world.c --- */
void sim_push(struct sim *s, int64_t delay_us, void (*run)(struct sim *, void *, int64_t), void *p, int64_t n);
/* Zeroed memory of an event; begins with a list_node. sim_free releases what no event did. */
void *sim_loose_new(struct sim *s, size_t n);
void sim_loose_free(void *p);
/* least … most, both included. */
uint32_t sim_draw(struct sim *s, uint32_t least, uint32_t most);
bool sim_chance(struct sim *s, uint32_t permille);
void sim_note(struct sim *s, uint64_t a, uint64_t b);
/* When something that leaves now from a to b may arrive: now, or the end of the partition between them. */
int64_t sim_blocked_until(struct sim *s, const struct addr *a, const struct addr *b);
bool sim_same_ip(const struct addr *a, const struct addr *b);

/* --- sim_loop.c --- */
extern const struct tasks_ops sim_tasks_ops;
struct sim_loop *sim_loop_of(struct loop *l);
bool sim_loop_alive(const struct sim_loop *l);
/* Into the loop's next turn, once. */
void sim_ready_add(struct sim_loop *l, struct sim_ready *r);
static inline bool sim_ready_queued(const struct sim_ready *r) { return list_linked(&r->node); }
void sim_plan_turn(struct sim_loop *l);
void sim_loop_free(struct sim_loop *l);

/* --- sim_net.c --- */
extern const struct loop_ops sim_loop_ops;
void sim_net_kill(struct sim *s, struct sim_process *p);
void sim_net_free(struct sim *s);

#endif
