/* Does the line that the rows were fitted by hold in the population, where rows were taken by stratum and label?
 * Hausman's test of semiparametric maximum likelihood against the weighted estimator, as agree.c has it without strata.
 *
 * Of stratum s: prevalences pi_sy that rest on N_s observations, lambda_sy = p_s(y|w), n_sy rows of each label, and
 * m_sy = N_s + (n_sy - N_s pi_sy)/lambda_sy (N_s infinite: lambda = pi, and m such that the mean of p is pi). Row n has
 * probabilities p, and q_y ~ p_y m_sy in the sample. Maximum likelihood solves
 *
 *   U = sum_n v_n (e_{y_n} - q) x~ = 0,   U_sy = sum_n v_n q_y - m_sy lambda_sy = 0,
 *
 * in w and, for each stratum, in lambda_s (in log m_s where pi_s is known). To first order it is
 *
 *   w^ - w = H_ml^-1 sum_n v_n psi_n,   psi_n = (e_{y_n} - q) x~ + K_s^T M_s q,   H_ml = H - sum_s K_s^T M_s K_s,
 *   K_s = sum_n v_n (diag q - q q^T) x~,   Q_s = sum_n v_n (diag q - q q^T),   M_s = R_s (Q_s R_s - N_s)^-1,
 *
 * R_s = d log m_s / d lambda_s, diagonal; where pi_s is known M_s = -(sum_n v_n q q^T)^-1. The weighted score is
 * g = sum_n v_n a_sy (e_{y_n} - p) x~, a_sy = p(s) pi_sy W/n_sy, of curvature A, and what is tested is the sum of
 *
 *   gamma_n = a_sy (e_{y_n} - p) x~ - C psi_n,   C = A H_ml^-1 .
 *
 * Its variance, by the model: rows of a stratum have label y with probability q_y, the numbers n_sy are the design's,
 * so that each cell's are taken about their mean; and pi_s varies by (diag pi - pi pi^T)/N_s, with the derivatives of
 * both scores. Shares do not matter: with a right model each stratum's weighted score has mean 0 on its own.
 *
 * Few rows of large weight make the statistic's tails longer than chi-square's. With u_n = gamma_n^T V^-1 gamma_n,
 * which add up to the degrees of freedom df, the rows count as m = 3 df^2 / sum_n v_n u_n^2 (normal contributions have
 * three times the square of their variance for a mean fourth power, and count in full), and the statistic is taken as
 * Hotelling's of so many: times (m - df + 1)/(m df) it is F of df and m - df + 1.
 */
#include <math.h>
#include <string.h>

#include "infer/agree.h"

enum { LOOK = 1 << 10, STEPS = 50 }; /* rows between looks at an interruption; of Newton's method */

typedef struct work {
    const pv__problem *problem;
    const pv_stratified *strata;
    size_t k, J, size, P;
    const double *loglik;
    double *lambda, *mass, *m, *a; /* [strata][k] */
    double *K, *Q, *M, *mean; /* [strata] of [k][P], [k][k], [k][k]; [strata][k][P] of gamma, and in `in` its weight */
    double *in;               /* [strata][k] */
    double *A, *H, *C, *V;    /* [P][P] */
    double *g, *s, *own, *scale; /* [P] */
    double *p, *q, *row;         /* [k], [k], [size] */
    double *psi, *gamma;         /* [P], [k][P] */
    double *small;               /* [k][k + 2] */
    double levers[2];            /* sums of v u and v u^2 */
} work;

static void row_of(work *m, size_t n) {
    if (m->size > 1) /* with room for an offset where the 1 will be */
        memmove(m->row + 1, pv__problem_row(m->problem, n, m->row), (m->size - 1) * sizeof *m->row);
    m->row[0] = 1;
}

static void probabilities(work *w, size_t n) {
    const double *m = w->m + (size_t)w->problem->targets.stratum[n] * w->k;
    double sum = 0;
    for (size_t y = 0; y < w->k; y++) {
        w->p[y] = exp(w->loglik[n * w->k + y]);
        sum += w->q[y] = w->p[y] * m[y];
    }
    for (size_t y = 0; y < w->k; y++)
        w->q[y] /= sum;
}

