/*
 * sys/sdt.h - the probes of SystemTap and DTrace as trace points of posixtrace
 *
 * A drop-in for the header of SystemTap: a program with DTRACE_PROBE2(shop, order, id, item), or with the macros that
 * `dtrace -h` makes, is compiled with `pkg-config --cflags --libs posixtrace-sdt`, and needs no change. The events have
 * the name shop:order and the fields arg1, arg2; with posixtrace-dtrace instead of dtrace, those of the .d file.
 *
 * While no stream traces the process a probe is three loads and a branch, and its arguments are not evaluated: as in a
 * build without probes. Numbers have the types of the arguments. An argument of type char * is a text of up to 255
 * bytes; any other pointer is an address. Define POSIXTRACE_SDT_NO_TEXT for texts to be addresses, too.
 *
 * For GCC and Clang, C99 and C++11. In assembly the macros are empty.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef _SYS_SDT_H
#define _SYS_SDT_H 1

#ifdef __ASSEMBLER__

# define STAP_PROBE_ASM(provider, name, ...)
# define STAP_PROBE_ASM_OPERANDS(...)

#else

/* It replaces a header of the system, so programs with -Werror must compile as with that one. */
#pragma GCC system_header

#include <posixtrace/typed.h>

/* -- The probes --------------------------------------------------------------------------------- */

#define STAP_PROBE(provider, name)  POSIXTRACE_SDT_N(0, provider, name)
#define STAP_PROBE1(provider, name, ...)  POSIXTRACE_SDT_N(1, provider, name, __VA_ARGS__)
#define STAP_PROBE2(provider, name, ...)  POSIXTRACE_SDT_N(2, provider, name, __VA_ARGS__)
#define STAP_PROBE3(provider, name, ...)  POSIXTRACE_SDT_N(3, provider, name, __VA_ARGS__)
#define STAP_PROBE4(provider, name, ...)  POSIXTRACE_SDT_N(4, provider, name, __VA_ARGS__)
#define STAP_PROBE5(provider, name, ...)  POSIXTRACE_SDT_N(5, provider, name, __VA_ARGS__)
#define STAP_PROBE6(provider, name, ...)  POSIXTRACE_SDT_N(6, provider, name, __VA_ARGS__)
#define STAP_PROBE7(provider, name, ...)  POSIXTRACE_SDT_N(7, provider, name, __VA_ARGS__)
#define STAP_PROBE8(provider, name, ...)  POSIXTRACE_SDT_N(8, provider, name, __VA_ARGS__)
#define STAP_PROBE9(provider, name, ...)  POSIXTRACE_SDT_N(9, provider, name, __VA_ARGS__)
#define STAP_PROBE10(provider, name, ...) POSIXTRACE_SDT_N(10, provider, name, __VA_ARGS__)
#define STAP_PROBE11(provider, name, ...) POSIXTRACE_SDT_N(11, provider, name, __VA_ARGS__)
#define STAP_PROBE12(provider, name, ...) POSIXTRACE_SDT_N(12, provider, name, __VA_ARGS__)
/* With any number of arguments. */
#define STAP_PROBEV(provider, ...)                                                                                     \
	POSIXTRACE__CAT(STAP_PROBE, POSIXTRACE_SDT_COUNT(__VA_ARGS__))(provider, __VA_ARGS__)

