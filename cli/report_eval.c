/* The report of prevail eval. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/eval.h"
#include "cli/methods.h"
#include "cli/report_sections.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"
#include "tool/report.h"

static void put_probs(pv_report *report, const eval_options *options, const eval_inputs *inputs) {
    char name[200];
    pv_text_short(options->probs, 60, name, sizeof name);
    report_say(report, "Probabilities of another model, from the file %s: %s rows%s.", name,
               pv_group_digits((double)inputs->judged->rows).text,
               options->from ? "" : ". The prevalence that they were made for is not stated (--from)");
}

/* Notes that go beyond a single model: ensembles, and labels that are two sides of a grade. */
static void put_judged_of(pv_report *report, const eval_options *options, const eval_inputs *inputs) {
    if (options->ensemble) {
        char names[400];
        pv_text_short(options->ensemble, 120, names, sizeof names);
        report_say(report,
                   "The evaluated probabilities are the mean of an ensemble: the model below and %s. The model, its "
                   "checks and its coefficients below are those of the first; metrics and charts are for the ensemble.",
                   names);
    }
    if (options->binarise) {
        size_t uncertain = inputs->judged->uncertain;
        char grade[160];
        pv_text_short(options->binarise, 30, grade, sizeof grade);
        report_say(report,
                   "Labels are evaluated as two, below and above %s: a row counts by its proportion of votes on either "
                   "side. %zu uncertain row%s, with more than half of the votes on %s, %s left out.",
                   grade, uncertain, uncertain == 1 ? "" : "s", grade, uncertain == 1 ? "is" : "are");
    }
}

static int put_provenance(cli_call *call, pv_report *report, const eval_options *options, const eval_inputs *inputs) {
    const pv_table *table = inputs->probs ? inputs->probs->table : inputs->table;
    const pv_classifier *c = inputs->classifier;
    pv_result *record = c ? cli_json_record(call->ctx, c) : NULL;
    const char *fitted = pv_result_text(pv_result_get(record, "command"));
    char hash[2][24], seed[2][24];
    snprintf(hash[0], sizeof hash[0], "%016" PRIx64, c ? eval_data(inputs)->hash : table->hash);
    snprintf(hash[1], sizeof hash[1], "%016" PRIx64, c ? c->data_hash : 0);
    snprintf(seed[0], sizeof seed[0], "%lld", (long long)options->seed);
    snprintf(seed[1], sizeof seed[1], "%lld", c ? (long long)c->seed : 0LL);
    const char *const names[] = {
        "data evaluated", "its hash (XXH3-64)", "seed of the bootstrap", c ? "command of the fit" : NULL,
        "training data",  "its hash (XXH3-64)", "seed of the fit",       NULL};
    const char *const values[] = {table->source,      hash[0], seed[0], fitted ? fitted : "not recorded",
                                  c ? c->source : "", hash[1], seed[1]};
    report_put_provenance(call, report, names, values);
    pv_result_free(record);
    return CLI_OK;
}

/* For a model with strata: the ranking for the population by stratum and label. */
static pv_status rank_strata(cli_call *call, const eval_options *options, const eval_inputs *inputs,
                             const pv_dataset *data, const pv_prediction *said, pv_ranking **ranking) {
    const pv_judge_options how = {.stated_for = options->stated_for, .positive = options->positive};
    pv_judgement *judged;
    pv_status status = pv_judge(call->ctx, data, inputs->classifier->schema->labels, said, &how, &judged);
    if (status == PV_OK) {
        *ranking = judged->found.ranking;
        judged->found.ranking = NULL;
        pv_judgement_free(call->ctx, judged);
    }
    return status;
}

