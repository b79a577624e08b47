/* The losses by their number, and what may be asked of them. */
#include <math.h>
#include <string.h>

#include "core/loss.h"

static const pv__loss_kind *const kinds[] = {
#define KIND(name, word, text) [PV_LOSS_##name] = &pv__loss_##word,
    PV_LOSS_LIST(KIND)
#undef KIND
};

const pv__loss_kind *pv__loss(pv_loss loss) {
    return kinds[loss];
}

const char *pv_loss_name(pv_loss loss) {
    return (size_t)loss < PV_LOSSES ? kinds[loss]->name : "unknown";
}

bool pv_loss_find(const char *name, size_t length, pv_loss *loss) {
    for (int i = 0; i < PV_LOSSES; i++)
        if (strlen(kinds[i]->name) == length && strncmp(kinds[i]->name, name, length) == 0) {
            *loss = (pv_loss)i;
            return true;
        }
    return false;
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
