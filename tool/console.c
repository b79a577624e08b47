/* Errors, memory, the context, progress and signals of a command. */
#include "prevail/prevail.h"
#include "tool/console.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- errors ------------------------------------------------------------------------------------------------------ */

int cli_exit_code(pv_status status) {
    switch (status) {
    case PV_OK:
        return CLI_OK;
    case PV_ERR_USAGE:
    case PV_ERR_INPUT:
    case PV_ERR_PATH:
    case PV_ERR_FORMAT:
        return CLI_BAD_INPUT;
    case PV_ERR_MEMORY:
    case PV_ERR_WRITE:
    case PV_ERR_NUMERIC:
    case PV_ERR_INTERRUPTED:
    case PV_ERR_INTERNAL:
        return CLI_FAILED;
    }
    return CLI_FAILED;
}

/* Prints text without line breaks and without anything that a terminal would interpret. */
/* "prevail: " */
static void print_program(void) {
    fprintf(stderr, "%s: ", cli_program_here.name);
}

static void print_text(const char *text) {
    while (*text) {
        uint32_t code = 0;
        size_t length = pv_utf8_next(text, &code);
        bool control = length == 0 || cli_unprintable(code);
        if (code == '\n' || code == '\r')
            fputc(' ', stderr);
        else if (control)
            fprintf(stderr, code > 0xFF && length ? "\\u%04X" : "\\x%02X",
                    length > 1 ? (unsigned)code : (unsigned char)*text);
        else
            fwrite(text, 1, length, stderr);
        text += length ? length : 1;
    }
}

/* Errors are printed on one line, whatever untrusted text they quote. */
static void print_line(const char *text) {
    print_text(text);
    fputc('\n', stderr);
}

/* The same within a fixed buffer. */
static void use_syntax(const cli_call *call, char *text, size_t size) {
    char *typed = cli_syntax(call->command, text);
    snprintf(text, size, "%s", typed);
    free(typed);
}

pv_status cli_diagnosis(cli_call *call, const pv_classifier *classifier, const pv_diagnose_options *options,
                        pv_diagnosis **diagnosis) {
    pv_status status = pv_diagnose(call->ctx, classifier, options, diagnosis);
    for (size_t i = 0; status == PV_OK && i < (*diagnosis)->count; i++) {
        pv_check *check = &(*diagnosis)->check[i];
        use_syntax(call, check->text, sizeof check->text);
        use_syntax(call, check->remedy, sizeof check->remedy);
        use_syntax(call, check->warning, sizeof check->warning);
    }
    return status;
}

int cli_fail(cli_call *call, pv_status status) {
    call->refused++;
    cli_progress_clear(call);
    const pv_error *error = call->ctx ? pv_ctx_error(call->ctx) : NULL;
    print_program();
    if (!error || error->status != status || !error->message[0]) {
        print_line(pv_status_text(status));
        return cli_exit_code(status);
    }
    print_text(error->file);
    if (error->file[0])
        fputc(':', stderr);
    if (error->file[0] && error->line)
        fprintf(stderr, "%zu:", error->line);
    if (error->file[0] && error->line && error->column)
        fprintf(stderr, "%zu:", error->column);
    if (error->file[0])
        fputc(' ', stderr);
    char *message = cli_syntax(call->command, error->message);
    print_line(message);
    free(message);
    return cli_exit_code(status);
}

