/*
 * command.c - fuzzes the whole command with a log of any bytes: report, stat, check, convert, view, recover
 *
 * The first eight bytes of the input select the command line, the rest is the log. Each run is a child process, because
 * the command keeps its settings and ends by exit(). The parent checks what the child has printed and used. The child's
 * coverage is copied back, so that libFuzzer sees it as its own.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"
#include "json_read.h"
#include "must.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mutate.h"
#include "common/out.h"
#include "view/page_parts.h"
#include "base/utf8.h"

#define CHOICE 8 /* bytes of the input that select the command line */

/* Limits. A run needs a hundredth of them, and a log of a few KiB has no reason to need more. */
#define SECONDS_MAX 20
#define MEMORY_MAX  (512L << 10) /* KiB, in addition to the parent's */
#define OUTPUT_MAX  (64L << 20)

/* The command's main(), renamed for this program. */
int command_main(int argc, char **argv);

/* -- Command lines -------------------------------------------------------------------------------- */

/* What the output must be. */
enum form { FORM_LINES, FORM_JSON, FORM_JSON_LINES, FORM_CSV, FORM_PACKETS, FORM_PAGE, FORM_DIRECTORY };

#define WORDS 8

static const struct line {
	enum form form;
	const char *word[WORDS];
} lines[] = {
	{ FORM_LINES, { "report" } },
	{ FORM_LINES, { "report", "--absolute", "--full", "--symbols" } },
	{ FORM_LINES, { "report", "--delta", "--color", "always", "-n", "100" } },
	{ FORM_LINES, { "report", "--fields", "file,symbol,data,event,thread,tid,pid,time", "--tail", "20" } },
	{ FORM_JSON_LINES, { "report", "--json", "--symbols" } },
	{ FORM_LINES, { "stat" } },
	{ FORM_LINES, { "stat", "--span", "*begin*,*end*", "--nested" } },
	{ FORM_JSON, { "stat", "--json" } },
	{ FORM_LINES, { "check" } },
	{ FORM_JSON_LINES, { "check", "--json" } },
	{ FORM_JSON, { "convert", "--to", "chrome", "-o", "-" } },
	{ FORM_JSON, { "convert", "--to", "chrome", "-o", "-", "--span", "a*,b*" } },
	{ FORM_CSV, { "convert", "--to", "csv", "-o", "-" } },
	{ FORM_JSON_LINES, { "convert", "--to", "jsonl", "-o", "-" } },
	{ FORM_PACKETS, { "convert", "--to", "perfetto", "-o", "-" } },
	{ FORM_PACKETS, { "convert", "--to", "perfetto", "-o", "-", "--by", "process" } },
	{ FORM_DIRECTORY, { "convert", "--to", "ctf", "-o", "out.ctf", "-f" } },
	{ FORM_PAGE, { "view", "-o", "-" } },
	{ FORM_PAGE, { "view", "-o", "-", "--last", "--limit", "5" } },
	{ FORM_LINES, { "recover" } },
};

#define LINES (sizeof lines / sizeof lines[0])

/* Filters, for some subcommands only. */
static const char *const filters[][2] = {
	{ NULL }, { NULL }, { NULL }, { NULL }, { NULL }, { "-e", "!x*" }, { "-e", "posix_*" }, { "--pid", "1" },
	{ "--thread", "*a*" }, { "--from", "1us" }, { "--from", "2030-01-01" },
};

#define FILTERS (sizeof filters / sizeof filters[0])

static bool has_filters(const struct line *l)
{
	return strcmp(l->word[0], "check") != 0 && strcmp(l->word[0], "recover") != 0;
}

/* -- The child ------------------------------------------------------------------------------------- */

static int in_directory, printed_fd, said_fd;
static char place[32];

/* Counters of clang's coverage, and where the child copies them; null without coverage. */
static uint8_t *counters, *counted;
static size_t counters_size;

void __real___sanitizer_cov_8bit_counters_init(uint8_t *begin, uint8_t *end) __attribute__((weak));
void __wrap___sanitizer_cov_8bit_counters_init(uint8_t *begin, uint8_t *end);
/* Writes the coverage of lines, for script/fuzz --coverage. */
int write_profile(void) __asm__("__llvm_profile_write_file") __attribute__((weak));

void __wrap___sanitizer_cov_8bit_counters_init(uint8_t *begin, uint8_t *end)
{
	counters = begin;
	counters_size = (size_t)(end - begin);
	__real___sanitizer_cov_8bit_counters_init(begin, end);
}

