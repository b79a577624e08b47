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

#include "core/vector.h"

static const double LONGEST = 10; /* of (I - h)^-1 */

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static size_t pairs_of(const pv__side *s) {
    return s->J * (s->J + 1) / 2;
}

static size_t room_of(const pv__side *s) {
    size_t inputs = (size_t)pv_model_inputs(s->problem->model);
    return PV__ROW_BLOCK * (2 * s->size + inputs + 2 * s->k + s->J + 2 + pairs_of(s)) + s->J * (2 * s->J + 1);
}

static double unit_of(const pv__side *s, size_t row) {
    double weight = pv__weight(&s->problem->targets, row), people = s->people ? s->people[row] : 1;
    return people > 0 ? weight / people : 0;
}

/* Without x~. */
static void take_rows(const pv__side *s, size_t slot, size_t begin, size_t n, pv__block *b) {
    b->n = n;
    b->plain = s->room[slot];
    b->spare = b->plain + PV__ROW_BLOCK * s->size;
    b->q = b->spare + PV__ROW_BLOCK * s->size;
    b->p = b->q + PV__ROW_BLOCK * s->k;
    b->r = b->p + PV__ROW_BLOCK * s->k;
    b->weight = b->r + PV__ROW_BLOCK * s->J;
    b->forms = b->weight + 2 * PV__ROW_BLOCK;
    b->small = b->forms + PV__ROW_BLOCK * pairs_of(s);
    b->from = pv__problem_rows(s->ctx, s->problem, begin, n, b->small + s->J * (2 * s->J + 1));
}

static void widen(const pv__side *s, pv__block *b) {
    size_t inputs = (size_t)pv_model_inputs(s->problem->model), d = s->size - 1;
    for (size_t i = 0; i < b->n; i++) {
        double *row = b->plain + i * s->size;
        row[0] = 1;
        if (d > 0)
            memcpy(row + 1, b->from + i * inputs + inputs - d, d * sizeof *row);
    }
}

const double *pv__side_rows(const pv__side *s, size_t slot, size_t begin, size_t n) {
    pv__block b;
    take_rows(s, slot, begin, n, &b);
    widen(s, &b);
    return b.plain;
}

/* q, p, r and weight. */
static void fill_rows(const pv__side *s, size_t slot, size_t begin, pv__block *b) {
    const pv_targets *t = &s->problem->targets;
    size_t k = s->k;
    double *sum = b->weight + PV__ROW_BLOCK;
    pv_model_forward(s->problem->model, s->work[slot], s->w, b->n, b->from, b->q);
    for (size_t i = 0; i < b->n; i++) {
        const double *ratio = pv__ratio_of(t, s->ratio, begin + i);
        double *q = b->q + i * k, most = -HUGE_VAL;
        for (size_t y = 0; y < k; y++) {
            q[y] += ratio[y];
            most = q[y] > most ? q[y] : most;
        }
        for (size_t y = 0; y < k; y++)
            b->p[i * k + y] = q[y] -= most;
    }
    pv__core_kernels_get()->exp_all(b->n * k, b->p);
    for (size_t i = 0; i < b->n; i++) {
        double *p = b->p + i * k, inverse;
        sum[i] = 0;
        for (size_t y = 0; y < k; y++)
            sum[i] += p[y];
        inverse = 1 / sum[i];
        for (size_t y = 0; y < k; y++)
            p[y] *= inverse;
    }
    pv__core_kernels_get()->log_all(b->n, sum);
    for (size_t i = 0; i < b->n; i++) {
        const double *a = pv__ratio_of(t, s->a, begin + i);
        double weight = 0, unit = unit_of(s, begin + i);
        for (size_t y = 0; y < k; y++) {
            b->q[i * k + y] -= sum[i];
            weight += pv__share(t, begin + i, (int)y) * a[y];
        }
        for (size_t y = 1; y < k; y++)
            b->r[i * s->J + y - 1] = unit * (pv__share(t, begin + i, (int)y) * a[y] - weight * b->p[i * k + y]);
        b->weight[i] = unit * weight;
    }
}