/* ---- the multipliers of known prevalences ------------------------------------------------------------------------ */

/* sum_n v_n q - m pi into error [k], and its derivative in log m into small. Returns the largest error, per row. */
static double multiplier_error(work *w, int32_t s, double *error) {
    const pv_targets *targets = &w->problem->targets;
    size_t k = w->k;
    const double *pi = w->strata->prevalence + (size_t)s * k, *m = w->m + (size_t)s * k;
    double total = 0, worst = 0;
    memset(w->small, 0, k * k * sizeof *w->small);
    memset(error, 0, k * sizeof *error);
    for (size_t n = 0; n < targets->n; n++) {
        double v = pv__weight(targets, n);
        if (targets->stratum[n] != s || v == 0)
            continue;
        probabilities(w, n);
        total += v;
        for (size_t y = 0; y < k; y++) {
            error[y] += v * w->q[y];
            for (size_t c = 0; c < k; c++)
                w->small[y * k + c] += v * w->q[y] * ((y == c) - w->q[c]);
        }
    }
    for (size_t y = 0; y < k; y++) {
        error[y] -= m[y] * pi[y];
        w->small[y * k + y] -= m[y] * pi[y];
        worst = fmax(worst, fabs(error[y]) / total);
    }
    return worst;
}

/* From n/pi, which they are where the stratum has an intercept of its own. False: not found. */
static bool find_multipliers(work *w, int32_t s) {
    size_t k = w->k;
    double *m = w->m + (size_t)s * k, *error = w->small + k * k, *last = error + k, share = 1, before = HUGE_VAL;
    for (int step = 0; step < STEPS; step++) {
        double now = multiplier_error(w, s, error);
        if (now < 1e-10)
            return true;
        if (!(now < before)) { /* half of the step, from where it began */
            share *= 0.5;
            for (size_t y = 0; y < k; y++)
                m[y] *= exp(share * last[y]);
            continue;
        }
        if (!pv__solve_small((int)k, w->small, error))
            return false;
        before = now;
        share = 1;
        for (size_t y = 0; y < k; y++) {
            last[y] = fmax(-1, fmin(1, error[y]));
            m[y] *= exp(-last[y]);
        }
    }
    return before < 1e-6;
}

static bool find_all(work *w) {
    const pv_stratified *of = w->strata;
    for (size_t i = 0; i < (size_t)of->strata * w->k; i++) {
        double N = of->n[i / w->k], n = w->mass[i];
        w->m[i] = isinf(N) ? n / of->prevalence[i] : N + (n - N * of->prevalence[i]) / w->lambda[i];
        if (!(w->m[i] > 0))
            return false;
    }
    for (int32_t s = 0; s < of->strata; s++)
        if (isinf(of->n[s]) && !find_multipliers(w, s))
            return false;
    return true;
}

/* Where they are no ratios of probabilities, as with a model that is far off, those of a right one: lambda = pi. The
 * test is then that of a step from there. */
static void set_multipliers(work *w) {
    const pv_stratified *of = w->strata;
    if (find_all(w))
        return;
    memcpy(w->lambda, of->prevalence, (size_t)of->strata * w->k * sizeof *w->lambda);
    for (size_t i = 0; i < (size_t)of->strata * w->k; i++)
        w->m[i] = w->mass[i] / of->prevalence[i];
}

/* ---- sums over rows ---------------------------------------------------------------------------------------------- */

static pv_status add_scores(pv_ctx *ctx, work *w) {
    const pv_targets *targets = &w->problem->targets;
    for (size_t n = 0; n < targets->n; n++) {
        double v = pv__weight(targets, n), weight = 0;
        if (n % LOOK == 0)
            PV_TRY(pv__go_on(ctx));
        if (v == 0)
            continue;
        const double *a = w->a + (size_t)targets->stratum[n] * w->k;
        probabilities(w, n);
        row_of(w, n);
        for (size_t y = 0; y < w->k; y++)
            weight += pv__share(targets, n, (int)y) * a[y];
        for (size_t j = 1; j < w->k; j++) {
            double share = pv__share(targets, n, (int)j);
            double of_g = v * (share * a[j] - weight * w->p[j]), of_s = v * (share - w->q[j]);
            for (size_t i = 0; i < w->size; i++) {
                w->g[(j - 1) * w->size + i] += of_g * w->row[i];
                w->s[(j - 1) * w->size + i] += of_s * w->row[i];
            }
        }
    }
    return PV_OK;
}

