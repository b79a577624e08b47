/* How many more gold rows, and of which label or verdict, for an interval of a wanted width.
 *
 * The width is taken as 2 z sqrt(V). Gold rows drawn by verdict, n_v of verdict v: V = sum_v s_v^2 p_v (1-p_v)/n_v +
 * sum_v s_v (p_v - rate)^2/M; at random, n of them: the first sum is sum_v s_v p_v (1-p_v)/n. Drawn by label, n_y of
 * label y: V is the entry of the rate in the inverse of the Fisher information
 *
 *   M sum_k dq_k dq_k^T/q_k + sum_y n_y sum_k df_yk df_yk^T/f_yk,     q = sum_y pi_y f_y,
 *
 * by pi and f. Rows are added where they lower V most: with c_g = -n_g^2 dV/dn_g, n_g is the larger of what there is
 * and t sqrt(c_g), t such that V is what is wanted. That is optimal where the c_g are constants, as they are by verdict
 * and for two labels and verdicts; else it is repeated until they are. Shares that were counted are moved half a person
 * away from 0, so that a cell without a count is not taken for one that cannot occur.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"
#include "rate/rate.h"

enum { ROUNDS = 8, HALVINGS = 60 };
static const double MANY = 1e9;

typedef struct stratum {
    pv__gold_by gold_by;
    size_t labels, cells, groups, label;
    double share, sample; /* of the stratum; its people */
    double pi[PV__RATE_LABELS], f[PV__RATE_LABELS][PV__RATE_CELLS];
    double s[PV__RATE_CELLS], p[PV__RATE_CELLS];
    double n[PV__RATE_CELLS]; /* [groups], gold rows that there are */
} stratum;

typedef struct problem {
    size_t strata;
    stratum *stratum;
    double *matrix, *right; /* scratch of the Fisher information */
    double between;
} problem;

/* ---- variance of a stratum's rate -------------------------------------------------------------------------------- */

static size_t share_at(const stratum *t, size_t y, size_t k) {
    return t->labels - 1 + y * (t->cells - 1) + k;
}

/* The slope of q_k, or of f_yk (y < labels), at parameter j of label l's cell or of a rate. */
static void put_mixture(const stratum *t, size_t size, double *a) {
    double slope[PV__RATE_LABELS * PV__RATE_CELLS];
    for (size_t k = 0; k < t->cells; k++) {
        double q = 0;
        memset(slope, 0, sizeof slope);
        for (size_t y = 0; y < t->labels; y++) {
            q += t->pi[y] * t->f[y][k];
            if (y > 0)
                slope[y - 1] = t->f[y][k] - t->f[0][k];
            for (size_t j = 0; j + 1 < t->cells; j++)
                slope[share_at(t, y, j)] = k == j ? t->pi[y] : k + 1 == t->cells ? -t->pi[y] : 0;
        }
        for (size_t i = 0; i < size; i++)
            for (size_t j = 0; j < size; j++)
                a[i * size + j] += t->sample / q * slope[i] * slope[j];
    }
}

static double by_label(const problem *pr, const stratum *t, const double *n, double *c) {
    size_t rates = t->labels - 1, size = rates + t->labels * (t->cells - 1), last = t->cells - 1;
    double *a = pr->matrix, *x = pr->right, variance = 0;
    memset(a, 0, size * size * sizeof *a);
    memset(x, 0, size * sizeof *x);
    put_mixture(t, size, a);
    for (size_t y = 0; y < t->labels; y++)
        for (size_t i = 0; i < last; i++)
            for (size_t j = 0; j < last; j++)
                a[share_at(t, y, i) * size + share_at(t, y, j)] +=
                    n[y] * (1 / t->f[y][last] + (i == j ? 1 / t->f[y][i] : 0));
    for (size_t y = 1; y <= rates; y++)
        x[y - 1] = t->label == 0 ? -1 : t->label == y ? 1 : 0;
    if (!pv__solve_small((int)size, a, x)) {
        for (size_t y = 0; y < t->labels; y++)
            c[y] = 1;
        return HUGE_VAL;
    }
    for (size_t y = 1; y <= rates; y++)
        variance += t->label == 0 ? -x[y - 1] : t->label == y ? x[y - 1] : 0;
    for (size_t y = 0; y < t->labels; y++) {
        double rest = 0;
        c[y] = 0;
        for (size_t k = 0; k < last; k++) {
            double own = x[share_at(t, y, k)];
            rest -= own;
            c[y] += n[y] * n[y] * own * own / t->f[y][k];
        }
        c[y] += n[y] * n[y] * rest * rest / t->f[y][last];
    }
    return variance;
}