#define DTRACE_PROBE(provider, name)        STAP_PROBE(provider, name)
#define DTRACE_PROBE1(provider, name, ...)  STAP_PROBE1(provider, name, __VA_ARGS__)
#define DTRACE_PROBE2(provider, name, ...)  STAP_PROBE2(provider, name, __VA_ARGS__)
#define DTRACE_PROBE3(provider, name, ...)  STAP_PROBE3(provider, name, __VA_ARGS__)
#define DTRACE_PROBE4(provider, name, ...)  STAP_PROBE4(provider, name, __VA_ARGS__)
#define DTRACE_PROBE5(provider, name, ...)  STAP_PROBE5(provider, name, __VA_ARGS__)
#define DTRACE_PROBE6(provider, name, ...)  STAP_PROBE6(provider, name, __VA_ARGS__)
#define DTRACE_PROBE7(provider, name, ...)  STAP_PROBE7(provider, name, __VA_ARGS__)
#define DTRACE_PROBE8(provider, name, ...)  STAP_PROBE8(provider, name, __VA_ARGS__)
#define DTRACE_PROBE9(provider, name, ...)  STAP_PROBE9(provider, name, __VA_ARGS__)
#define DTRACE_PROBE10(provider, name, ...) STAP_PROBE10(provider, name, __VA_ARGS__)
#define DTRACE_PROBE11(provider, name, ...) STAP_PROBE11(provider, name, __VA_ARGS__)
#define DTRACE_PROBE12(provider, name, ...) STAP_PROBE12(provider, name, __VA_ARGS__)

/*
 * What the macros of posixtrace-dtrace call: the number of arguments, the names of the event and of its fields, which
 * are separated by commas, and the arguments. The names are string literals. A field without a name is arg1, arg2, ...
 */
#define POSIXTRACE_SDT(n, name, names, ...)                                                                            \
	do {                                                                                                           \
		if (POSIXTRACE_ENABLED()) {                                                                            \
			POSIXTRACE_SDT_TAKE##n(__VA_ARGS__)                                                            \
			static struct posixtrace_sdt_site posixtrace_sdt_site = {                                      \
				"" name, "" names, 0, n, { POSIXTRACE_SDT_EACH##n(POSIXTRACE_SDT_KIND) 0 }, 0, 0, 0    \
			};                                                                                             \
			const unsigned long long posixtrace_sdt_words[] = {                                            \
				POSIXTRACE_SDT_EACH##n(POSIXTRACE_SDT_WORD) 0                                          \
			};                                                                                             \
                                                                                                                       \
			posixtrace_sdt_record(&posixtrace_sdt_site, posixtrace_sdt_words);                             \
			/* No tail call: what records the event takes its return address for that of the probe. */     \
			__asm__ __volatile__("");                                                                      \
		}                                                                                                      \
	} while (0)

/* -- What they call. Programs do not. ------------------------------------------------------------- */

/* The types to which posixtrace-dtrace converts. */
typedef const char *posixtrace_sdt_text;
typedef const void *posixtrace_sdt_pointer;

/* Expands a provider and a name that are macros, before they become a string. */
#define POSIXTRACE_SDT_N(n, provider, ...) POSIXTRACE_SDT_NAMED(n, provider, __VA_ARGS__)
#define POSIXTRACE_SDT_NAMED(n, provider, name, ...)                                                                   \
	do {                                                                                                           \
		POSIXTRACE_SDT_SEMAPHORE(provider, name)                                                               \
		POSIXTRACE_SDT(n, #provider ":" #name, "", ##__VA_ARGS__);                                             \
	} while (0)

#define POSIXTRACE_SDT_COUNT(...) POSIXTRACE_SDT_COUNTED(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, , )
#define POSIXTRACE_SDT_COUNTED(name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, count, ...) count

/* Evaluates the arguments in their order. */
#define POSIXTRACE_SDT_TAKE0(...)
#define POSIXTRACE_SDT_TAKE1(a1)                                                                                       \
	POSIXTRACE_SDT_TAKE0() POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_1, a1)
#define POSIXTRACE_SDT_TAKE2(a1, a2)                                                                                   \
	POSIXTRACE_SDT_TAKE1(a1) POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_2, a2)
#define POSIXTRACE_SDT_TAKE3(a1, a2, a3)                                                                               \
	POSIXTRACE_SDT_TAKE2(a1, a2) POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_3, a3)
#define POSIXTRACE_SDT_TAKE4(a1, a2, a3, a4)                                                                           \
	POSIXTRACE_SDT_TAKE3(a1, a2, a3) POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_4, a4)
#define POSIXTRACE_SDT_TAKE5(a1, a2, a3, a4, a5)                                                                       \
	POSIXTRACE_SDT_TAKE4(a1, a2, a3, a4) POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_5, a5)
