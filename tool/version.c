/* version: what this program is and what it found on this machine. */
#include "tool/command.h"
#include "tool/json.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>

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
    if (options->running.json) {
        json_t *object = cli_json_object(), *cpu = cli_json_object(), *versions = cli_json_object();
        for (size_t i = 0; i < count; i++)
            cli_json_set(cpu, features[i].name, json_boolean(features[i].present));
        for (size_t i = 0; i < known; i++)
            cli_json_set(versions, libraries[i].name, cli_json_text(libraries[i].version));
        cli_json_set(versions, "libc", cli_json_text(gnu_get_libc_version()));
        cli_json_set(object, "version", cli_json_text(PV_VERSION));
        cli_json_set(object, "compiler", cli_json_text(COMPILER));
        cli_json_set(object, "cpu", cpu);
        cli_json_set(object, "kernels", cli_json_text(pv_kernels()));
        cli_json_set(object, "convolutions", cli_json_text(pv_convolution_isa()));
        cli_json_set(object, "device", found ? cli_json_text(device) : json_null());
        cli_json_set(object, "threads", json_integer(pv_ctx_threads(call->ctx)));
        cli_json_set(object, "libraries", versions);
        json_t *sources = cli_json_object();
        for (size_t i = 0; i < readers; i++)
            cli_json_set(sources, engines[i].name,
                         *engines[i].version ? cli_json_text(engines[i].version) : json_null());
        cli_json_set(object, "sources", sources);
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
    printf("glibc %s\n", gnu_get_libc_version());
    printf("sources    CSV, NPZ, NPY, IDX, packed");
    for (size_t i = 0; i < readers; i++)
        printf(", %s%s%s%s", *engines[i].version ? "" : "no ", engines[i].name, *engines[i].version ? " " : "",
               engines[i].version);
    printf("\n");
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
        "instruction set that oneDNN uses for networks, the GPU that runs them or why there is none, the number of "
        "threads used by default, the versions of libraries, and what reads Parquet files and databases here.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(version_options),
    .output = "Text, or with --json one object: version, compiler, cpu (name: true or false), kernels, "
              "convolutions (oneDNN's instruction set; none: built without images), device (the GPU; null: none), "
              "threads, libraries (name: version), sources (DuckDB, SQLite and libpq: version; null: not here).",
    .examples = examples,
    .run = run};
