/* Strata in an evaluation: metrics for a population with strata, gains over each stratum's marginal, and the metrics of
 * each stratum's rows.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "validate.h"

void pv__strata_state(int strata, int classes, const double *given, double *mass) {
    size_t k = (size_t)classes, cells = (size_t)strata * k;
    for (size_t y = 0; given && y < k; y++) {
        double all = 0;
        for (size_t i = y; i < cells; i += k)
            all += mass[i];
        for (size_t i = y; i < cells; i += k)
            mass[i] *= all > 0 ? given[y] / all : 0;
    }
}

static pv_status missing_rows(pv_ctx *ctx, const char *stratum, const char *label, size_t have, size_t least) {
    if (least > 1)
        return pv__fail(ctx, PV_ERR_INPUT,
                        "stratum '%s' has %zu row%s with label '%s', fewer than the %zu folds, and metrics are for a "
                        "population that has them:\nuse fewer folds, or `stated-for=rows`",
                        pv__show(stratum).text, have, have == 1 ? "" : "s", pv__show(label).text, least);
    return pv__fail(ctx, PV_ERR_INPUT,
                    "stratum '%s' has no row with label '%s', and metrics are for a population that has "
                    "them:\nevaluate more rows, or use `stated-for=rows`",
                    pv__show(stratum).text, pv__show(label).text);
}

pv_status pv__strata_check_rows(pv_ctx *ctx, const pv_targets *targets, char *const *names, char *const *labels,
                                int strata, const double *mass, size_t least) {
    size_t k = (size_t)targets->classes, *rows;
    PV_TRY(pv__alloc(ctx, (size_t)strata * k, sizeof *rows, &rows));
    pv_status status = PV_OK;
    for (size_t n = 0; n < targets->n && status == PV_OK; n++) {
        if (targets->stratum[n] < 0)
            status = pv__fail(ctx, PV_ERR_INPUT,
                              "row %zu does not name its stratum, which metrics for the population need:\nleave the "
                              "row out, or use `stated-for=rows`",
                              n + 1);
        else
            rows[(size_t)targets->stratum[n] * k + (size_t)targets->label[n]]++;
    }
    for (size_t i = 0; i < (size_t)strata * k && status == PV_OK; i++)
        if (mass[i] > 0 && rows[i] < least)
            status = missing_rows(ctx, names[i / k], labels[i % k], rows[i], least);
    pv__free(ctx, rows);
    return status;
}

pv_status pv__strata_logs(pv_ctx *ctx, const pv_prediction *said, double **logs) {
    const pv_predicted_strata *of = said->strata;
    size_t k = (size_t)said->classes, cells = (size_t)of->strata * k;
    PV_TRY(pv__alloc(ctx, k + cells, sizeof **logs, logs));
    for (size_t y = 0; y < k; y++)
        (*logs)[y] = said->elsewhere ? log(said->prevalence[y]) : said->log_marginal[y];
    for (size_t i = 0; i < cells; i++)
        (*logs)[k + i] = said->elsewhere ? log(of->prevalence[i]) : of->log_marginal[i];
    return PV_OK;
}

pv_status pv__strata_gain(pv_ctx *ctx, const pv_targets *targets, int strata, const double *marginal,
                          const double *whole, double *f) {
    size_t k = (size_t)targets->classes, cells = (size_t)strata * k;
    double *mass;
    PV_TRY(pv__alloc(ctx, cells + (size_t)strata + k + 1, sizeof *mass, &mass));
    double *all = mass + cells, *label = all + strata, *total = label + k;
    for (size_t n = 0; n < targets->n; n++) {
        double v = targets->weight ? targets->weight[n] : 1;
        label[targets->label[n]] += v;
        *total += v;
        if (targets->stratum[n] < 0)
            continue;
        mass[(size_t)targets->stratum[n] * k + (size_t)targets->label[n]] += v;
        all[targets->stratum[n]] += v;
    }
    for (size_t n = 0; n < targets->n; n++)
        for (size_t y = 0; y < k; y++) {
            size_t s = (size_t)targets->stratum[n];
            f[n * k + y] -= targets->stratum[n] < 0 ? whole[y] : marginal[s * k + y];
            if (targets->stratum[n] >= 0 && label[y] > 0) /* -infinity for a label without rows in the stratum */
                f[n * k + y] += log(mass[s * k + y] / all[s]) - log(label[y] / *total);
        }
    pv__free(ctx, mass);
    return PV_OK;
}

/* ---- each stratum by itself -------------------------------------------------------------------------------------- */

typedef struct part {
    int32_t *label, *unit; /* unit NULL: each row by itself */
    double *weight, *log_p, *loglik, *log_marginal;
} part;

