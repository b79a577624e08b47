/* prevail-lab: the studies and the benchmarks. It is not installed. */
#include "lab/lab.h"
#include "tool/command.h"

const cli_command *const lab_commands[] = {
#define ENTRY(name) &lab_##name,
    LAB_COMMAND_LIST(ENTRY)
#undef ENTRY
        & cli_version,
    NULL};

const cli_program cli_program_here = {
    .name = "prevail-lab",
    .summary = "studies and benchmarks of prevail",
    .text = "Repeats the paper's studies and those of the documentation, as numbers and pictures, and measures the "
            "speed of "
            "this machine. A study with -o writes its results into a folder, and report.html, its tables and pictures "
            "in one page, with the numbers of each picture as CSV.",
    .start = "prevail-lab contingency -o out",
    .commands = lab_commands};

int main(int argc, char **argv) {
    return cli_main(argc, argv);
}
