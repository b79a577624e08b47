/* Strata as text and JSON: those of a model, of a population, and metrics by stratum.
 */
#include "cli/strata.h"
#include "cli/validation.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <string.h>

/* ---- strata of a model ------------------------------------------------------------------------------------------- */

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

void cli_print_strata_columns(const pv_classifier *c, const char *title) {
    const char *name;
    bool feature;
    fputs(title, stdout);
    for (size_t i = 0; (name = pv_classifier_stratum_column(c, i, &feature)) != NULL; i++) {
        fputs(i ? ", " : "", stdout);
        cli_put_name(name, 0);
        fputs(feature ? " (a feature)" : " (not a feature)", stdout);
    }
    fputc('\n', stdout);
}

/* ---- metrics by stratum ------------------------------------------------------------------------------------------ */

void cli_print_judged_strata(const pv_judgement *j) {
    static const char *const shown[] = {"calibration_ratio", "calibration_slope", "log_loss", "brier", "auc"};
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

/* ---- strata of a population -------------------------------------------------------------------------------------- */

void cli_json_predicted_strata(pv_result *object, const pv_predicted_strata *of, char *const *labels, int classes) {
    if (!of)
        return;
    pv_result *list = pv__value_list();
    for (int s = 0; s < of->strata; s++) {
        pv_result *one = pv__value_object();
        const pv_unknown_prevalence *t = of->inferred ? of->inferred[s] : NULL;
        pv__value_set(one, "name", pv__value_text(of->name[s]));
        pv__value_set(one, "share", pv__value_real(of->share[s]));
        pv__value_set(one, "prevalence",
                      cli_json_by_label(labels, classes, of->prevalence + (size_t)s * (size_t)classes));
        pv_result *interval = t ? pv__value_object() : NULL;
        for (int y = 0; y < classes && t; y++) {
            pv_result *entry = pv__value_object();
            pv__value_set(entry, "lo", pv__value_real(t->lo[y]));
            pv__value_set(entry, "hi", pv__value_real(t->hi[y]));
            pv__value_set(entry, "sd", pv__value_real(t->sd[y]));
            pv__value_set(interval, labels[y], entry);
        }
        if (t) {
            pv__value_set(one, "interval", interval);
            pv__value_set(one, "worth", pv__value_real(t->worth));
            pv__value_set(one, "pooled", pv__value_flag(of->pooled[s]));
        }
        pv__value_append(list, one);
    }
    pv__value_set(object, "strata", list);
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
        cli_note(call, "%s%s", line, of->pooled[s] ? ", with the information of all strata" : "");
        borrowed += of->pooled[s];
    }
    if (borrowed)
        cli_note(call,
                 "%d of %d strata have rows that carry little information; their prior is the common shift of all "
                 "strata, with the information of ten labelled rows",
                 borrowed, of->strata);
}
