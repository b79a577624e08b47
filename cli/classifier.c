/* A classifier in words and as JSON: what fit and summary both show. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>

static void put_padded(const char *name, int width) {
    fputs("  ", stdout);
    cli_put_name(name, width);
}

static int wider(int width, const char *name) {
    int own = cli_name_width(name);
    return own > width ? own : width;
}

json_t *cli_json_prevalence(const pv_classifier *c) {
    return c->prevalence ? cli_json_by_label(c->schema->labels, c->schema->classes, c->prevalence) : json_null();
}

json_t *cli_json_prevalence_n(const pv_classifier *c) {
    if (!c->prevalence)
        return json_null();
    return isinf(c->prevalence_n) ? cli_json_text("known") : cli_json_real(c->prevalence_n);
}

json_t *cli_json_sample(const pv_classifier *classifier) {
    if (!classifier->sample_source)
        return json_null();
    json_t *object = cli_json_object();
    cli_json_set(object, "source", cli_json_text(classifier->sample_source));
    cli_json_set(object, "rows", json_integer((json_int_t)classifier->sample_rows));
    cli_json_set(object, "estimated", json_boolean(classifier->estimated));
    return object;
}

json_t *cli_json_marginal_kind(const pv_classifier *c) {
    return pv_loss_has_marginal(c->loss) ? cli_json_text(pv_marginal_name(c->marginal)) : json_null();
}

json_t *cli_json_marginal(const pv_classifier *classifier, const pv_summary *summary) {
    json_t *object = cli_json_object();
    for (int y = 0; y < classifier->schema->classes; y++)
        cli_json_set(object, classifier->schema->labels[y], cli_json_real(summary->marginal[y].mean));
    return object;
}

/* Heads of the columns of an interval: "5 %" and "95 %". */
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
    printf("  %12s", "in the data");
    if (!relative)
        printf("  %12s  %12s", classifier->estimated ? "estimated" : "stated", "in the model");
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

/* ---- coefficients ------------------------------------------------------------------------------------------------ */

/* What is shown beside an estimate. */
typedef enum shown { SHOWN_ALONE, SHOWN_DRAWS, SHOWN_ERRORS, SHOWN_TESTS } shown;

static shown shown_of(const pv_classifier *classifier, const pv_summary *summary) {
    if (classifier->posterior)
        return SHOWN_DRAWS;
    return summary->has_tests ? SHOWN_TESTS : summary->has_errors ? SHOWN_ERRORS : SHOWN_ALONE;
}

static json_t *json_coefficient(const pv_coefficient *k, shown what, bool details, bool slope) {
    const pv_spread *s = &k->value;
    json_t *entry = cli_json_object();
    cli_json_set(entry, "value", cli_json_real(s->mean));
    if (what == SHOWN_ALONE)
        return entry;
    cli_json_set(entry, what == SHOWN_DRAWS ? "sd" : "se", cli_json_real(s->sd));
    cli_json_set(entry, "lo", cli_json_real(s->lo));
    cli_json_set(entry, "hi", cli_json_real(s->hi));
    if (what == SHOWN_TESTS) {
        cli_json_set(entry, "z", cli_json_real(k->z));
        cli_json_set(entry, "p", cli_json_real(k->p_value));
    }
    if (!details && what == SHOWN_DRAWS)
        return entry;
    if (!isnan(k->linear.mean)) {
        json_t *linear = cli_json_object();
        cli_json_set(linear, "value", cli_json_real(k->linear.mean));
        cli_json_set(linear, "se", cli_json_real(k->linear.sd));
        cli_json_set(linear, "lo", cli_json_real(k->linear.lo));
        cli_json_set(linear, "hi", cli_json_real(k->linear.hi));
        cli_json_set(entry, "if_linear", linear);
        cli_json_set(entry, "weighting", cli_json_real(k->weighting));
    }
    if (isfinite(k->df))
        cli_json_set(entry, "df", cli_json_real(k->df));
    if (slope) {
        cli_json_set(entry, "odds_ratio", cli_json_real(k->odds_ratio));
        cli_json_set(entry, "odds_ratio_lo", cli_json_real(k->odds_ratio_lo));
        cli_json_set(entry, "odds_ratio_hi", cli_json_real(k->odds_ratio_hi));
    }
    if (what == SHOWN_DRAWS)
        cli_json_set(entry, "sign", cli_json_real(s->sign));
    return entry;
}

