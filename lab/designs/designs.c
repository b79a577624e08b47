/* prevail-lab designs: coverage of intervals under designs other than unstratified case-control sampling.
 *
 * Samples from the populations of prevail simulate: strata with different enrichment, the second phase of a cohort,
 * case-cohort samples, matched sets, surveys. Each is fitted as its design requires. The study records how many 90 %
 * intervals of slopes and of people's risks cover the truth, and the squared error relative to another estimator: the
 * weighted one (strata, cohorts), or a regression that ignores the sets.
 */
#include "lab/designs/designs.h"
#include "prevail/prevail.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STRATA(kind, how, count, uneven, labels)                                                                       \
    { DESIGNS_##kind, count, uneven, 0, how "_" #count "_" labels, #count " strata, " labels, how }
#define CLUSTERS(count)                                                                                                \
    { DESIGNS_CLUSTERS, count, false, 0, "clusters_" #count, #count " clusters of 30", "robust" }
const designs_cell designs_cells[DESIGNS_CELLS] = {
    STRATA(KNOWN, "known", 2, false, "balanced"),
    STRATA(COUNTS, "counts", 2, false, "balanced"),
    STRATA(KNOWN, "known", 2, true, "uneven"),
    STRATA(COUNTS, "counts", 2, true, "uneven"),
    STRATA(KNOWN, "known", 5, false, "balanced"),
    STRATA(COUNTS, "counts", 5, false, "balanced"),
    STRATA(KNOWN, "known", 5, true, "uneven"),
    STRATA(COUNTS, "counts", 5, true, "uneven"),
    STRATA(KNOWN, "known", 10, false, "balanced"),
    STRATA(COUNTS, "counts", 10, false, "balanced"),
    STRATA(KNOWN, "known", 10, true, "uneven"),
    STRATA(COUNTS, "counts", 10, true, "uneven"),
    {DESIGNS_CASES, 3, false, 0, "case_cohort_counts", "case-cohort, 3 strata", "counts"},
    {DESIGNS_FRACTION, 3, false, 0, "case_cohort_fraction", "case-cohort, 3 strata", "fraction"},
    {DESIGNS_FRACTION, 1, false, 0, "case_cohort_one", "case-cohort, no strata", "fraction"},
    {DESIGNS_MATCHED, 0, false, 0, "matched", "sets of 1 and 2", "conditional"},
    {DESIGNS_SURVEY, 3, false, 0, "survey", "survey, 3 strata, clusters", "robust"},
    {DESIGNS_AS_COUNTS, 3, false, 0, "survey_as_counts", "the same", "weights as counts"},
    {DESIGNS_PREVALENCE, 5, false, 200, "inferred_200", "unknown, 5 strata of 200", "own rows"},
    {DESIGNS_PREVALENCE, 5, false, 12, "inferred_12", "unknown, 5 strata of 12", "pooled"},
    CLUSTERS(3),
    CLUSTERS(4),
    CLUSTERS(6),
    CLUSTERS(10),
    CLUSTERS(20),
    CLUSTERS(40)};

static const double SLOPE[2] = {0.8, -0.5}, FRACTION = 0.1, LEVEL = 0.9;

/* ---- a sample and its fit ---------------------------------------------------------------------------------------- */

typedef struct sample {
    pv_table *table, *known;
    pv_schema *schema;
    pv_dataset *data;
    double *truth; /* [strata + 2] */
} sample;

static void sample_clear(pv_ctx *ctx, sample *s) {
    pv_dataset_free(ctx, s->data);
    pv_schema_free(ctx, s->schema);
    pv_table_free(ctx, s->table);
    pv_table_free(ctx, s->known);
    free(s->truth);
}

static const char *simulated_kind(designs_kind kind) {
    static const char *const names[DESIGNS_KINDS] = {"sites",  "cohort", "cohort", "cohort", "matched",
                                                     "survey", "survey", "sites",  NULL};
    return names[kind];
}

/* Clusters of thirty rows: x1 varies within them, x2 does not, and the rows of one share an intercept. It is drawn from
 * the bridge distribution (Wang and Louis 2003), so that marginally the log odds are linear with slopes SLOPE. */
static pv_status draw_clusters(pv_ctx *ctx, const designs_cell *cell, uint64_t seed, sample *s) {
    enum { EACH = 30, COLUMNS = 5 };
    static const char *const names[COLUMNS] = {"cluster", "x1", "x2", "weight", "y"};
    const double bridge = 0.95, intercept = -0.5, pi = 3.14159265358979323846;
    size_t clusters = (size_t)cell->strata, rows = EACH * clusters;
    double *x = cli_alloc(COLUMNS * rows, sizeof *x);
    for (size_t g = 0; g < clusters; g++) {
        pv_rng rng = pv_rng_stream(seed, PV_STREAM_STUDY_PEOPLE, g);
        double level = pv_rng_normal(&rng), x2 = pv_rng_normal(&rng), u = pv_rng_uniform(&rng);
        double common = log(sin(bridge * pi * u) / sin(bridge * pi * (1 - u))) / bridge;
        s->truth[g] = intercept;
        for (size_t i = g * EACH; i < (g + 1) * EACH; i++) {
            double x1 = pv_rng_normal(&rng) + 0.7 * level;
            double odds = common + (intercept + SLOPE[0] * x1 + SLOPE[1] * x2) / bridge;
            const double row[COLUMNS] = {(double)g, x1, x2, exp(0.4 * pv_rng_normal(&rng)),
                                         pv_rng_uniform(&rng) < pv_sigmoid(odds)};
            for (size_t c = 0; c < COLUMNS; c++)
                x[c * rows + i] = row[c];
        }
    }
    pv_status status = pv_table_new(ctx, "clusters", rows, &s->table);
    for (size_t c = 0; status == PV_OK && c < COLUMNS; c++)
        status = pv_table_add_numbers(ctx, s->table, names[c], PV_ARRAY_F64, x + c * rows, PV_PACKED, NULL, false);
    free(x);
    return status;
}

static pv_status draw(pv_ctx *ctx, const designs *d, const designs_cell *cell, uint64_t seed, sample *s) {
    bool beside = cell->kind <= DESIGNS_CASES || cell->kind == DESIGNS_PREVALENCE;
    bool case_cohort = cell->kind == DESIGNS_CASES || cell->kind == DESIGNS_FRACTION;
    pv_design_simulation how = {.rows = d->options->rows,
                                .strata = cell->strata,
                                .uneven = cell->uneven,
                                .prevalence = 0.1,
                                .cohort = case_cohort ? d->options->cohort / 5 : d->options->cohort,
                                .subcohort = case_cohort ? FRACTION : 0,
                                .sets = d->options->rows / 3,
                                .per_case = 2,
                                .seed = seed};
    s->truth = cli_alloc((size_t)cell->strata + 2, sizeof *s->truth);
    if (cell->kind == DESIGNS_CLUSTERS)
        return draw_clusters(ctx, cell, seed, s);
    if (cell->kind == DESIGNS_SURVEY || cell->kind == DESIGNS_AS_COUNTS)
        how.rows *= 2;
    return pv_simulate_design(ctx, simulated_kind(cell->kind), &how, &s->table, beside ? &s->known : NULL, s->truth);
}

static pv_status learn(pv_ctx *ctx, const designs_cell *cell, bool ignore, sample *s) {
    pv_roles roles = {.target = "y", .strata = "site"};
    if (cell->kind == DESIGNS_MATCHED) {
        roles = (pv_roles){.target = "y", .features = "x1,x2", .matched = ignore ? NULL : "set"};
    } else if (cell->kind == DESIGNS_SURVEY || cell->kind == DESIGNS_CLUSTERS) {
        roles.strata = cell->kind == DESIGNS_SURVEY ? "site" : NULL;
        roles.weights = "weight";
        roles.cluster = "cluster";
        roles.weights_are = PV_WEIGHTS_SAMPLING;
    } else if (cell->kind == DESIGNS_AS_COUNTS) {
        roles = (pv_roles){.target = "y", .weights = "weight", .exclude = "cluster", .weights_are = PV_WEIGHTS_COUNTS};
    } else if (cell->strata == 1) {
        roles = (pv_roles){.target = "y", .exclude = "site"};
    }
    return pv_schema_learn(ctx, s->table, &roles, &s->schema, &s->data);
}

static pv_fit_options options_of(const designs_cell *cell, const sample *s, uint64_t seed) {
    pv_fit_options options = pv_fit_options_default();
    bool survey = cell->kind == DESIGNS_SURVEY || cell->kind == DESIGNS_CLUSTERS;
    options.infer = survey ? PV_INFER_ROBUST : PV_INFER_LAPLACE;
    options.draws = cell->kind == DESIGNS_PREVALENCE ? 100 : 1000; /* each draw infers a prevalence from all rows */
    options.seed = (int64_t)(seed % 9007199254740992);
    options.known = s->known;
    if (cell->kind == DESIGNS_KNOWN || cell->kind == DESIGNS_PREVALENCE)
        options.prevalence_by = "known";
    else if (s->known)
        options.phase_one = "known";
    if (cell->kind == DESIGNS_FRACTION)
        options.subcohort = FRACTION;
    if (survey || cell->kind == DESIGNS_AS_COUNTS)
        options.loss = PV_LOSS_PLAIN;
    return options;
}

static pv_status slopes_of(pv_ctx *ctx, const pv_classifier *c, double found[2], double held[2]) {
    pv_summary *summary;
    pv_status status = pv_classifier_summary(ctx, c, LEVEL, &summary);
    if (status != PV_OK)
        return status;
    for (size_t i = 0; i < summary->terms; i++)
        for (size_t j = 0; j < 2; j++) {
            const pv_coefficient *k = &summary->coefficient[i];
            if (strcmp(k->name, j ? "x2" : "x1") != 0)
                continue;
            found[j] = k->value.mean;
            held[j] = k->value.lo <= SLOPE[j] && SLOPE[j] <= k->value.hi;
        }
    pv_summary_free(ctx, summary);
    return PV_OK;
}

/* ---- risks ------------------------------------------------------------------------------------------------------- */

/* Ten people, the same for all samples, from strata in turn. */
static pv_status people_of(pv_ctx *ctx, const designs_cell *cell, const sample *s, pv_table **people, double *risk) {
    double x[2][DESIGNS_PEOPLE];
    char text[DESIGNS_PEOPLE][16];
    const char *site[DESIGNS_PEOPLE];
    pv_rng rng = pv_rng_stream(1, PV_STREAM_STUDY_PEOPLE, 0);
    for (size_t i = 0; i < DESIGNS_PEOPLE; i++) {
        size_t stratum = i % (size_t)cell->strata;
        x[0][i] = 0.3 + pv_rng_normal(&rng);
        x[1][i] = pv_rng_normal(&rng);
        snprintf(text[i], sizeof text[i], "s%zu", stratum + 1);
        site[i] = text[i];
        risk[i] = pv_sigmoid(s->truth[stratum] + SLOPE[0] * x[0][i] + SLOPE[1] * x[1][i]);
    }
    pv_status status = pv_table_new(ctx, "people", DESIGNS_PEOPLE, people);
    if (status == PV_OK)
        status = pv_table_add_numbers(ctx, *people, "x1", PV_ARRAY_F64, x[0], PV_PACKED, NULL, false);
    if (status == PV_OK)
        status = pv_table_add_numbers(ctx, *people, "x2", PV_ARRAY_F64, x[1], PV_PACKED, NULL, false);
    if (status == PV_OK)
        status = pv_table_add_texts(ctx, *people, "site", site, NULL);
    return status;
}

static pv_status risks_held(pv_ctx *ctx, const designs_cell *cell, const sample *s, const pv_classifier *c,
                            double *held) {
    double risk[DESIGNS_PEOPLE];
    pv_table *people = NULL;
    pv_dataset *rows = NULL;
    pv_prediction *said = NULL;
    const pv_predict_options wanted = {.level = LEVEL};
    pv_status status = people_of(ctx, cell, s, &people, risk);
    if (status == PV_OK)
        status = pv_schema_apply(ctx, c->schema, people, NULL, &rows);
    if (status == PV_OK)
        status = pv_predict_in(ctx, c, rows, pv_loss_of_design(c->loss) ? "design" : "true", &wanted, &said);
    for (size_t i = 0; status == PV_OK && i < DESIGNS_PEOPLE; i++)
        *held += (said->lo[2 * i + 1] <= risk[i] && risk[i] <= said->hi[2 * i + 1]) / (double)DESIGNS_PEOPLE;
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, rows);
    pv_table_free(ctx, people);
    return status;
}

/* ---- prevalences of an unknown population ------------------------------------------------------------------------ */

/* Rows of a population in which stratum s has prevalence 0.1, 0.2, ...: random labels, then rows of that stratum and
 * label from a large sample that has both. */
static pv_status population_rows(pv_ctx *ctx, const designs_cell *cell, uint64_t seed, const pv_schema *schema,
                                 double *truth, pv_dataset **rows) {
    size_t strata = (size_t)cell->strata, each = (size_t)cell->target, n = 0;
    pv_design_simulation how = {
        .rows = 2 * cell->target * cell->strata, .strata = cell->strata, .prevalence = 0.1, .seed = seed + 500000003};
    pv_table *table = NULL;
    pv_dataset *all = NULL;
    size_t *row = cli_alloc(strata * each, sizeof *row);
    pv_status status = pv_simulate_design(ctx, "sites", &how, &table, NULL, NULL);
    if (status == PV_OK)
        status = pv_schema_apply(ctx, schema, table, NULL, &all);
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_STUDY_CLINIC, 0);
    for (size_t s = 0; status == PV_OK && s < strata; s++) {
        size_t next[2] = {s * 2 * each + each, s * 2 * each}; /* cases come first */
        truth[s] = 0.1 * (double)(s + 1);
        for (size_t i = 0; i < each; i++)
            row[n++] = next[pv_rng_uniform(&rng) < truth[s]]++;
    }
    if (status == PV_OK)
        status = pv_dataset_take(ctx, all, n, row, rows);
    free(row);
    pv_dataset_free(ctx, all);
    pv_table_free(ctx, table);
    return status;
}

