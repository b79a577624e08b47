/* src/base/base.h: what every part uses and no user sees: memory, errors, the log, atomic files. */
#ifndef PV_SRC_BASE_H
#define PV_SRC_BASE_H

#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/types.h> /* pthread_t */

#include "prevail/base.h"

typedef struct pv_checkpoint pv_checkpoint;
enum { PV_SCOPE_SIZE = 256 };
typedef struct pv__temporary pv__temporary; /* file.c */
typedef struct pv__spill pv__spill;         /* spill.c */
typedef struct pv__known pv__known;         /* files.c */
enum { PV_ENGINES_MAX = 4 };

struct pv_ctx {
    pv_ctx_options options;
    void *log_state, *progress_state, *poll_state;
    pthread_t owner; /* who made it */
    double polled;   /* when that was last asked */
    struct {
        pv_ranks calls;            /* size 0: alone */
        uint64_t number;           /* of the next exchange */
        bool begun;                /* work is shared: nobody may leave it alone */
        bool stop;                 /* one of them was asked to, and all know */
        bool ended;                /* there are no more exchanges */
        bool told;                 /* one has ended or gone astray, and all know: there are no more either */
        bool lost;                 /* the others may be anywhere */
        void *room;                /* for what ends the work (ranks.c) */
        const struct pv__mpi *mpi; /* who made them; NULL: the caller */
    } ranks;                       /* of the root (ranks.c) */
    pv__spill *spill;              /* blocks that lie in files; NULL: none do; of the root */
    pv_status reduced;             /* the first failure of a sum over rows */
    pv_error error;
    char line[sizeof(pv_error) + 64];     /* of pv_ctx_message */
    pv_ctx *root;                         /* the context that this one was made of for a thread, or itself */
    _Atomic(pv__temporary *) temporaries; /* of outputs that are open; kept by the root */
    atomic_bool abandoned;                /* there are to be no more; of the root */
    atomic_int creating;                  /* threads that are about to make one; of the root */
    pv__known *known;                     /* files that are read or written; of the root */
    bool watching;                        /* what is opened for reading becomes known; of the root */
    volatile sig_atomic_t interrupted;
    atomic_int waiting;                                   /* of the root: calls that are in another program's hands */
    pv_checkpoint *checkpoint;                            /* NULL: none; owned by the context it was opened in */
    char scope[PV_SCOPE_SIZE];                            /* of its entries: "folds/3/" */
    double kept;                                          /* when this context last kept a state */
    const struct pv__engine_kind *engine[PV_ENGINES_MAX]; /* of plug-ins (compute/engines.c); of the root */
    int engines;
    char *duckdb; /* a file of its library, for where none is installed (data/engine.c); of the root; NULL: none */
    struct {
        int kind, precision;             /* pv_device, pv_precision */
        const struct pv__plugin *plugin; /* NULL: there is none, or not yet */
        bool tried;
        bool tables_only;  /* it has no networks */
        char text[288];    /* what it is, or why it cannot be had */
        char without[256]; /* why it has none */
    } device;              /* of the root (compute/device.c) */
};

/* Jobs whose outcomes, as for pv_jobs_run_kept, are told to all ranks that share them, and are not kept. */
PV_MUST_USE pv_status pv__jobs_run_shared(pv_ctx *ctx, const char *what, size_t jobs, pv_job job,
                                          pv_job_outcome outcome, void *state, size_t *finished);

/* The parent's checkpoint, with the scope of one of its jobs. */
void pv__checkpoint_inherit(pv_ctx *child, const pv_ctx *parent, const char *what, size_t index);
const char *pv__checkpoint_path(const pv_ctx *ctx); /* as it was given */
/* Logs, once, why a write failed; nothing in a context that is not the checkpoint's own. */
void pv__checkpoint_tell_trouble(pv_ctx *ctx);
/* A state has sensible sizes and senseless contents. */
pv_status pv__checkpoint_damaged(pv_ctx *ctx, const char *what);
/* Refuses numbers (doubles) that are not finite: what is gone on from, or taken for a result, must be. */
PV_MUST_USE pv_status pv__checkpoint_finite(pv_ctx *ctx, const pv_field *field, size_t n);
/* For tests: the interruption comes at the call of pv_checkpoint_due of this number, from 1. */
void pv__checkpoint_interrupt_after(pv_ctx *ctx, int64_t calls);

