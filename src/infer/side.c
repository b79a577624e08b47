/* One estimate of a linear model: weighted to the population, or efficient (side.h).
 *
 * With u_i the weight of one person of row i, t its label, c people, x~ = (1, x), q the probabilities,
 *
 *   r_i = u_i sum_y t_y a_y (e_y - q),   A_i = u_i sum_y t_y a_y (diag q - q q^T),   H = sum c_i A_i (x) x~ x~^T +
 * prior G_i = (I (x) x~)^T H^-1 (I (x) x~),  h_i = A_i G_i
 *
 * influence    H^-1 (I - h_i)^-1 r_i (x) x~ (of HC3; without the factor, HC0). Where (I - h_i)^-1 would lengthen a
 *              residual more than tenfold, a row that its own column fits nearly exactly, it is cut there.
 * correction   H^-1 sum c_i {h_i r_i + 1/2 A_i''[W_i]} (x) x~, A'' the third derivatives of the row's loss, W_i the
 *              covariance of its logits by HC0: the bias of an M-estimator to first order (Kosmidis and Lunardon 2024).
 */
#include "infer/side.h"

#include <math.h>
#include <string.h>

static const double LONGEST = 10; /* of (I - h)^-1 */

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* A block of rows: q [n][k], r [n][J], the weight of one person sum_y t_y a_y [n], and x~ [n][size]. */
typedef struct rows {
    size_t n;
    double *plain, *q, *r, *weight, *T, *spare;
} rows;

static size_t room_of(const pv__side *s) {
    size_t inputs = (size_t)pv_model_inputs(s->problem->model);
    return PV__ROW_BLOCK * (2 * s->size + inputs + s->k + s->J + 1 + s->J * s->P) + s->J * (3 * s->J + 3);
}

static double unit_of(const pv__side *s, size_t row) {
    double weight = pv__weight(&s->problem->targets, row), people = s->people ? s->people[row] : 1;
    return people > 0 ? weight / people : 0;
}

static double people_of(const pv__side *s, size_t row) {
    return s->people ? s->people[row] : 1;
}

static void fill_rows(const pv__side *s, size_t slot, size_t begin, size_t n, rows *b) {
    const pv_targets *t = &s->problem->targets;
    size_t inputs = (size_t)pv_model_inputs(s->problem->model), d = s->size - 1, k = s->k;
    b->n = n;
    b->plain = s->room[slot];
    b->q = b->plain + PV__ROW_BLOCK * s->size;
    b->r = b->q + PV__ROW_BLOCK * k;
    b->weight = b->r + PV__ROW_BLOCK * s->J;
    b->T = b->weight + PV__ROW_BLOCK;
    b->spare = b->T + PV__ROW_BLOCK * s->J * s->P; /* [block][size], or a few squares of [J] */
    double *x = b->spare + PV__ROW_BLOCK * s->size + s->J * (3 * s->J + 3);
    const double *from = pv__problem_rows(s->ctx, s->problem, begin, n, x);
    for (size_t i = 0; i < n; i++) {
        double *row = b->plain + i * s->size;
        row[0] = 1;
        if (d > 0)
            memcpy(row + 1, from + i * inputs + inputs - d, d * sizeof *row);
    }
    pv_model_forward(s->problem->model, s->work[slot], s->w, n, from, b->q);
    for (size_t i = 0; i < n; i++) {
        const double *ratio = pv__ratio_of(t, s->ratio, begin + i), *a = pv__ratio_of(t, s->a, begin + i);
        double *q = b->q + i * k, weight = 0, unit = unit_of(s, begin + i);
        for (size_t y = 0; y < k; y++)
            q[y] += ratio[y];
        pv_log_softmax((int)k, q, q);
        for (size_t y = 0; y < k; y++)
            weight += pv__share(t, begin + i, (int)y) * a[y];
        for (size_t y = 1; y < k; y++)
            b->r[i * s->J + y - 1] = unit * (pv__share(t, begin + i, (int)y) * a[y] - weight * exp(q[y]));
        b->weight[i] = unit * weight;
    }
}

