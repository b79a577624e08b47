/* prevail simulate: data with known truth and the built-in data sets, as CSV; images as NPZ. */
#include "cli/commands.h"
#include "prevail/prevail.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct simulate_options {
    pv_simulation simulation;
    pv_design_simulation design;
    const char *known;
    const char *within;
    int within_of; /* applies to: all, controls, cases */
    const char *truth;
    const char *output;
    cli_running running;
} simulate_options;

#define INT(name, field, fallback, low, high, help)                                                                    \
    { name, PV_OPTION_INT, offsetof(simulate_options, simulation.field), fallback, low, high, NULL, NULL, help }
#define REAL(name, field, fallback, low, high, metavar, help)                                                          \
    { name, PV_OPTION_REAL, offsetof(simulate_options, simulation.field), fallback, low, high, NULL, metavar, help }

#define DESIGN(name, type, field, fallback, low, high, metavar, help)                                                  \
    { name, type, offsetof(simulate_options, design.field), fallback, low, high, NULL, metavar, help }

static const pv_option option_table[] = {
    INT("rows", rows, "1000", 1, 1e9, "Number of rows drawn from the population."),
    INT("cases", cases, NULL, 0, 1e9,
        "With --controls: draw a case-control sample of the population, with this many cases."),
    INT("controls", controls, NULL, 0, 1e9, "With --cases: this many controls."),
    REAL("prevalence", prevalence, "0.01", 1e-9, 1 - 1e-9, "P",
         "Proportion of cases in the population. sites, cohort, matched, survey: 0.1 by default."),
    REAL("strength", strength, "1", 0, 100, NULL,
         "nodules: factor that multiplies the published log odds ratios. With 1.6 a model reaches an AUC of 0.83."),
    INT("dimensions", dimensions, "10", 1, 10000, "gaussian: number of features."),
    REAL("separation", separation, "2", 0, 1000, NULL, "gaussian: distance of the two means, in standard deviations."),
    INT("size", size, "40", 16, 256, "ct-nodules: side of a patch, in voxels of 1 mm."),
    REAL("absent", absent, "0.25", 0, 1, "P",
         "ct-nodules: probability that a reader gave no vote. At least one of the four gives one."),
    DESIGN("strata", PV_OPTION_INT, strata, "3", 1, 1000, NULL, "sites, cohort, survey: number of strata."),
    DESIGN(
        "uneven", PV_OPTION_FLAG, uneven, NULL, 0, 0, NULL,
        "sites, cohort: a quarter, half and three quarters of a stratum's rows are cases, in turn, instead of half."),
    DESIGN("cohort", PV_OPTION_INT, cohort, "20000", 1, 1e9, NULL,
           "cohort: number of people in the cohort that the rows are drawn from."),
    DESIGN("subcohort", PV_OPTION_REAL, subcohort, "0", 0, 1, "F",
           "cohort: a case-cohort sample, all cases and this fraction of the others; 0: as many of each stratum and "
           "label as --rows allow."),
    DESIGN("sets", PV_OPTION_INT, sets, "200", 1, 1e7, NULL, "matched: number of sets."),
    DESIGN("per-case", PV_OPTION_INT, per_case, "2", 1, 1000, NULL, "matched: controls in each set."),
    {"known", PV_OPTION_TEXT, offsetof(simulate_options, known), NULL, 0, 0, NULL, "FILE",
     "sites, cohort: also write the facts about the population, as a CSV file for fit --prevalence-by (sites) or "
     "--phase-one (cohort)."},
    INT("seed", seed, "1", 0, 9007199254740992.0, "The same seed gives the same data."),
    {"within", PV_OPTION_TEXT, offsetof(simulate_options, within), NULL, 0, 0, NULL, "COL=LOW:HIGH",
     "Selection by a feature: rows outside this range are never observed, as in age=50:75. Either end may be left "
     "out."},
    {"within-of", PV_OPTION_CHOICE, offsetof(simulate_options, within_of), "all", 0, 0, "all|controls|cases", NULL,
     "The rows that --within applies to; with controls or cases alone, selection depends on both feature and label."},
    {"truth", PV_OPTION_TEXT, offsetof(simulate_options, truth), NULL, 0, 0, NULL, "FILE",
     "Also write the coefficients the data were drawn with, as CSV: name,value; intercept first."},
    CLI_OPTION_OUTPUT(simulate_options, output, "The file to write. Default: standard output."),
    CLI_OPTION_THREADS(simulate_options, running.threads),
    CLI_OPTION_QUIET(simulate_options, running.quiet),
    CLI_OPTION_END};