/* What row n of weight v adds to A, H, K and Q. */
static void add_row(work *w, size_t n, double v) {
    size_t k = w->k, s = (size_t)w->problem->targets.stratum[n];
    const double *a = w->a + s * k;
    double mean = 0;
    for (size_t y = 0; y < k; y++)
        mean += w->q[y] * a[y];
    for (size_t y = 0; y < k; y++)
        for (size_t c = 0; c < k; c++)
            w->Q[(s * k + y) * k + c] += v * w->q[y] * ((y == c) - w->q[c]);
    for (size_t y = 0; y < k; y++)
        for (size_t j = 1; j < k; j++) {
            double of_k = v * w->q[y] * ((y == j) - w->q[j]);
            double of_a = v * mean * w->p[y] * ((y == j) - w->p[j]);
            double *K = w->K + (s * k + y) * w->P + (j - 1) * w->size;
            for (size_t i = 0; i < w->size; i++) {
                K[i] += of_k * w->row[i];
                if (y == 0)
                    continue;
                size_t to = ((y - 1) * w->size + i) * w->P + (j - 1) * w->size;
                for (size_t c = 0; c < w->size; c++) {
                    w->H[to + c] += of_k * w->row[i] * w->row[c];
                    w->A[to + c] += of_a * w->row[i] * w->row[c];
                }
            }
        }
}

/* gamma [k][P] of row n: what it would add with each label. */
static void fill_gamma(work *w, size_t n) {
    size_t k = w->k, P = w->P, s = (size_t)w->problem->targets.stratum[n];
    double *moved = w->small;
    for (size_t y = 0; y < k; y++) {
        moved[y] = 0;
        for (size_t c = 0; c < k; c++)
            moved[y] += w->M[(s * k + y) * k + c] * w->q[c];
    }
    for (size_t y = 0; y < k; y++) {
        double *gamma = w->gamma + y * P;
        for (size_t i = 0; i < P; i++) {
            size_t j = i / w->size + 1;
            double x = w->row[i % w->size];
            gamma[i] = w->a[s * k + y] * ((y == j) - w->p[j]) * x;
            w->psi[i] = ((y == j) - w->q[j]) * x;
            for (size_t c = 0; c < k; c++)
                w->psi[i] += w->K[(s * k + c) * P + i] * moved[c];
        }
        for (size_t i = 0; i < P; i++)
            for (size_t c = 0; c < P; c++)
                gamma[i] -= w->C[i * P + c] * w->psi[c];
    }
}

static void add_variance(work *w, size_t n, double v) {
    size_t k = w->k, P = w->P, s = (size_t)w->problem->targets.stratum[n];
    fill_gamma(w, n);
    for (size_t y = 0; y < k; y++) {
        double weight = v * w->q[y], *gamma = w->gamma + y * P;
        w->in[s * k + y] += weight;
        for (size_t i = 0; i < P; i++) {
            double a = w->a[s * k + y] * ((y == i / w->size + 1) - w->p[i / w->size + 1]) * w->row[i % w->size];
            w->scale[i] += weight * a * a;
            w->mean[(s * k + y) * P + i] += weight * gamma[i];
            for (size_t c = 0; c <= i; c++)
                w->V[i * P + c] += weight * gamma[i] * gamma[c];
        }
    }
}

