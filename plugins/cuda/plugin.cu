/* libprevail-cuda.so: the table that the library loads, the description of the device, and images in device memory. */
#include <mutex>
#include <new>
#include <stdio.h>

#include "net.h"
#include "table.h"

pv__plugin_code cuda_failed(char *why, cudaError_t error, const char *what) {
    snprintf(why, PV_PLUGIN_TEXT, "CUDA: %s (%.*s)", cudaGetErrorString(error), (int)strcspn(what, "("), what);
    (void)cudaGetLastError();
    return error == cudaErrorMemoryAllocation ? PV_PLUGIN_MEMORY : PV_PLUGIN_FAILED;
}

enum { MAJOR_LEAST = 8 }; /* required for bf16 and tf32 */

static pv__plugin_code about(pv__device_about *about, char *why) {
    int count = 0, runtime = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        snprintf(why, PV_PLUGIN_TEXT, "there is no GPU, or no driver for it (%s)",
                 cudaGetErrorString(error == cudaSuccess ? cudaErrorNoDevice : error));
        (void)cudaGetLastError();
        return PV_PLUGIN_FAILED;
    }
    cudaDeviceProp properties;
    CUDA_TRY(cudaGetDeviceProperties(&properties, 0));
    if (properties.major < MAJOR_LEAST) {
        snprintf(why, PV_PLUGIN_TEXT, "%.100s has compute capability %d.%d, and %d.0 is needed", properties.name,
                 properties.major, properties.minor, (int)MAJOR_LEAST);
        return PV_PLUGIN_FAILED;
    }
    CUDA_TRY(cudaRuntimeGetVersion(&runtime));
    const char *cudnn = cudnn_text(why);
    about->tables_only = !cudnn;
    snprintf(about->device, sizeof about->device, "%.120s", properties.name);
    snprintf(about->libraries, sizeof about->libraries, "CUDA %d.%d, %s", runtime / 1000, runtime / 10 % 100,
             cudnn ? cudnn : "no cuDNN");
    return PV_PLUGIN_OK;
}

/* ---- volumes ----------------------------------------------------------------------------------------------------- */

static std::mutex volumes_lock;
static pv__volumes *volumes_held;

static size_t bytes_of(const pv__volumes_spec *spec) {
    static const size_t size[] = {1, 2, 4};
    return spec->count * spec->planes * spec->height * spec->width * size[spec->type];
}

static pv__plugin_code volumes_make(const pv__volumes_spec *spec, pv__volumes *made, char *why) {
    CUDA_TRY(cudaMalloc(&made->pixels, bytes_of(spec)));
    CUDA_TRY(cudaMemcpy(made->pixels, spec->pixels, bytes_of(spec), cudaMemcpyHostToDevice));
    return PV_PLUGIN_OK;
}

static pv__plugin_code volumes_open(const pv__volumes_spec *spec, pv__volumes **volumes, char *why) {
    std::lock_guard<std::mutex> held(volumes_lock);
    for (*volumes = volumes_held; *volumes; *volumes = (*volumes)->next)
        if ((*volumes)->key == spec->pixels && (*volumes)->spec.count == spec->count) {
            (*volumes)->users++;
            return PV_PLUGIN_OK;
        }
    pv__volumes *made = new (std::nothrow) pv__volumes{};
    if (!made) {
        snprintf(why, PV_PLUGIN_TEXT, "out of memory");
        return PV_PLUGIN_MEMORY;
    }
    made->spec = *spec;
    made->key = spec->pixels;
    made->users = 1;
    pv__plugin_code code = volumes_make(spec, made, why);
    if (code != PV_PLUGIN_OK) {
        cudaFree(made->pixels);
        (void)cudaGetLastError();
        delete made;
        return code;
    }
    made->next = volumes_held;
    *volumes = volumes_held = made;
    return PV_PLUGIN_OK;
}

static void volumes_close(pv__volumes *volumes) {
    std::lock_guard<std::mutex> held(volumes_lock);
    if (!volumes || --volumes->users > 0)
        return;
    for (pv__volumes **at = &volumes_held; *at; at = &(*at)->next)
        if (*at == volumes) {
            *at = volumes->next;
            break;
        }
    cudaFree(volumes->pixels);
    delete volumes;
}

extern "C" __attribute__((visibility("default"))) const pv__plugin pv_plugin;
const pv__plugin pv_plugin = {
    PV_PLUGIN_VERSION, sizeof(pv__plugin), "cuda",        about,        net_open,     net_close,     net_load,
    net_forward,       net_backward,       net_gradient,  rows_score,   rows_put,     rows_get,      rows_mark,
    rows_pull,         loss_put,           loss_get,      loss_log_q,   rows_step,    rows_outcome,  volumes_open,
    volumes_close,     INPUTS_MOST,        matrix_open,   matrix_fill,  matrix_close, passes_open,   passes_close,
    passes_logistic,   passes_outputs,     passes_slopes, tied_forward, tied_sums,    tied_backward, tied_mixed,
    DRAWS_MOST,        spreads_run};
