/* prevail/base.h: status codes, the context, option tables.
 *
 * Every function that can fail returns a pv_status. The message, and the file, line and column of bad input, are stored
 * in the context until the next call that fails. The library never prints, exits or aborts on input, and has no global
 * state.
 *
 * fork: the child process may use the library, including contexts made before the fork. It always uses one thread,
 * because OpenMP's threads do not survive a fork, and gets the same results. Do not fork while another thread is in a
 * call of the library, or from one of its callbacks. A program started by exec is not restricted.
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

/* The kernels used on this processor: "avx512", "avx2" or "baseline". */
const char *pv_kernels(void);
/* The instruction set that oneDNN chose for convolutions, for example "avx512_core"; "none" if the library was built
 * without image networks. */
const char *pv_convolution_isa(void);

typedef struct pv_library {
    const char *name;
    char version[32];
} pv_library;

/* Writes the names and versions of the libraries in use, determined at run time, to list, which holds room entries.
 * Returns the total number, which may be larger than room. */
size_t pv_libraries(pv_library *list, size_t room);

#if defined(__GNUC__)
#define PV_MUST_USE __attribute__((warn_unused_result))
#define PV_PRINTF(format_at, first_at) __attribute__((format(__printf__, format_at, first_at)))
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

/* Every enum TYPE of the public headers has pv_TYPE_name, its word, "unknown" for a number that is no value. */
const char *pv_status_name(pv_status status); /* "input"; never NULL */
const char *pv_status_text(pv_status status); /* "bad input data"; never NULL */

/* Why an optimiser stopped. None of these is an error. */
#define PV_STOP_LIST(X)                                                                                                \
    X(CONVERGED, "converged")                                                                                          \
    X(COMPLETED, "completed") /* a schedule of fixed length ran to its end */                                          \
    X(MAX_ITER, "max_iter")                                                                                            \
    X(DIVERGED, "diverged")                                                                                            \
    X(INTERRUPTED, "interrupted")                                                                                      \
    X(NO_PROGRESS, "no_progress")                                                                                      \
    X(EARLY, "early") /* the validation score had not improved for the allowed number of steps */                      \
    X(POOR, "poor")   /* ran to its end, but the result is known to be poor */

typedef enum pv_stop {
#define PV_STOP_ENUM(name, word) PV_STOP_##name,
    PV_STOP_LIST(PV_STOP_ENUM)
#undef PV_STOP_ENUM
} pv_stop;

const char *pv_stop_name(pv_stop stop);
bool pv_stop_find(const char *name, pv_stop *stop);

/* ---- context ----------------------------------------------------------------------------------------------------- */

/* The last error. Messages of the library refer to options as `prevalence` or `prevalence=0.01`, in backquotes
 * (pv_text_option); each front end prints them in its own syntax. line and column count from 1, 0 if unknown; texts
 * that do not apply are empty. */
enum { PV_MESSAGE_SIZE = 512 };
typedef struct pv_error {
    pv_status status;
    char message[PV_MESSAGE_SIZE]; /* problem and remedy, in one line */
    char file[512];
    size_t line;
    size_t column;
    char option[64];               /* the first option named in the problem, for example "infer" */
    char value[128];               /* the value given for it, if that is the problem */
    char problem[PV_MESSAGE_SIZE]; /* what is wrong */
    char remedy[PV_MESSAGE_SIZE];  /* how to fix it */
} pv_error;

typedef enum pv_log_level {
    PV_LOG_DEBUG = -1, /* decisions the library made by itself, for debugging */
    PV_LOG_INFO,
    PV_LOG_WARNING /* the result may not be what the user wanted */
} pv_log_level;

typedef struct pv_progress {
    const char *what; /* "fit" */
    size_t step;
    size_t steps;      /* 0 if unknown */
    double value;      /* loss or bound; NaN if there is none */
    double seconds;    /* since the work started */
    size_t rows;       /* rows (or images) per step; 0: not counted */
    double validation; /* latest score on the validation rows; 0: none */
    double marginal;   /* p(y|w) of the last label as used in the loss; 0: none */
} pv_progress;

/* Need not be thread-safe: calls from one context, including those for the library's own threads, are serialised.
 * Contexts made separately are not coordinated: if two of them share an allocator and are used by two threads, the
 * allocator must be thread-safe. */
