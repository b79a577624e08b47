/* The result of a rate in words: the lines that the command, Python and R print. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "rate/rate.h"

typedef struct lines {
    pv_ctx *ctx;
    pv_status status;
    char *text;
    size_t size, room;
} lines;

static void add(lines *l, const char *text) {
    size_t n = strlen(text);
    if (l->status != PV_OK)
        return;
    if (l->size + n + 1 > l->room) {
        size_t room = 2 * l->room + n + 256;
        l->status = pv__resize(l->ctx, room, 1, &l->text);
        if (l->status != PV_OK)
            return;
        l->room = room;
    }
    memcpy(l->text + l->size, text, n + 1);
    l->size += n;
}

static void addf(lines *l, const char *format, ...) PV_PRINTF(2, 3);
static void addf(lines *l, const char *format, ...) {
    char text[512]; /* names are shortened */
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

/* 12345 as 12,345 */
static void add_count(lines *l, double count) {
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
    add(l, out);
}

static void add_interval(lines *l, const pv_result *q) {
    if (isfinite(number(q, "value")))
        addf(l, "%8.4f  [%.4f, %.4f]", number(q, "value"), number(q, "lo"), number(q, "hi"));
    else
        add(l, "       -");
}

static void add_row(lines *l, const char *name, const pv_result *q) {
    addf(l, "  %-28s", pv__show(name).text);
    add_interval(l, q);
    add(l, "\n");
}

static void add_heading(lines *l, const pv_result *r) {
    const char *by = text_of(r, "gold_by");
    add(l, "By the verdicts of column ");
    add(l, pv__show(text_of(r, "verdict")).text);
    add(l, " in ");
    add_count(l, number(r, "rows"));
    add(l, " rows, and ");
    if (strcmp(by, "known") == 0) {
        add(l, "the stated sensitivity and specificity");
    } else {
        add_count(l, number(r, "gold_rows"));
        add(l, strcmp(by, "random") == 0 ? " gold rows drawn at random" : " gold rows drawn by ");
        add(l, strcmp(by, "random") == 0 ? "" : by);
    }
    addf(l, " (%.4g %% intervals)\n\n", 100 * number(r, "interval"));
}

static void add_rates(lines *l, const pv_result *r) {
    const pv_result *rate = get(r, "rate"), *apparent = get(get(r, "apparent"), "shares");
    size_t labels = pv_result_count(rate);
    for (size_t y = 0; y < labels; y++) {
        const char *name = pv_result_name(rate, y);
        if (labels > 2 || strcmp(name, text_of(r, "positive")) == 0) {
            addf(l, "  rate of label %-14s", pv__show(name).text);
            add_interval(l, pv_result_child(rate, y));
            add(l, "\n");
        }
    }
    for (size_t k = 0; k < pv_result_count(apparent); k++) {
        addf(l, "  verdict %-20s", pv__show(pv_result_name(apparent, k)).text);
        add_interval(l, pv_result_child(apparent, k));
        add(l, "\n");
    }
    if (get(r, "sensitivity")) {
        add_row(l, "sensitivity", get(r, "sensitivity"));
        add_row(l, "specificity", get(r, "specificity"));
    }
}

static void add_conditionals(lines *l, const pv_result *all, const char *what, const char *given, const char *of) {
    if (!all)
        return;
    addf(l, "\n  P(%s | %s), from the gold rows\n", of, given);
    for (size_t i = 0; i < pv_result_count(all); i++) {
        const pv_result *own = pv_result_child(all, i), *shares = get(own, "shares");
        addf(l, "  %s %s (", given, pv__show(pv_result_name(all, i)).text);
        add_count(l, number(own, "rows"));
        addf(l, " row%s)\n", number(own, "rows") > 1 || number(own, "rows") < 1 ? "s" : "");
        for (size_t k = 0; k < pv_result_count(shares); k++) {
            addf(l, "    %s %-*s", what, (int)(25 - strlen(what)), pv__show(pv_result_name(shares, k)).text);
            add_interval(l, pv_result_child(shares, k));
            add(l, "\n");
        }
    }
}

