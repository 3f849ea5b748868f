#include "kit/test.h"

#include "kit/sim_fs.h"
#include "os/file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool is_there(struct fs *fs, const char *path)
{
    struct file_info info;
    err_t e = fs_info(fs, path, &info);
    err_free(e);
    return !e;
}

TEST(file, a_durable_folder_and_its_parents_survive_a_power_cut)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct sim_fs *disk = sim_fs_new(seed);
        struct fs *fs = sim_fs_disk(disk);
        EXPECT_OK(fs_make_durable_folder(fs, "/data/store/config"));
        sim_fs_cut_power(disk);
        sim_fs_restart(disk);
        EXPECT(is_there(fs, "/data/store/config"));
        sim_fs_free(disk);
    }
}

TEST(file, a_folder_made_by_a_process_that_died_is_made_durable_by_the_next)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct sim_fs *disk = sim_fs_new(seed);
        struct fs *fs = sim_fs_disk(disk);
        EXPECT_OK(fs_make_durable_folder(fs, "/data"));
        EXPECT_OK(fs_make_folder(fs, "/data/config"));
        EXPECT_OK(fs_make_durable_folder(fs, "/data/config"));
        sim_fs_cut_power(disk);
        sim_fs_restart(disk);
        EXPECT(is_there(fs, "/data/config"));
        sim_fs_free(disk);
    }
}

TEST(file, names_whose_sync_failed_are_synced_by_the_next_try)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        for (uint64_t nth = 1; nth <= 3; nth++) {
            struct sim_fs *disk = sim_fs_new(seed);
            struct fs *fs = sim_fs_disk(disk);
            sim_fs_fail(disk, SIM_SYNC, nth, false, ERR_IO);
            EXPECT_ERR(fs_make_durable_folder(fs, "/a/b/c"), ERR_IO);
            EXPECT_OK(fs_make_durable_folder(fs, "/a/b/c"));
            sim_fs_cut_power(disk);
            sim_fs_restart(disk);
            EXPECT(is_there(fs, "/a/b/c"));
            sim_fs_free(disk);
        }
    }
}

TEST(file, durable_folders_on_the_real_disk)
{
    char *folder = test_folder(), path[600], before[600];
    snprintf(path, sizeof path, "%s/a/b/c", folder);
    EXPECT_OK(fs_make_durable_folder(fs_real(), path));
    EXPECT_OK(fs_make_durable_folder(fs_real(), path));
    EXPECT(is_there(fs_real(), path));
    EXPECT(getcwd(before, sizeof before) && chdir(folder) == 0);
    EXPECT_OK(fs_make_durable_folder(fs_real(), "x"));
    EXPECT_OK(fs_make_durable_folder(fs_real(), "y/z"));
    EXPECT(chdir(before) == 0);
    snprintf(path, sizeof path, "%s/y/z", folder);
    EXPECT(is_there(fs_real(), path));
    test_folder_remove(folder);
}

/* --- what is not in memory --- */

enum { BIG = 8 << 20 };

static struct file *big_file(const char *path)
{
    struct file *f;
    uint8_t *bytes = must_alloc(BIG);
    for (size_t i = 0; i < BIG; i++) bytes[i] = (uint8_t)(i / 4096);
    EXPECT_OK(fs_open(fs_real(), path, FILE_CREATE, &f));
    EXPECT_OK(file_write_at(f, 0, bytes, BIG));
    EXPECT_OK(file_sync(f));
    free(bytes);
    return f;
}

/* False where the disk is memory. */
static bool evict(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct statfs disk;
    EXPECT(fd >= 0 && fstatfs(fd, &disk) == 0);
    EXPECT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(fd);
    return disk.f_type != TMPFS_MAGIC && disk.f_type != RAMFS_MAGIC;
}

TEST(file, mapped_bytes_that_were_evicted_are_known_and_fetched)
{
    char *folder = test_folder(), path[600];
    snprintf(path, sizeof path, "%s/big", folder);
    struct file *f = big_file(path);
    const uint8_t *bytes;
    EXPECT_OK(file_map(f, BIG, &bytes));
    EXPECT_EQ(fs_in_memory(fs_real(), bytes, BIG), BIG);
    EXPECT_EQ(fs_in_memory(fs_real(), bytes + 5, 100000), 100000);
    if (evict(path)) {
        EXPECT_EQ(fs_in_memory(fs_real(), bytes, BIG), 0);
        EXPECT_OK(fs_fetch(fs_real(), bytes + (1 << 20) + 5, 10000, 0));
        EXPECT_EQ(fs_in_memory(fs_real(), bytes + (1 << 20) + 5, 10000), 10000);
        EXPECT_EQ(fs_in_memory(fs_real(), bytes, BIG), 0);
        size_t n = fs_in_memory(fs_real(), bytes + (1 << 20) + 5, BIG - (1 << 20) - 5);
        EXPECT(n >= 10000 && n < BIG - (1 << 20) - 5);
        EXPECT_EQ((n + 5) % 4096, 0);   /* it ends with a page */
    }
    EXPECT_OK(fs_fetch(fs_real(), bytes, BIG, 1 << 30));   /* and what is behind the map, which is nothing */
    EXPECT_EQ(fs_in_memory(fs_real(), bytes, BIG), BIG);
    EXPECT_EQ(bytes[5 << 20], (uint8_t)((5 << 20) / 4096));
    fs_unmap(fs_real(), bytes, BIG);
    file_close(f);
    test_folder_remove(folder);
}

TEST(file, a_read_that_may_not_wait_gives_all_or_says_so)
{
    char *folder = test_folder(), path[600];
    uint8_t got[8192];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/big", folder);
    struct file *f = big_file(path);
    EXPECT_OK(file_read_cached(f, 4096, got, sizeof got, &n));
    EXPECT(n == sizeof got && got[0] == 1 && got[4096] == 2);
    EXPECT_OK(file_read_cached(f, BIG - 10, got, sizeof got, &n));
    EXPECT_EQ(n, 10);
    if (evict(path)) {
        err_t e = file_read_cached(f, 4 << 20, got, sizeof got, &n);
        EXPECT_ERR(e, ERR_NOT_IN_MEMORY);
        EXPECT_OK(file_read_at(f, 4 << 20, got, sizeof got, &n));
        EXPECT_OK(file_read_cached(f, 4 << 20, got, sizeof got, &n));
        EXPECT_EQ(n, sizeof got);
    }
    file_close(f);
    EXPECT_OK(fs_open(fs_real(), path, FILE_WRITE_CACHED, &f));   /* its name is in memory: it was just used */
    file_close(f);
    EXPECT_ERR(fs_open(fs_real(), folder, FILE_WRITE_CACHED, &f), ERR_IO);
    snprintf(path, sizeof path, "%s/none", folder);
    err_t e = fs_open(fs_real(), path, FILE_WRITE_CACHED, &f);   /* that it is not there may have to be read too */
    EXPECT(err_code(e) == ERR_NOT_FOUND || err_code(e) == ERR_NOT_IN_MEMORY);
    err_free(e);
    test_folder_remove(folder);
}
