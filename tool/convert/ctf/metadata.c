/*
 * metadata.c - how a trace in the Common Trace Format is to be read, in its own language
 *
 * Names come from programs and may be anything: names.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/ctf/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/linux_event.h"
#include "common/message.h"
#include "common/moment.h"
#include "convert/ctf/packet.h"
#include "event/layouts.h"
#include "event/names.h"
#include "event/shown.h"

/* -- Names -------------------------------------------------------------------------------------------- */

/* The longest string, in bytes. */
#define STRING_MAX 256

static void put_string(FILE *out, const char *text)
{
	char shown[SHOWN_SIZE(STRING_MAX)];

	fputc('"', out);
	shown_copy(shown, sizeof shown, text, STRING_MAX);
	for (const char *p = shown; *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', out);
		fputc(*p, out);
	}
	fputc('"', out);
}

/* -- Fields ------------------------------------------------------------------------------------------- */

static const char *type_name(char text[16], const struct layout_field *f)
{
	static const char kinds[] = { [LAYOUT_UNSIGNED] = 'u', [LAYOUT_SIGNED] = 'i', [LAYOUT_HEX] = 'x',
	                              [LAYOUT_FLOAT] = 'f',    [LAYOUT_BOOL] = 'u',   [LAYOUT_CODE] = 'x',
	                              [LAYOUT_TIME] = 'u',     [LAYOUT_CHARS] = 'c',  [LAYOUT_BYTES] = 'x' };

	snprintf(text, 16, "%c%u", kinds[f->kind], 8u * f->size);
	return text;
}

/* Writes the type of the items of a field. */
static void put_type(FILE *out, const struct layout *l, const struct layout_field *f)
{
	char type[16], label[LAYOUT_LABEL_MAX + 1];

	if (f->naming != NAMING_VALUES) {
		fputs(type_name(type, f), out);
		return;
	}
	fprintf(out, "enum : %s {", type_name(type, f));
	for (unsigned i = f->first_label; i < f->first_label + f->labels; i++) {
		snprintf(label, sizeof label, "%.*s", (int)l->label[i].length, l->text + l->label[i].at);
		fputs(i > f->first_label ? ", " : " ", out);
		put_string(out, label);
		if (f->kind == LAYOUT_SIGNED)
			fprintf(out, " = %" PRId64, l->label[i].value);
		else
			fprintf(out, " = %" PRIu64, (uint64_t)l->label[i].value);
	}
	fputs(" }", out);
}

/* Names begin with an underscore, which readers remove, so no name is a keyword. */
static void put_bytes_field(FILE *out, const char *name)
{
	fprintf(out, "\t\tu16 __%s_length;\n\t\tx8 _%s[__%s_length];\n", name, name, name);
}

/* Writes the declaration of a field; the names are those of all fields up to this one. */
static void put_field(FILE *out, const struct layout *l, unsigned field, const char *const names[])
{
	const struct layout_field *f = &l->field[field];

	if (f->kind == LAYOUT_TEXT || f->kind == LAYOUT_STRING) {
		fprintf(out, "\t\tstring { encoding = UTF8; } _%s;\n", names[field]);
	} else if (layout_rest(f)) {
		put_bytes_field(out, names[field]);
	} else {
		fputs("\t\t", out);
		put_type(out, l, f);
		fprintf(out, " _%s", names[field]);
		if (f->counter)
			fprintf(out, "[_%s]", names[f->counter - 1]);
		else if (f->count > 1 || f->kind == LAYOUT_CHARS || f->kind == LAYOUT_BYTES)
			fprintf(out, "[%u]", f->count);
		fputs(";\n", out);
	}
}

static void put_fields(FILE *out, const struct layout *l, enum layout_form form)
{
	const char *field[LAYOUT_FIELDS];
	struct names names = { 0 };

	fputs("\tfields := struct {\n", out);
	for (unsigned i = 0; (form == FORM_FIELDS || form == FORM_MORE) && i < l->count; i++) {
		field[i] = names_identifier(&names, l->field[i].name);
		put_field(out, l, i, field);
	}
	if (form == FORM_MORE)
		put_bytes_field(out, names_identifier(&names, "more"));
	else if (form == FORM_TEXT)
		fputs("\t\tstring { encoding = UTF8; } _text;\n", out);
	else if (form == FORM_BYTES)
		put_bytes_field(out, "data");
	fputs("\t};\n", out);
}

/* -- The parts ------------------------------------------------------------------------------------------ */