#define ATEXIT 8
static void (*at_end[ATEXIT])(void);
static unsigned at_ends;
static bool running;

int __real_atexit(void (*f)(void));
int __wrap_atexit(void (*f)(void));
void __real_exit(int code) __attribute__((noreturn));
void __wrap_exit(int code) __attribute__((noreturn));

int __wrap_atexit(void (*f)(void))
{
	if (!running)
		return __real_atexit(f);
	MUST(at_ends < ATEXIT);
	at_end[at_ends++] = f;
	return 0;
}

/* libFuzzer treats a call of exit() as a fault. */
void __wrap_exit(int code)
{
	if (!running)
		__real_exit(code);
	while (at_ends > 0)
		at_end[--at_ends]();
	out_flush();
	fflush(NULL);
	if (counted)
		memcpy(counted, counters, counters_size);
	if (write_profile)
		write_profile();
	_exit(code);
}

static void run(const struct line *l, const char *const *filter)
{
	char *argv[WORDS + 6] = { "posixtrace" };
	int argc = 1;

	for (int i = 0; i < WORDS && l->word[i]; i++)
		argv[argc++] = (char *)l->word[i];
	for (int i = 0; i < 2 && filter[i]; i++)
		argv[argc++] = (char *)filter[i];
	argv[argc++] = "in.log";
	MUST(fchdir(in_directory) == 0);
	MUST(dup2(printed_fd, STDOUT_FILENO) >= 0 && dup2(said_fd, STDERR_FILENO) >= 0);
	alarm(SECONDS_MAX * 4);
	running = true;
	optind = 0;
	exit(command_main(argc, argv));
}

/* -- The output ---------------------------------------------------------------------------------------- */

/* Returns the contents of a file, terminated by a null. */
static char *take(int fd, size_t *size)
{
	struct stat st;
	char *text;

	MUST(fstat(fd, &st) == 0 && st.st_size <= OUTPUT_MAX);
	*size = (size_t)st.st_size;
	text = malloc(*size + 1);
	MUST(text && pread(fd, text, *size, 0) == (ssize_t)*size);
	text[*size] = 0;
	return text;
}

/* Removes the escape sequences of colours. */
static void strip_colours(char *text, size_t *size)
{
	size_t to = 0;

	for (size_t i = 0; i < *size; i++) {
		size_t n = text[i] == '\33' && text[i + 1] == '[' ? 2 + strspn(text + i + 2, "0123456789;") : 0;

		if (n && text[i + n] == 'm')
			i += n;
		else
			text[to++] = text[i];
	}
	text[to] = 0;
	*size = to;
}

static void check_lines(const char *text, size_t size)
{
	MUST(utf8_harmless((const unsigned char *)text, size, "\n", NULL));
	MUST(size == 0 || text[size - 1] == '\n');
}

static void check_json_lines(const char *text, size_t size)
{
	const char *p = text;

	while (p < text + size) {
		size_t line = strcspn(p, "\n");

		MUST(json_read(p) == p + line && p[line] == '\n');
		p += line + 1;
	}
	MUST(p == text + size);
}

static void check_json(const char *text, size_t size)
{
	MUST(json_blanks(json_read(text)) == text + size);
}

/* Checks RFC 4180, and that each line has the same number of fields. */
static void check_csv(const char *text, size_t size)
{
	size_t fields = 1, columns = 0;
	const char *p = text, *end = text + size;

	MUST(memchr(text, 0, size) == NULL);
	while (p < end) {
		if (*p == '"') {
			for (p++; *p != '"' || p[1] == '"'; p += *p == '"' ? 2 : 1)
				MUST(p < end);
			p++;
		} else {
			while (p < end && !strchr(",\"\r\n", *p))
				p++;
		}
		if (*p == ',') {
			fields++;
			p++;
			continue;
		}
		MUST(*p == '\r' || *p == '\n');
		p += *p == '\r' ? 2 : 1;
		MUST(p <= end && p[-1] == '\n' && (columns == 0 || fields == columns));
		columns = fields;
		fields = 1;
	}
}

/* Reads a varint of Protocol Buffers. */
static const unsigned char *varint(const unsigned char *p, const unsigned char *end, uint64_t *n)
{
	*n = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		MUST(p < end);
		*n |= (uint64_t)(*p & 127) << shift % 64;
		if (*p++ < 128)
			return p;
	}
	MUST(!"too long");
	return p;
}

