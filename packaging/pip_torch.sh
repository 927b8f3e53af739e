# Sourced: LibTorch of PyTorch's package, in a virtual environment, and builds against it.
pip_torch_version=2.13.0
pip_torch_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# pip_torch FOLDER: the environment FOLDER with PyTorch, made once; fails where the registry of packages cannot be reached or has no
# such version. Prints what CMAKE_PREFIX_PATH must name.
pip_torch() {
  if [ ! -e "$1/complete" ]; then
    rm -rf "$1"
    python3 -m venv "$1" && "$1/bin/pip" install -q "torch==$pip_torch_version" >&2 || return 1
    touch "$1/complete"
  fi
  "$1/bin/python" -W ignore -c 'import torch; print(torch.utils.cmake_prefix_path)' 2>/dev/null
}

# pip_torch_configure FOLDER PREFIX OPTIONS...: configures the build FOLDER against the LibTorch of PREFIX
pip_torch_configure() {
  cmake -S "$pip_torch_root" --preset release -B "$1" "-DCMAKE_PREFIX_PATH=$2" "${@:3}" >"$1/configure.log" 2>&1 ||
    { echo "see $1/configure.log" >&2; return 1; }
}

# pip_torch_program FOLDER: builds what is installed, in FOLDER, with the environment in its venv. Prints the folder of LibTorch.
pip_torch_program() {
  local prefix
  mkdir -p "$1"
  prefix=$(pip_torch "$1/venv") || { echo "the registry of packages cannot be reached, or has no torch $pip_torch_version" >&2; return 1; }
  [ -e "$1/build.ninja" ] || pip_torch_configure "$1" "$prefix" -DLOCUS_TESTS=OFF || return 1
  cmake --build "$1" --target locus_installed_texts >"$1/program.log" 2>&1 || { echo "see $1/program.log" >&2; return 1; }
  echo "${prefix%/share/cmake}/lib"
}
