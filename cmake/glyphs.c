/* Compiled and run at build time: writes outlines of a font as a C table, so that figures contain text as paths. usage:
 * glyphs FONT.ttf > glyphs.h. Coordinates are font units; TrueType has only quadratic curves. */
#include <ft2build.h>
#include <stdint.h>
#include <stdio.h>
#include FT_FREETYPE_H
#include FT_OUTLINE_H

static int written; /* numbers written so far */

static void put(long value) {
    printf("%ld,%s", value, ++written % 24 ? "" : "\n");
}

static int move_to(const FT_Vector *to, void *state) {
    (void)state;
    put('M'), put(to->x), put(to->y);
    return 0;
}

static int line_to(const FT_Vector *to, void *state) {
    (void)state;
    put('L'), put(to->x), put(to->y);
    return 0;
}

static int conic_to(const FT_Vector *control, const FT_Vector *to, void *state) {
    (void)state;
    put('Q'), put(control->x), put(control->y), put(to->x), put(to->y);
    return 0;
}

static int cubic_to(const FT_Vector *a, const FT_Vector *b, const FT_Vector *to, void *state) {
    (void)a, (void)b, (void)to, (void)state;
    return 1; /* does not occur in TrueType fonts */
}

/* ASCII, Latin-1, Greek, and the few symbols used in captions. */
static const struct {
    uint32_t first, last;
} ranges[] = {{0x20, 0x7E},     {0xA0, 0xFF},     {0x391, 0x3A9},   {0x3B1, 0x3C9},
              {0x2013, 0x2014}, {0x2018, 0x201D}, {0x2026, 0x2026}, {0x2192, 0x2192},
              {0x2212, 0x2212}, {0x2264, 0x2265}, {0xFFFD, 0xFFFD}};

static void each(FT_Face face, void (*what)(FT_Face face, uint32_t code)) {
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
        for (uint32_t code = ranges[r].first; code <= ranges[r].last; code++)
            if (FT_Get_Char_Index(face, code) && FT_Load_Char(face, code, FT_LOAD_NO_SCALE) == 0)
                what(face, code);
}

static int starts[1024], count;

static void put_outline(FT_Face face, uint32_t code) {
    (void)code;
    const FT_Outline_Funcs funcs = {move_to, line_to, conic_to, cubic_to, 0, 0};
    starts[count++] = written;
    FT_Outline_Decompose(&face->glyph->outline, &funcs, NULL);
    put(0);
}

static void put_entry(FT_Face face, uint32_t code) {
    printf("{0x%X,%ld,%d},\n", (unsigned)code, face->glyph->advance.x, starts[count++]);
}

int main(int argc, char **argv) {
    FT_Library library;
    FT_Face face;
    if (argc != 2 || FT_Init_FreeType(&library) || FT_New_Face(library, argv[1], 0, &face)) {
        fprintf(stderr, "glyphs: cannot read the font %s\n", argc == 2 ? argv[1] : "");
        return 1;
    }
    printf("enum { PV_GLYPH_OUTLINES = 1, PV_GLYPH_EM = %d };\nstatic const int16_t pv_glyph_outline[] = {\n",
           (int)face->units_per_EM);
    each(face, put_outline);
    printf("};\nstatic const struct pv_glyph {\n    uint32_t code;\n    int16_t advance;\n    int32_t start;\n} "
           "pv_glyphs[] = {\n");
    count = 0;
    each(face, put_entry);
    printf("};\nenum { PV_GLYPHS = %d };\n", count);
    FT_Done_FreeType(library);
    return 0;
}
