/* src/data/ct.h: simulated CT nodules: what is drawn (ct_nodules.c) and how it looks (ct_render.c). */
#ifndef PV_SRC_CT_H
#define PV_SRC_CT_H

#include "data/data.h"

enum { PV_CT_SIZE_MAX = 256 };

typedef enum pv__ct_density { PV_CT_SOLID, PV_CT_PART_SOLID, PV_CT_GROUND_GLASS, PV_CT_DENSITIES } pv__ct_density;

typedef struct pv__ct_nodule {
    double diameter; /* mm */
    pv__ct_density density;
    double margin, spiculation, lobulation; /* 0 to 1; margin 1: sharp */
} pv__ct_nodule;

/* What the scans of one patient have in common. */
typedef struct pv__ct_scanner {
    double lung;     /* HU of the patient's parenchyma */
    double noise;    /* standard deviation, HU */
    double blur[3];  /* standard deviation of the point spread function along z, y, x, mm */
    double grain[3]; /* of the kernel that correlates the noise, mm */
    double contrast; /* HU of vessels */
} pv__ct_scanner;

/* Floats that pv__ct_render needs to work in. */
size_t pv__ct_work(size_t size);
/* hu [size][size][size] at 1 mm, the nodule in the middle. Draws from rng alone. */
void pv__ct_render(const pv__ct_nodule *nodule, const pv__ct_scanner *scanner, pv_rng rng, size_t size, float *work,
                   int16_t *hu);

#endif