static void make_probabilities(const pv__side *s, rows *b) {
    for (size_t i = 0; i < b->n * s->k; i++)
        b->q[i] = exp(b->q[i]);
}

/* to [size][size], at `to` in a matrix of P columns, += sum_i weight_i x~ x~^T. */
static void add_outer(const pv__side *s, const rows *b, const double *weight, double *scratch, double *to) {
    size_t size = s->size;
    for (size_t i = 0; i < b->n; i++)
        for (size_t c = 0; c < size; c++)
            b->spare[i * size + c] = weight[i] * b->plain[i * size + c];
    pv__compute_best()->matmul(size, size, b->n, b->plain, 1, size, b->spare, scratch, false);
    for (size_t i = 0; i < size; i++)
        for (size_t c = 0; c < size; c++)
            to[i * s->P + c] += scratch[i * size + c];
}

/* to [P] += sum_i c_i v_i (x) x~, v [n][J]. */
static void add_scores(const pv__side *s, const rows *b, size_t begin, const double *v, double *to) {
    for (size_t i = 0; i < b->n; i++) {
        double people = people_of(s, begin + i);
        for (size_t j = 0; people > 0 && j < s->J; j++) {
            double own = people * v[i * s->J + j];
            for (size_t c = 0; c < s->size; c++)
                to[j * s->size + c] += own * b->plain[i * s->size + c];
        }
    }
}

/* T_i [J][P]: rows of H^-1 (I (x) x~), or of another matrix. */
static void spread_rows(const pv__side *s, const rows *b, const double *matrix) {
    for (size_t j = 0; j < s->J; j++)
        pv__compute_best()->matmul(b->n, s->P, s->size, b->plain, s->size, 1, matrix + j * s->size * s->P,
                                   b->T + j * b->n * s->P, false);
}

static double between(const pv__side *s, const rows *b, size_t i, size_t j, size_t l) {
    const double *T = b->T + (j * b->n + i) * s->P + l * s->size, *x = b->plain + i * s->size;
    double sum = 0;
    for (size_t c = 0; c < s->size; c++)
        sum += T[c] * x[c];
    return sum;
}

/* h [J][J] of row i, where T has the rows of H^-1. */
static void lever_of(const pv__side *s, const rows *b, size_t i, double *h) {
    const double *q = b->q + i * s->k + 1;
    memset(h, 0, s->J * s->J * sizeof *h);
    for (size_t l = 0; l < s->J; l++)
        for (size_t m = 0; m < s->J; m++) {
            double own = b->weight[i] * between(s, b, i, l, m);
            for (size_t j = 0; j < s->J; j++)
                h[j * s->J + m] += q[j] * ((j == l) - q[l]) * own;
        }
}

/* ---- Newton's method --------------------------------------------------------------------------------------------- */

/* Value; gradient [P]; information [P][P], its lower blocks; scratch [size][size]. */
static size_t newton_width(const pv__side *s) {
    return 1 + s->P + s->P * s->P + s->size * s->size;
}

static void add_newton(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    pv__side *s = state;
    const pv_targets *t = &s->problem->targets;
    double *gradient = sums + 1, *H = gradient + s->P, *scratch = H + s->P * s->P, weight[PV__ROW_BLOCK];
    rows b;
    fill_rows(s, slot, begin, n, &b);
    for (size_t i = 0; i < n; i++) {
        const double *a = pv__ratio_of(t, s->a, begin + i);
        double people = people_of(s, begin + i) * unit_of(s, begin + i);
        for (size_t y = 0; people > 0 && y < s->k; y++) {
            double share = pv__share(t, begin + i, (int)y);
            sums[0] -= share > 0 ? people * share * a[y] * b.q[i * s->k + y] : 0;
        }
    }
    make_probabilities(s, &b);
    add_scores(s, &b, begin, b.r, gradient);
    for (size_t j = 0; j < s->J; j++)
        for (size_t l = 0; l <= j; l++) {
            for (size_t i = 0; i < n; i++) {
                const double *q = b.q + i * s->k + 1;
                weight[i] = people_of(s, begin + i) * b.weight[i] * q[j] * ((j == l) - q[l]);
            }
            add_outer(s, &b, weight, scratch, H + j * s->size * s->P + l * s->size);
        }
}

