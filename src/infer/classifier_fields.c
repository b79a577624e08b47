/* Accessor functions of a classifier, for callers that must not depend on its layout. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "prevail/infer.h"

int pv_classifier_classes(const pv_classifier *classifier) {
    return classifier->schema->classes;
}

const char *pv_classifier_label(const pv_classifier *classifier, int index) {
    return index >= 0 && index < classifier->schema->classes ? classifier->schema->labels[index] : NULL;
}

int pv_classifier_features(const pv_classifier *classifier) {
    return classifier->schema->features - classifier->schema->offset;
}

const char *pv_classifier_feature(const pv_classifier *classifier, int index) {
    const pv_schema *schema = classifier->schema;
    bool known = schema->feature && index >= 0 && index < pv_classifier_features(classifier);
    return known ? schema->feature[index + schema->offset] : NULL;
}

const char *pv_classifier_offset(const pv_classifier *classifier) {
    return classifier->schema->offset ? classifier->schema->source[0].name : NULL;
}

size_t pv_classifier_columns(const pv_classifier *classifier) {
    return pv_schema_columns(classifier->schema);
}

const char *pv_classifier_column(const pv_classifier *classifier, size_t index, pv_column_type *type) {
    return pv_schema_column(classifier->schema, index, type);
}

const char *pv_classifier_reference(const pv_classifier *classifier, size_t index, const char **column) {
    const pv_schema *schema = classifier->schema;
    for (size_t s = 0; s < schema->sources; s++)
        if (schema->source[s].type == PV_COLUMN_TEXT && index-- == 0) {
            if (column)
                *column = schema->source[s].name;
            return schema->source[s].level[0];
        }
    return NULL;
}

/* Whether a column is a feature, by itself or in a term. */
static bool is_feature(const pv_schema *schema, const char *name) {
    bool found = false;
    for (size_t s = 0; s < schema->sources && !found; s++)
        found = strcmp(schema->source[s].name, name) == 0;
    for (size_t t = 0; t < schema->terms && !found; t++)
        for (int i = 0; i < 2 && !found; i++)
            found = schema->term[t].column[i] && strcmp(schema->term[t].column[i], name) == 0;
    return found;
}

const char *pv_classifier_stratum_column(const pv_classifier *classifier, size_t index, bool *feature) {
    const pv_schema *schema = classifier->schema;
    if (!schema->strata || index >= schema->strata->columns)
        return NULL;
    const char *name = schema->strata->column[index].name;
    if (feature)
        *feature = is_feature(schema, name);
    return name;
}

const char *pv_classifier_candidate(const pv_classifier *classifier, size_t index, double *weight, double *gain,
                                    double *se) {
    const pv_stacked *of = classifier->stacked;
    if (!of || index > of->count)
        return NULL;
    const pv_candidate mixture = {.name = "the mixture", .weight = 1, .gain = of->gain, .se = of->se},
                       own = index < of->count ? of->candidate[index] : mixture;
    if (weight)
        *weight = own.weight;
    if (gain)
        *gain = own.gain;
    if (se)
        *se = own.se;
    return own.name;
}

const pv_schema *pv_classifier_schema(const pv_classifier *classifier) {
    return classifier->schema;
}

char *const *pv_classifier_labels(const pv_classifier *classifier) {
    return classifier->schema->labels;
}

const pv_model *pv_classifier_model(const pv_classifier *classifier) {
    return classifier->model;
}

const double *pv_classifier_draws(const pv_classifier *classifier, size_t *count) {
    const pv_posterior *posterior = classifier->posterior;
    *count = posterior ? posterior->count : 0;
    return posterior ? posterior->draws : NULL;
}

const double *pv_classifier_prevalence(const pv_classifier *classifier) {
    return classifier->prevalence;
}

const double *pv_classifier_design(const pv_classifier *classifier) {
    return classifier->design;
}

bool pv_classifier_is_relative(const pv_classifier *classifier) {
    return pv_loss_is_relative(classifier->loss) && !classifier->prevalence;
}

const char *pv_classifier_text(const pv_classifier *classifier, pv_classifier_fact fact) {
    switch (fact) {
    case PV_CLASSIFIER_OUTCOME:
        return classifier->schema->target;
    case PV_CLASSIFIER_WEIGHTS:
        return classifier->schema->weights;
    case PV_CLASSIFIER_SOURCE:
        return classifier->source;
    case PV_CLASSIFIER_RECORD:
        return classifier->record;
    case PV_CLASSIFIER_LOSS:
        return pv_loss_name(classifier->loss);
    case PV_CLASSIFIER_MARGINAL:
        return pv_marginal_name(classifier->marginal);
    case PV_CLASSIFIER_MODEL:
        return pv_model_spec(classifier->model);
    case PV_CLASSIFIER_STOP:
        return pv_stop_name(classifier->stop);
    case PV_CLASSIFIER_POSTERIOR:
        return classifier->posterior ? pv_posterior_kind_name(classifier->posterior->kind) : NULL;
    case PV_CLASSIFIER_ROWS:
    case PV_CLASSIFIER_DROPPED:
    case PV_CLASSIFIER_ITERATIONS:
    case PV_CLASSIFIER_SEED:
    case PV_CLASSIFIER_LOSS_VALUE:
    case PV_CLASSIFIER_PREVALENCE_N:
    case PV_CLASSIFIER_SECONDS:
        break;
    }
    return NULL;
}

double pv_classifier_number(const pv_classifier *classifier, pv_classifier_fact fact) {
    switch (fact) {
    case PV_CLASSIFIER_ROWS:
        return (double)classifier->rows;
    case PV_CLASSIFIER_DROPPED:
        return (double)classifier->dropped;
    case PV_CLASSIFIER_ITERATIONS:
        return (double)classifier->iterations;
    case PV_CLASSIFIER_SEED:
        return (double)classifier->seed;
    case PV_CLASSIFIER_LOSS_VALUE:
        return classifier->loss_value;
    case PV_CLASSIFIER_PREVALENCE_N:
        return classifier->prevalence_n;
    case PV_CLASSIFIER_SECONDS:
        return classifier->seconds;
    case PV_CLASSIFIER_OUTCOME:
    case PV_CLASSIFIER_WEIGHTS:
    case PV_CLASSIFIER_SOURCE:
    case PV_CLASSIFIER_RECORD:
    case PV_CLASSIFIER_LOSS:
    case PV_CLASSIFIER_MARGINAL:
    case PV_CLASSIFIER_MODEL:
    case PV_CLASSIFIER_STOP:
    case PV_CLASSIFIER_POSTERIOR:
        break;
    }
    return (double)NAN;
}
