/* The options of a fit: one table for the command line, the help, the man page and the record stored with a model. */
#include <string.h>

#include "plan/plan.h"
#include "base/value.h"

#define AT(field) offsetof(pv_fit_options, field)

/* Build the choices, "ig|iw|plain", and the help, "ig: ... iw: ...", of an option from an X list. Both begin with a
 * separator, which the table skips. */
#define MODEL_USAGE(name, usage, help) "|" usage
#define MODEL_HELP(name, usage, help) help
#define LOSS_CHOICE(name, word, text) "|" #word
#define LOSS_HELP(name, word, text) " " #word ": " text "."

const pv_option pv_fit_option_table[] = {
    {"prevalence", PV_OPTION_TEXT, AT(prevalence), NULL, 0, 0, NULL, "P",
     "Prevalence in the target population: a number for two classes (the positive one), a comma-separated list in "
     "label order, or label=p,...; an interval such as 0.005-0.02 is a central 95 % interval. Needed by ig and iw."},
    {"prevalence-n", PV_OPTION_TEXT, AT(prevalence_n), "auto", 0, 0, NULL, "auto|N|known|rows",
     "How well the prevalence is known. N: it was estimated from N observations. known: exactly. rows: from as many "
     "observations as there are training rows (the sum of their weights). auto: an interval states it, a single number "
     "is known exactly."},
    {"prevalence-by", PV_OPTION_TEXT, AT(prevalence_by), NULL, 0, 0, NULL, "FILE",
     "With `strata`, instead of `prevalence`: a CSV file with a row for each stratum. Its columns are those of "
     "`strata`, prevalence (written as in `prevalence`) and share, the stratum's proportion of the population."},
    {"prevalence-odds", PV_OPTION_REAL, AT(prevalence_odds), "1", 1e-6, 1e6, NULL, "F",
     "With `prevalence-by`: multiplies the odds of every stratum's prevalence (of each label against the first) by "
     "this factor. 1: as in the file."},
    {"phase-one", PV_OPTION_TEXT, AT(phase_one), NULL, 0, 0, NULL, "FILE",
     "With `strata`, instead of `prevalence`: a CSV file of the cohort that the rows were drawn from. Its columns are "
     "those of `strata`, the outcome, and count (the people of that stratum and label); without count, one row per "
     "person."},
    {"subcohort", PV_OPTION_REAL, AT(subcohort), "0", 0, 1, NULL, "F",
     "The rows are a case-cohort sample: all cases of a cohort, and this fraction of the others. Replaces `prevalence` "
     "(with `strata`, `prevalence-by`); if the cohort's counts are known, `phase-one` is better. 0: not such a "
     "sample."},
    {"label-error", PV_OPTION_TEXT, AT(label_error), NULL, 0, 0, NULL, "LIST",
     "Labels were recorded with errors that do not depend on the columns: sensitivity=P,specificity=P of the recorded "
     "label, or its predictive values ppv=P,npv=P in the population. P: a probability, counts of a validation study "
     "such as 45/50, or a 95 % interval such as 0.85-0.95. The model is of the true label, whose prevalence is stated. "
     "Two labels, linear, in the full batch."},
    {"loss", PV_OPTION_CHOICE, AT(loss), "ig", 0, 0, &(PV_LOSS_LIST(LOSS_CHOICE))[1], NULL,
     &(PV_LOSS_LIST(LOSS_HELP))[1]},
    {"iw-total", PV_OPTION_REAL, AT(iw_total), "0", 0, 1e12, NULL, "N",
     "iw: the sum of all rows' weights, which sets how many observations they count as relative to a prior. 0: for "
     "`model=linear` in the full batch, their information; else the number of rows (the sum of their own weights)."},
    {"marginal", PV_OPTION_CHOICE, AT(marginal), "profile", 0, 0, "profile|plugin|auxiliary:constant|auxiliary:linear",
     "KIND",
     "How ig computes p(y|w): profile (p(x) profiled out; in minibatches and with `label-error`, the selection "
     "likelihood), plugin (the "
     "paper's, full batch), auxiliary:constant or auxiliary:linear (the paper's, minibatches)."},
    {"match", PV_OPTION_CHOICE, AT(match), "none", 0, 0, "none|full", NULL,
     "After the fit, shift the output biases so that the mean risk of the rows, weighted to the population, equals the "
     "stated prevalence. For networks and `loss=iw`; linear models with ig and profile already satisfy it."},
    {"weighting", PV_OPTION_TEXT, AT(weighting), "auto", 0, 0, NULL, "auto|0|1",
     "Linear models with ig and profile. 1: the weighted estimate, the best linear predictor in the population even if "
     "the linear model is wrong. 0: the efficient estimate, more precise if the linear model is right. auto: both "
     "combined term by term, with the intervals of 1; 0 with ml and with a posterior."},
    {"errors", PV_OPTION_CHOICE, AT(errors), "auto", 0, 0, "auto|hc0", NULL,
     "Standard errors of weighted estimates. auto: corrected for leverage (HC3; CR3 with clusters), and the estimate "
     "corrected for bias. hc0: neither, as in R's svyglm and sandwich."},
    {"model", PV_OPTION_TEXT, AT(model), "linear", 0, 0, NULL, &(PV_MODEL_LIST(MODEL_USAGE))[1],
     PV_MODEL_LIST(MODEL_HELP)},
    {"candidates", PV_OPTION_TEXT, AT(candidates), "all", 0, 0, NULL, "LIST",
     "`model=auto`: the models to mix, comma-separated. prevalence: the prevalence for everyone. linear: with five "
     "priors, normal:0.03 to normal:2.5. iw: linear with `loss=iw` and two priors. additive: with two priors, and mlp: "
     "mlp:16 with three, if rows times columns are at most 300,000. trees: 30 of depth 2 and 60 of depth 4, and from "
     "2,000 rows also 300, if XGBoost's library is installed. One of several is named with its prior, as in linear "
     "normal:0.3. default: the linear model with its default prior, for comparison only; not part of all."},
    {"pretrained", PV_OPTION_TEXT, AT(pretrained), NULL, 0, 0, NULL, "FILE.npz",
     "convnet, inception: an NPZ file with the first two convolutions of VGG-16, named as in torchvision "
     "(features.0.weight, ...) or conv1_1_W, ..., to start the low-level module from; the three input channels are "
     "summed."},
    {"freeze-low", PV_OPTION_FLAG, AT(freeze_low), NULL, 0, 0, NULL, NULL,
     "convnet, inception: do not train the low-level module."},
    {"infer", PV_OPTION_CHOICE, AT(infer), "map", 0, 0, "map|ml|laplace|vi|hmc|robust", NULL,
     "map: maximum a posteriori. ml: maximum likelihood, no prior. Posteriors: laplace (a Gaussian at the maximum; for "
     "images, and for an mlp in minibatches or with more than 1000 parameters, over the last layer only), vi (a "
     "mixture of Gaussians), hmc (Hamiltonian Monte Carlo, the reference). robust: the weighted estimate of a linear "
     "model, without a prior, with sandwich standard errors."},
    {"prior", PV_OPTION_TEXT, AT(prior), "usual", 0, 0, NULL, "usual|auto|normal:S|student:NU|laplace:S|none",
     "Prior on slopes: per standard deviation of a numeric column, per step from 0 to 1 of an indicator. auto: normal, "
     "with a scale chosen from the rows: for linear by marginal likelihood (at most 2.5), else by cross-validated log "
     "score in the population (0.1 to 10). usual: auto for `infer=map` of linear and mlp with fewer than a hundred "
     "rows of a label for each slope or weight; else normal:2.5 (none for `infer=robust`)."},
    {"intercept-prior", PV_OPTION_TEXT, AT(intercept_prior), "auto", 0, 0, NULL,
     "auto|jeffreys|normal:S|student:NU|none",
     "Prior on intercepts and biases. normal, student: centred at the log odds of the prevalence. jeffreys: half an "
     "observation of each label in addition to the N of `prevalence-n`. auto: normal:10; for ig none, because the "
     "stated prevalence is its prior, or jeffreys for a posterior with the profile marginal and a `prevalence` that is "
     "not an interval."},
    {"batch", PV_OPTION_TEXT, AT(batch), "auto", 0, 0, NULL, "auto|full|N",
     "full: all rows at once (L-BFGS). N: minibatches of N rows (Adam). auto: full; 32 for images."},
    {"design", PV_OPTION_TEXT, AT(design), "balanced", 0, 0, NULL, "uniform|balanced|optimal|counts:N,N",
     "Labels of a minibatch. uniform: at random. balanced: equal counts. optimal: the counts with the smallest "
     "gradient variance. counts: as given."},
    {"population-weight", PV_OPTION_CHOICE, AT(population_weight), "counted", 0, 0, "counted|expected", NULL,
     "Weights of a minibatch towards the target population: from its own label counts (the paper's beta(2)) or the "
     "expected ones (beta(1))."},
    {"epoch-weight", PV_OPTION_CHOICE, AT(epoch_weight), "counted", 0, 0, "counted|expected", NULL,
     "Weights of a minibatch towards the training set: omega(2) or omega(1)."},
    {"direct", PV_OPTION_FLAG, AT(direct), NULL, 0, 0, NULL, NULL,
     "Also estimate the marginal's label counts from the minibatch, instead of using the known counts as in Appendix "
     "A."},
    {"implementation", PV_OPTION_CHOICE, AT(implementation), "2", 0, 0, "1|2|3", NULL,
     "The paper's implementations of the marginal's gradient; they agree to rounding."},
    {"start", PV_OPTION_CHOICE, AT(start), "prevalence", 0, 0, "prevalence|zero", NULL,
     "Start of output biases and auxiliary network: the log prevalence, or zero as in the paper."},
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
     "Minibatches: hold out about this fraction of the rows, label by label (in each stratum; whole groups with "
     "`group`), and compute their log loss in the stated population after each epoch."},
    {"patience", PV_OPTION_INT, AT(patience), "0", 0, 1e9, NULL, "EPOCHS",
     "With `validation`: stop after this many epochs without a better score, and keep the best epoch's parameters. 0: "
     "run all epochs and keep the last."},
    {"auxiliary-rate", PV_OPTION_REAL, AT(auxiliary_rate), "0", 0, 1e6, NULL, NULL,
     "Learning rate of the auxiliary network's bias, as a multiple of `rate` (as in the paper; vi: 10 for 0). 0: the "
     "bias follows the marginal over all rows, each as last seen, which needs a pass over them at the start."},
    {"auxiliary-sparsity", PV_OPTION_REAL, AT(auxiliary_sparsity), "1e-3", 0, 1e6, NULL, NULL,
     "auxiliary:linear: each step shrinks the entries of its matrix towards zero by this fraction of a typical step. "
     "vi: the rate of its Laplace prior."},
    {"draws", PV_OPTION_INT, AT(draws), "2000", 100, 1e7, NULL, NULL,
     "Posteriors: draws kept with the model; hmc: in all chains together."},
    {"components", PV_OPTION_INT, AT(components), "8", 1, 1000, NULL, NULL, "vi: Gaussians in the mixture."},
    {"samples", PV_OPTION_INT, AT(samples), "8", 1, 1e6, NULL, NULL, "vi: samples per component and step."},
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
    pv_fit_options *options; /* mutable settings contain mutable options */
    memcpy(&options, &held, sizeof options);
    options->known = known;
}

