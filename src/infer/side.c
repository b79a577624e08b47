/* One estimate of a linear model: weighted to the population, or efficient (side.h).
 *
 * With u_i the weight of one person of row i, t its label, c the number of people, x~ = (1, x) and q the probabilities,
 *
 *   r_i = u_i sum_y t_y a_y (e_y - q),   A_i = u_i sum_y t_y a_y (diag q - q q^T),   H = sum c_i A_i (x) x~ x~^T +
 * prior .
 */
#include "infer/side.h"

#include <math.h>
#include <string.h>

#include "core/vector.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static size_t room_of(const pv__side *s) {
    size_t inputs = (size_t)pv_model_inputs(s->problem->model);
    return PV__ROW_BLOCK * (2 * s->size + inputs + 2 * s->k + s->J + 2 + pv__side_pairs(s)) + s->J * (2 * s->J + 1);
}

double pv__side_unit(const pv__side *s, size_t row) {
    double weight = pv__weight(&s->problem->targets, row), people = s->people ? s->people[row] : 1;
    return people > 0 ? weight / people : 0;
}

/* Initialises a block without rows. */
static void place_block(const pv__side *s, size_t slot, size_t n, pv__block *b) {
    b->n = n;
    b->plain = s->room[slot];
    b->spare = b->plain + PV__ROW_BLOCK * s->size;
    b->q = b->spare + PV__ROW_BLOCK * s->size;
    b->p = b->q + PV__ROW_BLOCK * s->k;
    b->r = b->p + PV__ROW_BLOCK * s->k;
    b->weight = b->r + PV__ROW_BLOCK * s->J;
    b->forms = b->weight + 2 * PV__ROW_BLOCK;
    b->small = b->forms + PV__ROW_BLOCK * pv__side_pairs(s);
}

/* Sets the inputs of a block, without x~. */
static void take_rows(const pv__side *s, size_t slot, size_t begin, size_t n, pv__block *b) {
    place_block(s, slot, n, b);
    b->from = pv__rows_get(s->ctx, &s->problem->rows, begin, n, b->small + s->J * (2 * s->J + 1));
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
    return pv__side_rows_at(s, slot, begin, n, NULL, NULL);
}

const double *pv__side_rows_at(const pv__side *s, size_t slot, size_t begin, size_t n, const double *w,
                               double *loglik) { // NOLINT(readability-non-const-parameter): it is filled
    pv__block b;
    take_rows(s, slot, begin, n, &b);
    widen(s, &b);
    if (w)
        pv_model_forward(s->problem->model, s->work[slot], w, n, b.from, loglik + begin * s->k);
    return b.plain;
}

/* Computes q, p, r and weight. */
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
        double weight = 0, unit = pv__side_unit(s, begin + i);
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

void pv__block_beside(const pv__side *s, size_t slot, size_t begin, const pv__block *rows, pv__block *b) {
    place_block(s, slot, rows->n, b);
    b->from = rows->from;
    b->plain = rows->plain;
    fill_rows(s, slot, begin, b);
}

