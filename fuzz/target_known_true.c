/* In the population whose prevalence is the model's own marginal p(y|w), `known:P` gives the true population's
 * probabilities, with and without a posterior.
 */
#include "predicted.h"

enum { ROWS = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    bool posterior = fuzz_byte(&in) & 1;
    const pv_classifier *c = fuzz_classifier(posterior);
    size_t k = (size_t)c->classes;
    pv_ctx *ctx = fuzz_begin(size);
    pv_dataset rows = fuzz_rows(&in, ROWS, c->encoding->features);
    double p[2], loglik[ROWS * 2], known[ROWS * 2], truth[ROWS * 2];
    char text[64];
    snprintf(text, sizeof text, "known:%.17g,%.17g", exp(c->log_marginal[0]), exp(c->log_marginal[1]));
    pv_target_population population;
    FUZZ_CHECK(pv_target_population_parse(ctx, text, c, &population, p) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(pv_predict_loglik(ctx, c, &rows, loglik) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    pv_predict_population(c, population, p, ROWS, loglik, known);
    pv_predict_population(c, PV_POPULATION_TRUE, NULL, ROWS, loglik, truth);
    for (size_t i = 0; i < ROWS * k; i++)
        FUZZ_CHECK(fabs(known[i] - truth[i]) <= 1e-9 * (1 + fabs(truth[i])), "%.17g is not %.17g", known[i], truth[i]);
    FUZZ_CHECK(pv_predict_posterior(ctx, c, &rows, population, p, 0.9, known, NULL, NULL) == PV_OK, "%s",
               pv_ctx_error(ctx)->message);
    fuzz_sound_probabilities(ROWS, k, known);
    if (!posterior) /* with draws each has a marginal of its own */
        for (size_t i = 0; i < ROWS * k; i++)
            FUZZ_CHECK(fabs(known[i] - exp(truth[i])) <= 1e-9, "%.17g is not %.17g", known[i], exp(truth[i]));
    fuzz_end(ctx);
    return 0;
}
