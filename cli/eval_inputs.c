/* What prevail eval judges: a model's predictions for a table, or probabilities from a file. */
#include "eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- predictions in a population --------------------------------------------------------------------------------- */

/* The true population: the stated prevalence, or that of the training data where none was stated. */
static const double *true_prevalence(const pv_classifier *classifier) {
    return classifier->prevalence ? classifier->prevalence : classifier->design;
}

static double *copy_of(const double *values, size_t n) {
    double *copy = cli_alloc(n, sizeof *copy);
    memcpy(copy, values, n * sizeof *copy);
    return copy;
}

/* log of the probabilities in a population; with a posterior, of their mean over its draws. */
static pv_status predict_log(cli_call *call, const eval_inputs *inputs, pv_target_population population,
                             const double *prevalence, double *log_p) {
    size_t count = inputs->data->rows * (size_t)inputs->classes;
    if (!inputs->classifier->posterior) {
        pv_status status = pv_predict_loglik(call->ctx, inputs->classifier, inputs->data, log_p);
        if (status == PV_OK)
            pv_predict_population(inputs->classifier, population, prevalence, inputs->data->rows, log_p, log_p);
        return status;
    }
    pv_status status =
        pv_predict_posterior(call->ctx, inputs->classifier, inputs->data, population, prevalence, 0, log_p, NULL, NULL);
    for (size_t i = 0; status == PV_OK && i < count; i++)
        log_p[i] = log(log_p[i]);
    return status;
}

/* The rows tell the prevalence; their labels are not shown to the method that is judged. */
static pv_status predict_unknown(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    pv_target_options infer = pv_target_options_default();
    infer.level = options->interval;
    double *p = cli_alloc(inputs->data->rows * (size_t)inputs->classes, sizeof *p);
    pv_status status = pv_predict_unknown(call->ctx, inputs->classifier, inputs->data, NULL, &infer, p, inputs->log_p,
                                          NULL, NULL, &inputs->target);
    free(p);
    if (status == PV_OK)
        memcpy(inputs->prevalence, inputs->target->value, (size_t)inputs->classes * sizeof(double));
    return status;
}

/* The one place that knows populations of a model: fills log_p and prevalence for --population. */
static pv_status predict_population(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    const pv_classifier *classifier = inputs->classifier;
    size_t classes = (size_t)classifier->classes, count = inputs->data->rows * classes;
    pv_target_population population;
    inputs->prevalence = cli_alloc(classes, sizeof(double));
    pv_status status =
        pv_target_population_parse(call->ctx, options->population, classifier, &population, inputs->prevalence);
    if (status != PV_OK)
        return status;
    if (population == PV_POPULATION_TRUE)
        memcpy(inputs->prevalence, true_prevalence(classifier), classes * sizeof(double));
    else if (population == PV_POPULATION_DESIGN)
        memcpy(inputs->prevalence, classifier->design, classes * sizeof(double));
    if (population == PV_POPULATION_UNKNOWN)
        status = predict_unknown(call, options, inputs);
    else if (population == PV_POPULATION_TRUE)
        memcpy(inputs->log_p, inputs->loglik, count * sizeof(double));
    else
        status = predict_log(call, inputs, population, population == PV_POPULATION_KNOWN ? inputs->prevalence : NULL,
                             inputs->log_p);
    return status;
}

/* For plain, the likelihood in the true population is the corrected one, whose marginal is the prevalence by
 * construction; ig and iw have their own, which with a posterior is the mean over its draws, as the predictions are. */
static double *marginal_logs(const pv_classifier *classifier) {
    size_t classes = (size_t)classifier->classes;
    if (classifier->loss == PV_LOSS_PLAIN)
        return cli_log(true_prevalence(classifier), classifier->classes);
    if (!classifier->posterior)
        return copy_of(classifier->log_marginal, classes);
    double *logs = cli_alloc(classes, sizeof *logs);
    cli_spread *marginal = cli_alloc(classes, sizeof *marginal);
    cli_marginal_spreads(classifier, CLI_LEVEL, marginal);
    for (size_t y = 0; y < classes; y++)
        logs[y] = log(marginal[y].mean);
    free(marginal);
    return logs;
}

/* ---- a model and a table ----------------------------------------------------------------------------------------- */

