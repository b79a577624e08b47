/* prevail/base.h: status codes, the context, option tables.
 *
 * Every function that can fail returns a pv_status. Its message, and the file, line and column of bad input, are in the
 * context until the next call that fails. The library never prints, exits or aborts on input, and has no globals.
 *
 * fork: the child may use the library, contexts made before it included, with one thread whatever they were made with,
 * to the same results; OpenMP's threads do not survive a fork. Fork while no other thread is in a call of the library,
 * and not from one of its callbacks. A program begun by exec is none the less for it.
 */
#ifndef PREVAIL_BASE_H
#define PREVAIL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PV_VERSION "0.1.0"

/* The kernels in use on this processor: "avx512", "avx2" or "baseline". */
const char *pv_kernels(void);
/* The instruction set that oneDNN found for convolutions: "avx512_core", say; "none" where the library was built
 * without networks for images. */
const char *pv_convolution_isa(void);

typedef struct pv_library {
    const char *name;
    char version[32];
} pv_library;

/* The libraries in use and their versions, found at run time, into list [room]; returns how many there are. */
size_t pv_libraries(pv_library *list, size_t room);

#if defined(__GNUC__)
#define PV_MUST_USE __attribute__((warn_unused_result))
#define PV_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#define PV_MUST_USE
#define PV_PRINTF(format_at, first_at)
#endif

/* ---- status ------------------------------------------------------------------------------------------------------ */

#define PV_STATUS_LIST(X)                                                                                              \
    X(OK, "ok", "done")                                                                                                \
    X(ERR_MEMORY, "memory", "out of memory")                                                                           \
    X(ERR_USAGE, "usage", "wrong argument or option")                                                                  \
    X(ERR_INPUT, "input", "bad input data")                                                                            \
    X(ERR_PATH, "path", "a file or folder cannot be used")                                                             \
    X(ERR_FORMAT, "format", "not a file of the expected format, or damaged")                                           \
    X(ERR_WRITE, "write", "writing failed")                                                                            \
    X(ERR_NUMERIC, "numeric", "the numbers left their domain")                                                         \
    X(ERR_INTERRUPTED, "interrupted", "stopped on request")                                                            \
    X(ERR_INTERNAL, "internal", "a defect in prevail")

typedef enum pv_status {
#define PV_STATUS_ENUM(name, word, text) PV_##name,
    PV_STATUS_LIST(PV_STATUS_ENUM)
#undef PV_STATUS_ENUM
} pv_status;

/* Every enum TYPE of the public headers has these two: pv_TYPE_name, its word, "unknown" for a number that is no value;
 * and pv_TYPE_find, the value of a word, false where there is none of that name. */
const char *pv_status_name(pv_status status); /* "input"; never NULL */
bool pv_status_find(const char *name, pv_status *status);
const char *pv_status_text(pv_status status); /* "bad input data"; never NULL */

/* Why an optimiser stopped. Not an error. */
#define PV_STOP_LIST(X)                                                                                                \
    X(CONVERGED, "converged")                                                                                          \
    X(COMPLETED, "completed") /* a schedule of fixed length ran to its end */                                          \
    X(MAX_ITER, "max_iter")                                                                                            \
    X(DIVERGED, "diverged")                                                                                            \
    X(INTERRUPTED, "interrupted")                                                                                      \
    X(NO_PROGRESS, "no_progress")                                                                                      \
    X(EARLY, "early") /* the validation score got no better for as long as was allowed */                              \
    X(POOR, "poor")   /* it ran to its end, and what it found is known to be no good */

typedef enum pv_stop {
#define PV_STOP_ENUM(name, word) PV_STOP_##name,
    PV_STOP_LIST(PV_STOP_ENUM)
#undef PV_STOP_ENUM
} pv_stop;

const char *pv_stop_name(pv_stop stop);
bool pv_stop_find(const char *name, pv_stop *stop);

/* ---- context ----------------------------------------------------------------------------------------------------- */

/* The last error. Texts of the library refer to options as `prevalence` or `prevalence=0.01`, in backquotes
 * (pv_text_option); each front end prints them in its own syntax. line and column count from 1, 0 where unknown; texts
 * are empty where there is nothing to say. */
