/* Whether those who pop for a group ask for the same of a topic: what one of them does not ask for is passed over for all. Pops say what they
 * ask for, whoever stands behind them; members that tell it by heartbeats are compared there (members/agreement.h). */
#include "broker/pop/pop_state.h"

#include "base/log.h"

#include <stdlib.h>

enum { FRESH_MS = 60000, TELL_MS = 60000, VIEWS_MAX = 100000, KEY_MAX = 600 };

struct view {
    char *expression;
    char from[ADDR_TEXT_MAX];
    int64_t seen_ms, told_ms;        /* mono; told 0: never */
};

static void view_free(void *view)
{
    struct view *v = view;
    free(v->expression);
    free(v);
}

void views_done(struct pop *p) { map_done_with(&p->views, view_free); }

static void set(struct view *v, struct slice expression, const struct call *call)
{
    free(v->expression);
    v->expression = must_dup(expression);
    addr_format(rpc_conn_remote(call->conn), v->from);
}

static void tell(struct pop *p, const struct pop_header *h, const struct view *v, struct slice expression, const char *from)
{
    p->broker->members.disagreements++;
    log_warn("pop.disagreement group=\"%.*s\" topic=\"%.*s\" one=%s asks=\"%s\" other=%s asks=\"%.*s\" text=\"what one does not ask for is passed over for "
             "the whole group\"", SLICE_ARG(h->consumer_group), SLICE_ARG(h->topic), v->from, v->expression, from, SLICE_ARG(expression));
}

void views_note(struct pop *p, const struct pop_header *h, const struct call *call)
{
    char key[KEY_MAX], from[ADDR_TEXT_MAX];
    size_t n = h->consumer_group.n + 1 + h->topic.n;
    struct slice expression = slice_trim(h->exp.n ? h->exp : SLICE("*"));
    int64_t now = tasks_mono_ms(p->broker->tasks);
    if (n > sizeof key) return;
    memcpy(key, h->consumer_group.p, h->consumer_group.n);
    key[h->consumer_group.n] = 0;
    memcpy(key + h->consumer_group.n + 1, h->topic.p, h->topic.n);
    struct view *v = map_get(&p->views, slice_of(key, n));
    if (v && slice_eq(slice_text(v->expression), expression)) {
        v->seen_ms = now;
        return;
    }
    if (!v && p->views.count >= VIEWS_MAX) views_done(p);   /* it begins anew */
    if (!v) {
        v = must_zero(sizeof *v);
        map_put(&p->views, slice_of(key, n), v);
    } else if (now - v->seen_ms < FRESH_MS && (!v->told_ms || now - v->told_ms >= TELL_MS)) {
        tell(p, h, v, expression, addr_format(rpc_conn_remote(call->conn), from));
        v->told_ms = now;
    }
    v->seen_ms = now;
    set(v, expression, call);
}
