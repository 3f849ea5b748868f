/* Locks over a clean stop. */
#include "broker/locks/locks_state.h"

#include "base/clamped.h"
#include "base/log.h"
#include "codec/bean.h"

#include <stdlib.h>

enum { FILE_BYTES_MAX = 64 << 20 };

struct kept_lock {
    struct slice broker, client_id, group;
    int32_t queue_id;
    int64_t seen_ms;                /* wall_ms of the owner's last sign */
    struct slice topic;
};

struct kept_locks {
    BEAN_LIST(struct kept_lock) locks;
};

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}
static const struct bean_field lock_rows[] = {
    ROW(kept_lock, broker, "broker", text, NULL),    ROW(kept_lock, client_id, "clientId", text, NULL), ROW(kept_lock, group, "group", text, NULL),
    ROW(kept_lock, queue_id, "queueId", i32, NULL), ROW(kept_lock, seen_ms, "seenMs", i64, NULL),      ROW(kept_lock, topic, "topic", text, NULL),
};
static const struct bean lock_bean = BEAN(struct kept_lock, lock_rows, NULL);
static const struct bean_field list_rows[] = {ROW(kept_locks, locks, "locks", list, &lock_bean)};
static const struct bean list_bean = BEAN(struct kept_locks, list_rows, NULL);

/* --- saving --- */

static void read_key(struct slice key, struct kept_lock *out)
{
    struct slice *const names[] = {&out->group, &out->topic, &out->broker};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *names[i] = slice_of(key.p + 4, get_be32(key.p));
        key = slice_of(names[i]->p + names[i]->n, key.n - 4 - names[i]->n);
    }
    out->queue_id = (int32_t)get_be32(key.p);
}

err_t locks_save(const struct locks *l, struct fs *fs, const char *path)
{
    struct arena arena = ARENA_EMPTY;
    struct buf text = BUF_EMPTY;
    struct kept_locks all = {.locks = {l->queues.count ? arena_take(&arena, l->queues.count * sizeof *all.locks.items) : NULL, 0}};
    const struct map_entry *e;
    int64_t now_ms = tasks_mono_ms(l->tasks), wall_ms = tasks_wall_ms(l->tasks);
    for (size_t at = 0; (e = map_next(&l->queues, &at));) {
        const struct queue_lock *lock = e->value;
        struct kept_lock *k = &all.locks.items[all.locks.count];
        int64_t silent_ms = now_ms - lock->taken_ms;
        if (silent_ms > LOCK_LIVES_MS) continue;
        read_key(e->key, k);
        k->client_id = slice_text(lock->client_id);
        k->seen_ms = wall_ms - silent_ms;
        all.locks.count++;
    }
    if (all.locks.count) bean_encode(&list_bean, &all, JSON_PRETTY, &text);
    err_t error = all.locks.count ? fs_replace_file(fs, path, buf_slice(&text)) : NULL;
    buf_done(&text);
    arena_done(&arena);
    return err_in(error, "write the locks of queues");
}

/* --- loading --- */

static void take_back(struct locks *l, const struct kept_lock *k)
{
    struct message_queue q = {.topic = k->topic, .broker = k->broker, .queue_id = k->queue_id};
    int64_t silent_ms = clamped_minus(tasks_wall_ms(l->tasks), k->seen_ms);
    if (silent_ms < 0) silent_ms = 0;   /* the clock was set back */
    if (silent_ms > LOCK_LIVES_MS || !k->client_id.n || !locks_take(l, k->group, &q, k->client_id)) return;
    locks_age(l, k->group, &q, silent_ms);
}

static err_t read_all(struct locks *l, struct slice text)
{
    struct arena arena = ARENA_EMPTY;
    struct kept_locks all;
    err_t e = bean_decode(&list_bean, text, &arena, "locks of queues", &all);
    for (size_t i = 0; !e && i < all.locks.count; i++) take_back(l, &all.locks.items[i]);
    arena_done(&arena);
    return e;
}

void locks_load(struct locks *l, struct fs *fs, const char *path)
{
    struct buf text = BUF_EMPTY;
    err_t e = fs_read_file(fs, path, FILE_BYTES_MAX, &text), gone;
    if (err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return;
    }
    if (!e) e = read_all(l, buf_slice(&text));
    if (e) log_warn("lock.not_kept path=\"%s\" why=\"%s\" text=\"clients lock anew\"", path, err_text(e));
    err_free(e);
    gone = fs_remove_for_good(fs, path);   /* after a kill or a power cut nobody knows who has locked what since */
    err_drop(gone, "locks that are too old are not taken back");
    buf_done(&text);
}
