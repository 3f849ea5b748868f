/* order_file.h - what order.c and order_file.c tell each other. Threads: loop. */
#ifndef SKYLARK_BROKER_ORDER_ORDER_FILE_H
#define SKYLARK_BROKER_ORDER_ORDER_FILE_H

#include "broker/order/order.h"
#include "broker/state.h"

void order_file_encode(void *order, struct buf *out);
/* Takes the place of what is there; after an error nothing is. Errors: BODY. */
err_t order_file_decode(void *order, struct slice text) MUST_CHECK;

void order_init(struct order *o, struct broker *b);
/* What was loaded is in use. */
void order_begin(struct order *o);
err_t order_end(struct order *o) MUST_CHECK;
void order_empty(struct order *o);
/* NULL for names that are too long. */
struct order_queue *order_make_queue(struct order *o, struct slice topic, struct slice group, int32_t queue_id);
struct order_message *order_add_message(struct order_queue *q, int64_t offset);

#endif
