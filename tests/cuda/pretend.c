/* A plug-in that pretends: what becomes of a device that fails, where there is none. PRETEND says how:
 *   version   it is of another version             absent   there is no device
 *   memory    a network or a table does not fit    lost     the device is lost at the third step or pass
 *   tables    it has no networks
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pretend.h"

struct pv__net {
    pv__net_spec spec;
    size_t params, features;
    int steps;
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
    return PV_PLUGIN_OK;
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

static pv__plugin_code rows_forward(pv__net *net, const pv__rows *rows, double *loglik, char *why) {
    for (size_t i = 0; i < rows->n * net->spec.classes; i++)
        loglik[i] = -0.69314718055994531;
    usleep(5000); /* long enough for a checkpoint to be due */
    snprintf(why, PV_PLUGIN_TEXT, "it fell off the bus");
    return ++net->steps == 3 && pretends("lost") ? PV_PLUGIN_FAILED : PV_PLUGIN_OK;
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

static pv__plugin_code rows_backward(pv__net *net, const double *dloglik, bool low, char *why) {
    return backward(net, dloglik, low, why);
}

static pv__plugin_code mark(pv__net *net, char *why) {
    (void)net, (void)why;
    return PV_PLUGIN_OK;
}

static pv__plugin_code pull(pv__net *net, const pv__pull *prior, char *why) {
    (void)net, (void)prior, (void)why;
    return PV_PLUGIN_OK;
}

static pv__plugin_code learn(pv__net *net, size_t begin, double rate, int64_t step, const pv__follow *follow,
                             char *why) {
    (void)net, (void)begin, (void)rate, (void)step, (void)follow, (void)why;
    return PV_PLUGIN_OK;
}

static pv__plugin_code auxiliary_put(pv__net *net, const double *offset, const double *matrix, char *why) {
    (void)net, (void)offset, (void)matrix, (void)why;
    return PV_PLUGIN_OK;
}

static pv__plugin_code auxiliary_get(pv__net *net, double *offset, double *matrix, char *why) {
    (void)why;
    memset(offset, 0, net->params * sizeof *offset);
    memset(matrix, 0, net->params * net->spec.classes * sizeof *matrix);
    return PV_PLUGIN_OK;
}

static pv__plugin_code auxiliary_sums(pv__net *net, double *sums, char *why) {
    (void)why;
    memset(sums, 0, (2 * net->spec.classes + 1) * sizeof *sums);
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
                        .rows_forward = rows_forward,
                        .rows_backward = rows_backward,
                        .put = put,
                        .get = get,
                        .mark = mark,
                        .pull = pull,
                        .learn = learn,
                        .auxiliary_put = auxiliary_put,
                        .auxiliary_get = auxiliary_get,
                        .auxiliary_sums = auxiliary_sums,
                        .volumes_open = volumes_open,
                        .volumes_close = volumes_close};

__attribute__((constructor)) static void begin(void) {
    pretend_tables(&pv_plugin);
    if (pretends("version"))
        pv_plugin.version++;
}
