/* Runs a command of prevail with its n-th allocation failing, for each n, and checks what it leaves behind.
 *
 *    memory_sweep [--tries N | --places | --full] [--at N] -- ARGUMENT...
 *
 * The whole command, or prevail-lab, is linked in: its main is called in a child process for each n. Calls that
 * allocate memory (LIST below) go through wrappers that count them and let the n-th fail, alone or with all that
 * follow. Jansson uses the command's allocator; a failure inside oneDNN, OpenMP or libc makes the call fail.
 *
 * The child must either end with exit code 1 and a single line with "out of memory", or succeed with the same output
 * and all files. Every file left must be identical to one of the undisturbed command, except a checkpoint (ck) after a
 * failure. If main returns, every block, stream and handle must have been released. Each run begins with the files of
 * ../start alone.
 *
 * A run that ends before its n-th allocation tests nothing. That can happen if threads share the work or a checkpoint
 * is written by the clock, and is counted separately; otherwise it is a failure.
 *
 * --full tries every n both ways; for commands with more than EVERY allocations, the first two and the last allocation
 * of each call stack. --places tries the first allocation of each call stack, alternating between the two ways.
 * Otherwise the first FIRST allocations and about N (default 24) more, spread evenly, alternating likewise. --at N runs
 * the command once in this process, for a debugger.
 */
#include <dirent.h>
#include <dnnl.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/hash.h"

enum { FIRST = 12, EVERY = 10000, SLOTS = 1 << 17, PLACES = 1 << 22, DEPTH = 40, SECONDS = 120 };

/* Memory shared by parent and child. */
typedef struct shared {
    atomic_long calls;   /* number of allocation calls */
    atomic_long fail_at; /* 0: none */
    atomic_bool sticky;  /* later calls fail as well */
    atomic_bool failed;  /* a call has failed */
    atomic_bool on;      /* the command is running */
    atomic_bool placing; /* records the call stack of each call */
    atomic_bool returned;
    long held; /* blocks and streams not released when main returned */
} shared;

static shared *state;
static uint64_t *place;                /* [PLACES], shared: hash of the call stack of each call, from 1 */
static _Atomic(uintptr_t) held[SLOTS]; /* open addressing; 1: deleted */

/* ---- allocated blocks -------------------------------------------------------------------------------------------- */

static size_t slot_of(uintptr_t block) {
    return (size_t)((block >> 4) * 0x9E3779B97F4A7C15u >> 47) % SLOTS;
}

static void *note(void *block) {
    if (!block || !state->on)
        return block;
    size_t at = slot_of((uintptr_t)block);
    for (size_t i = 0; i < SLOTS; i++, at = (at + 1) % SLOTS) {
        uintptr_t seen = held[at];
        if (seen <= 1 && atomic_compare_exchange_strong(&held[at], &seen, (uintptr_t)block))
            return block;
    }
    fputs("memory_sweep: more blocks than SLOTS\n", stderr);
    abort();
}

static void forget(const void *block) {
    size_t at = slot_of((uintptr_t)block);
    for (size_t i = 0; block && i < SLOTS && held[at]; i++, at = (at + 1) % SLOTS) {
        uintptr_t wanted = (uintptr_t)block;
        if (atomic_compare_exchange_strong(&held[at], &wanted, 1))
            return;
    }
}

static long count_held(void) {
    long count = 0;
    for (size_t i = 0; i < SLOTS; i++)
        count += held[i] > 1;
    return count;
}

/* ---- wrapped calls ----------------------------------------------------------------------------------------------- */

static bool fails(void) {
    if (!state->on)
        return false;
    long call = ++state->calls, at = state->fail_at;
    if (state->placing && call < PLACES) {
        void *stack[DEPTH];
        int depth = backtrace(stack, DEPTH);
        place[call] = pv__hash(stack, (size_t)depth * sizeof *stack);
    }
    if (at == 0 || call < at || (call > at && !state->sticky))
        return false;
    state->failed = true;
    errno = ENOMEM;
    return true;
}

#define WRAP(type, name, parameters, values, failure)                                                                  \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters {                                                                                    \
        return fails() ? (failure) : __real_##name values;                                                             \
    }
#define WRAP_HELD(type, name, parameters, values)                                                                      \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters {                                                                                    \
        return fails() ? NULL : note(__real_##name values);                                                            \
    }
#define WRAP_RELEASE(name, argument)                                                                                   \
    void __real_##name(argument block);                                                                                \
    void __wrap_##name(argument block);                                                                                \
    void __wrap_##name(argument block) {                                                                               \
        forget((const void *)block);                                                                                   \
        __real_##name(block);                                                                                          \
    }