typedef struct pv_allocator {
    void *(*alloc)(void *state, size_t size);               /* like malloc */
    void *(*resize)(void *state, void *block, size_t size); /* like realloc */
    void (*release)(void *state, void *block);              /* like free */
    void *state;
} pv_allocator;

/* Callbacks. Each gets the state it was registered with.
 *   log       receives a message of one line, without the line feed
 *   progress  receives the progress of the work
 *   poll      returns whether the work should stop; true has the effect of pv_ctx_interrupt
 * All are called from the thread that called the library, never from one of the library's own. poll is called only on
 * the thread that made the context, at most about twenty times a second; an interpreter can check for Ctrl-C there. A
 * callback must not call the library with the same context, except for pv_ctx_interrupt. */
typedef void (*pv_log_call)(void *state, pv_log_level level, const char *message);
typedef void (*pv_progress_call)(void *state, const pv_progress *progress);
typedef bool (*pv_poll_call)(void *state);

typedef struct pv_ctx_options {
    pv_allocator allocator;    /* all zero: malloc, realloc, free */
    pv_log_call log;           /* NULL: messages are dropped */
    pv_progress_call progress; /* NULL: progress is not reported */
    void *state;               /* passed to log, progress and poll */
    int threads;               /* 0: as many as the machine has */
    const char *engine; /* engine for image networks: "onednn", or "reference", which is slow and uses double precision;
                           NULL: "onednn". Borrowed for the life of the context */
    pv_poll_call poll;  /* NULL: none */
    pv_log_level level; /* lowest level passed to log; 0: PV_LOG_INFO */
} pv_ctx_options;

pv_ctx_options pv_ctx_options_default(void);

typedef struct pv_ctx pv_ctx;

/* options NULL: the defaults. The caller frees *ctx with pv_ctx_free. */
PV_MUST_USE pv_status pv_ctx_new(const pv_ctx_options *options, pv_ctx **ctx);
void pv_ctx_free(pv_ctx *ctx); /* NULL is allowed */

const pv_error *pv_ctx_error(const pv_ctx *ctx); /* never NULL; borrowed */
/* The last error as one line, FILE:LINE:COLUMN: MESSAGE. Borrowed until the next call. */
const char *pv_ctx_message(pv_ctx *ctx);
int pv_ctx_threads(const pv_ctx *ctx); /* as in the options; 1 in a forked child */

/* How many of the wanted threads (at least 1) an OpenMP region started now by this thread can have: as many as the
 * system can create, and 1 after a fork. OpenMP aborts if it cannot create a thread, so every region of the library
 * takes its size from here. */
int pv_threads_ready(int wanted);

/* Change the callbacks of an existing context, each with its own state; NULL removes one. Call them only between calls
 * of the library. */
void pv_ctx_set_log(pv_ctx *ctx, pv_log_call log, void *state, pv_log_level level);
void pv_ctx_set_progress(pv_ctx *ctx, pv_progress_call progress, void *state);
void pv_ctx_set_poll(pv_ctx *ctx, pv_poll_call poll, void *state);
void pv_ctx_set_threads(pv_ctx *ctx, int threads); /* 0: as many as the machine has */

/* Limits the memory that the context uses to about this many bytes. Large blocks beyond three eighths of the limit are
 * stored in unnamed files in folder (NULL: TMPDIR, else /var/tmp), and their pages and those of packed tables are
 * released when the process approaches the limit. Results do not depend on it. Call it once, before work starts, and
 * only for contexts that allocate with malloc. */
PV_MUST_USE pv_status pv_ctx_set_memory(pv_ctx *ctx, size_t bytes, const char *folder);

/* What image networks run on. `auto`, the default: a GPU if the plug-in for it and a driver are installed, else the
 * processor. `cuda` fails with PV_ERR_USAGE and the reason if it is not available; `cpu` looks for no device. Call it
 * before work starts. */
typedef enum pv_device { PV_DEVICE_AUTO, PV_DEVICE_CPU, PV_DEVICE_CUDA } pv_device;

/* Arithmetic on a device: `tf32` rounds the factors of products to 10 bits and sums in single precision; `bf16` also
 * stores activations and their gradients with 8 bits, parameters in single precision; `fp32` is single precision
 * throughout. */
typedef enum pv_precision { PV_PRECISION_TF32, PV_PRECISION_BF16, PV_PRECISION_FP32 } pv_precision;
#define PV_PRECISION_LIST(X)                                                                                           \
    X(TF32, "tf32")                                                                                                    \
    X(BF16, "bf16")                                                                                                    \
    X(FP32, "fp32")
