/* How many cases and controls: the settings, and the way from them to a result. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "data/data.h"
#include "design/design.h"
#include "size/size.h"

#define ROW(type, name, field, fallback, low, high, metavar, help)                                                     \
    { name, PV_OPTION_##type, offsetof(pv_size_options, field), fallback, low, high, NULL, metavar, help }

const pv_option pv_size_option_table[] = {
    ROW(TEXT, "prevalence", prevalence, NULL, 0, 0, "P",
        "Prevalence of cases in the target population: 0.02, or an interval 0.01-0.03 (central 95 %) where it is not "
        "known."),
    ROW(REAL, "prevalence-n", prevalence_n, "0", 0, 1e12, "N",
        "People of a random sample that the prevalence rests on. 0: it is known."),
    ROW(REAL, "margin", margin, "0.05", 1e-6, 0.5, "W",
        "Wanted half-width of the prevalence's interval, in a random sample of the population. It counts as a "
        "criterion "
        "of the design with `ratio=population`, where the sample itself tells the prevalence."),
    ROW(TEXT, "ratio", ratio, "best", 0, 0, "R|population|best",
        "Controls per case: a number; population: as in the target population (a cohort); best: the one of least "
        "cost."),
    ROW(REAL, "cost-case", cost_case, "1", 1e-6, 1e9, "COST", "Cost of a case."),
    ROW(REAL, "cost-control", cost_control, "1", 1e-6, 1e9, "COST", "Cost of a control."),
    ROW(INT, "cases", cases, "0", 0, 1e12, "N",
        "Number of cases of a given design, with `ratio`: print its expected results. 0: compute the number."),
    ROW(REAL, "auc", auc, "0", 0, 0.995, "A",
        "Assumed AUC of the model. Its scores are then normal in cases and in controls, with one variance."),
    ROW(REAL, "r2", r2, "0", 0, 0.9999, "R2", "Instead of an AUC: Cox and Snell's R2 in the target population."),
    ROW(INT, "parameters", parameters, "0", 0, 1e6, "K",
        "Number of coefficients of the model, excluding the intercept: count all candidates, and every column of a "
        "spline or category."),
    ROW(TEXT, "score", score, NULL, 0, 0, "COL",
        "Column of the pilot: probabilities or any other numbers that rise with the risk, from a model that was not "
        "fitted to the same rows."),
    ROW(TEXT, "outcome", outcome, NULL, 0, 0, "COL", "Column of the pilot with two labels."),
    ROW(TEXT, "positive", positive, NULL, 0, 0, "LABEL",
        "The label of cases in the pilot. Default: the larger number, or the one that says so (yes, true, case, ...)."),
    ROW(REAL, "shrinkage", shrinkage, "0.9", 0.5, 0.999, "S",
        "Wanted shrinkage of the coefficients, by the heuristic of Riley et al. (criterion 1)."),
    ROW(REAL, "slope", slope, "0", 0, 0.999, "S",
        "Wanted calibration slope, at least 0.5, of a fit without a prior or penalty. The shrinkage approximates it, "
        "but is too optimistic for a large AUC. 0: not asked for."),
    ROW(REAL, "optimism", optimism, "0.05", 0.001, 0.3, "D",
        "Wanted difference of the apparent and the adjusted Nagelkerke R2 (Riley et al., criterion 2)."),
    ROW(REAL, "auc-width", auc_width, "0", 0, 1, "W", "Wanted width of the interval of the AUC. 0: not asked for."),
    ROW(REAL, "threshold", threshold, "0", 0, 0.9999, "P",
        "A risk: the precision of a risk of this size, and of the PPV and the net benefit of calling those at or above "
        "it positive."),
    ROW(REAL, "risk-width", risk_width, "0", 0, 1, "W", "Wanted width of the interval of that risk."),
    ROW(REAL, "ppv-width", ppv_width, "0", 0, 1, "W", "Wanted width of the interval of the PPV."),
    ROW(REAL, "benefit-width", benefit_width, "0", 0, 1, "W", "Wanted width of the interval of the net benefit."),
    ROW(REAL, "odds-ratio", odds_ratio, "0", 0, 1e4, "OR",
        "Odds ratio of an exposure that is to be detected: of exposed against not exposed, or of a standard deviation "
        "of a normal exposure; given the model's other predictors where there is a model."),
    ROW(REAL, "exposure", exposure, "0", 0, 0.9999, "P",
        "Share of the controls that are exposed. 0: the exposure is normal."),
    ROW(REAL, "power", power, "0.8", 0.5, 0.9999, "P", "Wanted power of the test of that odds ratio, two-sided."),
    ROW(REAL, "interval", interval, "0.95", 0.5, 0.9999, "LEVEL",
        "Confidence level of the intervals. The significance level of the test is one minus this, 0.05 by default."),
    {0}};

pv_status pv_size_settings_new(pv_ctx *ctx, pv_settings **settings) {
    pv_size_options usual;
    memset(&usual, 0, sizeof usual);
    pv_options_default(pv_size_option_table, &usual);
    return pv__settings_of(ctx, pv_size_option_table, sizeof usual, &usual, settings);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* An option that needs another one. */
