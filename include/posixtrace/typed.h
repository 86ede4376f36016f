/*
 * typed.h - trace points with typed fields, in one line
 *
 *     POSIXTRACE_EVENT(shop, order, (u32, id), (str, item), (u64, price, "ct"))
 *
 *     void order(uint32_t id, const char *item)
 *     {
 *             POSIXTRACE_SCOPE("shop.work");
 *             POSIXTRACE(shop, order, id, item, 199);
 *     }
 *
 * Defines the event type shop.order, whose fields all tools show by name, and records an event. While no stream traces
 * the process a trace point is three loads and a branch: then the arguments are not evaluated. The event type is opened
 * when the first event is recorded. The same event may be defined in several files and shared objects.
 *
 * A field is (TYPE, name) or, with something about it, (TYPE, name, MORE); up to 16 fields:
 *
 *     u8 u16 u32 u64, i8 ..., x8 ...   unsigned, signed, unsigned in hexadecimal      MORE: a unit, "ns"
 *     f32 f64                          float, double                                  MORE: a unit
 *     boolean                          bool
 *     ptr                              const void *
 *     code                             POSIXTRACE_CODE(function): the address of a function
 *     when                             uint64_t: nanoseconds since 1970
 *     e8 e16 e32                       an unsigned enumeration, or flags              MORE: "idle,busy=4", "read|write"
 *     str                              const char *                                   MORE: most bytes, 255 by default
 *     text                             POSIXTRACE_TEXT(pointer, size): up to its null, if it has one
 *                                                                                     MORE: most bytes, 255 by default
 *     u8s u16s ... f32s f64s           POSIXTRACE_ARRAY(pointer, count): numbers      MORE: most items, 16 by default,
 *                                                                                           and behind them a unit
 *     bytes                            POSIXTRACE_BYTES(pointer, size)                MORE: most bytes, 64 by default
 *
 * A longer text is cut, and then ends with an ellipsis. Arrays and bytes are cut without a mark: one with fewer items
 * than MORE is whole. Their number is a field before them, n_NAME. The data of an event are made on the stack, which
 * takes as much room as the longest texts and arrays; not those of an event with one str, which is copied once.
 *
 * For a note in passing there is tracef("shop.note", "order %d of %s", id, item), or POSIXTRACE_F(): an event with the
 * fields order and of, which is not defined before. The arguments are recorded as they are, not as a text.
 *
 * Short names, TRACE_EVENT, TRACE_EVENT_AS, TRACE_SCOPE, TRACE_COUNTER, trace() and tracef(), are defined if
 * POSIXTRACE_SHORT_NAMES is defined before this header is included.
 *
 * For GCC and Clang, C99 and C++11.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef POSIXTRACE_TYPED_H
#define POSIXTRACE_TYPED_H

#ifndef __GNUC__
# error "posixtrace/typed.h is for GCC and Clang"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace.h"

/* -- Events --------------------------------------------------------------------------------- */

/* Defines the event type GROUP.NAME with these fields. At file scope, without a semicolon behind it. */
#define POSIXTRACE_EVENT(group, ...)                                                                                   \
	POSIXTRACE__CAT(POSIXTRACE__EVENT, POSIXTRACE__HAS_FIELDS(__VA_ARGS__))(group, __VA_ARGS__)

/*
 * Defines such an event type with a meaning: attributes is a string literal, "begin=shop.order,by=id", "took=time",
 * "counter", "level=warning" or others of docs/layouts.md. There is at least one field.
 */
#define POSIXTRACE_EVENT_AS(group, name, attributes, ...)                                                              \
	POSIXTRACE__CAT(POSIXTRACE__EVENT_AS, POSIXTRACE__HAS_FIELDS(name, __VA_ARGS__))(group, name, "," attributes,  \
	                                                                                 __VA_ARGS__)

/*
 * Records an event: POSIXTRACE(group, name, value of each field...). The values are only evaluated if the process is
 * traced, but those of the first trace point of a process, which finds out whether it is.
 */
#define POSIXTRACE(group, ...)                                                                                         \
	do {                                                                                                           \
		if (POSIXTRACE_ENABLED())                                                                              \
			POSIXTRACE__CAT(POSIXTRACE__RECORD, POSIXTRACE__HAS_FIELDS(__VA_ARGS__))(group, __VA_ARGS__);  \
	} while (0)

/* Returns whether POSIXTRACE() records: for work that only an event needs. */
#define POSIXTRACE_ENABLED() __builtin_expect(posixtrace_enabled(), 0)

/* A value of a field of type text: `size` bytes that need not end with a null. A null pointer is "(null)". */
struct posixtrace_text {
	const char *data;
	size_t size;
};

#ifdef __cplusplus
# define POSIXTRACE_TEXT(data, size) (posixtrace_text{ (data), (size) })
#else
# define POSIXTRACE_TEXT(data, size) ((struct posixtrace_text){ (data), (size) })
#endif

/* The value of a field of type code: a function of any type. */
#define POSIXTRACE_CODE(function) ((const void *)(uintptr_t)(function))

/*
 * The value of a field of type u8s to f64s: `count` numbers, at a pointer to numbers of exactly this type (uint32_t for
 * u32s and x32s). A null pointer is an empty array.
 */
#define POSIXTRACE_ARRAY(items, count) POSIXTRACE__ARRAY(items)((items), (count))

/* The value of a field of type bytes: `size` bytes of anything. A null pointer is no bytes. */
#define POSIXTRACE_BYTES(data, size) posixtrace__bytes_of((data), (size))

/*
 * Records NAME.begin here and NAME.end where the block is left, by any way but longjmp(). name is a string literal. The
 * tools show the time between the two. There is no end if the beginning was not recorded. No jump, goto or case, may
 * lead from before this line to behind it: the compiler refuses it. Then the scope needs a block of its own.
 */
#define POSIXTRACE_SCOPE(name)                                                                                         \
	POSIXTRACE__CHECK_NAME(name ".begin");                                                                         \
	POSIXTRACE__ASSERT(sizeof "" name > 1, "a scope has a name");                                                  \
	static struct posixtrace__scope POSIXTRACE__CAT(posixtrace_scope_events_, __LINE__) = {                        \
		{ name ".begin", NULL, 0 }, { name ".end", NULL, 0 }                                                   \
	};                                                                                                             \
	POSIXTRACE__REFUSE_JUMPS(POSIXTRACE__CAT(posixtrace_no_jump_over_this_scope_, __LINE__))                       \
	struct posixtrace_event *POSIXTRACE__CAT(posixtrace_scope_, __LINE__)                                          \
		__attribute__((__cleanup__(posixtrace__scope_end), __unused__)) =                                      \
			posixtrace__scope_begin(&POSIXTRACE__CAT(posixtrace_scope_events_, __LINE__))

/*
 * Records the value of a counter, an integer or a floating point number, as the event NAME with the field value. name
 * is a string literal. Integers above INT64_MAX, and floating point numbers of a counter that began with integers, are
 * recorded under a name with their type, "NAME(value:f64)".
 */
#define POSIXTRACE_COUNTER(name, value)                                                                                \
	do {                                                                                                           \
		POSIXTRACE__CHECK_NAME(name);                                                                          \
		static struct posixtrace__counter posixtrace__counter = { "" name, { 0, 0, 0 } };                      \
		if (POSIXTRACE_ENABLED())                                                                              \
			POSIXTRACE__COUNT_AS(value)(&posixtrace__counter, value);                                      \
	} while (0)

/*
 * POSIXTRACE_F("shop.note", "order %d of %s", id, item) records an event whose fields are the arguments of a format of
 * printf(), up to 10: numbers, bool, const char *, const void *. Both texts are literals. Each field is named after the
 * words before its conversion, here order and of; or after its position, a1, if there are no words, or the words of
 * another one. Their last 31 bytes count. A text has at most 255 bytes. Without arguments the format is the field text.
 * The arguments are only evaluated if traced.
 */
#define POSIXTRACE_F(name, ...)                                                                                        \
	do {                                                                                                           \
		POSIXTRACE__CHECK_NAME(name);                                                                          \
		if (0)                                                                                                 \
			posixtrace__format_check("" __VA_ARGS__);                                                      \
		if (POSIXTRACE_ENABLED()) {                                                                            \
			static struct posixtrace__note posixtrace__note = {                                            \
				{ { "" name, NULL, 0 }, posixtrace__note.letters, 0 },                                 \
				{ POSIXTRACE__CAT(POSIXTRACE__LETTERS, POSIXTRACE__COUNT(__VA_ARGS__))(__VA_ARGS__) }  \
			};                                                                                             \
			struct posixtrace__arguments posixtrace__arguments;                                            \
			unsigned char posixtrace__data[80];                                                            \
                                                                                                                       \
			posixtrace__arguments_begin(&posixtrace__arguments, posixtrace__data);                         \
			POSIXTRACE__CAT(POSIXTRACE__ARGUMENTS, POSIXTRACE__COUNT(__VA_ARGS__))(__VA_ARGS__)            \
			posixtrace__arguments_record(&posixtrace__note.format, &posixtrace__arguments,                 \
			                             "" POSIXTRACE__FIRST(__VA_ARGS__, ));                             \
			__asm__ __volatile__("");                                                                      \
		}                                                                                                      \
	} while (0)

