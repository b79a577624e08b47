/* toy: importance weighting under a different name. */
#include "core/loss.h"

static double class_factor(double prevalence, double total, double mass) {
    return prevalence * total / mass;
}

const pv__loss_kind pv__loss_toy = {.name = "toy", .needs_prevalence = true, .class_factor = class_factor};
