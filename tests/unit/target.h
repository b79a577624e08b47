/* tests/unit/target.h: rows of two classes with known densities, and inference of their prevalence. */
#ifndef PV_TEST_TARGET_H
#define PV_TEST_TARGET_H

#include "fixture.h"

static char zero[] = "0", one[] = "1", two[] = "2", more[] = "more";
static char *labels[] = {zero, one, two, more, more, more, more, more, more, more, more, more, more, more, more, more};

/* Normal features with known densities, so the ratios are exact. */
static inline void draw_pair(uint64_t seed, size_t n, double prevalence, double separation, double *loglik,
                             int32_t *label) {
    pv_rng rng = pv_rng_stream(seed, 77, 0);
    for (size_t i = 0; i < n; i++) {
        int y = pv_rng_uniform(&rng) < prevalence;
        double x = pv_rng_normal(&rng) + separation * (y - 0.5), odds = separation * x;
        loglik[2 * i] = pv_log_sigmoid(-odds);
        loglik[2 * i + 1] = pv_log_sigmoid(odds);
        if (label)
            label[i] = y;
    }
}

static const double half[] = {-0.69314718055994531, -0.69314718055994531};

static inline pv_unknown_prevalence *infer(pv_ctx *own, const pv_unknown_sample *sample, pv_unknown_method method,
                                           const char *dirichlet) {
    pv_unknown_options options = pv_unknown_options_default();
    options.level = 0.9;
    options.method = (int)method;
    options.dirichlet = dirichlet;
    options.max_iter = 100000;
    pv_unknown_prevalence *found;
    CHECK_OK(own, pv_unknown_infer(own, sample, labels, &options, &found));
    return found;
}

#endif
