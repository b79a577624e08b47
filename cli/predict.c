/* prevail predict: writes probabilities for the rows of a table as CSV. */
#include "cli/classifier.h"
#include "cli/commands.h"
#include "cli/ensemble.h"
#include "cli/linear_predictor.h"
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

enum { FIXED, JOINT };
enum { RISK, LP };

typedef struct predict_options {
    const char *population;
    int scale;       /* RISK, LP */
    double interval; /* 0: no intervals */
    const char *id;
    const char *labels;
    const char *weights;
    const char *costs;
    const char *ensemble;
    const char *keep;
    const char *source;
    int posterior; /* FIXED, JOINT */
    int missing;   /* pv_missing */
    int unseen;    /* pv_unseen */
    const char *output;
    cli_running running;
    pv_unknown_options target;
    pv_csv_options csv;
} predict_options;

static const pv_option option_table[] = {
    {"population", PV_OPTION_TEXT, offsetof(predict_options, population), "true", 0, 0, NULL, "NAME",
     "The population of the probabilities. true: the one with the prevalence stated in fit. known:P: another "
     "prevalence (P as for fit --prevalence; with strata also known:FILE, as for fit --prevalence-by). unknown: infer "
     "the prevalence from DATA, a sample of the population. counts:N,N,...: DATA itself, with this number of each "
     "label, in label order. design: the label proportions of the training data."},
    {"scale", PV_OPTION_CHOICE, offsetof(predict_options, scale), "risk", 0, 0, "risk|lp", NULL,
     "risk: probabilities. lp: the linear predictor of a linear model with two labels, in a column lp__: log odds in "
     "the true population; for matched sets, log odds ratios against a row of zeros and reference levels."},
    CLI_OPTION_INTERVAL(
        predict_options, interval, NULL,
        "Adds a central interval of this level, such as 0.95, for each probability. Linear models have intervals; a "
        "network, and --population counts, need a posterior (fit --infer laplace, vi or hmc)."),
    {"posterior", PV_OPTION_CHOICE, offsetof(predict_options, posterior), "fixed", 0, 0, "fixed|joint", NULL,
     "The posterior of the model's parameters, for a model that has one: fixed: as fitted. joint: updated with the "
     "rows of DATA, by weighting the draws with the likelihood of these rows (the paper's Appendix G). For "
     "--population known:P, unknown, counts and design, and models fitted with --marginal plugin or --loss iw."},
    CLI_OPTION_ENSEMBLE(predict_options, ensemble),
    CLI_OPTION_COSTS(predict_options, costs),
    {"id", PV_OPTION_TEXT, offsetof(predict_options, id), NULL, 0, 0, NULL, "COL",
     "A column to copy into the first column of the output. Default: the row's number."},
    {"keep", PV_OPTION_TEXT, offsetof(predict_options, keep), NULL, 0, 0, NULL, "COLS",
     "Columns of DATA to copy into the output before the probabilities, comma-separated, such as the outcome for eval "
     "--probs."},
    CLI_OPTION_MISSING_MODEL(predict_options, missing),
    CLI_OPTION_UNSEEN(predict_options, unseen),
    CLI_OPTION_OUTPUT(predict_options, output, "The file to write. Default: standard output."),
    CLI_OPTION_JSON(
        predict_options, running.json,
        "Print one JSON object about the population; the predictions go to --output, which is needed then."),
    CLI_OPTION_THREADS(predict_options, running.threads),
    CLI_OPTION_MEMORY(predict_options, running.memory),
    CLI_OPTIONS_DEVICE(predict_options, running),
    CLI_OPTION_QUIET(predict_options, running.quiet),
    CLI_OPTION_END};

static const pv_option unknown_table[] = {
    CLI_OPTION_LABELS(predict_options, labels),
    {"weights", PV_OPTION_TEXT, offsetof(predict_options, weights), NULL, 0, 0, NULL, "COL",
     "A column of counts or weights, one non-negative number per row: a row of weight v counts as v rows towards the "
     "prevalence. Default: the column named in fit, if the data have it."},
    {"labelled-sample", PV_OPTION_TEXT, offsetof(predict_options, source), NULL, 0, 0, NULL, "FILE",
     "Labelled rows that the fit has not seen, with the model's columns and outcome, in any label proportions. bbse "
     "estimates its confusion matrix from them; bins, with two labels, the distribution of scores, instead of using "
     "what the model keeps of its training rows."},
    CLI_OPTION_END};

