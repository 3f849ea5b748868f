#include "kit/sim_fs.h"

#include "base/buf.h"
#include "base/map.h"
#include "os/random.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { BLOCK = 4096, SECTOR = 512, OP_KINDS = 7, SMALLEST_FILE = 64 << 10 };

enum { TOUCHED = 1, ALLOCATED = 2, DOOMED = 4, COLD = 8 };   /* of a block; doomed: a sync failed, and no later one will save it */

/* A file or a folder. It lives while a name, an open file or a map refers to it. */
struct node {
    int refs;
    int maps;
    bool folder;
    bool locked;
    int64_t modified_ms;
    uint8_t *bytes;           /* a reserved range; pages come when they are written */
    int64_t capacity;
    int64_t size;
    int64_t durable_size;
    uint8_t **before;         /* per block: what the disk has, when that differs */
    uint8_t *flags;           /* per block */
    int64_t cold;             /* blocks that nobody may touch */
    struct buf dirty;         /* int64_t: blocks with a `before`, in the order they were changed */
};

enum change { MADE, GONE, MOVED, TRADED };

/* A change of names that is not on the disk yet. */
struct name_change {
    enum change kind;
    char *path;
    char *to;                 /* MOVED, TRADED */
    struct node *node;
};

struct sim_file {
    struct file file;
    struct node *node;
    uint64_t life;
    bool locking;
    char path[];
};

struct sim_fs {
    struct fs fs;
    struct random random;
    struct map names;         /* path to node, as seen now */
    struct map durable;       /* … as on the disk */
    struct buf changes;       /* struct name_change */
    struct map maps;          /* address in hexadecimal to node */
    int64_t now_ms;
    int64_t space;
    int32_t used_percent;
    uint64_t life;            /* counts restarts */
    bool stopped;
    uint64_t calls[OP_KINDS];
    unsigned fail_ops;
    uint64_t fail_in;
    bool fail_on;
    void (*on_sync)(void *ctx);
    void *on_sync_ctx;
    bool evicted;             /* something was, once */
    enum err_code fail_code;
};

static struct sim_fs *sim_of(struct fs *fs) { return (struct sim_fs *)(void *)fs; }
static struct sim_file *file_of(struct file *f) { return (struct sim_file *)(void *)f; }
static bool coin(struct sim_fs *s) { return random_below(&s->random, 2); }

/* --- nodes --- */

static int64_t blocks_of(int64_t bytes) { return (bytes + BLOCK - 1) / BLOCK; }

static void set_space_back(struct sim_fs *s, struct node *n, int64_t block)
{
    if (n->flags[block] & ALLOCATED && s->space >= 0) s->space += BLOCK;
    n->flags[block] &= (uint8_t)~ALLOCATED;
}

static void release_content(struct sim_fs *s, struct node *n)
{
    for (int64_t b = 0; b < blocks_of(n->capacity); b++) {
        set_space_back(s, n, b);
        free(n->before[b]);
    }
    if (n->bytes) munmap(n->bytes, (size_t)n->capacity);
    free(n->before);
    free(n->flags);
    buf_done(&n->dirty);
}

static void unref(struct sim_fs *s, struct node *n)
{
    if (--n->refs) return;
    release_content(s, n);
    free(n);
}

static struct node *ref(struct node *n)
{
    n->refs++;
    return n;
}

static uint8_t *reserve(int64_t bytes)
{
    void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert(p != MAP_FAILED);
    return p;
}

static void *grown(void *old, size_t old_bytes, size_t new_bytes)
{
    void *p = must_zero(new_bytes);
    if (old_bytes) memcpy(p, old, old_bytes);
    free(old);
    return p;
}

static void warm(struct node *n, int64_t from, int64_t to)
{
    for (int64_t b = from / BLOCK; n->cold && b < blocks_of(to); b++) {
        if (!(n->flags[b] & COLD)) continue;
        n->flags[b] &= (uint8_t)~COLD;
        n->cold--;
        int failed = mprotect(n->bytes + b * BLOCK, BLOCK, PROT_READ | PROT_WRITE);
        assert(!failed);
    }
}

