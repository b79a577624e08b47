/* prevail-lab contingency: the paper's section 4, "Prevalence-bias, Bayesian posterior and log odds ratio".
 *
 *   p(Y=1|X=x) = sigmoid(eta_x),  eta_x ~ N(0, 10^2);  posteriors under plain, iw and ig by variational inference with
 *   a mixture of Gaussians, compared with the exact ones.
 */
#include "prevail/prevail.h"
#include "lab/common/density.h"
#include "lab/common/study.h"
#include "lab/contingency/contingency.h"
#include "lab/lab.h"
#include "tool/console.h"
#include "tool/json.h"
#include "tool/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 4, NPR_MAX = 16 };
static const double prior_sd = 10;

typedef struct work {
    const contingency_options *options;
    study_table table;
    double npr[NPR_MAX];
    size_t nprs;
    double x[2 * CELLS], weight[CELLS]; /* one row per nonempty cell */
    int32_t label[CELLS];
    size_t rows;
} work;

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int read_table(cli_call *call, const char *text, work *held) {
    static const char form[] = "--table %s: four counts, '47,44;3,6' (rows X=0,1; columns Y=0,1)";
    double *count = &held->table.count[0][0];
    const char *at = text;
    for (int i = 0; i < CELLS; i++) {
        const char *end = pv_parse_real(at, &count[i]);
        char expected = i == 3 ? '\0' : i == 1 ? ';' : ',';
        if (!end || !(count[i] >= 0 && count[i] < 1e9) || *end != expected)
            return cli_error(call, PV_ERR_USAGE, NULL, form, text);
        at = end + 1;
    }
    for (int y = 0; y < 2; y++)
        if (!(count[y] + count[2 + y] > 0))
            return cli_error(call, PV_ERR_USAGE, NULL, "--table %s: no observation with Y=%d; both classes are needed",
                             text, y);
    for (int i = 0; i < CELLS; i++)
        if (count[i] > 0) {
            held->x[2 * held->rows + (size_t)i / 2] = 1;
            held->label[held->rows] = i % 2;
            held->weight[held->rows++] = count[i];
        }
    held->table.lor = log(count[3]) - log(count[2]) - log(count[1]) + log(count[0]);
    held->table.lor_sd = sqrt(1 / count[0] + 1 / count[1] + 1 / count[2] + 1 / count[3]);
    return CLI_OK;
}

static int read_strengths(cli_call *call, const char *text, work *held) {
    for (const char *at = text;; at++) {
        double n;
        const char *end = pv_parse_real(at, &n);
        if (!end || !(n >= 0 && n < 1e12) || (*end && *end != ','))
            return cli_error(call, PV_ERR_USAGE, NULL, "--prevalence-n %s: a number, or a list such as 0,1,10", text);
        if (held->nprs == NPR_MAX)
            return cli_error(call, PV_ERR_USAGE, NULL, "--prevalence-n %s: at most %d numbers", text, (int)NPR_MAX);
        held->npr[held->nprs++] = n;
        if (!*end)
            return CLI_OK;
        at = end;
    }
}

/* ---- posteriors -------------------------------------------------------------------------------------------------- */

static pv_status sample(pv_ctx *ctx, const pv_density *density, const double mode[2], uint64_t seed,
                        study_sampled *out) {
    pv_hmc_options options = pv_hmc_options_default();
    options.seed = seed;
    pv_posterior *p;
    pv_status status = pv_hmc(ctx, density, mode, &options, &p);
    if (status != PV_OK)
        return status;
    double *lor = cli_alloc(p->count, sizeof *lor), sum = 0, squares = 0, n = (double)p->count;
    for (size_t i = 0; i < p->count; i++) {
        lor[i] = p->draws[2 * i + 1] - p->draws[2 * i];
        sum += lor[i];
    }
    out->mean = sum / n;
    for (size_t i = 0; i < p->count; i++)
        squares += (lor[i] - out->mean) * (lor[i] - out->mean);
    out->sd = sqrt(squares / (n - 1));
    out->rhat = pv_split_rhat(ctx, p->chains, p->count / p->chains, lor);
    out->ess = pv_effective_size(ctx, p->chains, p->count / p->chains, lor);
    out->mcse = out->sd / sqrt(out->ess);
    free(lor);
    pv_posterior_free(ctx, p);
    return PV_OK;
}