static pv_status prevalences_held(pv_ctx *ctx, const designs_cell *cell, const pv_classifier *c, uint64_t seed,
                                  double *held) {
    double *truth = cli_alloc((size_t)cell->strata, sizeof *truth);
    pv_dataset *rows = NULL;
    pv_prediction *said = NULL;
    const pv_predict_options wanted = {.level = LEVEL};
    pv_status status = population_rows(ctx, cell, seed, c->schema, truth, &rows);
    if (status == PV_OK)
        status = pv_predict_in(ctx, c, rows, "unknown", &wanted, &said);
    for (int s = 0; status == PV_OK && s < cell->strata; s++) {
        const pv_unknown_prevalence *t = said->strata->inferred[s];
        *held += (t->lo[1] <= truth[s] && truth[s] <= t->hi[1]) / (double)cell->strata;
    }
    free(truth);
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, rows);
    return status;
}

/* ---- a cell ------------------------------------------------------------------------------------------------------ */

/* The estimator with which the cell's own is compared. */
static pv_status compare(pv_ctx *ctx, const designs_cell *cell, size_t place, const sample *s, uint64_t seed,
                         designs_outcome *to) {
    sample plain = {.table = s->table};
    const sample *from = s;
    pv_fit_options options = options_of(cell, s, seed);
    pv_classifier *c = NULL;
    double w[64] = {0};
    if (cell->kind > DESIGNS_MATCHED)
        return PV_OK;
    options.infer = PV_INFER_ML;
    options.loss = cell->kind == DESIGNS_MATCHED ? PV_LOSS_PLAIN : PV_LOSS_IW;
    pv_status status = PV_OK;
    if (cell->kind == DESIGNS_MATCHED) {
        status = learn(ctx, cell, true, &plain);
        from = &plain;
    }
    if (status == PV_OK)
        status = study_fit(ctx, 2 * place + 1, from->schema, from->data, &options, &c);
    if (status == PV_OK)
        status = pv_classifier_coefficients(ctx, c, w);
    if (status == PV_OK)
        for (size_t j = 0; j < 2; j++)
            to->other += pow(w[j + 1] - SLOPE[j], 2);
    pv_classifier_free(ctx, c);
    pv_dataset_free(ctx, plain.data);
    pv_schema_free(ctx, plain.schema);
    return status;
}

