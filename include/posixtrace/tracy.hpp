/*
 * tracy.hpp - the macros of Tracy's client, which record events of posixtrace instead
 *
 * For a program that has Tracy's macros: add -I.../include/posixtrace/compat to the compiler's options, and the
 * program's #include <tracy/Tracy.hpp> is this file. They record always, with or without TRACY_ENABLE.
 *
 *     ZoneScoped, ZoneScopedN(name) ...         NAME.begin and NAME.end; without a name the function's
 *     ZoneText, ZoneName, ZoneValue             zone.text, zone.name, zone.value
 *     FrameMark, FrameMarkNamed(name)           frame, NAME;  FrameMarkStart, FrameMarkEnd: NAME.begin and NAME.end
 *     TracyPlot(name, value)                    NAME with the field value, as counter<> of trace.hpp
 *     TracyMessage, TracyAppInfo                message, app.info
 *     TracyAlloc, TracyFree ...                 memory.alloc, memory.free
 *     TracyFiberEnter, TracyFiberLeave          fiber.enter, fiber.leave
 *     tracy::SetThreadName(name)                thread.name
 *
 * Colours, call stacks and images are ignored. Locks are those of the program, and record nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef POSIXTRACE_TRACY_HPP
#define POSIXTRACE_TRACY_HPP

#include <cstdarg>
#include <cstdio>

#include "macros.hpp"

namespace posixtrace {
namespace detail __attribute__((__visibility__("hidden"))) {

/* The places of events that have the same name at all macros. */
struct tracy_places {
	static inline place text, name, value, message, app_info, alloc, free, fiber_enter, fiber_leave, thread;
};

inline constexpr const char *tracy_text[] = { "text", nullptr }, *tracy_value[] = { "value", nullptr },
	*tracy_alloc[] = { "address", "size", "pool", nullptr }, *tracy_free[] = { "address", "pool", nullptr };

/* Records an event with a text. Messages are log messages. */
POSIXTRACE__INLINE void tracy_say(place &at, const char *event, text<1000> said) noexcept
{
	if (enabled())
		record_at(at, { nullptr, event, true }, &at == &tracy_places::message ? "{level=info}" : "", tracy_text,
		          said);
}

POSIXTRACE__INLINE void tracy_say(place &at, const char *event, std::size_t size, const char *said) noexcept
{
	tracy_say(at, event, text<1000>(said, size));
}

/* A zone: a span whose name comes from a macro. */
class zone {
public:
	POSIXTRACE__INLINE zone(span_places &places, const char *name, bool constant, bool active) noexcept
	{
		if (active && enabled())
			begin(places, { nullptr, name, constant });
	}

	POSIXTRACE__INLINE ~zone()
	{
		if (__builtin_expect(end_ != 0, 0))
			record(*this);
	}

	zone(const zone &) = delete;
	zone &operator=(const zone &) = delete;

	POSIXTRACE__INLINE void say(place &at, const char *event, const char *said, std::size_t size) const noexcept
	{
		if (end_)
			tracy_say(at, event, size, said);
	}

	[[gnu::format(printf, 4, 5)]] void print(place &at, const char *event, const char *format, ...) const noexcept
	{
		char said[1024];
		std::va_list arguments;

		if (!end_)
			return;
		va_start(arguments, format);
		std::vsnprintf(said, sizeof said, format, arguments);
		va_end(arguments);
		tracy_say(at, event, said);
	}

	POSIXTRACE__INLINE void value(std::uint64_t value) const noexcept
	{
		if (end_)
			record_at(tracy_places::value, { nullptr, "zone.value", true }, "", tracy_value, stored(value));
	}

	bool is_active() const noexcept
	{
		return end_ != 0;
	}

private:
	/* The end is opened here: a name need not live as long as its zone. */
	POSIXTRACE__INLINE void begin(span_places &places, const event_name &name) noexcept
	{
		if (begin_at(places.begin, name, ".begin", nullptr))
			end_ = event_at<>{ places.end, name, ".end", nullptr }.id();
	}

	POSIXTRACE__INLINE static void record(const zone &z) noexcept
	{
		posixtrace_event event = { nullptr, nullptr, z.end_ };

		posixtrace__record(&event, nullptr, 0);
		not_a_jump();
	}

	trace_event_id_t end_ = 0;
};

template<class T> POSIXTRACE__INLINE void tracy_plot(place &at, const char *name, T value) noexcept
{
	count_at(at, { nullptr, name, true }, "{counter}", tracy_value, value);
}

POSIXTRACE__INLINE void tracy_allocated(const volatile void *address, std::size_t size, const char *pool) noexcept
{
	if (enabled())
		record_at(tracy_places::alloc, { nullptr, "memory.alloc", true }, "", tracy_alloc, stored(address),
		          stored(size), text<>(pool));
}