#define POSIXTRACE_SDT_TAKE6(a1, a2, a3, a4, a5, a6)                                                                   \
	POSIXTRACE_SDT_TAKE5(a1, a2, a3, a4, a5) POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_6, a6)
#define POSIXTRACE_SDT_TAKE7(a1, a2, a3, a4, a5, a6, a7)                                                               \
	POSIXTRACE_SDT_TAKE6(a1, a2, a3, a4, a5, a6) POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_7, a7)
#define POSIXTRACE_SDT_TAKE8(a1, a2, a3, a4, a5, a6, a7, a8)                                                           \
	POSIXTRACE_SDT_TAKE7(a1, a2, a3, a4, a5, a6, a7) POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_8, a8)
#define POSIXTRACE_SDT_TAKE9(a1, a2, a3, a4, a5, a6, a7, a8, a9)                                                       \
	POSIXTRACE_SDT_TAKE8(a1, a2, a3, a4, a5, a6, a7, a8) POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_9, a9)
#define POSIXTRACE_SDT_TAKE10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10)                                                 \
	POSIXTRACE_SDT_TAKE9(a1, a2, a3, a4, a5, a6, a7, a8, a9) POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_10, a10)
#define POSIXTRACE_SDT_TAKE11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)                                            \
	POSIXTRACE_SDT_TAKE10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_11, a11)
#define POSIXTRACE_SDT_TAKE12(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12)                                       \
	POSIXTRACE_SDT_TAKE11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11)                                            \
	POSIXTRACE_SDT_VARIABLE(posixtrace_sdt_12, a12)

/* macro(variable) of each argument, with a comma. */
#define POSIXTRACE_SDT_EACH0(macro)
#define POSIXTRACE_SDT_EACH1(macro) POSIXTRACE_SDT_EACH0(macro) macro(posixtrace_sdt_1),
#define POSIXTRACE_SDT_EACH2(macro) POSIXTRACE_SDT_EACH1(macro) macro(posixtrace_sdt_2),
#define POSIXTRACE_SDT_EACH3(macro) POSIXTRACE_SDT_EACH2(macro) macro(posixtrace_sdt_3),
#define POSIXTRACE_SDT_EACH4(macro) POSIXTRACE_SDT_EACH3(macro) macro(posixtrace_sdt_4),
#define POSIXTRACE_SDT_EACH5(macro) POSIXTRACE_SDT_EACH4(macro) macro(posixtrace_sdt_5),
#define POSIXTRACE_SDT_EACH6(macro) POSIXTRACE_SDT_EACH5(macro) macro(posixtrace_sdt_6),
#define POSIXTRACE_SDT_EACH7(macro) POSIXTRACE_SDT_EACH6(macro) macro(posixtrace_sdt_7),
#define POSIXTRACE_SDT_EACH8(macro) POSIXTRACE_SDT_EACH7(macro) macro(posixtrace_sdt_8),
#define POSIXTRACE_SDT_EACH9(macro) POSIXTRACE_SDT_EACH8(macro) macro(posixtrace_sdt_9),
#define POSIXTRACE_SDT_EACH10(macro) POSIXTRACE_SDT_EACH9(macro) macro(posixtrace_sdt_10),
#define POSIXTRACE_SDT_EACH11(macro) POSIXTRACE_SDT_EACH10(macro) macro(posixtrace_sdt_11),
#define POSIXTRACE_SDT_EACH12(macro) POSIXTRACE_SDT_EACH11(macro) macro(posixtrace_sdt_12),

/*
 * A semaphore that a program has made by hand. Its address is noted, and posixtrace_sdt_semaphores() sets it. The asm
 * has no effect where it stands.
 */
