/* library.c - what only the library has, and no program that links the room. */
#include "base/log.h"

/* Lines of threads that belong to no client: the user's own. He has a log; ours goes where sky_client_options_set_log() says. */
__attribute__((constructor)) static void be_quiet(void) { log_set_level(LOG_SILENT); }