#ifdef POSIXTRACE_SHORT_NAMES
# define TRACE_EVENT(...)           POSIXTRACE_EVENT(__VA_ARGS__)
# define TRACE_EVENT_AS(...)        POSIXTRACE_EVENT_AS(__VA_ARGS__)
# define TRACE_SCOPE(name)          POSIXTRACE_SCOPE(name)
# define TRACE_COUNTER(name, value) POSIXTRACE_COUNTER(name, value)
# define trace(...)                 POSIXTRACE(__VA_ARGS__)
# define tracef(...)                POSIXTRACE_F(__VA_ARGS__)
#endif

/* -- What the macros call. Programs do not. ------------------------------------------------------- */

/* Whether this program or shared object has opened its streams. All of its files share the variable. */
extern int posixtrace__looked __attribute__((__weak__, __visibility__("hidden")));
int posixtrace__looked;

/* A daemon may become another user before its first event. */
static __attribute__((__constructor__, __unused__)) void posixtrace__begin(void)
{
	if (!posixtrace__looked)
		posixtrace_attach();
	posixtrace__looked = 1;
}

/*
 * The types of static variables in the macros. In C++ they are hidden, because the variables of an inline function or a
 * template would be unique in the process otherwise, which keeps a shared object from being unloaded.
 */
#ifdef __cplusplus
# define POSIXTRACE__OWN __attribute__((__visibility__("hidden")))
#else
# define POSIXTRACE__OWN
#endif

struct POSIXTRACE__OWN posixtrace__scope {
	struct posixtrace_event begin, end;
};

/* A counter, and its event types: for integers up to INT64_MAX, for greater ones, for floating point numbers. */
struct POSIXTRACE__OWN posixtrace__counter {
	const char *name;
	trace_event_id_t id[3];
};

struct POSIXTRACE__OWN posixtrace__note {
	struct posixtrace_format format;
	char letters[11]; /* of each argument, and a null */
};

static __inline__ __attribute__((__always_inline__, __unused__)) trace_event_id_t
posixtrace__id(struct posixtrace_event *__event)
{
	/* Pairs with the release in posixtrace_event_open(). */
	trace_event_id_t __id = __atomic_load_n(&__event->__id, __ATOMIC_ACQUIRE);

	return __builtin_expect(__id != 0, 1) ? __id : posixtrace_event_open(__event);
}

/* Ends a text that was cut with an ellipsis, behind a whole character. Returns the new length. */
static __attribute__((__noinline__, __cold__, __unused__)) size_t posixtrace__ellipsis(unsigned char *__text,
                                                                                       size_t __length)
{
	size_t __at;

	if (__length < 3)
		return __length;
	__at = __length - 3;
	while (__at > 0 && (__text[__at] & 0xc0) == 0x80)
		__at--;
	memcpy(__text + __at, "\xe2\x80\xa6", 3);
	return __at + 3;
}

/* Copies some dozens of bytes, most of the time, by moves that may overlap: a call takes longer. */
static __inline__ __attribute__((__always_inline__, __unused__)) void posixtrace__copy(unsigned char *__to,
                                                                                      const char *__from, size_t __n)
{
	size_t __i = 0;

	if (__n >= 16) {
		for (; __i + 16 < __n; __i += 16)
			memcpy(__to + __i, __from + __i, 16);
		memcpy(__to + __n - 16, __from + __n - 16, 16);
	} else if (__n >= 8) {
		memcpy(__to, __from, 8);
		memcpy(__to + __n - 8, __from + __n - 8, 8);
	} else if (__n >= 4) {
		memcpy(__to, __from, 4);
		memcpy(__to + __n - 4, __from + __n - 4, 4);
	} else {
		for (; __i < __n; __i++)
			__to[__i] = (unsigned char)__from[__i];
	}
}

/* Writes at most `most` of all the bytes of a text, and a null. Returns the end. */
static __inline__ __attribute__((__always_inline__, __unused__)) unsigned char *
posixtrace__bytes(unsigned char *__to, const char *__text, size_t __all, size_t __most)
{
	size_t __length = __all < __most ? __all : __most;

	posixtrace__copy(__to, __text, __length);
	if (__builtin_expect(__length < __all, 0))
		__length = posixtrace__ellipsis(__to, __length);
	__to[__length] = 0;
	return __to + __length + 1;
}

static __inline__ __attribute__((__always_inline__, __unused__)) unsigned char *
posixtrace__str(unsigned char *__to, const char *__text, size_t __most)
{
	if (!__text)
		__text = "(null)";
	return posixtrace__bytes(__to, __text, strlen(__text), __most);
}

static __inline__ __attribute__((__always_inline__, __unused__)) unsigned char *
posixtrace__text(unsigned char *__to, struct posixtrace_text __text, size_t __most)
{
	const char *__found;

	if (!__text.data && __text.size > 0)
		return posixtrace__str(__to, NULL, __most);
	__found = __text.size > 0 ? (const char *)memchr(__text.data, 0, __text.size) : NULL;
	return posixtrace__bytes(__to, __text.data, __found ? (size_t)(__found - __text.data) : __text.size, __most);
}

/* The value of an array: a type for each type of its items, so that the compiler refuses another one. */
#ifdef __cplusplus
extern "C++" {
# define POSIXTRACE__ARRAY(items)    posixtrace__array
# define POSIXTRACE__ARRAY_OF(type)  posixtrace__array
#else
# define POSIXTRACE__ARRAY(items)                                                                                      \
	__extension__ _Generic(*(items), uint8_t: posixtrace__array_u8s, uint16_t: posixtrace__array_u16s,             \
	                       uint32_t: posixtrace__array_u32s, uint64_t: posixtrace__array_u64s,                     \
	                       int8_t: posixtrace__array_i8s, int16_t: posixtrace__array_i16s,                         \
	                       int32_t: posixtrace__array_i32s, int64_t: posixtrace__array_i64s,                       \
	                       float: posixtrace__array_f32s, double: posixtrace__array_f64s)
# define POSIXTRACE__ARRAY_OF(type)  posixtrace__array_##type
#endif
#define POSIXTRACE__DEFINE_ARRAY(type, item)                                                                           \
	struct posixtrace_##type {                                                                                     \
		const item *data;                                                                                      \
		size_t size;                                                                                           \
	};                                                                                                             \
	static __inline__ __attribute__((__always_inline__, __unused__)) struct posixtrace_##type                      \
	POSIXTRACE__ARRAY_OF(type)(const item *__items, size_t __count)                                                \
	{                                                                                                              \
		struct posixtrace_##type __array = { __items, __items ? __count : 0 };                                 \
                                                                                                                       \
		return __array;                                                                                        \
	}
POSIXTRACE__DEFINE_ARRAY(u8s, uint8_t)
POSIXTRACE__DEFINE_ARRAY(u16s, uint16_t)
POSIXTRACE__DEFINE_ARRAY(u32s, uint32_t)
POSIXTRACE__DEFINE_ARRAY(u64s, uint64_t)
POSIXTRACE__DEFINE_ARRAY(i8s, int8_t)
POSIXTRACE__DEFINE_ARRAY(i16s, int16_t)
POSIXTRACE__DEFINE_ARRAY(i32s, int32_t)
POSIXTRACE__DEFINE_ARRAY(i64s, int64_t)
POSIXTRACE__DEFINE_ARRAY(f32s, float)
POSIXTRACE__DEFINE_ARRAY(f64s, double)
#ifdef __cplusplus
}
#endif

struct posixtrace_bytes {
	const void *data;
	size_t size;
};

static __inline__ __attribute__((__always_inline__, __unused__)) struct posixtrace_bytes
posixtrace__bytes_of(const void *__data, size_t __size)
{
	struct posixtrace_bytes __bytes = { __data, __data ? __size : 0 };

	return __bytes;
}

/* Writes the number of items, at most `most` of all, and the items. Returns the end. */
static __inline__ __attribute__((__always_inline__, __unused__)) unsigned char *
posixtrace__items(unsigned char *__to, const void *__items, size_t __all, size_t __most, size_t __size)
{
	uint16_t __count = (uint16_t)(__all < __most ? __all : __most);

	memcpy(__to, &__count, sizeof __count);
	posixtrace__copy(__to + sizeof __count, (const char *)__items, __count * __size);
	return __to + sizeof __count + __count * __size;
}

