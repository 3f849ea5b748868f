#include "os/process.h"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

int64_t process_id(void) { return getpid(); }

int process_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return (int)sysconf(_SC_NPROCESSORS_ONLN);   /* more than the set has room for */
    return CPU_COUNT(&set);
}

int64_t process_mono_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t machine_memory_bytes(void) { return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE); }

err_t process_allow_files(int64_t least)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return NULL;   /* no such limit on this system */
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit)) getrlimit(RLIMIT_NOFILE, &limit);
    }
    if ((int64_t)limit.rlim_cur >= least || limit.rlim_cur == RLIM_INFINITY) return NULL;
    return err_new(ERR_CONFIG, "only %lld files may be open at once, %lld are needed: raise the limit (ulimit -n 65536)",
                   (long long)limit.rlim_cur, (long long)least);
}
