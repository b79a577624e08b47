/* Case-cohort samples: all cases of a cohort, and a random fraction of the others. */
#include "design/design.h"

/* There are n_1 cases and n_0/F others. The variance of their log odds is 1/n_1 + 1/n_0; n is the number of
 * observations with the same variance. */
void pv__subcohort(const double *mass, double fraction, double *prevalence, double *n) {
    double others = mass[0] / fraction;
    prevalence[1] = mass[1] / (mass[1] + others);
    prevalence[0] = others / (mass[1] + others);
    *n = mass[0] * mass[1] / (mass[0] + mass[1]) / (prevalence[0] * prevalence[1]);
}

void pv__subcohort_strata(const double *mass, double fraction, pv_stratified *to) {
    double all = 0;
    for (int s = 0; s < to->strata; s++) {
        pv__subcohort(mass + 2 * s, fraction, to->prevalence + 2 * s, &to->n[s]);
        all += to->share[s] = mass[2 * s + 1] + mass[2 * s] / fraction;
    }
    for (int s = 0; s < to->strata; s++)
        to->share[s] /= all;
}
