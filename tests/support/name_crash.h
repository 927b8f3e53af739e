// What a test program prints when a signal ends it.
#pragma once

namespace locus::test {

// From now on a fatal signal (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL) prints the running test and the calls that led
// there, those of the program itself as addresses for addr2line, to the standard error, and then ends the program as it
// would have. Sanitizers keep their own reports. Call on the main thread after testing::InitGoogleTest().
void name_crashes();

}  // namespace locus::test