typedef struct needs {
    const char *name, *why;
    bool there;
} needs;

static pv_status check_effects(pv_ctx *ctx, const pv_settings *settings, const pv_size_options *o, bool pilot) {
    bool model = o->auc > 0 || o->r2 > 0 || pilot;
    const needs each[] = {
        {"score", "it names a column of the pilot;\ngive a pilot, or leave it out", pilot},
        {"outcome", "it names a column of the pilot;\ngive a pilot, or leave it out", pilot},
        {"positive", "it is a label of the pilot;\ngive a pilot, or leave it out", pilot},
        {"parameters", "no model is assumed;\ngive `auc`, `r2` or a pilot, or leave it out", model},
        {"shrinkage", "it needs `parameters`;\ngive the number of coefficients, or leave it out", o->parameters > 0},
        {"slope", "it needs `parameters`, 4 or more;\ngive the number of coefficients, or leave it out",
         o->parameters >= PV__SIZE_FEWEST},
        {"optimism", "it needs `parameters`;\ngive the number of coefficients, or leave it out", o->parameters > 0},
        {"auc-width", "no model is assumed;\ngive `auc`, `r2` or a pilot, or leave it out", model},
        {"threshold", "no model is assumed;\ngive `auc`, `r2` or a pilot, or leave it out", model},
        {"risk-width", "it needs `threshold`;\ngive the risk, or leave it out", o->threshold > 0},
        {"ppv-width", "it needs `threshold`;\ngive the risk, or leave it out", o->threshold > 0},
        {"benefit-width", "it needs `threshold`;\ngive the risk, or leave it out", o->threshold > 0},
        {"exposure", "it needs `odds-ratio`;\ngive the odds ratio to detect, or leave it out", o->odds_ratio > 0},
        {"power", "it needs `odds-ratio`;\ngive the odds ratio to detect, or leave it out", o->odds_ratio > 0}};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        if (pv_settings_given(settings, each[i].name) && !each[i].there)
            return pv__fail(ctx, PV_ERR_USAGE, "`%s` has no effect: %s", each[i].name, each[i].why);
    return PV_OK;
}

static pv_status check(pv_ctx *ctx, const pv_settings *settings, const pv_size_options *o, bool pilot) {
    if (!o->prevalence)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`prevalence` is missing;\ngive the prevalence of cases in the target population");
    if ((o->auc > 0) + (o->r2 > 0) + pilot > 1)
        return pv__fail(ctx, PV_ERR_USAGE, "%s%s: one model is assumed;\ngive one of `auc`, `r2` and a pilot",
                        o->auc > 0 ? "`auc`" : "`r2`", o->auc > 0 && o->r2 > 0 ? " and `r2`" : " and a pilot");
    if (pilot && (!o->score || !o->outcome))
        return pv__fail(ctx, PV_ERR_USAGE, "`%s` is missing;\nname the pilot's columns with `score` and `outcome`",
                        o->score ? "outcome" : "score");
    if (o->auc > 0 && !(o->auc >= 0.505))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`auc=%g`: a model that ranks cases above controls has an AUC of more than 0.5;\ngive 0.505 or "
                        "more",
                        o->auc);
    if (o->odds_ratio > 0 && fabs(log(o->odds_ratio)) < 1e-3)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`odds-ratio=%g` is not an effect to detect;\ngive one that differs from 1 by 0.001 or more",
                        o->odds_ratio);
    if (o->odds_ratio > 0 && o->odds_ratio < 1e-4)
        return pv__fail(ctx, PV_ERR_USAGE, "`odds-ratio=%g` is too small;\ngive 0.0001 or more", o->odds_ratio);
    if (!(o->exposure > 0) && fabs(log(o->odds_ratio > 0 ? o->odds_ratio : 1)) > 4)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`odds-ratio=%g` for a standard deviation of a normal exposure;\ngive one between 0.02 and 50, "
                        "or `exposure` for a share of exposed controls",
                        o->odds_ratio);
    if (o->slope > 0 && o->slope < 0.5)
        return pv__fail(ctx, PV_ERR_USAGE, "`slope=%g` is too small to plan for;\ngive 0.5 or more", o->slope);
    return check_effects(ctx, settings, o, pilot);
}

