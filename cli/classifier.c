/* A classifier as text, for fit and summary. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"

#include <math.h>
#include <string.h>

static void put_padded(const char *name, int width) {
    fputs("  ", stdout);
    cli_put_name(name, width);
}

static int wider(int width, const char *name) {
    int own = cli_name_width(name);
    return own > width ? own : width;
}

/* Column heads for the ends of an interval: "5 %" and "95 %". */
typedef struct bounds {
    char lo[16], hi[16];
} bounds;

static bounds bound_names(double level) {
    bounds names;
    snprintf(names.lo, sizeof names.lo, "%.4g %%", 50 - 50 * level);
    snprintf(names.hi, sizeof names.hi, "%.4g %%", 50 + 50 * level);
    return names;
}

void cli_print_classes(const pv_classifier *classifier, const pv_summary *summary) {
    int width = 5;
    bounds names = bound_names(summary->level);
    const pv_spread *marginal = summary->marginal;
    for (int y = 0; y < classifier->schema->classes; y++)
        width = wider(width, classifier->schema->labels[y]);
    bool relative = pv_classifier_is_relative(classifier);
    put_padded("label", width);
    printf("  %12s", "in the rows");
    if (!relative)
        printf("  %12s  %12s", classifier->estimated ? "estimated" : "population", "of the model");
    if (classifier->posterior && !relative)
        printf("  %12s  %12s", names.lo, names.hi);
    fputc('\n', stdout);
    for (int y = 0; y < classifier->schema->classes; y++) {
        put_padded(classifier->schema->labels[y], width);
        printf("  %12.6g", classifier->design[y]);
        if (relative) {
            fputc('\n', stdout);
            continue;
        }
        if (classifier->prevalence)
            printf("  %12.6g", classifier->prevalence[y]);
        else
            printf("  %12s", "-");
        printf("  %12.6g", marginal[y].mean);
        if (classifier->posterior)
            printf("  %12.6g  %12.6g", marginal[y].lo, marginal[y].hi);
        fputc('\n', stdout);
    }
}

void cli_print_label_error(const pv_classifier *classifier, const char *title) {
    const pv_label_error *e = classifier->label_error;
    static const char *const names[2][2] = {{"specificity", "sensitivity"}, {"npv", "ppv"}};
    if (!e)
        return;
    printf("%s", title);
    for (int y = 1; y >= 0; y--) {
        printf("%s %.4g", names[e->predictive][y], e->value[y]);
        if (isfinite(e->units[y]))
            printf(" (from %s label%s)", pv_group_digits(e->units[y]).text, e->units[y] == 1 ? "" : "s");
        fputs(y == 1 ? ", " : "", stdout);
    }
    if (e->predictive)
        printf("; sensitivity %.4g, specificity %.4g", e->correct[1], e->correct[0]);
    printf(
        " of the recorded label.\n%*sAssumes errors that do not depend on the columns; estimates and predictions are "
        "of the true label\n",
        *title == ' ' ? (int)strlen(title) : 0, "");
}

/* ---- coefficients ------------------------------------------------------------------------------------------------ */

/* What is shown next to an estimate. */
typedef enum shown { SHOWN_ALONE, SHOWN_DRAWS, SHOWN_ERRORS, SHOWN_TESTS } shown;

static shown shown_of(const pv_classifier *classifier, const pv_summary *summary) {
    if (classifier->posterior)
        return SHOWN_DRAWS;
    return summary->has_tests ? SHOWN_TESTS : summary->has_errors ? SHOWN_ERRORS : SHOWN_ALONE;
}

static void print_heads(shown what, bool details, double level, bool student) {
    char interval[32];
    snprintf(interval, sizeof interval, "%.4g %% interval", 100 * level);
    if (what == SHOWN_ALONE)
        printf("  %12s  %12s\n", "coefficient", "odds ratio");
    else if (what == SHOWN_TESTS)
        printf(" %11s %10s %8s %9s %10s %21s\n", "coefficient", "std. error", student ? "t" : "z", "p", "odds ratio",
               interval);
    else
        printf(" %11s %10s %21s %10s %21s%s\n", "coefficient", what == SHOWN_DRAWS ? "sd" : "std. error", interval,
               "odds ratio", interval, details && what == SHOWN_DRAWS ? "   sign" : "");
}

/* A power of ten: the odds ratio of this many units says more than that of one unit, which would be 1.0000001 or
 * infinite, because the column is in tiny or huge units. 1: the unit of the column. */
double cli_odds_unit(const pv_spread *log_odds) {
    const double tiny = 5e-4, huge = 50;
    bool bounded = isfinite(log_odds->lo) && isfinite(log_odds->hi);
    double size = bounded ? fmax(fabs(log_odds->lo), fabs(log_odds->hi)) : fabs(log_odds->mean);
    double spread = bounded ? (log_odds->hi - log_odds->lo) / 4 : 0;
    if (!(size > 0) || !isfinite(size) || (size >= tiny && fmax(fabs(log_odds->mean), spread) <= huge))
        return 1;
    return pow(10, -round(log10(size)));
}

void cli_unit_text(double unit, char *text, size_t size) {
    snprintf(text, size, "1e%.0f units", log10(unit));
}

/* Whether it differs from 1 but would be printed as 1 with this many decimals. */
static bool is_lost(double odds, int decimals) {
    double off = fabs(odds - 1);
    return off * pow(10, decimals) < 0.5 && off > 1e-8;
}

/* Prints an odds ratio and its bounds with enough decimals to distinguish them from 1 and from each other: never 1 (1
 * to 1). */
