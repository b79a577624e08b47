/* prevail sweep: shows how results depend on the assumed prevalence and on the loss. */
#include "cli/classifier.h"
#include "cli/commands.h"
#include "cli/stated.h"
#include "cli/sweep.h"
#include "cli/validation.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(sweep_options, field)

static const pv_option sweep_table[] = {
    {"prevalence", PV_OPTION_TEXT, AT(prevalence), NULL, 0, 0, NULL, "LIST",
     "The prevalences to assume. Two classes: numbers for the positive label, separated by commas: 0.1,0.01,0.001. "
     "More "
     "classes: distributions separated by semicolons, each as for prevail fit: '0.9,0.08,0.02;0.99,0.008,0.002'. "
     "Required, unless --strata and --prevalence-by say what is assumed."},
    {"prevalence-odds", PV_OPTION_TEXT, AT(odds), "0.5,1,2", 0, 0, NULL, "LIST",
     "With --strata and --prevalence-by: factors, separated by commas. Each assumption is the file's, with the odds of "
     "every stratum's prevalence times the factor: odds of a label against the first one."},
    {"losses", PV_OPTION_TEXT, AT(losses), "ig,iw,plain", 0, 0, NULL, "LIST",
     "The losses to compare, comma-separated. plain comes with prior correction: from the training data's label "
     "proportions to the prevalence; it does not support strata, for which the default is ig,iw."},
    {"folds", PV_OPTION_INT, AT(folds), "3", 2, 1e6, NULL, "K", "Cross-validation: folds, the same for every row."},
    {"repeats", PV_OPTION_INT, AT(repeats), "1", 1, 1e5, NULL, "R",
     "Cross-validation: number of repeats, with different folds each time."},
    {"holdout", PV_OPTION_TEXT, AT(holdout), NULL, 0, 0, NULL, "FILE",
     "Evaluate on the rows of this CSV file instead; the models are fitted to all of DATA."},
    {"population", PV_OPTION_TEXT, AT(population), "true", 0, 0, NULL, "NAME",
     "The population of the evaluated probabilities: true: each assumption's own. design: that of DATA, in which all "
     "assumptions can be compared and a correct adjustment makes no difference. known:P. unknown: inferred from the "
     "evaluated rows without their labels. holdout_nll does not depend on it unless it is unknown."},
    CLI_OPTION_STATED(sweep_options, stated_for, "population", "metrics are"),
    {"mixture", PV_OPTION_FLAG, AT(mixture), NULL, 0, 0, NULL, NULL,
     "For each loss, also evaluate the mixture of its models: probabilities averaged over the prevalences."},
    {"mixture-prior", PV_OPTION_TEXT, AT(mixture_prior), NULL, 0, 0, NULL, "LIST",
     "Prior weights of the prevalences in the mixture, separated by commas, normalised. Default: equal."},
    CLI_OPTION_END};

static const pv_option run_table[] = {
    CLI_OPTION_OUTPUT(sweep_options, output, "Also write all metrics to this file, as CSV."),
    CLI_OPTIONS_REPORT(sweep_options, report),
    CLI_OPTION_THREADS(sweep_options, running.threads),
    CLI_OPTION_RANKS(sweep_options, running.ranks),
    CLI_OPTIONS_DEVICE(sweep_options, running),
    CLI_OPTION_JSON(sweep_options, running.json, "Print one JSON object instead of a table."),
    CLI_OPTION_QUIET(sweep_options, running.quiet),
    CLI_OPTION_END};

/* ---- lists ------------------------------------------------------------------------------------------------------- */

#define LOSS_WORD(name, word, text) " " #word ","

static int read_losses(cli_call *call, const char *text, sweep_work *w) {
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        char word[16];
        pv_loss loss;
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : 0), at); /* no name is that long */
        bool found = pv_loss_find(word, &loss);
        for (size_t i = 0; found && i < w->n_losses; i++)
            found = w->losses[i] != loss;
        if (!found)
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--losses %s:" PV_LOSS_LIST(LOSS_WORD) " each at most once, separated by commas", text);
        w->losses[w->n_losses++] = loss;
        at += length;
        if (!*at)
            return CLI_OK;
    }
}