/* A function of which little is left when its arguments are known. Without optimization all of it would be: a call. */
#ifdef __OPTIMIZE__
# define POSIXTRACE__FOLDED __inline__ __attribute__((__always_inline__, __unused__))
#else
# define POSIXTRACE__FOLDED __inline__ __attribute__((__unused__))
#endif

/* The 16 bytes before a text or behind it, which are put together in registers. */
struct posixtrace__words {
	unsigned long long __low, __high;
	unsigned __size;
};

/*
 * The fields of an event, as far as posixtrace_event_text() can record it. All but the values is constant, once the
 * compiler has put the calls together.
 */
struct posixtrace__fields {
	struct posixtrace__words __before, __behind;
	const char *__text;
	size_t __most;
	unsigned __counted; /* POSIXTRACE_TEXT_COUNTED, or 0; this and __most may vary */
	unsigned __texts;   /* how many texts there are; more than one: the event is another one */
};

static POSIXTRACE__FOLDED void
posixtrace__fields_begin(struct posixtrace__fields *__fields)
{
	__fields->__before.__low = __fields->__before.__high = 0;
	__fields->__behind.__low = __fields->__behind.__high = 0;
	__fields->__before.__size = __fields->__behind.__size = __fields->__texts = 0;
	__fields->__text = NULL;
	__fields->__most = 0;
	__fields->__counted = 0;
}

/* Notes a field of another type. */
static POSIXTRACE__FOLDED void
posixtrace__fields_other(struct posixtrace__fields *__fields)
{
	__fields->__texts = 2;
}

/* Returns a number of 1, 2, 4 or 8 bytes. Not by one memcpy(): the compiler keeps the result in a register. */
static POSIXTRACE__FOLDED unsigned long long
posixtrace__bits(const void *__value, unsigned __size)
{
	unsigned long long __bits;
	uint8_t __1;
	uint16_t __2;
	uint32_t __4;

	if (__size == 1) {
		memcpy(&__1, __value, sizeof __1);
		__bits = __1;
	} else if (__size == 2) {
		memcpy(&__2, __value, sizeof __2);
		__bits = __2;
	} else if (__size == 4) {
		memcpy(&__4, __value, sizeof __4);
		__bits = __4;
	} else {
		memcpy(&__bits, __value, sizeof __bits);
	}
	return __bits;
}

/* Notes a number: 1, 2, 4 or 8 bytes. */
static POSIXTRACE__FOLDED void
posixtrace__fields_number(struct posixtrace__fields *__fields, const void *__value, unsigned __size)
{
	struct posixtrace__words *__words = __fields->__texts ? &__fields->__behind : &__fields->__before;
	unsigned __at = __words->__size;
	unsigned long long __bits = posixtrace__bits(__value, __size);

	__words->__size += __size;
	if (__words->__size > POSIXTRACE_AROUND_MOST) {
		posixtrace__fields_other(__fields);
		return;
	}
	if (__at < 8)
		__words->__low |= __bits << 8 * __at;
	if (__at >= 8)
		__words->__high |= __bits << 8 * (__at - 8);
	else if (__at + __size > 8)
		__words->__high |= __bits >> (64 - 8 * __at);
}

static POSIXTRACE__FOLDED void
posixtrace__fields_str(struct posixtrace__fields *__fields, const char *__text, size_t __most)
{
	if (__most > POSIXTRACE_TEXT_MOST)
		posixtrace__fields_other(__fields);
	__fields->__text = __text;
	__fields->__most = __most;
	__fields->__texts++;
}

/* A text that is too long is cut like one with a null: the library looks at no more bytes than it has. */
static POSIXTRACE__FOLDED void
posixtrace__fields_text(struct posixtrace__fields *__fields, struct posixtrace_text __text, size_t __most)
{
	posixtrace__fields_str(__fields, __text.data, __most);
	if (__text.size <= __most) {
		__fields->__most = __text.size;
		__fields->__counted = POSIXTRACE_TEXT_COUNTED;
	}
}

/* Returns whether the words have the bytes of the fields: those of numbers alone, or around one text. */
static POSIXTRACE__FOLDED bool
posixtrace__fields_in_words(const struct posixtrace__fields *__fields, unsigned __texts)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __fields->__texts == __texts;
#else
	(void)__fields, (void)__texts;
	return false;
#endif
}

/* Stores 16 bytes at once: the library loads them so, and would have to wait for two stores. */
static POSIXTRACE__FOLDED void
posixtrace__words_store(unsigned char *__to, struct posixtrace__words __words)
{
	typedef unsigned long long __both __attribute__((__vector_size__(16)));
	__both __value = { __words.__low, __words.__high };

#ifdef __SSE2__
	__asm__("" : "+x"(__value));
#endif
	memcpy(__to, &__value, sizeof __value);
}

static POSIXTRACE__FOLDED unsigned
posixtrace__fields_sizes(const struct posixtrace__fields *__fields)
{
	return POSIXTRACE_TEXT_SIZES(__fields->__before.__size, __fields->__behind.__size, __fields->__most) |
	       __fields->__counted;
}

static POSIXTRACE__FOLDED void
posixtrace__fields_around(const struct posixtrace__fields *__fields, struct posixtrace_around *__around,
                          const void *__address)
{
	posixtrace__words_store(__around->__before, __fields->__before);
	posixtrace__words_store(__around->__behind, __fields->__behind);
	__around->__address = __address;
}

/* Opens an event type, and records its first event. Apart, so that other events keep nothing across a call. */
static __attribute__((__noinline__, __cold__, __unused__)) void
posixtrace__fields_first(struct posixtrace_event *__event, const char *__text, const struct posixtrace_around *__around,
                         unsigned __sizes)
{
	posixtrace_event_text(posixtrace_event_open(__event), __text, __around, __sizes);
}

/* Records an event with one text. */
static POSIXTRACE__FOLDED void
posixtrace__fields_record(struct posixtrace_event *__event, const struct posixtrace__fields *__fields,
                          const void *__address)
{
	trace_event_id_t __id = __atomic_load_n(&__event->__id, __ATOMIC_ACQUIRE);
	struct posixtrace_around __around;

	posixtrace__fields_around(__fields, &__around, __address);
	if (__builtin_expect(__id != 0, 1))
		posixtrace_event_text(__id, __fields->__text, &__around, posixtrace__fields_sizes(__fields));
	else
		posixtrace__fields_first(__event, __fields->__text, &__around, posixtrace__fields_sizes(__fields));
}

/* Records an event at the place from which it is called. */
static __attribute__((__noinline__, __unused__)) void posixtrace__record(struct posixtrace_event *__event,
                                                                         const void *__data, size_t __size)
{
	posixtrace_event_at(posixtrace__id(__event), __data, __size, __builtin_return_address(0));
}

/*
 * The arguments of a format. As with the fields of an event, all but the values is constant. The compiler leaves out
 * what is not used.
 */
struct posixtrace__arguments {
	struct posixtrace__fields __fields;
	unsigned __count;
	unsigned __size; /* of the data, if all are numbers */
	unsigned long long __values[10];
	unsigned char *__data; /* 80 bytes; apart, because the library gets the address */
};

static POSIXTRACE__FOLDED void
posixtrace__arguments_begin(struct posixtrace__arguments *__arguments, unsigned char *__data)
{
	unsigned long long *__values = __arguments->__values;

	posixtrace__fields_begin(&__arguments->__fields);
	__arguments->__count = __arguments->__size = 0;
	/* One by one, so that the compiler keeps each in a register. */
	__values[0] = __values[1] = __values[2] = __values[3] = __values[4] = 0;
	__values[5] = __values[6] = __values[7] = __values[8] = __values[9] = 0;
	__arguments->__data = __data;
}

/* Adds a value, in its first bytes. */
static POSIXTRACE__FOLDED void
posixtrace__arguments_value(struct posixtrace__arguments *__arguments, const void *__value, unsigned __size)
{
	unsigned long long __bits = posixtrace__bits(__value, __size);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	__bits <<= 64 - 8 * __size;
#endif
	__arguments->__values[__arguments->__count++] = __bits;
}

static POSIXTRACE__FOLDED void
posixtrace__arguments_number(struct posixtrace__arguments *__arguments, const void *__value, unsigned __size)
{
	posixtrace__fields_number(&__arguments->__fields, __value, __size);
	memcpy(__arguments->__data + __arguments->__size, __value, __size);
	posixtrace__arguments_value(__arguments, __value, __size);
	__arguments->__size += __size;
}

