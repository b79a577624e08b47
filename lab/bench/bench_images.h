/* lab/bench/bench_images.h: the image part of prevail-lab bench. */
#ifndef PREVAIL_LAB_BENCH_IMAGES_H
#define PREVAIL_LAB_BENCH_IMAGES_H

#include "tool/command.h"
#include "tool/json.h"

/* Adds the results for a training step of the paper's ConvNet to out. */
pv_status bench_images(cli_call *call, int64_t repeats, pv_result *out);

#endif