enum { PV_MESSAGE_SIZE = 512 };
typedef struct pv_error {
    pv_status status;
    char message[PV_MESSAGE_SIZE]; /* problem and remedy in one line */
    char file[512];
    size_t line;
    size_t column;
    char option[64];               /* the first option that the problem names: "infer" */
    char value[128];               /* what it was given, if that is the problem */
    char problem[PV_MESSAGE_SIZE]; /* what is wrong */
    char remedy[PV_MESSAGE_SIZE];  /* how to fix it */
} pv_error;

typedef enum pv_log_level {
    PV_LOG_DEBUG = -1, /* what the library decided by itself: for whoever looks into it */
    PV_LOG_INFO,
    PV_LOG_WARNING /* the result may not be what was wanted */
} pv_log_level;
#define PV_LOG_LEVEL_LIST(X)                                                                                           \
    X(DEBUG, "debug")                                                                                                  \
    X(INFO, "info")                                                                                                    \
    X(WARNING, "warning")

const char *pv_log_level_name(pv_log_level level);
bool pv_log_level_find(const char *name, pv_log_level *level);

typedef struct pv_progress {
    const char *what; /* "fit" */
    size_t step;
    size_t steps;      /* 0 where unknown */
    double value;      /* loss or bound; NaN where there is none */
    double seconds;    /* since the work began */
    size_t rows;       /* rows (or images) a step; 0: it does not count them */
    double validation; /* latest score of the validation rows; 0: there is none */
    double marginal;   /* p(y|w) of the last label, as the loss takes it; 0: there is none */
} pv_progress;

/* Need not bear several threads: calls from a context, and from those the library makes of it for threads of its own,
 * come one at a time. Contexts made apart know nothing of each other: one allocator for two of them, used by two
 * threads, must bear that itself. */
typedef struct pv_allocator {
    void *(*alloc)(void *state, size_t size);               /* as malloc */
    void *(*resize)(void *state, void *block, size_t size); /* as realloc */
    void (*release)(void *state, void *block);              /* as free */
    void *state;
} pv_allocator;

/* Callbacks. Each gets the state that it was given with.
 *   log       a message of one line, without the line feed
 *   progress  how far the work is
 *   poll      whether the work is to stop: true does what pv_ctx_interrupt does
 * All come from the thread that called the library, never from one of the library's own. poll comes only where that
 * thread is the one that made the context, at most about twenty times a second: an interpreter may look there for a
 * Ctrl-C. None may call the library with the same context, but for pv_ctx_interrupt. */
typedef void (*pv_log_call)(void *state, pv_log_level level, const char *message);
typedef void (*pv_progress_call)(void *state, const pv_progress *progress);
typedef bool (*pv_poll_call)(void *state);

typedef struct pv_ctx_options {
    pv_allocator allocator;    /* all zero: malloc, realloc, free */
    pv_log_call log;           /* NULL: nowhere */
    pv_progress_call progress; /* NULL: nowhere */
    void *state;               /* handed to log, progress and poll */
    int threads;               /* 0: as many as the machine has */
    const char *engine;        /* what runs networks of images: "onednn", or "reference", slow and in double precision;
                                  NULL: the first. Borrowed for the life of the context */
    pv_poll_call poll;         /* NULL: none */
    pv_log_level level;        /* the least that log is told; zero: PV_LOG_INFO */
} pv_ctx_options;

pv_ctx_options pv_ctx_options_default(void);

typedef struct pv_ctx pv_ctx;

/* The caller frees *ctx with pv_ctx_free. options may be NULL for the defaults. */
PV_MUST_USE pv_status pv_ctx_new(const pv_ctx_options *options, pv_ctx **ctx);
void pv_ctx_free(pv_ctx *ctx); /* NULL is fine */

const pv_error *pv_ctx_error(const pv_ctx *ctx); /* never NULL; borrowed */
/* The same in one line, FILE:LINE:COLUMN: and the message. Borrowed, until the next call. */
const char *pv_ctx_message(pv_ctx *ctx);
int pv_ctx_threads(const pv_ctx *ctx); /* as in its options; 1 in a forked child */

