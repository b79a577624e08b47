/* Checks whether the linear model is adequate in the target population, and reports the estimate in use if it is
 * not. */
#include <math.h>

#include "base/text.h"
#include "data/schema_learn.h"
#include "infer/infer.h"
#include "validate/checks.h"

static const double LEVEL = 0.01; /* of the test, below which it is a problem */
/* A few units can dominate a coefficient through their residuals, especially if risks are low; intervals with Student's
 * t then still hold. They do not hold if the column itself has a heavy tail, so that a few units have most of its
 * variance. */
static const double TAIL = 6;          /* kurtosis; a normal column has 3 */
static const double FEW_NUMBERS = 30;  /* degrees of freedom: for a number column with a heavy tail */
static const double FEW_OF_LEVEL = 10; /* for a rare level */
static const double FEW = 4;           /* for any column */

/* The source of a slope, and the first of its features. */
static size_t source_of(const pv_schema *schema, size_t feature, size_t *first) {
    size_t at = 0, source = 0;
    for (size_t s = 0; s < schema->sources; s++) {
        size_t width = pv_source_width(&schema->source[s]);
        if (feature >= at && feature < at + width) {
            source = s;
            *first = at;
        }
        at += width;
    }
    return source;
}

static bool has_tail(const pv_classifier *c, size_t slope) {
    return fabs(c->combination->tail[slope]) > TAIL;
}

/* Whether the column has more than two values; two values are an indicator, one of which may be rare like a level. */
static bool is_measured(const pv_classifier *c, size_t source, size_t slope) {
    return c->schema->source[source].type == PV_COLUMN_NUMBER && c->combination->tail[slope] > 0;
}

/* The coefficient with the fewest degrees of freedom, among those that have few, counted from 1; 0: none. */
static size_t fewest(const pv_classifier *c) {
    const pv_combination *m = c->combination;
    size_t P = pv_model_params(c->model), terms = pv__model_slopes(c->model) + 1, worst = 0;
    for (size_t i = 0; i < P; i++) {
        if (i % terms == 0)
            continue;
        size_t slope = i % terms - 1, first, source = source_of(c->schema, slope + c->schema->offset, &first);
        double few = !has_tail(c, slope) ? FEW : is_measured(c, source, slope) ? FEW_NUMBERS : FEW_OF_LEVEL;
        if (m->df[i] < few && (worst == 0 || m->df[i] < m->df[worst]))
            worst = i;
    }
    return worst;
}

/* A handful of units dominate a coefficient: its interval is the best they allow, but it is not reliable. */
static void check_freedom(pv_diagnosis *found, const pv_classifier *c) {
    size_t worst = c->combination->use == PV_ESTIMATE_EFFICIENT ? 0 : fewest(c), terms = pv__model_slopes(c->model) + 1;
    if (worst == 0)
        return;
    const pv_schema *schema = c->schema;
    size_t feature = worst % terms - 1 + schema->offset, first = 0, source = source_of(schema, feature, &first);
    /* A feature of a term or an indicator is not a measurement. */
    bool measured = is_measured(c, source, worst % terms - 1);
    bool plain = source < pv__schema_plain(schema) && feature == first && measured;
    const pv__shown shown = pv__show(schema->feature[feature]);
    const char *name = shown.text;
    pv_check *check =
        pv__check_add(found, "few_decide", "Whether a few rows determine a coefficient", c->combination->df[worst]);
    bool tail = has_tail(c, worst % terms - 1);
    const char *remedy = "More rows, or fewer terms,";
    if (tail && !measured)
        remedy = schema->source[source].type == PV_COLUMN_TEXT ? "Joining rare levels, or more rows of this one,"
                                                               : "More rows with its rarer value";
    if (plain && tail)
        pv__check_say(check,
                      "Few rows determine the coefficient of '%.60s' (%.1f degrees of freedom), so that its interval "
                      "may be too short: the column has a long tail. For a measurement, the term log(%.60s), if it is "
                      "positive, or ns(%.60s,3) may help.",
                      name, c->combination->df[worst], name, name);
    else
        pv__check_say(check,
                      "Few rows determine the coefficient of '%.60s' (%.1f degrees of freedom), so that its interval "
                      "may be too short. %s may help.",
                      name, c->combination->df[worst], remedy);
    pv__format(check->warning, sizeof check->warning, "%s",
               check->text); /* a property of the data, not a failure of the fit */
}