WRAP_HELD(void *, malloc, (size_t size), (size))
WRAP_HELD(void *, calloc, (size_t count, size_t size), (count, size))
WRAP_HELD(FILE *, fopen, (const char *path, const char *mode), (path, mode))
WRAP_HELD(FILE *, fdopen, (int descriptor, const char *mode), (descriptor, mode))
WRAP_HELD(FILE *, tmpfile, (void), ())
WRAP_HELD(FILE *, open_memstream, (char **text, size_t *size), (text, size))
WRAP_HELD(char *, realpath, (const char *path, char *resolved), (path, resolved))
WRAP_RELEASE(free, void *)

WRAP(dnnl_status_t, dnnl_engine_create, (dnnl_engine_t * made, dnnl_engine_kind_t kind, size_t index),
     (made, kind, index), dnnl_out_of_memory)
WRAP(dnnl_status_t, dnnl_stream_create, (dnnl_stream_t * made, dnnl_engine_t engine, unsigned flags),
     (made, engine, flags), dnnl_out_of_memory)
WRAP(dnnl_status_t, dnnl_memory_create,
     (dnnl_memory_t * made, const dnnl_memory_desc_t *shape, dnnl_engine_t engine, void *block),
     (made, shape, engine, block), dnnl_out_of_memory)
WRAP(dnnl_status_t, dnnl_primitive_create, (dnnl_primitive_t * made, const_dnnl_primitive_desc_t from), (made, from),
     dnnl_out_of_memory)
WRAP(dnnl_status_t, dnnl_primitive_desc_create,
     (dnnl_primitive_desc_t * made, const_dnnl_op_desc_t operation, const_dnnl_primitive_attr_t attributes,
      dnnl_engine_t engine, const_dnnl_primitive_desc_t hint),
     (made, operation, attributes, engine, hint), dnnl_out_of_memory)
WRAP(dnnl_status_t, dnnl_primitive_attr_create, (dnnl_primitive_attr_t * made), (made), dnnl_out_of_memory)
WRAP(dnnl_status_t, dnnl_post_ops_create, (dnnl_post_ops_t * made), (made), dnnl_out_of_memory)

int __real_fclose(FILE *stream);
int __wrap_fclose(FILE *stream);
int __wrap_fclose(FILE *stream) {
    forget(stream);
    return __real_fclose(stream);
}

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size) {
    if (fails())
        return NULL;
    forget(block);
    return note(__real_realloc(block, size));
}

void *__real_reallocarray(void *block, size_t count, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size) {
    if (fails())
        return NULL;
    forget(block);
    return note(__real_reallocarray(block, count, size));
}

int __real_vasprintf(char **text, const char *format, va_list values);
__attribute__((format(printf, 2, 0))) int __wrap_vasprintf(char **text, const char *format, va_list values);
int __wrap_vasprintf(char **text, const char *format, va_list values) {
    if (fails())
        return -1;
    int length = __real_vasprintf(text, format, values);
    if (length >= 0)
        note(*text);
    return length;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);
_Noreturn void __real_exit(int code);
_Noreturn void __wrap_exit(int code);

_Noreturn void __wrap_exit(int code) { /* exit releases everything */
    state->on = false;
    __real_exit(code);
}

static int run_here(int argc, char **argv) {
    state->on = true;
    int code = __real_main(argc, argv);
    state->on = false;
    state->held = count_held();
    state->returned = true;
    return code;
}

typedef struct trial {
    int code; /* 256 + signal if a signal ended it */
    char *out, *err;
    size_t out_size, err_size;
} trial;

static char *slurp(int descriptor, size_t *size) {
    struct stat about;
    if (fstat(descriptor, &about) != 0)
        return NULL;
    char *text = calloc((size_t)about.st_size + 1, 1);
    if (!text || pread(descriptor, text, (size_t)about.st_size, 0) != about.st_size)
        abort();
    *size = (size_t)about.st_size;
    return text;
}

/* Removes times, which vary, from the output. Returns the remaining length. */
static size_t mask(char *text) {
    for (char *at = text; (at = strstr(at, "\"seconds\": "));) {
        at += strlen("\"seconds\": ");
        memmove(at, at + strcspn(at, ",\n"), strlen(at + strcspn(at, ",\n")) + 1);
    }
    return strlen(text);
}

