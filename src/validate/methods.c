/* A methods paragraph: the sample, the design and the prevalence, and how the sentences become a result. Each sentence
 * states what this fit did, so each asks the classifier or its record before it claims anything. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"
#include "base/value.h"
#include "validate/methods.h"

enum { LABELS_SHOWN = 6 };

void pv__methods_say(pv__methods *m, pv__topic topic, const char *format, ...) {
    char *text = m->text[topic];
    size_t used = strlen(text);
    if (used > 0 && used + 1 < PV__TOPIC_SIZE && format[0] != ',' && format[0] != ';' && text[used - 1] == '.')
        text[used++] = ' ';
    va_list values;
    va_start(values, format);
    pv__vformat(text + used, PV__TOPIC_SIZE - used, format, values);
    va_end(values);
}

pv__label_name pv__methods_label(const char *outcome, const char *label) {
    pv__label_name name = {0};
    bool number = strchr("0123456789.+-", label[0]) != NULL;
    pv__format(name.text, sizeof name.text, "%s%s%s", number && outcome && *outcome ? pv__show(outcome).text : "",
               number && outcome && *outcome ? " = " : "", pv__show(label).text);
    return name;
}

static pv__label_name label_of(const pv__methods *m, int y) {
    return pv__methods_label(m->c->schema->target, m->c->schema->labels[y]);
}

/* ---- the sample -------------------------------------------------------------------------------------------------- */

/* "500 with malignant = 1 (50.0 %), ..."; numbers where the record has them as whole ones. */
static void say_labels(pv__methods *m) {
    const pv_classifier *c = m->c;
    const pv_result *mass = pv_result_get(m->sample, "observations");
    int classes = c->schema->classes, shown = classes < LABELS_SHOWN ? classes : LABELS_SHOWN;
    for (int i = 0; i < shown; i++) {
        int y = classes - 1 - i; /* the positive label first */
        double n = pv_result_number(pv_result_child(mass, (size_t)y));
        const char *before = i == 0 ? ":" : i + 1 == shown && shown == classes ? " and" : ",";
        if (n == floor(n))
            pv__methods_say(m, PV__TOPIC_sample, "%s %s with %s (%.1f %%)", before, pv_group_digits(n).text,
                            label_of(m, y).text, 100 * c->design[y]);
        else
            pv__methods_say(m, PV__TOPIC_sample, "%s %.1f %% with %s", before, 100 * c->design[y], label_of(m, y).text);
    }
    if (shown < classes)
        pv__methods_say(m, PV__TOPIC_sample, " and %d more labels", classes - shown);
    pv__methods_say(m, PV__TOPIC_sample, ".");
}

static void say_sample(pv__methods *m) {
    const pv_classifier *c = m->c;
    const char *weights = pv_result_text(pv_result_get(m->sample, "weights"));
    bool counts = weights && strcmp(weights, "counts") == 0, sampling = weights && strcmp(weights, "sampling") == 0;
    const char *rows = c->schema->image ? "images" : "rows";
    pv__methods_say(m, PV__TOPIC_sample, "The model was fitted to %s %s", pv_group_digits((double)c->rows).text, rows);
    double total = 0;
    const pv_result *mass = pv_result_get(m->sample, "observations");
    for (size_t y = 0; y < pv_result_count(mass); y++)
        total += pv_result_number(pv_result_child(mass, y));
    if (counts && total == floor(total))
        pv__methods_say(m, PV__TOPIC_sample, " with counts, %s observations in all", pv_group_digits(total).text);
    else if (counts)
        pv__methods_say(m, PV__TOPIC_sample, " with counts");
    if (sampling)
        pv__methods_say(m, PV__TOPIC_sample, " with sampling weights; weighted proportions were");
    say_labels(m);
    if (c->sample_rows)
        pv__methods_say(m, PV__TOPIC_sample, "In addition, %s rows of the target population without labels were used.",
                        pv_group_digits((double)c->sample_rows).text);
}

