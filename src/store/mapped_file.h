/* mapped_file.h - files of one size in a row that make one long file, mapped for reading.
 * Shape    each file is named by the position of its first byte, 20 digits; positions run on from one to the next
 * Owns     its files; a file that is dropped lives on until its last pin is released
 * Threads  loop; mapped_file_make: any
 * Errors   IO, DISK_FULL, CORRUPT (a file of another size, a gap)
 * Why maps are for reading only: a write into a map of a full disk is a signal, a positional write is an error code. */
#ifndef SKYLARK_STORE_MAPPED_FILE_H
#define SKYLARK_STORE_MAPPED_FILE_H

#include "base/buf.h"
#include "base/pin.h"
#include "os/file.h"

enum { FILE_NAME_DIGITS = 20, PATH_BYTES = 1024 };

struct mapped_file {
    struct fs *fs;
    struct file *file;       /* NULL once nothing will be written or synced any more */
    const uint8_t *bytes;
    int64_t start;
    int64_t size;
    uint32_t pins;
    bool dropped;
    bool scrubbed;           /* what an earlier run left in it has been compared with its checksums; what did not agree is known */
};

struct mapped_files {
    struct fs *fs;
    char *folder;
    int64_t file_bytes;
    struct mapped_file **all;
    size_t count;
    size_t cap;
};

/* "folder/00000000000000001024" */
void segment_path(char out[static PATH_BYTES], const char *folder, int64_t start);
/* Reads a name of 20 digits; false for any other name. */
bool segment_start(const char *name, int64_t *out);

void mapped_files_init(struct mapped_files *m, struct fs *fs, const char *folder, int64_t file_bytes);
/* Drops every file; the files on disk stay. */
void mapped_files_done(struct mapped_files *m);
/* Opens what is in the folder. An empty last file is removed, as the original does. After a bad stop (`mend`) a last file that is
 * too short is one that mapped_files_cut() was at: it is made longer again. */
err_t mapped_files_load(struct mapped_files *m, bool mend) MUST_CHECK;

/* Makes the file on disk, with its blocks, and maps it. The name is not yet durable. Thread: any. */
err_t mapped_file_make(struct fs *fs, const char *folder, int64_t start, int64_t size, struct mapped_file **out) MUST_CHECK;
/* Maps a file that is there, and at least that long, for reading; no handle stays open. Thread: any. */
err_t mapped_file_view(struct fs *fs, const char *folder, int64_t start, int64_t size, struct mapped_file **out) MUST_CHECK;
/* One that is not in a list: pinned it lives on until its readers are done, else it is added to `out` for a worker to free. */
void mapped_file_drop(struct mapped_file *f, struct buf *out);
/* Releases one that mapped_files_take() has not got, or that is pinned no more. NULL is fine. */
void mapped_file_free(struct mapped_file *f);
/* Appends a file; it must begin where the last one ends. */
void mapped_files_take(struct mapped_files *m, struct mapped_file *f);
/* Removes the last file, on disk too. */
err_t mapped_files_remove_last(struct mapped_files *m) MUST_CHECK;
/* Forgets the first files, which are no longer on disk. Pinned ones live on until their readers are done; the others (struct
 * mapped_file *) are added to `out` for a worker to free: giving back the memory of a large file takes long. */
void mapped_files_forget_first(struct mapped_files *m, size_t count, struct buf *out);
/* Makes everything from `at` on read as zeros, in the file that holds it. */
err_t mapped_files_cut(struct mapped_files *m, int64_t at) MUST_CHECK;

/* Closes the handles of files that end at or before `end`: nothing will be written there. Pinned ones wait for the next call. */
void mapped_files_seal(struct mapped_files *m, int64_t end);

/* The file that holds a position, or NULL. */
struct mapped_file *mapped_files_at(const struct mapped_files *m, int64_t position);
static inline struct mapped_file *mapped_files_last(const struct mapped_files *m)
{
    return m->count ? m->all[m->count - 1] : NULL;
}
static inline int64_t mapped_file_end(const struct mapped_file *f) { return f->start + f->size; }
/* Bytes from a position of f to its end. */
static inline struct slice mapped_file_from(const struct mapped_file *f, int64_t position)
{
    return slice_of(f->bytes + (position - f->start), (size_t)(mapped_file_end(f) - position));
}

static inline void mapped_file_pin(struct mapped_file *f) { f->pins++; }
void mapped_file_unpin(void *f);   /* a struct mapped_file *, as struct pinned wants it */

#endif