void pv__block_of(const pv__side *s, size_t slot, size_t begin, size_t n, pv__block *b) {
    take_rows(s, slot, begin, n, b);
    widen(s, b);
    fill_rows(s, slot, begin, b);
}

/* to [P] += sum_i c_i v_i (x) x~, v [n][J], without x~ at hand. */
static void add_scores(const pv__side *s, const pv__block *b, size_t begin, const double *v, double *to) {
    size_t inputs = (size_t)pv_model_inputs(s->problem->model), d = s->size - 1;
    double own[PV__ROW_BLOCK], *sum = b->spare; /* [inputs] at most size - 1 and an offset */
    for (size_t j = 0; j < s->J; j++) {
        for (size_t i = 0; i < b->n; i++) {
            double people = pv__side_people(s, begin + i);
            own[i] = people > 0 ? people * v[i * s->J + j] : 0;
        }
        memset(sum, 0, inputs * sizeof *sum);
        to[j * s->size] += pv__compute_best()->rows_add(b->n, inputs, b->from, own, sum);
        for (size_t c = 0; c < d; c++)
            to[j * s->size + 1 + c] += sum[inputs - d + c];
    }
}

/* forms [J(J+1)/2][n]: x~^T M_jl x~ of blocks l <= j of a symmetric matrix, folded into triangles. */
static void find_forms(const pv__side *s, const pv__block *b, const double *folded) {
    for (size_t at = 0; at < pairs_of(s); at++)
        pv__compute_best()->forms(b->n, s->size, b->plain, folded + at * s->size * s->size,
                                  b->forms + at * PV__ROW_BLOCK, b->spare);
}

static double form_of(const pv__block *b, size_t i, size_t j, size_t l) {
    size_t at = j >= l ? j * (j + 1) / 2 + l : l * (l + 1) / 2 + j;
    return b->forms[at * PV__ROW_BLOCK + i];
}

static void fold(const pv__side *s, const double *matrix, double *folded) {
    for (size_t j = 0; j < s->J; j++)
        for (size_t l = 0; l <= j; l++, folded += s->size * s->size)
            for (size_t i = 0; i < s->size; i++)
                for (size_t c = 0; c <= i; c++) {
                    double one = matrix[(j * s->size + i) * s->P + l * s->size + c];
                    double other = matrix[(j * s->size + c) * s->P + l * s->size + i];
                    folded[i * s->size + c] = i == c ? one : one + other;
                }
}

/* h [J][J] of row i, where forms are of H^-1. */
static void lever_of(const pv__side *s, const pv__block *b, size_t i, double *h) {
    const double *p = b->p + i * s->k + 1;
    memset(h, 0, s->J * s->J * sizeof *h);
    for (size_t l = 0; l < s->J; l++)
        for (size_t m = 0; m < s->J; m++) {
            double own = b->weight[i] * form_of(b, i, l, m);
            for (size_t j = 0; j < s->J; j++)
                h[j * s->J + m] += p[j] * ((j == l) - p[l]) * own;
        }
}

/* ---- Newton's method --------------------------------------------------------------------------------------------- */

/* Value and gradient [P]; then the lower triangles of the blocks of the information [pairs][size][size]. */
static size_t newton_width(const pv__side *s, bool curved) {
    return 1 + s->P + (curved ? pairs_of(s) * s->size * s->size : 0);
}

static void add_slope(const pv__side *s, const pv__block *b, size_t begin, double *sums) {
    const pv_targets *t = &s->problem->targets;
    for (size_t i = 0; i < b->n; i++) {
        const double *a = pv__ratio_of(t, s->a, begin + i);
        double people = pv__side_people(s, begin + i) * unit_of(s, begin + i);
        for (size_t y = 0; people > 0 && y < s->k; y++) {
            double share = pv__share(t, begin + i, (int)y);
            sums[0] -= share > 0 ? people * share * a[y] * b->q[i * s->k + y] : 0;
        }
    }
    add_scores(s, b, begin, b->r, sums + 1);
}

