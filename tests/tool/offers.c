/*
 * offers.c - a program that has what doctor looks for: probes, instrumented functions, a sanitizer's symbol
 *
 * It is only looked into; its probes do nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#ifdef WITH_SANITIZER
void __asan_init(void);
void __asan_init(void)
{
}
#endif

#ifdef WITH_PROBES
/* The notes of two probes of one provider and one of another, at main(). */
# define PROBE(provider, name, arguments)                        \
	__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n"     \
		".balign 4\n"                                    \
		".4byte 992f-991f, 994f-993f, 3\n"               \
		"991: .asciz \"stapsdt\"\n"                      \
		"992: .balign 4\n"                               \
		"993: ." POINTER_SIZE "byte main, 0, 0\n"        \
		".asciz \"" provider "\"\n"                      \
		".asciz \"" name "\"\n"                          \
		".asciz \"" arguments "\"\n"                     \
		"994: .balign 4\n"                               \
		".popsection\n")
# if __SIZEOF_POINTER__ == 8
#  define POINTER_SIZE "8"
# else
#  define POINTER_SIZE "4"
# endif
PROBE("shop", "order__begin", "-4@$1");
PROBE("shop", "order__end", "");
PROBE("till", "open", "");
#endif

int main(void)
{
	puts("run");
	return 0;
}
