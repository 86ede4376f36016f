/*
 * names.c - what is behind descriptors: paths of files, addresses of peers
 *
 * A table with an entry for each descriptor, in memory of its own that is mapped when the first event needs it. Entries
 * are written without locks: an odd version means that a thread is writing. A second writer, which finds the version
 * odd, changes it and leaves; the first writer then leaves the entry empty. Emptying an entry is always safe, because
 * the next use of the descriptor fills it again.
 *
 * SPDX-License-Identifier: MIT
 */
#include "libc/names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <unistd.h>

#include "libc/libc.h"

/* Descriptors above have no names. */
#define COUNT 65536

struct entry {
	uint32_t version; /* odd: being written */
	uint32_t length; /* 0: unknown */
	char text[NAME_SIZE];
	uint64_t free; /* so that an entry fills cache lines */
};

static struct entry *table;
static unsigned used; /* entries from here on have never been written */
static bool confined;
static pid_t owner; /* the process whose table it is. A child of vfork() is another one */

/* -- The table ------------------------------------------------------------------------------------------ */

static struct entry *entry_of(int fd, bool make)
{
	struct entry *now = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	void *made;

	if ((unsigned)fd >= COUNT)
		return NULL;
	if (now || !make)
		return now ? &now[fd] : NULL;
	made = mmap(NULL, COUNT * sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (made == MAP_FAILED)
		return NULL;
	if (!__atomic_compare_exchange_n(&table, &now, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		munmap(made, COUNT * sizeof *table);
	else
		now = made;
	return &now[fd];
}

/* Copies the text of an entry. Returns its length; 0 if it is empty, or changes meanwhile. */
static inline size_t entry_read(const struct entry *entry, char to[NAME_SIZE])
{
	uint32_t version = __atomic_load_n(&entry->version, __ATOMIC_ACQUIRE);
	size_t length = __atomic_load_n(&entry->length, __ATOMIC_RELAXED);

	if ((version & 1) || length >= NAME_SIZE)
		return 0;
	/* Most texts are short. */
	for (size_t i = 0; i <= length; i += NAME_BLOCK)
		memcpy(to + i, entry->text + i, NAME_BLOCK);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return LIKELY(__atomic_load_n(&entry->version, __ATOMIC_RELAXED) == version) ? length : 0;
}

static void entry_write(struct entry *entry, const char *text)
{
	uint32_t version = __atomic_load_n(&entry->version, __ATOMIC_RELAXED), locked;

	do {
		if (version & 1) {
			/* Another thread is writing, or this thread was interrupted: the other writer leaves it empty. */
			__atomic_fetch_add(&entry->version, 2, __ATOMIC_RELAXED);
			return;
		}
	} while (!__atomic_compare_exchange_n(&entry->version, &version, version + 1, true, __ATOMIC_ACQUIRE,
	                                      __ATOMIC_RELAXED));
	locked = version + 1;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&entry->length, (uint32_t)strlen(text), __ATOMIC_RELAXED);
	strcpy(entry->text, text);
	if (!__atomic_compare_exchange_n(&entry->version, &locked, version + 2, false, __ATOMIC_RELEASE,
	                                 __ATOMIC_RELAXED)) {
		__atomic_store_n(&entry->length, 0, __ATOMIC_RELAXED);
		__atomic_fetch_add(&entry->version, 1, __ATOMIC_RELEASE);
	}
}

static void put(int fd, const char *text)
{
	struct entry *entry;
	unsigned before;

	/* A child of vfork() has its parent's memory, but descriptors of its own. */
	if (!names_own_process())
		return;
	entry = entry_of(fd, true);
	if (!entry)
		return;
	before = __atomic_load_n(&used, __ATOMIC_RELAXED);
	while (before <= (unsigned)fd && !__atomic_compare_exchange_n(&used, &before, (unsigned)fd + 1, true,
	                                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	entry_write(entry, text);
}

/* -- Texts ---------------------------------------------------------------------------------------------- */

static char *put_number(char *to, unsigned number)
{
	char digits[10];
	int n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (n > 0)
		*to++ = digits[--n];
	return to;
}

/* Copies a text. A longer one loses its beginning, and begins with an ellipsis. */
static void put_path(char to[NAME_SIZE], const char *path, size_t length)
{
	static const char dots[] = "\xe2\x80\xa6";

	if (length >= NAME_SIZE) {
		path += length - (NAME_SIZE - sizeof dots);
		length = NAME_SIZE - sizeof dots;
		/* A character begins here. */
		while (length > 0 && (*path & 0xc0) == 0x80) {
			path++;
			length--;
		}
		memcpy(to, dots, sizeof dots - 1);
		to += sizeof dots - 1;
	}
	memcpy(to, path, length);
	to[length] = 0;
}

static void put_port(char *to, in_port_t port)
{
	*to++ = ':';
	*put_number(to, ntohs(port)) = 0;
}

void names_address(const struct sockaddr *address, socklen_t size, char to[NAME_SIZE])
{
	to[0] = 0;
	if (!address || size < sizeof(sa_family_t))
		return;
	if (address->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
		const struct sockaddr_in *in = (const void *)address;

		inet_ntop(AF_INET, &in->sin_addr, to, NAME_SIZE - 8);
		put_port(to + strlen(to), in->sin_port);
	} else if (address->sa_family == AF_INET6 && size >= sizeof(struct sockaddr_in6)) {
		const struct sockaddr_in6 *in = (const void *)address;

		to[0] = '[';
		inet_ntop(AF_INET6, &in->sin6_addr, to + 1, NAME_SIZE - 9);
		strcat(to, "]");
		put_port(to + strlen(to), in->sin6_port);
	} else if (address->sa_family == AF_UNIX) {
		const struct sockaddr_un *un = (const void *)address;
		size_t length = size - offsetof(struct sockaddr_un, sun_path);
		char text[5 + sizeof un->sun_path + 1] = "unix:";

		if (size <= offsetof(struct sockaddr_un, sun_path))
			length = 0;
		if (length > sizeof un->sun_path)
			length = sizeof un->sun_path;
		memcpy(text + 5, un->sun_path, length);
		text[5 + length] = 0;
		/* The name of an abstract socket begins with a null. */
		if (length > 1 && !un->sun_path[0])
			text[5] = '@';
		put_path(to, text, strlen(text));
	} else if (address->sa_family == AF_NETLINK) {
		strcpy(to, "netlink");
	}
}

/* -- What the kernel knows -------------------------------------------------------------------------------- */

/*
 * Writes the peer of a socket, or "at" and its own address. Returns false if it has neither. number: of the socket, for
 * a Unix socket whose both ends have no name: "[12345]".
 */
static bool ask_socket(int fd, const char *number, char to[NAME_SIZE])
{
	union {
		struct sockaddr_storage storage;
		struct sockaddr address;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} a;
	socklen_t size = sizeof a;
	char text[NAME_SIZE];

	if (getpeername(fd, &a.address, &size) == 0) {
		names_address(&a.address, size < sizeof a ? size : sizeof a, to);
		/* A client of a Unix socket has no name most of the time, its server has. */
		if (strcmp(to, "unix:") != 0)
			return to[0];
		size = sizeof a;
		if (getsockname(fd, &a.address, &size) != 0)
			return true;
		names_address(&a.address, size < sizeof a ? size : sizeof a, to);
		if (strcmp(to, "unix:") == 0)
			strncat(to, number, NAME_SIZE - 1 - strlen(to));
		return true;
	}
	size = sizeof a;
	to[0] = 0;
	if (getsockname(fd, &a.address, &size) != 0)
		return false;
	/* Its port is still to be chosen. */
	if ((a.address.sa_family == AF_INET || a.address.sa_family == AF_INET6) && a.in.sin_port == 0)
		return false;
	names_address(&a.address, size < sizeof a ? size : sizeof a, text);
	if (!text[0] || strcmp(text, "unix:") == 0)
		return false;
	strcpy(to, "at ");
	put_path(to, "at ", 3);
	if (strlen(text) > NAME_SIZE - 4)
		text[NAME_SIZE - 4] = 0;
	strcat(to, text);
	return true;
}

/* Asks the kernel. Returns whether the name will stay. */
static bool ask(int fd, char to[NAME_SIZE])
{
	char link[32] = "/proc/self/fd/", path[1024];
	ssize_t length;

	to[0] = 0;
	*put_number(link + strlen(link), (unsigned)fd) = 0;
	length = readlink(link, path, sizeof path);
	if (length <= 0)
		return false;
	if (length > 8 && length < (ssize_t)sizeof path && memcmp(path, "socket:[", 8) == 0) {
		path[length] = 0;
		return ask_socket(fd, path + 7, to);
	}
	put_path(to, path, (size_t)length);
	return true;
}

/* -- For the wrappers --------------------------------------------------------------------------------- */

/* Asks the kernel for the name of a descriptor. Returns its length. */
static __attribute__((__noinline__, __cold__)) size_t find_name(int fd, char to[NAME_SIZE])
{
	int error;

	to[0] = 0;
	if (fd < 0 || names_are_confined())
		return 0;
	error = errno;
	if (ask(fd, to))
		put(fd, to);
	errno = error;
	return strlen(to);
}

size_t names_get(int fd, char to[NAME_SIZE])
{
	const struct entry *entry = entry_of(fd, false);
	size_t length = LIKELY(entry != NULL) ? entry_read(entry, to) : 0;

	return LIKELY(length) ? length : find_name(fd, to);
}

size_t names_known(int fd, char to[NAME_SIZE])
{
	const struct entry *entry = entry_of(fd, false);
	size_t length = entry ? entry_read(entry, to) : 0;

	if (!length)
		to[0] = 0;
	return length;
}

void names_set(int fd, const char *name)
{
	char text[NAME_SIZE];

	if (fd < 0)
		return;
	put_path(text, name, strlen(name));
	put(fd, text);
}

void names_forget(int fd)
{
	struct entry *entry = fd >= 0 ? entry_of(fd, false) : NULL;

	if (entry && (unsigned)fd < __atomic_load_n(&used, __ATOMIC_RELAXED))
		entry_write(entry, "");
}

void names_forget_range(unsigned first, unsigned last)
{
	unsigned end = __atomic_load_n(&used, __ATOMIC_RELAXED);

	for (unsigned fd = first; fd < end && fd <= last; fd++)
		names_forget((int)fd);
}

void names_confined(void)
{
	__atomic_store_n(&confined, true, __ATOMIC_RELAXED);
}

bool names_are_confined(void)
{
	return __atomic_load_n(&confined, __ATOMIC_RELAXED);
}

bool names_own_process(void)
{
	return getpid() == owner;
}

void names_in_child(void)
{
	owner = getpid();
}

/* Before the constructor in start.c, which asks whether the process is confined. */
static __attribute__((__constructor__(101))) void begin(void)
{
	int error = errno;

	owner = getpid();
	/* A program that is started under a filter has to be allowed prctl(), or it would not get this far. */
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0)
		confined = true;
	errno = error;
}
