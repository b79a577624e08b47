/* Replaces a font's outlines (glyphs.c) if no font is available at build time: figures contain plain text, laid out
 * with the width of an average character. */
enum { PV_GLYPH_OUTLINES = 0, PV_GLYPH_EM = 20 };
static const int16_t pv_glyph_outline[] = {0};
static const struct pv_glyph {
    uint32_t code;
    int16_t advance;
    int32_t start;
} pv_glyphs[] = {
#define AT(code)                                                                                                       \
    { (code), 12, 0 }
#define FOUR(code) AT(code), AT((code) + 1), AT((code) + 2), AT((code) + 3)
#define SIXTEEN(code) FOUR(code), FOUR((code) + 4), FOUR((code) + 8), FOUR((code) + 12)
    SIXTEEN(0x20), SIXTEEN(0x30), SIXTEEN(0x40), SIXTEEN(0x50), SIXTEEN(0x60), SIXTEEN(0x70),
#undef AT
#undef FOUR
#undef SIXTEEN
};
enum { PV_GLYPHS = sizeof pv_glyphs / sizeof *pv_glyphs };