/* The names in a list of votes, "A,B" or "LABEL=A": all that might be columns. */
static size_t add_votes(const char *votes, char *buffer, const char **keep) {
    size_t count = 0;
    strcpy(buffer, votes);
    for (char *rest = buffer, *name; (name = strsep(&rest, ","));) {
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
        return cli_read_for_model(call, inputs->classifier, call->argument[1], roles, &inputs->table);
    const pv_encoding *encoding = inputs->classifier->encoding;
    size_t length = strlen(options->votes), n_keep = 0, n_text = 0;
    const char **keep = cli_alloc(encoding->sources + 2 * length + 4, sizeof *keep);
    const char **text = cli_alloc(encoding->sources + 1, sizeof *text);
    char *buffer = cli_alloc(length + 1, 1);
    for (size_t s = 0; s < encoding->sources; s++) {
        keep[n_keep++] = encoding->source[s].name;
        if (encoding->source[s].type == PV_COLUMN_TEXT)
            text[n_text++] = encoding->source[s].name;
    }
    if (roles->weights)
        keep[n_keep++] = roles->weights;
    n_keep += add_votes(options->votes, buffer, keep + n_keep);
    pv_csv_options csv = {.text = text, .n_text = n_text, .keep = keep, .n_keep = n_keep};
    pv_status status = pv_table_read(call->ctx, call->argument[1], &csv, &inputs->table);
    free(keep);
    free(text);
    free(buffer);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int read_model(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    pv_roles roles = {.target = options->target, .weights = options->weights, .drop_missing = options->missing == 1};
    pv_status status = pv_classifier_load(call->ctx, call->argument[0], &inputs->classifier);
    if (status != PV_OK)
        return cli_fail(call, status);
    const pv_classifier *classifier = inputs->classifier;
    inputs->labels = classifier->labels;
    inputs->classes = classifier->classes;
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
    size_t count = inputs->data->rows * (size_t)classifier->classes;
    inputs->loglik = cli_alloc(count, sizeof(double));
    inputs->log_p = cli_alloc(count, sizeof(double));
    inputs->log_marginal = marginal_logs(classifier);
    status = predict_log(call, inputs, PV_POPULATION_TRUE, NULL, inputs->loglik);
    if (status == PV_OK)
        status = predict_population(call, options, inputs);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
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

static pv_status infer_prevalence(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    pv_target_options infer = pv_target_options_default();
    infer.level = options->interval;
    pv_target_sample sample = {.n = inputs->targets.n,
                               .classes = inputs->classes,
                               .loglik = inputs->loglik,
                               .log_marginal = inputs->log_marginal,
                               .weight = inputs->probs->data->weight};
    pv_status status = pv_target_infer(call->ctx, &sample, inputs->labels, &infer, &inputs->target);
    if (status == PV_OK)
        status = pv_target_predict(call->ctx, &sample, inputs->target, NULL, inputs->log_p, NULL, NULL);
    if (status == PV_OK)
        memcpy(inputs->prevalence, inputs->target->value, (size_t)inputs->classes * sizeof(double));
    return status;
}

/* true: as they are; known:P and unknown: moved from the prevalence they were made for, which --from must say. */
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
    if (unknown) {
        pv_status status = infer_prevalence(call, options, inputs);
        return status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
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
                                .drop_missing = options->missing == 1};
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
    inputs->targets =
        (pv_targets){.n = data->rows, .classes = inputs->classes, .label = data->label, .weight = data->weight};
    if (!options->votes)
        return CLI_OK;
    inputs->frequency = cli_alloc(data->rows * (size_t)inputs->classes, sizeof(double));
    inputs->weight = cli_alloc(data->rows, sizeof(double));
    for (size_t n = 0; n < data->rows; n++)
        inputs->weight[n] = data->weight ? data->weight[n] : 1;
    inputs->targets.label = NULL;
    inputs->targets.frequency = inputs->frequency;
    inputs->targets.weight = inputs->weight;
    pv_status status =
        pv_votes_read(call->ctx, table, options->votes, inputs->labels, inputs->classes, data->table_row, data->rows,
                      options->missing == 1, inputs->frequency, inputs->weight, &inputs->dropped);
    inputs->rows -= inputs->dropped - data->dropped;
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
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
    return cli_error(call, PV_ERR_USAGE, NULL, "--positive: there is no label '%s'%s%s%s", options->positive,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
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
    if (strcmp(options->prevalence, "rows") == 0)
        return CLI_OK;
    if (strcmp(options->prevalence, "population") == 0) {
        if (!inputs->prevalence)
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--prevalence population: that of these probabilities is unknown; say it with --from P");
        inputs->stated = copy_of(inputs->prevalence, classes);
        return CLI_OK;
    }
    inputs->stated = cli_alloc(classes, sizeof(double));
    return parse_prevalence(call, "--prevalence", options->prevalence, inputs, inputs->stated);
}

int eval_read(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    int code = options->probs ? read_probs(call, options, inputs) : read_model(call, options, inputs);
    if (code == CLI_OK)
        code = set_targets(call, options, inputs);
    if (code == CLI_OK)
        code = set_positive(call, options, inputs);
    if (code == CLI_OK)
        code = set_shares(call, options, inputs);
    if (code == CLI_OK && inputs->target)
        cli_note_target(call, inputs->target, inputs->labels, inputs->rows);
    return code;
}

void eval_clear(cli_call *call, eval_inputs *inputs) {
    free(inputs->log_p);
    free(inputs->loglik);
    free(inputs->log_marginal);
    free(inputs->prevalence);
    free(inputs->stated);
    free(inputs->observed);
    free(inputs->frequency);
    free(inputs->weight);
    pv_target_prevalence_free(call->ctx, inputs->target);
    pv_probs_free(call->ctx, inputs->probs);
    pv_dataset_free(call->ctx, inputs->data);
    pv_table_free(call->ctx, inputs->table);
    pv_classifier_free(call->ctx, inputs->classifier);
}
