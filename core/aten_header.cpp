// Owns the shared precompiled header; see CMakeLists.txt.
