/*
 * header_modes.c - <trace.h> in every language mode, between other headers, and the names that it makes visible
 *
 * Runs the compilers that are installed: gcc, clang, g++, clang++. A mode that
 * a compiler does not know is left out. INCLUDE_DIR says where the header is.
 *
 * SPDX-License-Identifier: MIT
 */
#define TEST_TIMEOUT 110

#include <ctype.h>

#include "test.h"

#ifndef INCLUDE_DIR
# error "INCLUDE_DIR: the directory of trace.h"
#endif

#define WARNINGS "-Wall -Wextra -pedantic -Werror"
#define STRICT_C "-std=c11 -D_POSIX_C_SOURCE=200809L"

/* Uses each kind of declaration in the header. Macro arguments have commas only where the language allows them. */
static const char program[] =
	"struct pair { int a, b; };\n"
	"int use(trace_id_t trid, const struct pair *pair);\n"
	"int use(trace_id_t trid, const struct pair *pair)\n"
	"{\n"
	"	trace_event_id_t id = POSIX_TRACE_UNNAMED_USEREVENT;\n"
	"	trace_event_set_t set, set2;\n"
	"	trace_attr_t attr;\n"
	"	struct posix_trace_event_info info;\n"
	"	struct posix_trace_status_info status;\n"
	"	struct timespec when;\n"
	"	size_t length;\n"
	"	pid_t pid = 0;\n"
	"	pthread_t thread;\n"
	"	int unavailable, r = 0;\n"
	"	char data[8];\n"
	"\n"
	"	r += posix_trace_attr_init(&attr);\n"
	"	r += posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL);\n"
	"	r += posix_trace_attr_getcreatetime(&attr, &when);\n"
	"	r += posix_trace_create(pid, &attr, &trid);\n"
	"	r += posix_trace_eventset_empty(&set);\n"
	"	set2 = set;\n"
	"	r += posix_trace_set_filter(trid, &set2, POSIX_TRACE_ADD_EVENTSET);\n"
	"	posix_trace_event(id, pair, sizeof *pair);\n"
	"	posix_trace_event(POSIX_TRACE_UNNAMED_USER_EVENT, 0, 0);\n"
	"#if defined __cplusplus || __STDC_VERSION__ >= 199901L\n"
	"# ifdef __cplusplus\n"
	"	(posix_trace_event)(id, pair, sizeof *pair);\n"
	"	if (r)\n"
	"		posix_trace_event(id, pair, 0);\n"
	"	else\n"
	"		posix_trace_event(id, 0, 0);\n"
	"# else\n"
	"	posix_trace_event(id, &(struct pair){ 1, 2 }, sizeof(struct pair));\n"
	"# endif\n"
	"#endif\n"
	"	r += posix_trace_getnext_event(trid, &info, data, sizeof data, &length, &unavailable);\n"
	"	thread = info.posix_thread_id;\n"
	"	r += posix_trace_get_status(trid, &status);\n"
	"	r += status.posix_stream_status == POSIX_TRACE_RUNNING;\n"
	"	r += posix_trace_eventid_equal(trid, info.posix_event_id, POSIX_TRACE_START);\n"
	"	return r + (int)length + (thread == info.posix_thread_id);\n"
	"}\n";

static char directory[] = "/tmp/test-header-XXXXXX";

static void remove_directory(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf '%s'", directory);
	if (system(command))
		fprintf(stderr, "cannot remove %s\n", directory);
}

static void make_directory(void)
{
	MUST(mkdtemp(directory));
	atexit(remove_directory);
}

/* Writes directory/name with a text of two parts. */
static void write_source(const char *name, const char *head, const char *rest)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	f = fopen(path, "w");
	MUST(f);
	MUST(fputs(head, f) >= 0 && fputs(rest, f) >= 0);
	MUST(fclose(f) == 0);
}

/* Compiles directory/name. Returns 1 if there are no warnings. The compiler's messages go to stderr unless quiet. */
static int compiles(const char *compiler, const char *options, const char *name, int quiet)
{
	char command[1024];

	snprintf(command, sizeof command, "%s %s -I'%s' -fsyntax-only '%s/%s' %s", compiler, options, INCLUDE_DIR,
		 directory, name, quiet ? ">/dev/null 2>&1" : ">&2");
	return system(command) == 0;
}

static int has_compiler(const char *compiler)
{
	char command[128];

	snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", compiler);
	return system(command) == 0;
}

static int knows_mode(const char *compiler, const char *mode, const char *name)
{
	char options[64];

	snprintf(options, sizeof options, "-std=%s", mode);
	return compiles(compiler, options, name, 1);
}

