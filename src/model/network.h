/* src/model/network.h: networks over views of an image: convnet and inception. */
#ifndef PV_SRC_NETWORK_H
#define PV_SRC_NETWORK_H

#include "compute/graph.h"
#include "model/model.h"

typedef enum pv__view_pool { PV_POOL_MAX, PV_POOL_MIN, PV_POOL_MEAN } pv__view_pool;

/* The part of a model that networks have. Parameters: the graph's, then the output layer [features][classes], then its
 * biases [classes]; with an ordinal output [features] and [classes - 1]. */
typedef struct pv__network {
    pv__graph graph; /* of one view: to [features][1][1] */
    size_t views, size, features;
    pv__view_pool pool;
} pv__network;

/* Reads name, or name with ":key=value,..."; fills model->network and params. mine: whether spec is of that name. */
pv_status pv__network_parse(pv_ctx *ctx, pv_model *model, const char *spec, const char *name, bool *mine);
pv_status pv__network_views(pv_ctx *ctx, const char *spec, const char *name, bool *mine, int64_t *views, int64_t *size);

/* Values of all tensors of one row's views, with channels in sixteens as engines may keep them. */
double pv__network_row_floats(const pv__network *network);

/* Views that are worked on at a time, of whole rows. */
size_t pv__network_part_views(const pv__network *network);

/* Views of a training step of so many rows, as the streams of dropout count them: those that fill the last part
 * included, the same for every engine. */
size_t pv__network_step_views(const pv__network *network, size_t rows);

/* What a network's work holds besides. */
typedef struct pv__network_work {
    pv_ctx *ctx;
    const pv__engine_kind *kind;
    pv__engine *engine;
    int threads;
    size_t part_rows, parts;
    size_t step_views;            /* of a step, those that fill the last part included: the same for every engine */
    size_t first_view;            /* of them, where the work's rows begin */
    bool shared;                  /* others have the rest, and an interruption does not end the work on a batch */
    double *padded;               /* [part_rows][inputs], the last part where it is not full */
    double *features, *dfeatures; /* [parts part_rows][views][features] */
    double *pooled;               /* [rows][features] */
    double *logits;               /* [rows][classes], also their gradient; ordinal: [rows] */
    double *room;                 /* scratch of an ordinal output */
    uint16_t *chosen;             /* [rows][features]: the view a maximum or minimum came from */
    double *doutput;              /* [parts][what comes after the graph's parameters] */
    bool training, freeze_low;
    uint64_t seed, step;
} pv__network_work;

/* A work with another engine than the usual one (tests compare them). */
pv_status pv__network_work_new(pv_ctx *ctx, const pv_model *model, size_t rows, const pv__engine_kind *kind,
                               pv_model_work **work);

#endif
