/* A population sample as control variates for the weighted estimate b_r.
 *
 * With h(x) = q(x; b_r) (x) x~, q the probabilities of all labels except the first,
 *
 *   T = sum c a h / sum c a - mean of h over the sample,   E T = 0 ,
 *   b_c = b_r - B^T T,   B = (V_h + V_s)^-1 C_hU ,
 *
 * where V_h and C_hU are sums by unit over the labelled rows, of products of h with itself and with the influences U of
 * b_r, and V_s is the variance of the sample's mean. Whatever the shape of the risk, b_c has the same limit as b_r, and
 * since dT/db_r is 0 on average, estimating b_r does not matter to first order:
 *
 *   V_c = f (V_r - C_hU^T B),   f = n / (n - P - Q) ,
 *
 * for n units, P coefficients and Q effective controls. It requires a hundred units per slope, and as many people in
 * the sample: with fewer, B is mostly noise. T' (V_h + V_s + V_p)^-1 T, where V_p is due to the uncertainty of the
 * prevalences, is chi-square with Q degrees of freedom if both samples are from one population. A sample from another
 * population could move b_c arbitrarily and is not used.
 */
#include "infer/controls.h"

#include <math.h>
#include <string.h>

typedef struct controls {
    pv_ctx *ctx;
    const pv__controlled *of;
    pv__side rows; /* the weighted side over all rows, each row one person */
    size_t labelled, P, J, size, pairs;
    bool sampling; /* the sample's weights are sampling weights */
} controls;

static size_t slopes_of(const pv__problem *problem) {
    return pv_model_params(problem->model) - (size_t)problem->targets.classes + 1;
}

bool pv__controls_fit(pv_ctx *ctx, const pv__problem *whole, const pv__units *units) {
    size_t needed = 100 * slopes_of(whole);
    bool fit = (double)needed < units->units;
    if (whole->unlabelled > 0 && !fit)
        pv__log(ctx, PV_LOG_WARNING,
                "the population sample is not used for the coefficients: this needs more than 100 labelled people or "
                "clusters for each slope (%zu here), and there are %.0f.\n`weighting=0` uses the sample, and assumes "
                "that the linear model is right",
                needed + 1, units->units);
    return whole->unlabelled > 0 && fit;
}

/* Warns with the reason why the sample is not used. */
static void warn_of(pv_ctx *ctx, const pv__problem *whole, const pv__control_test *test) {
    size_t needed = 100 * slopes_of(whole);
    if (test->people <= (double)needed)
        pv__log(ctx, PV_LOG_WARNING,
                "the population sample is not used for the coefficients: this needs more than 100 of its people for "
                "each slope (%zu here), and there are %.0f",
                needed + 1, test->people);
    if (!pv__control_holds(test))
        pv__log(ctx, PV_LOG_WARNING,
                "the population sample is left out: its features differ from those of the labelled rows, weighted to "
                "the prevalence, by more than chance (chi-square %.1f, df %zu, p = %.2g).\nCheck that it comes from "
                "the population with this prevalence",
                test->statistic, test->controls, test->p);
}

/* ---- population sample ------------------------------------------------------------------------------------------- */

/* Sums over the sample's rows: w; w h [P]; v; v h [P]; the blocks of v h h^T [pairs][size][size]. v is w^2 for sampling
 * weights and w for counts. */
static void add_sample(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const controls *c = state;
    size_t J = c->J, size = c->size, P = c->P;
    double *first = sums + 1, *second = first + P + 1, *blocks = second + P, w[PV__ROW_BLOCK], v[PV__ROW_BLOCK],
           own[PV__ROW_BLOCK];
    pv__block b;
    pv__block_of(&c->rows, slot, c->labelled + begin, n, &b);
    for (size_t i = 0; i < n; i++) {
        w[i] = pv__weight(&c->of->whole->targets, c->labelled + begin + i);
        v[i] = c->sampling ? w[i] * w[i] : w[i];
        sums[0] += w[i];
        first[P] += v[i];
        for (size_t j = 0; j < J; j++)
            for (size_t at = 0; at < size; at++) {
                double h = b.p[i * (J + 1) + j + 1] * b.plain[i * size + at];
                first[j * size + at] += w[i] * h;
                second[j * size + at] += v[i] * h;
            }
    }
    for (size_t j = 0; j < J; j++)
        for (size_t l = 0; l <= j; l++, blocks += size * size) {
            for (size_t i = 0; i < n; i++)
                own[i] = v[i] * b.p[i * (J + 1) + j + 1] * b.p[i * (J + 1) + l + 1];
            pv__compute_best()->gram(n, size, b.plain, own, blocks, b.spare);
        }
}

