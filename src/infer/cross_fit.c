/* Fits a logistic model without a fold of its rows, by Newton's method starting at the model of all rows: to
 * convergence if there are few rows per parameter, else one step with the information of a subset of the rows.
 */
#include "infer/cross_fit.h"

#include <math.h>
#include <string.h>

#include "core/core.h"
#include "data/schema_learn.h"

enum { FEW = 30, INFORMED = 40 };
static const double DEAR = 1e8; /* multiplications for one Newton step in each fold */

double pv__cross_logit(const pv__cross *c, const double *w, const double *x) {
    double z = w[0] + (c->problem->model->offset ? x[-1] : 0);
    for (size_t j = 1; j < c->size; j++)
        z += w[j] * x[j - 1];
    return z;
}

void pv__cross_logits(const pv__cross *c, const double *w, size_t i, double *z) {
    double room[PV__CROSS_PARAMS];
    const double *x = pv__problem_row(c->problem, i, room);
    for (size_t l = 0; l < c->logits; l++)
        z[l] = pv__cross_logit(c, w + l * c->size, x);
}

/* Adds a row of label y and weight v with inputs x, for two labels. */
static void add_row(const pv__cross *c, const double *w, int y, double v, const double *x, double *H, double *g) {
    size_t p = c->p;
    double mean = pv_sigmoid(pv__cross_logit(c, w, x) + c->shift[0]), dz = v * (mean - y);
    double h = v * mean * (1 - mean);
    g[0] += dz;
    for (size_t j = 1; j < p; j++)
        g[j] += dz * x[j - 1];
    if (H)
        H[0] += h;
    for (size_t j = 1; H && j < p; j++) {
        double hx = h * x[j - 1], *row = H + j * p;
        row[0] += hx;
        for (size_t l = 1; l <= j; l++)
            row[l] += hx * x[l - 1];
    }
}

/* The same for more labels. */
static void add_row_many(const pv__cross *c, const double *w, int y, double v, const double *x, double *H, double *g) {
    size_t p = c->p, size = c->size, labels = c->logits + 1;
    double mean[PV__CROSS_LABELS];
    mean[0] = 0;
    for (size_t l = 1; l < labels; l++)
        mean[l] = pv__cross_logit(c, w + (l - 1) * size, x) + c->shift[l - 1];
    pv_log_softmax((int)labels, mean, mean);
    for (size_t l = 0; l < labels; l++)
        mean[l] = exp(mean[l]);
    for (size_t l = 1; l < labels; l++) {
        double dz = v * (mean[l] - (y == (int)l)), *own = g + (l - 1) * size;
        own[0] += dz;
        for (size_t j = 1; j < size; j++)
            own[j] += dz * x[j - 1];
        for (size_t m = 1; H && m <= l; m++) {
            double h = v * mean[l] * ((l == m) - mean[m]), *block = H + (l - 1) * size * p + (m - 1) * size;
            for (size_t i = 0; i < size; i++)
                for (size_t j = 0; j < size; j++)
                    block[i * p + j] += h * (i ? x[i - 1] : 1) * (j ? x[j - 1] : 1);
        }
    }
}

/* Adds information (if H is not NULL) and gradient at w of every stride-th row, with weight v_i - share_ik (left_out)
 * or share_ik; fold PV__CROSS_FOLDS: v_i. Stops early if interrupted; the caller then discards the result. */
static void add_rows(const pv__cross *c, const double *w, size_t fold, bool left_out, size_t stride, double *H,
                     double *g) {
    const pv_targets *t = &c->problem->targets;
    double room[PV__CROSS_PARAMS];
    for (size_t i = 0; i < c->n; i += stride) {
        if (i / stride % 256 == 0 && pv__interrupted(c->ctx))
            return;
        double in = fold < PV__CROSS_FOLDS ? c->share[i * PV__CROSS_FOLDS + fold] : 0,
               v = left_out ? pv__weight(t, i) - in : in;
        if (!(v > 0))
            continue;
        (c->logits == 1 ? add_row : add_row_many)(c, w, t->label[i], v * c->factor[t->label[i]],
                                                  pv__problem_row(c->problem, i, room), H, g);
    }
}

