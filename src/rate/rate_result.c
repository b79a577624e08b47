/* What was found, as a tree of named values. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "rate/rate.h"

static pv_result *interval(double value, double lo, double hi) {
    return pv__value_pack("rrr", "value", value, "lo", lo, "hi", hi);
}

static pv_result *rates(const pv__rate_data *d, const pv__rate_estimate *e) {
    pv_result *made = pv__value_object();
    for (size_t y = 0; y < d->labels.count; y++)
        (void)pv__value_set(made, d->labels.name[y], interval(e->value[y], e->lo[y], e->hi[y]));
    return made;
}

static double sum_of(size_t n, const double *x) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* "yes", or "yes, no" of two systems. The caller frees; NULL: no memory. */
static char *cell_name(const pv__rate_data *d, size_t cell) {
    size_t second = d->system[1].count;
    const char *a = d->system[0].name[second ? cell / second : cell],
               *b = second ? d->system[1].name[cell % second] : "";
    char *name = NULL;
    size_t size = strlen(a) + strlen(b) + 3;
    if (pv__alloc(d->ctx, size, 1, &name) == PV_OK)
        pv__format(name, size, second ? "%s, %s" : "%s%s", a, b);
    return name;
}

static void set_cell(const pv__rate_data *d, pv_result *object, size_t cell, pv_result *value) {
    char *name = cell_name(d, cell);
    (void)pv__value_set(object, name ? name : "", name ? value : NULL);
    if (!name)
        pv_result_free(value);
    pv__free(d->ctx, name);
}

/* Proportions of the cells, or of the labels, among people; rows: how many they are. */
static pv_result *cells_among(const pv__rate_data *d, const double *count, double rows) {
    pv_result *made = pv__value_pack("r", "rows", rows), *shares = pv__value_object();
    double people = sum_of(d->cells, count);
    for (size_t k = 0; k < d->cells; k++)
        set_cell(d, shares, k, pv__rate_proportion(count[k], people, d->options->interval));
    (void)pv__value_set(made, "shares", shares);
    return made;
}

static pv_result *verdict_given_label(const pv__rate_data *d, const pv__rate_counts *c) {
    pv_result *made = pv__value_object();
    for (size_t y = 0; y < d->labels.count; y++)
        (void)pv__value_set(made, d->labels.name[y], cells_among(d, c->gold[y], sum_of(d->cells, c->people[y])));
    return made;
}

static pv_result *label_given_verdict(const pv__rate_data *d, const pv__rate_counts *c) {
    pv_result *made = pv__value_object();
    for (size_t k = 0; k < d->cells; k++) {
        double people = 0, rows = 0;
        for (size_t y = 0; y < d->labels.count; y++) {
            people += c->gold[y][k];
            rows += c->people[y][k];
        }
        pv_result *own = pv__value_pack("r", "rows", rows), *shares = pv__value_object();
        for (size_t y = 0; y < d->labels.count; y++)
            (void)pv__value_set(shares, d->labels.name[y],
                                pv__rate_proportion(c->gold[y][k], people, d->options->interval));
        (void)pv__value_set(own, "shares", shares);
        set_cell(d, made, k, own);
    }
    return made;
}

static void put_accuracy(const pv__rate_data *d, const pv__rate_counts *c, pv_result *made) {
    size_t yes = d->positive, no = 1 - yes;
    if (d->labels.count != 2 || d->positive_verdict[0] < 0 || d->system[1].count > 0 ||
        d->gold_by == PV__GOLD_BY_VERDICT)
        return;
    double people = sum_of(d->cells, c->gold[no]), wrong = c->gold[no][d->positive_verdict[0]];
    (void)pv__value_set(made, "sensitivity",
                        pv__rate_proportion(c->gold[yes][d->positive_verdict[0]], sum_of(d->cells, c->gold[yes]),
                                            d->options->interval));
    (void)pv__value_set(made, "specificity", pv__rate_proportion(people - wrong, people, d->options->interval));
}

static pv_result *strata_of(const pv__rate_data *d, size_t strata, const pv__rate_counts *counts,
                            const pv__rate_estimate *own) {
    pv_result *made = pv__value_object();
    for (size_t s = 0; s < strata; s++) {
        double gold = 0;
        for (size_t y = 0; y < d->labels.count; y++)
            gold += sum_of(d->cells, counts[s].people[y]);
        (void)pv__value_set(made, d->strata.name[s],
                            pv__value_pack("rrrv", "share", counts[s].share, "rows", counts[s].rows, "gold_rows", gold,
                                           "rate", rates(d, &own[s])));
    }
    return made;
}

static pv_result *more_rows(const pv__rate_data *d, const pv__rate_plan *plan, size_t s) {
    if (d->gold_by == PV__GOLD_AT_RANDOM)
        return pv__value_real(plan->more[s][0]);
    pv_result *made = pv__value_object();
    if (d->gold_by == PV__GOLD_BY_VERDICT)
        for (size_t k = 0; k < d->cells; k++)
            set_cell(d, made, k, pv__value_real(plan->more[s][k]));
    else
        for (size_t y = 0; y < d->labels.count; y++)
            (void)pv__value_set(made, d->labels.name[y], pv__value_real(plan->more[s][y]));
    return made;
}

