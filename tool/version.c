/* version: describes this program and what it found on this machine. */
#include "tool/command.h"
#include "tool/json.h"

#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

static const char *libc_version(void) { /* NULL: unknown */
#ifdef __GLIBC__
    return gnu_get_libc_version();
#else
    return NULL;
#endif
}

typedef struct version_options {
    cli_running running;
} version_options;

static const pv_option option_table[] = {
    CLI_OPTION_JSON(version_options, running.json, "Print one JSON object instead of text."), CLI_OPTION_END};

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

typedef struct feature {
    const char *name;
    bool present;
} feature;

static int run(cli_call *call) {
    const version_options *options = call->options;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_cpu_init();
    const feature features[] = {{"avx2", __builtin_cpu_supports("avx2") != 0},
                                {"fma", __builtin_cpu_supports("fma") != 0},
                                {"avx512f", __builtin_cpu_supports("avx512f") != 0},
                                {"avx512dq", __builtin_cpu_supports("avx512dq") != 0},
                                {"avx512vl", __builtin_cpu_supports("avx512vl") != 0}};
    size_t count = sizeof features / sizeof *features;
#else
    const feature features[] = {{"", false}};
    size_t count = 0;
#endif
    enum { ROOM = 8 };
    pv_library libraries[ROOM], engines[ROOM];
    const char *device;
    bool found = pv_ctx_device(call->ctx, &device);
    size_t known = pv_libraries(libraries, ROOM), readers = pv_engines(engines, ROOM);
    pv_library learner;
    (void)pv_learners(&learner, 1);
    if (options->running.json) {
        pv_result *object = pv__value_object(), *cpu = pv__value_object(), *versions = pv__value_object();
        for (size_t i = 0; i < count; i++)
            pv__value_set(cpu, features[i].name, pv__value_flag(features[i].present));
        for (size_t i = 0; i < known; i++)
            pv__value_set(versions, libraries[i].name, pv__value_text(libraries[i].version));
        pv__value_set(versions, "libc", libc_version() ? pv__value_text(libc_version()) : pv__value_null());
        pv__value_set(object, "version", pv__value_text(PV_VERSION));
        pv__value_set(object, "compiler", pv__value_text(COMPILER));
        pv__value_set(object, "cpu", cpu);
        pv__value_set(object, "kernels", pv__value_text(pv_kernels()));
        pv__value_set(object, "convolutions", pv__value_text(pv_convolution_isa()));
        pv__value_set(object, "device", found ? pv__value_text(device) : pv__value_null());
        pv__value_set(object, "threads", pv__value_integer(pv_ctx_threads(call->ctx)));
        pv__value_set(object, "libraries", versions);
        pv_result *sources = pv__value_object();
        for (size_t i = 0; i < readers; i++)
            pv__value_set(sources, engines[i].name,
                          *engines[i].version ? pv__value_text(engines[i].version) : pv__value_null());
        pv__value_set(object, "sources", sources);
        pv_result *learners = pv__value_object();
        pv__value_set(learners, learner.name, *learner.version ? pv__value_text(learner.version) : pv__value_null());
        pv__value_set(object, "learners", learners);
        cli_json_print(call, object);
        return CLI_OK;
    }
    printf("%s %s\n", cli_program_here.name, PV_VERSION);
    printf("compiler   %s\n", COMPILER);
    printf("processor  ");
    for (size_t i = 0; i < count; i++)
        printf("%s%s%s", i ? ", " : "", features[i].present ? "" : "no ", features[i].name);
    printf("\nkernels    %s\n", pv_kernels());
    if (strcmp(pv_convolution_isa(), "none") == 0)
        printf("networks   none: built without images\n");
    else
        printf("networks   oneDNN with %s\n", pv_convolution_isa());
    printf("device     %s%s\n", found ? "" : "none: ", device);
    printf("threads    %d\n", pv_ctx_threads(call->ctx));
    printf("libraries  ");
    for (size_t i = 0; i < known; i++)
        printf("%s %s, ", libraries[i].name, libraries[i].version);
    const char *libc = libc_version();
    if (libc)
        printf("glibc %s\n", libc);
    else
        printf("a libc of unknown version\n");
    printf("sources    CSV, NPZ, NPY, IDX, packed");
    for (size_t i = 0; i < readers; i++)
        printf(", %s%s%s%s", *engines[i].version ? "" : "no ", engines[i].name, *engines[i].version ? " " : "",
               engines[i].version);
    printf("\nlearners   %s%s%s%s\n", *learner.version ? "" : "no ", learner.name, *learner.version ? " " : "",
           learner.version);
    return CLI_OK;
}

static const cli_argument arguments[] = {{NULL, NULL}};
static const cli_group groups[] = {{"Options", option_table, 0}, {NULL, NULL, 0}};
static const cli_example examples[] = {{NULL, NULL}};

const cli_command cli_version = {
    .name = "version",
    .summary = "the version, and what was found on this machine",
    .usage = "[--json]",
    .text =
        "Shows the version, the compiler, the processor's vector instructions with the kernels chosen for them, the "
        "instruction set that oneDNN uses for networks, the GPU that runs them or why there is none, the default "
        "number of threads, the versions of libraries, and the libraries found for Parquet files, databases and trees.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(version_options),
    .output = "Text, or with --json one object: version, compiler, cpu (name: true or false), kernels, "
              "convolutions (oneDNN's instruction set; none: built without images), device (the GPU; null: none), "
              "threads, libraries (name: version), sources (DuckDB, SQLite and libpq: version; null: not here).",
    .examples = examples,
    .run = run};
