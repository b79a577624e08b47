/* The engine of reports, and of pages that only score: what predicts and evaluates by models that exist. */
#include "tool/command.h"

extern const cli_command cli_predict, cli_eval, cli_adjust, cli_summary;

static const cli_command *const commands[] = {&cli_predict, &cli_eval, &cli_adjust, &cli_summary, &cli_version, NULL};

const cli_program cli_program_here = {.name = "prevail",
                                      .summary = "calibrated classifiers, in JavaScript",
                                      .text = "Reads tables and models, predicts and evaluates.",
                                      .start = "prevail predict",
                                      .commands = commands};

int main(int argc, char **argv) {
    return cli_main(argc, argv);
}