static pv_result *record_of(const pv_fit_options *options, const pv_fit_options *used, pv_result *sample) {
    pv_result *record = pv__value_object(), *list = pv__value_object();
    pv__value_set(record, "version", pv__value_text(PV_VERSION));
    if (options->command)
        pv__value_set(record, "command", pv__value_text(options->command));
    pv__value_set(record, "sample", sample);
    for (const pv_option *row = pv_fit_option_table; row->name; row++) {
        char number[64], fallback[64];
        const char *text = number;
        pv_fit_options untouched = pv_fit_options_default();
        pv_option_get(row, options, number, sizeof number);
        pv_option_get(row, &untouched, fallback, sizeof fallback);
        if (row->type == PV_OPTION_TEXT) { /* may be of any length */
            memcpy(&text, (const char *)options + row->offset, sizeof text);
            text = text ? text : "";
        }
        pv_result *entry = pv__value_pack("tb", "value", text, "default", (int)(strcmp(text, fallback) == 0));
        if (strcmp(row->name, "prior") == 0 && strcmp(text, used->prior) != 0)
            pv__value_set(entry, "used", pv__value_text(used->prior));
        if (strcmp(row->name, "prior") == 0 && used->prior_chosen)
            pv__value_set(entry, "chosen", pv__value_flag(true));
        pv__value_set(list, row->name, entry);
    }
    pv__value_set(record, "options", list);
    return record;
}

pv_status pv__record(pv_ctx *ctx, const pv_fit_options *given, const pv_fit_options *used, pv_result *sample,
                     char **text) {
    pv_result *record = record_of(given, used, sample);
    pv_status status = pv__json_dump(ctx, record, "the command line or an option is not valid UTF-8 text", text);
    pv_result_free(record);
    return status;
}