#ifdef _SDT_HAS_SEMAPHORES
# ifdef __LP64__
#  define POSIXTRACE_SDT_ADDRESS "\n\t.balign 8\n\t.8byte "
# else
#  define POSIXTRACE_SDT_ADDRESS "\n\t.balign 4\n\t.4byte "
# endif
# define POSIXTRACE_SDT_SEMAPHORE(provider, name)                                                                      \
	__asm__ __volatile__("\n\t.pushsection posixtrace_sdt_flags,\"aw\"" POSIXTRACE_SDT_ADDRESS                \
	                     #provider "_" #name "_semaphore\n\t.popsection");
#else
# define POSIXTRACE_SDT_SEMAPHORE(provider, name)
#endif

extern unsigned short *__start_posixtrace_sdt_flags[] __attribute__((__weak__, __visibility__("hidden")));
extern unsigned short *__stop_posixtrace_sdt_flags[] __attribute__((__weak__, __visibility__("hidden")));

/*
 * Sets the semaphores of this program or shared object: from now on the program prepares the arguments
 * of its probes. They are never reset, because other tracers may count in them.
 */
static __attribute__((__noinline__, __cold__, __unused__)) void posixtrace_sdt_semaphores(void)
{
	unsigned short **__semaphore = __start_posixtrace_sdt_flags;

	for (; __semaphore != __stop_posixtrace_sdt_flags; __semaphore++)
		if (__atomic_load_n(*__semaphore, __ATOMIC_RELAXED) == 0)
			__atomic_store_n(*__semaphore, 1, __ATOMIC_RELAXED);
}

/*
 * Behind the constructor of <posixtrace/typed.h>, which sets the gate if there are streams that may trace the process.
 * As long as it is zero, no stream does.
 */
static __attribute__((__constructor__, __unused__)) void posixtrace_sdt_begin(void)
{
	const struct __posix_trace_gate *__gate = __atomic_load_n(&__posix_trace_gate, __ATOMIC_ACQUIRE);

	if (__start_posixtrace_sdt_flags != __stop_posixtrace_sdt_flags &&
	    __atomic_load_n(&__gate->__vacant, __ATOMIC_RELAXED) != 0 && __posix_trace_enabled())
		posixtrace_sdt_semaphores();
}

/* What a value is: a class, and its size in bytes. */
#define POSIXTRACE_SDT_UNSIGNED 0x00
#define POSIXTRACE_SDT_SIGNED   0x10
#define POSIXTRACE_SDT_HEX      0x20
#define POSIXTRACE_SDT_FLOAT    0x30
#define POSIXTRACE_SDT_BOOL     0x40
#define POSIXTRACE_SDT_CHARS    0x50
#define POSIXTRACE_SDT_MOST     255 /* bytes of a text */

#ifdef POSIXTRACE_SDT_NO_TEXT
# define POSIXTRACE_SDT_TEXT (POSIXTRACE_SDT_HEX | sizeof(char *))
#else
# define POSIXTRACE_SDT_TEXT (POSIXTRACE_SDT_CHARS | sizeof(char *))
#endif

/* A probe in the program. What follows the kinds, and the identifier, is set when the event type is opened. */
struct POSIXTRACE__OWN posixtrace_sdt_site {
	const char *name, *names;
	trace_event_id_t id; /* 0: not opened yet */
	unsigned char count;
	unsigned char kind[13]; /* of each argument */
	/* If posixtrace_event_text() can record the event: the number of the text, from 1 on, and the bytes around it. */
	unsigned char text, before, behind;
};

/* Returns a word whose first bytes are those of the value. */
static __inline__ __attribute__((__always_inline__, __unused__)) unsigned long long
posixtrace_sdt_bytes(const void *__value, size_t __size)
{
	unsigned long long __word = 0;

	memcpy(&__word, __value, __size < sizeof __word ? __size : sizeof __word);
	return __word;
}

static __inline__ __attribute__((__always_inline__, __unused__)) unsigned long long
posixtrace_sdt_long_double(const void *__value, size_t __size)
{
	long double __long;
	double __double;

	(void)__size;
	memcpy(&__long, __value, sizeof __long);
	__double = (double)__long;
	return posixtrace_sdt_bytes(&__double, sizeof __double);
}

#ifdef __cplusplus
extern "C++" {
/* The kind of a type: here of enumerations, pointers and classes; of the latter eight bytes are recorded. */
template<class T, bool = __is_enum(T)> struct posixtrace_sdt_kind_of {
	static constexpr unsigned char kind = POSIXTRACE_SDT_HEX | (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 ?
	                                                            sizeof(T) : 8);
};
template<class T> struct posixtrace_sdt_kind_of<T, true> : posixtrace_sdt_kind_of<__underlying_type(T)> {};
# define POSIXTRACE_SDT_KIND_IS(type, is)                                                                              \
	template<> struct posixtrace_sdt_kind_of<type, false> {                                                        \
		static constexpr unsigned char kind = is;                                                              \
	};
POSIXTRACE_SDT_KIND_IS(bool, POSIXTRACE_SDT_BOOL | 1)
POSIXTRACE_SDT_KIND_IS(char, POSIXTRACE_SDT_SIGNED | 1)
POSIXTRACE_SDT_KIND_IS(signed char, POSIXTRACE_SDT_SIGNED | 1)
POSIXTRACE_SDT_KIND_IS(unsigned char, POSIXTRACE_SDT_UNSIGNED | 1)
POSIXTRACE_SDT_KIND_IS(short, POSIXTRACE_SDT_SIGNED | sizeof(short))
POSIXTRACE_SDT_KIND_IS(unsigned short, POSIXTRACE_SDT_UNSIGNED | sizeof(short))
POSIXTRACE_SDT_KIND_IS(int, POSIXTRACE_SDT_SIGNED | sizeof(int))
POSIXTRACE_SDT_KIND_IS(unsigned, POSIXTRACE_SDT_UNSIGNED | sizeof(int))
POSIXTRACE_SDT_KIND_IS(long, POSIXTRACE_SDT_SIGNED | sizeof(long))
POSIXTRACE_SDT_KIND_IS(unsigned long, POSIXTRACE_SDT_UNSIGNED | sizeof(long))
POSIXTRACE_SDT_KIND_IS(long long, POSIXTRACE_SDT_SIGNED | sizeof(long long))
POSIXTRACE_SDT_KIND_IS(unsigned long long, POSIXTRACE_SDT_UNSIGNED | sizeof(long long))
POSIXTRACE_SDT_KIND_IS(float, POSIXTRACE_SDT_FLOAT | 4)
POSIXTRACE_SDT_KIND_IS(double, POSIXTRACE_SDT_FLOAT | 8)
POSIXTRACE_SDT_KIND_IS(long double, POSIXTRACE_SDT_FLOAT | 8)
POSIXTRACE_SDT_KIND_IS(char *, POSIXTRACE_SDT_TEXT)
POSIXTRACE_SDT_KIND_IS(const char *, POSIXTRACE_SDT_TEXT)

template<class T> static inline __attribute__((__always_inline__)) unsigned long long
posixtrace_sdt_word(const T &__value)
{
	return posixtrace_sdt_bytes(&__value, sizeof __value);
}
static inline __attribute__((__always_inline__, __unused__)) unsigned long long
posixtrace_sdt_word(const long double &__value)
{
	return posixtrace_sdt_long_double(&__value, sizeof __value);
}
}
# define POSIXTRACE_SDT_VARIABLE(variable, value) auto variable = (value);
# define POSIXTRACE_SDT_KIND(variable) posixtrace_sdt_kind_of<decltype(variable)>::kind
# define POSIXTRACE_SDT_WORD(variable) posixtrace_sdt_word(variable)
#else
/* An operand of a comma is no array and no bit-field any more. */
# define POSIXTRACE_SDT_VARIABLE(variable, value) __extension__ __auto_type variable = ((void)0, (value));
# define POSIXTRACE_SDT_KIND(variable)                                                                                 \
	(__extension__ _Generic((variable), _Bool: POSIXTRACE_SDT_BOOL | 1, char: POSIXTRACE_SDT_SIGNED | 1,           \
	                        signed char: POSIXTRACE_SDT_SIGNED | 1,                                                \
	                        unsigned char: POSIXTRACE_SDT_UNSIGNED | 1,                                            \
	                        short: POSIXTRACE_SDT_SIGNED | sizeof(short),                                          \
	                        unsigned short: POSIXTRACE_SDT_UNSIGNED | sizeof(short),                               \
	                        int: POSIXTRACE_SDT_SIGNED | sizeof(int),                                              \
	                        unsigned: POSIXTRACE_SDT_UNSIGNED | sizeof(int),                                       \
	                        long: POSIXTRACE_SDT_SIGNED | sizeof(long),                                            \
	                        unsigned long: POSIXTRACE_SDT_UNSIGNED | sizeof(long),                                 \
	                        long long: POSIXTRACE_SDT_SIGNED | sizeof(long long),                                  \
	                        unsigned long long: POSIXTRACE_SDT_UNSIGNED | sizeof(long long),                       \
	                        float: POSIXTRACE_SDT_FLOAT | 4, double: POSIXTRACE_SDT_FLOAT | 8,                     \
	                        long double: POSIXTRACE_SDT_FLOAT | 8,                                                 \
	                        char *: POSIXTRACE_SDT_TEXT, const char *: POSIXTRACE_SDT_TEXT,                        \
	                        default: POSIXTRACE_SDT_KIND_OF_OTHER(variable)))
/* Of pointers, and of bit-fields, which have types of their own: an int holds all but the longest. */
# define POSIXTRACE_SDT_KIND_OF_OTHER(variable)                                                                        \
	_Generic((1 ? (variable) : 0), int: POSIXTRACE_SDT_SIGNED | sizeof(variable),                                  \
	         unsigned: POSIXTRACE_SDT_UNSIGNED | sizeof(variable),                                                 \
	         default: POSIXTRACE_SDT_HEX | (sizeof(variable) <= 4 ? sizeof(variable) : 8))
# define POSIXTRACE_SDT_WORD(variable)                                                                                 \
	(__extension__ _Generic((variable), long double: posixtrace_sdt_long_double,                                   \
	                        default: posixtrace_sdt_bytes)(&(variable), sizeof(variable)))
#endif

/* Finds out whether the arguments are one text and a few bytes. Other threads may store the same. */
static __attribute__((__noinline__, __cold__, __unused__)) void
posixtrace_sdt_find_text(struct posixtrace_sdt_site *__site)
{
	unsigned __i, __text = 0, __texts = 0, __before = 0, __behind = 0;

	for (__i = 0; __i < __site->count; __i++) {
		if (__site->kind[__i] >= POSIXTRACE_SDT_CHARS) {
			__text = __i + 1;
			__texts++;
		} else if (__texts) {
			__behind += __site->kind[__i] & 0x0fU;
		} else {
			__before += __site->kind[__i] & 0x0fU;
		}
	}
	/* On a big-endian machine the words are other bytes. */
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || __texts != 1 ||
	    __before > POSIXTRACE_AROUND_MOST || __behind > POSIXTRACE_AROUND_MOST)
		return;
	__site->before = (unsigned char)__before;
	__site->behind = (unsigned char)__behind;
	__site->text = (unsigned char)__text;
}