/* Returns how many pairs of compiler and mode were tried. */
static int try_modes(const char *const *compilers, const char *const *modes, const char *name, const char *empty)
{
	char options[256];
	int tried = 0;

	for (; *compilers; compilers++) {
		if (!has_compiler(*compilers))
			continue;
		for (const char *const *mode = modes; *mode; mode++) {
			if (!knows_mode(*compilers, *mode, empty))
				continue;
			tried++;
			snprintf(options, sizeof options, "-std=%s " WARNINGS, *mode);
			if (!compiles(*compilers, options, name, 0))
				TEST_FAIL("HDR-1", "%s %s", *compilers, options);
			/* The same without the inline trace point. */
			snprintf(options, sizeof options, "-std=%s " WARNINGS " -D__POSIX_TRACE_NO_INLINE", *mode);
			if (!compiles(*compilers, options, name, 0))
				TEST_FAIL("HDR-1 HDR-29", "%s %s", *compilers, options);
		}
	}
	return tried;
}

TEST(c_modes)
{
	static const char *const compilers[] = { "gcc", "clang", NULL };
	static const char *const modes[] = { "c99", "gnu99", "c11", "gnu11", "c17", "gnu17", "c2x", "gnu2x", "c23",
	                                     NULL };

	if (!has_compiler("gcc") && !has_compiler("clang"))
		SKIP("neither gcc nor clang");
	make_directory();
	write_source("empty.c", "", "extern int nothing;\n");
	write_source("use.c", "#include <trace.h>\n#include <trace.h>\n", program);
	CHECK_OP("HDR-1", try_modes(compilers, modes, "use.c", "empty.c"), >=, 4);
}

TEST(cxx_modes)
{
	static const char *const compilers[] = { "g++", "clang++", NULL };
	static const char *const modes[] = { "c++98", "gnu++98", "c++03", "c++11", "c++14", "gnu++14", "c++17",
	                                     "gnu++17",
					     "c++20", "c++2b", "c++23", "gnu++23", NULL };

	if (!has_compiler("g++") && !has_compiler("clang++"))
		SKIP("neither g++ nor clang++");
	make_directory();
	write_source("empty.cc", "", "extern int nothing;\n");
	write_source("use.cc", "#include <trace.h>\n#include <trace.h>\n", program);
	CHECK_OP("HDR-1", try_modes(compilers, modes, "use.cc", "empty.cc"), >=, 4);
}

/* A braced initializer with a comma needs a macro with a variable number of arguments. */
TEST(cxx_comma)
{
	static const char text[] =
		"#include <trace.h>\n"
		"struct pair { int a, b; };\n"
		"static const void *at(const pair &p) { return &p; }\n"
		"void use(trace_event_id_t id);\n"
		"void use(trace_event_id_t id) { posix_trace_event(id, at(pair{ 1, 2 }), sizeof(pair)); }\n";

	if (!has_compiler("g++") && !has_compiler("clang++"))
		SKIP("neither g++ nor clang++");
	make_directory();
	write_source("comma.cc", text, "");
	for (int i = 0; i < 2; i++) {
		const char *compiler = i ? "clang++" : "g++";

		if (has_compiler(compiler))
			CHECK("HDR-31", compiles(compiler, "-std=c++11 " WARNINGS, "comma.cc", 0));
	}
}

static const char *any_c_compiler(void)
{
	static const char *const compilers[] = { "gcc", "clang", "cc", NULL };

	for (const char *const *c = compilers; *c; c++)
		if (has_compiler(*c))
			return *c;
	SKIP("no C compiler");
	return NULL;
}

