/* process.h - what the kernel says about this process and its machine. Threads: any. */
#ifndef SKYLARK_OS_PROCESS_H
#define SKYLARK_OS_PROCESS_H

#include <stdint.h>

int64_t process_id(void);
/* Physical memory of the machine, in bytes. */
int64_t machine_memory_bytes(void);

#endif
