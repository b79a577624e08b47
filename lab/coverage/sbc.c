/* prevail-lab coverage --sbc: simulation-based calibration (Talts et al. 2018) of vi and hmc.
 *
 * Parameters of a logistic model are drawn from their prior, and labels from the model given covariates. If the
 * posterior is exact, the rank of each parameter among draws from it is uniform. Uses the plain log-loss, whose model
 * generates the data.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prevail/prevail.h"
#include "lab/common/canvas.h"
#include "lab/common/density.h"
#include "lab/common/study.h"
#include "lab/coverage/coverage.h"
#include "tool/console.h"
#include "tool/json.h"

enum { PARAMS = FEATURES + 1, DRAWS = 99, BINS = 20, ROWS = 100, THIN = 5 };
static const double prior_sd = 1;
static const char *const parameter[PARAMS] = {"intercept", "x1", "x2", "x3"};

typedef struct sbc {
    const coverage_options *options;
    size_t replicates;
    uint64_t seed;
    pv_inference infer[3];
    int infers;
    int *rank; /* [replicates][infers][PARAMS], 0 .. DRAWS; -1: not done */
} sbc;

static int *rank_at(const sbc *s, size_t replicate, int infer) {
    return &s->rank[(replicate * (size_t)s->infers + (size_t)infer) * PARAMS];
}

/* ---- one replicate ----------------------------------------------------------------------------------------------- */

typedef struct sample {
    double w[PARAMS];
    double x[ROWS * PARAMS];
    int32_t label[ROWS];
} sample;

/* The prior may produce labels of one kind only, which the loss rejects: such samples are drawn again. Ranks stay
 * uniform because this condition depends on the data alone, not on w given the data. */
static void draw_sample(uint64_t seed, size_t replicate, sample *s) {
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_STUDY_SBC, replicate);
    int ones;
    do {
        ones = 0;
        for (size_t j = 0; j < PARAMS; j++)
            s->w[j] = prior_sd * pv_rng_normal(&rng);
        for (size_t i = 0; i < ROWS; i++) {
            double *x = s->x + PARAMS * i, logit = 0;
            x[0] = 1;
            x[1] = pv_rng_normal(&rng);
            x[2] = pv_rng_normal(&rng);
            x[3] = pv_rng_uniform(&rng) < 0.5 ? -1 : 1;
            for (size_t j = 0; j < PARAMS; j++)
                logit += s->w[j] * x[j];
            s->label[i] = pv_rng_uniform(&rng) < pv_sigmoid(logit);
            ones += s->label[i];
        }
    } while (ones == 0 || ones == ROWS);
}

static pv_status infer_one(pv_ctx *ctx, const sbc *s, size_t replicate, pv_inference how, const pv_density *density,
                           pv_posterior **posterior) {
    double mode[PARAMS] = {0};
    uint64_t seed = s->seed + 1000003 * (uint64_t)replicate;
    pv_status status = study_density_mode(ctx, density, mode);
    if (status != PV_OK)
        return status;
    if (how == PV_INFER_LAPLACE) {
        pv_laplace_options options = pv_laplace_options_default();
        options.draws = DRAWS;
        options.seed = seed;
        return pv_laplace(ctx, density, mode, &options, posterior);
    }
    if (how == PV_INFER_VI) {
        pv_vi_options options = pv_vi_options_default();
        options.components = s->options->vi.components;
        options.samples = s->options->vi.samples;
        options.steps = s->options->vi.steps;
        options.draws = (int64_t)THIN * DRAWS;
        options.seed = seed;
        return pv_vi(ctx, density, mode, &options, posterior);
    }
    pv_hmc_options options = pv_hmc_options_default();
    options.chains = 1;
    options.warmup = s->options->warmup;
    options.draws = (int64_t)THIN * DRAWS;
    options.seed = seed;
    return pv_hmc(ctx, density, mode, &options, posterior);
}

static pv_status run_replicate(pv_ctx *ctx, void *state, size_t replicate) {
    const sbc *s = state;
    sample *held = cli_alloc(1, sizeof *held);
    draw_sample(s->seed, replicate, held);
    study_problem problem = {.dims = PARAMS,
                             .x = held->x,
                             .targets = {.n = ROWS, .classes = 2, .label = held->label},
                             .loss = PV_LOSS_PLAIN,
                             .marginal = PV_MARGINAL_PROFILE,
                             .population = {.classes = 2},
                             .prior_sd = prior_sd};
    pv_density density;
    pv_status status = study_density_new(ctx, &problem, &density);
    for (int i = 0; i < s->infers && status == PV_OK; i++) {
        pv_posterior *posterior = NULL;
        size_t entered = pv_checkpoint_enter(ctx, "fit", (size_t)i);
        status = infer_one(ctx, s, replicate, s->infer[i], &density, &posterior);
        pv_checkpoint_leave(ctx, entered);
        int *rank = rank_at(s, replicate, i);
        for (size_t j = 0; status == PV_OK && j < PARAMS; j++) {
            rank[j] = 0;
            for (size_t k = 0; k < DRAWS; k++)
                rank[j] += posterior->draws[(k * posterior->count / DRAWS) * PARAMS + j] < held->w[j];
        }
        pv_posterior_free(ctx, posterior);
    }
    study_density_free(ctx, &density);
    free(held);
    return status;
}

