/* pv_assess compared with scikit-learn and NumPy: tests/oracle/metrics.txt, made by make_metrics.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prevail/assess.h"

typedef struct problem {
    char name[64];
    pv_targets targets;
    int32_t *label;
    double *frequency, *weight, *loglik, *log_p, *log_marginal, *prevalence, *stated;
    pv_metrics computed, restated;
    bool assessed;
} problem;

static void problem_clear(problem *p) {
    free(p->label);
    free(p->frequency);
    free(p->weight);
    free(p->loglik);
    free(p->log_p);
    free(p->log_marginal);
    free(p->prevalence);
    free(p->stated);
    *p = (problem){0};
}

static double *read_numbers(char *text, size_t count) {
    double *numbers = calloc(count, sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < count; i++) {
        char *end;
        numbers[i] = strtod(text, &end);
        assert_ptr_not_equal(end, text);
        text = end;
    }
    assert_string_equal(text, "\n");
    return numbers;
}

static void read_labels(problem *p, char *text) {
    double *numbers = read_numbers(text, p->targets.n);
    p->label = calloc(p->targets.n, sizeof *p->label);
    assert_non_null(p->label);
    for (size_t i = 0; i < p->targets.n; i++)
        p->label[i] = (int32_t)numbers[i];
    free(numbers);
}

static void assess(pv_ctx *ctx, problem *p) {
    p->targets.label = p->label;
    p->targets.frequency = p->frequency;
    p->targets.weight = p->weight;
    assert_int_equal(pv_assess(ctx, &p->targets, p->loglik, p->log_marginal, p->log_p, p->prevalence, &p->computed),
                     PV_OK);
    p->assessed = true;
}

static void restate(pv_ctx *ctx, problem *p) {
    pv_judged judged = {
        .log_p = p->log_p, .prevalence = p->prevalence, .loglik = p->loglik, .log_marginal = p->log_marginal};
    pv_assess_options options = pv_assess_options_default();
    options.bootstrap = 0;
    options.prevalence = p->stated;
    pv_assessment found;
    assert_int_equal(pv_assess_intervals(ctx, &p->targets, &judged, &options, &found), PV_OK);
    p->restated = found.value;
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        double before, after;
        memcpy(&before, (const char *)&p->computed + row->offset, sizeof before);
        memcpy(&after, (const char *)&p->restated + row->offset, sizeof after);
        if (isfinite(before) && !pv_metric_depends(row, p->targets.classes))
            assert_true(fabs(before - after) < 1e-12);
    }
    pv_assessment_clear(ctx, &found);
}

static void compare(const problem *p, const pv_metrics *computed, char *text) {
    char name[64];
    int used;
    assert_true(p->assessed);
    assert_int_equal(sscanf(text, "%63s %n", name, &used), 1);
    double expected = strtod(text + used, NULL);
    double got = NAN;
    bool known = strcmp(name, "log_loss_sd") == 0;
    if (known)
        got = computed->log_loss_sd;
    for (const pv_metric_row *row = pv_metric_table; row->name; row++)
        if (strcmp(row->name, name) == 0) {
            memcpy(&got, (const char *)computed + row->offset, sizeof got);
            known = true;
        }
    assert_true(known);
    if (isnan(expected) ? !isnan(got) : !(fabs(got - expected) <= 1e-12 * fmax(1, fabs(expected))))
        fail_msg("%s: %s is %.17g, should be %.17g", p->name, name, got, expected);
}

static void test_against_file(void **state) {
    (void)state;
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    FILE *file = fopen(PV_TEST_DIR "/oracle/metrics.txt", "r");
    assert_non_null(file);
    problem p = {0};
    char *line = NULL;
    size_t size = 0;
    int compared = 0;
    while (getline(&line, &size, file) > 0) {
        char *text = line + strcspn(line, " \n");
        size_t n = p.targets.n, classes = (size_t)p.targets.classes;
        if (strncmp(line, "case ", 5) == 0) {
            problem_clear(&p);
            assert_int_equal(sscanf(text, "%63s %zu %d", p.name, &p.targets.n, &p.targets.classes), 3);
        } else if (strncmp(line, "label ", 6) == 0) {
            read_labels(&p, text);
        } else if (strncmp(line, "frequency ", 10) == 0) {
            p.frequency = read_numbers(text, n * classes);
        } else if (strncmp(line, "weight ", 7) == 0) {
            p.weight = read_numbers(text, n);
        } else if (strncmp(line, "loglik ", 7) == 0) {
            p.loglik = read_numbers(text, n * classes);
        } else if (strncmp(line, "log_p ", 6) == 0) {
            p.log_p = read_numbers(text, n * classes);
        } else if (strncmp(line, "log_marginal ", 13) == 0) {
            p.log_marginal = read_numbers(text, classes);
        } else if (strncmp(line, "prevalence ", 11) == 0) {
            p.prevalence = read_numbers(text, classes);
        } else if (strncmp(line, "metric ", 7) == 0) {
            if (!p.assessed)
                assess(ctx, &p);
            compare(&p, &p.computed, text);
            compared++;
        } else if (strncmp(line, "stated ", 7) == 0) {
            p.stated = read_numbers(text, classes);
            restate(ctx, &p);
        } else if (strncmp(line, "restated ", 9) == 0) {
            compare(&p, &p.restated, text);
            compared++;
        } else {
            assert_int_equal(line[0], '#');
        }
    }
    assert_int_equal(compared, 2 * 10 * 20); /* ten cases in two forms, every metric and log_loss_sd */
    problem_clear(&p);
    free(line);
    fclose(file);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