/* A function for each type of an argument. The compiler chooses. */
#ifdef __cplusplus
extern "C++" {
# define POSIXTRACE__ARGUMENT_OF(type) posixtrace__argument
#else
# define POSIXTRACE__ARGUMENT_OF(type) posixtrace__argument_##type
#endif
#define POSIXTRACE__DEFINE_ARGUMENT(name, type, stored)                                                                \
	static POSIXTRACE__FOLDED void POSIXTRACE__ARGUMENT_OF(name)(                                                  \
		struct posixtrace__arguments *__arguments, type __value)                                               \
	{                                                                                                              \
		stored __stored = (stored)__value;                                                                     \
                                                                                                                       \
		posixtrace__arguments_number(__arguments, &__stored, (unsigned)sizeof __stored);                       \
	}
POSIXTRACE__DEFINE_ARGUMENT(int, int, int)
POSIXTRACE__DEFINE_ARGUMENT(unsigned, unsigned, unsigned)
POSIXTRACE__DEFINE_ARGUMENT(long, long, long)
POSIXTRACE__DEFINE_ARGUMENT(unsigned_long, unsigned long, unsigned long)
POSIXTRACE__DEFINE_ARGUMENT(long_long, long long, long long)
POSIXTRACE__DEFINE_ARGUMENT(unsigned_long_long, unsigned long long, unsigned long long)
POSIXTRACE__DEFINE_ARGUMENT(truth, bool, bool)
POSIXTRACE__DEFINE_ARGUMENT(double, double, double)
POSIXTRACE__DEFINE_ARGUMENT(long_double, long double, double)
POSIXTRACE__DEFINE_ARGUMENT(pointer, const void *, const void *)

static POSIXTRACE__FOLDED void
POSIXTRACE__ARGUMENT_OF(text)(struct posixtrace__arguments *__arguments, const char *__text)
{
	posixtrace__fields_str(&__arguments->__fields, __text, 255);
	posixtrace__arguments_value(__arguments, &__text, (unsigned)sizeof __text);
}
#ifdef __cplusplus
}
# define POSIXTRACE__ARGUMENT(argument) posixtrace__argument(&posixtrace__arguments, argument);
#else
# define POSIXTRACE__ARGUMENT(argument)                                                                                \
	(__extension__ _Generic((argument), char: posixtrace__argument_int, signed char: posixtrace__argument_int,     \
	                        unsigned char: posixtrace__argument_int, short: posixtrace__argument_int,              \
	                        unsigned short: posixtrace__argument_int, int: posixtrace__argument_int,               \
	                        unsigned: posixtrace__argument_unsigned, long: posixtrace__argument_long,              \
	                        unsigned long: posixtrace__argument_unsigned_long,                                     \
	                        long long: posixtrace__argument_long_long,                                             \
	                        unsigned long long: posixtrace__argument_unsigned_long_long,                           \
	                        _Bool: posixtrace__argument_truth, float: posixtrace__argument_double,                 \
	                        double: posixtrace__argument_double, long double: posixtrace__argument_long_double,    \
	                        char *: posixtrace__argument_text, const char *: posixtrace__argument_text,            \
	                        void *: posixtrace__argument_pointer,                                                  \
	                        const void *: posixtrace__argument_pointer))(&posixtrace__arguments, (argument));
#endif

/* Records an event with one text at the place from which it is called. */
static __attribute__((__noinline__, __unused__)) void
posixtrace__record_text(trace_event_id_t __id, const char *__text, struct posixtrace_around *__around, unsigned __sizes)
{
	__around->__address = __builtin_return_address(0);
	posixtrace_event_text(__id, __text, __around, __sizes);
}

/* Records an event at the place from which it is called. */
static __attribute__((__noinline__, __unused__)) void posixtrace__record_data(trace_event_id_t __id, const void *__data,
                                                                              size_t __size)
{
	posixtrace_event_at(__id, __data, __size, __builtin_return_address(0));
}

/* In line always: what it calls takes its return address for that of the trace point. */
static __inline__ __attribute__((__always_inline__, __unused__)) void
posixtrace__arguments_record(struct posixtrace_format *__format, struct posixtrace__arguments *__arguments,
                             const char *__text)
{
	trace_event_id_t __id = __atomic_load_n(&__format->__event.__id, __ATOMIC_ACQUIRE);
	struct posixtrace_around __around;

	/* A format without arguments is a text. */
	if (__arguments->__count == 0)
		posixtrace__fields_str(&__arguments->__fields, __text, 255);
	/* The library cuts a text with a precision. The compiler knows whether there can be one. */
	if (__builtin_strchr(__text, '.') && __format->__precise)
		posixtrace__fields_other(&__arguments->__fields);
	if (__builtin_expect(__id != 0, 1) && posixtrace__fields_in_words(&__arguments->__fields, 1)) {
		posixtrace__fields_around(&__arguments->__fields, &__around, NULL);
		posixtrace__record_text(__id, __arguments->__fields.__text, &__around,
		                        posixtrace__fields_sizes(&__arguments->__fields));
	} else if (__builtin_expect(__id != 0, 1) && posixtrace__fields_in_words(&__arguments->__fields, 0)) {
		posixtrace__words_store(__around.__before, __arguments->__fields.__before);
		posixtrace__record_data(__id, __around.__before, __arguments->__size);
	} else if (__builtin_expect(__id != 0, 1) && __arguments->__fields.__most == 0) {
		posixtrace__record_data(__id, __arguments->__data, __arguments->__size);
	} else {
		/* Copied here, as the library gets their address: otherwise each event would store them. */
		unsigned long long __values[10];

		memcpy(__values, __arguments->__values, sizeof __values);
		posixtrace_event_format(__format, __text, __arguments->__count ? __values : NULL);
	}
}

/* Records an event at the place from which it is called. Returns whether it may have been recorded. */
static __attribute__((__noinline__, __unused__)) bool posixtrace__record_begin(struct posixtrace_event *__event)
{
	trace_event_id_t __id = posixtrace__id(__event);

	posixtrace_event_at(__id, NULL, 0, __builtin_return_address(0));
	/* The first event of a process, also of a child, finds out that nobody traces. */
	return __id != 0 && POSIXTRACE_ENABLED();
}

/* Records a counter at the place from which it is called. kind: which of its event types. */
static __attribute__((__noinline__, __unused__)) void posixtrace__count(struct posixtrace__counter *__counter,
                                                                        unsigned __kind, const void *__value)
{
	static const char *const __layouts[] = { "{counter;value:i64}", "{counter;value:u64}", "{counter;value:f64}" };
	/* Pairs with the release below. */
	trace_event_id_t __id = __atomic_load_n(&__counter->id[__kind], __ATOMIC_ACQUIRE);

	if (__builtin_expect(__id == 0, 0)) {
		struct posixtrace_event __event = { __counter->name, __layouts[__kind], 0 };

		__id = posixtrace_event_open(&__event);
		__atomic_store_n(&__counter->id[__kind], __id, __ATOMIC_RELEASE);
	}
	posixtrace_event_at(__id, __value, sizeof(int64_t), __builtin_return_address(0));
}

static __inline__ __attribute__((__always_inline__, __unused__)) void
posixtrace__count_signed(struct posixtrace__counter *__counter, int64_t __value)
{
	posixtrace__count(__counter, 0, &__value);
	__asm__ __volatile__("");
}

static __inline__ __attribute__((__always_inline__, __unused__)) void
posixtrace__count_unsigned(struct posixtrace__counter *__counter, uint64_t __value)
{
	posixtrace__count(__counter, __value > INT64_MAX, &__value);
	__asm__ __volatile__("");
}

static __inline__ __attribute__((__always_inline__, __unused__)) void
posixtrace__count_real(struct posixtrace__counter *__counter, double __value)
{
	posixtrace__count(__counter, 2, &__value);
	__asm__ __volatile__("");
}

static __inline__ __attribute__((__always_inline__, __unused__)) void
posixtrace__count_float(struct posixtrace__counter *__counter, float __value)
{
	posixtrace__count_real(__counter, (double)__value);
}

static __inline__ __attribute__((__always_inline__, __unused__)) void
posixtrace__count_long_double(struct posixtrace__counter *__counter, long double __value)
{
	posixtrace__count_real(__counter, (double)__value);
}

