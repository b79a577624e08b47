/* prevail adjust: converts another model's probabilities from one population to another. */
#include "cli/classifier.h"
#include "cli/commands.h"
#include "cli/predictions.h"
#include "cli/strata.h"
#include "cli/target.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct adjust_options {
    const char *from, *to;
    const char *strata, *columns, *labels, *weights, *source, *target_column, *costs, *output;
    int missing;     /* pv_missing */
    double interval; /* 0: no intervals */
    cli_running running;
    pv_unknown_options target;
    pv_csv_options csv;
} adjust_options;

static const pv_option option_table[] = {
    {"from", PV_OPTION_TEXT, offsetof(adjust_options, from), NULL, 0, 0, NULL, "P|CSV",
     "The prevalence that the probabilities were made for, usually the label proportions of the model's training data: "
     "a number for the last of two labels, a list in label order, or LABEL=P,... With --strata also a CSV file with a "
     "row for each stratum: the columns of --strata, and prevalence. Required."},
    {"to", PV_OPTION_TEXT, offsetof(adjust_options, to), NULL, 0, 0, NULL, "P|CSV|unknown|counts:N,N,...",
     "The prevalence of the target population, written in the same way. unknown: infer it from these rows, which are a "
     "sample of that population. counts:N,N,...: these rows themselves, with this number of each label, in label "
     "order. With --strata a file as for --from, or unknown: one for each. Required."},
    {"strata", PV_OPTION_TEXT, offsetof(adjust_options, strata), NULL, 0, 0, NULL, "COLS",
     "Columns of PROBS, comma-separated, that name the stratum (site, age group) of a row. Each stratum is adjusted "
     "from its own prevalence in --from to its own in --to."},
    {"columns", PV_OPTION_TEXT, offsetof(adjust_options, columns), NULL, 0, 0, NULL, "LABEL=COL,...",
     "The column with the probability of each label. Default: the columns named p__LABEL. With two labels one is "
     "enough."},
    CLI_OPTION_INTERVAL(adjust_options, interval, NULL,
                        "Adds a central interval of this level, such as 0.95, for each probability, for the "
                        "uncertainty of the prevalence (--to unknown) or of the recalibration (--labelled-sample)."),
    CLI_OPTION_COSTS(adjust_options, costs),
    CLI_OPTION_MISSING(adjust_options, missing),
    CLI_OPTION_OUTPUT(adjust_options, output, "The file to write. Default: standard output."),
    CLI_OPTION_JSON(
        adjust_options, running.json,
        "Print one JSON object about the population; the probabilities go to --output, which is then required."),
    CLI_OPTION_THREADS(adjust_options, running.threads),
    CLI_OPTION_MEMORY(adjust_options, running.memory),
    CLI_OPTION_QUIET(adjust_options, running.quiet),
    CLI_OPTION_END};

static const pv_option unknown_table[] = {
    CLI_OPTION_LABELS(adjust_options, labels),
    {"weights", PV_OPTION_TEXT, offsetof(adjust_options, weights), NULL, 0, 0, NULL, "COL",
     "A column of counts or weights, one non-negative number per row: a row of weight v counts as v rows towards the "
     "prevalence. PROBS and --labelled-sample both need it."},
    CLI_OPTION_END};

static const pv_option source_table[] = {
    {"labelled-sample", PV_OPTION_TEXT, offsetof(adjust_options, source), NULL, 0, 0, NULL, "FILE",
     "Probabilities of the same model for other rows. With two labels: rows with known labels, in any proportions, "
     "that the "
     "model has not seen. They recalibrate probabilities that are too extreme or not extreme enough (a log likelihood "
     "ratio L becomes shift + slope L); --outcome names the column of the labels. --to unknown "
     "--method bbse: rows drawn from the population of --from, whose probabilities give the confusion matrix."},
    {"outcome", PV_OPTION_TEXT, offsetof(adjust_options, target_column), NULL, 0, 0, NULL, "COL",
     "The column of --labelled-sample with the true labels."},
    CLI_OPTION_END};

/* Rows per piece. Results do not depend on it. */
enum { PIECE = 1 << 17 };

