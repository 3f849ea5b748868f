/* store_fixture.h - for the tests of this room: a store on a simulated disk, driven by hand. */
#ifndef SKYLARK_STORE_STORE_FIXTURE_H
#define SKYLARK_STORE_STORE_FIXTURE_H

#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"
#include "kit/test.h"
#include "store/store.h"

struct store_fixture {
    struct sim_fs *disk;
    struct fake_tasks tasks;
    struct store_options options;   /* small files; to be changed before store_fixture_open() */
    struct store *store;
    bool dead;                      /* its answers do not count any more */
    int stored;                     /* answers without an error */
    int failed;
    enum err_code last_error;
    int arrivals;
    int64_t arrived_end;            /* of the last arrival */
    int fetches;                    /* times that something was not in memory */
};

struct store_fixture *store_fixture_new(uint64_t seed);
void store_fixture_open(struct store_fixture *f);
/* Closes the store well; the next open is a restart. */
void store_fixture_close(struct store_fixture *f);
/* The process is killed (or the power goes) and comes back. */
void store_fixture_kill(struct store_fixture *f);
void store_fixture_cut_power(struct store_fixture *f);
/* Closes the store if it is open, and releases all. */
void store_fixture_free(struct store_fixture *f);

struct message store_fixture_message(const char *topic, int32_t queue_id, const char *body);
/* A batch that stays one record; its body need not be one for the store. */
struct message store_fixture_batch(const char *topic, int32_t queue_id, const char *body, int32_t count);
/* Appends with wait_sync. */
struct appended store_fixture_append(struct store_fixture *f, const char *topic, int32_t queue_id, const char *body);
err_t store_fixture_try(struct store_fixture *f, const struct message *m, struct appended *out);
/* The message at that offset has that body. */
void store_fixture_expect(struct store_fixture *f, const char *topic, int32_t queue_id, int64_t offset, const char *body);
/* No message is in memory any more. Within one turn memory is taken to stay what it is, so one ends. */
void store_fixture_evict(struct store_fixture *f);
/* What the store met is brought into memory. */
void store_fixture_fetch(struct store_fixture *f);
/* Reads, from the disk if it must. */
void store_fixture_read_all(struct store_fixture *f, const struct read_request *r, struct read_result *out);
/* Reads one message, from the disk if it must; its body goes to `out` as text. */
enum read_status store_fixture_read(struct store_fixture *f, const char *topic, int32_t queue_id, int64_t offset,
                                    struct buf *out);
int64_t store_fixture_min(struct store_fixture *f, const char *topic, int32_t queue_id);
int64_t store_fixture_max(struct store_fixture *f, const char *topic, int32_t queue_id);
void store_fixture_done(void *f, err_t e);   /* an append_done */

#endif