/* Of the threads wanted (1 at least), those that an OpenMP region begun now by this thread can have: the system gives
 * them, and there is no fork behind it. Nothing else may set the size of a region in a program that is to survive a
 * lack of threads; the library asks this for each of its own. */
int pv_threads_ready(int wanted);

/* What pv_ctx_options holds, for a context that is there, each callback with a state of its own; NULL: none. To be
 * called between the library's calls. */
void pv_ctx_set_log(pv_ctx *ctx, pv_log_call log, void *state, pv_log_level level);
void pv_ctx_set_progress(pv_ctx *ctx, pv_progress_call progress, void *state);
void pv_ctx_set_poll(pv_ctx *ctx, pv_poll_call poll, void *state);
void pv_ctx_set_threads(pv_ctx *ctx, int threads); /* 0: as many as the machine has */

/* So many bytes of memory, about, for what the context holds: large blocks beyond three eighths of it lie in nameless
 * files in folder (NULL: what TMPDIR names, else /var/tmp), and their pages, with those of packed tables, are given
 * back where the process comes near to the limit. Results do not depend on it. To be called once, before work begins;
 * for contexts that allocate with malloc. */
PV_MUST_USE pv_status pv_ctx_set_memory(pv_ctx *ctx, size_t bytes, const char *folder);

/* What networks of images run on. `auto`, the default: a GPU where the plug-in for it and a driver are there, else the
 * processor. `cuda` is refused (PV_ERR_USAGE) with the reason where it cannot be had; `cpu` looks for nothing. To be
 * called before work begins. */
typedef enum pv_device { PV_DEVICE_AUTO, PV_DEVICE_CPU, PV_DEVICE_CUDA } pv_device;
#define PV_DEVICE_LIST(X)                                                                                              \
    X(AUTO, "auto")                                                                                                    \
    X(CPU, "cpu")                                                                                                      \
    X(CUDA, "cuda")
const char *pv_device_name(pv_device device);
bool pv_device_find(const char *name, pv_device *device);

/* How a device computes: `tf32` has products rounded to 10 bits and sums in single precision; `bf16` also keeps
 * activations and their slopes in 8 bits, parameters in single precision; `fp32` is single precision throughout. */
typedef enum pv_precision { PV_PRECISION_TF32, PV_PRECISION_BF16, PV_PRECISION_FP32 } pv_precision;
#define PV_PRECISION_LIST(X)                                                                                           \
    X(TF32, "tf32")                                                                                                    \
    X(BF16, "bf16")                                                                                                    \
    X(FP32, "fp32")
const char *pv_precision_name(pv_precision precision);
bool pv_precision_find(const char *name, pv_precision *precision);

PV_MUST_USE pv_status pv_ctx_set_device(pv_ctx *ctx, pv_device device, pv_precision precision);
/* Whether there is a device beside the processor. *text: what it is, with its libraries, or why it cannot be had.
 * Borrowed. */
bool pv_ctx_device(pv_ctx *ctx, const char **text);

/* Asks whatever runs in this context to stop at its next step, and what is started later as well, until it is cleared.
 * Safe in a signal handler. */
void pv_ctx_interrupt(pv_ctx *ctx);
void pv_ctx_clear_interrupt(pv_ctx *ctx);
bool pv_ctx_interrupted(const pv_ctx *ctx);
/* Whether it waits for another program, which an interruption may not reach: an engine that plans a query, a silent
 * server, a pipe. Nothing was computed then that would be lost. A signal handler may ask. */
bool pv_ctx_waiting(const pv_ctx *ctx);