/* Checks the fields of a message: a number, and contents of its length. Only the field `only` is allowed, if that is
 * not 0. */
static void check_message(const unsigned char *p, const unsigned char *end, uint64_t only)
{
	while (p < end) {
		uint64_t key, n = 0;

		p = varint(p, end, &key);
		MUST(key >> 3 > 0 && key >> 3 < UINT64_C(1) << 29 && (only == 0 || key == (only << 3 | 2)));
		switch (key & 7) {
		case 0:
			p = varint(p, end, &n);
			continue;
		case 1:
			n = 8;
			break;
		case 2:
			p = varint(p, end, &n);
			break;
		case 5:
			n = 4;
			break;
		default:
			MUST(!"there is no such type");
		}
		MUST(n <= (uint64_t)(end - p));
		if (only)
			check_message(p, p + n, 0);
		p += n;
	}
}

static unsigned from_base64(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = strchr(digits, c);

	MUST(c && at);
	return (unsigned)(at - digits);
}

/* Checks the blocks between the page's two constant parts. */
static void check_blocks(const char *p, const char *end)
{
	static const char kind[] = "<script type=\"application/octet-stream\" data-kind=\"",
			  none[] = "\" data-packing=\"none\" data-size=\"";

	while (p < end) {
		size_t size, length, n = 0;
		bool json;
		char *block;
		int at = 0;

		MUST(strncmp(p, kind, strlen(kind)) == 0);
		p += strlen(kind);
		json = strncmp(p, "tables\"", 7) == 0;
		p += strspn(p, "abcdefghijklmnopqrstuvwxyz");
		MUST(strncmp(p, none, strlen(none)) == 0);
		MUST(sscanf(p + strlen(none), "%zu\">%n", &size, &at) == 1 && at > 0);
		p += strlen(none) + (size_t)at;
		length = strcspn(p, "<");
		MUST(length == (size + 2) / 3 * 4);
		block = malloc(length + 1);
		MUST(block);
		for (size_t i = 0; i < length; i += 4) {
			uint32_t three = from_base64(p[i]) << 18 | from_base64(p[i + 1]) << 12 |
			                 (p[i + 2] == '=' ? 0 : from_base64(p[i + 2]) << 6) |
			                 (p[i + 3] == '=' ? 0 : from_base64(p[i + 3]));

			block[n++] = (char)(three >> 16);
			block[n++] = (char)(three >> 8);
			block[n++] = (char)three;
		}
		block[size] = 0;
		if (json)
			check_json(block, size);
		free(block);
		p += length;
		MUST(strncmp(p, "</script>\n", 10) == 0);
		p += 10;
	}
}

static void check_page(const char *text, size_t size)
{
	static const char mark[] = "<!DOCTYPE html>\n<!-- posixtrace view -->\n";
	size_t head = strlen(mark) + page_head_size;

	MUST(size >= head + page_tail_size && strncmp(text, mark, strlen(mark)) == 0);
	MUST(memcmp(text + strlen(mark), page_head, page_head_size) == 0);
	MUST(memcmp(text + size - page_tail_size, page_tail, page_tail_size) == 0);
	check_blocks(text + head, text + size - page_tail_size);
}

/* Checks that packets follow each other up to the end of the file, and that the metadata are text.
 * tests/fuzz/command.py lets babeltrace2 read them. */
static void check_directory(void)
{
	int fd = openat(in_directory, "out.ctf/events", O_RDONLY | O_CLOEXEC);
	size_t size, at = 0;
	uint64_t bits[2];
	char *text;

	MUST(fd >= 0);
	text = take(fd, &size);
	close(fd);
	while (at < size) {
		MUST(size - at >= 72 && memcmp(text + at, "\xc1\x1f\xfc\xc1", 4) == 0);
		memcpy(bits, text + at + 40, sizeof bits);
		MUST(bits[0] <= bits[1] && bits[1] >= 72 * 8 && bits[1] % 8 == 0 && bits[1] / 8 <= size - at);
		at += bits[1] / 8;
	}
	free(text);
	fd = openat(in_directory, "out.ctf/metadata", O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0);
	text = take(fd, &size);
	close(fd);
	MUST(strncmp(text, "/* CTF 1.8 */\n", 14) == 0 && utf8_harmless((unsigned char *)text, size, "\n\t", NULL));
	free(text);
}

