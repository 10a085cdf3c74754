#!/bin/sh
# Installs Portcullis @VERSION@ into ~/.local/bin, without sudo:
#   curl -fsSL https://github.com/@REPOSITORY@/releases/latest/download/install.sh | sh
# PORTCULLIS_INSTALL names another directory, PORTCULLIS_DOWNLOADS a mirror of the release's files.
set -eu

fail() {
  echo "error: $1" >&2
  [ $# -lt 2 ] || echo "hint: $2" >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

target_of_machine() {
  case "$(uname -m)" in
    x86_64 | amd64) cpu=x86_64 ;;
    aarch64 | arm64) cpu=aarch64 ;;
    *) fail "there is no program for the processor $(uname -m)" "with Node: npx -y @NPM_PACKAGE@" ;;
  esac
  case "$(uname -s)" in
    Linux)
      if ! [ -e /lib64/ld-linux-x86-64.so.2 ] && ! [ -e /lib/ld-linux-aarch64.so.1 ]; then
        fail "this Linux has no glibc, which the program needs (Alpine has musl)" "use the container image"
      fi
      echo "$cpu-unknown-linux-gnu" ;;
    Darwin)
      # A shell under Rosetta takes an Apple processor for an Intel one.
      [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || echo 0)" != 1 ] || cpu=aarch64
      echo "$cpu-apple-darwin" ;;
    MINGW* | MSYS* | CYGWIN*)
      fail "this is Windows" "in PowerShell: irm https://github.com/@REPOSITORY@/releases/latest/download/install.ps1 | iex" ;;
    *) fail "there is no program for $(uname -s)" "it runs on Linux, macOS and Windows" ;;
  esac
}

expected_sha256() {
  case "$1" in
    # @SHA256_BY_TARGET@
  esac
}

sha256_of() {
  if has sha256sum; then sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then shasum -a 256 "$1" | cut -d ' ' -f 1
  elif has openssl; then openssl dgst -sha256 "$1" | sed 's/.* //'
  else fail "no program to check the download with" "install sha256sum, shasum or openssl"
  fi
}

download() {
  if has curl; then curl --fail --silent --show-error --location --retry 2 --connect-timeout 20 --output "$2" "$1"
  elif has wget; then wget --quiet --tries=3 --timeout=20 --output-document="$2" "$1"
  else fail "neither curl nor wget is installed"
  fi
}

main() {
  target="$(target_of_machine)"
  directory="${PORTCULLIS_INSTALL:-$HOME/.local/bin}"
  archive="portcullis-$target.tar.gz"
  url="${PORTCULLIS_DOWNLOADS:-https://github.com/@REPOSITORY@/releases/download/v@VERSION@}/$archive"

  mkdir -p "$directory" || fail "$directory cannot be made" "PORTCULLIS_INSTALL names another directory"
  work="$(mktemp -d "$directory/.portcullis.XXXXXX")" ||
    fail "$directory cannot be written to" "PORTCULLIS_INSTALL names another directory"
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM

  echo "Downloading Portcullis @VERSION@ for $target"
  download "$url" "$work/$archive" || fail "$url could not be downloaded" "check the network and the space left on the disk, and try again"
  found="$(sha256_of "$work/$archive")"
  expected="$(expected_sha256 "$target")"
  [ "$found" = "$expected" ] ||
    fail "the download is not the file that was published (SHA-256 $found, not $expected)" "nothing was installed; try again"
  if has gh && gh auth status >/dev/null 2>&1 && [ -z "${PORTCULLIS_DOWNLOADS:-}" ]; then
    gh attestation verify "$work/$archive" --repo "@REPOSITORY@" >/dev/null ||
      fail "GitHub has no attestation for the download" "nothing was installed"
    echo "Built by the workflow of @REPOSITORY@ (attestation verified)"
  fi

  tar -xzf "$work/$archive" -C "$work" portcullis ||
    fail "the archive could not be unpacked" "check the space left on the disk; nothing was installed"
  chmod 755 "$work/portcullis"
  [ "$(uname -s)" != Darwin ] || xattr -d com.apple.quarantine "$work/portcullis" 2>/dev/null || true
  version="$("$work/portcullis" --version)" || fail "the program does not run on this machine; nothing was installed"
  mv -f "$work/portcullis" "$directory/portcullis" ||
    fail "$directory/portcullis cannot be replaced" "PORTCULLIS_INSTALL names another directory"

  echo "Installed $version in $directory/portcullis"
  case ":$PATH:" in
    *":$directory:"*) echo "Start it: portcullis serve" ;;
    *)
      echo "Start it: $directory/portcullis serve"
      echo "To type just portcullis, add this to your shell's profile: export PATH=\"$directory:\$PATH\"" ;;
  esac
}

main "$@" # last, so that a download of this script that broke off runs nothing