/* Evenly spaced rows, as many as tell the covariances well enough. */
static pv_status over_rows(pv_ctx *ctx, work *w, void (*add)(work *, size_t, double)) {
    const pv_targets *targets = &w->problem->targets;
    size_t rows = targets->n < PV__AGREE_ROWS ? targets->n : PV__AGREE_ROWS;
    double every = (double)targets->n / (double)rows;
    for (size_t r = 0; r < rows; r++) {
        size_t n = (size_t)((double)r * every);
        double v = every * pv__weight(targets, n);
        if (r % LOOK == 0)
            PV_TRY(pv__go_on(ctx));
        if (v == 0)
            continue;
        probabilities(w, n);
        row_of(w, n);
        add(w, n, v);
    }
    return PV_OK;
}

/* ---- what is made of them ---------------------------------------------------------------------------------------- */

/* M_s = R (Q R - N)^-1, or (Q - diag m pi)^-1. False: it has none. */
static bool invert_one(work *w, size_t s) {
    size_t k = w->k;
    double N = w->strata->n[s];
    for (size_t c = 0; c < k; c++) { /* column c of the inverse */
        double *T = w->small, *x = T + k * k;
        memset(x, 0, k * sizeof *x);
        x[c] = 1;
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < k; j++) {
                size_t cell = s * k + j;
                double m = w->m[cell], lambda = w->lambda[cell], R = 1, rest = m * w->strata->prevalence[cell];
                if (isfinite(N)) {
                    R = -(w->mass[cell] - N * w->strata->prevalence[cell]) / (lambda * lambda * m);
                    rest = N;
                }
                T[i * k + j] = w->Q[(s * k + i) * k + j] * R - (i == j ? rest : 0);
            }
        if (!pv__solve_small((int)k, T, x))
            return false;
        for (size_t i = 0; i < k; i++) {
            size_t cell = s * k + i;
            double lambda = w->lambda[cell], R = 1;
            if (isfinite(N))
                R = -(w->mass[cell] - N * w->strata->prevalence[cell]) / (lambda * lambda * w->m[cell]);
            w->M[cell * k + c] = R * x[i];
        }
    }
    return true;
}

/* C = A H_ml^-1; False: there is no such inverse. */
static bool fill_c(work *w) {
    size_t k = w->k, P = w->P;
    for (size_t s = 0; s < (size_t)w->strata->strata; s++) {
        if (!invert_one(w, s))
            return false;
        for (size_t y = 0; y < k; y++)
            for (size_t c = 0; c < k; c++) {
                double M = w->M[(s * k + y) * k + c];
                const double *left = w->K + (s * k + y) * P, *right = w->K + (s * k + c) * P;
                for (size_t i = 0; M != 0 && i < P; i++)
                    for (size_t j = 0; j < P; j++)
                        w->H[i * P + j] -= left[i] * M * right[j];
            }
    }
    if (!pv__cholesky(P, w->H, 0))
        return false;
    memcpy(w->C, w->A, P * P * sizeof *w->C);
    for (size_t i = 0; i < P; i++) { /* rows of A H^-1, both symmetric */
        double *x = w->C + i * P;
        for (size_t r = 0; r < P; r++) {
            for (size_t c = 0; c < r; c++)
                x[r] -= w->H[r * P + c] * x[c];
            x[r] /= w->H[r * P + r];
        }
        for (size_t r = P; r-- > 0;) {
            for (size_t c = r + 1; c < P; c++)
                x[r] -= w->H[c * P + r] * x[c];
            x[r] /= w->H[r * P + r];
        }
    }
    return true;
}

/* How g - C s moves with pi_sy, to gamma[y]: mean has the weighted scores' sums there, by the model. */
static void fill_derivatives(work *w, size_t s, const double *weighted) {
    size_t k = w->k, P = w->P;
    double N = w->strata->n[s];
    for (size_t y = 0; y < k; y++) {
        double eta = -N / (w->lambda[s * k + y] * w->m[s * k + y]), *of = w->gamma + y * P, *u = w->small;
        for (size_t c = 0; c < k; c++)
            u[c] = (c == y) * N + w->Q[(s * k + c) * k + y] * eta;
        for (size_t i = 0; i < P; i++) {
            w->psi[i] = -w->K[(s * k + y) * P + i] * eta;
            for (size_t c = 0; c < k; c++)
                for (size_t e = 0; e < k; e++)
                    w->psi[i] += w->K[(s * k + c) * P + i] * w->M[(s * k + c) * k + e] * u[e];
        }
        for (size_t i = 0; i < P; i++) {
            of[i] = weighted[y * P + i] / w->strata->prevalence[s * k + y];
            for (size_t c = 0; c < P; c++)
                of[i] -= w->C[i * P + c] * w->psi[c];
        }
    }
}

