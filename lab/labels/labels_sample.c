/* A sample of the study of labels with errors.
 *
 * Two columns, x1 standard normal and x2 of 0 and 1 with equal probability, and a logistic model of the true label with
 * slopes 0.8 and -0.5, whose intercept has the stated prevalence. Errors of the recorded label do not depend on x.
 * Validated labels are other people: of each true label, or of each recorded label.
 */
#include "lab/labels/labels.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>

static const double OTHER = -0.5;

static double logistic(double z) {
    return 1 / (1 + exp(-z));
}

/* The mean risk, by the trapezium rule. */
static double mean_risk(double intercept) {
    double sum = 0, total = 0;
    for (int i = -400; i <= 400; i++) {
        double x = i * 0.02, weight = exp(-0.5 * x * x);
        sum += 0.5 * weight * (logistic(intercept + LABELS_SLOPE * x) + logistic(intercept + LABELS_SLOPE * x + OTHER));
        total += weight;
    }
    return sum / total;
}

static double intercept_of(double prevalence) {
    double low = -20, high = 20;
    for (int i = 0; i < 60; i++)
        *(mean_risk(0.5 * (low + high)) < prevalence ? &low : &high) = 0.5 * (low + high);
    return 0.5 * (low + high);
}

typedef struct rows {
    size_t n;
    double *x1, *x2, *y;
} rows;

static void draw_rows(const labels_study *s, const labels_cell *c, double intercept, pv_rng *rng, rows *to) {
    size_t wanted[2] = {to->n - to->n / 2, to->n / 2};
    for (size_t i = 0; i < to->n;) {
        double x1 = pv_rng_normal(rng), x2 = pv_rng_uniform(rng) < 0.5;
        bool label = pv_rng_uniform(rng) < logistic(intercept + LABELS_SLOPE * x1 + OTHER * x2);
        bool recorded = pv_rng_uniform(rng) < (label ? s->options->sensitivity : 1 - s->options->specificity);
        if (c->random == 0 && wanted[recorded] == 0)
            continue;
        wanted[recorded] -= c->random == 0;
        to->x1[i] = x1;
        to->x2[i] = x2;
        to->y[i++] = recorded;
    }
}

static double count_of(pv_rng *rng, double n, double p) {
    double count = 0;
    for (long left = lround(n); left > 0; left--)
        count += pv_rng_uniform(rng) < p;
    return count;
}

/* What the validation study found, as `label-error`. */
static void write_errors(const labels_study *s, const labels_cell *c, pv_rng *rng, char text[160]) {
    double se = s->options->sensitivity, sp = s->options->specificity, p = c->prevalence, n = c->validated;
    double share = se * p + (1 - sp) * (1 - p), ppv = se * p / share, npv = sp * (1 - p) / (1 - share);
    const bool predictive = c->predictive != 0;
    const char *positive = predictive ? "ppv" : "sensitivity", *negative = predictive ? "npv" : "specificity";
    double right[2] = {predictive ? npv : sp, predictive ? ppv : se};
    if (isinf(n))
        snprintf(text, 160, "%s=%.17g,%s=%.17g", positive, right[1], negative, right[0]);
    else
        snprintf(text, 160, "%s=%.0f/%.0f,%s=%.0f/%.0f", positive, count_of(rng, n, right[1]), n, negative,
                 count_of(rng, n, right[0]), n);
}

static pv_status table_of(pv_ctx *ctx, const rows *drawn, pv_table **table) {
    PV_TRY(pv_table_new(ctx, "drawn", drawn->n, table));
    PV_TRY(pv_table_add_numbers(ctx, *table, "x1", PV_ARRAY_F64, drawn->x1, PV_PACKED, NULL, true));
    PV_TRY(pv_table_add_numbers(ctx, *table, "x2", PV_ARRAY_F64, drawn->x2, PV_PACKED, NULL, true));
    return pv_table_add_numbers(ctx, *table, "y", PV_ARRAY_F64, drawn->y, PV_PACKED, NULL, true);
}

/* A fit's coefficients [3] and errors [3]; false if it was rejected or has no standard errors. */
static pv_status fit(pv_ctx *ctx, const pv_table *table, const labels_cell *c, const char *errors, double *coefficient,
                     double *error, bool *found) {
    const pv_roles roles = {.target = "y", .features = "x1,x2", .positive = "1"};
    pv_fit_options options = pv_fit_options_default();
    char prevalence[40];
    snprintf(prevalence, sizeof prevalence, "%.17g", c->prevalence);
    options.label_error = errors;
    options.infer = PV_INFER_ML;
    options.loss = c->random != 0 ? PV_LOSS_PLAIN : PV_LOSS_IG;
    options.prevalence = c->random != 0 ? NULL : prevalence;
    pv_schema *schema = NULL;
    pv_dataset *data = NULL;
    pv_classifier *fitted = NULL;
    pv_status status = pv_schema_learn(ctx, table, &roles, &schema, &data);
    size_t entered = pv_checkpoint_enter(ctx, "fit", errors != NULL); /* a job has one fit of each kind */
    if (status == PV_OK)
        status = pv_fit(ctx, schema, data, &options, &fitted);
    pv_checkpoint_leave(ctx, entered);
    *found = status == PV_OK && fitted->standard_error;
    if (*found)
        status = pv_classifier_coefficients(ctx, fitted, coefficient);
    for (int i = 0; *found && i < 3; i++)
        error[i] = fitted->standard_error[i];
    pv_classifier_free(ctx, fitted);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    return study_fit_failed(status) || status == PV_ERR_USAGE ? PV_OK : status;
}

static bool holds(double value, double error, double z, double truth) {
    return fabs(value - truth) <= z * error;
}

pv_status labels_replicate(pv_ctx *ctx, const labels_study *s, const labels_cell *c, size_t index, labels_outcome *to) {
    const double z95 = 1.959963984540054, z90 = 1.644853626951473;
    pv_rng rng = pv_rng_stream(s->seed, PV_STREAM_STUDY_LABELS, index);
    double intercept = intercept_of(c->prevalence), b[3], e[3];
    size_t n = (size_t)s->options->rows;
    rows drawn = {n, cli_alloc(n, sizeof(double)), cli_alloc(n, sizeof(double)), cli_alloc(n, sizeof(double))};
    pv_table *table = NULL;
    char errors[160];
    bool found = false;
    draw_rows(s, c, intercept, &rng, &drawn);
    write_errors(s, c, &rng, errors);
    *to = (labels_outcome){0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    pv_status status = table_of(ctx, &drawn, &table);
    if (status == PV_OK)
        status = fit(ctx, table, c, errors, b, e, &found);
    if (found)
        *to = (labels_outcome){1,
                               b[1],
                               holds(b[1], e[1], z95, LABELS_SLOPE),
                               holds(b[1], e[1], z90, LABELS_SLOPE),
                               2 * z95 * e[1],
                               b[0],
                               holds(b[0], e[0], z95, intercept),
                               holds(b[0], e[0], z90, intercept),
                               NAN,
                               NAN};
    if (status == PV_OK)
        status = fit(ctx, table, c, NULL, b, e, &found);
    to->naive = found ? b[1] : NAN;
    to->naive95 = found ? holds(b[1], e[1], z95, LABELS_SLOPE) : NAN;
    pv_table_free(ctx, table);
    free(drawn.x1);
    free(drawn.x2);
    free(drawn.y);
    return status;
}
