/* The option `label-error`: how often labels were recorded wrongly, as probabilities, counts or intervals.
 *
 * Two labels: sensitivity P(recorded 1 | true 1) and specificity P(recorded 0 | true 0), or the predictive values
 * P(true 1 | recorded 1) and P(true 0 | recorded 0). A count "45/50" or a central 95 % interval says how well a value
 * is known. The likelihood is in core/label_error.c.
 */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "core/label_error.h"
#include "plan/plan.h"

#define HOW                                                                                                            \
    "write sensitivity=0.9,specificity=0.95 (or ppv and npv), each a probability, counts such as 45/50, or an "        \
    "interval such as 0.85-0.95"

typedef struct named {
    const char *name;
    bool predictive;
    int label;
} named;
static const named names[] = {{"sensitivity", false, 1}, {"specificity", false, 0}, {"ppv", true, 1}, {"npv", true, 0}};
enum { NAMES = sizeof names / sizeof *names };

/* One part of the text: key=value. */
typedef struct part {
    const char *key, *value;
    size_t key_size, value_size;
} part;

static pv_status wrong_value(pv_ctx *ctx, const part *p, const char *why) {
    return pv__fail(ctx, PV_ERR_USAGE, "`label-error`: '%s' %s;\n" HOW, pv__show_n(p->value, p->value_size).text, why);
}

static pv_status read_counts(pv_ctx *ctx, const part *p, size_t begin, double correct, double *value, double *units) {
    size_t used = pv__number_prefix(p->value + begin, units);
    if (used == 0 || begin + used != p->value_size)
        return wrong_value(ctx, p, "is not a count out of a number");
    if (!(correct >= 0 && correct <= *units && *units >= 1 && *units <= 1e12) || correct != floor(correct) ||
        *units != floor(*units))
        return wrong_value(ctx, p, "needs two whole numbers, the first at most the second");
    *value = correct / *units;
    return PV_OK;
}

static pv_status read_interval(pv_ctx *ctx, const part *p, size_t begin, double low, double *value, double *units) {
    double high;
    size_t used = pv__number_prefix(p->value + begin, &high);
    if (used == 0 || begin + used != p->value_size || !(low > 0 && low < high && high < 1))
        return wrong_value(ctx, p, "is not an interval inside (0,1), the lower limit first");
    if (pv__beta_from_interval(ctx, low, high, value, units) != PV_OK)
        return wrong_value(ctx, p, "is not the central 95 % interval of any Beta distribution");
    return PV_OK;
}

static pv_status read_value(pv_ctx *ctx, const part *p, double *value, double *units) {
    double first;
    size_t used = p->value_size ? pv__number_prefix(p->value, &first) : 0;
    if (used == 0 || used > p->value_size || pv__is_hexadecimal(p->value))
        return wrong_value(ctx, p, "is not a number");
    if (used < p->value_size && p->value[used] == '/')
        return read_counts(ctx, p, used + 1, first, value, units);
    if (used < p->value_size && p->value[used] == '-')
        return read_interval(ctx, p, used + 1, first, value, units);
    if (used != p->value_size)
        return wrong_value(ctx, p, "is not understood after its number");
    if (!(first >= 0 && first <= 1))
        return wrong_value(ctx, p, "is outside [0,1]");
    *value = first;
    *units = HUGE_VAL;
    return PV_OK;
}

/* The part of the text at *at, which moves past it and its comma. */
static pv_status next_part(pv_ctx *ctx, const char *text, const char **at, part *p) {
    const char *begin = *at + strspn(*at, " \t");
    size_t size = strcspn(begin, ","), key = strcspn(begin, "=");
    if (key >= size)
        return pv__fail(ctx, PV_ERR_USAGE, "`label-error=%s`: '%s' is not name=value;\n" HOW, pv__show(text).text,
                        pv__show_n(begin, size).text);
    *p = (part){begin, begin + key + 1, key, size - key - 1};
    *at = begin + size + (begin[size] == ',');
    return PV_OK;
}

pv_status pv__label_error_parse(pv_ctx *ctx, const char *text, pv_label_error *error) {
    bool given[NAMES] = {false};
    *error = (pv_label_error){.share = (double)NAN};
    for (const char *at = text; at == text || at[-1] == ',';) {
        part p = {0};
        size_t i = 0;
        PV_TRY(next_part(ctx, text, &at, &p));
        while (i < NAMES && !(strlen(names[i].name) == p.key_size && strncmp(p.key, names[i].name, p.key_size) == 0))
            i++;
        if (i == NAMES || given[i])
            return pv__fail(ctx, PV_ERR_USAGE, "`label-error`: '%s' is %s;\n" HOW, pv__show_n(p.key, p.key_size).text,
                            i == NAMES ? "not a name" : "given twice");
        given[i] = true;
        PV_TRY(read_value(ctx, &p, &error->value[names[i].label], &error->units[names[i].label]));
    }
    error->predictive = given[2] && given[3];
    if (given[0] != given[1] || given[2] != given[3] || given[0] == given[2])
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`label-error=%s`: needs both sensitivity and specificity, or both ppv and "
                        "npv: with an unknown rate of errors the risk is not identified;\n" HOW,
                        pv__show(text).text);
    double gain = error->value[0] + error->value[1] - 1;
    if (!(gain > 0))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`label-error=%s`: %s add up to %.10g, not to more than 1: such labels do not depend on the "
                        "true ones, or are reversed;\ncheck which label is positive",
                        pv__show(text).text, error->predictive ? "ppv and npv" : "sensitivity and specificity",
                        gain + 1);
    double sd = sqrt(pv__label_error_variance(error, 0) + pv__label_error_variance(error, 1));
    if (!(gain > 1.96 * sd))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`label-error=%s`: the 95 %% interval of the sum of the two values reaches 1, where labels say "
                        "nothing about the true ones, so the risk is not identified;\nvalidate more labels",
                        pv__show(text).text);
    return PV_OK;
}