/* The sample's mean of h in mean [P], the variance of that mean in V [P][P], and the number of people. */
static pv_status find_sample(controls *c, double *mean, double *V, double *counted) {
    size_t P = c->P, size = c->size, width = 2 + 2 * P + c->pairs * size * size, n = c->of->whole->unlabelled;
    double *sums;
    PV_TRY(pv__alloc(c->ctx, width, sizeof *sums, &sums));
    pv_status status = pv__sum_rows(c->ctx, n, c->of->whole->shared, width, add_sample, c, sums);
    double w = sums[0], v = sums[1 + P], people = c->sampling ? (double)n : w;
    const double *second = sums + 2 + P, *block = second + P;
    double factor = people > 1 ? people / (people - 1) / (w * w) : HUGE_VAL;
    *counted = people;
    for (size_t i = 0; i < P; i++)
        mean[i] = sums[1 + i] / w;
    for (size_t j = 0; status == PV_OK && j < c->J; j++)
        for (size_t l = 0; l <= j; l++, block += size * size)
            for (size_t i = 0; i < size; i++)
                for (size_t at = 0; at < size; at++) {
                    size_t left = j * size + i, right = l * size + at;
                    double own = block[i >= at ? i * size + at : at * size + i];
                    own += v * mean[left] * mean[right] - mean[left] * second[right] - second[left] * mean[right];
                    V[left * P + right] = V[right * P + left] = factor * own;
                }
    pv__free(c->ctx, sums);
    return status;
}

/* ---- labelled rows ----------------------------------------------------------------------------------------------- */

/* Sums c a, and c a h [P]. */
static void add_weights(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const controls *c = state;
    pv__block b;
    pv__block_of(c->of->side, slot, begin, n, &b);
    for (size_t i = 0; i < n; i++) {
        double people = pv__side_people(c->of->side, begin + i), own = people > 0 ? people * b.weight[i] : 0;
        sums[0] += own;
        for (size_t j = 0; j < c->J; j++)
            for (size_t at = 0; at < c->size; at++)
                sums[1 + j * c->size + at] += own * b.p[i * (c->J + 1) + j + 1] * b.plain[i * c->size + at];
    }
}

typedef struct pairing {
    const controls *c;
    double total;
    double *residual; /* [n][2 J]: that of the estimate, and a q divided by the sum of the weights */
} pairing;

static void pair_rows(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const pairing *p = state;
    const controls *c = p->c;
    pv__block b;
    pv__block_of(c->of->side, slot, begin, n, &b);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < c->J; j++) {
            double *to = p->residual + (begin + i) * 2 * c->J;
            to[j] = c->of->side->residual[(begin + i) * c->J + j];
            to[c->J + j] = b.weight[i] / p->total * b.p[i * (c->J + 1) + j + 1];
        }
    sums[0] += (double)n;
}

static const double *rows_of(void *state, size_t slot, size_t begin, size_t n) {
    return pv__side_rows(state, slot, begin, n);
}

/* square [2P][2P], of the scores and h by unit; mean [cells][2P], the scores followed by h. */
static pv_status sum_pairs(const controls *c, double total, double *square, double *mean) {
    size_t n = c->labelled;
    double count;
    pairing p = {.c = c, .total = total};
    PV_TRY(pv__alloc(c->ctx, n, 2 * c->J * sizeof(double), &p.residual));
    pv__unit_sums sums = {0};
    sums.square = square;
    sums.mean = mean;
    const pv__scores scores = {
        .parts = 1, .logits = 2 * c->J, .size = c->size, .residual = {p.residual}, .x = rows_of, .state = c->of->side};
    pv_status status = pv__sum_rows(c->ctx, n, false, 1, pair_rows, &p, &count); /* each rank needs all rows */
    if (status == PV_OK)
        status = pv__units_sum(c->ctx, c->of->units, &scores, &sums);
    pv__free(c->ctx, p.residual);
    return status;
}

/* ---- the estimate ------------------------------------------------------------------------------------------------ */

/* C [P][P], the products of h and U; adds the products of h with itself to V [P][P]. */
static void find_products(const controls *c, const double *square, double *V, double *C) {
    size_t P = c->P;
    const double *inverse = c->of->side->inverse;
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++) {
            V[i * P + j] += square[(P + i) * 2 * P + P + j];
            C[i * P + j] = 0;
            for (size_t l = 0; l < P; l++)
                C[i * P + j] += square[(P + i) * 2 * P + l] * inverse[l * P + j];
        }
}

/* B [P][width] = V^-1 C by elimination with pivots; destroys V. Leaves out controls of which others explain all but a
 * millionth of the variance. Returns the number of the rest. */
static size_t regress(size_t P, size_t width, double *V, const double *C, double *own, double *B) {
    const double tiny = 1e-6;
    size_t rank = 0;
    memcpy(B, C, P * width * sizeof *B);
    for (size_t i = 0; i < P; i++)
        own[i] = V[i * (P + 1)];
    for (size_t best; rank < P; rank++) {
        double largest = tiny;
        best = P;
        for (size_t i = 0; i < P; i++)
            if (own[i] > 0 && isfinite(own[i]) && V[i * (P + 1)] / own[i] > largest) {
                largest = V[i * (P + 1)] / own[i];
                best = i;
            }
        if (best == P)
            break;
        own[best] = -V[best * (P + 1)]; /* mark as used */
        for (size_t i = 0; i < P; i++) {
            double factor = i == best ? 0 : V[i * P + best] / V[best * (P + 1)];
            for (size_t j = 0; factor != 0 && j < P; j++)
                V[i * P + j] -= factor * V[best * P + j];
            for (size_t j = 0; factor != 0 && j < width; j++)
                B[i * width + j] -= factor * B[best * width + j];
        }
    }
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < width; j++)
            B[i * width + j] = own[i] < 0 ? B[i * width + j] / -own[i] : 0;
    return rank;
}

