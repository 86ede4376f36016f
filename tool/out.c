/*
 * out.c - standard output, faster than stdio
 *
 * SPDX-License-Identifier: MIT
 */
#include "out.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include "command.h"

char out_buffer[OUT_SIZE], *out_at = out_buffer;

/* Where it goes, and what to do if it cannot. */
static int out_fd = STDOUT_FILENO;
static const char *out_name = "standard output";
static void (*out_failed)(void);

static bool coloured;
static pid_t pager;

/* -- Bytes ------------------------------------------------------------------------------ */

/* Until somebody has read it all. */
static void end_pager(void)
{
	pid_t child = pager, found;
	int status = 0;

	if (!child)
		return;
	pager = 0;
	close(STDOUT_FILENO);
	while ((found = waitpid(child, &status, 0)) < 0 && errno == EINTR)
		;
	/* The shell says so if there is no such command, or if it cannot be executed: then nothing has been shown. */
	if (found == child && WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)) {
		complain("the pager $PAGER cannot be executed; there is --no-pager");
		_exit(STATUS_FAILED);
	}
}

/* Whatever ends the program by exit(), and however little there is. */
__attribute__((destructor)) static void at_exit(void)
{
	out_flush();
	end_pager();
}

void out_into(int fd, const char *name, void (*failed)(void))
{
	out_flush();
	out_fd = fd;
	out_name = name;
	out_failed = failed;
}

static out_sink_function *sink;

void out_to(out_sink_function *function)
{
	out_flush();
	sink = function;
}

void out_flush(void)
{
	const char *from = out_buffer, *to = out_at;

	out_at = out_buffer;
	if (sink) {
		sink(from, (size_t)(to - from));
		return;
	}
	fflush(stdout);
	while (from < to) {
		ssize_t n = write(out_fd, from, (size_t)(to - from));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EPIPE && out_fd == STDOUT_FILENO) {
			end_pager();
			/* Whoever ignores SIGPIPE for us does not want a message either. */
			signal(SIGPIPE, SIG_DFL);
			raise(SIGPIPE);
		}
		if (n < 0) {
			complain("%s: %s", out_name, strerror(errno));
			if (out_failed)
				out_failed();
			_exit(STATUS_FAILED);
		}
		from += n;
	}
}

void out_bytes(const char *bytes, size_t size)
{
	while (size > 0) {
		size_t room, n;

		out_room();
		room = (size_t)(out_buffer + OUT_SIZE - out_at);
		n = size < room ? size : room;
		memcpy(out_at, bytes, n);
		out_at += n;
		bytes += n;
		size -= n;
	}
}

void out_printf(const char *format, ...)
{
	va_list arguments;
	int n;

	out_room();
	va_start(arguments, format);
	n = vsnprintf(out_at, OUT_ROOM, format, arguments);
	va_end(arguments);
	if (n >= OUT_ROOM) {
		char *text = NULL;

		va_start(arguments, format);
		n = vasprintf(&text, format, arguments);
		va_end(arguments);
		if (n >= 0)
			out_bytes(text, (size_t)n);
		free(text);
	} else if (n > 0) {
		out_at += n;
	}
}

/* -- Numbers ------------------------------------------------------------------------------- */

static const char pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

/* How many it has. */
static inline unsigned count_digits(uint64_t n)
{
	static const uint64_t powers[] = {
		0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
		10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
		UINT64_C(10000000000000000000),
	};
	/* 1233 / 4096 is the logarithm of 2. */
	unsigned least = (64 - (unsigned)__builtin_clzll(n | 1)) * 1233 >> 12;

	return least + (n >= powers[least]);
}

/* To the left of end; all the digits that there are. */
static inline void digits_before(char *end, uint64_t n)
{
	uint32_t low;

	while (n > UINT32_MAX) {
		end -= 2;
		memcpy(end, pairs + 2 * (n % 100), 2);
		n /= 100;
	}
	/* A division of half the size takes half the time. */
	low = (uint32_t)n;
	while (low >= 100) {
		end -= 2;
		memcpy(end, pairs + 2 * (low % 100), 2);
		low /= 100;
	}
	if (low >= 10)
		memcpy(end - 2, pairs + 2 * low, 2);
	else
		end[-1] = (char)('0' + low);
}

static inline void blanks(int n)
{
	for (; n > 0; n--)
		*out_at++ = ' ';
}

void out_number(uint64_t n, int width)
{
	unsigned count = count_digits(n);

	out_room();
	blanks(width - (int)count);
	out_at += count;
	digits_before(out_at, n);
}

