/* Leverage corrections of an estimate, and its bias (side.h). In the notation of side.c,
 *
 *   G_i = (I (x) x~)^T H^-1 (I (x) x~),  h_i = A_i G_i
 *
 * influence    H^-1 (I - h_i)^-1 r_i (x) x~ (HC3; without the factor, HC0). If (I - h_i)^-1 would lengthen a residual
 * more
 *              than tenfold, because a column fits that row nearly exactly, it is limited to that.
 * correction   H^-1 sum c_i {h_i r_i + 1/2 A_i''[W_i]} (x) x~, with A'' the third derivatives of the row's loss and W_i
 *              the HC0 covariance of its logits: the first-order bias of an M-estimator (Kosmidis and Lunardon 2024).
 *
 * Takes two passes over the rows for all sides together: the first sums the information and HC0's scatter, the second
 * what needs their inverses. Other sums over residuals (pv__sides.also) are computed in the second pass.
 */
#include <math.h>
#include <string.h>

#include "infer/side.h"

static const double LONGEST = 10; /* of (I - h)^-1 */

/* forms [J(J+1)/2][n]: x~^T M_jl x~ for blocks l <= j of a symmetric matrix, stored as triangles. */
static void find_forms(const pv__side *s, const pv__block *b, const double *folded) {
    for (size_t at = 0; at < pv__side_pairs(s); at++)
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

/* h [J][J] of row i, given forms of H^-1. */
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

/* sum c r r^T (x) x~ x~^T, lower triangles of its blocks; derivatives of the score [cells][P]. */
static void add_scatter(const pv__side *s, const pv__block *b, size_t begin, double *sums) {
    const pv_targets *t = &s->problem->targets;
    double *moved = sums + pv__side_pairs(s) * s->size * s->size, weight[PV__ROW_BLOCK];
    for (size_t j = 0; j < s->J; j++)
        for (size_t l = 0; l <= j; l++, sums += s->size * s->size) {
            for (size_t i = 0; i < b->n; i++)
                weight[i] = pv__side_people(s, begin + i) * b->r[i * s->J + j] * b->r[i * s->J + l];
            pv__compute_best()->gram(b->n, s->size, b->plain, weight, sums, b->spare);
        }
    for (size_t i = 0; i < b->n; i++) {
        double people = pv__side_people(s, begin + i);
        size_t first = t->stratum ? (size_t)t->stratum[begin + i] * s->k : 0;
        const double *p = b->p + i * s->k, *x = b->plain + i * s->size;
        for (size_t y = 0; people > 0 && y < s->k; y++) {
            const double *a = s->a + first;
            double share = pv__share(t, begin + i, (int)y) * pv__side_unit(s, begin + i) * a[y];
            for (size_t j = 1; j < s->k; j++) {
                double own = s->of_ratio ? b->weight[i] * p[j] * ((j == y) - p[y]) : share * ((j == y) - p[j]);
                double *to = moved + (first + y) * s->P + (j - 1) * s->size;
                for (size_t c = 0; own != 0 && c < s->size; c++)
                    to[c] += people * own * x[c];
            }
        }
    }
}

/* Replaces r [J] by (I - h)^-1 r; destroys h [J][J], kept [J] is work space. */
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

/* Adds 1/2 A''[W] of row i to v [J], given forms of HC0. */
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
    const double *inverse, *hc0; /* stored as triangles */
} correcting;

