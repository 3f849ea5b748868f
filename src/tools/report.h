/* report.h - what check finds, a line each, or one JSON object. The room's own. Threads: owner. */
#ifndef SKYLARK_TOOLS_REPORT_H
#define SKYLARK_TOOLS_REPORT_H

#include "base/json.h"
#include "base/printable.h"
#include "tools/tools.h"

enum level {
    NOTE,       /* what a stop, a kill or a running broker leaves: nothing is lost by it */
    DAMAGE,
    LEVELS,
};

struct report {
    FILE *out;
    bool json;
    struct buf text;
    struct json_out w;
    size_t most;               /* lines of each level; all are counted */
    size_t counts[LEVELS];
};

void report_begin(struct report *r, const struct tools_options *o, const char *root, size_t most);
/* at -1: the file as a whole. `broker`: what it does about it when it opens the store. */
void report_add(struct report *r, enum level level, const char *file, int64_t at, const char *broker, const char *fmt, ...) PRINTF_LIKE(6, 7);
/* One line of the summary: a number by its name in JSON, and as it reads for people. */
void report_number(struct report *r, const char *name, int64_t value);
void report_line(struct report *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void report_end(struct report *r);

/* --- text.c --- */

void print_buf(FILE *out, struct buf *text);   /* and empties it */

#endif
