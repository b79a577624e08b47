/* lab/ratings/ratings.h: five grades as kinds; rating_kind.c. */
#ifndef PREVAIL_LAB_RATINGS_RATINGS_H
#define PREVAIL_LAB_RATINGS_RATINGS_H

enum { RATING_GRADES = 5 };

/* Benign or malignant if more than half of the votes are below 3 or above 3; unsure of the side with more votes
 * otherwise. */
typedef enum rating_kind {
    RATING_BENIGN,
    RATING_UNSURE_BENIGN,
    RATING_UNDECIDED,
    RATING_UNSURE_MALIGNANT,
    RATING_MALIGNANT,
    RATING_KINDS
} rating_kind;

rating_kind ratings_kind(const double *frequency); /* [RATING_GRADES] */

#endif