/* The training rows ranked by probability, reweighted to the label proportions of the metrics. */
static int rank_training(cli_call *call, const eval_options *options, const eval_inputs *inputs, pv_ranking **ranking) {
    const pv_classifier *c = inputs->classifier;
    pv_roles roles = pv_schema_roles(c->schema);
    roles.missing = c->schema->missing >= PV_MISSING_INDICATOR ? PV_MISSING_MODEL : PV_MISSING_DROP;
    pv_dataset *data = NULL;
    pv_status status = pv_dataset_read(call->ctx, c->schema, options->training, &roles, &options->csv, &data);
    if (status == PV_OK && data->hash != c->data_hash)
        cli_warn(call, "--training %s: these are not the data of the fit, which have hash %016" PRIx64,
                 options->training, c->data_hash);
    if (status == PV_OK) {
        pv_targets targets = pv_dataset_targets(data);
        pv_prediction *said = NULL;
        status = pv_predict(call->ctx, c, data, NULL, NULL, &said);
        if (status == PV_OK && said->strata && !inputs->judged->as_rows)
            status = rank_strata(call, options, inputs, data, said, ranking);
        else if (status == PV_OK)
            status = pv_ranking_new(call->ctx, &targets, said->log_p, inputs->judged->positive, inputs->judged->stated,
                                    ranking);
        pv_prediction_free(call->ctx, said);
    }
    pv_dataset_free(call->ctx, data);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int put_methods(cli_call *call, pv_report *report, const eval_options *options, const eval_inputs *inputs) {
    pv_methods_options how = pv_methods_options_default();
    how.judgement = inputs->judged;
    how.judged_level = options->interval;
    how.training_rows = eval_is_training(inputs);
    return report_put_methods(call, report, inputs->classifier, &how);
}

static int put_what(cli_call *call, pv_report *report, const eval_options *options, const eval_inputs *inputs) {
    pv_report_section(report, "fit", "What was evaluated");
    put_judged_of(report, options, inputs);
    if (inputs->classifier)
        return report_put_model(call, report, call->argument[0], inputs->classifier);
    put_probs(report, options, inputs);
    return CLI_OK;
}

int eval_write_report(cli_call *call, const eval_options *options, const eval_inputs *inputs) {
    const pv_judgement *j = inputs->judged;
    pv_report *report = NULL;
    const char *data = options->probs ? options->probs : call->argument[1];
    char title[200], lead[300], label[400], advice[800];
    pv_text_short(options->probs ? options->probs : call->argument[0], 60, title, sizeof title);
    pv_text_short(data, 60, lead, sizeof lead);
    char heading[300], below[600];
    snprintf(heading, sizeof heading, "How good %s %s%s?", options->ensemble ? "are" : "is", title,
             options->ensemble ? " and its ensemble" : "");
    snprintf(below, sizeof below, "Evaluated on %s%s, %s rows. prevail " PV_VERSION, lead,
             eval_is_training(inputs) ? " (the table that the model was fitted on)" : "",
             pv_group_digits((double)j->rows).text);
    pv_report_judged judged = pv_report_judged_of(j, options->interval);
    judged.target = options->target ? options->target : inputs->classifier ? inputs->classifier->schema->target : NULL;
    judged.bins = (int)options->bins;
    judged.rows_title = eval_is_training(inputs) ? "Training rows" : "Evaluated rows";
    if (cli_given(call, "threshold"))
        judged.threshold = options->threshold;
    else if (options->costs && inputs->decision.count == 1)
        judged.threshold = inputs->decision.rates[0].threshold;
    if (inputs->classifier && inputs->classifier->posterior)
        judged.caveat = "The model has a posterior: this page adjusts its mean probability, while eval --population "
                        "known:P averages adjusted probabilities over the draws.";
    pv_report_label(&judged, judged.positive, label, sizeof label);
    if (j->misleading) {
        snprintf(
            advice, sizeof advice,
            "Metrics and charts are for the rows as they are, where the proportion with %s is %.4g; the probabilities "
            "are for a population where it is %.4g. Add --stated-for population to evaluate them for that population.",
            label, j->observed[j->positive], j->prevalence[j->positive]);
        judged.advice = advice;
    }
    pv_ranking *training = NULL;
    int code = options->training && inputs->classifier ? rank_training(call, options, inputs, &training) : CLI_OK;
    judged.training = training;
    report_options how = options->report;
    how.model = call->argument[0];
    if (code == CLI_OK)
        code = report_begin(call, &how, heading, below, &report);
    if (code != CLI_OK) {
        pv_ranking_free(call->ctx, training);
        return code;
    }
    code = cli_done(call, pv_report_put_judged(call->ctx, report, &judged)); /* begins with the answer */
    if (code == CLI_OK && inputs->said->inferred)
        code = report_put_shift(call, report, inputs->said->inferred, eval_labels(inputs));
    if (code == CLI_OK && inputs->classifier && !options->ensemble)
        code = report_put_columns(call, report, inputs->classifier, inputs->data, inputs->said);
    if (code == CLI_OK)
        code = eval_importance_report(call, report, inputs);
    if (code == CLI_OK)
        code = put_what(call, report, options, inputs);
    if (code == CLI_OK && inputs->classifier)
        code = report_put_coefficients(call, report, inputs->classifier, options->interval);
    if (code == CLI_OK && !options->ensemble) /* of which there is no one model to describe */
        code = put_methods(call, report, options, inputs);
    if (code == CLI_OK)
        code = put_provenance(call, report, options, inputs);
    pv_ranking_free(call->ctx, training);
    return report_end(call, &options->report, report, code);
}