void out_signed(int64_t n, int width)
{
	uint64_t size = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
	unsigned count = count_digits(size);

	out_room();
	blanks(width - (int)count - (n < 0));
	if (n < 0)
		*out_at++ = '-';
	out_at += count;
	digits_before(out_at, size);
}

void out_digits(uint64_t n, int digits)
{
	unsigned count = count_digits(n);

	out_room();
	for (int zeroes = digits - (int)count; zeroes > 0; zeroes--)
		*out_at++ = '0';
	out_at += count;
	digits_before(out_at, n);
}

void out_hex(uint64_t n)
{
	int digits = (67 - __builtin_clzll(n | 1)) / 4;

	out_room();
	*out_at++ = '0';
	*out_at++ = 'x';
	for (int i = digits - 1; i >= 0; i--)
		*out_at++ = "0123456789abcdef"[n >> 4 * i & 15];
}

/* What turns the direction of the text behind it, and so shows another text than there is. */
static bool turns(wchar_t c)
{
	return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* One character of the *size bytes there; *size becomes its own. Returns the bytes written. */
static size_t escape(char *to, const char *text, size_t *size, mbstate_t *state, int *columns)
{
	unsigned char c = (unsigned char)*text;
	wchar_t wide;
	size_t n;

	if (c >= 0x20 && c < 0x7f) {
		*to = *text;
		*columns += 1;
		return *size = 1;
	}
	n = c < 0x80 ? 0 : mbrtowc(&wide, text, *size, state);
	if (n > 0 && n < (size_t)-2 && wcwidth(wide) >= 0 && !turns(wide)) {
		memcpy(to, text, n);
		*columns += wcwidth(wide);
		return *size = n;
	}
	memset(state, 0, sizeof *state);
	to[0] = '\\';
	to[1] = 'x';
	to[2] = "0123456789abcdef"[c >> 4];
	to[3] = "0123456789abcdef"[c & 15];
	*columns += 4;
	*size = 1;
	return 4;
}

size_t out_escape(char *to, const char *text, size_t size, int *columns)
{
	mbstate_t state = { 0 };
	char *end = to;

	for (size_t i = 0, n; i < size; i += n) {
		n = size - i;
		end += escape(end, text + i, &n, &state, columns);
	}
	return (size_t)(end - to);
}

int out_foreign(const char *text, size_t size, int width)
{
	mbstate_t state = { 0 };
	int columns = 0;

	for (size_t i = 0, n; i < size; i += n) {
		n = size - i;
		out_room();
		out_at += escape(out_at, text + i, &n, &state, &columns);
	}
	for (int i = columns; i < width; i++)
		out_char(' ');
	return columns > width ? columns : width;
}

/* -- Terminals -------------------------------------------------------------------------------- */

void out_colours(const char *when)
{
	const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (strcmp(when, "always") == 0)
		coloured = true;
	else if (strcmp(when, "never") == 0)
		coloured = false;
	else if (strcmp(when, "auto") == 0)
		coloured = isatty(STDOUT_FILENO) && !(no && *no) && terminal && strcmp(terminal, "dumb") != 0;
	else
		wrong_usage("--color %s: not auto, always or never", when);
}

void out_colour(enum colour colour)
{
	static const char *const codes[] = {
		[PLAIN] = "\33[0m", [BOLD] = "\33[1m", [DIM] = "\33[2m", [RED] = "\33[31m",
		[GREEN] = "\33[32m", [YELLOW] = "\33[33m", [BLUE] = "\33[34m", [CYAN] = "\33[36m",
	};

	if (coloured)
		out_text(codes[colour]);
}

void out_pager(void)
{
	const char *name = getenv("PAGER");
	int ends[2];

	if (!isatty(STDOUT_FILENO) || (name && (!*name || strcmp(name, "cat") == 0)) || pipe(ends) != 0)
		return;
	pager = fork();
	if (pager < 0) {
		pager = 0;
		close(ends[0]);
		close(ends[1]);
		return;
	}
	if (pager == 0) {
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		/* As git does: what fits stays on the screen, colours come through. */
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", name ? name : "command -v less >/dev/null && exec less; exec cat", (char *)NULL);
		_exit(127);
	}
	/* Ctrl-C is for the pager; who leaves it leaves us, but for those who have never seen it. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	dup2(ends[1], STDOUT_FILENO);
	close(ends[0]);
	close(ends[1]);
}

int out_columns(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}