/* What is to be written yet stays in memory. What the kernel takes for written, and is not, comes back as it is on the disk. */
static void evict(struct node *n)
{
    for (int64_t b = 0; b < blocks_of(n->size); b++) {
        if (n->before[b] && n->flags[b] & DOOMED) memcpy(n->bytes + b * BLOCK, n->before[b], BLOCK);
        if (n->before[b] || n->flags[b] & COLD) continue;
        n->flags[b] |= COLD;
        n->cold++;
        int failed = mprotect(n->bytes + b * BLOCK, BLOCK, PROT_NONE);
        assert(!failed);
    }
}

static void make_room(struct node *n, int64_t size)
{
    if (size <= n->capacity) return;
    warm(n, 0, n->size);
    assert(n->maps == 0);   /* mapped bytes stay where they are */
    int64_t capacity = n->capacity ? n->capacity : SMALLEST_FILE;
    while (capacity < size) capacity *= 2;
    uint8_t *bytes = reserve(capacity);
    if (n->size) memcpy(bytes, n->bytes, (size_t)n->size);
    if (n->bytes) munmap(n->bytes, (size_t)n->capacity);
    size_t old = (size_t)blocks_of(n->capacity), new = (size_t)blocks_of(capacity);
    n->before = grown(n->before, old * sizeof *n->before, new * sizeof *n->before);
    n->flags = grown(n->flags, old, new);
    n->bytes = bytes;
    n->capacity = capacity;
}

/* Keeps what the disk has of a block that is about to change. */
static void remember(struct node *n, int64_t block)
{
    n->flags[block] &= (uint8_t)~DOOMED;
    n->flags[block] |= TOUCHED;
    warm(n, block * BLOCK, (block + 1) * BLOCK);
    if (n->before[block]) return;
    n->before[block] = must_alloc(BLOCK);
    memcpy(n->before[block], n->bytes + block * BLOCK, BLOCK);
    buf_put(&n->dirty, &block, sizeof block);
}

static bool allocate_block(struct sim_fs *s, struct node *n, int64_t block)
{
    if (n->flags[block] & ALLOCATED) return true;
    if (s->space >= 0 && s->space < BLOCK) return false;
    if (s->space >= 0) s->space -= BLOCK;
    n->flags[block] |= ALLOCATED;
    return true;
}

/* Returns how many bytes found room. */
static size_t node_write(struct sim_fs *s, struct node *n, int64_t at, const uint8_t *p, size_t bytes)
{
    make_room(n, at + (int64_t)bytes);
    size_t done = 0;
    while (done < bytes) {
        int64_t to = at + (int64_t)done;
        size_t part = (size_t)(BLOCK - to % BLOCK);
        if (part > bytes - done) part = bytes - done;
        if (!allocate_block(s, n, to / BLOCK)) break;
        remember(n, to / BLOCK);
        memcpy(n->bytes + to, p + done, part);
        done += part;
    }
    if (at + (int64_t)done > n->size) n->size = at + (int64_t)done;
    n->modified_ms = s->now_ms;
    return done;
}

static void node_set_size(struct sim_fs *s, struct node *n, int64_t size)
{
    make_room(n, size);
    for (int64_t b = size / BLOCK; b < blocks_of(n->size); b++) {   /* only when it shrinks */
        int64_t from = b * BLOCK < size ? size : b * BLOCK;
        if (n->flags[b] & TOUCHED) {
            remember(n, b);
            memset(n->bytes + from, 0, (size_t)((b + 1) * BLOCK - from));
        }
        if (from == b * BLOCK) set_space_back(s, n, b);
    }
    n->size = size;
    n->modified_ms = s->now_ms;
}

static void node_synced(struct node *n)
{
    struct buf doomed = BUF_EMPTY;
    for (size_t i = 0; i < n->dirty.n; i += sizeof(int64_t)) {
        int64_t block;
        memcpy(&block, n->dirty.p + i, sizeof block);
        if (n->flags[block] & DOOMED) {
            buf_put(&doomed, &block, sizeof block);
            continue;
        }
        free(n->before[block]);
        n->before[block] = NULL;
    }
    buf_done(&n->dirty);
    n->dirty = doomed;
    n->durable_size = n->size;
}

static void node_doom(struct sim_fs *s, struct node *n)
{
    for (size_t i = 0; i < n->dirty.n; i += sizeof(int64_t)) {
        int64_t block;
        memcpy(&block, n->dirty.p + i, sizeof block);
        if (coin(s)) n->flags[block] |= DOOMED;
    }
}