static double by_verdict(const stratum *t, const double *n, double *c) {
    double rate = 0, variance = 0;
    for (size_t g = 0; g < t->groups; g++)
        c[g] = 0;
    for (size_t v = 0; v < t->cells; v++)
        rate += t->s[v] * t->p[v];
    for (size_t v = 0; v < t->cells; v++) {
        double own = t->p[v] * (1 - t->p[v]);
        if (t->gold_by == PV__GOLD_AT_RANDOM)
            c[0] += t->s[v] * own;
        else
            c[v] = t->s[v] * t->s[v] * own;
        variance += t->s[v] * (t->p[v] - rate) * (t->p[v] - rate) / t->sample;
    }
    for (size_t g = 0; g < t->groups; g++)
        variance += c[g] > 0 ? c[g] / fmax(n[g], 1e-9) : 0;
    return variance;
}

/* Of all strata; n and c [strata][PV__RATE_CELLS]. */
static double variance_of(const problem *pr, double (*n)[PV__RATE_CELLS], double (*c)[PV__RATE_CELLS]) {
    double sum = pr->between;
    for (size_t s = 0; s < pr->strata; s++) {
        const stratum *t = &pr->stratum[s];
        double w = t->share * t->share;
        sum += w * (t->gold_by == PV__GOLD_BY_LABEL ? by_label(pr, t, n[s], c[s]) : by_verdict(t, n[s], c[s]));
        for (size_t g = 0; g < t->groups; g++)
            c[s][g] *= w;
    }
    return sum;
}

/* ---- what is known ----------------------------------------------------------------------------------------------- */

static void smooth(size_t n, const double *count, double *share) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += count[k] + 0.5;
    for (size_t k = 0; k < n; k++)
        share[k] = (count[k] + 0.5) / sum;
}

/* Cells of neither gold rows nor the sample are left out: they tell nothing. */
static void learn_by_label(const pv__rate_counts *c, stratum *t) {
    pv__label_cell_counts counts = {.labels = c->labels};
    pv__label_cell_fit fit;
    for (size_t k = 0; k < c->cells; k++) {
        double met = c->sample[k];
        size_t to = counts.cells;
        for (size_t y = 0; y < c->labels; y++)
            met += c->gold[y][k];
        if (!(met > 0))
            continue;
        counts.cells++;
        counts.target[to] = c->sample[k];
        counts.targets += c->sample[k];
        for (size_t y = 0; y < c->labels; y++) {
            counts.known[y][to] = c->gold[y][k];
            counts.mass[y] += c->gold[y][k];
        }
    }
    pv__label_cells_mode(&counts, &fit);
    t->cells = counts.cells;
    for (size_t y = 0; y < c->labels; y++) {
        double expected[PV__RATE_CELLS];
        t->n[y] = counts.mass[y];
        for (size_t k = 0; k < counts.cells; k++)
            expected[k] = counts.mass[y] * fit.f[y][k];
        smooth(counts.cells, expected, t->f[y]);
        t->pi[y] = fit.pi[y] * counts.targets;
    }
    memcpy(fit.pi, t->pi, sizeof fit.pi);
    smooth(c->labels, fit.pi, t->pi);
}

