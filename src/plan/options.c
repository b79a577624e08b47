/* The fit's options: one table for the command line, the help, the man page and the record kept with a model. */
#include <string.h>

#include "plan/plan.h"
#include "base/json.h"

#define AT(field) offsetof(pv_fit_options, field)

/* "ig|iw|plain" and "ig: ... iw: ...", each with a character before it that is left out. */
#define MODEL_USAGE(name, usage, help) "|" usage
#define MODEL_HELP(name, usage, help) help
#define LOSS_CHOICE(name, word, text) "|" #word
#define LOSS_HELP(name, word, text) " " #word ": " text "."

const pv_option pv_fit_option_table[] = {
    {"prevalence", PV_OPTION_TEXT, AT(prevalence), NULL, 0, 0, NULL, "P",
     "How common each class is in the true population: a number for two classes (the positive one), a comma list in "
     "label "
     "order, or label=p,...; an interval such as 0.005-0.02 is taken as its central 95 %. Needed by ig and iw."},
    {"prevalence-n", PV_OPTION_TEXT, AT(prevalence_n), "auto", 0, 0, NULL, "auto|N|known|rows",
     "How well the prevalence is known: the number N of observations it rests on; known: p(y|w) is held at it exactly; "
     "rows: as from as many observations as there are training rows (the sum of their weights). auto: an interval says "
     "it itself, a bare number is known."},
    {"prevalence-by", PV_OPTION_TEXT, AT(prevalence_by), NULL, 0, 0, NULL, "FILE",
     "With `strata`, in the place of `prevalence`: a CSV file with a row for each stratum. Its columns are those of "
     "`strata`, prevalence (written as in `prevalence`) and share, the stratum's part of the population."},
    {"prevalence-odds", PV_OPTION_REAL, AT(prevalence_odds), "1", 1e-6, 1e6, NULL, "F",
     "With `prevalence-by`: the odds of every stratum's prevalence are those of the file times this factor, odds of a "
     "label against the first one. 1: as in the file."},
    {"phase-one", PV_OPTION_TEXT, AT(phase_one), NULL, 0, 0, NULL, "FILE",
     "With `strata`, in the place of `prevalence`: a CSV file of the cohort that the rows were drawn from, with the "
     "columns of `strata`, the outcome and count, the people of that stratum and label; without count, a row for each "
     "person."},
    {"subcohort", PV_OPTION_REAL, AT(subcohort), "0", 0, 1, NULL, "F",
     "The rows are a case-cohort sample: all cases of a cohort, and of the others this share. In the place of "
     "`prevalence` (or, with `strata`, of `prevalence-by`); where the cohort's counts are known, `phase-one` says "
     "more. "
     "0: they are not."},
    {"loss", PV_OPTION_CHOICE, AT(loss), "ig", 0, 0, &(PV_LOSS_LIST(LOSS_CHOICE))[1], NULL,
     &(PV_LOSS_LIST(LOSS_HELP))[1]},
    {"iw-total", PV_OPTION_REAL, AT(iw_total), "0", 0, 1e12, NULL, "N",
     "iw: what the weights of all rows add up to, and so how many observations they count as beside a prior. 0: with "
     "`model=linear` in the full batch, as many as their information is worth; else as many as there are rows (the sum "
     "of their own weights)."},
    {"marginal", PV_OPTION_CHOICE, AT(marginal), "profile", 0, 0, "profile|plugin|auxiliary:constant|auxiliary:linear",
     "KIND",
     "How ig gets p(y|w): profile (p(x) profiled out; with minibatches its per-sample twin), plugin (the paper's, full "
     "batch), auxiliary:constant or auxiliary:linear (the paper's, minibatches)."},
    {"match", PV_OPTION_CHOICE, AT(match), "none", 0, 0, "none|full", NULL,
     "Move the output biases after the fit until the mean risk of the rows, weighted to the population, is the stated "
     "prevalence. For networks, and `loss=iw`; of linear models of ig with profile the intercepts hold it already."},
    {"weighting", PV_OPTION_TEXT, AT(weighting), "auto", 0, 0, NULL, "auto|0|1",
     "Linear models of ig with profile. 1: rows weighted to the population, the best linear predictor there whatever "
     "the shape of the risk. 0: the efficient estimate, better where the linear model is right. auto: both combined "
     "term by term, with the intervals of 1; 0 with ml and with a posterior."},
    {"errors", PV_OPTION_CHOICE, AT(errors), "auto", 0, 0, "auto|hc0", NULL,
     "Standard errors of weighted estimates. auto: residuals corrected for leverage, and the estimate for its bias. "
     "hc0: neither, as svyglm and sandwich of R."},
    {"model", PV_OPTION_TEXT, AT(model), "linear", 0, 0, NULL, &(PV_MODEL_LIST(MODEL_USAGE))[1],
     PV_MODEL_LIST(MODEL_HELP)},
    {"candidates", PV_OPTION_TEXT, AT(candidates), "all", 0, 0, NULL, "LIST",
     "`model=auto`: what is mixed, with commas between. prevalence: the prevalence, whatever the columns. linear: at "
     "five priors, normal:0.03 to normal:2.5. iw: linear with `loss=iw`, at two. mlp: mlp:16 at three, where rows "
     "times columns are at most 300,000."},
    {"pretrained", PV_OPTION_TEXT, AT(pretrained), NULL, 0, 0, NULL, "FILE.npz",
     "convnet, inception: the low-level module starts at the first two convolutions of VGG-16, under the names of "
     "torchvision (features.0.weight, ...) or conv1_1_W, ...; the three input channels are summed."},
    {"freeze-low", PV_OPTION_FLAG, AT(freeze_low), NULL, 0, 0, NULL, NULL,
     "convnet, inception: the low-level module stays as it starts."},
    {"infer", PV_OPTION_CHOICE, AT(infer), "map", 0, 0, "map|ml|laplace|vi|hmc|robust", NULL,
     "map: maximum a posteriori. ml: maximum likelihood, no prior. Posteriors: laplace (a Gaussian at the maximum; for "
     "images, and for a mlp in minibatches or beyond 1000 parameters, over the last layer alone), vi (a mixture of "
     "Gaussians), hmc (Hamiltonian Monte Carlo, the reference). robust: the weighted estimate of a linear model, "
     "without a prior, its standard errors by the sandwich."},
    {"prior", PV_OPTION_TEXT, AT(prior), "usual", 0, 0, NULL, "usual|auto|normal:S|student:NU|laplace:S|none",
     "Prior on slopes: per standard deviation of a numeric column, per step from 0 to 1 of an indicator. auto: normal, "
     "its scale chosen from the rows: for linear the scale, at most 2.5, by which they are most likely (marginal "
     "likelihood), else the one from 0.1 to 10 by which rows left out are predicted best in the population "
     "(cross-validation). usual: auto for `infer=map` of linear and mlp with fewer than a hundred rows of a label for "
     "each slope or weight; else normal:2.5 (none for `infer=robust`)."},
    {"intercept-prior", PV_OPTION_TEXT, AT(intercept_prior), "auto", 0, 0, NULL,
     "auto|jeffreys|normal:S|student:NU|none",
     "Prior on intercepts and biases. normal, student: centred at the log odds of the prevalence. jeffreys: half "
     "an observation of each label besides the N of `prevalence-n`. auto: normal:10, but for ig, whose prior the "
     "stated "
     "prevalence is, none, or jeffreys for a posterior with the profile marginal and a `prevalence` that is not an "
     "interval."},
    {"batch", PV_OPTION_TEXT, AT(batch), "auto", 0, 0, NULL, "auto|full|N",
     "full: all rows at once (L-BFGS). N: minibatches of N rows (Adam). auto: full; 32 for images."},
    {"design", PV_OPTION_TEXT, AT(design), "balanced", 0, 0, NULL, "uniform|balanced|optimal|counts:N,N",
     "Labels of a minibatch: as they come, equal counts, the counts of smallest gradient variance, or given counts."},
    {"population-weight", PV_OPTION_CHOICE, AT(population_weight), "counted", 0, 0, "counted|expected", NULL,
     "Weights of a minibatch towards the true population: from its own label counts (the paper's beta(2)) or the "
     "expected "
     "ones (beta(1))."},
    {"epoch-weight", PV_OPTION_CHOICE, AT(epoch_weight), "counted", 0, 0, "counted|expected", NULL,
     "Weights of a minibatch towards the training set: omega(2) or omega(1)."},
    {"direct", PV_OPTION_FLAG, AT(direct), NULL, 0, 0, NULL, NULL,
     "Estimate the marginal's label counts from the minibatch too, instead of Appendix A's form with the known "
     "counts."},
    {"implementation", PV_OPTION_CHOICE, AT(implementation), "2", 0, 0, "1|2|3", NULL,
     "The paper's implementations of the marginal's gradient; they agree to rounding."},
    {"start", PV_OPTION_CHOICE, AT(start), "prevalence", 0, 0, "prevalence|zero", NULL,
     "Where output biases and auxiliary network start: the log prevalence, or zero as in the paper."},
    {"max-iter", PV_OPTION_INT, AT(max_iter), "1000", 1, 1e9, NULL, NULL, "Full batch: largest number of iterations."},
    {"tolerance", PV_OPTION_REAL, AT(tolerance), "1e-8", 1e-14, 1, NULL, NULL,
     "Full batch: stop when no entry of the gradient exceeds this, per row."},
    {"epochs", PV_OPTION_INT, AT(epochs), "50", 1, 1e9, NULL, NULL, "Minibatches: passes over the data."},
    {"rate", PV_OPTION_REAL, AT(rate), "0", 0, 1e3, NULL, NULL,
     "Minibatches: Adam's learning rate, as `schedule` begins. 0: 0.01, and 0.0002 for images."},
    {"schedule", PV_OPTION_TEXT, AT(schedule), "cosine", 0, 0, NULL, "cosine|constant|step:E:F|warmup:E,...",
     "Minibatches: how the learning rate changes. cosine: falls to zero along a cosine. step:E:F: times F after every "
     "E "
     "epochs. warmup:E,cosine and so on: first rises linearly over E epochs."},
    {"validation", PV_OPTION_REAL, AT(validation), "0", 0, 0.5, NULL, "SHARE",
     "Minibatches: hold out about this share of the rows, label by label (in each stratum; whole groups with `group`), "
     "and score them "
     "after each epoch: negative log-likelihood in the stated population."},
    {"patience", PV_OPTION_INT, AT(patience), "0", 0, 1e9, NULL, "EPOCHS",
     "With `validation`: stop after so many epochs without a better score; the parameters of the best one are kept. 0: "
     "run all epochs and keep the last."},
    {"auxiliary-rate", PV_OPTION_REAL, AT(auxiliary_rate), "0", 0, 1e6, NULL, NULL,
     "Learning rate of the auxiliary network's bias, as a multiple of `rate` (the paper's way; vi: 10 for 0). 0: the "
     "bias "
     "follows the marginal of all rows, each as it was when last seen, which needs a pass over them at the start."},
    {"auxiliary-sparsity", PV_OPTION_REAL, AT(auxiliary_sparsity), "1e-3", 0, 1e6, NULL, NULL,
     "auxiliary:linear: each entry of its matrix is drawn towards zero by this share of a typical step. vi: the rate "
     "of "
     "its Laplace prior."},
    {"draws", PV_OPTION_INT, AT(draws), "2000", 100, 1e7, NULL, NULL,
     "Posteriors: draws kept with the model; hmc: in all chains together."},
    {"components", PV_OPTION_INT, AT(components), "8", 1, 1000, NULL, NULL, "vi: Gaussians in the mixture."},
    {"samples", PV_OPTION_INT, AT(samples), "8", 1, 1e6, NULL, NULL, "vi: samples of each component and step."},
    {"steps", PV_OPTION_INT, AT(steps), "500", 1, 1e9, NULL, NULL, "vi: steps."},
    {"vi-rate", PV_OPTION_REAL, AT(vi_rate), "0", 0, 10, NULL, NULL, "vi: learning rate; 0: the method's default."},
    {"chains", PV_OPTION_INT, AT(chains), "4", 1, 1000, NULL, NULL, "hmc: chains."},
    {"warmup", PV_OPTION_INT, AT(warmup), "1000", 20, 1e9, NULL, NULL, "hmc: steps of each chain before draws count."},
    {"seed", PV_OPTION_INT, AT(seed), "1", 0, 9007199254740992.0, NULL, NULL,
     "Seed of every random stream; recorded with the model."},
    {0}};

