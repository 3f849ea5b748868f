/* How results, errors and progress are printed. */
#include "admin/command.h"

#include "base/printable.h"

#include <stdlib.h>

void command_write(FILE *to, struct buf *text)
{
    if (text->n) fwrite(text->p, 1, text->n, to);
    fflush(to);
    buf_clear(text);
}

/* --- progress --- */

enum { BAR = 30 };

static void clear_progress(struct invocation *in)
{
    if (in->progress) fputs("\r\033[K", in->call.err);
    in->progress = false;
}

void command_progress(void *ctx, int64_t done, int64_t total)
{
    struct invocation *in = ctx;
    int full = total > 0 ? (int)((done < total ? done : total) * BAR / total) : 0;
    fprintf(in->call.err, "\r[%.*s%*s] %lld of %lld", full, "##############################", BAR - full, "", (long long)done,
            (long long)total);
    fflush(in->call.err);
    in->progress = true;
}

/* --- errors --- */

void command_complain(const struct invocation *in, const char *who, const char *text, const char *hint)
{
    struct buf line = BUF_EMPTY;
    if (in->progress) buf_put_text(&line, "\r\033[K");
    buf_printf(&line, "skylark admin %s: ", in->command->name);
    if (who) buf_printf(&line, "%s: ", who);
    put_printable(&line, slice_text(text));
    if (hint) buf_printf(&line, " (%s)", hint);
    buf_put_u8(&line, '\n');
    command_write(in->call.err, &line);
    buf_done(&line);
}

static const struct admin_failures *failures_of(const struct invocation *in)
{
    if (in->job) return &in->job->failures;
    return in->command->failures ? in->command->failures(&in->results) : NULL;
}

static enum admin_status tell_failures(const struct invocation *in)
{
    const struct admin_failures *f = failures_of(in);
    for (size_t i = 0; f && i < f->list.count; i++) {
        const struct admin_failure *one = &f->list.items[i];
        struct buf who = BUF_EMPTY, text = BUF_EMPTY;
        if (one->broker.name.n) buf_put_text(&who, "broker ");
        put_printable(&who, one->broker.name.n ? one->broker.name : one->broker.address);
        buf_put_u8(&who, 0);
        buf_put_slice(&text, one->text);
        buf_put_u8(&text, 0);
        command_complain(in, (const char *)who.p, (const char *)text.p, NULL);
        buf_done(&who);
        buf_done(&text);
    }
    return f && f->list.count ? ADMIN_FAILED : ADMIN_FINE;
}

/* --- results --- */

void grid_broker(struct grid *g, const struct admin_broker *b)
{
    struct buf text = BUF_EMPTY;
    if (b->name.n) buf_printf(&text, "%.*s ", SLICE_ARG(b->name));
    buf_put_slice(&text, b->address);
    grid_text(g, buf_slice(&text));
    buf_done(&text);
}

void json_put_member(struct json_out *w, const char *name, struct slice text)
{
    if (!text.p) return;
    json_put_key(w, slice_text(name));
    json_put_text(w, text);
}

void json_put_number(struct json_out *w, const char *name, int64_t number)
{
    json_put_key(w, slice_text(name));
    json_put_i64(w, number);
}

void json_put_broker(struct json_out *w, const struct admin_broker *b)
{
    json_put_member(w, "brokerName", b->name);
    json_put_member(w, "brokerAddr", b->address);
}

void json_put_failures(struct json_out *w, const struct admin_failures *f)
{
    if (!f->list.count) return;
    json_put_key(w, SLICE("failures"));
    json_put_array(w);
    for (size_t i = 0; i < f->list.count; i++) {
        json_put_object(w);
        json_put_broker(w, &f->list.items[i].broker);
        json_put_member(w, "error", f->list.items[i].text);
        json_put_object_end(w);
    }
    json_put_array_end(w);
}

static void print_json(const struct invocation *in, struct buf *text)
{
    struct json_out w;
    json_out_init(&w, text, JSON_STRICT);
    json_put_object(&w);
    if (in->job) {
        outcome_write(&in->job->outcome, &w);
        json_put_failures(&w, &in->job->failures);
    } else {
        in->command->print_json(in, &w);
    }
    json_put_object_end(&w);
    buf_put_u8(text, '\n');
}

void command_emit(struct job *j)
{
    struct invocation *in = j->progress_ctx;
    struct buf text = BUF_EMPTY;
    struct outcome_style style = {.width = in->call.width, .colour = in->call.colour};
    if (in->json) print_json(in, &text);
    else outcome_print(&j->outcome, &style, &text);
    command_write(in->call.out, &text);
    buf_done(&text);
    in->emitted = true;
    outcome_init(&j->outcome, job_arena(j));
}

enum admin_status command_print(struct invocation *in)
{
    struct buf text = BUF_EMPTY;
    struct outcome_style style = {.width = in->call.width, .colour = in->call.colour};
    clear_progress(in);
    if (in->emitted && !in->job->outcome.items.count) return tell_failures(in);
    if (in->json) print_json(in, &text);
    else if (in->job) outcome_print(&in->job->outcome, &style, &text);
    else in->command->print(in, &text);
    command_write(in->call.out, &text);
    buf_done(&text);
    enum admin_status status = tell_failures(in);
    return in->job && in->job->bad ? ADMIN_FAILED : status;
}
