/* Weights of a mixture: the maximum over the simplex of
 *
 *   f(v)  =  sum_n a_n log sum_k v_k p_nk,    a_n >= 0, sum_n a_n = 1,
 *
 * which is concave, by the EM updates  v_k <- v_k g_k,  g_k = df/dv_k = sum_n a_n p_nk / sum_j v_j p_nj.  Each
 * increases f and stays on the simplex, because sum_k v_k g_k = 1. Since f(u) - f(v) <= g.(u - v) <= max_k g_k - 1 for
 * any u, the updates stop when that is small: no other weights are better by more. A weight of 0 stays 0, so it is no
 * starting value.
 */
#include "core/log_add.h"
#include "infer/stacking.h"

#include <math.h>

static const double LEAST = 0.01;                  /* smallest weight of a member */
static const double GAP = 1e-4, NESTED_GAP = 1e-3; /* nats */
static const double WORK = 4e9, NESTED_WORK = 4e8; /* multiplications in all updates: some seconds */

/* g at v. Ignores a row that all members with positive weight consider impossible. */
static void find_slopes(const pv__mixture *m, const double *v, double *slope) {
    memset(slope, 0, m->members * sizeof *slope);
    for (size_t n = 0; n < m->n; n++) {
        const double *p = m->p + n * m->members;
        double sum = 0;
        if (!(m->a[n] > 0))
            continue;
        for (size_t k = 0; k < m->members; k++)
            sum += v[k] * p[k];
        double share = sum > 0 ? m->a[n] / sum : 0;
        for (size_t k = 0; k < m->members; k++)
            slope[k] += share * p[k];
    }
}

int64_t pv__mixture_solve(const pv__mixture *m, double gap, int64_t most, double *v, double *slope, double *left) {
    int64_t done = 0;
    double more = HUGE_VAL;
    for (;; done++) {
        find_slopes(m, v, slope);
        more = 0;
        for (size_t k = 0; k < m->members; k++)
            more = v[k] > 0 ? fmax(more, slope[k] - 1) : more;
        if (more <= gap || done == most)
            break;
        double sum = 0;
        for (size_t k = 0; k < m->members; k++)
            sum += v[k] *= slope[k];
        for (size_t k = 0; k < m->members; k++)
            v[k] /= sum; /* equals 1 up to rounding */
    }
    if (left)
        *left = more;
    return done;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* The proportion of each stratum and label in the population: [strata][classes]. */
static double mass_of(const pv__stacking *s, size_t cell) {
    const pv_stratified *strata = pv__strata_of(s->problem);
    return strata ? strata->share[cell / s->k] * strata->prevalence[cell] : s->problem->plan->prevalence[cell];
}

/* a and p of the evaluated rows; candidates without a fit get p = 0. */
static pv_status weigh_rows(pv_ctx *ctx, pv__stacking *s) {
    size_t n = pv__stack_judged(s), cells = (size_t)s->problem->design->strata * s->k;
    double *mass, total = 0;
    PV_TRY(pv__alloc(ctx, cells, sizeof *mass, &mass));
    for (size_t j = 0; j < n; j++)
        mass[pv__stack_cell(s, s->row[j])] += pv__stack_weight(s, s->row[j]);
    for (size_t j = 0; j < n; j++) {
        size_t cell = pv__stack_cell(s, s->row[j]);
        s->a[j] =
            pv__stack_weight(s, s->row[j]) > 0 ? pv__stack_weight(s, s->row[j]) * mass_of(s, cell) / mass[cell] : 0;
        total += s->a[j];
    }
    for (size_t j = 0; j < n; j++)
        s->a[j] /= total;
    for (size_t c = 0; c < s->count; c++) {
        s->sound[c] = true;
        for (size_t j = 0; j < n; j++) {
            double log_p = s->log_p[(c * n + j) * s->k + (size_t)s->data->label[s->row[j]]];
            s->p[j * s->count + c] = exp(log_p);
            s->sound[c] &= log_p > -HUGE_VAL;
        }
        s->mixes[c] = s->sound[c] && !s->candidate[c]->alone;
    }
    pv__free(ctx, mass);
    return PV_OK;
}

static int64_t most_updates(const pv__stacking *s, double work) {
    return (int64_t)fmax(50, fmin(20000, work / ((double)pv__stack_judged(s) * (double)s->count)));
}

static void normalise(size_t n, double *v) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    for (size_t i = 0; i < n; i++)
        v[i] /= sum;
}