static void check_printed(enum form form, char *text, size_t size)
{
	switch (form) {
	case FORM_LINES:
		strip_colours(text, &size);
		check_lines(text, size);
		break;
	case FORM_JSON:
		check_json(text, size);
		break;
	case FORM_JSON_LINES:
		check_json_lines(text, size);
		break;
	case FORM_CSV:
		check_csv(text, size);
		break;
	case FORM_PACKETS:
		check_message((unsigned char *)text, (unsigned char *)text + size, 1);
		break;
	case FORM_PAGE:
		check_page(text, size);
		break;
	case FORM_DIRECTORY:
		MUST(size == 0);
		check_directory();
		break;
	}
}

/* -- One run ------------------------------------------------------------------------------------------- */

static void prepare(const uint8_t *log, size_t size)
{
	int fd;

	strcpy(place, "/tmp/fuzz-command-XXXXXX");
	MUST(mkdtemp(place));
	in_directory = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(in_directory >= 0);
	fd = openat(in_directory, "in.log", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	MUST(fd >= 0 && write(fd, log, size) == (ssize_t)size && close(fd) == 0);
	MUST(ftruncate(printed_fd, 0) == 0 && ftruncate(said_fd, 0) == 0);
	MUST(lseek(printed_fd, 0, SEEK_SET) == 0 && lseek(said_fd, 0, SEEK_SET) == 0);
}

static void clean(void)
{
	static const char *const names[] = { "in.log", "out.ctf/events", "out.ctf/metadata" };

	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
		unlinkat(in_directory, names[i], 0);
	unlinkat(in_directory, "out.ctf", AT_REMOVEDIR);
	MUST(close(in_directory) == 0 && rmdir(place) == 0);
}

/* Prints the command line, its exit status, and its messages. */
static void tell(const struct line *l, const char *const *filter, int status, const char *said)
{
	fprintf(stderr, "posixtrace");
	for (int i = 0; i < WORDS && l->word[i]; i++)
		fprintf(stderr, " %s", l->word[i]);
	for (int i = 0; i < 2 && filter[i]; i++)
		fprintf(stderr, " %s", filter[i]);
	fprintf(stderr, ": %s %d; in %s/in.log\n%.20000s\n", WIFSIGNALED(status) ? "signal" : "exit status",
	        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), place, said);
}

static void try(const struct line *l, const char *const *filter)
{
	struct rusage usage, own;
	size_t printed_size, said_size;
	char *printed, *said;
	int status;
	pid_t pid, ended;

	fflush(stderr);
	MUST(getrusage(RUSAGE_SELF, &own) == 0);
	pid = fork();
	if (pid == 0)
		run(l, filter);
	/* libFuzzer's alarm may interrupt the wait. */
	while ((ended = wait4(pid, &status, 0, &usage)) < 0 && errno == EINTR)
		;
	MUST(pid > 0 && ended == pid);
	if (counted && WIFEXITED(status))
		memcpy(counters, counted, counters_size);
	said = take(said_fd, &said_size);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		tell(l, filter, status, said);
	MUST(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
	MUST(usage.ru_maxrss < own.ru_maxrss + MEMORY_MAX);
	MUST(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec < SECONDS_MAX);
	check_lines(said, said_size);
	/* A failure must print a message; the output before it may be incomplete. */
	MUST(WEXITSTATUS(status) == 0 || said_size > 0 || strcmp(l->word[0], "check") == 0);
	printed = take(printed_fd, &printed_size);
	if (WEXITSTATUS(status) == 0 || strcmp(l->word[0], "check") == 0)
		check_printed(l->form, printed, printed_size);
	free(printed);
	free(said);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	setenv("TZ", "UTC", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("TERM", "dumb", 1);
	printed_fd = memfd_create("printed", MFD_CLOEXEC);
	said_fd = memfd_create("said", MFD_CLOEXEC);
	MUST(printed_fd >= 0 && said_fd >= 0);
	if (counters) {
		counted = mmap(NULL, counters_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		MUST(counted != MAP_FAILED);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char *const no_filter[2] = { NULL };
	const struct line *l;

	if (size < CHOICE)
		return 0;
	l = &lines[bytes[0] % LINES];
	prepare(bytes + CHOICE, size - CHOICE);
	try(l, has_filters(l) ? filters[bytes[1] % FILTERS] : no_filter);
	clean();
	return 0;
}
