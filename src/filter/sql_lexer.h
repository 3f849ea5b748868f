/* sql_lexer.h - an expression as words: names, numbers, texts, signs.
 * Facts    docs/protocol/semantics.md 7.2
 * Errors   a token of kind TOKEN_WRONG carries its reason; nothing is read behind it
 * Threads  any */
#ifndef SKYLARK_FILTER_SQL_LEXER_H
#define SKYLARK_FILTER_SQL_LEXER_H

#include "base/slice.h"

enum token_kind {
    TOKEN_WRONG,
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_TEXT,            /* with its quotes */
    TOKEN_DECIMAL,         /* 5, 5L */
    TOKEN_FLOAT,           /* 5.0, .5, 5E1 */
    TOKEN_EQUAL, TOKEN_NOT_EQUAL, TOKEN_LESS, TOKEN_LESS_EQUAL, TOKEN_GREATER, TOKEN_GREATER_EQUAL,
    TOKEN_OPEN, TOKEN_CLOSE, TOKEN_COMMA, TOKEN_PLUS, TOKEN_MINUS,
    TOKEN_NOT, TOKEN_AND, TOKEN_OR, TOKEN_BETWEEN, TOKEN_IN, TOKEN_TRUE, TOKEN_FALSE, TOKEN_NULL, TOKEN_IS, TOKEN_CONTAINS,
    TOKEN_STARTSWITH, TOKEN_ENDSWITH,
};

struct token {
    enum token_kind kind;
    struct slice source;
    const char *reason;    /* of TOKEN_WRONG */
};

/* Cuts the next token, and what is skipped before it, off the front of *rest. */
struct token sql_next(struct slice *rest);

#endif
