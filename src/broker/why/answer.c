#include "broker/why/answer.h"

#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_MAX = 1024 };

static struct slice text_of(struct answer_text *a, const char *format, va_list args)
{
    char text[TEXT_MAX];
    int n = vsnprintf(text, sizeof text, format, args);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    return arena_copy(&a->arena, slice_of(text, length));
}

bool answer_say(struct answer_text *a, const char *format, ...)
{
    if (a->why.sentence.p) return false;
    va_list args;
    va_start(args, format);
    a->why.sentence = text_of(a, format, args);
    va_end(args);
    return true;
}

void answer_fact(struct answer_text *a, const char *name, const char *format, ...)
{
    struct pair *fact = arena_list_add(&a->arena, (void **)&a->why.facts.items, &a->why.facts.count, sizeof *fact);
    if (!fact) return;
    va_list args;
    va_start(args, format);
    *fact = (struct pair){slice_text(name), text_of(a, format, args)};
    va_end(args);
}

void answer_done(struct answer_text *a) { arena_done(&a->arena); }
