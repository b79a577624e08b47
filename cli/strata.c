/* Strata in words and as JSON: what a model knows of them, what was found of them, and what predictions in each are
 * worth.
 */
#include "cli/strata.h"
#include "cli/validation.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <string.h>

/* ---- of a model -------------------------------------------------------------------------------------------------- */

json_t *cli_json_strata(const pv_classifier *c) {
    const pv_stratified *s = c->stratified;
    json_t *list = cli_json_array();
    for (int i = 0; i < s->strata; i++) {
        json_t *one = cli_json_object(), *marginal = cli_json_object();
        char *const *labels = c->schema->labels;
        for (int y = 0; y < s->classes; y++)
            cli_json_set(marginal, labels[y], cli_json_real(exp(s->log_marginal[i * s->classes + y])));
        cli_json_set(one, "name", cli_json_text(c->schema->strata->name[i]));
        cli_json_set(one, "rows", cli_json_real(s->rows[i]));
        cli_json_set(one, "share", cli_json_real(s->share[i]));
        cli_json_set(one, "prevalence", cli_json_by_label(labels, s->classes, s->prevalence + i * s->classes));
        cli_json_set(one, "prevalence_n", isinf(s->n[i]) ? cli_json_text("known") : cli_json_real(s->n[i]));
        cli_json_set(one, "design", cli_json_by_label(labels, s->classes, s->design + i * s->classes));
        cli_json_set(one, "marginal", marginal);
        cli_json_append(list, one);
    }
    return list;
}

void cli_print_strata(const pv_classifier *c) {
    const pv_stratified *s = c->stratified;
    int k = s->classes;
    printf("\n  %-24s %9s %10s %-10s %13s %13s %13s\n", "stratum", "rows", "share", "label", "in the data", "stated",
           "in the model");
    for (int i = 0; i < s->strata; i++)
        for (int y = 1; y < k; y++) {
            char share[32] = "", rows[32] = "";
            if (y == 1) {
                snprintf(share, sizeof share, "%.6g", s->share[i]);
                snprintf(rows, sizeof rows, "%.6g", s->rows[i]);
            }
            fputs("  ", stdout);
            cli_put_name(y == 1 ? c->schema->strata->name[i] : "", 24);
            printf(" %9s %10s ", rows, share);
            cli_put_name(c->schema->labels[y], 10);
            printf(" %13.6g %13.6g %13.6g\n", s->design[i * k + y], s->prevalence[i * k + y],
                   exp(s->log_marginal[i * k + y]));
        }
}

static bool is_feature(const pv_schema *schema, const char *name) {
    bool found = false;
    for (size_t i = 0; i < schema->sources && !found; i++)
        found = strcmp(schema->source[i].name, name) == 0;
    for (size_t t = 0; t < schema->terms && !found; t++)
        for (int i = 0; i < 2 && !found; i++)
            found = schema->term[t].column[i] && strcmp(schema->term[t].column[i], name) == 0;
    return found;
}

void cli_print_strata_columns(const pv_classifier *c, const char *title) {
    const pv_strata *s = c->schema->strata;
    fputs(title, stdout);
    for (size_t i = 0; i < s->columns; i++) {
        fputs(i ? ", " : "", stdout);
        cli_put_name(s->column[i].name, 0);
        fputs(is_feature(c->schema, s->column[i].name) ? " (a feature)" : " (no feature of this name)", stdout);
    }
    fputc('\n', stdout);
}

json_t *cli_json_strata_columns(const pv_classifier *c) {
    const pv_strata *s = c->schema->strata;
    json_t *list = cli_json_array();
    for (size_t i = 0; i < s->columns; i++) {
        json_t *one = cli_json_object();
        cli_json_set(one, "name", cli_json_text(s->column[i].name));
        cli_json_set(one, "feature", json_boolean(is_feature(c->schema, s->column[i].name)));
        cli_json_append(list, one);
    }
    return list;
}

/* ---- of a judgement ---------------------------------------------------------------------------------------------- */

void cli_json_judged_strata(json_t *object, const pv_judgement *j) {
    if (!j->strata)
        return;
    json_t *list = cli_json_array();
    for (int s = 0; s < j->strata; s++) {
        const pv_judged_stratum *of = &j->stratum[s];
        json_t *one = cli_json_object(), *metrics = cli_json_object();
        for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
            json_t *entry = cli_json_object();
            cli_json_set(entry, "value", cli_json_real(pv_metric_get(&of->value, row)));
            cli_json_set(entry, "lo", cli_json_real(pv_metric_get(&of->lo, row)));
            cli_json_set(entry, "hi", cli_json_real(pv_metric_get(&of->hi, row)));
            cli_json_set(metrics, row->name, entry);
        }
        cli_json_set(one, "name", cli_json_text(of->name));
        cli_json_set(one, "rows", json_integer((json_int_t)of->rows));
        cli_json_set(one, "share", cli_json_real(of->share));
        cli_json_set(one, "observed", of->rows ? cli_json_by_label(j->labels, j->classes, of->observed) : json_null());
        cli_json_set(one, "stated_for", of->rows ? cli_json_by_label(j->labels, j->classes, of->stated) : json_null());
        cli_json_set(one, "metrics", metrics);
        cli_json_append(list, one);
    }
    cli_json_set(object, "strata", list);
}

