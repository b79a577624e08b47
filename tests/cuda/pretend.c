/* A simulated device plug-in, for testing failures without a device. The environment variable PRETEND selects one:
 *   version   another version of the interface     absent   there is no device
 *   memory    a network or a table does not fit    lost     the device is lost at the third step or pass
 *   tables    networks are not supported           diverged the loss of the fifth step is NaN
 *   full      a table fits, but nothing else
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pretend.h"

struct pv__net {
    pv__net_spec spec;
    size_t params, features;
    int begun, asked; /* steps */
};

bool pretends(const char *what) {
    const char *how = getenv("PRETEND");
    return how && strcmp(how, what) == 0;
}

static pv__plugin_code about(pv__device_about *about, char *why) {
    snprintf(about->device, sizeof about->device, "Pretend 1");
    snprintf(about->libraries, sizeof about->libraries, "none");
    snprintf(why, PV_PLUGIN_TEXT, "there is no device but in pretence");
    about->tables_only = pretends("tables");
    return pretends("absent") ? PV_PLUGIN_FAILED : PV_PLUGIN_OK;
}

static pv__plugin_code net_open(const pv__net_spec *spec, pv__net **net, char *why) {
    snprintf(why, PV_PLUGIN_TEXT, "pretended");
    *net = pretends("memory") ? NULL : calloc(1, sizeof **net);
    if (!*net)
        return PV_PLUGIN_MEMORY;
    (*net)->spec = *spec;
    const pv__node *last = &spec->graph->node[spec->graph->nodes - 1];
    (*net)->features = last->out.channels;
    (*net)->params = spec->graph->params + (spec->classes ? (last->out.channels + 1) * spec->classes : 0);
    snprintf(why, PV_PLUGIN_TEXT, "%zu parameters, and not %zu", (*net)->params, spec->params);
    return spec->classes && spec->params != (*net)->params ? PV_PLUGIN_FAILED : PV_PLUGIN_OK;
}

static void net_close(pv__net *net) {
    free(net);
}

static pv__plugin_code load(pv__net *net, const double *w, char *why) {
    (void)net, (void)w, (void)why;
    return PV_PLUGIN_OK;
}

static pv__plugin_code forward(pv__net *net, size_t images, const double *x, const pv__dropout *dropout,
                               double *features, char *why) {
    (void)x, (void)dropout, (void)why;
    memset(features, 0, images * net->features * sizeof *features);
    return PV_PLUGIN_OK;
}

static pv__plugin_code backward(pv__net *net, const double *dfeatures, bool low, char *why) {
    (void)net, (void)dfeatures, (void)low, (void)why;
    return PV_PLUGIN_OK;
}

static pv__plugin_code gradient(pv__net *net, size_t begin, double *dw, char *why) {
    (void)net, (void)begin, (void)dw, (void)why;
    return PV_PLUGIN_OK;
}

static pv__plugin_code score(pv__net *net, const pv__rows *rows, double *loglik, char *why) {
    (void)why;
    for (size_t i = 0; i < rows->n * net->spec.classes; i++)
        loglik[i] = -0.69314718055994531;
    return PV_PLUGIN_OK;
}

static pv__plugin_code step(pv__net *net, const pv__rows *rows, const pv__step_terms *terms,
                            const pv__step_rates *rates, char *why) {
    (void)terms, (void)rates;
    usleep(5000); /* long enough for a checkpoint to become due */
    bool good = rows->n * net->spec.views == net->spec.images && net->begun++ - net->asked < PV_STEPS_AHEAD;
    snprintf(why, PV_PLUGIN_TEXT, good ? "it fell off the bus" : "a step of other rows, or too far ahead");
    return !good || (net->begun == 3 && pretends("lost")) ? PV_PLUGIN_FAILED : PV_PLUGIN_OK;
}

/* The value of the first step exceeds that of any finished fit. */
static pv__plugin_code outcome(pv__net *net, double *value, double *log_q, char *why) {
    (void)log_q;
    snprintf(why, PV_PLUGIN_TEXT, "no step is under way");
    *value = ++net->asked == 1 ? 1e6 : net->asked == 5 && pretends("diverged") ? (double)NAN : 10;
    return net->asked > net->begun ? PV_PLUGIN_FAILED : PV_PLUGIN_OK;
}

static pv__plugin_code put(pv__net *net, const double *w, const double *mean, const double *square,
                           const double *marked, char *why) {
    (void)net, (void)w, (void)mean, (void)square, (void)marked, (void)why;
    return PV_PLUGIN_OK;
}

static pv__plugin_code get(pv__net *net, double *w, double *mean, double *square, double *marked, char *why) {
    double *all[] = {w, mean, square, marked};
    (void)why;
    for (int i = 0; i < 4; i++)
        if (all[i])
            memset(all[i], 0, net->params * sizeof *w);
    return PV_PLUGIN_OK;
}

static pv__plugin_code mark(pv__net *net, char *why) {
    (void)net, (void)why;
    return PV_PLUGIN_OK;
}

static pv__plugin_code pull(pv__net *net, const pv__pull *prior, char *why) {
    (void)net, (void)prior, (void)why;
    return PV_PLUGIN_OK;
}

static pv__plugin_code loss_put(pv__net *net, const pv__step_loss *loss, const pv__step_state *state, char *why) {
    (void)net, (void)why;
    bool joint = loss->form == PV_STEP_JOINT;
    return joint != (state->bias != NULL) || loss->linear != (state->matrix != NULL) || (loss->n > 0 && !state->last)
               ? PV_PLUGIN_FAILED
               : PV_PLUGIN_OK;
}

static pv__plugin_code loss_get(pv__net *net, const pv__step_state *state, char *why) {
    (void)net, (void)state, (void)why;
    return PV_PLUGIN_OK;
}

static pv__plugin_code log_q(pv__net *net, double *found, char *why) {
    (void)why;
    for (size_t y = 0; y < net->spec.classes; y++)
        found[y] = -0.69314718055994531;
    return PV_PLUGIN_OK;
}

static pv__plugin_code volumes_open(const pv__volumes_spec *spec, pv__volumes **volumes, char *why) {
    static char nothing;
    (void)spec, (void)why;
    *volumes = (pv__volumes *)(void *)&nothing;
    return PV_PLUGIN_OK;
}

static void volumes_close(pv__volumes *volumes) {
    (void)volumes;
}

extern pv__plugin pv_plugin;
pv__plugin pv_plugin = {.version = PV_PLUGIN_VERSION,
                        .size = sizeof(pv__plugin),
                        .name = "pretend",
                        .about = about,
                        .open = net_open,
                        .close = net_close,
                        .load = load,
                        .forward = forward,
                        .backward = backward,
                        .gradient = gradient,
                        .score = score,
                        .put = put,
                        .get = get,
                        .mark = mark,
                        .pull = pull,
                        .loss_put = loss_put,
                        .loss_get = loss_get,
                        .log_q = log_q,
                        .step = step,
                        .outcome = outcome,
                        .volumes_open = volumes_open,
                        .volumes_close = volumes_close};

__attribute__((constructor)) static void begin(void) {
    pretend_tables(&pv_plugin);
    if (pretends("version"))
        pv_plugin.version++;
}
