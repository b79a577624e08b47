/* How a posterior's engine fared, in words and as JSON. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/json.h"

#include <math.h>

static json_t *marginal_intervals(const pv_classifier *c, const pv_summary *summary) {
    json_t *object = cli_json_object();
    for (int y = 0; y < c->schema->classes; y++) {
        json_t *entry = cli_json_object();
        cli_json_set(entry, "value", cli_json_real(summary->marginal[y].mean));
        cli_json_set(entry, "lo", cli_json_real(summary->marginal[y].lo));
        cli_json_set(entry, "hi", cli_json_real(summary->marginal[y].hi));
        cli_json_set(object, c->schema->labels[y], entry);
    }
    return object;
}

void cli_json_posterior(json_t *object, const pv_classifier *c, const pv_summary *summary) {
    const pv_posterior *p = c->posterior;
    if (!p)
        return;
    bool hmc = p->kind == PV_POSTERIOR_HMC;
    bool bound = p->kind == PV_POSTERIOR_LAPLACE || p->kind == PV_POSTERIOR_VI;
    cli_json_set(object, "posterior", cli_json_text(pv_posterior_kind_name(p->kind)));
    cli_json_set(object, "posterior_stop", cli_json_text(pv_stop_name(p->stop)));
    cli_json_set(object, "draws", json_integer((json_int_t)p->count));
    cli_json_set(object, "interval", cli_json_real(summary->level));
    cli_json_set(object, "marginal_interval", marginal_intervals(c, summary));
    cli_json_set(object, "elbo", cli_json_real(bound ? p->elbo : (double)NAN));
    cli_json_set(object, "elbo_se", cli_json_real(bound ? p->elbo_se : (double)NAN));
    cli_json_set(object, "evidence", cli_json_real(p->kind == PV_POSTERIOR_VI ? p->evidence : (double)NAN));
    cli_json_set(object, "chains", hmc ? json_integer((json_int_t)p->chains) : json_null());
    cli_json_set(object, "rhat_max", cli_json_real(pv_posterior_rhat_max(p)));
    cli_json_set(object, "ess_min", cli_json_real(pv_posterior_ess_min(p)));
    cli_json_set(object, "divergences", hmc ? json_integer(p->divergences) : json_null());
}

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
