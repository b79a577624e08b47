/* The candidates of `model=auto`: models that are fitted to folds, weighted by their likelihood on the held-out rows,
 * and mixed (infer/stack_fit.c). Adding a candidate takes one row here.
 *
 * Ridge penalties increase in steps of about three, from the usual one to one that leaves little more than the
 * prevalence. The weighted estimator is consistent for the best linear approximation even if no linear model holds. A
 * small network can represent curvature but is expensive, as are the curves of an additive model: both are limited by
 * rows times columns. Few trees with several rows per leaf are all that a small table can support; larger tables allow
 * more.
 */
#include <string.h>

#include "model/trees.h"
#include "plan/plan.h"

static const double BOUND = 3e5; /* limit of rows times columns for a network or curves: some seconds per fit */

static const pv__candidate candidates[] = {
    {.name = "prevalence"},
    {.name = "linear", .model = "linear", .prior = "normal:0.03", .loss = PV_LOSS_IG},
    {.name = "linear", .model = "linear", .prior = "normal:0.1", .loss = PV_LOSS_IG},
    {.name = "linear", .model = "linear", .prior = "normal:0.3", .loss = PV_LOSS_IG},
    {.name = "linear", .model = "linear", .prior = "normal:1", .loss = PV_LOSS_IG},
    {.name = "linear", .model = "linear", .prior = "normal:2.5", .loss = PV_LOSS_IG},
    {.name = "iw", .model = "linear", .prior = "normal:0.3", .loss = PV_LOSS_IW},
    {.name = "iw", .model = "linear", .prior = "normal:1", .loss = PV_LOSS_IW},
    {.name = "additive", .model = "additive", .prior = "normal:0.3", .loss = PV_LOSS_IG, .bounded = true},
    {.name = "additive", .model = "additive", .prior = "normal:1", .loss = PV_LOSS_IG, .bounded = true},
    {.name = "mlp", .model = "mlp:16", .prior = "normal:0.25", .loss = PV_LOSS_IG, .bounded = true},
    {.name = "mlp", .model = "mlp:16", .prior = "normal:0.5", .loss = PV_LOSS_IG, .bounded = true},
    {.name = "mlp", .model = "mlp:16", .prior = "normal:1", .loss = PV_LOSS_IG, .bounded = true},
    {.name = "trees", .model = "trees:2,30", .loss = PV_LOSS_IG, .library = true},
    {.name = "trees", .model = "trees:4,60,leaf=3", .loss = PV_LOSS_IG, .library = true},
    {.name = "trees", .model = "trees:4,300,leaf=3", .loss = PV_LOSS_IG, .library = true, .least = 2000},
    {.name = "default", .model = "linear", .loss = PV_LOSS_IG, .alone = true},
};
_Static_assert(sizeof candidates / sizeof *candidates <= PV__CANDIDATES_MAX, "there is room for all");

const pv__candidate *pv__candidates(size_t *count) {
    *count = sizeof candidates / sizeof *candidates;
    return candidates;
}

bool pv__candidate_fits(const pv_ctx *ctx, const pv__candidate *candidate, size_t rows, int features) {
    bool small = !candidate->bounded || (double)rows * features <= BOUND;
    return small && rows >= candidate->least && (!candidate->library || pv__boosting_here(ctx));
}

/* Whether a text names it: "linear" all of them, "linear normal:0.3" one. */
static bool is_named(const pv__candidate *candidate, const char *text, size_t length) {
    size_t name = strlen(candidate->name), prior = candidate->prior ? strlen(candidate->prior) : 0;
    if (length < name || memcmp(candidate->name, text, name) != 0)
        return false;
    return length == name || (prior > 0 && length == name + 1 + prior && text[name] == ' ' &&
                              memcmp(candidate->prior, text + name + 1, prior) == 0);
}

pv_status pv__candidates_parse(pv_ctx *ctx, const char *text, bool *chosen) {
    size_t count;
    const pv__candidate *list = pv__candidates(&count);
    bool all = strcmp(text, "all") == 0;
    for (size_t i = 0; i < count; i++)
        chosen[i] = all && !list[i].alone;
    const char *at = text;
    for (size_t length; !all; at += length + 1) {
        bool found = false;
        length = strcspn(at, ",");
        for (size_t i = 0; i < count; i++) {
            bool named = is_named(&list[i], at, length);
            chosen[i] |= named;
            found |= named;
        }
        if (!found)
            return pv__fail(
                ctx, PV_ERR_USAGE,
                "`candidates=%s`: there is no candidate '%.*s':\nname some of prevalence, linear, iw, additive, mlp, "
                "trees and default, with commas between, or all",
                text, (int)(length < 40 ? length : 40), at);
        if (at[length] == '\0')
            return PV_OK;
    }
    return PV_OK;
}

pv_status pv__candidates_smooth(pv_ctx *ctx, const char *text, double *cells) {
    bool chosen[PV__CANDIDATES_MAX];
    size_t count;
    const pv__candidate *list = pv__candidates(&count);
    *cells = 0;
    PV_TRY(pv__candidates_parse(ctx, text, chosen));
    for (size_t i = 0; i < count; i++)
        if (chosen[i] && list[i].model && pv__model_is_smooth(list[i].model))
            *cells = BOUND;
    return PV_OK;
}
