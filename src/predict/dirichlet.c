/* Parses the Dirichlet prior of an unknown prevalence. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/number.h"
#include "predict/target.h"

static pv_status not_understood(pv_ctx *ctx, const char *text) {
    return pv__fail(
        ctx, PV_ERR_USAGE,
        "`dirichlet=%s`:\nchoose flat, jeffreys, balanced, balanced:K, true:K or counts:K,K,... with K above 0",
        pv__show(text).text);
}

/* With more observations than this, a double cannot be told apart from infinitely many. */
static const double MOST = 1e12;

static pv_status too_many(pv_ctx *ctx, const char *text) {
    return pv__fail(ctx, PV_ERR_USAGE,
                    "`dirichlet=%s`: more than %g observations of a label;\nwrite inf for a prevalence that is known",
                    pv__show(text).text, MOST);
}

/* Parses K after the colon; inf is allowed. */
static pv_status parse_k(pv_ctx *ctx, const char *text, const char *number, double *k) {
    if (!pv__number_parse(number, strlen(number), k) || !(*k > 0))
        return not_understood(ctx, text);
    return *k > MOST && !isinf(*k) ? too_many(ctx, text) : PV_OK;
}

static pv_status parse_counts(pv_ctx *ctx, const char *text, char *const *labels, int classes, double *counts) {
    const char *at = text + strlen("counts:");
    char joined[200];
    pv__join(labels, (size_t)classes, 6, joined, sizeof joined);
    int given = 0;
    for (bool more = true; more; given++) {
        double value;
        size_t length = pv__number_prefix(at, &value);
        if (length == 0 || !(value > 0) || isinf(value))
            return not_understood(ctx, text);
        if (value > MOST)
            return too_many(ctx, text);
        if (given < classes)
            counts[given] = value;
        at += length;
        more = *at == ',';
        if (!more && *at != '\0')
            return not_understood(ctx, text);
        at += more;
    }
    if (given != classes)
        return pv__fail(ctx, PV_ERR_USAGE, "`dirichlet=%s`: %d number%s given for %d classes;\ngive one each for %s",
                        pv__show(text).text, given, given == 1 ? "" : "s", classes, joined);
    return PV_OK;
}

pv_status pv__dirichlet_parse(pv_ctx *ctx, const char *text, char *const *labels, int classes, pv__dirichlet *prior) {
    *prior = (pv__dirichlet){.kind = PV__DIRICHLET_EQUAL, .k = 1};
    if (strcmp(text, "flat") == 0)
        return PV_OK;
    if (strcmp(text, "jeffreys") == 0) {
        prior->k = 0.5;
        return PV_OK;
    }
    if (strcmp(text, "balanced") == 0) {
        prior->k = (double)INFINITY;
        return PV_OK;
    }
    if (strncmp(text, "balanced:", 9) == 0)
        return parse_k(ctx, text, text + 9, &prior->k);
    if (strcmp(text, "true") == 0 || strncmp(text, "true:", 5) == 0) {
        prior->kind = PV__DIRICHLET_TRUE;
        return text[4] ? parse_k(ctx, text, text + 5, &prior->k) : PV_OK;
    }
    if (strncmp(text, "counts:", 7) != 0)
        return not_understood(ctx, text);
    prior->kind = PV__DIRICHLET_COUNTS;
    PV_TRY(pv__alloc(ctx, (size_t)classes, sizeof *prior->counts, &prior->counts));
    pv_status status = parse_counts(ctx, text, labels, classes, prior->counts);
    if (status != PV_OK) {
        pv__free(ctx, prior->counts);
        prior->counts = NULL;
    }
    return status;
}

void pv__dirichlet_set(const pv__dirichlet *prior, int classes, const double *marginal, double *alpha) {
    double least = HUGE_VAL;
    for (int y = 0; y < classes; y++)
        least = fmin(least, marginal[y]);
    for (int y = 0; y < classes; y++)
        switch (prior->kind) {
        case PV__DIRICHLET_EQUAL:
            alpha[y] = isinf(prior->k) ? 1 / (double)classes : prior->k;
            break;
        case PV__DIRICHLET_TRUE: /* the paper's rule */
            alpha[y] = isinf(prior->k) ? marginal[y] : prior->k * marginal[y] / least;
            break;
        case PV__DIRICHLET_COUNTS:
            alpha[y] = prior->counts[y];
            break;
        }
}