/* Opens the event type of a probe, with a layout of the names and the kinds. Returns as posixtrace_event_open(). */
static __attribute__((__noinline__, __cold__, __unused__)) trace_event_id_t
posixtrace_sdt_open(struct posixtrace_sdt_site *__site)
{
	static const char __letters[] = "uixf";
	char __layout[600], __name[TRACE_EVENT_NAME_MAX + 1], *__to = __layout;
	const char *__from = __site->names;
	struct posixtrace_event __event = { __name, __site->count ? __layout : NULL, 0 };
	size_t __length = strlen(__site->name);
	unsigned __i, __bits;

	posixtrace_sdt_semaphores();
	if (__length >= sizeof __name)
		__length = sizeof __name - 1;
	memcpy(__name, __site->name, __length);
	__name[__length] = '\0';
	memcpy(__to, "{packed;", 8);
	__to += 8;
	for (__i = 0; __i < __site->count; __i++) {
		unsigned __kind = __site->kind[__i] & 0xf0U, __size = __site->kind[__i] & 0x0fU;
		size_t __own = 0;

		while (__from[__own] && __from[__own] != ',')
			__own++;
		if (__own > 0 && __own <= 31) {
			memcpy(__to, __from, __own);
			__to += __own;
		} else {
			memcpy(__to, "arg", 3);
			__to += 3;
			if (__i >= 9)
				*__to++ = '1';
			*__to++ = (char)('0' + (__i + 1) % 10);
		}
		__from += __own + (__from[__own] == ',');
		*__to++ = ':';
		if (__kind == POSIXTRACE_SDT_CHARS) {
			*__to++ = 'z';
		} else if (__kind == POSIXTRACE_SDT_BOOL) {
			memcpy(__to, "bool", 4);
			__to += 4;
		} else {
			__bits = 8 * __size;
			*__to++ = __letters[__kind >> 4];
			if (__bits >= 10)
				*__to++ = (char)('0' + __bits / 10);
			*__to++ = (char)('0' + __bits % 10);
		}
		*__to++ = ',';
	}
	posixtrace_sdt_find_text(__site);
	__to[-1] = '}';
	*__to = '\0';
	__site->id = 0;
	__event.__id = posixtrace_event_open(&__event);
	/* Whoever reads the identifier finds it among those that were given out. Other threads may store the same. */
	__atomic_store_n(&__site->id, __event.__id, __ATOMIC_RELEASE);
	return __event.__id;
}

