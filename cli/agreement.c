/* Whether a fit's line holds in the population, in words and as JSON. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>

void cli_print_agreement(const pv_classifier *c) {
    const pv_agreement *a = c->agreement;
    if (!a)
        return;
    int y = pv_agreement_farthest(a, c->schema->classes);
    double shift = a->shift[y] - (y > 0 ? a->shift[0] : a->shift[1]);
    printf("\n  Does the line hold in the population?\n");
    fputs("  mean risk of ", stdout);
    cli_put_name(c->schema->labels[y], 0);
    printf(", rows weighted to the population: %.4g, stated %.4g, z = %.1f\n", a->mean[y], c->prevalence[y], a->z[y]);
    if (a->df > 0)
        printf(
            "  the line of the rows (profile) and that of the population (iw) %s: chi-square %.1f of %lld, p = %.2g\n",
            pv_agreement_differs(a) ? "differ" : "agree", a->statistic, (long long)a->df, a->p_value);
    if (c->stratified && pv_agreement_differs(a) && a->exponent == 0)
        printf("  errors and intervals here are of the first and take it for right; --infer robust has those of the "
               "second\n");
    if (a->chosen || a->exponent > 0)
        printf("  the fit lies %s (--robust %.4g%s)\n",
               a->exponent == 0   ? "on the first"
               : a->exponent == 1 ? "on the second"
                                  : "between them",
               a->exponent, a->chosen ? ", by cross-validation" : "");
    if (fabs(shift) >= 0.0005)
        printf("  output biases matched to the prevalence: log odds moved by %.3f\n", shift);
}

json_t *cli_json_agreement(const pv_classifier *c) {
    const pv_agreement *a = c->agreement;
    if (!a)
        return json_null();
    json_t *object = cli_json_object();
    cli_json_set(object, "mean", cli_json_by_label(c->schema->labels, c->schema->classes, a->mean));
    cli_json_set(object, "z", cli_json_by_label(c->schema->labels, c->schema->classes, a->z));
    cli_json_set(object, "shift", cli_json_by_label(c->schema->labels, c->schema->classes, a->shift));
    cli_json_set(object, "statistic", a->df > 0 ? cli_json_real(a->statistic) : json_null());
    cli_json_set(object, "df", json_integer((json_int_t)a->df));
    cli_json_set(object, "p_value", a->df > 0 ? cli_json_real(a->p_value) : json_null());
    cli_json_set(object, "robust", cli_json_real(a->exponent));
    cli_json_set(object, "chosen", json_boolean(a->chosen));
    return object;
}