/* --- a power cut --- */

enum luck { LOSE_ALL, KEEP_ALL, KEEP_FIRST, ANY_SECTOR, LUCKS };

static void lose_block(struct sim_fs *s, struct node *n, int64_t block, enum luck luck, bool first_part)
{
    for (int sector = 0; sector < BLOCK / SECTOR; sector++) {
        bool keep = luck == KEEP_ALL || (luck == KEEP_FIRST && first_part) || (luck == ANY_SECTOR && coin(s));
        if (n->flags[block] & DOOMED) keep = false;
        size_t at = (size_t)sector * SECTOR;
        if (!keep) memcpy(n->bytes + block * BLOCK + at, n->before[block] + at, SECTOR);
    }
}

static void node_lose(struct sim_fs *s, struct node *n)
{
    enum luck luck = (enum luck)random_below(&s->random, LUCKS);
    size_t count = n->dirty.n / sizeof(int64_t);
    size_t keep = count ? random_below(&s->random, (uint32_t)count + 1) : 0;
    for (size_t i = 0; i < count; i++) {
        int64_t block;
        memcpy(&block, n->dirty.p + i * sizeof block, sizeof block);
        lose_block(s, n, block, i == keep && luck == KEEP_FIRST ? ANY_SECTOR : luck, i < keep);
        free(n->before[block]);
        n->before[block] = NULL;
        n->flags[block] &= (uint8_t)~DOOMED;
    }
    buf_clear(&n->dirty);
    warm(n, 0, n->capacity);
    if (luck == LOSE_ALL || (luck != KEEP_ALL && coin(s))) n->size = n->durable_size;
    if (n->bytes && n->size < n->capacity) memset(n->bytes + n->size, 0, (size_t)((blocks_of(n->size) * BLOCK) - n->size));
    n->durable_size = n->size;
}

/* --- names --- */

static struct node *node_at(struct sim_fs *s, const char *path) { return map_get(&s->names, slice_text(path)); }

static void set_name(struct sim_fs *s, struct map *m, const char *path, struct node *n)
{
    struct node *old = n ? map_put(m, slice_text(path), ref(n)) : map_remove(m, slice_text(path));
    if (old) unref(s, old);
}

struct name_move {
    char *from;
    char *to;
    struct node *node;
};

/* `from` and all below it gets the same names below `to`. */
static void plan_moves(struct map *m, const char *from, const char *to, struct buf *out)
{
    struct map_entry *e;
    size_t n = strlen(from);
    for (size_t at = 0; (e = map_next(m, &at));) {
        const char *path = (const char *)e->key.p;
        if (strncmp(path, from, n) || (path[n] && path[n] != '/')) continue;
        char target[4096];
        snprintf(target, sizeof target, "%s%s", to, path + n);
        struct name_move move = {must_strdup(path), must_strdup(target), ref(e->value)};
        buf_put(out, &move, sizeof move);
    }
}

/* One step also for folders: a power cut finds all of it done, or nothing. */
static void trade(struct sim_fs *s, struct map *m, const char *a, const char *b)
{
    struct buf moves = BUF_EMPTY;
    plan_moves(m, a, b, &moves);
    plan_moves(m, b, a, &moves);
    const struct name_move *move = (const struct name_move *)(const void *)moves.p;
    size_t count = moves.n / sizeof *move;
    for (size_t i = 0; i < count; i++) set_name(s, m, move[i].from, NULL);
    for (size_t i = 0; i < count; i++) {
        set_name(s, m, move[i].to, move[i].node);
        unref(s, move[i].node);
        free(move[i].from);
        free(move[i].to);
    }
    buf_done(&moves);
}

static void apply(struct sim_fs *s, struct map *m, const struct name_change *c)
{
    if (c->kind == TRADED) trade(s, m, c->path, c->to);
    if (c->kind == MADE) set_name(s, m, c->path, c->node);
    if (c->kind == GONE || c->kind == MOVED) set_name(s, m, c->path, NULL);
    if (c->kind == MOVED) set_name(s, m, c->to, c->node);
}

static void note_change(struct sim_fs *s, enum change kind, const char *path, const char *to, struct node *n)
{
    struct name_change c = {kind, must_strdup(path), to ? must_strdup(to) : NULL, ref(n)};
    buf_put(&s->changes, &c, sizeof c);
    apply(s, &s->names, &c);
}

