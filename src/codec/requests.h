/* requests.h - the numbers of all requests, from the rows of catalog/requests.def. Threads: any. */
#ifndef SKYLARK_CODEC_REQUESTS_H
#define SKYLARK_CODEC_REQUESTS_H

enum request_code {
#define REQUEST(room, name, code, handler, rights, port) REQUEST_##name = code,
#define CALL(name, code) REQUEST_##name = code,
#include "catalog/requests.def"
#undef REQUEST
#undef CALL
};

#endif