static void add_prevalence(work *w, size_t s, const double *weighted) {
    size_t k = w->k, P = w->P;
    const double *pi = w->strata->prevalence + s * k;
    double N = w->strata->n[s], *mean = w->psi;
    fill_derivatives(w, s, weighted);
    memset(mean, 0, P * sizeof *mean);
    for (size_t y = 0; y < k; y++)
        for (size_t i = 0; i < P; i++)
            mean[i] += pi[y] * w->gamma[y * P + i];
    for (size_t y = 0; y < k; y++)
        for (size_t i = 0; i < P; i++)
            for (size_t c = 0; c <= i; c++)
                w->V[i * P + c] += pi[y] / N * (w->gamma[y * P + i] - mean[i]) * (w->gamma[y * P + c] - mean[c]);
}

/* sum_n v_n q_y a_sy (e_y - p) x~ of each stratum and label, into K's like. */
static void add_weighted(work *w, size_t n, double v) {
    size_t k = w->k, P = w->P, s = (size_t)w->problem->targets.stratum[n];
    for (size_t y = 0; y < k; y++)
        for (size_t i = 0; i < P; i++)
            w->mean[(s * k + y) * P + i] +=
                v * w->q[y] * w->a[s * k + y] * ((y == i / w->size + 1) - w->p[i / w->size + 1]) * w->row[i % w->size];
}

static pv_status fill_variance(pv_ctx *ctx, work *w) {
    size_t k = w->k, P = w->P, cells = (size_t)w->strata->strata * k;
    PV_TRY(over_rows(ctx, w, add_variance));
    for (size_t i = 0; i < cells; i++)
        for (size_t r = 0; r < P; r++)
            for (size_t c = 0; c <= r; c++)
                w->V[r * P + c] -= w->mean[i * P + r] * w->mean[i * P + c] / w->in[i];
    memset(w->mean, 0, cells * P * sizeof *w->mean);
    PV_TRY(over_rows(ctx, w, add_weighted));
    for (size_t s = 0; s < (size_t)w->strata->strata; s++)
        if (isfinite(w->strata->n[s]))
            add_prevalence(w, s, w->mean + s * k * P);
    for (size_t r = 0; r < P; r++)
        for (size_t c = 0; c < r; c++)
            w->V[c * P + r] = w->V[r * P + c];
    return PV_OK;
}

/* Of a step: what the strata's equations leave of the profile's score. Nothing, at its optimum. */
static void add_constraints(work *w) {
    size_t k = w->k, P = w->P;
    for (size_t s = 0; s < (size_t)w->strata->strata; s++)
        for (size_t y = 0; y < k; y++)
            for (size_t c = 0; c < k; c++) {
                size_t cell = s * k + c;
                double left = w->M[(s * k + y) * k + c] * (w->in[cell] - w->m[cell] * w->lambda[cell]);
                for (size_t i = 0; i < P; i++)
                    w->s[i] += w->K[(s * k + y) * P + i] * left;
            }
}

/* u of row n, by the factor of V in A, and its square. */
static void add_lever(work *w, size_t n, double v) {
    size_t P = w->P;
    double sum = 0;
    fill_gamma(w, n);
    for (size_t y = 0; y < w->k; y++) {
        double *x = w->gamma + y * P;
        for (size_t i = 0; i < P; i++) {
            for (size_t c = 0; c < i; c++)
                x[i] -= w->A[i * P + c] * x[c];
            x[i] /= w->A[i * P + i];
            sum += w->q[y] * x[i] * x[i];
        }
    }
    w->levers[0] += v * sum;
    w->levers[1] += v * sum * sum;
}

