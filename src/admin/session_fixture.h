/* session_fixture.h - a command line against servers of the fixture, and what came of it. */
#ifndef SKYLARK_ADMIN_SESSION_FIXTURE_H
#define SKYLARK_ADMIN_SESSION_FIXTURE_H

#include "admin/admin_fixture.h"

#define WORDS_MAX 24

struct line_run {
    struct cluster *cluster;
    char *words[WORDS_MAX];
    int count;
    int status;         /* -1: not yet */
    FILE *out, *err;
    char *out_text, *err_text;
    size_t out_bytes, err_bytes;
    int width;          /* of the terminal; 0: none */
    enum admin_consent consent;
};

/* Words are separated by one blank each; those in '' are one. line_done() follows. */
void line_run(struct line_run *s, struct cluster *c, const char *line);
/* On a terminal so wide, with a user who answers so. */
void line_run_on_terminal(struct line_run *s, struct cluster *c, const char *line, int width, enum admin_consent consent);
void line_done(struct line_run *s);
void line_expect(struct cluster *c, const char *line, enum admin_status status, const char *out, const char *err);
/* Files that a command wrote: the last one's text, NUL-terminated; "" when there was none. */
const char *line_written(void);

#endif
