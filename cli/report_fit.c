/* The report of prevail fit: what was estimated, for which population, and how to describe it in a manuscript. */
#include "cli/fit_report.h"
#include "cli/methods.h"
#include "cli/report_sections.h"
#include "tool/console.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAMED = 12 };

/* A label as sentences name it. */
static const char *named(const pv_classifier *c, int y, char *to, size_t size) {
    const pv_report_judged as = {.labels = c->schema->labels, .target = c->schema->target};
    return pv_report_label(&as, y, to, size);
}

static void say_sample(pv_report *report, const pv_classifier *c) {
    int y = c->schema->classes - 1;
    char label[400], population[700] = "";
    named(c, y, label, sizeof label);
    if (pv_classifier_is_relative(c))
        snprintf(population, sizeof population, "Matched sets give odds ratios and no risks.");
    else if (c->prevalence)
        snprintf(population, sizeof population, "It predicts for a population where the prevalence of %s is %.4g%s.",
                 label, c->prevalence[y], c->estimated ? ", as the model estimates it" : "");
    else
        snprintf(population, sizeof population,
                 "It predicts for a population like the rows, where a proportion of %.4g has %s.", c->design[y], label);
    report_say(report, "The model was fitted to %s %s, %.1f %% of them with %s. %s",
               pv_group_digits((double)c->rows).text, c->schema->image ? "images" : "rows", 100 * c->design[y], label,
               population);
}

/* The columns whose intervals leave out an odds ratio of 1. */
static void say_odds(pv_report *report, const pv_classifier *c, const pv_summary *s) {
    char text[3000] = "";
    size_t used = 0, found = 0, known = 0;
    for (size_t i = 0; i < s->equations * s->terms; i++) {
        const pv_coefficient *k = &s->coefficient[i];
        if (i % s->terms < s->intercepts || pv_classifier_is_curve(c, (int)(i % s->terms - s->intercepts)))
            continue;
        known += isfinite(k->value.lo) && isfinite(k->value.hi);
        if (!(k->value.lo > 0 || k->value.hi < 0) || found++ >= NAMED)
            continue;
        char name[160], label[100] = "";
        pv_text_short(k->name, 30, name, sizeof name);
        if (s->equations > 1)
            pv_text_short(k->label, 20, label, sizeof label);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s%s", used ? ", " : "", name,
                                 *label ? " for " : "", label);
        used = used < sizeof text ? used : sizeof text - 1;
    }
    if (found > 0)
        report_say(report, "Odds ratios whose %.4g %% interval excludes 1: %s%s.", 100 * s->level, text,
                   found > NAMED ? ", and more" : "");
    else if (known > 0)
        report_say(report, "The %.4g %% interval of every odds ratio includes 1.", 100 * s->level);
}

static void say_adequacy(pv_report *report, const pv_classifier *c) {
    const pv_combination *m = c->combination;
    if (!m || m->rank == 0)
        return;
    double p = m->p_value;
    if (pv_combination_differs(m) && m->use == PV_ESTIMATE_EFFICIENT)
        report_note(report, PV_NOTE_WARNING,
                    "The linear model does not fit (Hausman's test, p = %.2g), but the estimate in use assumes that "
                    "it does. Fit again with --infer robust.",
                    p);
    else if (pv_combination_differs(m))
        report_note(report, PV_NOTE_WARNING,
                    "The linear model does not fit (Hausman's test, p = %.2g). Coefficients are those of the best "
                    "linear predictor in the population.",
                    p);
    else
        report_say(report, "Hausman's test does not reject the linear model (p = %.2g).", p);
}

static void put_provenance(cli_call *call, pv_report *report, const pv_classifier *c) {
    char hash[24], seed[24];
    snprintf(hash, sizeof hash, "%016" PRIx64, c->data_hash);
    snprintf(seed, sizeof seed, "%lld", (long long)c->seed);
    const char *const names[] = {"training data", "its hash (XXH3-64)", "seed of the fit", NULL};
    const char *const values[] = {c->source, hash, seed};
    report_put_provenance(call, report, names, values);
}

int fit_write_report(cli_call *call, const report_options *options, const pv_classifier *c, const char *model,
                     double level) {
    pv_report *report = NULL;
    pv_summary *summary = NULL;
    char outcome[200], title[300], lead[300];
    pv_status status = pv_classifier_summary(call->ctx, c, level, &summary);
    if (status != PV_OK)
        return cli_fail(call, status);
    pv_text_short(c->schema->target, 60, outcome, sizeof outcome);
    snprintf(title, sizeof title, "A model of %s", outcome);
    pv_text_short(c->source, 60, outcome, sizeof outcome);
    snprintf(lead, sizeof lead, "Fitted to %s. prevail " PV_VERSION, outcome);
    int code = report_begin(call, options, title, lead, &report);
    if (code == CLI_OK) {
        pv_report_section(report, "answer", "The answer");
        say_sample(report, c);
        say_odds(report, c, summary);
        say_adequacy(report, c);
        report_put_warnings(call, report);
        code = report_put_coefficients(call, report, c, level);
        pv_report_section(report, "fit", "The fit");
    }
    if (code == CLI_OK)
        code = report_put_model(call, report, model ? model : "not saved", c);
    pv_methods_options how = pv_methods_options_default();
    how.level = level;
    if (code == CLI_OK)
        code = report_put_methods(call, report, c, &how);
    if (code == CLI_OK)
        put_provenance(call, report, c);
    pv_summary_free(call->ctx, summary);
    return report ? report_end(call, options, report, code) : code;
}
