#include "os/process.h"

#include <unistd.h>

int64_t process_id(void) { return getpid(); }

int64_t machine_memory_bytes(void) { return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE); }
