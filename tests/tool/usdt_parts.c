/*
 * usdt_parts.c - notes of files that may have any contents, where the arguments of probes are, and their names
 *
 * SPDX-License-Identifier: MIT
 */
#include <elf.h>
#include <sys/mman.h>

#include "test.h"
#include "usdt/arguments.h"
#include "usdt/notes.h"
#include "usdt/signature.h"

/* -- arguments.h ---------------------------------------------------------------------------------- */

/* Returns the arguments in words: place, size, base, index, scale, value. */
static const char *parsed(const char *text, uint16_t machine)
{
	static const char places[] = "?crm";
	static char words[2000];
	struct argument a[ARGUMENTS_MAX];
	unsigned count = arguments_parse(text, machine, a);

	*words = '\0';
	for (unsigned i = 0; i < count; i++) {
		char *to = words + strlen(words);

		to += sprintf(to, "%s%c", i ? " " : "", places[a[i].place]);
		if (a[i].place == ARGUMENT_UNKNOWN)
			continue;
		to += sprintf(to, "%s%u", a[i].is_signed ? "-" : "", a[i].size);
		if (a[i].place == ARGUMENT_CONSTANT)
			sprintf(to, "=%lld", (long long)a[i].value);
		else if (a[i].place == ARGUMENT_REGISTER)
			sprintf(to, ":%d/%u>>%u", a[i].base, a[i].bytes, a[i].shift);
		else
			sprintf(to, ":%d+%d*%u+%lld", a[i].base, a[i].index, a[i].scale, (long long)a[i].value);
	}
	return words;
}

TEST(x86)
{
	CHECK_STR("-", parsed("", EM_X86_64), "");
	CHECK_STR("-", parsed("-4@%edi 8@%rax 2@%r15w 1@%ah 1@%sil 4@%r8d", EM_X86_64),
	          "r-4:5/4>>0 r8:0/8>>0 r2:23/2>>0 r1:0/1>>8 r1:4/1>>0 r4:16/4>>0");
	CHECK_STR("-", parsed("-4@$-3 8@$0x10 4@$7x", EM_X86_64), "c-4=-3 c8=16 ?");
	CHECK_STR("-", parsed("-4@112(%rsp) 8@-16(%rbp) 1@(%rax) 8@8(%rax,%rcx,4) 4@8+4(%rsp)", EM_X86_64),
	          "m-4:7+-1*0+112 m8:6+-1*0+-16 m1:0+-1*0+0 m8:0+2*4+8 m4:7+-1*0+12");
	CHECK_STR("-", parsed("4@x(%rip) 8@%xmm0 3@%eax 4@ @ 4@%r16 4@(%rax,%rbx,9) %fs:0 4@8 4@(%rax 1", EM_X86_64),
	          "? ? ? ? ? ? ? ? ? ?");
	CHECK_STR("-", parsed("%eax 4@8(%esp)", EM_386), "r4:0/4>>0 m4:7+-1*0+8");
	CHECK_STR("-", parsed("1@$1 1@$2 1@$3 1@$4 1@$5 1@$6 1@$7 1@$8 1@$9 1@$10 1@$11 1@$12 1@$13", EM_X86_64),
	          "c1=1 c1=2 c1=3 c1=4 c1=5 c1=6 c1=7 c1=8 c1=9 c1=10 c1=11 c1=12");
}

TEST(arm64)
{
	CHECK_STR("-", parsed("8@x0 -4@w19 8@[sp, 16] 4@[x29, -8] 8@[x1] 4@7 8@sp 8@x31 8@[x1", EM_AARCH64),
	          "r8:0/8>>0 r-4:19/4>>0 m8:31+-1*0+16 m4:29+-1*0+-8 m8:1+-1*0+0 c4=7 r8:31/8>>0 ? ?");
	CHECK_STR("-", parsed("8@x0", EM_MIPS), "?");
}

/* Any text is read to its end, and no further. */
TEST(any_text)
{
	static const char letters[] = "-48@%$()[],+xrabcdeipsp0189 ";
	struct argument a[ARGUMENTS_MAX];
	unsigned seed = 1;

	for (int round = 0; round < 20000; round++) {
		char *text = malloc(1 + (size_t)(round % 40));

		MUST(text);
		for (int i = 0; i < round % 40; i++)
			text[i] = letters[((seed = seed * 1103515245 + 12345) >> 16) % (sizeof letters - 1)];
		text[round % 40] = '\0';
		CHECK("-", arguments_parse(text, round & 1 ? EM_X86_64 : EM_AARCH64, a) <= ARGUMENTS_MAX);
		free(text);
	}
}

