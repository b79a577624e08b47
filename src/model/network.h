/* src/model/network.h: networks over views of an image: convnet and inception. */
#ifndef PV_SRC_NETWORK_H
#define PV_SRC_NETWORK_H

#include "compute/graph.h"
#include "model/model.h"

typedef enum pv__view_pool { PV_POOL_MAX, PV_POOL_MIN, PV_POOL_MEAN } pv__view_pool;

/* The part of a model that only networks have. Parameters: those of the graph, then the output layer
 * [features][classes] and its biases [classes]; with an ordinal output [features] and [classes - 1]. */
typedef struct pv__network {
    pv__graph graph; /* for one view, with output [features][1][1] */
    size_t views, size, features;
    pv__view_pool pool;
} pv__network;

/* Parses name, or name with ":key=value,..."; fills model->network and params. *mine: whether spec has that name. */
pv_status pv__network_parse(pv_ctx *ctx, pv_model *model, const char *spec, const char *name, bool *mine);
pv_status pv__network_views(pv_ctx *ctx, const char *spec, const char *name, bool *mine, int64_t *views, int64_t *size);

/* Number of values in all tensors for one row's views, with channels padded to multiples of sixteen as engines may
 * do. */
double pv__network_row_floats(const pv__network *network);

/* The number of views processed together, which are those of whole rows. */
size_t pv__network_part_views(const pv__network *network);

/* The number of views in a training step of this many rows, as counted by the random streams of dropout. It includes
 * the padding of the last part and is the same for every engine. */
size_t pv__network_step_views(const pv__network *network, size_t rows);

/* Additional state of a network's work. */
typedef struct pv__network_work {
    pv_ctx *ctx;
    const pv__engine_kind *kind;
    pv__engine *engine;
    int threads;
    size_t part_rows, parts;
    size_t step_views;            /* views of a training step, including padding: the same for every engine */
    size_t first_view;            /* index among these of the work's first view */
    bool shared;                  /* other processes have the rest of the batch, so an interruption does not end it */
    double *padded;               /* [part_rows][inputs], padded copy of an incomplete last part */
    double *features, *dfeatures; /* [parts part_rows][views][features] */
    double *pooled;               /* [rows][features] */
    double *logits;               /* [rows][classes], later their gradient; ordinal: [rows] */
    double *room;                 /* scratch of an ordinal output */
    uint16_t *chosen;             /* [rows][features]: the view that had the maximum or minimum */
    double *doutput;              /* [parts][parameters after those of the graph] */
    bool training, freeze_low;
    uint64_t seed, step;
} pv__network_work;

/* A work with an engine other than the default (for tests). */
pv_status pv__network_work_new(pv_ctx *ctx, const pv_model *model, size_t rows, const pv__engine_kind *kind,
                               pv_model_work **work);

#endif
