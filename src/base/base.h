/* src/base/base.h: internal declarations that all parts use: memory, errors, the log, files. */
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
    pthread_t owner; /* the thread that created the context */
    double polled;   /* when the poll callback was last called */
    struct {
        pv_ranks calls;            /* size 0: a single process */
        uint64_t number;           /* sequence number of the next exchange */
        bool begun;                /* work is shared, so no process may leave it alone */
        bool stop;                 /* one process was asked to stop, and all have received that */
        bool ended;                /* all processes have ended their exchanges normally */
        bool told;                 /* one process ended early or lost step, and all know: no more exchanges */
        bool lost;                 /* this process no longer knows where the others are */
        void *room;                /* buffers for ending the work, allocated in advance (ranks.c) */
        const struct pv__mpi *mpi; /* the MPI plug-in that created them; NULL: the caller did */
    } ranks;                       /* stored in the root context (ranks.c) */
    pv__spill *spill;              /* blocks spilled to files; NULL: none; stored in the root */
    pv_status reduced;             /* the first failure of a sum over rows */
    pv_error error;
    char line[sizeof(pv_error) + 64];     /* the text that pv_ctx_message returns */
    pv_ctx *root;                         /* the context that this one was derived from for a thread, or itself */
    _Atomic(pv__temporary *) temporaries; /* temporary files of open outputs; stored in the root */
    atomic_bool abandoned;                /* no more temporary files may be created; stored in the root */
    atomic_int creating;                  /* number of threads about to create one; stored in the root */
    pv__known *known;                     /* files that are read or written; stored in the root */
    bool watching;                        /* files opened for reading are added to `known`; stored in the root */
    volatile sig_atomic_t interrupted;
    atomic_int waiting;        /* number of calls running inside another engine; stored in the root */
    pv_checkpoint *checkpoint; /* NULL: none; owned by the context in which it was opened */
    char scope[PV_SCOPE_SIZE]; /* prefix of the names of its entries: "folds/3/" */
    double kept;               /* when this context last stored a state */
    const struct pv__engine_kind
        *engine[PV_ENGINES_MAX]; /* engines of plug-ins (compute/engines.c); stored in the root */
    int engines;
    char *duckdb;  /* path of DuckDB's library if none is installed (data/engine.c), or NULL; stored in the root */
    char *xgboost; /* the same for XGBoost's library (model/xgboost.c) */
    struct {
        int kind, precision;             /* pv_device, pv_precision */
        const struct pv__plugin *plugin; /* NULL: none, or not loaded yet */
        bool tried;
        bool tables_only;  /* the device cannot run networks */
        char text[288];    /* name of the device, or why it is not available */
        char without[256]; /* why it cannot run networks */
    } device;              /* stored in the root (compute/device.c) */
};

/* Runs jobs like pv_jobs_run_kept and sends their outcomes to all ranks that share them, without storing them in a
 * checkpoint. */
PV_MUST_USE pv_status pv__jobs_run_shared(pv_ctx *ctx, const char *what, size_t jobs, pv_job job,
                                          pv_job_outcome outcome, void *state, size_t *finished);

/* Gives child the parent's checkpoint, with the scope of one of the parent's jobs. */
void pv__checkpoint_inherit(pv_ctx *child, const pv_ctx *parent, const char *what, size_t index);
const char *pv__checkpoint_path(const pv_ctx *ctx); /* as the user gave it */
/* Logs once why a write failed. Does nothing in a context that does not own the checkpoint. */
void pv__checkpoint_tell_trouble(pv_ctx *ctx);
/* Fails because a state has valid sizes but invalid contents. */
pv_status pv__checkpoint_damaged(pv_ctx *ctx, const char *what);
/* Rejects doubles that are not finite: a state that is resumed or used as a result must be finite. */
PV_MUST_USE pv_status pv__checkpoint_finite(pv_ctx *ctx, const pv_field *field, size_t n);
/* For tests: interrupts at the given call of pv_checkpoint_due, counted from 1. */
void pv__checkpoint_interrupt_after(pv_ctx *ctx, int64_t calls);

/* Allocates zeroed memory through the context's allocator; count * size is checked for overflow. On failure *block is
 * NULL and the status is PV_ERR_MEMORY. */