pv_fit_options pv_fit_options_default(void) {
    pv_fit_options options = {0};
    pv_options_default(pv_fit_option_table, &options);
    return options;
}

pv_status pv_fit_settings_new(pv_ctx *ctx, pv_settings **settings) {
    pv_settings *made;
    *settings = NULL;
    PV_TRY(pv_settings_new(ctx, &made));
    pv_status status;
    PV_GOTO(done, pv_settings_add(ctx, made, pv_role_option_table, sizeof(pv_roles), NULL));
    PV_GOTO(done, pv_settings_add(ctx, made, pv_csv_option_table, sizeof(pv_csv_options), NULL));
    PV_GOTO(done, pv_settings_add(ctx, made, pv_image_option_table, sizeof(pv_image_options), NULL));
    PV_GOTO(done, pv_settings_add(ctx, made, pv_fit_option_table, sizeof(pv_fit_options), NULL));
    *settings = made;
    made = NULL;
done:
    pv_settings_free(ctx, made);
    return status;
}

const pv_fit_options *pv_fit_options_of(const pv_settings *settings) {
    return pv_settings_values(settings, pv_fit_option_table);
}

void pv_fit_settings_set_known(pv_settings *settings, const pv_table *known) {
    const pv_fit_options *held = pv_fit_options_of(settings);
    pv_fit_options *options; /* settings that may be changed hold options that may be */
    memcpy(&options, &held, sizeof options);
    options->known = known;
}