static pv_status run_cell(pv_ctx *ctx, const designs *d, size_t place, uint64_t seed, designs_outcome *to) {
    const designs_cell *cell = &designs_cells[place];
    sample s = {0};
    pv_classifier *c = NULL;
    double found[2] = {NAN, NAN}, held[2] = {NAN, NAN};
    bool risks = cell->kind != DESIGNS_MATCHED && cell->kind != DESIGNS_PREVALENCE;
    *to = (designs_outcome){.slopes = NAN, .risks = NAN, .error = NAN, .other = NAN, .told = NAN};
    pv_status status = draw(ctx, d, cell, seed, &s);
    if (status == PV_OK)
        status = learn(ctx, cell, false, &s);
    pv_fit_options options = options_of(cell, &s, seed);
    if (status == PV_OK)
        status = study_fit(ctx, 2 * place, s.schema, s.data, &options, &c);
    if (status == PV_OK && cell->kind != DESIGNS_PREVALENCE)
        status = slopes_of(ctx, c, found, held);
    if (status == PV_OK) {
        to->slopes = (held[0] + held[1]) / 2;
        to->error = pow(found[0] - SLOPE[0], 2) + pow(found[1] - SLOPE[1], 2);
        to->risks = cell->kind == DESIGNS_MATCHED ? (double)NAN : 0;
        if (c->combination && cell->kind != DESIGNS_PREVALENCE)
            to->told = pv_combination_differs(c->combination);
        to->other = cell->kind <= DESIGNS_MATCHED ? 0 : (double)NAN;
    }
    if (status == PV_OK && risks)
        status = risks_held(ctx, cell, &s, c, &to->risks);
    if (status == PV_OK && cell->kind == DESIGNS_PREVALENCE)
        status = prevalences_held(ctx, cell, c, seed, &to->risks);
    if (status == PV_OK)
        status = compare(ctx, cell, place, &s, seed, to);
    pv_classifier_free(ctx, c);
    sample_clear(ctx, &s);
    return status;
}

