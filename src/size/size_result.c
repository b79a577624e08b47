/* The result of a size as a tree. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "prevail/core.h"
#include "size/size.h"

enum { CURVE = 16, TEXT = 480 };
static const char *const criterion_key[] = {
#define KEY(name, key, title) key,
    PV__SIZE_CRITERIA(KEY)
#undef KEY
};

typedef struct maker {
    const pv__size_problem *p;
    const pv__size_rows *rows;
    pv__size_design design;
} maker;

static pv_result *key_of(int criterion) {
    return criterion < 0 ? pv__value_null() : pv__value_text(criterion_key[criterion]);
}

static pv_result *interval(pv__size_interval i) {
    return pv__value_pack("rrrr", "value", i.value, "lo", i.lo, "hi", i.hi, "error", i.error);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static pv_result *prevalence(const maker *m, bool margin) {
    const pv__size_problem *p = m->p;
    double pi = p->prevalence, n = p->prevalence_n, goal = p->options->margin, tail = 0.5 - 0.5 * p->options->interval;
    pv_result *made = pv__value_pack("rb", "value", pi, "known", (int)(isinf(n) && !p->cohort));
    if (isfinite(n)) {
        (void)pv__value_set(made, "people", pv__value_real(n));
        (void)pv__value_set(made, "lo", pv__value_real(pv_beta_quantile(pi * n, (1 - pi) * n, tail)));
        (void)pv__value_set(made, "hi", pv__value_real(pv_beta_quantile(pi * n, (1 - pi) * n, 1 - tail)));
    }
    if (margin) {
        (void)pv__value_set(made, "margin", pv__value_real(goal));
        (void)pv__value_set(made, "people_for_margin",
                            pv__value_real(ceil(p->z * p->z * pi * (1 - pi) / (goal * goal))));
    }
    return made;
}

/* The interval of the AUC by the pilot's own rows. */
static pv__size_interval pilot_auc(const pv__size_problem *p) {
    const pv__size_scores *s = &p->scores;
    pv__size_variance v = {.each = s->placement[0] / s->people[0] + s->placement[1] / s->people[1]};
    return pv__size_interval_of(p, s->auc, v, 1, false);
}

static pv_result *model(const maker *m) {
    const pv__size_problem *p = m->p;
    const pv__size_scores *s = &p->scores;
    pv_result *made = pv__value_pack("trrrrr", "scores", s->distance > 0 ? "normal" : "pilot", "auc", s->auc, "r2",
                                     pv__size_r2(s, p->prevalence), "r2_design", m->design.r2, "r2_design_most",
                                     m->design.r2_most, "parameters", p->parameters);
    if (s->people[0] > 0) {
        pv__size_interval i = pilot_auc(p);
        (void)pv__value_set(
            made, "pilot",
            pv__value_pack("rrrr", "cases", s->people[1], "controls", s->people[0], "auc_lo", i.lo, "auc_hi", i.hi));
    }
    return made;
}

static pv_result *criteria(const maker *m) {
    pv_result *made = pv__value_object();
    for (int c = 0; c < PV__SIZE_COUNT; c++) {
        pv__size_rows own;
        double needed = pv__size_needed(m->p, &m->design, (pv__size_criterion)c);
        if (isnan(needed))
            continue;
        pv__size_split(m->p, m->rows->ratio, needed, &own);
        (void)pv__value_set(made, criterion_key[c],
                            pv__value_pack("rrrrr", "wanted", m->p->goal[c], "rows", own.total, "cases", own.cases,
                                           "controls", own.controls, "reached",
                                           pv__size_reached(m->p, &m->design, m->rows->total, (pv__size_criterion)c)));
    }
    return made;
}

static pv_result *design(const maker *m, const char *chosen) {
    const pv__size_rows *r = m->rows;
    pv_result *made = pv__value_pack("rrrrtrv", "cases", r->cases, "controls", r->controls, "rows", r->total, "ratio",
                                     r->ratio, "chosen", chosen, "cost", r->cost, "binding", key_of(r->binding));
    if (m->p->parameters > 0)
        (void)pv__value_set(made, "cases_per_parameter", pv__value_real(r->cases / m->p->parameters));
    return made;
}

static void put_threshold(const maker *m, pv_result *made) {
    const pv__size_problem *p = m->p;
    const pv__size_design *d = &m->design;
    double t = p->options->threshold, pi = p->prevalence, yes = pi * p->rate[1], no = (1 - pi) * p->rate[0];
    (void)pv__value_set(made, "threshold", pv__value_real(t));
    (void)pv__value_set(made, "risk", interval(pv__size_interval_of(p, t, d->risk, m->rows->total, true)));
    (void)pv__value_set(made, "tpr", pv__value_real(p->rate[1]));
    (void)pv__value_set(made, "fpr", pv__value_real(p->rate[0]));
    (void)pv__value_set(made, "ppv", interval(pv__size_interval_of(p, yes / (yes + no), d->ppv, m->rows->total, true)));
    (void)pv__value_set(made, "net_benefit",
                        interval(pv__size_interval_of(p, yes - no * t / (1 - t), d->benefit, m->rows->total, false)));
}