void pv__side_add_scores(const pv__side *s, const pv__block *b, size_t begin, const double *v, double *to) {
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

/* ---- Newton's method --------------------------------------------------------------------------------------------- */

static size_t newton_width(const pv__side *s, bool curved) {
    return 1 + s->P + (curved ? pv__side_pairs(s) * s->size * s->size : 0);
}

static void add_slope(const pv__side *s, const pv__block *b, size_t begin, double *sums) {
    const pv_targets *t = &s->problem->targets;
    for (size_t i = 0; i < b->n; i++) {
        const double *a = pv__ratio_of(t, s->a, begin + i);
        double people = pv__side_people(s, begin + i) * pv__side_unit(s, begin + i);
        for (size_t y = 0; people > 0 && y < s->k; y++) {
            double share = pv__share(t, begin + i, (int)y);
            sums[0] -= share > 0 ? people * share * a[y] * b->q[i * s->k + y] : 0;
        }
    }
    pv__side_add_scores(s, b, begin, b->r, sums + 1);
}

static void add_gradient(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const pv__side *s = state;
    pv__block b;
    take_rows(s, slot, begin, n, &b);
    fill_rows(s, slot, begin, &b);
    add_slope(s, &b, begin, sums);
}

void pv__side_add_newton(const pv__side *s, pv__block *b, size_t begin, double *sums) {
    double *H = sums + 1 + s->P, weight[PV__ROW_BLOCK];
    add_slope(s, b, begin, sums);
    for (size_t j = 0; j < s->J; j++)
        for (size_t l = 0; l <= j; l++, H += s->size * s->size) {
            for (size_t i = 0; i < b->n; i++) {
                const double *p = b->p + i * s->k + 1;
                weight[i] = pv__side_people(s, begin + i) * b->weight[i] * p[j] * ((j == l) - p[l]);
            }
            pv__compute_best()->gram(b->n, s->size, b->plain, weight, H, b->spare);
        }
}

static void add_newton(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    pv__block b;
    pv__block_of(state, slot, begin, n, &b);
    pv__side_add_newton(state, &b, begin, sums);
}

void pv__side_unfold(const pv__side *s, const double *block, double *matrix) {
    for (size_t j = 0; j < s->J; j++)
        for (size_t l = 0; l <= j; l++, block += s->size * s->size)
            for (size_t i = 0; i < s->size; i++)
                for (size_t c = 0; c < s->size; c++) {
                    double own = block[i >= c ? i * s->size + c : c * s->size + i];
                    matrix[(j * s->size + i) * s->P + l * s->size + c] = own;
                    matrix[(l * s->size + c) * s->P + j * s->size + i] = own;
                }
}

size_t pv__side_newton_width(const pv__side *s) {
    return newton_width(s, true);
}

/* Converts sums over rows to those of the posterior, and stores the information in the side. */
static void take_sums(pv__side *s, bool curved, double *sums) {
    double slope;
    if (curved)
        pv__side_unfold(s, sums + 1 + s->P, s->information);
    for (size_t i = 0; i < s->P; i++) {
        sums[0] += pv__prior_at(s->problem, i, s->w[i], &slope);
        sums[1 + i] -= slope; /* the gradient of the log posterior, for ascent */
        if (curved)
            s->information[i * (s->P + 1)] += pv__prior_curvature(s->problem, i, s->w[i]);
    }
}

/* The value, the gradient and, if wanted, the information at s->w, including the prior; into sums. */
static pv_status evaluate(pv_ctx *ctx, pv__side *s, bool curved, double *sums) {
    s->reads++;
    PV_TRY(pv__sum_rows(ctx, s->problem->targets.n, s->problem->shared, newton_width(s, curved),
                        curved ? add_newton : add_gradient, s, sums));
    take_sums(s, curved, sums);
    return PV_OK;
}

/* Inverts the information there; false if it is singular. */
static bool invert(pv__side *s, double *factor) {
    memcpy(factor, s->information, s->P * s->P * sizeof *factor);
    if (!pv__cholesky(s->P, factor, 0))
        return false;
    for (size_t i = 0; i < s->P; i++) /* a direction determined by other columns up to rounding */
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

static double people_of(const pv__side *s) {
    double all = 0;
    for (size_t y = 0; y < s->k; y++)
        all += s->problem->mass[y];
    return all;
}

/* The squared distance, in standard errors, at which the information equals that of the optimum to nine digits. */
static double near_enough(const pv__side *s) {
    return 1e-19 * people_of(s);
}

/* Rounding error of the value: log probabilities near 0 limit its precision for rows of large weight. */
static double rounding(const pv__side *s) {
    double heaviest = 0;
    for (size_t c = 0; c < pv__ratio_sets(s->problem) * s->k; c++)
        heaviest = fmax(heaviest, s->a[c]);
    return 4e-16 * heaviest * people_of(s);
}

/* A step from s->w along `step` [P], halved until the value does not increase; updates sums. *curved: on entry, whether
 * the information is wanted there; on return, whether it is available. */
static pv_status move(pv_ctx *ctx, pv__side *s, const double *step, double *from, double *sums, double *share,
                      bool *curved) {
    enum { HALVINGS = 30 };
    double value = sums[0], noise = 1e-12 * fabs(value) + rounding(s);
    memcpy(from, s->w, s->P * sizeof *from);
    *share = 1;
    for (int h = 0; h < HALVINGS; h++, *share *= 0.5, *curved = false) {
        for (size_t c = 0; c < s->P; c++)
            s->w[c] = from[c] + *share * step[c];
        PV_TRY(evaluate(ctx, s, *curved, sums));
        if (sums[0] <= value + noise)
            break;
    }
    return PV_OK;
}

/* The information is reused while steps with it reduce the gradient a hundredfold, in squared standard errors: passes
 * for the gradient alone take a fraction of the time. A pass expected to come near the optimum computes it once more;
 * the remaining step squares the distance and is taken without a pass. */
pv_status pv__side_fit(pv_ctx *ctx, pv__side *s, const double *w) {
    enum { STEPS = 400 };
    const double near = near_enough(s), fast = 0.01;
    size_t P = s->P, width = newton_width(s, true);
    double *sums, *step, *from, *factor, last = HUGE_VAL, share = 1;
    bool curved = true;
    PV_TRY(pv__alloc(ctx, width + 2 * P + P * P, sizeof *sums, &sums));
    step = sums + width;
    from = step + P;
    factor = from + P;
    s->converged = false;
    memcpy(s->w, w, P * sizeof *w);
    pv_status status;
    PV_GOTO(done, evaluate(ctx, s, true, sums));
    for (int i = 0; i < STEPS && (!curved || invert(s, factor)); i++) {
        double distance = direction(s, sums + 1, step), rate = last == HUGE_VAL ? fast : distance / last;
        if (distance < near && curved) {
            for (size_t c = 0; c < P; c++)
                s->w[c] += step[c];
            s->value = sums[0];
            s->converged = true;
            break;
        }
        if (distance < near || share < 1 || rate > fast) {
            if (!curved) { /* compute it at this point before the next step */
                PV_GOTO(done, evaluate(ctx, s, true, sums));
                curved = true;
                share = 1;
                last = HUGE_VAL;
                continue;
            }
        }
        last = distance;
        curved = distance * rate < near;
        PV_GOTO(done, move(ctx, s, step, from, sums, &share, &curved));
    }
done:
    pv__free(ctx, sums);
    return status;
}

pv_status pv__side_settle(pv_ctx *ctx, pv__side *s, double *sums) {
    double *factor, *step;
    PV_TRY(pv__alloc(ctx, s->P + 1, s->P * sizeof *factor, &factor));
    step = factor + s->P * s->P;
    take_sums(s, true, sums);
    s->value = sums[0];
    s->converged = invert(s, factor) && direction(s, sums + 1, step) < near_enough(s);
    for (size_t i = 0; i < s->P && s->converged; i++)
        s->w[i] += step[i];
    pv__free(ctx, factor);
    return PV_OK;
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

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
