#include "admin/commands_fixture.h"
#include "admin/session_fixture.h"

#include <stdlib.h>
#include <string.h>

static enum admin_consent consent_now;
static char written[65536];

static const char profile_text[] = "# two places\n[test]\nnamesrv = 10.0.0.1:1\ntimeout = 500\n[other]\nnamesrv=10.0.0.9:9\n";

static enum admin_consent consent(const char *question)
{
    EXPECT(*question);
    return consent_now;
}

static struct slice profiles(void) { return slice_text(profile_text); }

static err_t read_file(const char *path, struct slice *out)
{
    if (!strcmp(path, "secret.txt")) *out = SLICE(" pass word \n\n");
    else if (!strcmp(path, "topics.json")) *out = SLICE("[{\"topicName\":\"A\",\"readQueueNums\":4,\"writeQueueNums\":4,\"perm\":6}]");
    else if (!strcmp(path, "groups.json")) *out = SLICE("[{\"groupName\":\"G\"}]");
    else return err_new(ERR_IO, "%s: there is no such file", path);
    return NULL;
}

/* "compacted": two messages and zeros; "cut": one, and a part of one. */
static err_t read_part(const char *path, int64_t at, size_t most, uint8_t *out, size_t *n)
{
    uint8_t text[2048] = {0};
    size_t one = world_record.n, size = !strcmp(path, "cut") ? one + one / 2 : sizeof text;
    EXPECT(one * 2 < sizeof text);
    memcpy(text, world_record.p, one);
    memcpy(text + one, world_record.p, one);
    *n = at >= (int64_t)size ? 0 : size - (size_t)at;
    if (*n > most) *n = most;
    memcpy(out, text + at, *n);
    return NULL;
}

static err_t write_file(const char *path, struct slice text)
{
    EXPECT(*path && text.n < sizeof written);
    memcpy(written, text.p, text.n);
    written[text.n] = 0;
    return NULL;
}

const char *line_written(void) { return written; }

static void on_done(void *ctx, enum admin_status status)
{
    struct line_run *s = ctx;
    s->status = (int)status;
}

static void begin(void *ctx)
{
    struct line_run *s = ctx;
    struct admin_call call = {.loop = s->cluster->loop, .namesrv = "10.0.0.1:1", .out = s->out, .err = s->err, .done = on_done, .ctx = s,
                              .width = s->width, .colour = s->width > 0, .consent = s->consent == ADMIN_NOT_ASKED ? NULL : consent,
                              .profiles = profiles, .read_file = read_file, .read_part = read_part, .write_file = write_file, .random = 1};
    admin_command(&call, s->count, s->words);
}

static bool has_ended(void *ctx) { return ((struct line_run *)ctx)->status >= 0; }

static void split(struct line_run *s, const char *line)
{
    struct slice rest = slice_text(line), word;
    s->words[s->count++] = must_strdup("admin");
    while (rest.n && slice_split(&rest, *rest.p == '\'' ? (rest = slice_skip(rest, 1), '\'') : ' ', &word)) {
        EXPECT(s->count < WORDS_MAX);
        s->words[s->count++] = must_dup(word);
        if (rest.n && *rest.p == ' ' && word.p[word.n] == '\'') rest = slice_skip(rest, 1);
    }
}

void line_run_on_terminal(struct line_run *s, struct cluster *c, const char *line, int width, enum admin_consent consented)
{
    memset(s, 0, sizeof *s);
    *s = (struct line_run){.cluster = c, .status = -1, .width = width, .consent = consented};
    consent_now = consented;
    written[0] = 0;
    split(s, line);
    s->out = open_memstream(&s->out_text, &s->out_bytes);
    s->err = open_memstream(&s->err_text, &s->err_bytes);
    sim_call(c->loop, begin, s);
    EXPECT(sim_run_until(c->sim, has_ended, s, 20000));
    fclose(s->out);
    fclose(s->err);
}

void line_run(struct line_run *s, struct cluster *c, const char *line) { line_run_on_terminal(s, c, line, 0, ADMIN_NOT_ASKED); }

void line_done(struct line_run *s)
{
    for (int i = 0; i < s->count; i++) free(s->words[i]);
    free(s->out_text);
    free(s->err_text);
}

void line_expect(struct cluster *c, const char *line, enum admin_status status, const char *out, const char *err)
{
    struct line_run s;
    line_run(&s, c, line);
    EXPECT_TEXT(slice_text(s.out_text), out);
    EXPECT_TEXT(slice_text(s.err_text), err);
    EXPECT_EQ(s.status, status);
    line_done(&s);
}