/* Rows per piece. Results do not depend on it. */
enum { PIECE = 1 << 17 };

typedef struct work {
    const predict_options *options;
    pv_classifier *classifier;
    pv_pieces *pieces;
    pv_roles roles;      /* for all pieces */
    pv_table *table;     /* the current piece */
    pv_dataset *data;    /* of the current piece */
    size_t rows;         /* of all pieces up to the current one */
    size_t dropped;      /* of all pieces up to the current one */
    cli_predictions out; /* of the current piece */
    char *names;         /* names in --id and --keep, split in place; NULL: none */
    const char **name;   /* [copies], pointers into names, --id first */
    size_t *copy;        /* [copies], indices of their columns */
    size_t copies;
    pv_costs *costs;
    cli_decided decided;
    pv_population *population;
    int32_t *label;          /* [rows]; NULL: none known */
    double *confusion;       /* [classes][classes]; NULL: not needed */
    pv_reference *reference; /* from --labelled-sample; NULL: none */
    pv_prediction *said;
} work;

/* Rejects options that would have no effect. */
static int check_options(cli_call *call, const predict_options *options) {
    if (strcmp(options->population, "unknown") != 0) {
        int code = cli_check_idle(call, unknown_table, "--population unknown", "give that");
        if (code == CLI_OK)
            code = cli_check_idle(call, pv_unknown_option_table, "--population unknown", "give that");
        if (code != CLI_OK)
            return code;
    }
    return cli_check_method(call, &options->target);
}

/* The linear predictor does not depend on a population and has no intervals or decisions. */
static int predict_lp(cli_call *call, const predict_options *options) {
    return cli_predict_lp(call, &(cli_lp_options){.id = options->id,
                                                  .output = options->output,
                                                  .missing = options->missing,
                                                  .unseen = options->unseen});
}

static int load_model(cli_call *call, const predict_options *options, work *held) {
    pv_status status = pv_classifier_load(call->ctx, call->argument[0], &held->classifier);
    if (status != PV_OK)
        return cli_fail(call, status);
    if (held->classifier->stop == PV_STOP_INTERRUPTED || held->classifier->stop == PV_STOP_DIVERGED)
        cli_note(call, "note: the fit of %s was %s; see prevail diagnose", call->argument[0],
                 held->classifier->stop == PV_STOP_DIVERGED ? "diverging" : "interrupted");
    cli_note_device(call, held->classifier);
    status = pv_population_new(call->ctx, held->classifier, options->population, &options->target, &held->population);
    if (status != PV_OK)
        return cli_fail(call, status);
    return cli_read_costs(call, options->costs, held->classifier->schema->labels, held->classifier->schema->classes,
                          &held->costs);
}

/* Whether each row is predicted independently. Output to a pipe is written completely or not at all, so all rows are
 * read first. */
static bool row_by_row(const predict_options *options, const work *held) {
    pv_population_kind kind = held->population->kind;
    return (kind == PV_POPULATION_TRUE || kind == PV_POPULATION_KNOWN || kind == PV_POPULATION_DESIGN) &&
           !held->classifier->schema->strata && options->posterior == FIXED && !options->ensemble &&
           cli_replaces_file(options->output);
}

static void end_piece(cli_call *call, work *held) {
    free(held->label);
    pv_prediction_free(call->ctx, held->said);
    pv_dataset_free(call->ctx, held->data);
    pv_table_free(call->ctx, held->table);
    held->label = NULL;
    held->said = NULL;
    held->data = NULL;
    held->table = NULL;
}

/* Finds the columns to copy by name, without those that the output itself creates. */
static int name_copies(cli_call *call, const predict_options *options, work *held) {
    static const char *const own[] = {"p__", "lo__", "hi__", "decision__", "cost__"};
    size_t room = (options->keep ? strlen(options->keep) : 0) + 2;
    held->name = cli_alloc(room, sizeof *held->name);
    held->copy = cli_alloc(room, sizeof *held->copy);
    if (options->id)
        held->name[held->copies++] = options->id;
    held->names = cli_copy(options->keep ? options->keep : "");
    for (char *rest = held->names, *name; options->keep && (name = strsep(&rest, ","));) {
        name += strspn(name, " ");
        name[strcspn(name, "\"")] = *name == '"' ? '"' : '\0';
        if (*name == '"')
            name[1 + strcspn(name + 1, "\"")] = '\0', name++;
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (strncmp(name, own[i], strlen(own[i])) == 0)
                return cli_error(call, PV_ERR_USAGE, NULL,
                                 "--keep %s: the output has columns %s... of its own; leave it out", name, own[i]);
        held->name[held->copies++] = name;
    }
    return CLI_OK;
}