static pv_status part_new(pv_ctx *ctx, const pv__strata_case *it, part *p) {
    size_t n = it->targets->n, k = (size_t)it->targets->classes;
    PV_TRY(pv__alloc(ctx, n, sizeof *p->label, &p->label));
    if (it->targets->unit)
        PV_TRY(pv__alloc(ctx, n, sizeof *p->unit, &p->unit));
    PV_TRY(pv__alloc(ctx, n, sizeof *p->weight, &p->weight));
    PV_TRY(pv__alloc(ctx, n, k * sizeof *p->log_p, &p->log_p));
    PV_TRY(pv__alloc(ctx, n, k * sizeof *p->loglik, &p->loglik));
    return pv__alloc(ctx, k, sizeof *p->log_marginal, &p->log_marginal);
}

static void part_free(pv_ctx *ctx, part *p) {
    pv__free(ctx, p->label);
    pv__free(ctx, p->unit);
    pv__free(ctx, p->weight);
    pv__free(ctx, p->log_p);
    pv__free(ctx, p->loglik);
    pv__free(ctx, p->log_marginal);
}

static size_t part_take(const pv__strata_case *it, int32_t s, part *p) {
    const pv_targets *from = it->targets;
    size_t n = 0, k = (size_t)from->classes;
    const double *loglik = it->elsewhere || !it->loglik ? it->log_p : it->loglik;
    for (size_t i = 0; i < from->n; i++) {
        if (from->stratum[i] != s)
            continue;
        p->label[n] = from->label[i];
        if (p->unit)
            p->unit[n] = from->unit[i];
        p->weight[n] = from->weight ? from->weight[i] : 1;
        memcpy(p->log_p + n * k, it->log_p + i * k, k * sizeof(double));
        memcpy(p->loglik + n * k, loglik + i * k, k * sizeof(double));
        n++;
    }
    for (size_t y = 0; y < k; y++) {
        size_t cell = (size_t)s * k + y;
        p->log_marginal[y] = it->elsewhere ? log(it->of->prevalence[cell]) : it->of->log_marginal[cell];
    }
    return n;
}

static void no_metrics(pv_judged_stratum *to) {
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        pv_metric_set(&to->value, row, (double)NAN);
        pv_metric_set(&to->lo, row, (double)NAN);
        pv_metric_set(&to->hi, row, (double)NAN);
    }
}

static pv_status judge_one(pv_ctx *ctx, const pv__strata_case *it, const pv_judge_options *options, int positive,
                           int32_t s, part *p, pv_judged_stratum *to) {
    size_t k = (size_t)it->targets->classes, n = part_take(it, s, p);
    const double *mass = it->mass ? it->mass + (size_t)s * k : NULL;
    double sum = 0, weight = 0;
    to->share = it->of->share[s];
    to->rows = n;
    no_metrics(to);
    PV_TRY(pv__strdup(ctx, it->of->name[s], &to->name));
    PV_TRY(pv__alloc(ctx, 2 * k, sizeof(double), &to->observed)); /* one block for both arrays */
    to->stated = to->observed + k;
    for (size_t i = 0; i < n; i++)
        weight += p->weight[i];
    if (!(weight > 0)) {
        to->rows = 0;
        return PV_OK;
    }
    pv_targets targets = {.n = n,
                          .classes = it->targets->classes,
                          .label = p->label,
                          .weight = it->targets->weight ? p->weight : NULL,
                          .unit = p->unit,
                          .sampling = it->targets->sampling};
    pv_label_shares(&targets, to->observed);
    for (size_t y = 0; mass && y < k; y++)
        sum += mass[y];
    bool stated = mass && sum > 0;
    for (size_t y = 0; y < k; y++)
        to->stated[y] = stated ? mass[y] / sum : to->observed[y];
    const pv_judged judged = {
        .log_p = p->log_p, .loglik = p->loglik, .log_marginal = it->loglik ? p->log_marginal : NULL};
    const pv_assess_options how = {.prevalence = stated ? to->stated : NULL,
                                   .positive = positive,
                                   .bootstrap = options->bootstrap,
                                   .level = options->level,
                                   .seed = (uint64_t)options->seed};
    pv_assessment found;
    PV_TRY(pv_assess_intervals(ctx, &targets, &judged, &how, &found));
    to->value = found.value;
    to->lo = found.lo;
    to->hi = found.hi;
    pv_assessment_clear(ctx, &found);
    return PV_OK;
}

pv_status pv__strata_judge(pv_ctx *ctx, const pv__strata_case *it, const pv_judge_options *options, pv_judgement *j) {
    part p = {0};
    pv_status status;
    PV_TRY(pv__alloc(ctx, (size_t)it->of->strata, sizeof *j->stratum, &j->stratum));
    j->strata = it->of->strata;
    PV_GOTO(done, part_new(ctx, it, &p));
    for (int32_t s = 0; s < j->strata; s++)
        PV_GOTO(done, judge_one(ctx, it, options, j->positive, s, &p, &j->stratum[s]));
done:
    part_free(ctx, &p);
    return status;
}

void pv__strata_clear(pv_ctx *ctx, pv_judgement *j) {
    for (int s = 0; j->stratum && s < j->strata; s++) {
        pv__free(ctx, j->stratum[s].name);
        pv__free(ctx, j->stratum[s].observed);
    }
    pv__free(ctx, j->stratum);
}