static trial run_child(int argc, char **argv, long fail_at, bool sticky) {
    int out = memfd_create("out", 0), err = memfd_create("err", 0), status = 0;
    state->calls = 0;
    state->fail_at = fail_at;
    state->sticky = sticky;
    state->failed = state->returned = false;
    fflush(NULL);
    pid_t child = fork();
    if (out < 0 || err < 0 || child < 0) {
        perror("memory_sweep");
        __real_exit(2);
    }
    if (child == 0) {
        alarm(SECONDS);
        if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
            _exit(99);
        __real_exit(run_here(argc, argv));
    }
    waitpid(child, &status, 0);
    state->on = false; /* a child that ended abruptly has left it set */
    trial t = {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status)};
    t.out = slurp(out, &t.out_size);
    t.err = slurp(err, &t.err_size);
    t.out_size = mask(t.out);
    close(out);
    close(err);
    return t;
}

static void trial_clear(trial *t) {
    free(t->out);
    free(t->err);
}

/* ---- files left behind ------------------------------------------------------------------------------------------- */

/* Copies a file. */
static void copy(const char *from, const char *to) {
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    size_t size = 0;
    char *text = in >= 0 ? slurp(in, &size) : NULL;
    if (!text || out < 0 || write(out, text, size) != (ssize_t)size)
        abort();
    free(text);
    close(in);
    close(out);
}

/* Copies the files with which a run begins. */
static void lay_out(void) {
    char path[4096];
    DIR *directory = opendir("../start");
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "../start/%s", entry->d_name);
        copy(path, entry->d_name);
    }
    if (directory)
        closedir(directory);
}

/* The number of files below ../wanted without a file of the same name below the working folder. */
static int missing(const char *folder) {
    char path[4096], wanted[4200];
    int count = 0;
    snprintf(wanted, sizeof wanted, "../wanted/%s", folder);
    DIR *directory = opendir(wanted);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(wanted, sizeof wanted, "../wanted/%s", path);
        struct stat about;
        if (stat(wanted, &about) == 0 && S_ISDIR(about.st_mode)) {
            count += missing(path);
        } else if (access(path, F_OK) != 0) {
            printf("    not written: %s\n", path);
            count++;
        }
    }
    if (directory)
        closedir(directory);
    return count;
}

/* Compares each file below the working folder with the one of the same name below ../wanted, then deletes it, or with
 * `keep` moves it there instead. Returns the number of files that differ or are missing. */
static int tidy(const char *folder, bool keep, bool complain) {
    char path[4096], wanted[4200];
    int strange = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(wanted, sizeof wanted, "../wanted/%s", path);
        struct stat about;
        if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
            if (keep)
                mkdir(wanted, 0777);
            strange += tidy(path, keep, complain);
            rmdir(path);
        } else if (keep) {
            if (rename(path, wanted) != 0)
                abort();
        } else {
            int is = open(path, O_RDONLY), was = open(wanted, O_RDONLY);
            size_t is_size = 0, was_size = 1;
            char *a = slurp(is, &is_size), *b = was >= 0 ? slurp(was, &was_size) : NULL;
            const char *dot = strrchr(path, '.');
            if (b && dot && strcmp(dot, ".json") == 0) {
                is_size = mask(a);
                was_size = mask(b);
            }
            if (!b || is_size != was_size || memcmp(a, b, is_size) != 0) {
                strange++;
                if (complain)
                    printf("    left behind: %s (%s)\n", path, b ? "not as it should be" : "not wanted");
            }
            free(a);
            free(b);
            close(is);
            if (was >= 0)
                close(was);
            unlink(path);
        }
    }
    if (directory)
        closedir(directory);
    return strange;
}

static trial run_from_start(int argc, char **argv, long fail_at, bool sticky) {
    lay_out();
    return run_child(argc, argv, fail_at, sticky);
}

/* Describes what is wrong; NULL: nothing. */
static const char *judge(const trial *t, const trial *wanted) {
    bool done = t->code == wanted->code;
    int lacking = done ? missing(".") : 0;
    if (t->code == 1)
        unlink("ck"); /* copied again before it is resumed */
    if (tidy(".", false, true))
        return "a file is left behind";
    if (lacking)
        return "a file is not there";
    if (state->returned && state->held)
        return "not all memory was given back";
    if (done && state->returned && t->out_size == wanted->out_size && memcmp(t->out, wanted->out, t->out_size) == 0)
        return NULL; /* the failed allocation was optional */
    if (t->code != 1)
        return "the exit code is not 1";
    for (const char *line = t->err; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        const char *said = strstr(line, "out of memory"), *end = strchr(line, '\n');
        if ((strncmp(line, "prevail: ", 9) == 0 || strncmp(line, "prevail-lab: ", 13) == 0) && said &&
            (!end || said < end))
            return NULL;
    }
    return "no error line says so";
}

