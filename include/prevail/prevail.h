/* prevail.h: calibrated classifiers from data whose classes were sampled by design. Includes everything.
 *
 * From a table to judged predictions, table -> dataset -> fit -> predict -> judge (examples/fit.c is a whole program):
 *
 *   pv_ctx_new            a context: errors, threads, memory                         base.h
 *   pv_table_read         a CSV file or a file of arrays; pv_table_new: from memory  data.h
 *   pv_dataset_learn      which columns and rows to use, labels, encoding, matrix    data.h
 *   pv_fit                train; options from pv_fit_options_default                 infer.h
 *   pv_classifier_save    a model file; pv_classifier_load reads it                  infer.h
 *   pv_classifier_summary coefficients, odds ratios and prevalences, with intervals  infer.h
 *   pv_diagnose           whether a fit is to be trusted, and what to do if not      diagnose.h
 *   pv_dataset_apply      encode new rows as in training                             data.h
 *   pv_predict_in         probabilities in a population: "true", "known:0.2", ...    predict.h
 *   pv_judge_in           what they are worth: metrics with intervals                judge.h
 *   pv_cross_validate     the same by cross-validation                               validate.h
 *   pv_ctx_error          what went wrong, after any status but PV_OK                base.h
 *
 * What a function makes, its _free releases: pv_table_free, pv_dataset_free, pv_classifier_free, pv_prediction_free,
 * ...
 *
 * With a training framework of your own you need core.h alone: pv_full_loss_new and pv_full_loss_eval take
 * log-likelihoods and labels, and give the loss and its gradient (examples/loss.c).
 *
 * The rest is a second tier, for those who need it:
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
