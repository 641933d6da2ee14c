// Owns the precompiled header of libtorch; see src/CMakeLists.txt.
