/* Priors on one parameter, as normalised negative log densities.
 *
 *   normal:s     w^2/(2 s^2) + log s + log(2 pi)/2
 *   student:nu   (nu+1)/2 log(1 + w^2/nu) + log B(1/2, nu/2) + log(nu)/2
 *   laplace:s    |w|/s + log(2 s)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "plan/plan.h"

/* Limits of scales and degrees of freedom, within which their squares and lgamma keep enough digits. */
static const double SMALLEST = 1e-12, LARGEST = 1e12;

static double constant_of(const pv_prior *prior) {
    double s = prior->scale, nu = prior->df;
    int sign; /* lgamma would write it to a global */
    switch (prior->kind) {
    case PV_PRIOR_NONE:
        break;
    case PV_PRIOR_NORMAL:
        return log(s) + 0.91893853320467274178;
    case PV_PRIOR_STUDENT:
        return lgamma_r(0.5, &sign) + lgamma_r(0.5 * nu, &sign) - lgamma_r(0.5 * (nu + 1), &sign) + 0.5 * log(nu);
    case PV_PRIOR_LAPLACE:
        return log(2 * s);
    }
    return 0;
}

pv_prior pv__prior_normal(double scale) {
    pv_prior prior = {.kind = PV_PRIOR_NORMAL, .scale = scale};
    prior.constant = constant_of(&prior);
    return prior;
}

pv_status pv_prior_parse(pv_ctx *ctx, const char *option, const char *text, pv_prior *prior) {
    static const struct {
        const char *word;
        pv_prior_kind kind;
    } kinds[] = {{"normal:", PV_PRIOR_NORMAL}, {"student:", PV_PRIOR_STUDENT}, {"laplace:", PV_PRIOR_LAPLACE}};
    *prior = (pv_prior){.kind = PV_PRIOR_NONE, .scale = 1};
    if (strcmp(text, "none") == 0)
        return PV_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].word);
        if (strncmp(text, kinds[i].word, length) != 0)
            continue;
        double value;
        if (!pv__parse_real(text + length, &value) || !(value > 0))
            return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`: '%s' must be a positive %snumber", option, text, text + length,
                            pv__is_hexadecimal(text + length) ? "decimal " : "");
        if (value < SMALLEST || value > LARGEST)
            return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`: must lie between %g and %g;\nwrite none for no prior", option,
                            text, SMALLEST, LARGEST);
        prior->kind = kinds[i].kind;
        *(prior->kind == PV_PRIOR_STUDENT ? &prior->df : &prior->scale) = value;
        prior->constant = constant_of(prior);
        return PV_OK;
    }
    return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`:\nchoose normal:SCALE, student:NU, laplace:SCALE or none%s", option,
                    text, strcmp(option, "prior") == 0 ? ", or auto for a scale chosen from the rows" : "");
}

double pv_prior_loss(const pv_prior *prior, double w, double *dvalue) {
    double d = 0, value = 0, s = prior->scale, nu = prior->df;
    switch (prior->kind) {
    case PV_PRIOR_NONE:
        break;
    case PV_PRIOR_NORMAL:
        d = w / (s * s);
        value = 0.5 * w * d;
        break;
    case PV_PRIOR_STUDENT:
        d = (nu + 1) * w / (nu + w * w);
        value = 0.5 * (nu + 1) * log1p(w * w / nu);
        break;
    case PV_PRIOR_LAPLACE:
        d = w > 0 ? 1 / s : w < 0 ? -1 / s : 0;
        value = fabs(w) / s;
        break;
    }
    if (dvalue)
        *dvalue = d;
    return value + prior->constant;
}
