/* What `model=auto` mixed, in words and as JSON. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

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
    printf("  gain: mean log score in the population, less the %.5f of the prevalence alone,\n  of ", of->guess);
    if (of->folds > 1)
        printf("rows that a fit has not seen: cross-validation in %lld folds", (long long)of->folds);
    else
        printf("rows that were held out");
    if (of->repeats > 1)
        printf(", %lld times", (long long)of->repeats);
    printf("\n  each member's likelihood ratios are kept between 1/%.4g and %.4g\n", exp(of->cap), exp(of->cap));
}

static json_t *candidate_of(const char *name, double weight, double gain, double se) {
    json_t *object = cli_json_object();
    cli_json_set(object, "name", cli_json_text(name));
    cli_json_set(object, "weight", cli_json_real(weight));
    cli_json_set(object, "gain", cli_json_real(gain));
    cli_json_set(object, "se", cli_json_real(se));
    return object;
}

json_t *cli_json_stacked(const pv_classifier *c) {
    const pv_stacked *of = c->stacked;
    json_t *object = cli_json_object(), *list = cli_json_array();
    for (size_t i = 0; i < of->count; i++) {
        const pv_candidate *own = &of->candidate[i];
        cli_json_append(list, candidate_of(own->name, own->weight, own->gain, own->se));
    }
    cli_json_set(object, "candidates", list);
    cli_json_set(object, "gain", cli_json_real(of->gain));
    cli_json_set(object, "se", cli_json_real(of->se));
    cli_json_set(object, "guess", cli_json_real(of->guess));
    cli_json_set(object, "ratio_max", cli_json_real(exp(of->cap)));
    cli_json_set(object, "folds", json_integer(of->folds));
    cli_json_set(object, "repeats", json_integer(of->repeats));
    return object;
}
