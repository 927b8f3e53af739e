# Sourced: makes an installed prefix one that runs on other Linux systems, with the libraries that it needs beside it.
#
#   bin/locus       a script that starts the program (packaging/start)
#   libexec/locus   the program, with qt.conf
#   lib/locus       its libraries, and those of others that only it uses
#   lib/spare       a folder each of those that belong to the system: used only where the system has none
#   lib/plugins     Qt's
#
# Which library is whose:
# - libc's own (and the loader) are never taken along: nothing but the kernel and the system's driver may differ from them.
collect_of_libc='^(ld-linux-x86-64|lib(c|m|dl|pthread|rt|util|resolv|anl|mvec|BrokenLocale|thread_db|nss_.*))\.so\.'
# - What a graphics driver of the system loads as well must be the system's, since a process has one of each name, and the driver may be
#   younger than ours: the compiler's, GL, Vulkan, X11 with xcb's protocols, Wayland, and small ones below those. As AppImage's exclude
#   list has it, but for fonts (libfontconfig, libfreetype, libharfbuzz: no driver's), which are taken along.
collect_of_system='^lib(stdc\+\+|gcc_s|GL|GLX|EGL|OpenGL|GLdispatch|vulkan|drm|gbm|X11|X11-xcb|Xau|Xdmcp|Xext|xcb|xcb-(dri2|dri3|glx|present|randr|render|shape|shm|sync|xfixes|xkb)|ICE|SM|wayland-(client|cursor|egl)|z|zstd|expat|ffi|elf|uuid|bsd|md|udev|cap)\.so\.'
# - OpenCV's products are not ours: the reference BLAS and LAPACK, where they are installed, are a tenth of OpenBLAS.
collect_reference=(/usr/lib/x86_64-linux-gnu/blas /usr/lib/x86_64-linux-gnu/lapack)

collect_plugins=(platforms/libq{xcb,offscreen,wayland-generic}.so imageformats/libqsvg.so iconengines/libqsvgicon.so
  platforminputcontexts/lib{compose,ibus}platforminputcontextplugin.so
  wayland-shell-integration/libxdg-shell.so wayland-decoration-client/libbradient.so)

# collect_needed FILE...: the names of the libraries that ELF files name
collect_needed() {
  readelf -d "$@" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort -u
}

# collect_find NAME FOLDER...: the file of a library: in one of the folders, or where this system's loader finds it
collect_find() {
  local name=$1 folder
  for folder in "${@:2}" "${collect_reference[@]}"; do
    [ ! -e "$folder/$name" ] || { echo "$folder/$name"; return; }
  done
  ldconfig -p | awk -v name="$name" '$1 == name && /x86-64/ { print $NF; exit }'
}

collect_sources=()  # the files that were taken

# collect_libraries PREFIX TORCH [LEFT]: everything that the program, its libraries and the plugins need. TORCH is the folder of LibTorch;
# names that match LEFT stay out.
collect_libraries() {
  local prefix=$1 torch=$2 left=${3:-^$} name file again=1
  while [ -n "$again" ]; do
    again=""
    for name in $(collect_needed $(find "$prefix/libexec" "$prefix/lib" -type f \( -name '*.so*' -o -perm /111 \))); do
      if [[ $name =~ $collect_of_libc || $name =~ $left || -e $prefix/lib/locus/$name || -e $prefix/lib/spare/$name/$name ]]; then
        continue
      fi
      file=$(collect_find "$name" "$torch")
      [ -n "$file" ] || { echo "collect: $name is nowhere" >&2; return 1; }
      collect_sources+=("$(readlink -f "$file")")
      if [[ $name =~ $collect_of_system ]]; then
        install -D -m 644 "$file" "$prefix/lib/spare/$name/$name"
      else
        install -D -m 644 "$file" "$prefix/lib/locus/$name"
      fi
      again=1
    done
  done
}

# collect_prefix PREFIX TORCH [LEFT]: all of the above for what `cmake --install` put there
collect_prefix() {
  local prefix=$1 torch=$2 plugins plugin file
  local here
  here=$(dirname "${BASH_SOURCE[0]}")
  mkdir -p "$prefix/libexec"
  mv "$prefix/bin/locus" "$prefix/libexec/locus"
  install -m 755 "$here/start" "$prefix/bin/locus"
  install -m 644 "$here/fonts.conf" "$prefix/share/locus/fonts.conf"
  install -D -m 644 "$here/../assets/fonts/DejaVuSans.ttf" "$prefix/share/locus/fonts/DejaVuSans.ttf"
  plugins=$(qtpaths6 --query QT_INSTALL_PLUGINS 2>/dev/null || qmake6 -query QT_INSTALL_PLUGINS)
  for plugin in "${collect_plugins[@]}"; do
    [ ! -e "$plugins/$plugin" ] || collect_sources+=("$plugins/$plugin")
    [ ! -e "$plugins/$plugin" ] || install -D -m 644 "$plugins/$plugin" "$prefix/lib/plugins/$plugin"
  done
  printf '[Paths]\nPrefix = ..\nPlugins = lib/plugins\n' >"$prefix/libexec/qt.conf"
  collect_libraries "$@" || return 1
  # Each finds the others beside it, wherever the prefix lies. In this order: strip does not understand what patchelf leaves.
  find "$prefix/libexec" "$prefix/lib" -type f \( -name '*.so*' -o -perm /111 \) -exec strip --strip-unneeded {} +
  for file in "$prefix"/lib/locus/*.so*; do
    patchelf --set-rpath "\$ORIGIN${LOCUS_TORCH_RPATH:+:$LOCUS_TORCH_RPATH}" "$file"
  done
  for file in "$prefix"/lib/plugins/*/*.so; do
    patchelf --set-rpath '$ORIGIN/../../locus' "$file"
  done
  patchelf --set-rpath '$ORIGIN/../lib/locus' "$prefix/libexec/locus"
}

# collect_glibc PREFIX [lib/spare]: the newest version of glibc that anything in it asks for; its spare libraries count if named, since a
# system may have its own
collect_glibc() {
  { find "$1/libexec" "$1/lib/locus" "$1/lib/plugins" ${2:+"$1/$2"} -type f -exec objdump -T {} + 2>/dev/null || true; } |  # qt.conf is none
    grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1
}

# collect_notices PREFIX TORCH: the notices of what was collected, and PyTorch's where its library was
collect_notices() {
  local notices=$1/share/doc/locus/libraries package
  mkdir -p "$notices"
  # A file has one of two names, so that half of them are found.
  { printf '%s\0' "${collect_sources[@]}" "${collect_sources[@]#/usr}" | xargs -0 dpkg-query -S 2>/dev/null || true; } | sed 's/[:,].*//' | sort -u |
    while read -r package; do
      [ ! -e "/usr/share/doc/$package/copyright" ] || cp -L "/usr/share/doc/$package/copyright" "$notices/$package"
    done
  [ ! -e "$1/lib/locus/libtorch_cpu.so" ] || cp -r "$2"/../../torch-*.dist-info/licenses "$notices/torch"
}