/* The test that T differs from 0 only by chance, including that of the prevalences. room [P][P + 2]. */
static pv__control_test test_sample(const controls *c, const double *V, const double *T, const double *D,
                                    double *room) {
    size_t P = c->P;
    double *own = room + P * P, *by_variance = own + P, statistic = 0;
    memcpy(room, V, P * P * sizeof *V);
    for (size_t cell = 0; cell < c->of->units->design.cells; cell++)
        for (size_t i = 0; i < P; i++)
            for (size_t j = 0; j < P; j++)
                room[i * P + j] += c->of->chance[cell] * D[cell * P + i] * D[cell * P + j];
    size_t rank = regress(P, 1, room, T, own, by_variance);
    for (size_t i = 0; i < P; i++)
        statistic += T[i] * by_variance[i];
    return (pv__control_test){
        .controls = rank, .statistic = statistic, .p = rank > 0 ? pv_chi_square_tail((double)rank, statistic) : 1};
}

/* of [P] -= B^T T */
static void take_off(size_t P, const double *B, const double *T, double *of) {
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++)
            of[i] -= B[j * P + i] * T[j];
}

/* The derivative of T with respect to log pi of each cell, D [cells][P]: the cell's part of the mean, minus what
 * changes all labels alike. means [cells][2P], of one person's scores and h. */
static void find_derivatives(const controls *c, const double *means, double *D) {
    const pv__units *u = c->of->units;
    const double *pi = c->of->whole->population.prevalence;
    size_t P = c->P, cells = u->design.cells;
    for (size_t i = 0; i < P; i++) {
        double sum = 0;
        for (size_t cell = 0; cell < cells; cell++)
            sum += u->people[cell] * means[cell * 2 * P + P + i];
        for (size_t cell = 0; cell < cells; cell++)
            D[cell * P + i] = u->people[cell] * means[cell * 2 * P + P + i] - pi[cell] * sum;
    }
}

static void improve(const controls *c, size_t rank, const double *C, const double *B, const double *T,
                    const double *D) {
    const pv__controlled *of = c->of;
    size_t P = c->P;
    double n = of->units->units, factor = n / (n - (double)(P + rank));
    take_off(P, B, T, of->estimate);
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++) {
            double own = of->square[i * P + j];
            for (size_t l = 0; l < P; l++)
                own -= C[l * P + i] * B[l * P + j];
            of->covariance[i * P + j] = factor * own;
        }
    for (size_t cell = 0; cell < of->units->design.cells; cell++)
        take_off(P, B, D + cell * P, of->prevalence + cell * P);
}

pv_status pv__control(pv_ctx *ctx, const pv__controlled *of, pv__control_test *test) {
    const pv__side *s = of->side;
    size_t P = s->P, cells = of->units->design.cells;
    controls c = {.ctx = ctx, .of = of, .rows = *s, .labelled = s->problem->rows.n, .P = P, .J = s->J, .size = s->size};
    double *room, *sums, *mean, *V, *C, *B, *square, *cell, *D;
    c.pairs = s->J * (s->J + 1) / 2;
    c.rows.problem = of->whole;
    c.rows.people = NULL;
    c.sampling = of->whole->plan->options.sample->sampling;
    *test = (pv__control_test){0};
    PV_TRY(pv__alloc(ctx, 1 + 2 * P + 7 * P * P + cells * 3 * P, sizeof *room, &room));
    sums = room;
    mean = sums + 1 + P;
    V = mean + P;
    C = V + P * P;
    B = C + P * P;
    square = B + P * P;
    cell = square + 4 * P * P;
    D = cell + cells * 2 * P;
    pv_status status;
    PV_GOTO(done, pv__sum_rows(ctx, c.labelled, s->problem->shared, 1 + P, add_weights, &c, sums));
    double people;
    PV_GOTO(done, find_sample(&c, mean, V, &people));
    PV_GOTO(done, sum_pairs(&c, sums[0], square, cell));
    for (size_t i = 0; i < P; i++) /* holds T */
        mean[i] = sums[1 + i] / sums[0] - mean[i];
    find_products(&c, square, V, C);
    find_derivatives(&c, cell, D);
    *test = test_sample(&c, V, mean, D, square);
    test->people = people;
    if (people <= 100 * (double)(P - c.J))
        test->controls = 0;
    if (test->controls > 0 && pv__control_holds(test)) {
        size_t rank = regress(P, P, V, C, sums, B);
        improve(&c, rank, C, B, mean, D);
    }
    warn_of(ctx, of->whole, test);
done:
    pv__free(ctx, room);
    return status;
}