/* Rows of a random sample: the share of a label is above the rate of false positives and below the sensitivity. */
static pv_status check_share(pv_ctx *ctx, const pv__plan_rows *rows, const pv_label_error *e) {
    double share = rows->mass[1] / (rows->mass[0] + rows->mass[1]), low = 1 - e->value[0], high = e->value[1];
    if (share > low && share < high)
        return PV_OK;
    return pv__fail(ctx, PV_ERR_INPUT,
                    "%.4g of the rows have label '%s', but with this `label-error` it is recorded for between %.4g and "
                    "%.4g of any population: its errors are not those of these rows;\ncheck `label-error`, or whether "
                    "rows were sampled by label (state `prevalence`, and leave `loss` out)",
                    share, pv__show(rows->schema->labels[1]).text, low, high);
}

/* What the errors mostly decide: the share of true positives among recorded ones; for predictive values, of recorded
 * positives in the population; of true positives among rows of a random sample, where `share` have the label. */
static double decided(const pv_label_error *e, double prevalence, double share) {
    pv_label_error made = *e;
    if (isnan(prevalence))
        return (share + e->value[0] - 1) / (e->value[0] + e->value[1] - 1);
    bool sound = pv__label_error_complete(&made, prevalence);
    return !sound ? (double)NAN : e->predictive ? made.share : made.correct[1] * prevalence / made.share;
}

/* Warns if that is known so badly that intervals, which take it as normal, hold less than they should. */
static void warn_of_few(pv_ctx *ctx, const pv_label_error *e, double prevalence, double share) {
    const double most = 0.125; /* lab/labels */
    double at = decided(e, prevalence, share), variance = 0;
    for (int y = 0; y < 2; y++) {
        const double own = pv__label_error_variance(e, y);
        double slope = (double)NAN;
        for (int way = -1; way <= 1 && own > 0 && isnan(slope); way += 2) { /* one of them is within the domain */
            pv_label_error moved = *e;
            moved.value[y] += way * 1e-6;
            slope = (decided(&moved, prevalence, share) - at) / (way * 1e-6 * at);
        }
        variance += own > 0 ? slope * slope * own : 0;
    }
    if (!(sqrt(variance) <= most))
        pv__log(
            ctx, PV_LOG_WARNING,
            "`label-error` rests on few validated labels: the share of true labels that follows from it has a "
            "standard error of %.0f %% of itself, and above an eighth intervals are too narrow. Validate more labels",
            100 * sqrt(variance));
}

pv_status pv__label_error_settle(pv_ctx *ctx, const pv__plan_rows *rows, pv__plan *plan) {
    pv_label_error *e = &plan->label_error;
    const char *text = plan->options.label_error;
    bool plain = pv_loss_of_design(pv__plan_loss(plan));
    if (!plan->misread)
        return PV_OK;
    if (rows->schema->positive_guessed)
        return pv__fail(
            ctx, PV_ERR_USAGE, "`label-error=%s`: which label is positive, '%s' or '%s'? Name it with `positive`",
            pv__show(text).text, pv__show(rows->schema->labels[0]).text, pv__show(rows->schema->labels[1]).text);
    if (plain && e->predictive)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`label-error=%s`: predictive values need a stated `prevalence` and `loss=ig`;\nstate it, or "
                        "give sensitivity and specificity",
                        pv__show(text).text);
    if (plain)
        PV_TRY(check_share(ctx, rows, e));
    if (!pv__label_error_complete(e, plain ? (double)NAN : plan->population.prevalence[1]))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`label-error=%s`: with these predictive values the prevalence is from %.4g to %.4g, but "
                        "%.4g is stated;\ncheck both",
                        pv__show(text).text, 1 - e->value[0], e->value[1], plan->population.prevalence[1]);
    warn_of_few(ctx, e, plain ? (double)NAN : plan->population.prevalence[1],
                rows->mass[1] / (rows->mass[0] + rows->mass[1]));
    if (e->correct[0] + e->correct[1] < 1.2)
        pv__log(ctx, PV_LOG_WARNING,
                "sensitivity and specificity add up to %.4g: recorded labels say little about the true ones, and "
                "estimates will be imprecise",
                e->correct[0] + e->correct[1]);
    return PV_OK;
}
