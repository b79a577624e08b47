/* studies/studies.h: prevail study, and the studies. */
#ifndef PREVAIL_STUDIES_STUDIES_H
#define PREVAIL_STUDIES_STUDIES_H

#include "tool/command.h"

extern const cli_command study_contingency, study_coverage, study_calibration, study_bias, study_nodules, study_ratings,
    study_robust, study_unknown, study_designs;
extern const cli_command *const studies[]; /* up to a NULL */
extern const cli_command cli_study;

#endif
