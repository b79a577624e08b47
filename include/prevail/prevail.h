/* prevail.h: calibrated classifiers from data whose classes were sampled by design.
 *
 *   base.h     status codes, context, option tables
 *   core.h     the losses: log-likelihoods and labels in, loss and gradient out; usable alone
 *   data.h     tables, CSV, encoding, embedded and simulated data
 *   images.h   arrays from NPZ, NPY and IDX; images with labels or votes
 *   model.h    architectures over one flat parameter block
 *   posterior.h  Laplace, mixture variational inference, Hamiltonian Monte Carlo, for any density
 *   infer.h    fit: from data to a classifier; model files
 *   predict.h  probabilities in the true, or another, population
 *   probs.h    another model's probabilities from a file
 *   assess.h   metrics with intervals, curves
 *   chart.h    charts as SVG, from a description
 *   report.h   one HTML page of text, tables, charts, and an explorer of populations
 *
 * The short way: pv_table_read, pv_dataset_learn, pv_fit, pv_classifier_save; later pv_classifier_load,
 * pv_dataset_apply, pv_predict_in.
 */
#ifndef PREVAIL_H
#define PREVAIL_H

#include "prevail/assess.h"
#include "prevail/images.h"
#include "prevail/posterior.h"
#include "prevail/predict.h"
#include "prevail/probs.h"
#include "prevail/report.h"
#include "prevail/validate.h"

#endif