/*
 * Returns whether the page at this address can be read. The kernel looks at the signals to block before it sees that -1
 * is no way to block them. No libc call, because errno must stay.
 */
static __attribute__((__noinline__, __cold__, __unused__)) int posixtrace_sdt_readable(const char *__page)
{
#if defined __x86_64__ && defined __LP64__
	long __result;
	register long __size __asm__("r10") = 8;

	__asm__ __volatile__("syscall" : "=a"(__result)
	                     : "0"(14L), "D"(-1L), "S"(__page), "d"(0L), "r"(__size) : "rcx", "r11", "memory");
	return __result == -22;
#elif defined __i386__
	long __result;

	__asm__ __volatile__("int $0x80" : "=a"(__result)
	                     : "0"(175L), "b"(-1L), "c"(__page), "d"(0L), "S"(8L) : "memory");
	return __result == -22;
#elif defined __aarch64__
	register long __number __asm__("x8") = 135;
	register long __how __asm__("x0") = -1;
	register const char *__set __asm__("x1") = __page;
	register long __old __asm__("x2") = 0;
	register long __size __asm__("x3") = 8;

	__asm__ __volatile__("svc #0" : "+r"(__how) : "r"(__number), "r"(__set), "r"(__old), "r"(__size) : "memory");
	return __how == -22;
#else
	(void)__page;
	return 0;
#endif
}

