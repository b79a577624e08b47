/* The mixture of `model=auto`, as text. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"

#include <math.h>

static void print_row(const char *name, int width, double weight, double gain, double se) {
    fputs("  ", stdout);
    cli_put_name(name, width);
    if (weight > 0)
        printf("  %6.3f", weight);
    else
        printf("  %6s", "-");
    if (isnan(gain))
        printf("  no optimum\n");
    else
        printf("  %10.5f  %10.5f\n", gain, se);
}

void cli_print_stacked(const pv_classifier *c) {
    const pv_stacked *of = c->stacked;
    int width = (int)sizeof "the mixture" - 1;
    if (!of)
        return;
    for (size_t i = 0; i < of->count; i++)
        width = cli_name_width(of->candidate[i].name) > width ? cli_name_width(of->candidate[i].name) : width;
    printf("\n  %-*s  %6s  %10s  %10s\n", width, "candidate", "weight", "gain", "std. error");
    for (size_t i = 0; i < of->count; i++)
        print_row(of->candidate[i].name, width, of->candidate[i].weight, of->candidate[i].gain, of->candidate[i].se);
    print_row("the mixture", width, 1, of->gain, of->se);
    printf("  gain: mean log score in the population above that of the prevalence alone (%.5f), for\n  ", of->guess);
    if (of->folds > 1)
        printf("held-out rows: cross-validation in %lld folds", (long long)of->folds);
    else
        printf("rows held out");
    if (of->repeats > 1)
        printf(", %lld times", (long long)of->repeats);
    printf("\n  each member's likelihood ratios are limited to the range from 1/%.4g to %.4g\n", exp(of->cap),
           exp(of->cap));
}
