/*
 * unwind.c - record --sample-dwarf: walks a copied stack by the rules that compilers write for exceptions (.eh_frame)
 *
 * libdw finds the rules of an address. They are expressions, which are evaluated here, because the memory is the copy
 * in the sample. Where there are no rules, as in code that a program has made itself, frame pointers are tried.
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/unwind.h"

#if defined HAVE_LIBDW && defined __x86_64__

# include <dwarf.h>
# include <elfutils/libdw.h>
# include <stdlib.h>
# include <string.h>

# include "common/unaligned.h"

# define EXPRESSION_DEPTH 32
# define EXPRESSION_STEPS 1000

/* Registers by their numbers in DWARF. */
enum { RBP = 6, RSP = 7, RIP = 16, REGISTERS = 17 };

/* The registers of a function. */
struct cpu {
	uint64_t value[REGISTERS];
	bool known[REGISTERS];
};

/* What an expression may use. */
struct context {
	const struct ring_record *r;
	uint64_t bottom; /* address of the copied stack */
	const struct cpu *frame;
	uint64_t cfa;
	bool has_cfa;
};

bool unwind_works(void)
{
	return true;
}

/* Reads 8 bytes of the copied stack. Returns false if it does not have them. */
static bool load(const struct context *c, uint64_t address, uint64_t *value)
{
	uint64_t at = address - c->bottom;

	if (at >= c->r->stack_size || c->r->stack_size - at < sizeof *value)
		return false;
	*value = unaligned_u64(c->r->stack + at);
	return true;
}

static bool get(const struct context *c, uint64_t name, uint64_t offset, uint64_t *value)
{
	if (name >= REGISTERS || !c->frame->known[name])
		return false;
	*value = c->frame->value[name] + offset;
	return true;
}

/* Applies an operation to the two topmost values. Returns false if it is not known. */
static bool binary(unsigned atom, uint64_t *left, uint64_t right)
{
	switch (atom) {
	case DW_OP_plus:
		*left += right;
		return true;
	case DW_OP_minus:
		*left -= right;
		return true;
	case DW_OP_and:
		*left &= right;
		return true;
	case DW_OP_or:
		*left |= right;
		return true;
	case DW_OP_shl:
		*left = right < 64 ? *left << right : 0;
		return true;
	case DW_OP_ge:
		*left = (int64_t)*left >= (int64_t)right;
		return true;
	default:
		return false;
	}
}

/* Puts the value of an operation without operands on the stack. Returns false if it is another one, or not known. */
static bool push(const struct context *c, const Dwarf_Op *op, uint64_t *value)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return get(c, op->atom - DW_OP_breg0, op->number, value);
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		*value = op->atom - DW_OP_lit0;
		return true;
	}
	switch (op->atom) {
	case DW_OP_bregx:
		return get(c, op->number, op->number2, value);
	case DW_OP_call_frame_cfa:
		*value = c->cfa;
		return c->has_cfa;
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		*value = op->number;
		return true;
	default:
		return false;
	}
}

/* Evaluates an expression. *is_value: the result is the value, not its address. Returns false if that is impossible. */
static bool evaluate(const struct context *c, const Dwarf_Op *ops, size_t count, uint64_t *result, bool *is_value)
{
	uint64_t stack[EXPRESSION_DEPTH];
	unsigned depth = 0;

	*is_value = false;
	for (size_t i = 0; i < count && i < EXPRESSION_STEPS; i++) {
		unsigned atom = ops[i].atom;

		if (atom == DW_OP_stack_value) {
			*is_value = true;
		} else if (atom == DW_OP_deref && depth) {
			if (!load(c, stack[depth - 1], &stack[depth - 1]))
				return false;
		} else if (atom == DW_OP_plus_uconst && depth) {
			stack[depth - 1] += ops[i].number;
		} else if (depth < EXPRESSION_DEPTH && push(c, &ops[i], &stack[depth])) {
			depth++;
		} else if (depth >= 2 && binary(atom, &stack[depth - 2], stack[depth - 1])) {
			depth--;
		} else {
			return false;
		}
	}
	if (!depth)
		return false;
	*result = stack[depth - 1];
	return true;
}