/* The value, the gradient and information at s->w, with the prior; into sums. */
static pv_status evaluate(pv_ctx *ctx, pv__side *s, double *sums) {
    size_t P = s->P, size = s->size;
    double *gradient = sums + 1, *H = gradient + P, slope;
    PV_TRY(pv__sum_rows(ctx, s->problem->targets.n, s->problem->shared, newton_width(s), add_newton, s, sums));
    for (size_t j = 0; j < s->J; j++)
        for (size_t l = 0; l < j; l++)
            for (size_t i = 0; i < size; i++)
                for (size_t c = 0; c < size; c++)
                    H[(l * size + c) * P + j * size + i] = H[(j * size + i) * P + l * size + c];
    for (size_t i = 0; i < P; i++) {
        sums[0] += pv__prior_at(s->problem, i, s->w[i], &slope);
        gradient[i] -= slope; /* it is that of the log posterior: uphill */
        H[i * (P + 1)] += pv__prior_curvature(s->problem, i, s->w[i]);
    }
    memcpy(s->information, H, P * P * sizeof *H);
    return PV_OK;
}

/* The inverse of the information there; false: it has none. */
static bool invert(pv__side *s, double *factor) {
    memcpy(factor, s->information, s->P * s->P * sizeof *factor);
    if (!pv__cholesky(s->P, factor, 0))
        return false;
    for (size_t i = 0; i < s->P; i++) /* a direction that its own columns leave nothing of */
        if (!(factor[i * (s->P + 1)] * factor[i * (s->P + 1)] > 1e-13 * s->information[i * (s->P + 1)]))
            return false;
    pv__factor_invert(s->P, factor, s->inverse);
    return true;
}

/* step [P] = H^-1 g; returns the squared distance to the optimum, in standard errors. */
static double direction(const pv__side *s, const double *gradient, double *step) {
    double square = 0;
    for (size_t i = 0; i < s->P; i++) {
        step[i] = 0;
        for (size_t j = 0; j < s->P; j++)
            step[i] += s->inverse[i * s->P + j] * gradient[j];
        square += step[i] * gradient[i];
    }
    return square;
}

pv_status pv__side_fit(pv_ctx *ctx, pv__side *s, const double *w) {
    enum { STEPS = 200, HALVINGS = 30 };
    size_t P = s->P, width = newton_width(s);
    double *sums, *step, *from, *factor;
    PV_TRY(pv__alloc(ctx, width + 2 * P + P * P, sizeof *sums, &sums));
    step = sums + width;
    from = step + P;
    factor = from + P;
    s->converged = false;
    memcpy(s->w, w, P * sizeof *w);
    pv_status status = evaluate(ctx, s, sums);
    for (int i = 0; i < STEPS && status == PV_OK && invert(s, factor); i++) {
        double value = sums[0], distance = direction(s, sums + 1, step), share = 1;
        if (distance < 1e-22) {
            s->converged = true;
            break;
        }
        memcpy(from, s->w, P * sizeof *from);
        for (int h = 0; h < HALVINGS; h++, share *= 0.5) {
            for (size_t c = 0; c < P; c++)
                s->w[c] = from[c] + share * step[c];
            PV_GOTO(done, evaluate(ctx, s, sums));
            if (sums[0] <= value + 1e-12 * fabs(value))
                break;
        }
        if (distance < 1e-14) /* what is left after such a step is rounding */
            s->converged = invert(s, factor);
        if (s->converged)
            break;
    }
done:
    pv__free(ctx, sums);
    return status;
}

/* ---- what corrections are made of -------------------------------------------------------------------------------- */