TEST(other_headers)
{
	static const char *const others[] = {
		"assert.h", "errno.h", "fcntl.h", "inttypes.h", "limits.h", "pthread.h", "sched.h", "semaphore.h",
		"signal.h",
		"spawn.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "sys/stat.h", "sys/time.h",
		"sys/types.h",
		"sys/wait.h", "time.h", "unistd.h",
	};
	static const char *const options[] = {
		"-std=c99 " WARNINGS, STRICT_C " " WARNINGS, "-std=gnu11 -D_GNU_SOURCE " WARNINGS,
		"-std=c11 -D_XOPEN_SOURCE=700 " WARNINGS,
	};
	static const char after[] =
		"#if _POSIX_TRACE != 200809L || _POSIX_TRACE_LOG != 200809L\n"
		"# error options\n"
		"#endif\n"
		"#if TRACE_NAME_MAX < _POSIX_TRACE_NAME_MAX\n"
		"# error limits\n"
		"#endif\n"
		"int main(void) { return (int)sizeof(struct posix_trace_event_info) < 0; }\n";
	const char *compiler = any_c_compiler();
	const size_t n = sizeof others / sizeof *others;
	char name[32], all_before[2048] = "", all_after[2048] = "#include <trace.h>\n", text[128];

	make_directory();
	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof text, "#include <%s>\n", others[i]);
		strcat(all_before, text);
		strcat(all_after, text);
		/* Each header on its own, before and after <trace.h>, in the mode that POSIX asks for. */
		for (int first = 0; first < 2; first++) {
			snprintf(name, sizeof name, "order%zu-%d.c", i, first);
			snprintf(text, sizeof text, first ? "#include <%s>\n#include <trace.h>\n" :
				 "#include <trace.h>\n#include <%s>\n", others[i]);
			write_source(name, text, after);
			if (!compiles(compiler, options[1], name, 0))
				TEST_FAIL("HDR-1 OPT-1 LIM-7", "<trace.h> %s <%s>", first ? "after" : "before",
				          others[i]);
		}
	}
	strcat(all_before, "#include <trace.h>\n");
	write_source("before.c", all_before, after);
	write_source("after.c", all_after, after);
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		if (!compiles(compiler, options[i], "before.c", 0))
			TEST_FAIL("HDR-1 OPT-1 LIM-7", "<trace.h> after all others with %s", options[i]);
		if (!compiles(compiler, options[i], "after.c", 0))
			TEST_FAIL("HDR-1 OPT-1 LIM-7", "<trace.h> before all others with %s", options[i]);
	}
}

/* -- Names -------------------------------------------------------------- */

static int begins(const char *word, const char *prefix)
{
	return strncmp(word, prefix, strlen(prefix)) == 0;
}

static int ends(const char *word, const char *suffix)
{
	size_t n = strlen(word), m = strlen(suffix);

	return n >= m && strcmp(word + n - m, suffix) == 0;
}

/* Returns whether a header of POSIX may make this name visible to a program that includes <trace.h>. */
static int allowed(const char *word)
{
	static const char *const others[] = {
		"timespec", "tv_sec", "tv_nsec", /* a member is a struct timespec */
		/* The limits belong to <limits.h>, but the system's does not have them, and programs need them. */
		"TRACE_EVENT_NAME_MAX", "TRACE_NAME_MAX", "TRACE_SYS_MAX", "TRACE_USER_EVENT_MAX",
	};

	if (word[0] == '_' || begins(word, "posix_") || begins(word, "POSIX_") || ends(word, "_t"))
		return 1;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(word, others[i]) == 0)
			return 1;
	return 0;
}

static int is_keyword(const char *word)
{
	static const char *const keywords[] = {
		"auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum",
		"extern",
		"float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short",
		"signed",
		"sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
	};

	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
		if (strcmp(word, keywords[i]) == 0)
			return 1;
	return 0;
}

static FILE *preprocess(const char *compiler, const char *options, const char *name)
{
	char command[512];

	snprintf(command, sizeof command, "%s " STRICT_C " %s -E -P -I'%s' '%s/%s'", compiler, options, INCLUDE_DIR,
		 directory, name);
	return popen(command, "r");
}

/* Names that are not reported: some hundred macros that were there before, and names that have been reported. */
static char known[1024][64];
static int n_known;

static void make_known(const char *word)
{
	if (n_known < 1024)
		snprintf(known[n_known++], sizeof known[0], "%.63s", word);
}

static int is_known(const char *word)
{
	for (int i = 0; i < n_known; i++)
		if (strcmp(known[i], word) == 0)
			return 1;
	return 0;
}

TEST(macro_names)
{
	const char *compiler = any_c_compiler();
	char word[256];
	int ours = 0;
	FILE *f;

	make_directory();
	write_source("empty.c", "", "");
	write_source("trace.c", "#include <trace.h>\n", "");
	f = preprocess(compiler, "-dM", "empty.c");
	MUST(f);
	while (fscanf(f, " #define %255[A-Za-z0-9_]%*[^\n]", word) == 1)
		make_known(word);
	MUST(pclose(f) == 0);
	MUST(n_known > 0 && n_known < 1024);
	f = preprocess(compiler, "-dM", "trace.c");
	MUST(f);
	while (fscanf(f, " #define %255[A-Za-z0-9_]", word) == 1) {
		if (fscanf(f, "%*[^\n]") == EOF)
			break;
		ours += begins(word, "POSIX_TRACE_");
		if (!allowed(word) && !is_known(word))
			TEST_FAIL("HDR-2 HDR-3", "the macro %s", word);
	}
	MUST(pclose(f) == 0);
	CHECK_EQ("HDR-2", ours, 33);
}

/*
 * Checks every word of the preprocessed header, including names of parameters: a program may define any name that is
 * not reserved as a macro.
 */