typedef struct work {
    const adjust_options *options;
    pv_probs_options reading;
    pv_csv_options csv;
    pv_probs_pieces *pieces;
    pv_probs *probs;     /* the current piece */
    size_t rows;         /* of all pieces up to the current one */
    size_t dropped;      /* of all pieces up to the current one */
    cli_predictions out; /* of the current piece */
    pv_probs *source;
    pv_costs *costs;
    cli_decided decided;
    double *from;            /* [classes] */
    pv_population *to;       /* if they are wanted */
    int32_t *label;          /* [rows]; NULL: none known */
    double *confusion;       /* [classes][classes]; NULL: not needed */
    pv_reference *reference; /* from --labelled-sample with labels; NULL: none */
    pv_reading read_by;      /* with `reference` and a known prevalence */
    size_t *copy;
    pv_prediction *said;
} work;

static bool is_unknown(const adjust_options *options) {
    return strcmp(options->to, "unknown") == 0;
}

/* Whether each row is converted independently. Output to a pipe is written completely or not at all, so all rows are
 * read first. */
static bool row_by_row(const adjust_options *options) {
    return !is_unknown(options) && strncmp(options->to, "counts:", 7) != 0 && !options->strata &&
           cli_replaces_file(options->output);
}

#define OUTCOME_FOR "--outcome names the labels of --labelled-sample with --method bins: leave it out, or give these"

static const cli_rule rules[] = {
    {"", "from",
     "--from is missing: the prevalence that the probabilities were made for, usually the label proportions of the "
     "model's training data"},
    {"", "to", "--to is missing: the prevalence of the target population, or unknown"},
    {"interval", "to=unknown labelled-sample",
     "--interval is for --to unknown, and for labelled rows (--labelled-sample): leave it out, or give one of these"},
    {"strata labelled-sample", NULL, "--labelled-sample does not support strata: leave out one of the two"},
    {"labelled-sample", "method=bins method=bbse",
     "--labelled-sample is for --method bins and bbse: leave it out, or give one of these"},
    {"labelled-sample method=bins to=unknown", "outcome",
     "--labelled-sample needs the column of the labels: name it with --outcome, or use --method bbse"},
    {"labelled-sample method=bins", "outcome",
     "--labelled-sample needs the column of the labels: name it with --outcome"},
    {"outcome", "labelled-sample", OUTCOME_FOR},
    {"outcome", "method=bins", OUTCOME_FOR},
    {"json", "output", "--json prints on standard output; name a file for the probabilities with -o"},
    {"json output=-", NULL, "--json prints on standard output; name a file for the probabilities with -o"},
    {NULL, NULL, NULL}};

/* Options of an inferred prevalence; counts, which are the beginning of a value. */
static int check_options(cli_call *call, const adjust_options *options) {
    int code = CLI_OK;
    if (!is_unknown(options)) {
        code = cli_check_idle(call, unknown_table, "--to unknown", "give that");
        if (code == CLI_OK)
            code = cli_check_idle(call, pv_unknown_option_table, "--to unknown", "give that");
        if (code == CLI_OK && options->source && strncmp(options->to, "counts:", 7) == 0)
            code = cli_error(call, PV_ERR_USAGE, NULL,
                             "--labelled-sample does not support counts: leave it out, or state a prevalence");
    }
    return code == CLI_OK ? cli_check_method(call, &options->target) : code;
}