/* Sets a register of the caller. */
static void restore(const struct context *c, Dwarf_Frame *rules, int name, struct cpu *caller)
{
	Dwarf_Op memory[3], *ops;
	uint64_t value;
	bool is_value;
	size_t count;

	caller->known[name] = false;
	if (dwarf_frame_register(rules, name, memory, &ops, &count) != 0)
		return;
	if (count == 0) {
		/* It is unchanged, or undefined. */
		if (ops)
			return;
		caller->known[name] = c->frame->known[name];
		caller->value[name] = c->frame->value[name];
		return;
	}
	if (count == 1 && (ops->atom == DW_OP_regx || (ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31))) {
		uint64_t from = ops->number;

		if (ops->atom != DW_OP_regx)
			from = ops->atom - DW_OP_reg0;
		caller->known[name] = get(c, from, 0, &caller->value[name]);
		return;
	}
	if (!evaluate(c, ops, count, &value, &is_value))
		return;
	caller->known[name] = is_value || load(c, value, &value);
	caller->value[name] = value;
}

/* Goes to the caller by the rules of the file. Returns false if there are none, or they lead nowhere. */
static bool by_rules(struct context *c, struct modules *m, bool exact, struct cpu *caller, bool *caller_exact)
{
	uint64_t offset = c->frame->value[RIP] - !exact;
	struct image *image = modules_image(m, c->r->pid, &offset);
	Dwarf_CFI *all = image ? image_rules(image, &offset) : NULL;
	Dwarf_Frame *rules = NULL;
	bool is_value, is_signal = false;
	Dwarf_Op *ops;
	size_t count;

	if (!all || dwarf_cfi_addrframe(all, offset, &rules) != 0)
		return false;
	c->has_cfa = false;
	if (dwarf_frame_cfa(rules, &ops, &count) == 0)
		c->has_cfa = evaluate(c, ops, count, &c->cfa, &is_value);
	dwarf_frame_info(rules, NULL, NULL, &is_signal);
	if (c->has_cfa) {
		for (int i = 0; i < REGISTERS; i++)
			restore(c, rules, i, caller);
		/* Where nothing else is said, the caller's stack begins where this frame ends. */
		if (!is_signal) {
			caller->known[RSP] = true;
			caller->value[RSP] = c->cfa;
		}
	}
	*caller_exact = is_signal;
	free(rules);
	return c->has_cfa;
}

static bool by_frame_pointer(const struct context *c, struct cpu *caller)
{
	uint64_t at = c->frame->value[RBP];

	*caller = (struct cpu){ 0 };
	if (!c->frame->known[RBP] || at < c->frame->value[RSP] || !load(c, at, &caller->value[RBP]) ||
	    !load(c, at + 8, &caller->value[RIP]))
		return false;
	caller->value[RSP] = at + 16;
	caller->known[RBP] = caller->known[RIP] = caller->known[RSP] = true;
	return true;
}

/* Reads the registers of a sample, which are in the kernel's order. */
static void read_registers(struct cpu *f, const unsigned char *p)
{
	/* AX BX CX DX SI DI BP SP IP R8 ... R15 */
	static const unsigned char names[REGISTERS] = { 0, 3, 2, 1, 4, 5, RBP, RSP, RIP, 8, 9, 10, 11, 12, 13, 14, 15 };

	for (unsigned i = 0; i < REGISTERS; i++) {
		f->value[names[i]] = unaligned_u64(p + 8 * i);
		f->known[names[i]] = true;
	}
}

unsigned unwind(struct modules *m, const struct ring_record *r, uint64_t *address, unsigned most, bool *cut)
{
	struct cpu frame = { 0 }, caller;
	struct context c = { .r = r, .frame = &frame };
	bool exact = true, next_exact;
	unsigned count = 0;

	if (!r->registers || r->abi != PERF_SAMPLE_REGS_ABI_64)
		return 0;
	read_registers(&frame, r->registers);
	c.bottom = frame.value[RSP];
	while (count < most && frame.known[RIP] && frame.value[RIP]) {
		uint64_t before = frame.value[RSP];

		address[count++] = frame.value[RIP];
		next_exact = false;
		*cut = !by_rules(&c, m, exact, &caller, &next_exact) && !by_frame_pointer(&c, &caller);
		/* The frame of a caller is at a higher address, so the walk ends. */
		if (*cut || !caller.known[RSP] || caller.value[RSP] <= before)
			break;
		frame = caller;
		exact = next_exact;
	}
	return count;
}

#else

bool unwind_works(void)
{
	return false;
}

unsigned unwind(struct modules *m, const struct ring_record *r, uint64_t *address, unsigned most, bool *cut)
{
	(void)m;
	(void)r;
	(void)address;
	(void)most;
	(void)cut;
	return 0;
}

#endif
