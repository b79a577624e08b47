/* The paper's results for nodules and ratings, from its tables in section 9 and the appendix.
 *
 * Columns are in the paper's order. Its third column, headed Rsk, contains minus the information gain; here it is the
 * gain. Its second, headed NLL, contains the mean log-loss of held-out rows (in the text the two names are exchanged).
 * Its first, NELL, includes two standard deviations of the estimate (8.1): log_loss_upper.
 */
#include "lab/common/grid_paper.h"

#include <math.h>
#include <string.h>

enum { PAPER_PREVALENCES = 5, PAPER_RATINGS = 3 };

static const double nodules_prevalence[PAPER_PREVALENCES] = {0.5, 0.25, 0.1, 0.01, 0.001};

/* [IG, IW]: log_loss_upper, holdout_nll, information_gain, accuracy, tnr, tpr, npv, ppv, auc, informedness, markedness,
 * mcc
 */
static const double convnet_balanced[PAPER_PREVALENCES][GRID_PAPER_LOSSES][PAPER_COLUMNS] = {
    {{0.494, 0.391, 0.325, 0.86, 0.88, 0.78, 0.92, 0.68, 0.89, 0.66, 0.60, 0.63},
     {0.516, 0.418, 0.278, 0.85, 0.86, 0.80, 0.93, 0.65, 0.89, 0.66, 0.58, 0.62}},
    {{0.400, 0.416, 0.217, 0.84, 0.85, 0.80, 0.93, 0.64, 0.89, 0.66, 0.57, 0.61},
     {0.399, 0.338, 0.217, 0.87, 0.93, 0.68, 0.90, 0.78, 0.89, 0.62, 0.68, 0.65}},
    {{0.270, 0.515, 0.301, 0.80, 0.78, 0.86, 0.95, 0.56, 0.89, 0.64, 0.51, 0.57},
     {0.249, 0.359, 0.272, 0.86, 0.97, 0.52, 0.86, 0.84, 0.88, 0.48, 0.70, 0.58}},
    {{0.085, 0.565, 0.561, 0.78, 0.75, 0.87, 0.95, 0.53, 0.89, 0.62, 0.47, 0.54},
     {0.054, 0.651, 0.465, 0.78, 0.99, 0.12, 0.78, 0.94, 0.87, 0.12, 0.72, 0.29}},
    {{0.058, 0.604, 0.651, 0.75, 0.71, 0.87, 0.95, 0.50, 0.88, 0.59, 0.44, 0.51},
     {0.008, 1.138, 0.527, 0.76, 1.0, 0.0, 0.76, NAN, 0.86, 0.0, NAN, NAN}}};

static const double inception_balanced[PAPER_PREVALENCES][GRID_PAPER_LOSSES][PAPER_COLUMNS] = {
    {{0.516, 0.374, 0.348, 0.87, 0.90, 0.76, 0.92, 0.72, 0.89, 0.66, 0.64, 0.65},
     {0.510, 0.405, 0.291, 0.84, 0.86, 0.79, 0.93, 0.64, 0.89, 0.65, 0.57, 0.61}},
    {{0.413, 0.397, 0.211, 0.86, 0.88, 0.76, 0.92, 0.68, 0.88, 0.65, 0.60, 0.63},
     {0.409, 0.347, 0.207, 0.86, 0.92, 0.67, 0.89, 0.73, 0.89, 0.60, 0.63, 0.61}},
    {{0.268, 0.464, 0.277, 0.83, 0.83, 0.82, 0.94, 0.61, 0.88, 0.65, 0.55, 0.60},
     {0.255, 0.387, 0.254, 0.85, 0.96, 0.50, 0.86, 0.83, 0.89, 0.47, 0.69, 0.56}},
    {{0.093, 0.569, 0.543, 0.78, 0.76, 0.85, 0.94, 0.54, 0.88, 0.61, 0.48, 0.54},
     {0.046, 0.689, 0.451, 0.78, 1.0, 0.10, 0.78, 1.0, 0.90, 0.10, 0.78, 0.26}},
    {{0.086, 0.610, 0.625, 0.78, 0.76, 0.85, 0.94, 0.53, 0.88, 0.61, 0.47, 0.54},
     {0.007, 1.198, 0.486, 0.76, 1.0, 0.0, 0.76, NAN, 0.88, 0.0, NAN, NAN}}};