const char *pv_precision_name(pv_precision precision);

PV_MUST_USE pv_status pv_ctx_set_device(pv_ctx *ctx, pv_device device, pv_precision precision);
/* Whether a device other than the processor is used. *text describes it and its libraries, or says why there is none.
 * Borrowed. */
bool pv_ctx_device(pv_ctx *ctx, const char **text);

/* Asks all work that runs in this context, or is started later, to stop at its next step, until the request is cleared.
 * Safe in a signal handler. */
void pv_ctx_interrupt(pv_ctx *ctx);
void pv_ctx_clear_interrupt(pv_ctx *ctx);
bool pv_ctx_interrupted(const pv_ctx *ctx);
/* Whether the context waits for another program that an interruption may not reach: a database engine planning a query,
 * a silent server, a pipe. No computed result would be lost if the process ended then. Safe in a signal handler. */
bool pv_ctx_waiting(const pv_ctx *ctx);

/* ---- several processes ---------------------------------------------------------------------------------------------
 * Processes that share the rows of a fit: MPI ranks, Dask workers, or threads with one context each. Every process has
 * all rows (in memory, or mapped from one file), gives its context its rank and a function to exchange bytes, and makes
 * the same calls with the same data and options. All get the same result, identical bit for bit to that of one process.
 * The passes over the rows, of full batches and minibatches, are divided among them, as are reading a CSV file
 * (pv_table_read and its callers), learning a schema (pv_schema_learn) and the replicates of intervals
 * (pv_assess_intervals, pv_judge): either all processes make these calls or none. Everything else each process computes
 * itself. Differences between processes (version, processor, options, data) are rejected with the number of the rank.
 * Only rank 0 writes files; output of the others is discarded.
 */
typedef struct pv_ranks {
    int rank, size; /* 0 <= rank < size */
    void *state;    /* passed to gather */
    /* Fills all [size][bytes] with what each process passes as mine [bytes], in the order of ranks. All processes call
     * it equally often, with the same number of bytes, from the thread that called the library. Returns false on
     * failure; the work then fails too. */
    bool (*gather)(void *state, const void *mine, size_t bytes, void *all);
} pv_ranks;

/* Copies *ranks; NULL or size 1: a single process. It exchanges versions and settings, so all processes must call
 * it. */
PV_MUST_USE pv_status pv_ctx_set_ranks(pv_ctx *ctx, const pv_ranks *ranks);
int pv_ctx_ranks(
    const pv_ctx *ctx,
    int *rank); /* the number of processes; *rank (unless NULL) is that of the context, 0 for a single process */
/* Number of processes that mpirun or srun started, according to the environment; 1 if neither did. */
int pv_mpi_processes(void);
/* Uses MPI's ranks, through the plug-in libprevail-mpi.so, which is loaded now. Fails with PV_ERR_USAGE and the reason
 * if it is not available or MPI has a single process. *threads (unless NULL) is this rank's share of the processor.
 * Call it at most once in a process; pv_ranks_end finalises MPI. */
PV_MUST_USE pv_status pv_ctx_set_mpi(pv_ctx *ctx, int *threads);
/* Ends the work of a process; each calls it once, with its status. If one failed, the others get its message and rank
 * at whatever point they are. Returns the common status, with the message in the context. */
PV_MUST_USE pv_status pv_ranks_end(pv_ctx *ctx, pv_status status);

/* ---- jobs ---------------------------------------------------------------------------------------------------------
 * Runs job(own, state, i) for i = 0 .. jobs-1, as many at a time as ctx has threads, each in its own context with one
 * thread (if only one job runs at a time, with all threads). After the first failure, or an interruption of ctx, no
 * further job is started; of several failures the one of lowest index is returned, with its message in ctx. If
 * interrupt_running is set, an interruption also reaches running jobs and PV_ERR_INTERRUPTED is returned; otherwise
 * they are finished and PV_OK is returned. *finished counts the jobs that succeeded. Log messages of jobs are passed on
 * at the end in the order of the jobs, each distinct text once. Jobs must write to separate memory.
 */
typedef pv_status (*pv_job)(pv_ctx *ctx, void *state, size_t index);
PV_MUST_USE pv_status pv_jobs_run(pv_ctx *ctx, const char *what, size_t jobs, bool interrupt_running, pv_job job,
                                  void *state, size_t *finished);