/* Memory through the context's allocator; count * size is checked for overflow. The new block is zeroed. On failure
 * *block is NULL and the status is PV_ERR_MEMORY. */
PV_MUST_USE pv_status pv__alloc(pv_ctx *ctx, size_t count, size_t size, void *block);
/* Grows or shrinks *block; on failure it is left as it was. New bytes are not zeroed. */
PV_MUST_USE pv_status pv__resize(pv_ctx *ctx, size_t count, size_t size, void *block);
/* All of a block will be written to soon: where it is large, the system may give it in large pages. */
void pv__expect_use(void *block, size_t bytes);
void pv__free(pv_ctx *ctx, const void *block); /* NULL is fine */
/* (spill.c) Where the context's memory is limited: *made NULL, the allocator's turn; the same for what is held (*done
 * false); whether the block was a file. watch: pages of a mapping, from where it begins, are given back as well. */
PV_MUST_USE pv_status pv__spill_alloc(pv_ctx *ctx, size_t bytes, void **made);
PV_MUST_USE pv_status pv__spill_resize(pv_ctx *ctx, size_t bytes, void **held, bool *done);
bool pv__spill_free(pv_ctx *ctx, void *at);
void pv__spill_watch(pv_ctx *ctx, void *at, size_t bytes, bool on);
/* In loops that leap over rows, where a row brings many pages and the watcher may be late: gives pages back now. */
void pv__spill_breathe(const pv_ctx *ctx);
/* Bytes of large blocks that would still be ordinary memory; SIZE_MAX where it is not limited. */
size_t pv__spill_room(const pv_ctx *ctx);
/* Whether a block of so many bytes would lie in a file. */
bool pv__spill_wanted(const pv_ctx *ctx, size_t bytes);
/* A file in that folder that nobody else can find, open for reading and writing; -1 with errno where it cannot be. */
int pv__file_without_name(const char *folder);
void pv__spill_end(pv_ctx *ctx);
bool pv__allocates_plainly(const pv_ctx *ctx); /* with malloc and free */
PV_MUST_USE pv_status pv__strdup(pv_ctx *ctx, const char *text, char **copy);

/* Records an error without a place, or at a place in a file (0: unknown), and returns status. The text names options as
 * pv_text_option reads them. A line break in it separates the problem from the remedy; the message has a space there.
 */
pv_status pv__fail(pv_ctx *ctx, pv_status status, const char *format, ...) PV_PRINTF(3, 4);
pv_status pv__fail_at(pv_ctx *ctx, pv_status status, const char *file, size_t line, size_t column, const char *format,
                      ...) PV_PRINTF(6, 7);
#ifdef __clang_analyzer__ /* which does not look into other files for what they return */
#define pv__fail(ctx, status, ...) (pv__fail(ctx, status, __VA_ARGS__), status)
#define pv__fail_at(ctx, status, ...) (pv__fail_at(ctx, status, __VA_ARGS__), status)
#endif

/* Puts the line break before the remedy back into a text that ends with the error's message, for an error that quotes
 * it. */
void pv__error_break(const pv_error *error, char *text);

void pv__log(pv_ctx *ctx, pv_log_level level, const char *format, ...) PV_PRINTF(3, 4);
void pv__progress(pv_ctx *ctx, const pv_progress *progress);
/* The context's allocator for contexts of other threads, which must not outlive ctx: calls come one at a time. */
pv_allocator pv__allocator_shared(pv_ctx *ctx);
/* A context for a thread of its own: the parent's allocator, shared; one thread, no log and no progress. */
PV_MUST_USE pv_status pv__ctx_child(pv_ctx *ctx, pv_ctx **child);
/* The child's error, with its place, as the parent's; returns its status. */
pv_status pv__ctx_adopt(pv_ctx *ctx, const pv_ctx *child);
/* ---- blocking.c: calls that may not come back -------------------------------------------------------------------- */

typedef struct pv__blocking {
    void (*call)(void *state); /* uses nothing of the context */
    void (*stop)(void *state); /* asks a call that runs to end; NULL: there is no way to */
    void (*drop)(void *state); /* frees what is left of a call that was given up */
    void *state;
} pv__blocking;
/* Runs the call on a thread of its own, and looks meanwhile whether the work is interrupted. False: it was, and the
 * call has not come back a second later; the state is then that thread's. */