static const double convnet_uniform[PAPER_PREVALENCES][GRID_PAPER_LOSSES][PAPER_COLUMNS] = {
    {{0.492, 0.397, 0.318, 0.85, 0.87, 0.79, 0.93, 0.66, 0.89, 0.66, 0.59, 0.62},
     {0.498, 0.410, 0.293, 0.84, 0.86, 0.79, 0.93, 0.64, 0.89, 0.65, 0.57, 0.61}},
    {{0.397, 0.419, 0.219, 0.84, 0.86, 0.80, 0.93, 0.64, 0.89, 0.65, 0.57, 0.61},
     {0.396, 0.335, 0.220, 0.87, 0.93, 0.68, 0.90, 0.78, 0.89, 0.62, 0.68, 0.65}},
    {{0.262, 0.498, 0.300, 0.81, 0.80, 0.85, 0.95, 0.58, 0.89, 0.65, 0.53, 0.59},
     {0.251, 0.348, 0.287, 0.87, 0.97, 0.55, 0.87, 0.84, 0.89, 0.52, 0.72, 0.61}},
    {{0.073, 0.578, 0.573, 0.76, 0.72, 0.87, 0.95, 0.50, 0.88, 0.59, 0.44, 0.51},
     {0.053, 0.653, 0.467, 0.78, 0.99, 0.11, 0.78, 0.93, 0.87, 0.10, 0.71, 0.26}},
    {{0.042, 0.602, 0.661, 0.75, 0.70, 0.88, 0.95, 0.49, 0.88, 0.58, 0.44, 0.50},
     {0.008, 1.128, 0.540, 0.76, 1.0, 0.0, 0.76, NAN, 0.86, 0.0, NAN, NAN}}};

/* log_loss_upper, holdout_nll, information_gain, one_off_accuracy, accuracy, tnr, tpr, npv, ppv, auc, informedness,
 * markedness */
static const char *const ratings_prevalence[PAPER_RATINGS] = {"observed", "0.9", "0.999"};
static const double ratings[PAPER_RATINGS][GRID_PAPER_LOSSES][PAPER_COLUMNS] = {
    {{1.079, 1.092, 0.380, 0.96, 0.86, 0.82, 0.89, 0.90, 0.82, 0.94, 0.71, 0.72},
     {1.093, 1.029, 0.364, 0.97, 0.87, 0.85, 0.88, 0.89, 0.85, 0.94, 0.73, 0.74}},
    {{0.461, 1.132, 2.157, 0.94, 0.81, 0.77, 0.87, 0.88, 0.79, 0.93, 0.64, 0.67},
     {0.436, 1.536, 1.793, 0.71, 0.85, 0.92, 0.78, 0.82, 0.90, 0.93, 0.70, 0.72}},
    {{0.303, 1.456, 4.192, 0.85, 0.81, 0.83, 0.80, 0.83, 0.83, 0.92, 0.63, 0.66},
     {0.020, 5.195, 2.325, 0.31, 0.56, 0.99, 0.07, 0.55, NAN, 0.87, 0.06, NAN}}};

const double *paper_nodules(int network, int design, const char *prevalence, int loss) {
    double p;
    const char *end = pv_parse_real(prevalence, &p);
    if (!end || *end || (network == GRID_INCEPTION && design == GRID_UNIFORM))
        return NULL;
    for (int i = 0; i < PAPER_PREVALENCES; i++)
        if (p == nodules_prevalence[i])
            return network == GRID_INCEPTION ? inception_balanced[i][loss]
                   : design == GRID_BALANCED ? convnet_balanced[i][loss]
                                             : convnet_uniform[i][loss];
    return NULL;
}

const double *paper_ratings(int network, int design, const char *prevalence, int loss) {
    for (int i = 0; i < PAPER_RATINGS && network == GRID_CONVNET && design == GRID_BALANCED; i++)
        if (strcmp(prevalence, ratings_prevalence[i]) == 0)
            return ratings[i][loss];
    return NULL;
}
