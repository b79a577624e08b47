/* prevail/design.h: what is known about the strata that rows were sampled in. The population is their mixture. */
#ifndef PREVAIL_DESIGN_H
#define PREVAIL_DESIGN_H

#include "prevail/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The strata of a classifier. */
typedef struct pv_stratified {
    int strata, classes;
    double *share;             /* [strata], of the population */
    double *prevalence;        /* [strata][classes], as stated */
    double *n;                 /* [strata], number of observations behind the prevalence; INFINITY: known exactly */
    double *design;            /* [strata][classes], label shares of the training rows */
    double *log_marginal;      /* [strata][classes], log p(y|w) in each */
    double *rows;              /* [strata], weighted number of training rows */
    double *draw_log_marginal; /* [posterior->count][strata][classes]; NULL without a posterior */
} pv_stratified;

/* Reads the shares and prevalences of the schema's strata from a file in the format of prevalence_by; other fields are
 * not set. csv may be NULL. The caller frees *stratified with pv_stratified_free. */
PV_MUST_USE pv_status pv_stratified_read(pv_ctx *ctx, const char *path, const pv_csv_options *csv,
                                         const pv_schema *schema, pv_stratified **stratified);
void pv_stratified_free(pv_ctx *ctx, pv_stratified *stratified); /* NULL is allowed */
/* Reads only the prevalences of such a file, to prevalence [strata][classes]. Rows of other strata are ignored, shares
 * are not read, and intervals are rejected. */
PV_MUST_USE pv_status pv_prevalences_read(pv_ctx *ctx, const char *path, const pv_csv_options *csv,
                                          const pv_schema *schema, double *prevalence);
/* The prevalence in the mixture of the strata, [classes]. */
void pv_stratified_mix(const pv_stratified *stratified, double *prevalence);

#ifdef __cplusplus
}
#endif

#endif
