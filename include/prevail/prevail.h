/* prevail.h: calibrated classifiers from data whose classes were sampled by design. Includes everything.
 *
 * This comment is all that most programs need. One that learns from a case-control table and prints the risk of other
 * people in the true population, and what these risks are worth (examples/fit.c):
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
 *         if (argc != 5 || pv_ctx_new(NULL, &ctx) != PV_OK)
 *             return fprintf(stderr, "usage: fit STUDY.csv TARGET PREVALENCE PEOPLE.csv\n"), 2;
 *         need(ctx, pv_fit_settings_new(ctx, &settings));
 *         need(ctx, pv_settings_set(ctx, settings, "target", argv[2]));
 *         need(ctx, pv_settings_set(ctx, settings, "prevalence", argv[3]));
 *         need(ctx, pv_learn(ctx, argv[1], settings, &model));
 *         pv_roles labelled = pv_schema_roles(model->schema);
 *         need(ctx, pv_dataset_read(ctx, model->schema, argv[4], &labelled, NULL, &people));
 *         need(ctx, pv_predict_in(ctx, model, people, "true", NULL, &said));
 *         need(ctx, pv_judge_in(ctx, model, people, "true", NULL, &worth));
 *         for (size_t i = 0; i < said->rows; i++)
 *             printf("%.6g\n", said->p[i * (size_t)said->classes + 1]);
 *         fprintf(stderr, "AUC %.3f\n", worth->found.value.auc);
 *         pv_judgement_free(ctx, worth);
 *         pv_prediction_free(ctx, said);
 *         pv_dataset_free(ctx, people);
 *         pv_classifier_free(ctx, model);
 *         pv_settings_free(ctx, settings);
 *         pv_ctx_free(ctx);
 *         return 0;
 *     }
 *
 * The way is the same for every model, table -> schema -> fit -> predict -> judge:
 *
 *   pv_ctx_new           a context: errors, threads, memory                               base.h
 *   pv_fit_settings_new  the settings of a fit: "target", "prevalence", "model", ...      infer.h
 *   pv_settings_set      one of them, by the name and text that prevail fit --help has    base.h
 *   pv_learn             a file (CSV, NPZ, NPY, IDX) and settings to a classifier         infer.h
 *   pv_classifier_save   a model file; pv_classifier_load reads it                        infer.h
 *   pv_classifier_summary  coefficients, odds ratios and prevalences, with intervals      infer.h
 *   pv_diagnose          whether a fit is to be trusted, and what to do if not            diagnose.h
 *   pv_dataset_read      the rows of another file, by the classifier's schema             data.h
 *   pv_predict_in        probabilities in a population: "true", "known:0.2", "unknown"    predict.h
 *   pv_judge_in          what they are worth: metrics with intervals                      judge.h
 *   pv_cross_validate    the same by cross-validation                                     validate.h
 *   pv_ctx_message       what went wrong, and where, after any status but PV_OK           base.h
 *
 * What a function makes, its _free releases: pv_classifier_free, pv_dataset_free, pv_prediction_free, ...
 *
 * Data in memory: pv_table_new and pv_table_add_matrix make a table, pv_learn_table learns from it, pv_schema_apply
 * makes the rows of another. In smaller steps: pv_table_read reads a table, pv_schema_learn makes of it a schema (what
 * its columns mean, kept in the model) and a data set, pv_fit fits these.
 *
 * With a training framework of your own you need core.h alone: pv_full_loss_new and pv_full_loss_eval take
 * log-likelihoods and labels, and give the loss and its gradient (examples/loss.c).
 *
 * All else is a second tier, for those who need it:
 *
 *   base.h       option tables, settings by name, checkpoints, jobs, output files
 *   images.h     arrays from NPZ, NPY and IDX; images with labels or votes
 *   model.h      architectures over one flat block of parameters
 *   posterior.h  Laplace, mixture variational inference, Hamiltonian Monte Carlo, for any density
 *   predict.h    decisions with costs; an unknown prevalence from log-likelihoods of your own
 *   probs.h      another model's probabilities, from a file
 *   judge.h      ensembles; judging what was predicted already
 *   assess.h     metrics of arrays of your own, curves
 *   validate.h   hold-out samples, mixtures of models
 *   report.h     one HTML page of text, tables and charts, with an explorer of populations
 *   chart.h      charts as SVG, from a description
 *   streams.h    the purposes of the random streams
 */
#ifndef PREVAIL_H
#define PREVAIL_H

#include "prevail/assess.h"
#include "prevail/diagnose.h"
#include "prevail/images.h"
#include "prevail/judge.h"
#include "prevail/posterior.h"
#include "prevail/predict.h"
#include "prevail/probs.h"
#include "prevail/report.h"
#include "prevail/validate.h"

#endif
