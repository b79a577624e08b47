/* Strata of another model's probabilities: the prevalences they were made for, and populations with such strata. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/text.h"
#include "data/data.h"
#include "predict/predict.h"

/* ---- strata of rows ---------------------------------------------------------------------------------------------- */

/* The part of a schema that functions reading files of strata need. Borrowed from the probabilities. */
static pv_schema schema_of(const pv_probs *probs) {
    return (pv_schema){.labels = probs->labels, .classes = probs->classes, .strata = probs->strata};
}

pv_status pv_probs_from_read(pv_ctx *ctx, pv_probs *probs, const char *from, const pv_csv_options *csv) {
    if (!probs->strata || probs->from)
        return pv__fail(ctx, PV_ERR_USAGE, "the probabilities have no strata, or have what they were made for already");
    size_t k = (size_t)probs->classes, strata = (size_t)probs->strata->count;
    const pv_schema schema = schema_of(probs);
    bool file = access(from, R_OK) == 0;
    double *made;
    PV_TRY(pv__alloc(ctx, strata, k * sizeof *made, &made));
    pv_status status = file ? pv_prevalences_read(ctx, from, csv, &schema, made)
                            : pv_prevalence_parse_one(ctx, "`from`", from, probs->labels, probs->classes, made);
    if (status != PV_OK) {
        pv__free(ctx, made);
        return status;
    }
    for (size_t s = 1; !file && s < strata; s++)
        memcpy(made + s * k, made, k * sizeof *made);
    probs->from = made;
    return PV_OK;
}

pv_status pv_probs_strata_set(pv_ctx *ctx, pv_probs *probs, int strata, const char *const *names,
                              const int32_t *stratum, const double *from) {
    size_t rows = probs->data->rows, k = (size_t)probs->classes;
    if (probs->strata)
        return pv__fail(ctx, PV_ERR_USAGE, "the probabilities have strata already");
    for (size_t i = 0; i < rows; i++)
        if (stratum[i] < 0 || stratum[i] >= strata)
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu is of stratum %d; there are %d, numbered from 0", i + 1,
                            (int)stratum[i], strata);
    for (int s = 0; s < strata; s++) {
        const pv_prevalence one = {.classes = probs->classes, .prevalence = from + (size_t)s * k};
        PV_TRY(pv_prevalence_check(ctx, &one));
    }
    pv_strata *made = NULL;
    int32_t *own = NULL;
    double *own_from = NULL;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, 1, sizeof *made, &made));
    made->count = strata; /* set before the names, so that a partial copy can be freed */
    PV_GOTO(fail, pv__names_copy(ctx, names, (size_t)strata, &made->name));
    PV_GOTO(fail, pv__alloc(ctx, rows, sizeof *own, &own));
    PV_GOTO(fail, pv__alloc(ctx, (size_t)strata, k * sizeof *own_from, &own_from));
    memcpy(own, stratum, rows * sizeof *own);
    memcpy(own_from, from, (size_t)strata * k * sizeof *own_from);
    probs->strata = made;
    probs->data->stratum = own;
    probs->from = own_from;
    return PV_OK;
fail:
    pv__strata_free(ctx, made);
    pv__free(ctx, own);
    return status;
}

/* ---- populations ------------------------------------------------------------------------------------------------- */

pv_status pv_population_known_strata(pv_ctx *ctx, const pv_probs *probs, const double *prevalence,
                                     pv_population **population) {
    *population = NULL;
    if (!probs->strata)
        return pv__fail(ctx, PV_ERR_USAGE, "the probabilities have no strata");
    size_t k = (size_t)probs->classes, strata = (size_t)probs->strata->count;
    for (size_t s = 0; s < strata; s++) {
        const pv_prevalence one = {.classes = probs->classes, .prevalence = prevalence + s * k};
        PV_TRY(pv_prevalence_check(ctx, &one));
    }
    pv_predicted_strata rows = {.strata = probs->strata->count};
    PV_TRY(pv__alloc(ctx, strata, sizeof *rows.share, &rows.share));
    pv__strata_shares(probs->data, &rows);
    pv_status status = pv__population_strata(ctx, PV_POPULATION_KNOWN, rows.strata, probs->classes, rows.share,
                                             prevalence, population);
    pv__free(ctx, rows.share);
    return status;
}

pv_status pv_population_strata_read(pv_ctx *ctx, const pv_probs *probs, const char *path, const pv_csv_options *csv,
                                    pv_population **population) {
    *population = NULL;
    if (!probs->strata)
        return pv__fail(ctx, PV_ERR_USAGE, "the probabilities have no strata");
    const pv_schema schema = schema_of(probs);
    double *prevalence;
    if (access(path, R_OK) != 0)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`population=known:%s`: with `strata` give a file that can be read, with a prevalence for each",
                        pv__show(path).text);
    PV_TRY(pv__alloc(ctx, (size_t)probs->strata->count, (size_t)probs->classes * sizeof *prevalence, &prevalence));
    pv_status status = pv_prevalences_read(ctx, path, csv, &schema, prevalence);
    if (status == PV_OK)
        status = pv_population_known_strata(ctx, probs, prevalence, population);
    pv__free(ctx, prevalence);
    return status;
}
