/* An unknown population of strata: a prevalence for each, from its own rows.
 *
 *   rows of stratum s    sum_y pi_sy r_n(y),  r_n(y) = p(y|x_n,w) / p_s(y|w)
 *
 * which is the inference without strata (unknown.c, target.c) with the stratum's rows and marginal. A stratum whose
 * rows say little of it, less than ten labelled ones would (pv_unknown_prevalence.weak), borrows from the others: all
 * rows together tell a label shift common to all strata, pi'_y / p(y|w), and ten observations at p_s(y|w) pi'_y /
 * p(y|w), normalised, are its prior. A prior that the caller states is left alone.
 */
#include <math.h>
#include <string.h>

#include "predict/predict.h"

static const double BORROWED = 10; /* observations, as many as make rows count for little without them */
static const double LEAST = 1e-6;  /* of them, of any label */

typedef struct work {
    const pv_classifier *whole;
    const pv_dataset *data;
    const pv_population *population;
    const pv_predict_options *options;
    pv_classifier own; /* the classifier of a stratum */
    double *draws;     /* [posterior->count][classes], its marginals */
    size_t *row;       /* [rows], those of the stratum */
    int32_t *label;    /* [rows] */
    double *shift;     /* [classes], of all strata alike */
    pv_unknown_prevalence *together;
} work;

static pv_status check(pv_ctx *ctx, const pv_dataset *data, const pv_population *population) {
    const pv_unknown_options *how = &population->unknown;
    for (size_t i = 0; i < data->rows; i++)
        if (!data->stratum || data->stratum[i] < 0)
            return pv__fail(
                ctx, PV_ERR_INPUT,
                "row %zu does not name its stratum: with `population=unknown` each stratum has a prevalence of its "
                "own, which its rows tell;\nfill the column, or state prevalences with `population=known:FILE`",
                i + 1);
    if (how->method == PV_UNKNOWN_BBSE || how->confusion || how->reference)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`labelled-sample` and `method=bbse` know no strata:\nleave them out and choose `method=exact`");
    return PV_OK;
}

/* The stratum as a classifier without strata. */
static void view_of(work *w, size_t s) {
    const pv_stratified *of = w->whole->stratified;
    size_t k = (size_t)of->classes, cells = (size_t)of->strata * k;
    w->own = *w->whole;
    w->own.stratified = NULL;
    w->own.reference = NULL;
    w->own.prevalence = of->prevalence + s * k;
    w->own.log_marginal = of->log_marginal + s * k;
    for (size_t n = 0; w->own.posterior && n < w->own.posterior->count; n++)
        memcpy(w->draws + n * k, of->draw_log_marginal + n * cells + s * k, k * sizeof(double));
    w->own.draw_log_marginal = w->draws;
}

/* All rows, by the mixture: the shift that strata have in common. */
static pv_status find_shift(pv_ctx *ctx, work *w) {
    size_t k = (size_t)w->whole->schema->classes;
    const pv_predict_options options = {.label = w->options->label};
    pv_prediction *said;
    if (w->together)
        return PV_OK;
    w->own = *w->whole;
    w->own.stratified = NULL;
    w->own.reference = NULL;
    PV_TRY(pv__predict_plain(ctx, &w->own, w->data, w->population, &options, &said));
    for (size_t y = 0; y < k; y++)
        w->shift[y] = said->inferred->value[y] / exp(w->whole->log_marginal[y]);
    w->together = said->inferred;
    said->inferred = NULL;
    pv_prediction_free(ctx, said);
    return PV_OK;
}

pv_status pv__strata_borrow(pv_ctx *ctx, size_t k, const double *marginal, const double *shift, char **text) {
    size_t at = 0, size = 8 + 26 * k;
    double sum = 0;
    PV_TRY(pv__alloc(ctx, size, 1, text));
    for (size_t y = 0; y < k; y++)
        sum += exp(marginal[y]) * shift[y];
    at += (size_t)pv__format(*text, size, "counts:");
    for (size_t y = 0; y < k; y++)
        at += (size_t)pv__format(*text + at, size - at, "%s%.17g", y ? "," : "",
                                 fmax(LEAST, BORROWED * exp(marginal[y]) * shift[y] / sum));
    return PV_OK;
}

