/* Known label counts (Appendix G of the paper): the exact number c_y of rows with each label was fixed by design, so
 * p~(Y*) is not a product over rows but equal for every Y* with these counts. With r_n(y) = p(y|x_n,w)/p(y|w),
 *
 *   p(X*,Y*|S*=1,w) prop. to [Y* has counts c] prod_n r_n(y_n),   p(X*|S*=1,w) prop. to e_c(r) prod_y c_y! / N! ,
 *
 * where e_c is the sum over all such Y*. For any t > 0, let row n be a die with p_n(y) = t_y r_n(y)/z_n, z_n the sum
 * over y, and let S count how often each label comes up in N independent throws. Then
 *
 *   e_c = P(S = c) prod_n z_n / prod_y t_y^c_y,   p(y_n = y|X*,c,w) = p_n(y) P(S without n = c - e_y) / P(S = c) .
 *
 * t is chosen such that the expected counts are c; then nothing overflows, and terms that underflow are negligible.
 * (loss_matched.c has the same sum for small sets; here there are as many rows as in a table.)
 *
 * Two labels: P(S = j) follows from a recursion over rows within a band around the mean that contains all but 1e-21 of
 * the probability, in N sqrt(N) steps. A row is removed by the inverse recursion, upwards if its p is below 1/2, else
 * downwards, so that errors do not grow. More labels: label_counts_many.c.
 *
 * Domain: log-likelihoods below infinity, -infinity included; rows of weight 1.
 */
#include "predict/label_counts.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/text.h"

pv_status pv__label_counts_new(pv_ctx *ctx, size_t rows, int classes, const size_t *count, char *const *labels,
                               pv__label_counts *c) {
    size_t k = (size_t)classes, total = 0;
    *c = (pv__label_counts){.rows = rows, .classes = classes, .count = count, .labels = labels, .heed = ctx};
    for (size_t y = 0; y < k; y++)
        total += count[y];
    if (total != rows)
        return pv__fail(ctx, PV_ERR_INPUT,
                        "the label counts (`population=counts`) add up to %zu, and there are %zu rows:\ngive the "
                        "number of each label in exactly these rows, or a prevalence",
                        total, rows);
    PV_TRY(pv__alloc(ctx, rows, k * sizeof *c->work, &c->work));
    PV_TRY(pv__alloc(ctx, 3 * k, sizeof *c->tilt, &c->tilt));
    return classes > 2 ? pv__label_counts_many_new(ctx, c) : PV_OK;
}

void pv__label_counts_clear(pv_ctx *ctx, pv__label_counts *c) {
    pv__free(ctx, c->work);
    pv__free(ctx, c->tilt);
    pv__free(ctx, c->sums);
    pv__free(ctx, c->behind);
    pv__free(ctx, c->ahead);
    pv__free(ctx, c->digit);
    pv__free(ctx, c->stride);
    *c = (pv__label_counts){0};
}

static pv_status ruled_out(pv_ctx *ctx, const pv__label_counts *c) {
    char joined[200];
    pv__join(c->labels, (size_t)c->classes, 6, joined, sizeof joined);
    return pv__fail(ctx, PV_ERR_INPUT,
                    "`population=counts`: the model gives some rows a probability of 0 for the labels that these "
                    "counts of %s require;\ncheck their order, or use `population=unknown`",
                    joined);
}

bool pv__label_counts_stopped(const pv__label_counts *c, size_t row) {
    enum { LOOK = 64 }; /* rows between checks; each takes a band of sums */
    return row % LOOK == 0 && pv__interrupted(c->heed);
}

static pv_status go_on(pv_ctx *ctx, const pv__label_counts *c) {
    return pv__interrupted(c->heed) ? pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request") : PV_OK;
}

/* log N!/prod c_y! */
static double log_arrangements(const pv__label_counts *c) {
    int sign; /* lgamma would write it to a global */
    double sum = lgamma_r((double)c->rows + 1, &sign);
    for (int y = 0; y < c->classes; y++)
        sum -= lgamma_r((double)c->count[y] + 1, &sign);
    return sum;
}

/* ---- two labels -------------------------------------------------------------------------------------------------- */

/* The rows whose label is not certain, by their log odds z [n]. */
typedef struct coins {
    size_t n, chosen; /* chosen: number of rows with label 1 */
    double *z;
} coins;

/* The expected number of heads if theta is added to the log odds, and its variance. */
static double expected(const coins *c, double theta, double *variance) {
    double sum = 0;
    *variance = 0;
    for (size_t i = 0; i < c->n; i++) {
        double p = pv_sigmoid(c->z[i] + theta);
        sum += p;
        *variance += p * (1 - p);
    }
    return sum;
}

