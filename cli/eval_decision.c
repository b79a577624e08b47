/* Decisions in prevail eval: rates at the threshold in use, and the cost of the decisions that follow from costs.
 */
#include "cli/eval.h"
#include "cli/predictions.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>

typedef struct rate_row {
    const char *name, *text;
    size_t offset;
} rate_row;

static const rate_row rate_table[] = {
#define ROW(name, text) {#name, text, offsetof(pv_rates, name)},
    PV_RATE_LIST(ROW)
#undef ROW
};
enum { RATES = sizeof rate_table / sizeof *rate_table };

static const pv_rate *rate_of(const pv_rates *rates, size_t i) {
    return (const pv_rate *)((const char *)rates + rate_table[i].offset);
}

static int find_rates(cli_call *call, const eval_options *options, eval_inputs *inputs, const double *threshold,
                      size_t count) {
    eval_decision *d = &inputs->decision;
    d->count = count;
    d->rates = cli_alloc(count ? count : 1, sizeof *d->rates);
    for (size_t i = 0; i < count; i++) {
        pv_status status =
            pv_rates_at(call->ctx, inputs->judged->found.ranking, threshold[i], options->interval, &d->rates[i]);
        if (status != PV_OK)
            return cli_fail(call, status);
    }
    return CLI_OK;
}

/* Thresholds refer to the last label, so the positive one is moved to the end. */
static void put_positive_last(pv_costs *costs, int positive) {
    for (size_t a = 0; a < costs->actions && positive == 0; a++) {
        double first = costs->cost[2 * a];
        costs->cost[2 * a] = costs->cost[2 * a + 1];
        costs->cost[2 * a + 1] = first;
    }
}

static int mean_cost(cli_call *call, const eval_options *options, const eval_inputs *inputs, const size_t *action,
                     size_t actions, const double *threshold, pv_rate *mean) {
    double *cost = cli_alloc(2 * actions, sizeof *cost);
    for (size_t i = 0; i < 2 * actions; i++)
        cost[i] = inputs->costs->cost[2 * action[i / 2] + i % 2];
    pv_status status =
        pv_ranking_cost(call->ctx, inputs->judged->found.ranking, actions, cost, threshold, options->interval, mean);
    free(cost);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int find_costs(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    const pv_judgement *j = inputs->judged;
    eval_decision *d = &inputs->decision;
    int code =
        j->classes == 2
            ? cli_read_costs(call, options->costs, j->labels, j->classes, &inputs->costs)
            : cli_error(call, PV_ERR_USAGE, NULL,
                        "--costs is for two labels, and there are %d: leave it out, or use --threshold", j->classes);
    if (code != CLI_OK)
        return code;
    put_positive_last(inputs->costs, j->positive);
    size_t actions = inputs->costs->actions;
    double *threshold = cli_alloc(actions, sizeof *threshold);
    d->action = cli_alloc(actions, sizeof *d->action);
    d->alone = cli_alloc(actions, sizeof *d->alone);
    size_t best = pv_cost_thresholds(inputs->costs, d->action, threshold);
    code = find_rates(call, options, inputs, threshold, best - 1);
    if (code == CLI_OK)
        code = mean_cost(call, options, inputs, d->action, best, threshold, &d->cost);
    for (size_t a = 0; code == CLI_OK && a < actions; a++)
        code = mean_cost(call, options, inputs, &a, 1, NULL, &d->alone[a]);
    free(threshold);
    return code;
}

int eval_decision_find(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    if (options->costs)
        return find_costs(call, options, inputs);
    return cli_given(call, "threshold") ? find_rates(call, options, inputs, &options->threshold, 1) : CLI_OK;
}

static void print_rate(const char *name, const pv_rate *rate, const char *text) {
    const double all[] = {rate->value, rate->lo, rate->hi};
    printf("  %-18s", name);
    for (int i = 0; i < 3; i++)
        if (isnan(all[i]))
            printf(" %10s", "-");
        else
            printf(" %10.5g", all[i]);
    printf("  %s\n", text);
}

void eval_decision_print(const eval_inputs *inputs) {
    const eval_decision *d = &inputs->decision;
    const pv_judgement *j = inputs->judged;
    const pv_costs *costs = inputs->costs;
    for (size_t i = 0; i < d->count; i++) {
        fputs("\n  ", stdout);
        if (costs)
            printf("%s: ", costs->action[d->action[i + 1]]);
        fputs("rows with p(", stdout);
        cli_put_name(j->labels[j->positive], 0);
        printf(") of %.6g or more; prevalence %.4g\n", d->rates[i].threshold, j->stated[j->positive]);
        for (size_t r = 0; r < RATES; r++)
            print_rate(rate_table[r].name, rate_of(&d->rates[i], r), rate_table[r].text);
    }
    if (!costs)
        return;
    printf("\n");
    print_rate("cost", &d->cost, "mean cost per person of these decisions");
    for (size_t a = 0; a < costs->actions; a++) {
        char text[120];
        snprintf(text, sizeof text, "the same with %.60s for everyone", costs->action[a]);
        print_rate("", &d->alone[a], text);
    }
}

static pv_result *json_rate(const pv_rate *rate) {
    pv_result *object = pv__value_object();
    pv__value_set(object, "value", pv__value_real(rate->value));
    pv__value_set(object, "lo", pv__value_real(rate->lo));
    pv__value_set(object, "hi", pv__value_real(rate->hi));
    return object;
}

pv_result *eval_decision_json(const eval_inputs *inputs) {
    const eval_decision *d = &inputs->decision;
    const pv_costs *costs = inputs->costs;
    if (!d->rates)
        return pv__value_null();
    pv_result *object = pv__value_object(), *list = pv__value_list(), *alone = pv__value_object();
    for (size_t i = 0; i < d->count; i++) {
        pv_result *one = pv__value_object(), *rates = pv__value_object();
        for (size_t r = 0; r < RATES; r++)
            pv__value_set(rates, rate_table[r].name, json_rate(rate_of(&d->rates[i], r)));
        pv__value_set(one, "threshold", pv__value_real(d->rates[i].threshold));
        pv__value_set(one, "action", costs ? pv__value_text(costs->action[d->action[i + 1]]) : pv__value_null());
        pv__value_set(one, "rates", rates);
        pv__value_append(list, one);
    }
    for (size_t a = 0; costs && a < costs->actions; a++)
        pv__value_set(alone, costs->action[a], json_rate(&d->alone[a]));
    pv__value_set(object, "thresholds", list);
    pv__value_set(object, "cost", costs ? json_rate(&d->cost) : pv__value_null());
    pv__value_set(object, "cost_for_all", alone);
    return object;
}

void eval_decision_clear(cli_call *call, eval_inputs *inputs) {
    free(inputs->decision.rates);
    free(inputs->decision.action);
    free(inputs->decision.alone);
    pv_costs_free(call->ctx, inputs->costs);
}
