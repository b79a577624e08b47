/* src/validate/methods.h: the sentences of a methods paragraph, and the items of TRIPOD+AI. */
#ifndef PV_SRC_METHODS_H
#define PV_SRC_METHODS_H

#include "base/base.h"
#include "prevail/methods.h"

/* The topics of the paragraph, in its order. */
#define PV__TOPIC_LIST(X)                                                                                              \
    X(sample)                                                                                                          \
    X(missing)                                                                                                         \
    X(design)                                                                                                          \
    X(prevalence)                                                                                                      \
    X(model)                                                                                                           \
    X(predictors)                                                                                                      \
    X(estimation)                                                                                                      \
    X(intervals)                                                                                                       \
    X(adequacy)                                                                                                        \
    X(evaluation)                                                                                                      \
    X(performance)                                                                                                     \
    X(software)
typedef enum pv__topic {
#define PV__TOPIC_ENUM(name) PV__TOPIC_##name,
    PV__TOPIC_LIST(PV__TOPIC_ENUM)
#undef PV__TOPIC_ENUM
        PV__TOPICS
} pv__topic;

enum { PV__TOPIC_SIZE = 4000 };

typedef struct pv__methods {
    pv_ctx *ctx;
    const pv_classifier *c; /* NULL: none */
    const pv_methods_options *options;
    const pv_fit_options *fit; /* of the classifier's record; NULL: none */
    const pv_result *sample;   /* what the record has of the rows; NULL: it is an older one */
    const char *version;       /* that fitted it */
    char (*text)[PV__TOPIC_SIZE];
} pv__methods;

/* Appends to a topic. */
void pv__methods_say(pv__methods *m, pv__topic topic, const char *format, ...) PV_PRINTF(3, 4);
/* A label as sentences name it: "cancer", or "malignant = 1" where it is a number. */
typedef struct pv__label_name {
    char text[160];
} pv__label_name;
pv__label_name pv__methods_label(const char *outcome, const char *label);

void pv__methods_fit(pv__methods *m);        /* sample to design, prevalence */
void pv__methods_model(pv__methods *m);      /* (methods_model.c) model to adequacy */
void pv__methods_evaluation(pv__methods *m); /* (methods_evaluation.c) */
/* (tripod.c) The list of items. */
pv_result *pv__tripod(const pv__methods *m);

#endif
