/* src/design/design.h: how the rows of a fit were sampled, and for which population they stand. */
#ifndef PV_SRC_DESIGN_H
#define PV_SRC_DESIGN_H

#include "base/base.h"
#include "prevail/design.h"

/* What a fit's options state of its design. Borrowed. */
typedef struct pv__design_options {
    const char *prevalence, *prevalence_n;
    const char *prevalence_by, *phase_one; /* files; NULL: none */
    const pv_table *known;                 /* what is in the one that is named, which is then not read; NULL: it is */
    const pv_csv_options *csv;             /* how they are written; NULL: as usual */
    double prevalence_odds;                /* 0, 1: as in the file */
    double subcohort;                      /* 0: no case-cohort sample */
    bool sample;                           /* there is a sample of the population */
    bool variances;                        /* between the clusters of a survey's strata */
} pv__design_options;

/* The population always has strata, one at least. All rows are of that one where no strata were named, where a survey's
 * were, which are blocks that units were drawn in, and where the named columns have one combination of levels. */
typedef struct pv__design {
    int strata, classes;
    const int32_t *stratum; /* [rows]; NULL: all are of one */
    const int32_t *cluster; /* [rows], rows sampled together; NULL: each by itself */
    const int32_t *block;   /* [rows], a survey's strata; NULL: none */
    bool sampling;          /* weights are sampling weights */
    pv_stratified
        *stated;  /* [strata], by a file or a subcohort in strata; NULL: the population's prevalence is an option */
    bool counted; /* its prevalences are people counted, those of the rows among them */
    double *log_ratio; /* [strata][classes], log of sample share by prevalence; NULL: nothing is stated */
    bool lent;         /* `stated` is another's to free */
} pv__design;

/* On failure *design holds what there is, to be freed. Borrows data, and its sample's sampling from the options. */
pv_status pv__design_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                         const pv__design_options *options, pv__design **design);
void pv__design_free(pv_ctx *ctx, pv__design *design); /* NULL is fine */
/* Strata of the population: as pv__design's, before there is one. */
int pv__design_strata(const pv_schema *schema, const pv__design_options *options);
/* Several strata as a classifier keeps them, the caller's from now on; NULL where there is one. */
pv_stratified *pv__design_keep(pv__design *design);

/* (survey.c) Whether the schema's strata are those of a survey, which say how clusters or rows of sampling weights were
 * drawn, and nothing of labels; and a failure where clusters span them, or where one has no two. */
bool pv__survey_has_strata(const pv_schema *schema, const pv_dataset *data, const pv__design_options *options);
pv_status pv__survey_check(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, bool variances);

/* (stated_strata.c) */
pv_status pv__stratified_alloc(pv_ctx *ctx, int strata, int classes, pv_stratified **made);
/* What files or the subcohort state of the schema's strata, and what the data have of each; *made NULL: there are none.
 */
pv_status pv__stratified_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                             const pv__design_options *options, pv_stratified **made);

/* (strata_file.c) Share, prevalence and n, from a file of prevalences or of a cohort's counts, or from what is known of
 * it (NULL: the file is read); mass [strata][classes] is what the data have. */
pv_status pv__prevalence_by_read(pv_ctx *ctx, const char *path, const pv_table *known, const pv_csv_options *csv,
                                 const pv_schema *schema, pv_stratified *to);
pv_status pv__phase_one_read(pv_ctx *ctx, const char *path, const pv_table *known, const pv_csv_options *csv,
                             const pv_schema *schema, const double *mass, pv_stratified *to);

/* (subcohort.c) Of a case-cohort sample with labels of mass [2]: prevalence [2] of the cohort and the observations *n
 * that it is worth. The others were drawn by chance, so that their number is as uncertain as they are few. */
void pv__subcohort(const double *mass, double fraction, double *prevalence, double *n);
/* The same of each stratum, with the strata's shares; mass [strata][2]. */
void pv__subcohort_strata(const double *mass, double fraction, pv_stratified *to);

/* (matched_sets.c) Reports how many sets there are, and how many have no case or no control. */
pv_status pv__matched_tell(pv_ctx *ctx, const pv_dataset *data);

/* (prevalence_interval.c) The Beta distribution with [low, high] as its central 95 %: its mean and its number of
 * pseudo-observations. */
pv_status pv__beta_from_interval(pv_ctx *ctx, double low, double high, double *mean, double *n);

#endif
