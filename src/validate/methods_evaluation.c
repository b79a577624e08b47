/* A methods paragraph: on which rows the predictions were evaluated, for which population, and what was found. */
#include <math.h>
#include <string.h>

#include "validate/methods.h"

static const char *plural(double n) {
    return n == 1 ? "" : "s";
}

static void say_rows(pv__methods *m) {
    const pv_judgement *j = m->options->judgement;
    const pv__topic topic = PV__TOPIC_evaluation;
    pv__label_name label = pv__methods_label(m->c ? m->c->schema->target : NULL, j->labels[j->positive]);
    pv__methods_say(m, topic, "Predictions were evaluated on %s row%s, %.1f %% of them with %s",
                    pv_group_digits((double)j->rows).text, plural((double)j->rows), 100 * j->observed[j->positive],
                    label.text);
    if (m->options->training_rows)
        pv__methods_say(m, topic, ", the rows of the fit: performance is optimistic");
    else if (m->c)
        pv__methods_say(m, topic, ", from a table other than that of the fit");
    if (j->dropped)
        pv__methods_say(m, topic, "; %s row%s with missing cells %s left out", pv_group_digits((double)j->dropped).text,
                        plural((double)j->dropped), j->dropped == 1 ? "was" : "were");
    pv__methods_say(m, topic, ".");
    if (j->prevalence)
        pv__methods_say(m, topic, "Predictions are for a population where the prevalence of %s is %.4g.", label.text,
                        j->prevalence[j->positive]);
    if (j->as_rows)
        pv__methods_say(m, topic, "Metrics are for the rows as they are.");
    else
        pv__methods_say(m, topic,
                        "Metrics are for a population with a prevalence of %.4g: rows were weighted by label%s.",
                        j->stated[j->positive], j->strata ? " and stratum" : "");
    if (j->found.replicates > 0)
        pv__methods_say(m, topic, "Intervals are %.4g %% percentile intervals of %s bootstrap replicates %s.",
                        100 * m->options->judged_level, pv_group_digits((double)j->found.replicates).text,
                        j->found.drawn);
}

/* "the AUC was 0.754 (0.723 to 0.785)" */
static void say_metric(pv__methods *m, const char *name, double value, double lo, double hi, int *said) {
    if (isnan(value))
        return;
    pv__methods_say(m, PV__TOPIC_performance, "%s%s was %.3g", (*said)++ ? ", the " : "The ", name, value);
    if (isfinite(lo) && isfinite(hi))
        pv__methods_say(m, PV__TOPIC_performance, " (%.3g to %.3g)", lo, hi);
}

static void say_performance(pv__methods *m) {
    const pv_assessment *found = &m->options->judgement->found;
    const pv_metrics *v = &found->value, *lo = &found->lo, *hi = &found->hi;
    int said = 0;
    say_metric(m, "AUC", v->auc, lo->auc, hi->auc, &said);
    say_metric(m, "calibration ratio (expected over observed)", v->calibration_ratio, lo->calibration_ratio,
               hi->calibration_ratio, &said);
    say_metric(m, "calibration slope", v->calibration_slope, lo->calibration_slope, hi->calibration_slope, &said);
    say_metric(m, "log loss", v->log_loss, lo->log_loss, hi->log_loss, &said);
    say_metric(m, "Brier score", v->brier, lo->brier, hi->brier, &said);
    if (said)
        pv__methods_say(m, PV__TOPIC_performance, ".");
}

void pv__methods_evaluation(pv__methods *m) {
    say_rows(m);
    say_performance(m);
}
