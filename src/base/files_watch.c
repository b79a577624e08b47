/* Detects whether an output is opened while another engine runs a query.
 *
 * A query can name files in many ways: patterns, lists, expressions, views of a database. Only the system knows which
 * ones are opened in the end. inotify reports each time one of the watched files is opened, under whatever name.
 */
#include "base.h"

#include <errno.h>
#include <stdalign.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

typedef struct watched {
    int descriptor;
    char what[32];
    char *path;
} watched;

struct pv__watch {
    int events;
    size_t n;
    watched *file; /* [n] */
};

void pv__files_unwatch(pv_ctx *ctx, pv__watch *watch) {
    if (!watch)
        return;
    if (watch->events >= 0)
        close(watch->events);
    for (size_t i = 0; i < watch->n; i++)
        pv__free(ctx, watch->file[i].path);
    pv__free(ctx, watch->file);
    pv__free(ctx, watch);
}

static pv_status refuse_unknown(pv_ctx *ctx, const char *what, const char *path) {
    return pv__fail_at(ctx, PV_ERR_USAGE, path, 0, 0,
                       "is an output (%s) that exists, and prevail cannot tell here whether the query reads it "
                       "(%s);\ngive the output another name, or remove the file",
                       what, strerror(errno));
}

typedef struct beginning {
    pv_ctx *ctx;
    pv__watch *watch;
} beginning;

static pv_status add(void *state, const char *what, const char *path) {
    beginning *b = state;
    pv__watch *w = b->watch;
    if (w->events < 0)
        w->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->events < 0)
        return refuse_unknown(b->ctx, what, path);
    int descriptor = inotify_add_watch(w->events, path, IN_OPEN);
    if (descriptor < 0)
        return refuse_unknown(b->ctx, what, path);
    PV_TRY(pv__resize(b->ctx, w->n + 1, sizeof *w->file, &w->file));
    watched *file = &w->file[w->n];
    *file = (watched){.descriptor = descriptor};
    pv__format(file->what, sizeof file->what, "%s", what);
    PV_TRY(pv__strdup(b->ctx, path, &file->path));
    w->n++;
    return PV_OK;
}

pv_status pv__files_watch(pv_ctx *ctx, pv__watch **watch) {
    beginning b = {.ctx = ctx};
    *watch = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *b.watch, &b.watch));
    b.watch->events = -1;
    pv_status status = pv__files_outputs(ctx, add, &b);
    if (status == PV_OK && b.watch->n > 0)
        *watch = b.watch;
    else
        pv__files_unwatch(ctx, b.watch);
    return status;
}

/* An event queue that overflowed may have contained anything. */
static pv_status refuse(pv_ctx *ctx, const pv__watch *watch, const struct inotify_event *event) {
    const watched *file = watch->file;
    for (size_t i = 0; i < watch->n; i++)
        if (watch->file[i].descriptor == event->wd)
            file = &watch->file[i];
    return pv__fail_at(ctx, PV_ERR_USAGE, file->path, 0, 0,
                       "is both an output (%s) and an input: the query opens it, and it would be replaced;\ngive the "
                       "output another name",
                       file->what);
}

pv_status pv__files_watched(pv_ctx *ctx, const pv__watch *watch) {
    alignas(struct inotify_event) char buffer[4096];
    if (!watch)
        return PV_OK;
    ssize_t got = read(watch->events, buffer, sizeof buffer);
    while (got > 0) {
        for (const char *at = buffer; at < buffer + got;) {
            const struct inotify_event *event = (const void *)at;
            if (event->mask & (IN_OPEN | IN_Q_OVERFLOW))
                return refuse(ctx, watch, event);
            at += sizeof *event + event->len;
        }
        got = read(watch->events, buffer, sizeof buffer);
    }
    return got < 0 && errno != EAGAIN ? refuse_unknown(ctx, watch->file[0].what, watch->file[0].path) : PV_OK;
}