/* ---- checkpoints ---------------------------------------------------------------------------------------------------
 * Long work stores its state in a file from which it can be continued, with exactly the result of uninterrupted work. A
 * checkpoint belongs to a context. pv_fit, pv_cross_validate, pv_hold_out and the posteriors store their state in it,
 * each under the scope of its context, and restore it when resumed. Without a checkpoint they store nothing.
 */

/* Writes the file every `every` seconds; after an interruption pv_checkpoint_write does. With several ranks all open
 * the checkpoint; rank 0 keeps the file and sends its content to the others, so any number of ranks can continue it.
 * Without resume an existing path is rejected; with resume a missing file is accepted and the work starts from the
 * beginning. An empty file counts as missing. The file is created at once and locked until the end, so that a second
 * process or context is rejected with PV_ERR_USAGE. */
PV_MUST_USE pv_status pv_checkpoint_open(pv_ctx *ctx, const char *path, double every, bool resume);
bool pv_checkpoint_resumed(const pv_ctx *ctx);          /* whether the file had content */
PV_MUST_USE pv_status pv_checkpoint_write(pv_ctx *ctx); /* writes now; does nothing without a checkpoint */
/* Removes the file after the work is done, and closes the checkpoint. Earlier failures to write it were logged and lead
 * to a warning; if no write succeeded, returns PV_ERR_WRITE. */
PV_MUST_USE pv_status pv_checkpoint_finish(pv_ctx *ctx);
void pv_checkpoint_close(pv_ctx *ctx); /* keeps the file unless it is empty */

/* The functions below are for the caller's own work. A state is a list of memory blocks, stored and restored in the
 * same order and sizes. */
typedef struct pv_field {
    void *data;
    size_t size; /* bytes */
} pv_field;

/* Prefixes the keys below with what/index/ until pv_checkpoint_leave is called with the returned value. */
size_t pv_checkpoint_enter(pv_ctx *ctx, const char *what, size_t index);
void pv_checkpoint_leave(pv_ctx *ctx, size_t entered);
/* Describes the work as lines NAME=VALUE. Fails with PV_ERR_USAGE, naming the difference (options, --NAME, first), if
 * the file has other facts. The line named command is displayed then, but not compared. */
PV_MUST_USE pv_status pv_checkpoint_facts(pv_ctx *ctx, const char *facts);
/* Logs once, after all facts agreed, that the work is continued and from where. pv_fit and validations call it. */
void pv_checkpoint_tell(pv_ctx *ctx);
bool pv_checkpoint_due(pv_ctx *ctx); /* whether to store a state now: it is time, or the work was interrupted; false
                                        without a checkpoint */
PV_MUST_USE pv_status pv_checkpoint_keep(pv_ctx *ctx, const char *key, const pv_field *field, size_t n);
PV_MUST_USE pv_status pv_checkpoint_recall(pv_ctx *ctx, const char *key, const pv_field *field, size_t n, bool *found);
size_t pv_checkpoint_size(pv_ctx *ctx, const char *key);  /* size of a state in bytes; 0: there is none */
void pv_checkpoint_drop(pv_ctx *ctx, const char *prefix); /* removes states whose keys begin with prefix */

/* Runs jobs as above, with a result in memory blocks. Ranks (pv_ctx_set_ranks) share the jobs, and each gets all
 * results. With a checkpoint, the result of a finished job is stored and replaces the states that the job stored while
 * it ran. A job whose result is stored is not run again: the result is restored and its log messages are repeated. An
 * interrupted job counts as unfinished, whatever it returns.
 *   outcome  sets the blocks of a job's result: at most PV_JOB_FIELDS, with sizes known before the job runs, not all of
 *            them empty, without pointers; returns their number
 *   sound    whether a restored result is valid: finite numbers, values in range, and above all valid indices. A file
 * may hold arbitrary bytes; an invalid result is rejected as a damaged checkpoint */
enum { PV_JOB_FIELDS = 16 };
typedef size_t (*pv_job_outcome)(void *state, size_t index, pv_field *field);
typedef bool (*pv_job_sound)(const void *state, size_t index);
PV_MUST_USE pv_status pv_jobs_run_kept(pv_ctx *ctx, const char *what, size_t jobs, bool interrupt_running, pv_job job,
                                       pv_job_outcome outcome, pv_job_sound sound, void *state, size_t *finished);

