/* prevail-lab bias: the paper's opening figures.
 *
 * Section 2: a model is trained on 357 malignant and 322 benign nodules. What do its probabilities mean if one nodule
 * in ten is malignant, what does shifting the operating point correct, and what does a model that knows the prevalence
 * do?
 *
 * First figure and Appendix G: one population, x | y ~ N(+-1 u, I) in two dimensions with u = (1,1)/sqrt(2), so that
 * p(y|x) is logistic. It is sampled at random, by label, by feature (only x1 at most 0.5 is observed), and by both
 * (cases at random, controls with x1 at most 0.5). Every model uses the population's true prevalence.
 */
#include "prevail/prevail.h"
#include "lab/bias/bias.h"
#include "lab/common/judge.h"
#include "lab/common/study.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 357, CONTROLS = 322, JUDGED = 4000, SAMPLE = 1000, POPULATION = 10000 };
static const double cut = 0.5, separation = 2;

const char *const lead_rule[LEAD_RULES] = {
    "plain, threshold 0.5", "plain, operating point moved", "plain, corrected", "iw", "ig", "always benign"};
const char *const lead_key[LEAD_RULES] = {"plain", "operating_point", "corrected", "iw", "ig", "always_benign"};
const double lead_prevalence[LEAD_PREVALENCES] = {0.5, 0.1, 0.01, 0.001, 0.0001};
const bias_column lead_column[LEAD_QUANTITIES] = {
#define ENTRY(name, title, text) {#name, title, text},
    LEAD_QUANTITY_LIST(ENTRY)
#undef ENTRY
};
const char *const bias_selection[SELECTIONS] = {"none", "label", "feature", "both"};
const char *const bias_selection_text[SELECTIONS] = {"none: a random sample", "by label: equal counts",
                                                     "by feature: x1 at most 0.5",
                                                     "by both: controls with x1 at most 0.5"};
const char *const bias_method[BIAS_METHODS] = {"plain", "plain, corrected", "iw", "ig, plug-in", "ig, profile"};
const char *const bias_key[BIAS_METHODS] = {"plain", "corrected", "iw", "ig_plugin", "ig_profile"};
const pv_ink bias_ink[BIAS_METHODS] = {PV_INK_MUTED, PV_INK_PLAIN, PV_INK_IW, PV_INK_PLUGIN, PV_INK_IG};
const bias_column bias_quantity[BIAS_QUANTITIES] = {
#define ENTRY(name, title, text) {#name, title, text},
    BIAS_QUANTITY_LIST(ENTRY)
#undef ENTRY
};

/* ---- a model fitted to a table ----------------------------------------------------------------------------------- */

static pv_fit_options fit_options(pv_loss loss, pv_marginal marginal, const char *stated) {
    pv_fit_options options = pv_fit_options_default();
    options.weighting = "0"; /* the efficient estimate, as the name profile suggests */
    options.match = PV_MATCH_NONE;
    options.prevalence = stated;
    options.loss = (int)loss;
    if (pv_loss_has_marginal(loss)) {
        options.marginal = (int)marginal;
        options.prevalence_n = "known";
    }
    return options;
}

/* p(y=1|x) for other tables, predicted by a model. */
typedef struct model {
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *fit;
} model;

static void model_free(pv_ctx *ctx, model *m) {
    pv_classifier_free(ctx, m->fit);
    pv_schema_free(ctx, m->schema);
    pv_dataset_free(ctx, m->data);
}

/* index: of the fit within the data set. */
static pv_status model_new(pv_ctx *ctx, size_t index, const pv_table *table, const char *target,
                           const pv_fit_options *options, model *m) {
    pv_roles roles = {.target = target};
    pv_status status = pv_schema_learn(ctx, table, &roles, &m->schema, &m->data);
    if (status != PV_OK)
        return status;
    return study_fit(ctx, index, m->schema, m->data, options, &m->fit);
}

