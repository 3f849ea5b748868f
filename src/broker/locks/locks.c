#include "broker/locks/locks_state.h"

#include "base/log.h"

#include <stdlib.h>

void locks_init(struct locks *l, struct tasks *tasks) { *l = (struct locks){.tasks = tasks, .queues = MAP_EMPTY}; }

static void free_lock(void *lock)
{
    free(((struct queue_lock *)lock)->client_id);
    free(lock);
}

void locks_done(struct locks *l) { map_done_with(&l->queues, free_lock); }

static struct buf make_key(struct slice group, const struct message_queue *q)
{
    struct buf key = BUF_EMPTY;
    buf_put_counted(&key, group);
    buf_put_counted(&key, q->topic);
    buf_put_counted(&key, q->broker);
    buf_put_be32(&key, (uint32_t)q->queue_id);
    return key;
}

static bool is_expired(const struct locks *l, const struct queue_lock *lock)
{
    return tasks_mono_ms(l->tasks) - lock->taken_ms > LOCK_LIVES_MS;
}

static void give_to(struct queue_lock *lock, struct slice group, const struct message_queue *q, struct slice client_id)
{
    if (lock->client_id)
        log_warn("lock.taken_over group=\"%.*s\" topic=\"%.*s\" queue=%d from=\"%s\" to=\"%.*s\" why=\"no sign of the owner for %d s\"",
                 SLICE_ARG(group), SLICE_ARG(q->topic), q->queue_id, lock->client_id, SLICE_ARG(client_id), LOCK_LIVES_MS / 1000);
    free(lock->client_id);
    lock->client_id = must_dup(client_id);
}

bool locks_take(struct locks *l, struct slice group, const struct message_queue *q, struct slice client_id)
{
    struct buf key = make_key(group, q);
    struct queue_lock *lock = map_get(&l->queues, buf_slice(&key));
    if (!lock) {
        lock = must_zero(sizeof *lock);
        map_put(&l->queues, buf_slice(&key), lock);
    }
    buf_done(&key);
    bool mine = lock->client_id && slice_eq(slice_text(lock->client_id), client_id);
    if (!mine && lock->client_id && !is_expired(l, lock)) return false;
    if (!mine) give_to(lock, group, q, client_id);
    lock->taken_ms = tasks_mono_ms(l->tasks);
    return true;
}

const char *locks_holder(const struct locks *l, struct slice group, const struct message_queue *q, int64_t *silent_ms)
{
    struct buf key = make_key(group, q);
    const struct queue_lock *lock = map_get(&l->queues, buf_slice(&key));
    buf_done(&key);
    if (!lock || is_expired(l, lock)) return NULL;
    *silent_ms = tasks_mono_ms(l->tasks) - lock->taken_ms;
    return lock->client_id;
}

void locks_age(struct locks *l, struct slice group, const struct message_queue *q, int64_t silent_ms)
{
    struct buf key = make_key(group, q);
    struct queue_lock *lock = map_get(&l->queues, buf_slice(&key));
    buf_done(&key);
    if (lock) lock->taken_ms = tasks_mono_ms(l->tasks) - silent_ms;
}

bool locks_any(const struct locks *l, struct slice group)
{
    struct buf start = BUF_EMPTY;
    buf_put_counted(&start, group);
    const struct map_entry *e;
    bool found = false;
    for (size_t at = 0; !found && (e = map_next(&l->queues, &at));) found = slice_starts(e->key, buf_slice(&start)) && !is_expired(l, e->value);
    buf_done(&start);
    return found;
}

void locks_release(struct locks *l, struct slice group, const struct message_queue *q, struct slice client_id)
{
    struct buf key = make_key(group, q);
    struct queue_lock *lock = map_get(&l->queues, buf_slice(&key));
    if (lock && slice_eq(slice_text(lock->client_id), client_id)) {
        map_remove(&l->queues, buf_slice(&key));
        free_lock(lock);
    }
    buf_done(&key);
}

void locks_expire(struct locks *l)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&l->queues, &at));) {
        if (!is_expired(l, e->value)) continue;
        free_lock(map_remove(&l->queues, e->key));
    }
}
