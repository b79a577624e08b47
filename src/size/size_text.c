/* The result of a size in words: the lines that the command, Python and R print. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "size/size.h"

typedef struct lines {
    pv_ctx *ctx;
    pv_status status;
    char *text;
    size_t size, room;
} lines;

static void add(lines *l, const char *text) {
    size_t n = strlen(text);
    if (l->status == PV_OK && l->size + n + 1 > l->room) {
        size_t room = 2 * l->room + n + 1024;
        l->status = pv__resize(l->ctx, room, 1, &l->text);
        l->room = room;
    }
    if (l->status != PV_OK)
        return;
    memcpy(l->text + l->size, text, n + 1);
    l->size += n;
}

static void addf(lines *l, const char *format, ...) PV_PRINTF(2, 3);
static void addf(lines *l, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)pv__vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    add(l, text);
}

static const pv_result *get(const pv_result *value, const char *name) {
    return pv_result_get(value, name);
}

static double number(const pv_result *value, const char *name) {
    return pv_result_number(get(value, name));
}

static const char *text_of(const pv_result *value, const char *name) {
    const char *text = pv_result_text(get(value, name));
    return text ? text : "";
}

static const char *title_of(const char *key) {
#define TITLE(name, word, title)                                                                                       \
    if (strcmp(key, word) == 0)                                                                                        \
        return title;
    PV__SIZE_CRITERIA(TITLE)
#undef TITLE
    return key;
}

/* 12345 as 12,345, at the right of so many characters. */
static void add_count(lines *l, double count, int width) {
    char digits[64], out[96];
    size_t n, to = 0;
    pv__format(digits, sizeof digits, "%.0f", count);
    n = strlen(digits);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            out[to++] = ',';
        out[to++] = digits[i];
    }
    out[to] = '\0';
    addf(l, "%*s", width, out);
}

static void add_row(lines *l, const char *name, const pv_result *q) {
    if (!isfinite(number(q, "value")))
        return;
    addf(l, "  %-32s%8.4f", name, number(q, "value"));
    if (isfinite(number(q, "lo")))
        addf(l, "  [%.4f, %.4f]", number(q, "lo"), number(q, "hi"));
    add(l, "\n");
}

static void add_design(lines *l, const pv_result *r) {
    const pv_result *d = get(r, "design"), *pi = get(r, "prevalence");
    const char *chosen = text_of(d, "chosen");
    addf(l, "A study for a population with a prevalence of %.4g", number(pi, "value"));
    if (isfinite(number(pi, "people")))
        addf(l, " [%.4g, %.4g]", number(pi, "lo"), number(pi, "hi"));
    addf(l, " (%.4g %% intervals)\n\n  cases     ", 100 * number(r, "interval"));
    add_count(l, number(d, "cases"), 10);
    add(l, "\n  controls  ");
    add_count(l, number(d, "controls"), 10);
    addf(l, "   %.3g per case%s\n  rows      ", number(d, "ratio"),
         strcmp(chosen, "best") == 0         ? ", the ratio of least cost"
         : strcmp(chosen, "population") == 0 ? ", as in the population"
                                             : "");
    add_count(l, number(d, "rows"), 10);
    if (number(d, "cost") < number(d, "rows") || number(d, "cost") > number(d, "rows")) {
        add(l, "\n  cost      ");
        add_count(l, number(d, "cost"), 10);
    }
    if (isfinite(number(d, "cases_per_parameter")))
        addf(l, "\n  cases per parameter %.3g", number(d, "cases_per_parameter"));
    add(l, "\n");
}

static void add_criteria(lines *l, const pv_result *r) {
    const pv_result *all = get(r, "criteria");
    const char *binding = text_of(get(r, "design"), "binding");
    if (pv_result_count(all) == 0)
        return;
    addf(l, "\n  %-27s%9s%12s%12s%12s%10s\n", "Wanted", "", "rows", "cases", "controls", "design");
    for (size_t i = 0; i < pv_result_count(all); i++) {
        const pv_result *own = pv_result_child(all, i);
        const char *key = pv_result_name(all, i);
        addf(l, "  %-27s%9.4g", title_of(key), number(own, "wanted"));
        add_count(l, number(own, "rows"), 12);
        add_count(l, number(own, "cases"), 12);
        add_count(l, number(own, "controls"), 12);
        addf(l, "%10.4g%s\n", number(own, "reached"), strcmp(key, binding) == 0 ? "  decides" : "");
    }
}