static pv_status predict(pv_ctx *ctx, const model *m, const pv_table *table, const char *population, double *p) {
    pv_dataset *rows = NULL;
    pv_status status = pv_schema_apply(ctx, m->schema, table, NULL, &rows);
    pv_prediction *said = NULL;
    if (status == PV_OK)
        status = pv_predict_in(ctx, m->fit, rows, population, NULL, &said);
    for (size_t i = 0; status == PV_OK && i < table->rows; i++)
        p[i] = said->p[2 * i + 1];
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, rows);
    return status;
}

/* ---- section 2 --------------------------------------------------------------------------------------------------- */

static void rate(const bias *b, const double *p, double threshold, double *v) {
    double tp = 0, tn = 0, expected = 0, pi = b->prevalence; /* cases come first in a simulated table */
    for (size_t i = 0; i < 2 * JUDGED; i++) {
        bool called = p[i] >= threshold;
        tp += i < JUDGED && called;
        tn += i >= JUDGED && !called;
        expected += (i < JUDGED ? pi : 1 - pi) * p[i] / JUDGED;
    }
    double tpr = tp / JUDGED, tnr = tn / JUDGED, called = pi * tpr + (1 - pi) * (1 - tnr);
    v[LEAD_tpr] = tpr;
    v[LEAD_tnr] = tnr;
    v[LEAD_lab_accuracy] = 0.5 * (tpr + tnr);
    v[LEAD_accuracy] = pi * tpr + (1 - pi) * tnr;
    v[LEAD_called] = called;
    v[LEAD_ppv] = called > 0 ? pi * tpr / called : NAN;
    v[LEAD_npv] = called < 1 ? (1 - pi) * tnr / (1 - called) : NAN;
    v[LEAD_in_the_large] = expected / pi;
}

