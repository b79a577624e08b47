/* Results of the coverage study: text, JSON, a Markdown table, a figure. */
#include "prevail/prevail.h"
#include "lab/common/canvas.h"
#include "lab/common/study.h"
#include "lab/coverage/coverage.h"
#include "lab/lab.h"
#include "tool/command.h"
#include "tool/json.h"

#include <math.h>
#include <string.h>

const char *coverage_infer_name(pv_inference infer) {
    return infer == PV_INFER_LAPLACE ? "laplace" : infer == PV_INFER_VI ? "vi" : "hmc";
}

typedef struct summary {
    size_t n; /* number of fits that count */
    size_t failed, troubled;
    double share[QUANTITIES][LEVELS];
    double bias[QUANTITIES], rmse[QUANTITIES];
} summary;

static double share_error(double share, size_t n) {
    return sqrt(share * (1 - share) / (double)n);
}

static summary summarise(const coverage *c, int infer, int method) {
    summary s = {0};
    for (size_t r = 0; r < c->replicates; r++) {
        const outcome *o = coverage_at(c, r, infer, method);
        if (!o->done) {
            s.failed++;
            continue;
        }
        s.n++;
        s.troubled += (size_t)o->troubled;
        for (int q = 0; q < QUANTITIES; q++) {
            double error = o->estimate[q] - c->truth[q];
            s.bias[q] += error;
            s.rmse[q] += error * error;
            for (int l = 0; l < LEVELS; l++)
                s.share[q][l] += fabs(o->place[q] - 0.5) <= 0.5 * coverage_level[l];
        }
    }
    for (int q = 0; q < QUANTITIES && s.n; q++) {
        s.bias[q] /= (double)s.n;
        s.rmse[q] = sqrt(s.rmse[q] / (double)s.n);
        for (int l = 0; l < LEVELS; l++)
            s.share[q][l] /= (double)s.n;
    }
    return s;
}

static void strength_text(const coverage *c, char text[32]) {
    if (isinf(c->prevalence_n))
        snprintf(text, 32, "known");
    else
        snprintf(text, 32, "%.0f", c->prevalence_n);
}

/* ---- text and Markdown ------------------------------------------------------------------------------------------- */

static void print_summary(FILE *out, const coverage *c, int infer, int method, bool markdown) {
    summary s = summarise(c, infer, method);
    if (!s.n)
        return;
    if (markdown)
        fprintf(out, "\n### %s, %s\n\n", coverage_infer_name(c->infer[infer]), coverage_method[method]);
    else
        fprintf(out, "\n%s, %s", coverage_infer_name(c->infer[infer]), coverage_method[method]);
    if (!markdown && s.failed + s.troubled)
        fprintf(out, " (%zu fits failed, %zu had divergences or R-hat of 1.05 or more)", s.failed, s.troubled);
    fputs(markdown
              ? "| quantity | truth | 50 % | 80 % | 90 % | 95 % | bias | RMSE |\n|---|---|---|---|---|---|---|---|\n"
              : "\n  quantity                  truth   50 %   80 %   90 %   95 %     bias   RMSE\n",
          out);
    for (int q = 0; q < QUANTITIES; q++)
        fprintf(out,
                markdown ? "| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |\n"
                         : "  %-23s %7.3f %6.3f %6.3f %6.3f %6.3f %8.3f %6.3f\n",
                coverage_quantity[q], c->truth[q], s.share[q][0], s.share[q][1], s.share[q][2], s.share[q][3],
                s.bias[q], s.rmse[q]);
    if (markdown && s.failed + s.troubled)
        fprintf(out, "\n%zu fits failed, %zu had divergences or R-hat of 1.05 or more.\n", s.failed, s.troubled);
}

