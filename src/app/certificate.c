#include "app/certificate.h"

#include "base/log.h"
#include "os/file.h"
#include "os/network.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PEM_MAX_BYTES = 1 << 20, PATH_TEXT = 4096 };

struct certificate {
    struct tls *tls;
    struct tasks *tasks;
    char *certificate_path, *key_path;
    int64_t watch_ms;
    struct buf certificate, key;     /* as they were loaded */
    struct timer timer;
    struct work work;                /* reads both files again */
    struct buf new_certificate, new_key;
    err_t failed;                    /* of the work */
    bool busy;
    void (*stopped)(void *ctx);      /* NULL: not to stop */
    void *stopped_ctx;
};

const struct tls *certificate_tls(const struct certificate *c) { return c->tls; }
const char *certificate_path(const struct certificate *c) { return c->certificate_path; }

/* A file that cannot be read is a mistake in the configuration. Takes e. */
static err_t as_config(err_t e)
{
    if (!e) return NULL;
    err_t wrong = err_new(ERR_CONFIG, "%s", err_text(e));
    err_free(e);
    return wrong;
}

static err_t read_both(const struct certificate *c, struct buf *certificate, struct buf *key)
{
    err_t e = fs_read_file(fs_real(), c->certificate_path, PEM_MAX_BYTES, certificate);
    if (!e) e = fs_read_file(fs_real(), c->key_path, PEM_MAX_BYTES, key);
    return as_config(e);
}

/* --- one that is made --- */

/* The key is for its owner alone. */
static err_t write_file(const char *path, struct slice text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0) return err_new(ERR_IO, "create %s: %s", path, strerror(errno));
    bool fine = write(fd, text.p, text.n) == (ssize_t)text.n && fsync(fd) == 0;
    int why = errno;
    close(fd);
    return fine ? NULL : err_new(why == ENOSPC ? ERR_DISK_FULL : ERR_IO, "write %s: %s", path, strerror(why));
}

static err_t make(const struct certificate *c, const char *folder)
{
    char host[HOST_NAME_MAX_TEXT];
    struct buf certificate = BUF_EMPTY, key = BUF_EMPTY;
    err_t e = tls_make_certificate(network_host_name(host), &certificate, &key);
    if (!e) e = fs_make_durable_folder(fs_real(), folder);
    if (!e) e = write_file(c->key_path, buf_slice(&key), 0600);
    if (!e) e = write_file(c->certificate_path, buf_slice(&certificate), 0644);
    if (!e) log_info("tls.certificate_made path=\"%s\"", c->certificate_path);
    buf_done(&certificate);
    buf_done(&key);
    return e;
}

/* One of the two without the other is the rest of a start that was interrupted. */
static err_t make_if_missing(const struct certificate *c, const char *folder)
{
    struct file_info info;
    err_t certificate = fs_info(fs_real(), c->certificate_path, &info), key = fs_info(fs_real(), c->key_path, &info);
    bool missing = certificate || key;
    err_free(certificate);
    err_free(key);
    return missing ? make(c, folder) : NULL;
}

/* --- which files --- */

static err_t find_files(struct certificate *c, const struct config *cfg)
{
    char text[PATH_TEXT];
    if (cfg->edge.certificate_path && cfg->edge.key_path) {
        c->certificate_path = must_strdup(cfg->edge.certificate_path);
        c->key_path = must_strdup(cfg->edge.key_path);
        return NULL;
    }
    if (cfg->edge.certificate_path || cfg->edge.key_path)
        return err_new(ERR_CONFIG, "tlsCertPath and tlsKeyPath go together: one of them is missing");
    if (!cfg->edge.certificate_made) return err_new(ERR_CONFIG, "tlsTestModeEnable=false wants a certificate: tlsCertPath and tlsKeyPath");
    snprintf(text, sizeof text, "%s/tls/skylark.crt", cfg->skylark.data_folder);
    c->certificate_path = must_strdup(text);
    snprintf(text, sizeof text, "%s/tls/skylark.key", cfg->skylark.data_folder);
    c->key_path = must_strdup(text);
    snprintf(text, sizeof text, "%s/tls", cfg->skylark.data_folder);
    return make_if_missing(c, text);
}

/* --- files that change --- */

static bool has_changed(const struct certificate *c)
{
    return !slice_eq(buf_slice(&c->certificate), buf_slice(&c->new_certificate)) || !slice_eq(buf_slice(&c->key), buf_slice(&c->new_key));
}

static void trade(struct buf *a, struct buf *b)
{
    struct buf had = *a;
    *a = *b;
    *b = had;
}

/* Certificate and key are two files: between their replacements they do not fit, and the old ones stay. */
static void load_new(struct certificate *c)
{
    err_t e = c->failed;
    c->failed = NULL;
    bool changed = !e && has_changed(c);
    if (changed) e = tls_load(c->tls, buf_slice(&c->new_certificate), buf_slice(&c->new_key));
    if (e) log_warn("tls.certificate_stays path=\"%s\" why=\"%s\"", c->certificate_path, err_text(e));
    if (!e && changed) {
        trade(&c->certificate, &c->new_certificate);
        trade(&c->key, &c->new_key);
        log_info("tls.certificate_loaded path=\"%s\"", c->certificate_path);
    }
    err_free(e);
    buf_done(&c->new_certificate);
    buf_done(&c->new_key);
}

static void read_files(struct work *w)
{
    struct certificate *c = LIST_OWNER(w, struct certificate, work);
    c->failed = read_both(c, &c->new_certificate, &c->new_key);
}

static void files_read(struct work *w)
{
    struct certificate *c = LIST_OWNER(w, struct certificate, work);
    c->busy = false;
    load_new(c);
    if (c->stopped) c->stopped(c->stopped_ctx);
    else timer_start(c->tasks, &c->timer, c->watch_ms);
}

static void look(void *ctx)
{
    struct certificate *c = ctx;
    c->busy = true;
    tasks_work(c->tasks, &c->work);
}

/* --- life --- */

err_t certificate_new(const struct config *cfg, struct tasks *tasks, struct certificate **out)
{
    struct certificate *c = must_zero(sizeof *c);
    c->tasks = tasks;
    c->watch_ms = cfg->edge.certificate_watch_ms;
    c->work = (struct work){.run = read_files, .done = files_read};
    timer_init(&c->timer, look, c);
    err_t e = find_files(c, cfg);
    if (!e) e = read_both(c, &c->certificate, &c->key);
    if (!e && cfg->edge.certificate_path) e = err_in(tls_new(buf_slice(&c->certificate), buf_slice(&c->key), &c->tls), "%s", c->certificate_path);
    else if (!e) c->tls = tls_new_later(buf_slice(&c->certificate), buf_slice(&c->key));
    if (e) certificate_free(c);
    else *out = c;
    return e;
}

void certificate_watch(struct certificate *c) { timer_start(c->tasks, &c->timer, c->watch_ms); }

void certificate_stop(struct certificate *c, void (*done)(void *ctx), void *ctx)
{
    timer_stop(c->tasks, &c->timer);
    c->stopped = done;
    c->stopped_ctx = ctx;
    if (!c->busy) done(ctx);
}

void certificate_free(struct certificate *c)
{
    if (!c) return;
    tls_free(c->tls);
    free(c->certificate_path);
    free(c->key_path);
    buf_done(&c->certificate);
    buf_done(&c->key);
    free(c);
}