static int upwards(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The threshold with the highest accuracy on the training rows, weighted to the prevalence. */
static double operating_point(const bias *b, const double *p) {
    double best = 0, found = 0.5, sorted[CASES + CONTROLS + 1] = {0};
    memcpy(sorted, p, (CASES + CONTROLS) * sizeof *p);
    qsort(sorted, CASES + CONTROLS, sizeof *sorted, upwards);
    sorted[CASES + CONTROLS] = 1;
    for (size_t t = 0; t <= CASES + CONTROLS; t++) {
        double right = 0;
        for (size_t i = 0; i < CASES + CONTROLS; i++)
            right += i < CASES ? (p[i] >= sorted[t]) * b->prevalence / CASES
                               : (p[i] < sorted[t]) * (1 - b->prevalence) / CONTROLS;
        if (right > best) {
            best = right;
            found = sorted[t];
        }
    }
    return found;
}

static void note_histogram(const double *p, double histogram[2][LEAD_BINS]) {
    for (size_t i = 0; i < 2 * JUDGED; i++) {
        int bin = (int)(p[i] * LEAD_BINS);
        histogram[i < JUDGED][bin < LEAD_BINS ? bin : LEAD_BINS - 1] += (double)LEAD_BINS / JUDGED;
    }
}

static pv_status run_lead(pv_ctx *ctx, bias *b, size_t replicate, const char *stated) {
    pv_simulation study = {.cases = CASES,
                           .controls = CONTROLS,
                           .prevalence = b->prevalence,
                           .seed = (uint64_t)b->options->shared.seed + 1000003 * (replicate + 1)},
                  judged = study;
    judged.cases = judged.controls = JUDGED;
    judged.seed += 500000;
    pv_table *table = NULL, *other = NULL;
    double *p = cli_alloc(2 * JUDGED, sizeof *p), own[CASES + CONTROLS] = {0};
    double *v = b->lead + replicate * LEAD_RULES * LEAD_QUANTITIES;
    pv_status status = pv_simulate(ctx, "nodules", &study, &table, NULL);
    if (status == PV_OK)
        status = pv_simulate(ctx, "nodules", &judged, &other, NULL);
    static const pv_loss losses[] = {PV_LOSS_PLAIN, PV_LOSS_IW, PV_LOSS_IG};
    static const int rules[] = {LEAD_CORRECTED, LEAD_IW, LEAD_IG};
    for (int l = 0; l < 3 && status == PV_OK; l++) {
        pv_fit_options options = fit_options(losses[l], PV_MARGINAL_PROFILE, stated);
        model m = {0};
        status = model_new(ctx, (size_t)l, table, "malignant", &options, &m);
        if (status == PV_OK && l == 0) { /* without a shift */
            status = predict(ctx, &m, table, "design", own);
            if (status == PV_OK)
                status = predict(ctx, &m, other, "design", p);
            double moved = status == PV_OK ? operating_point(b, own) : 0.5;
            rate(b, p, 0.5, v + LEAD_PLAIN * LEAD_QUANTITIES);
            rate(b, p, moved, v + LEAD_MOVED * LEAD_QUANTITIES);
            if (replicate == 0) {
                note_histogram(p, b->histogram[0]);
                b->threshold = moved;
            }
        }
        if (status == PV_OK)
            status = predict(ctx, &m, other, "true", p);
        if (status == PV_OK)
            rate(b, p, 0.5, v + rules[l] * LEAD_QUANTITIES);
        if (status == PV_OK && replicate == 0 && l == 2)
            note_histogram(p, b->histogram[1]);
        model_free(ctx, &m);
    }
    for (size_t i = 0; i < 2 * JUDGED; i++)
        p[i] = 0;
    rate(b, p, 0.5, v + LEAD_BENIGN * LEAD_QUANTITIES);
    pv_table_free(ctx, table);
    pv_table_free(ctx, other);
    free(p);
    return status;
}

/* ---- selection --------------------------------------------------------------------------------------------------- */

static pv_simulation selection_of(const bias *b, int selection, uint64_t seed) {
    pv_simulation s = {.rows = SAMPLE,
                       .cases = -1,
                       .controls = -1,
                       .prevalence = b->prevalence,
                       .dimensions = 2,
                       .separation = separation,
                       .seed = seed,
                       .low = -HUGE_VAL,
                       .high = cut,
                       .within_label = -1};
    if (selection == SELECT_LABEL || selection == SELECT_BOTH)
        s.cases = s.controls = SAMPLE / 2;
    if (selection == SELECT_FEATURE || selection == SELECT_BOTH)
        s.within = "x1";
    if (selection == SELECT_BOTH)
        s.within_label = 0;
    return s;
}

/* Compares the model's predictions for a draw of the population with the truth, row by row. */
static void judge(const bias *b, const pv_table *population, const double *p, double *v) {
    double *y = cli_alloc(population->rows, sizeof *y), information = 0, mean = 0, unused;
    for (size_t i = 0; i < population->rows; i++) {
        y[i] = pv_sigmoid(b->truth[0] + b->truth[1] * population->column[0].number[i] +
                          b->truth[2] * population->column[1].number[i]);
        mean += y[i] / (double)population->rows;
        information += (y[i] * log(y[i]) + (1 - y[i]) * log1p(-y[i])) / (double)population->rows;
    }
    information -= mean * log(mean) + (1 - mean) * log1p(-mean);
    judge_rows rows = {population->rows, p, y, NULL};
    v[BIAS_in_the_large] = judge_in_the_large(&rows);
    judge_recalibrate(&rows, &unused, &v[BIAS_slope]);
    v[BIAS_lost] = judge_excess(&rows) / information;
    free(y);
}

static pv_status run_method(pv_ctx *ctx, bias *b, size_t replicate, int selection, int method, const pv_table *sample,
                            const pv_table *population, const char *stated, double *p) {
    static const pv_loss losses[BIAS_METHODS] = {PV_LOSS_PLAIN, PV_LOSS_PLAIN, PV_LOSS_IW, PV_LOSS_IG, PV_LOSS_IG};
    pv_fit_options options =
        fit_options(losses[method], method == BIAS_PLUGIN ? PV_MARGINAL_PLUGIN : PV_MARGINAL_PROFILE, stated);
    double *v =
        b->selected + ((replicate * SELECTIONS + (size_t)selection) * BIAS_METHODS + (size_t)method) * BIAS_QUANTITIES;
    double w[3] = {0};
    model m = {0};
    size_t index = LEAD_RULES + (size_t)selection * BIAS_METHODS + (size_t)method;
    pv_status status = model_new(ctx, index, sample, "y", &options, &m);
    if (status == PV_OK)
        status = predict(ctx, &m, population, method == BIAS_PLAIN ? "design" : "true", p);
    if (status == PV_OK)
        status = pv_classifier_coefficients(ctx, m.fit, w);
    if (status == PV_OK) {
        double share = m.fit->design[1];
        if (method == BIAS_CORRECTED)
            w[0] += pv_logit(b->prevalence) - pv_logit(share);
        v[BIAS_share] = share;
        v[BIAS_intercept] = w[0] - b->truth[0];
        v[BIAS_x1] = w[1] / b->truth[1];
        v[BIAS_x2] = w[2] / b->truth[2];
        judge(b, population, p, v);
        if (replicate == 0)
            memcpy(b->line[selection][method], w, sizeof w);
    }
    model_free(ctx, &m);
    return status;
}

static pv_status run_selections(pv_ctx *ctx, bias *b, size_t replicate, const char *stated) {
    uint64_t seed = (uint64_t)b->options->shared.seed + 1000003 * (replicate + 1);
    pv_simulation all = selection_of(b, SELECT_NONE, seed + 500000);
    all.rows = POPULATION;
    pv_table *population = NULL;
    double *p = cli_alloc(POPULATION, sizeof *p);
    pv_status status = pv_simulate(ctx, "gaussian", &all, &population, NULL);
    for (int s = 0; s < SELECTIONS && status == PV_OK; s++) {
        pv_simulation what = selection_of(b, s, seed);
        pv_table *sample = NULL;
        status = pv_simulate(ctx, "gaussian", &what, &sample, NULL);
        for (int m = 0; m < BIAS_METHODS && status == PV_OK; m++)
            status = run_method(ctx, b, replicate, s, m, sample, population, stated, p);
        pv_table_free(ctx, sample);
    }
    pv_table_free(ctx, population);
    free(p);
    return status;
}

static pv_status run_replicate(pv_ctx *ctx, void *state, size_t replicate) {
    bias *b = state;
    char stated[34] = "1=";
    pv_format_double(b->prevalence, stated + 2, sizeof stated - 2);
    pv_status status = run_lead(ctx, b, replicate, stated);
    return status == PV_OK ? run_selections(ctx, b, replicate, stated) : status;
}

static size_t outcome(void *state, size_t replicate, pv_field *field) {
    bias *b = state;
    size_t lead = (size_t)LEAD_RULES * LEAD_QUANTITIES, selected = (size_t)SELECTIONS * BIAS_METHODS * BIAS_QUANTITIES;
    field[0] = (pv_field){b->lead + replicate * lead, lead * sizeof *b->lead};
    field[1] = (pv_field){b->selected + replicate * selected, selected * sizeof *b->selected};
    if (replicate > 0)
        return 2;
    field[2] = (pv_field){b->histogram, sizeof b->histogram};
    field[3] = (pv_field){&b->threshold, sizeof b->threshold};
    field[4] = (pv_field){b->line, sizeof b->line};
    return 5;
}

static bool sound(const void *state, size_t replicate) {
    const bias *b = state;
    size_t lead = (size_t)LEAD_RULES * LEAD_QUANTITIES, selected = (size_t)SELECTIONS * BIAS_METHODS * BIAS_QUANTITIES;
    if (!study_within(b->lead + replicate * lead, lead, 0, STUDY_LARGEST, true) ||
        !study_within(b->selected + replicate * selected, selected, -STUDY_LARGEST, STUDY_LARGEST, true))
        return false;
    return replicate > 0 || (study_within(&b->histogram[0][0][0], 4 * (size_t)LEAD_BINS, 0, LEAD_BINS, false) &&
                             study_within(&b->threshold, 1, 0, 1, false) &&
                             study_within(&b->line[0][0][0], (size_t)SELECTIONS * BIAS_METHODS * 3, -STUDY_LARGEST,
                                          STUDY_LARGEST, true));
}

/* ---- means ------------------------------------------------------------------------------------------------------- */

/* Mean of every stride-th value, one for each data set. */
static size_t mean_of(const bias *b, const double *values, size_t stride, double *mean, double *error) {
    double sd;
    size_t count = study_mean(values, b->replicates, stride, mean, &sd);
    *error = sd / sqrt((double)count);
    return count;
}

size_t lead_mean(const bias *b, int rule, int quantity, double *mean, double *error) {
    return mean_of(b, b->lead + rule * LEAD_QUANTITIES + quantity, LEAD_RULES * LEAD_QUANTITIES, mean, error);
}

size_t bias_mean(const bias *b, int selection, int method, int quantity, double *mean, double *error) {
    return mean_of(b, b->selected + (selection * BIAS_METHODS + method) * BIAS_QUANTITIES + quantity,
                   SELECTIONS * BIAS_METHODS * BIAS_QUANTITIES, mean, error);
}

static int work(cli_call *call) {
    const bias_options *options = call->options;
    bias b = {.options = options, .prevalence = options->prevalence, .replicates = (size_t)options->replicates};
    b.lead = cli_alloc(b.replicates * LEAD_RULES * LEAD_QUANTITIES, sizeof *b.lead);
    b.selected = cli_alloc(b.replicates * SELECTIONS * BIAS_METHODS * BIAS_QUANTITIES, sizeof *b.selected);
    if (b.prevalence > 0.5 || b.prevalence < 0.005) {
        free(b.lead);
        free(b.selected);
        return cli_error(call, PV_ERR_USAGE, NULL, "--prevalence %g: the study bias needs one from 0.005 to 0.5",
                         b.prevalence);
    }
    pv_status status = PV_OK;
    for (int s = 0; s < SELECTIONS && status == PV_OK; s++) { /* keep those of the first data set for the figure */
        pv_simulation what = selection_of(&b, s, (uint64_t)options->shared.seed + 1000003);
        status = pv_simulate(call->ctx, "gaussian", &what, &b.sample[s], b.truth);
    }
    int code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    if (code == CLI_OK)
        code = study_parallel(call, "data sets", b.replicates, run_replicate, outcome, sound, &b);
    if (code == CLI_OK)
        code = bias_report(call, &b);
    for (int s = 0; s < SELECTIONS; s++)
        pv_table_free(call->ctx, b.sample[s]);
    free(b.lead);
    free(b.selected);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(cli_call *call) {
    return study_run(call,
                     &(study_plan){.name = "bias",
                                   .title = "bias",
                                   .about = "What selection by label, by feature and by both does. prevail " PV_VERSION,
                                   .work = work});
}

static const pv_option option_table[] = {STUDY_OPTION_PREVALENCE(bias_options, "0.1"),
                                         STUDY_OPTION_REPLICATES(bias_options, "50", "Simulated data sets."),
                                         CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab bias --prevalence 0.05 -o out", "The opening figures at another prevalence."}, {NULL, NULL}};

const cli_command lab_bias = {
    .name = "bias",
    .summary = "the paper's opening figures: what selection by label, by feature and by both does",
    .usage = "[options] [-o DIR] [--json]",
    .text = "What a model of a balanced sample means where the prevalence is another, with and without its operating "
            "point moved; and what selection by label, by feature and by both does to each model.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(bias_options),
    .output = "Rates and predictive values of each rule; errors of coefficients and of predictions by selection and "
              "method. -o writes results.json, tables.md, prevalence.svg, selection.svg.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