/* The stratum's rows; one alone as two halves of it, for inference takes two. */
static pv_status take_rows(pv_ctx *ctx, work *w, size_t s, size_t *count, pv_dataset **part) {
    size_t n = 0;
    for (size_t i = 0; i < w->data->rows; i++)
        if ((size_t)w->data->stratum[i] == s)
            w->row[n++] = i;
    *count = n;
    *part = NULL;
    if (n == 0)
        return PV_OK;
    size_t two[2] = {w->row[0], w->row[0]};
    PV_TRY(pv_dataset_take(ctx, w->data, n == 1 ? 2 : n, n == 1 ? two : w->row, part));
    pv_status status = PV_OK;
    if (n == 1 && !(*part)->weight)
        status = pv__alloc(ctx, 2, sizeof(double), &(*part)->weight);
    for (size_t i = 0; status == PV_OK && n == 1 && i < 2; i++)
        (*part)->weight[i] = 0.5 * (w->data->weight ? w->data->weight[w->row[0]] : 1);
    for (size_t i = 0; status == PV_OK && w->options->label && i < (n == 1 ? 2 : n); i++)
        w->label[i] = w->options->label[w->row[n == 1 ? 0 : i]];
    if (status != PV_OK) {
        pv_dataset_free(ctx, *part);
        *part = NULL;
    }
    return status;
}

bool pv__strata_may_borrow(const pv_unknown_options *how, const pv_unknown_prevalence *found) {
    pv_unknown_options usual = pv_unknown_options_default();
    return (found->weak || found->swayed) && how->method <= PV_UNKNOWN_VB &&
           strcmp(how->dirichlet ? how->dirichlet : usual.dirichlet, usual.dirichlet) == 0;
}

static void copy_rows(size_t k, size_t count, const size_t *row, const double *from, double *to) {
    for (size_t i = 0; to && i < count; i++)
        memcpy(to + row[i] * k, from + i * k, k * sizeof *to);
}

static pv_status predict_one(pv_ctx *ctx, work *w, size_t s, pv_prediction *made) {
    size_t k = (size_t)made->classes, count;
    pv_dataset *part = NULL;
    pv_prediction *said = NULL;
    pv_population population = *w->population;
    char *prior = NULL;
    pv_predict_options options = *w->options;
    pv_status status;
    PV_TRY(take_rows(ctx, w, s, &count, &part));
    if (count == 0)
        return PV_OK;
    options.label = options.label ? w->label : NULL;
    view_of(w, s);
    PV_GOTO(done, pv__predict_plain(ctx, &w->own, part, &population, &options, &said));
    if (pv__strata_may_borrow(&population.unknown, said->inferred)) {
        PV_GOTO(done, find_shift(ctx, w));
        PV_GOTO(done, pv__strata_borrow(ctx, k, w->whole->stratified->log_marginal + s * k, w->shift, &prior));
        population.unknown.dirichlet = prior;
        pv_prediction_free(ctx, said);
        said = NULL;
        view_of(w, s);
        PV_GOTO(done, pv__predict_plain(ctx, &w->own, part, &population, &options, &said));
        made->strata->pooled[s] = true;
    }
    copy_rows(k, count, w->row, said->p, made->p);
    copy_rows(k, count, w->row, said->log_p, made->log_p);
    copy_rows(k, count, w->row, said->lo, made->lo);
    copy_rows(k, count, w->row, said->hi, made->hi);
    copy_rows(k, count, w->row, said->loglik, made->loglik);
    made->strata->inferred[s] = said->inferred;
    said->inferred = NULL;
done:
    pv__free(ctx, prior);
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, part);
    return status;
}