static void change_done(struct sim_fs *s, struct name_change *c)
{
    free(c->path);
    free(c->to);
    unref(s, c->node);
}

static bool is_in(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return path && !strncmp(path, folder, n) && path[n] == '/' && !strchr(path + n + 1, '/');
}

/* The changes in a folder go to the disk, the others are kept. */
static void settle_folder(struct sim_fs *s, const char *folder)
{
    struct buf rest = BUF_EMPTY;
    for (size_t i = 0; i < s->changes.n; i += sizeof(struct name_change)) {
        struct name_change c;
        memcpy(&c, s->changes.p + i, sizeof c);
        if (is_in(c.path, folder) || is_in(c.to, folder)) {
            apply(s, &s->durable, &c);
            change_done(s, &c);
        } else {
            buf_put(&rest, &c, sizeof c);
        }
    }
    buf_done(&s->changes);
    s->changes = rest;
}

static void copy_names(struct sim_fs *s, struct map *to, const struct map *from)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(to, &at));) unref(s, e->value);
    map_done(to);
    for (size_t at = 0; (e = map_next(from, &at));) map_put(to, e->key, ref(e->value));
}

static bool has_parent(struct sim_fs *s, struct slice path)
{
    size_t n = path.n;
    while (n > 0 && path.p[n - 1] != '/') n--;
    if (n <= 1) return true;
    struct node *parent = map_get(&s->durable, slice_of(path.p, n - 1));
    return parent && parent->folder;
}

/* What lies in a folder whose own name was lost is lost too. */
static void lose_orphans(struct sim_fs *s)
{
    struct map_entry *e;
    for (bool again = true; again;) {
        again = false;
        for (size_t at = 0; (e = map_next(&s->durable, &at));) {
            if (has_parent(s, e->key)) continue;
            unref(s, map_remove(&s->durable, e->key));
            again = true;
            break;
        }
    }
}

static void lose_names(struct sim_fs *s)
{
    size_t count = s->changes.n / sizeof(struct name_change);
    size_t keep = count ? random_below(&s->random, (uint32_t)count + 1) : 0;
    for (size_t i = 0; i < count; i++) {
        struct name_change c;
        memcpy(&c, s->changes.p + i * sizeof c, sizeof c);
        if (i < keep) apply(s, &s->durable, &c);
        change_done(s, &c);
    }
    buf_clear(&s->changes);
    lose_orphans(s);
    copy_names(s, &s->names, &s->durable);
}

/* --- faults --- */

static int kind_of(unsigned op) { return __builtin_ctz(op); }

static err_t enter(struct sim_fs *s, unsigned op, const char *what, const char *path)
{
    if (s->stopped) return err_new(ERR_IO, "%s %s: the disk is gone", what, path);
    s->calls[kind_of(op)]++;
    if (!(s->fail_ops & op) || (s->fail_in > 0 && --s->fail_in > 0)) return NULL;
    if (!s->fail_on) s->fail_ops = 0;
    return err_new(s->fail_code, "%s %s: failed on purpose", what, path);
}

static err_t enter_file(struct file *f, unsigned op, const char *what)
{
    struct sim_file *file = file_of(f);
    struct sim_fs *s = sim_of(f->fs);
    if (file->life != s->life) return err_new(ERR_IO, "%s %s: opened by a process that is gone", what, file->path);
    return enter(s, op, what, file->path);
}

static err_t not_found(const char *what, const char *path) { return err_new(ERR_NOT_FOUND, "%s %s: not there", what, path); }

/* --- the interface --- */

static bool parent_is_there(struct sim_fs *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) return true;
    struct node *n = map_get(&s->names, slice_of(path, (size_t)(slash - path)));
    return n && n->folder;
}

static struct node *new_node(struct sim_fs *s, bool folder)
{
    struct node *n = must_zero(sizeof *n);
    n->folder = folder;
    n->modified_ms = s->now_ms;
    return n;
}