/* ---- several processes ---------------------------------------------------------------------------------------------
 * Processes that share the rows of a fit: ranks of MPI, workers of Dask, threads with a context each. Every one has all
 * the rows (in memory, or mapped from one file), gives its context its rank and a way to exchange bytes, makes the same
 * calls with the same data and options, and gets the same result: that of one process, bit for bit. The passes over
 * the rows, of full batches and of minibatches, are divided among them, and so are the reading of a CSV file
 * (pv_table_read and what calls it), the learning of a schema (pv_schema_learn) and the replicates of intervals
 * (pv_assess_intervals, pv_judge): these are calls that all make, or none. Whatever is not divided, each does for
 * itself. What differs between processes (version, processor, options, data) is refused with the number of the rank.
 * Only rank 0 writes files: what the others write is discarded.
 */
typedef struct pv_ranks {
    int rank, size; /* 0 <= rank < size */
    void *state;    /* handed to gather */
    /* Fills all [size][bytes] with what each process passes as mine [bytes], in the order of ranks. All processes call
     * it equally often and with the same bytes, from the thread that called the library. False: it failed, and so does
     * the work. */
    bool (*gather)(void *state, const void *mine, size_t bytes, void *all);
} pv_ranks;

/* Copies *ranks; NULL, or a size of 1: the context is alone. Exchanges who they are: all must call it. */
PV_MUST_USE pv_status pv_ctx_set_ranks(pv_ctx *ctx, const pv_ranks *ranks);
int pv_ctx_ranks(const pv_ctx *ctx, int *rank); /* how many; *rank (unless NULL) is the context's own, 0 where alone */
/* Processes that mpirun or srun started, as their environment says; 1: none did. */
int pv_mpi_processes(void);
/* The ranks of MPI, by the plug-in libprevail-mpi.so, which is loaded now; where it cannot be had, or one process is
 * all that MPI knows, PV_ERR_USAGE with the reason. *threads (unless NULL): the processor's share of this rank. Once in
 * the life of a process; pv_ranks_end ends MPI. */
PV_MUST_USE pv_status pv_ctx_set_mpi(pv_ctx *ctx, int *threads);
/* The end of a process's work, with the status it came to; each calls it once. The others learn of a failure, with its
 * message and rank, wherever they are. Returns the status of all together, the message in the context. */
PV_MUST_USE pv_status pv_ranks_end(pv_ctx *ctx, pv_status status);

/* ---- jobs ---------------------------------------------------------------------------------------------------------
 * Runs job(own, state, i) for i = 0 .. jobs-1, as many at a time as ctx has threads, each in a context of its own with
 * one thread (where only one runs at a time: with all). The first failure, or an interruption of ctx, lets no further
 * one start; of several failures that of the least index is returned, its message in ctx. interrupt_running: an
 * interruption also reaches the jobs that run, and PV_ERR_INTERRUPTED is returned; without, those that run are finished
 * and PV_OK is. *finished counts the jobs that succeeded. What jobs log is told at the end, in their order, each text
 * once. Jobs must write to places of their own.
 */
typedef pv_status (*pv_job)(pv_ctx *ctx, void *state, size_t index);
PV_MUST_USE pv_status pv_jobs_run(pv_ctx *ctx, const char *what, size_t jobs, bool interrupt_running, pv_job job,
                                  void *state, size_t *finished);

/* ---- checkpoints ---------------------------------------------------------------------------------------------------
 * What long work has got so far, in a file that it can be continued from, to exactly the result of work that was never
 * interrupted. A checkpoint belongs to a context; pv_fit, pv_cross_validate, pv_hold_out and the posteriors keep in it
 * what they need, each under the scope of its context, and take it up again. Without one they do nothing of the kind.
 */

/* Every so many seconds the file is written; after an interruption, by pv_checkpoint_write. Of several ranks, which all
 * open it, rank 0 has the file, and the others what is in it: any number of them can go on from it. A path that exists
 * is refused without resume; with it, one that does not exist is fine: the work begins. An empty file counts as none:
 * one is made at once, and locked to the end, so that a second process or context is refused (PV_ERR_USAGE). */
PV_MUST_USE pv_status pv_checkpoint_open(pv_ctx *ctx, const char *path, double every, bool resume);
bool pv_checkpoint_resumed(const pv_ctx *ctx);          /* something was in the file */
PV_MUST_USE pv_status pv_checkpoint_write(pv_ctx *ctx); /* now; nothing without a checkpoint */
/* The work is done: removes the file, and closes. Writes that failed on the way are a warning, as they were told to the
 * log; where none succeeded, PV_ERR_WRITE. */
