/* descriptors.h - what the .proto files of this folder say, for who asks a server for it (reflection). Threads: any. */
#ifndef SKYLARK_CODEC_PROTO_DESCRIPTORS_H
#define SKYLARK_CODEC_PROTO_DESCRIPTORS_H

#include "base/slice.h"

/* The FileDescriptorProto of rocketmq_v2.proto. */
extern const struct slice rocketmq_v2_descriptor;

#endif