static err_t sim_open(struct fs *fs, const char *path, enum file_mode mode, struct file **out)
{
    struct sim_fs *s = sim_of(fs);
    err_t e = enter(s, SIM_OPEN, "open", path);
    if (e) return e;
    struct node *n = node_at(s, path);
    if (n && n->folder) return err_new(ERR_IO, "open %s: it is a folder", path);
    if (!n && ((mode != FILE_CREATE && mode != FILE_CREATE_SECRET) || !parent_is_there(s, path))) return not_found("open", path);
    if (!n) {
        n = new_node(s, false);
        note_change(s, MADE, path, NULL, n);
    }
    struct sim_file *f = must_zero(sizeof *f + strlen(path) + 1);
    f->file.fs = fs;
    f->node = ref(n);
    f->life = s->life;
    strcpy(f->path, path);
    *out = &f->file;
    return NULL;
}

static void sim_close(struct file *f)
{
    struct sim_file *file = file_of(f);
    struct sim_fs *s = sim_of(f->fs);
    if (file->locking && file->life == s->life) file->node->locked = false;
    unref(s, file->node);
    free(file);
}

static err_t sim_write_at(struct file *f, int64_t at, const void *p, size_t n)
{
    struct sim_fs *s = sim_of(f->fs);
    struct node *node = file_of(f)->node;
    err_t e = enter_file(f, SIM_WRITE, "write");
    if (e) {
        if (!s->stopped && n && coin(s)) node_write(s, node, at, p, random_below(&s->random, (uint32_t)n));
        return e;
    }
    if (node_write(s, node, at, p, n) == n) return NULL;
    return err_new(ERR_DISK_FULL, "write %s: no space left", file_of(f)->path);
}

static err_t sim_read_at(struct file *f, int64_t at, void *p, size_t n, size_t *out_n)
{
    struct node *node = file_of(f)->node;
    err_t e = enter_file(f, SIM_READ, "read");
    if (e) return e;
    int64_t left = node->size - at;
    size_t got = left <= 0 ? 0 : (size_t)left < n ? (size_t)left : n;
    if (got) warm(node, at, at + (int64_t)got);
    if (got) memcpy(p, node->bytes + at, got);
    *out_n = got;
    return NULL;
}

/* Bytes from `at` on that are in memory. */
static size_t warm_bytes(const struct node *n, int64_t at, size_t bytes)
{
    int64_t b = at / BLOCK, behind = blocks_of(at + (int64_t)bytes);
    while (n->cold && b < behind && !(n->flags[b] & COLD)) b++;
    return !n->cold || b == behind ? bytes : b * BLOCK > at ? (size_t)(b * BLOCK - at) : 0;
}

static err_t sim_read_cached(struct file *f, int64_t at, void *p, size_t n, size_t *out_n)
{
    struct node *node = file_of(f)->node;
    int64_t left = node->size - at;
    size_t got = left <= 0 ? 0 : (size_t)left < n ? (size_t)left : n;
    if (got && warm_bytes(node, at, got) < got) return err_new(ERR_NOT_IN_MEMORY, "read %s: not in memory", file_of(f)->path);
    return sim_read_at(f, at, p, n, out_n);
}

static err_t sim_sync(struct file *f)
{
    err_t e = enter_file(f, SIM_SYNC, "sync");
    if (!e) node_synced(file_of(f)->node);
    else if (!sim_of(f->fs)->stopped) node_doom(sim_of(f->fs), file_of(f)->node);
    void (*on_sync)(void *ctx) = sim_of(f->fs)->on_sync;
    sim_of(f->fs)->on_sync = NULL;
    if (on_sync) on_sync(sim_of(f->fs)->on_sync_ctx);
    return e;
}

void sim_fs_on_sync(struct sim_fs *s, void (*fn)(void *ctx), void *ctx)
{
    s->on_sync = fn;
    s->on_sync_ctx = ctx;
}

static err_t sim_set_size(struct file *f, int64_t size)
{
    err_t e = enter_file(f, SIM_SPACE, "set the size of");
    if (!e) node_set_size(sim_of(f->fs), file_of(f)->node, size);
    return e;
}

