/* replay.h - a stream that was looked into: what was read of it is given to its owner once more, before what comes after it.
 * Threads  loop
 * Owns     the stream below, which is paused; a copy of the bytes */
#ifndef SKYLARK_NET_REPLAY_H
#define SKYLARK_NET_REPLAY_H

#include "base/slice.h"
#include "net/loop.h"

struct stream *replay_stream_new(struct stream *below, struct slice first);

#endif