/* The function for a value of a counter. */
#ifdef __cplusplus
extern "C++" {
# define POSIXTRACE__COUNT_AS(value) posixtrace__count_any
# define POSIXTRACE__COUNT_NUMBER(type, kind)                                                                          \
	static inline __attribute__((__always_inline__, __unused__)) void posixtrace__count_number(                    \
		posixtrace__counter *__counter, type __value)                                                          \
	{                                                                                                              \
		posixtrace__count_##kind(__counter, __value);                                                          \
	}
POSIXTRACE__COUNT_NUMBER(int, signed)
POSIXTRACE__COUNT_NUMBER(unsigned, unsigned)
POSIXTRACE__COUNT_NUMBER(long, signed)
POSIXTRACE__COUNT_NUMBER(unsigned long, unsigned)
POSIXTRACE__COUNT_NUMBER(long long, signed)
POSIXTRACE__COUNT_NUMBER(unsigned long long, unsigned)
POSIXTRACE__COUNT_NUMBER(float, float)
POSIXTRACE__COUNT_NUMBER(double, real)
POSIXTRACE__COUNT_NUMBER(long double, long_double)

/* A number, after the promotions of C; also a class that is converted to one, such as std::atomic. */
template<class T> __attribute__((__always_inline__))
inline auto posixtrace__count_promoted(posixtrace__counter *__counter, const T &__value, int)
	-> decltype(posixtrace__count_number(__counter, __value + 0))
{
	posixtrace__count_number(__counter, __value + 0);
}

/* An enumeration with a scope. */
template<class T> __attribute__((__always_inline__))
inline void posixtrace__count_promoted(posixtrace__counter *__counter, const T &__value, long)
{
	posixtrace__count_signed(__counter, static_cast<int64_t>(__value));
}

template<class T> __attribute__((__always_inline__))
inline void posixtrace__count_any(posixtrace__counter *__counter, const T &__value)
{
	posixtrace__count_promoted(__counter, __value, 0);
}
}
#else
# define POSIXTRACE__COUNT_AS(value)                                                                                   \
	(__extension__ _Generic((value), unsigned long: posixtrace__count_unsigned,                                    \
	                        unsigned long long: posixtrace__count_unsigned, float: posixtrace__count_float,        \
	                        double: posixtrace__count_real, long double: posixtrace__count_long_double,            \
	                        default: posixtrace__count_signed))
#endif

/* Is never called: the compiler checks the arguments of a format. */
static __inline__ __attribute__((__unused__, __format__(__printf__, 1, 2))) void
posixtrace__format_check(const char *__format, ...)
{
	(void)__format;
}

/* The letter of the type of an argument. posixtrace_event_format() knows them. */
#ifdef __cplusplus
extern "C++" {
# define POSIXTRACE__INTEGER(type) char (&posixtrace__letter(type))[sizeof(type) == 8 ? 'I' : 'i']
# define POSIXTRACE__UNSIGNED(type) char (&posixtrace__letter(type))[sizeof(type) == 8 ? 'U' : 'u']
POSIXTRACE__INTEGER(int);
POSIXTRACE__INTEGER(long);
POSIXTRACE__INTEGER(long long);
POSIXTRACE__UNSIGNED(unsigned);
POSIXTRACE__UNSIGNED(unsigned long);
POSIXTRACE__UNSIGNED(unsigned long long);
char (&posixtrace__letter(bool))['b'];
char (&posixtrace__letter(double))['f'];
char (&posixtrace__letter(long double))['L'];
char (&posixtrace__letter(char *))['z'];
char (&posixtrace__letter(const char *))['z'];
char (&posixtrace__letter(void *))['p'];
char (&posixtrace__letter(const void *))['p'];
template<class T> void posixtrace__letter(T *) = delete;
}
# define POSIXTRACE__LETTER(argument) (char)sizeof(posixtrace__letter(argument))
#else
# define POSIXTRACE__LETTER(argument)                                                                                  \
	(__extension__ _Generic((argument), char: 'i', signed char: 'i', unsigned char: 'i', short: 'i',               \
	                        unsigned short: 'i', int: 'i', unsigned: 'u', long: sizeof(long) == 8 ? 'I' : 'i',     \
	                        unsigned long: sizeof(long) == 8 ? 'U' : 'u', long long: 'I', unsigned long long: 'U', \
	                        _Bool: 'b', float: 'f', double: 'f', long double: 'L', char *: 'z',                    \
	                        const char *: 'z', void *: 'p', const void *: 'p'))
#endif

/*
 * GCC lets C jump over a variable with a cleanup, which is done all the same, as Clang does not. But not over a type
 * whose size is no constant expression.
 */
#if defined __cplusplus || defined __clang__
# define POSIXTRACE__REFUSE_JUMPS(name)
#else
# define POSIXTRACE__REFUSE_JUMPS(name)                                                                                \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wvla\"")                                     \
	typedef char name[(int){ 1 }] __attribute__((__unused__));                                                     \
	_Pragma("GCC diagnostic pop")
#endif

/* Returns the event at the end of the block, or null if the beginning is not recorded. */
static __inline__ __attribute__((__always_inline__, __unused__)) struct posixtrace_event *
posixtrace__scope_begin(struct posixtrace__scope *__scope)
{
	return POSIXTRACE_ENABLED() && posixtrace__record_begin(&__scope->begin) ? &__scope->end : NULL;
}

static __inline__ __attribute__((__always_inline__, __unused__)) void
posixtrace__scope_end(struct posixtrace_event **__end)
{
	if (__builtin_expect(*__end != NULL, 0)) {
		posixtrace__record(*__end, NULL, 0);
		__asm__ __volatile__(""); /* keeps the call from becoming a jump */
	}
}

/* -- How the macros are made ------------------------------------------------------------------------ */

#define POSIXTRACE__CAT_(a, b) a##b
#define POSIXTRACE__CAT(a, b)  POSIXTRACE__CAT_(a, b)

/* The number of fields, from 1 to 16. */
#define POSIXTRACE__COUNT(...) POSIXTRACE__COUNT_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, )
#define POSIXTRACE__COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count
/* N if there is something behind the name, else 0; or _MANY for 17 to 32 fields. */
#define POSIXTRACE__HAS_FIELDS(...)                                                                                    \
	POSIXTRACE__HAS_FIELDS_(__VA_ARGS__, _MANY, _MANY, _MANY, _MANY, _MANY, _MANY, _MANY, _MANY, _MANY, _MANY,     \
	                        _MANY, _MANY, _MANY, _MANY, _MANY, _MANY, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, \
	                        N, 0, )
#define POSIXTRACE__HAS_FIELDS_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, a2, b2, c2, d2, e2, f2, g2, h2, i2, \
                                j2, k2, l2, m2, n2, o2, p2, has, ...) has
#define POSIXTRACE__REFUSE(message)    _Pragma(#message)
#define POSIXTRACE__EVENT_MANY(...)    POSIXTRACE__REFUSE(GCC error "an event has up to 16 fields")
#define POSIXTRACE__EVENT_AS_MANY(...) POSIXTRACE__REFUSE(GCC error "an event has up to 16 fields")
#define POSIXTRACE__RECORD_MANY(...)   POSIXTRACE__REFUSE(GCC error "an event has up to 16 fields")

/* The letters of the arguments behind a format, with a null. */
#define POSIXTRACE__LETTERS1(format)          0
#define POSIXTRACE__LETTERS2(format, a)       POSIXTRACE__LETTER(a), 0
#define POSIXTRACE__LETTERS3(format, a, ...)  POSIXTRACE__LETTER(a), POSIXTRACE__LETTERS2(format, __VA_ARGS__)
#define POSIXTRACE__LETTERS4(format, a, ...)  POSIXTRACE__LETTER(a), POSIXTRACE__LETTERS3(format, __VA_ARGS__)
#define POSIXTRACE__LETTERS5(format, a, ...)  POSIXTRACE__LETTER(a), POSIXTRACE__LETTERS4(format, __VA_ARGS__)
#define POSIXTRACE__LETTERS6(format, a, ...)  POSIXTRACE__LETTER(a), POSIXTRACE__LETTERS5(format, __VA_ARGS__)
#define POSIXTRACE__LETTERS7(format, a, ...)  POSIXTRACE__LETTER(a), POSIXTRACE__LETTERS6(format, __VA_ARGS__)
#define POSIXTRACE__LETTERS8(format, a, ...)  POSIXTRACE__LETTER(a), POSIXTRACE__LETTERS7(format, __VA_ARGS__)
#define POSIXTRACE__LETTERS9(format, a, ...)  POSIXTRACE__LETTER(a), POSIXTRACE__LETTERS8(format, __VA_ARGS__)
#define POSIXTRACE__LETTERS10(format, a, ...) POSIXTRACE__LETTER(a), POSIXTRACE__LETTERS9(format, __VA_ARGS__)
#define POSIXTRACE__LETTERS11(format, a, ...) POSIXTRACE__LETTER(a), POSIXTRACE__LETTERS10(format, __VA_ARGS__)
#define POSIXTRACE__LETTERS12(...)            POSIXTRACE__LETTERS_MANY
#define POSIXTRACE__LETTERS13(...)            POSIXTRACE__LETTERS_MANY
#define POSIXTRACE__LETTERS14(...)            POSIXTRACE__LETTERS_MANY
#define POSIXTRACE__LETTERS15(...)            POSIXTRACE__LETTERS_MANY
#define POSIXTRACE__LETTERS16(...)            POSIXTRACE__LETTERS_MANY
#define POSIXTRACE__LETTERS_MANY              0 POSIXTRACE__REFUSE(GCC error "tracef() takes up to 10 arguments")