static err_t sim_allocate(struct file *f, int64_t size)
{
    struct sim_fs *s = sim_of(f->fs);
    struct node *n = file_of(f)->node;
    err_t e = enter_file(f, SIM_SPACE, "allocate");
    if (e) return e;
    make_room(n, size);
    int64_t missing = 0;
    for (int64_t b = 0; b < blocks_of(size); b++) missing += !(n->flags[b] & ALLOCATED);
    if (s->space >= 0 && s->space < missing * BLOCK)
        return err_new(ERR_DISK_FULL, "allocate %s: no space left", file_of(f)->path);
    for (int64_t b = 0; b < blocks_of(size); b++) allocate_block(s, n, b);
    if (size > n->size) n->size = size;
    return NULL;
}

static err_t sim_size(struct file *f, int64_t *out)
{
    err_t e = enter_file(f, SIM_READ, "look at");
    if (!e) *out = file_of(f)->node->size;
    return e;
}

static struct slice map_key(const uint8_t *p, char text[static 24])
{
    snprintf(text, 24, "%p", (const void *)p);
    return slice_text(text);
}

static err_t sim_map(struct file *f, int64_t size, const uint8_t **out)
{
    struct sim_fs *s = sim_of(f->fs);
    struct node *n = file_of(f)->node;
    char text[24];
    err_t e = enter_file(f, SIM_MAP, "map");
    if (e) return e;
    make_room(n, size);
    n->maps++;
    map_put(&s->maps, map_key(n->bytes, text), ref(n));
    *out = n->bytes;
    return NULL;
}

static void sim_unmap(struct fs *fs, const uint8_t *p, int64_t size)
{
    struct sim_fs *s = sim_of(fs);
    char text[24];
    (void)size;
    struct slice key = map_key(p, text);
    struct node *n = map_get(&s->maps, key);
    assert(n && n->maps > 0);
    if (!--n->maps) map_remove(&s->maps, key);
    unref(s, n);
}

static struct node *node_mapped_at(struct sim_fs *s, const uint8_t *p)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&s->maps, &at));) {
        struct node *n = e->value;
        if (p >= n->bytes && p < n->bytes + n->capacity) return n;
    }
    assert(!"somebody asks for memory that is not a map of this disk");
    return NULL;
}

static size_t sim_in_memory(struct fs *fs, const uint8_t *p, size_t n)
{
    struct sim_fs *s = sim_of(fs);
    if (!s->evicted) return n;
    struct node *node = node_mapped_at(s, p);
    return warm_bytes(node, p - node->bytes, n);
}

static err_t sim_fetch(struct fs *fs, const uint8_t *p, size_t n, size_t ahead)
{
    struct sim_fs *s = sim_of(fs);
    struct node *node = node_mapped_at(s, p);
    err_t e = enter(s, SIM_READ, "fetch", "a mapped file");
    if (e) return e;
    int64_t at = p - node->bytes, end = at + (int64_t)(n + random_below(&s->random, (uint32_t)ahead + 1));
    warm(node, at, end < node->capacity ? end : node->capacity);
    return NULL;
}

void sim_fs_evict(struct sim_fs *s, const char *folder)
{
    struct map_entry *e;
    s->evicted = true;
    for (size_t at = 0; (e = map_next(&s->names, &at));)
        if (slice_starts(e->key, slice_text(folder))) evict(e->value);
}

void sim_fs_warm(struct sim_fs *s)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&s->names, &at));) warm(e->value, 0, ((struct node *)e->value)->capacity);
}

static err_t sim_lock(struct file *f)
{
    struct node *n = file_of(f)->node;
    err_t e = enter_file(f, SIM_OPEN, "lock");
    if (e) return e;
    if (n->locked) return err_new(ERR_LOCKED, "%s is locked by another process", file_of(f)->path);
    n->locked = file_of(f)->locking = true;
    return NULL;
}

static err_t sim_make_folder(struct fs *fs, const char *path)
{
    struct sim_fs *s = sim_of(fs);
    err_t e = enter(s, SIM_NAME, "make the folder", path);
    if (e) return e;
    char *part = must_strdup(path);
    for (size_t i = 1, n = strlen(path); i <= n && !e; i++) {
        if (path[i] != '/' && path[i]) continue;
        part[i] = 0;
        struct node *there = node_at(s, part);
        if (!there) note_change(s, MADE, part, NULL, new_node(s, true));
        else if (!there->folder) e = err_new(ERR_IO, "%s is not a folder", part);
        part[i] = path[i];
    }
    free(part);
    return e;
}