static pv_result *figures(const maker *m) {
    const pv__size_problem *p = m->p;
    pv_result *made = pv__value_object();
    for (int c = 0; p->parameters > 0 && c <= PV__SIZE_SLOPE; c++)
        (void)pv__value_set(made, criterion_key[c],
                            pv__value_real(pv__size_reached(p, &m->design, m->rows->total, (pv__size_criterion)c)));
    if (p->has_scores)
        (void)pv__value_set(made, "auc",
                            interval(pv__size_interval_of(p, p->scores.auc, m->design.auc, m->rows->total, false)));
    if (p->options->threshold > 0)
        put_threshold(m, made);
    if (p->exposure.points > 0) {
        pv__size_interval i = pv__size_interval_of(p, p->beta, m->design.odds, m->rows->total, false);
        (void)pv__value_set(
            made, "odds_ratio",
            pv__value_pack("rrrr", "value", exp(i.value), "lo", exp(i.lo), "hi", exp(i.hi), "error", i.error));
        (void)pv__value_set(made, "power",
                            pv__value_real(pv__size_reached(p, &m->design, m->rows->total, PV__SIZE_POWER)));
    }
    return made;
}

/* ---- the curve --------------------------------------------------------------------------------------------------- */

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ratios from few controls to many, with that of the design and of the population. */
static pv_status curve(const maker *m, double ratio, pv_result **made) {
    double at[CURVE] = {0.25, 0.5, 1, 2, 3, 4, 5, 10, 20, pv__size_population_ratio(m->p), ratio};
    size_t n = 11;
    qsort(at, n, sizeof *at, rising);
    *made = pv__value_list();
    for (size_t i = 0; i < n; i++) {
        pv__size_rows rows;
        pv_status status;
        if (i > 0 && at[i] - at[i - 1] < 1e-6 * at[i])
            continue;
        status = pv__size_rows_at(m->p, at[i], &rows);
        if (status != PV_OK) {
            pv_result_free(*made);
            *made = NULL;
            return status;
        }
        (void)pv__value_append(*made,
                               pv__value_pack("rrrrrv", "ratio", at[i], "cases", rows.cases, "controls", rows.controls,
                                              "rows", rows.total, "cost", rows.cost, "binding", key_of(rows.binding)));
    }
    return PV_OK;
}

/* ---- what is assumed --------------------------------------------------------------------------------------------- */

static void say(pv_result *list, const char *format, ...) PV_PRINTF(2, 3);
static void say(pv_result *list, const char *format, ...) {
    char text[TEXT];
    va_list arguments;
    va_start(arguments, format);
    (void)pv__vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)pv__value_append(list, pv__value_text(text));
}

static void say_scores(const pv__size_problem *p, pv_result *list) {
    if (p->scores.distance > 0)
        say(list, "AUC %.4g: scores are normal in cases and in controls, with one variance.", p->scores.auc);
    else
        say(list,
            "Scores are distributed as in the pilot's %.0f cases and %.0f controls, after calibration, as if these "
            "were exact.",
            p->scores.people[1], p->scores.people[0]);
    if (p->parameters > 0)
        say(list,
            "Shrinkage and optimism: the heuristic 1 - K/LR of Riley et al. for %.0f parameters, at the R2 of the "
            "design's proportions. Calibration slope: expected of a maximum-likelihood fit to normal predictors%s. A "
            "fit with a prior shrinks by itself.",
            p->parameters, p->scores.distance > 0 ? "" : " with the pilot's AUC");
    if (p->options->threshold > 0) {
        say(list,
            "Risk at the threshold: first-order variance of a maximum-likelihood fit with %.0f parameter%s, for a "
            "person whose other predictors have their mean square. Its error is some 5 %% larger where the calibration "
            "slope is 0.9, and 20 %% where it is 0.8.",
            fmax(p->parameters, 1), p->parameters > 1 ? "s" : "");
        say(list, "PPV and net benefit: model and threshold are fixed before these rows are seen, or cross-validated.");
    }
}

