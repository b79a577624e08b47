/* A classifier in words and as JSON: what fit and summary both show. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The characters of UTF-8 text, for alignment: bytes that continue none. */
static int characters(const char *text) {
    int count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

static void print_padded(const char *text, int width) {
    printf("  %s%*s", text, width > characters(text) ? width - characters(text) : 0, "");
}

json_t *cli_json_prevalence(const pv_classifier *c) {
    return c->prevalence ? cli_json_by_label(c->labels, c->classes, c->prevalence) : json_null();
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

json_t *cli_json_marginal(const pv_classifier *classifier) {
    size_t classes = (size_t)classifier->classes;
    cli_spread *spreads = cli_alloc(classes, sizeof *spreads);
    double *marginal = cli_alloc(classes, sizeof *marginal);
    cli_marginal_spreads(classifier, CLI_LEVEL, spreads);
    for (size_t y = 0; y < classes; y++)
        marginal[y] = spreads[y].mean;
    json_t *object = cli_json_by_label(classifier->labels, classifier->classes, marginal);
    free(marginal);
    free(spreads);
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

void cli_print_classes(const pv_classifier *classifier, double level) {
    int width = 5;
    bounds names = bound_names(level);
    cli_spread *marginal = cli_alloc((size_t)classifier->classes, sizeof *marginal);
    cli_marginal_spreads(classifier, level, marginal);
    for (int y = 0; y < classifier->classes; y++)
        width = characters(classifier->labels[y]) > width ? characters(classifier->labels[y]) : width;
    print_padded("label", width);
    printf("  %12s  %12s  %12s", "in the data", classifier->estimated ? "estimated" : "stated", "in the model");
    if (classifier->posterior)
        printf("  %12s  %12s", names.lo, names.hi);
    fputc('\n', stdout);
    for (int y = 0; y < classifier->classes; y++) {
        print_padded(classifier->labels[y], width);
        printf("  %12.6g", classifier->design[y]);
        if (classifier->prevalence)
            printf("  %12.6g", classifier->prevalence[y]);
        else
            printf("  %12s", "-");
        printf("  %12.6g", marginal[y].mean);
        if (classifier->posterior)
            printf("  %12.6g  %12.6g", marginal[y].lo, marginal[y].hi);
        fputc('\n', stdout);
    }
    free(marginal);
}

/* ---- coefficients ------------------------------------------------------------------------------------------------ */

static const char *coefficient_name(const pv_classifier *classifier, int at) {
    return at == 0 ? "(Intercept)" : classifier->encoding->feature[at - 1];
}

/* [classes-1][1 + features]; without a posterior only the mean is set, to the estimate. NULL after an error was
 * printed. The caller frees. */
static cli_spread *coefficients(cli_call *call, const pv_classifier *classifier, double level, int *code) {
    cli_spread *spreads = NULL;
    if (classifier->posterior) {
        *code = cli_coefficient_spreads(call, classifier, level, &spreads);
        return spreads;
    }
    size_t count = pv_model_params(classifier->model);
    double *values = cli_alloc(count, sizeof *values);
    pv_status status = pv_classifier_coefficients(call->ctx, classifier, values);
    if (status == PV_OK) {
        spreads = cli_alloc(count, sizeof *spreads);
        for (size_t i = 0; i < count; i++)
            spreads[i].mean = values[i];
    } else {
        *code = cli_fail(call, status);
    }
    free(values);
    return spreads;
}

static json_t *json_coefficient(const cli_spread *s, bool posterior, bool details, bool slope) {
    json_t *entry = cli_json_object();
    cli_json_set(entry, "value", cli_json_real(s->mean));
    if (!posterior)
        return entry;
    cli_json_set(entry, "sd", cli_json_real(s->sd));
    cli_json_set(entry, "lo", cli_json_real(s->lo));
    cli_json_set(entry, "hi", cli_json_real(s->hi));
    if (!details)
        return entry;
    if (slope) {
        cli_json_set(entry, "odds_ratio", cli_json_real(exp(s->mean)));
        cli_json_set(entry, "odds_ratio_lo", cli_json_real(exp(s->lo)));
        cli_json_set(entry, "odds_ratio_hi", cli_json_real(exp(s->hi)));
    }
    cli_json_set(entry, "sign", cli_json_real(s->sign));
    return entry;
}

int cli_json_coefficients(cli_call *call, const pv_classifier *classifier, double level, bool details,
                          json_t **object) {
    *object = NULL;
    if (!pv_model_has_coefficients(classifier->model))
        return CLI_OK;
    int code = CLI_OK, width = classifier->encoding->features + 1;
    cli_spread *spreads = coefficients(call, classifier, level, &code);
    if (!spreads)
        return code;
    *object = cli_json_object();
    for (int y = 1; y < classifier->classes; y++) {
        json_t *row = classifier->classes == 2 ? *object : cli_json_object();
        for (int at = 0; at < width; at++)
            cli_json_set(
                row, coefficient_name(classifier, at),
                json_coefficient(&spreads[(y - 1) * width + at], classifier->posterior != NULL, details, at > 0));
        if (row != *object)
            cli_json_set(*object, classifier->labels[y], row);
    }
    free(spreads);
    return CLI_OK;
}

static void print_heads(bool posterior, bool details, double level) {
    bounds names = bound_names(level);
    if (!posterior)
        printf("  %12s  %12s\n", "coefficient", "odds ratio");
    else
        printf(" %11s %10s %10s %10s %10s %10s %10s%s\n", "coefficient", "sd", names.lo, names.hi, "odds ratio",
               names.lo, names.hi, details ? "   sign" : "");
}

static void print_coefficient(const cli_spread *s, bool posterior, bool details, bool slope) {
    if (!posterior) {
        printf("  %12.6g", s->mean);
        if (slope)
            printf("  %12.6g", exp(s->mean));
        fputc('\n', stdout);
        return;
    }
    printf(" %11.4g %10.4g %10.4g %10.4g", s->mean, s->sd, s->lo, s->hi);
    if (slope)
        printf(" %10.4g %10.4g %10.4g", exp(s->mean), exp(s->lo), exp(s->hi));
    else if (details)
        printf(" %10s %10s %10s", "", "", "");
    if (details)
        printf(" %6.3f", s->sign);
    fputc('\n', stdout);
}

int cli_print_coefficients(cli_call *call, const pv_classifier *classifier, double level, bool details) {
    bool posterior = classifier->posterior != NULL;
    if (!pv_model_has_coefficients(classifier->model)) {
        printf("  %zu parameters\n", pv_model_params(classifier->model));
        return CLI_OK;
    }
    int code = CLI_OK, columns = classifier->encoding->features + 1, width = 11;
    cli_spread *spreads = coefficients(call, classifier, level, &code);
    if (!spreads)
        return code;
    for (int at = 1; at < columns; at++)
        width =
            characters(coefficient_name(classifier, at)) > width ? characters(coefficient_name(classifier, at)) : width;
    for (int y = 1; y < classifier->classes; y++) {
        printf("%s  %s against %s\n", y > 1 ? "\n" : "", classifier->labels[y], classifier->labels[0]);
        print_padded("", width);
        print_heads(posterior, details, level);
        for (int at = 0; at < columns; at++) {
            print_padded(coefficient_name(classifier, at), width);
            print_coefficient(&spreads[(y - 1) * columns + at], posterior, details, at > 0);
        }
    }
    free(spreads);
    return CLI_OK;
}
