/* The rows ordered by their score for one label against all others: cumulative masses from the highest score down. */
#include "assess.h"

#include <math.h>

/* Log odds of a point: the score itself for two classes (for the second one); for more, computed from log
 * probabilities. */
static double log_odds(int classes, int positive, double score) {
    if (classes == 2)
        return positive == 1 ? score : -score;
    return score - log(-expm1(score));
}

static void cumulate(const pv__case *judged, const pv__ladder *ladder, pv_ranking *made) {
    int classes = judged->targets->classes, positive = judged->positive;
    size_t k = (size_t)classes;
    bool upward = classes == 2 && positive == 0;
    const double *p = classes == 2 && positive == 1 ? ladder->p : NULL; /* of the same log odds */
    double tp = 0, fp = 0, expected = 0;
    for (size_t i = 0; i < ladder->points; i++) {
        size_t from = upward ? i : ladder->points - 1 - i;
        const double *mass = ladder->mass + from * k;
        double own = mass[positive], rest = 0;
        for (int y = 0; y < classes && made->weight_n > 0; y++)
            rest += y == positive ? 0 : judged->factor[y] / made->weight_n * mass[y];
        made->log_odds[i] = log_odds(classes, positive, ladder->score[from]);
        made->tp[i] = tp += own;
        made->fp[i] = fp += rest;
        double risk = p ? p[from] : pv_sigmoid(made->log_odds[i]);
        made->expected[i] = expected += (made->weight_p * own + made->weight_n * rest) * risk;
    }
}

pv_status pv__ranking_make(pv_ctx *ctx, const pv__case *judged, const pv__ladder *ladder, pv_ranking **ranking) {
    pv_ranking *made;
    *ranking = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    pv_status status;
    made->points = ladder->points;
    PV_GOTO(fail, pv__alloc(ctx, made->points, sizeof(double), &made->log_odds));
    PV_GOTO(fail, pv__alloc(ctx, made->points, sizeof(double), &made->tp));
    PV_GOTO(fail, pv__alloc(ctx, made->points, sizeof(double), &made->fp));
    PV_GOTO(fail, pv__alloc(ctx, made->points, sizeof(double), &made->expected));
    for (int y = 0; y < judged->targets->classes; y++) {
        *(y == judged->positive ? &made->rows_p : &made->rows_n) += judged->mass[y];
        *(y == judged->positive ? &made->stated_p : &made->stated_n) += judged->stated[y];
    }
    made->weight_p = made->rows_p > 0 ? made->stated_p / made->rows_p : 0;
    made->weight_n = made->rows_n > 0 ? made->stated_n / made->rows_n : 0;
    cumulate(judged, ladder, made);
    *ranking = made;
    return PV_OK;
fail:
    pv_ranking_free(ctx, made);
    return status;
}

void pv_ranking_free(pv_ctx *ctx, pv_ranking *ranking) {
    if (!ranking)
        return;
    pv__free(ctx, ranking->log_odds);
    pv__free(ctx, ranking->tp);
    pv__free(ctx, ranking->fp);
    pv__free(ctx, ranking->expected);
    pv__free(ctx, ranking);
}