/* Selects the calls to try: [calls + 1], the first of each call stack; with `full` its first two and the last. */
static bool *choose(long calls, bool full) {
    typedef struct seen {
        uint64_t place;
        long times, last;
    } seen;
    size_t room = 2 * (size_t)calls + 1;
    seen *table = calloc(room, sizeof *table);
    bool *chosen = calloc((size_t)calls + 1, sizeof *chosen);
    if (!table || !chosen)
        abort();
    for (long n = 1; n <= calls; n++) {
        size_t at = (size_t)(place[n] % room);
        while (table[at].times && table[at].place != place[n])
            at = (at + 1) % room;
        table[at].place = place[n];
        table[at].last = n;
        chosen[n] = table[at].times++ < (full ? 2 : 1);
    }
    for (size_t at = 0; full && at < room; at++)
        if (table[at].times)
            chosen[table[at].last] = true;
    free(table);
    return chosen;
}

/* Whether the n-th allocation can differ from run to run. */
static bool varies(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--checkpoint") == 0 ||
            (strcmp(argv[i], "--threads") == 0 && i + 1 < argc && strcmp(argv[i + 1], "1") != 0))
            return true;
    return false;
}

static int sweep(int argc, char **argv, long tries, bool places, bool full, const char *name) {
    mkdir("../wanted", 0777);
    trial wanted = run_from_start(argc, argv, 0, false);
    bool *chosen = NULL;
    if ((places || (full && state->calls > EVERY)) && state->calls < PLACES) {
        trial_clear(&wanted);
        state->placing = true;
        wanted = run_from_start(argc, argv, 0, false);
        state->placing = false;
        chosen = choose(state->calls, full);
    }
    long calls = state->calls, tried = 0, idle = 0, bad = 0;
    long step = calls > FIRST + tries ? (calls - FIRST) / tries : 1;
    tidy(".", true, false);
    if ((wanted.code != 0 && wanted.code != 3) || !state->returned || state->held) {
        printf("FAILED %s: undisturbed it ends with %d, %ld blocks held\n%s", name, wanted.code, state->held,
               wanted.err);
        return 1;
    }
    for (long n = 1; n <= calls && bad < 5; n += full || chosen || n < FIRST ? 1 : step)
        for (int way = full ? 0 : (int)(tried % 2); way < 2 && (!chosen || chosen[n]); way += full ? 1 : 2) {
            trial t = run_from_start(argc, argv, n, way == 1);
            tried++;
            const char *wrong = judge(&t, &wanted);
            if (!state->failed) {
                idle++;
                if (!wrong && !varies(argc, argv))
                    wrong = "the command did not come to it";
            }
            if (wrong) {
                bad++;
                printf("FAILED %s: allocation %ld%s: %s (exit code %d, %ld held)\n    %s\n", name, n,
                       way == 1 ? " and all after it" : "", wrong, t.code, state->held, t.err);
            }
            trial_clear(&t);
        }
    printf("%s: %ld allocations, %ld failures tried%s", name, calls, tried - idle, bad ? "" : ", each clean");
    if (idle)
        printf(", %ld did not come to it", idle);
    putchar('\n');
    if (tried && tried == idle) {
        printf("FAILED %s: no allocation failed\n", name);
        bad++;
    }
    trial_clear(&wanted);
    free(chosen);
    return bad != 0;
}

int __wrap_main(int argc, char **argv) {
    state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    place = mmap(NULL, PLACES * sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (state == MAP_FAILED || place == MAP_FAILED)
        return 2;
    backtrace(&(void *){NULL}, 1); /* loads its libraries now rather than within the command */
    long tries = 24, at = 0;
    bool full = false, places = false;
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--full") == 0)
            full = true;
        else if (strcmp(argv[i], "--places") == 0)
            places = true;
        else if (strcmp(argv[i], "--tries") == 0 && i + 1 < argc)
            tries = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--at") == 0 && i + 1 < argc)
            at = strtol(argv[++i], NULL, 10);
        else
            break;
    }
    if (i >= argc - 1 || tries < 1 || strcmp(argv[i], "--") != 0) {
        fputs("usage: memory_sweep [--full | --places | --tries N] [--at N] -- ARGUMENT...\n", stderr);
        return 2;
    }
    char line[4096] = "prevail";
    for (int k = i + 1; k < argc; k++)
        snprintf(line + strlen(line), sizeof line - strlen(line), " %s", argv[k]);
    if (at) {
        state->fail_at = at;
        return run_here(argc - i, argv + i);
    }
    return sweep(argc - i, argv + i, tries, places, full, line);
}