/* ---- files written completely or not at all -------------------------------------------------------------------------
 * The stream writes to a temporary file in the same folder; commit syncs it and renames it to path, so that an existing
 * file is only ever replaced by a complete one.
 */
typedef struct pv_output {
    void *stream; /* FILE *, for fprintf and fwrite */
    char *path;
    char *temporary;
} pv_output;

PV_MUST_USE pv_status pv_output_open(pv_ctx *ctx, const char *path, pv_output *output);
PV_MUST_USE pv_status pv_output_commit(pv_ctx *ctx, pv_output *output); /* closes; after a failure no file is left */
void pv_output_discard(pv_ctx *ctx, pv_output *output); /* closes and removes the temporary file; may be called twice */
/* Removes what the context's open outputs, including those of its jobs, have written so far, and prevents new ones, for
 * a program that is about to exit. Safe in a signal handler. */
void pv_outputs_abandon(pv_ctx *ctx);

/* ---- input and output files of a piece of work ---------------------------------------------------------------------
 * An output that is also an input, and two outputs that are the same file, are rejected with PV_ERR_USAGE, in any order
 * and under any names, with links resolved. Name the files before any work. Pipes and devices are exempt, since they
 * are not replaced.
 *
 * Between begin and end (or the end of the context) a file opened for reading is registered too, whether it was named
 * or not, unless the work itself wrote it. Jobs share the list of their context. Without begin only named files are
 * registered.
 *   what  the option or argument that names the file, such as "`output`", for messages; at most 31 bytes
 *   path  NULL and "-" are ignored
 */
void pv_files_begin(pv_ctx *ctx); /* forgets all registered files */
void pv_files_end(pv_ctx *ctx);
PV_MUST_USE pv_status pv_files_read(pv_ctx *ctx, const char *what, const char *path);
/* Also fails with PV_ERR_PATH if the file could not be written in the end. */
PV_MUST_USE pv_status pv_files_write(pv_ctx *ctx, const char *what, const char *path);

/* Registers a folder, which need not exist, in which files with several names may be written. An input or another
 * output among them is rejected. An existing file is replaced only if it begins with the text given for its name, which
 * distinguishes files of an earlier run from others; otherwise it is rejected at once, or, if only the ending of the
 * name is known, when it is opened. Several rows may have the same name. */
typedef struct pv_files_pattern {
    const char *name;   /* "roc.csv", or an ending: "*.svg"; NULL ends the table */
    const char *begins; /* "": replace any file; NULL: this row allows no replacement; at most 255 bytes */
} pv_files_pattern;
/* patterns are borrowed until pv_files_end. */
PV_MUST_USE pv_status pv_files_write_into(pv_ctx *ctx, const char *what, const char *folder,
                                          const pv_files_pattern *patterns);

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* The length of the valid UTF-8 sequence at text; 0 if it is invalid (overlong forms and surrogates included). *code,
 * unless code is NULL, gets the code point. */
size_t pv_utf8_next(const char *text, uint32_t *code);

/* Writes a double as the shortest text that reads back exactly; returns its length. size >= 32. */
int pv_format_double(double value, char *text, size_t size);
/* Appends a CSV field to stream (FILE *), quoted where needed. */
void pv_csv_field(void *stream, const char *text);
/* The same into memory. quoted must have 2 strlen(text) + 2 bytes; returns the number written, without a final NUL. */
size_t pv_csv_quote(const char *text, char *quoted);
void pv_string_list_free(pv_ctx *ctx, char **list, size_t n); /* NULL is allowed */

/* ---- option tables -------------------------------------------------------------------------------------------------
 * Options are plain structs. A table of rows describes each struct; the command line, --help, the man page and the
 * options stored with a model are made from it.
 */
typedef enum pv_option_type {
    PV_OPTION_FLAG,   /* bool */
    PV_OPTION_INT,    /* int64_t */
    PV_OPTION_REAL,   /* double */
    PV_OPTION_CHOICE, /* int, an index into choices */
    PV_OPTION_TEXT,   /* const char *, borrowed from the caller */
    PV_OPTION_EITHER  /* bool: the first (false) or the second (true) of two choices */
} pv_option_type;

