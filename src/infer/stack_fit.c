/* `model=auto`: candidates are fitted to folds, weighted by their likelihood on the held-out rows, and mixed.
 *
 *   maximise over the simplex   f(v) = sum_n a_n log sum_k v_k q_k(y_n|x_n),   a_n = share_s pi_sy / (rows of s and y),
 *
 * where q_k is candidate k fitted without the fold of row n, converted to the prevalence and capped (model/stack.c):
 * the mean log score for a person of the population who was used by no candidate (van der Laan, Polley and Hubbard
 * 2007; Rose and van der Laan 2008 for samples by label). Candidates with a weight below LEAST are dropped; the others
 * are weighted again and fitted to all rows. Means and standard deviations are learned in each fold; knots and values
 * for missing cells, which do not depend on labels, are those of all rows. The gain reported for the mixture uses
 * weights that were found without the fold being scored.
 *
 * With few units, random folds matter, so they are drawn FEW_REPEATS times. With many rows a single fold is held out,
 * once.
 */
#include <math.h>
#include <string.h>

#include "core/log_add.h"
#include "data/schema_learn.h"
#include "infer/stacking.h"
#include "model/trees.h"

static void stack_clear(pv_ctx *ctx, pv__stacking *s) {
    pv__free(ctx, s->fold);
    pv__free(ctx, s->start);
    pv__free(ctx, s->row);
    pv__free(ctx, s->log_prior);
    pv__free(ctx, s->log_p);
    pv__free(ctx, s->a);
    pv__free(ctx, s->stratum_marginal);
}

/* ---- members fitted to all rows ---------------------------------------------------------------------------------- */

/* The parameters of the given member. */
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
    return pv__strata_of(s->problem) ? (size_t)pv__strata_of(s->problem)->strata * s->k : 0;
}

/* Fits the candidate to all rows. */
static pv_status fit_all(pv_ctx *ctx, const pv__stacking *s, const pv__candidate *candidate, pv_classifier **fitted) {
    const pv_fit_options how = pv__stack_options(s, candidate);
    if (s->scores == 0 && (s->curves == 0 || pv__model_is_smooth(candidate->model)))
        return pv_fit(ctx, s->schema, s->all, &how, fitted);
    pv_schema *schema = NULL;
    pv_dataset *data = NULL;
    size_t *row = NULL;
    pv_status status;
    PV_GOTO(done, pv_schema_copy(ctx, s->schema, &schema));
    PV_GOTO(done, pv__alloc(ctx, s->all->rows, sizeof *row, &row));
    for (size_t i = 0; i < s->all->rows; i++)
        row[i] = i;
    PV_GOTO(done, pv_dataset_take(ctx, s->all, s->all->rows, row, &data));
    pv__stack_narrow(ctx, s, candidate, schema, data);
    status = pv_fit(ctx, schema, data, &how, fitted);
done:
    pv_schema_free(ctx, schema);
    pv_dataset_free(ctx, data);
    pv__free(ctx, row);
    return status;
}