static void say_missing(pv__methods *m) {
    const pv_classifier *c = m->c;
    const char *one = c->dropped == 1 ? "was" : "were";
    if (c->schema->image && c->dropped)
        pv__methods_say(m, PV__TOPIC_missing, "%s image%s with too few votes or no label %s left out.",
                        pv_group_digits((double)c->dropped).text, c->dropped == 1 ? "" : "s", one);
    else if (c->dropped)
        pv__methods_say(m, PV__TOPIC_missing, "%s row%s with missing cells %s left out.",
                        pv_group_digits((double)c->dropped).text, c->dropped == 1 ? "" : "s", one);
    else if (!c->schema->image)
        pv__methods_say(m, PV__TOPIC_missing, "No row was left out for missing cells.");
    if (c->schema->missing == PV_MISSING_IMPUTE || c->schema->missing == PV_MISSING_INDICATOR)
        pv__methods_say(m, PV__TOPIC_missing,
                        "Missing cells of predictors were replaced by the column's mean or most frequent level%s.",
                        c->schema->missing == PV_MISSING_INDICATOR ? ", with an indicator of missingness" : "");
}

/* ---- the design -------------------------------------------------------------------------------------------------- */

static bool recorded(const pv__methods *m, const char *what) {
    return pv_result_number(pv_result_get(m->sample, what)) > 0;
}

static void say_design(pv__methods *m) {
    const pv_classifier *c = m->c;
    if (pv_loss_is_relative(c->loss))
        pv__methods_say(m, PV__TOPIC_design,
                        "The design was matched: the likelihood is conditional on each set of cases and controls.");
    else if (m->fit && m->fit->phase_one)
        pv__methods_say(m, PV__TOPIC_design,
                        "The design had two phases: labels%s were known for the whole cohort, and the rows were drawn "
                        "from it by label%s.",
                        c->stratified ? " and strata" : "", c->stratified ? " within strata" : "");
    else if (m->fit && m->fit->subcohort > 0)
        pv__methods_say(m, PV__TOPIC_design,
                        "The design was case-cohort: all cases, and controls from a subcohort of %.4g %% of the "
                        "cohort.",
                        100 * m->fit->subcohort);
    else if (c->stratified)
        pv__methods_say(m, PV__TOPIC_design, "Rows were taken as sampled by label within %d strata of the population.",
                        c->stratified->strata);
    else if (c->prevalence || c->estimated)
        pv__methods_say(m, PV__TOPIC_design,
                        "Rows were taken as sampled by label: within each label, a random sample of the target "
                        "population.");
    else
        pv__methods_say(m, PV__TOPIC_design, "Rows were taken as a random sample of the target population.");
    if (c->label_error)
        pv__methods_say(m, PV__TOPIC_design,
                        "Recorded labels were taken as misclassified with a sensitivity of %.4g and a specificity of "
                        "%.4g for %s, independently of the predictors given the true label (non-differential errors); "
                        "estimates and risks are of the true label.",
                        c->label_error->correct[1], c->label_error->correct[0], label_of(m, 1).text);
    if (recorded(m, "clusters"))
        pv__methods_say(m, PV__TOPIC_design, "Rows of one cluster were not taken as independent.");
    if (recorded(m, "survey_strata"))
        pv__methods_say(m, PV__TOPIC_design, "Variances take account of the strata that units were drawn in.");
}

/* As the authors wrote it, with its centre where that is an interval. */
static void say_stated(pv__methods *m, double centre) {
    const char *given = m->fit ? m->fit->prevalence : NULL;
    bool interval = given && strchr(given, '-') && m->c->schema->classes == 2 && !strpbrk(given, ",e=");
    if (interval)
        pv__methods_say(m, PV__TOPIC_prevalence, "stated as the interval %s (%.3g at its centre)", given, centre);
    else
        pv__methods_say(m, PV__TOPIC_prevalence, "stated as %.6g", centre);
}

static void say_prevalence(pv__methods *m) {
    const pv_classifier *c = m->c;
    const pv__topic topic = PV__TOPIC_prevalence;
    int y = c->schema->classes - 1;
    if (pv_classifier_is_relative(c)) {
        pv__methods_say(m, topic, "No prevalence was stated; the model estimates odds ratios, not risks.");
        return;
    }
    if (!c->prevalence) {
        pv__methods_say(m, topic, "No prevalence was stated.");
        return;
    }
    if (c->estimated) {
        pv__methods_say(m, topic, "The prevalence was unknown; the model estimated it as %.3g (%s).", c->prevalence[y],
                        label_of(m, y).text);
        return;
    }
    pv__methods_say(m, topic, "The prevalence of %s in the target population was ", label_of(m, y).text);
    if (m->fit && m->fit->phase_one)
        pv__methods_say(m, topic, "counted in the cohort: %.4g", c->prevalence[y]);
    else if (m->fit && m->fit->subcohort > 0)
        pv__methods_say(m, topic, "derived from the subcohort: %.4g", c->prevalence[y]);
    else if (c->stratified)
        pv__methods_say(m, topic, "stated for each stratum, with the strata's proportions: %.4g in all",
                        c->prevalence[y]);
    else
        say_stated(m, c->prevalence[y]);
    if (c->stratified)
        pv__methods_say(m, topic, ".");
    else if (isinf(c->prevalence_n))
        pv__methods_say(m, topic, " and taken as known exactly.");
    else
        pv__methods_say(m, topic, ", as well as precise as from %s observations; intervals include this uncertainty.",
                        pv_group_digits(round(c->prevalence_n)).text);
}

