// Facts of the machine and of this process, from Linux's files of "key: value" lines.
#pragma once

#include <filesystem>
#include <string>

namespace locus {

// The value of the first line that begins with `key` and a colon ("model name" of /proc/cpuinfo); empty where the file
// or the line is missing.
std::string system_value(const std::string& path, const std::string& key);

// The bytes of such a line in kB: "VmHWM" (peak), "VmRSS" (now) of /proc/self/status, "MemAvailable" of /proc/meminfo;
// 0 where the file or the line is missing.
double system_bytes(const std::string& path, const std::string& key);

// Whether `path` still names the file that `descriptor` is open on, not a link to it: another may have removed it.
bool names_open_file(const std::filesystem::path& path, int descriptor);

// Bytes that the machine could still give this process: its free memory, within the limits of its control group and of
// itself (ulimit). 0 when the system does not say.
double available_bytes();

}  // namespace locus