static pv_status make_work(pv_ctx *ctx, work *w, double **block) {
    size_t k = w->k, P = w->P, cells = (size_t)w->strata->strata * k;
    PV_TRY(pv__alloc(ctx, cells * (5 + 2 * k + 2 * P) + 4 * P * P + 5 * P + (2 + P) * k + w->size + k * (k + 2),
                     sizeof **block, block));
    double *at = *block;
    double **const parts[] = {&w->lambda, &w->mass, &w->m, &w->a, &w->in,    &w->Q,   &w->M,    &w->K,
                              &w->mean,   &w->A,    &w->H, &w->C, &w->V,     &w->g,   &w->s,    &w->own,
                              &w->scale,  &w->psi,  &w->p, &w->q, &w->gamma, &w->row, &w->small};
    const size_t sizes[] = {cells,     cells, cells, cells, cells, cells * k, cells * k,  cells * P,
                            cells * P, P * P, P * P, P * P, P * P, P,         P,          P,
                            P,         P,     k,     k,     k * P, w->size,   k * (k + 2)};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i] = at;
        at += sizes[i];
    }
    return PV_OK;
}

static pv_status test(pv_ctx *ctx, work *w, bool line, pv_agreement *found) {
    size_t k = w->k, P = w->P, cells = (size_t)w->strata->strata * k;
    double total = 0;
    pv__strata_mass(&w->problem->targets, w->strata->strata, w->mass);
    for (size_t i = 0; i < cells; i++)
        total += w->mass[i];
    for (size_t i = 0; i < cells; i++)
        w->a[i] = w->strata->share[i / k] * w->strata->prevalence[i] * total / w->mass[i];
    set_multipliers(w);
    PV_TRY(add_scores(ctx, w));
    PV_TRY(over_rows(ctx, w, add_row));
    bool sound = fill_c(w);
    if (sound)
        PV_TRY(fill_variance(ctx, w));
    if (sound)
        add_constraints(w);
    for (size_t i = 0; i < P; i++) {
        w->own[i] = w->g[i];
        for (size_t c = 0; sound && c < P; c++)
            w->own[i] -= w->C[i * P + c] * w->s[c];
    }
    memcpy(w->A, w->V, P * P * sizeof *w->A);
    bool whole = sound && line && pv__cholesky(P, w->A, 0);
    if (whole)
        PV_TRY(over_rows(ctx, w, add_lever));
    const pv__agree_parts parts = {.J = w->J,
                                   .size = w->size,
                                   .prevalence = w->problem->population.prevalence,
                                   .total = total,
                                   .g = w->g,
                                   .own = w->own,
                                   .V = w->V,
                                   .scale = w->scale};
    PV_TRY(pv__agree_conclude(ctx, &parts, line && sound, found));
    double df = (double)found->df, rows = 3 * w->levers[0] * w->levers[0] / w->levers[1];
    if (whole && rows > df && found->df == (int64_t)P) {
        double rest = rows - df + 1, f = found->statistic * rest / (rows * df);
        found->p_value = pv_beta_cdf(0.5 * rest, 0.5 * df, rest / (rest + df * f));
    }
    return PV_OK;
}

pv_status pv__agree_strata(pv_ctx *ctx, const pv__problem *problem, const double *lambda, const double *loglik,
                           pv_agreement *found) {
    size_t k = (size_t)problem->targets.classes, d = pv__model_slopes(problem->model);
    bool line = problem->model->architecture->has_curvature && (k - 1) * (d + 1) <= PV__AGREE_PARAMS;
    work w = {.problem = problem,
              .strata = problem->stratified,
              .k = k,
              .J = k - 1,
              .size = line ? d + 1 : 1,

              .loglik = loglik};
    w.P = w.J * w.size;
    double *block;
    PV_TRY(make_work(ctx, &w, &block));
    memcpy(w.lambda, lambda, (size_t)w.strata->strata * k * sizeof *lambda);
    pv_status status = test(ctx, &w, line, found);
    pv__free(ctx, block);
    return status;
}