/* If there are few rows of the rarer label per column, the weighted estimate's intervals are too short under
 * misspecification. */
static void check_rows(pv_diagnosis *found, const pv_classifier *c) {
    const double enough = 10;
    const pv_combination *m = c->combination;
    double rarest = 1, slopes = (double)pv__model_slopes(c->model);
    for (int y = 0; y < c->schema->classes; y++)
        rarest = fmin(rarest, c->design[y]);
    double each = slopes > 0 ? rarest * m->units / slopes : HUGE_VAL;
    if (m->use == PV_ESTIMATE_EFFICIENT || !(each < enough))
        return;
    pv_check *check = pv__check_add(found, "few_rows", "Whether there are enough rows for the columns", each);
    pv__check_say(check,
                  "There are %.1f people or clusters of the rarer label for each column. With fewer than %.0f, "
                  "intervals are too short if the linear model is wrong. More rows, or fewer columns, may help.",
                  each, enough);
    pv__format(check->warning, sizeof check->warning, "%s", check->text);
}

/* Warns of strata that affect the outcome but are not features. */
static void check_strata(pv_diagnosis *found, const pv_classifier *c) {
    const double *test = c->combination->strata;
    if (!(test[1] > 0))
        return;
    pv_check *check = pv__check_add(found, "strata", "Whether the model needs the strata as features", test[2]);
    pv__check_say(check,
                  "Strata %s by more than the features explain (score test: chi-square %.1f, df %.0f, p = %.2g).",
                  test[2] < LEVEL ? "differ" : "do not differ", test[0], test[1], test[2]);
    if (test[2] < LEVEL)
        pv__check_fail(found, check,
                       "The efficient estimate assumes that the linear model is right within each stratum, which fails "
                       "here%s. Use the columns of `strata` as features.",
                       c->combination->use == PV_ESTIMATE_EFFICIENT ? "" : "; the weighted one averages over strata");
    if (!check->ok)
        pv__format(check->warning, sizeof check->warning, "%s %s", check->text, check->remedy);
}

void pv__check_weighting(pv_diagnosis *found, const pv_classifier *c) {
    const pv_combination *m = c->combination;
    if (!m || !c->prevalence)
        return;
    if (m->rank > 0) {
        bool differs = pv_combination_differs(m);
        pv_check *check =
            pv__check_add(found, "population", "Whether the linear model is adequate in the population", m->p_value);
        pv__check_say(check,
                      "The efficient and the weighted estimate of the slopes %s (Hausman's test: chi-square %.1f, df "
                      "%lld, p = %.2g).%s",
                      differs ? "differ" : "agree", m->statistic, (long long)m->rank, m->p_value,
                      !differs || m->use == PV_ESTIMATE_EFFICIENT ? ""
                      : m->use == PV_ESTIMATE_WEIGHTED
                          ? " The weighted one is in use, which does not assume the linear model."
                          : " Where they do the weighted one is in use.");
        if (!(m->p_value >= LEVEL) && m->use == PV_ESTIMATE_EFFICIENT)
            pv__check_fail(found, check,
                           "The linear model is too simple, and the estimates and intervals assume it: add squares or "
                           "logarithms of columns (the report of eval shows where)%s, or fit with `infer=robust`.",
                           c->stratified ? ", let the strata be features" : "");
        if (!check->ok)
            pv__format(check->warning, sizeof check->warning, "%s %s", check->text, check->remedy);
    }
    check_strata(found, c);
    check_freedom(found, c);
    check_rows(found, c);
}