TEST(values)
{
	const uint64_t registers[] = { 0x1122334455667788, 0x7fff0000, 0x7fff0010 };
	unsigned char stack[32];
	struct argument_sample s = { .mask = 1 << 0 | 1 << 7 | 1 << 6, .stack = stack, .stack_size = sizeof stack,
	                             .stack_register = 7 };
	uint64_t in_order[] = { registers[0], registers[2], registers[1] }; /* ax, bp, sp */
	struct argument a[ARGUMENTS_MAX];
	uint64_t value;
	unsigned count;

	for (unsigned i = 0; i < sizeof stack; i++)
		stack[i] = (unsigned char)(0xf0 + i);
	s.registers = (const unsigned char *)in_order;
	count = arguments_parse("4@%eax -1@%al 1@%ah 8@%eax 4@8(%rsp) -2@-16(%rbp) 8@24(%rsp) 8@25(%rsp) 1@-1(%rsp) "
	                        "4@%ebx 4@(%rax) 2@8(%rbp)", EM_X86_64, a);
	CHECK_EQ("-", count, 12);
	static const struct {
		bool there;
		uint64_t value;
	} expected[] = { { true, 0x55667788 }, { true, (uint64_t)-0x78 }, { true, 0x77 }, { true, 0x55667788 },
	                 { true, 0xfbfaf9f8 }, { true, (uint64_t)(int64_t)(int16_t)0xf1f0 },
	                 { true, 0x0f0e0d0c0b0a0908 }, { false, 0 }, { false, 0 }, { false, 0 }, { false, 0 },
	                 { true, 0x0908 } };

	for (unsigned i = 0; i < count; i++) {
		CHECK_EQ("-", argument_value(&a[i], &s, &value), expected[i].there);
		if (expected[i].there)
			CHECK_EQ("-", value, expected[i].value);
	}
}

/* -- notes.h ----------------------------------------------------------------------------------------- */

#define TEXT "shop\0order\0-4@%edi 8@%rsi"

/* A file with one segment, at the address 0x1000, and one section of notes: two notes, of which one is another's. */
static size_t make(unsigned char *file)
{
	static const char text[] = TEXT;
	Elf64_Ehdr *h = (Elf64_Ehdr *)file;
	Elf64_Phdr *p = (Elf64_Phdr *)(h + 1);
	Elf64_Shdr *s = (Elf64_Shdr *)(p + 1);
	unsigned char *at = (unsigned char *)(s + 2);
	const uint64_t addresses[] = { 0x1010, 0, 0x1020 };
	Elf64_Nhdr note = { 8, sizeof addresses + sizeof text, 3 }, other = { 4, 4, 1 };

	memset(file, 0, 1000);
	memcpy(h->e_ident, ELFMAG, SELFMAG);
	h->e_ident[EI_CLASS] = ELFCLASS64;
	h->e_ident[EI_DATA] = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	h->e_machine = EM_X86_64;
	h->e_phoff = sizeof *h;
	h->e_phnum = 1;
	h->e_phentsize = sizeof *p;
	h->e_shoff = sizeof *h + sizeof *p;
	h->e_shnum = 2;
	h->e_shentsize = sizeof *s;
	*p = (Elf64_Phdr){ .p_type = PT_LOAD, .p_offset = 0x100, .p_vaddr = 0x1000, .p_filesz = 0x100 };
	s[1] = (Elf64_Shdr){ .sh_type = SHT_NOTE, .sh_offset = (size_t)(at - file) };
	memcpy(at, &note, sizeof note);
	memcpy(at + 12, "stapsdt", 8);
	memcpy(at + 20, addresses, sizeof addresses);
	memcpy(at + 20 + sizeof addresses, text, sizeof text);
	at += 20 + ((sizeof addresses + sizeof text + 3) & ~3UL);
	memcpy(at, &other, sizeof other);
	memcpy(at + 12, "GNU", 4);
	at += 20;
	s[1].sh_size = (size_t)(at - file) - s[1].sh_offset;
	return (size_t)(at - file);
}