static void add_gradient(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const pv__side *s = state;
    pv__block b;
    take_rows(s, slot, begin, n, &b);
    fill_rows(s, slot, begin, &b);
    add_slope(s, &b, begin, sums);
}

static void add_newton(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const pv__side *s = state;
    double *H = sums + 1 + s->P, weight[PV__ROW_BLOCK];
    pv__block b;
    pv__block_of(s, slot, begin, n, &b);
    add_slope(s, &b, begin, sums);
    for (size_t j = 0; j < s->J; j++)
        for (size_t l = 0; l <= j; l++, H += s->size * s->size) {
            for (size_t i = 0; i < n; i++) {
                const double *p = b.p + i * s->k + 1;
                weight[i] = pv__side_people(s, begin + i) * b.weight[i] * p[j] * ((j == l) - p[l]);
            }
            pv__compute_best()->gram(n, s->size, b.plain, weight, H, b.spare);
        }
}

/* A symmetric matrix [P][P] of the lower triangles of its blocks, each of them symmetric. */
static void unfold(const pv__side *s, const double *block, double *matrix) {
    for (size_t j = 0; j < s->J; j++)
        for (size_t l = 0; l <= j; l++, block += s->size * s->size)
            for (size_t i = 0; i < s->size; i++)
                for (size_t c = 0; c < s->size; c++) {
                    double own = block[i >= c ? i * s->size + c : c * s->size + i];
                    matrix[(j * s->size + i) * s->P + l * s->size + c] = own;
                    matrix[(l * s->size + c) * s->P + j * s->size + i] = own;
                }
}