static err_t sim_sync_folder(struct fs *fs, const char *path)
{
    struct sim_fs *s = sim_of(fs);
    err_t e = enter(s, SIM_SYNC, "sync the folder", path);
    if (e) return e;
    struct node *n = node_at(s, path);
    bool top = !strcmp(path, "/");
    if (!top && (!n || !n->folder)) return not_found("sync the folder", path);
    settle_folder(s, top ? "" : path);
    return NULL;
}

static err_t sim_sync_all(struct fs *fs, const char *path)
{
    struct sim_fs *s = sim_of(fs);
    err_t e = enter(s, SIM_SYNC, "sync the disk of", path);
    struct map_entry *entry;
    for (size_t at = 0; (entry = map_next(&s->names, &at));) {
        if (!e) node_synced(entry->value);
        else if (!s->stopped) node_doom(s, entry->value);
    }
    for (size_t i = 0; !e && i < s->changes.n; i += sizeof(struct name_change)) {
        struct name_change *c = (struct name_change *)(void *)(s->changes.p + i);
        apply(s, &s->durable, c);
        change_done(s, c);
    }
    if (!e) buf_clear(&s->changes);
    return e;
}

static err_t sim_used_percent(struct fs *fs, const char *path, int32_t *out)
{
    struct sim_fs *s = sim_of(fs);
    err_t e = enter(s, SIM_OPEN, "look at the space of", path);
    if (!e) *out = s->used_percent;
    return e;
}

void sim_fs_set_used(struct sim_fs *s, int32_t percent) { s->used_percent = percent; }

static bool is_empty(struct sim_fs *s, const char *path)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&s->names, &at));)
        if (is_in((const char *)e->key.p, path)) return false;
    return true;
}

static err_t sim_remove(struct fs *fs, const char *path)
{
    struct sim_fs *s = sim_of(fs);
    err_t e = enter(s, SIM_NAME, "remove", path);
    if (e) return e;
    struct node *n = node_at(s, path);
    if (!n) return not_found("remove", path);
    if (n->folder && !is_empty(s, path)) return err_new(ERR_IO, "remove %s: not empty", path);
    note_change(s, GONE, path, NULL, n);
    return NULL;
}

/* The names below a folder move with it. */
static void move_below(struct sim_fs *s, const char *from, const char *to)
{
    struct buf moved = BUF_EMPTY;
    struct map_entry *e;
    size_t n = strlen(from);
    for (size_t at = 0; (e = map_next(&s->names, &at));) {
        const char *path = (const char *)e->key.p;
        if (strncmp(path, from, n) || path[n] != '/') continue;
        char *copy = must_strdup(path);
        buf_put(&moved, &copy, sizeof copy);
    }
    for (size_t i = 0; i < moved.n; i += sizeof(char *)) {
        char *path, target[4096];
        memcpy(&path, moved.p + i, sizeof path);
        snprintf(target, sizeof target, "%s%s", to, path + n);
        note_change(s, MOVED, path, target, node_at(s, path));
        free(path);
    }
    buf_done(&moved);
}

static err_t sim_rename(struct fs *fs, const char *from, const char *to)
{
    struct sim_fs *s = sim_of(fs);
    err_t e = enter(s, SIM_NAME, "rename", from);
    if (e) return e;
    struct node *n = node_at(s, from);
    if (!n) return not_found("rename", from);
    if (!parent_is_there(s, to)) return not_found("rename to", to);
    note_change(s, MOVED, from, to, n);
    if (n->folder) move_below(s, from, to);
    return NULL;
}

static err_t sim_exchange(struct fs *fs, const char *a, const char *b)
{
    struct sim_fs *s = sim_of(fs);
    err_t e = enter(s, SIM_NAME, "exchange", a);
    if (e) return e;
    if (!node_at(s, a)) return not_found("exchange", a);
    if (!node_at(s, b)) return not_found("exchange", b);
    note_change(s, TRADED, a, b, node_at(s, a));
    return NULL;
}