static void add_prior(const pv__cross *c, const double *w, double *H, double *g) {
    const double apart = 1e-4;
    for (size_t j = 0; j < c->p; j++) {
        double slope, above, below;
        pv__prior_at(c->problem, j, w[j], &slope);
        pv__prior_at(c->problem, j, w[j] + apart, &above);
        pv__prior_at(c->problem, j, w[j] - apart, &below);
        g[j] += slope;
        H[j * c->p + j] += fmax(0, (above - below) / (2 * apart));
    }
}

/* One Newton step with entries of at most 3; false if it does not exist. *size: its largest entry. */
static bool step(const pv__cross *c, double *size) {
    size_t p = c->p;
    if (!pv__cholesky(p, c->H, 1e-12))
        return false;
    for (size_t j = 0; j < p; j++) {
        for (size_t l = 0; l < j; l++)
            c->g[j] -= c->H[j * p + l] * c->g[l];
        c->g[j] /= c->H[j * p + j];
    }
    *size = 0;
    for (size_t j = p; j-- > 0;) {
        for (size_t l = j + 1; l < p; l++)
            c->g[j] -= c->H[l * p + j] * c->g[l];
        c->g[j] /= c->H[j * p + j];
        *size = fmax(*size, fabs(c->g[j]));
    }
    double shrink = *size > 3 ? 3 / *size : 1;
    for (size_t j = 0; j < p; j++)
        c->w[j] -= shrink * c->g[j];
    return isfinite(*size);
}

/* The parameters without the fold's rows, starting from those of all rows. */
bool pv__leave_out(const pv__cross *c, const double *w, size_t fold) {
    size_t p = c->p;
    memcpy(c->w, w, p * sizeof *w);
    memset(c->g, 0, p * sizeof *c->g);
    add_rows(c, w, fold, false, 1, NULL, c->g);
    for (size_t i = 0; i < p * p; i++)
        c->H[i] = (1 - 1.0 / PV__CROSS_FOLDS) * c->total[i];
    for (size_t j = 0; j < p; j++) /* the gradient of all rows is 0 */
        c->g[j] = -c->g[j];
    double size;
    bool good = step(c, &size);
    for (int round = 0; good && c->to_the_end && round < 8 && size > 1e-2; round++) {
        memset(c->H, 0, p * p * sizeof *c->H);
        memset(c->g, 0, p * sizeof *c->g);
        add_rows(c, c->w, fold, true, 1, c->H, c->g);
        add_prior(c, c->w, c->H, c->g);
        good = step(c, &size);
    }
    return good;
}

/* Assigns clusters in the order of their first keys. */
static pv_status deal_clusters(pv_ctx *ctx, const pv__cross *c, const pv__keyed *order) {
    const pv__problem *problem = c->problem;
    size_t clusters = 0, *fold, dealt = 0;
    for (size_t i = 0; i < c->n; i++)
        clusters =
            (size_t)problem->design->cluster[i] + 1 > clusters ? (size_t)problem->design->cluster[i] + 1 : clusters;
    PV_TRY(pv__alloc(ctx, clusters, sizeof *fold, &fold));
    for (size_t j = 0; j < clusters; j++)
        fold[j] = PV__CROSS_FOLDS;
    for (size_t i = 0; i < c->n; i++) {
        size_t row = order[i].row, *own = &fold[problem->design->cluster[row]];
        if (*own == PV__CROSS_FOLDS)
            *own = dealt++ % PV__CROSS_FOLDS;
        c->share[row * PV__CROSS_FOLDS + *own] = pv__weight(&problem->targets, row);
    }
    pv__free(ctx, fold);
    return PV_OK;
}

/* Deals the rows of each label to the folds in the order of their keys, as pv_folds_make does. A row with count v is v
 * people, dealt one by one; a row with a sampling weight is one; the rows of a cluster stay together. */