static pv_result *width_of(const pv__rate_data *d, size_t strata, const pv__rate_plan *plan) {
    double wanted = d->options->width;
    pv_result *made = pv__value_pack("rtrrb", "wanted", wanted, "label", d->labels.name[plan->label], "now", plan->now,
                                     "least", plan->least, "reachable", (int)(plan->least < wanted));
    (void)pv__value_set(made, "sample_rows",
                        plan->sample_needed > 0 ? pv__value_real(plan->sample_needed) : pv__value_null());
    if (!(plan->least < wanted))
        return made;
    if (strata < 2) {
        (void)pv__value_set(made, "more", more_rows(d, plan, 0));
        return made;
    }
    pv_result *by = pv__value_object();
    for (size_t s = 0; s < strata; s++)
        (void)pv__value_set(by, d->strata.name[s], more_rows(d, plan, s));
    (void)pv__value_set(made, "more", by);
    return made;
}

/* ---- warnings ---------------------------------------------------------------------------------------------------- */

static void warn(const pv__rate_data *d, pv_result *list, const char *text) {
    pv__log(d->ctx, PV_LOG_WARNING, "%s", text);
    (void)pv__value_append(list, pv__value_text(text));
}

static void warn_of_cells(const pv__rate_data *d, size_t strata, const pv__rate_counts *counts, pv_result *list) {
    for (size_t s = 0; s < strata; s++)
        for (size_t k = 0; k < d->cells; k++) {
            double gold = 0;
            char text[400];
            for (size_t y = 0; y < d->labels.count; y++)
                gold += counts[s].gold[y][k];
            if (gold > 0 || !(counts[s].sample[k] > 0))
                continue;
            char *name = cell_name(d, k);
            pv__format(text, sizeof text,
                       "no gold row%s%s has the verdict '%s', which %.3g %% of the sample have: nothing is known about "
                       "their labels; draw gold rows with this verdict",
                       strata > 1 ? " of stratum " : "", strata > 1 ? pv__show(d->strata.name[s]).text : "",
                       pv__show(name ? name : "").text, 100 * counts[s].sample[k] / sum_of(d->cells, counts[s].sample));
            pv__free(d->ctx, name);
            if (d->gold_by == PV__GOLD_BY_VERDICT || d->gold_by == PV__GOLD_AT_RANDOM)
                warn(d, list, text);
        }
}

static pv_result *warnings(const pv__rate_data *d, size_t strata, const pv__rate_counts *counts,
                           const pv__rate_estimate *own) {
    pv_result *list = pv__value_list();
    char text[400];
    size_t y = d->positive;
    bool by_label = d->gold_by == PV__GOLD_BY_LABEL || d->gold_by == PV__GOLD_KNOWN;
    warn_of_cells(d, strata, counts, list);
    for (size_t s = 0; s < strata && by_label; s++)
        if (own[s].hi[y] - own[s].lo[y] > 0.999) {
            warn(d, list,
                 "the gold rows do not show that verdicts depend on the label, so the sample's verdicts carry no "
                 "information about the rate; draw more gold rows, or use a better test");
            break;
        }
    for (size_t s = 0; s < strata && by_label; s++)
        if (own[s].p < 0.01) {
            pv__format(
                text, sizeof text,
                "the verdicts of the sample%s%s are not a mixture of those of the gold rows (p = %.2g): they depend on "
                "more than the label, or their error rates differ between the two; the rate cannot be trusted",
                strata > 1 ? " in stratum " : "", strata > 1 ? pv__show(d->strata.name[s]).text : "", own[s].p);
            warn(d, list, text);
        }
    if (d->unlabelled > 0) {
        pv__format(text, sizeof text, "%zu of %zu gold rows have no outcome, and were left out", d->unlabelled,
                   d->gold.rows);
        warn(d, list, text);
    }
    return list;
}

pv_result *pv__rate_result(const pv__rate_data *d, size_t strata, const pv__rate_counts *counts,
                           const pv__rate_estimate *own, const pv__rate_estimate *all, const pv__rate_counts *together,
                           const pv__rate_plan *plan) {
    static const char *const words[] = {"label", "verdict", "random", "known"};
    double gold = 0;
    for (size_t y = 0; y < d->labels.count && d->gold_by != PV__GOLD_KNOWN; y++)
        gold += sum_of(d->cells, together->people[y]);
    pv_result *made = pv__value_pack("tttrrr", "gold_by", words[d->gold_by], "verdict",
                                     d->options->verdict ? d->options->verdict : d->options->score, "positive",
                                     d->labels.name[d->positive], "interval", d->options->interval, "rows",
                                     together->rows, "gold_rows", gold);
    (void)pv__value_set(made, "rate", rates(d, all));
    (void)pv__value_set(made, "apparent", cells_among(d, together->sample, together->rows));
    if (d->gold_by == PV__GOLD_BY_LABEL || d->gold_by == PV__GOLD_AT_RANDOM)
        (void)pv__value_set(made, "verdict_given_label", verdict_given_label(d, together));
    if (d->gold_by == PV__GOLD_BY_VERDICT || d->gold_by == PV__GOLD_AT_RANDOM)
        (void)pv__value_set(made, "label_given_verdict", label_given_verdict(d, together));
    put_accuracy(d, together, made);
    if (isfinite(all->p))
        (void)pv__value_set(made, "mixture", pv__value_pack("rr", "statistic", all->statistic, "p", all->p));
    if (strata > 1)
        (void)pv__value_set(made, "strata", strata_of(d, strata, counts, own));
    if (plan)
        (void)pv__value_set(made, "width", width_of(d, strata, plan));
    if (d->options->compare)
        (void)pv__value_set(made, "compare", pv__rate_compare(d, together));
    (void)pv__value_set(made, "warnings", warnings(d, strata, counts, own));
    return made;
}