/* Weights from all evaluated rows; then again without candidates of negligible weight. */
static void find_weights(pv__stacking *s, int64_t *updates, pv_stop *stop) {
    const pv__mixture mixture = {pv__stack_judged(s), s->count, s->a, s->p};
    const int64_t most = most_updates(s, WORK);
    double left;
    for (size_t i = 0; i < s->count; i++)
        s->v[i] = s->mixes[i];
    normalise(s->count, s->v);
    *updates = pv__mixture_solve(&mixture, GAP, most, s->v, s->slope, NULL);
    for (size_t i = 0; i < s->count; i++)
        s->v[i] = s->v[i] < LEAST ? 0 : s->v[i];
    normalise(s->count, s->v);
    *updates += pv__mixture_solve(&mixture, GAP, most, s->v, s->slope, &left);
    *stop = left <= GAP ? PV_STOP_CONVERGED : PV_STOP_COMPLETED;
}

/* Logarithm of the mixture for row j, for all labels. */
static void mix_row(const pv__stacking *s, const double *v, size_t j, double *log_p) {
    for (size_t y = 0; y < s->k; y++)
        log_p[y] = -HUGE_VAL;
    for (size_t c = 0; c < s->count; c++)
        for (size_t y = 0; v[c] > 0 && y < s->k; y++)
            log_p[y] = pv__log_add(log_p[y], log(v[c]) + s->log_p[(c * pv__stack_judged(s) + j) * s->k + y]);
}

/* The mixture for every evaluated row, with weights found without its part; for a hold-out sample, with all. a
 * [start[parts]] and v [count] are scratch. */
static pv_status mix_without(pv_ctx *ctx, const pv__stacking *s, double *a, double *v) {
    size_t n = pv__stack_judged(s);
    for (size_t part = 0; part < s->parts; part++) {
        size_t begin = s->start[part], end = s->start[part + 1], first = part / s->judged * s->judged;
        memcpy(v, s->v, s->count * sizeof *v);
        if (s->judged > 1) {
            PV_TRY(pv__go_on(ctx));
            for (size_t j = 0; j < n; j++) /* the rows of the repeat */
                a[j] = j >= s->start[first] && j < s->start[first + s->judged] && (j < begin || j >= end) ? s->a[j] : 0;
            for (size_t c = 0; c < s->count; c++)
                v[c] = s->mixes[c];
            normalise(n, a);
            normalise(s->count, v);
            const pv__mixture others = {n, s->count, a, s->p};
            (void)pv__mixture_solve(&others, NESTED_GAP, most_updates(s, NESTED_WORK / (double)s->parts), v, s->slope,
                                    NULL);
        }
        for (size_t j = begin; j < end; j++)
            mix_row(s, v, j, s->mixed + j * s->k);
    }
    return PV_OK;
}

pv_status pv__stack_weigh(pv_ctx *ctx, pv__stacking *s, int64_t *updates, pv_stop *stop) {
    size_t sound = 0;
    PV_TRY(weigh_rows(ctx, s));
    for (size_t c = 0; c < s->count; c++)
        sound += s->mixes[c];
    if (sound == 0)
        return pv__fail(ctx, PV_ERR_NUMERIC, "`candidates=%s`: none of these converged in every fold:\nadd prevalence",
                        s->problem->plan->given->candidates);
    find_weights(s, updates, stop);
    return mix_without(ctx, s, s->a + pv__stack_judged(s), s->slope + s->count);
}