void pv__methods_fit(pv__methods *m) {
    say_sample(m);
    say_missing(m);
    say_design(m);
    say_prevalence(m);
}

/* ---- the software ------------------------------------------------------------------------------------------------ */

static const char *const citations[] = {
    "The prevail authors. prevail: calibrated classifiers from outcome-sampled data, version " PV_VERSION ".",
    "Le Folgoc L, Baltatzis V, Alansary A, et al. Bayesian analysis of the prevalence bias: learning and predicting "
    "from imbalanced data. 2021."};

static void say_software(pv__methods *m) {
    pv__methods_say(m, PV__TOPIC_software, "Analyses used prevail %s", m->version ? m->version : PV_VERSION);
    if (m->version && strcmp(m->version, PV_VERSION) != 0)
        pv__methods_say(m, PV__TOPIC_software, " (the fit) and %s", PV_VERSION);
    if (m->c)
        pv__methods_say(m, PV__TOPIC_software, ", seed %lld", (long long)m->c->seed);
    pv__methods_say(m, PV__TOPIC_software, ", which implements the method of Le Folgoc et al. (2021).");
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static pv_result *result_of(const pv__methods *m, char *whole, size_t size) {
    static const char *const names[] = {
#define NAME(name) #name,
        PV__TOPIC_LIST(NAME)
#undef NAME
    };
    pv_result *parts = pv__value_object(), *list = pv__value_list();
    size_t used = 0;
    for (int i = 0; i < PV__TOPICS; i++) {
        const char *text = m->text[i];
        pv__value_set(parts, names[i], pv__value_text(*text ? text : NULL));
        if (*text && used < size)
            used += (size_t)pv__format(whole + used, size - used, "%s%s", used ? " " : "", text);
    }
    for (size_t i = 0; i < sizeof citations / sizeof *citations; i++)
        pv__value_append(list, pv__value_text(citations[i]));
    return pv__value_pack("tvvv", "text", whole, "parts", parts, "citation", list, "tripod", pv__tripod(m));
}

pv_methods_options pv_methods_options_default(void) {
    return (pv_methods_options){.level = 0.95, .judged_level = 0.95};
}

pv_status pv_methods(pv_ctx *ctx, const pv_classifier *classifier, const pv_methods_options *options,
                     pv_result **methods) {
    const pv_methods_options usual = pv_methods_options_default();
    pv__methods m = {.ctx = ctx, .c = classifier, .options = options ? options : &usual};
    pv_fit_options *fit = NULL;
    pv_result *record = NULL;
    char *whole = NULL;
    const size_t size = (size_t)PV__TOPICS * PV__TOPIC_SIZE;
    *methods = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, PV__TOPICS, sizeof *m.text, &m.text));
    PV_GOTO(done, pv__alloc(ctx, size, 1, &whole));
    if (classifier && classifier->record) {
        PV_GOTO(done, pv__json_parse(ctx, classifier->record, strlen(classifier->record), &record));
        PV_GOTO(done, pv_classifier_options(ctx, classifier, &fit));
    }
    m.fit = fit;
    m.sample = pv_result_get(record, "sample");
    m.version = pv_result_text(pv_result_get(record, "version"));
    if (classifier) {
        pv__methods_fit(&m);
        pv__methods_model(&m);
    }
    if (m.options->judgement)
        pv__methods_evaluation(&m);
    say_software(&m);
    *methods = result_of(&m, whole, size);
    if (!pv__value_whole(*methods)) {
        pv_result_free(*methods);
        *methods = NULL;
        status = pv__fail(ctx, PV_ERR_MEMORY, "out of memory for the methods paragraph");
    }
done:
    pv_result_free(record);
    pv_fit_options_free(ctx, fit);
    pv__free(ctx, whole);
    pv__free(ctx, m.text);
    return status;
}