int cli_done(cli_call *call, pv_status status) {
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

enum { MESSAGE_SIZE = 1024 };

/* Shortens long values rather than the message. */
static void PV_PRINTF(2, 0) format_message(char message[MESSAGE_SIZE], const char *format, va_list values) {
    va_list again;
    va_copy(again, values);
    int length = vsnprintf(message, MESSAGE_SIZE, format, values);
    if (length >= MESSAGE_SIZE) {
        char *whole = cli_alloc((size_t)length + 1, 1);
        vsnprintf(whole, (size_t)length + 1, format, again);
        pv_text_squeeze(whole, MESSAGE_SIZE);
        memcpy(message, whole, strlen(whole) + 1);
        free(whole);
    }
    va_end(again);
}

int cli_error(cli_call *call, pv_status status, const char *file, const char *format, ...) {
    char message[MESSAGE_SIZE];
    va_list values;
    va_start(values, format);
    format_message(message, format, values);
    va_end(values);
    call->refused++;
    cli_progress_clear(call);
    print_program();
    if (file) {
        print_text(file);
        fputs(": ", stderr);
    }
    print_line(message);
    return cli_exit_code(status);
}

void cli_note(cli_call *call, const char *format, ...) {
    if (call->quiet)
        return;
    char message[MESSAGE_SIZE];
    va_list values;
    va_start(values, format);
    format_message(message, format, values);
    va_end(values);
    cli_progress_clear(call);
    print_program();
    print_line(message);
}

void cli_note_device(cli_call *call, const pv_classifier *classifier) {
    const int *device = cli_value(call, "device");
    bool draws =
        classifier->posterior && classifier->schema->classes == 2 && pv_model_has_coefficients(classifier->model);
    if (device && *device == PV_DEVICE_CUDA && !classifier->schema->image && !draws)
        cli_note(call,
                 "note: predictions from this model run on the processor; --device cuda is for images, for fits, and "
                 "for the draws of posteriors (linear, two labels)");
}

static void add_warning(cli_call *call, const char *message) {
    call->warning = cli_resize(call->warning, call->warnings + 1, sizeof *call->warning);
    call->warning[call->warnings++] = cli_copy(message);
    if (!call->collect) {
        cli_progress_clear(call);
        print_program();
        fputs("warning: ", stderr);
        print_line(message);
    }
}

void cli_warn(cli_call *call, const char *format, ...) {
    char message[MESSAGE_SIZE];
    va_list values;
    va_start(values, format);
    format_message(message, format, values);
    va_end(values);
    add_warning(call, message);
}

static void on_log(void *state, pv_log_level level, const char *message) {
    cli_call *call = state;
    char *text = cli_syntax(call->command, message);
    if (level == PV_LOG_WARNING)
        add_warning(call, text);
    else
        cli_note(call, "%s", text);
    free(text);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Needed where the program ends at once: in signal handlers, and when memory runs out far from the call. */
static pv_ctx *volatile running_ctx;

/* Several threads may get here at once. The first ends the program immediately, while the others are still running. */
void cli_no_memory(const char *what) {
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&ending))
        pause();
    if (running_ctx)
        pv_outputs_abandon(running_ctx);
    fprintf(stderr, "%s: out of memory %s\n", cli_program_here.name, what);
    _exit(CLI_FAILED);
}

static _Noreturn void no_memory(size_t count, size_t size) {
    char what[80];
    snprintf(what, sizeof what, "for %zu items of %zu bytes", count, size);
    cli_no_memory(what);
}

void *cli_alloc(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (!block)
        no_memory(count, size);
    return block;
}

void *cli_resize(void *block, size_t count, size_t size) {
    void *grown = reallocarray(block, count ? count : 1, size);
    if (!grown)
        no_memory(count, size);
    return grown;
}

