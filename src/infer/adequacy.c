/* Checks on what a linear model leaves out: the tails of its columns, and the strata by which rows were sampled.
 *
 * The score test of strata: with U = sum of the efficient residuals of each stratum but the first, A = -dU/dw and H the
 * information,
 *
 *   U^T V^-1 U,   V = sum psi psi^T about the means of the cells,   psi_i = r_i (e_s - A H^-1 x~_i) ,
 *
 * is chi-square if the log odds have no intercept for the stratum. The prevalence of each stratum is given, so a model
 * without strata that matter misses these by many standard errors. If prevalences were counted, their variance is added
 * to V through the derivatives of psi.
 */
#include "infer/adequacy.h"

#include <math.h>
#include <string.h>

#include "infer/combined.h"

/* ---- tails ------------------------------------------------------------------------------------------------------- */

enum { MOMENTS = 4 };

size_t pv__tails_width(const pv__side *s) {
    return 1 + (s->size - 1) * MOMENTS;
}

/* Adds the weight and, for each column, the sums of its first four powers. */
void pv__tails_add(const pv__side *s, size_t begin, const pv__block *b, double *sums) {
    size_t slopes = s->size - 1;
    for (size_t i = 0; i < b->n; i++) {
        double weight = pv__side_people(s, begin + i) * b->weight[i];
        sums[0] += weight;
        for (size_t c = 0; weight > 0 && c < slopes; c++) {
            double x = b->plain[i * s->size + 1 + c], power = weight;
            for (size_t m = 0; m < MOMENTS; m++)
                sums[1 + c * MOMENTS + m] += power *= x;
        }
    }
}

void pv__tails_take(const pv__side *s, const double *sums, double *tail) {
    for (size_t c = 0; c + 1 < s->size; c++) {
        double m[MOMENTS + 1] = {1};
        for (size_t j = 0; j < MOMENTS; j++)
            m[1 + j] = sums[1 + c * MOMENTS + j] / sums[0];
        double variance = m[2] - m[1] * m[1];
        double third = m[3] - 3 * m[1] * m[2] + 2 * pow(m[1], 3);
        double fourth = m[4] - 4 * m[1] * m[3] + 6 * m[1] * m[1] * m[2] - 3 * pow(m[1], 4);
        double kurtosis = variance > 1e-12 * m[2] ? fourth / (variance * variance) : 0;
        /* Pearson's inequality, kurtosis >= skewness^2 + 1, is an equality only for two values. */
        bool two_values = kurtosis - third * third / pow(variance, 3) - 1 < 1e-6 * kurtosis;
        tail[c] = two_values ? -kurtosis : kurtosis;
    }
}

/* ---- strata ------------------------------------------------------------------------------------------------------ */

enum { STRATA_MOST = 64 };

typedef struct score {
    pv__side *side;
    size_t D;          /* strata without the first, times logits */
    const double *map; /* [D][P], A H^-1 */
} score;

static size_t stratum_of(const score *t, size_t row) {
    return (size_t)t->side->problem->targets.stratum[row];
}

/* Adds U [D]; A [D][P]; the squares of U's terms [D]; derivatives with respect to log pi of each cell [cells][J]. */
static void add_score(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const score *t = state;
    const pv__side *s = t->side;
    size_t J = s->J;
    double *A = sums + t->D, *square = A + t->D * s->P, *moved = square + t->D;
    pv__block b;
    pv__block_of(s, slot, begin, n, &b);
    for (size_t i = 0; i < n; i++) {
        size_t stratum = stratum_of(t, begin + i);
        double people = pv__side_people(s, begin + i);
        const double *p = b.p + i * s->k, *r = b.r + i * J;
        for (size_t j = 0; people > 0 && stratum > 0 && j < J; j++) {
            size_t d = (stratum - 1) * J + j;
            double curvature = people * b.weight[i] * p[1 + j];
            sums[d] += people * r[j];
            square[d] += people * r[j] * r[j];
            for (size_t l = 0; l < J; l++)
                for (size_t c = 0; c < s->size; c++)
                    A[d * s->P + l * s->size + c] += curvature * ((j == l) - p[1 + l]) * b.plain[i * s->size + c];
            for (size_t y = 0; y < s->k; y++)
                moved[(stratum * s->k + y) * J + j] += curvature * ((1 + j == y) - p[y]);
        }
    }
}

