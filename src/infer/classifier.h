/* src/infer/classifier.h: copies of a classifier's parts. A failed copy is freed with the whole. */
#ifndef PV_SRC_CLASSIFIER_H
#define PV_SRC_CLASSIFIER_H

#include "base/base.h"
#include "prevail/infer.h"

pv_status pv__copy_encoding(pv_ctx *ctx, const pv_encoding *from, pv_encoding **to);

#endif