PV_MUST_USE pv_status pv_checkpoint_finish(pv_ctx *ctx);
void pv_checkpoint_close(pv_ctx *ctx); /* leaves the file, unless it is empty */

/* For work of the caller's own. A state is some blocks of memory, kept and recalled in the same order and sizes. */
typedef struct pv_field {
    void *data;
    size_t size; /* bytes */
} pv_field;

/* Names of entries below begin with what/index/ until it is left; returns what pv_checkpoint_leave takes. */
size_t pv_checkpoint_enter(pv_ctx *ctx, const char *what, size_t index);
void pv_checkpoint_leave(pv_ctx *ctx, size_t entered);
/* What the work is, as lines NAME=VALUE. Fails with PV_ERR_USAGE, naming what differs, where the file has other facts:
 * options (--NAME) before all else. A line of the name command is shown then, and not compared. */
PV_MUST_USE pv_status pv_checkpoint_facts(pv_ctx *ctx, const char *facts);
/* All facts agree: tells the log, once, that work is continued where it is. pv_fit and validations do. */
void pv_checkpoint_tell(pv_ctx *ctx);
bool pv_checkpoint_due(pv_ctx *ctx); /* time to keep a state, or interrupted; false without a checkpoint */
PV_MUST_USE pv_status pv_checkpoint_keep(pv_ctx *ctx, const char *key, const pv_field *field, size_t n);
PV_MUST_USE pv_status pv_checkpoint_recall(pv_ctx *ctx, const char *key, const pv_field *field, size_t n, bool *found);
size_t pv_checkpoint_size(pv_ctx *ctx, const char *key);  /* bytes of a state; 0: there is none */
void pv_checkpoint_drop(pv_ctx *ctx, const char *prefix); /* states whose keys begin so */

/* Jobs as above, whose outcome is some blocks of memory. Ranks (pv_ctx_set_ranks) share them: each runs some, and all
 * have every outcome. With a checkpoint, each outcome is kept there when its job is
 * done, and replaces the states that the job kept while it ran. A job whose outcome is there already does not run
 * again: its outcome is recalled, and its log messages are repeated. An interrupted job counts as unfinished, whatever
 * it returns.
 *   outcome  sets where the outcome of a job lies: at most PV_JOB_FIELDS blocks, of sizes that are known before the
 *            job runs, not all of them empty, without pointers; returns how many.
 *   sound    whether what was recalled can be a job's outcome: finite where the job's numbers are, and in range, above
 *            all its indices. A file may hold any bytes: what is not sound is refused as a damaged checkpoint. */
enum { PV_JOB_FIELDS = 16 };
typedef size_t (*pv_job_outcome)(void *state, size_t index, pv_field *field);
typedef bool (*pv_job_sound)(const void *state, size_t index);
PV_MUST_USE pv_status pv_jobs_run_kept(pv_ctx *ctx, const char *what, size_t jobs, bool interrupt_running, pv_job job,
                                       pv_job_outcome outcome, pv_job_sound sound, void *state, size_t *finished);

/* ---- files written whole or not at all -----------------------------------------------------------------------------
 * The stream goes to a temporary file in the same folder; commit syncs it and renames it onto path, so that an existing
 * file is replaced only by a complete one.
 */
typedef struct pv_output {
    void *stream; /* FILE *, for fprintf and fwrite */
    char *path;
    char *temporary;
} pv_output;

PV_MUST_USE pv_status pv_output_open(pv_ctx *ctx, const char *path, pv_output *output);
PV_MUST_USE pv_status pv_output_commit(pv_ctx *ctx, pv_output *output); /* closes; a failure leaves nothing behind */
void pv_output_discard(pv_ctx *ctx, pv_output *output);                 /* closes and removes; twice is fine */
/* Removes what the context's open outputs have written so far, those of its jobs too, and lets no other begin, for a
 * program that is about to end at once. Safe in a signal handler. */
void pv_outputs_abandon(pv_ctx *ctx);