static void add_figures(lines *l, const pv_result *r) {
    const pv_result *f = get(r, "figures"), *m = get(r, "model");
    add(l, "\n  What the design tells\n");
    if (m)
        addf(l, "  %-32s%8.4f  in the population %.4f\n", "R2 (Cox and Snell)", number(m, "r2_design"),
             number(m, "r2"));
    if (isfinite(number(f, "shrinkage"))) {
        addf(l, "  %-32s%8.4f\n", "shrinkage", number(f, "shrinkage"));
        addf(l, "  %-32s%8.4f\n", "optimism of Nagelkerke's R2", number(f, "optimism"));
    }
    if (isfinite(number(f, "slope")))
        addf(l, "  %-32s%8.4f\n", "calibration slope", number(f, "slope"));
    add_row(l, "AUC", get(f, "auc"));
    add_row(l, "a risk at the threshold", get(f, "risk"));
    if (isfinite(number(f, "tpr")))
        addf(l, "  %-32s%8.4f  specificity %.4f\n", "sensitivity at the threshold", number(f, "tpr"),
             1 - number(f, "fpr"));
    add_row(l, "PPV", get(f, "ppv"));
    add_row(l, "net benefit", get(f, "net_benefit"));
    add_row(l, "odds ratio", get(f, "odds_ratio"));
    if (isfinite(number(f, "power")))
        addf(l, "  %-32s%8.4f\n", "power", number(f, "power"));
    if (!isfinite(number(get(r, "prevalence"), "margin")))
        return;
    addf(l, "  a random sample of ");
    add_count(l, number(get(r, "prevalence"), "people_for_margin"), 0);
    addf(l, " people tells the prevalence to +- %.4g\n", number(get(r, "prevalence"), "margin"));
}

static void add_curve(lines *l, const pv_result *r) {
    const pv_result *curve = get(r, "curve");
    if (!curve)
        return;
    addf(l, "\n  %10s%12s%12s%12s%14s  decided by\n", "per case", "cases", "controls", "rows", "cost");
    for (size_t i = 0; i < pv_result_count(curve); i++) {
        const pv_result *own = pv_result_child(curve, i);
        bool here = fabs(number(own, "ratio") / number(get(r, "design"), "ratio") - 1) < 1e-6;
        addf(l, " %c%10.4g", here ? '*' : ' ', number(own, "ratio"));
        if (isfinite(number(own, "rows"))) {
            add_count(l, number(own, "cases"), 12);
            add_count(l, number(own, "controls"), 12);
            add_count(l, number(own, "rows"), 12);
            add_count(l, number(own, "cost"), 14);
            addf(l, "  %s\n", title_of(text_of(own, "binding")));
        } else {
            addf(l, "%12s%12s%12s%14s  %s\n", "-", "-", "-", "-", title_of(text_of(own, "binding")));
        }
    }
}

static void add_assumptions(lines *l, const pv_result *r) {
    const pv_result *all = get(r, "assumptions");
    add(l, "\n  Assumed\n");
    for (size_t i = 0; i < pv_result_count(all); i++) {
        add(l, "  - ");
        add(l, pv_result_text(pv_result_child(all, i)));
        add(l, "\n");
    }
}

pv_status pv_size_text(pv_ctx *ctx, const pv_result *result, char **text) {
    lines l = {.ctx = ctx};
    *text = NULL;
    add_design(&l, result);
    add_criteria(&l, result);
    add_figures(&l, result);
    add_curve(&l, result);
    add_assumptions(&l, result);
    if (l.status == PV_OK)
        *text = l.text;
    else
        pv__free(ctx, l.text);
    return l.status;
}