POSIXTRACE__INLINE void tracy_freed(const volatile void *address, const char *pool) noexcept
{
	if (enabled())
		record_at(tracy_places::free, { nullptr, "memory.free", true }, "", tracy_free, stored(address),
		          text<>(pool));
}

} // namespace detail
} // namespace posixtrace

namespace tracy {

inline void SetThreadName(const char *name) noexcept
{
	posixtrace::detail::tracy_say(posixtrace::detail::tracy_places::thread, "thread.name", name);
}

inline void SetThreadNameWithHint(const char *name, int) noexcept
{
	SetThreadName(name);
}

} // namespace tracy

/* Records an event of a macro at a place of its own. */
#define POSIXTRACE__TRACY(call)                                                                                        \
	do {                                                                                                           \
		static posixtrace::detail::place posixtrace_place;                                                     \
		if (POSIXTRACE_ENABLED())                                                                              \
			posixtrace::detail::call;                                                                      \
	} while (0)
#define POSIXTRACE__TRACY_MARK(name, suffix)                                                                           \
	POSIXTRACE__TRACY(record_at(posixtrace_place, { nullptr, name, true }, suffix, nullptr))
#define POSIXTRACE__TRACY_NOTHING static_cast<void>(0)

#define POSIXTRACE__TRACY_ZONE(variable, name, constant, active)                                                       \
	static posixtrace::detail::span_places POSIXTRACE__CAT(posixtrace_zone_, __LINE__);                            \
	posixtrace::detail::zone variable(POSIXTRACE__CAT(posixtrace_zone_, __LINE__), name, constant, active)
/* A block in a block may have a zone, too. */
#define POSIXTRACE__TRACY_SCOPED(name)                                                                                 \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")                                  \
	POSIXTRACE__TRACY_ZONE(posixtrace_zone, name, true, true);                                                     \
	_Pragma("GCC diagnostic pop")

#define TracyFunction __func__
#define TracyNoop     POSIXTRACE__TRACY_NOTHING

#define ZoneNamed(variable, active)                            POSIXTRACE__TRACY_ZONE(variable, __func__, true, active)
#define ZoneNamedN(variable, name, active)                     POSIXTRACE__TRACY_ZONE(variable, name, true, active)
#define ZoneNamedC(variable, color, active)                    ZoneNamed(variable, active)
#define ZoneNamedNC(variable, name, color, active)             ZoneNamedN(variable, name, active)
#define ZoneNamedS(variable, depth, active)                    ZoneNamed(variable, active)
#define ZoneNamedNS(variable, name, depth, active)             ZoneNamedN(variable, name, active)
#define ZoneNamedCS(variable, color, depth, active)            ZoneNamed(variable, active)
#define ZoneNamedNCS(variable, name, color, depth, active)     ZoneNamedN(variable, name, active)
#define ZoneTransient(variable, active)                        ZoneNamed(variable, active)
#define ZoneTransientN(variable, name, active)                 POSIXTRACE__TRACY_ZONE(variable, name, false, active)
#define ZoneTransientNC(variable, name, color, active)         ZoneTransientN(variable, name, active)
#define ZoneTransientS(variable, depth, active)                ZoneTransient(variable, active)
#define ZoneTransientNS(variable, name, depth, active)         ZoneTransientN(variable, name, active)
#define ZoneScoped                                             POSIXTRACE__TRACY_SCOPED(__func__)
#define ZoneScopedN(name)                                      POSIXTRACE__TRACY_SCOPED(name)
#define ZoneScopedC(color)                                     ZoneScoped
#define ZoneScopedNC(name, color)                              ZoneScopedN(name)
#define ZoneScopedS(depth)                                     ZoneScoped
#define ZoneScopedNS(name, depth)                              ZoneScopedN(name)
#define ZoneScopedCS(color, depth)                             ZoneScoped
#define ZoneScopedNCS(name, color, depth)                      ZoneScopedN(name)

#define ZoneText(text, size)            ZoneTextV(posixtrace_zone, text, size)
#define ZoneTextV(zone, said, size)     (zone).say(posixtrace::detail::tracy_places::text, "zone.text", said, size)
#define ZoneTextF(...)                  ZoneTextVF(posixtrace_zone, __VA_ARGS__)
#define ZoneTextVF(zone, ...)           (zone).print(posixtrace::detail::tracy_places::text, "zone.text", __VA_ARGS__)
#define ZoneName(text, size)            ZoneNameV(posixtrace_zone, text, size)
#define ZoneNameV(zone, said, size)     (zone).say(posixtrace::detail::tracy_places::name, "zone.name", said, size)
#define ZoneNameF(...)                  ZoneNameVF(posixtrace_zone, __VA_ARGS__)
#define ZoneNameVF(zone, ...)           (zone).print(posixtrace::detail::tracy_places::name, "zone.name", __VA_ARGS__)
#define ZoneValue(number)               ZoneValueV(posixtrace_zone, number)
#define ZoneValueV(zone, number)        (zone).value(static_cast<std::uint64_t>(number))
#define ZoneColor(color)                POSIXTRACE__TRACY_NOTHING
#define ZoneColorV(zone, color)         POSIXTRACE__TRACY_NOTHING
#define ZoneIsActive                    ZoneIsActiveV(posixtrace_zone)
#define ZoneIsActiveV(zone)             (zone).is_active()

