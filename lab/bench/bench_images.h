/* lab/bench/bench_images.h: the image part of prevail-lab bench. */
#ifndef PREVAIL_LAB_BENCH_IMAGES_H
#define PREVAIL_LAB_BENCH_IMAGES_H

#include "tool/command.h"
#include "tool/json.h"

/* Sets the figures of a training step of the paper's ConvNet in out. */
pv_status bench_images(cli_call *call, int64_t repeats, json_t *out);

#endif
