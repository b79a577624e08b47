/* The information of a subsample of rows as a metric for optimising linear models.
 *
 *   H_y = N/m sum over m rows of v_n phi_n p_ny (1 - p_ny) x~_n x~_n^T + prior curvature,   x~ = (1, x),
 *
 * one block per logit, with p the probabilities in the training sample. With w = L^-T u, H = L L^T, the problem is
 * nearly isotropic in u, and L-BFGS needs only a handful of steps for any scales and correlations of the columns.
 */
#include <math.h>
#include <string.h>

#include "base/reduce.h"
#include "infer/infer.h"

enum { ROWS_MAX = 1 << 15, SIZE_DENSE_MAX = 1000, GROUPS = 8 };

/* An upper bound of the prior's curvature, so that the metric stays positive definite if a prior is not convex. */
double pv__prior_curvature(const pv__problem *problem, size_t i, double w) {
    if (!problem->plan->map)
        return 0;
    const pv_prior *prior = pv__prior_of(problem, i);
    double away = w - problem->centre[i];
    switch (prior->kind) {
    case PV_PRIOR_NORMAL:
        return 1 / (prior->scale * prior->scale);
    case PV_PRIOR_STUDENT:
        return (prior->df + 1) / (prior->df + away * away);
    case PV_PRIOR_LAPLACE:
    case PV_PRIOR_NONE:
        break;
    }
    return 0;
}

static double *block_of(const pv__precondition *p, size_t b) {
    return p->factor + b * p->size * (p->diagonal ? 1 : p->size);
}

/* Adds the prior and factorises. False if the information is not finite. */
static bool finish_block(const pv__problem *problem, pv__precondition *made, size_t b, const double *w) {
    double *h = block_of(made, b);
    size_t size = made->size, step = made->diagonal ? 1 : size + 1;
    for (size_t i = 0; i < size; i++)
        h[i * step] += pv__prior_curvature(problem, b * size + i, w[b * size + i]);
    if (!made->diagonal) {
        /* A direction without information gets a small amount and is left to the line search. */
        return pv__cholesky(size, h, 1e-8);
    }
    bool finite = true;
    for (size_t i = 0; i < size; i++) {
        finite &= isfinite(h[i]);
        h[i] = sqrt(fmax(h[i], 1e-300));
    }
    return finite;
}

/* Rows gathered in blocks, with a leading 1. */
enum { BLOCK_ROWS = 256 };

typedef struct gathered {
    double *x, *plain, *scaled, *loglik; /* [BLOCK_ROWS] times inputs, size, size, classes */
    double *log_ratio;                   /* [sets][classes] */
} gathered;

static size_t gathered_size(size_t size, size_t k, size_t sets) {
    return BLOCK_ROWS * (3 * size + k) + sets * k;
}

static gathered gathered_in(double *block, size_t size, size_t k) {
    gathered g;
    g.x = block;
    g.plain = g.x + BLOCK_ROWS * size;
    g.scaled = g.plain + BLOCK_ROWS * size;
    g.loglik = g.scaled + BLOCK_ROWS * size;
    g.log_ratio = g.loglik + BLOCK_ROWS * k;
    return g;
}

/* The information weight of a row for logits y and l: its weight in the loss times p (1 - p), or -p p'. */
static double row_weight(const pv__problem *problem, size_t n, const double *log_p, size_t y, size_t l) {
    double weight = pv__weight(&problem->targets, n);
    if (problem->targets.label)
        weight *= problem->factor[problem->targets.label[n]];
    return weight * exp(log_p[y]) * (y == l ? -expm1(log_p[y]) : -exp(log_p[l]));
}

static void add_block(const pv__problem *problem, const pv__compute *compute, pv__precondition *made, gathered *g,
                      size_t rows, const size_t *which, double scale) {
    size_t size = made->size, k = (size_t)problem->targets.classes;
    for (size_t b = 0, y = 1, l = made->whole ? 1 : y; b < made->blocks; b++) {
        double *h = block_of(made, b);
        for (size_t r = 0; r < rows; r++) {
            double weight = scale * row_weight(problem, which[r], g->loglik + r * k, y, l);
            for (size_t i = 0; i < size; i++)
                g->scaled[r * size + i] = weight * g->plain[r * size + i];
        }
        if (!made->diagonal)
            compute->matmul(size, size, rows, g->plain, 1, size, g->scaled, h, true);
        for (size_t r = 0; made->diagonal && r < rows; r++)
            for (size_t i = 0; i < size; i++)
                h[i] += g->plain[r * size + i] * g->scaled[r * size + i];
        if (l++ == y) {
            y++;
            l = made->whole ? 1 : y;
        }
    }
}

/* Processes rows first .. last-1 of the subsample. */
static void run_rows(const pv_ctx *ctx, const pv__problem *problem, const double *w, size_t first, size_t last,
                     size_t rows, double *block, pv_model_work *work, pv__precondition *made) {
    size_t size = made->size, d = (size_t)pv_model_inputs(problem->model), k = (size_t)problem->targets.classes;
    size_t skip = problem->model->offset;
    double scale = (double)problem->rows.n / (double)rows;
    gathered g = gathered_in(block, size, k);
    size_t which[BLOCK_ROWS];
    pv__log_ratio(problem, g.log_ratio);
    for (; first < last; first += BLOCK_ROWS) {
        size_t count = last - first < BLOCK_ROWS ? last - first : BLOCK_ROWS;
        pv__spill_breathe(ctx);
        pv__rows_spread(&problem->rows, first, count, scale, g.x);
        for (size_t r = 0; r < count; r++) {
            which[r] = pv__spread_row(first + r, scale);
            g.plain[r * size] = 1;
            memcpy(g.plain + r * size + 1, g.x + r * d + skip, (d - skip) * sizeof *g.x);
        }
        pv_model_forward(problem->model, work, w, count, g.x, g.loglik);
        for (size_t r = 0; r < count; r++) {
            const double *ratio = pv__ratio_of(&problem->targets, g.log_ratio, which[r]);
            for (size_t y = 0; y < k; y++)
                g.loglik[r * k + y] += ratio[y];
            pv_log_softmax((int)k, g.loglik + r * k, g.loglik + r * k);
        }
        add_block(problem, work->compute, made, &g, count, which, scale);
    }
}

