/* The command as js/ runs it: what reads a table, learns, predicts and evaluates. */
#include "tool/command.h"

extern const cli_command cli_fit, cli_predict, cli_eval, cli_adjust, cli_summary;

static const cli_command *const commands[] = {&cli_fit,     &cli_predict, &cli_eval, &cli_adjust,
                                              &cli_summary, &cli_version, NULL};

const cli_program cli_program_here = {.name = "prevail",
                                      .summary = "calibrated classifiers, in JavaScript",
                                      .text = "Reads tables, learns, predicts and evaluates.",
                                      .start = "prevail fit",
                                      .commands = commands};

int main(int argc, char **argv) {
    return cli_main(argc, argv);
}
