/*
 * images.c - src/log/images.c: what a process executes
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/images.h"

#include <elf.h>
#include <link.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "host/image.h"
#include "log/format.h"
#include "unit_log.h"

#define SIZE (256 << 10)

static struct images images;
static unsigned char *body; /* SIZE bytes, followed by an unmapped page */
static size_t size;

struct mapping {
	uint64_t start, end, offset;
	char path[512];
	unsigned char build_id[64];
	size_t build_id_size;
};

static struct mapping mapping[256];
static unsigned mappings;
static char executable[512];
static uint32_t parent;
static char command[2048];

static const unsigned char *string(const unsigned char *p, char *to, size_t room)
{
	size_t n = get16(p);

	MUST(n < room && p + 2 + n <= body + size);
	memcpy(to, p + 2, n);
	to[n] = 0;
	return p + 2 + n;
}

/* Reads a body as docs/log-format.md describes it into mapping[]. */
static void parse(uint32_t pid, uint64_t time)
{
	const unsigned char *p = body + 16;
	char id[80];

	CHECK_EQ("-", get32(body), pid);
	CHECK_EQ("-", get64(body + 8), time);
	mappings = get32(body + 4);
	MUST(mappings <= sizeof mapping / sizeof mapping[0]);
	p = string(p, executable, sizeof executable);
	for (unsigned i = 0; i < mappings; i++) {
		struct mapping *m = &mapping[i];

		MUST(p + 24 <= body + size);
		m->start = get64(p);
		m->end = get64(p + 8);
		m->offset = get64(p + 16);
		CHECK("-", m->end > m->start);
		p = string(p + 24, m->path, sizeof m->path);
		m->build_id_size = get16(p);
		p = string(p, id, sizeof id);
		memcpy(m->build_id, id, m->build_id_size);
	}
	parent = 0;
	command[0] = 0;
	if (p < body + size) {
		MUST(p + 4 <= body + size);
		parent = get32(p);
		p = string(p + 4, command, sizeof command);
	}
	CHECK("-", p == body + size);
	CHECK("-", image_valid(body, size));
	for (size_t cut = 1; cut <= size; cut += 7)
		image_valid(body, size - cut);
}

static void look(uint32_t number, size_t room)
{
	if (!body)
		body = log_memory(SIZE);
	images.pid = 4711;
	/* The body ends where the mapped memory ends. */
	body += SIZE - room;
	size = images_look(&images, &(struct images_whose){ .number = number, .owner = geteuid(), .group = getegid() },
	                   99, body, room);
	CHECK("-", size <= room);
	if (size)
		parse(4711, 99);
	body -= SIZE - room;
}

static const struct mapping *find(const void *address)
{
	for (unsigned i = 0; i < mappings; i++)
		if ((uintptr_t)address >= mapping[i].start && (uintptr_t)address < mapping[i].end)
			return &mapping[i];
	return NULL;
}

/* Searches for the build-id, in memory, of the object that contains an address. */
struct search {
	const void *address;
	unsigned char id[64];
	size_t size;
	uint64_t offset; /* of the address in its file */
	bool found;
};

static int search(struct dl_phdr_info *info, size_t info_size, void *arg)
{
	struct search *s = arg;
	uintptr_t address = (uintptr_t)s->address - info->dlpi_addr;
	bool here = false;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];

		if (h->p_type == PT_LOAD && address >= h->p_vaddr && address < h->p_vaddr + h->p_memsz) {
			s->offset = address - h->p_vaddr + h->p_offset;
			here = true;
		}
	}
	for (int i = 0; here && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		const unsigned char *p = (const unsigned char *)info->dlpi_addr + h->p_vaddr, *end = p + h->p_memsz;

		while (h->p_type == PT_NOTE && p + 12 <= end) {
			ElfW(Nhdr) n;

			memcpy(&n, p, sizeof n);
			if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4) {
				s->size = n.n_descsz;
				memcpy(s->id, p + 16, n.n_descsz);
				s->found = true;
			}
			p += 12 + ((n.n_namesz + 3) & ~3u) + ((n.n_descsz + 3) & ~3u);
		}
	}
	return here;
}

