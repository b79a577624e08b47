/* lab/common/grid.h: many fits to the same images, for the studies of nodules and ratings: all combinations of network,
 * batches, method, prevalence and fold. A cell is one fit with its held-out predictions. It is written to a file of its
 * own as soon as it is done, so that the same command continues an interrupted study.
 */
#ifndef PREVAIL_LAB_COMMON_GRID_H
#define PREVAIL_LAB_COMMON_GRID_H

#include "prevail/prevail.h"
#include "lab/common/study.h"
#include "tool/command.h"
#include "tool/data.h"
#include "tool/json.h"
#include "tool/training.h"

/* The paper's two networks, and for grades the same with an ordinal output instead of softmax. */
enum {
    GRID_CONVNET,
    GRID_INCEPTION,
    GRID_NOMINAL,
    GRID_CONVNET_ORDINAL = GRID_NOMINAL,
    GRID_INCEPTION_ORDINAL,
    GRID_NETWORKS
};
enum { GRID_BALANCED, GRID_UNIFORM, GRID_DESIGNS };
/* Methods up to plain are fitted; the truth exists for simulated data only. */
enum { GRID_CONSTANT, GRID_LINEAR, GRID_PROFILE, GRID_IW, GRID_PLAIN, GRID_TRUTH, GRID_METHODS };
enum { GRID_PREVALENCES_MAX = 12, GRID_FOLDS_MAX = 20, GRID_CLASSES_MAX = 8, GRID_DEVICE = 200 };

extern const char *const grid_network[GRID_NETWORKS];    /* words of --networks, such as "convnet" */
extern const char *const grid_design[GRID_DESIGNS];      /* words of --batches, such as "balanced" */
extern const char *const grid_method[GRID_METHODS];      /* words of --methods, such as "ig-constant" */
extern const char *const grid_method_text[GRID_METHODS]; /* descriptions, such as "ig, auxiliary:constant" */

typedef struct grid_options {
    study_options shared;
    const char *prevalences, *prevalence_n;
    const char *networks, *methods, *batches, *sizes, *fold; /* the part of the grid to run */
    int64_t folds;
    const char *data, *target;
    int64_t cases, controls; /* of simulated data */
    bool quick;
    cli_roles roles;
    pv_fit_options fit;
} grid_options;

extern const pv_option grid_option_table[]; /* of both studies, with offsets in grid_options */
extern const char *const grid_without[];    /* options of fit that the grid sets itself, or that apply to tables only */
#define GRID_TEXT_CELLS                                                                                                \
    "With -o each fit is kept as soon as it is done, and the same command continues where it stopped; a thread "       \
    "fits a cell of its own, so --threads bounds the memory.\n"
#define GRID_GROUPS                                                                                                    \
    {"Grid and data", grid_option_table, 0}, {"Images", pv_image_option_table, offsetof(grid_options, roles.image)},   \
        {"Training", pv_fit_option_table, offsetof(grid_options, fit)}, STUDY_GROUP

typedef struct grid_cell {
    int network, design, method;
    size_t prevalence; /* index; 0 for plain and the truth, which do not depend on it */
    size_t fold;
    int done;                              /* 1: all fields below are filled */
    bool written;                          /* has been written to its file */
    double *loglik;                        /* [rows of the fold][classes], the model's output without conversion */
    double log_marginal[GRID_CLASSES_MAX]; /* p(y|w) of that output; plain: label proportions of training */
    pv_stop stop;
    double seconds;
    char device[GRID_DEVICE]; /* the device that fitted it: "NVIDIA H200, CUDA 13.0, cuDNN 9.14.0, bf16"; empty: the
                                 processor */
    size_t epochs;            /* number of epochs in the trace; 0: no trace */
    double *used, *exact;     /* [epochs][classes]: the auxiliary network's q, and p(y|w) of all training rows; with
                                 capacity for grid_epochs */
} grid_cell;

/* Indices of the requested words, in the order of the word list. */
typedef struct grid_list {
    size_t count, index[GRID_FOLDS_MAX];
} grid_list;

