/* The target population of a fit: its prevalence, how well that is known, and the resulting prior of the intercept.
 *
 * A prevalence comes from an option, as a number or an interval; from files, for strata; from the sampling fraction of
 * a case-cohort sample; or from a sample of the population.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan.h"

static pv_status fail_unstated(pv_ctx *ctx, pv_loss loss, const char *label) {
    return pv__fail(ctx, PV_ERR_USAGE,
                    "`loss=%s` needs `prevalence=P`, the prevalence of '%s' in the target population.%s",
                    pv_loss_name(loss), label,
                    pv_loss_takes_sample(loss) ? " Or give `population-sample=FILE`, rows of that population" : "");
}

/* Reads a number, a list or an interval. */
static pv_status read_stated(pv_ctx *ctx, const pv__plan_rows *rows, pv__plan *plan) {
    char *const *labels = rows->schema->labels;
    const char *text = plan->options.prevalence;
    int k = rows->schema->classes;
    double low, high;
    PV_TRY(pv_prevalence_parse(ctx, "`prevalence`", text, labels, k, plan->prevalence, &low, &high));
    if (rows->schema->positive_guessed && k == 2 && !strchr(text, '=') && !strchr(text, ','))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`prevalence=%s`: which label has it, '%s' or '%s'? Write `prevalence=%s=%s` or "
                        "`prevalence=%s=%s`, or name the one of interest with `positive`",
                        text, labels[0], labels[1], pv__show_item(labels[0]).text, text, pv__show_item(labels[1]).text,
                        text);
    plan->has_prevalence = true;
    plan->population.prevalence_n = plan->strength;
    if (isnan(plan->strength)) { /* the number of rows */
        plan->population.prevalence_n = 0;
        for (int y = 0; y < k; y++)
            plan->population.prevalence_n += rows->mass[y];
    }
    if (isnan(low))
        return PV_OK;
    double mean;
    PV_TRY(pv__beta_from_interval(ctx, low, high, &mean, &plan->population.prevalence_n));
    plan->whole = true;
    plan->prevalence[1] = mean;
    plan->prevalence[0] = 1 - mean;
    return PV_OK;
}

/* Several strata: their prevalences come from files. */
static void take_strata(const pv_stratified *strata, pv__plan *plan) {
    double n = 0;
    for (int s = 0; s < strata->strata; s++)
        n += isfinite(strata->n[s]) ? strata->n[s] : 0;
    pv_stratified_mix(strata, plan->prevalence);
    plan->has_prevalence = plan->whole = true;
    plan->population.prevalence_n = n > 0 ? n : HUGE_VAL; /* of all strata together: known if every one is */
    plan->population.strata = strata->strata;
    plan->population.share = strata->share;
    plan->population.stratum_prevalence = strata->prevalence;
    plan->population.stratum_n = strata->n;
}

static pv_status read_prevalence(pv_ctx *ctx, const pv__plan_rows *rows, const double *sample_share, pv__plan *plan) {
    const pv__design *design = rows->design;
    const pv_fit_options *o = &plan->options;
    size_t k = (size_t)design->classes;
    pv_loss loss = pv__plan_loss(plan);
    if (design->strata > 1) {
        take_strata(design->stated, plan);
    } else if (design->stated && !(o->subcohort > 0)) {
        memcpy(plan->prevalence, design->stated->prevalence, k * sizeof *plan->prevalence);
        plan->population.prevalence_n = design->stated->n[0];
        plan->has_prevalence = true;
        plan->whole = !design->counted; /* counts are observations */
    } else if (o->subcohort > 0) {
        pv__subcohort(rows->mass, o->subcohort, plan->prevalence, &plan->population.prevalence_n);
        plan->has_prevalence = plan->whole = true;
    } else if (o->prevalence) {
        return read_stated(ctx, rows, plan);
    } else if (rows->labelled < rows->n) { /* starts from the proportions in training */
        memcpy(plan->prevalence, sample_share, k * sizeof *plan->prevalence);
        plan->has_prevalence = plan->estimated = true;
    } else if (pv_loss_needs_prevalence(loss)) {
        return fail_unstated(ctx, loss, rows->schema->labels[k - 1]);
    }
    return PV_OK;
}

/* With this many observations the rows cannot improve on the prevalence, so it counts as known and the profile holds it
 * fixed: otherwise rounding in differences of such counts would hide the rows. The recorded prevalence does not
 * change. */
static void hold_if_known(pv__plan *plan, double total) {
    const double known_from = 1e6; /* observations per row */
    if (pv__plan_is_profile(plan) && plan->has_prevalence && plan->population.prevalence_n > known_from * total)
        plan->population.prevalence_n = HUGE_VAL;
}

/* Jeffreys' prior of the prevalence: adds half an observation of each label. With a prior that is flat in the log odds,
 * intervals are too low if the prevalence rests on few cases (docs/method.md). The recorded prevalence does not
 * change. */
static void add_half_counts(size_t k, pv__plan *plan) {
    double n = plan->population.prevalence_n;
    if (isinf(n))
        return;
    plan->population.prevalence_n = n + 0.5 * (double)k;
    plan->population.prevalence = plan->believed;
    for (size_t y = 0; y < k; y++)
        plan->believed[y] = (n * plan->prevalence[y] + 0.5) / plan->population.prevalence_n;
}

/* auto: with ig the given prevalence serves as the intercept's prior; an additional one would pull the model's marginal
 * away from it if the outcome is rare. An interval is all that is known, so nothing is added to it either. */
static pv_status settle_intercept(pv_ctx *ctx, size_t k, pv__plan *plan) {
    const pv_fit_options *o = &plan->options;
    const char *text = pv_loss_is_relative(pv__plan_loss(plan)) ? "normal:1" : o->intercept_prior;
    bool weighs = pv_loss_has_marginal(pv__plan_loss(plan)) && plan->population.prevalence_n > 0;
    if (strcmp(text, "auto") == 0) {
        bool posterior = pv__plan_is_profile(plan) && o->infer > PV_INFER_ML && !plan->whole;
        text = o->infer == PV_INFER_ROBUST ? "none" : !weighs ? "normal:10" : posterior ? "jeffreys" : "none";
    }
    if (strcmp(text, "jeffreys") != 0)
        return pv_prior_parse(ctx, "intercept-prior", text, &plan->intercept_prior);
    if (o->infer != PV_INFER_ML)
        add_half_counts(k, plan);
    return pv_prior_parse(ctx, "intercept-prior", "none", &plan->intercept_prior);
}

pv_status pv__plan_population(pv_ctx *ctx, const pv__plan_rows *rows, pv__plan *plan) {
    size_t k = (size_t)rows->design->classes;
    double total = 0, *share;
    PV_TRY(pv__alloc(ctx, 3 * k, sizeof(double), &plan->prevalence));
    plan->believed = plan->prevalence + k;
    share = plan->believed + k;
    for (size_t y = 0; y < k; y++)
        total += rows->mass[y];
    for (size_t y = 0; y < k; y++)
        share[y] = rows->mass[y] / total;
    plan->population.classes = (int)k;
    plan->population.prevalence = plan->prevalence;
    PV_TRY(read_prevalence(ctx, rows, share, plan));
    plan->stated_n = plan->population.prevalence_n;
    if (rows->design->strata == 1)
        hold_if_known(plan, total);
    return settle_intercept(ctx, k, plan);
}