/* All rows if that is cheap compared to a fit; otherwise evenly spaced ones, enough for two digits of a standard
 * error. */
static size_t rows_for(const pv__precondition *made) {
    const size_t fewest = ROWS_MAX / 2, affordable = 50000000 / (made->blocks * made->size * made->size);
    return affordable < fewest ? fewest : affordable;
}

/* Sums groups of rows in order, so results are bit-identical for any number of threads. */
static pv_status sum_groups(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__precondition *made) {
    size_t k = (size_t)problem->targets.classes, most = made->whole ? rows_for(made) : ROWS_MAX;
    size_t rows = problem->rows.n < most ? problem->rows.n : most;
    size_t length = made->blocks * made->size * (made->diagonal ? 1 : made->size);
    size_t room = gathered_size(made->size, k, pv__ratio_sets(problem)), groups = rows < 4 * BLOCK_ROWS ? 1 : GROUPS;
    double *partial = NULL, *block = NULL;
    pv_model_work *work[GROUPS] = {0};
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, groups, length * sizeof *partial, &partial));
    PV_GOTO(done, pv__alloc(ctx, groups, room * sizeof *block, &block));
    for (size_t g = 0; g < groups; g++)
        PV_GOTO(done, pv_model_work_new(ctx, problem->model, BLOCK_ROWS, &work[g]));
#pragma omp parallel for num_threads(pv__threads_for(ctx, groups)) schedule(dynamic)
    for (size_t g = 0; g < groups; g++) {
        pv__precondition own = *made;
        own.factor = partial + g * length;
        run_rows(ctx, problem, w, g * rows / groups, (g + 1) * rows / groups, rows, block + g * room, work[g], &own);
    }
    pv__part whole = pv__part_whole(groups);
    pv__sum(ctx, &whole, length, partial, made->factor);
    status = pv__reduce_check(ctx);
done:
    pv__free(ctx, partial);
    pv__free(ctx, block);
    for (size_t g = 0; g < GROUPS; g++)
        pv_model_work_free(ctx, work[g]);
    return status;
}

pv_status pv__precondition_new(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__precondition *made) {
    size_t k = (size_t)problem->targets.classes, size = pv__model_slopes(problem->model) + 1;
    *made = (pv__precondition){.blocks = k - 1, .size = size, .diagonal = size > SIZE_DENSE_MAX};
    PV_TRY(pv__alloc(ctx, made->blocks * size, (made->diagonal ? 1 : size) * sizeof(double), &made->factor));
    pv_status status = sum_groups(ctx, problem, w, made);
    for (size_t b = 0; status == PV_OK && b < made->blocks; b++)
        if (!finish_block(problem, made, b, w))
            status = pv__fail(ctx, PV_ERR_NUMERIC,
                              "the information of the rows is not finite: a column has extreme values. Rescale it, "
                              "or transform it with `terms`");
    if (status != PV_OK)
        pv__precondition_free(ctx, made);
    return status;
}

pv_status pv__information(pv_ctx *ctx, const pv__problem *problem, const double *w, double *information) {
    size_t J = (size_t)problem->targets.classes - 1, size = pv__model_slopes(problem->model) + 1, P = J * size;
    pv__precondition sums = {.blocks = J * (J + 1) / 2, .size = size, .whole = true};
    PV_TRY(pv__alloc(ctx, sums.blocks * size, size * sizeof(double), &sums.factor));
    pv_status status = sum_groups(ctx, problem, w, &sums);
    const double *from = sums.factor;
    for (size_t j = 0; j < J; j++)
        for (size_t l = 0; l <= j; l++)
            for (size_t i = 0; i < size; i++)
                for (size_t c = 0; c < size; c++, from++)
                    information[(j * size + i) * P + l * size + c] = information[(l * size + c) * P + j * size + i] =
                        *from;
    pv__precondition_free(ctx, &sums);
    return status;
}

void pv__precondition_free(pv_ctx *ctx, pv__precondition *made) {
    pv__free(ctx, made->factor);
    made->factor = NULL;
}

void pv__precondition_backward(const pv__precondition *p, const double *u, double *w) {
    for (size_t b = 0; b < p->blocks; b++) {
        const double *l = block_of(p, b), *in = u + b * p->size;
        double *out = w + b * p->size;
        for (size_t i = p->size; i-- > 0;) {
            double sum = in[i];
            for (size_t j = i + 1; !p->diagonal && j < p->size; j++)
                sum -= l[j * p->size + i] * out[j];
            out[i] = sum / (p->diagonal ? l[i] : l[i * p->size + i]);
        }
    }
}

void pv__precondition_forward(const pv__precondition *p, const double *g, double *u) {
    for (size_t b = 0; b < p->blocks; b++) {
        const double *l = block_of(p, b), *in = g + b * p->size;
        double *out = u + b * p->size;
        for (size_t i = 0; i < p->size; i++) {
            double sum = in[i];
            for (size_t j = 0; !p->diagonal && j < i; j++)
                sum -= l[i * p->size + j] * out[j];
            out[i] = sum / (p->diagonal ? l[i] : l[i * p->size + i]);
        }
    }
}