/*
 * Returns the length of a text, or 256 if it is longer than 255 bytes. Not every char * is a text with a null: nothing
 * beyond the page is read before the kernel has said that the next page is there.
 */
static __inline__ __attribute__((__unused__)) size_t posixtrace_sdt_length(const char *__text)
{
	size_t __left = 4096 - ((uintptr_t)__text & 4095), __length;
	const char *__end;

	if (__left > POSIXTRACE_SDT_MOST)
		__left = POSIXTRACE_SDT_MOST + 1;
	__end = (const char *)memchr(__text, 0, __left);
	if (__end)
		return (size_t)(__end - __text);
	__length = __left;
	if (__length > POSIXTRACE_SDT_MOST || !posixtrace_sdt_readable(__text + __length))
		return __length;
	__left = POSIXTRACE_SDT_MOST + 1 - __length;
	__end = (const char *)memchr(__text + __length, 0, __left);
	return __length + (__end ? (size_t)(__end - __text) - __length : __left);
}

/* Copies numbers behind each other, in registers: the library loads all at once, and would wait for many stores. */
static __inline__ __attribute__((__always_inline__, __unused__)) void
posixtrace_sdt_numbers(unsigned char *__to, const struct posixtrace_sdt_site *__site, const unsigned long long *__words,
                       unsigned __from, unsigned __end)
{
	struct posixtrace__words __all = { 0, 0, 0 };

	for (; __from < __end; __from++) {
		unsigned __at = __all.__size, __size = __site->kind[__from] & 0x0fU;
		unsigned long long __bits = __words[__from];

		if (__at < 8)
			__all.__low |= __bits << 8 * __at;
		if (__at >= 8)
			__all.__high |= __bits << 8 * (__at - 8);
		else if (__at + __size > 8)
			__all.__high |= __bits >> (64 - 8 * __at);
		__all.__size += __size;
	}
	posixtrace__words_store(__to, __all);
}