static void put_types(FILE *out)
{
	fputs("/* CTF 1.8 */\n\n", out);
	for (unsigned size = 8; size <= 64; size *= 2)
		fprintf(out,
		        "typealias integer { size = %u; align = 8; signed = false; } := u%u;\n"
		        "typealias integer { size = %u; align = 8; signed = true; } := i%u;\n"
		        "typealias integer { size = %u; align = 8; signed = false; base = 16; } := x%u;\n",
		        size, size, size, size, size, size);
	fputs("typealias integer { size = 8; align = 8; signed = true; encoding = UTF8; } := c8;\n"
	      "typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32;\n"
	      "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;\n\n", out);
}

static void put_uuid(FILE *out, const unsigned char uuid[16])
{
	for (unsigned i = 0; i < 16; i++)
		fprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static void put_trace(FILE *out, const unsigned char uuid[16])
{
	fputs("trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", out);
	put_uuid(out, uuid);
	fprintf(out,
	        "\";\n\tbyte_order = %s;\n"
	        "\tpacket.header := struct {\n\t\tu32 magic;\n\t\tu8 uuid[16];\n\t\tu32 stream_id;\n\t};\n};\n\n",
	        *(const uint16_t *)"\1" == 1 ? "le" : "be");
}

static void put_text(FILE *out, const char *key, const char *value)
{
	fprintf(out, "\t%s = ", key);
	put_string(out, value);
	fputs(";\n", out);
}

/* Writes the facts about the machine. */
static void put_machine(FILE *out, const struct logfile *f)
{
	const struct log_header *h = &f->in.header;

	put_text(out, "hostname", h->host);
	put_text(out, "sysname", "Linux");
	put_text(out, "kernel_release", h->kernel);
	put_text(out, "machine", h->machine);
}

static void put_env(FILE *out, const struct logfile *f)
{
	const struct log_header *h = &f->in.header;
	char date[40];

	fputs("env {\n", out);
	put_machine(out, f);
	put_text(out, "tracer_name", "posixtrace");
	put_text(out, "tracer_version", h->attr.version);
	put_text(out, "trace_name", h->attr.name);
	put_text(out, "trace_creation_datetime", moment_utc(date, logfile_created(f)));
	fputs("\tboot_id = \"", out);
	put_uuid(out, h->boot);
	fprintf(out, "\";\n\tarchitecture_bit_width = %u;\n\ttarget_pid = %u;\n\tcreator_pid = %u;\n};\n\n",
	        8u * h->word, h->target, h->creator);
}

static void put_clock(FILE *out, const struct logfile *f)
{
	int64_t resolution = f->in.header.attr.resolution_nsec;

	fprintf(out,
	        "clock {\n\tname = realtime;\n\tdescription = \"CLOCK_REALTIME as it was set when the stream was "
	        "created\";\n"
	        "\tfreq = 1000000000;\n\tprecision = %lld;\n\toffset = 0;\n\tabsolute = TRUE;\n};\n\n"
	        "typealias integer { size = 64; align = 8; signed = false; map = clock.realtime.value; "
	        "} := moment;\n\n",
	        (long long)(resolution > 0 ? resolution : 1));
}

static void put_stream(FILE *out)
{
	fputs("stream {\n\tid = 0;\n"
	      "\tpacket.context := struct {\n\t\tmoment timestamp_begin;\n\t\tmoment timestamp_end;\n\t\tu64 "
	      "content_size;\n\t\tu64 packet_size;\n"
	      "\t\tu64 packet_seq_num;\n\t\tu64 events_discarded;\n\t};\n"
	      "\tevent.header := struct {\n\t\tu32 id;\n\t\tmoment timestamp;\n\t};\n"
	      "\tevent.context := struct {\n\t\tu32 _vpid;\n\t\tu32 _vtid;\n\t\tx64 _ip;\n\t\tu8 _truncated;\n"
	      "\t\tstring { encoding = UTF8; } _procname;\n\t};\n};\n\n", out);
}

/* Returns the number that readers of CTF know for a level. Those from 7 to 13 are for parts of debugging. */
static int level_number(enum layout_level level)
{
	return level == LEVEL_DEBUG ? 14 : (int)level - LEVEL_EMERGENCY;
}

static void put_kind(FILE *out, const struct logfile *f, const struct layouts *layouts, unsigned kind)
{
	uint32_t id = kind % CTF_TYPES;
	const char *name = layouts_name(layouts, id);
	const struct layout *layout = layouts_find(layouts, id);

	fputs("event {\n\tname = ", out);
	put_string(out, name ? name : logfile_type(f, id));
	fprintf(out, ";\n\tid = %u;\n\tstream_id = 0;\n", kind);
	if (layout && layout->meaning.level)
		fprintf(out, "\tloglevel = %d;\n", level_number(layout->meaning.level));
	if (kind >= CTF_LATE)
		fputs("\tcontext := struct {\n\t\tu64 _late;\n\t};\n", out);
	put_fields(out, layout, (enum layout_form)(kind / CTF_TYPES % FORMS));
	fputs("};\n\n", out);
}

static FILE *create(int directory, const char *path)
{
	int fd = openat(directory, "metadata", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

	if (!out)
		fail("%s: %s", path, strerror(errno));
	return out;
}

static void finish(FILE *out, const char *path)
{
	if (ferror(out) | fclose(out))
		fail("%s: %s", path, strerror(errno));
}

void ctf_metadata(int directory, const char *path, const struct logfile *log, const struct layouts *layouts,
                  const unsigned char uuid[16], const bool *kinds)
{
	FILE *out = create(directory, path);

	put_types(out);
	put_trace(out, uuid);
	put_env(out, log);
	put_clock(out, log);
	put_stream(out);
	for (unsigned kind = 0; kind < CTF_KINDS; kind++)
		if (kinds[kind])
			put_kind(out, log, layouts, kind);
	finish(out, path);
}

/* -- The kernel's ---------------------------------------------------------------------------------------- */

static void put_kernel_env(FILE *out, const struct logfile *f)
{
	fputs("env {\n", out);
	put_machine(out, f);
	/* Viewers know the events of this tracer, and only of this one. */
	fputs("\tdomain = \"kernel\";\n\ttracer_name = \"lttng-modules\";\n\ttracer_major = 2;\n\ttracer_minor = 13;\n"
	      "\ttracer_patchlevel = 0;\n\tconverted_by = \"posixtrace\";\n};\n\n", out);
}

static void put_kernel_stream(FILE *out)
{
	fputs("stream {\n\tid = 0;\n"
	      "\tpacket.context := struct {\n\t\tmoment timestamp_begin;\n\t\tmoment timestamp_end;\n"
	      "\t\tu64 content_size;\n\t\tu64 packet_size;\n\t\tu64 packet_seq_num;\n\t\tu64 events_discarded;\n"
	      "\t\tu32 cpu_id;\n\t};\n"
	      "\tevent.header := struct {\n\t\tu32 id;\n\t\tmoment timestamp;\n\t};\n};\n\n", out);
}

static void put_scheduler(FILE *out)
{
	static const char *const wakings[] = { [KERNEL_WAKING] = "sched_waking", [KERNEL_WAKEUP] = "sched_wakeup",
	                                       [KERNEL_WAKEUP_NEW] = "sched_wakeup_new" };

	fprintf(out, "event {\n\tname = \"sched_switch\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n"
	        "\t\tc8 _prev_comm[16];\n\t\ti32 _prev_tid;\n\t\ti32 _prev_prio;\n\t\ti64 _prev_state;\n"
	        "\t\tc8 _next_comm[16];\n\t\ti32 _next_tid;\n\t\ti32 _next_prio;\n\t};\n};\n\n",
	        (unsigned)KERNEL_SWITCH);
	for (unsigned i = KERNEL_WAKING; i <= KERNEL_WAKEUP_NEW; i++)
		fprintf(out, "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n"
		        "\t\tc8 _comm[16];\n\t\ti32 _tid;\n\t\ti32 _prio;\n\t\ti32 _target_cpu;\n\t};\n};\n\n",
		        wakings[i], i);
}

static void put_call(FILE *out, const struct layouts *layouts, uint32_t id)
{
	const struct layout *l = layouts_find(layouts, id);
	const char *type = layouts_name(layouts, id), *call = type + strlen(LINUX_CALL_PREFIX);
	const char *field[LAYOUT_FIELDS];
	struct names names = { 0 };
	char name[128];

	snprintf(name, sizeof name, "syscall_entry_%s", call);
	fputs("event {\n\tname = ", out);
	put_string(out, name);
	fprintf(out, ";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n", KERNEL_CALLS + 2 * id);
	for (unsigned i = linux_first_argument(linux_kind(type, layouts_text(layouts, id))); i < l->count; i++) {
		field[i] = names_identifier(&names, l->field[i].name);
		put_field(out, l, i, field);
	}
	snprintf(name, sizeof name, "syscall_exit_%s", call);
	fputs("\t};\n};\n\nevent {\n\tname = ", out);
	put_string(out, name);
	fprintf(out, ";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n\t\ti64 _ret;\n\t};\n};\n\n",
	        KERNEL_CALLS + 2 * id + 1);
}

void ctf_kernel_metadata(int directory, const char *path, const struct logfile *log, const struct layouts *layouts,
                         const unsigned char uuid[16], const bool *calls)
{
	FILE *out = create(directory, path);

	put_types(out);
	put_trace(out, uuid);
	put_kernel_env(out, log);
	put_clock(out, log);
	put_kernel_stream(out);
	put_scheduler(out);
	for (uint32_t id = 0; id < EVENT_ID_END; id++)
		if (calls[id])
			put_call(out, layouts, id);
	finish(out, path);
}