char *cli_copy(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = cli_alloc(size, 1);
    memcpy(copy, text, size);
    return copy;
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cli_progress_clear(cli_call *call) {
    if (call->drawn)
        fputs("\r\033[K", stderr);
    call->drawn = false;
}

/* One line, redrawn at most five times a second: task, step, loss, rate, time left. */
static void on_progress(void *state, const pv_progress *progress) {
    cli_call *call = state;
    double now = now_seconds();
    if (now - call->redrawn < 0.2)
        return;
    call->redrawn = now;
    call->drawn = true;
    double rate = progress->seconds > 0 ? (double)progress->step / progress->seconds : 0;
    fprintf(stderr, "\r\033[K%s  step %zu", progress->what, progress->step);
    if (progress->steps)
        fprintf(stderr, " of %zu", progress->steps);
    if (!isnan(progress->value))
        fprintf(stderr, "  loss %.6g", progress->value);
    if (progress->validation != 0)
        fprintf(stderr, "  validation %.5g", progress->validation);
    if (progress->marginal > 0)
        fprintf(stderr, "  marginal %.3g", progress->marginal);
    if (progress->rows)
        fprintf(stderr, "  %.3g rows/s", rate * (double)progress->rows);
    else
        fprintf(stderr, "  %.3g steps/s", rate);
    if (progress->steps > progress->step && rate > 0) {
        double left = ceil((double)(progress->steps - progress->step) / rate);
        if (left < 1e8)
            fprintf(stderr, "  at most %ld:%02ld left", (long)left / 60, (long)left % 60);
    }
    fflush(stderr);
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

/* The first signal asks the work to stop and save its state. Terminals and `timeout` often send a signal twice: repeats
 * within REPEAT seconds count as one. A later signal ends the program at once. */
#define REPEAT 1.0

static _Atomic double interrupted_at; /* 0: not interrupted */

static void catch_signals(void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU}; /* the last two: lost connection, batch queue */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
        struct sigaction before;
        if (sigaction(caught[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) /* a signal that the parent ignored stays ignored */
            sigaction(caught[i], &action, NULL);
    }
}

/* Seconds until work that waits for another program is abandoned, which loses nothing. */
enum { PATIENCE = 1 };

static volatile sig_atomic_t stopped_by;

/* Calls only functions that are safe in a signal handler. */
static void end_at_once(int number) {
    if (running_ctx)
        pv_outputs_abandon(running_ctx);
    signal(number, SIG_DFL);
    raise(number); /* delivered when the handler returns */
}

static void on_alarm(int number) {
    (void)number;
    if (running_ctx && pv_ctx_waiting(running_ctx))
        end_at_once(stopped_by);
    else
        alarm(PATIENCE);
}

static void on_signal(int number) {
    double now = now_seconds(), first = 0;
    if (atomic_compare_exchange_strong(&interrupted_at, &first, now)) {
        catch_signals(on_signal, SA_RESTART); /* a repeated signal must not interrupt a write of saved state */
        if (running_ctx)
            pv_ctx_interrupt(running_ctx);
        stopped_by = number;
        alarm(PATIENCE);
    } else if (now - first >= REPEAT) {
        end_at_once(number);
    }
}

/* Handles access to a page of a mapped file that no longer exists. Reads of tables report this themselves, but pixels
 * are mapped. */
static void on_lost_page(int number) {
    static const char text[] = ": a file that was being read became shorter, or its disk failed; run the command "
                               "again when nothing writes to it\n";
    (void)number;
    ssize_t written = write(STDERR_FILENO, cli_program_here.name, strlen(cli_program_here.name));
    written += write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    if (running_ctx)
        pv_outputs_abandon(running_ctx);
    _exit(CLI_BAD_INPUT);
}

/* Parses --memory 2G. */
static int limit_memory(cli_call *call) {
    const char *const *text = cli_value(call, "memory");
    if (!text || !*text)
        return CLI_OK;
    char *end = NULL;
    double size = strtod(*text, &end);
    static const char units[] = "KMGT";
    const char *unit = *end ? strchr(units, *end) : NULL;
    for (const char *u = units; unit && u <= unit; u++)
        size *= 1024;
    bool sound = end != *text && (!*end || (unit && !end[1])) && size >= 1 && size < 1e18;
    if (!sound)
        return cli_error(call, PV_ERR_USAGE, NULL, "--memory %s: a number of bytes, or one with K, M, G or T: 2G",
                         *text);
    return cli_done(call, pv_ctx_set_memory(call->ctx, (size_t)size, NULL));
}

/* This process's number among those that a launcher started (pv_mpi_processes); 0 if there is only one. */
static long launched_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; pv_mpi_processes() > 1 && i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text)
            return strtol(text, NULL, 10);
    }
    return 0;
}

static bool silence(void) {
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0 && dup2(nowhere, STDERR_FILENO) >= 0;
}

/* With --ranks none, processes do not share the work, so each of them prints. */
bool cli_silence_ranks(const cli_command *command, int argc, char **argv) {
    bool shares = false;
    for (const cli_group *group = command->groups; group->table; group++)
        for (const pv_option *row = group->table; row->name; row++)
            shares = shares || strcmp(row->name, "ranks") == 0;
    for (int i = 0; i < argc; i++)
        shares = shares && strncmp(argv[i], "--ranks", 7) != 0;
    return shares && launched_rank() > 0 && silence();
}