TEST(other_names)
{
	const char *compiler = any_c_compiler();
	char word[256];
	int functions = 0, c;
	size_t n = 0;
	FILE *f;

	make_directory();
	write_source("trace.c", "#include <trace.h>\n", "");
	f = preprocess(compiler, "", "trace.c");
	MUST(f);
	do {
		c = fgetc(f);
		if (c != EOF && (isalnum(c) || c == '_')) {
			if (n < sizeof word - 1)
				word[n++] = (char)c;
			continue;
		}
		word[n] = '\0';
		if (n && !isdigit((unsigned char)word[0])) {
			functions += c == '(' && begins(word, "posix_trace_");
			if (!is_keyword(word) && !allowed(word) && !is_known(word)) {
				TEST_FAIL("HDR-2 HDR-3", "the name %s", word);
				make_known(word);
			}
		}
		n = 0;
	} while (c != EOF);
	MUST(pclose(f) == 0);
	CHECK("HDR-2", functions >= 50);
}

/* All names of the header page, with only _POSIX_C_SOURCE and strict C. */
TEST(names_are_visible)
{
	static const char constants[] =
		"enum { all =\n"
		"(int)POSIX_TRACE_ALL_EVENTS + (int)POSIX_TRACE_APPEND + (int)POSIX_TRACE_CLOSE_FOR_CHILD + "
		"(int)POSIX_TRACE_FILTER +\n"
		"(int)POSIX_TRACE_FLUSH + (int)POSIX_TRACE_FLUSH_START + (int)POSIX_TRACE_FLUSH_STOP + "
		"(int)POSIX_TRACE_FLUSHING +\n"
		"(int)POSIX_TRACE_FULL + (int)POSIX_TRACE_LOOP + (int)POSIX_TRACE_NO_OVERRUN + "
		"(int)POSIX_TRACE_NOT_FLUSHING +\n"
		"(int)POSIX_TRACE_NOT_FULL + (int)POSIX_TRACE_INHERITED + (int)POSIX_TRACE_NOT_TRUNCATED + "
		"(int)POSIX_TRACE_OVERFLOW +\n"
		"(int)POSIX_TRACE_OVERRUN + (int)POSIX_TRACE_RESUME + (int)POSIX_TRACE_RUNNING + "
		"(int)POSIX_TRACE_START +\n"
		"(int)POSIX_TRACE_STOP + (int)POSIX_TRACE_SUSPENDED + (int)POSIX_TRACE_SYSTEM_EVENTS +\n"
		"(int)POSIX_TRACE_TRUNCATED_READ + (int)POSIX_TRACE_TRUNCATED_RECORD + "
		"(int)POSIX_TRACE_UNNAMED_USER_EVENT +\n"
		"(int)POSIX_TRACE_UNTIL_FULL + (int)POSIX_TRACE_WOPID_EVENTS };\n";
	const char *compiler = any_c_compiler();

	make_directory();
	write_source("use.c", "#include <trace.h>\n", program);
	write_source("constants.c", "#include <trace.h>\n", constants);
	CHECK("HDR-2", compiles(compiler, STRICT_C " " WARNINGS, "use.c", 0));
	CHECK("HDR-2", compiles(compiler, STRICT_C " " WARNINGS, "constants.c", 0));
	/* Shows that the check above detects a wrong name. */
	write_source("wrong.c", "#include <trace.h>\n", "enum { x = POSIX_TRACE_NO_SUCH };\n");
	CHECK("-", !compiles(compiler, STRICT_C, "wrong.c", 1));
}

/* A C++ program can link with the functions that a C program uses. */
TEST(linkage)
{
	static const char text[] =
		"#include <trace.h>\n"
		"extern \"C\" int (*start)(trace_id_t);\n"
		"int (*start)(trace_id_t) = posix_trace_start;\n";
	char command[512], line[256];
	int plain = 0;
	FILE *f;

	if (!has_compiler("g++"))
		SKIP("no g++");
	make_directory();
	write_source("linkage.cc", text, "");
	snprintf(command, sizeof command, "g++ -std=c++98 -I'%s' -S -o - '%s/linkage.cc'", INCLUDE_DIR, directory);
	f = popen(command, "r");
	MUST(f);
	while (fgets(line, sizeof line, f)) {
		char *s = strstr(line, "posix_trace_start");

		plain += s && (s == line || s[-1] == '\t' || s[-1] == ' ') &&
			!isalnum((unsigned char)s[strlen("posix_trace_start")]);
	}
	MUST(pclose(f) == 0);
	CHECK("HDR-29", plain > 0);
}

TEST_MAIN(TEST_ENTRY(c_modes), TEST_ENTRY(cxx_modes), TEST_ENTRY(cxx_comma), TEST_ENTRY(other_headers),
	  TEST_ENTRY(macro_names), TEST_ENTRY(other_names), TEST_ENTRY(names_are_visible), TEST_ENTRY(linkage))
