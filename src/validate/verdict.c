/* Summarises an evaluation in sentences: whether the predictions are better than the prevalence alone, and whether they
 * are calibrated. A statement is made if the interval of its metric excludes the neutral value: 0 for the information
 * gain, 1 for the calibration ratio and slope.
 */
#include <math.h>

#include "infer/infer.h"
#include "validate.h"

/* A text to which sentences are appended. */
typedef struct sentences {
    char *text;
    size_t size, used;
} sentences;

static PV_PRINTF(2, 3) void say(sentences *to, const char *format, ...) {
    va_list values;
    va_start(values, format);
    size_t left = to->size - to->used;
    int length = pv__vformat(to->text + to->used, left, format, values);
    va_end(values);
    if (length > 0)
        to->used += (size_t)length < left ? (size_t)length : left - 1;
}

static bool is_known(double lo, double hi) {
    return isfinite(lo) && isfinite(hi);
}

/* Whether the predictions are more informative than the prevalence. */
static void say_worth(sentences *to, const pv_assessment *found) {
    double lo = found->lo.information_gain, hi = found->hi.information_gain;
    if (!is_known(lo, hi))
        return;
    if (hi < 0)
        say(to, "Worse than predicting the prevalence for everyone. ");
    else if (lo <= 0)
        say(to, "Not shown to be better than predicting the prevalence for everyone. ");
    else
        say(to, "Better than predicting the prevalence for everyone. ");
}

/* For two labels. spread: the standard deviation of the log proportion of the rows' label, which replicates drawn
 * within labels do not vary. */
static void say_calibration(sentences *to, const pv_assessment *found, size_t rows, double spread) {
    const double two_sided = 1.959963984540054; /* normal quantile of 0.975 */
    const pv_metrics *lo = &found->lo, *hi = &found->hi, *value = &found->value;
    bool slope = is_known(lo->calibration_slope, hi->calibration_slope);
    bool ratio = is_known(lo->calibration_ratio, hi->calibration_ratio);
    bool steep = slope && hi->calibration_slope < 1, flat = slope && lo->calibration_slope > 1;
    double least = log(lo->calibration_ratio / value->calibration_ratio);
    double most = log(hi->calibration_ratio / value->calibration_ratio);
    bool high = ratio && log(value->calibration_ratio) > hypot(least, two_sided * spread);
    bool low = ratio && log(value->calibration_ratio) < -hypot(most, two_sided * spread);
    if (steep)
        say(to, "Overconfident: risks are too extreme (slope %.2f); try `model=auto`, or more rows. ",
            value->calibration_slope);
    if (flat)
        say(to, "Underconfident: risks are too close to the prevalence (slope %.2f). ", value->calibration_slope);
    if (high || low)
        say(to, "Risks are too %s on average (ratio %.2f): check the prevalence. ", high ? "high" : "low",
            value->calibration_ratio);
    if (slope && ratio && !steep && !flat && !high && !low)
        say(to, "No miscalibration found in %s rows. ", pv_group_digits((double)rows).text);
}

void pv_verdict(const pv_assessment *found, int classes, size_t rows, double share, char *text, size_t size) {
    sentences all = {text, size, 0};
    text[0] = '\0';
    say_worth(&all, found);
    if (classes == 2)
        say_calibration(&all, found, rows, share > 0 ? sqrt((1 - share) / (share * (double)rows)) : 0);
    if (all.used > 0)
        text[all.used - 1] = '\0';
}

void pv_judgement_verdict(const pv_judgement *judgement, char *text, size_t size) {
    double share = judgement->as_rows ? judgement->observed[judgement->positive] : 0;
    text[0] = '\0';
    if (!judgement->misleading) /* otherwise the metrics are for a population unlike the rows */
        pv_verdict(&judgement->found, judgement->classes, judgement->rows, share, text, size);
}
