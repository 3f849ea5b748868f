/* process.h - what the kernel says about this process and its machine. Threads: any. */
#ifndef SKYLARK_OS_PROCESS_H
#define SKYLARK_OS_PROCESS_H

#include "base/err.h"

#include <stdint.h>

int64_t process_id(void);
/* A clock that never goes back. */
int64_t process_mono_us(void);
/* Physical memory of the machine, in bytes. */
int64_t machine_memory_bytes(void);
/* How many processors this process may use. */
int process_cpus(void);
/* Allows as many open files as the system grants this process. Errors: CONFIG when that is fewer than `least`. */
err_t process_allow_files(int64_t least) MUST_CHECK;

#endif
