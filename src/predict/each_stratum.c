/* Predicts strata one by one, each from its own rows and marginal:
 *
 *   rows of stratum s    sum_y pi_sy r_n(y),  r_n(y) = p(y|x_n,w) / p_s(y|w)
 *
 * which is the prediction without strata, with the stratum's rows and marginal. If a prevalence is unknown and the
 * stratum's rows say less about it than ten labelled rows would (pv_unknown_prevalence.weak), the stratum borrows from
 * the others: all rows together give a label shift common to all strata, pi'_y / p(y|w), and ten observations at
 * p_s(y|w) pi'_y / p(y|w), normalised, are its prior. A prior stated by the caller is kept.
 */
#include <math.h>
#include <string.h>

#include "predict/predict.h"

static const double BORROWED = 10; /* observations; rows that carry less information than these are weak */
static const double LEAST = 1e-6;  /* of these, for any label */

typedef struct work {
    const pv__by_stratum *by;
    pv_prediction *made;
    size_t *row;    /* [rows + 1], the rows of the stratum */
    int32_t *label; /* [rows + 1] */
    double *shift;  /* [classes], common to all strata; NaN: not yet computed */
} work;

/* From all rows: the label shift that the strata have in common. */
static pv_status find_shift(pv_ctx *ctx, const work *w) {
    const pv__stratum_rows all = {.stratum = -1, .n = w->by->data->rows, .label = w->by->label};
    pv_prediction *said;
    if (!isnan(w->shift[0]))
        return PV_OK;
    PV_TRY(w->by->predict(ctx, w->by->state, &all, NULL, &said));
    for (int y = 0; y < said->classes; y++)
        w->shift[y] = said->inferred->value[y] / exp(w->by->log_marginal[y]);
    pv_prediction_free(ctx, said);
    return PV_OK;
}

/* The prior that a stratum borrows, in the syntax of `dirichlet`. */
static pv_status borrow(pv_ctx *ctx, size_t k, const double *marginal, const double *shift, char **text) {
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

static bool may_borrow(const pv_unknown_options *how, const pv_unknown_prevalence *found) {
    pv_unknown_options usual = pv_unknown_options_default();
    return found && (found->weak || found->swayed) && how->method <= PV_UNKNOWN_VB &&
           strcmp(how->dirichlet ? how->dirichlet : usual.dirichlet, usual.dirichlet) == 0;
}

/* Finds the stratum's rows. A single row is given as two half rows, because inference needs two. Returns the count. */
static size_t find_rows(const work *w, int stratum, pv__stratum_rows *rows) {
    size_t n = 0;
    for (size_t i = 0; i < w->by->data->rows; i++)
        if (w->by->data->stratum[i] == stratum)
            w->row[n++] = i;
    w->row[n] = w->row[0];
    *rows = (pv__stratum_rows){.stratum = stratum, .n = n == 1 ? 2 : n, .row = w->row, .halved = n == 1};
    if (!w->by->label)
        return n;
    for (size_t i = 0; i < rows->n; i++)
        w->label[i] = w->by->label[w->row[i]];
    rows->label = w->label;
    return n;
}

static void copy_rows(size_t k, size_t count, const size_t *row, const double *from, double *to) {
    for (size_t i = 0; to && i < count; i++)
        memcpy(to + row[i] * k, from + i * k, k * sizeof *to);
}

static pv_status predict_one(pv_ctx *ctx, const work *w, int s) {
    pv_prediction *said = NULL, *made = w->made;
    size_t k = (size_t)made->classes;
    pv__stratum_rows rows;
    char *prior = NULL;
    pv_status status;
    size_t count = find_rows(w, s, &rows);
    if (count == 0)
        return PV_OK;
    PV_GOTO(done, w->by->predict(ctx, w->by->state, &rows, NULL, &said));
    if (may_borrow(w->by->how, said->inferred)) {
        PV_GOTO(done, find_shift(ctx, w));
        PV_GOTO(done, borrow(ctx, k, w->by->stratum_log_marginal + (size_t)s * k, w->shift, &prior));
        pv_prediction_free(ctx, said);
        said = NULL;
        PV_GOTO(done, w->by->predict(ctx, w->by->state, &rows, prior, &said));
        made->strata->pooled[s] = true;
    }
    copy_rows(k, count, w->row, said->p, made->p);
    copy_rows(k, count, w->row, said->log_p, made->log_p);
    copy_rows(k, count, w->row, said->lo, made->lo);
    copy_rows(k, count, w->row, said->hi, made->hi);
    copy_rows(k, count, w->row, said->loglik, made->loglik);
    if (said->inferred) {
        made->strata->inferred[s] = said->inferred;
        said->inferred = NULL;
    }
done:
    pv__free(ctx, prior);
    pv_prediction_free(ctx, said);
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

/* Stores the inferred prevalences, and that of all rows together: the mean of the strata's, which are independent. The
 * interval is normal on the log-odds scale. */
static void join(pv_predicted_strata *strata, pv_unknown_prevalence *all) {
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
        all->effective = fmin(all->effective, own->effective); /* ignores NaN if the other is a number */
        all->movement = fmax(all->movement, own->movement);
        all->swayed = all->swayed || own->swayed;
        all->unlabelled += own->unlabelled;
        all->worth += own->worth;
        all->weak = all->weak && own->weak;
    }
    for (size_t y = 0; y < k; y++) {
        double centre = pv_logit(all->value[y]), half = z * all->sd[y] / (all->value[y] * (1 - all->value[y]));
        all->lo[y] = pv_sigmoid(centre - half); /* NaN if the method has no sd */
        all->hi[y] = pv_sigmoid(centre + half);
    }
}

pv_status pv__each_stratum(pv_ctx *ctx, const pv__by_stratum *by, pv_prediction *made) {
    size_t rows = by->data->rows;
    work w = {.by = by, .made = made};
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, rows + 1, sizeof *w.row, &w.row));
    PV_GOTO(done, pv__alloc(ctx, rows + 1, sizeof *w.label, &w.label));
    PV_GOTO(done, pv__alloc(ctx, (size_t)made->classes, sizeof *w.shift, &w.shift));
    w.shift[0] = (double)NAN;
    for (int s = 0; s < made->strata->strata; s++)
        PV_GOTO(done, predict_one(ctx, &w, s));
    if (made->strata->inferred) {
        const pv_unknown_options how = pv__unknown_resolve(by->how, false);
        pv__strata_shares(by->data, made->strata);
        PV_GOTO(done, pv__unknown_new(ctx, made->classes, &how, &made->inferred));
        join(made->strata, made->inferred);
    }
done:
    pv__free(ctx, w.row);
    pv__free(ctx, w.label);
    pv__free(ctx, w.shift);
    return status;
}
