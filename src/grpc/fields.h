/* fields.h - protobuf fields one by one, for messages of a field or two, and for those that are made of something else than structs. Pure.
 * Facts    the protobuf encoding */
#ifndef SKYLARK_GRPC_FIELDS_H
#define SKYLARK_GRPC_FIELDS_H

#include "base/buf.h"

struct field_read {
    uint32_t number;
    uint64_t value;          /* of a varint */
    struct slice bytes;      /* of a length-delimited field; p NULL otherwise */
};

/* Cuts the next field off. False: there is none, or the rest is broken (*rest is not empty then). */
bool field_next(struct slice *rest, struct field_read *out);
void field_put_varint(struct buf *out, uint32_t number, uint64_t value);
void field_put_fixed64(struct buf *out, uint32_t number, uint64_t value);
void field_put_bytes(struct buf *out, uint32_t number, struct slice bytes);

#endif