bool pv__blocking_run(const pv_ctx *ctx, const pv__blocking *what);
/* Until there is something to read, or the end of it. False: interrupted. */
bool pv__wait_readable(const pv_ctx *ctx, int descriptor);

/* Around what may not come back by itself: engines, servers, pipes (pv_ctx_waiting). */
void pv__waiting(const pv_ctx *ctx, bool begins);
bool pv__interrupted(const pv_ctx *ctx);
/* PV_ERR_INTERRUPTED where the work is to stop. For loops over rows, draws or steps, now and then. */
pv_status pv__go_on(pv_ctx *ctx);
double pv__seconds(void); /* monotonic clock */
/* Threads for so many pieces of work: the context's, or one for each where those are fewer; at least one. They are
 * ready (pv_threads_ready): ask right before the region. */
int pv__threads_for(const pv_ctx *ctx, size_t pieces);
bool pv__forked(void); /* this process came of a fork after the library was loaded */

/* Instruction sets that kernels are compiled for, and the best that this processor has. */
typedef enum pv__isa { PV_ISA_BASELINE, PV_ISA_AVX2, PV_ISA_AVX512 } pv__isa;
pv__isa pv__isa_best(void);
/* Defines get(), which returns the table of kernels for this processor: one is compiled per instruction set. */
#ifdef __x86_64__
#define PV_KERNELS_GET(type, get, name)                                                                                \
    extern const type name##_baseline, name##_avx2, name##_avx512;                                                     \
    const type *get(void) {                                                                                            \
        const type *const all[] = {&name##_baseline, &name##_avx2, &name##_avx512};                                    \
        return all[pv__isa_best()];                                                                                    \
    }
#else
#define PV_KERNELS_GET(type, get, name)                                                                                \
    extern const type name##_baseline;                                                                                 \
    const type *get(void) {                                                                                            \
        return &name##_baseline;                                                                                       \
    }
#endif

/* Files hold little-endian cells. The n cells of the given size in that order: themselves, or a copy in buffer. The
 * same function makes of a file's cells the machine's. */
#define PV_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
static inline const void *pv__little_endian(const void *cells, size_t size, size_t n, void *buffer) {
    if (!PV_BIG_ENDIAN)
        return cells;
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < size / 2; b++) { /* the two may be the same place */
            const unsigned char *from = (const unsigned char *)cells + i * size;
            unsigned char *to = (unsigned char *)buffer + i * size, low = from[b], high = from[size - 1 - b];
            to[b] = high;
            to[size - 1 - b] = low;
        }
    return buffer;
}

/* Text in the C locale, whatever the process's is (format.c): the only way to it in src/. */
int pv__format(char *to, size_t size, const char *format, ...) PV_PRINTF(3, 4); /* snprintf */
int pv__vformat(char *to, size_t size, const char *format, va_list arguments) PV_PRINTF(3, 0);
void pv__print(FILE *out, const char *format, ...) PV_PRINTF(2, 3); /* fprintf */
double pv__strtod(const char *text, char **end);
/* For a library's own text: the C locale for this thread between the two. */
locale_t pv__locale_enter(void);
void pv__locale_leave(locale_t before);
/* Letters and white space of ASCII, the same in every locale. */
static inline char pv__lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}
static inline bool pv__is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
bool pv__same_letters(const char *a, const char *b, size_t n); /* the first n, or all before a NUL, in any case */
/* A finite decimal number that is the whole of text. */
bool pv__parse_real(const char *text, double *value);
bool pv__is_hexadecimal(const char *text); /* begins as such a number */

/* Lines `NAME`=VALUE of the options that are not as usual, by which work is compared; and a value to the end of its
 * line, of which it is one. */
void pv__options_lines(FILE *stream, const pv_option *table, const void *options, const void *usual);
void pv__line_end(FILE *stream, const char *text);
/* Settings of one table; values as for pv_settings_add. The caller frees. */
PV_MUST_USE pv_status pv__settings_of(pv_ctx *ctx, const pv_option *table, size_t size, const void *values,
                                      pv_settings **settings);

/* Return from the enclosing function when a call fails; PV_GOTO jumps to a cleanup label instead (status in
 * `status`).*/
