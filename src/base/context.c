/* The context: allocator, last error, log, progress, interruption. */
#include "base.h"
#include "base/reduce.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void *libc_alloc(void *state, size_t size) {
    (void)state;
    return malloc(size);
}

static void *libc_resize(void *state, void *block, size_t size) {
    (void)state;
    return realloc(block, size);
}

static void libc_release(void *state, void *block) {
    (void)state;
    free(block);
}

pv_ctx_options pv_ctx_options_default(void) {
    return (pv_ctx_options){0};
}

static int threads_of(int threads) {
    if (threads > 0)
        return threads;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 ? (int)processors : 1;
}

pv_status pv_ctx_new(const pv_ctx_options *options, pv_ctx **ctx) {
    *ctx = NULL;
    pv_ctx_options chosen = options ? *options : pv_ctx_options_default();
    if (!chosen.allocator.alloc)
        chosen.allocator = (pv_allocator){libc_alloc, libc_resize, libc_release, NULL};
    chosen.threads = threads_of(chosen.threads);
    pv_ctx *made = chosen.allocator.alloc(chosen.allocator.state, sizeof *made);
    if (!made)
        return PV_ERR_MEMORY;
    memset(made, 0, sizeof *made);
    made->options = chosen;
    made->log_state = made->progress_state = made->poll_state = chosen.state;
    made->root = made;
    made->owner = pthread_self();
    *ctx = made;
    return PV_OK;
}

void pv_ctx_free(pv_ctx *ctx) {
    if (!ctx)
        return;
    pv_checkpoint_close(ctx);
    pv__temporaries_free(ctx);
    if (ctx->root == ctx)
        pv_files_end(ctx);
    pv__ranks_free(ctx);
    pv__free(ctx, ctx->duckdb);
    pv__free(ctx, ctx->xgboost);
    pv__spill_end(ctx);
    ctx->options.allocator.release(ctx->options.allocator.state, ctx);
}

const pv_error *pv_ctx_error(const pv_ctx *ctx) {
    return &ctx->error;
}

const char *pv_ctx_message(pv_ctx *ctx) {
    const pv_error *e = &ctx->error;
    char place[64] = "";
    if (e->file[0] && e->line && e->column)
        pv__format(place, sizeof place, "%zu:%zu:", e->line, e->column);
    else if (e->file[0] && e->line)
        pv__format(place, sizeof place, "%zu:", e->line);
    const char *message = e->message[0] ? e->message : pv_status_text(e->status);
    pv__format(ctx->line, sizeof ctx->line, "%s%s%s%s%s", e->file, e->file[0] ? ":" : "", place, e->file[0] ? " " : "",
               message);
    return ctx->line;
}

int pv_ctx_threads(const pv_ctx *ctx) {
    return pv__forked() ? 1 : ctx->options.threads;
}

int pv__threads_for(const pv_ctx *ctx, size_t pieces) {
    int threads = pv_ctx_threads(ctx);
    return pv_threads_ready(pieces < (size_t)threads ? (int)pieces : threads);
}

void pv_ctx_interrupt(pv_ctx *ctx) {
    ctx->interrupted = 1;
}

void pv__waiting(const pv_ctx *ctx, bool begins) {
    atomic_fetch_add(&ctx->root->waiting, begins ? 1 : -1);
}

bool pv_ctx_waiting(const pv_ctx *ctx) {
    return atomic_load(&ctx->root->waiting) > 0;
}

void pv_ctx_clear_interrupt(pv_ctx *ctx) {
    ctx->interrupted = 0;
    ctx->ranks.stop = false;
}

bool pv_ctx_interrupted(const pv_ctx *ctx) {
    return pv__interrupted(ctx);
}

/* Calls the caller's poll function, only on the caller's own thread, and not at every one of millions of steps. */
static void ask_caller(pv_ctx *root) {
    const double least = 0.05;
    if (!root->options.poll || root->interrupted || !pthread_equal(pthread_self(), root->owner))
        return;
    double now = pv__seconds();
    if (now - root->polled < least)
        return;
    root->polled = now;
    if (root->options.poll(root->poll_state))
        root->interrupted = 1;
}

bool pv__interrupted(const pv_ctx *ctx) {
    ask_caller(ctx->root);
    if (pv__shares(ctx) && (ctx->ranks.begun || ctx->ranks.stop)) /* all ranks must stop at the same point */
        return ctx->ranks.stop;
    return ctx->interrupted != 0;
}

pv_status pv__go_on(pv_ctx *ctx) {
    return pv__interrupted(ctx) ? pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request") : PV_OK;
}