void pv__strata_shares(const pv_dataset *data, pv_predicted_strata *strata) {
    double total = 0;
    memset(strata->share, 0, (size_t)strata->strata * sizeof(double));
    for (size_t i = 0; i < data->rows; i++) {
        double v = data->weight ? data->weight[i] : 1;
        strata->share[data->stratum[i]] += v;
        total += v;
    }
    for (size_t s = 0; s < (size_t)strata->strata; s++)
        strata->share[s] /= total;
}

/* The interval is normal on the scale of log odds. */
void pv__strata_join(pv_predicted_strata *strata, pv_unknown_prevalence *all) {
    size_t k = (size_t)all->classes;
    for (size_t i = 0; i < (size_t)strata->strata * k; i++)
        strata->prevalence[i] = strata->inferred[i / k] ? strata->inferred[i / k]->value[i % k] : (double)NAN;
    double z = pv_normal_quantile(0.5 + 0.5 * all->level);
    all->stop = PV_STOP_CONVERGED;
    all->unlabelled = 0;
    all->weak = true;
    all->effective = all->movement = NAN;
    all->swayed = false;
    memset(all->value, 0, k * sizeof *all->value);
    memset(all->sd, 0, k * sizeof *all->sd);
    for (int s = 0; s < strata->strata; s++) {
        const pv_unknown_prevalence *own = strata->inferred[s];
        if (!own)
            continue;
        double share = strata->share[s];
        for (size_t y = 0; y < k; y++) {
            all->value[y] += share * own->value[y];
            all->sd[y] = hypot(all->sd[y], share * own->sd[y]);
        }
        all->iterations = own->iterations > all->iterations ? own->iterations : all->iterations;
        all->stop = own->stop != PV_STOP_CONVERGED && own->stop != PV_STOP_COMPLETED ? own->stop : all->stop;
        all->error = hypot(all->error, share * own->error);
        all->effective = fmin(all->effective, own->effective); /* of a NaN and a number the number */
        all->movement = fmax(all->movement, own->movement);
        all->swayed = all->swayed || own->swayed;
        all->unlabelled += own->unlabelled;
        all->worth += own->worth;
        all->weak = all->weak && own->weak;
    }
    for (size_t y = 0; y < k; y++) {
        double centre = pv_logit(all->value[y]), half = z * all->sd[y] / (all->value[y] * (1 - all->value[y]));
        all->lo[y] = pv_sigmoid(centre - half); /* NaN where the method has no sd */
        all->hi[y] = pv_sigmoid(centre + half);
    }
}

pv_status pv__predict_unknown_strata(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data,
                                     const pv_population *population, const pv_predict_options *options,
                                     pv_prediction *made) {
    size_t k = (size_t)c->schema->classes;
    work w = {.whole = c, .data = data, .population = population, .options = options};
    pv_unknown_options how = pv__unknown_resolve(&population->unknown, false);
    pv_status status;
    if (options->level > 0)
        how.level = options->level;
    PV_TRY(check(ctx, data, population));
    PV_GOTO(done, pv__alloc(ctx, data->rows + 2, sizeof *w.row, &w.row));
    PV_GOTO(done, pv__alloc(ctx, data->rows + 2, sizeof *w.label, &w.label));
    PV_GOTO(done, pv__alloc(ctx, k, sizeof *w.shift, &w.shift));
    if (c->posterior)
        PV_GOTO(done, pv__alloc(ctx, c->posterior->count, k * sizeof *w.draws, &w.draws));
    for (size_t s = 0; s < (size_t)made->strata->strata; s++)
        PV_GOTO(done, predict_one(ctx, &w, s, made));
    pv__strata_shares(data, made->strata);
    PV_GOTO(done, pv__unknown_new(ctx, c->schema->classes, &how, &made->inferred));
    pv__strata_join(made->strata, made->inferred);
done:
    pv_unknown_prevalence_free(ctx, w.together);
    pv__free(ctx, w.row);
    pv__free(ctx, w.label);
    pv__free(ctx, w.shift);
    pv__free(ctx, w.draws);
    return status;
}