static study_problem problem_of(const work *held, size_t index) {
    const study_posterior *p = &held->table.posterior[index];
    return (study_problem){.dims = 2,
                           .x = held->x,
                           .targets = {.n = held->rows, .classes = 2, .label = held->label, .weight = held->weight},
                           .loss = index == 0   ? PV_LOSS_PLAIN
                                   : index == 1 ? PV_LOSS_IW
                                                : PV_LOSS_IG,
                           .marginal = strcmp(p->loss, "ig") == 0 ? PV_MARGINAL_PLUGIN : PV_MARGINAL_PROFILE,
                           .population = {.classes = 2,
                                          .prevalence = held->table.prevalence,
                                          .prevalence_n = isnan(p->prevalence_n) ? 0 : p->prevalence_n},
                           .prior_sd = prior_sd};
}

static pv_vi_options vi_options(const contingency_options *options) {
    pv_vi_options vi = pv_vi_options_default();
    vi.components = options->vi.components;
    vi.samples = options->vi.samples;
    vi.steps = options->vi.steps;
    vi.draws = options->draws > vi.draws ? options->draws : vi.draws;
    vi.seed = (uint64_t)options->shared.seed;
    return vi;
}

/* Arrays have their sizes before there is a posterior. */
static pv_status fit_mixture(pv_ctx *ctx, const work *held, const pv_density *density, const double mode[2],
                             study_posterior *out) {
    pv_vi_options vi = vi_options(held->options);
    pv_posterior *p;
    pv_status status = pv_vi(ctx, density, mode, &vi, &p);
    if (status != PV_OK)
        return status;
    size_t k = out->mixture.components;
    memcpy(out->draws, p->draws, 2 * out->count * sizeof *out->draws);
    memcpy(out->mixture.weight, p->mixture.weight, k * sizeof *p->mixture.weight);
    memcpy(out->mixture.mean, p->mixture.mean, 2 * k * sizeof *p->mixture.mean);
    memcpy(out->mixture.factor, p->mixture.factor, 4 * k * sizeof *p->mixture.factor);
    out->elbo = p->elbo;
    out->elbo_se = p->elbo_se;
    out->stop = p->stop;
    study_mixture_numbers(&out->mixture, &out->vi);
    pv_posterior_free(ctx, p);
    return PV_OK;
}

static pv_status infer(pv_ctx *ctx, void *state, size_t index) {
    const work *held = state;
    study_posterior *out = &held->table.posterior[index];
    study_problem problem = problem_of(held, index);
    pv_density density = {0};
    double mode[2] = {0, 0};
    pv_status status = study_density_new(ctx, &problem, &density);
    if (status == PV_OK)
        status = study_integrate(ctx, &density, &out->exact);
    if (status == PV_OK)
        status = study_density_mode(ctx, &density, mode);
    if (status == PV_OK)
        status = fit_mixture(ctx, held, &density, mode, out);
    if (status == PV_OK && held->options->hmc)
        status = sample(ctx, &density, mode, (uint64_t)held->options->shared.seed, &out->hmc);
    for (size_t i = 0; status == PV_OK && i < out->count; i++) {
        double value, p;
        status = study_density_value(ctx, &density, out->draws + 2 * i, &value, &p);
        out->vi.marginal += p / (double)out->count;
    }
    study_density_free(ctx, &density);
    return status;
}