static void check_mapping(const void *address)
{
	const struct mapping *m = find(address);
	struct search s = { .address = address };

	MUST(m);
	CHECK("-", images_have(&images, (uintptr_t)address));
	MUST(dl_iterate_phdr(search, &s) == 1);
	CHECK_EQ("-", (uintptr_t)address - m->start + m->offset, s.offset);
	CHECK_EQ("-", m->build_id_size, s.found ? s.size : 0);
	CHECK("-", memcmp(m->build_id, s.id, s.size) == 0);
}

TEST(self)
{
	char exe[512] = "";
	int local;

	MUST(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
	look((uint32_t)getpid(), SIZE);
	MUST(size > 0);
	CHECK_STR("-", executable, exe);
	CHECK_EQ("-", parent, getppid());
	CHECK("-", strstr(command, "images"));
	check_mapping((const void *)(uintptr_t)test_self);
	CHECK_STR("-", find((const void *)(uintptr_t)test_self)->path, exe);
	check_mapping((const void *)(uintptr_t)getenv); /* in the C library, or in the sanitizer's replacement */
	CHECK("-", !images_have(&images, (uintptr_t)&local));
	CHECK("-", !images_have(&images, (uintptr_t)&images));
	CHECK("-", !images_have(&images, 0) && !images_have(&images, UINT64_MAX));
	CHECK_EQ("-", images.count, mappings);
	for (unsigned i = 0; i < mappings; i++) {
		CHECK("-", images_have(&images, mapping[i].start) && images_have(&images, mapping[i].end - 1));
		CHECK_EQ("-", images_have(&images, mapping[i].end),
		         find((const void *)(uintptr_t)mapping[i].end) != NULL);
		/* A mapping without a file has no build-id. */
		CHECK("-", mapping[i].path[0] == '/' || mapping[i].build_id_size == 0);
	}
}

/* Memory without a file, as of a just-in-time compiler. */
TEST(no_file)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		SKIP("no such memory here");
	look((uint32_t)getpid(), SIZE);
	MUST(find(p));
	CHECK_STR("-", find(p)->path, "");
	CHECK_EQ("-", find(p)->build_id_size, 0);
}

/* As many whole mappings are written as fit. All of them are remembered nevertheless. */
TEST(little_room)
{
	unsigned all, known;
	size_t whole;

	look((uint32_t)getpid(), SIZE);
	all = mappings;
	known = images.count;
	whole = size;
	MUST(all > 1);
	for (size_t room = 0; room < whole; room++) {
		look((uint32_t)getpid(), room);
		if (size == 0) {
			CHECK_OP("-", room, <, 16 + 2 + strlen(executable));
			continue;
		}
		CHECK("-", mappings <= all);
		CHECK_EQ("-", images.count, known);
	}
}

TEST(nobody)
{
	struct unit_child child = unit_child(NULL, NULL);

	look((uint32_t)child.pid, SIZE);
	CHECK("-", size > 0 && images.count > 0);
	unit_end_child(&child);
	look((uint32_t)child.pid, SIZE);
	CHECK_EQ("-", size, 0);
	CHECK_EQ("-", images.count, 0);
	look(0, SIZE);
	CHECK_EQ("-", size, 0);
}

/* If a process ends during the look, either all of its mappings are found or none. */
TEST(ends_meanwhile)
{
	unsigned found = 0;

	for (int round = 0; round < 300; round++) {
		pid_t child = fork();

		MUST(child >= 0);
		if (child == 0)
			_exit(0);
		do {
			look((uint32_t)child, SIZE);
			found += size > 0;
			CHECK("-", size == 0 || (mappings > 0 && command[0] && parent == (uint32_t)getpid()));
		} while (size > 0 && test_failures == 0);
		MUST(waitpid(child, NULL, 0) == child);
	}
	CHECK_OP("-", found, >, 0);
}