static pv_result *assumptions(const maker *m) {
    const pv__size_problem *p = m->p;
    pv_result *list = pv__value_list();
    if (p->has_scores)
        say_scores(p, list);
    if (p->exposure.points > 0) {
        if (p->exposure.points == 2)
            say(list, "Odds ratio: %.4g of the controls are exposed%s.", p->options->exposure,
                p->has_scores ? "; the exposure is independent of the model's score in cases and in controls" : "");
        else
            say(list, "Odds ratio: per standard deviation of an exposure that is normal%s in cases and in controls.",
                p->has_scores ? " and independent of the model's score" : "");
    }
    say(list, "Rows are independent: cases a random part of the population's cases, controls of its controls.");
    if (p->cohort)
        say(list, "The sample tells the prevalence, which is about %.4g. At other ratios it is taken as known.",
            p->prevalence);
    else if (isinf(p->prevalence_n))
        say(list, "The prevalence of %.4g is known.", p->prevalence);
    else
        say(list, "The prevalence of %.4g rests on %.0f other people, drawn at random.", p->prevalence,
            p->prevalence_n);
    return list;
}

static void warn(const maker *m, pv_result *list, const char *text) {
    pv__log(m->p->ctx, PV_LOG_WARNING, "%s", text);
    (void)pv__value_append(list, pv__value_text(text));
}

/* The heuristic promises more than a fit keeps. */
static void warn_of_slope(const maker *m, pv_result *list) {
    const pv__size_problem *p = m->p;
    char text[TEXT];
    double slope, shrinkage;
    if (p->parameters < PV__SIZE_FEWEST)
        return;
    slope = pv__size_reached(p, &m->design, m->rows->total, PV__SIZE_SLOPE);
    shrinkage = pv__size_reached(p, &m->design, m->rows->total, PV__SIZE_SHRINKAGE);
    if (isnan(slope))
        pv__format(text, sizeof text,
                   "for %.0f rows and %.0f parameters no calibration slope was found: cases and controls may be "
                   "separable, and a fit without a prior does not exist then",
                   m->rows->total, p->parameters);
    else if (slope < p->options->shrinkage - 0.05 && slope < shrinkage - 0.02)
        pv__format(text, sizeof text,
                   "a fit without a prior is expected to have a calibration slope of %.3f, less than the shrinkage of "
                   "%.3f that the heuristic tells; ask for `slope` too, or fit with a prior",
                   slope, shrinkage);
    else
        return;
    warn(m, list, text);
}

static pv_result *warnings(const maker *m) {
    const pv__size_problem *p = m->p;
    const pv__size_rows *r = m->rows;
    pv_result *list = pv__value_list();
    char text[TEXT];
    double expected = fmin(fmin(r->cases * p->rate[1], r->cases * (1 - p->rate[1])),
                           fmin(r->controls * p->rate[0], r->controls * (1 - p->rate[0])));
    if (fmin(r->cases, r->controls) < 10) {
        pv__format(
            text, sizeof text,
            "the design has %.0f cases and %.0f controls: figures for so few are too favourable; plan with 10 of "
            "each or more",
            r->cases, r->controls);
        warn(m, list, text);
    }
    warn_of_slope(m, list);
    if (p->options->threshold > 0 && expected < 5) {
        pv__format(text, sizeof text,
                   "at the threshold of %.4g about %.1f rows of one kind are expected (cases or controls, above or "
                   "below it): the widths of PPV and net benefit are rough below 5",
                   p->options->threshold, expected);
        warn(m, list, text);
    }
    if (p->scores.people[0] > 0 && fmin(p->scores.people[0], p->scores.people[1]) < 100) {
        pv__size_interval i = pilot_auc(p);
        pv__format(
            text, sizeof text,
            "the pilot has %.0f cases and %.0f controls: the interval of its AUC of %.3f is %.3f to %.3f; plan with "
            "its lower end too (`auc`)",
            p->scores.people[1], p->scores.people[0], i.value, i.lo, fmin(i.hi, 1));
        warn(m, list, text);
    }
    return list;
}

pv_status pv__size_result(const pv__size_problem *p, const char *chosen, bool margin, const pv__size_rows *rows,
                          pv_result **result) {
    maker m = {.p = p, .rows = rows};
    pv_result *made, *points = NULL;
    bool given = p->options->cases > 0;
    if (!pv__size_design_of(p, rows->ratio, &m.design))
        return pv__fail(p->ctx, PV_ERR_NUMERIC,
                        "the information of the assumed model is singular;\nassume a smaller AUC");
    if (!given)
        PV_TRY(curve(&m, rows->ratio, &points));
    made = pv__value_pack("rvv", "interval", p->options->interval, "prevalence", prevalence(&m, margin), "design",
                          design(&m, chosen));
    if (p->has_scores)
        (void)pv__value_set(made, "model", model(&m));
    (void)pv__value_set(made, "criteria", criteria(&m));
    (void)pv__value_set(made, "figures", figures(&m));
    if (!given)
        (void)pv__value_set(made, "curve", points);
    (void)pv__value_set(made, "assumptions", assumptions(&m));
    (void)pv__value_set(made, "warnings", warnings(&m));
    if (!pv__value_whole(made)) {
        pv_result_free(made);
        return pv__fail(p->ctx, PV_ERR_MEMORY, "out of memory");
    }
    *result = made;
    return PV_OK;
}