static pv_status deal(pv_ctx *ctx, const pv__cross *c) {
    const pv__problem *problem = c->problem;
    const pv_targets *t = &problem->targets;
    const pv__key_rows rows = {c->n, (size_t)pv_model_inputs(problem->model), problem->rows.matrix, problem->rows.made};
    pv_rng rng = pv_rng_stream((uint64_t)problem->plan->options.seed, PV_STREAM_REFERENCE, 0);
    pv__keyed *order = NULL;
    uint64_t *key = NULL;
    size_t next[PV__CROSS_LABELS] = {0};
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, c->n, sizeof *order, &order));
    PV_GOTO(done, pv__alloc(ctx, c->n, sizeof *key, &key));
    PV_GOTO(done, pv__row_keys(ctx, &rows, pv_rng_bits(&rng), key));
    for (size_t i = 0; i < c->n; i++)
        order[i] = (pv__keyed){key[i], i};
    pv__keyed_sort(c->n, order);
    if (problem->design->cluster)
        PV_GOTO(done, deal_clusters(ctx, c, order));
    for (size_t i = 0; !problem->design->cluster && i < c->n; i++) {
        size_t row = order[i].row, *at = &next[t->label[row]];
        double v = pv__weight(t, row), whole = problem->design->sampling ? 1 : floor(v);
        size_t pieces = whole >= PV__CROSS_FOLDS ? PV__CROSS_FOLDS : whole > 1 ? (size_t)whole : 1;
        for (size_t k = 0; k < pieces; k++)
            c->share[row * PV__CROSS_FOLDS + (*at + k) % PV__CROSS_FOLDS] +=
                whole == v ? floor(v / PV__CROSS_FOLDS) + ((double)k < fmod(v, PV__CROSS_FOLDS)) : v / (double)pieces;
        *at = (*at + (pieces < PV__CROSS_FOLDS ? pieces : (size_t)fmod(whole, PV__CROSS_FOLDS))) % PV__CROSS_FOLDS;
    }
done:
    pv__free(ctx, key);
    pv__free(ctx, order);
    return status;
}

/* The factors and shifts of the sample's likelihood; weighted: rows are related to the population by
 * weights only. */
static void set_loss(const pv__problem *problem, bool weighted, pv__cross *c) {
    double log_ratio[PV__CROSS_LABELS], total = 0;
    pv__log_ratio(problem, log_ratio);
    for (size_t y = 0; y <= c->logits; y++)
        total += problem->mass[y];
    for (size_t l = 0; l < c->logits; l++)
        c->shift[l] = weighted ? 0 : log_ratio[l + 1] - log_ratio[0];
    for (size_t y = 0; y <= c->logits; y++)
        c->factor[y] = weighted ? problem->population.prevalence[y] * total / problem->mass[y] : problem->factor[y];
}

pv_status pv__cross_new(pv_ctx *ctx, const pv__problem *problem, const double *w, bool weighted, pv__cross *c) {
    size_t p = c->p;
    set_loss(problem, weighted, c);
    PV_TRY(pv__alloc(ctx, c->n, PV__CROSS_FOLDS * sizeof(double), &c->share));
    PV_TRY(pv__alloc(ctx, 2 * p * p + 2 * p, sizeof(double), &c->total));
    c->H = c->total + p * p;
    c->g = c->H + p * p;
    c->w = c->g + p;
    PV_TRY(deal(ctx, c));
    c->to_the_end = c->n < FEW * p && (double)c->n * (double)(p * p) * PV__CROSS_FOLDS <= DEAR;
    size_t enough = INFORMED * p > 1000 ? INFORMED * p : 1000, stride = c->to_the_end ? 1 : 1 + c->n / enough;
    add_rows(c, w, PV__CROSS_FOLDS, true, stride, c->total, c->g);
    for (size_t i = 0; i < p * p; i++)
        c->total[i] *= (double)stride;
    add_prior(c, w, c->total, c->g);
    return PV_OK;
}

/* The combined estimate without a fold: replaces c->w, the weighted estimate. Its intercept follows from the slopes by
 * the weighted estimating equation. */
bool pv__combine_without(const pv__cross *c, const pv__cross *efficient, const pv_combination *m, const double *w,
                         size_t fold) {
    size_t p = c->p;
    if (!pv__leave_out(efficient, m->efficient, fold))
        return false;
    double intercept = w[0] + c->w[0] - m->weighted[0];
    for (size_t j = 1; j < p; j++) {
        double share = m->share[m->term[j - 1]], moved = c->w[j] - m->weighted[j];
        double change = share * moved + (1 - share) * (efficient->w[j] - m->efficient[j]);
        intercept += c->total[j * p] / c->total[0] * (moved - change);
        c->w[j] = w[j] + change;
    }
    c->w[0] = intercept;
    return true;
}
