/* A classifier in words and as JSON: what fit and summary both show. */
#include "common.h"

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

json_t *cli_json_marginal_kind(const pv_classifier *c) {
    return c->loss == PV_LOSS_IG ? cli_json_text(pv_marginal_name(c->marginal)) : json_null();
}

json_t *cli_json_marginal(const pv_classifier *classifier) {
    double *marginal = cli_alloc((size_t)classifier->classes, sizeof *marginal);
    for (int y = 0; y < classifier->classes; y++)
        marginal[y] = exp(classifier->log_marginal[y]);
    json_t *object = cli_json_by_label(classifier->labels, classifier->classes, marginal);
    free(marginal);
    return object;
}

void cli_print_classes(const pv_classifier *classifier) {
    int width = 5;
    for (int y = 0; y < classifier->classes; y++)
        width = characters(classifier->labels[y]) > width ? characters(classifier->labels[y]) : width;
    print_padded("label", width);
    printf("  %12s  %12s  %12s\n", "in the data", "stated", "in the model");
    for (int y = 0; y < classifier->classes; y++) {
        print_padded(classifier->labels[y], width);
        printf("  %12.6g", classifier->design[y]);
        if (classifier->prevalence)
            printf("  %12.6g", classifier->prevalence[y]);
        else
            printf("  %12s", "-");
        printf("  %12.6g\n", exp(classifier->log_marginal[y]));
    }
}

/* ---- coefficients ------------------------------------------------------------------------------------------------ */

static const char *coefficient_name(const pv_classifier *classifier, int at) {
    return at == 0 ? "(Intercept)" : classifier->encoding->feature[at - 1];
}

/* [classes-1][1 + features]; NULL after an error was printed. The caller frees. */
static double *coefficients(cli_call *call, const pv_classifier *classifier, int *code) {
    size_t count = (size_t)(classifier->classes - 1) * ((size_t)classifier->encoding->features + 1);
    double *values = cli_alloc(count, sizeof *values);
    pv_status status = pv_classifier_coefficients(call->ctx, classifier, values);
    if (status == PV_OK)
        return values;
    *code = cli_fail(call, status);
    free(values);
    return NULL;
}

int cli_json_coefficients(cli_call *call, const pv_classifier *classifier, json_t **object) {
    *object = NULL;
    if (!pv_model_is_linear(classifier->model))
        return CLI_OK;
    int code = CLI_OK, width = classifier->encoding->features + 1;
    double *values = coefficients(call, classifier, &code);
    if (!values)
        return code;
    *object = json_object();
    for (int y = 1; y < classifier->classes; y++) {
        json_t *row = classifier->classes == 2 ? *object : json_object();
        for (int at = 0; at < width; at++) {
            json_t *entry = json_object();
            cli_json_set(entry, "value", cli_json_real(values[(y - 1) * width + at]));
            cli_json_set(row, coefficient_name(classifier, at), entry);
        }
        if (row != *object)
            cli_json_set(*object, classifier->labels[y], row);
    }
    free(values);
    return CLI_OK;
}

int cli_print_coefficients(cli_call *call, const pv_classifier *classifier) {
    if (!pv_model_is_linear(classifier->model)) {
        printf("  %zu parameters\n", pv_model_params(classifier->model));
        return CLI_OK;
    }
    int code = CLI_OK, columns = classifier->encoding->features + 1, width = 11;
    double *values = coefficients(call, classifier, &code);
    if (!values)
        return code;
    for (int at = 1; at < columns; at++)
        width =
            characters(coefficient_name(classifier, at)) > width ? characters(coefficient_name(classifier, at)) : width;
    for (int y = 1; y < classifier->classes; y++) {
        if (classifier->classes > 2)
            printf("%s  %s against %s\n", y > 1 ? "\n" : "", classifier->labels[y], classifier->labels[0]);
        print_padded("", width);
        printf("  %12s  %12s\n", "coefficient", "odds ratio");
        for (int at = 0; at < columns; at++) {
            double value = values[(y - 1) * columns + at];
            print_padded(coefficient_name(classifier, at), width);
            printf("  %12.6g", value);
            if (at > 0)
                printf("  %12.6g", exp(value));
            fputc('\n', stdout);
        }
    }
    free(values);
    return CLI_OK;
}