/* Adds sum psi psi^T [D][D]; people and psi of each cell [cells][1 + D]. */
static void add_variance(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    enum { MOST = STRATA_MOST * 16 };
    const score *t = state;
    const pv__side *s = t->side;
    double psi[MOST];
    pv__block b;
    pv__block_of(s, slot, begin, n, &b);
    for (size_t i = 0; i < n; i++) {
        size_t stratum = stratum_of(t, begin + i), cell = stratum * s->k;
        double people = pv__side_people(s, begin + i), *of;
        if (!(people > 0))
            continue;
        for (size_t y = 1; y < s->k; y++)
            cell += pv__share(&s->problem->targets, begin + i, (int)y) > 0.5 ? y : 0;
        of = sums + t->D * t->D + cell * (1 + t->D);
        for (size_t d = 0; d < t->D; d++) {
            psi[d] = 0;
            for (size_t j = 0; j < s->J; j++)
                for (size_t c = 0; c < s->size; c++)
                    psi[d] -= t->map[d * s->P + j * s->size + c] * b.r[i * s->J + j] * b.plain[i * s->size + c];
        }
        for (size_t j = 0; stratum > 0 && j < s->J; j++)
            psi[(stratum - 1) * s->J + j] += b.r[i * s->J + j];
        of[0] += people;
        for (size_t d = 0; d < t->D; d++)
            of[1 + d] += people * psi[d];
        for (size_t d = 0; d < t->D; d++)
            for (size_t e = 0; e < t->D; e++)
                sums[d * t->D + e] += people * psi[d] * psi[e];
    }
}

/* V += sum over cells of chance times the squared derivatives of psi. */
static void add_chances(const score *t, const double *chance, bool tied, const double *A, double *moved, double *V) {
    const pv__side *s = t->side;
    size_t J = s->J, k = s->k;
    const double *prevalence = pv__strata_of(s->problem)->prevalence;
    for (size_t first = 0; tied && first < s->cells; first += k)
        for (size_t j = 0; j < J; j++) {
            double sum = 0;
            for (size_t y = 0; y < k; y++)
                sum += moved[(first + y) * J + j];
            for (size_t y = 0; y < k; y++)
                moved[(first + y) * J + j] -= prevalence[first + y] * sum;
        }
    for (size_t cell = 0, stratum = 0, y = 0; cell < s->cells; cell++) {
        double D[STRATA_MOST * 16] = {0};
        size_t own = stratum;
        stratum += ++y == k;
        y = y == k ? 0 : y;
        if (!(chance[cell] > 0))
            continue;
        for (size_t d = 0; d < t->D; d++) {
            for (size_t p = 0; p < s->P; p++)
                D[d] -= A[d * s->P + p] * s->prevalence[cell * s->P + p];
        }
        for (size_t j = 0; own > 0 && j < J; j++)
            D[(own - 1) * J + j] += moved[cell * J + j];
        for (size_t d = 0; d < t->D; d++)
            for (size_t e = 0; e < t->D; e++)
                V[d * t->D + e] += chance[cell] * D[d] * D[e];
    }
}

static void centre(const score *t, double *V) {
    const double *of = V + t->D * t->D;
    for (size_t cell = 0; cell < t->side->cells; cell++, of += 1 + t->D)
        for (size_t d = 0; d < t->D && of[0] > 1; d++)
            for (size_t e = 0; e < t->D; e++)
                V[d * t->D + e] -= of[1 + d] * of[1 + e] / of[0];
}

pv_status pv__test_strata(pv_ctx *ctx, pv__side *s, const pv__units *units, const double *chance, bool tied,
                          double *test) {
    const pv_targets *targets = &s->problem->targets;
    size_t strata = s->cells / s->k;
    score t = {.side = s, .D = (strata - 1) * s->J};
    size_t D = t.D, first = D + D * s->P + D + s->cells * s->J, second = D * D + s->cells * (1 + D);
    double *room = NULL, *U, *A, *square, *moved, *V, *map;
    int64_t rank;
    memset(test, 0, 3 * sizeof *test);
    if (!targets->stratum || strata < 2 || strata > STRATA_MOST || s->J > 16 || units->of || !targets->label)
        return PV_OK;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, first + second + D * s->P, sizeof *room, &room));
    U = room;
    A = U + D;
    square = A + D * s->P;
    moved = square + D;
    V = room + first;
    map = V + second;
    PV_GOTO(done, pv__sum_rows(ctx, targets->n, s->problem->shared, first, add_score, &t, room));
    pv__compute_best()->matmul(D, s->P, s->P, A, s->P, 1, s->inverse, map, false);
    t.map = map;
    PV_GOTO(done, pv__sum_rows(ctx, targets->n, s->problem->shared, second, add_variance, &t, V));
    centre(&t, V);
    add_chances(&t, chance, tied, A, moved, V);
    test[0] = pv__quadratic(D, V, U, square, &rank);
    test[1] = (double)rank;
    test[2] = rank > 0 ? pv_chi_square_tail((double)rank, test[0]) : 1;
done:
    pv__free(ctx, room);
    return status;
}