static void cut(const char *text, const char *parting, sweep_work *w) {
    w->list = cli_copy(text);
    w->prevalence = cli_alloc(strlen(text) + 1, sizeof *w->prevalence);
    for (char *at = w->list;; at++) {
        size_t length = strcspn(at, parting);
        bool last = !at[length];
        at[length] = '\0';
        at += strspn(at, " ");
        w->prevalence[w->prevalences++] = at;
        if (last)
            break;
        at += strlen(at);
    }
}

/* Commas separate the numbers of two classes, semicolons separate distributions. All are parsed before the first
 * fit. */
static int read_prevalences(cli_call *call, const char *text, sweep_work *w) {
    int classes = w->training.data->classes;
    cut(text, strchr(text, ';') || classes > 2 ? ";" : ",", w);
    double *p = cli_alloc((size_t)classes, sizeof *p), low, high;
    pv_status status = PV_OK;
    for (size_t i = 0; i < w->prevalences && status == PV_OK; i++)
        status = pv_prevalence_parse(call->ctx, "`prevalence`", w->prevalence[i], w->training.schema->labels, classes,
                                     p, &low, &high);
    free(p);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* With strata: factors for the odds. */
static int read_odds(cli_call *call, const char *text, sweep_work *w) {
    cut(text, ",", w);
    w->odds = cli_alloc(w->prevalences, sizeof *w->odds);
    w->name = cli_alloc(w->prevalences, sizeof *w->name);
    for (size_t i = 0; i < w->prevalences; i++) {
        const char *end = pv_parse_real(w->prevalence[i], &w->odds[i]);
        if (!end || *end || !(w->odds[i] >= 1e-6 && w->odds[i] <= 1e6))
            return cli_error(
                call, PV_ERR_USAGE, NULL,
                "--prevalence-odds %s: '%s' is not a factor from 1e-6 to 1e6; write a list such as 0.5,1,2", text,
                w->prevalence[i]);
        snprintf(w->name[i], sizeof *w->name, "odds x %.30s", w->prevalence[i]);
    }
    return CLI_OK;
}

/* Reads the assumptions, each only once. */
static int read_assumptions(cli_call *call, const sweep_options *options, sweep_work *w) {
    bool strata = options->roles.roles.strata != NULL;
    const char *name = strata ? "prevalence-odds" : "prevalence", *text = strata ? options->odds : options->prevalence;
    int code = (strata ? read_odds : read_prevalences)(call, text, w);
    for (size_t i = 0; i < w->prevalences && code == CLI_OK; i++)
        for (size_t j = 0; j < i; j++)
            if (strata ? w->odds[i] == w->odds[j] : strcmp(w->prevalence[i], w->prevalence[j]) == 0)
                return cli_error(call, PV_ERR_USAGE, NULL, "--%s %s: %s is there twice", name, text, w->prevalence[i]);
    return code;
}

static int read_weights(cli_call *call, const char *text, sweep_work *w) {
    w->weight = cli_alloc(w->prevalences, sizeof *w->weight);
    double total = 0;
    const char *at = text;
    for (size_t i = 0; i < w->prevalences; i++) {
        const char *end = text ? pv_parse_real(at, &w->weight[i]) : NULL;
        if (!text)
            w->weight[i] = 1;
        else if (!end || !(w->weight[i] >= 0 && w->weight[i] < 1e300) || *end != (i + 1 < w->prevalences ? ',' : '\0'))
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--mixture-prior %s: %zu non-negative numbers are needed, one for each prevalence", text,
                             w->prevalences);
        total += w->weight[i];
        if (text)
            at = end + 1;
    }
    if (!(total > 0))
        return cli_error(call, PV_ERR_USAGE, NULL, "--mixture-prior %s: one must be above 0", text);
    return CLI_OK;
}

static int check(cli_call *call, const sweep_options *options, sweep_work *w) {
    const char *strata = options->roles.roles.strata;
    bool usual = !cli_given(call, "losses");
    int code = read_losses(call, strata && usual ? "ig,iw" : options->losses, w);
    pv_fit_options fit = options->fit;
    fit.prevalence = options->prevalence; /* each fit states one of them */
    return code == CLI_OK ? cli_check_fit(call, &fit, w->losses, w->n_losses, false) : code;
}

