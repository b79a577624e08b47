/* Classifies the readers' votes on a nodule (section 9.2 of the paper). */
#include "lab/ratings/ratings.h"

rating_kind ratings_kind(const double *frequency) {
    double benign = frequency[0] + frequency[1], malignant = frequency[3] + frequency[4];
    if (benign > 0.5)
        return RATING_BENIGN;
    if (malignant > 0.5)
        return RATING_MALIGNANT;
    return benign > malignant ? RATING_UNSURE_BENIGN : malignant > benign ? RATING_UNSURE_MALIGNANT : RATING_UNDECIDED;
}
