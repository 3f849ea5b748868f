#include "kit/test.h"

#include "kit/sim_fs.h"
#include "os/file.h"

#include <stdio.h>
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
