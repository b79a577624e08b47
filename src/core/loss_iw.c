/* iw: importance weighting, the log-loss with class weights (Eq. weighted MLE),
 *
 *   L = - sum_n v_n sum_y beta(y) t_ny f_n(y),   beta(y) = prevalence(y) / (n_y/N) .
 */
#include "core/loss.h"

static double class_factor(double prevalence, double total, double mass) {
    return prevalence * total / mass;
}

const pv__loss_kind pv__loss_iw = {.name = "iw", .needs_prevalence = true, .class_factor = class_factor};
