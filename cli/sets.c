/* prevail sets: sets of labels with guaranteed coverage, and calls with a "refer" region. */
#include "cli/classifier.h"
#include "cli/commands.h"
#include "cli/predictions.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct sets_options {
    pv_sets_options how;
    const char *calibration, *outcome, *group, *weights, *probs, *columns;
    const char *id, *keep;
    int missing; /* pv_missing */
    int unseen;  /* pv_unseen */
    const char *output;
    cli_running running;
    pv_csv_options csv;
} sets_options;

static const pv_option calibration_table[] = {
    {"calibration", PV_OPTION_TEXT, offsetof(sets_options, calibration), NULL, 0, 0, NULL, "FILE",
     "Labelled rows that were not used to fit the model, in any proportions of the labels: at least 1/(1 - coverage) - "
     "1 of each label, and several hundred if a single sample is to have nearly the wanted coverage."},
    {"outcome", PV_OPTION_TEXT, offsetof(sets_options, outcome), NULL, 0, 0, NULL, "COL",
     "Their column of labels. Default: the name it had in fit."},
    {"group", PV_OPTION_TEXT, offsetof(sets_options, group), NULL, 0, 0, NULL, "COL",
     "Their column of units, such as persons with several rows: one row of each unit and label is used, chosen by "
     "--seed. Default: the units of the fit, if the file has the column."},
    {"weights", PV_OPTION_TEXT, offsetof(sets_options, weights), NULL, 0, 0, NULL, "COL",
     "Their column of counts: how many rows are alike. Default: the name it had in fit, if the file has the column."},
    CLI_OPTION_END};
static const pv_option probs_table[] = {
    {"probs", PV_OPTION_TEXT, offsetof(sets_options, probs), NULL, 0, 0, NULL, "FILE",
     "Another model's probabilities instead of MODEL and DATA: columns p__LABEL. The calibration rows have them too, "
     "of "
     "the same model for the same population, and the --outcome."},
    {"columns", PV_OPTION_TEXT, offsetof(sets_options, columns), NULL, 0, 0, NULL, "LABEL=COL,...",
     "The columns with the probabilities, if they are not named p__LABEL."},
    CLI_OPTION_END};
static const pv_option run_table[] = {
    {"id", PV_OPTION_TEXT, offsetof(sets_options, id), NULL, 0, 0, NULL, "COL",
     "A column to copy into the first column of the output. Default: the row's number."},
    {"keep", PV_OPTION_TEXT, offsetof(sets_options, keep), NULL, 0, 0, NULL, "COL",
     "Another column to copy into the output, such as the outcome."},
    CLI_OPTION_MISSING_MODEL(sets_options, missing),
    CLI_OPTION_UNSEEN(sets_options, unseen),
    CLI_OPTION_OUTPUT(sets_options, output, "The file to write. Default: standard output."),
    CLI_OPTION_JSON(sets_options, running.json,
                    "Print one JSON object about the rule; the sets go to --output, which is needed then."),
    CLI_OPTION_THREADS(sets_options, running.threads),
    CLI_OPTION_MEMORY(sets_options, running.memory),
    CLI_OPTION_QUIET(sets_options, running.quiet),
    CLI_OPTION_END};

/* A table with the probabilities of its rows. */
typedef struct scored {
    pv_table *table;
    pv_dataset *data;
    pv_prediction *said;
    pv_probs *probs;
} scored;