static size_t outcome(void *state, size_t index, pv_field *field) {
    study_posterior *p = &((const work *)state)->table.posterior[index];
    size_t k = p->mixture.components, n = 0;
    field[n++] = (pv_field){&p->vi, sizeof p->vi};
    field[n++] = (pv_field){&p->elbo, sizeof p->elbo};
    field[n++] = (pv_field){&p->elbo_se, sizeof p->elbo_se};
    field[n++] = (pv_field){&p->stop, sizeof p->stop};
    field[n++] = (pv_field){p->mixture.weight, k * sizeof *p->mixture.weight};
    field[n++] = (pv_field){p->mixture.mean, 2 * k * sizeof *p->mixture.mean};
    field[n++] = (pv_field){p->mixture.factor, 4 * k * sizeof *p->mixture.factor};
    field[n++] = (pv_field){p->draws, 2 * p->count * sizeof *p->draws};
    field[n++] = (pv_field){&p->exact, sizeof p->exact};
    field[n++] = (pv_field){&p->hmc, sizeof p->hmc};
    return n;
}

static bool sound(const void *state, size_t index) {
    const study_posterior *p = &((const work *)state)->table.posterior[index];
    size_t k = p->mixture.components;
    const double *numbers[] = {(const double *)&p->vi, (const double *)&p->exact, (const double *)&p->hmc, &p->elbo,
                               &p->elbo_se};
    const size_t sizes[] = {sizeof p->vi, sizeof p->exact, sizeof p->hmc, sizeof p->elbo, sizeof p->elbo_se};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!study_within(numbers[i], sizes[i] / sizeof(double), -STUDY_LARGEST, STUDY_LARGEST, true))
            return false;
    return p->stop <= PV_STOP_EARLY && study_within(p->mixture.weight, k, 0, 1 + 1e-9, false) &&
           study_within(p->mixture.mean, 2 * k, -STUDY_LARGEST, STUDY_LARGEST, false) &&
           study_within(p->mixture.factor, 4 * k, -STUDY_LARGEST, STUDY_LARGEST, false) &&
           study_within(p->draws, 2 * p->count, -STUDY_LARGEST, STUDY_LARGEST, false);
}

/* plain, iw, ig at each strength, ig with profile at each strength. */
static void list_posteriors(work *held) {
    study_table *table = &held->table;
    table->posteriors = 2 + 2 * held->nprs;
    table->posterior = cli_alloc(table->posteriors, sizeof *table->posterior);
    for (size_t i = 0; i < table->posteriors; i++) {
        study_posterior *p = &table->posterior[i];
        p->loss = i == 0 ? "plain" : i == 1 ? "iw" : i < 2 + held->nprs ? "ig" : "ig_profile";
        p->prevalence_n = i < 2 ? NAN : held->npr[(i - 2) % held->nprs];
        if (i < 2 || held->nprs == 1)
            snprintf(p->name, sizeof p->name, "%s", p->loss);
        else
            snprintf(p->name, sizeof p->name, "%s_npr_%.10g", p->loss, p->prevalence_n);
        size_t k = (size_t)held->options->vi.components;
        p->count = (size_t)vi_options(held->options).draws;
        p->draws = cli_alloc(2 * p->count, sizeof *p->draws);
        p->mixture = (pv_mixture){.components = k,
                                  .dims = 2,
                                  .weight = cli_alloc(k, sizeof(double)),
                                  .mean = cli_alloc(2 * k, sizeof(double)),
                                  .factor = cli_alloc(4 * k, sizeof(double))};
    }
}