/* Records an event of one text and a few bytes, which copies the text once. Returns 0, and does nothing, if it is cut. */
static __inline__ __attribute__((__always_inline__, __unused__)) int
posixtrace_sdt_record_text(const struct posixtrace_sdt_site *__site, trace_event_id_t __id,
                           const unsigned long long *__words, const void *__address)
{
	struct posixtrace_around __around;
	const char *__text;
	size_t __length;

	memcpy(&__text, &__words[__site->text - 1], sizeof __text);
	if ((uintptr_t)__text < 4096)
		__text = "(null)";
	__length = posixtrace_sdt_length(__text);
	if (__length > POSIXTRACE_SDT_MOST)
		return 0;
	posixtrace_sdt_numbers(__around.__before, __site, __words, 0, __site->text - 1U);
	posixtrace_sdt_numbers(__around.__behind, __site, __words, __site->text, __site->count);
	__around.__address = __address;
	posixtrace_event_text(__id, __text, &__around, POSIXTRACE_TEXT_SIZES(__site->before, __site->behind, __length) |
	                                               POSIXTRACE_TEXT_COUNTED);
	return 1;
}

/* Records an event at the place from which it is called. */
static __attribute__((__noinline__, __unused__)) void
posixtrace_sdt_record(struct posixtrace_sdt_site *__site, const unsigned long long *__words)
{
	/* Pairs with the release in posixtrace_sdt_open(). */
	trace_event_id_t __id = __atomic_load_n(&__site->id, __ATOMIC_ACQUIRE);
	unsigned short __lengths[12];
	const char *__text;
	unsigned char *__data, *__to;
	size_t __size = 0;
	unsigned __i;

	if (__builtin_expect(__id == 0, 0))
		__id = posixtrace_sdt_open(__site);
	if (__site->text && posixtrace_sdt_record_text(__site, __id, __words, __builtin_return_address(0)))
		return;
	for (__i = 0; __i < __site->count; __i++) {
		if (__site->kind[__i] < POSIXTRACE_SDT_CHARS) {
			__size += __site->kind[__i] & 0x0fU;
			continue;
		}
		memcpy(&__text, &__words[__i], sizeof __text);
		/* No program maps the first page. */
		__lengths[__i] = (unsigned short)((uintptr_t)__text < 4096 ? 6 : posixtrace_sdt_length(__text));
		__size += __lengths[__i] + 1U;
	}
	__data = __to = (unsigned char *)__builtin_alloca(__size + 1);
	for (__i = 0; __i < __site->count; __i++) {
		switch (__site->kind[__i] & 0x5fU) {
		case POSIXTRACE_SDT_CHARS | sizeof(char *):
			memcpy(&__text, &__words[__i], sizeof __text);
			__to = posixtrace__bytes(__to, (uintptr_t)__text < 4096 ? "(null)" : __text, __lengths[__i],
			                         POSIXTRACE_SDT_MOST);
			break;
		case POSIXTRACE_SDT_UNSIGNED | 8: case POSIXTRACE_SDT_SIGNED | 8:
			memcpy(__to, &__words[__i], 8);
			__to += 8;
			break;
		case POSIXTRACE_SDT_UNSIGNED | 4: case POSIXTRACE_SDT_SIGNED | 4:
			memcpy(__to, &__words[__i], 4);
			__to += 4;
			break;
		default:
			memcpy(__to, &__words[__i], __site->kind[__i] & 0x0fU);
			__to += __site->kind[__i] & 0x0fU;
		}
	}
	posixtrace_event_at(__id, __data, (size_t)(__to - __data), __builtin_return_address(0));
}

#endif

#endif
