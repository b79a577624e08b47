/* Four lines: labels separated by bars; a prevalence; a population; a prior, used for slopes and for an unknown
 * prevalence.
 */
#include "fuzz.h"

enum { LABELS_MAX = 6 };

static int split(char *text, char **label) {
    int n = 0;
    for (char *at = text; at && n < LABELS_MAX; n++) {
        label[n] = at;
        at = strchr(at, '|');
        if (at)
            *at++ = '\0';
    }
    return n;
}

static void check_prevalence(pv_ctx *ctx, const char *text, char **label, int n) {
    double p[LABELS_MAX], low, high, sum = 0;
    pv_status status = pv_prevalence_parse(ctx, "`prevalence`", text, label, n, p, &low, &high);
    if (status != PV_OK) {
        fuzz_refused(ctx, status);
        return;
    }
    for (int y = 0; y < n; y++) {
        FUZZ_CHECK(p[y] > 0 && p[y] < 1, "'%s': p = %.17g", text, p[y]);
        sum += p[y];
    }
    FUZZ_CHECK(fabs(sum - 1) <= 1e-12, "'%s' adds up to %.17g", text, sum);
    FUZZ_CHECK(isnan(low) == isnan(high) && !(low >= high), "'%s': %.17g to %.17g", text, low, high);
}

static void check_priors(pv_ctx *ctx, const char *text, char **label, int n) {
    pv_prior prior;
    pv_status status = pv_prior_parse(ctx, "`prior`", text, &prior);
    if (status == PV_OK)
        FUZZ_CHECK(!isnan(pv_prior_loss(&prior, 0.5, NULL)), "'%s' is NaN", text);
    else
        fuzz_refused(ctx, status);
    double loglik[2 * LABELS_MAX], marginal[LABELS_MAX], p[2 * LABELS_MAX];
    for (int y = 0; y < n; y++) {
        marginal[y] = log(1.0 / n);
        loglik[y] = log((y == 0 ? 2.0 : 1.0) / (n + 1));
        loglik[n + y] = log((y == n - 1 ? 2.0 : 1.0) / (n + 1));
    }
    pv_unknown_sample sample = {.n = 2, .classes = n, .loglik = loglik, .log_marginal = marginal};
    pv_unknown_options options = pv_unknown_options_default();
    options.dirichlet = text;
    options.draws = 100;
    pv_unknown_prevalence *found;
    status = pv_unknown_infer(ctx, &sample, label, &options, &found);
    if (status != PV_OK) {
        fuzz_refused(ctx, status);
        return;
    }
    fuzz_sound_probabilities(1, (size_t)n, found->value);
    FUZZ_CHECK(pv_unknown_predict(ctx, &sample, found, p, NULL, NULL, NULL) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    fuzz_sound_probabilities(2, (size_t)n, p);
    pv_unknown_prevalence_free(ctx, found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 400)
        return 0;
    pv_ctx *ctx = fuzz_begin(size);
    fuzz_input in = {data, size};
    const char *labels = fuzz_line(&in), *prevalence = fuzz_line(&in), *population = fuzz_line(&in),
               *prior = fuzz_line(&in);
    char *label[LABELS_MAX], *own = fuzz_room(size + 4, 1);
    strcpy(own, labels ? labels : "0|1");
    int n = split(own, label);
    if (n >= 2) {
        check_prevalence(ctx, prevalence ? prevalence : "", label, n);
        check_priors(ctx, prior ? prior : "", label, n);
    }
    pv_population *where;
    pv_status status = pv_population_new(ctx, fuzz_classifier(false), population ? population : "", NULL, &where);
    if (status != PV_OK)
        fuzz_refused(ctx, status);
    else if (where->prevalence)
        fuzz_sound_probabilities(1, 2, where->prevalence);
    pv_population_free(ctx, where);
    fuzz_end(ctx);
    return 0;
}