#define FrameMark                       POSIXTRACE__TRACY_MARK("frame", "")
#define FrameMarkNamed(name)            POSIXTRACE__TRACY_MARK(name, "")
#define FrameMarkStart(name)            POSIXTRACE__TRACY_MARK(name, ".begin")
#define FrameMarkEnd(name)              POSIXTRACE__TRACY_MARK(name, ".end")
#define FrameImage(image, width, height, offset, flip) POSIXTRACE__TRACY_NOTHING

#define TracyLockable(type, variable)                type variable
#define TracyLockableN(type, variable, description)  type variable
#define TracySharedLockable(type, variable)          type variable
#define TracySharedLockableN(type, variable, description) type variable
#define LockableBase(type)                           type
#define SharedLockableBase(type)                     type
#define LockMark(variable)                           static_cast<void>(variable)
#define LockableName(variable, text, size)           POSIXTRACE__TRACY_NOTHING

#define TracyPlot(name, value)                         POSIXTRACE__TRACY(tracy_plot(posixtrace_place, name, value))
#define TracyPlotConfig(name, type, step, fill, color) POSIXTRACE__TRACY_NOTHING

#define POSIXTRACE__TRACY_SAY(place, event, ...)                                                                       \
	posixtrace::detail::tracy_say(posixtrace::detail::tracy_places::place, event, __VA_ARGS__)
#define TracyMessage(text, size)                       POSIXTRACE__TRACY_SAY(message, "message", size, text)
#define TracyMessageL(text)                            POSIXTRACE__TRACY_SAY(message, "message", text)
#define TracyMessageC(text, size, color)               TracyMessage(text, size)
#define TracyMessageLC(text, color)                    TracyMessageL(text)
#define TracyMessageS(text, size, depth)               TracyMessage(text, size)
#define TracyMessageLS(text, depth)                    TracyMessageL(text)
#define TracyMessageCS(text, size, color, depth)       TracyMessage(text, size)
#define TracyMessageLCS(text, color, depth)            TracyMessageL(text)
#define TracyLogString(severity, color, depth, ...)    POSIXTRACE__TRACY_SAY(message, "message", __VA_ARGS__)
#define TracyAppInfo(text, size)                       POSIXTRACE__TRACY_SAY(app_info, "app.info", size, text)

#define TracyAlloc(address, size)                      posixtrace::detail::tracy_allocated(address, size, "")
#define TracyFree(address)                             posixtrace::detail::tracy_freed(address, "")
#define TracyAllocN(address, size, name)               posixtrace::detail::tracy_allocated(address, size, name)
#define TracyFreeN(address, name)                      posixtrace::detail::tracy_freed(address, name)
#define TracyAllocS(address, size, depth)              TracyAlloc(address, size)
#define TracyFreeS(address, depth)                     TracyFree(address)
#define TracyAllocNS(address, size, depth, name)       TracyAllocN(address, size, name)
#define TracyFreeNS(address, depth, name)              TracyFreeN(address, name)
#define TracySecureAlloc(address, size)                TracyAlloc(address, size)
#define TracySecureFree(address)                       TracyFree(address)
#define TracySecureAllocN(address, size, name)         TracyAllocN(address, size, name)
#define TracySecureFreeN(address, name)                TracyFreeN(address, name)
#define TracySecureAllocS(address, size, depth)        TracyAlloc(address, size)
#define TracySecureFreeS(address, depth)               TracyFree(address)
#define TracySecureAllocNS(address, size, depth, name) TracyAllocN(address, size, name)
#define TracySecureFreeNS(address, depth, name)        TracyFreeN(address, name)
#define TracyMemoryDiscard(name)                       POSIXTRACE__TRACY_NOTHING
#define TracyMemoryDiscardS(name, depth)               POSIXTRACE__TRACY_NOTHING

#define TracyFiberEnter(name)                          POSIXTRACE__TRACY_SAY(fiber_enter, "fiber.enter", name)
#define TracyFiberEnterHint(name, hint)                TracyFiberEnter(name)
#define TracyFiberLeave                                POSIXTRACE__TRACY_SAY(fiber_leave, "fiber.leave", "")

#define TracySourceCallbackRegister(callback, data)    POSIXTRACE__TRACY_NOTHING
#define TracyParameterRegister(callback, data)         POSIXTRACE__TRACY_NOTHING
#define TracyParameterSetup(index, name, is_bool, value) POSIXTRACE__TRACY_NOTHING
#define TracySetProgramName(name)                      POSIXTRACE__TRACY_NOTHING
#define TracyIsConnected                               posixtrace::enabled()
#define TracyIsStarted                                 true

#endif
