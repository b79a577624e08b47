/* Grades 1 to 5 as benign and malignant (section 9.2 of the paper). */
#include <math.h>

#include "study_ratings.h"

void ratings_binarise(const double *f, double *benign, double *malignant) {
    *benign = f[0] + f[1];
    *malignant = f[3] + f[4];
}

rating_kind ratings_kind(const double *f) {
    double benign, malignant;
    ratings_binarise(f, &benign, &malignant);
    if (benign > 0.5)
        return RATING_BENIGN;
    if (malignant > 0.5)
        return RATING_MALIGNANT;
    return benign > malignant ? RATING_UNSURE_BENIGN : malignant > benign ? RATING_UNSURE_MALIGNANT : RATING_UNDECIDED;
}

double ratings_malignancy(const double *log_p) {
    double top = log_p[0], benign, malignant, p[RATING_GRADES];
    for (int y = 1; y < RATING_GRADES; y++)
        top = y != 2 ? fmax(top, log_p[y]) : top;
    for (int y = 0; y < RATING_GRADES; y++)
        p[y] = exp(log_p[y] - top); /* the middle grade cancels */
    ratings_binarise(p, &benign, &malignant);
    return malignant / (benign + malignant);
}
