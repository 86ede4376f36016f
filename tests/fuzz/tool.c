/*
 * tool.c - fuzzes the small languages of the command: declared layouts and data, times, sizes, patterns, spans,
 * expressions
 *
 * The first byte selects the language of the rest. Output is read again: JSON by a strict reader, texts and numbers by
 * comparison with the input. When the command would exit (wrong usage), control returns here instead.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"
#include "input.h"
#include "json_read.h"
#include "must.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/bytes.h"
#include "analysis/chart.h"
#include "common/message.h"
#include "common/options.h"
#include "common/json.h"
#include "model/data_layout.h"
#include "event/layout_json.h"
#include "event/layout_print.h"
#include "event/evaluate.h"
#include "event/layouts.h"
#include "logs/match.h"
#include "common/moment.h"
#include "common/out.h"
#include "analysis/pairs.h"
#include "analysis/span.h"
#include "base/utf8.h"
#include "model/layout_meaning.h"

/* -- Replaced functions of the command ---------------------------------------------------------- */

static jmp_buf over;
static bool running;
static int status;

void __real_exit(int code) __attribute__((noreturn));
void __wrap_exit(int code) __attribute__((noreturn));
int __wrap_fprintf(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

void __wrap_exit(int code)
{
	if (!running)
		__real_exit(code);
	status = code;
	longjmp(over, 1);
}

/* Checks that a message is one printable line. */
int __wrap_fprintf(FILE *f, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = running ? vasprintf(&text, format, arguments) : vfprintf(f, format, arguments);
	va_end(arguments);
	if (!running)
		return n;
	running = false;
	MUST(n > 0 && text[n - 1] == '\n' && utf8_harmless((unsigned char *)text, (size_t)n - 1, "", NULL));
	running = true;
	free(text);
	return n;
}

/* Makes the call. Returns false if the call ended the command, which must be for wrong usage. */
#define COMES_BACK(call)                                   \
	({                                                 \
		bool back_;                                \
		running = true;                            \
		if (setjmp(over) == 0) {                   \
			call;                              \
			back_ = true;                      \
		} else {                                   \
			back_ = false;                     \
		}                                          \
		running = false;                           \
		MUST(back_ || status == STATUS_USAGE);     \
		back_;                                     \
	})

/* -- The input ------------------------------------------------------------------------------------ */

/* Takes text up to a null or this many bytes, into memory of exactly its size. */
static char *take_text(size_t most)
{
	size_t n = 0;
	char *text;

	while (n < left && n < most && input[n])
		n++;
	text = malloc(n + 1);
	MUST(text);
	memcpy(text, input, n);
	text[n] = 0;
	input += n;
	left -= n;
	if (left > 0 && !*input) {
		input++;
		left--;
	}
	return text;
}

/* Takes the rest of the input. */
static unsigned char *take_data(size_t *size)
{
	unsigned char *data = malloc(left ? left : 1);

	MUST(data);
	memcpy(data, input, left);
	*size = left;
	input += left;
	left = 0;
	return data;
}

/* -- Output ----------------------------------------------------------------------------------------- */

static char *printed;
static size_t printed_size;

static void collect(const char *bytes, size_t size)
{
	printed = realloc(printed, printed_size + size + 1);
	MUST(printed);
	memcpy(printed + printed_size, bytes, size);
	printed_size += size;
	printed[printed_size] = 0;
}

static void print_begin(void)
{
	free(printed);
	printed = NULL;
	printed_size = 0;
	out_to(collect);
	collect("", 0);
}

static void print_end(void)
{
	out_flush();
}

/* Checks that the output is a line without control characters. */
static void check_harmless(void)
{
	MUST(utf8_harmless((const unsigned char *)printed, printed_size, "", NULL));
}

/* -- JSON -------------------------------------------------------------------------------------------- */

static void check_json(void)
{
	const char *end = json_read(printed);

	MUST(*end == '\n' && end + 1 == printed + printed_size);
}

/* -- Layouts -------------------------------------------------------------------------------------------- */

/* Writes the labels of a field as they were declared. */
static char *declare_labels(const struct layout *l, const struct layout_field *f, char *text)
{
	for (unsigned i = f->first_label; i < f->first_label + f->labels; i++) {
		const struct layout_label *label = &l->label[i];
		char separator = i == f->first_label ? '<' : f->naming == NAMING_BITS ? '|' : ',';

		text += sprintf(text, "%c%.*s=", separator, (int)label->length, l->text + label->at);
		text += f->kind == LAYOUT_SIGNED ? sprintf(text, "%" PRId64, label->value) :
		                                   sprintf(text, "%" PRIu64, (uint64_t)label->value);
	}
	return text + sprintf(text, "%s", f->labels ? ">" : "");
}

/* Writes the attributes that the meaning corresponds to, with a semicolon behind them. */
static char *declare_meaning(const struct layout *l, bool packed, char *text)
{
	const struct layout_meaning *m = &l->meaning;
	const struct {
		const char *word;
		unsigned field;
	} fields[] = { { "by", m->by }, { "took", m->took }, { "send", m->send }, { "receive", m->receive },
		       { "level", m->level_field } };
	char *first = text;

	if (packed)
		text += sprintf(text, ",packed");
	if (m->begin[0])
		text += sprintf(text, ",begin=%s", m->begin);
	if (m->end[0])
		text += sprintf(text, ",end=%s", m->end);
	for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if (fields[i].field)
			text += sprintf(text, ",%s=%s", fields[i].word, l->field[fields[i].field - 1].name);
	if (m->level)
		text += sprintf(text, ",level=%s", layout_levels[m->level]);
	if (m->counter)
		text += sprintf(text, ",counter");
	if (text == first)
		return text;
	memmove(first, first + 1, (size_t)(text - first));
	text[-1] = ';';
	return text;
}

/* Writes the declaration that the parsed fields correspond to. */
static void declare(const struct layout *l, unsigned from, char *text)
{
	static const char *const letters[] = {
		[LAYOUT_UNSIGNED] = "u", [LAYOUT_SIGNED] = "i", [LAYOUT_HEX] = "x",    [LAYOUT_FLOAT] = "f",
		[LAYOUT_BOOL] = "bool",  [LAYOUT_CODE] = "a",   [LAYOUT_TIME] = "t",   [LAYOUT_CHARS] = "c",
		[LAYOUT_STRING] = "z",   [LAYOUT_TEXT] = "s",   [LAYOUT_BYTES] = "b"
	};
	bool packed = false;

	for (unsigned i = from; i < l->count; i++)
		packed |= l->field[i].align < 2 && l->field[i].size > 1;
	text = declare_meaning(l, packed, text + sprintf(text, "n{"));
	for (unsigned i = from; i < l->count; i++) {
		const struct layout_field *f = &l->field[i];

		text += sprintf(text, "%s%s:%s", i > from ? "," : "", f->name, letters[f->kind]);
		if (f->kind < LAYOUT_CHARS && f->kind != LAYOUT_BOOL)
			text += sprintf(text, "%u", f->size * 8u);
		text = declare_labels(l, f, text);
		if (f->counter)
			text += sprintf(text, "[%s]", l->field[f->counter - 1].name);
		else if (f->count > 1 || (f->kind == LAYOUT_BYTES && f->count == 1))
			text += sprintf(text, "[%u]", f->count);
		if (f->unit_length)
			text += sprintf(text, "/%s", f->unit);
	}
	strcpy(text, "}");
}

/* Returns the number of items that the data has, or should have. */
static uint64_t items(const struct layout *l, const struct layout_places *places, unsigned field,
                      const unsigned char *data)
{
	const struct layout_field *f = &l->field[field];

	return f->counter ? layout_unsigned(data + places->of[f->counter - 1].at, l->field[f->counter - 1].size) :
	                    f->count;
}

static void check_fields(const struct layout *l)
{
	MUST(l->count <= LAYOUT_FIELDS && l->labels <= LAYOUT_LABELS && l->label_text <= LAYOUT_LABEL_TEXT &&
	     (l->align == 1 || l->align == 2 || l->align == 4 || l->align == 8 || l->count == 0));
	for (unsigned i = 0; i < l->count; i++) {
		const struct layout_field *f = &l->field[i];

		MUST(f->name_length == strlen(f->name) && f->unit_length == strlen(f->unit));
		MUST(f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8);
		MUST(f->align == 1 || f->align == (l->align_most && f->size > l->align_most ? l->align_most : f->size));
		MUST(f->align <= l->align && f->counter <= i && f->first_label + f->labels <= l->labels);
		MUST(!f->counter || (l->field[f->counter - 1].kind == LAYOUT_UNSIGNED && f->count == 0));
		MUST(!layout_rest(f) || i == l->count - 1);
	}
}

/* Checks that the fields follow each other in the data, and which ones are complete. */
static void check_places(const struct layout *l, const unsigned char *data, size_t length)
{
	struct layout_places places;
	enum layout_form form;
	size_t end = 0;

	layout_locate(l, data, length, &places);
	MUST(places.count <= l->count && places.rest <= length && places.whole <= (places.count == l->count));
	for (unsigned i = 0; i < places.count; i++) {
		const struct layout_field *f = &l->field[i];
		size_t at = places.of[i].at, size = places.of[i].size;
		const unsigned char *null = size > 0 ? memchr(data + at, 0, size) : NULL;
		bool last = i == places.count - 1;

		MUST(at >= end && at - end < f->align && at + size <= length && size % f->size == 0);
		MUST(at % f->align == 0 || at == length);
		if (f->kind == LAYOUT_STRING)
			MUST(null ? null == data + at + size - 1 : last && !places.whole);
		else if (!layout_rest(f))
			MUST(size == items(l, &places, i, data) * f->size || (last && !places.whole));
		end = at + size;
	}
	MUST(places.rest == end || places.rest == length || !places.whole);
	form = layout_form(l, data, length, &places);
	MUST((form != FORM_FIELDS && form != FORM_MORE) || places.whole);
}

/* Checks that the quoted text represents the data. */
static void check_text(const unsigned char *data, size_t length)
{
	size_t at = 0;
	const char *p;

	print_begin();
	layout_print_text(data, length);
	print_end();
	check_harmless();
	p = printed;
	MUST(*p++ == '"');
	for (; p < printed + printed_size - 1; at++) {
		unsigned char c = (unsigned char)*p++;

		if (c == '\\') {
			c = (unsigned char)*p++;
			if (c == 'x') {
				unsigned hex;

				MUST(sscanf(p, "%2x", &hex) == 1);
				c = (unsigned char)hex;
				p += 2;
			} else {
				c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
			}
		} else {
			MUST(c != '"');
		}
		MUST(at < length && data[at] == c);
	}
	MUST(at == length && *p == '"');
}

static void check_hex(const unsigned char *data, size_t length, unsigned group)
{
	const char *p;

	print_begin();
	layout_print_hex(data, length, group);
	print_end();
	p = printed;
	for (size_t i = 0; i < length; i++, p += 2) {
		unsigned hex;

		if (group && i > 0 && i % group == 0)
			MUST(*p++ == ' ');
		MUST(sscanf(p, "%2x", &hex) == 1 && hex == data[i]);
	}
	MUST(!*p);
}

static void try_layout(void)
{
	struct layout l = { .align_most = (uint8_t)(take(1) % 2 ? 4 : 0) }, before, again;
	unsigned names = 1 + (unsigned)take(1) % 3;
	size_t length;
	unsigned char *data;
	struct layout_places places;
	enum layout_form form;

	for (unsigned i = 0; i < names; i++) {
		char *name = take_text(TRACE_EVENT_NAME_MAX), text[4096];
		struct layout alone = { .align_most = l.align_most };
		bool parsed;

		before = l;
		parsed = layout_parse(&l, name);
		MUST(parsed || memcmp(&before, &l, sizeof l) == 0);
		MUST(layout_parse(&alone, name) == (layout_name(name) < strlen(name)));
		MUST(alone.count > 0 || !parsed);
		if (parsed) {
			declare(&l, before.count, text);
			again = before;
			MUST(layout_parse(&again, text) && again.count == l.count && again.labels == l.labels &&
			     again.align == l.align);
			for (unsigned f = before.count; f < l.count; f++)
				MUST(strcmp(again.field[f].name, l.field[f].name) == 0 &&
				     again.field[f].align == l.field[f].align &&
				     again.field[f].count == l.field[f].count &&
				     again.field[f].counter == l.field[f].counter &&
				     again.field[f].naming == l.field[f].naming &&
				     again.field[f].kind == l.field[f].kind &&
				     strcmp(again.field[f].unit, l.field[f].unit) == 0);
		}
		free(name);
	}
	data = take_data(&length);
	check_fields(&l);
	if (l.count)
		check_places(&l, data, length);
	form = layout_form(l.count ? &l : NULL, data, length, &places);
	MUST(form < FORMS && (form == FORM_NONE) == (length == 0));
	MUST(form != FORM_TEXT || utf8_harmless(data, layout_text_length(data, length), "\n\t", NULL));
	check_text(data, length);
	check_hex(data, length, (unsigned)length % 5);
	print_begin();
	if (l.count)
		layout_print(&l, data, length, NULL);
	else
		layout_print_unknown(data, length);
	print_end();
	check_harmless();
	print_begin();
	layout_json(l.count ? &l : NULL, data, length);
	json_done();
	print_end();
	check_json();
	free(data);
}

/* A layout beside a name, which may be long. */
static void try_declaration(void)
{
	struct layout l = { .align_most = (uint8_t)(take(1) % 2 ? 4 : 0) }, before;
	char *text = take_text(2 * LAYOUT_TEXT_SIZE);
	struct layout_fault fault;

	before = l;
	if (layout_declare(&l, text, &fault)) {
		size_t length;
		unsigned char *data = take_data(&length);

		MUST(layout_check(text, &fault));
		check_fields(&l);
		check_places(&l, data, length);
		print_begin();
		layout_print(&l, data, length, NULL);
		print_end();
		check_harmless();
		print_begin();
		layout_json(&l, data, length);
		json_done();
		print_end();
		check_json();
		free(data);
	} else {
		MUST(memcmp(&before, &l, sizeof l) == 0 && !layout_check(text, &fault));
		MUST(fault.at >= text && fault.at + fault.length <= text + strlen(text) && fault.why[0]);
	}
	free(text);
}

/* -- Times ------------------------------------------------------------------------------------------------ */

static void try_moment(void)
{
	uint64_t begin = take(8), time = 4711, again;
	int width = (int)take(1) % 40;
	char *text = take_text(64), *small = malloc(16), *end;
	int64_t ns;

	MUST(small);
	if (!moment_parse(text, begin, &time))
		MUST(time == 4711);
	/* What is printed can be parsed, for years of four digits. */
	print_begin();
	moment_print(begin);
	print_end();
	check_harmless();
	if (begin < UINT64_C(253402300800) * 1000000000)
		MUST(moment_parse(printed, 0, &again) && again == begin);
	print_begin();
	if ((int64_t)begin < 0)
		moment_print_seconds(0, 0 - begin, width);
	else
		moment_print_seconds(begin, 0, width);
	print_end();
	MUST(printed_size >= (size_t)width || printed_size > 10);
	ns = (int64_t)strtoll(printed, &end, 10);
	MUST(*end == '.' && strlen(end) == 10 && ns == (int64_t)begin / 1000000000);
	MUST((uint64_t)strtoull(end + 1, NULL, 10) == ((int64_t)begin < 0 ? 0 - begin : begin) % 1000000000);
	MUST(((int64_t)begin < 0) == (strchr(printed, '-') != NULL));
	MUST(strlen(moment_duration(small, begin)) < 16);
	MUST(strlen(bytes_text(small, begin)) < 16 && strlen(bytes_short(small, begin)) <= 5);
	free(small);
	free(text);
}

/* -- Arguments ---------------------------------------------------------------------------------------------- */

/* Parses digits and a unit. Sets *beyond if the size exceeds 64 bits. Returns false for anything else. */
static bool size_of(const char *text, uint64_t *n, bool *beyond)
{
	static const char units[] = "kmgt";
	const char *p = text, *unit;

	*beyond = false;
	for (*n = 0; *p >= '0' && *p <= '9'; p++)
		*beyond |= __builtin_mul_overflow(*n, UINT64_C(10), n) |
		           __builtin_add_overflow(*n, (uint64_t)(*p - '0'), n);
	if (p == text)
		return false;
	unit = *p ? strchr(units, *p | 0x20) : NULL;
	/* Exclude characters that become letters by this bit. */
	if (unit && ((*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z'))) {
		*beyond |= *n >> (64 - 10 * (unit - units + 1)) != 0;
		*n <<= 10 * (unit - units + 1);
		p++;
		if (p[0] == 'i' && (p[1] == 'B' || p[1] == 'b'))
			p += 2;
		else if (*p == 'B' || *p == 'b')
			p++;
	}
	return !*p;
}

/* Returns true for decimal digits, perhaps with a point, and a unit. */
static bool looks_like_a_duration(const char *text)
{
	static const char *const units[] = { "", "ns", "us", "ms", "s", "m", "min", "h" };
	size_t whole = strspn(text, "0123456789"),
	       part = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;

	if (whole + part == 0)
		return false;
	text += whole + (text[whole] == '.') + part;
	text += strspn(text, " ");
	for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strcmp(text, units[i]) == 0)
			return true;
	return false;
}

static void try_arguments(void)
{
	long least = (long)take(8), most = (long)take(8);
	char *text = take_text(600), *end;
	uint64_t n;
	bool beyond;
	volatile size_t size = 0;
	volatile long long duration = -1;
	volatile long number = 0;

	if (COMES_BACK(size = argument_size("--size", text)))
		MUST(size_of(text, &n, &beyond) && !beyond && n == size);
	else
		MUST(!size_of(text, &n, &beyond) || beyond || n > SIZE_MAX);
	if (COMES_BACK(duration = argument_duration("--time", text)))
		MUST(duration >= 0 && looks_like_a_duration(text));
	if (COMES_BACK(number = argument_number("--number", text, least, most)))
		MUST(number >= least && number <= most && number == strtol(text, &end, 10) && !*end && end > text);
	free(text);
}

/* -- Patterns ------------------------------------------------------------------------------------------------- */

#define PATTERNS 4

static void try_match(void)
{
	char *pattern[PATTERNS], *name;
	struct match *m = match_new();
	unsigned count = (unsigned)take(1) % (PATTERNS + 1);
	bool wanted = true, got;
	size_t length;

	for (unsigned i = 0; i < count; i++) {
		/* A pattern with many stars may be slow; the user has to avoid it. */
		pattern[i] = take_text(12);
		MUST(match_option(m, 'e', pattern[i]));
	}
	name = take_text(TRACE_EVENT_NAME_MAX);
	got = match_name(m, name);
	length = layout_name(name);
	MUST(length <= strlen(name) && (length == strlen(name) || name[length] == '{'));
	name[length] = 0;
	if (count > 0)
		wanted = *pattern[0] == '!';
	for (unsigned i = 0; i < count; i++)
		if (fnmatch(pattern[i] + (*pattern[i] == '!'), name, 0) == 0)
			wanted = *pattern[i] != '!';
	MUST(got == wanted && match_all(m) == (count == 0));
	free(name);
	name = take_text(64);
	COMES_BACK(match_option(m, MATCH_FROM + (int)take(1) % 2, name));
	/* The match may point into the text: it is never freed before the command ends. */
	for (unsigned i = 0; i < count; i++)
		free(pattern[i]);
	free(name);
	free(m);
}

/* -- Spans ---------------------------------------------------------------------------------------------------- */

#define NAMES  6
#define SCOPES 3
#define OPEN   300

/* A simple model of what span.h specifies. */
struct model {
	uint64_t begins, ends, cut, count, sum;
	unsigned depth[SCOPES];
	uint64_t time[SCOPES][OPEN];
};

static void model_event(struct model *m, bool begins, bool ends, bool cuts, bool nested, unsigned scope, uint64_t time)
{
	if (ends && m->depth[scope] > 0) {
		uint64_t since = m->time[scope][--m->depth[scope]];

		m->count++;
		m->sum += time > since ? time - since : 0;
	} else if (ends && !begins) {
		m->ends++;
	}
	for (unsigned i = 0; cuts && i < SCOPES; i++) {
		m->cut += m->depth[i];
		m->depth[i] = 0;
	}
	if (begins && m->depth[scope] > 0 && !nested) {
		m->begins++;
		m->depth[scope]--;
	}
	if (begins)
		m->time[scope][m->depth[scope]++] = time;
}

static void free_spans(struct spans *spans)
{
	for (unsigned i = 0; i < spans->count; i++) {
		struct span *s = spans->span[i];

		for (unsigned k = 0; k < s->room; k++)
			free(s->open[k].time);
		free(s->open);
		free(s->begin);
		free(s->end);
		free(s->name);
		free(s);
	}
}

static void print_spans(const struct spans *spans)
{
	print_begin();
	span_json(spans);
	json_done();
	print_end();
	check_json();
	print_begin();
	span_print(spans);
	for (unsigned i = 0; i < spans->count; i++)
		if (spans->span[i]->durations.count)
			span_chart(spans->span[i]);
	print_end();
	MUST(utf8_harmless((const unsigned char *)printed, printed_size, "\n", NULL));
}

/* A separate function, because variables that change between setjmp() and longjmp() are lost. */
static bool add_span(struct spans *spans, const char *text)
{
	return COMES_BACK(span_add(spans, text));
}

static void try_spans(void)
{
	static struct model model[SPANS_MAX];
	static struct spans spans;
	char *name[NAMES];
	struct span_role role[NAMES];
	unsigned count = (unsigned)take(1) % 4;

	memset(model, 0, sizeof model);
	spans = (struct spans){ .nested = take(1) % 2 };
	for (unsigned i = 0; i < count; i++) {
		char *text = take_text(16);
		unsigned before = spans.count;
		bool added = add_span(&spans, text);

		MUST(spans.count == before + added);
		if (added) {
			const struct span *s = spans.span[before];

			/* Layouts in the patterns are left out. */
			MUST(*s->begin && *s->end && strlen(s->begin) + 1 + strlen(s->end) <= strlen(text));
			MUST(strchr(text, '{') || strlen(s->begin) + 1 + strlen(s->end) == strlen(text));
		}
		free(text);
	}
	for (unsigned i = 0; i < NAMES; i++) {
		name[i] = take_text(16);
		role[i] = span_role(&spans, name[i], NULL);
	}
	for (unsigned events = 0; events < OPEN && left > 1; events++) {
		unsigned what = (unsigned)take(1), of = what % NAMES, scope = what / 8 % SCOPES;
		bool cuts = what >= 250;
		uint64_t time = take(1) * (what & 64 ? UINT64_C(1) << 40 : 1);

		span_event(&spans, &(struct span_event){ .role = &role[of], .time = time, .thread = scope,
		                                         .process = scope, .cuts = cuts });
		for (unsigned i = 0; i < spans.count; i++)
			model_event(&model[i], role[of].begins >> i & 1, role[of].ends >> i & 1, cuts, spans.nested,
			            scope, time);
	}
	span_finish(&spans);
	for (unsigned i = 0; i < spans.count; i++) {
		const struct span *s = spans.span[i];

		for (unsigned k = 0; k < SCOPES; k++)
			model[i].begins += model[i].depth[k];
		MUST(s->begins == model[i].begins && s->ends == model[i].ends && s->cut == model[i].cut);
		MUST(s->durations.count == model[i].count && s->durations.sum == model[i].sum && s->open_count == 0);
	}
	print_spans(&spans);
	for (unsigned i = 0; i < NAMES; i++)
		free(name[i]);
	free_spans(&spans);
}

/* -- Pairs -------------------------------------------------------------------------------------------------------- */

static void try_pairs(void)
{
	static struct spans spans;
	struct source source = { .layouts = layouts_new() };
	struct sources sources = { .source = &source, .count = 1 };

	MUST(source.layouts);
	spans = (struct spans){ .count = 0 };
	for (uint32_t i = 0; i < 50 && left > 0; i++) {
		char *name = take_text(TRACE_EVENT_NAME_MAX);

		MUST(layouts_add(source.layouts, EVENT_ID_USER + i, name));
		MUST(strlen(layouts_name(source.layouts, EVENT_ID_USER + i)) == layout_name(name));
		free(name);
	}
	pairs_add(&spans, &sources, false);
	for (unsigned i = 0; i < spans.count; i++) {
		unsigned begins = 0, ends = 0;

		if (!spans.span[i]->begin)
			continue; /* declared by a layout */
		MUST(spans.span[i]->name && *spans.span[i]->name);
		/* Each pair matches exactly the types with its name. */
		for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++) {
			const char *name = layouts_name(source.layouts, id);
			struct span_role role = name ? span_role(&spans, name, NULL) : (struct span_role){ 0 };

			begins += role.begins >> i & 1;
			ends += role.ends >> i & 1;
			if ((role.begins | role.ends) >> i & 1)
				MUST(strncmp(name, spans.span[i]->name, strlen(spans.span[i]->name)) == 0);
		}
		/* The word begin makes a span also without the type of its end. */
		MUST(begins > 0 && (ends > 0 || strcasecmp(strrchr(spans.span[i]->begin, 0) - 5, "begin") == 0));
	}
	print_spans(&spans);
	free_spans(&spans);
	layouts_free(source.layouts);
}

/* -- Expressions -------------------------------------------------------------------------------------------------- */

/* An event with the data that are left, in memory of exactly their size. */
static void ask(const struct formula *f, bool condition)
{
	struct log_event event = { .id = EVENT_ID_USER, .pid = 1, .tid = 2, .time = take(8), .name = "thread" };
	size_t size;
	unsigned char *data = take_data(&size);
	struct evaluation e = { .event = &event, .data = data, .process = "p" };
	enum truth same, truth;
	struct value v;

	event.length = (uint32_t)size;
	if (condition) {
		truth = evaluate_truth(f, &e);
		MUST(truth <= TRUTH_TRUE);
		MUST(!formula_constant(f, &same) || same == truth);
		MUST(evaluate_truth(f, &e) == truth);
	} else {
		v = evaluate_value(f, &e);
		MUST(v.kind <= TEXT_VALUE && (v.kind == NO_VALUE || f->has_value));
		MUST(v.kind != INTEGER_VALUE || !v.negative || v.magnitude > 0);
		/* Each byte of a text can be read. */
		for (size_t i = 0; v.kind == TEXT_VALUE && i < v.length; i++)
			MUST(v.text[i] || true);
	}
	free(e.room);
	free(data);
}

static void try_expression(void)
{
	bool condition = take(1) % 2;
	char *text = take_text(600), *name = take_text(1000);
	struct layout layout = { .align_most = take(1) % 2 ? 4 : 8 };
	struct formula_type type = { .name = "event", .begin = 1000 };
	struct expression_fault fault;
	struct expression *x = expression_parse(text, condition, &fault);
	struct formula *f;

	if (layout_parse(&layout, name))
		type.layout = &layout;
	if (x) {
		MUST(strlen(x->source) == strlen(text) && x->root < x->count);
		for (unsigned i = 0; i < x->count; i++)
			MUST(x->node[i].at + x->node[i].length <= strlen(text));
		if (type.layout)
			formula_declare(x, type.layout);
		f = formula_new(x, &type, condition);
		MUST(f);
		ask(f, condition);
		formula_free(f);
	} else {
		MUST(fault.why[0] && fault.at <= strlen(text));
	}
	free(x);
	free(text);
	free(name);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (!setlocale(LC_CTYPE, "C.UTF-8")) {
		fprintf(stderr, "there is no locale C.UTF-8\n");
		exit(77);
	}
	/* In UTC each local time is unambiguous. */
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static void (*const of[])(void) = { try_layout, try_declaration, try_moment, try_arguments,
		                            try_match,  try_spans,  try_pairs };
	unsigned first;

	input = bytes;
	left = size;
	first = (unsigned)take(1);
	if (first == 'e')
		try_expression();
	else
		of[first % (sizeof of / sizeof of[0])]();
	return 0;
}
