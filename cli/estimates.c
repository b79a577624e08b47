/* The two estimates of a linear model: which is in use and whether they agree, as text and JSON. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"

#include <math.h>

static void print_test(const pv_combination *m) {
    if (m->rank > 0)
        printf("  Hausman's test of the efficient against the weighted estimate: chi-square %.1f, df %lld, p = %.2g\n",
               m->statistic, (long long)m->rank, m->p_value);
}

static void print_contrast(const char *label, const char *first) {
    fputs("  ", stdout);
    cli_put_name(label, 0);
    fputs(" against ", stdout);
    cli_put_name(first, 0);
    fputc('\n', stdout);
}

/* The coefficients of a curve are meaningless one by one. */
static bool is_curve(const pv_classifier *c, const pv_summary *s, size_t i) {
    return i >= s->intercepts && pv_classifier_is_curve(c, (int)(i - s->intercepts));
}

/* The efficient estimate of each coefficient. */
static void print_linear(const pv_classifier *c, const pv_summary *s, bool details) {
    char lo[16], hi[16];
    int width = 11;
    snprintf(lo, sizeof lo, "%.4g %%", 50 - 50 * s->level);
    snprintf(hi, sizeof hi, "%.4g %%", 50 + 50 * s->level);
    for (size_t i = 0; i < s->terms; i++)
        if (!is_curve(c, s, i))
            width = cli_name_width(s->coefficient[i].name) > width ? cli_name_width(s->coefficient[i].name) : width;
    for (size_t e = 0; e < s->equations; e++) {
        const pv_coefficient *own = s->coefficient + e * s->terms;
        if (s->equations > 1)
            print_contrast(own->label, c->schema->labels[0]);
        printf("  %*s %11s %10s %10s %10s %10s%s\n", width, "", "coefficient", "std. error", lo, hi, "odds ratio",
               details ? "  weighting" : "");
        for (size_t i = 0; i < s->terms; i++) {
            if (is_curve(c, s, i))
                continue;
            const pv_spread *linear = &own[i].linear;
            fputs("  ", stdout);
            cli_put_name(own[i].name, width);
            printf(" %11.4g %10.4g %10.4g %10.4g", linear->mean, linear->sd, linear->lo, linear->hi);
            double unit = i >= s->intercepts ? cli_odds_unit(&own[i].value) : 1;
            if (i >= s->intercepts)
                printf(" %10.4g", exp(unit * linear->mean));
            if (details && i >= s->intercepts)
                printf(" %10.2f", own[i].weighting);
            cli_print_unit(unit);
            fputc('\n', stdout);
        }
    }
    if (details)
        printf("  weighting: proportion of the weighted estimate in the combined coefficient, 0 to 1\n");
}

/* The smallest and largest weight of the weighted estimate among the slopes. */
static void weighting_range(const pv_summary *s, double *least, double *most) {
    *least = 1;
    *most = 0;
    for (size_t e = 0; e < s->equations; e++)
        for (size_t i = s->intercepts; i < s->terms; i++) {
            *least = fmin(*least, s->coefficient[e * s->terms + i].weighting);
            *most = fmax(*most, s->coefficient[e * s->terms + i].weighting);
        }
}

void cli_print_estimate(const pv_classifier *c, const pv_summary *s, const char *title) {
    const double none = 0.005;
    const pv_combination *m = c->combination;
    double least, most;
    if (!m || !s->coefficient)
        return;
    weighting_range(s, &least, &most);
    fputs(title, stdout);
    if (m->use == PV_ESTIMATE_EFFICIENT)
        printf("efficient, which assumes that the linear model is right\n");
    else if (m->controls > 0)
        printf("weighted, with the population sample as %lld control variates\n", (long long)m->controls);
    else if (m->use == PV_ESTIMATE_WEIGHTED)
        printf("weighted, as with --loss iw\n");
    else if (most < none)
        printf("combined: the efficient estimate in every slope\n");
    else if (least > 1 - none)
        printf("combined: the weighted estimate, as with --loss iw, in every slope\n");
    else
        printf("combined: the weighted estimate contributes %.2f to %.2f of the slopes\n", fmax(0, least), most);
}

/* Prints which estimate is in use, and the result of the test of the linear model. */
void cli_print_adequacy(const pv_classifier *c) {
    const double level = 0.05;
    const pv_combination *m = c->combination;
    if (!m)
        return;
    const char *model = c->smoothing ? "additive" : "linear";
    bool tested = m->rank > 0, contradicted = tested && m->p_value < level;
    if (m->use == PV_ESTIMATE_EFFICIENT) {
        printf("estimate: efficient (assumes that the %s model is right)", model);
        if (contradicted)
            printf("; Hausman's test rejects it (p = %.2g): use --infer robust, which does not assume it\n",
                   m->p_value);
        else if (tested)
            printf("; Hausman's test does not reject it (p = %.2g)\n", m->p_value);
        else
            puts(" (--infer robust does not)");
        return;
    }
    printf("estimate: %s", m->use == PV_ESTIMATE_WEIGHTED ? "weighted" : "combined");
    if (m->controls > 0)
        printf(", with the population sample as %lld control variates", (long long)m->controls);
    fputs(" (valid even if the model is wrong)", stdout);
    if (contradicted)
        printf("; Hausman's test rejects the %s model (p = %.2g):\n  coefficients are those of %s\n", model, m->p_value,
               PV_WEIGHTED_ESTIMAND);
    else if (tested)
        printf("; Hausman's test does not reject the %s model (p = %.2g)\n", model, m->p_value);
    else
        fputc('\n', stdout);
}

void cli_print_estimates(const pv_classifier *c, const pv_summary *s, bool details) {
    const pv_combination *m = c->combination;
    if (!m)
        return;
    fputc('\n', stdout);
    if (m->use == PV_ESTIMATE_COMBINED && s->coefficient && s->has_errors) {
        printf("  If the linear model is right, the efficient estimate is more precise:\n");
        print_linear(c, s, details);
    }
    print_test(m);
}