static void clear_posteriors(study_table *table) {
    for (size_t i = 0; i < table->posteriors; i++) {
        free(table->posterior[i].draws);
        free(table->posterior[i].mixture.weight);
        free(table->posterior[i].mixture.mean);
        free(table->posterior[i].mixture.factor);
    }
    free(table->posterior);
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

static pv_result *json_numbers(const study_numbers *numbers) {
    static const char *const names[] = {"log_odds_ratio", "eta0", "eta1"};
    pv_result *object = pv__value_object();
    for (int i = 0; i < STUDY_MEASURES; i++) {
        pv_result *entry = pv__value_object();
        pv__value_set(entry, "mean", pv__value_real(numbers->mean[i]));
        pv__value_set(entry, "sd", pv__value_real(numbers->sd[i]));
        if (i == STUDY_LOR) {
            pv_result *quantiles = pv__value_object();
            for (int q = 0; q < STUDY_QUANTILES; q++) {
                char key[16];
                snprintf(key, sizeof key, "%g", study_quantile[q]);
                pv__value_set(quantiles, key, pv__value_real(numbers->quantile[q]));
            }
            pv__value_set(entry, "quantiles", quantiles);
        }
        pv__value_set(object, names[i], entry);
    }
    pv__value_set(object, "marginal", pv__value_real(numbers->marginal));
    return object;
}

static pv_result *json_sampled(const study_sampled *hmc) {
    pv_result *object = pv__value_object();
    pv__value_set(object, "mean", pv__value_real(hmc->mean));
    pv__value_set(object, "sd", pv__value_real(hmc->sd));
    pv__value_set(object, "mcse", pv__value_real(hmc->mcse));
    pv__value_set(object, "ess", pv__value_real(hmc->ess));
    pv__value_set(object, "rhat", pv__value_real(hmc->rhat));
    return object;
}

static pv_result *json_result(cli_call *call, const contingency_options *options, const work *held) {
    const study_table *table = &held->table;
    pv_result *object = pv__value_object(), *counts = pv__value_list(), *strengths = pv__value_list(),
              *posteriors = pv__value_object();
    for (int x = 0; x < 2; x++) {
        pv_result *row = pv__value_list();
        for (int y = 0; y < 2; y++)
            pv__value_append(row, pv__value_real(table->count[x][y]));
        pv__value_append(counts, row);
    }
    for (size_t i = 0; i < held->nprs; i++)
        pv__value_append(strengths, pv__value_real(held->npr[i]));
    for (size_t i = 0; i < table->posteriors; i++) {
        const study_posterior *p = &table->posterior[i];
        pv_result *entry = json_numbers(&p->vi), *exact = json_numbers(&p->exact.numbers);
        pv__value_set(entry, "elbo", pv__value_real(p->elbo));
        pv__value_set(entry, "elbo_se", pv__value_real(p->elbo_se));
        pv__value_set(entry, "stop", pv__value_text(pv_stop_name(p->stop)));
        if (options->hmc)
            pv__value_set(entry, "hmc", json_sampled(&p->hmc));
        pv__value_set(exact, "log_evidence", pv__value_real(p->exact.log_evidence));
        pv__value_set(entry, "exact", exact);
        pv__value_set(posteriors, p->name, entry);
    }
    pv_result *frequentist = pv__value_object();
    pv__value_set(frequentist, "log_odds_ratio", pv__value_real(table->lor));
    pv__value_set(frequentist, "sd", pv__value_real(table->lor_sd));
    pv__value_set(object, "study", pv__value_text("contingency"));
    pv__value_set(object, "table", counts);
    pv__value_set(object, "prevalence", pv__value_real(table->prevalence[1]));
    pv__value_set(object, "prevalence_n", held->nprs == 1 ? pv__value_real(held->npr[0]) : pv__value_share(strengths));
    pv_result_free(strengths);
    pv__value_set(object, "prior_sd", pv__value_real(prior_sd));
    pv__value_set(object, "frequentist", frequentist);
    pv__value_set(object, "posteriors", posteriors);
    pv__value_set(object, "seed", pv__value_integer(options->shared.seed));
    pv__value_set(object, "command", pv__value_text(call->line));
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    return object;
}

static void report_posteriors(pv_report *report, const study_table *table) {
    static const char *const heads[] = {"posterior",  "mean",     "sd",       "5 %",  "95 %",
                                        "exact mean", "exact sd", "p(Y=1|w)", "ELBO", "log evidence"};
    report_cells cells = {0};
    for (size_t i = 0; i < table->posteriors; i++) {
        const study_posterior *p = &table->posterior[i];
        const double numbers[] = {p->vi.mean[STUDY_LOR],
                                  p->vi.sd[STUDY_LOR],
                                  p->vi.quantile[0],
                                  p->vi.quantile[STUDY_QUANTILES - 1],
                                  p->exact.numbers.mean[STUDY_LOR],
                                  p->exact.numbers.sd[STUDY_LOR],
                                  p->vi.marginal,
                                  p->elbo,
                                  p->exact.log_evidence};
        report_cell(&cells, p->name);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            report_cell_number(&cells, numbers[k]);
    }
    pv_report_section(report, "posteriors", "Posteriors of the log odds ratio");
    report_say(
        report,
        "Rows X = 0, 1; columns Y = 0, 1: %g, %g; %g, %g. Prevalence %g. The frequentist log odds ratio is %.2f, "
        "with standard deviation %.2f.",
        table->count[0][0], table->count[0][1], table->count[1][0], table->count[1][1], table->prevalence[1],
        table->lor, table->lor_sd);
    report_put_cells(report, &cells, "By a mixture of Gaussians, and exactly by quadrature", "tnnnnnnnnn", heads,
                     false);
    pv_report_section(report, "pictures", "Pictures");
}

static void print_text(const study_table *table, bool hmc) {
    printf(
        "Rows X=0,1; columns Y=0,1: %g,%g; %g,%g. Prevalence %g. Frequentist log odds\nratio %.2f, standard deviation "
        "%.2f.\n\n",
        table->count[0][0], table->count[0][1], table->count[1][0], table->count[1][1], table->prevalence[1],
        table->lor, table->lor_sd);
    printf("  %-20s %30s  %17s  %8s\n", "", "log odds ratio: mean, sd, 90 %", "exact: mean, sd", "p(Y=1|w)");
    for (size_t i = 0; i < table->posteriors; i++) {
        const study_posterior *p = &table->posterior[i];
        const study_numbers *exact = &p->exact.numbers;
        printf("  %-20s %7.3f %6.3f [%6.2f, %5.2f]  %9.3f %7.3f  %8.4f\n", p->name, p->vi.mean[STUDY_LOR],
               p->vi.sd[STUDY_LOR], p->vi.quantile[0], p->vi.quantile[STUDY_QUANTILES - 1], exact->mean[STUDY_LOR],
               exact->sd[STUDY_LOR], p->vi.marginal);
    }
    printf("\n  %-20s %12s %9s %14s %11s\n", "", "ELBO", "(error)", "log evidence", "difference");
    for (size_t i = 0; i < table->posteriors; i++) {
        const study_posterior *p = &table->posterior[i];
        double off = p->exact.log_evidence - p->elbo;
        printf("  %-20s %12.4f %9.4f %14.4f %11.4f\n", p->name, p->elbo, p->elbo_se, p->exact.log_evidence,
               fabs(off) < 0.00005 ? 0 : off);
    }
    fputc('\n', stdout);
    if (table->posteriors > 4)
        printf("  npr: --prevalence-n, how many observations the stated prevalence rests on\n");
    printf("  ELBO: a lower bound of the log evidence, estimated by sampling. Where it seems to lie above it\n"
           "  by a few of its errors, the approximation is as good as exact.\n");
    if (!hmc)
        return;
    printf("\n  %-20s %10s %8s %8s %8s %18s\n", "hmc", "mean", "sd", "error", "size", "from exact/error");
    for (size_t i = 0; i < table->posteriors; i++) {
        const study_posterior *p = &table->posterior[i];
        printf("  %-20s %10.4f %8.4f %8.4f %8.0f %18.2f\n", p->name, p->hmc.mean, p->hmc.sd, p->hmc.mcse, p->hmc.ess,
               (p->hmc.mean - p->exact.numbers.mean[STUDY_LOR]) / p->hmc.mcse);
    }
}

static int run_posteriors(cli_call *call) {
    const contingency_options *options = call->options;
    work held = {
        .options = options,
        .table = {.draws = (size_t)options->draws, .prevalence = {1 - options->prevalence, options->prevalence}}};
    int code = read_table(call, options->table, &held);
    if (code == CLI_OK)
        code = read_strengths(call, options->prevalence_n, &held);
    if (code != CLI_OK)
        return code;
    list_posteriors(&held);
    code = study_parallel(call, "posteriors", held.table.posteriors, infer, outcome, sound, &held);
    pv_result *object = code == CLI_OK ? json_result(call, options, &held) : NULL;
    if (code == CLI_OK && options->shared.output)
        code = study_write_json(call, options->shared.output, "results.json", object);
    if (code == CLI_OK && options->shared.output) {
        report_posteriors(options->shared.report, &held.table);
        code = study_contingency_pictures(call, &held.table);
    }
    if (code == CLI_OK && options->shared.running.json)
        cli_json_print(call, pv__value_share(object));
    else if (code == CLI_OK)
        print_text(&held.table, options->hmc);
    pv_result_free(object);
    clear_posteriors(&held.table);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(cli_call *call) {
    return study_run(
        call,
        &(study_plan){.name = "contingency",
                      .title = "contingency",
                      .about = "A table of four counts under each model: the paper's section 4. prevail " PV_VERSION,
                      .work = run_posteriors});
}

#define AT(field) offsetof(contingency_options, field)

static const pv_option option_table[] = {
    {"table", PV_OPTION_TEXT, AT(table), "47,44;3,6", 0, 0, NULL, "COUNTS",
     "The four counts: rows X=0,1 separated by a semicolon, columns Y=0,1."},
    STUDY_OPTION_PREVALENCE(contingency_options, "0.01"),
    {"prevalence-n", PV_OPTION_TEXT, AT(prevalence_n), "0,1,10,100,1000", 0, 0, NULL, "LIST",
     "Observations that the prevalence rests on; one or several strengths."},
    {"draws", PV_OPTION_INT, AT(draws), "1000", 100, 1e6, NULL, NULL, "Draws shown in the pictures."},
    {"hmc", PV_OPTION_FLAG, AT(hmc), NULL, 0, 0, NULL, NULL,
     "Also sample each posterior by Hamiltonian Monte Carlo: four chains of 1000 steps after a warm-up of 1000."},
    CLI_OPTION_END};
static const cli_group groups[] = {
    {"Options", option_table, 0}, {"vi", study_vi_table, AT(vi)}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab contingency -o out", "The paper's numbers beside the exact ones, and its figures."},
    {"prevail-lab contingency --table '47,44;3,6' --prevalence-n 10 --json", "One strength of the prevalence prior."},
    {NULL, NULL}};

const cli_command lab_contingency = {
    .name = "contingency",
    .summary = "the paper's section 4: a table of four counts under each model",
    .usage = "[options] [-o DIR] [--json]",
    .text = "p(Y=1|X=x) = sigmoid(eta_x) with normal priors of scale 10 on eta_0 and eta_1, under plain log-loss, "
            "importance weighting and the information gain with the plug-in marginal and with p(x) profiled out; "
            "posteriors by a mixture of Gaussians, and exactly by quadrature.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(contingency_options),
    .output =
        "Mean, standard deviation and 90 % interval of the log odds ratio eta_1 - eta_0 beside the exact values, the "
        "posterior mean of p(Y=1|w), the bound (ELBO) with its Monte-Carlo error beside the log evidence. With --json "
        "one object; posteriors maps plain, iw, ig, ig_profile (with several strengths ig_npr_N, ig_profile_npr_N) to "
        "log_odds_ratio {mean, sd, quantiles}, eta0, eta1 {mean, sd}, marginal, elbo, elbo_se, exact (the same, and "
        "log_evidence), with --hmc hmc (the log odds ratio's mean, sd, mcse, ess, rhat). -o writes results.json and "
        "SVG pictures.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
