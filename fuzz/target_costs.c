/* A file of costs. Decisions must have minimal expected cost, and thresholds must be where they change. */
#include "fuzz.h"

static double expected(const pv_costs *costs, size_t action, const double *p) {
    return costs->cost[2 * action] * p[0] + costs->cost[2 * action + 1] * p[1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *labels[] = {"0", "1"};
    pv_ctx *ctx = fuzz_begin(size);
    pv_costs *costs;
    pv_status status = pv_costs_read(ctx, fuzz_file(0, data, size), labels, 2, &costs);
    if (status != PV_OK) {
        fuzz_refused(ctx, status);
        fuzz_end(ctx);
        return 0;
    }
    size_t *action = fuzz_room(costs->actions, sizeof *action);
    double *threshold = fuzz_room(costs->actions, sizeof *threshold), p[2 * 9], least[9];
    int32_t chosen[9];
    for (int i = 0; i < 9; i++)
        p[2 * i] = 1 - (p[2 * i + 1] = i / 8.0);
    FUZZ_CHECK(pv_decide(ctx, costs, 9, p, chosen, least) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    for (int i = 0; i < 9; i++)
        for (size_t a = 0; a < costs->actions; a++)
            FUZZ_CHECK(!(expected(costs, a, p + 2 * i) < least[i]), "action %zu costs less than the one chosen", a);
    size_t n = pv_cost_thresholds(costs, action, threshold);
    FUZZ_CHECK(n >= 1 && n <= costs->actions, "%zu actions of %zu", n, costs->actions);
    for (size_t i = 0; i + 1 < n; i++)
        FUZZ_CHECK(threshold[i] < 1 && action[i] != action[i + 1], "threshold %g", threshold[i]);
    pv_costs_free(ctx, costs);
    fuzz_end(ctx);
    return 0;
}
