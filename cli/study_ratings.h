/* cli/study_ratings.h: five grades as two labels; study_binarise.c. */
#ifndef PREVAIL_CLI_STUDY_RATINGS_H
#define PREVAIL_CLI_STUDY_RATINGS_H

enum { RATING_GRADES = 5 };

/* By more than half of the votes below 3 or above; the uncertain ones by the side that has more. */
typedef enum rating_kind {
    RATING_BENIGN,
    RATING_UNSURE_BENIGN,
    RATING_UNDECIDED,
    RATING_UNSURE_MALIGNANT,
    RATING_MALIGNANT,
    RATING_KINDS
} rating_kind;

/* frequency [RATING_GRADES]: masses below and above grade 3. */
void ratings_binarise(const double *frequency, double *benign, double *malignant);
rating_kind ratings_kind(const double *frequency);
/* Probability of a grade above 3 given that it is not 3, of log probabilities [RATING_GRADES]. */
double ratings_malignancy(const double *log_p);

#endif