static size_t outcome_of(void *state, size_t replicate, pv_field *field) {
    const sbc *s = state;
    field[0] = (pv_field){rank_at(s, replicate, 0), (size_t)s->infers * PARAMS * sizeof *s->rank};
    return 1;
}

/* Ranks are used as indices of bins. */
static bool sound(const void *state, size_t replicate) {
    const sbc *s = state;
    const int *rank = rank_at(s, replicate, 0);
    for (int i = 0; i < s->infers * (int)PARAMS; i++)
        if (rank[i] < 0 || rank[i] > DRAWS)
            return false;
    return true;
}

/* ---- test -------------------------------------------------------------------------------------------------------- */

typedef struct histogram {
    int count[BINS];
    double n, chi_square, p;
} histogram;

/* Upper tail of chi-square by Wilson and Hilferty's cube root: accurate to three digits at these degrees of freedom. */
static double chi_square_tail(double x, double df) {
    double v = 2 / (9 * df);
    return pv_normal_cdf(-(cbrt(x / df) - 1 + v) / sqrt(v));
}

static histogram make_histogram(const sbc *s, int infer, int j) {
    histogram h = {0};
    for (size_t r = 0; r < s->replicates; r++) {
        int rank = rank_at(s, r, infer)[j];
        if (rank < 0)
            continue;
        h.count[rank * BINS / (DRAWS + 1)]++;
        h.n++;
    }
    double expected = h.n / BINS;
    for (int b = 0; b < BINS; b++)
        h.chi_square += (h.count[b] - expected) * (h.count[b] - expected) / expected;
    h.p = chi_square_tail(h.chi_square, BINS - 1);
    return h;
}

static void print_table(FILE *out, const sbc *s, bool markdown) {
    fprintf(out,
            "Ranks of %d parameters among %d draws of their posterior, %zu data sets of %d rows,\nnormal priors of "
            "scale %g, "
            "seed %llu. Chi-square test of uniformity in %d bins.\n\n",
            (int)PARAMS, (int)DRAWS, s->replicates, (int)ROWS, prior_sd, (unsigned long long)s->seed, (int)BINS);
    fputs(markdown ? "| posterior | parameter | chi-square (19 df) | p |\n|---|---|---|---|\n"
                   : "  posterior  parameter   chi-square (19 df)       p\n",
          out);
    for (int i = 0; i < s->infers; i++)
        for (int j = 0; j < PARAMS; j++) {
            histogram h = make_histogram(s, i, j);
            fprintf(out, markdown ? "| %s | %s | %.1f | %.3f |\n" : "  %-10s %-10s %19.1f %7.3f\n",
                    coverage_infer_name(s->infer[i]), parameter[j], h.chi_square, h.p);
        }
}

static void write_markdown(FILE *out, const void *what) {
    print_table(out, what, true);
}

static pv_result *json_result(cli_call *call, const sbc *s) {
    pv_result *object = pv__value_object(), *infers = pv__value_object();
    for (int i = 0; i < s->infers; i++) {
        pv_result *list = pv__value_object();
        for (int j = 0; j < PARAMS; j++) {
            histogram h = make_histogram(s, i, j);
            pv_result *entry = pv__value_object(), *counts = pv__value_list();
            for (int b = 0; b < BINS; b++)
                pv__value_append(counts, pv__value_integer(h.count[b]));
            pv__value_set(entry, "counts", counts);
            pv__value_set(entry, "chi_square", pv__value_real(h.chi_square));
            pv__value_set(entry, "p", pv__value_real(h.p));
            pv__value_set(list, parameter[j], entry);
        }
        pv__value_set(infers, coverage_infer_name(s->infer[i]), list);
    }
    pv__value_set(object, "study", pv__value_text("coverage --sbc"));
    pv__value_set(object, "replicates", pv__value_integer((int64_t)s->replicates));
    pv__value_set(object, "rows", pv__value_integer(ROWS));
    pv__value_set(object, "draws", pv__value_integer(DRAWS));
    pv__value_set(object, "infer", infers);
    pv__value_set(object, "seed", pv__value_integer((int64_t)s->seed));
    pv__value_set(object, "command", pv__value_text(call->line));
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    return object;
}