static void learn(const pv__rate_counts *c, size_t label, stratum *t) {
    bool by_label = c->gold_by == PV__GOLD_BY_LABEL || c->gold_by == PV__GOLD_KNOWN;
    *t = (stratum){.gold_by = by_label ? PV__GOLD_BY_LABEL : c->gold_by,
                   .labels = c->labels,
                   .cells = c->cells,
                   .label = label,
                   .share = c->share};
    for (size_t k = 0; k < c->cells; k++)
        t->sample += c->sample[k];
    t->groups = by_label ? c->labels : c->gold_by == PV__GOLD_BY_VERDICT ? c->cells : 1;
    if (by_label) {
        learn_by_label(c, t);
        return;
    }
    for (size_t v = 0; v < c->cells; v++) {
        double gold = 0;
        for (size_t y = 0; y < c->labels; y++)
            gold += c->gold[y][v];
        t->s[v] = c->sample[v] / t->sample;
        t->p[v] = (c->gold[label][v] + 0.5) / (gold + 1);
        t->n[t->groups == 1 ? 0 : v] += gold;
    }
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static void place(const problem *pr, double t, double (*c)[PV__RATE_CELLS], double (*n)[PV__RATE_CELLS]) {
    for (size_t s = 0; s < pr->strata; s++)
        for (size_t g = 0; g < pr->stratum[s].groups; g++)
            n[s][g] = fmin(fmax(pr->stratum[s].n[g], t * sqrt(c[s][g])), MANY);
}

/* The fewest gold rows, those that there are among them, whose variance is `wanted`. */
static void allocate(const problem *pr, double wanted, double (*c)[PV__RATE_CELLS], double (*n)[PV__RATE_CELLS],
                     double (*scratch)[PV__RATE_CELLS]) {
    double low = -20, high = 40; /* log t */
    for (int i = 0; i < HALVINGS; i++) {
        double middle = 0.5 * (low + high);
        place(pr, exp(middle), c, n);
        *(variance_of(pr, n, scratch) <= wanted ? &high : &low) = middle;
    }
    place(pr, exp(high), c, n);
}

static void solve(const problem *pr, double wanted, double (*work)[PV__RATE_CELLS], pv__rate_plan *plan) {
    double(*n)[PV__RATE_CELLS] = work, (*c)[PV__RATE_CELLS] = work + pr->strata,
    (*scratch)[PV__RATE_CELLS] = work + 2 * pr->strata;
    for (size_t s = 0; s < pr->strata; s++)
        for (size_t g = 0; g < pr->stratum[s].groups; g++)
            n[s][g] = fmax(pr->stratum[s].n[g], 1);
    (void)variance_of(pr, n, c);
    for (int round = 0; round < ROUNDS; round++) {
        allocate(pr, wanted, c, n, scratch);
        (void)variance_of(pr, n, c);
    }
    for (size_t s = 0; s < pr->strata; s++)
        for (size_t g = 0; g < pr->stratum[s].groups; g++)
            plan->more[s][g] = ceil(fmax(0, n[s][g] - pr->stratum[s].n[g]) - 1e-6);
}

static void plan_for(const problem *pr, double wanted_width, double z, double people, double (*work)[PV__RATE_CELLS],
                     pv__rate_plan *plan) {
    double wanted = wanted_width * wanted_width / (4 * z * z);
    for (size_t s = 0; s < pr->strata; s++)
        memcpy(work[s], pr->stratum[s].n, sizeof work[s]);
    double now = variance_of(pr, work, work + pr->strata);
    for (size_t s = 0; s < pr->strata; s++)
        for (size_t g = 0; g < PV__RATE_CELLS; g++)
            work[s][g] = MANY;
    double least = variance_of(pr, work, work + pr->strata);
    plan->now = fmin(1, 2 * z * sqrt(now));
    plan->least = fmin(1, 2 * z * sqrt(least));
    plan->sample_needed = least < wanted ? 0 : ceil(people * least / wanted);
    if (least < wanted && now > wanted)
        solve(pr, wanted, work, plan);
}

/* That of interest; of more than two labels where none was named, the one of the widest interval. */
static size_t label_of(const pv__rate_data *d, size_t strata, const pv__rate_estimate *own) {
    size_t label = d->positive;
    double widest = 0;
    for (size_t y = 0; y < d->labels.count && d->labels.count > 2 && !d->options->positive; y++)
        for (size_t s = 0; s < strata; s++)
            if (own[s].hi[y] - own[s].lo[y] > widest) {
                widest = own[s].hi[y] - own[s].lo[y];
                label = y;
            }
    return label;
}

pv_status pv__rate_plan_of(pv_ctx *ctx, size_t strata, const pv__rate_counts *counts, const pv__rate_estimate *own,
                           const pv__rate_data *d, pv__rate_plan *plan) {
    enum { SIZE = PV__RATE_LABELS * PV__RATE_CELLS };
    problem pr = {.strata = strata};
    double(*work)[PV__RATE_CELLS] = NULL, people = 0, rate = 0;
    pv_status status;
    *plan = (pv__rate_plan){.label = label_of(d, strata, own)};
    PV_GOTO(done, pv__alloc(ctx, strata, sizeof *plan->more, &plan->more));
    PV_GOTO(done, pv__alloc(ctx, strata, sizeof *pr.stratum, &pr.stratum));
    PV_GOTO(done, pv__alloc(ctx, (size_t)SIZE * SIZE, sizeof *pr.matrix, &pr.matrix));
    PV_GOTO(done, pv__alloc(ctx, SIZE, sizeof *pr.right, &pr.right));
    PV_GOTO(done, pv__alloc(ctx, 3 * strata, sizeof *work, &work));
    for (size_t s = 0; s < strata; s++) {
        learn(&counts[s], plan->label, &pr.stratum[s]);
        people += pr.stratum[s].sample;
        rate += counts[s].share * own[s].value[plan->label];
    }
    for (size_t s = 0; s < strata && strata > 1; s++) {
        double away = own[s].value[plan->label] - rate;
        pr.between += counts[s].share * away * away / people;
    }
    plan_for(&pr, d->options->width, pv_normal_quantile(0.5 + 0.5 * d->options->interval), people, work, plan);
done:
    pv__free(ctx, work);
    pv__free(ctx, pr.right);
    pv__free(ctx, pr.matrix);
    pv__free(ctx, pr.stratum);
    return status;
}
