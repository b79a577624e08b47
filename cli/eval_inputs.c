/* The input of prevail eval: a model's predictions for a table, or probabilities from a file. */
#include "cli/ensemble.h"
#include "cli/eval.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"

#include <stdlib.h>
#include <string.h>

static pv_unknown_options unknown_of(const eval_options *options) {
    pv_unknown_options unknown = options->unknown;
    unknown.level = options->interval;
    unknown.seed = options->seed;
    return unknown;
}

/* ---- a model and a table ----------------------------------------------------------------------------------------- */

/* Splits a list of votes, "A,B" or "LABEL=A", in place into all names that may be columns. */
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

/* Like cli_read, with the columns of votes. */
static int read_table(cli_call *call, const pv_roles *roles, eval_inputs *inputs) {
    if (!inputs->votes)
        return cli_read(call, inputs->classifier->schema, call->argument[1], roles, &inputs->table);
    const char **keep = cli_alloc(2 * strlen(inputs->votes) + 2, sizeof *keep);
    char *votes = cli_copy(inputs->votes);
    pv_csv_options csv = cli_csv(call);
    csv.roles = roles;
    csv.schema = inputs->classifier->schema;
    csv.keep = keep;
    csv.n_keep = add_votes(votes, keep);
    pv_status status = pv_table_read(call->ctx, call->argument[1], &csv, &inputs->table);
    free(keep);
    free(votes);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int predict(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    const pv_predict_options wanted = {.likelihood = true};
    const pv_unknown_options unknown = unknown_of(options);
    pv_status status =
        pv_population_new(call->ctx, inputs->classifier, options->population, &unknown, &inputs->population);
    if (status == PV_OK)
        status = pv_predict(call->ctx, inputs->classifier, inputs->data, inputs->population, &wanted, &inputs->said);
    const pv_ensemble_rows rows = {
        .first = inputs->classifier, .table = inputs->table, .roles = &inputs->roles, .population = inputs->population};
    return status == PV_OK ? cli_ensemble_add(call, options->ensemble, &rows, inputs->said) : cli_fail(call, status);
}

static int read_model(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    pv_roles roles = {.target = options->target,
                      .weights = options->weights,
                      .cluster = options->cluster,
                      .missing = options->missing,
                      .unseen = options->unseen};
    pv_status status = pv_classifier_load(call->ctx, inputs->name, &inputs->classifier);
    if (status != PV_OK)
        return cli_fail(call, status);
    const pv_classifier *classifier = inputs->classifier;
    cli_note_device(call, classifier);
    const char *learned = classifier->schema->image ? classifier->schema->image->votes : "";
    if (options->target && *learned && strcmp(options->target, learned) != 0)
        return cli_error(
            call, PV_ERR_USAGE, NULL,
            "--outcome %s: the model was fitted to votes and is evaluated on the array '%s'; leave --outcome out",
            options->target, learned);
    if (options->weights && *learned && !options->votes)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--weights cannot be used with a model of votes, whose rows have equal weight: leave it out");
    inputs->votes = options->votes;
    if (!options->votes && !options->target) /* as in the fit */
        inputs->votes = pv_schema_roles(classifier->schema).votes;
    if (inputs->votes)
        roles.target = NULL;
    else if (!roles.target)
        roles.target = classifier->schema->target;
    if (!roles.weights && *classifier->schema->weights)
        roles.weights = classifier->schema->weights; /* as in the fit */
    int code = read_table(call, &roles, inputs);
    if (code != CLI_OK)
        return code;
    status = pv_schema_apply(call->ctx, classifier->schema, inputs->table, &roles, &inputs->data);
    if (status != PV_OK)
        return cli_fail(call, status);
    inputs->roles = roles;
    if (classifier->label_error)
        cli_warn(call, "%s", PV_RECORDED_WARNING);
    return predict(call, options, inputs);
}

/* ---- file of probabilities --------------------------------------------------------------------------------------- */

/* Determines their population and converts them to the requested one. */
static int move_probs(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    const pv_predict_options wanted = {.likelihood = true};
    const pv_probs *probs = inputs->probs;
    const pv_unknown_options unknown = unknown_of(options);
    pv_population *population = NULL;
    double *from = options->from ? cli_alloc((size_t)probs->classes, sizeof *from) : NULL;
    pv_status status =
        from ? pv_prevalence_parse_one(call->ctx, "`from`", options->from, probs->labels, probs->classes, from) : PV_OK;
    if (status == PV_OK)
        status = pv_population_of_probs(call->ctx, probs, from, options->population, &unknown, &population);
    if (status == PV_OK)
        status = pv_predict_probs(call->ctx, probs, from, population, &wanted, &inputs->said);
    pv_population_free(call->ctx, population);
    free(from);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int read_probs(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    pv_csv_options csv = cli_csv(call);
    pv_probs_options reading = {.columns = options->columns,
                                .csv = &csv,
                                .target = options->votes ? NULL : options->target,
                                .weights = options->weights,
                                .cluster = options->cluster,
                                .also = options->votes,
                                .positive = options->positive,
                                .drop_missing = options->missing == PV_MISSING_DROP};
    inputs->votes = options->votes;
    pv_status status = pv_probs_read(call->ctx, inputs->name, &reading, &inputs->probs);
    return status == PV_OK ? move_probs(call, options, inputs) : cli_fail(call, status);
}

/* ---- used by both ------------------------------------------------------------------------------------------------ */

static pv_status judge(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    pv_dataset *data = inputs->probs ? inputs->probs->data : inputs->data;
    const pv_table *table = inputs->probs ? inputs->probs->table : inputs->table;
    char *const *labels = eval_labels(inputs);
    const pv_judge_options how = {.stated_for = options->stated_for,
                                  .binarise = options->binarise,
                                  .positive = options->positive,
                                  .bootstrap = cli_given(call, "bootstrap") ? options->bootstrap : -1,
                                  .level = options->interval,
                                  .seed = options->seed,
                                  .keep = options->compare != NULL};
    pv_status status = PV_OK;
    if (inputs->votes)
        status = pv_dataset_votes(call->ctx, table, inputs->votes, labels, inputs->said->classes,
                                  options->missing == PV_MISSING_DROP, data);
    return status == PV_OK ? pv_judge(call->ctx, data, labels, inputs->said, &how, &inputs->judged) : status;
}

int eval_judge(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    int code = options->probs ? read_probs(call, options, inputs) : read_model(call, options, inputs);
    if (code != CLI_OK)
        return code;
    pv_status status = judge(call, options, inputs);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

void eval_clear(cli_call *call, eval_inputs *inputs) {
    eval_decision_clear(call, inputs);
    eval_compare_clear(call, inputs);
    pv_importance_free(call->ctx, inputs->importance);
    pv_judgement_free(call->ctx, inputs->judged);
    pv_population_free(call->ctx, inputs->population);
    pv_prediction_free(call->ctx, inputs->said);
    pv_probs_free(call->ctx, inputs->probs);
    pv_dataset_free(call->ctx, inputs->data);
    pv_table_free(call->ctx, inputs->table);
    pv_classifier_free(call->ctx, inputs->classifier);
}
