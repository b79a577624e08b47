/* lab/common/grid.h: many fits to the same images, as the studies of nodules and of ratings have them: network,
 * batches, method, prevalence and fold. A cell is one fit with its held-out predictions, kept in a file of its own as
 * soon as it is done, so that the same command continues where it stopped.
 */
#ifndef PREVAIL_LAB_COMMON_GRID_H
#define PREVAIL_LAB_COMMON_GRID_H

#include "prevail/prevail.h"
#include "lab/common/study.h"
#include "tool/command.h"
#include "tool/data.h"
#include "tool/json.h"
#include "tool/training.h"

/* The paper's two, and for grades the same with an ordinal output in the place of softmax. */
enum {
    GRID_CONVNET,
    GRID_INCEPTION,
    GRID_NOMINAL,
    GRID_CONVNET_ORDINAL = GRID_NOMINAL,
    GRID_INCEPTION_ORDINAL,
    GRID_NETWORKS
};
enum { GRID_BALANCED, GRID_UNIFORM, GRID_DESIGNS };
/* Up to plain they are fitted; the truth is that of simulated data. */
enum { GRID_CONSTANT, GRID_LINEAR, GRID_PROFILE, GRID_IW, GRID_PLAIN, GRID_TRUTH, GRID_METHODS };
enum { GRID_PREVALENCES_MAX = 12, GRID_FOLDS_MAX = 20, GRID_CLASSES_MAX = 8, GRID_DEVICE = 200 };

extern const char *const grid_network[GRID_NETWORKS];    /* "convnet": words of --networks */
extern const char *const grid_design[GRID_DESIGNS];      /* "balanced": of --batches */
extern const char *const grid_method[GRID_METHODS];      /* "ig-constant": of --methods */
extern const char *const grid_method_text[GRID_METHODS]; /* "ig, auxiliary:constant" */

typedef struct grid_options {
    study_options shared;
    const char *prevalences, *prevalence_n;
    const char *networks, *methods, *batches, *sizes, *fold; /* which part of the grid */
    int64_t folds;
    const char *data, *target;
    int64_t cases, controls; /* of simulated data */
    bool quick;
    cli_roles roles;
    pv_fit_options fit;
} grid_options;

extern const pv_option grid_option_table[]; /* of both studies, in grid_options */
extern const char *const grid_without[];    /* options of fit that the grid sets itself, or that are for tables */
#define GRID_TEXT_CELLS                                                                                                \
    "With -o each fit is kept as soon as it is done, and the same command continues where it stopped; a thread "       \
    "fits a cell of its own, so --threads bounds the memory.\n"
#define GRID_GROUPS                                                                                                    \
    {"Grid and data", grid_option_table, 0}, {"Images", pv_image_option_table, offsetof(grid_options, roles.image)},   \
        {"Training", pv_fit_option_table, offsetof(grid_options, fit)}, STUDY_GROUP

typedef struct grid_cell {
    int network, design, method;
    size_t prevalence; /* index; plain and the truth: 0, since one serves all */
    size_t fold;
    int done;                              /* 1: all below is there */
    bool written;                          /* in its file */
    double *loglik;                        /* [rows of the fold][classes], the model's own output */
    double log_marginal[GRID_CLASSES_MAX]; /* p(y|w) of it; plain: the label shares of training */
    pv_stop stop;
    double seconds;
    char device[GRID_DEVICE]; /* what fitted it: "NVIDIA H200, CUDA 13.0, cuDNN 9.14.0, bf16"; empty: the processor */
    size_t epochs;            /* of the trace; 0: none */
    double *used, *exact;     /* [epochs][classes]: the auxiliary network's q, and p(y|w) of all training rows; with
                                 room for grid_epochs */
} grid_cell;

/* Indices that were asked for, in the order of the words. */
typedef struct grid_list {
    size_t count, index[GRID_FOLDS_MAX];
} grid_list;