/* Newton's method within a bracket, until the expected number of heads is within a tenth of a standard deviation of
 * `chosen`. */
static double fair(const pv__label_counts *k, const coins *c, double *variance) {
    double low = HUGE_VAL, high = -HUGE_VAL, spread = log((double)c->n) + 1;
    for (size_t i = 0; i < c->n; i++) {
        low = fmin(low, -c->z[i]);
        high = fmax(high, -c->z[i]);
    }
    low -= spread;
    high += spread;
    double theta = fmin(fmax(0, low), high);
    for (int i = 0; i < 200 && !pv__interrupted(k->heed); i++) {
        double off = expected(c, theta, variance) - (double)c->chosen;
        if (fabs(off) <= 0.1 * sqrt(*variance) || high - low < 1e-9)
            break;
        *(off < 0 ? &low : &high) = theta;
        double next = theta - off / *variance;
        theta = next > low && next < high ? next : 0.5 * (low + high);
    }
    return theta;
}

/* P(S = j) for j from *first on, [*count]. The band follows the mean of the rows so far. Stops early if interrupted. */
static void throw_coins(const pv__label_counts *k, const coins *c, size_t half, double *p, size_t *first,
                        size_t *count) {
    size_t at = 0, n = 1;
    double mean = 0;
    p[0] = 1;
    for (size_t i = 0; i < c->n && !pv__label_counts_stopped(k, i); i++) {
        double heads = pv_sigmoid(c->z[i]), tails = pv_sigmoid(-c->z[i]);
        mean += heads;
        if (mean > (double)(at + half + 1)) { /* drops the lowest entry */
            at++;
            for (size_t j = 0; j + 1 < n; j++)
                p[j] = p[j + 1] * tails + p[j] * heads;
            p[n - 1] *= heads;
        } else {
            if (n < 2 * half + 2)
                p[n++] = 0;
            for (size_t j = n - 1; j > 0; j--)
                p[j] = p[j] * tails + p[j - 1] * heads;
            p[0] *= tails;
        }
    }
    *first = at;
    *count = n;
}

/* P(S without this coin = chosen - 1) and = chosen, from p [count] of S. at: index of chosen. */
static void take_out(const double *p, size_t count, size_t at, double z, double rest[2]) {
    double heads = pv_sigmoid(z), tails = pv_sigmoid(-z), last = 0, before = 0;
    if (heads <= 0.5) {
        for (size_t j = 0; j <= at; j++) {
            before = last;
            last = (p[j] - heads * last) / tails;
        }
        rest[0] = before;
        rest[1] = last;
    } else {
        for (size_t j = count; j-- > at;) {
            before = last;
            last = (p[j] - tails * last) / heads; /* for j - 1 */
        }
        rest[0] = last;
        rest[1] = before;
    }
    rest[0] = fmax(rest[0], 0);
    rest[1] = fmax(rest[1], 0);
}

/* log P(S = chosen) with theta added to the log odds. If wanted, z becomes the log odds given the count. */
static pv_status choose(pv_ctx *ctx, pv__label_counts *k, coins *c, double *theta, double *log_p, bool wanted) {
    enum { PIECE = 1 << 14 }; /* rows between checks for interruption */
    double variance = 0;
    *theta = fair(k, c, &variance);
    size_t half = (size_t)ceil(10 * sqrt(variance)) + 40, first,
           count; /* by Bernstein's inequality, leaves out at most 1e-21 */
    if (2 * half + 2 > k->room) {
        PV_TRY(pv__resize(ctx, 2 * half + 2, sizeof *k->sums, &k->sums));
        k->room = 2 * half + 2;
    }
    for (size_t i = 0; i < c->n; i++)
        c->z[i] += *theta;
    throw_coins(k, c, half, k->sums, &first, &count);
    PV_TRY(go_on(ctx, k));
    bool held = c->chosen >= first && c->chosen - first < count; /* false if theta has run out of digits */
    size_t at = held ? c->chosen - first : 0, n = wanted ? c->n : 0;
    const double *sums = k->sums;
    double *z = c->z;
    *log_p = held ? log(sums[at]) : -(double)INFINITY;
    if (!isfinite(*log_p))
        return PV_OK;
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = n - begin < PIECE ? n : begin + PIECE;
#pragma omp parallel for num_threads(pv__threads_for(ctx, (end - begin) * at / 100000)) schedule(static)
        for (size_t i = begin; i < end; i++) {
            double rest[2];
            take_out(sums, count, at, z[i], rest);
            z[i] += log(rest[0]) - log(rest[1]);
        }
        PV_TRY(go_on(ctx, k));
    }
    return PV_OK;
}

