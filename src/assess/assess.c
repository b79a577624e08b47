/* Metrics of predictions: checks the input and computes all metrics.
 *
 * Metrics are reported for a population: label y counts as stated(y) rows, whatever its number of rows n(y), so that a
 * sum over rows becomes sum_y stated(y) . mean over rows of label y. stated = n: the rows as they are.
 */
#include "assess.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/vector.h"

/* The smallest number of labels for which a metric depends on the prevalence. */
enum { ALWAYS = 2, MANY = 3, NEVER = INT_MAX };

const pv_metric_row pv_metric_table[] = {
#define ROW(name, depends, least, text) {#name, text, offsetof(pv_metrics, name), least, depends},
    PV_METRIC_LIST(ROW)
#undef ROW
        {0}};

bool pv_metric_depends(const pv_metric_row *row, int classes) {
    return classes >= row->from;
}

const char *pv_metric_name(size_t index, const char **text, int *least) {
    size_t count = 0;
    while (count < index && pv_metric_table[count].name)
        count++;
    const pv_metric_row *row = &pv_metric_table[count];
    if (row->name && text)
        *text = row->text;
    if (row->name && least)
        *least = row->least;
    return row->name;
}

double pv_metric_get(const pv_metrics *metrics, const pv_metric_row *row) {
    double value;
    memcpy(&value, (const char *)metrics + row->offset, sizeof value);
    return value;
}

