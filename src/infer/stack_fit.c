/* `model=auto`: candidates are fitted to folds, weighted by what they say of the other rows, and mixed.
 *
 *   maximise over the simplex   f(v) = sum_n a_n log sum_k v_k q_k(y_n|x_n),   a_n = share_s pi_sy / (rows of s and y),
 *
 * q_k being candidate k fitted without the fold of row n, moved to the prevalence and capped (model/stack.c): the mean
 * log score of somebody of the population whom no candidate has seen (van der Laan, Polley and Hubbard 2007; Rose and
 * van der Laan 2008 for samples by label). Candidates of a weight below LEAST are left out, the others are weighed
 * again and fitted to all rows. Means and standard deviations are learned in each fold; knots and what fills missing
 * cells, which do not depend on labels, are those of all rows. The gain reported for the mixture takes weights
 * that were found without the fold that is scored.
 *
 * Few units make folds by chance matter: they are dealt FEW_REPEATS times. Of many rows one fold is held out, once.
 */
#include <math.h>
#include <string.h>

#include "infer/stacking.h"

enum { REFERENCE_LEAST = 20 }; /* rows of each label, as for a linear model's reference */

static void stack_clear(pv_ctx *ctx, pv__stacking *s) {
    pv__free(ctx, s->fold);
    pv__free(ctx, s->start);
    pv__free(ctx, s->row);
    pv__free(ctx, s->log_prior);
    pv__free(ctx, s->log_p);
    pv__free(ctx, s->a);
    pv__free(ctx, s->stratum_marginal);
}

/* ---- the members, of all rows ------------------------------------------------------------------------------------ */

/* Where the parameters of member number `member` begin. */
static double *member_at(const pv__stacking *s, size_t member) {
    double *w = s->made->w + 1 + s->k;
    for (size_t m = 0; m < member; m++)
        w += pv__stack_member_params(s->made->model, m);
    return w;
}

static const pv__candidate *member_of(const pv__stacking *s, size_t member) {
    size_t c = 0;
    for (size_t left = member + 1; left > 0; c++)
        left -= s->v[c] > 0;
    return s->candidate[c - 1];
}

static size_t strata_cells(const pv__stacking *s) {
    return s->problem->stratified ? (size_t)s->problem->stratified->strata * s->k : 0;
}

static pv_status run_member(pv_ctx *ctx, void *state, size_t member) {
    const pv__stacking *s = state;
    const pv__candidate *candidate = member_of(s, member);
    double *w = member_at(s, member) + 1, *strata = s->stratum_marginal + member * strata_cells(s);
    pv_classifier *fitted = NULL;
    for (size_t i = 0; i < strata_cells(s); i++)
        strata[i] = s->log_prior[i % s->k];
    if (!candidate->model)
        return PV_OK;
    ctx->options.log = NULL;
    const pv_fit_options how = pv__stack_options(s, candidate);
    PV_TRY(pv_fit(ctx, s->schema, s->all, &how, &fitted));
    memcpy(w, fitted->log_marginal, s->k * sizeof *w);
    memcpy(w + s->k, fitted->w, pv_model_params(fitted->model) * sizeof *w);
    if (fitted->stratified)
        memcpy(strata, fitted->stratified->log_marginal, strata_cells(s) * sizeof *strata);
    pv_classifier_free(ctx, fitted);
    return PV_OK;
}

static size_t member_outcome(void *state, size_t member, pv_field *field) {
    pv__stacking *s = state;
    field[0] = (pv_field){member_at(s, member), pv__stack_member_params(s->made->model, member) * sizeof(double)};
    field[1] = (pv_field){s->stratum_marginal + member * strata_cells(s), strata_cells(s) * sizeof(double)};
    return 2;
}

static bool member_is_sound(const void *state, size_t member) {
    const pv__stacking *s = state;
    const double *w = member_at(s, member), *strata = s->stratum_marginal + member * strata_cells(s);
    bool sound = true;
    for (size_t i = 0; i < pv__stack_member_params(s->made->model, member); i++)
        sound &= isfinite(w[i]);
    for (size_t i = 0; i < strata_cells(s); i++)
        sound &= strata[i] <= 1e-9;
    return sound;
}

/* The mixture in the place of the model without members. */
static pv_status make_model(pv_ctx *ctx, pv__stacking *s, pv_classifier *c) {
    const char *spec[PV__CANDIDATES_MAX];
    size_t members = 0;
    char *text;
    pv_model *made = NULL;
    for (size_t i = 0; i < s->count; i++)
        if (s->v[i] > 0)
            spec[members++] = s->candidate[i]->model;
    PV_TRY(pv__stack_spec(ctx, members, spec, &text));
    pv_status status = pv__model_new(ctx, text, s->all->features, false, s->all->classes, &made);
    pv__free(ctx, text);
    PV_TRY(status);
    pv_model_free(ctx, c->model);
    c->model = made;
    pv__free(ctx, c->w);
    c->w = NULL;
    PV_TRY(pv__alloc(ctx, pv_model_params(made), sizeof *c->w, &c->w));
    return pv__alloc(ctx, members + 1, (strata_cells(s) + 1) * sizeof(double), &s->stratum_marginal);
}

