/* handles.h - messages that are kept invisible for clients that asked for it (auto_renew), until they are acknowledged.
 * Facts    docs/protocol/grpc.md 8 (auto renew)
 * Shape    a client knows the handle it was given; here stands which one counts now. One scan looks at all of them
 * Threads  loop
 * Owns     what stands in it */
#ifndef SKYLARK_PROXY_HANDLES_H
#define SKYLARK_PROXY_HANDLES_H

#include "base/list.h"
#include "base/map.h"
#include "base/slice.h"

struct client;
struct held_message;
struct proxy;
struct request;

struct handles {
    struct proxy *proxy;
    struct map by_key;               /* "group topic lite-topic broker kind queue offset" -> struct held */
};

void handles_init(struct handles *h, struct proxy *p);
void handles_done(struct handles *h);
/* Of this client, at most `most` are counted. */
size_t handles_count(const struct client *c, size_t most);
/* From now on the message is renewed for the client. */
void handles_add(struct handles *h, struct client *c, const struct held_message *m, int32_t reconsume_times);
/* A renewal of the message is under way: again(r) runs when it is over. False: there is none. */
bool handles_wait(struct handles *h, struct request *r, const struct held_message *m, void (*again)(struct request *r));
/* The message is not renewed any more; m is changed to the handle that counts, in the request's arena. */
void handles_take(struct handles *h, struct request *r, struct held_message *m);
/* The client is gone: others get its messages. */
void handles_give_back(struct handles *h, struct client *c);
/* Forgets them, and tells nobody. */
void handles_drop(struct handles *h, struct client *c);
void handles_scan(struct handles *h);

#endif
