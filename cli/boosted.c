/* How `model=trees` was fitted, as text. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"

void cli_print_boosted(const pv_classifier *c) {
    const pv_boosted *of = c->boosted;
    if (!of)
        return;
    printf("\n  %lld rounds of trees of depth %lld at a learning rate of %.6g; ", (long long)of->rounds,
           (long long)of->depth, of->rate);
    if (of->folds == 0) {
        printf("a stated number\n");
        return;
    }
    printf(of->chosen ? "the best of up to %lld, by the loss of\n  rows " : "as stated; the loss of rows\n  ",
           (long long)of->most);
    if (of->folds > 1)
        printf("held out (cross-validation in %lld folds, by unit): ", (long long)of->folds);
    else
        printf("held out, by unit: ");
    printf("%.5f per row, without trees %.5f\n", of->loss, of->guess);
}