static bool is_embedded(const char *kind) {
    return strcmp(kind, "esoph") == 0 || strcmp(kind, "contingency") == 0;
}

/* Whether kind is one of the words in list. */
static bool goes_with(const char *list, const char *kind) {
    size_t length = strlen(kind);
    for (const char *at = list; (at = strstr(at, kind)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ' || at[length] == ','))
            return true;
    return false;
}

static bool is_design(const char *kind) {
    return goes_with("sites cohort matched survey", kind);
}

static int check(cli_call *call, const char *kind) {
    static const char *const kinds[] = {"nodules", "gaussian", "ct-nodules", "sites",      "cohort",
                                        "matched", "survey",   "esoph",      "contingency"};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    /* kinds of data for which an option has an effect; NULL: all simulated ones */
    static const struct {
        const char *name, *kinds;
    } simulated[] = {{"rows", "nodules, gaussian, ct-nodules, sites, cohort and survey"},
                     {"cases", "nodules, gaussian and ct-nodules"},
                     {"controls", "nodules, gaussian and ct-nodules"},
                     {"prevalence", NULL},
                     {"strength", "nodules"},
                     {"dimensions", "gaussian"},
                     {"separation", "gaussian"},
                     {"seed", NULL},
                     {"within", "nodules and gaussian"},
                     {"within-of", "nodules and gaussian"},
                     {"truth", NULL},
                     {"size", "ct-nodules"},
                     {"absent", "ct-nodules"},
                     {"strata", "sites, cohort and survey"},
                     {"uneven", "sites and cohort"},
                     {"cohort", "cohort"},
                     {"subcohort", "cohort"},
                     {"sets", "matched"},
                     {"per-case", "matched"},
                     {"known", "sites and cohort"}};
    bool known = false;
    for (size_t i = 0; i < KINDS; i++)
        known = known || strcmp(kind, kinds[i]) == 0;
    if (!known) {
        const char *near = pv_nearest(kind, kinds, KINDS);
        return cli_error(
            call, PV_ERR_USAGE, NULL, "unknown kind %s; %s%s%s", kind, near ? "did you mean " : "choose one of ",
            near ? near : "nodules, gaussian, ct-nodules, sites, cohort, matched, survey, esoph, contingency",
            near ? "?" : "");
    }
    for (size_t i = 0; i < sizeof simulated / sizeof *simulated; i++) {
        if (!cli_given(call, simulated[i].name))
            continue;
        if (is_embedded(kind))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s cannot be used with %s: these are real data",
                             simulated[i].name, kind);
        if (simulated[i].kinds && !goes_with(simulated[i].kinds, kind))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s is for %s only", simulated[i].name, simulated[i].kinds);
    }
    if (cli_given(call, "cases") != cli_given(call, "controls"))
        return cli_error(call, PV_ERR_USAGE, NULL, "--cases and --controls must be given together");
    if (cli_given(call, "within-of") && !cli_given(call, "within"))
        return cli_error(call, PV_ERR_USAGE, NULL, "--within-of needs --within");
    if (cli_given(call, "cases") && cli_given(call, "rows"))
        return cli_error(call, PV_ERR_USAGE, NULL, "--rows cannot be used with --cases and --controls");
    return CLI_OK;
}

/* Parses text as a number; if it is empty, the value is `open`. */
static bool read_end(const char *text, double open, double *value) {
    *value = open;
    const char *end = *text ? pv_parse_real(text, value) : text;
    return end && !*end;
}

/* Parses COL=LOW:HIGH; the column's name is cut out of *copy, which the caller frees. */
static int read_within(cli_call *call, simulate_options *options, char **copy) {
    if (!options->within)
        return CLI_OK;
    *copy = cli_copy(options->within);
    char *equals = strrchr(*copy, '='), *colon = equals ? strchr(equals, ':') : NULL;
    pv_simulation *s = &options->simulation;
    if (equals && colon && equals > *copy) {
        *equals = *colon = '\0';
        s->within = *copy;
        s->within_label = options->within_of == 0 ? -1 : options->within_of - 1;
        bool fine = (equals[1] || colon[1]) && read_end(equals + 1, -HUGE_VAL, &s->low) &&
                    read_end(colon + 1, HUGE_VAL, &s->high);
        if (fine && s->low < s->high)
            return CLI_OK;
    }
    return cli_error(call, PV_ERR_USAGE, NULL, "--within %s: a column and a range are needed, as in age=50:75",
                     options->within);
}

static int write_table(cli_call *call, const pv_table *table, const char *path) {
    pv_status status = pv_table_save(call->ctx, table, path && strcmp(path, "-") == 0 ? NULL : path);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* The intercept comes first; name [n]. */
static int write_truth(cli_call *call, const char *const *name, size_t n, const double *truth, const char *path) {
    pv_output output = {0};
    pv_status status = pv_output_open(call->ctx, path, &output);
    if (status != PV_OK)
        return cli_fail(call, status);
    fputs("name,value\n", output.stream);
    for (size_t i = 0; i < n; i++) {
        char number[32];
        pv_csv_field(output.stream, name[i]);
        pv_format_double(truth[i], number, sizeof number);
        fprintf(output.stream, ",%s\n", number);
    }
    status = pv_output_commit(call->ctx, &output);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* All columns except the last are features. */
static int write_table_truth(cli_call *call, const pv_table *table, const double *truth, const char *path) {
    const char **name = cli_alloc(table->columns, sizeof *name);
    name[0] = "(Intercept)";
    for (size_t i = 1; i < table->columns; i++)
        name[i] = table->column[i - 1].name;
    int code = write_truth(call, name, table->columns, truth, path);
    free(name);
    return code;
}

/* Images are written to a file of arrays. */
static int run_ct(cli_call *call, const simulate_options *options) {
    double truth[PV_CT_COEFFICIENTS];
    const char *name[PV_CT_COEFFICIENTS];
    if (!options->output || strcmp(options->output, "-") == 0)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "ct-nodules are written as a file of arrays: name it, as in -o nodules.npz");
    pv_status status = pv_simulate_ct_write(call->ctx, &options->simulation, options->output, truth);
    if (status != PV_OK)
        return cli_fail(call, status);
    for (int i = 0; i < PV_CT_COEFFICIENTS; i++)
        name[i] = pv_ct_coefficient(i);
    return options->truth ? write_truth(call, name, PV_CT_COEFFICIENTS, truth, options->truth) : CLI_OK;
}

/* Intercepts of the strata, then slopes. */
static int write_design_truth(cli_call *call, size_t strata, const double *truth, const char *path) {
    char(*text)[40] = cli_alloc(strata + 2, sizeof *text);
    const char **name = cli_alloc(strata + 2, sizeof *name);
    for (size_t i = 0; i < strata + 2; i++) {
        if (i < strata)
            snprintf(text[i], sizeof *text, "(Intercept) s%zu", i + 1);
        else
            snprintf(text[i], sizeof *text, "x%zu", i - strata + 1);
        name[i] = text[i];
    }
    int code = write_truth(call, name, strata + 2, truth, path);
    free(text);
    free(name);
    return code;
}

static int run_design(cli_call *call, simulate_options *options, const char *kind) {
    pv_design_simulation *d = &options->design;
    d->rows = options->simulation.rows;
    d->prevalence = cli_given(call, "prevalence") ? options->simulation.prevalence : 0.1;
    d->seed = options->simulation.seed;
    size_t strata = strcmp(kind, "matched") == 0 ? 0 : (size_t)d->strata;
    double *truth = cli_alloc(strata + 2, sizeof *truth);
    pv_table *table = NULL, *known = NULL;
    pv_status status = pv_simulate_design(call->ctx, kind, d, &table, options->known ? &known : NULL, truth);
    int code = status == PV_OK ? write_table(call, table, options->output) : cli_fail(call, status);
    if (code == CLI_OK && known)
        code = write_table(call, known, options->known);
    if (code == CLI_OK && options->truth)
        code = write_design_truth(call, strata, truth, options->truth);
    pv_table_free(call->ctx, table);
    pv_table_free(call->ctx, known);
    free(truth);
    return code;
}

static int run(cli_call *call) {
    simulate_options *options = call->options;
    const char *kind = call->argument[0];
    char *within = NULL;
    int code = check(call, kind);
    if (code == CLI_OK)
        code = read_within(call, options, &within);
    if (code != CLI_OK) {
        free(within);
        return code;
    }
    if (is_design(kind))
        return run_design(call, options, kind);
    if (!cli_given(call, "cases"))
        options->simulation.cases = options->simulation.controls = -1;
    if (strcmp(kind, "ct-nodules") == 0)
        return run_ct(call, options);
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
        code = write_table_truth(call, table, truth, options->truth);
    pv_table_free(call->ctx, table);
    free(truth);
    free(within);
    return code;
}

static const cli_argument arguments[] = {
    {"KIND",
     "nodules: lung nodules with seven covariates, drawn from a logistic model with log odds ratios of the size "
     "published for the Brock model. gaussian: two normal classes. ct-nodules: CT patches of lung nodules with four "
     "readers' votes, as an NPZ file. sites, cohort, matched, survey: rows by stratum and label, a second phase, "
     "matched "
     "sets, clusters with sampling weights. esoph: the Ille-et-Vilaine study of "
     "oesophageal cancer. contingency: the paper's table of four cells."},
    {NULL, NULL}};

static const cli_group groups[] = {{"Options", option_table, 0}, {NULL, NULL, 0}};

static const cli_example examples[] = {
    {"prevail simulate nodules --cases 500 --controls 500 -o study.csv",
     "A balanced case-control sample of a population in which one nodule in a hundred is malignant."},
    {"prevail simulate nodules --rows 200000 --seed 2 --truth truth.csv -o population.csv",
     "A draw from the population itself, with the coefficients behind it."},
    {"prevail simulate ct-nodules --cases 500 --controls 500 --prevalence 0.001 -o nodules.npz",
     "A balanced sample of CT patches; prevail fit nodules.npz --outcome labels --model convnet reads them."},
    {"prevail simulate nodules --rows 1000 --within age=50:75",
     "Selection by a feature: only people of these ages were asked."},
    {"prevail simulate nodules --cases 500 --controls 500 --within age=:65 --within-of controls",
     "Selection by both: controls are volunteers up to the age of 65, cases have any age."},
    {"prevail simulate sites --strata 4 --rows 800 --known known.csv -o rows.csv",
     "Four sites, each with a different proportion of cases; prevail fit rows.csv --outcome y --strata site "
     "--prevalence-by "
     "known.csv."},
    {"prevail simulate cohort --subcohort 0.1 --known cohort.csv -o rows.csv",
     "A case-cohort sample, and the counts of its cohort for --phase-one."},
    {NULL, NULL}};

const cli_command cli_simulate = {
    .name = "simulate",
    .summary = "simulated and embedded data sets, CSV or NPZ",
    .usage = "KIND [options] [-o FILE]",
    .text = "Writes a simulated table. The same seed gives the same file.\nSamples may be selected in the three ways "
            "of the paper's first figure: by label (--cases and --controls; the method's own case), by a feature "
            "(--within), or by both (--cases and --controls with --within, or --within-of). --prevalence and --truth "
            "refer to the population before selection.\nsites, cohort, matched and survey are samples by other designs "
            "(docs/designs.md), of a population whose strata differ in prevalence, share and the mean of x1; the log "
            "odds are a stratum's intercept plus 0.8 x1 - 0.5 x2.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(simulate_options),
    .output = "CSV. Columns:\n"
              "nodules\tage, female, smoker, emphysema, upper_lobe, diameter, part_solid, malignant (0 or 1)\n"
              "gaussian\tx1, x2, ..., y (0 or 1)\n"
              "ct-nodules\tan NPZ file: images [N][size][size][size] (Hounsfield units), labels [N] (1: malignant), "
              "votes [N][4] (1 to 5, 0: absent), group [N] (patients), spacing [N][3]; probability [N]: "
              "p(malignant | features) in the population; grade_probability [N][5]: the votes' expected frequencies; "
              "diameter, density (0 solid, 1 part-solid, 2 ground glass), margin, spiculation, lobulation [N]\n"
              "sites\tx1, x2, site (s1, s2, ...), y (0 or 1): rows by stratum and label\n"
              "cohort\tthe same: the second phase of a cohort, or a case-cohort sample (--subcohort)\n"
              "matched\tset, x1, x2, y: sets of a case and its controls\n"
              "survey\tx1, x2, site, cluster, weight (sampling weights), y\n"
              "esoph\tage, alcohol, tobacco (groups), cancer (0 or 1), count (people)\n"
              "contingency\tx, y, count",
    .examples = examples,
    .run = run};
