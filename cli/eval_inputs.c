/* What prevail eval judges: a model's predictions for a table, or probabilities from a file. */
#include "cli/ensemble.h"
#include "cli/eval.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- predictions in a population --------------------------------------------------------------------------------- */

static double *copy_of(const double *values, size_t n) {
    double *copy = cli_alloc(n, sizeof *copy);
    memcpy(copy, values, n * sizeof *copy);
    return copy;
}

/* What the options say of an unknown prevalence. */
static int target_options(cli_call *call, const eval_options *options, pv_unknown_options *target) {
    *target = options->unknown;
    target->level = options->interval;
    target->seed = options->seed;
    if (target->method == PV_UNKNOWN_BBSE)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--method bbse learns from other labelled rows, which eval has none of: use predict --source");
    return CLI_OK;
}

/* Fills log_p, loglik, their marginal and prevalence. */
static int predict_population(cli_call *call, const eval_options *options, const pv_roles *roles, eval_inputs *inputs) {
    const pv_predict_options wanted = {.likelihood = true};
    const pv_classifier *classifier = inputs->classifier;
    pv_unknown_options unknown;
    pv_population *population;
    pv_status status = pv_population_new(call->ctx, classifier, options->population, NULL, &population);
    if (status != PV_OK)
        return cli_fail(call, status);
    int code = target_options(call, options, &unknown);
    if (code == CLI_OK) {
        population->unknown = unknown;
        status = pv_predict(call->ctx, classifier, inputs->data, population, &wanted, &inputs->said);
        cli_ensemble ensemble = {.first = classifier,
                                 .table = inputs->table,
                                 .roles = roles,
                                 .population = population,
                                 .mean = inputs->said};
        code = status == PV_OK ? cli_ensemble_add(call, options->ensemble, &ensemble) : cli_fail(call, status);
    }
    pv_population_free(call->ctx, population);
    if (code == CLI_OK) {
        inputs->log_p = inputs->said->log_p;
        inputs->loglik = inputs->said->loglik;
        inputs->log_marginal = inputs->said->log_marginal;
        inputs->prevalence = inputs->said->prevalence;
        inputs->target = inputs->said->inferred;
    }
    return code;
}

/* ---- a model and a table ----------------------------------------------------------------------------------------- */

/* The names in a list of votes, which is cut into them, "A,B" or "LABEL=A": all that might be columns. */
static size_t add_votes(char *votes, const char **keep) {
    size_t count = 0;
    for (char *rest = votes, *name; (name = strsep(&rest, ","));) {
        name += strspn(name, " \"");
        name[strcspn(name, "\"")] = '\0';
        keep[count++] = name;
        char *equals = strchr(name, '=');
        if (equals)
            keep[count++] = equals + 1;
    }
    return count;
}

/* As cli_read_for_model, and the columns of votes. */
static int read_table(cli_call *call, const eval_options *options, const pv_roles *roles, eval_inputs *inputs) {
    if (!options->votes)
        return cli_read_for_model(call, inputs->classifier->encoding, call->argument[1], roles, &inputs->table);
    const pv_encoding *encoding = inputs->classifier->encoding;
    size_t length = strlen(options->votes), n_keep = 0, n_text = 0;
    const char **keep = cli_alloc(encoding->sources + 2 * length + 4, sizeof *keep);
    const char **text = cli_alloc(encoding->sources + 1, sizeof *text);
    char *votes = cli_copy(options->votes);
    for (size_t s = 0; s < encoding->sources; s++) {
        keep[n_keep++] = encoding->source[s].name;
        if (encoding->source[s].type == PV_COLUMN_TEXT)
            text[n_text++] = encoding->source[s].name;
    }
    if (roles->weights)
        keep[n_keep++] = roles->weights;
    n_keep += add_votes(votes, keep + n_keep);
    pv_csv_options csv = {.text = text, .n_text = n_text, .keep = keep, .n_keep = n_keep};
    pv_status status = pv_table_read(call->ctx, call->argument[1], &csv, &inputs->table);
    free(keep);
    free(text);
    free(votes);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int read_model(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    pv_roles roles = {.target = options->target, .weights = options->weights, .drop_missing = options->missing};
    pv_status status = pv_classifier_load(call->ctx, call->argument[0], &inputs->classifier);
    if (status != PV_OK)
        return cli_fail(call, status);
    const pv_classifier *classifier = inputs->classifier;
    inputs->labels = classifier->labels;
    inputs->classes = classifier->classes;
    const char *learned = classifier->encoding->image ? classifier->encoding->image->votes : "";
    if (options->target && *learned && strcmp(options->target, learned) != 0)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--target %s: the model learned votes and is judged by them, from the array '%s'; leave "
                         "--target out",
                         options->target, learned);
    if (options->weights && *learned && !options->votes)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--weights does not go with a model of votes, whose rows count alike: leave it out");
    if (options->votes)
        roles.target = NULL;
    else if (!roles.target)
        roles.target = classifier->target;
    if (!roles.weights && *classifier->weights)
        roles.weights = classifier->weights; /* as in the fit */
    int code = read_table(call, options, &roles, inputs);
    if (code != CLI_OK)
        return code;
    status = pv_dataset_apply(call->ctx, inputs->table, &roles, classifier->encoding, classifier->labels,
                              classifier->classes, &inputs->data);
    if (status != PV_OK)
        return cli_fail(call, status);
    return predict_population(call, options, &roles, inputs);
}