/* NULL: no memory. */
static json_t *record_of(const pv_fit_options *options, const pv_fit_options *used) {
    json_t *record = json_object(), *list = json_object();
    int failed = json_object_set_new(record, "version", json_string(PV_VERSION));
    if (options->command)
        failed |= json_object_set_new(record, "command", pv__json_text(options->command));
    failed |= json_object_set_new(record, "options", list);
    for (const pv_option *row = pv_fit_option_table; row->name && !failed; row++) {
        char number[64], fallback[64];
        const char *text = number;
        pv_fit_options untouched = pv_fit_options_default();
        pv_option_get(row, options, number, sizeof number);
        pv_option_get(row, &untouched, fallback, sizeof fallback);
        if (row->type == PV_OPTION_TEXT) { /* of any length */
            memcpy(&text, (const char *)options + row->offset, sizeof text);
            text = text ? text : "";
        }
        json_t *entry = json_pack("{s:o, s:b}", "value", pv__json_text(text), "default", strcmp(text, fallback) == 0);
        if (strcmp(row->name, "prior") == 0 && strcmp(text, used->prior) != 0)
            failed |= json_object_set_new(entry, "used", pv__json_text(used->prior));
        if (strcmp(row->name, "prior") == 0 && used->prior_chosen)
            failed |= json_object_set_new(entry, "chosen", json_true());
        failed |= json_object_set_new(list, row->name, entry);
    }
    if (!failed)
        return record;
    json_decref(record);
    return NULL;
}

pv_status pv__record(pv_ctx *ctx, const pv_fit_options *given, const pv_fit_options *used, char **text) {
    return pv__json_dump(ctx, record_of(given, used), "the command line or an option is not valid UTF-8 text", text);
}
