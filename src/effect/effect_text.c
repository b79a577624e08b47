/* The result of an effect in words: the lines that the command, Python and R print. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "effect/effect.h"

typedef struct lines {
    pv_ctx *ctx;
    pv_status status;
    char *text;
    size_t size, room;
} lines;

static void addf(lines *l, const char *format, ...) PV_PRINTF(2, 3);
static void addf(lines *l, const char *format, ...) {
    char text[512]; /* names are shortened */
    va_list arguments;
    va_start(arguments, format);
    (void)pv__vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t n = strlen(text);
    if (l->status == PV_OK && l->size + n + 1 > l->room) {
        l->status = pv__resize(l->ctx, 2 * l->room + n + 512, 1, &l->text);
        l->room = 2 * l->room + n + 512;
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
    const pv_result *found = get(value, name);
    return found ? pv_result_number(found) : (double)NAN;
}

static const char *text_of(const pv_result *value, const char *name) {
    const char *text = pv_result_text(get(value, name));
    return text ? text : "";
}

/* Four decimals; of small risks, four digits. */
static void add_number(lines *l, double x) {
    if (!isfinite(x))
        addf(l, "%10s", "-");
    else if (x != 0 && fabs(x) < 0.01)
        addf(l, "%10.3g", x);
    else if (fabs(x) >= 1000)
        addf(l, "%10.0f", x);
    else
        addf(l, "%10.4f", x);
}

static void add_interval(lines *l, const pv_result *q) {
    add_number(l, number(q, "value"));
    if (!isfinite(number(q, "value"))) {
        addf(l, "%26s", "");
        return;
    }
    addf(l, "  [");
    add_number(l, number(q, "lo"));
    addf(l, ",");
    add_number(l, number(q, "hi"));
    addf(l, "]");
}

static void add_row(lines *l, const char *name, const pv_result *q) {
    if (!q)
        return;
    addf(l, "  %-36s", name);
    add_interval(l, q);
    if (get(q, "linear")) {
        addf(l, "  ");
        add_interval(l, get(q, "linear"));
    }
    addf(l, "\n");
}

static void add_people(lines *l, double n) {
    if (isfinite(n))
        addf(l, fabs(n) < 9.95 ? "%.1f" : "%.0f", fabs(n));
    else
        addf(l, "infinitely many");
}

/* "one more outcome for every 25 people [12, 300]", or the two rays. */
static void add_needed(lines *l, const pv_result *q) {
    double value = number(q, "value");
    const char *kind = value < 0 ? "fewer" : "more";
    addf(l, "  %-36s", "number needed to change");
    if (!(number(q, "rays") > 0)) {
        double a = fabs(number(q, "lo")), b = fabs(number(q, "hi"));
        addf(l, "  one case %s for every ", kind);
        add_people(l, value);
        addf(l, " people  [");
        add_people(l, fmin(a, b));
        addf(l, ", ");
        add_people(l, fmax(a, b));
        addf(l, "]\n");
        return;
    }
    addf(l, "  one case %s for every ", kind);
    add_people(l, value);
    addf(l, " people\n  %-36s  [one more for every ", "");
    add_people(l, number(q, "more"));
    addf(l, " or beyond, none, or one fewer for every ");
    add_people(l, number(q, "fewer"));
    addf(l, " or beyond]\n");
}

static void add_effect(lines *l, const pv_result *r, const pv_result *e) {
    char name[160];
    const char *group = pv_result_text(get(e, "group"));
    addf(l, "\n  %s: %s against %s", pv__show(text_of(r, "exposure")).text, pv__show(text_of(e, "to")).text,
         pv__show(text_of(r, "from")).text);
    if (group)
        addf(l, ", in %s = %s (%.4g of the population)", pv__show(text_of(r, "by")).text, pv__show(group).text,
             number(e, "share"));
    addf(l, "\n");
    pv__format(name, sizeof name, "risk if everyone had %s", pv__show(text_of(e, "to")).text);
    add_row(l, name, get(e, "risk_to"));
    pv__format(name, sizeof name, "risk if everyone had %s", pv__show(text_of(r, "from")).text);
    add_row(l, name, get(e, "risk_from"));
    add_row(l, "risk as it is", get(e, "risk"));
    add_row(l, "risk difference", get(e, "difference"));
    add_row(l, "risk ratio", get(e, "ratio"));
    add_row(l, "odds ratio of these risks", get(e, "odds_ratio"));
    add_row(l, "attributable fraction", get(e, "attributable"));
    add_needed(l, get(e, "number_needed"));
}

static void add_heading(lines *l, const pv_result *r) {
    const pv_result *first = pv_result_child(get(r, "effects"), 0);
    addf(l, "Effect of %s on the risk of %s = %s in a population of prevalence %.6g\n",
         pv__show(text_of(r, "exposure")).text, pv__show(text_of(r, "outcome")).text,
         pv__show(text_of(r, "positive")).text, number(r, "prevalence"));
    if (*text_of(r, "at"))
        addf(l, "with %s for everyone\n", pv__show(text_of(r, "at")).text);
    addf(l, "%.0f rows, %.0f sampled independently, %.4g %% intervals, %s estimate\n", number(r, "rows"),
         number(r, "units"), 100 * number(r, "interval"), text_of(r, "estimate"));
    if (*text_of(get(r, "prior"), "text"))
        addf(l, "coefficients are shrunk by the prior %s%s\n", pv__show(text_of(get(r, "prior"), "text")).text,
             number(get(r, "prior"), "chosen") > 0 ? ", whose scale was chosen from the rows" : "");
    if (strcmp(text_of(r, "estimate"), "efficient") == 0)
        addf(l, "which assumes that the linear model is right\n");
    if (get(get(first, "difference"), "linear"))
        addf(l, "\n  %-36s%-36s%s\n", "", "  whatever the shape of the risk", "  if the linear model is right");
}

/* In lines of at most 80 letters. */
static void add_wrapped(lines *l, const char *text) {
    enum { LINE = 80 };
    while (*text) {
        size_t n = strlen(text);
        if (n > LINE)
            for (n = LINE; n > 1 && text[n] != ' '; n--)
                ;
        addf(l, "%.*s\n", (int)n, text);
        text += n + strspn(text + n, " ");
    }
}

pv_status pv_effect_text(pv_ctx *ctx, const pv_result *result, char **text) {
    lines l = {.ctx = ctx};
    const pv_result *effects = get(result, "effects");
    *text = NULL;
    add_heading(&l, result);
    for (size_t i = 0; i < pv_result_count(effects); i++)
        add_effect(&l, result, pv_result_child(effects, i));
    addf(&l, "\n");
    add_wrapped(&l, text_of(result, "assumes"));
    if (l.status == PV_OK)
        *text = l.text;
    else
        pv__free(ctx, l.text);
    return l.status;
}