json_t *cli_json_coefficients(const pv_classifier *classifier, const pv_summary *summary, bool details) {
    if (!summary->coefficient)
        return NULL;
    json_t *object = cli_json_object();
    shown what = shown_of(classifier, summary);
    for (size_t e = 0; e < summary->equations; e++) {
        const pv_coefficient *own = summary->coefficient + e * summary->terms;
        json_t *row = summary->equations == 1 ? object : cli_json_object();
        for (size_t at = 0; at < summary->terms; at++)
            cli_json_set(row, own[at].name, json_coefficient(&own[at], what, details, at >= summary->intercepts));
        if (row != object)
            cli_json_set(object, own->label, row);
    }
    return object;
}

static void print_heads(shown what, bool details, double level, bool student) {
    bounds names = bound_names(level);
    if (what == SHOWN_ALONE)
        printf("  %12s  %12s\n", "coefficient", "odds ratio");
    else if (what == SHOWN_TESTS)
        printf(" %11s %10s %8s %9s %10s %10s %10s\n", "coefficient", "std. error", student ? "t" : "z", "p",
               "odds ratio", names.lo, names.hi);
    else
        printf(" %11s %10s %10s %10s %10s %10s %10s%s\n", "coefficient", what == SHOWN_DRAWS ? "sd" : "std. error",
               names.lo, names.hi, "odds ratio", names.lo, names.hi, details && what == SHOWN_DRAWS ? "   sign" : "");
}

static void print_coefficient(const pv_coefficient *k, shown what, bool details, bool slope) {
    const pv_spread *s = &k->value;
    if (isnan(s->mean)) {
        puts("          NA   (constant within every matched set)");
        return;
    }
    if (what == SHOWN_ALONE) {
        printf("  %12.6g", s->mean);
        if (slope)
            printf("  %12.6g", k->odds_ratio);
        fputc('\n', stdout);
        return;
    }
    bool sign = details && what == SHOWN_DRAWS;
    if (isnan(s->sd)) /* an intercept that follows from the others */
        printf(" %11.4g", s->mean);
    else if (what == SHOWN_TESTS)
        printf(" %11.4g %10.4g %8.3f %9.3g", s->mean, s->sd, k->z, k->p_value);
    else
        printf(" %11.4g %10.4g %10.4g %10.4g", s->mean, s->sd, s->lo, s->hi);
    if (slope)
        printf(" %10.4g %10.4g %10.4g", k->odds_ratio, k->odds_ratio_lo, k->odds_ratio_hi);
    else if (sign)
        printf(" %10s %10s %10s", "", "", "");
    if (sign)
        printf(" %6.3f", s->sign);
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

/* Which labels an equation compares. */
static void print_contrast(const pv_classifier *classifier, const char *label, bool further) {
    char *const *labels = classifier->schema->labels;
    bool ordered = pv_model_has_thresholds(classifier->model);
    fputs(ordered ? "  higher labels against lower ones, from " : further ? "\n  " : "  ", stdout);
    cli_put_name(ordered ? labels[0] : label, 0);
    fputs(ordered ? " to " : " against ", stdout);
    cli_put_name(ordered ? labels[classifier->schema->classes - 1] : labels[0], 0);
    fputc('\n', stdout);
}

void cli_print_coefficients(const pv_classifier *classifier, const pv_summary *summary, bool details) {
    shown what = shown_of(classifier, summary);
    int width = 11;
    bool student = false;
    if (!summary->coefficient)
        printf("  %zu parameters\n", pv_model_params(classifier->model));
    for (size_t at = 0; summary->coefficient && at < summary->terms; at++) {
        width = wider(width, summary->coefficient[at].name);
        student |= isfinite(summary->coefficient[at].df);
    }
    for (size_t e = 0; summary->coefficient && e < summary->equations; e++) {
        const pv_coefficient *own = summary->coefficient + e * summary->terms;
        print_contrast(classifier, own->label, e > 0);
        put_padded("", width);
        print_heads(what, details, summary->level, student);
        for (size_t at = 0; at < summary->terms; at++) {
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
    pv_status status = c->record && !c->stacked ? pv_classifier_options(ctx, c, &options) : PV_OK;
    if (status == PV_ERR_MEMORY)
        cli_no_memory("for the options of the model");
    if (!options)
        return cli_copy("");
    char *prior = cli_copy(options->prior ? options->prior : "");
    *chosen = options->prior_chosen;
    pv_fit_options_free(ctx, options);
    return prior;
}
