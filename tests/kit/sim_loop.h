/* sim_loop.h - a simulated world: loops (net/loop.h, os/tasks.h) on a virtual clock, joined by a network in memory.
 * The broker, name server and rpc code that runs on libuv runs on this unchanged, and the same seed repeats the same run.
 * Shape    sim > processes (each with an IP) > loops; one event queue in microseconds drives them all
 * Network  bytes arrive in order within a connection, after delays that differ by connection and direction, in pieces or
 *          joined; a writer meets a bounded window; connections break, hang, are refused; hosts are cut off from each other
 * Workers  a job takes virtual time; its `run` happens at one instant of it
 * Threads  owner: everything, on one real thread
 * Owns     a sim owns processes, loops and what is left of streams and listeners; sim_free releases them. What a killed
 *          process had allocated is its own; it may be released (calls to a dead loop do nothing) or left behind */
#ifndef SKYLARK_TESTS_KIT_SIM_LOOP_H
#define SKYLARK_TESTS_KIT_SIM_LOOP_H

#include "net/loop.h"
#include "os/random.h"

struct sim;
struct sim_process;

struct sim_options {
    uint64_t seed;
    int64_t start_wall_ms;
    uint32_t delay_min_us;        /* one way, drawn for each direction of a connection */
    uint32_t delay_max_us;
    uint32_t spike_permille;      /* of the pieces sent are late by up to spike_max_us */
    uint32_t spike_max_us;
    uint32_t split_permille;      /* of the writes arrive in several pieces */
    uint32_t refuse_permille;     /* of the connects are refused although somebody listens */
    uint32_t window_min_bytes;    /* drawn for each direction: what the writer may have under way */
    uint32_t window_max_bytes;
    uint32_t turn_max_us;         /* a loop is busy so long after a turn; what comes meanwhile makes one turn */
    uint32_t work_max_us;         /* of a worker's job */
};

/* A network of good health with some jitter; nothing refused. */
struct sim_options sim_options_default(uint64_t seed);

struct sim *sim_new(const struct sim_options *options);
void sim_free(struct sim *s);

/* A process on the machine with that address ("10.0.0.1"); several may share a machine. */
struct sim_process *sim_process_new(struct sim *s, const char *ip);
struct loop *sim_loop_new(struct sim_process *p);
/* Its loops never run again, its listeners are gone, its peers see a reset, its jobs not yet run will not. */
void sim_process_kill(struct sim_process *p);
bool sim_process_alive(const struct sim_process *p);
/* Another name for a machine, for loop_connect. */
void sim_name(struct sim *s, const char *name, const char *ip);

/* --- time --- */
int64_t sim_now_ms(const struct sim *s);          /* since the start of the world */
/* Runs the world until the condition holds (true) or the time is over (false). condition NULL: for that long. */
bool sim_run_until(struct sim *s, bool (*condition)(void *ctx), void *ctx, int64_t limit_ms);
void sim_run_for(struct sim *s, int64_t ms);
/* Runs a function as a turn of the loop, now. Not from inside a turn. */
void sim_call(struct loop *l, void (*f)(void *ctx), void *ctx);
/* The world does this after a while, outside of any process: faults, kills, restarts. */
void sim_after(struct sim *s, int64_t delay_ms, void (*f)(void *ctx), void *ctx);
/* The world's own generator, for tests that must repeat with the seed. */
struct random *sim_random(struct sim *s);
/* A hash of everything that happened so far: equal for equal seeds. */
uint64_t sim_trace(const struct sim *s);
uint64_t sim_turns(const struct sim *s);

/* --- trouble --- */
size_t sim_connections(const struct sim *s);      /* that are open at both ends */
/* Breaks a random open connection: both ends learn it at their own time, what was under way is lost. False: there is none. */
bool sim_cut_one(struct sim *s);
/* A random open connection carries nothing for so long. */
bool sim_hang_one(struct sim *s, int64_t ms);
/* Nothing passes between the two machines for so long, either way; connections stay, and carry on after it. */
void sim_partition(struct sim *s, const char *ip_a, const char *ip_b, int64_t ms);
/* Changes what sim_options gave, from now on. */
struct sim_options *sim_tune(struct sim *s);

#endif