static int find_copies(cli_call *call, work *held) {
    for (size_t i = 0; i < held->copies; i++) {
        const char *option = i == 0 && held->options->id ? "--id" : "--keep";
        pv_status status = pv_table_find(call->ctx, held->table, option, held->name[i], &held->copy[i]);
        if (status != PV_OK)
            return cli_fail(call, status);
    }
    return CLI_OK;
}

static bool is_models(const pv_schema *schema, const char *name) {
    bool found = false;
    for (size_t i = 0; i < schema->sources && !found; i++)
        found = strcmp(schema->source[i].name, name) == 0;
    for (size_t i = 0; i < 2 * schema->terms && !found; i++) {
        const char *column = schema->term[i / 2].column[i % 2];
        found = column && strcmp(column, name) == 0;
    }
    return found;
}

static int open_data(cli_call *call, const predict_options *options, work *held) {
    const pv_classifier *classifier = held->classifier;
    held->roles = (pv_roles){.id = options->id, .missing = options->missing, .unseen = options->unseen};
    pv_roles reading = held->roles;
    reading.target = options->labels;                    /* read as text; missing labels are allowed */
    if (held->population->kind == PV_POPULATION_UNKNOWN) /* weights are used for nothing else */
        reading.weights = options->weights ? options->weights : classifier->schema->weights;
    pv_csv_options csv = cli_csv(call);
    csv.roles = &reading;
    csv.schema = classifier->schema;
    const char **text = cli_alloc(held->copies + 1, sizeof *text); /* columns of the model are read as it requires */
    csv.keep = held->name;
    csv.n_keep = held->copies;
    csv.text = text;
    for (size_t i = 0; i < held->copies; i++)
        if (!is_models(classifier->schema, held->name[i]))
            text[csv.n_text++] = held->name[i];
    pv_status status = pv_pieces_open(call->ctx, call->argument[1], &csv, &held->pieces);
    free(text);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int read_labels(cli_call *call, const predict_options *options, work *held) {
    const pv_schema *schema = held->classifier->schema;
    held->label = cli_alloc(held->data->rows, sizeof *held->label);
    pv_status status = pv_table_labels(call->ctx, held->table, "--labels", options->labels, schema->labels,
                                       schema->classes, held->data->rows, held->data->table_row, held->label);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* Reads the next rows. At the end keeps the current piece and sets *more to false. */
static int read_piece(cli_call *call, void *state, bool *more) {
    work *held = state;
    const predict_options *options = held->options;
    *more = false;
    while (!*more) {
        pv_table *table;
        pv_dataset *data = NULL;
        pv_status status =
            pv_pieces_next(call->ctx, held->pieces, row_by_row(options, held) ? PIECE : SIZE_MAX, &table);
        if (status == PV_OK && !table)
            return CLI_OK;
        if (status == PV_OK && held->population->kind == PV_POPULATION_UNKNOWN)
            held->roles.weights = cli_weights(held->classifier, table, options->weights);
        if (status == PV_OK && held->roles.weights && !options->weights)
            cli_note(call, "rows are weighted by column '%s', as in the fit", held->roles.weights);
        if (status == PV_OK)
            status = pv_schema_apply(call->ctx, held->classifier->schema, table, &held->roles, &data);
        if (status != PV_OK) {
            pv_table_free(call->ctx, table);
            return cli_fail(call, status);
        }
        held->rows += data->rows;
        held->dropped += data->dropped;
        *more = data->rows > 0;
        if (*more) {
            end_piece(call, held);
            held->table = table;
            held->data = data;
        } else { /* the current piece may be the last one with rows */
            pv_dataset_free(call->ctx, data);
            pv_table_free(call->ctx, table);
        }
    }
    return options->labels ? read_labels(call, options, held) : CLI_OK;
}

/* Learns from labelled rows: the confusion matrix of bbse, or the calibration of the ratios. */
static int learn_source(cli_call *call, const predict_options *options, work *held) {
    const pv_classifier *c = held->classifier;
    if (!options->source)
        return CLI_OK; /* the library reports what is missing */
    size_t k = (size_t)c->schema->classes;
    const pv_roles learned = pv_schema_roles(c->schema);
    pv_roles roles = {.target = learned.target,
                      .votes = learned.votes,
                      .weights = options->weights ? options->weights : c->schema->weights,
                      .missing = options->missing,
                      .unseen = options->unseen};
    pv_table *table = NULL;
    pv_dataset *data = NULL;
    int code = cli_read(call, c->schema, options->source, &roles, &table);
    if (code != CLI_OK)
        return code;
    roles.weights = cli_weights(c, table, options->weights);
    pv_status status = pv_schema_apply(call->ctx, c->schema, table, &roles, &data);
    if (status == PV_OK && options->target.method == PV_UNKNOWN_BBSE) {
        held->confusion = cli_alloc(k * k, sizeof *held->confusion);
        status = pv_predict_confusion(call->ctx, c, data, held->confusion);
    } else if (status == PV_OK) {
        status = pv_predict_reference(call->ctx, c, data, &held->reference);
    }
    pv_dataset_free(call->ctx, data);
    pv_table_free(call->ctx, table);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int compute(cli_call *call, void *state) {
    work *held = state;
    const predict_options *options = held->options;
    const pv_predict_options wanted = {
        .level = options->interval, .label = held->label, .joint = options->posterior == JOINT};
    held->population->unknown.level = CLI_LEVEL;
    held->population->unknown.confusion = held->confusion;
    held->population->unknown.reference = held->reference;
    pv_status status = pv_predict(call->ctx, held->classifier, held->data, held->population, &wanted, &held->said);
    if (status != PV_OK)
        return cli_fail(call, status);
    pv_roles roles = {.id = options->id, .missing = options->missing, .unseen = options->unseen};
    const pv_ensemble_rows rows = {
        .first = held->classifier, .table = held->table, .roles = &roles, .population = held->population};
    return cli_ensemble_add(call, options->ensemble, &rows, held->said);
}

/* Reads the first piece, which must have rows. */
static int begin(cli_call *call, work *held) {
    bool more;
    int code = read_piece(call, held, &more);
    if (code != CLI_OK)
        return code;
    if (!more)
        return cli_no_rows(call, call->argument[1], held->dropped);
    code = find_copies(call, held);
    return code == CLI_OK ? compute(call, held) : code;
}

/* The current piece, ready for writing. */
static const cli_predictions *show_piece(void *state) {
    work *held = state;
    held->out = (cli_predictions){.labels = held->classifier->schema->labels,
                                  .classes = held->classifier->schema->classes,
                                  .rows = held->data->rows,
                                  .p = held->said->p,
                                  .lo = held->said->lo,
                                  .hi = held->said->hi,
                                  .costs = held->costs,
                                  .table = held->table,
                                  .row = held->data->table_row,
                                  .copy = held->copy,
                                  .copies = held->copies,
                                  .before = held->table->before};
    return &held->out;
}

/* Reports how many of the posterior's draws are effective after the joint update. */
static void note_update(cli_call *call, const work *held) {
    static const double FEWEST = 100;
    double effective = held->said->effective, draws = (double)held->classifier->posterior->count;
    cli_note(call, "posterior updated with %zu rows: effective sample size %.0f of %.0f draws", held->rows, effective,
             draws);
    if (effective < FEWEST)
        cli_warn(call, "the updated posterior is far from the draws; fit the model with more draws (--draws), or leave "
                       "--posterior joint out");
}

static int report(cli_call *call, const predict_options *options, const work *held) {
    const pv_classifier *c = held->classifier;
    if (options->posterior == JOINT)
        note_update(call, held);
    if (options->interval > 0 && c->posterior && c->posterior->dims < pv_model_params(c->model))
        cli_note(call, "the intervals are for the network's last layer only: they contain the true risk far less often "
                       "than their level states");
    if (held->said->inferred)
        cli_note_target(call, held->said->inferred, c->schema->labels, held->rows);
    cli_note_strata(call, held->said->strata, c->schema->labels, c->schema->classes);
    if (held->said->inferred && !held->said->strata)
        cli_note_shift(call, held->said->inferred, c->schema->feature);
    cli_note_costs(call, held->costs, c->schema->labels);
    cli_note_decided(call, held->costs, &held->decided);
    cli_note_dropped(call, NULL, held->data->image, held->dropped);
    if (!options->running.json)
        return cli_expected(call, held->said->inferred, held->reference ? held->reference : c->reference,
                            cli_threshold(held->costs), NULL);
    pv_result *object = pv__value_object();
    pv__value_set(object, "population", pv__value_text(options->population));
    pv__value_set(object, "prevalence",
                  cli_json_by_label(c->schema->labels, c->schema->classes, held->said->prevalence));
    if (options->posterior == JOINT)
        pv__value_set(object, "posterior_draws", pv__value_real(held->said->effective));
    cli_json_predicted_strata(object, held->said->strata, c->schema->labels, c->schema->classes);
    if (held->said->inferred)
        cli_json_target(object, held->said->inferred, c->schema->labels);
    if (held->said->inferred)
        cli_json_shift(object, held->said->inferred, c->schema->feature);
    int code = cli_expected(call, held->said->inferred, held->reference ? held->reference : c->reference,
                            cli_threshold(held->costs), object);
    if (code != CLI_OK) {
        pv_result_free(object);
        return code;
    }
    pv__value_set(object, "rows", pv__value_integer((int64_t)held->rows));
    pv__value_set(object, "dropped", pv__value_integer((int64_t)held->dropped));
    pv__value_set(object, "costs", cli_json_costs(held->costs, c->schema->labels));
    pv__value_set(object, "decisions", cli_json_decided(held->costs, &held->decided));
    pv__value_set(object, "model", pv__value_text(call->argument[0]));
    pv__value_set(object, "ensemble", cli_json_ensemble(options->ensemble));
    pv__value_set(object, "data", pv__value_text(call->argument[1]));
    pv__value_set(object, "output", pv__value_text(options->output));
    pv__value_set(object, "warnings", cli_json_warnings(call));
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    cli_json_print(call, object);
    return CLI_OK;
}

static int run(cli_call *call) {
    predict_options *options = call->options;
    work held = {.options = options};
    const cli_pieces pieces = {
        .read = read_piece, .compute = compute, .show = show_piece, .state = &held, .decided = &held.decided};
    call->collect = options->running.json; /* warnings are part of the JSON object */
    int code = check_options(call, options);
    if (code == CLI_OK && options->scale == LP)
        return predict_lp(call, options);
    if (code == CLI_OK)
        code = load_model(call, options, &held);
    if (code == CLI_OK)
        code = name_copies(call, options, &held);
    if (code == CLI_OK)
        code = learn_source(call, options, &held);
    if (code == CLI_OK)
        code = cli_check_output(call, options->output);
    if (code == CLI_OK)
        code = open_data(call, options, &held);
    if (code == CLI_OK)
        code = begin(call, &held);
    if (code == CLI_OK)
        code = cli_write_pieces(call, &pieces, options->output);
    if (code == CLI_OK)
        code = report(call, options, &held);
    end_piece(call, &held);
    pv_pieces_free(call->ctx, held.pieces);
    free(held.names);
    free(held.name);
    free(held.copy);
    free(held.confusion);
    pv_reference_free(call->ctx, held.reference);
    pv_population_free(call->ctx, held.population);
    pv_costs_free(call->ctx, held.costs);
    cli_decided_free(&held.decided);
    pv_classifier_free(call->ctx, held.classifier);
    return code;
}

static const cli_argument arguments[] = {{"MODEL", "A model file, written by prevail fit."},
                                         {"DATA", "A CSV file with the model's columns, in any order; others are "
                                                  "ignored; - reads standard input. For a model of images an NPZ, "
                                                  "NPY or IDX file with its arrays."},
                                         {NULL, NULL}};

static const cli_group groups[] = {{"Options", option_table, 0},
                                   {"Reading", pv_csv_option_table, offsetof(predict_options, csv)},
                                   {"Unknown prevalence", unknown_table, 0},
                                   {"How it is inferred", pv_unknown_option_table, offsetof(predict_options, target)},
                                   {NULL, NULL, 0}};

static const cli_common common[] = {
    {"Data", "id", NULL},
    {NULL, "keep", "Columns of DATA to copy into the output."},
    {NULL, "missing", "What to do with missing cells."},
    {"Population", "population", "The population to predict for: true, known:P, unknown, counts:N,N,... or design."},
    {NULL, "labels", "Unknown prevalence: a column with the labels of some rows."},
    {"Uncertainty", "interval", "Adds the central interval of this level, as in --interval 0.95."},
    {"Decisions", "costs", "A CSV file of costs: the action of least expected cost for each row."},
    {"Output", "output", NULL},
    {NULL, "json", "Print one JSON object about the population as well."},
    {NULL, NULL, NULL}};

static const cli_example examples[] = {
    {"prevail predict study.model people.csv -o risks.csv",
     "Risks in the population stated when the model was fitted."},
    {"prevail predict study.model clinic.csv --population known:0.05 --id patient",
     "The same model where one person in twenty has the disease."},
    {"prevail predict study.model people.csv --interval 0.95",
     "Risks with their central 95 % intervals, from a model with a posterior."},
    {"prevail predict study.model clinic.csv --population unknown --json -o risks.csv",
     "A clinic with an unknown prevalence, which is inferred with an interval."},
    {"prevail predict study.model challenge.csv --population counts:120,80",
     "A benchmark of 200 rows, 80 of them cases, without knowing which."},
    {"prevail predict study.model people.csv --costs costs.csv", "The action of least expected cost for each person."},
    {NULL, NULL}};

static const cli_rule rules[] = {
    {"scale=lp population|interval|posterior|ensemble|costs|keep|json|labels|weights|labelled-sample", NULL,
     "--%s has no effect with --scale lp: leave it out"},
    {"labelled-sample", "method=bins method=bbse",
     "--labelled-sample is for --method bins and bbse: leave it out, or give one of these"},
    {"ensemble interval", NULL, "--interval is for one model, not for an --ensemble"},
    {"ensemble population=unknown", NULL,
     "--ensemble averages in a population of known prevalence: true, known:P or design"},
    {"ensemble posterior=joint", NULL, "--posterior joint is for one model, not for an --ensemble"},
    {"json", "output", "--json prints on standard output; name a file for the predictions with -o"},
    {"json output=-", NULL, "--json prints on standard output; name a file for the predictions with -o"},
    {NULL, NULL, NULL}};

const cli_command cli_predict = {
    .name = "predict",
    .summary = "probabilities for the rows of a table",
    .usage = "MODEL DATA [--population true|known:P|unknown|counts:N,N,...|design] [--costs FILE|fp=X,fn=Y] "
             "[--interval LEVEL] "
             "[-o CSV] [options]",
    .text = "Computes the probability of each label for each row of DATA. A model fitted with --loss plain is "
            "corrected from the label proportions of its data to the population. With a posterior a probability is the "
            "mean of the posterior's draws.\nAn unknown prevalence is inferred from all rows of DATA together; "
            "probabilities are averaged over its posterior, and intervals include its uncertainty. A warning is "
            "printed if the rows hardly determine it.",
    .arguments = arguments,
    .groups = groups,
    .common = common,
    .options_size = sizeof(predict_options),
    .output =
        "CSV, one line for each row of DATA in its order. Columns:\nrow\tThe row's number, from 1 without the header "
        "(or the column named with --id)\np__LABEL\tThe probability of each label, in the order of the model's "
        "labels\nlo__LABEL, hi__LABEL\tWith --interval, its bounds for each label\nlp__\tWith --scale lp, the linear "
        "predictor, instead of all later columns\ndecision__\tThe most probable label, the first if tied; with "
        "--costs, the action of least expected cost\ncost__\tWith --costs, that expected cost\nNumbers have enough "
        "digits to be read back exactly. The file appears only when it is complete.\nWith --json one object: "
        "population, prevalence (label: "
        "p), rows, dropped, costs (actions, and for two classes the thresholds), and of an unknown population "
        "target_prevalence (label: value, lo, hi, sd), method, iterations, stop, identified, calibrated, shift and "
        "expected; with --posterior joint posterior_draws, the effective number of draws.",
    .examples = examples,
    .rules = rules,
    .run = run};