/* Returns what notes_read() does; *n is filled. */
static int read_file(const void *bytes, size_t size, struct notes *n)
{
	int fd = memfd_create("notes", MFD_CLOEXEC), r;
	unsigned char id[NOTES_BUILD_ID_MAX];

	MUST(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	r = notes_read(fd, n);
	CHECK("-", notes_build_id(fd, id) <= sizeof id);
	close(fd);
	return r;
}

TEST(notes)
{
	unsigned char file[1000];
	size_t size = make(file);
	struct notes n;

	MUST(read_file(file, size, &n) == 0 && n.count == 1);
	CHECK_STR("-", n.note->provider, "shop");
	CHECK_STR("-", n.note->name, "order");
	CHECK_STR("-", n.note->arguments, "-4@%edi 8@%rsi");
	CHECK_EQ("-", n.note->offset, 0x110);
	CHECK_EQ("-", n.note->semaphore, 0x120);
	CHECK_EQ("-", n.machine, EM_X86_64);
	notes_free(&n);
	CHECK_EQ("-", read_file("#!/bin/sh\n", 10, &n), -ENOEXEC);
	CHECK_EQ("-", read_file("", 0, &n), -ENOEXEC);
}

/* Files that end early, and files in which a byte is another: no crash, and no string beyond the notes. */
TEST(hostile)
{
	static const unsigned char values[] = { 0, 1, PT_INTERP, PT_NOTE, 0x7f, 0x80, 0xff };
	unsigned char file[1000], other[1000];
	size_t size = make(file);
	struct notes n;

	for (size_t cut = 0; cut < size; cut++)
		if (read_file(file, cut, &n) == 0)
			notes_free(&n);
	for (size_t at = 0; at < size; at++)
		for (size_t v = 0; v < sizeof values; v++) {
			memcpy(other, file, size);
			other[at] = values[v];
			if (read_file(other, size, &n) != 0)
				continue;
			for (size_t i = 0; i < n.count; i++)
				CHECK("-", strlen(n.note[i].provider) + strlen(n.note[i].name) +
				           strlen(n.note[i].arguments) < size);
			notes_free(&n);
		}
}

/* -- signature.h ---------------------------------------------------------------------------------- */

/* Returns names and types in words, or what is wrong. */
static const char *named(const char *text)
{
	static char words[2000];
	struct signature s;
	const char *wrong = signature_parse(text, &s);

	if (wrong)
		return wrong;
	*words = '\0';
	for (unsigned i = 0; i < s.count; i++) {
		const struct signature_field *f = &s.field[i];
		char *to = words + strlen(words);

		to += sprintf(to, "%s%s", i ? " " : "", f->name);
		if (f->kind)
			sprintf(to, ":%c%u", f->kind, 8U * f->size);
	}
	return words;
}

TEST(signatures)
{
	CHECK_STR("-", named("str file, int line"), "file:z0 line:i32");
	CHECK_STR("-", named(" a ,\tb,_c9"), "a b _c9");
	CHECK_STR("-", named("const  char*a, char * b, void *c, unsigned\tlong d"), "a:z0 b:z0 c:x64 d:u64");
	CHECK_STR("-", named("uint8_t a, unsigned b, ptr c, bool d"), "a:u8 b:u32 c:x64 d:u8");
	CHECK_STR("-", named("a,b,c,d,e,f,g,h,i,j,k,l"), "a b c d e f g h i j k l");
	CHECK_STR("-", named("a,b,c,d,e,f,g,h,i,j,k,l,m"), "a probe has at most 12 arguments");
	CHECK_STR("-", named("a, b, a"), "two arguments have the same name");
	CHECK_STR("-", named("a23456789012345678901234567890x"), "a23456789012345678901234567890x");
	CHECK_STR("-", named("a23456789012345678901234567890xy"), "a name may have 31 characters");
	CHECK("-", strstr(named(""), "'' is no type and name"));
	CHECK("-", strstr(named("a,,b"), "'' is no type and name"));
	CHECK("-", strstr(named("int"), "'int' is no type and name"));
	CHECK("-", strstr(named("int 5"), "is no type and name"));
	CHECK("-", strstr(named("struct a b"), "unknown type in 'struct a b'"));
	CHECK("-", strstr(named("unsigned and very long and longer still a"), "unknown type"));
}

/* What is known of the probes of others is right, and texts are fetched only where the kernel can. */
TEST(texts)
{
	static const struct {
		const char *argument, *text;
		uint16_t machine;
	} all[] = {
		{ "8@%rdi", "+0(%di)", EM_X86_64 }, { "-8@%r12", "+0(%r12)", EM_X86_64 },
		{ "8@-16(%rbp)", "+0(-16(%bp))", EM_X86_64 }, { "8@(%rax)", "+0(+0(%ax))", EM_X86_64 },
		{ "8@8(%rax,%rbx,4)", NULL, EM_X86_64 }, { "4@%edi", NULL, EM_X86_64 },
		{ "8@$5", NULL, EM_X86_64 }, { "8@where(%rip)", NULL, EM_X86_64 }, { "what", NULL, EM_X86_64 },
		{ "8@x3", "+0(%x3)", EM_AARCH64 }, { "8@[sp, 24]", "+0(+24(%sp))", EM_AARCH64 },
	};
	struct argument a[ARGUMENTS_MAX];
	struct signature s;
	char text[48], small[6];

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		MUST(arguments_parse(all[i].argument, all[i].machine, a) == 1);
		CHECK(all[i].argument, argument_text(a, all[i].machine, text, sizeof text) == (all[i].text != NULL));
		if (all[i].text)
			CHECK_STR(all[i].argument, text, all[i].text);
	}
	MUST(arguments_parse("8@%rdi", EM_X86_64, a) == 1);
	CHECK("room", !argument_text(a, EM_X86_64, small, sizeof small));
	CHECK("known", !signature_known("no:such") && signature_known("python:line") &&
	               !signature_parse(signature_known("python:line"), &s) && s.count == 3);
}

TEST_MAIN(TEST_ENTRY(x86), TEST_ENTRY(arm64), TEST_ENTRY(any_text), TEST_ENTRY(values), TEST_ENTRY(notes),
          TEST_ENTRY(hostile), TEST_ENTRY(signatures), TEST_ENTRY(texts))
