/* Turns grades into two sides of a middle grade (section 9 of the paper: malignancy from 1 to 5, with 3 in the middle).
 *
 * Votes: t(below) = sum_{y<m} t_y and t(above) = sum_{y>m} t_y, which sum to 1 - t_m. That is how much a row counts:
 * its weight becomes v (1 - t_m) and its frequencies t(side)/(1 - t_m). Rows with more than half of their votes on the
 * middle grade are uncertain and get weight 0. Predictions: p(above | not m) = p(above)/(p(below) + p(above)).
 */
#include <math.h>

#include "assess.h"

static double share(const pv_targets *targets, size_t n, int y) {
    if (targets->frequency)
        return targets->frequency[n * (size_t)targets->classes + (size_t)y];
    return targets->label[n] == y;
}

pv_status pv_binarise(pv_ctx *ctx, const pv_targets *targets, int middle, double *frequency, double *weight,
                      size_t *uncertain) {
    PV_TRY(pv_targets_check(ctx, targets));
    if (middle < 1 || middle > targets->classes - 2)
        return pv__fail(ctx, PV_ERR_USAGE, "label number %d of %d lacks a label below or above it", middle + 1,
                        targets->classes);
    *uncertain = 0;
    double total = 0;
    for (size_t n = 0; n < targets->n; n++) {
        double below = 0, above = 0, between = share(targets, n, middle);
        for (int y = 0; y < targets->classes; y++)
            *(y < middle ? &below : &above) += y == middle ? 0 : share(targets, n, y);
        bool apart = between > 0.5 || !(below + above > 0);
        weight[n] = apart ? 0 : (targets->weight ? targets->weight[n] : 1) * (below + above);
        frequency[2 * n] = apart ? 0.5 : below / (below + above);
        frequency[2 * n + 1] = apart ? 0.5 : above / (below + above);
        *uncertain += apart;
        total += weight[n];
    }
    if (!(total > 0))
        return pv__fail(ctx, PV_ERR_INPUT,
                        "every row is uncertain: more than half of its votes are on the middle grade;\nchoose another "
                        "(`binarise`)");
    return PV_OK;
}

void pv_binarise_log(size_t n, int classes, int middle, const double *log_p, double *sides) {
    for (size_t i = 0; i < n; i++) {
        const double *from = log_p + i * (size_t)classes;
        double pair[2] = {pv_log_sum_exp((size_t)middle, from),
                          pv_log_sum_exp((size_t)(classes - middle - 1), from + middle + 1)};
        double sum = pv_log_sum_exp(2, pair);
        for (size_t side = 0; side < 2; side++)
            sides[2 * i + side] = sum > -HUGE_VAL ? pair[side] - sum : log(0.5);
    }
}
