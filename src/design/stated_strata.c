/* What is known about each stratum of the population: its proportion and its label prevalences. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "core/core.h"
#include "design/design.h"

pv_status pv__stratified_alloc(pv_ctx *ctx, int strata, int classes, pv_stratified **made) {
    size_t s = (size_t)strata, k = (size_t)classes;
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    pv_stratified *to = *made;
    to->strata = strata;
    to->classes = classes;
    PV_TRY(pv__alloc(ctx, s, (3 + 3 * k) * sizeof(double), &to->share));
    to->n = to->share + s;
    to->prevalence = to->n + s;
    to->design = to->prevalence + s * k;
    to->log_marginal = to->design + s * k;
    to->rows = to->log_marginal + s * k;
    return PV_OK;
}

void pv_stratified_free(pv_ctx *ctx, pv_stratified *stratified) {
    if (!stratified)
        return;
    pv__free(ctx, stratified->share); /* also frees the arrays in the same block */
    pv__free(ctx, stratified->draw_log_marginal);
    pv__free(ctx, stratified);
}

void pv_stratified_mix(const pv_stratified *from, double *prevalence) {
    size_t k = (size_t)from->classes;
    memset(prevalence, 0, k * sizeof *prevalence);
    for (size_t s = 0; s < (size_t)from->strata; s++)
        for (size_t y = 0; y < k; y++)
            prevalence[y] += from->share[s] * from->prevalence[s * k + y];
}

/* With this many people behind it a prevalence counts as known, because the rows cannot improve on it (as without
 * strata). */
static void hold_if_known(const double *mass, pv_stratified *to) {
    size_t k = (size_t)to->classes;
    for (size_t s = 0; s < (size_t)to->strata; s++) {
        double rows = 0;
        for (size_t y = 0; y < k; y++)
            rows += mass[s * k + y];
        if (to->n[s] > 1e6 * rows)
            to->n[s] = HUGE_VAL;
    }
}

/* Checks that every stratum has rows of every label. */
static pv_status check_masses(pv_ctx *ctx, const pv_schema *schema, const double *mass) {
    size_t k = (size_t)schema->classes;
    for (size_t i = 0; i < (size_t)schema->strata->count * k; i++)
        if (!(mass[i] > 0))
            return pv__fail(
                ctx, PV_ERR_INPUT,
                "stratum '%s' has no row of label '%s';\njoin it with another stratum, or leave its rows out",
                pv__show(schema->strata->name[i / k]).text, pv__show(schema->labels[i % k]).text);
    return PV_OK;
}

/* Multiplies the odds against the first label by factor. Keeps the variance of the log odds, 1/(n pi (1 - pi)) for two
 * labels. */
static void scale_odds(double factor, pv_stratified *to) {
    size_t k = (size_t)to->classes;
    for (size_t s = 0; s < (size_t)to->strata; s++) {
        double *p = to->prevalence + s * k, first = p[0], sum = 0;
        for (size_t y = 0; y < k; y++)
            sum += p[y] *= y > 0 ? factor : 1;
        for (size_t y = 0; y < k; y++)
            p[y] /= sum;
        to->n[s] *= first * (1 - first) / (p[0] * (1 - p[0]));
    }
}

pv_status pv__stratified_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                             const pv__design_options *options, pv_stratified **made) {
    *made = NULL;
    if (!schema->strata)
        return PV_OK;
    if (!data->stratum)
        return pv__fail(ctx, PV_ERR_USAGE, "the schema has strata and the data have none: apply it to their table");
    size_t k = (size_t)schema->classes, count = (size_t)schema->strata->count;
    pv_targets targets = pv_dataset_targets(data);
    PV_TRY(pv__stratified_alloc(ctx, schema->strata->count, schema->classes, made));
    double *mass;
    PV_TRY(pv__alloc(ctx, count * k, sizeof *mass, &mass));
    pv__strata_mass(&targets, schema->strata->count, mass);
    pv_status status;
    PV_GOTO(done, check_masses(ctx, schema, mass));
    if (options->subcohort > 0)
        pv__subcohort_strata(mass, options->subcohort, *made);
    else
        PV_GOTO(done,
                options->phase_one
                    ? pv__phase_one_read(ctx, options->phase_one, options->known, options->csv, schema, mass, *made)
                    : pv__prevalence_by_read(ctx, options->prevalence_by, options->known, options->csv, schema, *made));
    if (options->prevalence_by && options->prevalence_odds > 0 && options->prevalence_odds != 1)
        scale_odds(options->prevalence_odds, *made);
    if (count > 1) /* a single stratum is handled like any population without strata (fit.c) */
        hold_if_known(mass, *made);
    for (size_t s = 0; s < count; s++) {
        double rows = 0;
        for (size_t y = 0; y < k; y++)
            rows += mass[s * k + y];
        (*made)->rows[s] = rows;
        for (size_t y = 0; y < k; y++)
            (*made)->design[s * k + y] = mass[s * k + y] / rows;
    }
done:
    pv__free(ctx, mass);
    return status;
}