PV_MUST_USE pv_status pv__alloc(pv_ctx *ctx, size_t count, size_t size, void *block);
/* Resizes *block, which is unchanged on failure. New bytes are not zeroed. */
PV_MUST_USE pv_status pv__resize(pv_ctx *ctx, size_t count, size_t size, void *block);
/* Hints that all of a block will be written soon, so that the system may use large pages for a large block. */
void pv__expect_use(void *block, size_t bytes);
void pv__free(pv_ctx *ctx, const void *block); /* NULL is fine */
/* (spill.c) For contexts with limited memory. pv__spill_alloc sets *made to NULL, and pv__spill_resize sets *done to
 * false, if the block belongs in ordinary memory. pv__spill_free returns whether the block was in a file.
 * pv__spill_watch includes the pages of a mapping that begins at `at` in those given back. */
PV_MUST_USE pv_status pv__spill_alloc(pv_ctx *ctx, size_t bytes, void **made);
PV_MUST_USE pv_status pv__spill_resize(pv_ctx *ctx, size_t bytes, void **held, bool *done);
bool pv__spill_free(pv_ctx *ctx, void *at);
void pv__spill_watch(pv_ctx *ctx, void *at, size_t bytes, bool on);
/* Gives pages back at once. For loops with scattered row accesses, where one row touches many pages and the watching
 * thread may be too slow. */
void pv__spill_breathe(const pv_ctx *ctx);
/* How many bytes of large blocks would still fit in ordinary memory; SIZE_MAX if memory is not limited. */
size_t pv__spill_room(const pv_ctx *ctx);
/* Whether a block of this size would be placed in a file. */
bool pv__spill_wanted(const pv_ctx *ctx, size_t bytes);
/* Opens an unnamed file in the folder for reading and writing; -1 with errno on failure. */
int pv__file_without_name(const char *folder);
void pv__spill_end(pv_ctx *ctx);
bool pv__allocates_plainly(const pv_ctx *ctx); /* uses malloc and free */
PV_MUST_USE pv_status pv__strdup(pv_ctx *ctx, const char *text, char **copy);

/* Records an error, with or without a place in a file (line or column 0: unknown), and returns status. The text refers
 * to options in the syntax that pv_text_option reads. A line break separates the problem from the remedy; the message
 * has a space there.
 */
pv_status pv__fail(pv_ctx *ctx, pv_status status, const char *format, ...) PV_PRINTF(3, 4);
pv_status pv__fail_at(pv_ctx *ctx, pv_status status, const char *file, size_t line, size_t column, const char *format,
                      ...) PV_PRINTF(6, 7);
#ifdef __clang_analyzer__ /* the analyser does not see the return value of functions in other files */
#define pv__fail(ctx, status, ...) (pv__fail(ctx, status, __VA_ARGS__), status)
#define pv__fail_at(ctx, status, ...) (pv__fail_at(ctx, status, __VA_ARGS__), status)
#endif

/* For an error that quotes an earlier one: restores the line break before the remedy in a text that ends with the
 * earlier message. */
void pv__error_break(const pv_error *error, char *text);

void pv__log(pv_ctx *ctx, pv_log_level level, const char *format, ...) PV_PRINTF(3, 4);
void pv__progress(pv_ctx *ctx, const pv_progress *progress);
/* The context's allocator made safe for contexts of other threads, which must not outlive ctx. Calls are serialised. */
pv_allocator pv__allocator_shared(pv_ctx *ctx);
/* A context for another thread: the parent's allocator, serialised; one thread, no log and no progress. */
PV_MUST_USE pv_status pv__ctx_child(pv_ctx *ctx, pv_ctx **child);
/* Copies the child's error to the parent and returns its status. */
pv_status pv__ctx_adopt(pv_ctx *ctx, const pv_ctx *child);
/* ---- blocking.c: calls that may never return --------------------------------------------------------------------- */

typedef struct pv__blocking {
    void (*call)(void *state); /* must not use the context */
    void (*stop)(void *state); /* asks a running call to end; NULL: not possible */
    void (*drop)(void *state); /* frees the state of an abandoned call */
    void *state;
} pv__blocking;
/* Runs the call on its own thread while checking for interruption. Returns false if the work was interrupted and the
 * call had not returned within a second; the abandoned thread then owns the state. */
