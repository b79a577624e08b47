/* lab/common/study.h: shared by the studies: options, running, files, jobs, numbers. */
#ifndef PREVAIL_LAB_COMMON_STUDY_H
#define PREVAIL_LAB_COMMON_STUDY_H

#include "prevail/prevail.h"
#include "tool/checkpoint.h"
#include "tool/command.h"
#include "tool/json.h"

/* Options of every study: the first member of its own options. */
typedef struct study_options {
    int64_t seed;
    const char *output;
    cli_checkpoint checkpoint;
    cli_running running;
    pv_report *report; /* of the output folder, while the study runs; NULL: none */
} study_options;

/* Options of the engine vi, for studies that use it. */
typedef struct study_vi {
    int64_t components, samples, steps;
} study_vi;

extern const pv_option study_option_table[]; /* of study_options */
extern const pv_option study_vi_table[];     /* of study_vi */
extern const cli_argument study_no_arguments[];
/* The last paragraphs of the description and output of every study. */
#define STUDY_TEXT_RUNNING                                                                                             \
    "With --checkpoint the study can be interrupted and continued, data set by data set and within a fit. Without "    \
    "it, an interruption leaves the results of -o as they were.\n"                                                     \
    "Results do not depend on the number of threads."
#define STUDY_TEXT_FILES                                                                                               \
    "-o also writes report.html, its tables and pictures in one page, and the numbers of each picture as CSV."
#define STUDY_GROUP                                                                                                    \
    { "Files and running", study_option_table, 0 }
#define STUDY_OPTION_PREVALENCE(type, fallback)                                                                        \
    {                                                                                                                  \
        "prevalence", PV_OPTION_REAL, offsetof(type, prevalence), fallback, 1e-6, 1 - 1e-6, NULL, "P",                 \
            "Share of Y=1 in the true population."                                                                     \
    }
#define STUDY_OPTION_REPLICATES(type, fallback, help)                                                                  \
    { "replicates", PV_OPTION_INT, offsetof(type, replicates), fallback, 2, 1e7, NULL, NULL, help }

/* One run of a study. */
typedef struct study_plan {
    const char *name;            /* as in its results and checkpoint: "coverage --sbc" */
    const char *title;           /* "coverage" */
    const char *about;           /* shown below the title of its report */
    int (*work)(cli_call *call); /* returns an exit code */
    bool has_cells;              /* stores its fits in the folder */
} study_plan;

/* Prepares the folder, opens checkpoint and report, and runs the study. Returns an exit code. */
int study_run(cli_call *call, const study_plan *plan);

/* ---- files in the output folder; tables (.md) are also added to the report --------------------------------------- */

typedef void (*study_writer)(FILE *out, const void *what);
int study_write(cli_call *call, const char *folder, const char *name, study_writer write, const void *what);
char *study_printed(study_writer write, const void *what); /* the same text in memory; the caller frees */
/* The same for a JSON object, which the caller still owns. */
int study_write_json(cli_call *call, const char *folder, const char *name, const pv_result *object);
/* The JSON in a file; NULL if there is none. The caller frees. */
pv_result *study_read_json(cli_call *call, const char *path);

/* ---- jobs.c: long work that can be continued --------------------------------------------------------------------- */

/* Opens --checkpoint and compares the facts of the work: version, study, options. End with cli_checkpoint_end. */
int study_checkpoint_start(cli_call *call, const char *study);
/* Compares the contents of --data; images: NULL for a table. */
int study_checkpoint_data(cli_call *call, const pv_table *table, const pv_images *images);

/* pv_jobs_run_kept. A signal stops running jobs and the study fails, because an incomplete study must not replace
 * results: CLI_OK means that all jobs are done. Prints errors and returns an exit code. */
int study_parallel(cli_call *call, const char *what, size_t jobs, pv_job job, pv_job_outcome outcome,
                   pv_job_sound sound, void *state);
/* For `sound`: whether each of n numbers is between low and high or, if allowed, undefined (NaN). Finite results of
 * studies never exceed STUDY_LARGEST. */
#define STUDY_LARGEST 1e12
bool study_within(const double *value, size_t n, double low, double high, bool undefined);
/* pv_fit, with a checkpoint scope of its own among the fits of a job. */
PV_MUST_USE pv_status study_fit(pv_ctx *ctx, size_t index, const pv_schema *schema, const pv_dataset *data,
                                const pv_fit_options *options, pv_classifier **fit);
bool study_fit_failed(
    pv_status status); /* the fit failed because of its data, which a study counts; any other error ends the study */

/* Rejects a folder that contains results of another study or is in use. Pass *lock to study_folder_leave, also on
 * failure. has_cells: the study stores its fits there. */
int study_folder_take(cli_call *call, const char *folder, const char *study, bool has_cells, int *lock);
void study_folder_leave(int lock);

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Mean and standard deviation (n - 1) of values[0], values[stride], ... without NaN. Returns how many count. */
size_t study_mean(const double *values, size_t n, size_t stride, double *mean, double *sd);

#endif