/* ---- a file of probabilities ------------------------------------------------------------------------------------- */

/* Returns an exit code. */
static int parse_prevalence(cli_call *call, const char *option, const char *text, const eval_inputs *inputs,
                            double *prevalence) {
    double low, high;
    pv_status status =
        pv_prevalence_parse(call->ctx, option, text, inputs->labels, inputs->classes, prevalence, &low, &high);
    if (status != PV_OK)
        return cli_fail(call, status);
    if (!isnan(low))
        return cli_error(call, PV_ERR_USAGE, NULL, "%s: give one prevalence, not an interval", option);
    return CLI_OK;
}

/* The prevalence of the rows' population, and their probabilities in it. */
static int infer_prevalence(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    pv_unknown_options target;
    int code = target_options(call, options, &target);
    if (code != CLI_OK)
        return code;
    pv_unknown_sample sample = {.n = inputs->targets.n,
                                .classes = inputs->classes,
                                .loglik = inputs->loglik,
                                .log_marginal = inputs->log_marginal,
                                .weight = inputs->probs->data->weight};
    pv_status status = pv_unknown_infer(call->ctx, &sample, inputs->labels, &target, &inputs->target);
    if (status == PV_OK)
        status = pv_unknown_predict(call->ctx, &sample, inputs->target, NULL, inputs->log_p, NULL, NULL);
    if (status != PV_OK)
        return cli_fail(call, status);
    memcpy(inputs->prevalence, inputs->target->value, (size_t)inputs->classes * sizeof(double));
    return CLI_OK;
}

/* true: as they are; known:P, unknown: moved from the prevalence they were made for, which --from must say. */
static int move_probabilities(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    size_t classes = (size_t)inputs->classes, count = inputs->targets.n * classes;
    const char *population = options->population;
    if (options->from) {
        inputs->prevalence = cli_alloc(classes, sizeof(double));
        int code = parse_prevalence(call, "--from", options->from, inputs, inputs->prevalence);
        if (code != CLI_OK)
            return code;
        inputs->log_marginal = cli_log(inputs->prevalence, inputs->classes);
    }
    inputs->log_p = copy_of(inputs->loglik, count);
    if (strcmp(population, "true") == 0)
        return CLI_OK;
    bool unknown = strcmp(population, "unknown") == 0;
    if (!unknown && strncmp(population, "known:", 6) != 0)
        return cli_error(call, PV_ERR_USAGE, NULL, "--population %s: with --probs choose true, known:P or unknown",
                         population);
    if (!options->from)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--population %s: say with --from P which prevalence the probabilities were made for",
                         population);
    if (unknown)
        return infer_prevalence(call, options, inputs);
    int code = parse_prevalence(call, "--population known", population + 6, inputs, inputs->prevalence);
    if (code == CLI_OK)
        pv_adapt(inputs->targets.n, inputs->classes, inputs->loglik, inputs->log_marginal, inputs->prevalence,
                 inputs->log_p);
    return code;
}