static pv_status fit_members(pv_ctx *ctx, pv__stacking *s, pv_classifier *c) {
    size_t finished, member = 0;
    PV_TRY(make_model(ctx, s, c));
    s->made = c;
    c->w[0] = s->cap;
    memcpy(c->w + 1, s->log_prior, s->k * sizeof *c->w);
    memcpy(c->log_marginal, s->log_prior, s->k * sizeof *c->log_marginal);
    for (size_t i = 0; i < s->count; i++) /* before they are recalled, each with its own */
        if (s->v[i] > 0)
            *member_at(s, member++) = log(s->v[i]);
    PV_TRY(pv_jobs_run_kept(ctx, "members", member, true, run_member, member_outcome, member_is_sound, s, &finished));
    for (size_t i = 0; i < strata_cells(s); i++) {
        double *own = &c->stratified->log_marginal[i];
        *own = -HUGE_VAL;
        for (size_t m = 0; m < member; m++)
            *own = pv__stack_log_sum(*own, *member_at(s, m) + s->stratum_marginal[m * strata_cells(s) + i]);
    }
    return PV_OK;
}

/* What an unknown prevalence is calibrated by: the ratios of the first repeat. */
static pv_status make_reference(pv_ctx *ctx, const pv__stacking *s, pv_classifier *c) {
    size_t n = s->start[s->judged], of_label[2] = {0, 0};
    double *score;
    int32_t *label;
    if (s->k != 2 || s->problem->stratified)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, n, 2 * sizeof *score, &score));
    pv_status status = pv__alloc(ctx, n, sizeof *label, &label);
    for (size_t j = 0; status == PV_OK && j < n; j++) {
        const double *log_p = s->mixed + 2 * j;
        score[j] = log_p[1] - s->log_prior[1] - (log_p[0] - s->log_prior[0]);
        score[n + j] = pv__stack_weight(s, s->row[j]);
        label[j] = s->data->label[s->row[j]];
        of_label[label[j]] += score[n + j] > 0;
    }
    if (status == PV_OK && of_label[0] >= REFERENCE_LEAST && of_label[1] >= REFERENCE_LEAST)
        status = pv_reference_new(ctx, n, score, label, score + n, &c->reference);
    if (status == PV_OK &&
        c->reference) /* rows in pieces are counts, which have neither clusters nor sampling weights */
        status = pv__reference_units(ctx, s->problem, n, score, label, score + n, s->row, c->reference);
    if (status == PV_OK && c->reference)
        status = pv__reference_columns(ctx, s->problem, c->reference);
    pv__free(ctx, score);
    pv__free(ctx, label);
    return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static pv_status choose_candidates(pv_ctx *ctx, pv__stacking *s) {
    bool chosen[PV__CANDIDATES_MAX];
    size_t count;
    const pv__candidate *list = pv__candidates(&count);
    PV_TRY(pv__candidates_parse(ctx, s->problem->plan->given->candidates, chosen));
    for (size_t i = 0; i < count; i++)
        if (chosen[i] && pv__candidate_fits(&list[i], s->all->rows, s->all->features))
            s->candidate[s->count++] = &list[i];
    if (s->count == 0)
        return pv__fail(ctx, PV_ERR_USAGE, "`candidates=%s`: too many rows and columns for these alone:\nadd linear",
                        s->problem->plan->given->candidates);
    return PV_OK;
}

static pv_status rooms(pv_ctx *ctx, pv__stacking *s) {
    size_t n = pv__stack_judged(s);
    PV_TRY(pv__alloc(ctx, s->count * n, s->k * sizeof *s->log_p, &s->log_p));
    PV_TRY(pv__alloc(ctx, n * (2 + s->count + s->k) + 3 * s->count, sizeof *s->a, &s->a));
    s->p = s->a + 2 * n;
    s->mixed = s->p + n * s->count;
    s->v = s->mixed + n * s->k;
    s->slope = s->v + s->count;
    return PV_OK;
}

pv_status pv__stack_fit(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv__problem *problem,
                        pv_classifier *c) {
    pv__stacking s = {.schema = schema, .all = data, .data = data, .problem = problem, .k = (size_t)data->classes};
    pv_dataset *split = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, s.k, sizeof *s.log_prior, &s.log_prior));
    for (size_t y = 0; y < s.k; y++)
        s.log_prior[y] = log(problem->plan->prevalence[y]);
    PV_GOTO(done, choose_candidates(ctx, &s));
    PV_GOTO(done, pv__stack_deal(ctx, &s, &split));
    PV_GOTO(done, rooms(ctx, &s));
    PV_GOTO(done, pv__stack_cross_fit(ctx, &s));
    PV_GOTO(done, pv__stack_weigh(ctx, &s, &c->iterations, &c->stop));
    PV_GOTO(done, pv__stacked_new(ctx, s.count, &c->stacked));
    PV_GOTO(done, pv__stack_tell(ctx, &s, c->stacked));
    PV_GOTO(done, make_reference(ctx, &s, c));
    c->loss_value = -(c->stacked->guess + c->stacked->gain);
    status = fit_members(ctx, &s, c);
done:
    stack_clear(ctx, &s);
    pv_dataset_free(ctx, split);
    return status;
}
