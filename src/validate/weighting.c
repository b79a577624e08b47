/* Whether the linear model is adequate in the population that was stated, and what is in use where it is not. */
#include <math.h>

#include "base/text.h"
#include "data/schema_learn.h"
#include "infer/infer.h"
#include "validate/checks.h"

static const double LEVEL = 0.01; /* of the test, before it is a problem */
static const double FEW = 10;     /* degrees of freedom */

/* The coefficient of the least degrees of freedom, from 1; 0: none has few. */
static size_t fewest(const pv_classifier *c) {
    size_t P = pv_model_params(c->model), terms = pv__model_slopes(c->model) + 1, worst = 0;
    for (size_t i = 0; i < P; i++)
        if (i % terms > 0 && c->combination->df[i] < FEW &&
            (worst == 0 || c->combination->df[i] < c->combination->df[worst]))
            worst = i;
    return worst;
}

/* A handful of units that decide a coefficient: its interval is the best that they allow, and that is not good. */
static void check_freedom(pv_diagnosis *found, const pv_classifier *c) {
    size_t worst = c->combination->use == PV_ESTIMATE_EFFICIENT ? 0 : fewest(c), terms = pv__model_slopes(c->model) + 1;
    if (worst == 0)
        return;
    const pv_schema *schema = c->schema;
    size_t feature = worst % terms - 1 + schema->offset, at = 0, source = 0, first = 0;
    for (size_t s = 0; s < schema->sources; s++) {
        size_t width = pv_source_width(&schema->source[s]);
        if (feature >= at && feature < at + width) {
            source = s;
            first = at;
        }
        at += width;
    }
    /* A term of a term, or of an indicator, is none. */
    bool plain =
        source < pv__schema_plain(schema) && feature == first && schema->source[source].type == PV_COLUMN_NUMBER;
    const pv__shown shown = pv__show(schema->feature[feature]);
    const char *name = shown.text;
    pv_check *check =
        pv__check_add(found, "few_decide", "Whether many rows decide each coefficient", c->combination->df[worst]);
    if (plain)
        pv__check_say(
            check,
            "Few rows decide the coefficient of '%.60s' (%.1f degrees of freedom), so its interval may be too "
            "short. If the column is a measurement, the term log(%.60s), where it is positive, or "
            "ns(%.60s,3) may help.",
            name, c->combination->df[worst], name, name);
    else
        pv__check_say(
            check,
            "Few rows decide the coefficient of '%.60s' (%.1f degrees of freedom), so its interval may be too "
            "short. %s may help.",
            name, c->combination->df[worst],
            schema->source[source].type == PV_COLUMN_TEXT ? "Joining rare levels, or more rows of this one,"
                                                          : "More rows, or fewer terms,");
    pv__format(check->warning, sizeof check->warning, "%s", check->text); /* of the data, and no failure of the fit */
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
                      "The efficient and the weighted estimate of the slopes %s (Hausman's test: chi-square %.1f of "
                      "%lld, p = %.2g).%s",
                      differs ? "differ" : "agree", m->statistic, (long long)m->rank, m->p_value,
                      !differs || m->use == PV_ESTIMATE_EFFICIENT ? ""
                      : m->use == PV_ESTIMATE_WEIGHTED ? " The weighted one is in use, which needs no linear model."
                                                       : " Where they do the weighted one is in use.");
        if (!(m->p_value >= LEVEL) && m->use == PV_ESTIMATE_EFFICIENT)
            pv__check_fail(found, check,
                           "The linear model is too simple, and the estimates and intervals take it for right: give "
                           "columns their squares or logarithms (the report of eval shows where)%s, or fit with "
                           "%s.",
                           c->stratified ? ", let the strata be features" : "",
                           c->posterior ? "`infer=robust`" : "`weighting=auto` or `infer=robust`");
        if (!check->ok)
            pv__format(check->warning, sizeof check->warning, "%s %s", check->text, check->remedy);
    }
    check_freedom(found, c);
}
