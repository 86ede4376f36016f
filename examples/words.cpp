/*
 * words.cpp - counts the words of files, with typed trace points in C++20
 *
 *     posixtrace record -- words FILE...
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/trace.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

enum class kind { text, empty, unreadable };
constexpr const char *posixtrace_labels(kind) { return "text,empty,unreadable"; }

constexpr posixtrace::event<"words.file", "name", "kind", "words", "longest"> file_done;
constexpr posixtrace::counter<"words.different"> different;

static std::map<std::string, int> count(const std::filesystem::path &path)
{
	/* Ends also if the exception is thrown. */
	posixtrace::span<"words.read", "name"> reading{ path.native() };
	std::map<std::string, int> words;
	std::ifstream in(path);
	std::string word;

	if (!in)
		throw std::runtime_error("cannot be read");
	while (in >> word)
		words[word]++;
	different(words.size());
	return words;
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++) {
		try {
			std::size_t all = 0;
			std::string longest;

			for (const auto &[word, times] : count(argv[i])) {
				all += static_cast<std::size_t>(times);
				longest = word.size() > longest.size() ? word : longest;
			}
			file_done(argv[i], all > 0 ? kind::text : kind::empty, all, longest);
			std::printf("%s: %zu words\n", argv[i], all);
		} catch (const std::runtime_error &error) {
			file_done(argv[i], kind::unreadable, std::size_t(0), "");
			std::fprintf(stderr, "%s: %s\n", argv[i], error.what());
			status = 1;
		}
	}
	return status;
}
