/* lab/common/grid_paper.h: the paper's results, for comparison. */
#ifndef PREVAIL_LAB_COMMON_GRID_PAPER_H
#define PREVAIL_LAB_COMMON_GRID_PAPER_H

#include "lab/common/grid_report.h"

enum { PAPER_COLUMNS = 12 };

/* NULL if the paper has none. prevalence: as given to the study. */
const double *paper_nodules(int network, int design, const char *prevalence, int loss);
/* The paper does not say which network and batches its ratings refer to; they are shown next to those of the ConvNet
 * with balanced batches. */
const double *paper_ratings(int network, int design, const char *prevalence, int loss);

#endif
