/*
 * jumps.c - functions that are left by longjmp() or by an exception that is caught
 *
 * They call no hook where they are left, except for exceptions in programs of gcc. The functions below stand before
 * those of the C library and of libstdc++: they leave the frames that are gone, and call the others.
 *
 * SPDX-License-Identifier: MIT
 */
#include "shadow.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

/* -- longjmp() --------------------------------------------------------------------------------------------- */

/* Not declared in <setjmp.h>: what _FORTIFY_SOURCE makes of longjmp(). */
EXPORT void __longjmp_chk(struct __jmp_buf_tag *to, int value) __attribute__((noreturn));

typedef void jump(struct __jmp_buf_tag *to, int value);

/* Returns where the stack pointer will be; 0 if it is unknown. glibc hides it with a secret of the thread. */
static uintptr_t stack_of(const struct __jmp_buf_tag *to)
{
#if defined __GLIBC__ && defined __x86_64__ && defined __LP64__
	uintptr_t stack = (uintptr_t)to->__jmpbuf[6];

	__asm__("rorq $17, %0\n\txorq %%fs:0x30, %0" : "+r"(stack));
	return stack;
#elif defined __GLIBC__ && defined __i386__
	uintptr_t stack = (uintptr_t)to->__jmpbuf[4];

	__asm__("rorl $9, %0\n\txorl %%gs:0x18, %0" : "+r"(stack));
	return stack;
#else
	(void)to;
	return 0;
#endif
}

/* Leaves the functions between here and there. A handler may have a stack of its own, which is left as a whole. */
static void leave_for(const struct __jmp_buf_tag *to)
{
	uintptr_t stack = stack_of(to);
	int error = errno;
	stack_t other;

	if (stack && posixtrace_enabled()) {
		if (sigaltstack(NULL, &other) == 0 && (other.ss_flags & SS_ONSTACK) &&
		    stack - (uintptr_t)other.ss_sp >= other.ss_size)
			shadow_unwind_range((uintptr_t)other.ss_sp, (uintptr_t)other.ss_sp + other.ss_size);
		shadow_unwind(stack);
	}
	errno = error;
}

/* Jumps by the function of this name behind this library. Each is looked up at most once in each thread at a time. */
static void __attribute__((noreturn)) jump_by(jump **found, const char *name, struct __jmp_buf_tag *to, int value)
{
	jump *real = __atomic_load_n(found, __ATOMIC_RELAXED);

	if (!real) {
		real = (jump *)(uintptr_t)dlsym(RTLD_NEXT, name);
		__atomic_store_n(found, real, __ATOMIC_RELAXED);
	}
	leave_for(to);
	real(to, value);
	abort();
}

static jump *real_longjmp, *real_underscore, *real_siglongjmp, *real_checked;

EXPORT void longjmp(jmp_buf to, int value)
{
	jump_by(&real_longjmp, "longjmp", to, value);
}

EXPORT void _longjmp(jmp_buf to, int value)
{
	jump_by(&real_underscore, "_longjmp", to, value);
}

EXPORT void siglongjmp(sigjmp_buf to, int value)
{
	jump_by(&real_siglongjmp, "siglongjmp", to, value);
}

EXPORT void __longjmp_chk(struct __jmp_buf_tag *to, int value)
{
	jump_by(&real_checked, "__longjmp_chk", to, value);
}

/* Looks the functions up early: a signal handler may call them first. */
static __attribute__((constructor(102))) void find_jumps(void)
{
	real_longjmp = (jump *)(uintptr_t)dlsym(RTLD_NEXT, "longjmp");
	real_underscore = (jump *)(uintptr_t)dlsym(RTLD_NEXT, "_longjmp");
	real_siglongjmp = (jump *)(uintptr_t)dlsym(RTLD_NEXT, "siglongjmp");
	real_checked = (jump *)(uintptr_t)dlsym(RTLD_NEXT, "__longjmp_chk");
}

/* -- Exceptions of C++ ----------------------------------------------------------------------------------------- */

EXPORT void *__cxa_begin_catch(void *exception);

typedef void *begin_catch(void *exception);

/* Finds the function in what the caller is linked with, if that was loaded by dlopen() for itself alone. */
static begin_catch *find_for(const void *caller)
{
	Dl_info info;
	void *module, *found;

	if (!dladdr(caller, &info))
		return NULL;
	module = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!module)
		return NULL;
	found = dlsym(module, "__cxa_begin_catch");
	dlclose(module);
	return (begin_catch *)(uintptr_t)found;
}

void *__cxa_begin_catch(void *exception)
{
	static begin_catch *real;
	begin_catch *found = __atomic_load_n(&real, __ATOMIC_RELAXED);

	if (!found) {
		found = (begin_catch *)(uintptr_t)dlsym(RTLD_NEXT, "__cxa_begin_catch");
		__atomic_store_n(&real, found, __ATOMIC_RELAXED);
	}
	if (!found)
		found = find_for(__builtin_return_address(0));
	if (!found)
		abort();
	if (posixtrace_enabled())
		shadow_unwind((uintptr_t)__builtin_dwarf_cfa());
	return found(exception);
}