/* sum c r r^T (x) x~ x~^T [P][P]; scratch [size][size]; derivatives of the score [cells][P]. */
static void add_scatter(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    pv__side *s = state;
    const pv_targets *t = &s->problem->targets;
    double *scratch = sums + s->P * s->P, *moved = scratch + s->size * s->size, weight[PV__ROW_BLOCK];
    rows b;
    fill_rows(s, slot, begin, n, &b);
    make_probabilities(s, &b);
    for (size_t j = 0; j < s->J; j++)
        for (size_t l = 0; l <= j; l++) {
            for (size_t i = 0; i < b.n; i++)
                weight[i] = people_of(s, begin + i) * b.r[i * s->J + j] * b.r[i * s->J + l];
            add_outer(s, &b, weight, scratch, sums + j * s->size * s->P + l * s->size);
        }
    for (size_t i = 0; i < n; i++) {
        double people = people_of(s, begin + i);
        size_t first = t->stratum ? (size_t)t->stratum[begin + i] * s->k : 0;
        const double *q = b.q + i * s->k, *x = b.plain + i * s->size;
        for (size_t y = 0; people > 0 && y < s->k; y++) {
            const double *a = s->a + first;
            double share = pv__share(t, begin + i, (int)y) * unit_of(s, begin + i) * a[y];
            for (size_t j = 1; j < s->k; j++) {
                double own = s->of_ratio ? b.weight[i] * q[j] * ((j == y) - q[y]) : share * ((j == y) - q[j]);
                double *to = moved + (first + y) * s->P + (j - 1) * s->size;
                for (size_t c = 0; own != 0 && c < s->size; c++)
                    to[c] += people * own * x[c];
            }
        }
    }
}

/* 1/2 A''[W] of row i, where T has the rows of HC0, is added to v [J]. */
static void add_third(const pv__side *s, const rows *b, size_t i, double *v) {
    const double *q = b->q + i * s->k + 1;
    size_t J = s->J;
    for (size_t j = 0; j < J; j++)
        for (size_t l = 0; l < J; l++) {
            double half = 0.5 * b->weight[i] * between(s, b, i, j, l);
            for (size_t m = 0; m < J; m++)
                v[m] +=
                    half * q[m] * ((m == j) * ((m == l) - q[l]) - (m == l) * q[j] - (j == l) * q[j] + 2 * q[j] * q[l]);
        }
}

static void add_correction(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    pv__side *s = state;
    rows b;
    fill_rows(s, slot, begin, n, &b);
    make_probabilities(s, &b);
    double *h = b.spare, *v = h + s->J * s->J; /* h r, in the place of r */
    spread_rows(s, &b, s->inverse);
    for (size_t i = 0; i < n; i++) {
        double *r = b.r + i * s->J;
        lever_of(s, &b, i, h);
        for (size_t j = 0; j < s->J; j++) {
            v[j] = 0;
            for (size_t l = 0; l < s->J; l++)
                v[j] += h[j * s->J + l] * r[l];
        }
        memcpy(r, v, s->J * sizeof *r);
    }
    spread_rows(s, &b, s->hc0);
    for (size_t i = 0; i < n; i++)
        add_third(s, &b, i, b.r + i * s->J);
    add_scores(s, &b, begin, b.r, sums);
}

/* to [n][P] = from [n][P] H^-1 */
static void times_inverse(const pv__side *s, size_t n, const double *from, double *to) {
    pv__compute_best()->matmul(n, s->P, s->P, from, s->P, 1, s->inverse, to, false);
}