#define PV_TRY(call)                                                                                                   \
    do {                                                                                                               \
        pv_status pv_try_status = (call);                                                                              \
        if (pv_try_status != PV_OK)                                                                                    \
            return pv_try_status;                                                                                      \
    } while (0)
#define PV_GOTO(label, call)                                                                                           \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status != PV_OK)                                                                                           \
            goto label;                                                                                                \
    } while (0)

/* Loads a plug-in and returns its handle, with its path [PV_PLUGIN_PATH_SIZE]; NULL: why [size] says what is wrong.
 * remedy: what to do where there is none (plugins.c). */
enum { PV_PLUGIN_PATH_SIZE = 4096 };
void *pv__plugin_open(const char *file, const char *remedy, char *path, size_t size, char *why);

/* One piece of work at a time beside the caller's (background.c): start, then wait before its results are used or it is
 * started again. Where the system gives no thread, start does the work itself. The caller frees. */
typedef struct pv__background pv__background;
PV_MUST_USE pv_status pv__background_new(pv_ctx *ctx, void (*work)(void *state), void *state, pv__background **made);
void pv__background_start(pv__background *background);
void pv__background_wait(pv__background *background);
void pv__background_free(pv_ctx *ctx, pv__background *background); /* waits; NULL is fine */

void pv__temporaries_free(pv_ctx *ctx);

/* A file that is removed where outputs are abandoned, as long as it is said to be there (file.c). */
PV_MUST_USE pv_status pv__temporary_take(pv_ctx *ctx, const char *path, pv__temporary **entry);
void pv__temporary_there(pv__temporary *entry, bool there);
void pv__temporary_leave(pv_ctx *ctx, pv__temporary *entry);
/* FOLDER/NAME.partial. of a path, to which six characters are added: what is written goes there until it is whole. Of a
 * name that leaves no room for that, its beginning and a hash of it. The caller frees. */
PV_MUST_USE pv_status pv__partial_prefix(pv_ctx *ctx, const char *path, char **prefix);

/* Names, links followed, of files that are there or are yet to be (files.c). The caller frees. */
PV_MUST_USE pv_status pv__resolve(pv_ctx *ctx, const char *path, char **resolved);
PV_MUST_USE pv_status pv__folder_name(pv_ctx *ctx, const char *path, char **folder);
const char *pv__base_name(const char *path); /* points into path */
size_t pv__name_most(const char *folder);    /* bytes of a name in it */
/* What pv_files_* is told by those who open files: refusals as there. */
PV_MUST_USE pv_status pv__files_reading(pv_ctx *ctx, const char *path);
PV_MUST_USE pv_status pv__files_writing(pv_ctx *ctx, const char *path);
void pv__files_written(pv_ctx *ctx, const char *path);
/* Outputs that are there are watched (files_watch.c), to find out whether another engine opens one of them as an input:
 * which files a query reads, its text does not say. *watch NULL: there is none. pv__files_watched refuses where one was
 * opened since, or where that cannot be known. */
typedef struct pv__watch pv__watch;
PV_MUST_USE pv_status pv__files_watch(pv_ctx *ctx, pv__watch **watch);
PV_MUST_USE pv_status pv__files_watched(pv_ctx *ctx, const pv__watch *watch);
void pv__files_unwatch(pv_ctx *ctx, pv__watch *watch); /* NULL is fine */
/* Calls visit with every output that is there, up to the first failure: of a folder, with the files in it that may be
 * written. what: the option that names it. */
typedef pv_status pv__files_visit(void *state, const char *what, const char *path);
PV_MUST_USE pv_status pv__files_outputs(pv_ctx *ctx, pv__files_visit *visit, void *state);

/* Opens for reading; refuses directories and what cannot be read, with advice. */
PV_MUST_USE pv_status pv__file_open(pv_ctx *ctx, const char *path, FILE **stream);
/* Two sizes and a checksum: the second line of models and checkpoints. Read just as it is written, or not at all. */
#define PV_SIZES_FORMAT "%zu %zu %016llx\n"
enum { PV_SIZES_LINE = 80 }; /* bytes, more than it has */
bool pv__sizes_read(FILE *stream, size_t sizes[2], unsigned long long *sum);
/* The same of the bytes that begin with it; returns how many it takes, 0 where it is not so. */
size_t pv__sizes_parse(const char *text, size_t n, size_t sizes[2], unsigned long long *sum);

#endif