/* ---- the problem ------------------------------------------------------------------------------------------------- */

static pv_status find_prevalence(pv__size_problem *p, const pv_settings *settings) {
    static char *const labels[] = {"control", "case"};
    double each[2], low, high;
    PV_TRY(pv_prevalence_parse(p->ctx, "`prevalence`", p->options->prevalence, labels, 2, each, &low, &high));
    p->prevalence = each[1];
    p->prevalence_n = p->options->prevalence_n > 0 ? p->options->prevalence_n : INFINITY;
    if (isnan(low))
        return PV_OK;
    if (pv_settings_given(settings, "prevalence-n"))
        return pv__fail(p->ctx, PV_ERR_USAGE,
                        "`prevalence-n` and the interval `prevalence=%s` both say how well the prevalence is "
                        "known;\ngive one of them",
                        pv__show(p->options->prevalence).text);
    return pv__beta_from_interval(p->ctx, low, high, &p->prevalence, &p->prevalence_n);
}

static pv_status find_scores(pv__size_problem *p, const pv_table *pilot) {
    const pv_size_options *o = p->options;
    double auc = o->auc;
    if (pilot)
        return pv__size_pilot(p->ctx, pilot, o, &p->scores);
    PV_TRY(pv__size_scores_new(p->ctx, PV__SIZE_NODES, &p->scores));
    if (o->r2 > 0)
        auc = pv__size_auc_of_r2(o->r2, p->prevalence, &p->scores);
    if (isnan(auc))
        return pv__fail(
            p->ctx, PV_ERR_USAGE,
            "`r2=%g`: at a prevalence of %g Cox and Snell's R2 is below %.4g, and here an AUC of 0.995 is the "
            "limit;\ngive a smaller one (Nagelkerke's R2 is it over %.4g)",
            o->r2, p->prevalence, pv__size_r2_most(p->prevalence), pv__size_r2_most(p->prevalence));
    if (auc < 0.505)
        return pv__fail(p->ctx, PV_ERR_USAGE, "`r2=%g` is an AUC of %.4f, hardly more than 0.5;\ngive a larger one",
                        o->r2, auc);
    pv__size_normal(auc, &p->scores);
    return PV_OK;
}

static void want(pv__size_problem *p, pv__size_criterion criterion, bool wanted, double goal) {
    p->wanted[criterion] = wanted && goal > 0;
    p->goal[criterion] = goal;
}

static pv_status set_up(pv__size_problem *p, const pv_table *pilot, const pv_settings *settings) {
    const pv_size_options *o = p->options;
    p->has_scores = pilot || o->auc > 0 || o->r2 > 0;
    p->z = pv_normal_quantile(0.5 + 0.5 * o->interval);
    p->parameters = (double)o->parameters;
    PV_TRY(find_prevalence(p, settings));
    if (p->has_scores)
        PV_TRY(find_scores(p, pilot));
    if (o->threshold > 0) {
        p->at = pv_logit(o->threshold) - pv_logit(p->prevalence);
        pv__size_rates(&p->scores, p->at, p->rate);
    }
    if (o->odds_ratio > 0) {
        p->beta = log(o->odds_ratio);
        pv__size_expose(o->odds_ratio, o->exposure, &p->exposure);
    }
    want(p, PV__SIZE_SHRINKAGE, p->parameters > 0, o->shrinkage);
    want(p, PV__SIZE_SLOPE, p->parameters > 0, o->slope);
    want(p, PV__SIZE_OPTIMISM, p->parameters > 0, o->optimism);
    want(p, PV__SIZE_AUC, true, o->auc_width);
    want(p, PV__SIZE_RISK, true, o->risk_width);
    want(p, PV__SIZE_PPV, true, o->ppv_width);
    want(p, PV__SIZE_BENEFIT, true, o->benefit_width);
    want(p, PV__SIZE_POWER, o->odds_ratio > 0, o->power);
    return PV_OK;
}

/* ---- the design -------------------------------------------------------------------------------------------------- */