static int write_picture(cli_call *call, const sbc *s) {
    study_canvas canvas = {0};
    for (int i = 0; i < s->infers; i++)
        for (int j = 0; j < PARAMS; j++) {
            histogram h = make_histogram(s, i, j);
            double expected = h.n / BINS, spread = 1.96 * sqrt(expected * (1 - 1.0 / BINS));
            const double ends[] = {0, DRAWS + 1}, lo[] = {expected - spread, expected - spread},
                         hi[] = {expected + spread, expected + spread};
            double left[BINS], right[BINS], count[BINS];
            for (int b = 0; b < BINS; b++) {
                left[b] = (double)b * (DRAWS + 1) / BINS;
                right[b] = (double)(b + 1) * (DRAWS + 1) / BINS;
                count[b] = h.count[b];
            }
            pv_series band = {.mark = PV_MARK_BAND,
                              .ink = PV_INK_EXPECTED,
                              .name = "95 % of uniform bins",
                              .n = 2,
                              .x = ends,
                              .lo = lo,
                              .hi = hi};
            pv_series bars = {.mark = PV_MARK_BARS,
                              .ink = PV_INK_EMPIRICAL,
                              .name = "data sets",
                              .n = BINS,
                              .y = count,
                              .lo = left,
                              .hi = right};
            study_series(&canvas, &band);
            study_series(&canvas, &bars);
            study_segment(&canvas, PV_INK_EXPECTED, NULL, true, 0, expected, DRAWS + 1, expected);
            pv_panel panel = {
                .title = study_text(&canvas, "%s, %s: p = %.2f", coverage_infer_name(s->infer[i]), parameter[j], h.p),
                .x = {.label = "rank", .lo = 0, .hi = DRAWS + 1},
                .y = {.label = "data sets", .lo = 0, .hi = 2.2 * expected},
                .width = 300,
                .height = 250};
            study_panel(&canvas, &panel);
        }
    return study_figure(call, &canvas, "sbc", "Ranks of the truth among posterior draws.",
                        "Flat histograms are right; a bin of a uniform histogram lies in the band 95 times of 100.",
                        PARAMS);
}

/* Ranks from a checkpoint are not trusted. */
static int check_ranks(cli_call *call, const sbc *s) {
    for (size_t i = 0; i < s->replicates * (size_t)s->infers * PARAMS; i++)
        if (s->rank[i] < -1 || s->rank[i] > DRAWS)
            return cli_error(call, PV_ERR_FORMAT, s->options->shared.checkpoint.path,
                             "is not a usable checkpoint: a rank is none of 0 to %d; remove it and begin anew",
                             (int)DRAWS);
    return CLI_OK;
}

int coverage_ranks(cli_call *call) {
    const coverage_options *options = call->options;
    static const char *const foreign[] = {"prevalence", "prevalence-n", "cases", "controls", "draws", "chains"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (cli_given(call, foreign[i]))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s does not go with --sbc", foreign[i]);
    sbc s = {.options = options,
             .replicates = cli_given(call, "replicates") ? (size_t)options->replicates : 500,
             .seed = (uint64_t)options->shared.seed};
    int code = coverage_read_infer(call, options->infer ? options->infer : "vi,hmc", s.infer, &s.infers);
    if (code != CLI_OK)
        return code;
    size_t ranks = s.replicates * (size_t)s.infers * PARAMS;
    s.rank = cli_alloc(ranks, sizeof *s.rank);
    for (size_t i = 0; i < ranks; i++)
        s.rank[i] = -1;
    code = study_parallel(call, "data sets", s.replicates, run_replicate, outcome_of, sound, &s);
    if (code == CLI_OK)
        code = check_ranks(call, &s);
    pv_result *object = code == CLI_OK ? json_result(call, &s) : NULL;
    if (code == CLI_OK && options->shared.output) {
        code = study_write_json(call, options->shared.output, "sbc.json", object);
        if (code == CLI_OK)
            code = study_write(call, options->shared.output, "sbc.md", write_markdown, &s);
        if (code == CLI_OK)
            code = write_picture(call, &s);
    }
    if (code == CLI_OK && options->shared.running.json)
        cli_json_print(call, pv__value_share(object));
    else if (code == CLI_OK)
        print_table(stdout, &s, false);
    pv_result_free(object);
    free(s.rank);
    return code;
}
