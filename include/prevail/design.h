/* prevail/design.h: what is stated of the strata that rows were sampled in. The population is their mixture. */
#ifndef PREVAIL_DESIGN_H
#define PREVAIL_DESIGN_H

#include "prevail/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Strata as a classifier has them. */
typedef struct pv_stratified {
    int strata, classes;
    double *share;             /* [strata], of the population */
    double *prevalence;        /* [strata][classes], as stated */
    double *n;                 /* [strata], observations that it rests on; INFINITY: known */
    double *design;            /* [strata][classes], label shares of the training rows */
    double *log_marginal;      /* [strata][classes], log p(y|w) */
    double *rows;              /* [strata], of the training data, by their weights */
    double *draw_log_marginal; /* [posterior->count][strata][classes]; NULL without a posterior */
} pv_stratified;

/* Shares and prevalences of the schema's strata, from a file as prevalence_by names one; the rest is not set. csv may
 * be NULL. The caller frees *stratified with pv_stratified_free. */
PV_MUST_USE pv_status pv_stratified_read(pv_ctx *ctx, const char *path, const pv_csv_options *csv,
                                         const pv_schema *schema, pv_stratified **stratified);
void pv_stratified_free(pv_ctx *ctx, pv_stratified *stratified); /* NULL is fine */
/* The prevalences of such a file alone, to prevalence [strata][classes] of the schema's strata: rows of others are left
 * alone, shares not read, and intervals refused. */
PV_MUST_USE pv_status pv_prevalences_read(pv_ctx *ctx, const char *path, const pv_csv_options *csv,
                                          const pv_schema *schema, double *prevalence);
/* The prevalence of their mixture, [classes]. */
void pv_stratified_mix(const pv_stratified *stratified, double *prevalence);

#ifdef __cplusplus
}
#endif

#endif
