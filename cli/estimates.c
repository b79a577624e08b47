/* The two estimates of a linear model: which is in use, whether they agree, in words and as JSON. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>

static const char ESTIMAND[] = "the best linear predictor of the log odds in the population";

static void print_test(const pv_combination *m) {
    if (m->rank > 0)
        printf(
            "  Hausman's test that the efficient and the weighted estimate agree: chi-square %.1f of %lld, p = %.2g\n",
            m->statistic, (long long)m->rank, m->p_value);
}

static void print_contrast(const char *label, const char *first) {
    fputs("  ", stdout);
    cli_put_name(label, 0);
    fputs(" against ", stdout);
    cli_put_name(first, 0);
    fputc('\n', stdout);
}

/* The efficient estimate of each coefficient. */
static void print_linear(const pv_classifier *c, const pv_summary *s, bool details) {
    char lo[16], hi[16];
    int width = 11;
    snprintf(lo, sizeof lo, "%.4g %%", 50 - 50 * s->level);
    snprintf(hi, sizeof hi, "%.4g %%", 50 + 50 * s->level);
    for (size_t i = 0; i < s->terms; i++)
        width = cli_name_width(s->coefficient[i].name) > width ? cli_name_width(s->coefficient[i].name) : width;
    for (size_t e = 0; e < s->equations; e++) {
        const pv_coefficient *own = s->coefficient + e * s->terms;
        if (s->equations > 1)
            print_contrast(own->label, c->schema->labels[0]);
        printf("  %*s %11s %10s %10s %10s %10s%s\n", width, "", "coefficient", "std. error", lo, hi, "odds ratio",
               details ? "  weighting" : "");
        for (size_t i = 0; i < s->terms; i++) {
            const pv_spread *linear = &own[i].linear;
            fputs("  ", stdout);
            cli_put_name(own[i].name, width);
            printf(" %11.4g %10.4g %10.4g %10.4g", linear->mean, linear->sd, linear->lo, linear->hi);
            if (i >= s->intercepts)
                printf(" %10.4g", exp(linear->mean));
            if (details && i >= s->intercepts)
                printf(" %10.2f", own[i].weighting);
            fputc('\n', stdout);
        }
    }
    if (details)
        printf("  weighting: the share of the weighted estimate in the combined coefficient, 0 to 1\n");
}

/* Shares of the weighted estimate in the slopes: the least and the most. */
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
        printf("efficient, for a linear model that is right\n");
    else if (m->controls > 0)
        printf("weighted, with the population sample as %lld control variates\n", (long long)m->controls);
    else if (m->use == PV_ESTIMATE_WEIGHTED)
        printf("weighted, as with --loss iw\n");
    else if (most < none)
        printf("combined: the efficient estimate in every slope\n");
    else if (least > 1 - none)
        printf("combined: the weighted estimate, as with --loss iw, in every slope\n");
    else
        printf("combined: the weighted estimate has a share of %.2f to %.2f in the slopes\n", fmax(0, least), most);
}

void cli_print_estimates(const pv_classifier *c, const pv_summary *s, bool details) {
    const pv_combination *m = c->combination;
    if (!m)
        return;
    bool profile = m->rank > 0;
    fputc('\n', stdout);
    if (m->use == PV_ESTIMATE_COMBINED && s->coefficient && s->has_errors) {
        printf("  Whatever the shape of the risk: coefficients and intervals above are of %s.\n", ESTIMAND);
        printf("  If the linear model is right (the efficient estimate):\n");
        print_linear(c, s, details);
    } else if (m->use == PV_ESTIMATE_WEIGHTED && profile) {
        printf("  Whatever the shape of the risk: coefficients and intervals are of %s.\n", ESTIMAND);
    } else if (m->use == PV_ESTIMATE_EFFICIENT) {
        printf("  Coefficients and intervals take the linear model for right (--infer robust does not).\n");
    }
    print_test(m);
}

json_t *cli_json_weighting(const pv_classifier *c) {
    const pv_combination *m = c->combination;
    if (!m)
        return json_null();
    json_t *object = cli_json_object();
    cli_json_set(object, "use", cli_json_text(pv_estimate_name((pv_estimate)m->use)));
    cli_json_set(object, "estimand", m->use == PV_ESTIMATE_EFFICIENT ? json_null() : cli_json_text(ESTIMAND));
    cli_json_set(object, "statistic", m->rank > 0 ? cli_json_real(m->statistic) : json_null());
    cli_json_set(object, "df", json_integer((json_int_t)m->rank));
    cli_json_set(object, "p_value", m->rank > 0 ? cli_json_real(m->p_value) : json_null());
    cli_json_set(object, "units", cli_json_real(m->units));
    cli_json_set(object, "controls", json_integer((json_int_t)m->controls));
    return object;
}