static int read_probs(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    if (!options->target && !options->votes)
        return cli_error(call, PV_ERR_USAGE, NULL, "--probs needs --target, the column with the observed labels");
    pv_probs_options reading = {.columns = options->columns,
                                .target = options->votes ? NULL : options->target,
                                .weights = options->weights,
                                .also = options->votes,
                                .positive = options->positive,
                                .drop_missing = options->missing};
    pv_status status = pv_probs_read(call->ctx, options->probs, &reading, &inputs->probs);
    if (status != PV_OK)
        return cli_fail(call, status);
    pv_probs *probs = inputs->probs;
    inputs->labels = probs->labels;
    inputs->classes = probs->classes;
    size_t count = probs->data->rows * (size_t)probs->classes;
    inputs->loglik = cli_alloc(count, sizeof(double));
    for (size_t i = 0; i < count; i++)
        inputs->loglik[i] = log(probs->p[i]);
    inputs->targets.n = probs->data->rows;
    return move_probabilities(call, options, inputs);
}

/* ---- what both need ---------------------------------------------------------------------------------------------- */

static int set_targets(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    const pv_dataset *data = inputs->probs ? inputs->probs->data : inputs->data;
    const pv_table *table = inputs->probs ? inputs->probs->table : inputs->table;
    inputs->rows = data->rows;
    inputs->dropped = data->dropped;
    inputs->targets = pv_dataset_targets(data);
    inputs->targets.classes = inputs->classes;
    if (!options->votes)
        return CLI_OK;
    inputs->frequency = cli_alloc(data->rows * (size_t)inputs->classes, sizeof(double));
    inputs->weight = cli_alloc(data->rows, sizeof(double));
    for (size_t n = 0; n < data->rows; n++)
        inputs->weight[n] = data->weight ? data->weight[n] : 1;
    inputs->targets.label = NULL;
    inputs->targets.frequency = inputs->frequency;
    inputs->targets.weight = inputs->weight;
    pv_status status = pv_votes_read(call->ctx, table, options->votes, inputs->labels, inputs->classes, data->table_row,
                                     data->rows, options->missing, inputs->frequency, inputs->weight, &inputs->dropped);
    inputs->rows -= inputs->dropped - data->dropped;
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* "1, 2, 3", of a few labels at least. */
static const char *list_labels(const eval_inputs *inputs, char *text, size_t size) {
    size_t used = 0;
    for (int y = 0; y < inputs->classes && used + 1 < size; y++)
        used += (size_t)snprintf(text + used, size - used, "%s%.40s", y ? ", " : "", inputs->labels[y]);
    return text;
}

/* Labels, targets and predictions become those of the two sides of a grade. */
static int binarise(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    if (!options->binarise)
        return CLI_OK;
    int middle = 0, classes = inputs->classes;
    while (middle < classes && strcmp(inputs->labels[middle], options->binarise) != 0)
        middle++;
    char labels[300];
    if (classes < 3)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--binarise %s: there are two labels already, %s; leave --binarise out", options->binarise,
                         list_labels(inputs, labels, sizeof labels));
    if (middle == classes || middle == 0 || middle == classes - 1)
        return cli_error(call, PV_ERR_USAGE, NULL, "--binarise %s: %s; name one with labels on both sides: %s",
                         options->binarise,
                         middle == classes ? "there is no such label" : "is the first or the last label",
                         list_labels(inputs, labels, sizeof labels));
    size_t n = inputs->targets.n;
    double *frequency = cli_alloc(2 * n, sizeof *frequency), *weight = cli_alloc(n, sizeof *weight);
    pv_status status = pv_binarise(call->ctx, &inputs->targets, middle, frequency, weight, &inputs->uncertain);
    free(inputs->frequency);
    free(inputs->weight);
    inputs->frequency = frequency;
    inputs->weight = weight;
    if (status != PV_OK)
        return cli_fail(call, status);
    inputs->targets = (pv_targets){.n = n, .classes = 2, .frequency = frequency, .weight = weight};
    pv_binarise_log(n, classes, middle, inputs->log_p, inputs->log_p);
    pv_binarise_log(n, classes, middle, inputs->loglik, inputs->loglik);
    if (inputs->log_marginal)
        pv_binarise_log(1, classes, middle, inputs->log_marginal, inputs->log_marginal);
    for (int y = 0; inputs->prevalence && y < classes; y++)
        inputs->prevalence[y] = log(inputs->prevalence[y]);
    if (inputs->prevalence)
        pv_binarise_log(1, classes, middle, inputs->prevalence, inputs->prevalence);
    for (int y = 0; inputs->prevalence && y < 2; y++)
        inputs->prevalence[y] = exp(inputs->prevalence[y]);
    inputs->sides[0] = cli_copy("below");
    inputs->sides[1] = cli_copy("above");
    inputs->labels = inputs->sides;
    inputs->classes = 2;
    inputs->rows -= inputs->uncertain;
    return CLI_OK;
}

