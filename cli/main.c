/* prevail: its commands. */
#include "cli/commands.h"

static const cli_command *const commands[] = {
#define ENTRY(name) &cli_##name,
    CLI_COMMAND_LIST(ENTRY)
#undef ENTRY
        & cli_version,
    NULL};

const cli_program cli_program_here = {
    .name = "prevail",
    .summary = "calibrated classifiers from data whose classes were sampled by design",
    .text =
        "Learns classifiers from data whose classes were sampled by design (case-control studies, balanced training "
        "sets) and predicts calibrated probabilities in the true population, or in one of another prevalence.",
    .start = "prevail demo",
    .commands = commands};

int main(int argc, char **argv) {
    return cli_main(argc, argv);
}
