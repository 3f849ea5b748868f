/* list.h - an intrusive doubly linked list. Threads: its owner.
 * An element holds a `struct list_node`; LIST_OWNER gets from the node back to the element. */
#ifndef SKYLARK_BASE_LIST_H
#define SKYLARK_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_node {
    struct list_node *prev;
    struct list_node *next;
};

struct list {
    struct list_node head;   /* points to itself when empty */
};

#define LIST_OWNER(node, type, member) ((type *)((char *)(node) - offsetof(type, member)))
/* The element in hand may be removed while walking. */
#define LIST_EACH(list, node) \
    for (struct list_node *node = (list)->head.next, *node##_next = node->next; node != &(list)->head; \
         node = node##_next, node##_next = node->next)

static inline void list_init(struct list *l) { l->head.prev = l->head.next = &l->head; }
static inline bool list_empty(const struct list *l) { return l->head.next == &l->head; }
static inline struct list_node *list_first(struct list *l) { return list_empty(l) ? NULL : l->head.next; }
static inline void list_add(struct list *l, struct list_node *n)
{
    n->prev = l->head.prev;
    n->next = &l->head;
    l->head.prev->next = n;
    l->head.prev = n;
}
static inline void list_remove(struct list_node *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->prev = n->next = n;
}
/* All nodes of `from` become those of `to`, which need not be initialized. */
static inline void list_move(struct list *from, struct list *to)
{
    list_init(to);
    if (list_empty(from)) return;
    to->head = from->head;
    to->head.next->prev = to->head.prev->next = &to->head;
    list_init(from);
}
static inline void list_node_init(struct list_node *n) { n->prev = n->next = n; }
static inline bool list_linked(const struct list_node *n) { return n->next != n; }

#endif