static int set_positive(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    inputs->positive = inputs->classes - 1;
    if (!options->positive)
        return CLI_OK;
    for (int y = 0; y < inputs->classes; y++)
        if (strcmp(inputs->labels[y], options->positive) == 0) {
            inputs->positive = y;
            return CLI_OK;
        }
    const char *near = pv_nearest(options->positive, (const char *const *)inputs->labels, (size_t)inputs->classes);
    char labels[300];
    return cli_error(call, PV_ERR_USAGE, NULL, "--positive: there is no label '%s'; %s%s%s", options->positive,
                     near ? "did you mean '" : "the labels are ",
                     near ? near : list_labels(inputs, labels, sizeof labels), near ? "'?" : "");
}

/* The population the metrics are stated for, and the rows' label shares. */
static int set_shares(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    size_t classes = (size_t)inputs->classes;
    double total = 0;
    inputs->observed = cli_alloc(classes, sizeof(double));
    pv_label_mass(&inputs->targets, inputs->observed);
    for (size_t y = 0; y < classes; y++)
        total += inputs->observed[y];
    for (size_t y = 0; y < classes; y++)
        inputs->observed[y] /= total;
    if (strcmp(options->stated_for, "rows") == 0)
        return CLI_OK;
    if (strcmp(options->stated_for, "population") == 0) {
        if (!inputs->prevalence)
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--stated-for population: that of these probabilities is unknown; say it with --from P");
        inputs->stated = copy_of(inputs->prevalence, classes);
        return CLI_OK;
    }
    if (!strpbrk(options->stated_for, "=0123456789"))
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--stated-for: '%s' is not a population; give rows, population, or a prevalence such as 0.01",
                         options->stated_for);
    inputs->stated = cli_alloc(classes, sizeof(double));
    return parse_prevalence(call, "--stated-for", options->stated_for, inputs, inputs->stated);
}

int eval_read(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    int code = options->probs ? read_probs(call, options, inputs) : read_model(call, options, inputs);
    if (code == CLI_OK)
        code = set_targets(call, options, inputs);
    inputs->own_labels = inputs->labels;
    inputs->own_rows = inputs->rows;
    if (code == CLI_OK)
        code = binarise(call, options, inputs);
    if (code == CLI_OK)
        code = set_positive(call, options, inputs);
    if (code == CLI_OK)
        code = set_shares(call, options, inputs);
    return code;
}

void eval_clear(cli_call *call, eval_inputs *inputs) {
    if (!inputs->said) { /* of --probs */
        free(inputs->log_p);
        free(inputs->loglik);
        free(inputs->log_marginal);
        free(inputs->prevalence);
        pv_unknown_prevalence_free(call->ctx, inputs->target);
    }
    pv_prediction_free(call->ctx, inputs->said);
    free(inputs->stated);
    free(inputs->observed);
    free(inputs->frequency);
    free(inputs->weight);
    free(inputs->sides[0]);
    free(inputs->sides[1]);
    pv_probs_free(call->ctx, inputs->probs);
    pv_dataset_free(call->ctx, inputs->data);
    pv_table_free(call->ctx, inputs->table);
    pv_classifier_free(call->ctx, inputs->classifier);
}