/* The value, the gradient and, where it is wanted, the information at s->w, with the prior; into sums. */
static pv_status evaluate(pv_ctx *ctx, pv__side *s, bool curved, double *sums) {
    double slope;
    PV_TRY(pv__sum_rows(ctx, s->problem->targets.n, s->problem->shared, newton_width(s, curved),
                        curved ? add_newton : add_gradient, s, sums));
    if (curved)
        unfold(s, sums + 1 + s->P, s->information);
    for (size_t i = 0; i < s->P; i++) {
        sums[0] += pv__prior_at(s->problem, i, s->w[i], &slope);
        sums[1 + i] -= slope; /* it is that of the log posterior: uphill */
        if (curved)
            s->information[i * (s->P + 1)] += pv__prior_curvature(s->problem, i, s->w[i]);
    }
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

/* What rounding makes of the value: log probabilities near 0 keep no more than this of rows that weigh so much. */
static double rounding(const pv__side *s) {
    double heaviest = 0, all = 0;
    for (size_t c = 0; c < pv__ratio_sets(s->problem) * s->k; c++)
        heaviest = fmax(heaviest, s->a[c]);
    for (size_t y = 0; y < s->k; y++)
        all += s->problem->mass[y];
    return 4e-16 * heaviest * all;
}

/* A step from s->w along `step` [P], halved until the value does not increase; sums become those there. */
static pv_status move(pv_ctx *ctx, pv__side *s, const double *step, double *from, double *sums, double *share) {
    enum { HALVINGS = 30 };
    double value = sums[0], noise = 1e-12 * fabs(value) + rounding(s);
    memcpy(from, s->w, s->P * sizeof *from);
    *share = 1;
    for (int h = 0; h < HALVINGS; h++, *share *= 0.5) {
        for (size_t c = 0; c < s->P; c++)
            s->w[c] = from[c] + *share * step[c];
        PV_TRY(evaluate(ctx, s, false, sums));
        if (sums[0] <= value + noise)
            break;
    }
    return PV_OK;
}

/* The information is kept while steps by it bring the gradient down a hundredfold, in squared standard errors: passes
 * for the gradient alone take a fraction of the time. */
pv_status pv__side_fit(pv_ctx *ctx, pv__side *s, const double *w) {
    enum { STEPS = 400 };
    size_t P = s->P, width = newton_width(s, true);
    double *sums, *step, *from, *factor, last = HUGE_VAL, share = 1;
    PV_TRY(pv__alloc(ctx, width + 2 * P + P * P, sizeof *sums, &sums));
    step = sums + width;
    from = step + P;
    factor = from + P;
    s->converged = false;
    memcpy(s->w, w, P * sizeof *w);
    pv_status status;
    PV_GOTO(done, evaluate(ctx, s, true, sums));
    for (int i = 0; i < STEPS && invert(s, factor); i++) {
        double distance = direction(s, sums + 1, step);
        while (distance >= 1e-22 && share == 1 && (distance < 0.01 * last || last == HUGE_VAL) && i < STEPS) {
            last = distance;
            PV_GOTO(done, move(ctx, s, step, from, sums, &share));
            distance = direction(s, sums + 1, step);
            i++;
        }
        /* what is left after a step that small is rounding */
        s->converged = distance < 1e-22 || (last < 1e-14 && distance < 1e-14);
        if (s->converged)
            break;
        PV_GOTO(done, evaluate(ctx, s, true, sums));
        last = HUGE_VAL;
        share = 1;
    }
    if (s->converged) {
        PV_GOTO(done, evaluate(ctx, s, true, sums));
        s->value = sums[0];
        s->converged = invert(s, factor);
    }
done:
    pv__free(ctx, sums);
    return status;
}

/* ---- what corrections are made of -------------------------------------------------------------------------------- */

/* sum c r r^T (x) x~ x~^T, lower triangles of its blocks; derivatives of the score [cells][P]. */
static void add_scatter(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const pv__side *s = state;
    const pv_targets *t = &s->problem->targets;
    double *moved = sums + pairs_of(s) * s->size * s->size, weight[PV__ROW_BLOCK];
    pv__block b;
    pv__block_of(s, slot, begin, n, &b);
    for (size_t j = 0; j < s->J; j++)
        for (size_t l = 0; l <= j; l++, sums += s->size * s->size) {
            for (size_t i = 0; i < b.n; i++)
                weight[i] = pv__side_people(s, begin + i) * b.r[i * s->J + j] * b.r[i * s->J + l];
            pv__compute_best()->gram(n, s->size, b.plain, weight, sums, b.spare);
        }
    for (size_t i = 0; i < n; i++) {
        double people = pv__side_people(s, begin + i);
        size_t first = t->stratum ? (size_t)t->stratum[begin + i] * s->k : 0;
        const double *p = b.p + i * s->k, *x = b.plain + i * s->size;
        for (size_t y = 0; people > 0 && y < s->k; y++) {
            const double *a = s->a + first;
            double share = pv__share(t, begin + i, (int)y) * unit_of(s, begin + i) * a[y];
            for (size_t j = 1; j < s->k; j++) {
                double own = s->of_ratio ? b.weight[i] * p[j] * ((j == y) - p[y]) : share * ((j == y) - p[j]);
                double *to = moved + (first + y) * s->P + (j - 1) * s->size;
                for (size_t c = 0; own != 0 && c < s->size; c++)
                    to[c] += people * own * x[c];
            }
        }
    }
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

/* 1/2 A''[W] of row i, where forms are of HC0, is added to v [J]. */
static void add_third(const pv__side *s, const pv__block *b, size_t i, double *v) {
    const double *q = b->p + i * s->k + 1;
    size_t J = s->J;
    for (size_t j = 0; j < J; j++)
        for (size_t l = 0; l < J; l++) {
            double half = 0.5 * b->weight[i] * form_of(b, i, j, l);
            for (size_t m = 0; m < J; m++)
                v[m] +=
                    half * q[m] * ((m == j) * ((m == l) - q[l]) - (m == l) * q[j] - (j == l) * q[j] + 2 * q[j] * q[l]);
        }
}

typedef struct correcting {
    pv__side *side;
    const double *inverse, *hc0; /* folded */
} correcting;

static void add_correction(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const correcting *with = state;
    const pv__side *s = with->side;
    pv__block b;
    pv__block_of(s, slot, begin, n, &b);
    double *h = b.small, *v = h + s->J * s->J;
    find_forms(s, &b, with->inverse);
    for (size_t i = 0; i < n; i++) { /* h r, in the place of r */
        double *r = b.r + i * s->J, *kept = s->residual + (begin + i) * s->J;
        lever_of(s, &b, i, h);
        for (size_t j = 0; j < s->J; j++) {
            kept[j] = r[j];
            v[j] = 0;
            for (size_t l = 0; l < s->J; l++)
                v[j] += h[j * s->J + l] * r[l];
        }
        memcpy(r, v, s->J * sizeof *r);
        if (s->inflate)
            inflate(s, h, v, kept);
    }
    find_forms(s, &b, with->hc0);
    for (size_t i = 0; i < n; i++)
        add_third(s, &b, i, b.r + i * s->J);
    add_scores(s, &b, begin, b.r, sums);
}

/* to [n][P] = from [n][P] H^-1 */
static void times_inverse(const pv__side *s, size_t n, const double *from, double *to) {
    pv__compute_best()->matmul(n, s->P, s->P, from, s->P, 1, s->inverse, to, false);
}

pv_status pv__side_correct(pv_ctx *ctx, pv__side *s) {
    size_t P = s->P, squares = pairs_of(s) * s->size * s->size, width = squares + s->cells * P;
    size_t n = s->problem->targets.n;
    double *sums, *scatter, *half, *folded;
    PV_TRY(pv__alloc(ctx, width + 2 * P * P + 2 * squares, sizeof *sums, &sums));
    scatter = sums + width;
    half = scatter + P * P;
    folded = half + P * P;
    correcting with = {s, folded, folded + squares};
    pv_status status;
    PV_GOTO(done, pv__sum_rows(ctx, n, s->problem->shared, width, add_scatter, s, sums));
    unfold(s, sums, scatter);
    times_inverse(s, P, scatter, half);
    for (size_t i = 0; i < P; i++) /* H^-1 (M H^-1), as M H^-1 stands transposed where it is symmetric */
        for (size_t j = 0; j < P; j++)
            scatter[i * P + j] = half[j * P + i];
    times_inverse(s, P, scatter, s->hc0);
    times_inverse(s, s->cells, sums + squares, s->prevalence);
    fold(s, s->inverse, folded);
    fold(s, s->hc0, folded + squares);
    /* every rank: each needs the residuals of all rows */
    PV_GOTO(done, pv__sum_rows(ctx, n, false, P, add_correction, &with, sums));
    times_inverse(s, 1, sums, s->correction);
done:
    pv__free(ctx, sums);
    return status;
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
    PV_TRY(pv__alloc(ctx, problem->targets.n, s->J * sizeof(double), &s->residual));
    PV_TRY(pv__alloc(ctx, PV__ROW_SLOTS * room_of(s), sizeof(double), &s->room[0]));
    for (size_t slot = 0; slot < PV__ROW_SLOTS; slot++) {
        s->room[slot] = s->room[0] + slot * room_of(s);
        PV_TRY(pv_model_work_new(ctx, problem->model, PV__ROW_BLOCK, &s->work[slot]));
    }
    return PV_OK;
}

void pv__side_free(pv_ctx *ctx, pv__side *s) {
    pv__free(ctx, s->block);
    pv__free(ctx, s->residual);
    pv__free(ctx, s->room[0]);
    for (size_t slot = 0; slot < PV__ROW_SLOTS; slot++)
        pv_model_work_free(ctx, s->work[slot]);
}
