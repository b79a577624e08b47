/* prevail pack: stores a table as a file of columns, which later commands map instead of parsing text. */
#include "cli/commands.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"

#include <string.h>

typedef struct pack_options {
    pv_csv_options csv;
    const char *output;
    bool single;
    cli_running running;
} pack_options;

static const pv_option run_table[] = {
    CLI_OPTION_OUTPUT(pack_options, output, "Where to write the packed table; usually NAME.pvt."),
    {"single", PV_OPTION_FLAG, offsetof(pack_options, single), NULL, 0, 0, NULL, NULL,
     "Round numbers to single precision: half the size, and seven digits of each. Whole numbers with more digits stay "
     "as they are."},
    CLI_OPTION_MEMORY(pack_options, running.memory),
    CLI_OPTION_QUIET(pack_options, running.quiet),
    CLI_OPTION_END};

static int run(cli_call *call) {
    const pack_options *options = call->options;
    pv_table *table = NULL;
    if (!options->output)
        return cli_error(call, PV_ERR_USAGE, NULL, "-o FILE is missing: name the packed table, as in -o study.pvt");
    if (strcmp(options->output, "-") == 0)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "-o -: a packed table cannot go to standard output; give the name of a file");
    pv_csv_options reading = options->csv;
    reading.spelling = true;
    pv_status status = pv_table_read(call->ctx, call->argument[0], &reading, &table);
    if (status == PV_OK)
        status = pv_table_pack(call->ctx, table, options->output, options->single);
    if (status == PV_OK)
        printf("%s: %zu rows, %zu columns%s\n", options->output, table->rows, table->columns,
               options->single ? ", in single precision" : "");
    pv_table_free(call->ctx, table);
    return cli_done(call, status);
}

static const cli_argument arguments[] = {{"DATA", "A table, as prevail fit takes it: a CSV file, perhaps compressed."},
                                         {NULL, NULL}};
static const cli_group groups[] = {
    {"Reading", pv_csv_option_table, offsetof(pack_options, csv)}, {"Running", run_table, 0}, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail pack study.csv.gz -o study.pvt", "Once."},
    {"prevail fit study.pvt --outcome case --prevalence 0.01 --memory 2G", "Then use it in any command."},
    {NULL, NULL}};

const cli_command cli_pack = {.name = "pack",
                              .summary = "a table as a binary file, which is read much faster",
                              .usage = "DATA -o FILE [--single] [--memory SIZE]",
                              .text = "Reads a table once and writes it as a binary file of columns. All commands "
                                      "accept this file instead of the table, read it without parsing, and give "
                                      "bit-identical results: it keeps the table's name, line numbers and hash.",
                              .arguments = arguments,
                              .groups = groups,
                              .options_size = sizeof(pack_options),
                              .output = "The file, and a line about its contents.",
                              .examples = examples,
                              .run = run};