static pv_status pair_rows(pv_ctx *ctx, pv__label_counts *c, const double *loglik, const double *marginal,
                           double *log_p, double *evidence) {
    coins free = {.z = c->work};
    size_t sure = 0;
    double theta = 0, log_s = 0, sum = 0;
    for (size_t i = 0; i < c->rows; i++) {
        double a[2] = {loglik[2 * i] - marginal[0], loglik[2 * i + 1] - marginal[1]};
        if (isinf(a[0]) || isinf(a[1]))
            sum += isinf(a[0]) ? a[1] : a[0];
        else
            free.z[free.n++] = a[1] - a[0];
        sure += isinf(a[0]) != 0;
    }
    if (sure > c->count[1] || c->count[1] - sure > free.n)
        return ruled_out(ctx, c);
    free.chosen = c->count[1] - sure;
    bool open = free.chosen > 0 && free.chosen < free.n;
    if (open)
        PV_TRY(choose(ctx, c, &free, &theta, &log_s, log_p != NULL));
    if (!isfinite(log_s))
        return ruled_out(ctx, c);
    for (size_t i = 0, j = 0; i < c->rows; i++) {
        double a[2] = {loglik[2 * i] - marginal[0], loglik[2 * i + 1] - marginal[1]}, z;
        if (isinf(a[0]) || isinf(a[1])) {
            z = isinf(a[0]) ? (double)INFINITY : -(double)INFINITY;
        } else {
            z = open ? free.z[j++] : free.chosen > 0 ? (double)INFINITY : -(double)INFINITY;
            double moved[2] = {a[0], a[1] + theta};
            sum += open ? pv_log_sum_exp(2, moved) : free.chosen > 0 ? a[1] : a[0];
        }
        if (log_p) {
            log_p[2 * i] = pv_log_sigmoid(-z);
            log_p[2 * i + 1] = pv_log_sigmoid(z);
        }
    }
    *evidence = log_s + sum - theta * (double)free.chosen - log_arrangements(c);
    return PV_OK;
}

/* ---- more labels ------------------------------------------------------------------------------------------------- */

/* Fills work with the dice tilted by exp(tilt); returns sum_n log z_n. expect [classes]. */
static double throw_dice(pv__label_counts *c, const double *loglik, const double *marginal, double *expect) {
    size_t k = (size_t)c->classes;
    double sum = 0;
    memset(expect, 0, k * sizeof *expect);
    for (size_t i = 0; i < c->rows; i++) {
        double *p = c->work + i * k;
        for (size_t y = 0; y < k; y++)
            p[y] = loglik[i * k + y] - marginal[y] + c->tilt[y];
        double z = pv_log_sum_exp(k, p);
        sum += z;
        for (size_t y = 0; y < k; y++)
            expect[y] += p[y] = isinf(z) ? 0 : exp(p[y] - z);
    }
    return sum;
}

/* Iterative scaling towards expected counts c. Any t is correct, so it stops within a tenth of a row. */
static double fair_dice(pv__label_counts *c, const double *loglik, const double *marginal) {
    size_t k = (size_t)c->classes;
    double *expect = c->tilt + k;
    for (size_t y = 0; y < k; y++)
        c->tilt[y] = c->count[y] ? log((double)c->count[y]) : -(double)INFINITY;
    for (int round = 0;; round++) {
        double most = 0, sum = throw_dice(c, loglik, marginal, expect);
        for (size_t y = 0; y < k; y++)
            most = fmax(most, fabs(expect[y] - (double)c->count[y]));
        if (!(most > 0.1) || round == 1000 || pv__interrupted(c->heed))
            return sum;
        for (size_t y = 0; y < k; y++)
            if (c->count[y] && expect[y] > 0)
                c->tilt[y] += log((double)c->count[y] / expect[y]);
    }
}

static pv_status many_rows(pv_ctx *ctx, pv__label_counts *c, const double *loglik, const double *marginal,
                           double *log_p, double *evidence) {
    size_t k = (size_t)c->classes;
    double sum = fair_dice(c, loglik, marginal), log_s = isinf(sum) ? sum : pv__label_counts_many(c, log_p != NULL);
    PV_TRY(go_on(ctx, c));
    if (!isfinite(log_s))
        return ruled_out(ctx, c);
    for (size_t y = 0; y < k; y++)
        if (c->count[y])
            sum -= (double)c->count[y] * c->tilt[y];
    for (size_t i = 0; log_p && i < c->rows * k; i++)
        log_p[i] = log(c->work[i]);
    *evidence = log_s + sum - log_arrangements(c);
    return PV_OK;
}

pv_status pv__label_counts_rows(pv_ctx *ctx, pv__label_counts *c, const double *loglik, const double *log_marginal,
                                double *log_p, double *evidence) {
    return (c->classes == 2 ? pair_rows : many_rows)(ctx, c, loglik, log_marginal, log_p, evidence);
}
