/* prevail.h: calibrated classifiers from data whose classes were sampled by design. Includes all public headers.
 *
 * This comment is sufficient for most programs. The following program (examples/fit.c) fits a classifier to a
 * case-control table, prints the predicted risks of other people in the true population, and evaluates these
 * predictions:
 *
 *     // cc fit.c $(pkg-config --cflags --libs prevail) && ./a.out study.csv outcome 0.01 people.csv
 *     #include <prevail/prevail.h>
 *     #include <stdio.h>
 *     #include <stdlib.h>
 *
 *     static void need(pv_ctx *ctx, pv_status status) {
 *         if (status == PV_OK)
 *             return;
 *         fprintf(stderr, "%s\n", pv_ctx_message(ctx));
 *         exit(1);
 *     }
 *
 *     int main(int argc, char **argv) {
 *         pv_ctx *ctx;
 *         pv_settings *settings;
 *         pv_classifier *model;
 *         pv_dataset *people;
 *         pv_prediction *said;
 *         pv_judgement *worth;
 *         if (argc != 5)
 *             return fprintf(stderr, "usage: fit STUDY.csv TARGET PREVALENCE PEOPLE.csv\n"), 2;
 *         if (pv_ctx_new(NULL, &ctx) != PV_OK) // NULL here and below: defaults
 *             return 1;
 *         need(ctx, pv_fit_settings_new(ctx, &settings));
 *         need(ctx, pv_settings_set(ctx, settings, "outcome", argv[2]));
 *         need(ctx, pv_settings_set(ctx, settings, "prevalence", argv[3]));
 *         need(ctx, pv_learn(ctx, argv[1], settings, &model));
 *         pv_roles labelled = pv_schema_roles(model->schema); // also read the outcomes; NULL here: do not
 *         need(ctx, pv_dataset_read(ctx, model->schema, argv[4], &labelled, NULL, &people));
 *         need(ctx, pv_predict_in(ctx, model, people, "true", NULL, &said));
 *         pv_judge_options judge = pv_judge_options_default();
 *         judge.stated_for = "population"; // weight rows to the population
 *         need(ctx, pv_judge_in(ctx, model, people, "true", &judge, &worth));
 *         for (size_t i = 0; i < said->rows; i++) // [rows][classes], positive label last
 *             printf("%.6g\n", said->p[i * (size_t)said->classes + 1]);
 *         const pv_assessment *found = &worth->found; // value, and lo and hi of a 95 % interval
 *         fprintf(stderr, "AUC %.3f [%.3f, %.3f], ", found->value.auc, found->lo.auc, found->hi.auc);
 *         fprintf(stderr, "log loss %.4f ", found->value.log_loss);
 *         fprintf(stderr, "[%.4f, %.4f]\n", found->lo.log_loss, found->hi.log_loss);
 *         pv_judgement_free(ctx, worth);
 *         pv_prediction_free(ctx, said);
 *         pv_dataset_free(ctx, people);
 *         pv_classifier_free(ctx, model);
 *         pv_settings_free(ctx, settings);
 *         pv_ctx_free(ctx);
 *         return 0;
 *     }
 *
 * The steps are the same for every model (table -> schema -> fit -> predict -> evaluate):
 *
 *   pv_ctx_new           a context: errors, threads, memory                               base.h
 *   pv_fit_settings_new  the settings of a fit: "outcome", "prevalence", "model", ...      plan.h
 *   pv_settings_set      sets one of them: names and values are those of prevail fit --help all,
 *                        without the leading dashes ("prevalence-n", "infer", "positive")   base.h
 *   pv_learn             fits a classifier to a file (CSV, NPZ, NPY, IDX)                  infer.h
 *   pv_classifier_save   writes a model file; pv_classifier_load reads it                 infer.h
 *   pv_classifier_summary  coefficients, odds ratios and prevalences, with intervals      infer.h
 *   pv_diagnose          checks whether a fit can be trusted, with advice                 diagnose.h
 *   pv_dataset_read      reads the rows of another file with the classifier's schema      data.h
 *   pv_predict_in        probabilities in a population: "true", "known:0.2", or "unknown",
 *                        which estimates the prevalence (said->prevalence) from all given rows  predict.h
 *   pv_judge_in          evaluates them: metrics with intervals (PV_METRIC_LIST)          judge.h, assess.h
 *   pv_cross_validate    evaluates a model by cross-validation                            validate.h
 *   pv_ctx_message       what went wrong, and where, after a status other than PV_OK      base.h
 *
 * Each object is freed by the _free function of its type: pv_classifier_free, pv_dataset_free, pv_prediction_free, ...
 *
 * A classifier stores its schema: the meaning of its table's columns, and its labels in order (schema->labels, the
 * positive one last; the setting "positive" names it). Roles determine which parts of a table are read: those of
 * pv_schema_roles include the outcome, NULL reads the features only.
 *
 * Data in memory (data.h; the types of arrays are in images.h):
 *
 *     double x[N][2], y[N];
 *     static const char *const names[] = {"age", "dose"};
 *     need(ctx, pv_table_new(ctx, "memory", N, &table));
 *     need(ctx, pv_table_add_matrix(ctx, table, names, 2, PV_ARRAY_F64, x, PV_PACKED, PV_PACKED, false));
 *     need(ctx, pv_table_add_numbers(ctx, table, "y", PV_ARRAY_F64, y, PV_PACKED, NULL, false));
 *     need(ctx, pv_learn_table(ctx, table, settings, &model)); // texts: pv_table_add_texts
 *     need(ctx, pv_schema_apply(ctx, model->schema, other_table, NULL, &people));
 *
 * In smaller steps: pv_table_read reads a table, pv_schema_learn makes a schema and a dataset from it, pv_fit fits a
 * classifier.
 *
 * To train with another framework, only core.h is needed: pv_full_loss_new and pv_full_loss_eval take log-likelihoods
 * and labels, and return the loss and its gradient (examples/loss.c).
 *
 * The other headers contain further functions:
 *
 *   base.h       option tables, settings by name, checkpoints, jobs, output files
 *   arrow.h      tables from data frames of other libraries, through Arrow's C stream interface
 *   images.h     arrays from NPZ, NPY and IDX; images with labels or votes
 *   model.h      architectures with one flat array of parameters
 *   posterior.h  Laplace, mixture variational inference, Hamiltonian Monte Carlo, for any density
 *   predict.h    decisions with costs; an unknown prevalence from log-likelihoods of your own
 *   probs.h      another model's probabilities, from a file
 *   rate.h       how common labels are, by imperfect verdicts and gold rows
 *   size.h       how many cases and controls a study needs
 *   sets.h       sets of labels with guaranteed coverage, and a "refer" region
 *   effect.h     how much an exposure changes the risk in the population
 *   judge.h      ensembles; evaluation of existing predictions
 *   assess.h     definitions of the metrics; metrics of your own arrays; curves
 *   validate.h   hold-out samples, mixtures of models
 *   report.h     one HTML page of text, tables and charts, with an explorer of populations
 *   chart.h      charts as SVG, from a description
 *   streams.h    the purposes of the random streams
 */
#ifndef PREVAIL_H
#define PREVAIL_H

#include "prevail/arrow.h"
#include "prevail/assess.h"
#include "prevail/diagnose.h"
#include "prevail/effect.h"
#include "prevail/export.h"
#include "prevail/images.h"
#include "prevail/judge.h"
#include "prevail/methods.h"
#include "prevail/posterior.h"
#include "prevail/predict.h"
#include "prevail/probs.h"
#include "prevail/rate.h"
#include "prevail/report.h"
#include "prevail/size.h"
#include "prevail/sets.h"
#include "prevail/validate.h"

#endif
