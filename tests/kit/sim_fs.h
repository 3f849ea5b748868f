/* sim_fs.h - a disk in memory (os/file.h) that loses power, fills up and fails on command. The same seed repeats the same run.
 * Cache    what is written is seen at once, and is on the disk after file_sync only; a name after fs_sync_folder of its folder.
 *          A power cut takes what was not synced: nothing of it, all, a part in the order it was written, or sectors at random.
 *          Names come back in the order in which they were made, up to some point, as a journal brings them back.
 *          A sync that fails leaves bytes that later syncs do not save, as Linux does.
 * Evicted  bytes that sim_fs_evict() took out of memory come back when a file call reads or writes them, or with fs_fetch. Who touches
 *          them by a map before that dies of it: on a real disk it would have waited.
 * Memory   blocks on demand: a file of 1 GiB with little in it takes little
 * Units    blocks of 4096 bytes, sectors of 512
 * Threads  owner: the simulated loops and workers are all one real thread
 * Owns     everything in it; files and maps of a stopped process must still be closed before sim_fs_free */
#ifndef SKYLARK_TESTS_KIT_SIM_FS_H
#define SKYLARK_TESTS_KIT_SIM_FS_H

#include "os/file.h"

struct sim_fs;

/* One disk, for one process and those that follow it there. */
struct sim_fs *sim_fs_new(uint64_t seed);
void sim_fs_free(struct sim_fs *s);
struct fs *sim_fs_disk(struct sim_fs *s);
/* What fs_info says of files written from now on. */
void sim_fs_set_time(struct sim_fs *s, int64_t now_ms);

/* --- the process, and the power --- */
/* As kill -9: every call fails from now on, nothing is lost. Files and maps can still be closed. */
void sim_fs_stop(struct sim_fs *s);
/* The same, and what was not synced is lost. */
void sim_fs_cut_power(struct sim_fs *s);
/* The disk works again, for a new process: locks are free, older files stay dead, faults and limits are gone. */
void sim_fs_restart(struct sim_fs *s);

/* --- faults --- */
enum sim_op {
    SIM_OPEN = 1,
    SIM_READ = 2,
    SIM_WRITE = 4,
    SIM_SYNC = 8,      /* files and folders */
    SIM_SPACE = 16,    /* set_size, allocate */
    SIM_NAME = 32,     /* make_folder, remove, rename */
    SIM_MAP = 64,
    SIM_CHANGES = SIM_WRITE | SIM_SYNC | SIM_SPACE | SIM_NAME,
    SIM_ANY = 127,
};
/* The nth call (1: the next) of one of these kinds fails with `code`, once or from then on. A write may do a part first. */
void sim_fs_fail(struct sim_fs *s, unsigned ops, uint64_t nth, bool from_then_on, enum err_code code);
void sim_fs_heal(struct sim_fs *s);
/* Called once, at the end of the next sync of a file: what it writes came too late for that. */
void sim_fs_on_sync(struct sim_fs *s, void (*fn)(void *ctx), void *ctx);
/* How many calls of these kinds there were. */
uint64_t sim_fs_calls(const struct sim_fs *s, unsigned ops);
/* Nothing of the files below a folder is in memory any more, but for what is to be written yet. */
void sim_fs_evict(struct sim_fs *s, const char *folder);
/* All of it is, as for somebody who may wait. */
void sim_fs_warm(struct sim_fs *s);
/* Bytes that can still be allocated, in whole blocks; -1: no limit. Holes in files take none. */
void sim_fs_set_space(struct sim_fs *s, int64_t bytes);
/* What fs_used_percent tells; 0 until it is set. */
void sim_fs_set_used(struct sim_fs *s, int32_t percent);
/* Bad luck on the disk itself: bits change, synced or not. */
void sim_fs_flip(struct sim_fs *s, const char *path, int64_t at, uint8_t mask);

#endif