bool pv__blocking_run(const pv_ctx *ctx, const pv__blocking *what);
/* Waits until there is something to read or the input ends. False: interrupted. */
bool pv__wait_readable(const pv_ctx *ctx, int descriptor);

/* Marks the beginning and end of a call that may block: engines, servers, pipes (pv_ctx_waiting). */
void pv__waiting(const pv_ctx *ctx, bool begins);
bool pv__interrupted(const pv_ctx *ctx);
/* Returns PV_ERR_INTERRUPTED if the work should stop. Call it now and then in loops over rows, draws or steps. */
pv_status pv__go_on(pv_ctx *ctx);
double pv__seconds(void); /* monotonic clock */
/* The number of threads for this many pieces of work: the context's, but at most one per piece and at least one. The
 * threads are ready (pv_threads_ready), so call this right before the parallel region. */
int pv__threads_for(const pv_ctx *ctx, size_t pieces);
bool pv__forked(void); /* this process was forked after the library was loaded */

/* Instruction sets that kernels are compiled for; pv__isa_best is the best one that this processor supports. */
typedef enum pv__isa { PV_ISA_BASELINE, PV_ISA_AVX2, PV_ISA_AVX512 } pv__isa;
pv__isa pv__isa_best(void);
/* Defines get(), which returns the kernel table for this processor. There is one table per instruction set. */
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

/* Files store cells in little-endian order. Returns n cells of the given size in that order: the cells themselves, or a
 * copy in buffer. The same function converts a file's cells to native order. */
#define PV_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
static inline const void *pv__little_endian(const void *cells, size_t size, size_t n, void *buffer) {
    if (!PV_BIG_ENDIAN)
        return cells;
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < size / 2; b++) { /* cells and buffer may be the same */
            const unsigned char *from = (const unsigned char *)cells + i * size;
            unsigned char *to = (unsigned char *)buffer + i * size, low = from[b], high = from[size - 1 - b];
            to[b] = high;
            to[size - 1 - b] = low;
        }
    return buffer;
}

/* Text functions that always use the C locale (format.c). Code in src/ must use these instead of the C library's. */
int pv__format(char *to, size_t size, const char *format, ...) PV_PRINTF(3, 4); /* snprintf */
int pv__vformat(char *to, size_t size, const char *format, va_list arguments) PV_PRINTF(3, 0);
void pv__print(FILE *out, const char *format, ...) PV_PRINTF(2, 3); /* fprintf */
double pv__strtod(const char *text, char **end);
/* For calls to libraries that print text: this thread uses the C locale from enter to leave. */
locale_t pv__locale_enter(void);
void pv__locale_leave(locale_t before);
/* ASCII letters and white space, the same in every locale. */
static inline char pv__lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}
static inline bool pv__is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
bool pv__same_letters(const char *a, const char *b, size_t n); /* compares at most n bytes, ignoring case */
/* Parses text as a finite decimal number; false if it is anything else. */
bool pv__parse_real(const char *text, double *value);
bool pv__is_hexadecimal(const char *text); /* begins like a hexadecimal number */

/* Prints a line `NAME`=VALUE for each option whose value differs from `usual`; these lines identify the work.
 * pv__line_end prints a value and ends its line. */
void pv__options_lines(FILE *stream, const pv_option *table, const void *options, const void *usual);
void pv__line_end(FILE *stream, const char *text);
/* Settings holding the options of one table; values as for pv_settings_add. The caller frees. */
PV_MUST_USE pv_status pv__settings_of(pv_ctx *ctx, const pv_option *table, size_t size, const void *values,
                                      pv_settings **settings);

/* PV_TRY returns from the enclosing function if a call fails; PV_GOTO jumps to a cleanup label instead and needs a
 * variable `status`. */
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

/* Loads a plug-in and returns its handle and its path [PV_PLUGIN_PATH_SIZE]. On failure returns NULL and writes the
 * reason to why [size]. remedy: what the user should do if there is no such plug-in (plugins.c). */
