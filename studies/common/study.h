/* studies/common/study.h: what the studies share: options, output files, a logistic posterior as a density, its exact
 * integral. */
#ifndef PREVAIL_STUDIES_COMMON_STUDY_H
#define PREVAIL_STUDIES_COMMON_STUDY_H

#include "prevail/prevail.h"
#include "tool/checkpoint.h"
#include "tool/command.h"
#include "tool/data.h"
#include "tool/json.h"

typedef struct study_options {
    double prevalence;        /* given, or the study's own */
    const char *prevalence_n; /* NULL: the study's own default */
    int64_t draws, seed;
    const char *table; /* contingency */
    bool hmc;          /* contingency */
    int64_t cases, controls;
    int64_t replicates;                      /* 0: the study's own default */
    const char *prevalences, *data, *target; /* calibration */
    int64_t population_rows, splits;
    const char *infer;
    int64_t components, samples, steps; /* vi */
    int64_t chains, warmup;             /* hmc */
    bool sbc;
    const char *networks, *methods, *batches, *sizes, *fold; /* nodules, ratings: which part of the grid */
    int64_t folds;
    bool quick;
    cli_roles roles;    /* of their data */
    pv_fit_options fit; /* training, as fit has it */
    cli_checkpoint checkpoint;
    const char *output;
    pv_report *report; /* of the folder, while the study runs; NULL: none */
    cli_running running;
} study_options;

int study_contingency(cli_call *call, const study_options *options);
int study_coverage(cli_call *call, const study_options *options);
int study_ranks(cli_call *call, const study_options *options); /* coverage --sbc */
int study_calibration(cli_call *call, const study_options *options);
int study_bias(cli_call *call, const study_options *options);
int study_nodules(cli_call *call, const study_options *options);
int study_ratings(cli_call *call, const study_options *options);

/* ---- study.c: files in the output folder; tables (.md) go to the report as well ---------------------------------- */

typedef void (*study_writer)(FILE *out, const void *what);
int study_write(cli_call *call, const char *folder, const char *name, study_writer write, const void *what);
char *study_printed(study_writer write, const void *what); /* the same bytes, as text; the caller frees */
/* The same for a JSON object, which stays the caller's. */
int study_write_json(cli_call *call, const char *folder, const char *name, json_t *object);

/* ---- tables.c: tables as text and as Markdown -------------------------------------------------------------------- */

enum { STUDY_CELL = 24, STUDY_COLUMNS = 20 };

/* Widths are those of text. */
typedef struct study_layout {
    bool markdown;
    int first, second, cell;
} study_layout;

/* "0.77 (1)": the error in units of the last digit; "-" where there is no mean, no bracket where there is no error. */
void study_value_text(double mean, double error, int digits, char *text, size_t size);
void study_table_head(FILE *out, const study_layout *layout, const char *first, const char *second, int n,
                      const char *const *titles);
void study_table_row(FILE *out, const study_layout *layout, const char *first, const char *second, int n,
                     char cell[][STUDY_CELL]);
void study_csv_number(FILE *out, double value); /* a comma, then the number, nothing where it is NaN */

/* ---- canvas.c: figures, panel by panel --------------------------------------------------------------------------- */

enum { STUDY_SERIES = 24, STUDY_TEXT = 160 };

/* All zero: empty. Names and labels are borrowed up to study_figure; numbers are copied. */
typedef struct study_canvas {
    pv_panel *panel;
    size_t panels;
    pv_series series[STUDY_SERIES]; /* of the panel being made */
    size_t n_series;
    void **block; /* what is kept */
    size_t blocks;
} study_canvas;

const char *study_text(study_canvas *canvas, const char *format, ...) PV_PRINTF(2, 3); /* kept as long */
void study_series(study_canvas *canvas, const pv_series *series);                      /* of stride 1 */
void study_line(study_canvas *canvas, pv_ink ink, const char *name, bool dashed, size_t n, const double *x,
                const double *y);
void study_segment(study_canvas *canvas, pv_ink ink, const char *name, bool dashed, double x0, double y0, double x1,
                   double y1);
void study_points(study_canvas *canvas, pv_ink ink, const char *name, size_t n, const double *x, const double *y,
                  double size);
/* Ends the panel with the series since the last one. */
void study_panel(study_canvas *canvas, const pv_panel *panel);
/* Into the report and the folder, and empties the canvas. */
int study_figure(cli_call *call, study_canvas *canvas, const char *name, const char *title, const char *text,
                 size_t columns);

/* ---- jobs.c: long work that can be continued --------------------------------------------------------------------- */

/* Opens --checkpoint and compares what the work is: version, study, options. cli_checkpoint_end ends it. */
int study_checkpoint_start(cli_call *call, const char *study);
/* The same of what --data has; images: NULL where it is a table. */
int study_checkpoint_data(cli_call *call, const pv_table *table, const pv_images *images);