pv_status pv__side_correct(pv_ctx *ctx, pv__side *s) {
    size_t P = s->P, size = s->size, width = P * P + size * size + s->cells * P, n = s->problem->targets.n;
    double *sums, *half;
    PV_TRY(pv__alloc(ctx, width + P * P, sizeof *sums, &sums));
    half = sums + width;
    pv_status status;
    PV_GOTO(done, pv__sum_rows(ctx, n, s->problem->shared, width, add_scatter, s, sums));
    for (size_t j = 0; j < s->J; j++)
        for (size_t l = 0; l < j; l++)
            for (size_t i = 0; i < size; i++)
                for (size_t c = 0; c < size; c++)
                    sums[(l * size + c) * P + j * size + i] = sums[(j * size + i) * P + l * size + c];
    times_inverse(s, P, sums, half);
    for (size_t i = 0; i < P; i++) /* H^-1 (M H^-1), as M H^-1 stands transposed where it is symmetric */
        for (size_t j = 0; j < P; j++)
            sums[i * P + j] = half[j * P + i];
    times_inverse(s, P, sums, s->hc0);
    times_inverse(s, s->cells, sums + P * P + size * size, s->prevalence);
    PV_GOTO(done, pv__sum_rows(ctx, n, s->problem->shared, P, add_correction, s, sums));
    times_inverse(s, 1, sums, s->correction);
done:
    pv__free(ctx, sums);
    return status;
}

/* r [J] becomes (I - h)^-1 r; h [J][J] is destroyed, kept [J] room. */
static void inflate(const pv__side *s, double *h, double *kept, double *r) {
    double before = 0, after = 0;
    for (size_t j = 0; j < s->J; j++) {
        kept[j] = r[j];
        before += fabs(r[j]);
        for (size_t l = 0; l < s->J; l++)
            h[j * s->J + l] = (j == l) - h[j * s->J + l];
    }
    bool solved = pv__solve_small((int)s->J, h, r);
    for (size_t j = 0; j < s->J; j++)
        after += fabs(r[j]);
    for (size_t j = 0; j < s->J && !(solved && after <= LONGEST * before); j++)
        r[j] = LONGEST * kept[j];
}

void pv__side_influence(pv__side *s, size_t slot, size_t begin, size_t n, double *values) {
    rows b;
    fill_rows(s, slot, begin, n, &b);
    make_probabilities(s, &b);
    spread_rows(s, &b, s->inverse);
    double *h = b.spare, *kept = h + s->J * s->J;
    memset(values, 0, n * s->P * sizeof *values);
    for (size_t i = 0; i < n; i++) {
        double *r = b.r + i * s->J, *to = values + i * s->P;
        if (s->inflate) {
            lever_of(s, &b, i, h);
            inflate(s, h, kept, r);
        }
        for (size_t j = 0; j < s->J; j++)
            for (size_t c = 0; c < s->P; c++)
                to[c] += r[j] * b.T[(j * n + i) * s->P + c];
    }
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

pv_status pv__side_new(pv_ctx *ctx, const pv__problem *problem, const double *people, pv__side *s) {
    size_t k = (size_t)problem->targets.classes, P = pv_model_params(problem->model), sets = pv__ratio_sets(problem);
    *s = (pv__side){.ctx = ctx, .problem = problem, .k = k, .J = k - 1, .size = P / (k - 1), .P = P, .people = people};
    s->cells = sets * k;
    s->inflate = true;
    PV_TRY(pv__alloc(ctx, 2 * s->cells + 2 * P + 3 * P * P + s->cells * P, sizeof(double), &s->block));
    s->a = s->block;
    s->ratio = s->a + s->cells;
    s->w = s->ratio + s->cells;
    s->correction = s->w + P;
    s->information = s->correction + P;
    s->inverse = s->information + P * P;
    s->hc0 = s->inverse + P * P;
    s->prevalence = s->hc0 + P * P;
    PV_TRY(pv__alloc(ctx, PV__ROW_SLOTS * room_of(s), sizeof(double), &s->room[0]));
    for (size_t slot = 0; slot < PV__ROW_SLOTS; slot++) {
        s->room[slot] = s->room[0] + slot * room_of(s);
        PV_TRY(pv_model_work_new(ctx, problem->model, PV__ROW_BLOCK, &s->work[slot]));
    }
    return PV_OK;
}

void pv__side_free(pv_ctx *ctx, pv__side *s) {
    pv__free(ctx, s->block);
    pv__free(ctx, s->room[0]);
    for (size_t slot = 0; slot < PV__ROW_SLOTS; slot++)
        pv_model_work_free(ctx, s->work[slot]);
}