/* More mappings than are remembered. */
TEST(many)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	unsigned char *p = mmap(NULL, 400 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(fd >= 0 && p != MAP_FAILED);
	for (unsigned i = 0; i < 200; i++)
		if (mmap(p + 2 * i * 4096, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			SKIP("no such memory here");
	look((uint32_t)getpid(), SIZE);
	CHECK("-", mappings > 200);
	CHECK_EQ("-", images.count, sizeof images.image / sizeof images.image[0]);
	for (unsigned i = 0; i < 200; i++)
		MUST(find(p + 2 * i * 4096));
}

/* -- Files that only look like programs: H26 for the mappings of a traced process ------------- */

static unsigned char file[8192];
static size_t file_bytes;
static char path[64];

static size_t id_of_file(void)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	void *p;

	MUST(fd >= 0 && write(fd, file, file_bytes) == (ssize_t)file_bytes);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		SKIP("what lies in /dev/shm cannot be executed");
	look((uint32_t)getpid(), SIZE);
	MUST(find(p));
	CHECK_STR("-", find(p)->path, path);
	munmap(p, 4096);
	return find(p)->build_id_size;
}

static void make_file(void)
{
	Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 }, .e_phoff = 64,
	                 .e_phentsize = 56, .e_phnum = 2 };
	Elf64_Phdr part[2] = { { .p_type = PT_LOAD }, { .p_type = PT_NOTE, .p_offset = 256, .p_filesz = 40 } };

	memset(file, 0, sizeof file);
	memcpy(file, &h, sizeof h);
	memcpy(file + 64, part, sizeof part);
	/* A note of a different type comes first. */
	put32(file + 256, 3);
	put32(file + 260, 1);
	put32(file + 264, 1);
	memcpy(file + 268, "ab\0\0x\0\0\0", 8);
	put32(file + 276, 4);
	put32(file + 280, 8);
	put32(file + 284, NT_GNU_BUILD_ID);
	memcpy(file + 288, "GNU\0" "12345678", 12);
	((Elf64_Phdr *)(void *)(file + 64))[1].p_filesz = 44;
	file_bytes = sizeof file;
}

TEST(files)
{
	unsigned seed = 4;
	char directory[32];
	int dir = unit_directory(directory);

	snprintf(path, sizeof path, "%s/file", directory);
	make_file();
	CHECK_EQ("-", id_of_file(), 8);
	file[4] = ELFCLASS32;
	CHECK_EQ("-", id_of_file(), 0);
	make_file();
	put32(file + 280, 65); /* longer than the maximum */
	CHECK_EQ("-", id_of_file(), 0);
	make_file();
	put32(file + 260, UINT32_MAX);
	CHECK_EQ("-", id_of_file(), 0);
	make_file();
	put32(file + 256, UINT32_MAX - 8);
	CHECK_EQ("-", id_of_file(), 0);
	make_file();
	((Elf64_Ehdr *)(void *)file)->e_phoff = UINT64_MAX - 10;
	CHECK_EQ("-", id_of_file(), 0);
	make_file();
	((Elf64_Ehdr *)(void *)file)->e_phnum = UINT16_MAX;
	CHECK_EQ("-", id_of_file(), 8);
	make_file();
	((Elf64_Phdr *)(void *)(file + 64))[1].p_filesz = UINT64_MAX;
	CHECK_EQ("-", id_of_file(), 8);
	make_file();
	((Elf64_Phdr *)(void *)(file + 64))[1].p_offset = UINT64_MAX - 3;
	CHECK_EQ("-", id_of_file(), 0);
	for (file_bytes = 0; file_bytes < 300; file_bytes++)
		CHECK("-", id_of_file() == (file_bytes >= 300 ? 8 : 0));
	for (int i = 0; i < 300; i++) {
		make_file();
		for (int n = 0; n < 4; n++)
			file[log_random(&seed, 300)] = (unsigned char)rand_r(&seed);
		CHECK("-", id_of_file() <= 64);
	}
	unlink(path);
	close(dir);
	rmdir(directory);
}

TEST(same)
{
	static struct images a = { .pid = 1, .count = 2, .image = { { 10, 20 }, { 30, 40 } } }, b;

	b = a;
	b.looked = 5; /* the time of the look does not matter, and neither do entries after the last one */
	b.image[2].start = 50;
	CHECK("-", images_same(&a, &b));
	b.image[1].end++;
	CHECK("-", !images_same(&a, &b));
	b.image[1].end--;
	b.count = 1;
	CHECK("-", !images_same(&a, &b) && !images_same(&b, &a));
}

TEST_MAIN(TEST_ENTRY(self), TEST_ENTRY(no_file), TEST_ENTRY(little_room), TEST_ENTRY(nobody),
          TEST_ENTRY(ends_meanwhile), TEST_ENTRY(many), TEST_ENTRY(files), TEST_ENTRY(same))
