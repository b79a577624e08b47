/* src/export/export.h: a classifier as steps from a row's cells to its probabilities, and the languages into which
 * steps are translated. A language supports each kind of step and does not depend on models.
 */
#ifndef PV_SRC_EXPORT_H
#define PV_SRC_EXPORT_H

#include "model/steps.h"
#include "prevail/export.h"

/* The input of a language. */
typedef struct pv__described {
    pv__steps steps;
    int p; /* the step with the probabilities [labels]; NaN if the row's cells do not allow a prediction */
    const pv_classifier *classifier;
    const pv_export_options *options;
    const double *prevalence; /* [labels], of the population; NULL: an input of each row, or that of the model */
    bool given;               /* the prevalence is an input of each row */
    size_t labels;
    char *const *label;
    const char *about; /* JSON description of the export, its inputs and outputs */
} pv__described;

/* (describe.c) population NULL: its prevalence is an input of each row. */
PV_MUST_USE pv_status pv__describe(pv_ctx *ctx, const pv_classifier *c, const pv_export_options *options,
                                   const pv_population *population, pv__described *made);
/* (features.c) Returns the step with the model's inputs; *refused: the step that counts unusable cells. */
int pv__describe_features(pv__steps *steps, const pv_classifier *c, const pv_export_options *options, int *refused);
/* (average.c) Probabilities from the log-likelihoods `said` of a linear model, as infer/averaging.c computes them. */
int pv__describe_average(pv__steps *steps, const pv_classifier *c, int x, int said);

/* ---- growing text (text_out.c) ----------------------------------------------------------------------------------- */

typedef struct pv__out {
    pv_ctx *ctx;
    pv_status status; /* the first failure, after which nothing is added */
    char *bytes;
    size_t size, room;
} pv__out;
void pv__out_add(pv__out *out, const void *bytes, size_t size);
void pv__out_text(pv__out *out, const char *text);
void pv__out_format(pv__out *out, const char *format, ...) PV_PRINTF(2, 3);
void pv__out_number(pv__out *out,
                    double value); /* the shortest form that reads back as the same number; must be finite */

/* ---- languages --------------------------------------------------------------------------------------------------- */

typedef struct pv__language {
    const char *suffix; /* of the file's name */
    const char *name;
    pv_status (*write)(const pv__described *d, pv__out *out);
    bool images; /* supports networks of images */
    bool table;  /* needs the name of the table with the rows */
} pv__language;
extern const pv__language pv__export_onnx, pv__export_c, pv__export_sql;

/* Names of inputs and outputs other than the columns', chosen not to clash with those. */
typedef struct pv__export_names {
    char prevalence[32], images[32], probabilities[32], label[32];
} pv__export_names;
void pv__export_names_find(const pv__described *d, pv__export_names *names);

#endif