/* pv_jobs_run_kept. A signal stops the jobs that run, and the study fails: half a study replaces nothing, and CLI_OK
 * means that all are done. Returns an exit code after printing why. */
int study_parallel(cli_call *call, const char *what, size_t jobs, pv_job job, pv_job_outcome outcome, void *state);
/* pv_fit, with a place of its own among the fits of a job. */
PV_MUST_USE pv_status study_fit(pv_ctx *ctx, size_t index, const pv_fit_input *input, const pv_fit_options *options,
                                pv_classifier **fit);
bool study_fit_failed(pv_status status); /* on these data, which a study counts; anything else ends it */

/* Refuses a folder that has what another study wrote, or in which one is at work; *lock is for study_folder_leave,
 * whatever is returned. has_cells: the study keeps its fits there. */
int study_folder_take(cli_call *call, const char *folder, const char *study, bool has_cells, int *lock);
void study_folder_leave(int lock);

/* ---- study.c: numbers -------------------------------------------------------------------------------------------- */

/* Mean and standard deviation (n - 1) of values[0], values[stride], ...; NaN are left out. Returns how many count. */
size_t study_mean(const double *values, size_t n, size_t stride, double *mean, double *sd);

/* ---- density.c: a logistic model with normal priors, as a density for the engines -------------------------------- */

/* p(Y=1|x,w) = sigmoid(x . w), w ~ N(0, prior_sd^2) each; the loss and the prior are normalised as in pv_full_loss.
 * All arrays are borrowed and must outlive the density. */
typedef struct study_problem {
    size_t dims;
    const double *x; /* [targets.n][dims] */
    pv_targets targets;
    pv_loss loss;
    pv_marginal marginal;
    pv_prevalence population;
    double prior_sd;
} study_problem;

PV_MUST_USE pv_status study_density_new(pv_ctx *ctx, const study_problem *problem, pv_density *density);
void study_density_free(pv_ctx *ctx, pv_density *density);
/* The value; the gradient is not made. marginal, where not NULL: p(Y=1|w), for plain and iw the plug-in's. */
PV_MUST_USE pv_status study_density_value(pv_ctx *ctx, const pv_density *density, const double *w, double *value,
                                          double *marginal);
/* Moves w [dims] to the maximum by damped Newton steps. */
PV_MUST_USE pv_status study_density_mode(pv_ctx *ctx, const pv_density *density, double *w);

/* ---- numbers of a posterior over (eta0, eta1) -------------------------------------------------------------------- */

enum { STUDY_QUANTILES = 5 };
extern const double study_quantile[STUDY_QUANTILES];
enum { STUDY_LOR, STUDY_ETA0, STUDY_ETA1, STUDY_MEASURES }; /* log odds ratio eta1 - eta0 */

typedef struct study_numbers {
    double mean[STUDY_MEASURES], sd[STUDY_MEASURES];
    double quantile[STUDY_QUANTILES]; /* of the log odds ratio */
    double marginal;                  /* posterior mean of p(Y=1|w) */
} study_numbers;

/* Exact by quadrature. */
enum { STUDY_POINTS = 301 };
typedef struct study_exact {
    study_numbers numbers;
    double log_evidence;
    double lor[STUDY_POINTS], density[STUDY_POINTS]; /* of the log odds ratio */
} study_exact;

/* ---- quadrature.c ------------------------------------------------------------------------------------------------ */

/* dims = 2. */
PV_MUST_USE pv_status study_integrate(pv_ctx *ctx, const pv_density *density, study_exact *exact);
/* From the mixture itself (marginal left 0): no Monte-Carlo error. dims = 2. */
void study_mixture_numbers(const pv_mixture *mixture, study_numbers *numbers);
double study_mixture_lor_density(const pv_mixture *mixture, double lor);

/* ---- contingency: one posterior, as contingency.c makes them and contingency_pictures.c draws them --------------- */

/* The log odds ratio by sampling; mcse: the Monte-Carlo standard error of its mean. */
typedef struct study_sampled {
    double mean, sd, mcse, ess, rhat;
} study_sampled;

typedef struct study_posterior {
    char name[40];       /* "ig_npr_10" */
    const char *loss;    /* "ig" */
    double prevalence_n; /* NaN: no such thing (plain, iw) */
    study_numbers vi;
    double elbo, elbo_se;
    pv_stop stop;
    pv_mixture mixture;
    size_t count;
    double *draws; /* [count][2] */
    study_exact exact;
    study_sampled hmc; /* with --hmc */
} study_posterior;

typedef struct study_table {
    double count[2][2]; /* [x][y] */
    double prevalence[2];
    double lor, lor_sd; /* frequentist; not finite where a cell is empty */
    size_t draws;       /* to show */
    size_t posteriors;
    study_posterior *posterior;
} study_table;

int study_contingency_pictures(cli_call *call, const study_table *table);

#endif