static pv_status find_ratio(pv__size_problem *p, double *ratio, const char **chosen) {
    const char *text = p->options->ratio ? p->options->ratio : "best", *end;
    *chosen = strcmp(text, "best") == 0 ? "best" : strcmp(text, "population") == 0 ? "population" : "stated";
    if (strcmp(*chosen, "population") == 0) {
        *ratio = pv__size_population_ratio(p);
        p->cohort = isinf(p->prevalence_n);
        want(p, PV__SIZE_MARGIN, p->cohort, p->options->margin);
        return PV_OK;
    }
    if (strcmp(*chosen, "stated") == 0) {
        end = pv_parse_real(text, ratio);
        if (!end || *end || !(*ratio >= 1e-3 && *ratio <= 1e6))
            return pv__fail(p->ctx, PV_ERR_USAGE,
                            "`ratio=%s` is not a number of controls per case;\ngive a number from 0.001 to 1e6, "
                            "population, or best",
                            pv__show(text).text);
        return PV_OK;
    }
    if (p->options->cases > 0)
        return pv__fail(p->ctx, PV_ERR_USAGE,
                        "`cases` gives the design, so no best ratio is searched for;\ngive the controls per case as "
                        "`ratio`");
    return pv__size_best(p, ratio);
}

static bool any_wanted(const pv__size_problem *p) {
    for (int c = 0; c < PV__SIZE_COUNT; c++)
        if (p->wanted[c])
            return true;
    return false;
}

/* The criterion that no number of rows fulfils, and why. */
static pv_status unreachable(const pv__size_problem *p, int criterion) {
    static const char *const names[] = {
#define NAME(name, key, title) key,
        PV__SIZE_CRITERIA(NAME)
#undef NAME
    };
    char option[32];
    pv__format(option, sizeof option, "%s", names[criterion]);
    for (char *at = option; *at; at++)
        *at = *at == '_' ? '-' : *at;
    if (criterion == PV__SIZE_SHRINKAGE)
        return pv__fail(
            p->ctx, PV_ERR_USAGE,
            "`shrinkage=%g`: R2 at this ratio of controls to cases is above it, so that every number of rows "
            "is enough by this criterion;\ngive a larger one",
            p->goal[criterion]);
    if (criterion == PV__SIZE_SLOPE)
        return pv__fail(p->ctx, PV_ERR_NUMERIC,
                        "the rows for `slope=%g` were not found at this ratio of controls to cases;\nstate another "
                        "`ratio`, or leave `slope` out",
                        p->goal[criterion]);
    if (isfinite(p->prevalence_n) && p->rate[0] > 0 && p->rate[1] > 0)
        return pv__fail(p->ctx, PV_ERR_USAGE,
                        "`%s=%g` cannot be reached: the uncertainty of the prevalence alone leaves a wider "
                        "interval;\nask for a larger width, or find out the prevalence from more than %.0f people",
                        option, p->goal[criterion], p->prevalence_n);
    return pv__fail(
        p->ctx, PV_ERR_USAGE,
        "`%s=%g` cannot be reached: by the assumed scores no %s is at or above the `threshold` of %g;\ngive "
        "a smaller threshold",
        option, p->goal[criterion], p->rate[1] > 0 ? "control" : "case", p->options->threshold);
}

static pv_status find(pv__size_problem *p, bool margin, pv_result **result) {
    pv__size_rows rows = {.binding = -1};
    const char *chosen;
    double ratio = 1;
    bool given = p->options->cases > 0;
    if (!given && !any_wanted(p))
        return pv__fail(p->ctx, PV_ERR_USAGE,
                        "nothing is wanted of the design;\ngive `parameters`, a width, or `odds-ratio`, or the "
                        "design itself with `cases` and `ratio`");
    PV_TRY(find_ratio(p, &ratio, &chosen));
    if (given) {
        double cases = (double)p->options->cases;
        pv__size_split(p, ratio, cases + fmax(1, round(cases * ratio)), &rows);
        rows.controls = rows.total - cases;
        rows.cases = cases;
        rows.cost = p->options->cost_case * cases + p->options->cost_control * rows.controls;
        rows.ratio = rows.controls / cases;
    } else {
        PV_TRY(pv__size_rows_at(p, ratio, &rows));
        if (!(rows.total < 1e15))
            return unreachable(p, rows.binding);
    }
    return pv__size_result(p, chosen, margin, &rows, result);
}

pv_status pv_size_find(pv_ctx *ctx, const pv_table *pilot, const pv_settings *settings, pv_result **result) {
    pv__size_problem p = {.ctx = ctx, .options = pv_settings_values(settings, pv_size_option_table)};
    *result = NULL;
    if (!p.options)
        return pv__fail(ctx, PV_ERR_USAGE, "these are no settings of a size;\nmake them with pv_size_settings_new");
    pv_status status = check(ctx, settings, p.options, pilot);
    if (status == PV_OK)
        status = set_up(&p, pilot, settings);
    if (status == PV_OK)
        status = find(&p, pv_settings_given(settings, "margin"), result);
    pv__size_scores_clear(ctx, &p.scores);
    return status;
}