typedef struct pv_option {
    const char *name; /* "prevalence-n" */
    pv_option_type type;
    size_t offset;        /* of the field in the struct */
    const char *fallback; /* the default, as text; NULL: none */
    double low, high;     /* inclusive range of INT and REAL */
    const char *choices;  /* "ig|iw|plain", for CHOICE and EITHER */
    const char *metavar;  /* placeholder in the help, "P"; NULL: made from the type */
    const char *help;     /* one sentence or more */
} pv_option;              /* a table ends with a row whose name is NULL */

/* Sets every field to its default. A test checks that the defaults of all tables parse. */
void pv_options_default(const pv_option *table, void *options);

/* Sets one field from text; a flag takes NULL, "true" or "false". The error message names the option, the value and
 * what is allowed; for an unknown option, the most similar name. */
PV_MUST_USE pv_status pv_option_set(pv_ctx *ctx, const pv_option *table, void *options, const char *name,
                                    const char *text);
const pv_option *pv_option_find(const pv_option *table, const char *name); /* NULL if there is none */

/* The field as text, "%.17g" for reals. Writes at most size bytes including the final NUL. */
void pv_option_get(const pv_option *row, const void *options, char *text, size_t size);

/* ---- options by name and text --------------------------------------------------------------------------------------
 * Option structs in one object that owns its texts, so that bindings need not know any struct's layout. The names are
 * those of the command's long options. pv_fit_settings_new and similar functions make settings for one call;
 * pv_settings_new and pv_settings_add make them from any tables. If two tables contain a name, the one added first is
 * used.
 */
typedef struct pv_settings pv_settings;

/* pv_settings_new makes settings without options; the caller frees *settings. pv_settings_add appends the options of a
 * table with their defaults. values, of size bytes (NULL: all zero), initialises the fields that are not in the table.
 * The table is borrowed. */
PV_MUST_USE pv_status pv_settings_new(pv_ctx *ctx, pv_settings **settings);
PV_MUST_USE pv_status pv_settings_add(pv_ctx *ctx, pv_settings *settings, const pv_option *table, size_t size,
                                      const void *values);
void pv_settings_free(pv_ctx *ctx, pv_settings *settings); /* NULL is allowed */

/* Sets an option from text, which is copied; NULL: its default. Fails like pv_option_set, and then changes nothing. */
PV_MUST_USE pv_status pv_settings_set(pv_ctx *ctx, pv_settings *settings, const char *name, const char *text);
/* *text is the value, borrowed until the option is set again; NULL for a text option without a value. */
PV_MUST_USE pv_status pv_settings_get(pv_ctx *ctx, const pv_settings *settings, const char *name, const char **text);
bool pv_settings_given(const pv_settings *settings, const char *name); /* whether it was set, even to its default */

/* The options in order, with name, type, default, range, choices and help. NULL for index >= count. */
size_t pv_settings_count(const pv_settings *settings);
const pv_option *pv_settings_option(const pv_settings *settings, size_t index);
/* The struct filled for a table; NULL if the table was not added. Borrowed, as are its texts, until they are set again.
 * pv_fit_options_of and similar functions return it with its type. */
const void *pv_settings_values(const pv_settings *settings, const pv_option *table);

/* Reads the finite decimal number at the start of text (hexadecimal is rejected), as in the C locale whatever the
 * process's locale is. Returns its end; NULL if there is no number. Leading spaces are not skipped. */
const char *pv_parse_real(const char *text, double *value);

/* A reference to an option in a text of the library: `name` or `name=value`. A backquote inside a value is doubled.
 */
typedef struct pv_text_reference {
    const char *begin, *end; /* in the text, including the backquotes */
    char name[64];
    const char *value; /* in the text; NULL if there is none */
    size_t length;     /* of the value in the text */
} pv_text_reference;

/* Finds the first reference in text; false if there is none. */
bool pv_text_option(const char *text, pv_text_reference *found);
/* Copies the value with doubled backquotes made single: at most size bytes including the final NUL. */
void pv_text_option_value(const pv_text_reference *reference, char *value, size_t size);

/* Shortens text in place to less than size bytes. Its longest words are cut first, to their beginnings and "...", so
 * that a message stays readable around a value of any length. */
void pv_text_squeeze(char *text, size_t size);

/* The most similar entry of words [count] to given by edit distance; NULL if none is similar. */
const char *pv_nearest(const char *given, const char *const *words, size_t count);

#ifdef __cplusplus
}
#endif
#endif