enum { PV_PLUGIN_PATH_SIZE = 4096 };
void *pv__plugin_open(const char *file, const char *remedy, char *path, size_t size, char *why);

/* (shared_library.c) Loads the library named by an environment variable; if that is not set, the first of files [n]
 * that is installed, or else `last` (NULL: none). Returns NULL on failure; dlerror says why. */
void *pv__library_open(const char *variable, const char *const *files, size_t n, const char *last);

/* Runs one task at a time in parallel with the caller (background.c). Call wait before using the results and before the
 * next start. If no thread can be created, start does the work itself. The caller frees. */
typedef struct pv__background pv__background;
PV_MUST_USE pv_status pv__background_new(pv_ctx *ctx, void (*work)(void *state), void *state, pv__background **made);
void pv__background_start(pv__background *background);
void pv__background_wait(pv__background *background);
void pv__background_free(pv_ctx *ctx, pv__background *background); /* waits first; NULL is fine */

void pv__temporaries_free(pv_ctx *ctx);

/* Registers a file that is deleted if outputs are abandoned while it is marked as existing (file.c). */
PV_MUST_USE pv_status pv__temporary_take(pv_ctx *ctx, const char *path, pv__temporary **entry);
void pv__temporary_there(pv__temporary *entry, bool there);
void pv__temporary_leave(pv_ctx *ctx, pv__temporary *entry);
/* FOLDER/NAME.partial. for a path; six random characters are appended, and output is written to that file until it is
 * complete. A name that is too long is shortened and given a hash. The caller frees. */
PV_MUST_USE pv_status pv__partial_prefix(pv_ctx *ctx, const char *path, char **prefix);

/* The path with links resolved, of a file that may not exist yet (files.c). The caller frees. */
PV_MUST_USE pv_status pv__resolve(pv_ctx *ctx, const char *path, char **resolved);
PV_MUST_USE pv_status pv__folder_name(pv_ctx *ctx, const char *path, char **folder);
const char *pv__base_name(const char *path); /* points into path */
size_t pv__name_most(const char *folder);    /* the longest file name that the folder allows, in bytes */
/* Report to pv_files_* that a file is opened for reading, opened for writing, or has been written. They reject what
 * pv_files_* rejects. */
PV_MUST_USE pv_status pv__files_reading(pv_ctx *ctx, const char *path);
PV_MUST_USE pv_status pv__files_writing(pv_ctx *ctx, const char *path);
void pv__files_written(pv_ctx *ctx, const char *path);
/* Watches existing outputs (files_watch.c), to detect whether a query of another engine reads one of them: the query's
 * text does not tell which files it opens. *watch is NULL if there are none. pv__files_watched fails if one was opened
 * since, or if that cannot be determined. */
typedef struct pv__watch pv__watch;
PV_MUST_USE pv_status pv__files_watch(pv_ctx *ctx, pv__watch **watch);
PV_MUST_USE pv_status pv__files_watched(pv_ctx *ctx, const pv__watch *watch);
void pv__files_unwatch(pv_ctx *ctx, pv__watch *watch); /* NULL is fine */
/* Calls visit for every existing output until one call fails; for a folder, for the files in it that may be written.
 * what: the option that names the output. */
typedef pv_status pv__files_visit(void *state, const char *what, const char *path);
PV_MUST_USE pv_status pv__files_outputs(pv_ctx *ctx, pv__files_visit *visit, void *state);

/* Opens a file for reading. Rejects directories and unreadable files with advice. */
PV_MUST_USE pv_status pv__file_open(pv_ctx *ctx, const char *path, FILE **stream);
/* Two sizes and a checksum: the second line of models and checkpoints. Only this exact format is accepted. */
#define PV_SIZES_FORMAT "%zu %zu %016llx\n"
enum { PV_SIZES_LINE = 80 }; /* an upper bound on its length in bytes */
bool pv__sizes_read(FILE *stream, size_t sizes[2], unsigned long long *sum);
/* The same from memory: parses the line at the start of text [n]; returns its length, or 0 if it is malformed. */
size_t pv__sizes_parse(const char *text, size_t n, size_t sizes[2], unsigned long long *sum);

#endif
