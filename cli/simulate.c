/* prevail simulate: data whose truth is known, and the embedded data sets, as CSV. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

typedef struct simulate_options {
    pv_simulation simulation;
    const char *truth;
    const char *output;
} simulate_options;

#define INT(name, field, fallback, low, high, help)                                                                    \
    { name, PV_OPTION_INT, offsetof(simulate_options, simulation.field), fallback, low, high, NULL, NULL, help }
#define REAL(name, field, fallback, low, high, metavar, help)                                                          \
    { name, PV_OPTION_REAL, offsetof(simulate_options, simulation.field), fallback, low, high, NULL, metavar, help }

static const pv_option option_table[] = {
    INT("rows", rows, "1000", 1, 1e9, "Rows of a draw from the population."),
    INT("cases", cases, NULL, 0, 1e9,
        "With --controls: a case-control sample of the population, this many cases of it."),
    INT("controls", controls, NULL, 0, 1e9, "With --cases: this many controls."),
    REAL("prevalence", prevalence, "0.01", 1e-9, 1 - 1e-9, "P", "Share of cases in the population."),
    INT("dimensions", dimensions, "10", 1, 10000, "gaussian: number of features."),
    REAL("separation", separation, "2", 0, 1000, NULL, "gaussian: distance of the two means, in standard deviations."),
    INT("seed", seed, "1", 0, 9007199254740992.0, "The same seed gives the same data."),
    {"truth", PV_OPTION_TEXT, offsetof(simulate_options, truth), NULL, 0, 0, NULL, "FILE",
     "Also write the coefficients the data were drawn with, as CSV: name,value; intercept first."},
    CLI_OPTION_OUTPUT(simulate_options, output, "The file to write. Default: standard output."),
    CLI_OPTION_END};

static bool is_embedded(const char *kind) {
    return strcmp(kind, "esoph") == 0 || strcmp(kind, "contingency") == 0;
}

static int check(cli_call *call, const char *kind) {
    static const char *const kinds[] = {"nodules", "gaussian", "esoph", "contingency"};
    static const char *const simulated[] = {"rows",       "cases",      "controls", "prevalence",
                                            "dimensions", "separation", "seed",     "truth"};
    bool known = false;
    for (size_t i = 0; i < 4; i++)
        known = known || strcmp(kind, kinds[i]) == 0;
    if (!known) {
        const char *near = pv_nearest(kind, kinds, 4);
        return cli_error(call, PV_ERR_USAGE, NULL, "unknown kind %s; %s%s%s", kind,
                         near ? "did you mean " : "choose one of ",
                         near ? near : "nodules, gaussian, esoph, contingency", near ? "?" : "");
    }
    for (size_t i = 0; i < sizeof simulated / sizeof *simulated; i++) {
        if (!cli_given(call, simulated[i]))
            continue;
        if (is_embedded(kind))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s does not go with %s: these are real data", simulated[i],
                             kind);
        if (strcmp(kind, "nodules") == 0 && (i == 4 || i == 5))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s goes with gaussian only", simulated[i]);
    }
    if (cli_given(call, "cases") != cli_given(call, "controls"))
        return cli_error(call, PV_ERR_USAGE, NULL, "--cases and --controls go together");
    if (cli_given(call, "cases") && cli_given(call, "rows"))
        return cli_error(call, PV_ERR_USAGE, NULL, "--rows does not go with --cases and --controls");
    return CLI_OK;
}

static int write_table(cli_call *call, const pv_table *table, const char *path) {
    pv_output output = {0};
    if (path && strcmp(path, "-") == 0)
        path = NULL; /* standard output */
    pv_status status = path ? pv_output_open(call->ctx, path, &output) : PV_OK;
    if (status == PV_OK)
        status = pv_table_write(call->ctx, table, path ? &output : NULL);
    if (status == PV_OK && path)
        status = pv_output_commit(call->ctx, &output);
    pv_output_discard(call->ctx, &output);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* The features are all columns but the last. */
static int write_truth(cli_call *call, const pv_table *table, const double *truth, const char *path) {
    pv_output output = {0};
    pv_status status = pv_output_open(call->ctx, path, &output);
    if (status != PV_OK)
        return cli_fail(call, status);
    fputs("name,value\n", output.stream);
    for (size_t i = 0; i < table->columns; i++) {
        char number[32];
        pv_csv_field(output.stream, i ? table->column[i - 1].name : "(Intercept)");
        pv_format_double(truth[i], number, sizeof number);
        fprintf(output.stream, ",%s\n", number);
    }
    status = pv_output_commit(call->ctx, &output);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int run(cli_call *call) {
    simulate_options *options = call->options;
    const char *kind = call->argument[0];
    int code = check(call, kind);
    if (code == CLI_OK)
        code = cli_check_output(call, options->output, NULL);
    if (code == CLI_OK)
        code = cli_check_output(call, options->truth, NULL);
    if (code != CLI_OK)
        return code;
    if (!cli_given(call, "cases"))
        options->simulation.cases = options->simulation.controls = -1;
    enum { NODULES_FEATURES = 7 };
    size_t room = (size_t)(options->simulation.dimensions > NODULES_FEATURES ? options->simulation.dimensions
                                                                             : NODULES_FEATURES) +
                  1;
    double *truth = cli_alloc(room, sizeof *truth);
    pv_table *table = NULL;
    pv_status status = is_embedded(kind) ? pv_table_builtin(call->ctx, kind, &table)
                                         : pv_simulate(call->ctx, kind, &options->simulation, &table, truth);
    code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    if (code == CLI_OK)
        code = write_table(call, table, options->output);
    if (code == CLI_OK && options->truth)
        code = write_truth(call, table, truth, options->truth);
    pv_table_free(call->ctx, table);
    free(truth);
    return code;
}

static const cli_argument arguments[] = {
    {"KIND",
     "nodules: lung nodules with seven covariates, drawn from a logistic model with log odds ratios of the size "
     "published for the Brock model. gaussian: two normal classes. esoph: the Ille-et-Vilaine study of "
     "oesophageal cancer. contingency: the paper's table of four cells."},
    {NULL, NULL}};

static const cli_group groups[] = {{"Options", option_table, 0}, {NULL, NULL, 0}};

static const cli_example examples[] = {
    {"prevail simulate nodules --cases 500 --controls 500 -o study.csv",
     "A balanced case-control sample of a population in which one nodule in a hundred is malignant."},
    {"prevail simulate nodules --rows 200000 --seed 2 --truth truth.csv -o population.csv",
     "A draw from the population itself, with the coefficients behind it."},
    {NULL, NULL}};

const cli_command cli_simulate = {
    .name = "simulate",
    .summary = "simulated and embedded data sets, as CSV",
    .usage = "KIND [options] [-o CSV]",
    .text = "Writes a table to try things on. The same seed gives the same bytes.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(simulate_options),
    .output = "CSV. Columns:\n"
              "nodules\tage, female, smoker, emphysema, upper_lobe, diameter, part_solid, malignant (0 or 1)\n"
              "gaussian\tx1, x2, ..., y (0 or 1)\n"
              "esoph\tage, alcohol, tobacco (groups), cancer (0 or 1), count (people)\n"
              "contingency\tx, y, count",
    .examples = examples,
    .run = run};
