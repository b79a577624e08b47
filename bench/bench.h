/* bench/bench.h: prevail bench. */
#ifndef PREVAIL_BENCH_BENCH_H
#define PREVAIL_BENCH_BENCH_H

#include "tool/command.h"

extern const cli_command cli_bench;

#endif