/* A function call for each argument behind a format. */
#define POSIXTRACE__FIRST(format, ...)         format
#define POSIXTRACE__ARGUMENTS1(format)
#define POSIXTRACE__ARGUMENTS2(format, a)       POSIXTRACE__ARGUMENT(a)
#define POSIXTRACE__ARGUMENTS3(format, a, ...)  POSIXTRACE__ARGUMENT(a) POSIXTRACE__ARGUMENTS2(format, __VA_ARGS__)
#define POSIXTRACE__ARGUMENTS4(format, a, ...)  POSIXTRACE__ARGUMENT(a) POSIXTRACE__ARGUMENTS3(format, __VA_ARGS__)
#define POSIXTRACE__ARGUMENTS5(format, a, ...)  POSIXTRACE__ARGUMENT(a) POSIXTRACE__ARGUMENTS4(format, __VA_ARGS__)
#define POSIXTRACE__ARGUMENTS6(format, a, ...)  POSIXTRACE__ARGUMENT(a) POSIXTRACE__ARGUMENTS5(format, __VA_ARGS__)
#define POSIXTRACE__ARGUMENTS7(format, a, ...)  POSIXTRACE__ARGUMENT(a) POSIXTRACE__ARGUMENTS6(format, __VA_ARGS__)
#define POSIXTRACE__ARGUMENTS8(format, a, ...)  POSIXTRACE__ARGUMENT(a) POSIXTRACE__ARGUMENTS7(format, __VA_ARGS__)
#define POSIXTRACE__ARGUMENTS9(format, a, ...)  POSIXTRACE__ARGUMENT(a) POSIXTRACE__ARGUMENTS8(format, __VA_ARGS__)
#define POSIXTRACE__ARGUMENTS10(format, a, ...) POSIXTRACE__ARGUMENT(a) POSIXTRACE__ARGUMENTS9(format, __VA_ARGS__)
#define POSIXTRACE__ARGUMENTS11(format, a, ...) POSIXTRACE__ARGUMENT(a) POSIXTRACE__ARGUMENTS10(format, __VA_ARGS__)

