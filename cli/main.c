/* prevail: the list of its commands. */
#include "cli/commands.h"

static const cli_command *const commands[] = {
#define ENTRY(name) &cli_##name,
    CLI_COMMAND_LIST(ENTRY)
#undef ENTRY
        & cli_version,
    NULL};

const cli_program cli_program_here = {
    .name = "prevail",
    .summary = "calibrated classifiers from data sampled by label",
    .text =
        "Fits classifiers to data that were sampled by label (case-control studies, balanced training sets) and "
        "predicts calibrated probabilities in the target population, or in another one with a different prevalence.",
    .start = "prevail demo",
    .commands = commands};

int main(int argc, char **argv) {
    return cli_main(argc, argv);
}