static void add_correction(const correcting *with, pv__block *b, size_t begin, double *sums) {
    const pv__side *s = with->side;
    double *h = b->small, *v = h + s->J * s->J;
    find_forms(s, b, with->inverse);
    for (size_t i = 0; i < b->n; i++) { /* h r in place of r */
        double *r = b->r + i * s->J, *kept = s->residual + (begin + i) * s->J;
        lever_of(s, b, i, h);
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
    find_forms(s, b, with->hc0);
    for (size_t i = 0; i < b->n; i++)
        add_third(s, b, i, b->r + i * s->J);
    pv__side_add_scores(s, b, begin, b->r, sums);
}

static void add_thirds(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const correcting *with = state;
    pv__block b;
    pv__block_of(with->side, slot, begin, n, &b);
    find_forms(with->side, &b, with->inverse);
    memset(b.r, 0, n * with->side->J * sizeof *b.r);
    for (size_t i = 0; i < n; i++)
        add_third(with->side, &b, i, b.r + i * with->side->J);
    pv__side_add_scores(with->side, &b, begin, b.r, sums);
}

pv_status pv__side_thirds(pv_ctx *ctx, pv__side *s, double *thirds) {
    double *folded;
    PV_TRY(pv__alloc(ctx, pv__side_pairs(s) * s->size, s->size * sizeof *folded, &folded));
    fold(s, s->inverse, folded);
    correcting with = {s, folded, NULL};
    pv_status status = pv__sum_rows(ctx, s->problem->targets.n, s->problem->shared, s->P, add_thirds, &with, thirds);
    pv__free(ctx, folded);
    return status;
}

/* to [n][P] = from [n][P] H^-1 */
static void times_inverse(const pv__side *s, size_t n, const double *from, double *to) {
    pv__compute_best()->matmul(n, s->P, s->P, from, s->P, 1, s->inverse, to, false);
}

static size_t squares_of(const pv__side *s) {
    return pv__side_pairs(s) * s->size * s->size;
}

/* Number of sums in the first pass: value, gradient and information, then the scatter and the derivatives with respect
 * to the prevalences. */
static size_t settling_width(const pv__side *s) {
    return pv__side_newton_width(s) + squares_of(s) + s->cells * s->P;
}

/* Switches a block to one side, whose probabilities are computed as for the others. */
static void turn_to(const pv__sides *all, size_t i, size_t slot, size_t begin, size_t n, pv__block *rows,
                    pv__block *b) {
    if (i == 0) {
        pv__block_of(all->side[0], slot, begin, n, rows);
        *b = *rows;
    } else {
        pv__block_beside(all->side[i], slot, begin, rows, b);
    }
}

typedef struct correcting_all {
    const pv__sides *sides;
    correcting with[PV__SIDES];
} correcting_all;

static void add_settling(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const pv__sides *all = ((const correcting_all *)state)->sides;
    pv__block rows, b;
    for (size_t i = 0; i < all->count; i++, sums += settling_width(all->side[0])) {
        turn_to(all, i, slot, begin, n, &rows, &b);
        pv__side_add_newton(all->side[i], &b, begin, sums);
        add_scatter(all->side[i], &b, begin, sums + pv__side_newton_width(all->side[i]));
    }
}

static void add_corrections(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const correcting_all *all = state;
    const pv__sides *sides = all->sides;
    pv__block rows, b;
    for (size_t i = 0; i < sides->count; i++, sums += sides->side[0]->P) {
        turn_to(sides, i, slot, begin, n, &rows, &b);
        add_correction(&all->with[i], &b, begin, sums);
    }
    if (sides->also)
        sides->also(sides->state, slot, begin, &b, sums);
}

/* Computes hc0 and the derivatives with respect to the prevalences from the sums of add_scatter. */
static pv_status take_scatter(pv_ctx *ctx, pv__side *s, const double *sums) {
    size_t P = s->P;
    double *scatter, *half;
    PV_TRY(pv__alloc(ctx, 2 * P, P * sizeof *scatter, &scatter));
    half = scatter + P * P;
    pv__side_unfold(s, sums, scatter);
    times_inverse(s, P, scatter, half);
    for (size_t i = 0; i < P; i++) /* H^-1 (M H^-1), because M H^-1 is stored transposed and M is symmetric */
        for (size_t j = 0; j < P; j++)
            scatter[i * P + j] = half[j * P + i];
    times_inverse(s, P, scatter, s->hc0);
    times_inverse(s, s->cells, sums + squares_of(s), s->prevalence);
    pv__free(ctx, scatter);
    return PV_OK;
}

/* Makes the first pass. *again: a side was not at its optimum and has been moved there, so the pass must be
 * repeated. */
static pv_status settle_once(pv_ctx *ctx, const pv__sides *sides, double *sums, bool *again) {
    pv__side *first = sides->side[0];
    size_t width = settling_width(first);
    correcting_all all = {.sides = sides};
    *again = false;
    PV_TRY(pv__sum_rows(ctx, first->problem->targets.n, first->problem->shared, sides->count * width, add_settling,
                        &all, sums));
    first->reads++;
    for (size_t i = 0; i < sides->count; i++) {
        pv__side *s = sides->side[i];
        PV_TRY(pv__side_settle(ctx, s, sums + i * width));
        if (s->converged)
            PV_TRY(take_scatter(ctx, s, sums + i * width + pv__side_newton_width(s)));
    }
    for (size_t i = 0; i < sides->count; i++) {
        pv__side *s = sides->side[i];
        if (s->converged)
            continue;
        PV_TRY(pv__side_fit(ctx, s, s->w));
        *again = s->converged;
        if (!s->converged)
            break;
    }
    return PV_OK;
}

pv_status pv__sides_settle(pv_ctx *ctx, const pv__sides *sides) {
    enum { ROUNDS = 3 }; /* after the first round all start at their optima */
    double *sums;
    bool again = true;
    PV_TRY(pv__alloc(ctx, sides->count, settling_width(sides->side[0]) * sizeof *sums, &sums));
    pv_status status = PV_OK;
    for (int round = 0; round < ROUNDS && again && status == PV_OK; round++)
        status = settle_once(ctx, sides, sums, &again);
    pv__free(ctx, sums);
    return status;
}

size_t pv__sides_width(const pv__sides *sides) {
    return sides->count * sides->side[0]->P + sides->extra;
}

pv_status pv__sides_correct(pv_ctx *ctx, const pv__sides *sides, double *also) {
    pv__side *first = sides->side[0];
    size_t P = first->P, squares = squares_of(first), width = pv__sides_width(sides), count = sides->count;
    double *sums, *folded;
    correcting_all all = {.sides = sides};
    PV_TRY(pv__alloc(ctx, width + 2 * count * squares, sizeof *sums, &sums));
    folded = sums + width;
    for (size_t i = 0; i < count; i++, folded += 2 * squares) {
        fold(sides->side[i], sides->side[i]->inverse, folded);
        fold(sides->side[i], sides->side[i]->hc0, folded + squares);
        all.with[i] = (correcting){sides->side[i], folded, folded + squares};
    }
    pv_status status = pv__sum_rows(ctx, first->problem->targets.n, sides->own && first->problem->shared, width,
                                    add_corrections, &all, sums);
    for (size_t i = 0; i < count && status == PV_OK; i++)
        times_inverse(sides->side[i], 1, sums + i * P, sides->side[i]->correction);
    if (status == PV_OK)
        memcpy(also, sums + count * P, sides->extra * sizeof *sums);
    first->reads++;
    pv__free(ctx, sums);
    return status;
}
