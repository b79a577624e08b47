/* The options of a fit before any work: texts that cannot be read, options that do not go together, and such as would
 * do nothing (rules.c). What needs numbers of the data (classes, rows, parameters) is checked where they are: fit.c,
 * posterior.c.
 *
 * One rule for options that would do nothing: where it is known that one was given, it is refused, with what it is for,
 * since whoever gives it expects something of it. Values alone do not tell: programs share a struct among fits. So
 * pv_fit, which sees nothing else, warns of values that are not the default. A seed is no such option: it is recorded,
 * and a script may set it for fits that draw nothing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "infer/rules.h"

/* ---- options that would do nothing ------------------------------------------------------------------------------- */

bool pv__minibatches(const pv_fit_options *o, bool images) {
    return strcmp(o->batch, "full") != 0 && (images || strcmp(o->batch, "auto") != 0);
}

pv_loss pv_fit_loss(const pv_fit_options *options, bool matched) {
    return matched && options->loss == PV_LOSS_IG ? PV_LOSS_MATCHED : (pv_loss)options->loss;
}

const char *pv_fit_idle(const pv_fit_options *options, bool images, const char *name) {
    return pv__idle_for(pv__facts_of_options(NULL, options, images, false), name);
}

static bool differs(const pv_option *row, const pv_fit_options *options, const pv_fit_options *usual) {
    char set[64], fallback[64]; /* none of those that can be idle is longer and begins like its default */
    pv_option_get(row, options, set, sizeof set);
    pv_option_get(row, usual, fallback, sizeof fallback);
    return strcmp(set, fallback) != 0;
}

pv_fit_options pv_fit_options_used(const pv_fit_options *options, bool images) {
    pv_fit_options used = *options;
    for (const pv_option *row = pv_fit_option_table; row->name; row++)
        if (pv_fit_idle(options, images, row->name)) {
            const pv_option alone[] = {*row, {0}};
            pv_options_default(alone, &used);
        }
    return used;
}

static pv_status refuse_idle(pv_ctx *ctx, const pv_fit_options *o, bool images, const char *const *given, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *what = pv_fit_idle(o, images, given[i]);
        if (what)
            return pv__fail(ctx, PV_ERR_USAGE, "`%s` is for %s:\nleave it out, or give that", given[i], what);
    }
    return PV_OK;
}

void pv__warn_of_idle(pv_ctx *ctx, const pv_fit_options *o, bool images) {
    const pv_fit_options usual = pv_fit_options_default();
    for (const pv_option *row = pv_fit_option_table; row->name; row++) {
        const char *what = pv_fit_idle(o, images, row->name);
        if (what && differs(row, o, &usual))
            pv__log(ctx, PV_LOG_WARNING, "`%s` has no effect here: it is for %s", row->name, what);
    }
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

pv_status pv__batch_parse(pv_ctx *ctx, const char *text, size_t *rows) {
    *rows = 0;
    if (strcmp(text, "auto") == 0 || strcmp(text, "full") == 0)
        return PV_OK;
    char *end;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || number < 1)
        return pv__fail(ctx, PV_ERR_USAGE, "`batch=%s`: 'auto', 'full', or a number of rows of at least 1", text);
    *rows = (size_t)number;
    return PV_OK;
}

static const double MOST_OBSERVATIONS = 1e12; /* beside more, the rows would be lost in rounding */

pv_status pv__strength_parse(pv_ctx *ctx, const char *text, double *n) {
    bool known = strcmp(text, "known") == 0 || strcmp(text, "auto") == 0; /* who writes one number means that number */
    *n = known ? HUGE_VAL : (double)NAN;
    if (known || strcmp(text, "rows") == 0)
        return PV_OK;
    if (!pv__parse_real(text, n) || !(*n >= 0))
        return pv__fail(ctx, PV_ERR_USAGE, "`prevalence-n=%s`: 0 or a positive number, 'auto', 'known' or 'rows'",
                        text);
    if (*n > MOST_OBSERVATIONS)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`prevalence-n=%s`: more than %g observations;\nwrite known for a prevalence that is exact",
                        text, MOST_OBSERVATIONS);
    return PV_OK;
}

pv_status pv__intercept_parse(pv_ctx *ctx, const pv_fit_options *o, const char *text, pv_prior *prior) {
    bool profile = pv_loss_has_marginal((pv_loss)o->loss) && o->marginal == PV_MARGINAL_PROFILE;
    bool jeffreys = strcmp(text, "jeffreys") == 0;
    if (jeffreys && !profile)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`intercept-prior=jeffreys` is for `loss=ig` with `marginal=profile`:\nchoose normal:SCALE, "
                        "student:NU or none");
    PV_TRY(pv_prior_parse(ctx, "intercept-prior", jeffreys ? "none" : text, prior));
    if (prior->kind == PV_PRIOR_LAPLACE)
        return pv__fail(ctx, PV_ERR_USAGE, "`intercept-prior=laplace` is not smooth;\nchoose normal, student or none");
    return PV_OK;
}

static pv_status check_texts(pv_ctx *ctx, const pv_fit_options *o, bool minibatches) {
    pv_prior prior;
    size_t rows;
    double n;
    if (!pv__prior_is_open(o))
        PV_TRY(pv_prior_parse(ctx, "prior", o->prior, &prior));
    PV_TRY(pv__batch_parse(ctx, o->batch, &rows));
    PV_TRY(pv__strength_parse(ctx, o->prevalence_n, &n));
    if (strcmp(o->intercept_prior, "auto") != 0)
        PV_TRY(pv__intercept_parse(ctx, o, o->intercept_prior, &prior));
    if (minibatches) {
        pv__schedule schedule;
        PV_TRY(pv__schedule_parse(ctx, o->schedule, o->epochs, &schedule));
    }
    return PV_OK;
}

/* ---- options together -------------------------------------------------------------------------------------------- */

pv_status pv_fit_check(pv_ctx *ctx, const pv_fit_options *options, bool sample, const char *const *given,
                       size_t n_given) {
    int64_t views, size;
    PV_TRY(pv_model_views(ctx, options->model, &views, &size));
    bool images = views > 0, minibatches = pv__minibatches(options, images);
    PV_TRY(refuse_idle(ctx, options, images, given, n_given));
    PV_TRY(check_texts(ctx, options, minibatches));
    return pv__rules_check(ctx, options, pv__facts_of_options(ctx, options, images, sample));
}

pv_status pv_fit_settings_check(pv_ctx *ctx, const pv_settings *settings, bool sample) {
    const pv_fit_options *options = pv_fit_options_of(settings);
    const pv_roles *roles = pv_roles_of(settings);
    size_t rows = 0, n = 0;
    const char **given;
    if (!options)
        return pv__fail(ctx, PV_ERR_USAGE, "these are not the settings of a fit:\nmake them by pv_fit_settings_new");
    while (pv_fit_option_table[rows].name)
        rows++;
    PV_TRY(pv__alloc(ctx, rows, sizeof *given, &given));
    for (size_t i = 0; i < rows; i++)
        if (pv_settings_given(settings, pv_fit_option_table[i].name))
            given[n++] = pv_fit_option_table[i].name;
    pv_fit_options own = *options;
    own.loss = (int)pv_fit_loss(options, roles && roles->matched);
    pv_status status = pv_fit_check(ctx, &own, sample, given, n);
    pv__free(ctx, given);
    return status;
}