void pv_ctx_set_log(pv_ctx *ctx, pv_log_call log, void *state, pv_log_level level) {
    ctx->options.log = log;
    ctx->options.level = level;
    ctx->log_state = state;
}

void pv_ctx_set_progress(pv_ctx *ctx, pv_progress_call progress, void *state) {
    ctx->options.progress = progress;
    ctx->progress_state = state;
}

void pv_ctx_set_poll(pv_ctx *ctx, pv_poll_call call, void *state) {
    ctx->options.poll = call;
    ctx->poll_state = state;
    ctx->polled = 0;
}

void pv_ctx_set_threads(pv_ctx *ctx, int threads) {
    ctx->options.threads = threads_of(threads);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static pv_status no_memory(pv_ctx *ctx, size_t count, size_t size) {
    return pv__fail(ctx, PV_ERR_MEMORY, "out of memory: %zu items of %zu bytes were asked for", count, size);
}

pv_status pv__alloc(pv_ctx *ctx, size_t count, size_t size, void *block) {
    void *made = NULL;
    memcpy(block, &made, sizeof made);
    if (size != 0 && count > SIZE_MAX / size)
        return no_memory(ctx, count, size);
    size_t bytes = count * size;
    PV_TRY(pv__spill_alloc(ctx, bytes, &made));
    if (made) {
        memcpy(block, &made, sizeof made);
        return PV_OK;
    }
    bool own = ctx->options.allocator.alloc != libc_alloc;
    if (own)
        made = ctx->options.allocator.alloc(ctx->options.allocator.state, bytes ? bytes : 1);
    else
        made = calloc(bytes ? bytes : 1,
                      1); /* the system provides large blocks zeroed, and calloc avoids touching them twice */
    if (!made)
        return no_memory(ctx, count, size);
    if (own)
        memset(made, 0, bytes);
    memcpy(block, &made, sizeof made);
    return PV_OK;
}

pv_status pv__resize(pv_ctx *ctx, size_t count, size_t size, void *block) {
    void *held;
    memcpy(&held, block, sizeof held);
    if (size != 0 && count > SIZE_MAX / size)
        return no_memory(ctx, count, size);
    size_t bytes = count * size;
    bool done;
    PV_TRY(pv__spill_resize(ctx, bytes, &held, &done));
    if (done) {
        memcpy(block, &held, sizeof held);
        return PV_OK;
    }
    void *made = ctx->options.allocator.resize(ctx->options.allocator.state, held, bytes ? bytes : 1);
    if (!made)
        return no_memory(ctx, count, size);
    memcpy(block, &made, sizeof made);
    return PV_OK;
}

void pv__expect_use(void *block, size_t bytes) {
    const uintptr_t page = (uintptr_t)1 << 21;
    uintptr_t first = ((uintptr_t)block + page - 1) & ~(page - 1), last = ((uintptr_t)block + bytes) & ~(page - 1);
    if (block && first < last) /* only a hint, so failure is ignored */
        (void)madvise((char *)block + (first - (uintptr_t)block), last - first, MADV_HUGEPAGE);
}

void pv__free(pv_ctx *ctx, const void *block) {
    if (!block)
        return;
    void *writable; /* freeing takes ownership, so this is the one place where casting const away is right */
    memcpy(&writable, &block, sizeof writable);
    if (pv__spill_free(ctx, writable))
        return;
    ctx->options.allocator.release(ctx->options.allocator.state, writable);
}

bool pv__allocates_plainly(const pv_ctx *ctx) {
    return ctx->options.allocator.alloc == libc_alloc;
}

pv_status pv__strdup(pv_ctx *ctx, const char *text, char **copy) {
    size_t size = strlen(text) + 1;
    PV_TRY(pv__alloc(ctx, size, 1, copy));
    memcpy(*copy, text, size);
    return PV_OK;
}

/* ---- errors, log, progress --------------------------------------------------------------------------------------- */

/* Splits "problem;\nremedy" into its parts and makes the one-line message. */
static void take_apart(pv_error *error, const char *text) {
    const char *end = strchr(text, '\n');
    size_t length = end ? (size_t)(end - text) : strlen(text);
    pv__format(error->message, sizeof error->message, "%s", text);
    if (end)
        error->message[length] = ' ';
    pv__format(error->remedy, sizeof error->remedy, "%s", end ? end + 1 : "");
    while (end && length > 0 && strchr(":;,. ", text[length - 1]))
        length--;
    pv__format(error->problem, sizeof error->problem, "%.*s", (int)length, text);
    pv_text_reference reference;
    bool named = pv_text_option(error->problem, &reference);
    pv__format(error->option, sizeof error->option, "%s", named ? reference.name : "");
    if (named)
        pv_text_option_value(&reference, error->value, sizeof error->value);
    else
        error->value[0] = '\0';
}

void pv__error_break(const pv_error *error, char *text) {
    size_t whole = strlen(text), remedy = strlen(error->remedy);
    if (remedy > 0 && remedy < whole && strcmp(text + whole - remedy, error->remedy) == 0)
        text[whole - remedy - 1] = '\n';
}

static PV_PRINTF(6, 0) pv_status record(pv_ctx *ctx, pv_status status, const char *file, size_t line, size_t column,
                                        const char *format, va_list arguments) {
    pv_error *error = &ctx->error;
    /* The arguments may point into the error being replaced. */
    char message[PV_MESSAGE_SIZE], *whole = NULL;
    va_list again;
    va_copy(again, arguments);
    int length = pv__vformat(message, sizeof message, format, arguments);
    if (length >= (int)sizeof message) /* without memory for the whole text, its end is cut */
        whole = ctx->options.allocator.alloc
                    ? ctx->options.allocator.alloc(ctx->options.allocator.state, (size_t)length + 1)
                    : NULL;
    if (whole) {
        pv__vformat(whole, (size_t)length + 1, format, again);
        pv_text_squeeze(whole, sizeof message);
        memcpy(message, whole, strlen(whole) + 1);
        ctx->options.allocator.release(ctx->options.allocator.state, whole);
    }
    va_end(again);
    take_apart(error, message);
    error->status = status;
    if (file != error->file)
        pv__format(error->file, sizeof error->file, "%s", file ? file : "");
    error->line = line;
    error->column = column;
    return status;
}

pv_status(pv__fail)(pv_ctx *ctx, pv_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(ctx, status, NULL, 0, 0, format, arguments);
    va_end(arguments);
    return status;
}

pv_status(pv__fail_at)(pv_ctx *ctx, pv_status status, const char *file, size_t line, size_t column, const char *format,
                       ...) {
    va_list arguments;
    va_start(arguments, format);
    record(ctx, status, file, line, column, format, arguments);
    va_end(arguments);
    return status;
}

void pv__log(pv_ctx *ctx, pv_log_level level, const char *format, ...) {
    if (!ctx->options.log || level < ctx->options.level)
        return;
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    pv__vformat(message, sizeof message, format, arguments);
    va_end(arguments);
    for (char *end = strchr(message, '\n'); end; end = strchr(end, '\n'))
        *end = ' '; /* a quoted error may contain a remedy of its own */
    ctx->options.log(ctx->log_state, level, message);
}

void pv__progress(pv_ctx *ctx, const pv_progress *progress) {
    if (ctx->options.progress)
        ctx->options.progress(ctx->progress_state, progress);
    ask_caller(ctx->root);
}

/* ---- contexts of several threads --------------------------------------------------------------------------------- */

static void *locked_alloc(void *state, size_t size) {
    const pv_allocator *parent = state;
    void *block;
#pragma omp critical(pv_memory)
    block = parent->alloc(parent->state, size);
    return block;
}

static void *locked_resize(void *state, void *old, size_t size) {
    const pv_allocator *parent = state;
    void *block;
#pragma omp critical(pv_memory)
    block = parent->resize(parent->state, old, size);
    return block;
}

static void locked_release(void *state, void *block) {
    const pv_allocator *parent = state;
#pragma omp critical(pv_memory)
    parent->release(parent->state, block);
}

pv_allocator pv__allocator_shared(pv_ctx *ctx) {
    pv_allocator *own = &ctx->options.allocator;
    if (own->alloc == libc_alloc || own->alloc == locked_alloc) /* already thread-safe; locking twice would deadlock */
        return *own;
    return (pv_allocator){locked_alloc, locked_resize, locked_release, own};
}

pv_status pv__ctx_child(pv_ctx *ctx, pv_ctx **child) {
    pv_ctx_options options = {.allocator = pv__allocator_shared(ctx), .threads = 1};
    if (pv_ctx_new(&options, child) != PV_OK)
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory for a context of a thread");
    (*child)->root = ctx->root;
    return PV_OK;
}

pv_status pv__ctx_adopt(pv_ctx *ctx, const pv_ctx *child) {
    ctx->error = child->error;
    return ctx->error.status;
}

double pv__seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