typedef struct grid {
    cli_call *call;
    const grid_options *options;
    const char *study; /* "nodules" */
    cli_training training;
    cli_roles roles;
    const char *path;    /* path of the data; NULL: simulated */
    pv_archive *archive; /* simulated images */
    grid_list networks, designs, methods, fold;
    size_t folds; /* total number of folds */
    size_t prevalences;
    char prevalence_name[GRID_PREVALENCES_MAX][32];                 /* as given */
    double prevalence[GRID_PREVALENCES_MAX][GRID_CLASSES_MAX];      /* numbers used for the fits */
    char model[GRID_NETWORKS][256];                                 /* the networks' specs */
    pv_dataset *learned[GRID_FOLDS_MAX], *held_out[GRID_FOLDS_MAX]; /* per fold */
    grid_cell *cell;
    size_t cells;
} grid;

/* The differences between the two studies. */
typedef struct grid_kind {
    const char *study;
    bool grades; /* votes are grades; otherwise there are two labels, derived from votes with middle grade 3 */
} grid_kind;

/* Fills in the study's own defaults: prevalences, and with --quick sizes and epochs. */
void grid_defaults(const cli_call *call, grid_options *options, const char *prevalences);
/* Reads options and data, and lists the cells. The caller ends with grid_clear, also on failure. */
int grid_begin(cli_call *call, const grid_options *options, const grid_kind *kind, grid *g);
/* Reads the cells that the folder has, and fits the others. */
int grid_run(grid *g);
void grid_clear(grid *g);

const grid_cell *grid_at(const grid *g, int network, int design, int method, size_t prevalence, size_t fold);
size_t grid_rows(const grid *g, size_t fold);   /* number of held-out rows */
void grid_shares(const grid *g, double *share); /* [classes], label proportions of all rows */
/* Held-out log probabilities in the population with a given prevalence, [rows][classes], and their marginal [classes]:
 * those of the model, except that plain is corrected from the training rows' label proportions, and the truth from its
 * own. */
void grid_predictions(const grid *g, const grid_cell *cell, size_t prevalence, double *loglik, double *log_marginal);

/* Whether the training is traced: only for auxiliary networks in the first fold, since a trace costs a pass over the
 * rows per epoch. */
bool grid_traced(const grid_cell *cell);
size_t grid_epochs(const grid *g, const grid_cell *cell); /* maximum number of epochs in its trace; 0: no trace */

/* Prints the devices that fitted the cells, with counts if there were several; nothing if it was the processor. */
void grid_print_devices(FILE *out, const grid *g);
/* Prints failures of the cells of one network and design, such as "2 of 12 fits diverged", or nothing. */
void grid_print_trouble(FILE *out, const grid *g, int network, int design);
pv_result *grid_json(const grid *g); /* data and settings */

/* ---- grid_simulated.c: nodules with known truth ------------------------------------------------------------------ */

/* The prevalence in the population from which simulated nodules are drawn by label. */
#define GRID_SIMULATED_PREVALENCE 0.01

/* Creates the archive and the table, and sets roles that are not given. */
int grid_simulate(grid *g, bool grades);
/* The true probabilities of the held-out rows, in the form of a model's output. */
int grid_truth(grid *g, bool grades, grid_cell *cell);

/* ---- grid_marginal.c: q during training compared with the exact marginal ----------------------------------------- */

/* Largest and mean deviation |q/p - 1| of any label over the epochs, and that of the last epoch. */
typedef struct grid_deviation {
    double most, mean, last;
} grid_deviation;
grid_deviation grid_deviation_of(const grid *g, const grid_cell *cell); /* NaN without a trace */
void grid_print_marginals(FILE *out, const grid *g, int network, int design, bool markdown);
int grid_draw_marginals(const grid *g, int network, int design);

/* ---- grid_cells.c: files ----------------------------------------------------------------------------------------- */

/* Options of the cell's fit. stated: buffer for the prevalence as text. */
enum { GRID_STATED = 40 * GRID_CLASSES_MAX };
pv_fit_options grid_fit_options(const grid *g, const grid_cell *cell, char stated[GRID_STATED]);
/* Reads the cell's file if there is one, and sets `done`. A file with other settings or data is an error. */
int grid_cell_read(const grid *g, grid_cell *cell);
PV_MUST_USE pv_status grid_cell_write(pv_ctx *ctx, const grid *g, const grid_cell *cell);

#endif
