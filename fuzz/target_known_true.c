/* In the population whose prevalence is the model's own marginal p(y|w), `known:P` must give the probabilities of the
 * true population, with and without a posterior.
 */
#include "predicted.h"

enum { ROWS = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    bool posterior = fuzz_byte(&in) & 1;
    const pv_classifier *c = fuzz_classifier(posterior);
    size_t k = (size_t)c->schema->classes;
    pv_ctx *ctx = fuzz_begin(size);
    pv_dataset rows = fuzz_rows(&in, ROWS, c->schema->features);
    char text[64];
    snprintf(text, sizeof text, "known:%.17g,%.17g", exp(c->log_marginal[0]), exp(c->log_marginal[1]));
    const pv_predict_options wanted = {.likelihood = true};
    pv_population *population;
    pv_prediction *known, *truth;
    FUZZ_CHECK(pv_population_new(ctx, c, text, NULL, &population) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(pv_predict(ctx, c, &rows, population, &wanted, &known) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(pv_predict(ctx, c, &rows, NULL, NULL, &truth) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    fuzz_sound_probabilities(ROWS, k, known->p);
    for (size_t i = 0; i < ROWS * k; i++) {
        FUZZ_CHECK(fuzz_same_bits(known->loglik[i], truth->log_p[i]),
                   "asked for beside another population: %.17g, %.17g", known->loglik[i], truth->log_p[i]);
        if (posterior) /* each draw has its own marginal */
            continue;
        FUZZ_CHECK(fabs(known->log_p[i] - truth->log_p[i]) <= 1e-9 * (1 + fabs(truth->log_p[i])), "%.17g is not %.17g",
                   known->log_p[i], truth->log_p[i]);
        FUZZ_CHECK(fabs(known->p[i] - truth->p[i]) <= 1e-9, "%.17g is not %.17g", known->p[i], truth->p[i]);
    }
    pv_prediction_free(ctx, known);
    pv_prediction_free(ctx, truth);
    pv_population_free(ctx, population);
    fuzz_end(ctx);
    return 0;
}