/* A linear model of its scores alone, [classes - 1][1 + classes - 1], that takes them as they stand. */
static pv_status write_scores(pv_ctx *ctx, const pv__stacking *s, const pv__candidate *candidate, double *w) {
    double *centre, *slope;
    PV_TRY(pv__alloc(ctx, 2 * s->k, sizeof *centre, &centre));
    slope = centre + s->k;
    pv__stack_score(s, candidate, s->schema, centre, slope);
    memcpy(w, s->log_prior, s->k * sizeof *w);
    w += s->k;
    for (size_t y = 0; y + 1 < s->k; y++, w += s->k) {
        w[0] = centre[y] + s->log_prior[y + 1] - s->log_prior[0];
        w[1 + y] = slope[y];
    }
    pv__free(ctx, centre);
    return PV_OK;
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
    if (pv__stack_is_score(s, candidate))
        return write_scores(ctx, s, candidate, w);
    ctx->options.log = NULL;
    PV_TRY(fit_all(ctx, s, candidate, &fitted));
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

/* Builds the mixture, which replaces the model without members. */
static pv_status make_model(pv_ctx *ctx, pv__stacking *s, pv_classifier *c) {
    const char *spec[PV__CANDIDATES_MAX];
    char own[PV__CANDIDATES_MAX][64];
    size_t members = 0, curved = (size_t)s->all->features - s->scores, plain = curved - s->curves;
    char *text;
    pv_model *made = NULL;
    for (size_t i = 0; i < s->count; i++) {
        const char *model = s->candidate[i]->model;
        if (!(s->v[i] > 0))
            continue;
        if (model && pv__stack_is_score(s, s->candidate[i])) {
            pv__format(own[members], sizeof own[members], "%s@%zu:%zu", model, pv__stack_score_at(s, s->candidate[i]),
                       s->k - 1);
            model = own[members];
        } else if (model &&
                   (s->scores > 0 || (s->curves > 0 && !pv__model_is_smooth(model)))) { /* of the first alone */
            pv__format(own[members], sizeof own[members], "%s@%zu", model, pv__model_is_smooth(model) ? curved : plain);
            model = own[members];
        }
        spec[members++] = model;
    }
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
    for (size_t i = 0; i < s->count; i++) /* before they are restored, each with its own */
        if (s->v[i] > 0)
            *member_at(s, member++) = log(s->v[i]);
    PV_TRY(pv_jobs_run_kept(ctx, "members", member, true, run_member, member_outcome, member_is_sound, s, &finished));
    for (size_t i = 0; i < strata_cells(s); i++) {
        double *own = &c->stratified->log_marginal[i];
        *own = -HUGE_VAL;
        for (size_t m = 0; m < member; m++)
            *own = pv__log_add(*own, *member_at(s, m) + s->stratum_marginal[m * strata_cells(s) + i]);
    }
    return PV_OK;
}

/* The reference for an unknown prevalence: the ratios of the first repeat. */
static pv_status make_reference(pv_ctx *ctx, const pv__stacking *s, pv_classifier *c) {
    size_t n = s->start[s->judged];
    double *ratio;
    if (s->k != 2 || pv__strata_of(s->problem))
        return PV_OK;
    PV_TRY(pv__alloc(ctx, n, sizeof *ratio, &ratio));
    for (size_t j = 0; j < n; j++)
        ratio[j] = s->mixed[2 * j + 1] - s->log_prior[1] - (s->mixed[2 * j] - s->log_prior[0]);
    pv_status status = pv__reference_of_ratios(ctx, s->problem, s->data, n, s->row, ratio, &c->reference);
    pv__free(ctx, ratio);
    return status;
}

/* ---- the whole fit ----------------------------------------------------------------------------------------------- */

/* Models that score(...) of `terms` has: their ratios are columns. */
static pv_status take_scores(pv_ctx *ctx, pv__stacking *s) {
    size_t each = s->k - 1, first = s->schema->terms - s->scores;
    if (s->scores > 0 && pv__strata_of(s->problem))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`terms`: score(...) does not support strata with prevalences of their own, in which its "
                        "marginal is unknown:\nleave it out");
    if (s->scores % each != 0)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`terms`: %zu scores do not make up a whole number of models:\ngive each model one score(...) "
                        "for every label but the first, %zu here, in label order",
                        s->scores, each);
    if (s->scores / each > PV__CANDIDATES_MAX - s->count)
        return pv__fail(ctx, PV_ERR_USAGE, "`terms`: %zu models with scores are too many:\nleave some out",
                        s->scores / each);
    for (size_t i = 0; i < s->scores / each; i++) {
        s->given[i] =
            (pv__candidate){.name = s->schema->term[first + i * each].column[0], .model = "linear", .loss = PV_LOSS_IG};
        s->candidate[s->count++] = &s->given[i];
    }
    return PV_OK;
}

static pv_status choose_candidates(pv_ctx *ctx, pv__stacking *s) {
    bool chosen[PV__CANDIDATES_MAX];
    size_t count;
    const pv__candidate *list = pv__candidates(&count);
    const char *asked = s->problem->plan->given->candidates;
    bool named = strcmp(asked, "all") != 0; /* candidates that are named must be available */
    PV_TRY(pv__candidates_parse(ctx, asked, chosen));
    s->curves = pv__schema_smooth(s->schema);
    s->scores = pv__schema_scores(s->schema);
    int plain = s->all->features - (int)(s->curves + s->scores);
    for (size_t i = 0; i < count; i++) {
        bool smooth = list[i].model && pv__model_is_smooth(list[i].model);
        if (chosen[i] && named && list[i].library)
            PV_TRY(pv__boosting_load(ctx));
        if (chosen[i] && pv__candidate_fits(ctx, &list[i], s->all->rows, plain) && (!smooth || s->curves > 0))
            s->candidate[s->count++] = &list[i];
    }
    PV_TRY(take_scores(ctx, s));
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
