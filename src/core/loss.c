/* Looks up losses by number and answers questions about them. */
#include <math.h>

#include "base/names.h"
#include "core/loss.h"

static const pv__loss_kind *const kinds[] = {
#define KIND(name, word, text) [PV_LOSS_##name] = &pv__loss_##word,
    PV_LOSS_LIST(KIND)
#undef KIND
};

#define LOSS(name, word, text) {PV_LOSS_##name, #word},
PV__NAMED(pv_loss, pv_loss_name, PV_LOSS_LIST, LOSS)
PV__FOUND(pv_loss, pv_loss_find, PV_LOSS_LIST, LOSS)

const pv__loss_kind *pv__loss(pv_loss loss) {
    return kinds[loss];
}

bool pv_loss_needs_prevalence(pv_loss loss) {
    return kinds[loss]->needs_prevalence;
}

bool pv_loss_of_design(pv_loss loss) {
    return kinds[loss]->of_design;
}

bool pv_loss_has_marginal(pv_loss loss) {
    return kinds[loss]->has_marginal;
}

bool pv_loss_takes_sample(pv_loss loss) {
    return kinds[loss]->takes_sample;
}

bool pv_loss_is_relative(pv_loss loss) {
    return kinds[loss]->relative;
}

pv__form pv__loss_form(pv_loss loss, pv_marginal marginal, bool batches) {
    const pv__loss_kind *kind = kinds[loss];
    return kind->form ? kind->form(marginal, batches) : PV_FORM_ROWS;
}

void pv__class_factors(pv_loss loss, int classes, const double *prevalence, double total, const double *mass,
                       double *factor) {
    const pv__loss_kind *kind = kinds[loss];
    for (int y = 0; y < classes; y++)
        factor[y] =
            kind->class_factor ? kind->class_factor(prevalence ? prevalence[y] : (double)NAN, total, mass[y]) : 1;
}