bool designs_chosen(const designs_options *options, size_t place) {
    return !options->only || strstr(designs_cells[place].name, options->only);
}

/* Leaves out samples that lack a label in a stratum and cannot be fitted, and fits that fail. */
static pv_status run_replicate(pv_ctx *ctx, void *state, size_t replicate) {
    const designs *d = state;
    pv_status status = PV_OK;
    for (size_t place = 0; place < DESIGNS_CELLS && status == PV_OK; place++) {
        if (!designs_chosen(d->options, place))
            continue;
        uint64_t seed = (uint64_t)d->options->shared.seed + 1000003 * (replicate + 1) + 17 * place;
        designs_outcome *to = &d->made[replicate * DESIGNS_CELLS + place];
        status = run_cell(ctx, d, place, seed, to);
        if (study_fit_failed(status)) {
            *to = (designs_outcome){.slopes = NAN, .risks = NAN, .error = NAN, .other = NAN, .told = NAN};
            status = PV_OK;
        }
    }
    return status;
}

static size_t outcome_of(void *state, size_t replicate, pv_field *field) {
    const designs *d = state;
    field[0] = (pv_field){d->made + replicate * DESIGNS_CELLS, DESIGNS_CELLS * sizeof *d->made};
    return 1;
}

static bool sound(const void *state, size_t replicate) {
    const designs *d = state;
    return study_within(&d->made[replicate * DESIGNS_CELLS].slopes, DESIGNS_CELLS * sizeof *d->made / sizeof(double), 0,
                        HUGE_VAL, true);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int work(cli_call *call) {
    const designs_options *given = call->options;
    designs_options options = *given;
    if (options.quick) {
        options.rows = cli_given(call, "rows") ? options.rows : 200;
        options.cohort = cli_given(call, "cohort") ? options.cohort : 5000;
        options.replicates = cli_given(call, "replicates") ? options.replicates : 3;
    }
    bool some = false;
    for (size_t place = 0; place < DESIGNS_CELLS; place++)
        some = some || designs_chosen(&options, place);
    if (!some)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--only %s: no design has that in its name; the names are those of "
                         "results.json, as counts_10_uneven",
                         options.only);
    designs d = {.options = &options, .replicates = (size_t)options.replicates};
    d.made = cli_alloc(d.replicates * DESIGNS_CELLS, sizeof *d.made);
    int code = study_parallel(call, "data sets", d.replicates, run_replicate, outcome_of, sound, &d);
    if (code == CLI_OK)
        code = designs_report(call, &d);
    free(d.made);
    return code;
}

