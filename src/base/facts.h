/* src/base/facts.h: facts as bits, and rules that reject inconsistent combinations. Each operation has one ordered list
 * of rules (plan/rules.c, predict/prediction_rules.c).
 */
#ifndef PV_SRC_FACTS_H
#define PV_SRC_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t pv__fact_set;

/* A rule is broken if all facts of the first set hold and none of the second. */
typedef struct pv__rule {
    pv__fact_set all, none;
    const char *option, *text; /* the message; with an option (not NULL), the option and its value precede the text */
} pv__rule;

static inline pv__fact_set pv__fact_if(bool so, unsigned fact) {
    return so ? UINT64_C(1) << fact : 0;
}

/* The first rule that the facts break; NULL if there is none. */
static inline const pv__rule *pv__rule_broken(size_t n, const pv__rule *rules, pv__fact_set facts) {
    for (size_t i = 0; i < n; i++)
        if ((facts & rules[i].all) == rules[i].all && !(facts & rules[i].none))
            return &rules[i];
    return NULL;
}

#endif