static void print_all(FILE *out, const coverage *c, bool markdown) {
    char strength[32];
    strength_text(c, strength);
    double n = (double)c->replicates;
    fprintf(out, "%zu studies of %zu cases and %zu controls, prevalence %g, N_pr %s, seed %llu.\n", c->replicates,
            c->cases, c->controls, c->prevalence, strength, (unsigned long long)c->seed);
    fprintf(out,
            "Share of central intervals that hold the truth; standard errors %.3f, %.3f,\n%.3f, %.3f where they do as "
            "often as they say.\n",
            sqrt(0.25 / n), sqrt(0.16 / n), sqrt(0.09 / n), sqrt(0.0475 / n));
    for (int i = 0; i < c->infers; i++)
        for (int m = 0; m < METHODS; m++)
            print_summary(out, c, i, m, markdown);
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Coverage: tables\n\n", out);
    print_all(out, what, true);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static pv_result *json_method(const coverage *c, int infer, int method) {
    summary s = summarise(c, infer, method);
    pv_result *object = pv__value_object(), *list = pv__value_object();
    for (int q = 0; q < QUANTITIES && s.n; q++) {
        pv_result *entry = pv__value_object(), *share = pv__value_object(), *error = pv__value_object();
        for (int l = 0; l < LEVELS; l++) {
            char key[16];
            snprintf(key, sizeof key, "%g", coverage_level[l]);
            pv__value_set(share, key, pv__value_real(s.share[q][l]));
            pv__value_set(error, key, pv__value_real(share_error(s.share[q][l], s.n)));
        }
        pv__value_set(entry, "truth", pv__value_real(c->truth[q]));
        pv__value_set(entry, "coverage", share);
        pv__value_set(entry, "coverage_se", error);
        pv__value_set(entry, "bias", pv__value_real(s.bias[q]));
        pv__value_set(entry, "rmse", pv__value_real(s.rmse[q]));
        pv__value_set(list, coverage_quantity[q], entry);
    }
    pv__value_set(object, "fits", pv__value_integer((int64_t)s.n));
    pv__value_set(object, "failed", pv__value_integer((int64_t)s.failed));
    pv__value_set(object, "troubled", pv__value_integer((int64_t)s.troubled));
    pv__value_set(object, "quantities", list);
    return object;
}

static pv_result *json_result(cli_call *call, const coverage *c) {
    static const char *const keys[METHODS] = {"ig_profile", "ig_plugin", "plain_corrected"};
    pv_result *object = pv__value_object(), *infers = pv__value_object();
    for (int i = 0; i < c->infers; i++) {
        pv_result *methods = pv__value_object();
        for (int m = 0; m < METHODS; m++)
            if (m != PLUGIN || !isinf(c->prevalence_n))
                pv__value_set(methods, keys[m], json_method(c, i, m));
        pv__value_set(infers, coverage_infer_name(c->infer[i]), methods);
    }
    pv__value_set(object, "study", pv__value_text("coverage"));
    pv__value_set(object, "replicates", pv__value_integer((int64_t)c->replicates));
    pv__value_set(object, "cases", pv__value_integer((int64_t)c->cases));
    pv__value_set(object, "controls", pv__value_integer((int64_t)c->controls));
    pv__value_set(object, "prevalence", pv__value_real(c->prevalence));
    pv__value_set(object, "prevalence_n",
                  isinf(c->prevalence_n) ? pv__value_text("known") : pv__value_real(c->prevalence_n));
    pv__value_set(object, "infer", infers);
    pv__value_set(object, "seed", pv__value_integer((int64_t)c->seed));
    pv__value_set(object, "command", pv__value_text(call->line));
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    return object;
}

/* ---- figure ------------------------------------------------------------------------------------------------------ */

enum { NINETY = 2 };
static const pv_ink inks[METHODS] = {PV_INK_IG, PV_INK_PLUGIN, PV_INK_PLAIN};

static void add_infer(study_canvas *canvas, const coverage *c, int infer, const char *const *names) {
    const double x[] = {0.87, 0.93}, lo[] = {-1, -1}, hi[] = {QUANTITIES, QUANTITIES};
    pv_series close = {.mark = PV_MARK_BAND, .ink = PV_INK_EXPECTED, .n = 2, .x = x, .lo = lo, .hi = hi};
    study_series(canvas, &close);
    study_segment(canvas, PV_INK_MUTED, NULL, true, 0.9, -1, 0.9, QUANTITIES);
    for (int m = 0; m < METHODS; m++) {
        summary s = summarise(c, infer, m);
        double share[QUANTITIES], y[QUANTITIES], from[QUANTITIES], to[QUANTITIES];
        for (int q = 0; q < QUANTITIES; q++) {
            double error = 2 * share_error(s.share[q][NINETY], s.n);
            share[q] = s.n ? s.share[q][NINETY] : NAN;
            y[q] = QUANTITIES - 1 - q - 0.2 * (m - 1);
            from[q] = share[q] - error;
            to[q] = share[q] + error;
        }
        pv_series spans = {.mark = PV_MARK_SPANS,
                           .ink = inks[m],
                           .name = coverage_method[m],
                           .n = QUANTITIES,
                           .x = share,
                           .y = y,
                           .lo = from,
                           .hi = to,
                           .size = 3};
        study_series(canvas, &spans);
    }
    pv_panel panel = {.title = coverage_infer_name(c->infer[infer]),
                      .x = {.label = "coverage of 90 % intervals", .lo = 0.3, .hi = 1},
                      .y = {.name = names, .n_names = QUANTITIES},
                      .height = 400};
    study_panel(canvas, &panel);
}

static int write_picture(cli_call *call, const coverage *c) {
    study_canvas canvas = {0};
    const char *names[QUANTITIES];
    char strength[32], text[200];
    strength_text(c, strength);
    snprintf(text, sizeof text,
             "%zu studies of %zu cases and %zu controls, prevalence %g, N_pr %s; bars are two errors.", c->replicates,
             c->cases, c->controls, c->prevalence, strength);
    for (int q = 0; q < QUANTITIES; q++)
        names[QUANTITIES - 1 - q] = coverage_quantity[q];
    for (int i = 0; i < c->infers; i++)
        add_infer(&canvas, c, i, names);
    return study_figure(call, &canvas, "coverage", "Coverage of nominal 90 % intervals.", text, 0);
}

int coverage_report(cli_call *call, const coverage *c) {
    const char *folder = c->options->shared.output;
    pv_result *object = json_result(call, c);
    int code = CLI_OK;
    if (folder) {
        code = study_write_json(call, folder, "results.json", object);
        if (code == CLI_OK)
            code = study_write(call, folder, "coverage.md", write_markdown, c);
        if (code == CLI_OK)
            code = write_picture(call, c);
    }
    if (code == CLI_OK && c->options->shared.running.json)
        cli_json_print(call, pv__value_share(object));
    else if (code == CLI_OK)
        print_all(stdout, c, false);
    pv_result_free(object);
    return code;
}