static void print_odds(const pv_spread *s, double unit) {
    double ratio = exp(unit * s->mean), lo = exp(unit * s->lo), hi = exp(unit * s->hi);
    double width = hi - lo, most = fmax(ratio, hi);
    int decimals = 2;
    while (decimals < 8 && (width * pow(10, decimals) < 10 || is_lost(lo, decimals) || is_lost(hi, decimals)))
        decimals++;
    if (isfinite(width) && most < 1000 && width > 0)
        printf(" %10.*f %10.*f %10.*f", decimals, ratio, decimals, lo, decimals, hi);
    else
        printf(" %10.4g %10.4g %10.4g", ratio, lo, hi);
}

void cli_print_unit(double unit) {
    char text[32];
    if (unit == 1)
        return;
    cli_unit_text(unit, text, sizeof text);
    printf("  per %s", text);
}

static void print_coefficient(const pv_coefficient *k, shown what, bool details, bool slope) {
    const pv_spread *s = &k->value;
    if (isnan(s->mean)) {
        puts("          NA   (constant within every matched set)");
        return;
    }
    double unit = slope ? cli_odds_unit(s) : 1;
    if (what == SHOWN_ALONE) {
        printf("  %12.6g", s->mean);
        if (slope)
            printf("  %12.6g", exp(unit * s->mean));
        cli_print_unit(unit);
        fputc('\n', stdout);
        return;
    }
    bool sign = details && what == SHOWN_DRAWS;
    if (isnan(s->sd)) /* an intercept that is determined by the others */
        printf(" %11.4g", s->mean);
    else if (what == SHOWN_TESTS)
        printf(" %11.4g %10.4g %8.3f %9.3g", s->mean, s->sd, k->z, k->p_value);
    else
        printf(" %11.4g %10.4g %10.4g %10.4g", s->mean, s->sd, s->lo, s->hi);
    if (slope)
        print_odds(s, unit);
    else if (sign)
        printf(" %10s %10s %10s", "", "", "");
    if (sign)
        printf(" %6.3f", s->sign);
    cli_print_unit(unit);
    fputc('\n', stdout);
}

/* "reference levels: age 25-34, tobacco 0-9" */
static void print_references(const pv_schema *schema) {
    bool any = false;
    for (size_t s = 0; s < schema->sources; s++)
        if (schema->source[s].type == PV_COLUMN_TEXT) {
            fputs(any ? ", " : "  reference levels: ", stdout);
            cli_put_name(schema->source[s].name, 0);
            fputc(' ', stdout);
            cli_put_name(schema->source[s].level[0], 0);
            any = true;
        }
    if (any)
        fputc('\n', stdout);
    if (schema->offset) {
        fputs("  offset: ", stdout);
        cli_put_name(schema->source[0].name, 0);
        puts(", with a coefficient of 1");
    }
}

/* Prints which labels an equation compares. */
static void print_contrast(const pv_classifier *classifier, const char *label, bool further) {
    char *const *labels = classifier->schema->labels;
    bool ordered = pv_model_has_thresholds(classifier->model);
    fputs(ordered ? "  higher labels against lower ones, from " : further ? "\n  " : "  ", stdout);
    cli_put_name(ordered ? labels[0] : label, 0);
    fputs(ordered ? " to " : " against ", stdout);
    cli_put_name(ordered ? labels[classifier->schema->classes - 1] : labels[0], 0);
    fputc('\n', stdout);
}

/* The coefficients of a curve are meaningless one by one. */
static bool is_curve(const pv_classifier *classifier, const pv_summary *summary, size_t at) {
    return at >= summary->intercepts && pv_classifier_is_curve(classifier, (int)(at - summary->intercepts));
}

void cli_print_coefficients(const pv_classifier *classifier, const pv_summary *summary, bool details) {
    shown what = shown_of(classifier, summary);
    int width = 11;
    bool student = false;
    if (!summary->coefficient)
        printf("  %zu parameters\n", pv_model_params(classifier->model));
    for (size_t at = 0; summary->coefficient && at < summary->terms; at++) {
        if (is_curve(classifier, summary, at))
            continue;
        width = wider(width, summary->coefficient[at].name);
        student |= isfinite(summary->coefficient[at].df);
    }
    for (size_t e = 0; summary->coefficient && e < summary->equations; e++) {
        const pv_coefficient *own = summary->coefficient + e * summary->terms;
        print_contrast(classifier, own->label, e > 0);
        put_padded("", width);
        print_heads(what, details, summary->level, student);
        for (size_t at = 0; at < summary->terms; at++) {
            if (is_curve(classifier, summary, at))
                continue;
            put_padded(own[at].name, width);
            print_coefficient(&own[at], what, details, at >= summary->intercepts);
        }
    }
    if (summary->coefficient)
        print_references(classifier->schema);
}

/* ---- the prior --------------------------------------------------------------------------------------------------- */

char *cli_prior(pv_ctx *ctx, const pv_classifier *c, bool *chosen) {
    pv_fit_options *options = NULL;
    *chosen = false;
    pv_status status = c->record && cli_has_prior(c) ? pv_classifier_options(ctx, c, &options) : PV_OK;
    if (status == PV_ERR_MEMORY)
        cli_no_memory("for the options of the model");
    if (!options)
        return cli_copy("");
    char *prior = cli_copy(options->prior ? options->prior : "");
    *chosen = options->prior_chosen;
    pv_fit_options_free(ctx, options);
    return prior;
}