/* ---- which files a piece of work reads and writes ------------------------------------------------------------------
 * An output that is an input, and two outputs that are one file, are refused with PV_ERR_USAGE, in whatever order and
 * by whatever names they are given, links followed. Name them before any work. Pipes and devices are not replaced, and
 * free.
 *
 * Between begin and end (or the end of the context) a file that is opened for reading is known too, named or not; one
 * that the work itself has written is not taken for an input. Jobs share what their context knows. Without begin only
 * what is named is known.
 *   what  the option or argument that names it, "`output`", for messages; at most 31 bytes
 *   path  NULL and "-" are none
 */
void pv_files_begin(pv_ctx *ctx); /* forgets what was known */
void pv_files_end(pv_ctx *ctx);
PV_MUST_USE pv_status pv_files_read(pv_ctx *ctx, const char *what, const char *path);
/* Also refuses, with PV_ERR_PATH, what could not be written in the end. */
PV_MUST_USE pv_status pv_files_write(pv_ctx *ctx, const char *what, const char *path);

/* A folder, which need not exist, that files of several names may be written to. An input or another output among them
 * is refused. One of them that is there is replaced only where it begins with what is written under its name, which is
 * how files of an earlier run are told from those of others; else it is refused: at once, or, where only the ending
 * of the name is known, when it is opened. Several rows may have the same name. */
typedef struct pv_files_pattern {
    const char *name;   /* "roc.csv", or an ending: "*.svg"; NULL ends the table */
    const char *begins; /* "": whatever is there may be replaced; NULL: nothing, by this row; at most 255 bytes */
} pv_files_pattern;
/* patterns are borrowed until the end. */
PV_MUST_USE pv_status pv_files_write_into(pv_ctx *ctx, const char *what, const char *folder,
                                          const pv_files_pattern *patterns);

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* The length of the valid UTF-8 sequence at text, 0 where there is none (overlong forms and surrogates included).
 * *code, where not NULL, is its character. */
size_t pv_utf8_next(const char *text, uint32_t *code);

/* Writes a double as the shortest text that reads back exactly; returns its length. size >= 32. */
int pv_format_double(double value, char *text, size_t size);
/* Appends a CSV field to stream (FILE *), quoted where needed. */
void pv_csv_field(void *stream, const char *text);
/* The same into memory: quoted has room for 2 strlen(text) + 2 bytes; returns how many were written, no NUL. */
size_t pv_csv_quote(const char *text, char *quoted);
void pv_string_list_free(pv_ctx *ctx, char **list, size_t n); /* NULL is fine */

/* ---- option tables -------------------------------------------------------------------------------------------------
 * Options are plain structs. One table of rows describes each struct: the command line, --help, the man page and the
 * record kept with a model are all made from it.
 */
typedef enum pv_option_type {
    PV_OPTION_FLAG,   /* bool */
    PV_OPTION_INT,    /* int64_t */
    PV_OPTION_REAL,   /* double */
    PV_OPTION_CHOICE, /* int, an index into choices */
    PV_OPTION_TEXT,   /* const char *, borrowed from the caller */
    PV_OPTION_EITHER  /* bool, the first (false) or the second of two choices */
} pv_option_type;
#define PV_OPTION_TYPE_LIST(X)                                                                                         \
    X(FLAG, "flag")                                                                                                    \
    X(INT, "int")                                                                                                      \
    X(REAL, "real")                                                                                                    \
    X(CHOICE, "choice")                                                                                                \
    X(TEXT, "text")                                                                                                    \
    X(EITHER, "either")

const char *pv_option_type_name(pv_option_type type);
bool pv_option_type_find(const char *name, pv_option_type *type);

typedef struct pv_option {
    const char *name; /* "prevalence-n" */
    pv_option_type type;
    size_t offset;        /* of the field in the struct */
    const char *fallback; /* the default, as text; NULL: none */
    double low, high;     /* inclusive range of INT and REAL */
    const char *choices;  /* "ig|iw|plain" for CHOICE and EITHER */
    const char *metavar;  /* "P" in the help; NULL: made from the type */
    const char *help;     /* one sentence or more */
} pv_option;              /* a table ends with a row whose name is NULL */