/* For each field: m(TYPE, name, MORE), and between() between two of them. */
#define POSIXTRACE__EACH(m, between, ...)                                                                              \
	POSIXTRACE__CAT(POSIXTRACE__EACH, POSIXTRACE__COUNT(__VA_ARGS__))(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH1(m, between, field)       m field
#define POSIXTRACE__EACH2(m, between, field, ...)  m field between() POSIXTRACE__EACH1(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH3(m, between, field, ...)  m field between() POSIXTRACE__EACH2(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH4(m, between, field, ...)  m field between() POSIXTRACE__EACH3(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH5(m, between, field, ...)  m field between() POSIXTRACE__EACH4(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH6(m, between, field, ...)  m field between() POSIXTRACE__EACH5(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH7(m, between, field, ...)  m field between() POSIXTRACE__EACH6(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH8(m, between, field, ...)  m field between() POSIXTRACE__EACH7(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH9(m, between, field, ...)  m field between() POSIXTRACE__EACH8(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH10(m, between, field, ...) m field between() POSIXTRACE__EACH9(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH11(m, between, field, ...) m field between() POSIXTRACE__EACH10(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH12(m, between, field, ...) m field between() POSIXTRACE__EACH11(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH13(m, between, field, ...) m field between() POSIXTRACE__EACH12(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH14(m, between, field, ...) m field between() POSIXTRACE__EACH13(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH15(m, between, field, ...) m field between() POSIXTRACE__EACH14(m, between, __VA_ARGS__)
#define POSIXTRACE__EACH16(m, between, field, ...) m field between() POSIXTRACE__EACH15(m, between, __VA_ARGS__)

#define POSIXTRACE__COMMA()        ,
#define POSIXTRACE__LAYOUT_COMMA() ","
#define POSIXTRACE__PLUS()         +
#define POSIXTRACE__NOTHING()

/* What is done with a field depends on the class of its type, and on how much MORE it has: 2 to 4 arguments. */
#define POSIXTRACE__2TO4_(a, b, c, d, count, ...) count
#define POSIXTRACE__2TO4(...)                     POSIXTRACE__2TO4_(__VA_ARGS__, 4, 3, 2, )
#define POSIXTRACE__OF(what, type, ...)                                                                                \
	POSIXTRACE__CAT(POSIXTRACE__CAT(POSIXTRACE__##what##_, POSIXTRACE__CLASS_##type),                              \
	                POSIXTRACE__2TO4(type, __VA_ARGS__))(type, __VA_ARGS__)

#define POSIXTRACE__LAYOUT(...)         POSIXTRACE__OF(LAYOUT, __VA_ARGS__)
#define POSIXTRACE__SIZE(...)           POSIXTRACE__OF(SIZE, __VA_ARGS__)
/*
 * The variable of a field has another name than the field, which may be that of a global variable, or memcpy. The name
 * of a field that is a macro has been replaced when it comes here: the compiler refuses what is no name then.
 */
#define POSIXTRACE__PUT(type, ...) POSIXTRACE__OF(PUT, type, posixtrace_field_##__VA_ARGS__)
#define POSIXTRACE__NOTE(type, ...) POSIXTRACE__OF(NOTE, type, posixtrace_field_##__VA_ARGS__)
#define POSIXTRACE__PARAMETER(type, ...)                                                                               \
	POSIXTRACE__PARAMETER_(POSIXTRACE__TYPE_##type, posixtrace_field_##__VA_ARGS__, ) /* the field is a macro? */
#define POSIXTRACE__PARAMETER_(type, name, ...) type name

/* A member of a struct for each name in the layout, so that all are names, and no two of them the same. */
#define POSIXTRACE__NAMES(type, ...)        POSIXTRACE__CAT(POSIXTRACE__NAMES_, POSIXTRACE__CLASS_##type)(__VA_ARGS__, )
#define POSIXTRACE__NAMES_NUMBER(name, ...) unsigned POSIXTRACE__NAME(name);
#define POSIXTRACE__NAMES_LABELS(name, ...) unsigned POSIXTRACE__NAME(name);
#define POSIXTRACE__NAMES_TEXT(name, ...)   unsigned POSIXTRACE__NAME(name);
#define POSIXTRACE__NAMES_ARRAY(name, ...)  unsigned POSIXTRACE__NAME(name), POSIXTRACE__NAME(n_##name);
#define POSIXTRACE__NAMES_BYTES(name, ...)  unsigned POSIXTRACE__NAME(name), POSIXTRACE__NAME(n_##name);
#define POSIXTRACE__NAME(name)              name : sizeof #name > 1 ? 1 : -1

/* Numbers; MORE is a unit. */
#define POSIXTRACE__LAYOUT_NUMBER2(type, name)       #name ":" POSIXTRACE__LAYOUT_##type
#define POSIXTRACE__LAYOUT_NUMBER3(type, name, unit) #name ":" POSIXTRACE__LAYOUT_##type "/" unit
#define POSIXTRACE__SIZE_NUMBER2(type, name)         sizeof(POSIXTRACE__TYPE_##type)
#define POSIXTRACE__SIZE_NUMBER3(type, name, unit)   sizeof(POSIXTRACE__TYPE_##type)
#define POSIXTRACE__PUT_NUMBER2(type, name)                                                                            \
	memcpy(posixtrace__at, &name, sizeof name);                                                                    \
	posixtrace__at += sizeof name;
#define POSIXTRACE__PUT_NUMBER3(type, name, unit) POSIXTRACE__PUT_NUMBER2(type, name)
#define POSIXTRACE__NOTE_NUMBER2(type, name)                                                                           \
	posixtrace__fields_number(&posixtrace__fields, &name, (unsigned)sizeof name);
#define POSIXTRACE__NOTE_NUMBER3(type, name, unit) POSIXTRACE__NOTE_NUMBER2(type, name)

/* Enumerations; MORE are the labels. */
#define POSIXTRACE__LAYOUT_LABELS2(type, name)         #name ":" POSIXTRACE__LAYOUT_##type
#define POSIXTRACE__LAYOUT_LABELS3(type, name, labels) #name ":" POSIXTRACE__LAYOUT_##type "<" labels ">"
#define POSIXTRACE__SIZE_LABELS2(type, name)           sizeof(POSIXTRACE__TYPE_##type)
#define POSIXTRACE__SIZE_LABELS3(type, name, labels)   sizeof(POSIXTRACE__TYPE_##type)
#define POSIXTRACE__PUT_LABELS2(type, name)            POSIXTRACE__PUT_NUMBER2(type, name)
#define POSIXTRACE__PUT_LABELS3(type, name, labels)    POSIXTRACE__PUT_NUMBER2(type, name)
#define POSIXTRACE__NOTE_LABELS2(type, name)           POSIXTRACE__NOTE_NUMBER2(type, name)
#define POSIXTRACE__NOTE_LABELS3(type, name, labels)   POSIXTRACE__NOTE_NUMBER2(type, name)

/* Text and bytes; MORE is the most of them. */
#define POSIXTRACE__LAYOUT_TEXT2(type, name)       #name ":z"
#define POSIXTRACE__LAYOUT_TEXT3(type, name, most) #name ":z"
#define POSIXTRACE__SIZE_TEXT2(type, name)         256
#define POSIXTRACE__SIZE_TEXT3(type, name, most)   ((most) + 1)
#define POSIXTRACE__PUT_TEXT2(type, name)          POSIXTRACE__PUT_TEXT3(type, name, 255)
#define POSIXTRACE__PUT_TEXT3(type, name, most)    posixtrace__at = posixtrace__##type(posixtrace__at, name, most);
#define POSIXTRACE__NOTE_TEXT2(type, name)         POSIXTRACE__NOTE_TEXT3(type, name, 255)
#define POSIXTRACE__NOTE_TEXT3(type, name, most)   posixtrace__fields_##type(&posixtrace__fields, name, most);

/* Arrays; MORE is the most items, and a unit. */
#define POSIXTRACE__LAYOUT_ARRAY2(type, name) "n_" #name ":u16," #name ":" POSIXTRACE__LAYOUT_##type "[n_" #name "]"
#define POSIXTRACE__LAYOUT_ARRAY3(type, name, most)       POSIXTRACE__LAYOUT_ARRAY2(type, name)
#define POSIXTRACE__LAYOUT_ARRAY4(type, name, most, unit) POSIXTRACE__LAYOUT_ARRAY2(type, name) "/" unit
#define POSIXTRACE__SIZE_ARRAY2(type, name)               POSIXTRACE__SIZE_ARRAY3(type, name, 16)
#define POSIXTRACE__SIZE_ARRAY3(type, name, most)                                                                      \
	POSIXTRACE__SIZE_ITEMS(name, most, *((POSIXTRACE__TYPE_##type *)NULL)->data)
#define POSIXTRACE__SIZE_ARRAY4(type, name, most, unit)   POSIXTRACE__SIZE_ARRAY3(type, name, most)
#define POSIXTRACE__PUT_ARRAY2(type, name)                POSIXTRACE__PUT_ARRAY3(type, name, 16)
#define POSIXTRACE__PUT_ARRAY3(type, name, most)          POSIXTRACE__PUT_ITEMS(name, most, *name.data)
#define POSIXTRACE__PUT_ARRAY4(type, name, most, unit)    POSIXTRACE__PUT_ITEMS(name, most, *name.data)
#define POSIXTRACE__NOTE_ARRAY2(type, name)               posixtrace__fields_other(&posixtrace__fields);
#define POSIXTRACE__NOTE_ARRAY3(type, name, most)         posixtrace__fields_other(&posixtrace__fields);
#define POSIXTRACE__NOTE_ARRAY4(type, name, most, unit)   posixtrace__fields_other(&posixtrace__fields);

/* Bytes; MORE is the most of them. */
#define POSIXTRACE__LAYOUT_BYTES2(type, name)       "n_" #name ":u16," #name ":b[n_" #name "]"
#define POSIXTRACE__LAYOUT_BYTES3(type, name, most) POSIXTRACE__LAYOUT_BYTES2(type, name)
#define POSIXTRACE__SIZE_BYTES2(type, name)         POSIXTRACE__SIZE_BYTES3(type, name, 64)
#define POSIXTRACE__SIZE_BYTES3(type, name, most)   POSIXTRACE__SIZE_ITEMS(name, most, unsigned char)
#define POSIXTRACE__PUT_BYTES2(type, name)          POSIXTRACE__PUT_BYTES3(type, name, 64)
#define POSIXTRACE__PUT_BYTES3(type, name, most)    POSIXTRACE__PUT_ITEMS(name, most, unsigned char)
#define POSIXTRACE__NOTE_BYTES2(type, name)         posixtrace__fields_other(&posixtrace__fields);
#define POSIXTRACE__NOTE_BYTES3(type, name, most)   posixtrace__fields_other(&posixtrace__fields);

/* The number of bytes. It does not compile if `most` is no uint16_t, or n_NAME is no name of a field. */
#define POSIXTRACE__SIZE_ITEMS(name, most, item)                                                                       \
	(sizeof(char[(most) > 0 && (most) <= 65535 && sizeof "n_" #name <= 32 ? 2 : -1]) + (most) * sizeof(item))
#define POSIXTRACE__PUT_ITEMS(name, most, item)                                                                        \
	posixtrace__at = posixtrace__items(posixtrace__at, name.data, name.size, most, sizeof(item));

/* Each type: that of the value, the class, the type in the layout. */
#define POSIXTRACE__TYPE_u8       uint8_t
#define POSIXTRACE__CLASS_u8      NUMBER
#define POSIXTRACE__LAYOUT_u8     "u8"
#define POSIXTRACE__TYPE_u16      uint16_t
#define POSIXTRACE__CLASS_u16     NUMBER
#define POSIXTRACE__LAYOUT_u16    "u16"
#define POSIXTRACE__TYPE_u32      uint32_t
#define POSIXTRACE__CLASS_u32     NUMBER
#define POSIXTRACE__LAYOUT_u32    "u32"
#define POSIXTRACE__TYPE_u64      uint64_t
#define POSIXTRACE__CLASS_u64     NUMBER
#define POSIXTRACE__LAYOUT_u64    "u64"
#define POSIXTRACE__TYPE_i8       int8_t
#define POSIXTRACE__CLASS_i8      NUMBER
#define POSIXTRACE__LAYOUT_i8     "i8"
#define POSIXTRACE__TYPE_i16      int16_t
#define POSIXTRACE__CLASS_i16     NUMBER
#define POSIXTRACE__LAYOUT_i16    "i16"
#define POSIXTRACE__TYPE_i32      int32_t
#define POSIXTRACE__CLASS_i32     NUMBER
#define POSIXTRACE__LAYOUT_i32    "i32"
#define POSIXTRACE__TYPE_i64      int64_t
#define POSIXTRACE__CLASS_i64     NUMBER
#define POSIXTRACE__LAYOUT_i64    "i64"
#define POSIXTRACE__TYPE_x8       uint8_t
#define POSIXTRACE__CLASS_x8      NUMBER
#define POSIXTRACE__LAYOUT_x8     "x8"
#define POSIXTRACE__TYPE_x16      uint16_t
#define POSIXTRACE__CLASS_x16     NUMBER
#define POSIXTRACE__LAYOUT_x16    "x16"
#define POSIXTRACE__TYPE_x32      uint32_t
#define POSIXTRACE__CLASS_x32     NUMBER
#define POSIXTRACE__LAYOUT_x32    "x32"
#define POSIXTRACE__TYPE_x64      uint64_t
#define POSIXTRACE__CLASS_x64     NUMBER
#define POSIXTRACE__LAYOUT_x64    "x64"
#define POSIXTRACE__TYPE_f32      float
#define POSIXTRACE__CLASS_f32     NUMBER
#define POSIXTRACE__LAYOUT_f32    "f32"
#define POSIXTRACE__TYPE_f64      double
#define POSIXTRACE__CLASS_f64     NUMBER
#define POSIXTRACE__LAYOUT_f64    "f64"
#define POSIXTRACE__TYPE_boolean  bool
#define POSIXTRACE__CLASS_boolean NUMBER
#define POSIXTRACE__LAYOUT_boolean "bool"
#define POSIXTRACE__TYPE_when     uint64_t
#define POSIXTRACE__CLASS_when    NUMBER
#define POSIXTRACE__LAYOUT_when   "t64"
#define POSIXTRACE__TYPE_e8       uint8_t
#define POSIXTRACE__CLASS_e8      LABELS
#define POSIXTRACE__LAYOUT_e8     "u8"
#define POSIXTRACE__TYPE_e16      uint16_t
#define POSIXTRACE__CLASS_e16     LABELS
#define POSIXTRACE__LAYOUT_e16    "u16"
#define POSIXTRACE__TYPE_e32      uint32_t
#define POSIXTRACE__CLASS_e32     LABELS
#define POSIXTRACE__LAYOUT_e32    "u32"
#define POSIXTRACE__TYPE_ptr      const void *
#define POSIXTRACE__CLASS_ptr     NUMBER
#define POSIXTRACE__TYPE_code     const void *
#define POSIXTRACE__CLASS_code    NUMBER
#if __SIZEOF_POINTER__ == 8
# define POSIXTRACE__LAYOUT_ptr   "x64"
# define POSIXTRACE__LAYOUT_code  "a64"
#else
# define POSIXTRACE__LAYOUT_ptr   "x32"
# define POSIXTRACE__LAYOUT_code  "a32"
#endif
#define POSIXTRACE__TYPE_str      const char *
#define POSIXTRACE__CLASS_str     TEXT
#define POSIXTRACE__TYPE_text     struct posixtrace_text
#define POSIXTRACE__CLASS_text    TEXT
#define POSIXTRACE__TYPE_bytes    struct posixtrace_bytes
#define POSIXTRACE__CLASS_bytes   BYTES
#define POSIXTRACE__TYPE_u8s      struct posixtrace_u8s
#define POSIXTRACE__CLASS_u8s     ARRAY
#define POSIXTRACE__LAYOUT_u8s    "u8"
#define POSIXTRACE__TYPE_u16s     struct posixtrace_u16s
#define POSIXTRACE__CLASS_u16s    ARRAY
#define POSIXTRACE__LAYOUT_u16s   "u16"
#define POSIXTRACE__TYPE_u32s     struct posixtrace_u32s
#define POSIXTRACE__CLASS_u32s    ARRAY
#define POSIXTRACE__LAYOUT_u32s   "u32"
#define POSIXTRACE__TYPE_u64s     struct posixtrace_u64s
#define POSIXTRACE__CLASS_u64s    ARRAY
#define POSIXTRACE__LAYOUT_u64s   "u64"
#define POSIXTRACE__TYPE_i8s      struct posixtrace_i8s
#define POSIXTRACE__CLASS_i8s     ARRAY
#define POSIXTRACE__LAYOUT_i8s    "i8"
#define POSIXTRACE__TYPE_i16s     struct posixtrace_i16s
#define POSIXTRACE__CLASS_i16s    ARRAY
#define POSIXTRACE__LAYOUT_i16s   "i16"
#define POSIXTRACE__TYPE_i32s     struct posixtrace_i32s
#define POSIXTRACE__CLASS_i32s    ARRAY
#define POSIXTRACE__LAYOUT_i32s   "i32"
#define POSIXTRACE__TYPE_i64s     struct posixtrace_i64s
#define POSIXTRACE__CLASS_i64s    ARRAY
#define POSIXTRACE__LAYOUT_i64s   "i64"
#define POSIXTRACE__TYPE_x8s      struct posixtrace_u8s
#define POSIXTRACE__CLASS_x8s     ARRAY
#define POSIXTRACE__LAYOUT_x8s    "x8"
#define POSIXTRACE__TYPE_x16s     struct posixtrace_u16s
#define POSIXTRACE__CLASS_x16s    ARRAY
#define POSIXTRACE__LAYOUT_x16s   "x16"
#define POSIXTRACE__TYPE_x32s     struct posixtrace_u32s
#define POSIXTRACE__CLASS_x32s    ARRAY
#define POSIXTRACE__LAYOUT_x32s   "x32"
#define POSIXTRACE__TYPE_x64s     struct posixtrace_u64s
#define POSIXTRACE__CLASS_x64s    ARRAY
#define POSIXTRACE__LAYOUT_x64s   "x64"
#define POSIXTRACE__TYPE_f32s     struct posixtrace_f32s
#define POSIXTRACE__CLASS_f32s    ARRAY
#define POSIXTRACE__LAYOUT_f32s   "f32"
#define POSIXTRACE__TYPE_f64s     struct posixtrace_f64s
#define POSIXTRACE__CLASS_f64s    ARRAY
#define POSIXTRACE__LAYOUT_f64s   "f64"

/* What is taken for a type: the compiler says that it does not know the name that follows. */
#define POSIXTRACE__TYPE_int      posixtrace_write_i32_for_int
#define POSIXTRACE__TYPE_unsigned posixtrace_write_u32_for_unsigned
#define POSIXTRACE__TYPE_long     posixtrace_write_i64_for_long
#define POSIXTRACE__TYPE_size_t   posixtrace_write_u64_for_size_t
#define POSIXTRACE__TYPE_int32_t  posixtrace_write_i32_for_int32_t
#define POSIXTRACE__TYPE_int64_t  posixtrace_write_i64_for_int64_t
#define POSIXTRACE__TYPE_uint32_t posixtrace_write_u32_for_uint32_t
#define POSIXTRACE__TYPE_uint64_t posixtrace_write_u64_for_uint64_t
#define POSIXTRACE__TYPE_float    posixtrace_write_f32_for_float
#define POSIXTRACE__TYPE_double   posixtrace_write_f64_for_double
#define POSIXTRACE__TYPE_bool     posixtrace_write_boolean_for_bool
#define POSIXTRACE__TYPE__Bool    posixtrace_write_boolean_for_bool
#define POSIXTRACE__TYPE_string   posixtrace_write_str_for_string

#ifdef __cplusplus
# define POSIXTRACE__ASSERT(condition, message) static_assert(condition, message)
#else
# define POSIXTRACE__ASSERT(condition, message) __extension__ _Static_assert(condition, message)
#endif
#define POSIXTRACE__CHECK_NAME(name) POSIXTRACE__ASSERT(sizeof name <= 64, "the name of an event has at most 63 bytes")

/*
 * The function that records is not inlined, so that a trace point takes little room in the program: its own return
 * address is that of the trace point.
 */
#define POSIXTRACE__EVENTN(group, name, ...) POSIXTRACE__EVENT_ASN(group, name, "", __VA_ARGS__)
#define POSIXTRACE__EVENT_ASN(group, name, attributes, ...)                                                            \
	static __attribute__((__noinline__, __unused__)) void posixtrace_record_##group##__event_##name(               \
		POSIXTRACE__EACH(POSIXTRACE__PARAMETER, POSIXTRACE__COMMA, __VA_ARGS__))                               \
	{                                                                                                              \
		static struct posixtrace_event posixtrace__event = {                                                   \
			#group "." #name,                                                                              \
			"{packed" attributes ";"                                                                       \
			POSIXTRACE__EACH(POSIXTRACE__LAYOUT, POSIXTRACE__LAYOUT_COMMA, __VA_ARGS__) "}", 0             \
		};                                                                                                     \
		struct posixtrace__names { POSIXTRACE__EACH(POSIXTRACE__NAMES, POSIXTRACE__NOTHING, __VA_ARGS__) };    \
		struct posixtrace__fields posixtrace__fields;                                                          \
                                                                                                                       \
		posixtrace__fields_begin(&posixtrace__fields);                                                         \
		POSIXTRACE__EACH(POSIXTRACE__NOTE, POSIXTRACE__NOTHING, __VA_ARGS__)                                   \
		if (posixtrace__fields_in_words(&posixtrace__fields, 1)) {                                             \
			posixtrace__fields_record(&posixtrace__event, &posixtrace__fields,                             \
			                          __builtin_return_address(0));                                        \
		} else {                                                                                               \
			unsigned char posixtrace__data[                                                                \
				POSIXTRACE__EACH(POSIXTRACE__SIZE, POSIXTRACE__PLUS, __VA_ARGS__)                      \
			];                                                                                             \
			unsigned char *posixtrace__at = posixtrace__data;                                              \
                                                                                                                       \
			POSIXTRACE__EACH(POSIXTRACE__PUT, POSIXTRACE__NOTHING, __VA_ARGS__)                            \
			posixtrace_event_at(posixtrace__id(&posixtrace__event), posixtrace__data,                      \
			                    (size_t)(posixtrace__at - posixtrace__data), __builtin_return_address(0)); \
		}                                                                                                      \
	}                                                                                                              \
	POSIXTRACE__CHECK_NAME(#group "." #name);
#define POSIXTRACE__EVENT0(group, name)                                                                                \
	static __attribute__((__noinline__, __unused__)) void posixtrace_record_##group##__event_##name(void)          \
	{                                                                                                              \
		static struct posixtrace_event posixtrace__event = { #group "." #name, NULL, 0 };                      \
                                                                                                                       \
		posixtrace_event_at(posixtrace__id(&posixtrace__event), NULL, 0, __builtin_return_address(0));         \
	}                                                                                                              \
	POSIXTRACE__CHECK_NAME(#group "." #name);

#define POSIXTRACE__RECORDN(group, name, ...) posixtrace_record_##group##__event_##name(__VA_ARGS__)
#define POSIXTRACE__RECORD0(group, name)      posixtrace_record_##group##__event_##name()

#endif
