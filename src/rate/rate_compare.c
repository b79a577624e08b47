/* Two systems that rated the same rows: their sensitivity, specificity and apparent rate, and the paired differences.
 * Gold rows drawn by label or at random are samples of the labels, so sensitivity and specificity are proportions of
 * them. A cell is the verdict of the first times the number of verdicts of the second, plus that of the second. */
#include "rate/rate.h"

/* Of people by cell: those for whom a system's verdict is the positive one (or, wanted false, is not). */
typedef struct pair {
    double people, count[2], only[2]; /* only: where the other system's is not */
} pair;

static pair pair_of(const pv__rate_data *d, const double *cell, bool wanted) {
    pair made = {.people = 0};
    size_t second = d->system[1].count;
    for (size_t k = 0; k < d->cells; k++) {
        bool hit[2] = {((int)(k / second) == d->positive_verdict[0]) == wanted,
                       ((int)(k % second) == d->positive_verdict[1]) == wanted};
        made.people += cell[k];
        for (int s = 0; s < 2; s++) {
            made.count[s] += hit[s] ? cell[k] : 0;
            made.only[s] += hit[s] && !hit[1 - s] ? cell[k] : 0;
        }
    }
    return made;
}

static pv_result *difference(const pair *p, double level) {
    double ends[2];
    pv__rate_paired(p->only[0], p->only[1], p->people, level, ends);
    return pv__value_pack("rrr", "value", (p->only[0] - p->only[1]) / p->people, "lo", ends[0], "hi", ends[1]);
}

static pv_result *quantity(const pv__rate_data *d, const double *cell, bool wanted) {
    pair p = pair_of(d, cell, wanted);
    double level = d->options->interval;
    return pv__value_pack("vvv", "first", pv__rate_proportion(p.count[0], p.people, level), "second",
                          pv__rate_proportion(p.count[1], p.people, level), "difference", difference(&p, level));
}

pv_result *pv__rate_compare(const pv__rate_data *d, const pv__rate_counts *c) {
    size_t yes = d->positive, no = 1 - yes;
    pv_result *made = pv__value_pack("tt", "first", d->options->verdict, "second", d->options->compare);
    if (d->positive_verdict[0] < 0 || d->positive_verdict[1] < 0)
        return made;
    (void)pv__value_set(made, "sensitivity", quantity(d, c->gold[yes], true));
    (void)pv__value_set(made, "specificity", quantity(d, c->gold[no], false));
    (void)pv__value_set(made, "apparent", quantity(d, c->sample, true));
    return made;
}
