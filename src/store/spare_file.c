#include "store/spare_file.h"

#include <assert.h>
#include <stdlib.h>

/* Blocks are allocated, not written. Measured (ext4, Linux 6.18; CPU of each write of 1.2 / 70 / 614 KB):
 *   allocated 0.9 / 22 / 167 us, written with zeros before 6.9 / 18 / 117 us, and 20 ms more for each 100 MB written.
 * Zeros ahead cost as much as they save on large writes, and make small ones seven times dearer (pages come in large folios).
 * With a sync behind each write CPU is equal; a lone small message waits 160 us instead of 300, for twice the bytes on disk.
 * The file itself is not synced here: the log may be writing to it already (spare_file_take), and must hear itself of a sync that fails.
 * Thread: worker. */
static void make(struct work *w)
{
    struct spare_file *s = LIST_OWNER(w, struct spare_file, work);
    s->e = mapped_file_make(s->fs, s->folder, s->start, s->size, &s->made);
    if (!s->e) s->e = fs_sync_folder(s->fs, s->folder);
}

static void made(struct work *w)
{
    struct spare_file *s = LIST_OWNER(w, struct spare_file, work);
    s->running = false;
    if (s->e || s->unwanted) {
        mapped_file_free(s->made);
        s->made = NULL;
    }
    err_drop(s->e, "the file is made when it is needed");
    s->e = NULL;
    s->ended(s->ctx);
}

void spare_file_init(struct spare_file *s, struct fs *fs, struct tasks *tasks, const char *folder, int64_t size,
                     void (*ended)(void *ctx), void *ctx)
{
    *s = (struct spare_file){.tasks = tasks, .fs = fs, .size = size, .ended = ended, .ctx = ctx};
    s->work = (struct work){.run = make, .done = made};
    s->folder = must_strdup(folder);
}

void spare_file_done(struct spare_file *s)
{
    assert(!s->running);
    mapped_file_free(s->made);
    free(s->folder);
    *s = (struct spare_file){.fs = NULL};
}

void spare_file_prepare(struct spare_file *s, int64_t start)
{
    if (s->running || s->made) return;
    s->start = start;
    s->running = true;
    s->unwanted = false;
    tasks_work(s->tasks, &s->work);
}

err_t spare_file_take(struct spare_file *s, int64_t start, struct mapped_file **out, bool *durable)
{
    if (!s->running && s->made && s->made->start == start) {
        *out = s->made;
        *durable = true;
        s->made = NULL;
        return NULL;
    }
    /* The worker may be making the same file: both end up with a handle of it, and allocating twice does no harm. */
    s->unwanted = true;
    *durable = false;
    return mapped_file_make(s->fs, s->folder, start, s->size, out);
}
