/* TRIPOD+AI (Collins et al., BMJ 2024; 385: e078378): which of its items follow from a fit and an evaluation, and what
 * is left for the authors of a manuscript. Topics are in our own words; the checklist itself is the reference. */
#include <string.h>

#include "base/value.h"
#include "validate/methods.h"

/* An item: up to three topics of the paragraph that answer it (-1: none), and what only the authors know (NULL:
 * nothing). */
typedef struct item {
    const char *number, *topic;
    int answer[3];
    const char *authors;
} item;

#define T(name) PV__TOPIC_##name
static const item items[] = {
    {"1", "Title", {-1, -1, -1}, "the target population, the outcome, and whether a model is developed or evaluated"},
    {"2", "Abstract", {-1, -1, -1}, "see the checklist for abstracts"},
    {"3a", "Healthcare context and rationale", {-1, -1, -1}, "all"},
    {"3b", "Target population and intended use", {-1, -1, -1}, "all"},
    {"3c", "Known health inequalities", {-1, -1, -1}, "all"},
    {"4", "Objectives", {-1, -1, -1}, "all"},
    {"5a", "Sources of data", {T(design), T(prevalence), -1}, "where the rows and the prevalence come from"},
    {"5b", "Dates", {-1, -1, -1}, "start and end of accrual, end of follow-up"},
    {"6a", "Setting", {-1, -1, -1}, "number, kind and location of centres"},
    {"6b", "Eligibility", {-1, -1, -1}, "all"},
    {"6c", "Treatments", {-1, -1, -1}, "all"},
    {"7", "Data preparation", {T(predictors), -1, -1}, "what was done before the table was read"},
    {"8a", "Outcome", {-1, -1, -1}, "definition, time horizon, and how and when it was assessed"},
    {"8b", "Assessors of the outcome", {-1, -1, -1}, "if the outcome needs judgement"},
    {"8c", "Blinding of the outcome", {-1, -1, -1}, "all"},
    {"9a", "Choice of predictors", {-1, -1, -1}, "how candidates were selected before the fit"},
    {"9b", "Predictors", {T(predictors), -1, -1}, "definition, and how and when each was measured"},
    {"9c", "Assessors of predictors", {-1, -1, -1}, "if a predictor needs judgement"},
    {"10", "Sample size", {T(sample), -1, -1}, "how it was arrived at"},
    {"11", "Missing data", {T(missing), -1, -1}, "why cells are missing"},
    {"12a", "How data were used", {T(sample), T(evaluation), -1}, NULL},
    {"12b", "How predictors were handled", {T(predictors), -1, -1}, "why these functional forms"},
    {"12c", "Type of model and how it was built", {T(model), T(estimation), T(adequacy)}, "why this model"},
    {"12d", "Heterogeneity between clusters", {-1, -1, -1}, "all, if there are several centres"},
    {"12e", "Measures of performance", {T(evaluation), -1, -1}, NULL},
    {"12f", "Model updating", {-1, -1, -1}, "recalibration beyond the change of prevalence, if any"},
    {"12g", "How predictions were made for the evaluation", {T(evaluation), -1, -1}, NULL},
    {"13", "Class imbalance", {T(design), T(prevalence), T(estimation)}, NULL},
    {"14", "Fairness", {-1, -1, -1}, "all"},
    {"15", "Output of the model", {-1, -1, -1}, "how a probability becomes an action: thresholds or costs"},
    {"16", "Differences between development and evaluation data", {T(evaluation), -1, -1}, "setting and eligibility"},
    {"17", "Ethical approval", {-1, -1, -1}, "all"},
    {"18a", "Funding", {-1, -1, -1}, "all"},
    {"18b", "Conflicts of interest", {-1, -1, -1}, "all"},
    {"18c", "Protocol", {-1, -1, -1}, "all"},
    {"18d", "Registration", {-1, -1, -1}, "all"},
    {"18e", "Data sharing", {-1, -1, -1}, "all"},
    {"18f", "Code sharing", {T(software), -1, -1}, "where the analysis code is"},
    {"19", "Patient and public involvement", {-1, -1, -1}, "all"},
    {"20a", "Flow of participants", {T(sample), T(missing), -1}, "from those eligible to the rows of the table"},
    {"20b", "Characteristics of participants", {-1, -1, -1}, "all"},
    {"20c", "Comparison with the development data", {-1, -1, -1}, "distribution of predictors and outcome in both"},
    {"21", "Participants and events in each analysis", {T(sample), T(evaluation), -1}, NULL},
    {"22", "Full model", {T(model), -1, -1}, "the coefficients (prevail summary), or where the model file is"},
    {"23a", "Performance with intervals", {T(performance), -1, -1}, "key subgroups"},
    {"23b", "Heterogeneity of performance", {-1, -1, -1}, "all, if it was examined"},
    {"24", "Results of model updating", {-1, -1, -1}, "all, if the model was updated"},
    {"25", "Interpretation", {-1, -1, -1}, "all"},
    {"26", "Limitations", {-1, -1, -1}, "all"},
    {"27a", "Use with poor or missing input", {-1, -1, -1}, "all"},
    {"27b", "What users must know to use the model", {-1, -1, -1}, "all"},
    {"27c", "Next steps", {-1, -1, -1}, "all"}};
#undef T

/* The topics that this fit has, joined; NULL: none. */
static pv_result *answer_of(const pv__methods *m, const item *of) {
    char text[3 * PV__TOPIC_SIZE];
    size_t used = 0;
    for (int i = 0; i < 3; i++)
        if (of->answer[i] >= 0 && *m->text[of->answer[i]] && used + 1 < sizeof text)
            used +=
                (size_t)pv__format(text + used, sizeof text - used, "%s%s", used ? " " : "", m->text[of->answer[i]]);
    return pv__value_text(used ? text : NULL);
}

pv_result *pv__tripod(const pv__methods *m) {
    pv_result *list = pv__value_list();
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        pv_result *text = answer_of(m, &items[i]);
        bool open = pv__value_is(text, PV_RESULT_NULL);
        const char *authors = items[i].authors ? items[i].authors : open ? "all" : NULL;
        pv__value_append(list, pv__value_pack("ttvv", "item", items[i].number, "topic", items[i].topic, "text", text,
                                              "authors", pv__value_text(authors)));
    }
    return list;
}
