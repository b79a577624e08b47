/* src/design/design.h: how the rows of a fit were sampled, and which population they represent. */
#ifndef PV_SRC_DESIGN_H
#define PV_SRC_DESIGN_H

#include "base/base.h"
#include "prevail/design.h"

/* The options of a fit that describe its design. Borrowed. */
typedef struct pv__design_options {
    const char *prevalence, *prevalence_n;
    const char *prevalence_by, *phase_one; /* files; NULL: none */
    const pv_table *known;     /* contents of the file named above, which is then not read; NULL: read the file */
    const pv_csv_options *csv; /* format of the files; NULL: the default */
    double prevalence_odds;    /* 0, 1: as in the file */
    double subcohort;          /* 0: not a case-cohort sample */
    bool sample;               /* there is a population sample */
    bool variances;            /* variances between the clusters of a survey's strata are needed */
} pv__design_options;

/* A population always has at least one stratum. There is only one if no strata were named, if the strata are those of a
 * survey (blocks in which units were drawn), or if the named columns have a single combination of levels. */
typedef struct pv__design {
    int strata, classes;
    const int32_t *stratum; /* [rows]; NULL: a single stratum */
    const int32_t *cluster; /* [rows], rows sampled together; NULL: each row by itself */
    const int32_t *block;   /* [rows], a survey's strata; NULL: none */
    bool sampling;          /* weights are sampling weights */
    pv_stratified *stated;  /* [strata], from a file or a stratified subcohort; NULL: the prevalence is an option */
    bool counted;           /* its prevalences are counts of people that include those of the rows */
    double *log_ratio; /* [strata][classes], log of sample proportion over prevalence; NULL: no prevalence is given */
    bool lent;         /* `stated` is owned by another struct */
} pv__design;

/* On failure *design is partial and must be freed. Borrows data, and from the options the sample's sampling. */
pv_status pv__design_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                         const pv__design_options *options, pv__design **design);
void pv__design_free(pv_ctx *ctx, pv__design *design); /* NULL is fine */
/* Number of strata of the population, before there is a design. */
int pv__design_strata(const pv_schema *schema, const pv__design_options *options);
/* Transfers the strata to the caller for storage in a classifier; NULL if there is only one. */
pv_stratified *pv__design_keep(pv__design *design);

/* (survey.c) Whether the schema's strata are those of a survey, which describe how clusters or rows with sampling
 * weights were drawn and say nothing about labels. The check fails if clusters span strata, or if one has fewer than
 * two units. */
bool pv__survey_has_strata(const pv_schema *schema, const pv_dataset *data, const pv__design_options *options);
pv_status pv__survey_check(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, bool variances);

/* (stated_strata.c) */
pv_status pv__stratified_alloc(pv_ctx *ctx, int strata, int classes, pv_stratified **made);
/* What files or the subcohort state about the schema's strata, and the label mass of each; *made NULL: no strata.
 */
pv_status pv__stratified_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                             const pv__design_options *options, pv_stratified **made);

/* (strata_file.c) Read proportions, prevalences and n from a file of prevalences or of a cohort's counts, or from
 * `known` (NULL: read the file). mass [strata][classes] is that of the data. */
pv_status pv__prevalence_by_read(pv_ctx *ctx, const char *path, const pv_table *known, const pv_csv_options *csv,
                                 const pv_schema *schema, pv_stratified *to);
pv_status pv__phase_one_read(pv_ctx *ctx, const char *path, const pv_table *known, const pv_csv_options *csv,
                             const pv_schema *schema, const double *mass, pv_stratified *to);

/* (subcohort.c) For a case-cohort sample with label masses mass [2]: the prevalence [2] in the cohort, and the
 * equivalent number of observations *n. Non-cases were sampled at random, so their number is uncertain if the sample is
 * small. */
void pv__subcohort(const double *mass, double fraction, double *prevalence, double *n);
/* The same for each stratum, with the strata's proportions; mass [strata][2]. */
void pv__subcohort_strata(const double *mass, double fraction, pv_stratified *to);

/* (matched_sets.c) Logs the number of sets, and of sets without a case or without a control. */
pv_status pv__matched_tell(pv_ctx *ctx, const pv_dataset *data);

/* (prevalence_interval.c) The Beta distribution whose central 95 % interval is [low, high]: its mean and its number of
 * pseudo-observations. */
pv_status pv__beta_from_interval(pv_ctx *ctx, double low, double high, double *mean, double *n);

#endif