void pv_metric_set(pv_metrics *metrics, const pv_metric_row *row, double value) {
    memcpy((char *)metrics + row->offset, &value, sizeof value);
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static pv_status check_options(pv_ctx *ctx, int classes, const pv_assess_options *options) {
    if (options->positive < -1 || options->positive >= classes)
        return pv__fail(ctx, PV_ERR_USAGE, "positive is %d; the labels are 0 to %d", options->positive, classes - 1);
    if (options->bootstrap != 0 && !(options->level > 0 && options->level < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", options->level);
    if (options->bootstrap < -1)
        return pv__fail(ctx, PV_ERR_USAGE, "the number of bootstrap replicates is negative");
    if (!options->prevalence)
        return PV_OK;
    pv_prevalence population = {.classes = classes, .prevalence = options->prevalence};
    return pv_prevalence_check(ctx, &population);
}

static void state_masses(const double *prevalence, const pv_judged *judged, pv__case *made) {
    for (int y = 0; y < made->targets->classes; y++) {
        double share = made->mass[y] / made->total;
        double stated = prevalence ? prevalence[y] : share;
        made->stated[y] = prevalence ? prevalence[y] * made->total : made->mass[y];
        made->factor[y] = made->mass[y] > 0 ? made->stated[y] / made->mass[y] : 0;
        made->missing = made->missing || (made->stated[y] > 0 && made->mass[y] == 0);
        made->log_loss_share[y] = !prevalence && judged->prevalence ? judged->prevalence[y] : stated;
        made->offset[y] = made->log_marginal ? log(stated) - made->log_marginal[y] : NAN;
    }
}

pv_status pv__case_init(pv_ctx *ctx, const pv_targets *targets, const pv_judged *judged, const double *log_loss,
                        const pv_assess_options *options, pv__case *made) {
    *made = (pv__case){.targets = targets,
                       .kinds = targets->classes,
                       .log_p = judged->log_p,
                       .loglik = judged->loglik ? judged->loglik : judged->log_p,
                       .log_marginal = judged->log_marginal,
                       .log_loss = log_loss ? log_loss : judged->log_p};
    if (targets->n > UINT32_MAX)
        return pv__fail(ctx, PV_ERR_INPUT, "%zu rows are more than can be ranked (%u)", targets->n, UINT32_MAX);
    PV_TRY(pv_targets_check(ctx, targets));
    PV_TRY(check_options(ctx, targets->classes, options));
    size_t classes = (size_t)targets->classes;
    made->positive = options->positive < 0 ? targets->classes - 1 : options->positive;
    PV_TRY(pv__alloc(ctx, 5 * classes, sizeof(double), &made->mass));
    made->stated = made->mass + classes;
    made->factor = made->stated + classes;
    made->log_loss_share = made->factor + classes;
    made->offset = made->log_loss_share + classes;
    PV_TRY(pv__case_restate(ctx, options, made));
    pv_label_mass(made->targets, made->mass);
    for (size_t y = 0; y < classes; y++)
        made->total += made->mass[y];
    if (!(made->total > 0))
        return pv__fail(
            ctx, PV_ERR_INPUT,
            "there is nothing to evaluate: no rows, or all weights are 0;\ngive rows with a weight above 0");
    state_masses(options->prevalence, judged, made);
    return PV_OK;
}

void pv__case_clear(pv_ctx *ctx, pv__case *made) {
    pv__free(ctx, made->mass);
    pv__free(ctx, made->weight);
    *made = (pv__case){0};
}

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

/* Computes auc and ece. The caller clears ladders [pv__ladders]. The ladder of the positive label becomes the ranking,
 * if that is wanted; with more than two classes ladders are coarsened at once to save memory. */
static pv_status rank(pv_ctx *ctx, const pv__case *judged, pv__ladder *ladders, size_t most, pv_metrics *metrics,
                      pv_ranking **ranking) {
    int classes = judged->targets->classes, count = pv__ladders(classes);
    double sum = 0, *scratch;
    PV_TRY(pv__alloc(ctx, 2 * (size_t)classes, sizeof *scratch, &scratch));
    pv_status status = PV_OK;
    for (int l = 0; l < count; l++) {
        pv__ladder *ladder = &ladders[l];
        int a = classes == 2 ? 1 : l;
        PV_GOTO(done, pv__ladder_new(ctx, judged, l, most > 0, ladder));
        if (a < classes)
            sum += pv__ladder_area(ladder->points, ladder->channels, ladder->mass, a, scratch);
        if (ladder->p)
            metrics->ece = pv__ladder_error(ladder->points, ladder->mass, ladder->p,
                                            classes == 2 ? judged->factor[0] : 1, classes == 2 ? judged->factor[1] : 1);
        if (classes == 2)
            pv__ladder_judge(ctx, judged, ladder, ladder->mass, 1e-10, ladder->line, metrics);
        if (ranking && (classes == 2 || a == judged->positive))
            PV_GOTO(done, pv__ranking_make(ctx, judged, ladder, ranking));
        if (most > 0)
            PV_GOTO(done, pv__ladder_coarsen(ctx, judged->targets->n, most, ladder));
        else
            pv__ladder_clear(ctx, ladder);
    }
    metrics->auc = classes == 2 ? sum : sum / (double)(classes * (classes - 1));
    if (judged->missing || classes > 2)
        metrics->calibration_ratio = metrics->calibration_slope = metrics->average_precision = NAN;
    if (judged->missing)
        metrics->ece = NAN;
done:
    pv__free(ctx, scratch);
    return status;
}

static pv_status assess(pv_ctx *ctx, const pv_targets *targets, const pv_judged *given, const double *log_loss,
                        const pv_assess_options *options, pv_assessment *assessment, pv_ranking **ranking) {
    pv__case judged = {0};
    pv__tally tally = {0};
    pv__ladder *ladders = NULL;
    int count = pv__ladders(targets->classes);
    pv_status status;
    PV_GOTO(done, pv__case_init(ctx, targets, given, log_loss, options, &judged));
    PV_GOTO(done, pv__tally_new(ctx, targets->classes, &tally));
    PV_GOTO(done, pv__tally_rows(ctx, &judged, &tally));
    pv__tally_metrics(&judged, &tally, &assessment->value);
    PV_GOTO(done, pv__alloc(ctx, (size_t)count, sizeof *ladders, &ladders));
    size_t most = options->bootstrap == 0 ? 0 : targets->n > PV_EXACT_ROWS ? PV_COARSE_POINTS : targets->n;
    PV_GOTO(done, rank(ctx, &judged, ladders, most, &assessment->value, ranking));
    status = pv__bootstrap(ctx, &judged, &tally, ladders, options, assessment);
done:
    for (int l = 0; ladders && l < count; l++)
        pv__ladder_clear(ctx, &ladders[l]);
    pv__free(ctx, ladders);
    pv__tally_clear(ctx, &tally);
    pv__case_clear(ctx, &judged);
    return status;
}

pv_status pv_assess(pv_ctx *ctx, const pv_targets *targets, const double *loglik, const double *log_marginal,
                    const double *log_p, const double *prevalence, pv_metrics *metrics) {
    pv_judged judged = {.log_p = log_p, .prevalence = prevalence, .loglik = loglik, .log_marginal = log_marginal};
    pv_assess_options options = pv_assess_options_default();
    options.bootstrap = 0;
    pv_assessment assessment = {0};
    pv_status status = assess(ctx, targets, &judged, loglik, &options, &assessment, NULL);
    if (status == PV_OK)
        *metrics = assessment.value;
    return status;
}

pv_status pv_assess_intervals(pv_ctx *ctx, const pv_targets *targets, const pv_judged *judged,
                              const pv_assess_options *options, pv_assessment *assessment) {
    *assessment = (pv_assessment){0};
    pv_status status = assess(ctx, targets, judged, NULL, options, assessment, &assessment->ranking);
    if (status != PV_OK)
        pv_assessment_clear(ctx, assessment);
    return status;
}

void pv_assessment_clear(pv_ctx *ctx, pv_assessment *assessment) {
    pv_ranking_free(ctx, assessment->ranking);
    pv__free(ctx, assessment->replicate);
    *assessment = (pv_assessment){0};
}

pv_status pv_ranking_new(pv_ctx *ctx, const pv_targets *targets, const double *log_p, int positive,
                         const double *prevalence, pv_ranking **ranking) {
    pv_judged given = {.log_p = log_p};
    pv_assess_options options = pv_assess_options_default();
    options.bootstrap = 0;
    options.positive = positive;
    options.prevalence = prevalence;
    pv__case judged = {0};
    pv__tally tally = {0};
    pv__ladder ladder = {0};
    *ranking = NULL;
    pv_status status;
    PV_GOTO(done, pv__case_init(ctx, targets, &given, NULL, &options, &judged));
    PV_GOTO(done, pv__tally_new(ctx, targets->classes, &tally));
    PV_GOTO(done, pv__tally_rows(ctx, &judged, &tally)); /* rejects predictions that are NaN */
    PV_GOTO(done, pv__ladder_new(ctx, &judged, targets->classes == 2 ? 0 : judged.positive, false, &ladder));
    status = pv__ranking_make(ctx, &judged, &ladder, ranking);
done:
    pv__ladder_clear(ctx, &ladder);
    pv__tally_clear(ctx, &tally);
    pv__case_clear(ctx, &judged);
    return status;
}
