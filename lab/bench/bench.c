/* prevail-lab bench: how fast this machine does the main work. `make bench` compares it with other libraries. */
#include "lab/lab.h"
#include "lab/bench/bench_images.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"
#include "tool/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct bench_options {
    int64_t rows, columns, repeats;
    double tolerance;
    const char *csv;
    int work; /* WORK_ALL ... */
    cli_running running;
} bench_options;

enum { WORK_ALL, WORK_FIT, WORK_STEP, WORK_VI, WORK_UNKNOWN, WORK_ASSESS, WORK_IMAGES, WORK_TABLE };

static const pv_option option_table[] = {
    {"rows", PV_OPTION_INT, offsetof(bench_options, rows), "500000", 1000, 1e8, NULL, NULL,
     "Rows of the logistic fit, and of what is judged."},
    {"columns", PV_OPTION_INT, offsetof(bench_options, columns), "50", 1, 1e4, NULL, NULL, "Its columns."},
    {"repeats", PV_OPTION_INT, offsetof(bench_options, repeats), "5", 1, 1000, NULL, NULL,
     "Each figure is the best of this many runs."},
    {"tolerance", PV_OPTION_REAL, offsetof(bench_options, tolerance), "1e-6", 1e-14, 1, NULL, NULL,
     "Of the fits: largest gradient entry per row."},
    {"csv", PV_OPTION_TEXT, offsetof(bench_options, csv), NULL, 0, 0, NULL, "FILE",
     "Measure reading this file, alone."},
    {"work", PV_OPTION_CHOICE, offsetof(bench_options, work), "all", 0, 0,
     "all|fit|step|vi|unknown|assess|images|table", NULL,
     "What to measure: the logistic fit, the training step, variational inference, an unknown prevalence, metrics and "
     "curves of predictions, or all of these; table: fits with the rows in a GPU's memory, beside the processor's."},
    CLI_OPTION_THREADS(bench_options, running.threads),
    CLI_OPTION_JSON(bench_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_END};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- data, drawn identically by the scripts of the other libraries ----------------------------------------------- */

typedef struct bench_data {
    pv_dataset set;
    pv_schema *schema;
} bench_data;

static pv_status make_data(cli_call *call, bench_data *data, size_t rows, size_t columns) {
    static const char *const labels[] = {"0", "1"};
    *data = (bench_data){0};
    data->set = (pv_dataset){.rows = rows, .features = (int)columns, .classes = 2};
    data->set.x = cli_alloc(rows * columns, sizeof(double));
    data->set.label = cli_alloc(rows, sizeof(int32_t));
    double *w = cli_alloc(columns, sizeof *w);
    pv_rng weights = pv_rng_stream(1, PV_STREAM_BENCH_WEIGHTS, 0);
    for (size_t j = 0; j < columns; j++)
        w[j] = pv_rng_normal(&weights) / sqrt((double)columns);
#pragma omp parallel for num_threads(pv_threads_ready(pv_ctx_threads(call->ctx))) schedule(static)
    for (size_t i = 0; i < rows; i++) {
        pv_rng rng = pv_rng_stream(1, PV_STREAM_BENCH_ROWS, i);
        double z = 0, *x = data->set.x + i * columns;
        for (size_t j = 0; j < columns; j++) {
            x[j] = pv_rng_normal(&rng);
            z += w[j] * x[j];
        }
        data->set.label[i] = pv_rng_uniform(&rng) < pv_sigmoid(z);
    }
    free(w);
    return pv_schema_new(call->ctx, "y", labels, 2, NULL, (int)columns, &data->schema);
}

static void free_data(cli_call *call, bench_data *data) {
    pv_schema_free(call->ctx, data->schema);
    free(data->set.x);
    free(data->set.label);
}

/* ---- measurements ------------------------------------------------------------------------------------------------ */

/* Bytes copied per second by all threads. */
static double copy_rate(size_t bytes, int threads, int64_t repeats) {
    size_t n = bytes / sizeof(double);
    double *from = cli_alloc(n, sizeof *from), *to = cli_alloc(n, sizeof *to), best = HUGE_VAL;
    memset(to, 1, bytes); /* touch both before timing */
    memset(from, 2, bytes);
    for (int64_t r = 0; r < repeats; r++) {
        double start = now();
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
        for (size_t i = 0; i < n; i++)
            to[i] = from[i];
        best = fmin(best, now() - start);
    }
    double check = to[n / 2];
    free(from);
    free(to);
    return check > 0 ? (double)bytes / best : 0;
}

typedef struct timing {
    double seconds, passes;
    int64_t iterations;
    double pass; /* seconds per pass */
} timing;

static pv_status time_fit(cli_call *call, const bench_data *data, size_t rows, const pv_fit_options *options,
                          int64_t repeats, timing *best) {
    pv_dataset set = data->set;
    set.rows = rows;
    *best = (timing){.seconds = HUGE_VAL};
    for (int64_t r = 0; r < repeats; r++) {
        pv_classifier *fitted;
        pv_status status = pv_fit(call->ctx, data->schema, &set, options, &fitted);
        if (status != PV_OK)
            return status;
        if (cli_was_stopped(fitted, PV_STOP_INTERRUPTED)) {
            pv_classifier_free(call->ctx, fitted);
            return PV_ERR_INTERRUPTED;
        }
        if (fitted->seconds < best->seconds)
            *best =
                (timing){fitted->seconds, fitted->passes, fitted->iterations, fitted->pass_seconds / fitted->passes};
        pv_classifier_free(call->ctx, fitted);
    }
    return PV_OK;
}

static pv_status bench_fit(cli_call *call, const bench_options *o, pv_result *out) {
    size_t rows = (size_t)o->rows, columns = (size_t)o->columns;
    bench_data data;
    pv_status status = make_data(call, &data, rows, columns);
    double rate = copy_rate(rows * columns * sizeof(double), pv_ctx_threads(call->ctx), 2 * o->repeats);
    pv_fit_options fit = pv_fit_options_default();
    fit.prevalence = "0.01";
    fit.tolerance = o->tolerance;
    timing ig, plain, tenth;
    if (status == PV_OK)
        status = time_fit(call, &data, rows, &fit, o->repeats, &ig);
    if (status == PV_OK)
        status = time_fit(call, &data, rows / 10, &fit, 3 * o->repeats, &tenth);
    fit.loss = PV_LOSS_PLAIN;
    if (status == PV_OK)
        status = time_fit(call, &data, rows, &fit, o->repeats, &plain);
    free_data(call, &data);
    if (status != PV_OK)
        return status;
    double bytes = (double)rows * (double)columns * sizeof(double);
    pv__value_set(out, "fit_rows", pv__value_integer((int64_t)rows));
    pv__value_set(out, "fit_columns", pv__value_integer((int64_t)columns));
    pv__value_set(out, "fit_tolerance", pv__value_real(o->tolerance));
    pv__value_set(out, "fit_ig_seconds", pv__value_real(ig.seconds));
    pv__value_set(out, "fit_ig_passes", pv__value_real(ig.passes));
    pv__value_set(out, "fit_ig_bytes_per_second", pv__value_real(bytes * ig.passes / ig.seconds));
    pv__value_set(out, "fit_plain_seconds", pv__value_real(plain.seconds));
    pv__value_set(out, "fit_tenth_of_rows_seconds", pv__value_real(tenth.seconds));
    pv__value_set(out, "fit_tenth_of_rows_passes", pv__value_real(tenth.passes));
    pv__value_set(out, "copy_bytes_per_second", pv__value_real(rate));
    return PV_OK;
}

/* Fits with the rows in a GPU's memory, in single precision, and on the processor: whole fits, and one pass of each. */
static pv_status bench_table(cli_call *call, const bench_options *o, pv_result *out) {
    size_t rows = (size_t)o->rows, columns = (size_t)o->columns;
    static const char *const names[] = {"table_cpu_seconds", "table_cuda_seconds", "table_cuda_ig_seconds"};
    static const pv_device devices[] = {PV_DEVICE_CPU, PV_DEVICE_CUDA, PV_DEVICE_CUDA};
    bench_data data;
    timing whole[3];
    pv_status status = make_data(call, &data, rows, columns);
    pv_fit_options fit = pv_fit_options_default();
    fit.prevalence = "0.01";
    fit.tolerance = o->tolerance;
    for (int i = 0; i < 3 && status == PV_OK; i++) {
        fit.loss = i < 2 ? PV_LOSS_PLAIN : PV_LOSS_IG;
        status = pv_ctx_set_device(call->ctx, devices[i], PV_PRECISION_TF32);
        if (status == PV_OK)
            status = time_fit(call, &data, rows, &fit, o->repeats, &whole[i]);
        if (status == PV_OK)
            pv__value_set(out, names[i], pv__value_real(whole[i].seconds));
    }
    free_data(call, &data);
    if (status != PV_OK)
        return status;
    pv__value_set(out, "table_rows", pv__value_integer((int64_t)rows));
    pv__value_set(out, "table_columns", pv__value_integer((int64_t)columns));
    pv__value_set(out, "table_passes", pv__value_real(whole[1].passes));
    pv__value_set(out, "table_cpu_pass_seconds", pv__value_real(whole[0].pass));
    pv__value_set(out, "table_cuda_pass_seconds", pv__value_real(whole[1].pass));
    pv__value_set(out, "table_cuda_bytes_per_second",
                  pv__value_real((double)(rows * columns) * sizeof(float) / whole[1].pass));
    return PV_OK;
}

/* Training steps of an MLP, alternating between plain and ig so that a busy machine slows both. The difference between
 * a long and a short run is the time of the steps alone. */
static pv_status time_steps(cli_call *call, const bench_data *data, pv_fit_options *options, double *best) {
    timing shorter, longer;
    options->epochs = 1;
    pv_status status = time_fit(call, data, data->set.rows, options, 2, &shorter);
    options->epochs = 11;
    if (status == PV_OK)
        status = time_fit(call, data, data->set.rows, options, 1, &longer);
    if (status == PV_OK)
        *best = fmin(*best, (longer.seconds - shorter.seconds) / (double)(longer.iterations - shorter.iterations));
    return status;
}

static pv_status bench_step(cli_call *call, const bench_options *o, pv_result *out) {
    bench_data data;
    pv_status status = make_data(call, &data, 12800, 50);
    pv_fit_options plain = pv_fit_options_default();
    plain.prevalence = "0.01";
    plain.model = "mlp:64,64";
    plain.batch = "256";
    plain.loss = PV_LOSS_PLAIN;
    pv_fit_options ig = plain;
    ig.loss = PV_LOSS_IG;
    ig.marginal = PV_MARGINAL_AUXILIARY_CONSTANT;
    ig.prevalence_n = "rows";
    double best_plain = HUGE_VAL, best_ig = HUGE_VAL;
    for (int64_t r = 0; r < 3 * o->repeats && status == PV_OK; r++) {
        status = time_steps(call, &data, &plain, &best_plain);
        if (status == PV_OK)
            status = time_steps(call, &data, &ig, &best_ig);
    }
    free_data(call, &data);
    if (status != PV_OK)
        return status;
    pv__value_set(out, "step_plain_seconds", pv__value_real(best_plain));
    pv__value_set(out, "step_ig_seconds", pv__value_real(best_ig));
    return PV_OK;
}

/* The paper's calibration study: 302 rows, 8 parameters, 8 components with 8 samples each, 500 steps, Student-t prior
 * with 0.002 degrees of freedom, N_pr = 10. Whole fits: the maximum, the steps, the bound, 2000 draws. */
static pv_status bench_vi(cli_call *call, const bench_options *o, pv_result *out) {
    bench_data data;
    pv_status status = make_data(call, &data, 302, 7);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    options.prevalence_n = "10";
    options.prior = "student:0.002";
    options.infer = PV_INFER_VI;
    timing plugin = {.seconds = HUGE_VAL}, profile = plugin, one;
    for (int64_t r = 0; r < 5 * o->repeats && status == PV_OK; r++) {
        options.marginal = PV_MARGINAL_PLUGIN;
        status = time_fit(call, &data, data.set.rows, &options, 1, &one);
        plugin.seconds = fmin(plugin.seconds, one.seconds);
        options.marginal = PV_MARGINAL_PROFILE;
        if (status == PV_OK)
            status = time_fit(call, &data, data.set.rows, &options, 1, &one);
        profile.seconds = fmin(profile.seconds, one.seconds);
    }
    free_data(call, &data);
    if (status != PV_OK)
        return status;
    pv__value_set(out, "vi_plugin_seconds", pv__value_real(plugin.seconds));
    pv__value_set(out, "vi_profile_seconds", pv__value_real(profile.seconds));
    return PV_OK;
}

/* An unknown prevalence of a million rows of two-class probabilities, uniform as in the comparison: em and exact, from
 * log-likelihoods to the prevalence with its interval; and the probabilities of all rows. */
static pv_status bench_unknown(cli_call *call, const bench_options *o, pv_result *out) {
    enum { ROWS = 1000000 };
    static char zero[] = "0", one[] = "1";
    char *labels[] = {zero, one};
    double *loglik = cli_alloc(2 * ROWS, sizeof *loglik), *p = cli_alloc(2 * ROWS, sizeof *p);
    const double half[2] = {log(0.5), log(0.5)};
    pv_rng rng = pv_rng_stream(1, PV_STREAM_BENCH_PROBABILITIES, 0);
    for (size_t i = 0; i < ROWS; i++) {
        double u = pv_rng_uniform(&rng);
        loglik[2 * i] = log(u);
        loglik[2 * i + 1] = log1p(-u);
    }
    pv_unknown_sample sample = {.n = ROWS, .classes = 2, .loglik = loglik, .log_marginal = half};
    double seconds[2] = {HUGE_VAL, HUGE_VAL}, rows_seconds = HUGE_VAL;
    int64_t iterations = 1;
    pv_status status = PV_OK;
    for (int64_t r = 0; r < 3 * o->repeats && status == PV_OK; r++)
        for (int method = 0; method < 2 && status == PV_OK; method++) {
            pv_unknown_options options = pv_unknown_options_default();
            options.method = method ? PV_UNKNOWN_EM : PV_UNKNOWN_EXACT;
            pv_unknown_prevalence *found = NULL;
            double start = now();
            status = pv_unknown_infer(call->ctx, &sample, labels, &options, &found);
            double middle = now();
            seconds[method] = fmin(seconds[method], middle - start);
            if (status == PV_OK && method == 0) {
                status = pv_unknown_predict(call->ctx, &sample, found, p, NULL, NULL, NULL);
                rows_seconds = fmin(rows_seconds, now() - middle);
            } else if (status == PV_OK) {
                iterations = found->iterations;
            }
            pv_unknown_prevalence_free(call->ctx, found);
        }
    free(loglik);
    free(p);
    if (status != PV_OK)
        return status;
    pv__value_set(out, "unknown_rows", pv__value_integer(ROWS));
    pv__value_set(out, "unknown_em_seconds", pv__value_real(seconds[1]));
    pv__value_set(out, "unknown_em_iterations", pv__value_integer(iterations));
    pv__value_set(out, "unknown_em_iteration_seconds", pv__value_real(seconds[1] / (double)iterations));
    pv__value_set(out, "unknown_exact_seconds", pv__value_real(seconds[0]));
    pv__value_set(out, "unknown_probabilities_seconds", pv__value_real(rows_seconds));
    return PV_OK;
}

/* Correct predictions by construction: normal log odds, and labels drawn from them. */
static void make_predictions(size_t rows, int threads, double *log_p, int32_t *label) {
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
    for (size_t i = 0; i < rows; i++) {
        pv_rng rng = pv_rng_stream(1, PV_STREAM_BENCH_PREDICTIONS, i);
        double log_odds = 1.5 * pv_rng_normal(&rng) - 1;
        log_p[2 * i] = pv_log_sigmoid(-log_odds);
        log_p[2 * i + 1] = pv_log_sigmoid(log_odds);
        label[i] = pv_rng_uniform(&rng) < pv_sigmoid(log_odds);
    }
}

/* All metrics and all curves; bootstrap 0: no intervals for the metrics. */
static pv_status judge(cli_call *call, const pv_targets *targets, const double *log_p, int64_t bootstrap,
                       double *seconds) {
    const double log_marginal[] = {log(0.7), log(0.3)};
    pv_judged judged = {.log_p = log_p, .log_marginal = log_marginal};
    pv_assess_options options = pv_assess_options_default();
    pv_curve_options curves = pv_curve_options_default();
    pv_assessment found = {0};
    options.bootstrap = bootstrap;
    double start = now();
    pv_status status = pv_assess_intervals(call->ctx, targets, &judged, &options, &found);
    for (int kind = 0; status == PV_OK && kind < PV_CURVES; kind++) {
        pv_curve curve;
        status = pv_curve_make(call->ctx, found.ranking, (pv_curve_kind)kind, &curves, &curve);
        pv_curve_clear(call->ctx, &curve);
    }
    *seconds = fmin(*seconds, now() - start);
    pv_assessment_clear(call->ctx, &found);
    return status;
}

static pv_status bench_assess(cli_call *call, const bench_options *o, pv_result *out) {
    size_t rows = (size_t)o->rows;
    double *log_p = cli_alloc(2 * rows, sizeof *log_p), seconds = HUGE_VAL, with_intervals = HUGE_VAL;
    int32_t *label = cli_alloc(rows, sizeof *label);
    pv_targets targets = {.n = rows, .classes = 2, .label = label};
    struct rusage before, after;
    make_predictions(rows, pv_ctx_threads(call->ctx), log_p, label);
    getrusage(RUSAGE_SELF, &before);
    pv_status status = PV_OK;
    for (int64_t r = 0; status == PV_OK && r < o->repeats; r++)
        status = judge(call, &targets, log_p, 0, &seconds);
    getrusage(RUSAGE_SELF, &after);
    for (int64_t r = 0; status == PV_OK && r < o->repeats; r++)
        status = judge(call, &targets, log_p, -1, &with_intervals);
    free(log_p);
    free(label);
    pv__value_set(out, "assess_rows", pv__value_integer((int64_t)rows));
    pv__value_set(out, "assess_seconds", pv__value_real(seconds));
    pv__value_set(out, "assess_intervals_seconds", pv__value_real(with_intervals));
    pv__value_set(out, "assess_bytes_per_row",
                  pv__value_real(1024 * (double)(after.ru_maxrss - before.ru_maxrss) / (double)rows));
    return status;
}

static size_t table_bytes(const pv_table *table) {
    size_t bytes = 0;
    for (size_t j = 0; j < table->columns; j++)
        bytes += table->rows * (table->column[j].type == PV_COLUMN_NUMBER ? sizeof(double) : sizeof(int32_t));
    return bytes;
}

static pv_status bench_csv(cli_call *call, const bench_options *o, pv_result *out) {
    double best = HUGE_VAL;
    size_t bytes = 0;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    after = before;
    for (int64_t r = 0; r < o->repeats; r++) {
        pv_table *table;
        double start = now();
        pv_status status = pv_table_read(call->ctx, o->csv, NULL, &table);
        if (status != PV_OK)
            return status;
        best = fmin(best, now() - start);
        bytes = table_bytes(table);
        if (r == 0)
            getrusage(RUSAGE_SELF, &after);
        pv_table_free(call->ctx, table);
    }
    pv__value_set(out, "csv_seconds", pv__value_real(best));
    pv__value_set(out, "csv_table_bytes", pv__value_integer((int64_t)bytes));
    pv__value_set(out, "csv_memory_per_table_byte",
                  pv__value_real(1024 * (double)(after.ru_maxrss - before.ru_maxrss) / (double)bytes));
    return PV_OK;
}

static int run(cli_call *call) {
    const bench_options *options = call->options;
    pv_result *out = pv__value_object();
    pv__value_set(out, "threads", pv__value_integer(pv_ctx_threads(call->ctx)));
    pv_status status;
    if (options->csv) {
        status = bench_csv(call, options, out);
    } else {
        int work = options->work;
        status = work == WORK_ALL || work == WORK_STEP ? bench_step(call, options, out) : PV_OK;
        if (status == PV_OK && (work == WORK_ALL || work == WORK_VI))
            status = bench_vi(call, options, out);
        if (status == PV_OK && (work == WORK_ALL || work == WORK_FIT))
            status = bench_fit(call, options, out);
        if (status == PV_OK && (work == WORK_ALL || work == WORK_UNKNOWN))
            status = bench_unknown(call, options, out);
        if (status == PV_OK && (work == WORK_ALL || work == WORK_ASSESS))
            status = bench_assess(call, options, out);
        if (status == PV_OK && (work == WORK_ALL || work == WORK_IMAGES))
            status = bench_images(call, options->repeats, out);
        if (status == PV_OK && work == WORK_TABLE)
            status = bench_table(call, options, out);
    }
    if (status != PV_OK) {
        pv_result_free(out);
        return cli_fail(call, status);
    }
    if (options->running.json) {
        cli_json_print(call, out);
        return CLI_OK;
    }
    if (!pv__value_whole(out))
        cli_no_memory("for the results");
    for (size_t i = 0; i < pv_result_count(out); i++)
        printf("%-28s %.6g\n", pv_result_name(out, i), pv_result_number(pv_result_child(out, i)));
    pv_result_free(out);
    return CLI_OK;
}

static const cli_group groups[] = {{"Options", option_table, 0}, {NULL, NULL, 0}};
static const cli_argument arguments[] = {{NULL, NULL}};
static const cli_example examples[] = {{"prevail-lab bench", "The main work on this machine; a minute or so."},
                                       {"prevail-lab bench --csv big.csv", "Reading one file."},
                                       {NULL, NULL}};

const cli_command lab_bench = {
    .name = "bench",
    .summary = "measure the speed of the main work on this machine",
    .usage = "[options]",
    .text =
        "Times logistic fits with the information gain and with plain log-loss, the rate at which they read the matrix "
        "beside that of a plain copy loop, training steps of a small network with either loss, variational inference "
        "in the setting of the paper's calibration study, an unknown prevalence of a million rows, all metrics and "
        "curves of predictions, a training step of the multi-view ConvNet, and with --csv the reading of a file. In "
        "the source tree, make bench runs other software "
        "beside "
        "it.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(bench_options),
    .output = "One line for each figure: its name and value. Seconds are the best of --repeats runs.",
    .examples = examples,
    .run = run};
