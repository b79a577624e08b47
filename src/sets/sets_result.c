/* The rule as a tree, and in words. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "prevail/core.h"
#include "sets/sets.h"

static const char *const size_name[3] = {"empty", "single", "several"};

void pv__sets_warn(pv_ctx *ctx, pv_result *list, const char *text) {
    pv__log(ctx, PV_LOG_WARNING, "%s", text);
    (void)pv__value_append(list, pv__value_text(text));
}

static pv_result *one_label(const pv__sets_data *d, int y) {
    double n = d->own[y].people, k = d->rank[y];
    pv_result *made = pv__value_pack("rrrrr", "coverage", d->coverage[y], "rows", n, "rank", k, "threshold",
                                     d->threshold[y], "expected", 1 - k / (n + 1));
    (void)pv__value_set(
        made, "range",
        pv__value_pack("rr", "lo", pv_beta_quantile(n + 1 - k, k, 0.025), "hi", pv_beta_quantile(n + 1 - k, k, 0.975)));
    pv_result *sizes = pv__value_object();
    for (int s = 0; s < 3; s++)
        (void)pv__value_set(sizes, size_name[s], pv__value_real(d->size[y][s] / n));
    (void)pv__value_set(sizes, "labels", pv__value_real(d->labels_of_size[y] / n));
    (void)pv__value_set(made, "sets", sizes);
    return made;
}

/* What is expected in the population, from the labels' shares among calibration rows. */
static pv_result *population(const pv__sets_data *d) {
    pv_result *made = pv__value_object(), *stated = pv__value_object();
    for (int y = 0; y < d->classes; y++)
        (void)pv__value_set(stated, d->probs->labels[y],
                            pv__value_pack("rr", "lo", fmin(d->prevalence[0][y], d->prevalence[1][y]), "hi",
                                           fmax(d->prevalence[0][y], d->prevalence[1][y])));
    (void)pv__value_set(made, "prevalence", stated);
    for (int s = 0; s < 4; s++) {
        double at[2] = {0, 0};
        for (int end = 0; end < 2; end++)
            for (int y = 0; y < d->classes; y++)
                at[end] += d->prevalence[end][y] * (s < 3 ? d->size[y][s] : d->labels_of_size[y]) / d->own[y].people;
        (void)pv__value_set(made, s < 3 ? size_name[s] : "labels",
                            pv__value_pack("rr", "lo", fmin(at[0], at[1]), "hi", fmax(at[0], at[1])));
    }
    return made;
}