void cli_wait_for_rank_0(void) {
    const struct timespec while_it_prints = {.tv_nsec = 300000000};
    nanosleep(&while_it_prints, NULL);
}

/* Ranks above 0 print nothing: rank 0 reports their errors. */
static int start_ranks(cli_call *call) {
    const int *wanted = cli_value(call, "ranks");
    const int64_t *threads = cli_value(call, "threads");
    int rank, share;
    if (!wanted || *wanted == CLI_RANKS_NONE || (*wanted == CLI_RANKS_AUTO && pv_mpi_processes() == 1))
        return CLI_OK;
    pv_status status = pv_ctx_set_mpi(call->ctx, &share);
    if (pv_ctx_ranks(call->ctx, &rank) > 1 && rank > 0) {
        call->quiet = silence();
        call->terminal = false;
        pv_ctx_set_progress(call->ctx, NULL, NULL);
    }
    if (status != PV_OK)
        return cli_fail(call, status);
    if (!threads || *threads == 0)
        pv_ctx_set_threads(call->ctx, share);
    return CLI_OK;
}

int cli_ranks_end(cli_call *call, int code) {
    if (!call->ctx)
        return code;
    bool done = code == CLI_OK || code == CLI_PROBLEMS;
    pv_status own = pv_ctx_error(call->ctx)->status, failed = own == PV_OK ? PV_ERR_USAGE : own;
    pv_status status = pv_ranks_end(call->ctx, done ? PV_OK : failed);
    return done && status != PV_OK ? cli_fail(call, status) : code;
}

int cli_start(cli_call *call) {
    const int64_t *threads = cli_value(call, "threads");
    const bool *quiet = cli_value(call, "quiet");
    call->quiet = quiet && *quiet;
    call->terminal = isatty(STDERR_FILENO) == 1;
    pv_ctx_options options = pv_ctx_options_default();
    options.threads = threads ? (int)*threads : 0;
    options.log = on_log;
    options.progress = call->terminal && !call->quiet ? on_progress : NULL;
    options.state = call;
    pv_ctx_free(call->ctx);
    call->ctx = NULL;
    pv_status status = pv_ctx_new(&options, &call->ctx);
    if (status != PV_OK)
        return cli_fail(call, status);
    const int *device = cli_value(call, "device"), *precision = cli_value(call, "precision");
    if (device && precision) {
        status = pv_ctx_set_device(call->ctx, (pv_device)*device, (pv_precision)*precision);
        if (status != PV_OK)
            return cli_fail(call, status);
    }
    int code = limit_memory(call);
    if (code == CLI_OK)
        code = start_ranks(call);
    if (code != CLI_OK)
        return code;
    call->redrawn = now_seconds(); /* short work shows no progress line */
    running_ctx = call->ctx;
    interrupted_at = 0;
    catch_signals(on_signal, 0);
    const struct sigaction lost = {.sa_handler = on_lost_page};
    sigaction(SIGBUS, &lost, NULL);
    const struct sigaction patience = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &patience, NULL);
    signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit then becomes an ordinary write error */
    return CLI_OK;
}

void cli_stop(cli_call *call) {
    alarm(0);
    running_ctx = NULL;
    pv_ctx_free(call->ctx);
    call->ctx = NULL;
}

/* If nobody reads the output, exit would flush and wait for ever. A file, or a pipe with space, still gets the
 * remaining output of an interrupted command. */
void cli_drop_unwritten(int code) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    bool stalled = code == CLI_FAILED && interrupted_at > 0 && poll(&out, 1, 0) != 1;
    if (ferror(stdout) || stalled)
        __fpurge(stdout);
}

int cli_finish(cli_call *call, int code) {
    bool given_up = ferror(stdout) && interrupted_at > 0;
    errno = 0;
    if (!given_up && fflush(stdout) == 0 && !ferror(stdout))
        return code;
    return cli_error(call, PV_ERR_WRITE, "standard output", "could not be written completely: %s",
                     errno ? strerror(errno) : "the disk may be full");
}