static void add_strata(lines *l, const pv_result *r) {
    const pv_result *strata = get(r, "strata");
    const char *positive = text_of(r, "positive");
    if (!strata)
        return;
    addf(l, "\n  Strata: share, gold rows, rate of label %s\n", pv__show(positive).text);
    for (size_t s = 0; s < pv_result_count(strata); s++) {
        const pv_result *own = pv_result_child(strata, s);
        addf(l, "  %-12s %6.4f %6.0f  ", pv__show(pv_result_name(strata, s)).text, number(own, "share"),
             number(own, "gold_rows"));
        add_interval(l, get(get(own, "rate"), positive));
        add(l, "\n");
    }
}

static void add_compared(lines *l, const pv_result *r) {
    static const char *const rows[] = {"sensitivity", "specificity", "apparent"};
    const pv_result *c = get(r, "compare");
    if (!c)
        return;
    add(l, "\n  Two systems on the same rows: ");
    add(l, pv__show(text_of(c, "first")).text);
    add(l, ", ");
    add(l, pv__show(text_of(c, "second")).text);
    add(l, "; first minus second\n");
    for (size_t i = 0; i < 3 && get(c, rows[i]); i++) {
        const pv_result *q = get(c, rows[i]);
        addf(l, "  %-28s", i == 2 ? "apparent rate" : rows[i]);
        add_interval(l, get(q, "first"));
        addf(l, "\n  %-24s", "");
        add_interval(l, get(q, "second"));
        addf(l, "\n  %-24s", "  difference");
        add_interval(l, get(q, "difference"));
        add(l, "\n");
    }
}

/* "120 of label 1, 45 of label 0" */
static void add_more(lines *l, const pv_result *more, const char *kind) {
    if (pv_result_type_of(more) != PV_RESULT_OBJECT) {
        add_count(l, pv_result_number(more));
        add(l, " drawn at random");
        return;
    }
    for (size_t i = 0; i < pv_result_count(more); i++) {
        const pv_result *own = pv_result_child(more, i);
        add(l, i > 0 ? ", " : "");
        if (pv_result_type_of(own) == PV_RESULT_OBJECT) {
            addf(l, "%s (", pv__show(pv_result_name(more, i)).text);
            add_more(l, own, kind);
            add(l, ")");
            continue;
        }
        add_count(l, pv_result_number(own));
        addf(l, " of %s %s", kind, pv__show(pv_result_name(more, i)).text);
    }
}

static void add_width(lines *l, const pv_result *r) {
    const pv_result *w = get(r, "width");
    if (!w)
        return;
    addf(l, "\n  For an interval of width %.4g for label %s (now about %.4g), ", number(w, "wanted"),
         pv__show(text_of(w, "label")).text, number(w, "now"));
    if (number(w, "reachable") > 0) {
        if (number(w, "now") <= number(w, "wanted")) {
            add(l, "the gold rows are enough.\n");
            return;
        }
        add(l, "add gold rows:\n  ");
        add_more(l, get(w, "more"), strcmp(text_of(r, "gold_by"), "verdict") == 0 ? "verdict" : "label");
        add(l, "\n");
        return;
    }
    addf(l, "no number of gold rows is enough:\n  the sample alone leaves a width of %.4g. About ", number(w, "least"));
    add_count(l, number(w, "sample_rows"));
    add(l, " rows are needed, and gold rows as well.\n");
}

pv_status pv_rate_text(pv_ctx *ctx, const pv_result *result, char **text) {
    lines l = {.ctx = ctx};
    *text = NULL;
    add_heading(&l, result);
    add_rates(&l, result);
    add_conditionals(&l, get(result, "verdict_given_label"), "verdict", "label", "verdict");
    add_conditionals(&l, get(result, "label_given_verdict"), "label", "verdict", "label");
    add_strata(&l, result);
    add_compared(&l, result);
    add_width(&l, result);
    if (l.status == PV_OK)
        *text = l.text;
    else
        pv__free(ctx, l.text);
    return l.status;
}
