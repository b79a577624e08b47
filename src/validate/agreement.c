/* Whether the line of a fit holds in the population that was stated, and whether it was mended where it does not. */
#include <math.h>

#include "infer/infer.h"
#include "validate/checks.h"

static const double LEVEL = 0.01;    /* of the test, before it is a problem; and of the mean, */
static const double DISTANCE = 2.58; /* in standard errors */

static void say(const pv_classifier *c, int y, pv_check *check) {
    const pv_agreement *a = c->agreement;
    char test[160] = "", done[160] = "";
    if (a->df > 0)
        pv__format(test, sizeof test, " Profile and iw find %s (chi-square %.1f of %lld, p = %.2g%s).",
                   pv_agreement_differs(a) ? "different lines" : "the same line", a->statistic, (long long)a->df,
                   a->p_value, a->chosen || a->exponent > 0 ? "" : "; a problem below 0.01");
    if (a->chosen)
        pv__format(done, sizeof done, " Cross-validation chose the exponent %.4g between them.", a->exponent);
    else if (a->exponent > 0)
        pv__format(done, sizeof done, " The fit has the exponent %.4g between them.", a->exponent);
    pv__check_say(check,
                  "The mean risk of %.60s over the rows, weighted to the population, was %.4g where %.4g is stated: "
                  "%.1f standard errors%s.%s%s",
                  c->schema->labels[y], a->mean[y], c->prevalence[y], a->z[y],
                  a->shift[y] != a->shift[y > 0 ? 0 : 1] ? ", and was matched" : "", test, done);
}

void pv__check_agreement(pv_diagnosis *found, const pv_classifier *c) {
    const pv_agreement *a = c->agreement;
    if (!a || !c->prevalence)
        return;
    int y = pv_agreement_farthest(a, c->schema->classes);
    bool matched = a->shift[y] != a->shift[y > 0 ? 0 : 1], mended = a->chosen || a->exponent > 0;
    pv_check *check = pv__check_add(found, "population", "Whether the line holds in the population",
                                    a->df > 0 ? a->p_value : a->z[y]);
    say(c, y, check);
    bool differs = a->df > 0 && !(a->p_value >= LEVEL), off = !(fabs(a->z[y]) <= DISTANCE) && !matched;
    if (c->stratified && (differs || off) && !mended)
        pv__check_fail(
            found, check,
            "The model is too simple, and its intervals take it for right: give columns their squares or logarithms or "
            "let strata be features, or fit with `infer=robust`, the weighted estimator and its intervals.");
    else if (differs && !mended && c->posterior)
        pv__check_fail(found, check,
                       "The model is too simple, and intervals take it for right: give columns their squares or "
                       "logarithms (the report of eval shows where), or fit with `infer=robust`.");
    else if (differs && !mended)
        pv__check_fail(found, check,
                       "The model is too simple: give columns their squares or logarithms (the report of eval shows "
                       "where), or fit with `robust=auto`.");
    else if (off && !mended)
        pv__check_fail(found, check, "Risks are wrong on average: fit with `match=shrunk`.");
    if (!check->ok)
        pv__format(check->warning, sizeof check->warning, "%s %s", check->text, check->remedy);
}