static err_t sim_info(struct fs *fs, const char *path, struct file_info *out)
{
    struct sim_fs *s = sim_of(fs);
    err_t e = enter(s, SIM_READ, "look at", path);
    if (e) return e;
    struct node *n = node_at(s, path);
    if (!n) return not_found("look at", path);
    *out = (struct file_info){.size = n->size, .modified_ms = n->modified_ms, .disk_bytes = n->size, .folder = n->folder};
    return NULL;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static err_t sim_list(struct fs *fs, const char *path, void (*each)(void *ctx, const char *name), void *ctx)
{
    struct sim_fs *s = sim_of(fs);
    err_t e = enter(s, SIM_READ, "list", path);
    if (e) return e;
    struct buf names = BUF_EMPTY;
    struct map_entry *entry;
    for (size_t at = 0; (entry = map_next(&s->names, &at));) {
        if (!is_in((const char *)entry->key.p, path)) continue;
        char *name = must_strdup((const char *)entry->key.p + strlen(path) + 1);
        buf_put(&names, &name, sizeof name);
    }
    char **all = (char **)(void *)names.p;
    size_t n = names.n / sizeof *all;
    if (n) qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i++) {
        each(ctx, all[i]);
        free(all[i]);
    }
    buf_done(&names);
    return NULL;
}

static const struct fs_ops sim_ops = {
    .open = sim_open, .close = sim_close, .write_at = sim_write_at, .read_at = sim_read_at,
    .read_cached = sim_read_cached, .in_memory = sim_in_memory, .fetch = sim_fetch, .sync = sim_sync,
    .set_size = sim_set_size, .allocate = sim_allocate, .size = sim_size, .map = sim_map, .unmap = sim_unmap,
    .lock = sim_lock, .make_folder = sim_make_folder, .sync_folder = sim_sync_folder,
    .sync_all = sim_sync_all, .used_percent = sim_used_percent, .remove = sim_remove,
    .rename = sim_rename, .exchange = sim_exchange, .info = sim_info, .list = sim_list,
};

/* --- the whole --- */

struct sim_fs *sim_fs_new(uint64_t seed)
{
    struct sim_fs *s = must_zero(sizeof *s);
    s->fs.ops = &sim_ops;
    s->space = -1;
    random_init(&s->random, seed);
    return s;
}

void sim_fs_free(struct sim_fs *s)
{
    struct map_entry *e;
    for (size_t i = 0; i < s->changes.n; i += sizeof(struct name_change))
        change_done(s, (struct name_change *)(void *)(s->changes.p + i));
    buf_done(&s->changes);
    for (size_t at = 0; (e = map_next(&s->names, &at));) unref(s, e->value);
    for (size_t at = 0; (e = map_next(&s->durable, &at));) unref(s, e->value);
    map_done(&s->names);
    map_done(&s->durable);
    map_done(&s->maps);
    free(s);
}

struct fs *sim_fs_disk(struct sim_fs *s) { return &s->fs; }
void sim_fs_set_time(struct sim_fs *s, int64_t now_ms) { s->now_ms = now_ms; }
void sim_fs_stop(struct sim_fs *s) { s->stopped = true; }

void sim_fs_cut_power(struct sim_fs *s)
{
    struct map_entry *e;
    s->stopped = true;
    lose_names(s);
    for (size_t at = 0; (e = map_next(&s->names, &at));) {
        struct node *n = e->value;
        if (!n->folder) node_lose(s, n);
    }
}

void sim_fs_restart(struct sim_fs *s)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&s->names, &at));) ((struct node *)e->value)->locked = false;
    s->life++;
    s->stopped = false;
    s->space = -1;
    sim_fs_heal(s);
}

void sim_fs_fail(struct sim_fs *s, unsigned ops, uint64_t nth, bool from_then_on, enum err_code code)
{
    s->fail_ops = ops;
    s->fail_in = nth;
    s->fail_on = from_then_on;
    s->fail_code = code;
}

void sim_fs_heal(struct sim_fs *s) { s->fail_ops = 0; }

uint64_t sim_fs_calls(const struct sim_fs *s, unsigned ops)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < OP_KINDS; kind++)
        if (ops & 1u << kind) sum += s->calls[kind];
    return sum;
}

void sim_fs_set_space(struct sim_fs *s, int64_t bytes) { s->space = bytes; }

void sim_fs_flip(struct sim_fs *s, const char *path, int64_t at, uint8_t mask)
{
    struct node *n = node_at(s, path);
    assert(n && at < n->size);
    warm(n, at, at + 1);
    n->bytes[at] ^= mask;
    if (n->before[at / BLOCK]) n->before[at / BLOCK][at % BLOCK] ^= mask;
}
