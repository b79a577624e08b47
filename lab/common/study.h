/* lab/common/study.h: what the studies share: options, the run, files, jobs, numbers. */
#ifndef PREVAIL_LAB_COMMON_STUDY_H
#define PREVAIL_LAB_COMMON_STUDY_H

#include "prevail/prevail.h"
#include "tool/checkpoint.h"
#include "tool/command.h"
#include "tool/json.h"

/* What every study has: the first member of its own options. */
typedef struct study_options {
    int64_t seed;
    const char *output;
    cli_checkpoint checkpoint;
    cli_running running;
    pv_report *report; /* of the folder, while the study runs; NULL: none */
} study_options;

/* The engine vi, where a study has it. */
typedef struct study_vi {
    int64_t components, samples, steps;
} study_vi;

extern const pv_option study_option_table[]; /* of study_options */
extern const pv_option study_vi_table[];     /* of study_vi */
extern const cli_argument study_no_arguments[];
/* The last paragraphs of a study's text and output. */
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
    const char *name;            /* as in its results and its checkpoint: "coverage --sbc" */
    const char *title;           /* "coverage" */
    const char *about;           /* below the title of its report */
    int (*work)(cli_call *call); /* returns an exit code */
    bool has_cells;              /* keeps its fits in the folder */
} study_plan;

/* Takes the folder, opens checkpoint and report, works. Returns an exit code. */
int study_run(cli_call *call, const study_plan *plan);

/* ---- files in the output folder; tables (.md) go to the report as well ------------------------------------------- */

typedef void (*study_writer)(FILE *out, const void *what);
int study_write(cli_call *call, const char *folder, const char *name, study_writer write, const void *what);
char *study_printed(study_writer write, const void *what); /* the same bytes, as text; the caller frees */
/* The same for a JSON object, which stays the caller's. */
int study_write_json(cli_call *call, const char *folder, const char *name, json_t *object);

/* ---- jobs.c: long work that can be continued --------------------------------------------------------------------- */

/* Opens --checkpoint and compares what the work is: version, study, options. cli_checkpoint_end ends it. */
int study_checkpoint_start(cli_call *call, const char *study);
/* The same of what --data has; images: NULL where it is a table. */
int study_checkpoint_data(cli_call *call, const pv_table *table, const pv_images *images);

/* pv_jobs_run_kept. A signal stops the jobs that run, and the study fails: half a study replaces nothing, and CLI_OK
 * means that all are done. Returns an exit code after printing why. */
int study_parallel(cli_call *call, const char *what, size_t jobs, pv_job job, pv_job_outcome outcome,
                   pv_job_sound sound, void *state);
/* For sound: whether each of n numbers lies between low and high, or, where that may be, is undefined (NaN). Beyond
 * STUDY_LARGEST no study's numbers come, but where they are infinite. */
#define STUDY_LARGEST 1e12
bool study_within(const double *value, size_t n, double low, double high, bool undefined);
/* pv_fit, with a place of its own among the fits of a job. */
PV_MUST_USE pv_status study_fit(pv_ctx *ctx, size_t index, const pv_schema *schema, const pv_dataset *data,
                                const pv_fit_options *options, pv_classifier **fit);
bool study_fit_failed(pv_status status); /* on these data, which a study counts; anything else ends it */

/* Refuses a folder that has what another study wrote, or in which one is at work; *lock is for study_folder_leave,
 * whatever is returned. has_cells: the study keeps its fits there. */
int study_folder_take(cli_call *call, const char *folder, const char *study, bool has_cells, int *lock);
void study_folder_leave(int lock);

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Mean and standard deviation (n - 1) of values[0], values[stride], ...; NaN are left out. Returns how many count. */
size_t study_mean(const double *values, size_t n, size_t stride, double *mean, double *sd);

#endif
