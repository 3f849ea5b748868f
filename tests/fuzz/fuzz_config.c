/* Configuration files and requests that change configuration. What loads is written, and what was written loads. */
#include "fuzz/fuzz.h"

#include "base/config.h"
#include "base/log.h"

static void try_load(struct slice text)
{
    struct config c, again;
    struct buf out = BUF_EMPTY;
    config_init(&c, CONFIG_SERVER);
    config_init(&again, CONFIG_SERVER);
    err_t e = config_load(&c, text, "fuzz");
    if (!e) {
        config_write(&c, CONFIG_BROKER, &out);
        err_free(config_load(&again, buf_slice(&out), "what was written"));
    }
    err_free(e);
    err_free(config_update(&c, text, CONFIG_BROKER));
    err_free(config_update(&c, text, CONFIG_NAMESRV));
    buf_done(&out);
    config_done(&c);
    config_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t *copy = fuzz_copy(p, n);
    log_set_level(LOG_SILENT);
    try_load(slice_of(copy, n));
    free(copy);
    return 0;
}