static int parse(cli_call *call, const char *option, const char *given, const pv_probs *probs, double *prevalence) {
    if (strspn(given, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(given))
        return cli_error(call, PV_ERR_USAGE, NULL, "%s %s: write a prevalence, such as 0.01%s", option, given,
                         strcmp(option, "--to") == 0 ? ", or unknown" : "");
    pv_status status = pv_prevalence_parse_one(call->ctx, option, given, probs->labels, probs->classes, prevalence);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* For strata: each with its own prevalence. */
static int read_strata(cli_call *call, const adjust_options *options, work *held) {
    pv_csv_options csv = cli_csv(call);
    pv_status status = pv_probs_from_read(call->ctx, held->probs, options->from, &csv);
    if (status != PV_OK)
        return cli_fail(call, status);
    bool unknown = is_unknown(options);
    if (!unknown && access(options->to, R_OK) != 0)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--to %s: with --strata give the name of a CSV file that can be read, with a prevalence for "
                         "each stratum (columns %s and prevalence), or unknown",
                         options->to, options->strata);
    status = unknown ? pv_population_of_probs(call->ctx, held->probs, NULL, options->to, &options->target, &held->to)
                     : pv_population_strata_read(call->ctx, held->probs, options->to, &csv, &held->to);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* Reads the two populations. */
static int read_populations(cli_call *call, const adjust_options *options, work *held) {
    const pv_probs *probs = held->probs;
    held->from = cli_alloc((size_t)probs->classes, sizeof *held->from);
    double *to = cli_alloc((size_t)probs->classes, sizeof *to);
    int code = parse(call, "--from", options->from, probs, held->from);
    bool named = is_unknown(options) || strncmp(options->to, "counts:", 7) == 0;
    if (code == CLI_OK && !named)
        code = parse(call, "--to", options->to, probs, to);
    if (code == CLI_OK) {
        pv_status status =
            named ? pv_population_of_probs(call->ctx, probs, held->from, options->to, &options->target, &held->to)
                  : pv_population_known(call->ctx, probs->classes, to, &held->to);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    free(to);
    return code;
}

static void end_piece(cli_call *call, work *held) {
    free(held->label);
    pv_prediction_free(call->ctx, held->said);
    pv_probs_free(call->ctx, held->probs);
    held->label = NULL;
    held->said = NULL;
    held->probs = NULL;
}

/* Reads the next rows. At the end keeps the current piece and sets *more to false. */
static int read_piece(cli_call *call, void *state, bool *more) {
    work *held = state;
    const adjust_options *options = held->options;
    pv_probs *probs = NULL;
    *more = false;
    while (!*more) {
        pv_status status =
            pv_probs_pieces_next(call->ctx, held->pieces, row_by_row(options) ? PIECE : SIZE_MAX, &probs);
        if (status != PV_OK)
            return cli_fail(call, status);
        if (!probs)
            return CLI_OK;
        held->rows += probs->data->rows;
        held->dropped += probs->data->dropped;
        *more = probs->data->rows > 0;
        if (*more)
            end_piece(call, held);
        else /* the current piece may be the last one with rows */
            pv_probs_free(call->ctx, probs);
    }
    held->probs = probs;
    if (!options->labels)
        return CLI_OK;
    held->label = cli_alloc(probs->data->rows, sizeof *held->label);
    pv_status status = pv_table_labels(call->ctx, probs->table, "--labels", options->labels, probs->labels,
                                       probs->classes, probs->data->rows, probs->data->table_row, held->label);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* Reads the first piece, which must have rows, and everything needed for the conversion. */
static int read_probs(cli_call *call, const adjust_options *options, work *held) {
    bool more;
    held->csv = cli_csv(call);
    held->reading = (pv_probs_options){.csv = &held->csv,
                                       .columns = options->columns,
                                       .weights = options->weights,
                                       .strata = options->strata,
                                       .all = true,
                                       .drop_missing = options->missing == PV_MISSING_DROP};
    pv_status status = pv_probs_pieces_open(call->ctx, call->argument[0], &held->reading, &held->pieces);
    if (status != PV_OK)
        return cli_fail(call, status);
    int code = read_piece(call, held, &more);
    if (code != CLI_OK)
        return code;
    if (!more || !held->probs)
        return cli_no_rows(call, call->argument[0], held->dropped);
    code = (options->strata ? read_strata : read_populations)(call, options, held);
    if (code != CLI_OK)
        return code;
    return cli_read_costs(call, options->costs, held->probs->labels, held->probs->classes, &held->costs);
}

/* bbse: the confusion matrix in the population of --from, according to the probabilities themselves. bins: how labelled
 * rows calibrate the probabilities. */
static int learn_source(cli_call *call, const adjust_options *options, work *held) {
    if (!options->source)
        return CLI_OK;
    pv_csv_options csv = cli_csv(call);
    pv_probs_options reading = {.csv = &csv,
                                .columns = options->columns,
                                .weights = options->weights,
                                .target = options->target_column,
                                .all = true,
                                .drop_missing = options->missing == PV_MISSING_DROP};
    pv_status status = pv_probs_read(call->ctx, options->source, &reading, &held->source);
    if (status != PV_OK)
        return cli_fail(call, status);
    const pv_probs *probs = held->probs;
    for (int y = 0; y < probs->classes; y++)
        if (held->source->classes != probs->classes || strcmp(held->source->labels[y], probs->labels[y]) != 0)
            return cli_error(call, PV_ERR_INPUT, options->source,
                             "lacks the probability columns of %s; give probabilities of the same model",
                             call->argument[0]);
    if (options->target_column) {
        status = pv_probs_reference(call->ctx, held->source, held->from, &held->reference);
        if (status == PV_OK && !is_unknown(options))
            status = pv_reference_read(call->ctx, held->reference, &held->read_by);
        return status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    held->confusion = cli_alloc((size_t)probs->classes * (size_t)probs->classes, sizeof *held->confusion);
    status = pv_probs_confusion(call->ctx, held->source, held->from, held->confusion);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int compute(cli_call *call, void *state) {
    work *held = state;
    const pv_predict_options wanted = {.level = held->options->interval, .label = held->label};
    if (held->to) { /* always available, but callers that ignore exit codes need to be told */
        held->to->unknown.level = CLI_LEVEL;
        held->to->unknown.confusion = held->confusion;
        held->to->unknown.reference = held->reference;
    }
    pv_status status = pv_predict_probs(call->ctx, held->probs, held->from, held->to, &wanted, &held->said);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* Whether the output may use this name for its own columns. A column of that name from an earlier run must not be
 * kept. */
static bool made_anew(const pv_probs *probs, const char *name) {
    static const char *const prefixes[] = {"p__", "lo__", "hi__"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        for (int y = 0; y < probs->classes; y++)
            if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0 &&
                strcmp(name + strlen(prefixes[i]), probs->labels[y]) == 0)
                return true;
    return strcmp(name, "decision__") == 0 || strcmp(name, "cost__") == 0;
}

/* Columns of the input that the output does not replace. */
static bool kept(const pv_probs *probs, size_t c) {
    for (int y = 0; y < probs->classes; y++)
        if (probs->column[y] == c)
            return false;
    return !made_anew(probs, probs->table->column[c].name);
}

/* The current piece, ready for writing. */
static const cli_predictions *show_piece(void *state) {
    work *held = state;
    const pv_probs *probs = held->probs;
    size_t copies = 0;
    held->copy = cli_resize(held->copy, probs->table->columns, sizeof *held->copy);
    for (size_t c = 0; c < probs->table->columns; c++)
        if (kept(probs, c))
            held->copy[copies++] = c;
    held->out = (cli_predictions){.labels = probs->labels,
                                  .classes = probs->classes,
                                  .rows = probs->data->rows,
                                  .p = held->said->p,
                                  .lo = held->said->lo,
                                  .hi = held->said->hi,
                                  .costs = held->costs,
                                  .table = probs->table,
                                  .row = probs->data->table_row,
                                  .copy = held->copy,
                                  .copies = copies,
                                  .before = probs->table->before};
    return &held->out;
}

static pv_result *json_reading(const pv_reading *reading) {
    pv_result *object = pv__value_object();
    pv__value_set(object, "shift", pv__value_real(reading->shift));
    pv__value_set(object, "shift_se", pv__value_real(sqrt(reading->covariance[0])));
    pv__value_set(object, "slope", pv__value_real(reading->slope));
    pv__value_set(object, "slope_se", pv__value_real(sqrt(reading->covariance[2])));
    return object;
}

static int report(cli_call *call, const adjust_options *options, const work *held) {
    const pv_probs *probs = held->probs;
    cli_note_strata(call, held->said->strata, probs->labels, probs->classes);
    if (held->said->inferred && !held->said->strata)
        cli_note_target(call, held->said->inferred, probs->labels, held->rows);
    if (held->said->inferred && !held->said->strata)
        cli_note_shift(call, held->said->inferred, NULL);
    bool read = held->reference && !is_unknown(options);
    if (read && !options->running.json)
        cli_note(call,
                 "recalibrated on the labelled rows: a log likelihood ratio L becomes %.3g + %.3g L (standard "
                 "errors %.2g and %.2g)",
                 held->read_by.shift, held->read_by.slope, sqrt(held->read_by.covariance[0]),
                 sqrt(held->read_by.covariance[2]));
    cli_note_costs(call, held->costs, probs->labels);
    cli_note_decided(call, held->costs, &held->decided);
    cli_note_dropped(call, NULL, NULL, held->dropped);
    if (!options->running.json)
        return held->said->strata
                   ? CLI_OK
                   : cli_expected(call, held->said->inferred, held->reference, cli_threshold(held->costs), NULL);
    pv_result *object = pv__value_object();
    pv__value_set(object, "from",
                  held->from ? cli_json_by_label(probs->labels, probs->classes, held->from) : pv__value_null());
    pv__value_set(object, "prevalence", cli_json_by_label(probs->labels, probs->classes, held->said->prevalence));
    if (held->said->inferred)
        cli_json_target(object, held->said->inferred, probs->labels);
    if (held->said->inferred)
        cli_json_shift(object, held->said->inferred, NULL);
    cli_json_predicted_strata(object, held->said->strata, probs->labels, probs->classes);
    int code = held->said->strata
                   ? CLI_OK
                   : cli_expected(call, held->said->inferred, held->reference, cli_threshold(held->costs), object);
    if (code != CLI_OK) {
        pv_result_free(object);
        return code;
    }
    pv__value_set(object, "reading", read ? json_reading(&held->read_by) : pv__value_null());
    pv__value_set(object, "rows", pv__value_integer((int64_t)held->rows));
    pv__value_set(object, "dropped", pv__value_integer((int64_t)held->dropped));
    pv__value_set(object, "costs", cli_json_costs(held->costs, probs->labels));
    pv__value_set(object, "decisions", cli_json_decided(held->costs, &held->decided));
    pv__value_set(object, "data", pv__value_text(call->argument[0]));
    pv__value_set(object, "output", pv__value_text(options->output));
    pv__value_set(object, "warnings", cli_json_warnings(call));
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    cli_json_print(call, object);
    return CLI_OK;
}

static int run(cli_call *call) {
    const adjust_options *options = call->options;
    work held = {.options = options};
    const cli_pieces pieces = {
        .read = read_piece, .compute = compute, .show = show_piece, .state = &held, .decided = &held.decided};
    call->collect = options->running.json;
    int code = check_options(call, options);
    if (code == CLI_OK)
        code = cli_check_output(call, options->output);
    if (code == CLI_OK)
        code = read_probs(call, options, &held);
    if (code == CLI_OK)
        code = learn_source(call, options, &held);
    if (code == CLI_OK)
        code = compute(call, &held);
    if (code == CLI_OK)
        code = cli_write_pieces(call, &pieces, options->output);
    if (code == CLI_OK)
        code = report(call, options, &held);
    end_piece(call, &held);
    pv_probs_pieces_free(call->ctx, held.pieces);
    free(held.from);
    free(held.confusion);
    pv_reference_free(call->ctx, held.reference);
    free(held.copy);
    pv_population_free(call->ctx, held.to);
    pv_costs_free(call->ctx, held.costs);
    cli_decided_free(&held.decided);
    pv_probs_free(call->ctx, held.source);
    return code;
}

static const cli_argument arguments[] = {
    {"PROBS", "A CSV file with a column p__LABEL of probabilities for each label, as prevail predict writes. - reads "
              "standard input."},
    {NULL, NULL}};

static const cli_group groups[] = {{"Options", option_table, 0},
                                   {"Reading", pv_csv_option_table, offsetof(adjust_options, csv)},
                                   {"Other rows", source_table, 0},
                                   {"Unknown prevalence", unknown_table, 0},
                                   {"How it is inferred", pv_unknown_option_table, offsetof(adjust_options, target)},
                                   {NULL, NULL, 0}};

static const cli_common common[] = {
    {"Data", "columns", NULL},
    {NULL, "missing", "What to do with missing cells."},
    {"Population", "from", "The prevalence that the probabilities were made for, usually that of the training data."},
    {NULL, "to", "The prevalence of the target population."},
    {NULL, "strata", "Columns of strata, each with a prevalence of its own in the files of --from and --to."},
    {NULL, "labels", "Unknown prevalence: a column with the labels of some rows."},
    {NULL, "labelled-sample", "Labelled rows that recalibrate the probabilities."},
    {NULL, "outcome", NULL},
    {"Uncertainty", "interval", "Adds the central interval of this level, as in --interval 0.95."},
    {"Decisions", "costs", "A CSV file of costs: the action of least expected cost for each row."},
    {"Output", "output", NULL},
    {NULL, "json", "Print one JSON object about the population as well."},
    {NULL, NULL, NULL}};

static const cli_example examples[] = {
    {"prevail adjust probs.csv --from 0.5 --to 0.01 -o risks.csv",
     "Probabilities of a model trained on a balanced set, for a population in which one in a hundred is a case."},
    {"prevail adjust probs.csv --from 0.5 --to unknown --interval 0.95",
     "The same with an unknown prevalence, inferred from the rows, with intervals."},
    {"prevail adjust probs.csv --strata site --from trained.csv --to here.csv",
     "Sites, each with its own prevalence in the training data and in the target population."},
    {"prevail adjust probs.csv --from 0.5 --to 0.01 --labelled-sample labelled.csv --outcome cancer --interval 0.95",
     "Probabilities that may be too extreme, recalibrated on labelled rows that the model has not seen."},
    {"prevail adjust probs.csv --from 0.5 --to 0.01 --columns yes=risk", "One column only, the probability of yes."},
    {NULL, NULL}};

static const cli_hint hints[] = {{"population", "to", NULL}, {NULL, NULL, NULL}};
static const cli_hint renamed[] = {{"population", "to", NULL}, {NULL, NULL, NULL}};

const cli_command cli_adjust = {
    .name = "adjust",
    .summary = "another model's probabilities in another population",
    .usage =
        "PROBS --from P|CSV --to P|CSV|unknown [--strata COLS] [--costs FILE] [--interval LEVEL] [-o CSV] [options]",
    .text = "Corrects probabilities for a change of prevalence: multiplies each by the ratio of its label's prevalence "
            "in the two populations, and normalises the rows. This is right if the populations differ only in how "
            "common each label is (label shift).\nWith --to unknown the prevalence is inferred from the rows: the more "
            "rows, and the better the probabilities separate the labels, the narrower its interval. A warning is "
            "printed if they hardly determine it.\nWith --strata each stratum (site, age group) is adjusted "
            "separately, from the prevalence that it had in training.",
    .arguments = arguments,
    .groups = groups,
    .common = common,
    .hints = hints,
    .renamed = renamed,
    .options_size = sizeof(adjust_options),
    .output =
        "CSV, one line for each row of PROBS in its order. Columns:\n(others)\tThe other columns of PROBS, unchanged; "
        "if there are none, row, the row's number\np__LABEL\tThe corrected probability of each label\nlo__LABEL, "
        "hi__LABEL\tWith --interval, its bounds for each label\ndecision__\tThe most probable label, the first if "
        "tied; with --costs, the action of least expected cost\ncost__\tWith --costs, that expected cost\nColumns "
        "p__LABEL, lo__LABEL, hi__LABEL, decision__ and cost__ of PROBS are left out or replaced. With --json one "
        "object: from, prevalence (label: p), reading (--labelled-sample with a known prevalence: shift, slope and "
        "their standard errors; else null), rows, costs, and for --to unknown target_prevalence (label: value, lo, hi, "
        "sd), method, iterations, stop, identified, calibrated, shift and expected. With --strata from is null, "
        "expected is left out, and strata is a list as in prevail predict --json.",
    .examples = examples,
    .rules = rules,
    .run = run};
