/* The C locale for one thread. The C library has a locale for a thread, but none that can be handed to a call. */
#ifndef PV_WINDOWS_LOCALE_H
#define PV_WINDOWS_LOCALE_H

#include_next <locale.h>

#define LC_ALL_MASK 0x3f

typedef char *pv__windows_locale; /* the name to return to; NULL: unchanged */
#define locale_t pv__windows_locale

#define newlocale(mask, name, base) ((void)(mask), (void)(name), (base))
/* NULL: the C locale, if the decimal point is not its own already. */
pv__windows_locale pv__windows_uselocale(pv__windows_locale wanted);
#define uselocale(locale) pv__windows_uselocale(locale)

#endif
