/*
 * cpp_tracy.cpp - a small program with Tracy's macros, for cpp.py: nothing here is of posixtrace
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

#include <tracy/Tracy.hpp>

static TracyLockable(std::mutex, lock);
static TracySharedLockable(std::shared_mutex, shared);

/* As some programs have it: one macro, and many names. */
class frame_marker {
public:
	explicit frame_marker(const char *name) : name_(name) { FrameMarkStart(name_); }
	~frame_marker() { FrameMarkEnd(name_); }

private:
	const char *name_;
};

static void load(int n)
{
	ZoneScopedN("load");
	const std::string name = "level " + std::to_string(n);

	ZoneText(name.c_str(), name.size());
	ZoneValue(n);
	{
		ZoneScopedNC("load.textures", 0xff8000);
		std::lock_guard<LockableBase(std::mutex)> held(lock);

		LockMark(lock);
		ZoneTextF("%d textures", 2 * n);
	}
	ZoneNamedN(inactive, "inactive", n > 100);
	ZoneTextV(inactive, "not recorded", 12);
	ZoneTransientN(transient, name.c_str(), true);
	ZoneNameV(transient, "other", 5);
}

static void render()
{
	ZoneScoped;
	std::shared_lock<SharedLockableBase(std::shared_mutex)> held(shared);
	void *block = std::malloc(100);

	TracyAllocN(block, 100, "textures");
	TracyPlot("frames", int64_t(60));
	TracyPlot("frames", UINT64_MAX);
	TracyPlot("frames", 0.5);
	TracyPlot("load", 0.25);
	TracyFreeN(block, "textures");
	std::free(block);
}

int main()
{
	tracy::SetThreadName("main thread");
	TracyPlotConfig("frames", tracy::PlotFormatType::Number, true, true, 0);
	for (int n = 1; n <= 2; n++) {
		frame_marker outer("outer"), inner("inner");

		load(n);
		render();
		FrameMark;
	}
	std::thread([] {
		ZoneScopedN("thread");
		TracyMessage("sized text", 5);
		TracyMessageL("literal");
		TracyMessageLC("coloured", 0xff);
	}).join();
	if (TracyIsConnected)
		FrameMarkNamed("done");
	return 0;
}