typedef struct grid {
    cli_call *call;
    const grid_options *options;
    const char *study; /* "nodules" */
    cli_training training;
    cli_roles roles;
    const char *path;    /* of the data; NULL: simulated */
    pv_archive *archive; /* simulated images */
    grid_list networks, designs, methods, fold;
    size_t folds; /* in all */
    size_t prevalences;
    char prevalence_name[GRID_PREVALENCES_MAX][32];                 /* as given */
    double prevalence[GRID_PREVALENCES_MAX][GRID_CLASSES_MAX];      /* stated */
    char model[GRID_NETWORKS][256];                                 /* the networks' specs */
    pv_dataset *learned[GRID_FOLDS_MAX], *held_out[GRID_FOLDS_MAX]; /* of each fold */
    grid_cell *cell;
    size_t cells;
} grid;

/* What distinguishes the two studies. */
typedef struct grid_kind {
    const char *study;
    bool grades; /* votes are grades; else there are two labels, made of votes at grade 3 */
} grid_kind;

/* What is left to the study: prevalences, and with --quick sizes and epochs. */
void grid_defaults(const cli_call *call, grid_options *options, const char *prevalences);
/* Reads options and data and lists the cells. The caller ends with grid_clear, whatever is returned. */
int grid_begin(cli_call *call, const grid_options *options, const grid_kind *kind, grid *g);
/* Takes the cells that the folder has and fits the others. */
int grid_run(grid *g);
void grid_clear(grid *g);

const grid_cell *grid_at(const grid *g, int network, int design, int method, size_t prevalence, size_t fold);
size_t grid_rows(const grid *g, size_t fold);   /* held out */
void grid_shares(const grid *g, double *share); /* [classes], of the labels of all rows */
/* Held-out log probabilities in the population of a prevalence, [rows][classes], and their marginal [classes]: the
 * model's own, but for plain, which is corrected from the training rows' label shares, and the truth, from its own. */
void grid_predictions(const grid *g, const grid_cell *cell, size_t prevalence, double *loglik, double *log_marginal);

/* Whether its training is traced: the first fold of the auxiliary networks. A trace costs a pass over the rows each
 * epoch. */
bool grid_traced(const grid_cell *cell);
size_t grid_epochs(const grid *g, const grid_cell *cell); /* of its trace, at most; 0: it has none */

/* A line that says what fitted the cells, and how many where it was not one; nothing where it was the processor. */
void grid_print_devices(FILE *out, const grid *g);
/* How the cells of one network and design came out: "2 of 12 fits diverged", or nothing. */
void grid_print_trouble(FILE *out, const grid *g, int network, int design);
json_t *grid_json(const grid *g); /* data and settings */

/* ---- grid_simulated.c: nodules whose truth is known -------------------------------------------------------------- */

/* The population that the simulated nodules are drawn from by label. */
#define GRID_SIMULATED_PREVALENCE 0.01

/* Makes the archive and the table, and sets roles that are not given. */
int grid_simulate(grid *g, bool grades);
/* What the simulation knows of the rows held out, as if it were a model's output. */
int grid_truth(grid *g, bool grades, grid_cell *cell);

/* ---- grid_marginal.c: q through training against the exact marginal ---------------------------------------------- */

/* Largest and mean deviation |q/p - 1| of any label over the epochs, and the last epoch's. */
typedef struct grid_deviation {
    double most, mean, last;
} grid_deviation;
grid_deviation grid_deviation_of(const grid *g, const grid_cell *cell); /* NaN without a trace */
void grid_print_marginals(FILE *out, const grid *g, int network, int design, bool markdown);
int grid_draw_marginals(const grid *g, int network, int design);

/* ---- grid_cells.c: files ----------------------------------------------------------------------------------------- */

/* Options of the cell's fit. stated has room for the prevalence as text. */
enum { GRID_STATED = 40 * GRID_CLASSES_MAX };
pv_fit_options grid_fit_options(const grid *g, const grid_cell *cell, char stated[GRID_STATED]);
/* Reads the cell's file where there is one; done says whether. A file of other settings or data is refused. */
int grid_cell_read(const grid *g, grid_cell *cell);
PV_MUST_USE pv_status grid_cell_write(pv_ctx *ctx, const grid *g, const grid_cell *cell);

#endif
