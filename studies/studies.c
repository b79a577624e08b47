/* prevail study: the paper's studies and our own, as numbers and pictures. Each is a command of its own. */
#include "studies/studies.h"
#include "tool/command.h"

const cli_command *const studies[] = {
    &study_contingency, &study_coverage, &study_calibration, &study_bias,    &study_nodules,
    &study_ratings,     &study_robust,   &study_unknown,     &study_designs, NULL};

static const cli_argument arguments[] = {{"NAME", "One of the studies below; it comes before the options."},
                                         {NULL, NULL}};
static const cli_group groups[] = {{NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail study contingency -o out", "The paper's numbers beside the exact ones, and its figures."},
    {"prevail study coverage --help", "The options of one study, and its output."},
    {NULL, NULL}};

const cli_command cli_study = {
    .name = "study",
    .summary = "the paper's studies, and how often intervals hold the truth",
    .usage = "NAME [options] [-o DIR] [--json]",
    .text = "Each study has options of its own: prevail study NAME --help.",
    .arguments = arguments,
    .groups = groups,
    .output = "Numbers as text, with --json one object. Each study with -o writes its results into a folder, and "
              "report.html, its tables and pictures in one page, with the numbers of each picture as CSV.",
    .examples = examples,
    .members = studies,
    .member = "study"};