typedef struct work {
    const sets_options *options;
    pv_classifier *classifier; /* NULL: --probs */
    pv_population *population;
    pv_settings *settings;
    scored known, rows; /* calibration rows, and those that the sets are for */
    int32_t *unit;      /* [calibration rows]; NULL: none */
    pv_result *rule;
    int32_t *member; /* [classes][rows], less 1 */
    int32_t *call;   /* [rows]; NULL: no calls */
} work;

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int check_options(cli_call *call, const sets_options *o) {
    const char *data = o->probs ? o->probs : call->argument[0] ? call->argument[1] : NULL;
    if (o->probs && call->argument[0])
        return cli_error(call, PV_ERR_USAGE, NULL, "--probs replaces MODEL and DATA: leave out %s", call->argument[0]);
    if (!o->probs && !call->argument[0])
        return cli_error(call, PV_ERR_USAGE, NULL, "MODEL is missing; usage: prevail sets %s", call->command->usage);
    if (!o->calibration)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--calibration is missing: a file of labelled rows that were not used to fit the model");
    if (o->columns && !o->probs)
        return cli_error(call, PV_ERR_USAGE, NULL, "--columns needs --probs; leave it out");
    if (o->probs && !o->outcome)
        return cli_error(call, PV_ERR_USAGE, NULL, "--probs needs --outcome, the column with the calibration labels");
    if (o->probs && cli_given(call, "missing") && o->missing != PV_MISSING_DROP && o->missing != PV_MISSING_REFUSE)
        return cli_error(call, PV_ERR_USAGE, NULL, "--missing is refuse or drop with --probs");
    if (o->probs && cli_given(call, "unseen"))
        return cli_error(call, PV_ERR_USAGE, NULL, "--unseen is for the columns of a model, not for --probs");
    static const char *const of_data[] = {"id", "keep", "output"};
    for (size_t i = 0; !data && i < 3; i++)
        if (cli_given(call, of_data[i]))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s needs DATA, the rows that the sets are for; leave it out",
                             of_data[i]);
    if (data && o->running.json && (!o->output || strcmp(o->output, "-") == 0))
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--json prints on standard output; name a file for the sets with -o");
    if (!o->how.refer && cli_given(call, "confidence"))
        return cli_error(call, PV_ERR_USAGE, NULL, "--confidence is that of --refer; give that, or leave it out");
    return cli_check_output(call, o->output);
}

