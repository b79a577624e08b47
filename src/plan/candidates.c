/* The candidates of `model=auto`: models that are fitted to folds, weighted by what they say of the other rows, and
 * mixed (infer/stack_fit.c). One row here is all that a further candidate needs.
 *
 * Ridge penalties are those of steps of about three, from one that leaves little but the prevalence to the usual one.
 * The weighted estimator is right where no linear model is; a small network is curved, and costs much: rows times
 * columns bound it.
 */
#include <string.h>

#include "plan/plan.h"

static const double BOUND = 3e5; /* rows times columns of a network: some seconds a fit */

static const pv__candidate candidates[] = {
    {.name = "prevalence"},
    {.name = "linear", .model = "linear", .prior = "normal:0.03", .loss = PV_LOSS_IG},
    {.name = "linear", .model = "linear", .prior = "normal:0.1", .loss = PV_LOSS_IG},
    {.name = "linear", .model = "linear", .prior = "normal:0.3", .loss = PV_LOSS_IG},
    {.name = "linear", .model = "linear", .prior = "normal:1", .loss = PV_LOSS_IG},
    {.name = "linear", .model = "linear", .prior = "normal:2.5", .loss = PV_LOSS_IG},
    {.name = "iw", .model = "linear", .prior = "normal:0.3", .loss = PV_LOSS_IW},
    {.name = "iw", .model = "linear", .prior = "normal:1", .loss = PV_LOSS_IW},
    {.name = "mlp", .model = "mlp:16", .prior = "normal:0.25", .loss = PV_LOSS_IG, .bounded = true},
    {.name = "mlp", .model = "mlp:16", .prior = "normal:0.5", .loss = PV_LOSS_IG, .bounded = true},
    {.name = "mlp", .model = "mlp:16", .prior = "normal:1", .loss = PV_LOSS_IG, .bounded = true},
};
_Static_assert(sizeof candidates / sizeof *candidates <= PV__CANDIDATES_MAX, "there is room for all");

const pv__candidate *pv__candidates(size_t *count) {
    *count = sizeof candidates / sizeof *candidates;
    return candidates;
}

bool pv__candidate_fits(const pv__candidate *candidate, size_t rows, int features) {
    return !candidate->bounded || (double)rows * features <= BOUND;
}

static bool is_named(const char *name, const char *text, size_t length) {
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

pv_status pv__candidates_parse(pv_ctx *ctx, const char *text, bool *chosen) {
    size_t count;
    const pv__candidate *list = pv__candidates(&count);
    bool all = strcmp(text, "all") == 0;
    for (size_t i = 0; i < count; i++)
        chosen[i] = all;
    const char *at = text;
    for (size_t length; !all; at += length + 1) {
        bool found = false;
        length = strcspn(at, ",");
        for (size_t i = 0; i < count; i++) {
            bool named = is_named(list[i].name, at, length);
            chosen[i] |= named;
            found |= named;
        }
        if (!found)
            return pv__fail(ctx, PV_ERR_USAGE,
                            "`candidates=%s`: there is no candidate '%.*s':\nname some of prevalence, linear, iw and "
                            "mlp, with commas "
                            "between, or all",
                            text, (int)(length < 40 ? length : 40), at);
        if (at[length] == '\0')
            return PV_OK;
    }
    return PV_OK;
}