static int read_holdout(cli_call *call, const sweep_options *options, sweep_work *w) {
    const cli_training *training = &w->training;
    int code = cli_read(call, training->schema, options->holdout, &options->roles.roles, &w->holdout);
    if (code != CLI_OK)
        return code;
    pv_status status = pv_schema_apply(call->ctx, training->schema, w->holdout, &options->roles.roles, &w->judged);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

static pv_status validate(cli_call *call, const sweep_work *w, pv_loss loss, size_t assumption, pv_validation **v) {
    const sweep_options *options = w->options;
    const pv_schema *schema = w->training.schema;
    const pv_dataset *data = w->training.data;
    pv_fit_options fit = options->fit;
    fit.command = call->line;
    fit.loss = (int)loss;
    fit.prevalence = w->odds ? NULL : w->prevalence[assumption];
    fit.prevalence_odds = w->odds ? w->odds[assumption] : 1;
    fit =
        pv_fit_options_used(&fit, w->training.data->images != NULL); /* settings that do not apply would be rejected */
    pv_validation_options how = {.folds = options->folds,
                                 .repeats = options->repeats,
                                 .population = options->population,
                                 .unknown = &options->unknown,
                                 .stated_for = options->stated_for,
                                 .level = CLI_LEVEL,
                                 .table = w->training.table,
                                 .roles = &options->roles.roles};
    pv_status status = w->judged ? pv_hold_out(call->ctx, schema, data, &fit, &how, w->judged, v)
                                 : pv_cross_validate(call->ctx, schema, data, &fit, &how, v);
    cli_progress_clear(call);
    return status;
}

static pv_status mix(cli_call *call, const sweep_work *w, size_t first, pv_validation **v) {
    const pv_validation **member = cli_alloc(w->prevalences, sizeof *member);
    for (size_t i = 0; i < w->prevalences; i++)
        member[i] = w->rows[first + i].v;
    pv_status status = pv_validation_mix(call->ctx, w->prevalences, member, w->weight, v);
    free(member);
    return status;
}

/* The facts for the checkpoint; each member has its own as well. */
static pv_status facts(cli_call *call, const sweep_options *options) {
    bool strata = options->roles.roles.strata != NULL;
    const char *assumed = strata ? options->odds : options->prevalence;
    size_t size = strlen(assumed) + strlen(options->losses) + 64;
    char *text = cli_alloc(size, 1);
    snprintf(text, size, "`%s`=%s\n`losses`=%s\n", strata ? "prevalence-odds" : "prevalence", assumed, options->losses);
    pv_status status = pv_checkpoint_facts(call->ctx, text);
    free(text);
    return status;
}

static int sweep(cli_call *call, sweep_work *w, bool *trouble) {
    pv_status status = facts(call, w->options);
    w->rows = cli_alloc(w->n_losses * (w->prevalences + 1), sizeof *w->rows);
    for (size_t l = 0; l < w->n_losses && status == PV_OK; l++) {
        size_t first = w->n_rows;
        for (size_t i = 0; i < w->prevalences && status == PV_OK; i++) {
            sweep_row *r = &w->rows[w->n_rows++];
            *r = (sweep_row){.loss = w->losses[l], .prevalence = w->odds ? w->name[i] : w->prevalence[i]};
            size_t entered = pv_checkpoint_enter(call->ctx, "members", w->n_rows);
            status = validate(call, w, r->loss, i, &r->v);
            pv_checkpoint_leave(call->ctx, entered);
            char what[96];
            snprintf(what, sizeof what, "%s at %.60s", pv_loss_name(r->loss), r->prevalence);
            if (status == PV_OK && cli_validation_warn(call, r->v, what))
                *trouble = true;
        }
        if (status == PV_OK && w->options->mixture) {
            sweep_row *r = &w->rows[w->n_rows++];
            *r = (sweep_row){.loss = w->losses[l], .prevalence = "mixture"};
            status = mix(call, w, first, &r->v);
        }
    }
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* Differences from the first row with the same population, paired by evaluated row. */
static int compare(cli_call *call, sweep_work *w) {
    for (size_t i = 0; i < w->n_rows; i++) {
        bool comparable = false;
        sweep_row *r = &w->rows[i];
        for (r->first = 0; r->first < i && !comparable; r->first += !comparable) {
            pv_status status = pv_validation_compare(call->ctx, w->rows[r->first].v, r->v, -1,
                                                     (uint64_t)w->options->fit.seed, &r->difference, &comparable);
            if (status != PV_OK)
                return cli_fail(call, status);
        }
    }
    return CLI_OK;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void note_dropped(cli_call *call, const sweep_work *w) {
    const pv_dataset *data[] = {w->training.data, w->judged};
    const char *path[] = {call->argument[0], w->options->holdout};
    for (size_t i = 0; i < 2; i++)
        if (data[i])
            cli_note_dropped(call, path[i], data[i]->image, data[i]->dropped);
}

static void clear(cli_call *call, sweep_work *w) {
    for (size_t i = 0; w->rows && i < w->n_rows; i++)
        pv_validation_free(call->ctx, w->rows[i].v);
    free(w->rows);
    free(w->weight);
    free(w->prevalence);
    free(w->odds);
    free(w->name);
    free(w->list);
    pv_dataset_free(call->ctx, w->judged);
    pv_table_free(call->ctx, w->holdout);
    cli_training_clear(call, &w->training);
}

static int run(cli_call *call) {
    sweep_options *options = call->options;
    sweep_work w = {.options = options};
    bool trouble = false;
    call->collect = true;
    pv_fit_options first = options->fit;
    first.prevalence = options->prevalence;
    int code = cli_training_prepare(call, call->argument[0], &first, &options->roles);
    if (code == CLI_OK)
        code = check(call, options, &w);
    if (code == CLI_OK)
        code = cli_validation_unknown(call, options->population, &options->unknown, CLI_LEVEL, options->fit.seed);
    if (code == CLI_OK)
        code = report_check(call, &options->report);
    if (code == CLI_OK)
        code = cli_training_read_beside(call, call->argument[0], &options->roles, &options->checkpoint, &w.training);
    if (code == CLI_OK)
        code = read_assumptions(call, options, &w);
    if (code == CLI_OK)
        code = read_weights(call, options->mixture_prior, &w);
    if (code == CLI_OK && options->holdout)
        code = read_holdout(call, options, &w);
    if (code == CLI_OK)
        code = cli_checkpoint_start(call, &options->checkpoint);
    if (code == CLI_OK)
        code = sweep(call, &w, &trouble);
    if (code == CLI_OK)
        code = compare(call, &w);
    if (code == CLI_OK && options->output)
        code = sweep_write_csv(call, &w);
    if (code == CLI_OK && report_wanted(&options->report))
        code = sweep_write_report(call, &w);
    if (code == CLI_OK && options->running.json)
        sweep_print_json(call, &w);
    else if (code == CLI_OK)
        sweep_print_table(call, &w);
    if (code == CLI_OK && !options->running.json)
        note_dropped(call, &w);
    code = cli_checkpoint_end(call, &options->checkpoint, code);
    clear(call, &w);
    return code == CLI_OK && trouble ? CLI_PROBLEMS : code;
}

static const cli_group groups[] = {
    {"Sweep", sweep_table, 0},
    {"Data", pv_role_option_table, offsetof(sweep_options, roles)},
    {"Reading", pv_csv_option_table, offsetof(sweep_options, roles.csv)},
    {"Images", pv_image_option_table, offsetof(sweep_options, roles.image)},
    {"Model", pv_fit_option_table, offsetof(sweep_options, fit)},
    {"How an unknown prevalence is inferred", pv_unknown_option_table, offsetof(sweep_options, unknown)},
    {"Running", run_table, 0},
    {"Checkpoints", cli_checkpoint_table, offsetof(sweep_options, checkpoint)},
    {NULL, NULL, 0}};

static const char *const without[] = {CLI_PHASE_OPTIONS, "loss", NULL};

static const cli_common common[] = {
    {"Data", "outcome", "The column to predict."},
    {NULL, "positive", "Which of two labels the prevalence and the rates refer to."},
    {NULL, "weights", "A column of counts or weights."},
    {NULL, "exclude", "Columns that are not features, comma-separated."},
    {NULL, "missing", "What to do with missing cells."},
    {"Population", "prevalence", "The prevalences to assume: 0.1,0.01,0.001."},
    {NULL, "stated-for", "The population that the metrics are for."},
    {NULL, "mixture", "Also evaluate the mixture of the models."},
    {"Model", "losses", "The losses to compare, comma-separated."},
    {NULL, "model", "additive: curves. ordinal: labels in order. mlp: a network. auto: a mixture."},
    {"Validation", "folds", "Number of folds."},
    {NULL, "group", "Rows with the same value in this column (a patient) stay in one fold."},
    {NULL, "holdout", "Evaluate on the rows of this CSV file instead."},
    {"Output", "output", NULL},
    {NULL, "report", "Write the results as an HTML page."},
    {NULL, "json", NULL},
    {NULL, NULL, NULL}};

static const cli_example examples[] = {
    {"prevail sweep study.csv --outcome cancer --prevalence 0.1,0.01,0.001",
     "Three assumed prevalences and three losses, evaluated by cross-validation."},
    {"prevail sweep study.csv --outcome cancer --prevalence 0.1,0.01,0.001 --losses ig --mixture --mixture-prior 1,2,1",
     "Also the mixture of the three models, with the middle one the most likely."},
    {"prevail sweep study.csv --outcome cancer --prevalence 0.02,0.01 --holdout cohort.csv --population known:0.012",
     "Evaluated on a cohort with 1.2 % cases."},
    {"prevail sweep sites.csv --outcome cancer --strata site --prevalence-by known.csv --prevalence-odds 0.5,1,2",
     "Strata, each with its own prevalence: as in the file, and with half and twice the odds."},
    {NULL, NULL}};

static const cli_rule rules[] = {
    {"strata prevalence", NULL,
     "with --strata the assumptions are the file of --prevalence-by and the factors of --prevalence-odds: leave "
     "--prevalence out"},
    {"strata", "prevalence-by",
     "--strata needs a prevalence for each: --prevalence-by FILE; the odds in it are multiplied by --prevalence-odds"},
    {"prevalence-by|prevalence-odds", "strata", "--%s needs strata: name their columns with --strata, or leave it out"},
    {"", "strata prevalence", "--prevalence is missing: a list such as 0.1,0.01,0.001"},
    {"mixture-prior", "mixture", "--mixture-prior needs --mixture"},
    {"holdout folds|repeats|group", NULL, "--folds, --repeats and --group cannot be used with --holdout"},
    {"output=-", NULL, "-o -: the table goes to standard output; give the name of a file"},
    {NULL, NULL, NULL}};

const cli_command cli_sweep = {
    .name = "sweep",
    .summary = "how results depend on the assumed prevalence and the loss",
    .usage = "DATA --outcome COL (--prevalence LIST | --strata COLS --prevalence-by FILE) [--losses LIST] [options]",
    .text = "Fits a model for each assumed prevalence and loss, and evaluates each by cross-validation on the same "
            "folds, or on a hold-out file. A case-control sample carries no information about the prevalence, so "
            "metrics cannot choose between the assumptions; the sweep shows how much depends on them.\n--mixture "
            "averages the models of a loss over a prior on the prevalences. The prior is not updated, because the "
            "label counts of the sample were chosen.\n--population-sample, --phase-one and --subcohort of prevail fit "
            "are not available here, because they determine the prevalence.",
    .arguments = cli_training_arguments,
    .groups = groups,
    .common = common,
    .hints = cli_training_hints,
    .without = without,
    .options_size = sizeof(sweep_options),
    .output =
        "A table: a row for each loss and prevalence. With --json one object: results (a list of {loss, assumed, "
        "prevalence (label: p), population_prevalence (label: p, in the population of the predictions), stated_for "
        "(label: p), metrics (as in prevail cv, without intervals)}), rows (how many were evaluated), dropped, "
        "holdout_dropped, observed (label: proportion of the rows), by (cv or holdout), folds, repeats, group, "
        "population, data, holdout, seed, seconds (of all fits), output, version, warnings. Undefined values are "
        "null.\n-o CSV "
        "has loss, prevalence (with --strata odds x FACTOR), every metric, pooled, by its name, and sd__NAME, its "
        "standard deviation over folds. Undefined values are empty.\nThe exit code is 3 if a fit diverged or did not "
        "converge.",
    .examples = examples,
    .rules = rules,
    .run = run};