/* The options as the library takes them: by name and text. */
static pv_status settings_of(pv_ctx *ctx, const pv_sets_options *how, pv_settings **settings) {
    pv_status status = pv_sets_settings_new(ctx, settings);
    for (const pv_option *row = pv_sets_option_table; status == PV_OK && row->name; row++) {
        char word[64];
        const char *text = word;
        if (row->type == PV_OPTION_TEXT)
            memcpy(&text, (const char *)how + row->offset, sizeof text);
        else
            pv_option_get(row, how, word, sizeof word);
        status = pv_settings_set(ctx, *settings, row->name, text);
    }
    return status;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool has_column(const pv_table *table, const char *name) {
    bool found = false;
    for (size_t c = 0; name && c < table->columns && !found; c++)
        found = strcmp(table->column[c].name, name) == 0;
    return found;
}

static bool is_models(const pv_schema *schema, const char *name) {
    bool found = false;
    for (size_t i = 0; i < schema->sources && !found; i++)
        found = strcmp(schema->source[i].name, name) == 0;
    return found;
}

static int read_table(cli_call *call, const work *held, const char *path, const pv_roles *roles,
                      const char *const copy[2], pv_table **table) {
    const pv_schema *schema = held->classifier->schema;
    const char *keep[2], *text[2];
    pv_csv_options csv = cli_csv(call);
    csv.roles = roles;
    csv.schema = schema;
    csv.keep = keep;
    csv.text = text;
    for (size_t i = 0; i < 2; i++) {
        if (copy[i])
            keep[csv.n_keep++] = copy[i];
        if (copy[i] && !is_models(schema, copy[i]))
            text[csv.n_text++] = copy[i];
    }
    pv_status status = pv_table_read(call->ctx, path, &csv, table);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* The probabilities of a table's rows, with labels and weights if roles name them. */
static int score(cli_call *call, const work *held, const char *path, const pv_roles *roles, scored *to) {
    const pv_schema *schema = held->classifier->schema;
    pv_status status = pv_schema_apply(call->ctx, schema, to->table, roles, &to->data);
    if (status != PV_OK)
        return cli_fail(call, status);
    if (to->data->rows == 0)
        return cli_no_rows(call, path, to->data->dropped);
    cli_note_dropped(call, path, to->data->image, to->data->dropped);
    status = pv_predict(call->ctx, held->classifier, to->data, held->population, NULL, &to->said);
    if (status == PV_OK)
        status = pv_probs_new(call->ctx, to->data->rows, (const char *const *)schema->labels, schema->classes,
                              schema->classes, to->said->p, to->data->label, to->data->weight, &to->probs);
    if (status == PV_OK)
        to->probs->data->sampling = to->data->sampling;
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int take_units(cli_call *call, const pv_table *table, const pv_dataset *data, const char *group, work *held) {
    size_t c;
    pv_status status = pv_table_find(call->ctx, table, "--group", group, &c);
    if (status != PV_OK)
        return cli_fail(call, status);
    const pv_column *column = &table->column[c];
    if (column->type != PV_COLUMN_TEXT)
        return cli_error(call, PV_ERR_INPUT, held->options->calibration,
                         "column '%s' (--group) is a feature of the model; name a column that identifies units", group);
    held->unit = cli_alloc(data->rows, sizeof *held->unit);
    for (size_t i = 0; i < data->rows; i++) {
        size_t row = data->table_row ? data->table_row[i] : i;
        held->unit[i] = column->code[row];
        if (held->unit[i] < 0)
            return cli_error(call, PV_ERR_INPUT, held->options->calibration,
                             "column '%s' (--group) has no unit in row %zu; give each row its unit", group, row + 1);
    }
    return CLI_OK;
}

static int read_by_model(cli_call *call, work *held) {
    const sets_options *o = held->options;
    const pv_classifier *c = held->classifier;
    const pv_roles learned = pv_schema_roles(c->schema);
    const char *own = c->schema->cluster && *c->schema->cluster ? c->schema->cluster : learned.group;
    pv_roles roles = {.target = o->outcome ? o->outcome : learned.target,
                      .weights = o->weights ? o->weights : learned.weights,
                      .missing = o->missing,
                      .unseen = o->unseen};
    const char *const units[2] = {o->group ? o->group : own, NULL}, *const copies[2] = {o->id, o->keep};
    int code = read_table(call, held, o->calibration, &roles, units, &held->known.table);
    if (code != CLI_OK)
        return code;
    roles.weights = cli_weights(c, held->known.table, o->weights);
    code = score(call, held, o->calibration, &roles, &held->known);
    if (code == CLI_OK && held->known.data->hash == c->data_hash)
        return cli_error(call, PV_ERR_INPUT, o->calibration,
                         "has the rows that the model was fitted to, whose probabilities are too good: coverage would "
                         "be lower than wanted. Calibrate on other labelled rows");
    bool own_units = !o->group && has_column(held->known.table, own);
    if (code == CLI_OK && own_units)
        cli_note(call, "units are those of column '%s', as in the fit", own);
    if (code == CLI_OK && (o->group || own_units))
        code = take_units(call, held->known.table, held->known.data, units[0], held);
    if (code != CLI_OK || !call->argument[1])
        return code;
    roles = (pv_roles){.missing = o->missing, .unseen = o->unseen};
    code = read_table(call, held, call->argument[1], &roles, copies, &held->rows.table);
    return code == CLI_OK ? score(call, held, call->argument[1], &roles, &held->rows) : code;
}

static int load_model(cli_call *call, work *held) {
    pv_status status = pv_classifier_load(call->ctx, call->argument[0], &held->classifier);
    if (status != PV_OK)
        return cli_fail(call, status);
    const pv_classifier *c = held->classifier;
    if (*pv_schema_roles(c->schema).target == '\0')
        return cli_error(call, PV_ERR_INPUT, call->argument[0],
                         "was fitted to votes, and calibration needs one label for each row; use --probs");
    /* any population will do if it is the same for all rows */
    status = pv_population_new(call->ctx, c, c->prevalence ? "true" : "design", NULL, &held->population);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int read_probs(cli_call *call, work *held) {
    const sets_options *o = held->options;
    pv_csv_options csv = cli_csv(call);
    pv_probs_options reading = {.csv = &csv,
                                .columns = o->columns,
                                .target = o->outcome,
                                .weights = o->weights,
                                .all = true,
                                .drop_missing = o->missing == PV_MISSING_DROP};
    pv_status status = pv_probs_read(call->ctx, o->calibration, &reading, &held->known.probs);
    reading.target = reading.weights = NULL;
    if (status == PV_OK)
        status = pv_probs_read(call->ctx, o->probs, &reading, &held->rows.probs);
    if (status != PV_OK)
        return cli_fail(call, status);
    const pv_probs *known = held->known.probs, *rows = held->rows.probs;
    for (int y = 0; y < known->classes; y++)
        if (rows->classes != known->classes || strcmp(rows->labels[y], known->labels[y]) != 0)
            return cli_error(call, PV_ERR_INPUT, o->probs,
                             "lacks the columns of probabilities of %s, or has them in another order; give rows of the "
                             "same model",
                             o->calibration);
    cli_note_dropped(call, o->calibration, NULL, known->data->dropped);
    cli_note_dropped(call, o->probs, NULL, rows->data->dropped);
    if (rows->data->rows == 0 || known->data->rows == 0)
        return cli_no_rows(call, rows->data->rows == 0 ? o->probs : o->calibration, rows->data->dropped);
    return o->group ? take_units(call, known->table, known->data, o->group, held) : CLI_OK;
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static int apply(cli_call *call, work *held) {
    const pv_probs *rows = held->rows.probs;
    size_t n = rows->data->rows, k = (size_t)rows->classes;
    int32_t *member = cli_alloc(n * k, sizeof *member);
    held->call = held->options->how.refer ? cli_alloc(n, sizeof *held->call) : NULL;
    pv_status status = pv_sets_apply(call->ctx, held->rule, n, rows->classes, rows->p, member, held->call);
    held->member = cli_alloc(n * k, sizeof *held->member);
    for (size_t i = 0; status == PV_OK && i < n; i++)
        for (size_t y = 0; y < k; y++)
            held->member[y * n + i] = member[i * k + y] - 1;
    free(member);
    for (size_t i = 0; held->call && i < n; i++)
        held->call[i] = held->call[i] < 0 ? 2 : held->call[i];
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int write_sets(cli_call *call, const work *held) {
    const pv_probs *rows = held->rows.probs;
    const pv_table *table = rows->table ? rows->table : held->rows.table;
    const char *const names[2] = {held->options->id, held->options->keep};
    size_t n = rows->data->rows, k = (size_t)rows->classes, copy[2], copies = 0;
    for (size_t i = 0; i < 2; i++)
        if (names[i]) {
            pv_status status = pv_table_find(call->ctx, table, i == 0 ? "--id" : "--keep", names[i], &copy[copies++]);
            if (status != PV_OK)
                return cli_fail(call, status);
        }
    cli_extra *extra = cli_alloc(k + 1, sizeof *extra);
    char **name = cli_alloc(k, sizeof *name);
    char *calls[3] = {rows->labels[0], rows->labels[1], (char[]){"(refer)"}};
    for (size_t y = 0; y < k; y++) {
        size_t size = strlen(rows->labels[y]) + sizeof "set__";
        name[y] = cli_alloc(size, 1);
        snprintf(name[y], size, "set__%s", rows->labels[y]);
        extra[y] = (cli_extra){.name = name[y], .code = held->member + y * n};
    }
    extra[k] = (cli_extra){.name = "call__", .code = held->call, .word = calls};
    const cli_predictions out = {.labels = rows->labels,
                                 .classes = rows->classes,
                                 .rows = n,
                                 .p = rows->p,
                                 .table = table,
                                 .row = held->rows.data ? held->rows.data->table_row : rows->data->table_row,
                                 .copy = copy,
                                 .copies = copies,
                                 .extra = extra,
                                 .extras = k + (held->call ? 1 : 0),
                                 .undecided = true};
    int code = cli_write_predictions(call, &out, held->options->output);
    for (size_t y = 0; y < k; y++)
        free(name[y]);
    free(name);
    free(extra);
    return code;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

/* What the rows got: shares of sets by size, and of calls. */
static pv_result *counted(const work *held) {
    const pv_probs *rows = held->rows.probs;
    size_t n = rows->data->rows, k = (size_t)rows->classes;
    double size[3] = {0, 0, 0}, called[3] = {0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        int members = 0;
        for (size_t y = 0; y < k; y++)
            members += held->member[y * n + i] + 1;
        size[members < 2 ? members : 2]++;
        if (held->call)
            called[held->call[i]]++;
    }
    pv_result *made = pv__value_pack("Irrr", "count", (int64_t)n, "empty", size[0] / (double)n, "single",
                                     size[1] / (double)n, "several", size[2] / (double)n);
    if (held->call) {
        pv_result *calls = pv__value_object();
        for (int y = 0; y < 2; y++)
            pv__value_set(calls, rows->labels[y], pv__value_real(called[y] / (double)n));
        pv__value_set(made, "called", calls);
        pv__value_set(made, "referred", pv__value_real(called[2] / (double)n));
    }
    return made;
}

static int report(cli_call *call, work *held) {
    const sets_options *o = held->options;
    bool written = held->rows.probs && (!o->output || strcmp(o->output, "-") == 0);
    pv_result *rows = held->rows.probs ? counted(held) : pv__value_null();
    if (o->running.json) {
        pv__value_set(held->rule, "rows", rows);
        pv__value_set(held->rule, "version", pv__value_text(PV_VERSION));
        cli_json_print(call, held->rule);
        held->rule = NULL;
        return CLI_OK;
    }
    char *text = NULL;
    pv_status status = pv_sets_text(call->ctx, held->rule, &text);
    if (status == PV_OK && !(written && o->running.quiet))
        fputs(text, written ? stderr : stdout);
    pv_result_text_free(call->ctx, text);
    if (status == PV_OK && held->rows.probs) {
        double share[3];
        static const char *const name[] = {"empty", "single", "several"};
        for (int i = 0; i < 3; i++)
            share[i] = 100 * pv_result_number(pv_result_get(rows, name[i]));
        cli_note(call, "%zu rows: %.3g %% of the sets are empty, %.3g %% have one label, %.3g %% more",
                 held->rows.probs->data->rows, share[0], share[1], share[2]);
        if (held->call)
            cli_note(call, "%.3g %% of the rows are referred", 100 * pv_result_number(pv_result_get(rows, "referred")));
    }
    pv_result_free(rows);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static void clear(cli_call *call, work *held) {
    scored *const both[2] = {&held->known, &held->rows};
    for (int i = 0; i < 2; i++) {
        pv_probs_free(call->ctx, both[i]->probs);
        pv_prediction_free(call->ctx, both[i]->said);
        pv_dataset_free(call->ctx, both[i]->data);
        pv_table_free(call->ctx, both[i]->table);
    }
    free(held->unit);
    free(held->member);
    free(held->call);
    pv_result_free(held->rule);
    pv_settings_free(call->ctx, held->settings);
    pv_population_free(call->ctx, held->population);
    pv_classifier_free(call->ctx, held->classifier);
}

static int work_on(cli_call *call, work *held, bool *nothing) {
    const sets_options *o = held->options;
    int code = check_options(call, o);
    if (code == CLI_OK)
        code = cli_done(call, settings_of(call->ctx, &o->how, &held->settings));
    if (code == CLI_OK && !o->probs)
        code = load_model(call, held);
    if (code == CLI_OK)
        code = o->probs ? read_probs(call, held) : read_by_model(call, held);
    if (code == CLI_OK && !held->unit && cli_given(call, "seed"))
        code = cli_error(call, PV_ERR_USAGE, NULL,
                         "--seed chooses a row of each unit; name the units with --group, or leave it out");
    if (code == CLI_OK)
        code = cli_done(call, pv_sets_calibrate(call->ctx, held->known.probs, held->unit, held->settings, &held->rule));
    if (code != CLI_OK)
        return code;
    *nothing = pv_result_number(pv_result_get(pv_result_get(held->rule, "refer"), "all_referred")) > 0;
    if (held->rows.probs)
        code = apply(call, held);
    if (code == CLI_OK && held->rows.probs)
        code = write_sets(call, held);
    return code == CLI_OK ? report(call, held) : code;
}

static int run(cli_call *call) {
    work held = {.options = call->options};
    bool nothing = false;
    int code = work_on(call, &held, &nothing);
    clear(call, &held);
    if (code == CLI_OK && nothing) {
        cli_note(call, "every row is referred");
        return CLI_PROBLEMS;
    }
    return code;
}

static const cli_argument arguments[] = {
    {"[MODEL]", "A model file, written by prevail fit. Not with --probs."},
    {"[DATA]", "The rows that the sets are for, with the model's columns. Default: only the rule is printed."},
    {NULL, NULL}};
static const cli_group groups[] = {{"Calibration rows", calibration_table, 0},
                                   {"Sets", pv_sets_option_table, offsetof(sets_options, how)},
                                   {"Another model", probs_table, 0},
                                   {"Reading", pv_csv_option_table, offsetof(sets_options, csv)},
                                   {"Running", run_table, 0},
                                   {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail sets study.model people.csv --calibration labelled.csv -o sets.csv",
     "Sets that contain the label of 90 % of the rows of each label."},
    {"prevail sets study.model people.csv --calibration labelled.csv --coverage case=0.99,control=0.9 -o sets.csv",
     "A coverage for each label."},
    {"prevail sets study.model people.csv --calibration labelled.csv --refer control=0.001,case=0.5 --prevalence "
     "0.005-0.02 -o calls.csv",
     "Calls: at most one in a thousand of those called control is a case, at most half of those called case are not; "
     "the others are referred."},
    {"prevail sets --probs new.csv --calibration labelled.csv --outcome truth --coverage 0.95",
     "Probabilities of another model."},
    {NULL, NULL}};
static const cli_hint hints[] = {{"level", "coverage", NULL},
                                 {"alpha", "coverage", NULL},
                                 {"cluster", "group", NULL},
                                 {"labelled-sample", "calibration", NULL},
                                 {NULL, NULL, NULL}};

const cli_command cli_sets = {
    .name = "sets",
    .summary = "sets of labels with guaranteed coverage, and calls with a refer region",
    .usage = "MODEL [DATA] --calibration FILE [--coverage C] [--refer E --prevalence P] [-o CSV] [options]",
    .text =
        "For each row, the set of labels that are plausible for it. Of the rows of each label, at least the share "
        "--coverage have a set that contains their label, on average over samples of calibration rows. This holds for "
        "any "
        "model, any number of calibration rows and any prevalence: calibration rows and DATA may have other "
        "proportions of "
        "the labels, as long as the rows of each label are alike (label shift). Sets are empty where a row is unlike "
        "the "
        "calibration rows of all labels, and have several labels where the model cannot tell.\nWith --refer, two "
        "labels: "
        "each row is either called one label or referred. With probability --confidence, the proportion of wrong calls "
        "of each label is at most the stated one, at every prevalence in the interval --prevalence.",
    .arguments = arguments,
    .groups = groups,
    .hints = hints,
    .options_size = sizeof(sets_options),
    .output =
        "CSV, one line for each row of DATA. Columns:\nrow or --id\tThe row\nset__LABEL\t1 if the set contains the "
        "label, else 0\ncall__\tWith --refer: the label, or (refer)\np__LABEL\tThe model's probability of each label, "
        "in the population stated in fit\nWith --json one object: labels (by label: coverage, rows, rank, threshold, "
        "expected and range of the coverage, sets), population, refer, rows, warnings. The exit code is 3 if every row "
        "is referred.",
    .examples = examples,
    .run = run};