pv_result *pv__sets_result(const pv__sets_data *d, pv_result *refer, pv_result *warnings) {
    pv_result *made = pv__value_object(), *labels = pv__value_object();
    for (int y = 0; y < d->classes; y++)
        (void)pv__value_set(labels, d->probs->labels[y], one_label(d, y));
    (void)pv__value_set(made, "labels", labels);
    (void)pv__value_set(made, "population", d->prevalence[0] ? population(d) : pv__value_null());
    (void)pv__value_set(made, "refer", d->error ? refer : pv__value_null()); /* NULL: no memory */
    (void)pv__value_set(made, "warnings", warnings);
    return made;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

typedef struct lines {
    pv_ctx *ctx;
    pv_status status;
    char *text;
    size_t size, room;
} lines;

static void add(lines *l, const char *format, ...) PV_PRINTF(2, 3);
static void add(lines *l, const char *format, ...) {
    char text[512]; /* names are shortened */
    va_list arguments;
    va_start(arguments, format);
    (void)pv__vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t n = strlen(text);
    if (l->status == PV_OK && l->size + n + 1 > l->room) {
        l->status = pv__resize(l->ctx, 2 * l->room + n + 512, 1, &l->text);
        l->room = l->status == PV_OK ? 2 * l->room + n + 512 : l->room;
    }
    if (l->status != PV_OK)
        return;
    memcpy(l->text + l->size, text, n + 1);
    l->size += n;
}

static const pv_result *get(const pv_result *value, const char *name) {
    return pv_result_get(value, name);
}

static double number(const pv_result *value, const char *name) {
    return pv_result_number(get(value, name));
}

/* "3.1 %" or "3.1-4.2 %" */
static void add_range(lines *l, const pv_result *range, int width) {
    char ends[2][24], text[64];
    pv__format(ends[0], sizeof ends[0], "%.3g", 100 * number(range, "lo"));
    pv__format(ends[1], sizeof ends[1], "%.3g", 100 * number(range, "hi"));
    bool same = strcmp(ends[0], ends[1]) == 0;
    pv__format(text, sizeof text, "%s%s%s %%", ends[0], same ? "" : "-", same ? "" : ends[1]);
    add(l, "%*s", width, text);
}

static void add_labels(lines *l, const pv_result *labels) {
    add(l, "Sets of labels: coverage of each label, whatever the prevalence\n\n");
    add(l, "  %-16s %8s %9s %10s %17s %20s\n", "label", "coverage", "rows", "p at least", "with these rows",
        "empty/single/several");
    for (size_t y = 0; y < pv_result_count(labels); y++) {
        const pv_result *own = pv_result_child(labels, y), *sets = get(own, "sets");
        char range[40], sizes[64];
        pv__format(range, sizeof range, "%.3f-%.3f", number(get(own, "range"), "lo"), number(get(own, "range"), "hi"));
        pv__format(sizes, sizeof sizes, "%.3g/%.3g/%.3g %%", 100 * number(sets, "empty"), 100 * number(sets, "single"),
                   100 * number(sets, "several"));
        add(l, "  %-16s %8.4g %9.0f %10.4g %17s %20s\n", pv__show(pv_result_name(labels, y)).text,
            number(own, "coverage"), number(own, "rows"), number(own, "threshold"), range, sizes);
    }
    add(l, "\n  with these rows: 95 %% of samples of calibration rows of this size have a coverage in this range\n"
           "  empty/single/several: sets of the label's rows\n");
}

static void add_population(lines *l, const pv_result *population, const pv_result *labels) {
    if (pv_result_type_of(population) != PV_RESULT_OBJECT)
        return;
    const pv_result *stated = get(population, "prevalence");
    size_t k = pv_result_count(labels);
    add(l, "\n  Expected in the population");
    for (size_t y = k == 2 ? 1 : 0; y < k && y < 8; y++) {
        add(l, "%s", y == (k == 2) ? " (" : ", ");
        add_range(l, pv_result_child(stated, y), 0);
        add(l, " %s", pv__show(pv_result_name(stated, y)).text);
    }
    add(l, "%s)\n", k > 8 ? ", ..." : "");
    for (int s = 0; s < 3; s++) {
        add(l, "  %-28s", s == 0 ? "empty sets" : s == 1 ? "one label" : "more labels");
        add_range(l, get(population, size_name[s]), 16);
        add(l, "\n");
    }
}

static void add_call(lines *l, const pv_result *call, const char *name, const char *other, bool low) {
    const pv_result *shares = get(call, "shares");
    if (pv_result_type_of(get(call, "threshold")) != PV_RESULT_REAL) {
        add(l, "  %-16s never\n", pv__show(name).text);
        return;
    }
    add(l, "  %-16s p %s %.6g; wrong: at most %.4g, about %.3g; called: ", pv__show(name).text,
        low ? "<=" : ">=", number(call, "threshold"), number(call, "wanted"), number(call, "error"));
    add(l, "%.3g %% of %s, ", 100 * number(shares, name), pv__show(name).text);
    add(l, "%.3g %% of %s\n", 100 * number(shares, other), pv__show(other).text);
}

static void add_refer(lines *l, const pv_result *refer) {
    const pv_result *calls = get(refer, "calls"), *referred = get(refer, "referred"), *shares = get(referred, "shares");
    if (pv_result_count(calls) != 2)
        return;
    const char *names[2] = {pv_result_name(calls, 0), pv_result_name(calls, 1)};
    add(l, "\n  Calls at a prevalence of ");
    add_range(l, get(refer, "prevalence"), 0);
    add(l, " %s, with confidence %.4g; p is that of %s\n", pv__show(names[1]).text, number(refer, "confidence"),
        pv__show(names[1]).text);
    for (int y = 0; y < 2; y++)
        add_call(l, pv_result_child(calls, (size_t)y), names[y], names[1 - y], y == 0);
    add(l, "  %-16s %.3g %% of %s, ", "referred", 100 * number(shares, names[0]), pv__show(names[0]).text);
    add(l, "%.3g %% of %s, ", 100 * number(shares, names[1]), pv__show(names[1]).text);
    add_range(l, get(referred, "population"), 0);
    add(l, " of the population\n");
}

pv_status pv_sets_text(pv_ctx *ctx, const pv_result *rule, char **text) {
    lines l = {.ctx = ctx};
    *text = NULL;
    add_labels(&l, get(rule, "labels"));
    add_population(&l, get(rule, "population"), get(rule, "labels"));
    add_refer(&l, get(rule, "refer"));
    if (l.status == PV_OK)
        *text = l.text;
    else
        pv__free(ctx, l.text);
    return l.status;
}
