/* Replaces sources that scripts/wasm names, so that the engines are small: reports, arrays and images, Parquet and
 * databases, which a page has no use for, are rejected; a checksum has a smaller table. */
#include "cli/eval.h"
#include "cli/fit_report.h"
#include "data/archive.h"
#include "data/data.h"
#include "data/inflate.h"
#include "data/query.h"
#include "tool/console.h"

static pv_status refuse(pv_ctx *ctx, const char *path, const char *what) {
    return pv__fail_at(ctx, PV_ERR_USAGE, path, 0, 0, "%s are not read by the engine for JavaScript: give CSV", what);
}

/* ---- reports ----------------------------------------------------------------------------------------------------- */

static int no_report(cli_call *call) {
    return cli_error(call, PV_ERR_USAGE, NULL, "--report: the engine for JavaScript does not write reports");
}

int eval_write_report(cli_call *call, const eval_options *options, const eval_inputs *inputs) {
    (void)options, (void)inputs;
    return no_report(call);
}

int fit_write_report(cli_call *call, const report_options *options, const pv_classifier *classifier, const char *model,
                     double level) {
    (void)options, (void)classifier, (void)model, (void)level;
    return no_report(call);
}

/* ---- arrays and images ------------------------------------------------------------------------------------------- */

pv_status pv__image_table_read(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_table **table) {
    (void)options, (void)table;
    return refuse(ctx, path, "files of arrays");
}

pv_status pv_table_of(pv_ctx *ctx, pv_archive *archive, const pv_csv_options *options, pv_table **table) {
    (void)archive, (void)options, (void)table;
    return refuse(ctx, "the archive", "files of arrays");
}

pv_status pv_images_read(pv_ctx *ctx, const char *path, const pv_image_roles *roles, pv_images **images) {
    (void)roles, (void)images;
    return refuse(ctx, path, "images");
}

pv_status pv_images_of(pv_ctx *ctx, pv_archive *archive, const pv_image_roles *roles, pv_images **images) {
    (void)archive, (void)roles, (void)images;
    return refuse(ctx, "the archive", "images");
}

void pv_images_free(pv_ctx *ctx, pv_images *images) {
    (void)ctx, (void)images;
}

pv_status pv_images_unchanged(pv_ctx *ctx, const pv_images *images, bool quick) {
    (void)ctx, (void)images, (void)quick;
    return PV_OK;
}

void pv_images_pixels(const pv_images *images, size_t row, float *pixels) {
    (void)images, (void)row, (void)pixels;
}

pv_targets pv_images_targets(const pv_images *images) {
    (void)images;
    return (pv_targets){0};
}

void pv__images_touched(const pv_images *images, size_t n) {
    (void)images, (void)n;
}

/* ---- databases ----------------------------------------------------------------------------------------------------
 */

pv_status pv__duckdb_stream(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                            struct ArrowArrayStream *stream) {
    (void)options, (void)stream;
    return refuse(ctx, query->name, "Parquet and databases");
}

pv_status pv__sqlite_stream(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                            struct ArrowArrayStream *stream) {
    return pv__duckdb_stream(ctx, query, options, stream);
}

pv_status pv__postgres_stream(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                              struct ArrowArrayStream *stream) {
    return pv__duckdb_stream(ctx, query, options, stream);
}

bool pv_output_is_parquet(const char *path) {
    (void)path;
    return false;
}

pv_status pv_parquet_check(pv_ctx *ctx, const char *path) {
    return refuse(ctx, path, "Parquet and databases");
}

pv_status pv_parquet_write(pv_ctx *ctx, const char *path, pv_pieces_source next, void *state) {
    (void)next, (void)state;
    return pv_parquet_check(ctx, path);
}

/* ---- gzip -----------------------------------------------------------------------------------------------------------
 */

uint32_t pv__crc32(uint32_t crc, const void *bytes, size_t size) {
    static const uint32_t after[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                       0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                       0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c}; /* of four bits */
    const unsigned char *p = bytes;
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc = after[(crc ^ p[i]) & 15] ^ crc >> 4;
        crc = after[(crc ^ (uint32_t)p[i] >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}