void cli_print_judged_strata(const pv_judgement *j) {
    static const char *const shown[] = {"calibration_ratio", "calibration_slope", "nell", "brier", "auc"};
    enum { SHOWN = sizeof shown / sizeof *shown }; /* in the order of the table of metrics */
    if (!j->strata)
        return;
    printf("\n  %-24s %7s %9s %9s %9s", "stratum", "rows", "share", "in them", "stated");
    for (int m = 0; m < SHOWN; m++)
        printf(" %17s", shown[m]);
    for (int s = 0; s < j->strata; s++) {
        const pv_judged_stratum *of = &j->stratum[s];
        char text[2][32] = {"-", "-"};
        for (int i = 0; i < 2 && of->rows; i++)
            snprintf(text[i], sizeof text[i], "%.4g", (i ? of->stated : of->observed)[j->positive]);
        fputs("\n  ", stdout);
        cli_put_name(of->name, 24);
        printf(" %7zu %9.4g %9s %9s", of->rows, of->share, text[0], text[1]);
        for (const pv_metric_row *row = pv_metric_table; row->name; row++)
            for (int m = 0; m < SHOWN; m++) {
                char value[16];
                if (strcmp(row->name, shown[m]) == 0)
                    printf(" %17s", cli_metric_text(pv_metric_get(&of->value, row), value, sizeof value));
            }
    }
    printf("\n");
}

/* ---- of a population --------------------------------------------------------------------------------------------- */

void cli_json_predicted_strata(json_t *object, const pv_predicted_strata *of, char *const *labels, int classes) {
    if (!of)
        return;
    json_t *list = cli_json_array();
    for (int s = 0; s < of->strata; s++) {
        json_t *one = cli_json_object();
        const pv_unknown_prevalence *t = of->inferred ? of->inferred[s] : NULL;
        cli_json_set(one, "name", cli_json_text(of->name[s]));
        cli_json_set(one, "share", cli_json_real(of->share[s]));
        cli_json_set(one, "prevalence",
                     cli_json_by_label(labels, classes, of->prevalence + (size_t)s * (size_t)classes));
        for (int y = 0; y < classes && t; y++) {
            json_t *entry = cli_json_object();
            cli_json_set(entry, "lo", cli_json_real(t->lo[y]));
            cli_json_set(entry, "hi", cli_json_real(t->hi[y]));
            cli_json_set(entry, "sd", cli_json_real(t->sd[y]));
            json_t *interval = y == 0 ? cli_json_object() : json_incref(json_object_get(one, "interval"));
            cli_json_set(interval, labels[y], entry);
            cli_json_set(one, "interval", interval);
        }
        if (t) {
            cli_json_set(one, "worth", cli_json_real(t->worth));
            cli_json_set(one, "pooled", json_boolean(of->pooled[s]));
        }
        cli_json_append(list, one);
    }
    cli_json_set(object, "strata", list);
}

void cli_note_strata(cli_call *call, const pv_predicted_strata *of, char *const *labels, int classes) {
    if (!of || !of->inferred)
        return;
    int borrowed = 0;
    for (int s = 0; s < of->strata; s++) {
        const pv_unknown_prevalence *t = of->inferred[s];
        if (!t) {
            cli_note(call, "stratum %.60s: no rows", of->name[s]);
            continue;
        }
        char line[600];
        size_t at = (size_t)snprintf(line, sizeof line, "stratum %.60s:", of->name[s]);
        for (int y = classes == 2 ? 1 : 0; y < classes && at < sizeof line - 120; y++) {
            at += (size_t)snprintf(line + at, sizeof line - at, "%s %.40s %.4g", y > (classes == 2) ? "," : "",
                                   labels[y], t->value[y]);
            if (!isnan(t->lo[y]))
                at += (size_t)snprintf(line + at, sizeof line - at, " (%.4g to %.4g)", t->lo[y], t->hi[y]);
        }
        cli_note(call, "%s%s", line, of->pooled[s] ? ", with what all strata say" : "");
        borrowed += of->pooled[s];
    }
    if (borrowed)
        cli_note(
            call,
            "%d of %d strata have rows that say little; the shift of all strata together is their prior, worth ten "
            "labelled rows",
            borrowed, of->strata);
}