/* Sets every field to its default. The defaults of a table are tested to parse. */
void pv_options_default(const pv_option *table, void *options);

/* Sets one field from text; a flag takes NULL, "true" or "false". The message of a failure names the option, what was
 * given and what is allowed, and for an unknown name the nearest one. */
PV_MUST_USE pv_status pv_option_set(pv_ctx *ctx, const pv_option *table, void *options, const char *name,
                                    const char *text);
const pv_option *pv_option_find(const pv_option *table, const char *name); /* NULL where there is none */

/* The field as text, "%.17g" for reals; writes at most size bytes, always terminated. */
void pv_option_get(const pv_option *row, const void *options, char *text, size_t size);

/* ---- options by name and text --------------------------------------------------------------------------------------
 * Option structs as one object that owns its texts: for bindings, which need then know no struct's layout. Its names
 * are those of the command's long options. Kinds of it are made by pv_fit_settings_new and its like; pv_settings_new
 * and _add make one of any tables. Where two tables have a name, the one added first has it.
 */
typedef struct pv_settings pv_settings;

/* Without options; the caller frees *settings. _add appends the table's options with their defaults. values, of size
 * bytes (NULL: all zero), says what is in the struct beside them. The table is borrowed. */
PV_MUST_USE pv_status pv_settings_new(pv_ctx *ctx, pv_settings **settings);
PV_MUST_USE pv_status pv_settings_add(pv_ctx *ctx, pv_settings *settings, const pv_option *table, size_t size,
                                      const void *values);
PV_MUST_USE pv_status pv_settings_copy(pv_ctx *ctx, const pv_settings *settings, pv_settings **copy);
void pv_settings_free(pv_ctx *ctx, pv_settings *settings); /* NULL is fine */

/* Sets an option from text, which is copied; NULL: back to its default. A failure is pv_option_set's, and changes
 * nothing. */
PV_MUST_USE pv_status pv_settings_set(pv_ctx *ctx, pv_settings *settings, const char *name, const char *text);
/* *text is the value, borrowed until the option is set again; NULL: a text option without one. */
PV_MUST_USE pv_status pv_settings_get(pv_ctx *ctx, const pv_settings *settings, const char *name, const char **text);
bool pv_settings_given(const pv_settings *settings, const char *name); /* was set, if only to its default */

/* The options in order: name, type, default, range, choices, help. NULL from count on. */
size_t pv_settings_count(const pv_settings *settings);
const pv_option *pv_settings_option(const pv_settings *settings, size_t index);
/* The struct that was filled for a table; NULL: the table was not added. Borrowed; its texts are, too, until they are
 * set again. pv_fit_options_of and its like know the type. */
const void *pv_settings_values(const pv_settings *settings, const pv_option *table);

/* Reads the finite decimal number that text begins with (hexadecimal ones are refused), as in the C locale whatever the
 * process's is, and returns where it ends; NULL where there is none. No spaces before it. */
const char *pv_parse_real(const char *text, double *value);

/* A reference to an option in a text of the library: `name` or `name=value`. In a value a backquote is written twice.
 */
typedef struct pv_text_reference {
    const char *begin, *end; /* in the text, the backquotes included */
    char name[64];
    const char *value; /* in the text; NULL: none */
    size_t length;     /* of the value there */
} pv_text_reference;

/* The first reference from text on; false: there is none. */
bool pv_text_option(const char *text, pv_text_reference *found);
/* Its value, with single backquotes: at most size bytes, always terminated. */
void pv_text_option_value(const pv_text_reference *reference, char *value, size_t size);

/* Shortens text to less than size bytes, in place: its longest words first, to their beginnings and "...", so that a
 * message keeps what stands around a value of any length. */
void pv_text_squeeze(char *text, size_t size);

/* The entry of words (count of them) closest to given by edit distance, or NULL where none is near. */
const char *pv_nearest(const char *given, const char *const *words, size_t count);

#ifdef __cplusplus
}
#endif
#endif
