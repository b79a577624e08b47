/* Diagnostics of a posterior's engine, as text. */
#include "cli/classifier.h"
#include "prevail/prevail.h"

#include <math.h>

void cli_print_posterior(const pv_classifier *c) {
    const pv_posterior *p = c->posterior;
    if (!p)
        return;
    printf("posterior %s: %s", pv_posterior_kind_name(p->kind), pv_stop_name(p->stop));
    if (p->iterations > 0)
        printf(" after %lld steps", (long long)p->iterations);
    printf(", %zu draws", p->count);
    switch (p->kind) {
    case PV_POSTERIOR_LAPLACE:
        if (p->dims < pv_model_params(c->model)) {
            printf(", of the last layer alone (%zu of %zu parameters)\n", p->dims, pv_model_params(c->model));
            break;
        }
        printf(", log evidence about %.6g\n", p->elbo);
        break;
    case PV_POSTERIOR_VI:
        printf(", ELBO %.6g (standard error %.2g), log evidence about %.6g\n", p->elbo, p->elbo_se, p->evidence);
        break;
    case PV_POSTERIOR_HMC:
        printf(" in %zu chains, R-hat at most %.4g, effective size at least %.3g, %lld divergence%s\n", p->chains,
               pv_posterior_rhat_max(p), pv_posterior_ess_min(p), (long long)p->divergences,
               p->divergences == 1 ? "" : "s");
        break;
    }
}