static int run(cli_call *call) {
    return study_run(call, &(study_plan){.name = "designs",
                                         .title = "designs",
                                         .about = "Whether intervals hold the truth where rows were sampled by other "
                                                  "designs than one pot of cases and controls. prevail " PV_VERSION,
                                         .work = work});
}

#define AT(field) offsetof(designs_options, field)

static const pv_option option_table[] = {
    STUDY_OPTION_REPLICATES(designs_options, "300", "Samples of each design."),
    {"rows", PV_OPTION_INT, AT(rows), "600", 100, 1e6, NULL, NULL, "Rows of a sample; of a survey twice as many."},
    {"cohort", PV_OPTION_INT, AT(cohort), "20000", 1000, 1e8, NULL, NULL,
     "People of a cohort; of a case-cohort sample's a fifth."},
    {"only", PV_OPTION_TEXT, AT(only), NULL, 0, 0, NULL, "TEXT",
     "Only designs whose name in the results has this in it, as counts_10."},
    {"quick", PV_OPTION_FLAG, AT(quick), NULL, 0, 0, NULL, NULL,
     "A few small samples of each design: to see that it runs, not for its numbers."},
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {{"prevail-lab designs -o out", "All designs, 300 samples each."},
                                       {"prevail-lab designs --rows 2000 --cohort 60000 -o out", "Larger samples."},
                                       {NULL, NULL}};

const cli_command lab_designs = {
    .name = "designs",
    .summary = "whether intervals hold the truth with strata, phases, matched sets and surveys",
    .usage = "[options] [-o DIR] [--json]",
    .text =
        "Simulated samples by stratum and label with known prevalences and from counts, case-cohort samples, matched "
        "sets, surveys with clusters, and populations whose strata have unknown prevalences: how often 90 % "
        "intervals of slopes and of risks hold the truth, the squared error of the slopes over that of another "
        "estimator, and how often the check of the line, at 0.05, says that it does not hold, which here it "
        "does.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(designs_options),
    .output = "A line for each design. -o writes results.json, tables.md, coverage.svg.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
