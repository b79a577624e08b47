/* src/data/ct.h: simulated CT nodules: their features (ct_nodules.c) and their images (ct_render.c). */
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

/* What the scans of a patient have in common. */
typedef struct pv__ct_scanner {
    double lung;     /* HU of the lung parenchyma */
    double noise;    /* standard deviation, HU */
    double blur[3];  /* standard deviation of the point spread function along z, y, x, mm */
    double grain[3]; /* width of the kernel that correlates the noise, mm */
    double contrast; /* HU of vessels */
} pv__ct_scanner;

/* Number of floats that pv__ct_render needs as work space. */
size_t pv__ct_work(size_t size);
/* Renders hu [size][size][size] at 1 mm with the nodule in the middle. All random numbers come from rng. */
void pv__ct_render(const pv__ct_nodule *nodule, const pv__ct_scanner *scanner, pv_rng rng, size_t size, float *work,
                   int16_t *hu);

#endif
